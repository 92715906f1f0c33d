"""Letters that were written as UTF-8 and read as Latin-1 before the file was made: `MÃ¼ller` is Müller."""

import re
from collections.abc import Callable, Iterable, Iterator

from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements.table_cells import TableHead

_RUN = re.compile(r"[^\x00-\x7f]+")
# What the bytes of such letters begin with, read as Latin-1: others may be two letters that stand side by side.
_LEADS = "ÂÃÄÅâÎÏÐÑ"
NO_BREAK = "\u00a0"
_BEFORE_NO_BREAK = "ÂÃâ"  # it is a part of à, of itself, or of a sign
_CAPITALS = re.compile(r"[A-ZÀ-Þ]{2}$")
_LETTERS = re.compile(r"[\u00a0-\u017f\u0370-\u04ff\u2010-\u2122]+")


def start_with_mended_letters(
    start: Callable[[], Iterator[Record]], head: TableHead
) -> Callable[[], Iterator[Record]] | None:
    """The same records with the letters that were meant; None where the first of them have no such letters."""
    if not any(map(_mended_run, _runs(head))):
        return None

    def records() -> Iterator[Record]:
        for line, cells in start():
            yield line, [cell if cell.isascii() else mended_text(cell) for cell in cells]

    return records


def has_other_letters(head: TableHead) -> bool:
    """Whether letters beyond ASCII stand there, too, that were read rightly: then what was meant is not certain."""
    return not all(map(_mended_run, _runs(head)))


def mended_text(text: str) -> str:
    """A text with the letters that were meant."""
    return _RUN.sub(lambda found: _mended_run(found) or found[0], text)


def _runs(head: TableHead) -> Iterator[re.Match[str]]:
    cells: Iterable[str] = (cell for row in head.rows for cell in row if not cell.isascii())
    return (run for cell in cells for run in _RUN.finditer(cell))


def _mended_run(found: re.Match[str]) -> str:
    """The letters that a run of letters beyond ASCII was made of; "" if it was not."""
    run = found[0]
    if len(run) < 2 or run[0] not in _LEADS:
        return ""
    try:
        meant = b"".join(map(_byte_of, run)).decode("utf-8")
    except UnicodeError:
        return ""
    # `MANHÃ` or `VILLÄ` before a fixed space or a sign: a small letter does not stand behind two capitals.
    is_capital = _CAPITALS.search(found.string, 0, found.start()) and not meant[0].isupper()
    is_other = NO_BREAK in run and run[0] not in _BEFORE_NO_BREAK
    return meant if _LETTERS.fullmatch(meant) and not is_capital and not is_other else ""


def _byte_of(letter: str) -> bytes:
    """The byte that Windows or Latin-1 shows as a letter."""
    try:
        return letter.encode("cp1252")
    except UnicodeEncodeError:
        return letter.encode("latin-1")
