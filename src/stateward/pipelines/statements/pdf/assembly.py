"""The tables of a file, and the lines around them, as the sections of its statements.

`tables` finds headings and the lines below them, `rows` builds rows, `facts` reads balances, totals, period and
account, and `choose` decides how the strings are to be read: by which choice the statement adds up. This module puts
them together, and reports what they leave open.
"""

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from itertools import chain, islice

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import money
from stateward.pipelines.kit.pdf.page_numbers import PAGE_OF, goes_on, missing_pages
from stateward.pipelines.kit.pdf.pages import (
    PdfPage,
)
from stateward.pipelines.statements.model import (
    RowPlace,
    StatementProblem,
    StatementReading,
    StatementSection,
)
from stateward.pipelines.statements.pdf import facts as printed
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.aligned_columns import figures_of
from stateward.pipelines.statements.pdf.balance_pairs import is_of_other_account
from stateward.pipelines.statements.pdf.carried import carried_problem
from stateward.pipelines.statements.pdf.choose import (
    OPEN_DEBT,
    TriedReading,
    choose_reading,
    contradicting_words,
    decimal_of,
    totals_of,
    whole_totals,
)
from stateward.pipelines.statements.pdf.completeness import (
    RAW_CHARS_MAX,
    column_sums,
    currency_problem,
    fee_problem,
    heading_currency_problem,
    is_accounted,
    is_boxed,
    is_smudged,
    is_total_line,
    left_lines,
    looks_like_row,
    row_problems,
)
from stateward.pipelines.statements.pdf.contexts import (
    below_closing,
    below_rows,
    direction_above,
    is_dayless,
    is_pending,
    is_summary_beside,
    lists_checks,
    names_card,
    sides_of_parts,
    title_of_unbooked,
)
from stateward.pipelines.statements.pdf.mirrored_sides import mirrored_doubt
from stateward.pipelines.statements.pdf.paged_rows import paged_rows
from stateward.pipelines.statements.pdf.printed_days import (
    are_days_of_booking,
    begin_with_days,
    day_first,
    have_two_days,
    short_era,
    year_doubt,
)
from stateward.pipelines.statements.pdf.repeated_lists import repeated_rows
from stateward.pipelines.statements.pdf.rows import (
    DATED,
    DraftRow,
    PrintedFact,
    RowBuilder,
    missing_dates,
    opening_of,
)
from stateward.pipelines.statements.pdf.run_on import run_on_accounts
from stateward.pipelines.statements.pdf.scales import rival_amounts_problem, scale_problem
from stateward.pipelines.statements.pdf.side_totals import are_sides_named, contradicted_totals
from stateward.pipelines.statements.pdf.sign_readings import SectionDraft
from stateward.pipelines.statements.pdf.stamps import stamped_problem, struck_problem
from stateward.pipelines.statements.pdf.tables import PdfTable, tables_of
from stateward.pipelines.statements.pdf.titles import direction_of
from stateward.pipelines.statements.pdf.tokens import (
    StatementLine,
    has_cents,
    has_decimals,
    is_date,
)
from stateward.pipelines.statements.pdf.two_columns import unfold
from stateward.pipelines.statements.period_order import PrintedPeriod
from stateward.pipelines.statements.source import Hints

CONTEXT_MAX = 8  # lines above a heading that may be its title
UNREAD_SHOWN_MAX = 20
CARD_SURE = 2  # see `facts.card_strength`
PAGES_NAMED_MAX = 10
TEXTLESS_MAX = 0.25  # of the rows: if more have no text, so the bank prints them
BALANCES_MIN = 3  # fewer that follow from one another do so by chance
_MASKED = re.compile(r"[Xx*•]{2}")


