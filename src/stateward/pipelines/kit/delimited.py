"""CSV and TSV: the delimiter, the quotes and the records. What the cells mean is for the pipeline.

The file is streamed: only the record at hand is in memory. A quote that is never closed would swallow the records after
it, so a record over several lines that does not fit is split again, line by line, and reported.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

DELIMITERS = (";", "\t", ",", "|", "^", "~", "#")
SAMPLE_LINES = 200
FIELD_CHARS_MAX = 1 << 20
LINES_PER_RECORD_MAX = 30
CRLF = "\r\n"
# A text that a sheet is to keep as it is: `="0012"`, also within quotes.
_FORMULA = re.compile(r'(?:(?<![^;,\t|^~#]))="([^"\n]*)"(?=[;,\t|^~#\r\n]|$)|"=""([^"\n]*)"""')
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
csv.field_size_limit(FIELD_CHARS_MAX)

Rows = Sequence[Sequence[str]]
Record = tuple[int, list[str]]  # the line on which it begins, from 1, and its cells
Report = Callable[[int, str], object]  # a line and what is wrong there
Score = tuple[int, ...]


class Dialect(NamedTuple):
    """How a file separates its cells."""

    delimiter: str
    why: str
    skipped_lines: int = 0  # `sep=;` in the first line is for Excel
    skips_blanks: bool = False  # a blank stands between a delimiter and a quote
    newline: str = ""  # what ends a record, where a text has other line ends within its cells


def find_dialect(
    content: Path | bytes,
    *,
    encoding: str,
    score: Callable[[Rows], Score],
    is_unbeatable: Callable[[Sequence[str], str, Score], bool] = lambda *_: False,
) -> Dialect | None:
    """The delimiter under which the first lines score best; None if the text has no delimiter at all.

    `is_unbeatable` says of lines, a delimiter and its score that no other delimiter can score as much.
    """
    with _open(content, encoding) as file:
        sample = [_without_formulas(line) for line in islice(file, SAMPLE_LINES) if line.strip()]
    newline = ""
    if (whole := _with_joined_lines(sample)) and _top(whole, score) > 2 * _top(sample, score):
        sample, newline = whole, CRLF
    first = sample[0].strip() if sample else ""
    if first.casefold().startswith("sep=") and len(first) == 5:
        delimiter, skipped, why = first[4], 1, ": the first line says so"
    else:
        delimiter = _best(sample, score, is_unbeatable)
        skipped, why = 0, ""
    if not any(delimiter in line for line in sample):
        return None
    return Dialect(
        delimiter,
        f"the delimiter is {delimiter!r}{why}",
        skipped,
        skips_blanks=any(f'{delimiter} "' in line for line in sample),
        newline=newline,
    )


def read_records(
    content: Path | bytes,
    dialect: Dialect,
    *,
    encoding: str,
    looks_like_record: Callable[[str], bool],
    report: Report,
) -> Iterator[Record]:
    """The records of a file, or of its bytes. `looks_like_record` recognises a line that a quote may have swallowed."""
    with _open(content, encoding, dialect.newline) as file:
        for _ in range(dialect.skipped_lines):
            file.readline()
        taken: list[str] = []  # the lines of the record at hand
        reader = csv.reader(
            _copy(file, taken, is_joined=bool(dialect.newline)),
            delimiter=dialect.delimiter,
            skipinitialspace=dialect.skips_blanks,
        )
        line, width = dialect.skipped_lines, 0
        while True:  # ends with the file
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                report(line + 1, f"the text cannot be split into cells: {error}")
                yield from _unquote(taken, line, dialect.delimiter)
            else:
                if len(taken) > 1 and _is_unclosed(cells, taken, width, looks_like_record):
                    report(line + 1, f"a quote is not closed over {len(taken)} lines")
                    yield from _unquote(taken, line, dialect.delimiter)
                else:
                    if _is_cut(taken, dialect.delimiter):
                        report(line + 1, "the file ends inside a quote: it may be cut off")
                    width = len(cells)
                    yield line + 1, cells
            line += sum(text.count("\n") for text in taken) if dialect.newline else len(taken)
            taken.clear()


def first_rows(lines: Sequence[str]) -> list[list[str]]:
    """The first lines of a text as rows of a table; none if they are none.

    They are parted by the sign that stands in most of them equally often: lines above a table have other signs, and
    texts within it any number of them.
    """
    if not lines:
        return []
    try:
        return [*csv.reader(lines, delimiter=max(DELIMITERS, key=partial(_even_rows, lines)))]
    except csv.Error:
        return []


