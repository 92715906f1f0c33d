"""Headings of tables, and the amounts below them.

A heading is one to three lines whose cells are names of columns, in any language of `vocabulary`. Its cells give the
roles of the columns; their positions come from the amounts below, because amounts are right-aligned and headings often
are not.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfCell, cells_of
from stateward.pipelines.kit.pdf.page_numbers import tells_page
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.tokens import (
    DAY_MONTH,
    StatementLine,
    WordSpan,
    has_cents,
    has_currency,
    has_decimals,
    is_beside_money,
    is_date,
    is_money,
)

FOOTNOTES = ("*", "†", "‡")  # before a sentence that explains a sign, not a column
HEADING_LINES_MAX = 3
HEADING_GAP_MAX = 2.1  # of the height, between lines of one heading
KNOWN_MIN = 0.55  # share of the cells of a heading that must be known names
COLUMNS_MAX = 24
SPLIT_GAP = 0.3  # of the height: the least gap between two names within one cell
CENTS_MIN = 0.7  # share of numbers with two decimals above which other numbers are no amounts
DATE_NEAR = 22.0  # points: how far from its heading a date may begin
EDGE_NEAR = 3.0  # points: amounts whose edges are this close are in one column
REACH_MAX = 70.0  # points: an amount further than this from every heading is in no column
DATE_WORDS = 8  # words at the start of a line that may contain its dates
MEASURED_MAX = 800  # lines of a table that are enough to measure it
FOREIGN_MAX = 0.5  # of the rows tell what they were in another currency
NAMES_BESIDE_PAGE_MIN = 3  # of columns, in a line that tells the number of its page, too
RUNNING_MIN = 0.3  # share of rows whose balance must follow from the one above
UNDER_MIN = 0.25  # share of cells below an unknown name that must be dates or amounts
SIGN_GAP_MAX = 8.0  # points between the name of a column and a sign that belongs to it
MARK_LETTERS_MAX = 3  # of what stands beside an amount: CR, Dr., EUR
DAY_LINE_WORDS_MAX = 7
TEXT_GAP = 0.75  # of the height: a number this close behind a word is part of the text


_GLUED = re.compile(r"([^\W\d_]{2,}\.)([^\W\d_]{3,})")
LONG_NAME_CHARS = 9
TWO_NAMES_CHARS_MIN = 6
SIDES = frozenset({vocab.DEBIT, vocab.CREDIT, vocab.AMOUNT})
BALANCE_WORDS = frozenset({"account", "running", "closing", "ledger", "available", "book"})
NO_FIGURES = vocab.DATE_ROLES | {vocab.MARK, vocab.CURRENCY}


class TableColumn(msgspec.Struct):
    """One column: its role, where its heading is, and where its amounts end (`edge`)."""

    role: str
    x0: float
    x1: float
    text: str
    edge: float = 0.0  # right edge of its amounts, once measured
    start: float = 0.0  # left edge of its amounts, if they are left-aligned


class TableHeading(msgspec.Struct):
    """A heading, and the lines of its page that it covers (`start` to `end`)."""

    page: int
    start: int
    end: int
    columns: list[TableColumn]
    has_cents: bool = False  # nearly all numbers below it print two decimals
    has_cents_in_money: bool = False  # those in its columns of amounts do
    has_day_months: bool = True  # dates below it may be written 02.10
    is_inferred: bool = False  # roles of its money columns are inferred, not read
    # Beside its dates stand others, of which no name says what they are.
    has_open_dates: bool = False
    has_unread_dates: bool = False  # rows begin with numbers that may be dates of another kind
    has_day_lines: bool = False  # dates stand on lines of their own, above the rows of their day

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of its columns, from left to right."""
        return tuple(column.role for column in self.columns)

    def has(self, roles: Iterable[str]) -> bool:
        """Whether any column has one of these roles."""
        return not set(roles).isdisjoint(self.roles)


def heading_at(
    lines: Sequence[StatementLine], names: Sequence[list[PdfCell]], at: int
) -> TableHeading | None:
    """The heading that starts on a line; of one to three lines, the one that says most.

    `names` are what `possible_names` gives for each line.
    """
    best: TableHeading | None = None
    cells: list[PdfCell] = []
    for end in range(at + 1, min(at + HEADING_LINES_MAX, len(lines)) + 1):
        line = lines[end - 1]
        if end > at + 1 and line.base - lines[end - 2].base > HEADING_GAP_MAX * line.height:
            break
        if not names[end - 1]:
            break
        cells = _stack(cells, names[end - 1])
        columns = _columns(cells)
        below = lines[end] if end < len(lines) else None
        if (_is_heading(columns) or _is_over_dates(columns, below)) and (
            best is None or heading_worth(columns) > heading_worth(best.columns)
        ):
            best = TableHeading(lines[at].page, at, end, columns)
    return best


