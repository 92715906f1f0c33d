"""A table of any bank: where its heading is, which column is what, and how its texts are to be read.

Rows come one by one, each with its line and its cells, from a text or a sheet. The first thousand decide; where they
leave something open, all are looked at once more. Whatever contradicts a decision later cannot be read by
it and so becomes a problem: nothing is re-interpreted on the way. A row that is no transaction is named in the log.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.columns import find_layout
from stateward.pipelines.statements.layout import Layout
from stateward.pipelines.statements.model import (
    Place,
    Problem,
    Reading,
    Row,
    Section,
    Terms,
)
from stateward.pipelines.statements.signs import decide_sign
from stateward.pipelines.statements.source import Source

HEAD_ROWS = 1000
SAID_MAX = 20
RAW_CHARS_MAX = 500

Line = tuple[int, list[str]]
Lines = Callable[[], Iterator[Line]]


class Table:
    """One table while it is read. `lines` starts it anew: it is called three times at most."""

    def __init__(self, lines: Lines, source: Source, reading: Reading) -> None:
        self._lines = lines
        self._source = source
        self._reading = reading
        self._said = 0

    def section(self) -> Section:
        """The section, with its rows as a stream."""
        stream = self._lines()
        head = list(islice(stream, HEAD_ROWS))
        layout = find_layout([cells for _, cells in head])
        if layout is None:
            raise FatalFailure(
                "the file is text, but no column of dates beside a column of amounts was found in it; "
                "export the statement as CSV with its headings",
                code="UNKNOWN_FORMAT",
            )
        self._reading.decisions += layout.decisions
        before, body = head[: layout.body_at], head[layout.body_at :]
        is_whole = len(head) < HEAD_ROWS
        terms = self._terms(layout, body, is_whole=is_whole)
        facts = self._facts_above(layout, before)
        body, opening = self._opening(layout, body)
        facts = {**opening, **facts}
        if facts.get("account"):  # then a column of accounts is that of the others
            layout = msgspec.structs.replace(layout, account=-1)
        rows = self._rows(layout, terms, chain(body, stream))
        hints = self._source.hints
        return Section(
            account=hints.account or facts.get("account", ""),
            currency=facts.get("currency", "") or hints.currency or self._currency(layout, body),
            opening=facts.get("opening", ""),
            closing=facts.get("closing", ""),
            period_from=facts.get("period_from", ""),
            period_to=facts.get("period_to", ""),
            terms=terms,
            rows=rows,
        )

    # How it is read

    def _terms(self, layout: Layout, body: Sequence[Line], *, is_whole: bool) -> Terms:
        hints = self._source.hints
        language = headings.day_first_language(layout.headings)
        usual = hints.date_order or ("dmy" if language else "")
        why_usual = (
            "day first: the source type says so"
            if hints.date_order
            else f"day first: the headings are {language}"
        )
        order = dates.vote_order(_column(body, layout.dates), usual=usual, why_usual=why_usual)
        decimal = money.vote_decimal(_column(body, layout.amounts), usual=hints.decimal or ".")
        if not is_whole and not order.order:
            every = _column(self._lines(), layout.dates)
            order = dates.vote_order(every, usual=usual, why_usual=why_usual)
        if not is_whole and not decimal.is_sure:
            every = _column(self._lines(), layout.amounts)
            decimal = money.vote_decimal(every, usual=hints.decimal or ".")
        if not decimal.is_sure and not hints.decimal:
            self._reading.problems.append(Problem(code="AMBIGUOUS_AMOUNTS", message=decimal.why))
        terms = Terms(date_order=order.order, decimal=decimal.decimal, era=order.era)
        sign = decide_sign(layout, [cells for _, cells in body], terms, hints)
        if sign.problem:
            self._reading.problems.append(Problem(code="SIGN_UNPROVEN", message=sign.problem))
        why = {"date_order": order.why, "decimal": decimal.why, "sign": sign.why}
        return msgspec.structs.replace(terms, sign=sign.sign, balances=sign.balances, why=why)

    # What stands around the rows

    def _facts_above(self, layout: Layout, before: Sequence[Line]) -> dict[str, str]:
        facts: dict[str, str] = {}
        for line, cells in before:
            found = labelled(cells)
            for name, text in found.items():
                facts.setdefault(name, text)
            if any(cell.strip() for cell in cells) and not layout.is_heading(cells):
                self._say(f"line {line} stands above the rows: {_raw(cells)}")
        return facts

    def _opening(self, layout: Layout, body: list[Line]) -> tuple[list[Line], dict[str, str]]:
        """A first row that is no transaction but the balance to begin with."""
        if not body:
            return body, {}
        line, cells = body[0]
        if len(cells) < layout.width:
            return body, {}
        labels = [headings.fact_of(cell) for cell in cells if cell.strip()]
        printed = [cells[i].strip() for i in (layout.balance, *layout.amounts) if i >= 0]
        texts = [text for text in printed if text and money.is_amount(text)]
        if "opening" in labels and texts:
            self._say(f"line {line} is the opening balance {texts[0]}: {_raw(cells)}")
            return body[1:], {"opening": texts[0]}
        return body, {}

    def _currency(self, layout: Layout, body: Sequence[Line]) -> str:
        """The currency that is glued to the amounts, or stands in their heading."""
        for _, cells in body[:20]:
            for index in layout.amounts:
                read = (
                    money.read_amount(cells[index]) or money.read_amount(cells[index], ",")
                    if index < len(cells)
                    else None
                )
                if read is not None and read.currency:
                    return read.currency
        for index in layout.amounts:
            heading = layout.headings[index].upper() if index < len(layout.headings) else ""
            for code in (
                "EUR",
                "USD",
                "GBP",
                "CHF",
                "INR",
                "CAD",
                "AUD",
                "SEK",
                "NOK",
                "DKK",
                "PLN",
                "JPY",
            ):
                if code in heading:
                    return code
        return ""

    # The rows

    def _rows(self, layout: Layout, terms: Terms, lines: Iterator[Line]) -> Iterator[Row]:
        """Every row that is a transaction; the row before is held back, since the next may go on with it."""
        held: Row | None = None
        known: set[str] = set()
        width, date, make = layout.width, layout.date, layout.maker()
        amount, debit, credit = layout.amount, layout.debit, layout.credit
        for line, cells in lines:
            if len(cells) == width:
                cells.append("")  # a role that no column has reads this
                day = cells[date]
                if day in known and (cells[amount] or cells[debit] or cells[credit]):
                    if held is not None:
                        yield held
                    held = make(line, cells)
                    continue
                if dates.is_date(day) and _is_filled(layout, cells):
                    known.add(day)
                    if held is not None:
                        yield held
                    held = make(line, cells)
                    continue
                cells.pop()
            row = self._odd(layout, line, cells, held)
            if row is not None:
                if held is not None and row.place.line != held.place.line:
                    yield held
                held = row
        if held is not None:
            yield held

    def _odd(self, layout: Layout, line: int, cells: list[str], held: Row | None) -> Row | None:
        """A row that does not look like the others: mended where nothing is guessed, else named."""
        if not any(cell.strip() for cell in cells):
            return None
        if layout.is_heading(cells):
            self._say(f"line {line} repeats the headings")
            return None
        fitted = layout.fit(cells)
        if fitted is None:
            return self._ragged(layout, line, cells)
        cells, note = fitted
        cells = [*cells, ""]
        is_filled = _is_filled(layout, cells)
        if is_filled and not cells[layout.date].strip() and dates.is_date(cells[layout.other_date]):
            note = (
                f"the date is that of {layout.headings[layout.other_date]!r}: no other is printed"
            )
            cells[layout.date] = cells[layout.other_date]
        is_dated = dates.is_date(cells[layout.date])
        if is_dated and is_filled:
            return msgspec.structs.replace(layout.maker()(line, cells), note=note)
        if found := labelled(cells):
            self._below(line, cells, found, layout)
            return None
        if is_filled and not cells[layout.date].strip() and held is not None:
            row = layout.maker()(line, cells)
            said = "no date is printed: the one above holds"
            return msgspec.structs.replace(row, date=held.date, note=said)
        if held is not None and not is_filled and layout.is_description_only(cells):
            text = f"{held.description}\n{cells[layout.description]}"
            return msgspec.structs.replace(held, description=text)
        if is_filled or is_dated:
            what = "date" if is_filled else "amount"
            self._problem("ROW_UNREADABLE", f"the row has no {what} that can be read", line, cells)
            return None
        self._say(f"line {line} is no transaction: {_raw(cells)}")
        return None

    def _ragged(self, layout: Layout, line: int, cells: list[str]) -> Row | None:
        if found := labelled(cells):
            self._below(line, cells, found, layout)
            return None
        if not layout.looks_like_data(cells):
            self._say(f"line {line} is no transaction: {_raw(cells)}")
            return None
        said = f"the row has {len(cells)} cells where {layout.width} are expected"
        self._problem("ROW_RAGGED", said, line, cells)
        if layout.is_headed or len(cells) < layout.width:
            return None
        # Without headings the width is only a habit: the row is kept, and the statement is flagged.
        kept = layout.maker()(line, [*cells[: layout.width], ""])
        return msgspec.structs.replace(kept, note=said)

    def _below(
        self, line: int, cells: Sequence[str], found: dict[str, str], layout: Layout
    ) -> None:
        """A fact under the rows: a closing balance, a total."""
        for name, text in found.items():
            if name in ("closing", "opening", "debits", "credits"):
                value = text or self._printed(layout, cells)
                if value:
                    self._reading.late[name] = value
        self._say(f"line {line} is {' and '.join(found)}, no transaction: {_raw(cells)}")

    def _printed(self, layout: Layout, cells: Sequence[str]) -> str:
        order = (layout.balance, layout.amount, layout.credit, layout.debit)
        texts = [cells[i].strip() for i in order if 0 <= i < len(cells)]
        return next((text for text in texts if text and money.is_amount(text)), "")

    def _problem(self, code: str, message: str, line: int, cells: Sequence[str]) -> None:
        self._reading.problems.append(
            Problem(code=code, message=message, place=Place(line=line), raw=_raw(cells))
        )

    def _say(self, sentence: str) -> None:
        self._said += 1
        if self._said <= SAID_MAX:
            self._reading.decisions.append(sentence)
        elif self._said == SAID_MAX + 1:
            self._reading.decisions.append("more such lines are not named")


def labelled(cells: Sequence[str]) -> dict[str, str]:
    """The facts that a row of labels and values states; a value is "" where it is not beside its label."""
    found: dict[str, str] = {}
    texts = [cell.strip() for cell in cells]
    for place, text in enumerate(texts):
        name = headings.fact_of(text) if text and not money.is_amount(text) else ""
        if not name:
            continue
        after = next((each for each in texts[place + 1 :] if each), "")
        value = _value(text.partition(":")[2].strip() or after, name)
        if name == "period":
            found |= _period(
                text.partition(":")[2].strip() or " - ".join(t for t in texts[place + 1 :] if t)
            )
        elif value or name in ("opening", "closing", "debits", "credits", "total"):
            found.setdefault(name, value)
    return found


def _value(text: str, name: str) -> str:
    """The value of a label, if it is of the kind that the label needs."""
    text = text.strip("=\"' ")
    if name in ("opening", "closing", "debits", "credits", "total"):
        return text if money.is_amount(text) else ""
    if name in ("period_from", "period_to"):
        return text if dates.is_date(text) else ""
    if name == "currency":
        return text.upper() if len(text) == 3 and text.isalpha() else ""
    return text if any(c.isdigit() for c in text) and len(text) < 60 else ""


def _period(text: str) -> dict[str, str]:
    for sign in (" - ", " – ", " bis ", " to ", " au ", " al ", " a ", " tot ", "–", " / ", ".."):
        start, cut, end = text.partition(sign)
        if cut and dates.is_date(start) and dates.is_date(end):
            return {"period_from": start.strip(), "period_to": end.strip()}
    return {}


def _is_filled(layout: Layout, cells: Sequence[str]) -> bool:
    return any(cells[i].strip() for i in (layout.amount, layout.debit, layout.credit))


def _column(lines: Iterable[Line], indexes: Sequence[int]) -> Iterator[str]:
    return (
        cells[index]
        for _, cells in lines
        for index in indexes
        if index < len(cells) and cells[index]
    )


def _raw(cells: Sequence[str]) -> str:
    return " | ".join(cells)[:RAW_CHARS_MAX]
