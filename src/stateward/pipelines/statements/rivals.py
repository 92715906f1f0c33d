"""Other readings of a table that nothing rules out. Each is said, so that a person decides between them.

A column is read as the amounts only if no other column could be them as well; figures without any decimals may be
cents; a currency beside the rows may be that of another amount. None of this is decided by which column comes first.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements import booking, headings
from stateward.pipelines.statements.day_columns import days_evidence, open_day
from stateward.pipelines.statements.layout import Cells, ColumnLayout
from stateward.pipelines.statements.model import ReadingTerms, StatementProblem
from stateward.pipelines.statements.own_amounts import (
    amount_by_currency,
    amount_by_sums,
    is_sum_of,
)
from stateward.pipelines.statements.scales import IN_THOUSANDS
from stateward.pipelines.statements.table_cells import TableHead

ZERO = Decimal(0)
DAY_CHARS = 10  # of a date that a time may follow
FILLED = 0.6  # of the rows must have an amount in a column that could be the amounts
EDGE_ROWS_MIN, EDGE_EMPTY_MIN = (
    4,
    2,
)  # rows, and columns that only the first or the last leaves empty
WHOLE_ROWS_MIN = 6  # amounts without decimals, before it is strange that none has cents
# Currencies whose prices have cents nearly everywhere; forints, crowns, pesos and rupees often have none.
WITH_CENTS = frozenset("EUR USD GBP CHF CAD AUD NZD SGD HKD PLN RON BGN ILS MYR".split())
ONE_CURRENCY = "€£₹₽₩₺₫₪฿₱₦₴₡₲₵₸"  # signs that stand for one currency alone
_MINOR = re.compile(
    r"(?i)(?:\b|_)(?:in[ _])?(?:pence|pennies|cents?|centimes?|centavos|kopecks|grosze?|öre|øre"
    r"|minor(?:[ _]units?)?)(?:\b|$)"
)
# Above lots of shares and rates of exchange, which are no amounts of an account.
_NO_AMOUNTS = frozenset(
    """price prices quantity qty shares units unit rate nav kurs menge anzahl stuck stuckzahl preis stuckpreis prix
    cours quantite precio titulos prezzo quantita aantal koers cena ilosc antal antall hinta preco""".split()
)
_CODE = re.compile(r"\b[A-Z]{3}\b")
_OF_CASH = re.compile(
    r"bargeld|geldautomat|\batm\b|cash (?:withdrawal|machine|advance)|withdrawal|retrait|\bdab\b|cajero|reintegro"
    r"|bancomat|preliev|geldopname|geldautomaat|bankomat|kontant|uttag|haevning|minibank|wyplata|vyber|saque|levantamento"
    r"|automaattinosto|kateisnosto|keszpenz|снятие|банкомат|出金|提款|取款"
)
_OF_BANK = re.compile(
    r"fee\b|fees\b|charge|interest|entgelt|gebuhr|zins|spesen|abschluss|steuer|\bfrais|agios|interet|cotisation|comisi"
    r"|interes|impuesto|commission|canone|bollo|imposta|competenze|kosten|rente|avgift|ranta|gebyr|rente|oplat|prowizj"
    r"|^int\b|odsetk|podat|poplat|urok|kamat|\bdij|jutalek|juros|tarifa|imposto|iof\b|tax\b|комисси|процент|手数料|利息"
)


def rival_problems(
    layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms, currency: str, *, is_proven: bool, told: str = ""
) -> Iterator[StatementProblem]:  # fmt: skip
    """What else the columns of a table could mean.

    `is_proven` says that balances follow from its amounts, `told` is the currency that stands above the table.
    """
    booked = [
        cells for cells in rows if len(cells) == layout.width and dates.is_date(cells[layout.date])
    ]
    if not is_proven and (rival := _rival_amount(layout, booked, rows, terms, told)) >= 0:
        own, other = layout.headings[layout.amount], layout.headings[rival]
        message = f"{own!r} and {other!r} differ, and nothing proves which has the amounts; the first was taken"
        yield StatementProblem(code="AMOUNT_UNPROVEN", message=message)
    if not is_proven and (rivals := _rival_sides(layout, booked)):
        own, other = layout.headings[layout.debit], layout.headings[rivals[0]]
        message = f"{own!r} and {other!r} differ, and nothing proves which has the amounts; the first was taken"
        yield StatementProblem(code="AMOUNT_UNPROVEN", message=message)
    if side := _lone_side(layout, booked, terms):
        message = f"only {side} have a column that is known, and some of them are nothing: the others may be missing"
        yield StatementProblem(code="AMOUNT_UNPROVEN", message=message)
    if (rival := open_day(layout)) >= 0 and _do_days_differ(layout, booked, rival):
        own, other = layout.headings[layout.date], layout.headings[rival]
        message = f"the dates of {own!r} and {other!r} differ, and neither is called the booking; the first was taken"
        if not days_evidence(layout, booked, terms, is_chained=is_proven):
            yield StatementProblem(code="DATE_UNPROVEN", message=message)
    if not is_proven and (edge := _odd_edge(layout, booked, terms)):
        message = f"the {edge} row lacks what every other row has: it may be a balance or a total"
        yield StatementProblem(code="TOTAL_SUSPECTED", message=message)
    if name := _in_thousands(layout):
        message = f"by its heading, {name!r} has thousands or millions; the figures were taken as they are printed"
        yield StatementProblem(code="UNIT_UNPROVEN", message=message)
    if name := _open_settlement(layout, booked):
        message = (
            f"rows have no date in {name!r}, as others have, and no balance: they may not be booked"
        )
        yield StatementProblem(code="BOOKING_UNPROVEN", message=message)
    if word := _unbooked_word(layout, booked):
        message = f"rows have {word!r} in a column that is no status: they may not be booked"
        yield StatementProblem(code="STATUS_UNKNOWN", message=message)
    if _is_without_cents(layout, booked, currency):
        message = f"no amount in {currency} has decimals: they may be cents"
        yield StatementProblem(code="UNIT_UNPROVEN", message=message)


def _in_thousands(layout: ColumnLayout) -> str:
    """The heading of a column of amounts that says that these are thousands, or ""."""
    named = (layout.headings[i] for i in layout.amounts)
    return next((name for name in named if IN_THOUSANDS.search(name)), "")


def _open_settlement(layout: ColumnLayout, booked: Sequence[Cells]) -> str:
    """The heading of the days on which rows were settled, where most rows have one and others nothing instead."""
    if layout.status >= 0 or not layout.is_headed or len(booked) < EDGE_ROWS_MIN:
        return ""
    for index, heading in enumerate(layout.headings):
        if index == layout.date or _SETTLED.isdisjoint(headings.simplify(heading).split()):
            continue
        texts = [cells[index].strip() for cells in booked]
        days = sum(map(dates.is_date, texts))
        bare = [cells for cells, text in zip(booked, texts, strict=True) if not text]
        if not bare or days + len(bare) < len(booked) or days < len(booked) * FILLED:
            continue
        # What is still to be booked is the newest, and stands at one end.
        is_edge = not any(texts[: len(bare)]) or not any(texts[-len(bare) :])
        is_balanced = layout.balance >= 0 and all(cells[layout.balance].strip() for cells in bare)
        if is_edge and not is_balanced:
            return heading
    return ""


_SETTLED = frozenset("settled settle posted posting cleared booked booking completed".split())


def _rival_sides(layout: ColumnLayout, booked: Sequence[Cells]) -> tuple[int, ...]:
    """Another pair of debits and credits that is as full and says other things; none where one is after fees."""
    if layout.debit < 0 or layout.credit < 0 or not layout.is_headed:
        return ()
    roles = [headings.role_of(name) for name in layout.headings]
    pairs = zip(
        (i for i, role in enumerate(roles) if role == "debit"),
        (i for i, role in enumerate(roles) if role == "credit"),
        strict=False,
    )
    own = (layout.debit, layout.credit)
    if "net" in headings.simplify(layout.headings[layout.debit]).split():
        return ()
    for pair in pairs:
        if pair == own:
            continue
        said = [[money.is_amount(cells[i]) and cells[i].strip() for i in pair] for cells in booked]
        mine = [[money.is_amount(cells[i]) and cells[i].strip() for i in own] for cells in booked]
        if said != mine and sum(map(any, said)) >= sum(map(any, mine)):
            return pair
    return ()


def _lone_side(layout: ColumnLayout, booked: Sequence[Cells], terms: ReadingTerms) -> str:
    """The only side of an account that has a column, if rows have nothing on it."""
    if layout.amount >= 0 or (layout.debit >= 0 and layout.credit >= 0):
        return ""
    place, name = (layout.debit, "debits") if layout.debit >= 0 else (layout.credit, "credits")
    values = (money.amount(cells[place], terms.decimal) for cells in booked)
    return name if any(not value for value in values) else ""


def _do_days_differ(layout: ColumnLayout, booked: Sequence[Cells], other: int) -> bool:
    pairs = ((cells[layout.date].strip(), cells[other].strip()) for cells in booked)
    return any(left[:DAY_CHARS] != right[:DAY_CHARS] for left, right in pairs if right)


def _odd_edge(layout: ColumnLayout, booked: Sequence[Cells], terms: ReadingTerms) -> str:
    """Which of the first and the last row leaves several columns empty that all others fill; "" for neither.

    What the bank itself books, a fee or interest, and cash name no other side: rows, except for a sum of the others.
    """
    if all(all(map(str.strip, cells)) for cells in booked):
        return ""  # no cell is empty
    booked = [cells for cells in booked if not any(map(headings.whole_fact, cells))]
    if len(booked) < EDGE_ROWS_MIN:
        return ""
    for name, edge, others in (
        ("first", booked[0], booked[1:]),
        ("last", booked[-1], booked[:-1]),
    ):
        bare = [i for i, cell in enumerate(edge) if not cell.strip()]
        is_sum = _is_sum_of_others(layout, edge, others, terms)
        if _is_of_one_booking(layout, edge, others) and not is_sum:
            continue
        lacking = sum(all(cells[i].strip() for cells in others) for i in bare)
        if lacking + (lacking > 0 and _has_odd_number(layout, edge, others)) < EDGE_EMPTY_MIN:
            continue
        if is_sum or not _has_no_other_side(layout, edge):
            return name
    return ""


def _is_of_one_booking(layout: ColumnLayout, cells: Cells, others: Sequence[Cells]) -> bool:
    """Whether a row has a text and the number of a booking, or the account of its other side, as no balance has.

    The number of a booking looks like those of other bookings, and the account of the other side is not in each row:
    else they are those of the account itself.
    """
    named = (layout.description, *layout.texts, *layout.kinds, layout.counterparty)
    if not any(cells[i].strip() for i in named if i >= 0 and i != layout.reference):
        return False  # the number may be that of the account
    if layout.reference >= 0 and any(map(str.isdigit, number := cells[layout.reference].strip())):
        numbers = {each[layout.reference].strip() for each in others}
        if number not in numbers and _shape(number) in set(map(_shape, numbers)):
            return True
    return any(
        _OTHER_IBAN.fullmatch(cells[i].strip())
        and len({cells[i].strip(), *(each[i].strip() for each in others)}) > 1
        for i in range(layout.width)
        if i != layout.account
    )


def _has_odd_number(layout: ColumnLayout, cells: Cells, others: Sequence[Cells]) -> bool:
    """Whether a row has a number of another shape than all other rows, which have one shape."""
    if layout.reference < 0 or not any(map(str.isdigit, cells[layout.reference])):
        return False
    shapes = {_shape(each[layout.reference].strip()) for each in others}
    return len(shapes) == 1 and _shape(cells[layout.reference].strip()) not in shapes


def _shape(number: str) -> str:
    """A number with each digit alike and each letter alike."""
    return "".join("0" if c.isdigit() else "a" if c.isalpha() else c for c in number)


_OTHER_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}")


def _has_no_other_side(layout: ColumnLayout, cells: Cells) -> bool:
    """Whether the text of a row names what a bank books itself, or cash."""
    places = (layout.description, *layout.texts, *layout.kinds, layout.reference, layout.category)
    texts = [headings.simplify(cells[i]) for i in places if i >= 0]
    return any(_OF_BANK.search(text) or _OF_CASH.search(text) for text in texts)


def _is_sum_of_others(
    layout: ColumnLayout, edge: Cells, others: Sequence[Cells], terms: ReadingTerms
) -> bool:
    for place in layout.amounts:
        total = money.amount(edge[place], terms.decimal)
        values = [money.amount(cells[place], terms.decimal) or ZERO for cells in others]
        sides = (values, [v for v in values if v < 0], [v for v in values if v > 0])
        if total and abs(total) in {abs(sum(side, ZERO)) for side in sides}:
            return True
    return False


def _unbooked_word(layout: ColumnLayout, booked: Sequence[Cells]) -> str:
    """A word for what is not booked that fills the cell of some rows, but not of all, outside of the description."""
    taken = {layout.status, layout.description, *layout.texts, layout.category, layout.counterparty}
    for index in range(layout.width):
        if index in taken:
            continue
        found = [
            text
            for cells in booked
            if (text := cells[index].strip()).casefold() in booking.UNBOOKED
            or booking.denies_booking(text)
        ]
        if found and len(found) < len(booked):
            return found[0]
    return ""


def _is_told(layout: ColumnLayout, booked: Sequence[Cells], rows: Sequence[Cells]) -> bool:
    """Whether its currency, or a sum below the rows, shows that the column that was taken has the amounts."""
    amounts = [i for i, name in enumerate(layout.headings) if headings.role_of(name) == "amount"]
    sums = [row for row in rows if len(row) == layout.width and not any(map(dates.is_date, row))]
    told = (amount_by_sums(amounts, booked, sums), amount_by_currency(amounts, booked))
    return layout.amount in told


def _rival_amount(
    layout: ColumnLayout,
    booked: Sequence[Cells],
    rows: Sequence[Cells],
    terms: ReadingTerms,
    told: str,
) -> int:
    """Another column of amounts that says other things than the one that was taken; -1 if there is none."""
    if layout.amount < 0 or headings.is_in_account_currency(layout.headings[layout.amount]):
        return -1
    taken = {
        layout.amount, layout.balance, layout.before, layout.fee, layout.date, layout.value_date, layout.other_date,
        layout.reference, layout.account,
    }  # fmt: skip
    if not _NO_AMOUNTS.isdisjoint(headings.simplify(layout.headings[layout.amount]).split()):
        spare = (i for i in range(layout.width) if i not in taken and i != layout.amount)
        columns = {i: [cells[i] for cells in booked if cells[i].strip()] for i in spare}
        return next((i for i, column in columns.items() if _are_sums(column)), -1)
    own = [money.amount(cells[layout.amount], terms.decimal) for cells in booked]
    for index, heading in enumerate(layout.headings):
        role = headings.role_of(heading) if layout.is_headed else "amount"
        texts = [cells[index] for cells in booked]
        if _is_of_lots(layout, index, texts):
            continue
        if index in taken or role not in ("amount", "") or (not role and not _are_prices(texts)):
            continue
        values = [money.amount(text, terms.decimal) for text in texts]
        pairs = [
            (a, b) for a, b in zip(own, values, strict=True) if a is not None and b is not None
        ]
        is_money = layout.is_headed or any("." in text or "," in text for text in texts)
        is_full = booked and len(pairs) >= len(booked) * FILLED
        if not (is_money and is_full) or all(abs(a) == abs(b) for a, b in pairs):
            continue
        if told and _is_converted(layout.headings[layout.amount], heading, told):
            continue
        if not is_sum_of(booked, total=layout.amount, part=index):
            # Asked last, because most tables have no other column of amounts.
            return -1 if _is_told(layout, booked, rows) else index
    return -1


def _is_of_lots(layout: ColumnLayout, index: int, texts: Sequence[str]) -> bool:
    """Whether a column has prices or lots: both stand beside an amount, and neither is below nothing.

    A lone price may be what was paid for the amount of something else: of coins, or of points.
    """
    words = {i: {*headings.simplify(name).split()} for i, name in enumerate(layout.headings)}
    if _NO_AMOUNTS.isdisjoint(words[index]) or any(
        t.strip()[:1] in money.MINUS for t in texts if t.strip()
    ):
        return False
    others = (i for i, said in words.items() if i != index and not _NO_AMOUNTS.isdisjoint(said))
    return any(i not in layout.amounts for i in others) or not _RATES.isdisjoint(words[index])


_RATES = frozenset("rate nav kurs cours koers".split())


def _is_converted(own: str, other: str, told: str) -> bool:
    """Whether two headings differ by a currency in brackets alone, and the first is in that of the account."""
    names = [_IN_BRACKETS.fullmatch(heading.strip()) for heading in (own, other)]
    if names[0] is None or names[1] is None or names[0][1] != names[1][1]:
        return False
    return money.currency_code(names[0][2]) == told != money.currency_code(names[1][2])


_IN_BRACKETS = re.compile(r"([^()]+)\(([^()]+)\)")
_PRICE = re.compile(r"[^0-9]*[0-9][0-9 .,']*[.,][0-9]{2}[^0-9]*")


def _are_sums(column: Sequence[str]) -> bool:
    """Whether a column has amounts alone, and some with decimals."""
    return any("." in t or "," in t for t in column) and all(map(money.is_amount, column))


def _are_prices(column: Sequence[str]) -> bool:
    """Whether all texts of a column without a known name are amounts with cents, and not all the same: no rates."""
    filled = {text.strip() for text in column if text.strip()}
    return len(filled) > 1 and all(map(_PRICE.fullmatch, filled))


def _is_without_cents(layout: ColumnLayout, booked: Sequence[Cells], currency: str) -> bool:
    """Whether no amount of a currency that has cents shows any."""
    if currency not in WITH_CENTS:
        return False
    places = [i for i in (layout.amount, layout.debit, layout.credit) if i >= 0]
    texts = {text for cells in booked for i in places if (text := cells[i].strip(" 0"))}
    return len(texts) >= WHOLE_ROWS_MIN and not any("." in t or "," in t for t in texts)


def minor_columns(head: TableHead) -> tuple[int, ...]:
    """The columns whose headings say that their whole numbers are cents."""
    for at, cells in head.headings():
        places = [i for i, cell in enumerate(cells) if _MINOR.search(cell) and len(cell) < 40]
        places = [i for i in places if headings.role_of(_MINOR.sub(" ", cells[i])) in _MONEY]
        if places:
            below = head.below(at)
            return tuple(i for i in places if _are_whole([row[i].strip() for row in below]))
    return ()


_MONEY = frozenset({"amount", "debit", "credit", "balance", "fee", "before"})


def _are_whole(column: Sequence[str]) -> bool:
    filled = [text for text in column if text]
    return bool(filled) and all(text.lstrip("+-").isdecimal() for text in filled)


def as_major(text: str) -> str:
    """A whole number of cents as an amount; anything else as it is."""
    digits = text.strip().lstrip("+-")
    if not digits.isdecimal():
        return text
    sign = "-" if text.strip().startswith("-") else ""
    digits = digits.rjust(3, "0")
    return f"{sign}{digits[:-2]}.{digits[-2:]}"


def heading_currency(heading: str) -> str:
    """The currency that a heading names: `Total (AUD)`; "" without one, or with several."""
    found = {code for code in _CODE.findall(heading.upper()) if code in money.CURRENCY_CODES}
    found |= {money.SYMBOLS[sign] for sign in ONE_CURRENCY if sign in heading}
    return found.pop() if len(found) == 1 else ""


def start_in_major_units(
    start: Callable[[], Iterator[Record]], head: TableHead
) -> Callable[[], Iterator[Record]] | None:
    """The same records with amounts in place of whole numbers of cents; None where the first of them have none."""
    columns = minor_columns(head)
    if not columns:
        return None

    def records() -> Iterator[Record]:
        for line, cells in start():
            yield line, [as_major(cell) if i in columns else cell for i, cell in enumerate(cells)]

    return records


def do_dates_differ(layout: ColumnLayout, body: Sequence[Record]) -> bool:
    """Whether bookings have other dates than the column that stands in where they have none."""
    places = [i for i in (layout.other_date, layout.value_date) if i >= 0][:1]
    return any(
        cells[layout.date].strip()
        and cells[i].strip()
        and cells[i].strip()[:10] != cells[layout.date].strip()[:10]
        for _, cells in body
        for i in places
        if len(cells) == layout.width
    )


def other_date(layout: ColumnLayout, cells: Sequence[str]) -> int:
    """Another column with a date on this row, which is nearer to it than the row above; -1 if there is none."""
    places = range(min(layout.width, len(cells)))
    return next((i for i in places if i not in layout.amounts and _is_day(cells[i])), -1)


def _is_day(text: str) -> bool:
    """Whether a text is a date with its year, and not the number of a branch or a cheque."""
    return not text.strip().isdigit() and dates.is_date(text) and dates.has_year(text)
