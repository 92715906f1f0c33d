"""The possible readings of the signs of a section, the most likely first, and the rows that each gives."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.statements.model import ReadingTerms, RowPlace, StatementRow
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.balance_pairs import balance_pairs
from stateward.pipelines.statements.pdf.rows import DraftRow, PrintedFact
from stateward.pipelines.statements.period_order import PrintedPeriod
from stateward.pipelines.statements.source import NO_HINTS, Hints


class SectionDraft(msgspec.Struct):
    """A section before it is decided how its strings are read."""

    rows: list[DraftRow]
    facts: list[PrintedFact]  # printed within the section
    shared: list[PrintedFact]  # printed before the first section, for any of them
    period: PrintedPeriod
    card: int  # whether this is a card: 0 no, 1 maybe, 2 yes
    is_bank: bool = False  # words that only bank accounts have are printed
    era: int = 0  # the calendar of short years, by the words on the pages
    is_inferred: bool = False  # the roles of the money columns are inferred, not read from headings
    hints: Hints = NO_HINTS
    currency: str = ""  # as it is printed; "" if it is not
    day_first: str = ""  # what shows that it is of a country that writes the day first


class SignReading(msgspec.Struct):
    """One reading of the signs of a section: values of `ReadingTerms.sign` and `.balances`, and how rows are made."""

    why: str
    sign: str
    balances: str
    make: Callable[[Sequence[DraftRow]], list[StatementRow]]


def sign_readings(draft: SectionDraft, terms: ReadingTerms) -> Iterator[SignReading]:
    """Every possible reading of the signs, the most likely first."""
    drafts = draft.rows
    has_columns = any(vocab.DEBIT in e.money or vocab.CREDIT in e.money for e in drafts)
    has_amount = any(vocab.AMOUNT in e.money for e in drafts)
    if draft.hints.sign and drafts:
        yield from _said_readings(
            draft.hints.sign, draft, is_columns=has_columns and not has_amount
        )
    elif has_columns and not has_amount:
        yield from _column_readings(draft, terms)
    elif has_amount:
        yield from _amount_readings(draft, terms)
        yield from _readings_without_pluses(draft, terms)
    else:
        yield SignReading("no row has an amount", "printed", "printed", as_printed)


def _said_readings(sign: str, draft: SectionDraft, *, is_columns: bool) -> Iterator[SignReading]:
    """The readings with the sign that the user gave; only whether balances are debts is left open."""
    why = f"{sign}: the user says so"
    make = swap_signs if is_columns and sign == "flipped" else as_printed
    for balances in ("owed", "printed") if draft.card else ("printed", "owed"):
        yield SignReading(why, "columns" if is_columns else sign, balances, make)


def _column_readings(draft: SectionDraft, terms: ReadingTerms) -> Iterator[SignReading]:
    read = (
        money.read_amount(entry.money.get(vocab.DEBIT, ""), terms.decimal) for entry in draft.rows
    )
    is_minus = [each.value < 0 for each in read if each is not None and each.value]
    # One minus among debits without a sign is that of a reversal.
    sign = "columns_signed" if is_minus and 2 * sum(is_minus) >= len(is_minus) else "columns"
    why = "debits and credits have their own columns"
    if draft.card:
        yield SignReading(f"{why}; the balance of a card is a debt", sign, "owed", as_printed)
        yield SignReading(why, sign, "printed", as_printed)
        return
    yield SignReading(why, sign, "printed", as_printed)
    if draft.is_inferred:
        yield SignReading(
            "the first column is credits, the second debits", sign, "printed", swap_signs
        )


def _amount_readings(draft: SectionDraft, terms: ReadingTerms) -> Iterator[SignReading]:
    drafts = draft.rows
    is_titled = any(entry.direction for entry in drafts)
    is_marked = any(_is_marked(entry, terms.decimal) for entry in drafts)
    is_mostly_positive = 2 * sum(_is_positive(e, terms.decimal) for e in drafts) >= len(drafts)
    titled = SignReading(
        "titles of tables say whether amounts are debits or credits", "columns", "printed", by_title
    )
    printed = SignReading("signs are as printed", "printed", "printed", as_printed)
    card = SignReading(
        "a card: charges are printed as positive, and the balance is a debt",
        "flipped",
        "owed",
        as_printed,
    )
    negative = SignReading(
        "charges are printed as negative, and the balance is a debt", "printed", "owed", as_printed
    )
    debt = SignReading(
        "charges are printed as positive, debts as negative", "flipped", "printed", as_printed
    )
    chain = SignReading(
        "amounts have no sign: the running balance shows debits and credits", "columns", "printed",
        lambda given: by_balance(given, terms, draft.facts + draft.shared),
    )  # fmt: skip
    owed_titles = SignReading(
        "titles of tables say whether amounts are debits or credits; the balance is a debt",
        "columns",
        "owed",
        by_title,
    )
    if any(entry.mark for entry in drafts):
        why = "a column of marks says whether amounts are debits or credits"
        sign = "marks_else_debit" if draft.card else "marks"
        yield SignReading(why, sign, "owed" if draft.card else "printed", as_printed)
        if draft.card:
            yield SignReading(why, "marks", "printed", as_printed)
    is_card = draft.card == 2 or (draft.card == 1 and is_mostly_positive and not draft.is_bank)
    if not is_card and _marks_credits_alone(drafts, terms.decimal):
        why = "credits are marked, so what has no mark is a debit"
        for balances in ("owed", "printed") if draft.card else ("printed",):
            yield SignReading(why, "marks_else_debit", balances, as_printed)
    if _has_pluses_alone(drafts, terms.decimal):
        why = "what came in has a plus, so what has no sign went out"
        for balances in ("owed", "printed") if draft.card else ("printed", "owed"):
            yield SignReading(why, "marks_else_debit", balances, mark_pluses)
    if is_titled and not is_marked:
        yield from (owed_titles, titled) if is_card else (titled, owed_titles)
    if is_card:
        yield from (card, negative, printed, chain)
        return
    yield printed
    if not all(_is_marked(entry, terms.decimal) for entry in drafts):
        yield chain  # marks may be missing from some rows
    if is_titled and is_marked:
        why = "signs are as printed; where a table prints none, its title tells them"
        yield SignReading(why, "printed", "printed", by_title_where_unsigned)
        yield titled
    # Only arithmetic or words distinguish these.
    yield negative if not is_mostly_positive else debt
    yield card


def _readings_without_pluses(draft: SectionDraft, terms: ReadingTerms) -> Iterator[SignReading]:
    """The readings where a plus behind some amounts is no sign but the mark of a footnote; only a sum shows that."""
    is_bare = any(not _has_sign(entry.money.get(vocab.AMOUNT, "")) for entry in draft.rows)
    if not is_bare or not any(map(_ends_with_plus, draft.rows)):
        return
    for one in _amount_readings(msgspec.structs.replace(draft, rows=_bare(draft.rows)), terms):
        yield msgspec.structs.replace(
            one,
            why=f"{one.why}; a plus behind an amount is the mark of a footnote",
            make=lambda given, make=one.make: make(_bare(given)),
        )


def _ends_with_plus(entry: DraftRow) -> bool:
    return entry.money.get(vocab.AMOUNT, "").endswith("+")


def _bare(drafts: Sequence[DraftRow]) -> list[DraftRow]:
    """Rows without the plus behind their amounts."""
    return [
        msgspec.structs.replace(
            entry, money={**entry.money, vocab.AMOUNT: entry.money[vocab.AMOUNT].rstrip("+ ")}
        )
        if _ends_with_plus(entry)
        else entry
        for entry in drafts
    ]


def _is_marked(entry: DraftRow, decimal: str) -> bool:
    read = money.read_amount(entry.money.get(vocab.AMOUNT, ""), decimal)
    return read is not None and (read.value < 0 or bool(read.mark or entry.mark))


def _marks_credits_alone(drafts: Sequence[DraftRow], decimal: str) -> bool:
    """Whether some amounts have a mark of credits beside them, and the others neither a mark nor a sign."""
    if any(entry.mark or _is_negative(entry, decimal) for entry in drafts):
        return False
    return {money.mark_sign(_inline_mark(entry, decimal)) for entry in drafts} == {0, 1}


def _has_pluses_alone(drafts: Sequence[DraftRow], decimal: str) -> bool:
    """Whether some amounts have a plus, and the others neither a mark nor a sign."""
    if any(_is_marked(entry, decimal) and not _has_plus(entry) for entry in drafts):
        return False
    return {_has_plus(entry) for entry in drafts} == {True, False}


def _has_plus(entry: DraftRow) -> bool:
    text = entry.money.get(vocab.AMOUNT, "")
    return text.startswith("+") or text.endswith("+")


def mark_pluses(drafts: Sequence[DraftRow]) -> list[StatementRow]:
    """Rows with a mark of credits in place of a plus."""
    return [
        msgspec.structs.replace(row, amount=row.amount.strip("+ "), mark="CR")
        if _has_plus(entry)
        else row
        for entry, row in zip(drafts, as_printed(drafts), strict=True)
    ]


def _inline_mark(entry: DraftRow, decimal: str) -> str:
    """The mark printed beside an amount; a plus is a sign, not a mark."""
    read = money.read_amount(entry.money.get(vocab.AMOUNT, ""), decimal)
    return "" if read is None or read.mark in ("+", "-") else read.mark


def _is_negative(entry: DraftRow, decimal: str) -> bool:
    read = money.read_amount(entry.money.get(vocab.AMOUNT, ""), decimal)
    return read is not None and read.value < 0


def _is_positive(entry: DraftRow, decimal: str) -> bool:
    read = money.read_amount(entry.money.get(vocab.AMOUNT, ""), decimal)
    return read is not None and read.value > 0 and not money.mark_sign(read.mark or entry.mark) > 0


def as_printed(drafts: Sequence[DraftRow]) -> list[StatementRow]:
    """Rows with every amount in the column in which it is printed."""
    return [row_of(entry) for entry in drafts]


def swap_signs(drafts: Sequence[DraftRow]) -> list[StatementRow]:
    """Rows with debit and credit swapped."""
    return [
        msgspec.structs.replace(row, debit=row.credit, credit=row.debit)
        for row in as_printed(drafts)
    ]


def by_title(drafts: Sequence[DraftRow]) -> list[StatementRow]:
    """Rows whose amounts are debits or credits by the title of their table."""
    return [_as_role(entry, entry.direction or vocab.DEBIT) for entry in drafts]


def by_title_where_unsigned(drafts: Sequence[DraftRow]) -> list[StatementRow]:
    """Rows as printed, but those of a table of debits that prints no sign at all as debits."""
    signed = {entry.group for entry in drafts if _has_sign(entry.money.get(vocab.AMOUNT, ""))}
    return [
        msgspec.structs.replace(row, amount=f"-{row.amount}")
        if entry.direction == vocab.DEBIT and entry.group not in signed and row.amount
        else row
        for entry, row in zip(drafts, as_printed(drafts), strict=True)
    ]


def _has_sign(text: str) -> bool:
    return any(letter in money.MINUS or letter in "(+" or letter.isalpha() for letter in text)


def by_balance(
    drafts: Sequence[DraftRow], terms: ReadingTerms, facts: Sequence[PrintedFact]
) -> list[StatementRow]:
    """Rows whose amounts are debits or credits by the change of the balance; as printed if it does not fit."""
    decimal = terms.decimal
    values = [money.amount(entry.money.get(vocab.AMOUNT, ""), decimal) for entry in drafts]
    balances = [money.amount(entry.money.get(vocab.BALANCE, ""), decimal) for entry in drafts]
    opening = [known[1] for known, _ in balance_pairs(facts, terms) if known]
    for is_backward in (False, True):
        roles = _directions(values, balances, opening, is_backward=is_backward)
        if roles is not None:
            return [_as_role(entry, role) for entry, role in zip(drafts, roles, strict=True)]
    return as_printed(drafts)


def _directions(
    values: Sequence[Decimal | None],
    balances: Sequence[Decimal | None],
    opening: Sequence[Decimal],
    *,
    is_backward: bool,
) -> list[str] | None:
    order = range(len(values) - 1, -1, -1) if is_backward else range(len(values))
    roles = [""] * len(values)
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
        roles[at] = vocab.CREDIT if step >= 0 else vocab.DEBIT
        last = balance
    return roles


def _as_role(entry: DraftRow, role: str) -> StatementRow:
    """A row with its amount in the column of debits or credits."""
    row = row_of(entry)
    if not row.amount:
        return row
    if role == vocab.DEBIT:
        return msgspec.structs.replace(row, amount="", debit=row.amount)
    return msgspec.structs.replace(row, amount="", credit=row.amount)


def row_of(entry: DraftRow) -> StatementRow:
    """A draft as the row that the reader gives."""
    box = tuple(round(side, 1) for side in entry.box)
    return StatementRow(
        place=RowPlace(entry.page, entry.line, (box[0], box[1], box[2], box[3])),
        date=entry.date,
        value_date=entry.value_date,
        description="\n".join(entry.texts) or " ".join(entry.references),
        amount=entry.money.get(vocab.AMOUNT, ""),
        debit=entry.money.get(vocab.DEBIT, ""),
        credit=entry.money.get(vocab.CREDIT, ""),
        mark=entry.mark,
        balance=entry.money.get(vocab.BALANCE, ""),
        currency=entry.currency,
        reference=" ".join(entry.references),
        counterparty=" ".join(entry.parties),
        more=entry.more,
        note="" if entry.is_dated else "the date is that of the row above",
    )
