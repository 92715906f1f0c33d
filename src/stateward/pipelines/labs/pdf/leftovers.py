"""What a report prints and no result holds: how the reader notices that it does not understand a layout.

Reading asks of a line what result it may be. This asks the other way round of everything that looks like part of a
result where it went: a cell of a row that is in none of its fields, a line of numbers and units that became no row.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import by_antibiotic, is_name
from stateward.pipelines.labs.pdf.cells import (
    NUMERIC,
    cells,
    drawn_limits,
    is_flag,
    split_value,
    without_leaders,
)
from stateward.pipelines.labs.pdf.headings import UNKNOWN
from stateward.pipelines.labs.pdf.row import Row, is_administrative
from stateward.pipelines.labs.pdf.sentences import has_sentence, sentence_rows
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit, is_measure
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import SUSCEPTIBILITIES, column_of, is_category

# Of all rows: words that so many have are a column of their own, such as a method.
COLUMN_SHARE = 0.6
TEXT_CHARS_MAX = 120
SAME_PLACE = 4.0  # points
NAMES_MIN = 2  # of rows that begin at one place
EARLIER_NEAR = 20.0  # points beside a heading for earlier results


def unread_cells(row: Row) -> list[str]:
    """The cells of a row that are in none of its fields, as texts."""
    return [" ".join(word.text for word in cell) for cell in _unread_cells(row)]


def _unread_cells(row: Row) -> list[list[PdfWord]]:
    texts = [text for role, text in row.texts.items() if role != UNKNOWN or any(drawn_limits(text))]
    values = [text for text, _ in row.values]
    held = " ".join((row.name, row.flag, row.comment, *values, *texts)).split()
    found = []
    for cell in cells(row.words):
        left = []
        for word in cell:
            if word.text in held:
                held.remove(word.text)
            elif not any(word.text in each or each in word.text for each in held):
                left.append(word)
        if any(_has_meaning(word.text) for word in left):
            found.append(left)
    return found


def _has_meaning(text: str) -> bool:
    return any(map(str.isalnum, text)) or is_flag(text)


def mark_unread_cells(rows: Sequence[Row], pages: Sequence[Sequence[PdfLine]]) -> None:
    """Keep what is in no field as a remark, and mark the rows where it may be part of the result.

    Words that nearly every row has are a column that says nothing of the value, such as a method; what stands below
    a heading for earlier results is one of those.
    """
    earlier = [span for page in pages for line in page for span in _earlier_spans(line)]
    found = [(row, _unread_cells(row)) for row in rows if not row.is_unread]
    is_column = sum(bool(each) for _, each in found) > COLUMN_SHARE * max(len(found), 4)
    texts = Counter(_text(cell) for _, left in found for cell in left)
    usual = {text for text, count in texts.items() if count > COLUMN_SHARE * max(len(found), 4)}
    for row, left in found:
        for cell in left:
            text = _text(cell)
            is_earlier = any(x0 < cell[-1].x1 and x1 > cell[0].x0 for x0, x1 in earlier)
            is_open = not is_earlier and (not is_column or _is_part(text)) and text not in usual
            row.has_unread = row.has_unread or is_open
            row.comment = f"{row.comment} {'previous: ' if is_earlier else ''}{text}".strip()


def _text(cell: Sequence[PdfWord]) -> str:
    return " ".join(word.text for word in cell)


def _earlier_spans(line: PdfLine) -> Iterator[tuple[float, float]]:
    for cell in cells(line.words):
        if column_of(" ".join(word.text for word in cell)) == "previous":
            yield cell[0].x0 - EARLIER_NEAR, cell[-1].x1 + EARLIER_NEAR


def _is_part(text: str) -> bool:
    """Whether a text reads as a value, a unit, a range or a flag."""
    parts = split_value(text)
    return (
        read_value(parts.value).kind in NUMERIC
        or is_measure(text)
        or is_flag(text)
        or read_range(text).kind in ("interval", "titre")
    )


def lost_rows(pages: Sequence[Sequence[PdfLine]], rows: Sequence[Row]) -> Iterator[Row]:
    """Lines that look like results and are part of no row: what running text lists, the others as unread."""
    read = {id(word) for row in rows for word in row.words}
    told = {word.text for row in rows for word in row.words}
    for page in pages:
        for line in page:
            if any(id(word) in read for word in line.words):
                continue
            is_lost = _looks_lost(line.words) or _is_lost_range(line, rows)
            if not is_lost or is_administrative(line.text) or is_administrative(_head(line)):
                continue
            if is_category(_head(line)) and not is_name(_head(line)):
                continue  # what values mean
            if all(word.text in told for word in line.words):
                continue  # a summary that repeats what rows say
            if listed := list(sentence_rows(line)):
                yield from listed
                continue
            name = without_leaders(line.text)[:TEXT_CHARS_MAX]
            row = Row(name, line.page, line.base, line.height, line.x0, list(line.words), {}, [])
            row.is_unread = True
            yield row


def unvalued_rows(pages: Sequence[Sequence[PdfLine]], rows: Sequence[Row]) -> Iterator[Row]:
    """Known names without a value beside a result of another table: they stand where names do, and are in no row."""
    read = {id(word) for row in rows for word in row.words}
    starts = [(row.page, row.x0) for row in rows if not row.is_unread]
    for page in pages:
        for line in page:
            found = cells(line.words)
            is_read = [any(id(word) in read for word in cell) for cell in found]
            if not any(is_read):
                continue
            for cell, is_taken in zip(found, is_read, strict=True):
                name = without_leaders(" ".join(word.text for word in cell))
                if is_taken or not is_name(name):
                    continue
                beside = sum(
                    at == line.page and abs(x0 - cell[0].x0) < SAME_PLACE for at, x0 in starts
                )
                if beside >= NAMES_MIN:
                    row = Row(name, line.page, line.base, line.height, cell[0].x0, cell, {}, [])
                    row.is_unread = True
                    yield row


def _head(line: PdfLine) -> str:
    return " ".join(word.text for word in cells(line.words)[0])


def _looks_lost(words: Sequence[PdfWord]) -> bool:
    """Whether a line has a known name with its value, or a number with its unit or range in cells of their own."""
    texts = [" ".join(word.text for word in cell) for cell in cells(words)]
    if has_sentence(" ".join(texts)):
        return True
    if len(texts) < 2:
        return False
    if any(by_antibiotic(one).code and two in SUSCEPTIBILITIES for one, two in pairwise(texts)):
        return True
    values = [split_value(text) for text in texts[1:]]
    has_number = any(read_value(each.value).kind in NUMERIC for each in values)
    has_result = has_number or any(read_value(each.value).kind == "ordinal" for each in values)
    if has_result and is_name(without_leaders(texts[0])):
        return True
    has_unit = any(is_measure(text) for text in texts[1:]) or any(each.unit for each in values)
    has_range = any(read_range(text).kind == "interval" for text in texts[1:])
    if has_range and is_name(without_leaders(texts[0])):
        return True  # its value cannot be read
    return has_number and (has_unit or has_range) and is_result_line(texts)


def _is_lost_range(line: PdfLine, rows: Sequence[Row]) -> bool:
    """Whether a line says a range after its label, and the row right above has none."""
    label, colon, rest = line.text.partition(":")
    if not colon or column_of(label.strip(" .")) != "range":
        return False
    above = [row for row in rows if row.page == line.page and row.base < line.base]
    last = max(above, key=lambda row: row.base, default=None)
    is_bare = last is not None and not (last.texts.get("range") or last.texts.get("low"))
    return is_bare and read_range(rest).kind in ("interval", "titre")


def is_result_line(texts: Sequence[str]) -> bool:
    """Whether cells begin with words, and the others are hardly anything but values, units, ranges and flags."""
    others = [text for text in texts[1:] if not (_is_part(text) or is_known_unit(text))]
    return re.search(r"[^\W\d]{2}", texts[0]) is not None and len(others) <= 1
