"""Headings of tables, and what stands under them.

A heading is one to three lines whose cells are names of columns, in any language that `vocabulary` knows. Its
cells say what each column is; where the column is, the figures below it say better than the heading, since
figures are set to the right and headings are not always.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Set

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfCell, cells_of
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.tokens import (
    DAY_MONTH,
    StatementLine,
    Token,
    date_at,
    dates_in,
    has_cents,
    has_decimals,
    is_beside_money,
    is_date,
    is_money,
)

HEADING_LINES_MAX = 3
HEADING_GAP_MAX = 2.1  # of the height, between lines of one heading
KNOWN_MIN = 0.55  # share of a heading's cells that must be known
COLUMNS_MAX = 24
SPLIT_GAP = 0.4  # of the height: where two names of one cell may be parted
CENTS_MIN = 0.7  # share of figures with two decimals from which on others are no amounts
DATE_NEAR = 22.0  # points: how far from its heading a date may begin
EDGE_NEAR = 3.0  # points: figures whose edges are this close are in one column
REACH_MAX = 70.0  # points: a figure further than this from every heading is in none
DATE_WORDS = 8  # words at the start of a line among which its dates are
MEASURED_MAX = 800  # lines of a table that are enough to measure it
UNDER_MIN = 0.25  # share of what stands under a name that says what it means
TEXT_GAP = 0.75  # of the height: a figure this close behind a word is part of the text


NO_FIGURES = say.DATED | {say.MARK, say.CURRENCY}


class Column(msgspec.Struct):
    """One column: what it is, where its heading stands, and where its figures end (`edge`)."""

    role: str
    x0: float
    x1: float
    text: str
    edge: float = 0.0  # right edge of its figures, once it was measured
    start: float = 0.0  # left edge of its figures, if they are set to the left


class Heading(msgspec.Struct):
    """A heading and the lines of its page that it takes up (from, to)."""

    page: int
    start: int
    end: int
    columns: list[Column]
    has_cents: bool = False  # nearly all of its figures print two decimals
    has_day_months: bool = True  # dates under it may be written 02.10
    is_guessed: bool = False  # what its columns of money are was not read but guessed

    @property
    def roles(self) -> tuple[str, ...]:
        """What its columns are, from left to right."""
        return tuple(column.role for column in self.columns)

    def has(self, roles: Iterable[str]) -> bool:
        """Whether any column is one of these."""
        return not set(roles).isdisjoint(self.roles)


def heading_at(lines: Sequence[StatementLine], at: int) -> Heading | None:
    """The heading that begins on a line, the one of most lines that is one."""
    best: Heading | None = None
    cells: list[PdfCell] = []
    for end in range(at + 1, min(at + HEADING_LINES_MAX, len(lines)) + 1):
        line = lines[end - 1]
        if end > at + 1 and line.base - lines[end - 2].base > HEADING_GAP_MAX * line.height:
            break
        added = _split(cells_of(line), line)
        if any(_is_data(cell.text) for cell in added):
            break
        cells = _stacked(cells, added)
        columns = _columns(cells)
        if _is_heading(columns) and (best is None or worth(columns) > worth(best.columns)):
            best = Heading(lines[at].page, at, end, columns)
    return best


def parts_of(heading: Heading) -> list[Heading]:
    """A heading that repeats itself across the page (cheques in three columns) as the headings that it is."""
    roles = heading.roles
    for count in range(2, len(roles) // 2 + 1):
        size = len(roles) // count
        is_periodic = size * count == len(roles) and roles == roles[:size] * count
        if is_periodic and not say.MOVES.isdisjoint(roles[:size]):
            return [
                Heading(
                    heading.page,
                    heading.start,
                    heading.end,
                    heading.columns[part * size : (part + 1) * size],
                    heading.has_cents,
                    heading.has_day_months,
                    heading.is_guessed,
                )
                for part in range(count)
            ]
    return [heading]


def measure(heading: Heading, lines: Sequence[StatementLine]) -> None:
    """Find where the figures of each column end, from all lines below the heading."""
    _settle(heading, lines)
    sample = lines[:: len(lines) // MEASURED_MAX + 1]
    found = _under_columns(heading, [line for line in sample if _is_dated(heading, line)])
    if any(
        at not in found for at, column in enumerate(heading.columns) if column.role in say.MONEY
    ):
        # Dates may stand on lines of their own, or a column may be filled rarely.
        for at, tokens in _under_columns(heading, sample).items():
            found.setdefault(at, tokens)
    heading.has_cents = _mostly_cents(token for tokens in found.values() for token in tokens)
    heading.has_day_months = _mostly_day_months(lines)
    for at, tokens in found.items():
        column = heading.columns[at]
        ends, starts = Counter(round(t.x1) for t in tokens), Counter(round(t.x0) for t in tokens)
        (end, _), (start, starts_count) = ends.most_common(1)[0], starts.most_common(1)[0]
        if starts_count > 1.5 * _near(ends, end) and starts_count > 2:
            column.start = float(start)
        else:
            near = [t.x1 for t in tokens if abs(t.x1 - end) <= 1]
            column.edge = sum(near) / len(near)


def _under_columns(heading: Heading, lines: Iterable[StatementLine]) -> dict[int, list[Token]]:
    """Figures by the number of the column whose heading they are nearest to."""
    found: dict[int, list[Token]] = {}
    for line in lines:
        dated = {
            at
            for token in dates_in(line.words[:DATE_WORDS])
            for at in range(token.start, token.end)
        }
        for token in line.money:
            if token.start in dated:
                continue
            if has_decimals(token.text) or not is_in_text(token, line.words):
                at = _nearest(heading.columns, token)
                if at is not None:
                    found.setdefault(at, []).append(token)
    return found


def _is_dated(heading: Heading, line: StatementLine) -> bool:
    """Whether a date stands where the heading has one, or at the start if it has none."""
    places = [column.x0 for column in heading.columns if column.role in say.DATED]
    if not places:
        return date_at(line.words, 0) is not None
    return any(
        abs(word.x0 - place) < DATE_NEAR and date_at(line.words, at) is not None
        for at, word in enumerate(line.words)
        for place in places
    )


def _mostly_cents(tokens: Iterable[Token]) -> bool:
    shown = [has_cents(token.text) for token in tokens]
    return sum(shown) > CENTS_MIN * len(shown)


def _mostly_day_months(lines: Sequence[StatementLine]) -> bool:
    """Whether what begins lines and can be a date is mostly written 02.10, which can be an amount as well."""
    first = [line.words[0].text for line in lines]
    short = sum(DAY_MONTH.fullmatch(text) is not None for text in first)
    return short >= sum(is_date(text) for text in first) - short


def _settle(heading: Heading, lines: Sequence[StatementLine]) -> None:
    """A name that nobody knows, or that means two things, is what stands under it."""
    unknown: list[Column] = []
    for column in heading.columns:
        if column.role and not _is_doubtful(heading, column):
            continue
        under = [cell.text for line in lines for cell in cells_of(line) if _is_under(cell, column)]
        days = sum(map(is_date, under))
        figures = sum(has_decimals(text) and is_money(text) for text in under)
        if figures > days and figures >= UNDER_MIN * len(under):
            unknown.append(column)
        elif days and days >= UNDER_MIN * len(under):
            column.role = say.VALUE_DATE if heading.has({say.DATE}) else say.DATE
    if not heading.has(say.MOVES) and not unknown:
        unknown = [column for column in heading.columns if say.is_maybe_amount(column.text)][:1]
    for column, role in zip(unknown, _missing(heading, len(unknown)), strict=True):
        column.role = role
        heading.is_guessed |= role in say.MOVES and len(unknown) > 1


def _is_doubtful(heading: Heading, column: Column) -> bool:
    """A name that can mean an amount; or a second column of text to the right of figures."""
    if column.role == say.VALUE_DATE:
        return say.is_maybe_amount(column.text)
    before = [other.role for other in heading.columns if other.x0 < column.x0]
    return (
        column.role in (say.TEXT, say.KIND) and say.TEXT in before and bool(say.MOVES & set(before))
    )


def _missing(heading: Heading, count: int) -> list[str]:
    """What columns of figures with unknown names must be, given the ones that are known."""
    roles = set(heading.roles)
    if roles & {say.DEBIT, say.CREDIT} and not {say.DEBIT, say.CREDIT, say.AMOUNT} <= roles:
        wanted = [role for role in (say.DEBIT, say.CREDIT) if role not in roles]
    elif roles & say.MOVES:
        wanted = []
    else:
        wanted = (
            [say.AMOUNT]
            if count == 1 or (count == 2 and say.BALANCE not in roles)
            else [say.DEBIT, say.CREDIT]
        )
    if say.BALANCE not in roles and len(wanted) < count:
        wanted.append(say.BALANCE)
    return (wanted + [say.OTHER] * count)[:count]


def _is_under(cell: PdfCell, column: Column) -> bool:
    return min(cell.x1, column.x1) - max(cell.x0, column.x0) > 0


def _near(counts: Counter[int], value: int) -> int:
    return counts[value - 1] + counts[value] + counts[value + 1]


def place(heading: Heading, line: StatementLine, dated: Set[int]) -> dict[int, Token]:
    """The amounts of a line by the number of their column; what is no amount of a column stays text.

    `dated` are the words of its dates, which are no amounts.
    """
    words = line.words
    placed: dict[int, tuple[float, Token]] = {}
    marks = [column for column in heading.columns if column.role == say.MARK]
    for found in line.money:
        if heading.has_cents and not has_cents(found.text):
            continue
        if not dated.isdisjoint(range(found.start, found.end)):
            continue
        token = _unmarked(found, words, marks) if marks else found
        at = _nearest(heading.columns, token)
        if at is None or heading.columns[at].role in say.WORDY | say.DATED:
            continue
        column = heading.columns[at]
        off = _off(column, token)
        if off > EDGE_NEAR and is_in_text(token, words):
            continue
        if at not in placed or off < placed[at][0]:
            placed[at] = (off, token)
    return {at: token for at, (_, token) in placed.items()}


def _unmarked(token: Token, words: Sequence[PdfWord], marks: Sequence[Column]) -> Token:
    """An amount without a mark that stands before it in a column of its own."""
    first = words[token.start]
    is_mark = is_beside_money(first.text) and any(
        min(first.x1, column.x1 + 2) - max(first.x0, column.x0 - 2) > 0 for column in marks
    )
    if not is_mark or token.end - token.start < 2:
        return token
    rest = words[token.start + 1 : token.end]
    text = " ".join(word.text for word in rest)
    return Token(text, rest[0].x0, token.x1, token.start + 1, token.end)


def is_in_text(token: Token, words: Sequence[PdfWord]) -> bool:
    """Whether a figure stands close behind a word, as part of a sentence."""
    if not token.start:
        return False
    last = words[token.start - 1]
    gap = words[token.start].x0 - last.x1
    return gap <= TEXT_GAP * (last.bottom - last.top) and not is_beside_money(last.text)


def _nearest(columns: Sequence[Column], token: Token) -> int | None:
    best, at = REACH_MAX, None
    for number, column in enumerate(columns):
        if column.role in NO_FIGURES:
            continue
        off = (
            _wordy_off(columns, number, token) if column.role in say.WORDY else _off(column, token)
        )
        if off < best:
            best, at = off, number
    return at


def _off(column: Column, token: Token) -> float:
    """How far a figure is from where the figures of a column are."""
    if column.edge:
        # A sign or a mark may hang over the edge that the figures share.
        return abs(token.x1 - column.edge)
    if column.start:
        return abs(token.x0 - column.start)
    middle = abs((token.x0 + token.x1) / 2 - (column.x0 + column.x1) / 2)
    return min(abs(token.x1 - column.x1), abs(token.x0 - column.x0), middle)


def _wordy_off(columns: Sequence[Column], number: int, token: Token) -> float:
    """Text goes from its heading up to the next one: a figure that ends before that is of the text."""
    column = columns[number]
    nexts = [other.x0 for other in columns if other.x0 > column.x0]
    end = min(nexts, default=float("inf"))
    if token.x0 >= column.x0 - 3 and token.x1 < end - 2:
        return 2.0 if column.role != say.REFERENCE else 0.5
    return REACH_MAX


def _split(cells: list[PdfCell], line: StatementLine) -> list[PdfCell]:
    """Cells whose words are names of several columns, parted; a narrow table sets them close."""
    parted: list[PdfCell] = []
    for cell in cells:
        words = [word for word in line.words if cell.x0 - 0.1 <= word.x0 <= cell.x1]
        if len(words) < 2 or say.is_exact_heading(cell.text):
            parted.append(cell)
        else:
            parted.extend(_parted(words) or [cell])
    return parted


def _parted(words: Sequence[PdfWord]) -> list[PdfCell]:
    """The fewest names that the words make, all of them known; none if they make no such names."""
    if not words:
        return []
    for size in range(len(words), 0, -1):
        text = " ".join(word.text for word in words[:size])
        if not say.is_exact_heading(text):
            continue
        cell = PdfCell(text, words[0].x0, words[size - 1].x1)
        if size == len(words):
            return [cell]
        last = words[size - 1]
        if words[size].x0 - last.x1 < SPLIT_GAP * (last.bottom - last.top):
            continue
        rest = _parted(words[size:])
        if rest:
            return [cell, *rest]
    return []


def _stacked(upper: list[PdfCell], lower: list[PdfCell]) -> list[PdfCell]:
    """Cells of two lines, one under the other put together; what spans several is no name of a column."""
    if not upper:
        return [PdfCell(cell.text, cell.x0, cell.x1) for cell in lower]
    under = [[cell for cell in lower if _overlap(top, cell)] for top in upper]
    stacked: list[PdfCell] = []
    used: set[int] = set()
    for top, cells in zip(upper, under, strict=True):
        shared = [cell for cell in cells if sum(_overlap(other, cell) for other in upper) > 1]
        if len(cells) > 1:
            continue  # a title over several columns
        if not cells or shared:
            stacked.append(top)
            continue
        (cell,) = cells
        used.add(id(cell))
        stacked.append(
            PdfCell(f"{top.text} {cell.text}", min(top.x0, cell.x0), max(top.x1, cell.x1))
        )
    stacked.extend(cell for cell in lower if id(cell) not in used and not _covers(upper, cell))
    return sorted(stacked, key=lambda cell: cell.x0)


def _covers(upper: list[PdfCell], cell: PdfCell) -> bool:
    return sum(_overlap(other, cell) for other in upper) > 1


def _overlap(one: PdfCell, other: PdfCell) -> bool:
    return min(one.x1, other.x1) - max(one.x0, other.x0) > 0


def _columns(cells: Iterable[PdfCell]) -> list[Column]:
    columns: list[Column] = []
    for cell in cells:
        roles = say.heading_roles(cell.text)
        taken = {column.role for column in columns}
        # `Booking | Booking / purpose | Amount`: a second meaning, where the first is taken.
        role = next((role for role in roles if role not in taken), "") or next(iter(roles), "")
        columns.append(Column(role, cell.x0, cell.x1, cell.text))
    found = [column.role for column in columns]
    if found in ([say.DEBIT, say.AMOUNT], [say.CREDIT, say.AMOUNT]):
        columns[0].role = say.TEXT  # `Payments | Amount`: the title stands where the text does
    return columns


def _is_heading(columns: Sequence[Column]) -> bool:
    known = [column for column in columns if column.role]
    roles = {column.role for column in known}
    if not 2 <= len(columns) <= COLUMNS_MAX or len(known) < KNOWN_MIN * len(columns):
        return False
    is_told = bool(roles & (say.DATED | {say.TEXT, say.PARTY, say.CHECK, say.REFERENCE}))
    has_moves = bool(roles & say.MOVES) or any(say.is_maybe_amount(c.text) for c in known)
    # A table of balances alone is known as one, so that it can be left out.
    return is_told and (has_moves or {say.DATE, say.BALANCE} <= roles) and len(roles) > 1


def worth(columns: Sequence[Column]) -> tuple[int, int]:
    """How much a heading says: more kinds of columns are better, cells that nobody knows are worse."""
    known = [column.role for column in columns if column.role]
    return len(set(known)) * 2 - 3 * (len(columns) - len(known)), len(known)


def _is_data(text: str) -> bool:
    return is_date(text) or (is_money(text) and any(letter.isdigit() for letter in text))