class Assembler:
    """Builds the sections of one file from its tables and the lines around them."""

    def __init__(
        self,
        pages: Sequence[PdfPage],
        lines: list[list[StatementLine]],
        margin: list[StatementLine],
        hints: Hints,
        tables: list[PdfTable] | None = None,
        *,
        ends_above: int | None = None,
    ) -> None:
        """`tables`: those of another hypothesis than that of the headings; `lines` are then unfolded already.

        `ends_above`: each table with balances around its heading is of another account, and so many of them, those
        printed above the heading, belong to the account before.
        """
        self._hints = hints
        self._ends_above = ends_above
        self._pages = len(pages)
        self._stamped = pages
        self._unreadable = [page.number for page in pages if page.is_picture]
        self._missing = missing_pages(pages)
        self._goes_on = bool(pages) and goes_on(pages[-1])
        self.lines = unfold(lines) if tables is None else lines
        self.tables = tables_of(self.lines) if tables is None else tables
        self._lines = [line for page in self.lines for line in page]
        self._margin = margin
        self._builder = RowBuilder()
        self._accounts: list[str] = []
        self._starts: list[tuple[int, int]] = []  # page and line where each section begins
        self._skipped: set[tuple[int, int]] = set()  # lines of tables that are not read
        self._decisions: list[str] = []
        self._problems: list[StatementProblem] = []
        self.is_contradicted = (
            False  # a section does not lead from its opening to its closing balance
        )
        self._is_summed = True  # every section leads from its opening to its closing balance
        self.is_sound = True  # balances prove every section
        self.is_accounted = True  # nothing speaks against the sections that none prove
        self.has_balances = True  # each has opening and closing balances, or running ones
        self.is_card = False
        self._sums: set[Decimal] = set()  # of all debits, and of all credits, of each section
        self._explained: set[str] = set()  # the figures of printed balances and totals
        self._carried: set[int] = set()  # sections that end with a balance that is carried forward
        self._passed_on: set[int] = set()  # those of them that say that the next page goes on

    def reading(self) -> StatementReading:
        """All sections, and the problems found on the way."""
        self._build_rows()
        if not self._builder.sections:
            return self._without_rows()
        self._join_cards()
        taken = {at for rows in self._builder.sections for row in rows for at in row.lines}
        free = [
            line for line in self._margin + self._lines if (line.page, line.number) not in taken
        ]
        sections = [self._section(number, free) for number in range(len(self._builder.sections))]
        self._report_unread(free)
        self._report_pictures()
        rows = chain.from_iterable(self._builder.sections)
        of_rows = {place for entry in rows for place in entry.lines}
        others = (line for line in self._lines if (line.page, line.number) not in of_rows)
        self._problems += stamped_problem(self._stamped, others)
        self._problems += struck_problem(self._stamped)
        first = self.tables[0].heading
        head = (
            line for line in self._lines if (line.page, line.number) <= (first.page, first.start)
        )
        self._problems += scale_problem(self._read_tables(), head)
        self._problems += paged_rows(
            chain.from_iterable(self._builder.sections), is_proven=self._is_summed
        )
        if not (self._is_summed or (self.is_sound and self.has_balances)):
            self._problems += rival_amounts_problem(self._read_tables())
        self._problems += run_on_accounts(sections, [list(each.rows) for each in sections])
        self._report_missing_pages(sections)
        return StatementReading(
            format="pdf", sections=sections, problems=self._problems, decisions=self._decisions
        )

    @property
    def is_proven(self) -> bool:
        """Whether the rows of each section lead from its opening to its closing balance."""
        return self._is_summed

    def _without_rows(self) -> StatementReading:
        """A statement without transactions: its closing balance must be its opening balance."""
        lines = [*self._lines, *self._margin]
        found = printed.facts_of(lines, 0)
        period = printed.period_of(lines)
        draft = SectionDraft([], found, [], period, self._card(lines), hints=self._hints)
        tried = choose_reading(draft)
        if not tried.is_sound:
            raise FatalFailure(
                f"no table of transactions was found on the {self._pages} pages; if this is a statement, export it"
                " as CSV and report the bank that prints it; if it is none, submit it with --source-type scan, which"
                " keeps its text",
                code="NO_TABLE",
            )
        self._accounts.append("")
        self._decisions.append(
            "no transactions are printed, and the closing balance is the opening balance"
        )
        return StatementReading(
            format="pdf",
            sections=[self._build_section(0, draft, tried, lines, [])],
            problems=self._problems,
            decisions=self._decisions,
        )

    def _build_rows(self) -> None:
        builder = self._builder
        for table in self.tables:
            context = [*table.above, *builder.context][-CONTEXT_MAX:]
            if self._is_skipped(table, context):
                continue
            self._start_section_if_new(table, context)
            named = table.heading.columns[0].text
            side = direction_of(named) or direction_above(context)
            side = side or (vocab.DEBIT if lists_checks(table) else "")
            builder.begin_table(
                side,
                is_unbooked=is_pending(table, context),
                is_dayless=is_dayless(table, self.tables),
            )
            sides = sides_of_parts(table, context)
            for number, (part, parsed) in enumerate(table.parts):
                if any(sides):
                    builder.begin_table(sides[number])
                builder.add(part, parsed, is_amount_last=table.is_amount_last)
            if len(table.parts) > 1:
                builder.finish()
                builder.context = below_rows(table.lines)
        builder.finish()
        self._leave_repeats()

    def _leave_repeats(self) -> None:
        """Leave out what only lists rows of another table once more."""
        repeated, doubted = repeated_rows(self._builder.sections)
        if doubted:
            message = f"{doubted} rows of a list stand in a table with balances, too: they may be booked twice"
            self._problems.append(StatementProblem(code="BOOKING_UNPROVEN", message=message))
        if not repeated:
            return
        for rows in self._builder.sections:
            left = [entry for entry in rows if id(entry) in repeated]
            self._skipped |= {place for entry in left for place in entry.lines}
            rows[:] = [entry for entry in rows if id(entry) not in repeated]
        self._decisions.append(
            f"a list of {len(repeated)} rows is skipped: they stand in a table with balances"
        )

    def _join_cards(self) -> None:
        """Make one section of the cards of one account: their numbers are masked, and its balances are of all."""
        named = [account for account in self._accounts if account]
        are_cards = all(_MASKED.search(each) and names_card(each, self._lines) for each in named)
        if len(self._accounts) < 2 or not named or not are_cards:
            return
        head = [line for line in [*self._margin, *self._lines] if self._owner(line) < 0]
        own = [line for line in self._lines if self._owner(line) >= 0]
        ends = {vocab.OPENING, vocab.CLOSING}
        if not ends <= {fact.kind for fact in printed.facts_of(head, -1)}:
            return
        if ends <= {fact.kind for fact in (*self._builder.facts, *printed.facts_of(own, 0))}:
            return
        self._builder.join_sections()
        self._accounts, self._starts = named[:1], self._starts[:1]
        self._decisions.append(f"the {len(named)} cards have one balance: they are one section")

    def _is_skipped(self, table: PdfTable, context: Sequence[StatementLine]) -> bool:
        """Whether a table is not read: it lists what is not booked, or balances alone.

        A table with a balance after each amount is booked, whatever stands above it: "Portfolio Summary" may be the
        title of all accounts, and losing one of them would be noticed by no sum.
        """
        has_amounts = table.heading.has(vocab.AMOUNT_ROLES)
        if has_amounts and table.heading.has({vocab.BALANCE}):
            return False
        title = title_of_unbooked(table, context)
        is_summary = has_amounts and any(
            is_summary_beside(table, other) for other in self.tables if other is not table
        )
        if not title and has_amounts and not is_summary:
            return False
        why = f"its title is {title!r}" if title else "it has no column of amounts"
        if is_summary:
            why = "it leads from one balance to another without any day"
        self._decisions.append(f"the table on page {table.heading.page} is skipped: {why}")
        self._skipped |= {(line.page, line.number) for line in table.lines}
        self._builder.context = below_rows(table.lines)
        return True

    def _start_section_if_new(self, table: PdfTable, context: Sequence[StatementLine]) -> None:
        """Start a section if the lines above the table name another account, or another opening balance."""
        account = printed.account_of(context)
        builder = self._builder
        is_later = bool(builder.sections and builder.sections[-1])
        is_other = is_later and not account and self._opens_other_account(table, context)
        if is_other and self._accounts[-1]:
            account = printed.account_like(self._accounts[-1], context)
        if not builder.sections:
            self._start_section(account, table, context)
        elif self._ends_above is not None:
            if is_later and (start := self._start_by_balances(table, context)):
                self._start_section(account, table, context, start)
        elif account and not printed.is_same_account(account, self._accounts[-1]):
            is_taken = self._accounts[-1] or builder.sections[-1]
            if is_taken and not self._is_named_above(account):
                self._start_section(account, table, context)
            else:
                self._accounts[-1] = account
        elif is_other:
            self._start_section("", table, context)

    def _is_named_above(self, account: str) -> bool:
        """Whether the one section without an account begins far below a line that names this one."""
        if self._accounts != [""]:
            return False
        above = (line for line in self._lines if (line.page, line.number) < self._starts[0])
        return printed.is_same_account(account, printed.first_account(above))

    def _start_by_balances(
        self, table: PdfTable, context: Sequence[StatementLine]
    ) -> tuple[int, int] | None:
        """Where an account begins by the balances around a heading; None if there are none on either side of it."""
        above = [line for line in context if is_balance_line(line)]
        filled = (one.line for _, parsed in table.parts for one in parsed if one.money)
        opens = any(is_balance_line(line) for line in islice(filled, 1))
        count = self._ends_above or 0
        if not above or not (opens or len(above) > 1) or count > len(above):
            return None
        if not count:
            return above[0].page, above[0].number
        last, page = above[count - 1], table.heading.page
        return (page, last.number + 1) if last.page == page else (page, 1)

    def _start_section(
        self,
        account: str,
        table: PdfTable,
        context: Sequence[StatementLine],
        begun: tuple[int, int] | None = None,
    ) -> None:
        """Begin a section, at the place where its account begins if that is known."""
        start = (table.heading.page, table.heading.start + 1)
        named = [
            line
            for line in context
            if account and (printed.account_of([line]) == account or line.text.endswith(account))
        ]
        if named or account == "":
            first = named[0] if named else next(iter(below_closing(context)), None)
            start = (first.page, first.number) if first is not None and self._starts else start
        start = begun or start
        self._builder.begin_section()
        self._accounts.append(account)
        self._starts.append(start)
        for (
            fact
        ) in self._builder.facts:  # what is printed below the last row belongs to the new section
            if (fact.page, fact.line) >= start:
                fact.section = len(self._starts) - 1

    def _opens_other_account(self, table: PdfTable, context: Sequence[StatementLine]) -> bool:
        """Whether the table opens with a balance that is printed nowhere before it.

        A table that only continues on the next page repeats the balance of the last row.
        """
        number = len(self._builder.sections) - 1
        first = [one for _, parsed in table.parts for one in parsed[:2]]
        opening = {
            digits_of(f.value) for f in printed.facts_of(context, number) if f.kind == vocab.OPENING
        }
        opening |= {digits_of(value) for one in first if (value := opening_of(one))}
        inside = {(line.page, line.number) for line in context}
        known = {
            digits_of(fact.value)
            for fact in self._builder.facts
            if fact.section == number
            and ((fact.page, fact.line) not in inside or vocab.is_carrying(fact.kind, fact.label))
        }
        known.add(digits_of(self._builder.sections[-1][-1].money.get(vocab.BALANCE, "")))
        if not opening or opening & known:
            return False
        start, end = self._starts[-1], (table.heading.page, table.heading.start)
        above = [line for line in self._lines if start <= (line.page, line.number) < end]
        before = [line for line in above if (line.page, line.number) not in inside]
        return opening.isdisjoint(digits_of(f.value) for f in printed.facts_of(before, number))

    def _section(self, number: int, free: Sequence[StatementLine]) -> StatementSection:
        drafts = self._builder.sections[number]
        is_only = len(self._builder.sections) == 1
        own = list(free) if is_only else [line for line in free if self._owner(line) == number]
        shared = [] if is_only else [line for line in free if self._owner(line) < 0]
        found = printed.facts_of(own, number)
        both = both_ends(found)
        in_table = [
            fact
            for fact in self._builder.facts
            if fact.section == number and (fact.page, fact.line) not in both
        ]
        known = {(fact.page, fact.line) for fact in in_table}
        own_facts = [fact for fact in found if (fact.page, fact.line) not in known]
        currency = money.currency_code(self._currency(drafts, own, shared))
        draft = SectionDraft(
            drafts,
            sorted(in_table + own_facts, key=lambda fact: (fact.page, fact.line)),
            printed.facts_of(shared, -1),
            self._period(own, shared),
            self._card(own),
            printed.is_bank(own),
            short_era(self._lines),
            any(table.heading.is_inferred for table in self.tables),
            self._hints,
            currency,
            day_first(self.tables, currency, self._account(number, [*own, *shared])),
        )
        decimal = decimal_of(draft)
        if not decimal.is_sure:
            problem = StatementProblem(code="AMBIGUOUS_AMOUNTS", message=decimal.why)
            self._problems.append(problem)
        tried = choose_reading(draft)
        closing = tried.closing
        is_doubted = not (is_only or tried.is_sound)
        if is_doubted and is_of_other_account(closing, drafts, [*own, *shared], self._lines):
            draft.facts = [fact for fact in draft.facts if fact is not closing]
            tried = choose_reading(draft)
        return self._build_section(number, draft, tried, own, shared)

    def _currency(
        self,
        drafts: Sequence[DraftRow],
        own: Sequence[StatementLine],
        shared: Sequence[StatementLine],
    ) -> str:
        columns = [column for table in self._read_tables() for column in table.heading.columns]
        named = {
            vocab.currency_alone(column.text)
            for column in columns
            if column.role in vocab.AMOUNT_ROLES
        }
        if len(named) == 1 and (code := named.pop()):
            return code  # `US$ | R$`: that of the column which was taken
        texts = [text for entry in drafts for text in entry.money.values()]
        return printed.currency_of([*own, *shared], texts) or self._hints.currency

    def _card(self, lines: Sequence[StatementLine]) -> int:
        """How likely this is a card statement (see `facts.card_strength`); a hint of the user decides."""
        return CARD_SURE if self._hints.is_card else printed.card_strength(lines)

    def _owner(self, line: StatementLine) -> int:
        """The number of the section that a line belongs to; -1 if it is before the first."""
        at = (line.page, line.number)
        return sum(start <= at for start in self._starts) - 1 if line.number else -1

    def _period(
        self, own: Sequence[StatementLine], shared: Sequence[StatementLine]
    ) -> PrintedPeriod:
        """The period printed above the first table, else anywhere."""
        first = self.tables[0].heading
        # Lines that every page repeats (number 0) come last.
        every = sorted([*shared, *own], key=lambda line: not line.number)
        head = [
            line
            for line in every
            if not line.number or (line.page, line.number) <= (first.page, first.start)
        ]
        for lines in (own, head) if shared else (head, own):
            period = printed.period_of(lines)
            if period.is_labelled:
                return period
        period = printed.period_of(head)
        return period if period.end else printed.period_of(every)

    def _build_section(
        self,
        number: int,
        draft: SectionDraft,
        tried: TriedReading,
        own: Sequence[StatementLine],
        shared: Sequence[StatementLine],
    ) -> StatementSection:
        self._is_summed &= tried.is_summed
        self.is_contradicted |= bool(tried.opening and tried.closing) and not tried.is_summed
        self.is_sound &= tried.is_sound
        running = sum(bool(row.balance) for row in tried.rows)
        self.has_balances &= tried.is_summed or running > BALANCES_MIN
        self.is_card |= bool(draft.card)
        self._sums |= column_sums(tried)
        self._explained |= {digits_of(fact.value) for fact in (*draft.facts, *draft.shared)}
        if tried.closing is not None and vocab.is_carrying(tried.closing.kind, tried.closing.label):
            self._carried.add(number)
            ends = (at for entry in tried.drafts for at in entry.lines)
            is_last = (tried.closing.page, tried.closing.line) > max(ends, default=(0, 0))
            if is_last and vocab.is_passed_on(tried.closing.label):
                self._passed_on.add(number)
                self._goes_on |= number == len(self._builder.sections) - 1
        self._problems += row_problems(draft, tried)
        self._problems += currency_problem(tried)
        self._problems += heading_currency_problem(tried, self._read_tables(), [*own, *shared])
        self._problems += fee_problem(tried)
        in_tables = (line for table in self._read_tables() for line in table.lines)
        listed = [line for line in in_tables if self._owner(line) == number]
        self._problems += carried_problem(draft, tried, listed)
        self._problems += contradicted_totals(tried, self._builder.side_totals.get(number, ()))
        self._report_accounts(number, tried, own)
        self._report_doubts(tried)
        self._report_edges(number, tried)
        if message := year_doubt(draft.period, tried):
            self._problems.append(StatementProblem(code="DATE_UNPROVEN", message=message))
        section = StatementSection(
            account=self._account(number, [*own, *shared]),
            currency=self._currency(draft.rows, own, shared),
            opening=tried.opening.value if tried.opening else "",
            closing=tried.closing.value if tried.closing else "",
            opening_date=tried.opening.date if tried.opening else "",
            closing_date=tried.closing.date if tried.closing else "",
            period_from=draft.period.start,
            period_to=draft.period.end,
            totals=whole_totals(tried, totals_of(draft.facts)),
            is_accounted=is_accounted(
                draft,
                tried,
                self._read_tables(),
                self._known_lines(),
                {g: found for (n, g), found in self._builder.group_totals.items() if n == number},
            ),
            terms=tried.terms,
            rows=tried.rows,
        )
        self.is_accounted &= tried.is_sound or section.is_accounted
        return section

    def _read_tables(self) -> list[PdfTable]:
        """The tables that were not skipped."""
        return [
            table
            for table in self.tables
            if not any((line.page, line.number) in self._skipped for line in table.lines)
        ]

    def leaves_out_dated_figures(self) -> bool:
        """Whether a line of which no row was made has a date, and a figure that is no balance, total or sum."""
        known = self._known_lines()
        sums = {digits_of(str(total)) for total in self._sums}
        return any(
            line.dates
            and any(
                digits_of(token.text) not in self._explained | sums for token in figures_of(line)
            )
            for line in self._lines
            if (line.page, line.number) not in known
        )

    def _known_lines(self) -> set[tuple[int, int]]:
        """The lines that are rows, or print a balance."""
        builder = self._builder
        rows = {at for drafts in builder.sections for entry in drafts for at in entry.lines}
        return rows | {(fact.page, fact.line) for fact in builder.facts} | builder.day_balances

    def _account(self, number: int, lines: Sequence[StatementLine]) -> str:
        """The account of a section; what the user says can only be meant of the one that there is."""
        said = self._hints.account if len(self._accounts) == 1 else ""
        return said or self._accounts[number] or printed.first_account(lines)

    def _has_dated_amounts(self) -> bool:
        """Whether a line of a table that prints no balance has a date and an amount: then there are transactions."""
        known = self._known_lines()
        return any(
            (line.page, line.number) not in known
            and any(is_date(word.text) for word in line.words)
            and any(has_decimals(token.text) for token in line.money)
            for table in self._read_tables()
            for line in table.lines
        )

    def _report_doubts(self, tried: TriedReading) -> None:
        """Report what the arithmetic of a section cannot prove."""
        # One of several accounts may have a balance and no booking.
        is_still = len(self._builder.sections) > 1 and tried.opening and not tried.closing
        is_sound = tried.is_sound or is_still
        if not tried.rows and (not is_sound or self._has_dated_amounts()):
            message = "a table was found, but no row in it could be read"
            self._problems.append(StatementProblem(code="TABLE_UNREAD", message=message))
        pages = [*self._margin, *self._lines]
        doubt = tried.doubt
        if doubt == OPEN_DEBT and are_sides_named(tried, pages):
            doubt = ""
        if not self._hints.sign:
            doubt = doubt or mirrored_doubt(tried, self.tables, pages)
        if doubt:
            first = tried.rows[0].place if tried.rows else RowPlace()
            problem = StatementProblem(code="SIGN_UNPROVEN", message=doubt, place=first)
            self._problems.append(problem)
        if not self._hints.sign and (doubt := contradicting_words(tried)):
            problem = StatementProblem(code="SIGN_CONTRADICTED", message=doubt)
            self._problems.append(problem)
        is_open = any(table.heading.has_open_dates for table in self.tables)
        is_open = is_open and have_two_days(tried)
        is_open = is_open and not (are_days_of_booking(tried) and not self.is_card)
        is_unread = any(table.heading.has_unread_dates for table in self.tables)
        if is_unread and tried.rows:
            message = (
                "numbers stand before the dates that were read, and may be the days of booking"
            )
            self._problems.append(StatementProblem(code="DATE_UNPROVEN", message=message))
        elif is_open or begin_with_days(tried, self.tables):
            message = "two columns of dates differ, and only one has a name: the other may be the day of the booking"
            self._problems.append(StatementProblem(code="DATE_UNPROVEN", message=message))
        if any(table.has_open_days for table in self.tables):
            message = (
                "a date stands between two amounts that have none beside them, and may be of either"
            )
            self._problems.append(StatementProblem(code="DATE_UNPROVEN", message=message))
        said = [bool(row.description or row.counterparty or row.reference) for row in tried.rows]
        if 0 < said.count(False) <= len(said) * TEXTLESS_MAX:
            message = f"{said.count(False)} rows have no text, although the others do: the PDF may hide it"
            self._problems.append(StatementProblem(code="TEXT_MISSING", message=message))
        if any(table.has_open_texts for table in self.tables):
            message = "texts stand between the rows, and may be those of the row above or below: that below was taken"
            self._problems.append(StatementProblem(code="TEXT_MISSING", message=message))
        for entry in missing_dates(tried.drafts):
            self._problems.append(
                StatementProblem(
                    code="DATE_MISSING",
                    message="the row has no date, although its table prints one in every row; the date of the row"
                    " above was taken",
                    place=RowPlace(entry.page, entry.line),
                    raw=" ".join(entry.texts)[:RAW_CHARS_MAX],
                )
            )

    def _report_accounts(
        self, number: int, tried: TriedReading, own: Sequence[StatementLine]
    ) -> None:
        """Report a line among the rows that names another account: the rows below it may be of that one."""
        if len(tried.drafts) < 2 or tried.is_summed:
            return
        first, last = ((tried.drafts[at].page, tried.drafts[at].line) for at in (0, -1))
        known = {line.text for line in self._lines if (line.page, line.number) < first}
        mine = self._account(number, own)
        texts = " ".join(chain.from_iterable(entry.texts for entry in tried.drafts))
        for line in own:
            is_label = vocab.ACCOUNTS.prefix(vocab.simplify(line.text)) and line.text not in known
            is_label = is_label and line.text not in texts  # the other side of a booking
            other = printed.account_of([line]) if is_label else ""
            if (
                other
                and first < (line.page, line.number) < last
                and not printed.is_same_account(other, mine)
            ):
                message = f"rows stand below a line that names the account {other}: they may be of that one"
                place = RowPlace(line.page, line.number)
                self._problems.append(
                    StatementProblem(code="ACCOUNT_UNPROVEN", message=message, place=place)
                )
                return

    def _report_edges(self, number: int, tried: TriedReading) -> None:
        """Report dated lines without an amount where no balance speaks of them, as before the first row."""
        if tried.is_summed or not tried.drafts:
            return
        first, last = ((tried.drafts[at].page, tried.drafts[at].line) for at in (0, -1))
        for at, text in self._builder.unfilled.get(number, ()):
            if at in self._builder.figured or not first < at < last:
                message = "the line has a date, but no amount that can be read"
                self._problems.append(
                    StatementProblem(
                        code="ROW_UNREAD", message=message, place=RowPlace(*at), raw=text
                    )
                )

    def _report_unread(self, free: Sequence[StatementLine]) -> None:
        """Report lines that look like rows but belong to none."""
        facts = {(fact.page, fact.line) for fact in self._builder.facts}
        facts |= self._builder.day_balances
        tables = [] if self._is_summed else self._read_tables()
        for line in (line for table in tables for line in table.lines if is_smudged(line)):
            self._problems.append(
                StatementProblem(
                    code="ROW_UNREAD",
                    message="figures of an amount cannot be read",
                    place=RowPlace(line.page, line.number),
                    raw=line.text[:RAW_CHARS_MAX],
                )
            )
        left = left_lines(tables, self._known_lines())
        unread = {(line.page, line.number) for line in left}
        above = {(line.page, line.number + 1): line for line in self._lines}
        rows = chain.from_iterable(self._builder.sections)
        amounts = (text for entry in rows for text in entry.money.values() if text.strip())
        is_amount = has_cents if all(map(has_cents, amounts)) else has_decimals
        count = 0
        for line in free:
            at = (line.page, line.number)
            is_row = at in unread or looks_like_row(line, is_amount)
            if not line.number or at in self._skipped or at in facts or not is_row:
                continue
            if is_total_line(line, self._sums) or is_boxed(line, above.get(at)):
                continue
            count += 1
            if count <= UNREAD_SHOWN_MAX:
                self._problems.append(
                    StatementProblem(
                        code="ROW_UNREAD",
                        message="the line has an amount, but neither a row nor a balance was read from it",
                        place=RowPlace(*at),
                        raw=line.text[:RAW_CHARS_MAX],
                    )
                )

    def _report_missing_pages(self, sections: Sequence[StatementSection]) -> None:
        """Report pages that are counted and not there, and a balance that is carried from none that is."""
        # A balance that is carried proves the rows before it, not that none come after it.
        is_proven = self._is_summed and len(sections) - 1 not in self._carried
        if self._missing and not is_proven:
            numbers = ", ".join(map(str, self._missing[:PAGES_NAMED_MAX]))
            message = f"by the numbers that are printed on the pages, these are missing: {numbers}"
            self._problems.append(StatementProblem(code="PAGE_MISSING", message=message))
        elif self._goes_on and not is_proven:
            message = "the last page says that another one continues it, and that is not there"
            self._problems.append(StatementProblem(code="PAGE_MISSING", message=message))
        for number in range(1, len(sections)):
            if not self._is_torn(number, sections):
                continue
            message = (
                f"the balance {sections[number].opening} is brought forward, and the rows before do not lead to it:"
                " rows or pages may be missing"
            )
            if self._accounts[number]:
                message = "the page before says that it goes on, and this one is of another account"
            place = RowPlace(*self._starts[number])
            self._problems.append(
                StatementProblem(code="PAGE_MISSING", message=message, place=place)
            )

    def _is_torn(self, number: int, sections: Sequence[StatementSection]) -> bool:
        """Whether a section goes on with a balance that the page before it does not carry.

        Another account may begin in the middle of a page; what a page begins with was carried from the one before.
        """
        before, this = sections[number - 1], sections[number]
        drafts = self._builder.sections[number - 1]
        if not drafts or not self._begins_page(number, drafts[-1]):
            return False
        if self._accounts[number]:
            return number - 1 in self._passed_on
        if not before.closing:
            return True
        is_carried = number - 1 in self._carried
        return is_carried and digits_of(before.closing) != digits_of(this.opening)

    def _begins_page(self, number: int, last: DraftRow) -> bool:
        """Whether a section begins on a later page than the last row before it, or below the end of a page."""
        page, line = self._starts[number]
        between = [one for one in self._lines if one.page == page and last.line < one.number < line]
        return page > last.page or any(PAGE_OF.search(one.text) for one in between)

    def _report_pictures(self) -> None:
        for number in self._unreadable:
            self._problems.append(
                StatementProblem(
                    code="PAGE_UNREADABLE",
                    message="the page is an image without text: it was not read",
                    place=RowPlace(number),
                )
            )


def both_ends(facts: Collection[PrintedFact]) -> set[tuple[int, int]]:
    """The lines that print the balances of both ends, each behind its own label."""
    opening, closing = (
        {(fact.page, fact.line) for fact in facts if fact.kind == kind}
        for kind in (vocab.OPENING, vocab.CLOSING)
    )
    return opening & closing


def is_balance_line(line: StatementLine) -> bool:
    """Whether a line prints a balance with its label."""
    ends = {vocab.OPENING, vocab.CLOSING, DATED}
    return not ends.isdisjoint(fact.kind for fact in printed.facts_of([line], 0))


def digits_of(value: str) -> str:
    """The digits of an amount: a page may print the sign of a balance in another way than a row."""
    return "".join(filter(str.isdigit, value))
