"""The statement of a value: its sentence, or its cell with the cells that speak of it.

A row of a table says of a value what stands before it, in the head of its column and in a remark behind it. Another
pair of a label and a value in the same row, an address or the name in the next column do not. No word is judged here.
"""

import re
from collections.abc import Iterator
from functools import partial

from stateward.pipelines.contracts.offline.grid import GridCell
from stateward.pipelines.contracts.offline.linking import LONG_LINE_CHARS
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage

SENTENCE_LINES_MAX = 12
ADDRESS_CHARS_MAX = 80
PAIRS_MIN = 4  # cells of a row of two pairs of a label and a value
COLUMNS_MIN = 3  # of a table whose first row is its head, whatever it says

_NAME_OR_NUMBER = re.compile(
    r"[A-ZÄÖÜ0-9][\w.'’&/-]*(?:,?\s+(?:[A-ZÄÖÜ0-9][\w.'’&/-]*|von|van|de|der|und|and|&))*"
)
_CONDITION = re.compile(  # in the column of a name: when, or for whom, the row holds
    r"\b(?:ab|bis|vor|nach|seit|ohne|mit|nur|außer|netto|bisher\w*|alte?r?|neue?r?|(?:neu|alt|bestands)kund\w*|umzug|beispiel|"
    r"from|until|till|before|after|since|without|with|only|except|net|old|new|example|sample)\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(r"jahr|monat|quartal|year|month|quarter|phase", re.IGNORECASE)
_OWN_LABEL = re.compile(r"\s*(?P<name>[^\W\d_][^:.\n]{1,40}):\s*\S")
_SENTENCE_END = re.compile(
    r"(?<!\b\d)(?<!\b\d\d)(?<!\b[A-Z])(?<!\bMio)(?<!\bmtl)(?<!\binkl)(?<!\bincl)(?<!MwSt)(?<!USt)(?<!\bca)(?<!\bNr)(?<!\bSt)"
    r"[.!?]\s+(?=[A-ZÄÖÜ\"„(§]|\d{1,2}\.\s)|\n\s*\n"
)
# The parts of an address: a house in a street that is called so, one in a street that its first word tells, a town.
_HOUSE = r"[ ]\d{1,3}[ ]?[a-z]?"
_NAMED_STREET = (
    r"[A-ZÄÖÜ](?:[\w.'’-]++[ ]){0,3}?[\w.'’-]*?"
    r"(?i:straße|strasse|str\.|weg|(?<!stell)(?<!park)(?<!arbeits)platz|allee|(?<!sp)ring|gasse|damm|ufer|chaussee|stieg|pfad)"
)
_LED_STREET = r"(?:Am|An[ ]de[rmn]|Auf[ ]de[rmn]|Im|In[ ]de[rmn]|Unter[ ]den|Zu[mr])(?:[ ][A-ZÄÖÜ][\w.'’-]++){1,2}"
_ANY_STREET = r"[A-ZÄÖÜ][\w.'’-]*+(?:[ ][\w.'’-]*[^\W\d_]){0,4}"
_TOWN = r"\d{5}[ ][A-ZÄÖÜ][\w.-]++(?:[ ][\w.-]++){0,3}"
_ADDRESS = re.compile(
    rf"{_NAMED_STREET}{_HOUSE}(?:,[ ]*{_TOWN})?|{_ANY_STREET}{_HOUSE},[ ]*{_TOWN}"
)
_STREET_OR_TOWN = re.compile(rf"(?P<street>{_LED_STREET}{_HOUSE})|(?P<town>{_TOWN})")
_ENDS_IN_TOWN = re.compile(rf",[ ]*{_TOWN}\s*$")


def statement(page: AnalyzedPage, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches of text that speak of a value: its sentence, or its cell with those that belong to it."""
    cell = page.cell(start)
    if cell is None:
        yield start, end
        return
    row = page.grid.rows[cell.row]
    if len(row) == 1:
        yield _sentence(page, cell, start, end)
        return
    yield from _cell_sentences(page, cell, start)
    yield from _next_lines(page, cell)
    is_labelled = ":" in page.text[cell.start : start]
    for other in row:
        is_before = other.column < cell.column and not (is_labelled and _is_pair(page, other))
        is_before = is_before and not _is_of_pair(page, other, cell)
        if (is_before or _is_remark(page, other)) and not (
            _is_address(page, other) or _is_under_other(page, other)
        ):
            yield other.start, other.end
    yield from _head(page, cell)


def _cell_sentences(page: AnalyzedPage, cell: GridCell, start: int) -> Iterator[tuple[int, int]]:
    """The sentences of a cell but those that are nothing but another known label and its own value."""
    first = cell.start
    ends = [each.end() for each in _SENTENCE_END.finditer(page.text, cell.start, cell.end)]
    for last in (*ends, cell.end):
        text = page.text[first:last]
        label = _OWN_LABEL.match(text)
        is_own = label is not None and _has_own_value(page, first, first + label.end("name"), last)
        if first <= start < last or not is_own:
            yield first, last
        first = last


def _has_own_value(page: AnalyzedPage, first: int, end: int, last: int) -> bool:
    """Whether a sentence begins with a known label, to its colon, and a value of its kind follows.

    `Abschlag ab Mai: siehe Anlage` and `Rabatt: entfällt nach drei Monaten` speak of the price before them.
    """
    begin = end - len(page.text[first:end].lstrip())
    return any(
        mention.start <= begin and mention.end >= end and mention.of_kind(value.kind)
        for mention in page.mentions
        for value in page.candidates
        if end <= value.start < last
    )


def _next_lines(page: AnalyzedPage, cell: GridCell) -> Iterator[tuple[int, int]]:
    """The next line of a cell that goes on: it begins in small letters, and its row has fewer cells."""
    rows = page.grid.rows
    if cell.row + 1 >= len(rows) or page.grid.words(cell).endswith((".", "!", "?")):
        return
    below = rows[cell.row + 1]
    if len(below) < len(rows[cell.row]):
        for other in below:
            if other.overlaps(cell) and page.text[other.start : other.start + 1].islower():
                yield other.start, other.end


def _is_of_pair(page: AnalyzedPage, other: GridCell, cell: GridCell) -> bool:
    """Whether a row is pairs of labels and values, and a cell belongs to another pair than that of the value."""
    row = page.grid.rows[cell.row]
    if len(row) < PAIRS_MIN or len(row) % 2 or cell.row - 1 in page.labelled.header_rows:
        return False
    labels = row[::2]
    return other.column // 2 != cell.column // 2 and all(
        is_all_label(page, each) for each in labels
    )


def _is_under_other(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether the head of the column of a cell is the label of something else: a name, a number."""
    if cell.row - 1 not in page.labelled.header_rows:
        return False
    words = page.grid.words(cell)
    if not _NAME_OR_NUMBER.fullmatch(words) or _CONDITION.search(words):
        return False
    heads = [each for each in page.grid.rows[cell.row - 1] if each.overlaps(cell)]
    return len(heads) == 1 and is_all_label(page, heads[0], is_decoy=True)


def is_all_label(page: AnalyzedPage, cell: GridCell, *, is_decoy: bool = False) -> bool:
    """Whether a cell is nothing but a known label."""
    words = page.grid.words(cell).rstrip(" :")
    return any(
        cell.start <= each.start < cell.end
        and each.end - each.start >= len(words)
        and (each.is_decoy or not is_decoy)
        for each in page.mentions
    )


def _is_pair(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether a cell has a label and its value, so that it speaks of no other cell."""
    label, colon, value = page.grid.words(cell).partition(":")
    return bool(label.strip() and colon and value.strip())


def _is_address(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether a cell is an address, or a line of one: in the next column it changes no value.

    A number of five digits with a word is a town only next to a street, and else a quantity.
    """
    text = _address_text(page, cell)
    if _ADDRESS.fullmatch(text):
        return True
    part = _STREET_OR_TOWN.fullmatch(text)
    if part is None:
        return False
    grid = page.grid
    beside = [other for other in grid.rows[cell.row] if abs(other.column - cell.column) == 1]
    around = [*grid.above(cell, rows_max=1), *grid.below(cell, rows_max=1), *beside]
    for other in map(partial(_address_text, page), around):
        met = _STREET_OR_TOWN.fullmatch(other)
        is_other_part = met is not None and met.lastgroup != part.lastgroup
        if is_other_part or (part["town"] and _ADDRESS.fullmatch(other)):
            return True
    return False


def _address_text(page: AnalyzedPage, cell: GridCell) -> str:
    is_short = cell.end - cell.start <= ADDRESS_CHARS_MAX
    return page.grid.words(cell).strip(" ,;.") if is_short else ""


def _is_remark(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether a cell behind a value has neither a label nor a value of its own."""
    text = page.grid.words(cell)
    starts = [each.start for each in page.mentions] + [each.start for each in page.candidates]
    return ":" not in text and not any(cell.start <= start < cell.end for start in starts)


def _head(page: AnalyzedPage, cell: GridCell) -> Iterator[tuple[int, int]]:
    """The header of the column of a cell: a known head of a table, or the first row of three columns or more."""
    first = cell.row
    columns = len(page.grid.rows[cell.row])
    while first and len(page.grid.rows[first - 1]) == columns:
        first -= 1
        if first in page.labelled.header_rows:
            break
    if first == cell.row or (columns < COLUMNS_MIN and first not in page.labelled.header_rows):
        return
    for head in page.grid.rows[first]:
        if head.overlaps(cell) and not _is_value_of_label(page, head):
            yield head.start, head.end


def _is_value_of_label(page: AnalyzedPage, head: GridCell) -> bool:
    """Whether a cell above is the name or number of the label beside it, and no head: `Kunde | Svenja Papke`."""
    words = page.grid.words(head)
    if not head.column or not _NAME_OR_NUMBER.fullmatch(words):
        return False
    if _CONDITION.search(words) or _PERIOD.search(words):
        return False
    beside = page.grid.rows[head.row][head.column - 1]
    own = page.grid.words(beside).rstrip(" :")
    return any(
        beside.start <= each.start < beside.end
        and each.end - each.start >= len(own)
        and (each.is_decoy or each.of_kind("text"))
        for each in page.mentions
    )


def _sentence(page: AnalyzedPage, cell: GridCell, start: int, end: int) -> tuple[int, int]:
    """The sentence around a value, over the lines of its paragraph."""
    rows = page.grid.rows
    first, last = cell.start, cell.end
    has_label = ":" in page.text[cell.start : start]
    for row in range(cell.row - 1, max(-1, cell.row - SENTENCE_LINES_MAX), -1):
        above = page.grid.words(rows[row][0])
        if has_label or ":" in above or not page.grid.is_single(row) or not _is_long(above):
            break
        if _ENDS_IN_TOWN.search(above):
            break
        first = rows[row][0].start
    for row in range(cell.row + 1, min(len(rows), cell.row + SENTENCE_LINES_MAX)):
        above, below = (page.grid.words(rows[each][0]) for each in (row - 1, row))
        if not page.grid.is_single(row) or not _goes_on(above, below):
            break
        last = rows[row][0].end
    text = page.text
    before = [each.end() for each in _SENTENCE_END.finditer(text, first, start)]
    behind = _SENTENCE_END.search(text, end, last)
    return before[-1] if before else first, behind.start() if behind else last


def _is_long(line: str) -> bool:
    return len(line) >= LONG_LINE_CHARS


def _goes_on(above: str, below: str) -> bool:
    """Whether a line is the continuation of the one above: in brackets, in small letters, or of a long line."""
    if below[:1] in "(*":
        return True
    if above.endswith((".", "!", "?", ":")):
        return False
    return below[:1].islower() or (_is_long(above) and ":" not in above and ":" not in below)
