"""A table of any bank: where its heading is, the roles of its columns, and how its texts are read.

Records come one by one, each with its line and its cells, from a text or a sheet. The first thousand decide; where they
leave something open, all records are read once more. A later row that contradicts a decision becomes a problem: nothing
is reinterpreted on the way. A row that is no transaction is logged.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements import booking, headings
from stateward.pipelines.statements.columns import find_layout, mapped_layout
from stateward.pipelines.statements.date_evidence import order_evidence, printed_era
from stateward.pipelines.statements.day_columns import open_day, with_booking_days
from stateward.pipelines.statements.day_parts import has_open_years, start_with_whole_days
from stateward.pipelines.statements.fees import FeeRule, decide_fees, with_fees
from stateward.pipelines.statements.layout import ColumnLayout
from stateward.pipelines.statements.mended_letters import (
    has_other_letters,
    start_with_mended_letters,
)
from stateward.pipelines.statements.mixed_cells import (
    CUT_AMOUNTS,
    MIXED_ORDERS,
    amounts_are_cut,
    are_orders_mixed,
)
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementProblem,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.profiles import (
    ColumnProfile,
    find_columns,
    find_profile,
    spelled_headings,
)
from stateward.pipelines.statements.rewrites import REWRITES
from stateward.pipelines.statements.rivals import (
    do_dates_differ,
    other_date,
    rival_problems,
)
from stateward.pipelines.statements.row_counts import RowCounts, told_count
from stateward.pipelines.statements.row_totals import (
    RowTotals,
    find_totals,
    period_ends,
    row_fact,
)
from stateward.pipelines.statements.signs import (
    SignRule,
    balances_prove,
    booked_rows,
    decide_sign,
    directions,
    is_borne_out,
    owed_ends,
    refuted_by_balances,
    section_title,
)
from stateward.pipelines.statements.source import Source
from stateward.pipelines.statements.table_cells import (
    TableHead,
    column_texts,
    do_days_repeat,
    first_text,
    has_amount,
    has_text,
    is_about,
    is_cut_text,
    is_dated_amount,
    is_label,
    is_other_number,
    is_shifted,
    is_sum,
    is_title,
    missing_part,
    only_text,
    raw_text,
    unbooked_title,
)
from stateward.pipelines.statements.table_currency import (
    is_in_pesos,
    named_currency,
    own_currency,
    own_of_two,
    point_of_currency,
    printed_currency,
    running_balance,
    with_own_currencies,
)
from stateward.pipelines.statements.table_facts import (
    facts_below_labels,
    facts_of_row,
    labelled_facts,
    lone_iban,
    told_currency,
    told_totals,
)

HEAD_ROWS = 1000
LOGGED_ROWS_MAX = 20

WHOLE_PESOS = "points separate thousands: no amount in pesos has three decimals"
SOME_MENDED = (
    "letters that were read as Latin-1 were mended, and others beside them are right as they are"
)
OPEN_YEARS = "years of two digits may be of the century or of an emperor, and nothing tells which"
SHIFTED = "only amounts with decimals stand below {name!r}: a cell before them may be missing in every row"
StartRecords = Callable[[], Iterator[Record]]


class StatementTable:
    """One table while it is read. `start` gives its records from the top; it is called three times at most."""

    def __init__(self, start: StartRecords, source: Source, reading: StatementReading) -> None:
        self._start = start
        self._source = source
        self._reading = reading
        self._logged_rows = 0
        self._is_by_titles = False
        self._profile: ColumnProfile | None = None
        self._title = ""  # the mark of the title above the row at hand
        self._unbooked = ""  # the title above the row at hand, if it is of what is not booked
        self._other_heading = 0  # the line of a second heading, of other columns
        self._doubtful = ""  # a title between the rows that may be of what is not booked
        self._account = ""  # that of the row at hand, by what is named above it
        self._is_all_counted = False  # by the balances, also what is not booked by its status
        self._ends_currency = ""  # that of the first balance among the rows
        self._has_accounts = False  # whether another one is named among the rows
        self._is_after_gap = False  # whether an empty row stands above the row at hand
        self._totals = RowTotals()
        self._short_lines: list[int] = []
        self._make: Callable[[int, list[str]], StatementRow]
        self._do_dates_differ = False  # of bookings and of the column that stands in for them
        # Whether a date is printed although the row above has the same.
        self._do_days_repeat = False
        self._odd_above: Sequence[str] = ()  # the last row that is no booking
        self._borrowed = 0  # rows with the date of the row above
        self._told_counts: list[tuple[int, int]] = []  # of bookings, by the line that tells it
        self._last_texts: frozenset[str] = frozenset()  # what stands in the last column

    def section(self) -> StatementSection:
        """The section, with its rows as a stream."""
        stream, head, shown = self._head()
        given = self._source.hints.map or find_columns(shown.rows, self._source.profiles)
        layout = mapped_layout(shown.rows, given) if given else find_layout(shown)
        if layout is None:
            raise FatalFailure(
                "the file is text, but no column of dates beside a column of amounts was found in it; "
                "export the statement as CSV with its headings",
                code="UNKNOWN_FORMAT",
            )
        self._reading.decisions += layout.decisions
        before, printed = head[: layout.body_at], head[layout.body_at :]
        body = _fit_rows(layout, printed)
        is_whole = len(head) < HEAD_ROWS
        title = next((d for _, cells in reversed(before) if (d := section_title(cells))), 0)
        self._title = {1: "+", -1: "-"}.get(title, "")
        heads = [cells for _, cells in before if any(cells) and not layout.is_heading(cells)]
        self._unbooked = unbooked_title(heads[-1]) if heads else ""
        self._profile = find_profile(layout, [cells for _, cells in body], self._source.profiles)
        if self._profile is not None:
            said = f"the columns are those of {self._profile.name}"
            self._reading.decisions.append(said)
        self._prove_encoding(layout)
        for checked in (own_currency, running_balance):
            layout, why = checked(layout, body)
            self._reading.decisions += why
        terms = self._terms(layout, body, before, is_whole=is_whole)
        layout = self._without_refuted(layout, body, terms)
        if open_day(layout) >= 0:
            texts = [cells for _, cells in body]
            is_chained = balances_prove(layout, texts, terms)
            layout = with_booking_days(layout, texts, terms, is_chained=is_chained)
        hints = self._source.hints
        facts = dict(zip(("opening", "closing"), layout.summary, strict=False))
        if layout.summary:
            self._log_ends(before.pop())
        elif is_whole and (ends := period_ends(layout, body, terms)):
            facts |= ends
            self._log_ends(body.pop(0))
        facts |= self._facts_above(layout, before)
        body, opening = self._opening(layout, body)
        facts = {**opening, **facts}
        terms = owed_ends(layout, [cells for _, cells in body], terms, facts)
        if facts.get("account"):  # then a column of accounts holds those of the counterparties
            layout = msgspec.structs.replace(layout, account=-1)
        self._do_dates_differ = do_dates_differ(layout, body)
        self._do_days_repeat = do_days_repeat(layout, body)
        if is_whole:
            self._totals = find_totals(layout, body, terms)
        above = body[:-1] if is_whole else body
        full = (cells for _, cells in above if len(cells) == layout.width)
        self._last_texts = frozenset(cells[-1].strip() for cells in full)
        self._account = hints.account or facts.get("account", "")
        printed = printed[len(printed) - len(body) :]
        rows = self._count_rows(
            booking.with_unbooked(
                self._rows(layout, terms, chain(printed, stream)),
                self._doubt_booking,
                [name for name in layout.headings if booking.is_of_annulled(name)],
                [name for name in layout.headings if booking.is_of_booked(name)],
            )
        )
        told = facts.get("currency", "")
        currency = self._currency(layout, body, told)
        if layout.currency < 0:
            usual = printed_currency(layout, body) or currency
            rows = with_own_currencies(rows, usual, self._doubt_currency)
        else:
            rows = self._with_known_currencies(rows, currency)
        fees = self._fees(layout, terms, body)
        if fees.is_apart:
            rows = with_fees(rows, layout, terms, fees)
        self._doubt_columns(layout, terms, body, currency, told=told)
        if is_whole and self._is_sign_proven(layout, terms, body, facts):
            problems = [each for each in self._reading.problems if each.code != "SIGN_UNPROVEN"]
            self._reading.problems[:] = problems
        return StatementSection(
            account=hints.account or facts.get("account", "") or only_text(body, layout.account),
            currency=currency,
            opening=facts.get("opening", ""),
            closing=facts.get("closing", ""),
            period_from=facts.get("period_from", ""),
            period_to=facts.get("period_to", ""),
            totals=told_totals([cells for _, cells in before], facts) if is_whole else {},
            terms=terms,
            rows=rows,
        )

    def _without_refuted(
        self, layout: ColumnLayout, body: Sequence[Record], terms: ReadingTerms
    ) -> ColumnLayout:
        """The layout without a column of statuses or of accounts that the balances refute."""
        role = refuted_by_balances(layout, [cells for _, cells in body], terms)
        if not role:
            return layout
        name = layout.headings[getattr(layout, role)]
        self._reading.decisions.append(f"balances count all rows, whatever {name!r} says of them")
        self._is_all_counted = role == "status"
        return msgspec.structs.replace(layout, **{role: -1})

    def _head(self) -> tuple[Iterator[Record], list[Record], TableHead]:
        """The records from the top, and the first of them with and without lines; all as most tables print them."""
        stream = self._start()
        head = list(islice(stream, HEAD_ROWS))
        rows = TableHead.of([cells for _, cells in head])
        for rewritten, why in REWRITES:
            if start := rewritten(self._start, rows):
                if rewritten is start_with_whole_days and has_open_years(rows):
                    self._reading.problems.append(
                        StatementProblem(code="DATE_UNPROVEN", message=OPEN_YEARS)
                    )
                if rewritten is start_with_mended_letters and has_other_letters(rows):
                    self._reading.problems.append(
                        StatementProblem(code="ENCODING_UNPROVEN", message=SOME_MENDED)
                    )
                self._start = start
                self._reading.decisions.append(why)
                stream = self._start()
                head = list(islice(stream, HEAD_ROWS))
                rows = TableHead.of([cells for _, cells in head])
        return stream, head, rows

    def _is_sign_proven(
        self,
        layout: ColumnLayout,
        terms: ReadingTerms,
        body: Sequence[Record],
        facts: dict[str, str],
    ) -> bool:
        """Whether printed signs lead from the opening to the closing balance of a deposit; turned, they would not.

        What is owed on a card grows by purchases as a deposit does by what comes in, so a word must tell them apart.
        """
        ends = [money.amount(facts.get(name, ""), terms.decimal) for name in ("opening", "closing")]
        if terms.sign != "printed" or None in ends or self._source.hints.is_card:
            return False
        if headings.is_card(layout.headings) or self._profile is not None:
            return False
        rows = [cells for _, cells in body]
        booked = [each.row for each in booked_rows(layout, rows)]
        values = [money.amount(row.amount, terms.decimal) for row in booked if row.date.strip()]
        total = sum(value for value in values if value is not None)
        is_summed = bool(total) and ends[0] + total == ends[1] and min(ends) >= 0  # type: ignore[operator, type-var]
        return is_summed and is_borne_out(layout, rows, terms)

    def _prove_encoding(self, layout: ColumnLayout) -> None:
        """A heading that is known, with letters beyond ASCII, shows which encoding they are in."""
        if not self._source.encoding_doubt or not layout.is_headed:
            return
        if self._source.prove_language(headings.day_first_language(layout.headings)):
            return
        spelled = spelled_headings()
        for name in layout.headings:
            is_known = name in spelled or headings.role_of(name) != ""
            if is_known and self._source.prove_encoding(name):
                return

    def _terms(
        self,
        layout: ColumnLayout,
        body: Sequence[Record],
        before: Sequence[Record],
        *,
        is_whole: bool,
    ) -> ReadingTerms:
        hints = self._source.hints
        language = headings.day_first_language(layout.headings)
        known = "" if self._profile is None else self._profile.date_order
        usual = hints.date_order or known or ("dmy" if language else "")
        why_usual = f"day first: the language of the headings is {language}"
        if hints.date_order:
            why_usual = f"{usual}: the source type says so"
        elif self._profile is not None and known:
            why_usual = f"{usual}: exports of {self._profile.name} print it so"
        order = dates.vote_order(column_texts(body, layout.dates), usual=usual, why_usual=why_usual)
        # What is printed beside the dates is asked where they leave it open, or may do so further below.
        if not usual and not (order.order and is_whole):
            texts, above = [cells for _, cells in body], [cells for _, cells in before]
            if found := order_evidence(layout, texts, above):
                usual, why_usual = found
                order = dates.vote_order(
                    column_texts(body, layout.dates), usual=usual, why_usual=why_usual
                )
        point = hints.decimal or ("" if self._profile is None else self._profile.decimal)
        point = point or point_of_currency(layout, body, before)
        decimal = money.vote_decimal(column_texts(body, layout.amounts), usual=point or ".")
        if not is_whole and not order.order:
            every = column_texts(self._start(), layout.dates)
            order = dates.vote_order(every, usual=usual, why_usual=why_usual)
        if not is_whole and not decimal.is_sure:
            every = column_texts(self._start(), layout.amounts)
            decimal = money.vote_decimal(every, usual=point or ".")
        is_known = point or headings.has_point_decimals(layout.headings)
        if not decimal.is_sure and language == "Spanish" and is_in_pesos(layout, body, before):
            decimal, is_known = money.DecimalVote(",", is_sure=True, why=WHOLE_PESOS), ","
        if not decimal.is_sure and not is_known:
            self._reading.problems.append(
                StatementProblem(code="AMBIGUOUS_AMOUNTS", message=decimal.why)
            )
        era = order.era or printed_era([cells for _, cells in before])
        terms = ReadingTerms(date_order=order.order, decimal=decimal.decimal, era=era)
        title = money.mark_sign(self._title)
        is_card = hints.is_card or any(headings.is_card_title(cells) for _, cells in before)
        sign: SignRule = decide_sign(
            layout,
            [cells for _, cells in body],
            terms,
            msgspec.structs.replace(hints, is_card=is_card),
            title=title,
            profile=self._profile,
        )
        self._is_by_titles = sign.is_by_titles
        if sign.problem:
            self._reading.problems.append(StatementProblem(code=sign.code, message=sign.problem))
        why = {"date_order": order.why, "decimal": decimal.why, "sign": sign.why}
        return msgspec.structs.replace(terms, sign=sign.sign, balances=sign.balances, why=why)

    def _fees(self, layout: ColumnLayout, terms: ReadingTerms, body: Sequence[Record]) -> FeeRule:
        """What fees beside the amounts mean."""
        if layout.fee < 0:
            return FeeRule()
        rows = [each.row for each in booked_rows(layout, [cells for _, cells in body])]
        days = [dates.read_date(row.date, terms.date_order or "dmy") for row in rows]
        rule = decide_fees(layout, rows, terms, is_backward=directions(days)[0])
        if rule.problem:
            problem = StatementProblem(code="FEE_UNPROVEN", message=rule.problem)
            self._reading.problems.append(problem)
        return rule

    def _facts_above(self, layout: ColumnLayout, before: Sequence[Record]) -> dict[str, str]:
        facts, told = facts_below_labels([cells for _, cells in before])
        if currency := told_currency(
            [cells for _, cells in before if not layout.is_heading(cells)]
        ):
            facts.setdefault("currency", currency)
        for number, (line, cells) in enumerate(before):
            if layout.is_heading(cells):  # "Valuta" beside "Whg" is no currency
                continue
            if (count := told_count(cells)) is not None:
                self._told_counts.append((line, count))
            if number in told:
                self._log_row(f"line {line} tells facts of the statement: {raw_text(cells)}")
                continue
            found = labelled_facts(cells)
            for name, text in found.items():
                facts.setdefault(name, text)
            if not found and (part := missing_part(layout, cells)):
                message = (
                    f"the row has no {part} that can be read, and stands above all that have one"
                )
                self._problem("ROW_UNREADABLE", message, line, cells)
            elif not found and is_dated_amount(cells) and not is_about(layout, cells):
                message = "the row has a date and an amount, but stands above the table"
                self._problem("ROW_UNREADABLE", message, line, cells)
            elif any(cell.strip() for cell in cells):
                self._log_row(f"line {line} is above the rows: {raw_text(cells)}")
        if layout.account < 0 and (own := lone_iban([cells for _, cells in before])):
            facts.setdefault("account", own)
        return facts

    def _opening(
        self, layout: ColumnLayout, body: list[Record]
    ) -> tuple[list[Record], dict[str, str]]:
        """The first row as the opening balance, if it is one."""
        if not body:
            return body, {}
        line, cells = body[0]
        if len(cells) < layout.width:
            return body, {}
        labels = [headings.fact_of(cell) for cell in cells if cell.strip()]
        printed = [cells[i].strip() for i in (layout.balance, *layout.amounts) if i >= 0]
        texts = [text for text in printed if text and money.is_amount(text)]
        if "opening" in labels and texts:
            self._log_row(f"line {line} is the opening balance {texts[0]}: {raw_text(cells)}")
            self._doubt_balance(layout, line, cells)
            self._is_of_first_currency(layout, cells)
            return body[1:], {"opening": texts[0]}
        return body, {}

    def _currency(self, layout: ColumnLayout, body: Sequence[Record], told: str) -> str:
        """The currency of the amounts; `told` is the one that stands above the table."""
        own = printed_currency(layout, body) or only_text(body, layout.currency)
        currency = own_of_two(own, told) if own and told else told
        named = named_currency(layout)
        message = ""
        if told and currency != told:
            message = f"the amounts are in {own}, and {told} stands above the table"
        elif own and named and own_of_two(own, named) != named:
            message = f"amounts are printed in {own}, and their heading names {named}"
        if message:
            problem = StatementProblem(code="CURRENCY_CONTRADICTED", message=message)
            self._reading.problems.append(problem)
        return currency or self._source.hints.currency or own

    def _with_known_currencies(
        self, rows: Iterator[StatementRow], usual: str
    ) -> Iterator[StatementRow]:
        """The rows; the first without a currency is told where the others have several, because it may be in any."""
        if usual:
            yield from rows
            return
        found: set[str] = set()
        bare: StatementRow | None = None
        for row in rows:
            if row.currency.strip():
                found.add(row.currency.strip())
            elif bare is None and not row.note.startswith("not booked"):
                bare = row
            yield row
        if bare is not None and len(found) > 1:
            message = "the row has no currency, and the others are in several"
            self._problem("CURRENCY_UNKNOWN", message, bare.place.line, [bare.description])

    def _count_rows(self, rows: Iterator[StatementRow]) -> Iterator[StatementRow]:
        """The rows; told where the file says that it has another number of them."""
        counted = RowCounts(self._told_counts)
        for row in rows:
            counted.add(row)
            yield row
        for line, told in counted.contradicted():
            message = f"the file says that it has {told} bookings, and {counted.all} were read"
            self._problem("NOT_RECONCILED", message, line, [])

    def _doubt_columns(
        self,
        layout: ColumnLayout,
        terms: ReadingTerms,
        body: Sequence[Record],
        currency: str,
        *,
        told: str,
    ) -> None:
        """Say which other readings of the columns nothing rules out; a person or a profile has ruled out all."""
        is_known = self._profile is not None and layout.is_headed
        if is_known or self._source.hints.map:
            return
        rows = [cells for _, cells in body]
        if layout.description >= 0 and is_shifted(body, layout.description):
            name = layout.headings[layout.description]
            problem = StatementProblem(code="AMOUNT_UNPROVEN", message=SHIFTED.format(name=name))
            self._reading.problems.append(problem)
        if amounts_are_cut(layout, rows):
            problem = StatementProblem(code="AMOUNT_UNPROVEN", message=CUT_AMOUNTS)
            self._reading.problems.append(problem)
        if are_orders_mixed(layout, rows, terms):
            problem = StatementProblem(code="DATE_UNPROVEN", message=MIXED_ORDERS)
            self._reading.problems.append(problem)
        code = currency or (first_text(rows, layout.currency) if layout.currency >= 0 else "")
        self._reading.problems.extend(
            each
            for each in rival_problems(
                layout,
                rows,
                terms,
                money.currency_code(code),
                is_proven=balances_prove(layout, rows, terms),
                told=told,
            )
            if not (self._is_all_counted and each.code == "STATUS_UNKNOWN")
        )

    def _rows(
        self, layout: ColumnLayout, terms: ReadingTerms, lines: Iterator[Record]
    ) -> Iterator[StatementRow]:
        """Every row that is a transaction; one row is held back, because the next may continue it."""
        held: StatementRow | None = None
        known: set[str] = set()
        width, date, make = layout.width, layout.date, layout.maker()
        amount, debit, credit = layout.amount, layout.debit, layout.credit
        text = layout.description
        may_be_fact, is_nameless = headings.may_be_fact, text < 0 and not layout.kinds
        alone = not layout.texts  # then only a text that is a label as a whole can be no booking
        self._make = make
        statuses: set[str] = set()
        sums = self._totals.proven | self._totals.doubted
        line, cells = 0, list[str]()
        is_plain = not (self._is_by_titles or self._unbooked)
        for line, cells in lines:
            if layout.status >= 0 and len(cells) == width:
                statuses.add(cells[layout.status])
            is_usual = (
                len(cells) == width
                and is_plain
                and not may_be_fact(cells[text], is_whole=alone)
                and line not in sums
            )
            if is_usual and (cells[text] or is_nameless):  # else another cell may call it a balance
                cells.append("")  # what a role without a column reads
                day = cells[date]
                if day in known and (cells[amount] or cells[debit] or cells[credit]):
                    self._is_after_gap = False
                    if held is not None:
                        yield held
                    held = make(line, cells)
                    continue
                if dates.is_date(day) and has_amount(layout, cells):
                    known.add(day)
                    self._is_after_gap = False
                    if held is not None:
                        yield held
                    held = make(line, cells)
                    continue
                cells.pop()
            row = self._read_odd(layout, line, cells, held)
            is_plain = not (
                self._is_by_titles
                or self._unbooked
                or self._has_accounts
                or self._doubtful
                or self._other_heading
            )
            if row is not None:
                if held is not None and row.place.line != held.place.line:
                    yield held
                held = row
        if held is not None:
            yield held
            self._doubt_end(held, line, cells[:width])
        if self._borrowed == 1 and not self._do_days_repeat:
            message = "one row alone has no date: that of the row above was taken"
            self._reading.problems.append(StatementProblem(code="DATE_MISSING", message=message))
        self._doubt_statuses(statuses, layout.headings)

    def _doubt_end(self, last: StatementRow, line: int, cells: Sequence[str]) -> None:
        """Say that a file may be cut off: its last row, or the last cell of it, alone ends early."""
        code, message = "", ""
        if self._short_lines == [last.place.line]:
            code, message = "ROW_RAGGED", "the last row ends early, as no other does"
        elif (
            self._is_open_ended(last, line)
            and is_cut_text(cells[-1], self._last_texts)
            and not headings.whole_fact(cells[-1].strip("| "))
        ):
            code = "FILE_CUT"
            message = f"the file ends inside {cells[-1]!r}, and not with a line"
        if code:
            message = f"{message}: the file may be cut off"
            self._reading.problems.append(
                StatementProblem(code=code, message=message, place=last.place)
            )

    def _is_open_ended(self, last: StatementRow, line: int) -> bool:
        """Whether a text ends in its last row, and not with a line."""
        is_last = self._reading.format == "csv" and line == last.place.line
        return is_last and self._source.is_open_ended

    def _doubt_booking(self, row: StatementRow, phrase: str) -> None:
        """Say that a row, or a title above it, says or only mentions that it does not count."""
        message = (
            f"the row, or the title above it, says {phrase!r}: whether it counts is not proven"
        )
        self._problem("BOOKING_UNPROVEN", message, row.place.line, [row.description])

    def _doubt_currency(self, row: StatementRow, text: str) -> None:
        """Say that not all amounts of the table are in one currency."""
        message = (
            f"the amount {text!r} is printed in another currency than those of other rows; each row keeps its own,"
            " and nothing tells what it is in the currency of the account"
        )
        self._problem("CURRENCY_CONTRADICTED", message, row.place.line, [row.description])

    def _doubt_statuses(self, printed: set[str], names: Iterable[str]) -> None:
        """Say that rows are marked in a way that nothing explains: they may not be booked."""
        names = {name.casefold() for name in names}
        words = {text.strip() for text in printed if text.strip().casefold() not in {"", *names}}
        unknown = sorted(word for word in words if not booking.is_known(word))
        if unknown and len(words) > 1:
            message = (
                f"rows have the status {unknown[0]!r}, and nothing tells whether they are booked"
            )
            self._reading.problems.append(StatementProblem(code="STATUS_UNKNOWN", message=message))
        booked = {word for word in words if booking.is_known(word)}
        booked -= {word for word in booked if booking.booking_status(word)}
        accepted = sorted(filter(booking.is_accepted, booked))
        if accepted and len(accepted) < len(booked):
            done = min(booked - {*accepted})
            message = f"rows are {accepted[0]!r} and others {done!r}: the former may not be booked"
            self._reading.problems.append(StatementProblem(code="STATUS_UNKNOWN", message=message))

    def _read_odd(
        self, layout: ColumnLayout, line: int, cells: list[str], held: StatementRow | None
    ) -> StatementRow | None:
        """A row that does not look like the others: repaired where that needs no guess, else logged."""
        if not any(cell.strip() for cell in cells):
            self._is_after_gap = True
            return None
        if (count := told_count(cells)) is not None:
            self._told_counts.append((line, count))
            self._log_row(f"line {line} tells how many rows there are: {raw_text(cells)}")
            return None
        if layout.is_heading(cells):
            self._log_row(f"line {line} repeats the headings")
            return None
        if layout.is_other_heading(cells):
            self._other_heading = line
        if title := section_title(cells) if self._is_by_titles else 0:
            self._title = "+" if title > 0 else "-"
            self._log_row(f"line {line} is the title of the rows below it: {raw_text(cells)}")
            return None
        if is_title(cells) and (self._unbooked or unbooked_title(cells)):
            self._unbooked, self._is_after_gap = unbooked_title(cells), False
            self._log_row(f"line {line} is the title of the rows below it: {raw_text(cells)}")
            return None
        if held is not None and is_title(cells) and booking.may_be_of_unbooked(cells[0]):
            self._doubtful = cells[0].strip()
        if self._is_total_below(line, cells):
            return None
        above, self._odd_above = self._odd_above, cells
        if len(cells) != layout.width and self._totals.is_summary(above, cells):
            self._log_row(f"line {line} is of another table, which sums up: {raw_text(cells)}")
            return None
        fitted = layout.fit(cells)
        if fitted is None:
            return self._ragged(layout, line, cells, held, above)
        return self._read_fitted(layout, line, [*fitted[0], ""], held, fitted[1])

    def _read_fitted(
        self,
        layout: ColumnLayout,
        line: int,
        cells: list[str],
        held: StatementRow | None,
        note: str,
    ) -> StatementRow | None:
        """An odd row that has all cells; `note` says which of them were missing."""
        if note:
            self._short_lines.append(line)
        is_filled = has_amount(layout, cells)
        if is_filled and not dates.is_date(cells[layout.date]):
            borrowed = self._take_other_date(layout, cells)
            note = borrowed or note
            is_booked = layout.status < 0 or not booking.booking_status(cells[layout.status])
            is_booked = is_booked and not borrowed.startswith("not booked")
            # What has no day of its booking, and no balance either, may not be booked.
            is_open = (
                layout.balance < 0 and headings.role_of(layout.headings[layout.date]) == "date"
            )
            if borrowed and (self._do_dates_differ or is_open) and is_booked:
                self._problem("DATE_UNPROVEN", borrowed, line, cells)
        is_dated = dates.is_date(cells[layout.date])
        is_after_gap, self._is_after_gap = self._is_after_gap, self._is_after_gap and not is_dated
        if is_dated and is_filled and not self._is_balance(layout, line, cells):
            row = msgspec.structs.replace(self._make(line, cells), note=note)
            return self._below_titles(row, is_after_gap=is_after_gap)
        if is_dated and is_filled:
            return None
        found = facts_of_row(cells)
        if is_dated:
            found.pop("total", None)  # the name of a shop, beside a cell that lost its amount
        if found:
            self._doubt_sum(layout, line, cells)
            self._add_late_facts(line, cells, found, layout)
            return None
        if not is_dated and (why := self._no_booking(layout, cells)):
            self._log_row(f"line {line} {why}: {raw_text(cells)}")
            return None
        return self._row_without_date(layout, line, cells, held)

    def _below_titles(self, row: StatementRow, *, is_after_gap: bool) -> StatementRow:
        """The row with what the titles above it say of its direction, its account, and whether it is booked."""
        if self._is_by_titles:
            row = msgspec.structs.replace(row, mark=self._title)
        if self._has_accounts:
            row = msgspec.structs.replace(row, account=row.account or self._account)
        if self._other_heading:
            message = f"line {self._other_heading} names other columns, and the rows below were read by the first names"
            self._problem("AMOUNT_UNPROVEN", message, row.place.line, [row.description])
            self._other_heading = 0
        if self._doubtful:
            message = f"rows stand below the line {self._doubtful!r}: they may not be booked"
            self._problem("TITLE_UNKNOWN", message, row.place.line, [row.description])
            self._doubtful = ""
        if self._unbooked and row.balance:
            self._doubt_booking(row, self._unbooked)
        elif self._unbooked and not row.note.startswith("not booked"):
            if is_after_gap:
                self._doubt_booking(row, self._unbooked)
            row = msgspec.structs.replace(row, note=f"not booked ({self._unbooked})")
        return row

    def _doubt_sum(self, layout: ColumnLayout, line: int, cells: Sequence[str]) -> None:
        """Say that a row without a date was left out because its text begins like that of a total or a balance.

        A shop may be called so. If the statement adds up without the row, that is forgotten.
        """
        text = cells[layout.description].strip()
        if not has_amount(layout, list(cells)) or not text or headings.whole_fact(text):
            return
        if text.endswith(":") or (layout.balance >= 0 and cells[layout.balance].strip()):
            return
        message = "the row has no date, and was left out because its text begins like a total"
        self._problem("BALANCE_UNPROVEN", message, line, cells)

    def _is_total_below(self, line: int, cells: Sequence[str]) -> bool:
        """Whether a row without a date is the total of the rows above it; one that is not their sum is said."""
        if any(map(dates.is_date, cells)):
            return False
        if line in self._totals.wrong:
            message = "the row is called the total, and is not the sum of the rows"
            self._problem("NOT_RECONCILED", message, line, cells)
        if line in self._totals.wrong or line in self._totals.proven:
            self._log_row(f"line {line} is a total: {raw_text(cells)}")
            return True
        return False

    def _row_without_date(
        self, layout: ColumnLayout, line: int, cells: list[str], held: StatementRow | None
    ) -> StatementRow | None:
        """A row that lacks a date or an amount: it continues the one above, or is a problem."""
        is_filled, is_dated = has_amount(layout, cells), dates.is_date(cells[layout.date])
        if not cells[layout.date].strip() and is_filled and (at := other_date(layout, cells)) >= 0:
            heading = layout.headings[at]
            note = f"the date is from the column {heading!r}: no other is printed"
            self._problem("DATE_UNPROVEN", note, line, cells)
            cells[layout.date] = cells[at]
            return msgspec.structs.replace(self._make(line, cells), note=note)
        if not cells[layout.date].strip() and is_filled and held and has_text(layout, cells):
            row = self._make(line, cells)
            note = "no date is printed: the date of the row above was taken"
            self._borrowed += 1
            if self._is_after_gap:  # then it is of another group than the row above
                self._problem("DATE_UNPROVEN", note, line, cells)
            elif self._do_days_repeat:
                self._problem("DATE_MISSING", f"{note}, although others print theirs", line, cells)
            return msgspec.structs.replace(row, date=held.date, note=note)
        if held is not None and not is_filled and layout.is_description_only(cells):
            return continue_text(held, cells[layout.description])
        if is_filled or is_dated:
            what = "date" if is_filled else "amount"
            self._problem("ROW_UNREADABLE", f"the row has no {what} that can be read", line, cells)
            return None
        self._log_row(f"line {line} is no transaction: {raw_text(cells)}")
        return None

    def _no_booking(self, layout: ColumnLayout, cells: list[str]) -> str:
        """Why a row without a date is no booking; "" if it may be one. Totals are remembered, to be checked."""
        printed = [cells[i].strip() for i in (layout.amount, layout.debit, layout.credit)]
        if any(printed) and not any(map(money.is_amount, printed)):
            return "has neither a date nor an amount"
        if booking.booking_status(cells[layout.date]):
            return "is not booked, and has no date yet"
        _, debit, credit = printed
        if not any(c.isdigit() for c in cells[layout.date]) and is_sum(debit) and is_sum(credit):
            self._reading.late |= {"debits": debit, "credits": credit}
            return "has a debit and a credit, so these are totals"
        return ""

    def _take_other_date(self, layout: ColumnLayout, cells: list[str]) -> str:
        """The date of another column, where the one of bookings has none; a note that says so, or ""."""
        printed = cells[layout.date].strip()
        status = booking.booking_status(printed)
        if printed and not status:
            return ""
        if not printed and layout.status < 0:  # then another cell may say why
            printed = next(filter(booking.booking_status, cells), "").strip()
            status = booking.booking_status(printed)
        # What calls itself not booked may have any day; else only a column that is known to stand in is asked.
        is_unbooked = status or (
            layout.status >= 0 and booking.booking_status(cells[layout.status])
        )
        spare = (other_date(layout, cells),) if is_unbooked else ()
        for index in (layout.other_date, layout.value_date, *spare):
            if index >= 0 and dates.is_date(cells[index]):
                cells[layout.date] = cells[index]
                if status and layout.status >= 0:
                    cells[layout.status] = cells[layout.status] or printed
                heading = layout.headings[index]
                said = f"not booked ({printed}): " if status else ""
                is_told = status or (layout.status >= 0 and cells[layout.status].strip())
                if not is_told and layout.balance >= 0 and not cells[layout.balance].strip():
                    said = "not booked (no balance): "
                return f"{said}the date is from the column {heading!r}: no other is printed"
        return ""

    def _is_balance(self, layout: ColumnLayout, line: int, cells: list[str]) -> bool:
        """Whether a dated row is an opening or closing balance, by its whole text; then it is noted as one."""
        if line in self._totals.proven:
            self._log_row(f"line {line} is the sum of others: {raw_text(cells)}")
            return True
        if line in self._totals.doubted:
            message = "the row is called a total or a balance, and no sum proves it; it was taken for a booking"
            self._problem("TOTAL_SUSPECTED", message, line, cells)
        name = row_fact(layout, cells)
        if name not in ("opening", "closing"):
            return False
        self._add_late_facts(line, cells, {name: ""}, layout)
        self._doubt_balance(layout, line, cells)
        return True

    def _doubt_balance(self, layout: ColumnLayout, line: int, cells: Sequence[str]) -> None:
        """Say that a dated amount was taken for a balance; if the statement adds up with it, that is forgotten."""
        if layout.balance < 0 and dates.is_date(cells[layout.date]):
            message = "the amount of the row was taken for a balance, by its text"
            self._problem("BALANCE_UNPROVEN", message, line, cells)

    def _ragged(
        self,
        layout: ColumnLayout,
        line: int,
        cells: list[str],
        held: StatementRow | None,
        above: Sequence[str],
    ) -> StatementRow | None:
        below, _ = facts_below_labels([above, cells]) if len(above) == len(cells) else ({}, set())
        if found := facts_of_row(cells) or below:
            self._add_late_facts(line, cells, found, layout)
            return None
        is_short = 1 < len(cells) < layout.width
        if held and is_short and not self._is_after_gap and layout.is_description_only(cells):
            return continue_text(held, cells[layout.description])
        if not layout.looks_like_data(cells) or is_label(cells):
            self._log_row(f"line {line} is no transaction: {raw_text(cells)}")
            return None
        message = f"the row has {len(cells)} cells, expected {layout.width}"
        self._problem("ROW_RAGGED", message, line, cells)
        if layout.is_headed or len(cells) < layout.width:
            return None
        # Without headings the width is only the usual one: the row is kept, and the statement is flagged.
        row = self._make(line, [*cells[: layout.width], ""])
        return msgspec.structs.replace(row, note=message)

    def _add_late_facts(
        self, line: int, cells: Sequence[str], found: dict[str, str], layout: ColumnLayout
    ) -> None:
        """Facts printed below the rows: a closing balance, a total; or the account of the rows that follow."""
        account = found.get("account", "")
        if account and not self._source.hints.account and is_other_number(account, self._account):
            self._account, self._has_accounts = account, True
        is_own = self._is_of_first_currency(layout, cells)
        for name, text in found.items():
            if name in ("closing", "opening", "debits", "credits"):
                value = text or self._first_amount(layout, cells)
                if value and is_own:
                    self._reading.late[name] = value
        self._log_row(f"line {line} is {' and '.join(found)}, no transaction: {raw_text(cells)}")

    def _is_of_first_currency(self, layout: ColumnLayout, cells: Sequence[str]) -> bool:
        """Whether a balance is in the currency of the first one: each currency of an account has its own."""
        at = layout.currency
        own = cells[at].strip() if 0 <= at < len(cells) else ""
        self._ends_currency = self._ends_currency or own
        return own in ("", self._ends_currency)

    def _first_amount(self, layout: ColumnLayout, cells: Sequence[str]) -> str:
        order = (layout.balance, layout.amount, layout.credit, layout.debit)
        texts = [cells[i].strip() for i in order if 0 <= i < len(cells)]
        return next((text for text in texts if text and money.is_amount(text)), "")

    def _problem(self, code: str, message: str, line: int, cells: Sequence[str]) -> None:
        self._reading.problems.append(
            StatementProblem(
                code=code, message=message, place=RowPlace(line=line), raw=raw_text(cells)
            )
        )

    def _log_ends(self, record: Record) -> None:
        line, cells = record
        self._log_row(
            f"line {line} tells the balances before and after all rows: {raw_text(cells)}"
        )

    def _log_row(self, sentence: str) -> None:
        self._logged_rows += 1
        if self._logged_rows <= LOGGED_ROWS_MAX:
            self._reading.decisions.append(sentence)
        elif self._logged_rows == LOGGED_ROWS_MAX + 1:
            self._reading.decisions.append("more such lines are not listed")


def _fit_rows(layout: ColumnLayout, body: Sequence[Record]) -> list[Record]:
    """The rows as they are read: those that lack only empty cells at their end show as much as the others."""
    return [(line, _fit_cells(layout, cells)) for line, cells in body]


def _fit_cells(layout: ColumnLayout, cells: list[str]) -> list[str]:
    fitted = layout.fit(cells) if 1 < len(cells) != layout.width else None
    return cells if fitted is None else fitted[0]


def continue_text(row: StatementRow, text: str) -> StatementRow:
    """A row whose description goes on in the line below it."""
    return msgspec.structs.replace(row, description=f"{row.description}\n{text}")
