"""Pages whose rows flow through two columns, as the text of a newspaper does: read down the left one, then the right.

The right column is moved onto the left one, so that one heading holds for both. Tables that stand side by side below
one heading (cheques, balances of days) have no texts between their dates and amounts, and are none of these.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals

ROWS_MIN = 3  # in each column of a page
APART_MIN = 120.0  # points between the starts of the columns
SAME_START = 2.0  # points between the starts of the rows of one column
GUTTER = 4.0  # points left of the right column that no word may reach into
TITLES_MAX = 8  # lines above the first row and below the last one that may belong to the columns
BREAK = 100.0  # points of space that part the columns, once they are below one another

Flow = tuple[
    float, float, int, int
]  # where both columns start, and the first and last line of their rows


def unfold(pages: Sequence[list[StatementLine]]) -> list[list[StatementLine]]:
    """The lines of pages, those of two columns below one another."""
    return [_unfold(lines) for lines in pages]


def _unfold(lines: list[StatementLine]) -> list[StatementLine]:
    flow = _flow(lines)
    if flow is None:
        return lines
    left, right, first, last = flow
    edge = right - GUTTER
    first = _reach(lines, edge, first, -1)
    last = _reach(lines, edge, last, 1)
    inside = lines[first : last + 1]
    one = [part for line in inside if (part := _part(line, [w for w in line.words if w.x0 < edge]))]
    two = [
        part for line in inside if (part := _part(line, [w for w in line.words if w.x0 >= edge]))
    ]
    down = one[-1].base - two[0].base + BREAK
    moved = [_move(line, left - right, down) for line in two]
    below = [_move(line, 0.0, down) for line in lines[last + 1 :]]
    ordered = [*lines[:first], *one, *moved, *below]
    for number, line in enumerate(ordered, start=1):
        line.number = number
    return ordered


def _flow(lines: Sequence[StatementLine]) -> Flow | None:
    """The two columns of a page, if its rows have a text between date and amount in both of them."""
    starts = [(at, x0, x1) for at, line in enumerate(lines) for x0, x1 in _row_spans(line)]
    counts = Counter(round(x0) for _, x0, _ in starts)
    places: list[float] = []
    for x0 in sorted(counts, key=lambda each: (-counts[each], each)):
        near = sum(abs(start - x0) <= SAME_START for _, start, _ in starts)
        if near >= ROWS_MIN and all(abs(x0 - other) >= APART_MIN for other in places):
            places.append(float(x0))
    if len(places) != 2:
        return None
    left, right = sorted(places)
    own = [
        (at, x0, x1) for at, x0, x1 in starts if min(abs(x0 - left), abs(x0 - right)) <= SAME_START
    ]
    if any(x1 > right - GUTTER for _, x0, x1 in own if abs(x0 - left) <= SAME_START):
        return None
    first, last = own[0][0], own[-1][0]
    is_open = all(_is_open(line, right - GUTTER) for line in lines[first : last + 1])
    if not is_open or not _has_same_names(lines, right - GUTTER):
        return None
    return left, right, first, last


def _row_spans(line: StatementLine) -> Iterator[tuple[float, float]]:
    """Where rows begin and end in a line: each is a date, a text and an amount."""
    amounts = [token for token in line.money if has_decimals(token.text)]
    cells = {cell.x0 for cell in cells_of(line)}
    for day in line.dates:
        after = next((token for token in amounts if token.start > day.end), None)
        if day.x0 not in cells or after is None:
            continue
        text = "".join(word.text for word in line.words[day.end : after.start])
        if any(map(str.isalpha, text)):
            yield line.words[day.start].x0, after.x1


def _is_open(line: StatementLine, edge: float) -> bool:
    """Whether no word of a line stands across the edge between the columns."""
    return not any(word.x0 < edge < word.x1 for word in line.words)


def _has_same_names(lines: Sequence[StatementLine], edge: float) -> bool:
    """Whether the names of columns on the right are those on the left: else they are of one wide table."""
    names: tuple[set[str], set[str]] = (set(), set())
    for line in lines:
        for cell in cells_of(line):
            if vocab.is_exact_heading(cell.text) and vocab.heading_role(cell.text):
                names[cell.x0 >= edge].add(vocab.simplify(cell.text))
    return names[1] <= names[0]


def _reach(lines: Sequence[StatementLine], edge: float, at: int, step: int) -> int:
    """The furthest line that may belong to the columns: their titles above, and their sums below."""
    for _ in range(TITLES_MAX):
        after = at + step
        if not 0 <= after < len(lines) or not _is_of_columns(lines[after], edge):
            return at
        if step < 0 and any(has_decimals(token.text) for token in lines[after].money):
            return at  # what stands above the titles is no part of the columns
        at = after
    return at


def _is_of_columns(line: StatementLine, edge: float) -> bool:
    """Whether both parts of a line say something by themselves: figures on the right may be those of the left."""
    right = [word for word in line.words if word.x0 >= edge]
    is_told = any(any(map(str.isalpha, word.text)) for word in right)
    return _is_open(line, edge) and (not right or is_told)


def _part(line: StatementLine, words: list[PdfWord]) -> StatementLine | None:
    if not words:
        return None
    text = " ".join(word.text for word in words)
    return StatementLine(line.page, line.number, words[0].base, line.height, words, text)


def _move(line: StatementLine, across: float, down: float) -> StatementLine:
    """A line in another place; `shift` tells where its words are on the page."""
    words = line.words
    if across:
        words = [replace(word, x0=word.x0 + across, x1=word.x1 + across) for word in words]
    return StatementLine(
        line.page, line.number, line.base + down, line.height, words, line.text, shift=across
    )
