"""The ways in which the signs of a section can be read, the likeliest first, and the rows that each makes."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.statements.model import Place, Row, Terms
from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.facts import Period
from stateward.pipelines.statements.pdf.pairs import pairs_of
from stateward.pipelines.statements.pdf.rows import Entry, Fact


class Story(msgspec.Struct):
    """A section before it is decided."""

    entries: list[Entry]
    facts: list[Fact]  # printed in its own lines
    shared: list[Fact]  # printed before the first section, for any of them
    period: Period
    card: int  # how sure it is that this is a card: 0, 1 or 2
    is_bank: bool = False  # words of bank accounts are printed
    is_thai: bool = False
    is_guessed: bool = False  # what the columns of money are was not read but guessed


class Way(msgspec.Struct):
    """One way to read the signs of a section."""

    why: str
    sign: str
    balances: str
    make: Callable[[Sequence[Entry]], list[Row]]


def ways_of(story: Story, terms: Terms) -> Iterator[Way]:
    """Every way to read the signs, the likeliest first."""
    entries = story.entries
    has_columns = any(say.DEBIT in e.money or say.CREDIT in e.money for e in entries)
    has_amount = any(say.AMOUNT in e.money for e in entries)
    if has_columns and not has_amount:
        yield from _column_ways(story, terms)
    elif has_amount:
        yield from _amount_ways(story, terms)
    else:
        yield Way("no row has an amount", "printed", "printed", as_printed)


def _column_ways(story: Story, terms: Terms) -> Iterator[Way]:
    is_signed = any(
        (read := money.read_amount(entry.money.get(say.DEBIT, ""), terms.decimal))
        and read.value < 0
        for entry in story.entries
    )
    sign = "columns_signed" if is_signed else "columns"
    why = "money out and money in have columns of their own"
    if story.card:
        yield Way(f"{why}; a balance of a card is a debt", sign, "owed", as_printed)
        yield Way(why, sign, "printed", as_printed)
        return
    yield Way(why, sign, "printed", as_printed)
    if story.is_guessed:
        yield Way("the first column is money in, the second money out", sign, "printed", exchanged)


def _amount_ways(story: Story, terms: Terms) -> Iterator[Way]:
    entries = story.entries
    is_told = any(entry.direction for entry in entries)
    is_marked = any(_is_marked(entry, terms.decimal) for entry in entries)
    is_mostly_positive = 2 * sum(_is_positive(e, terms.decimal) for e in entries) >= len(entries)
    titled = Way("titles of tables say which way money went", "columns", "printed", by_title)
    printed = Way("signs are as printed", "printed", "printed", as_printed)
    card = Way(
        "it is a card: charges are printed as positive and a balance is a debt",
        "flipped",
        "owed",
        as_printed,
    )
    negative = Way(
        "charges are printed as negative and a balance is a debt", "printed", "owed", as_printed
    )
    debt = Way(
        "charges are printed as positive, debts as negative", "flipped", "printed", as_printed
    )
    chain = Way(
        "amounts have no sign: the running balance says which way", "columns", "printed",
        lambda given: by_balance(given, terms, story.facts + story.shared),
    )  # fmt: skip
    owed_titles = Way(
        "titles of tables say which way money went; a balance is a debt",
        "columns",
        "owed",
        by_title,
    )
    if any(entry.mark for entry in entries):
        said = "a column of marks says which way money went"
        sign = "marks_else_debit" if story.card else "marks"
        yield Way(said, sign, "owed" if story.card else "printed", as_printed)
        if story.card:
            yield Way(said, "marks", "printed", as_printed)
    is_card = story.card == 2 or (story.card == 1 and is_mostly_positive and not story.is_bank)
    if is_told and not is_marked:
        yield from (owed_titles, titled) if is_card else (titled,)
    if is_card:
        yield from (card, negative, printed, chain)
        return
    yield printed
    if not is_marked:
        yield chain
    if is_told and is_marked:
        yield titled
    # Told apart by nothing but arithmetic, so only where a balance is printed to hold it against.
    yield negative if not is_mostly_positive else debt


def _is_marked(entry: Entry, decimal: str) -> bool:
    read = money.read_amount(entry.money.get(say.AMOUNT, ""), decimal)
    return read is not None and (read.value < 0 or bool(read.mark or entry.mark))


def _is_positive(entry: Entry, decimal: str) -> bool:
    read = money.read_amount(entry.money.get(say.AMOUNT, ""), decimal)
    return read is not None and read.value > 0 and not money.mark_sign(read.mark or entry.mark) > 0


def as_printed(entries: Sequence[Entry]) -> list[Row]:
    """Rows with every amount in the column it was printed in."""
    return [row_of(entry) for entry in entries]


def exchanged(entries: Sequence[Entry]) -> list[Row]:
    """Rows with debit and credit exchanged."""
    return [
        msgspec.structs.replace(row, debit=row.credit, credit=row.debit)
        for row in as_printed(entries)
    ]


def by_title(entries: Sequence[Entry]) -> list[Row]:
    """Rows whose amounts are out or in by the title of their table."""
    return [_moved(entry, entry.direction or say.DEBIT) for entry in entries]


def by_balance(entries: Sequence[Entry], terms: Terms, facts: Sequence[Fact]) -> list[Row]:
    """Rows whose amounts are out or in by what the balance did; as printed if it did neither."""
    decimal = terms.decimal
    values = [money.amount(entry.money.get(say.AMOUNT, ""), decimal) for entry in entries]
    balances = [money.amount(entry.money.get(say.BALANCE, ""), decimal) for entry in entries]
    opening = [known[1] for known, _ in pairs_of(facts, terms) if known]
    for is_backward in (False, True):
        ways = _directions(values, balances, opening, is_backward=is_backward)
        if ways is not None:
            return [_moved(entry, way) for entry, way in zip(entries, ways, strict=True)]
    return as_printed(entries)


def _directions(
    values: Sequence[Decimal | None],
    balances: Sequence[Decimal | None],
    opening: Sequence[Decimal],
    *,
    is_backward: bool,
) -> list[str] | None:
    order = range(len(values) - 1, -1, -1) if is_backward else range(len(values))
    ways = [""] * len(values)
    last: Decimal | None = None
    for number, at in enumerate(order):
        value, balance = values[at], balances[at]
        if value is None or balance is None:
            return None
        if number == 0:
            starts = [start for start in opening if abs(balance - start) == abs(value)]
            if not starts:
                return None
            last = starts[0]
        step = balance - (last or Decimal(0))
        if abs(step) != abs(value):
            return None
        ways[at] = say.CREDIT if step >= 0 else say.DEBIT
        last = balance
    return ways


def _moved(entry: Entry, way: str) -> Row:
    row = row_of(entry)
    if not row.amount:
        return row
    if way == say.DEBIT:
        return msgspec.structs.replace(row, amount="", debit=row.amount)
    return msgspec.structs.replace(row, amount="", credit=row.amount)


def row_of(entry: Entry) -> Row:
    """An entry as it is handed over."""
    box = tuple(round(side, 1) for side in entry.box)
    return Row(
        place=Place(entry.page, entry.line, (box[0], box[1], box[2], box[3])),
        date=entry.date,
        value_date=entry.value_date,
        description="\n".join(entry.texts) or " ".join(entry.references),
        amount=entry.money.get(say.AMOUNT, ""),
        debit=entry.money.get(say.DEBIT, ""),
        credit=entry.money.get(say.CREDIT, ""),
        mark=entry.mark,
        balance=entry.money.get(say.BALANCE, ""),
        currency=entry.currency,
        reference=" ".join(entry.references),
        counterparty=" ".join(entry.parties),
        more=entry.more,
        note="" if entry.is_dated else "the date is that of the row above",
    )