def possible_names(line: StatementLine) -> list[PdfCell]:
    """The cells of a line that may be a part of a heading; none if it holds a date, an amount or a footnote."""
    cells = cells_of(line)
    if any(_is_data(cell.text) or cell.text.startswith(FOOTNOTES) for cell in cells):
        return []
    # An amount or a day that stands beside a label stands in no name of a column.
    if any(has_decimals(token.text) for token in line.money) or labelled_day(line):
        return []
    if tells_page(line.text):
        cells = [cell for cell in cells if not tells_page(cell.text)]
        named = [cell for cell in cells if vocab.is_exact_heading(cell.text)]
        if len(named) < len(cells) or len(cells) < NAMES_BESIDE_PAGE_MIN:
            return []
    names = _split_cells(cells, line)
    return [] if any(_is_data(cell.text) for cell in names) else names


def labelled_day(line: StatementLine) -> str:
    """The date of a line that prints nothing else but what kind of date it is: `Booking date: 02.07.2026`."""
    if len(line.words) > DAY_LINE_WORDS_MAX:
        return ""
    for at in range(1, len(line.words)):
        token = line.date_at(at)
        if token is not None:
            label = " ".join(word.text for word in line.words[:at])
            is_day = token.end == len(line.words) and vocab.heading_role(label) == vocab.DATE
            return token.text if is_day and vocab.is_exact_heading(label) else ""
    return ""


