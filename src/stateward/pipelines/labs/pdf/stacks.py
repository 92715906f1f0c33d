"""Results in stacks: a name alone, its value in the line below, and below that its range behind a label.

No word is known here. What shows it is repetition: names begin at one place and values at one place, several times on
a page, and most of them have a unit or a range. Labels that `column_of` knows are for `blocks` to read.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.pdf.cells import cells, is_flag, split_value, without_leaders
from stateward.pipelines.labs.pdf.line_kinds import is_no_section
from stateward.pipelines.labs.pdf.row import NEAR, Row, is_administrative
from stateward.pipelines.labs.pdf.sentences import behind_label, is_limit, is_measured_number
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value

STACKS_MIN = 3  # on a page, each with a unit or a range
LINES_MAX = 4  # below the value
WORDS_MAX = 8  # of a name
VALUE_WORDS_MAX = 4
BESIDE_MAX = 2  # cells behind a value: its flag and its unit
SAME_PLACE = 2.0  # points
GAP_MAX = 2.4  # of the height, between two lines of a stack

Lines = Sequence[PdfLine]


def stacked_rows(lines: Lines) -> tuple[list[Row], list[PdfLine]]:
    """The results of stacks, and the lines that are of none."""
    places = Counter(
        (round(lines[at].x0 / SAME_PLACE), round(lines[at + 1].x0 / SAME_PLACE))
        for at in range(len(lines) - 1)
        if _is_stack(lines, at) and _is_told(lines, at)
    )
    (place, count), *_ = places.most_common(1) or [((0, 0), 0)]
    if count < STACKS_MIN:
        return [], list(lines)
    name_x, value_x = (each * SAME_PLACE for each in place)
    has_words = abs(name_x - value_x) > SAME_PLACE  # else words below a name may be another name
    heads = [
        at
        for at in range(len(lines) - 1)
        if _is_at(lines[at], name_x)
        and _is_at(lines[at + 1], value_x)
        and _is_stack(lines, at, has_words=has_words)
    ]
    labels = {
        label
        for at in heads
        for line in lines[at + 2 : at + 2 + LINES_MAX]
        for label, text in (behind_label(line.text),)
        if label and is_limit(text)
    }
    rows: list[Row] = []
    taken: set[int] = set()
    section = ""
    for at, line in enumerate(lines):
        if at in heads and at not in taken:
            row, size = _stack(lines, at, heads, labels)
            row.section = section
            rows.append(row)
            taken.update(range(at, at + size))
        elif at not in taken and _is_name(line) and not is_no_section(line.text):
            section = line.text.strip()
    return rows, [line for at, line in enumerate(lines) if at not in taken]


def _is_at(line: PdfLine, x: float) -> bool:
    return abs(line.x0 - x) <= SAME_PLACE


def _is_stack(lines: Lines, at: int, *, has_words: bool = False) -> bool:
    """Whether a line is a name alone, and the one below begins with a value, behind which flags and units stand."""
    name, value = lines[at], lines[at + 1]
    is_near = name.page == value.page and 0 < value.base - name.base <= GAP_MAX * name.height
    if not is_near or not _is_name(name):
        return False
    first, *others = _texts(value)
    kind = read_value(split_value(first).value).kind
    is_word = has_words and len(first.split()) <= VALUE_WORDS_MAX and ":" not in first
    is_value = kind in ("quantity", "titre") or (is_word and kind in ("ordinal", "text"))
    return (
        is_value
        and not is_limit(first, is_two_sided=True)
        and len(others) <= BESIDE_MAX
        and all(is_flag(text) or is_known_unit(text) for text in others)
    )


def _is_told(lines: Lines, at: int) -> bool:
    """Whether a value has a unit, or a range below it."""
    first, *others = _texts(lines[at + 1])
    has_unit = is_measured_number(first) or any(map(is_known_unit, others))
    return has_unit or (at + 2 < len(lines) and is_limit(behind_label(lines[at + 2].text)[1]))


def _is_name(line: PdfLine) -> bool:
    text = without_leaders(line.text)
    return (
        len(cells(line.words)) == 1
        and any(map(str.isalpha, text))
        and ":" not in text
        and len(text.split()) <= WORDS_MAX
        and not is_administrative(text)
        and read_value(text).kind in ("text", "unread", "ordinal")
        and not is_limit(text)
    )


def _stack(lines: Lines, at: int, heads: Sequence[int], labels: Collection[str]) -> tuple[Row, int]:
    """The result that begins at a line, and of how many lines it is made. `labels` stand before ranges elsewhere."""
    name, value = lines[at], lines[at + 1]
    first, *others = _texts(value)
    parts = split_value(first)
    unit = parts.unit or next(
        (text for text in others if is_known_unit(text) and not is_flag(text)), ""
    )
    row = Row(
        without_leaders(name.text),
        name.page,
        name.base,
        name.height,
        name.x0,
        [*name.words, *value.words],
        {"unit": unit, "range": parts.range},
        [(parts.value, "")],
    )
    row.flag = parts.flag or next((text for text in others if is_flag(text)), "")
    row.start = name.base
    size = 2
    for below in range(at + 2, min(at + 2 + LINES_MAX, len(lines))):
        line, last = lines[below], lines[below - 1]
        is_near = line.page == last.page and line.base - last.base <= NEAR * last.height
        if below in heads or not is_near or (_is_name(line) and _is_at(line, name.x0)):
            break
        label, text = behind_label(line.text)
        if not row.texts["range"] and (is_limit(text) or label in labels):
            row.texts["range"], row.texts["labels"] = text, label
        else:
            row.comment = f"{row.comment} {line.text}".strip()
        row.words += line.words
        size += 1
    return row, size


def _texts(line: PdfLine) -> list[str]:
    return [" ".join(word.text for word in cell) for cell in cells(line.words)]