def _even_rows(lines: Sequence[str], delimiter: str) -> tuple[int, int]:
    counts = Counter(_count(line, delimiter) for line in lines)
    del counts[0]
    return max(((rows, count) for count, rows in counts.items()), default=(0, 0))


def _count(line: str, delimiter: str) -> int:
    """How often a sign parts cells; a comma within a number does not where another sign may."""
    found = line.count(delimiter)
    if delimiter == "," and found and any(sign in line for sign in ";\t|"):
        return found - len(_DECIMAL_COMMA.findall(line))
    return found


def _is_cut(taken: Sequence[str], delimiter: str) -> bool:
    """Whether a file ends inside the quotes of its last cell."""
    if len(taken) != 1 or taken[0].endswith(("\n", "\r")):
        return False
    if taken[0].count('"') % 2 == 0:
        return False
    before = taken[0].rpartition('"')[0].strip(" ")
    is_opened = not before or before.endswith(delimiter)
    return is_opened or taken[0].rpartition(delimiter)[2].strip().startswith('"')


def _open(content: Path | bytes, encoding: str, newline: str = "") -> io.TextIOWrapper:
    """The text of a file, or of its bytes, with its line ends as they are: CR alone ends a line too."""
    if isinstance(content, bytes):
        return io.TextIOWrapper(
            io.BytesIO(content), encoding=encoding, errors="replace", newline=newline
        )
    return content.open("r", encoding=encoding, errors="replace", newline=newline)


def _with_joined_lines(sample: Sequence[str]) -> list[str]:
    """The records of a text that ends them with CRLF and has other line ends within cells; none of any other text."""
    if not any(line.endswith(CRLF) for line in sample):
        return []
    if not any(line.endswith("\n") and not line.endswith(CRLF) for line in sample):
        return []
    return [f"{_in_one_line(text)}{CRLF}" for text in "".join(sample).split(CRLF) if text.strip()]


def _in_one_line(text: str) -> str:
    return text.removesuffix(CRLF).replace("\n", " ")


def _top(sample: list[str], score: Callable[[Rows], Score]) -> int:
    """The best score of any delimiter by what counts first: joined lines name more things at once in any text."""
    return max(next(iter(_score(sample, each, score)), 0) for each in DELIMITERS)


def _best(
    sample: list[str],
    score: Callable[[Rows], Score],
    is_unbeatable: Callable[[Sequence[str], str, Score], bool],
) -> str:
    """The first delimiter of those that score best."""
    scores: dict[str, Score] = {}
    for each in DELIMITERS:
        scores[each] = _score(sample, each, score)
        if is_unbeatable(sample, each, scores[each]):
            return each
    return max(scores, key=scores.__getitem__)


def _score(sample: list[str], delimiter: str, score: Callable[[Rows], Score]) -> Score:
    """The caller's score, then how many rows have the same number of cells."""
    if not any(delimiter in line for line in sample):
        return (*score([]), 0)
    try:
        rows = [row for row in csv.reader(sample, delimiter=delimiter) if len(row) > 1]
    except csv.Error:
        return ()
    widths = [len(row) for row in rows]
    return (*score(rows), max((widths.count(width) for width in set(widths)), default=0))


def _copy(file: io.TextIOWrapper, taken: list[str], *, is_joined: bool) -> Iterator[str]:
    for text in file:
        taken.append(text)
        shown = _without_formulas(text) if '="' in text else text
        yield _in_one_line(shown) if is_joined else shown


def _without_formulas(line: str) -> str:
    """A line with the texts that its cells show, where these are written as formulas of a sheet."""
    return (
        _FORMULA.sub(lambda found: f'"{found[1] or found[2] or ""}"', line)
        if '="' in line
        else line
    )


def _is_unclosed(
    cells: list[str], taken: list[str], width: int, looks_like_record: Callable[[str], bool]
) -> bool:
    """Whether a record over several lines is a quote that was never closed.

    A real one ends in a line with the closing quote, has the width of the records before it, and no line of it looks
    like a record of its own.
    """
    if '"' not in taken[-1]:  # the file has ended, and everything to its end would be one cell
        return True
    if len(taken) > LINES_PER_RECORD_MAX or (width > 1 and len(cells) != width):
        return True
    return any(map(looks_like_record, max(cells, key=len).split("\n")[1:]))


def _unquote(lines: list[str], before: int, delimiter: str) -> Iterator[Record]:
    """Lines that were taken for one record, each by itself and without quotes."""
    for number, text in enumerate(lines, start=before + 1):
        cells = text.rstrip("\r\n").split(delimiter)
        yield number, [cell.strip().strip('"') for cell in cells]