def parts_of(heading: TableHeading) -> list[TableHeading]:
    """A heading that repeats itself across the page (cheques in three columns) as separate headings."""
    roles = heading.roles
    for count in range(2, len(roles) // 2 + 1):
        size = len(roles) // count
        is_periodic = size * count == len(roles) and roles == roles[:size] * count
        if is_periodic and not vocab.AMOUNT_ROLES.isdisjoint(roles[:size]):
            return [
                TableHeading(
                    heading.page,
                    heading.start,
                    heading.end,
                    heading.columns[part * size : (part + 1) * size],
                    heading.has_cents,
                    heading.has_cents_in_money,
                    heading.has_day_months,
                    heading.is_inferred,
                    heading.has_open_dates,
                    heading.has_unread_dates,
                    heading.has_day_lines,
                )
                for part in range(count)
            ]
    return [heading]


def measure_columns(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Find where the amounts of each column end, from all lines below the heading."""
    _resolve_unknown_columns(heading, lines)
    sample = lines[:: len(lines) // MEASURED_MAX + 1]
    dated = [line for line in sample if _is_dated(heading, line)]
    _move_texts(heading, dated)
    _take_gross(heading)
    _leave_fees(heading, dated)
    _leave_foreign(heading, dated)
    found = _under_columns(heading, dated)
    if any(
        at not in found
        for at, column in enumerate(heading.columns)
        if column.role in vocab.MONEY_ROLES
    ):
        # Dates may be on separate lines, or a column may be filled rarely.
        for at, tokens in _under_columns(heading, sample).items():
            found.setdefault(at, tokens)
    heading.has_cents = _mostly_cents(token for tokens in found.values() for token in tokens)
    heading.has_cents_in_money = _mostly_cents(
        token
        for at, tokens in found.items()
        if heading.columns[at].role in vocab.MONEY_ROLES
        for token in tokens
    )
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


def _take_gross(heading: TableHeading) -> None:
    """Of a net and a gross amount the right one counts: what is made of others stands behind them, as after a tax."""
    for at, column in enumerate(heading.columns):
        if column.role != vocab.OTHER or "gross" not in vocab.simplify(column.text).split():
            continue
        for net in heading.columns[:at]:
            if net.role == vocab.AMOUNT and "net" in vocab.simplify(net.text).split():
                net.role, column.role = vocab.OTHER, vocab.AMOUNT


def _leave_fees(heading: TableHeading, dated: Sequence[StatementLine]) -> None:
    """Of columns of one side that a row fills both, only that beside the other side counts: `Charge | Debit | Credit`.

    The fees of a row are booked by a row of their own.
    """
    for role, other in ((vocab.DEBIT, vocab.CREDIT), (vocab.CREDIT, vocab.DEBIT)):
        own = [at for at, each in enumerate(heading.roles) if each == role]
        others = [at for at, each in enumerate(heading.roles) if each == other]
        if len(own) < 2 or len(others) != 1:
            continue
        if any(len(_under_columns(heading, [line]).keys() & {*own}) > 1 for line in dated):
            kept = min(own, key=lambda at: abs(at - others[0]))
            for at in own:
                heading.columns[at].role = role if at == kept else vocab.OTHER


def _leave_foreign(heading: TableHeading, dated: Sequence[StatementLine]) -> None:
    """Of columns called amounts, the one counts that every row fills; what few rows fill is what it was abroad."""
    own = [at for at, role in enumerate(heading.roles) if role == vocab.AMOUNT]
    if len(own) < 2 or len(parts_of(heading)) > 1:
        return
    filled = [_under_columns(heading, [line]).keys() & {*own} for line in dated]
    filled = [each for each in filled if each]
    kept = [at for at in own if all(at in each for each in filled)]
    if len(filled) < 2 or len(kept) != 1:
        return
    rest = [at for at in own if at != kept[0]]
    if any(sum(at in each for each in filled) > len(filled) * FOREIGN_MAX for at in rest):
        return  # then the amount of the account may be the one that a row lacks
    for at in own:
        heading.columns[at].role = vocab.AMOUNT if at == kept[0] else vocab.OTHER
    for column in heading.columns[: kept[0]]:
        if column.role == vocab.CURRENCY and not all(_is_filled(column, line) for line in dated):
            column.role = vocab.OTHER  # it is that of the other amount


def rival_amounts(heading: TableHeading, lines: Iterable[StatementLine]) -> tuple[str, str] | None:
    """The names of two columns of amounts of which a row fills both, with other figures; None if there are none.

    Nor do rows that fill one or the other belong to one account, if these are named by two currencies.
    """
    own = [at for at, role in enumerate(heading.roles) if role == vocab.AMOUNT]
    if len(own) < 2 or len(parts_of(heading)) > 1:
        return None
    names = [heading.columns[at].text for at in own]
    if len({*map(vocab.currency_alone, names)} - {""}) > 1:
        return names[0], names[1]
    for line in lines:
        if not line.dates:
            continue
        found = _under_columns(heading, [line])
        texts = {at: found[at][0].text.strip("+-") for at in own if at in found}
        if len({*texts.values()}) > 1:
            one, other, *_ = texts
            return heading.columns[one].text, heading.columns[other].text
    return None


def _is_filled(column: TableColumn, line: StatementLine) -> bool:
    return any(_is_under(cell, column) for cell in cells_of(line))


def _under_columns(
    heading: TableHeading, lines: Iterable[StatementLine]
) -> dict[int, list[WordSpan]]:
    """Amounts by the index of the column that they are nearest to."""
    found: dict[int, list[WordSpan]] = {}
    for line in lines:
        dated = {
            at
            for token in line.dates
            if token.start < DATE_WORDS
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


def _move_texts(heading: TableHeading, dated: Sequence[StatementLine]) -> None:
    """Let a column of texts begin where its texts do, if its name stands over their middle, behind other names."""
    for before, column in pairwise(heading.columns):
        if column.role not in (vocab.TEXT, vocab.PARTY) or before.role in vocab.DATE_ROLES:
            continue
        starts = Counter(
            round(cell.x0)
            for line in dated
            for cell in cells_of(line)
            if before.x1 < cell.x0 < column.x0 - EDGE_NEAR
        )
        start, count = starts.most_common(1)[0] if starts else (0, 0)
        if count >= max(2, len(dated) / 2):
            column.x0 = float(start)


def _is_dated(heading: TableHeading, line: StatementLine) -> bool:
    """Whether a date is below a heading of dates, or at the start of the line if there is none."""
    places = [column.x0 for column in heading.columns if column.role in vocab.DATE_ROLES]
    if not places:
        return line.date_at(0) is not None
    return any(
        abs(word.x0 - place) < DATE_NEAR and line.date_at(at) is not None
        for at, word in enumerate(line.words)
        for place in places
    )


def _mostly_cents(tokens: Iterable[WordSpan]) -> bool:
    shown = [has_cents(token.text) for token in tokens]
    return sum(shown) > CENTS_MIN * len(shown)


def _mostly_day_months(lines: Sequence[StatementLine]) -> bool:
    """Whether the dates at the start of lines are mostly written 02.10, which can be an amount as well."""
    first = [line.words[0].text for line in lines]
    short = sum(DAY_MONTH.fullmatch(text) is not None for text in first)
    return short >= sum(is_date(text) for text in first) - short


def _resolve_unknown_columns(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Give columns with an unknown or ambiguous name a role by what is printed below them."""
    unknown: list[TableColumn] = []
    dated: list[TableColumn] = []
    _find_titles(heading, lines)
    _leave_dated(heading, lines)
    for column in heading.columns:
        if column.role and not _is_doubtful(heading, column):
            continue
        under = [cell.text for line in lines for cell in cells_of(line) if _is_under(cell, column)]
        days = sum(map(is_date, under)) or sum(
            any(min(day.x1, column.x1) > max(day.x0, column.x0) for day in line.dates)
            for line in lines
        )
        figures = sum(has_decimals(text) and is_money(text) for text in under)
        if figures > days and figures >= UNDER_MIN * len(under):
            unknown.append(column)
        elif days and days >= UNDER_MIN * len(under):
            dated.append(column)
            others = [other for other in heading.columns if other.role == vocab.DATE]
            is_value = column.role == vocab.VALUE_DATE or bool(others)
            is_bought = any(vocab.is_purchase_date(other.text) for other in others)
            is_booked = vocab.is_booking_date(column.text) and not _name_booking(others)
            if is_value and is_booked and is_bought:
                for other in others:
                    other.role = vocab.VALUE_DATE
                is_value = False
            elif (is_booked and others) or (is_bought and not column.role):
                # A name that is not known may be that of the booking, and `Credit date` beside `Date` that of values.
                heading.has_open_dates = True
            column.role = vocab.VALUE_DATE if is_value else vocab.DATE
    # Of two columns of dates without a known name, either may be that of the bookings.
    heading.has_open_dates |= len(dated) > 1 and {vocab.DATE, vocab.VALUE_DATE} == {
        c.role for c in dated
    }
    if not heading.has(vocab.AMOUNT_ROLES) and not unknown:
        maybe = [column for column in heading.columns if vocab.is_maybe_amount(column.text)]
        unknown = [column for column in maybe if column not in dated][:1]
    for column, role in zip(unknown, _missing_roles(heading, unknown), strict=True):
        is_none = role == vocab.BALANCE and not _is_running(heading, column, lines)
        column.role = vocab.OTHER if is_none else role
        heading.is_inferred |= role in vocab.AMOUNT_ROLES and len(unknown) > 1


def _name_booking(columns: Iterable[TableColumn]) -> bool:
    return any(vocab.is_booking_date(column.text) for column in columns)


def _leave_dated(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Let go of the role of columns that are called like one of amounts and hold dates: `Received by us`."""
    for column in heading.columns:
        if column.role not in vocab.MONEY_ROLES or vocab.is_maybe_amount(column.text):
            continue
        under = [cell.text for line in lines for cell in cells_of(line) if _is_under(cell, column)]
        days = sum(is_date(text) and not has_decimals(text) for text in under)
        sums = sum(has_decimals(text) and is_money(text) for text in under)
        if days >= 2 and not sums and 2 * days > len(under):
            column.role = ""


def _is_running(heading: TableHeading, column: TableColumn, lines: Sequence[StatementLine]) -> bool:
    """Whether figures left of the amounts change by amounts of their rows, as balances do: points do not.

    Right of the amounts stand balances, also those that are printed once a day.
    """
    if not any(
        other.role in vocab.AMOUNT_ROLES and other.x0 > column.x0 for other in heading.columns
    ):
        return True
    rows: list[tuple[int, set[int]]] = []
    for line in lines:
        cells = [(cell, _cents(cell.text)) for cell in cells_of(line) if is_money(cell.text)]
        under = [value for cell, value in cells if _is_under(cell, column)]
        if under:
            rows.append((under[0], {value for cell, value in cells if not _is_under(cell, column)}))
    steps = [
        {abs(last - now), last + now}.isdisjoint(own | other)
        for (last, other), (now, own) in pairwise(rows)
    ]
    return bool(steps) and steps.count(False) >= RUNNING_MIN * len(steps)


def _cents(text: str) -> int:
    """The figures of an amount, without sign and decimal sign."""
    return int("".join(filter(str.isdigit, text)) or 0)


def _find_titles(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Columns beside one of amounts that are called like a side, and hold texts: `Purchases` is a title there."""
    if not heading.has({vocab.AMOUNT}):
        return
    for column in heading.columns:
        if column.role not in (vocab.DEBIT, vocab.CREDIT):
            continue
        under = [cell.text for line in lines for cell in cells_of(line) if _is_under(cell, column)]
        if sum(map(_is_words, under)) > len(under) / 2:
            column.role = vocab.TEXT


def _is_words(text: str) -> bool:
    """Whether a text is neither a figure nor a date, and longer than a mark."""
    is_word = sum(map(str.isalpha, text)) > MARK_LETTERS_MAX
    return is_word and not is_money(text) and not is_date(text)


def _is_doubtful(heading: TableHeading, column: TableColumn) -> bool:
    """Whether a name may mean an amount, or a second text column is to the right of amounts."""
    if column.role == vocab.VALUE_DATE:
        return vocab.is_maybe_amount(column.text)
    if column.role == vocab.MARK:
        return _names_both_sides(column) and not heading.has(vocab.AMOUNT_ROLES)
    before = [other.role for other in heading.columns if other.x0 < column.x0]
    return (
        column.role in (vocab.TEXT, vocab.KIND)
        and vocab.TEXT in before
        and bool(vocab.AMOUNT_ROLES & set(before))
    )


def _missing_roles(heading: TableHeading, unknown: Sequence[TableColumn]) -> list[str]:
    """The roles of amount columns with unknown names, given those that are known."""
    roles, count = set(heading.roles), len(unknown)
    is_of_currencies = count > 1 and all(vocab.is_currency_alone(c.text) for c in unknown)
    if is_of_currencies and not roles & vocab.AMOUNT_ROLES:
        return [
            vocab.AMOUNT
        ] * count  # `US$ | R$`: the same in both, one of which the account is in
    if (
        roles & {vocab.DEBIT, vocab.CREDIT}
        and not {vocab.DEBIT, vocab.CREDIT, vocab.AMOUNT} <= roles
    ):
        wanted = [role for role in (vocab.DEBIT, vocab.CREDIT) if role not in roles]
    elif roles & vocab.AMOUNT_ROLES:
        wanted = []
    else:
        wanted = (
            [vocab.AMOUNT]
            if count == 1 or (count == 2 and vocab.BALANCE not in roles)
            else [vocab.DEBIT, vocab.CREDIT]
        )
    if vocab.BALANCE not in roles and len(wanted) < count:
        wanted.append(vocab.BALANCE)
    return (wanted + [vocab.OTHER] * count)[:count]


def _is_under(cell: PdfCell, column: TableColumn) -> bool:
    return min(cell.x1, column.x1) - max(cell.x0, column.x0) > 0


def _near(counts: Counter[int], value: int) -> int:
    return counts[value - 1] + counts[value] + counts[value + 1]


def place_amounts(
    heading: TableHeading, line: StatementLine, dated: Set[int]
) -> dict[int, WordSpan]:
    """The amounts of a line by the index of their column; other numbers stay text.

    `dated` are the indexes of the words of its dates, which are no amounts.
    """
    words = line.words
    placed: dict[int, tuple[float, WordSpan]] = {}
    marks = [column for column in heading.columns if column.role == vocab.MARK]
    for found in line.money:
        is_sum = has_cents(found.text) or has_currency(found.text)
        if heading.has_cents and not is_sum:
            continue
        if not dated.isdisjoint(range(found.start, found.end)):
            continue
        token = _without_mark(found, words, marks) if marks else found
        at = _nearest(heading.columns, token)
        if at is None or heading.columns[at].role in vocab.TEXT_ROLES | vocab.DATE_ROLES:
            continue
        column = heading.columns[at]
        is_money = column.role in vocab.MONEY_ROLES
        if is_money and heading.has_cents_in_money and not is_sum:
            continue
        off = _distance(column, token)
        if off > EDGE_NEAR and is_in_text(token, words):
            continue
        if at not in placed or off < placed[at][0]:
            placed[at] = (off, token)
    return {at: token for at, (_, token) in placed.items()}


def _without_mark(
    token: WordSpan, words: Sequence[PdfWord], marks: Sequence[TableColumn]
) -> WordSpan:
    """An amount without the mark before it, if marks have their own column."""
    first = words[token.start]
    is_mark = is_beside_money(first.text) and any(
        min(first.x1, column.x1 + 2) - max(first.x0, column.x0 - 2) > 0 for column in marks
    )
    if not is_mark or token.end - token.start < 2:
        return token
    rest = words[token.start + 1 : token.end]
    text = " ".join(word.text for word in rest)
    return WordSpan(text, rest[0].x0, token.x1, token.start + 1, token.end)


def is_in_text(token: WordSpan, words: Sequence[PdfWord]) -> bool:
    """Whether a number is close behind a word, as part of a sentence."""
    if not token.start:
        return False
    last = words[token.start - 1]
    gap = words[token.start].x0 - last.x1
    return gap <= TEXT_GAP * (last.bottom - last.top) and not is_beside_money(last.text)


def _nearest(columns: Sequence[TableColumn], token: WordSpan) -> int | None:
    best, at = REACH_MAX, None
    for number, column in enumerate(columns):
        if column.role in NO_FIGURES:
            continue
        off = (
            _text_distance(columns, number, token)
            if column.role in vocab.TEXT_ROLES
            else _distance(column, token)
        )
        if off < best:
            best, at = off, number
    return at


def is_aligned(column: TableColumn, token: WordSpan) -> bool:
    """Whether an amount stands exactly where those of a column do."""
    return _distance(column, token) <= EDGE_NEAR


def _distance(column: TableColumn, token: WordSpan) -> float:
    """How far an amount is from the amounts of a column."""
    if column.edge:
        # A sign or a mark may hang over the edge that the figures share.
        return abs(token.x1 - column.edge)
    if column.start:
        return abs(token.x0 - column.start)
    middle = abs((token.x0 + token.x1) / 2 - (column.x0 + column.x1) / 2)
    return min(abs(token.x1 - column.x1), abs(token.x0 - column.x0), middle)


def _text_distance(columns: Sequence[TableColumn], number: int, token: WordSpan) -> float:
    """Text extends from its heading to the next one: a number that ends before that belongs to the text."""
    column = columns[number]
    nexts = [other.x0 for other in columns if other.x0 > column.x0]
    end = min(nexts, default=float("inf"))
    if token.x0 >= column.x0 - 3 and token.x1 < end - 2:
        return 2.0 if column.role != vocab.REFERENCE else 0.5
    is_number = column.role in (vocab.REFERENCE, vocab.CHECK) and token.text.isdigit()
    if is_number and abs(token.x1 - column.x1) <= EDGE_NEAR:
        return 0.5  # right-aligned below its heading
    return REACH_MAX


def _split_cells(cells: list[PdfCell], line: StatementLine) -> list[PdfCell]:
    """Cells that contain the names of several columns, split: narrow tables print names close together."""
    split: list[PdfCell] = []
    for cell in cells:
        words = [word for word in line.words if cell.x0 - 0.1 <= word.x0 <= cell.x1]
        parts = [list(_unglue(word)) for word in words]
        words = [part for each in parts for part in each]
        if pair := _two_days(cell):
            split.extend(pair)
        elif len(words) < 2 or vocab.is_exact_heading(cell.text):
            split.append(cell)
        else:
            split.extend(_known_names(words) or _two_sides(parts) or [cell])
    return split


def _two_days(cell: PdfCell) -> list[PdfCell]:
    """The names of two dates that are printed as one cell with a slash between them, above dates that are so, too."""
    left, _, right = cell.text.partition("/")
    roles = {vocab.heading_role(left), vocab.heading_role(right)}
    if roles != vocab.DATE_ROLES:
        return []
    edge = cell.x0 + (cell.x1 - cell.x0) * len(left) / len(cell.text)
    return [PdfCell(left.strip(), cell.x0, edge), PdfCell(right.strip(), edge + 1, cell.x1)]


def _two_sides(parts: Sequence[Sequence[PdfWord]]) -> list[PdfCell]:
    """The names left and right of the one gap that is not printed, if they are of two kinds of money."""
    cuts = [at for at, each in enumerate(parts) if len(each) > 1]
    if len(cuts) != 1:
        return []
    at = cuts[0]
    halves = [
        [word for each in parts[:at] for word in each] + [parts[at][0]],
        [parts[at][1]] + [word for each in parts[at + 1 :] for word in each],
    ]
    cells = [
        PdfCell(" ".join(word.text for word in half), half[0].x0, half[-1].x1) for half in halves
    ]
    roles = {vocab.heading_role(cell.text) for cell in cells}
    return cells if len(roles) == 2 and roles <= vocab.MONEY_ROLES else []


def _unglue(word: PdfWord) -> Iterator[PdfWord]:
    """A word that is two, because narrow columns print their names without a gap: `Amt.Closing`."""
    found = _GLUED.fullmatch(word.text)
    parts = (found[1], found[2]) if found is not None else _two_names(word.text)
    if parts is None:
        yield word
        return
    at = word.x0 + (word.x1 - word.x0) * len(parts[0]) / len(word.text)
    gap = SPLIT_GAP * (word.bottom - word.top)
    yield msgspec.structs.replace(word, text=parts[0], x1=at - gap)
    yield msgspec.structs.replace(word, text=parts[1], x0=at)


@lru_cache(maxsize=4096)
def _two_names(text: str) -> tuple[str, str] | None:
    """A word in capitals that begins with the name of an amount: `OUTBALANCE`, `OUTACCOUNT` before `BALANCE`."""
    if not text.isupper() or vocab.is_exact_heading(text) or len(text) < TWO_NAMES_CHARS_MIN:
        return None
    cuts = range(2, len(text) - 2)
    names = ((text[:at], text[at:]) for at in cuts if vocab.heading_role(text[:at]) in SIDES)
    return next(
        (
            pair
            for pair in names
            if vocab.is_exact_heading(pair[0])
            and (vocab.is_exact_heading(pair[1]) or pair[1].casefold() in BALANCE_WORDS)
        ),
        None,
    )


def _known_names(words: Sequence[PdfWord]) -> list[PdfCell]:
    """The fewest known names that all the words form; none if they do not."""
    if not words:
        return []
    for size in range(len(words), 0, -1):
        text = " ".join(word.text for word in words[:size])
        if not vocab.is_exact_heading(text) and not vocab.is_heading_in_currency(text):
            continue
        cell = PdfCell(text, words[0].x0, words[size - 1].x1)
        if size == len(words):
            return [cell]
        last = words[size - 1]
        rest = _known_names(words[size:])
        is_apart = words[size].x0 - last.x1 >= SPLIT_GAP * (last.bottom - last.top)
        if rest and (is_apart or _are_two_names(text, rest[0].text)):
            return [cell, *rest]
    return []


def _are_two_names(left: str, right: str) -> bool:
    """Whether texts without a gap are no single name: of a date before that of an amount, or of both sides.

    Marks of debit and credit are called by both sides, too, but in short words.
    """
    roles = vocab.heading_role(left), vocab.heading_role(right)
    if {*roles} in ({vocab.DEBIT, vocab.CREDIT}, vocab.DATE_ROLES):
        return min(len(left), len(right)) >= LONG_NAME_CHARS
    return " " in left and roles[0] in vocab.DATE_ROLES and roles[1] in vocab.MONEY_ROLES


def _stack(upper: list[PdfCell], lower: list[PdfCell]) -> list[PdfCell]:
    """Cells of two lines joined where one is above the other; a cell that spans several is no name of a column."""
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
        has_date = any(vocab.heading_role(o.text) == vocab.DATE for o in upper if o is not top)
        stacked.extend(_two_columns(top, cell) or [_join_cells(top, cell, has_date=has_date)])
    stacked.extend(cell for cell in lower if id(cell) not in used and not _covers(upper, cell))
    return sorted(stacked, key=lambda cell: cell.x0)


def _join_cells(top: PdfCell, below: PdfCell, *, has_date: bool = False) -> PdfCell:
    """One name of two lines. `has_date`: another column is called a date, so that `Date` over `valeur` is one name."""
    text = f"{top.text} {below.text}"
    days = [vocab.heading_role(each.text) for each in (top, below)]
    are_two = days == [vocab.DATE, vocab.VALUE_DATE] and all(
        vocab.is_exact_heading(each.text) for each in (top, below)
    )
    if are_two and not has_date:
        text = top.text  # rows print the value date below that of the booking
    whole = f"{top.text}{below.text}"
    # A narrow column breaks its name anywhere: `Buchungsda` over `tum`.
    if not vocab.is_exact_heading(text) and vocab.is_exact_heading(whole):
        text = whole
    return PdfCell(text, min(top.x0, below.x0), max(top.x1, below.x1))


def _two_columns(top: PdfCell, below: PdfCell) -> list[PdfCell]:
    """Two names that stand close together, of which one goes on below: `Booking date Value` over `date`."""
    if vocab.is_exact_heading(f"{top.text} {below.text}"):
        return []
    width = (top.x1 - top.x0) / len(top.text)
    for at in (i for i, char in enumerate(top.text) if char == " "):
        edge = top.x0 + at * width
        left = PdfCell(top.text[:at], top.x0, edge)
        right = PdfCell(top.text[at + 1 :], edge + width, top.x1)
        middle = (below.x0 + below.x1) / 2
        pair = (
            [left, _join_cells(right, below)]
            if middle > edge
            else [_join_cells(left, below), right]
        )
        if all(vocab.is_exact_heading(each.text) for each in pair):
            return pair
    return []


def _covers(upper: list[PdfCell], cell: PdfCell) -> bool:
    return sum(_overlap(other, cell) for other in upper) > 1


def _overlap(one: PdfCell, other: PdfCell) -> bool:
    return min(one.x1, other.x1) - max(one.x0, other.x0) > 0


def _columns(cells: Iterable[PdfCell]) -> list[TableColumn]:
    columns: list[TableColumn] = []
    for cell in cells:
        if columns and columns[-1].role in vocab.AMOUNT_ROLES and _is_sign(cell, columns[-1]):
            columns[-1].x1 = cell.x1  # `Deposit (+)`
            continue
        roles = vocab.heading_roles(cell.text)
        taken = {column.role for column in columns}
        # `Booking | Booking / purpose | Amount`: a second meaning, where the first is already used.
        role = next((role for role in roles if role not in taken), "") or next(iter(roles), "")
        columns.append(TableColumn(role, cell.x0, cell.x1, cell.text))
    found = [column.role for column in columns]
    if found in ([vocab.DEBIT, vocab.AMOUNT], [vocab.CREDIT, vocab.AMOUNT]):
        columns[0].role = vocab.TEXT  # `Payments | Amount`: a title above the column of texts
    return columns


def _is_sign(cell: PdfCell, column: TableColumn) -> bool:
    """Whether a cell without letters and digits goes on with the name at its left."""
    is_bare = not any(char.isalnum() for char in cell.text)
    return is_bare and cell.x0 - column.x1 <= SIGN_GAP_MAX


def _is_heading(columns: Sequence[TableColumn]) -> bool:
    known = [column for column in columns if column.role]
    roles = {column.role for column in known}
    told = len(known) + sum(not c.role and vocab.is_currency_alone(c.text) for c in columns)
    if not 2 <= len(columns) <= COLUMNS_MAX or told < KNOWN_MIN * len(columns):
        return False
    has_text = bool(
        roles & (vocab.DATE_ROLES | {vocab.TEXT, vocab.PARTY, vocab.CHECK, vocab.REFERENCE})
    )
    has_amount = bool(roles & vocab.AMOUNT_ROLES) or any(
        vocab.is_maybe_amount(c.text) for c in known
    )
    has_amount = has_amount or any(vocab.is_currency_alone(c.text) for c in columns)
    has_amount = has_amount or any(_names_both_sides(c) for c in columns)
    # A table of balances alone is recognised too, so that it can be skipped.
    has_balances = vocab.BALANCE in roles and bool(roles & vocab.DATE_ROLES)
    return has_text and (has_amount or has_balances) and len(roles) > 1


def _names_both_sides(column: TableColumn) -> bool:
    """Whether a name of both sides is too long for a column of marks: `Debit / Credit` may stand above amounts."""
    return column.role == vocab.MARK and len(column.text) >= LONG_NAME_CHARS


def _is_over_dates(columns: Sequence[TableColumn], below: StatementLine | None) -> bool:
    """Whether texts and amounts are named, and dates stand right below all names that are not known."""
    known, unknown = (
        [c for c in columns if bool(c.role) == is_known] for is_known in (True, False)
    )
    roles = {column.role for column in known}
    has_rest = bool(roles & {vocab.TEXT, vocab.PARTY}) and bool(roles & vocab.AMOUNT_ROLES)
    if below is None or not unknown or not has_rest or len(columns) > COLUMNS_MAX:
        return False
    days = [cell for cell in cells_of(below) if is_date(cell.text)]
    return all(any(_is_under(day, column) for day in days) for column in unknown)


def heading_worth(columns: Sequence[TableColumn]) -> tuple[int, int, int, bool]:
    """How much a heading says: more roles are better, unknown cells are worse; then whether it names the booking.

    A name that ends with a slash goes on below.
    """
    known = [column.role for column in columns if column.role]
    days = [column.text for column in columns if column.role == vocab.DATE]
    is_told = len(days) > 1 and any(map(vocab.is_booking_date, days))
    cut = sum(column.text.endswith("/") for column in columns)
    return len(set(known)) * 2 - 3 * (len(columns) - len(known)), len(known), -cut, is_told


def _is_data(text: str) -> bool:
    return is_date(text) or (is_money(text) and any(letter.isdigit() for letter in text))
