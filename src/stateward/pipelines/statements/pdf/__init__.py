"""Statements printed as text PDFs, read by where their words stand; no bank has a template.

`pages` gives words with their places, `lines` puts them into lines, `tables` finds headings and what stands under
them, `rows` makes rows, `facts` reads what a statement says of itself, and `decide` chooses how the strings are to be
read, by which choice adds up. Here they are put together.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import (
    CORRUPT_FILE,
    EMPTY_DOCUMENT,
    ENCRYPTED,
    TEXT_TOO_LARGE,
    TOO_MANY_PAGES,
    recode,
)
from stateward.pipelines.kit.pdf.damage import count_damaged_streams
from stateward.pipelines.kit.pdf.lines import lines_of
from stateward.pipelines.kit.pdf.pages import (
    CHARS_PER_PAGE_MIN,
    PAGES_MAX,
    PdfPage,
    read_pages,
    require_text,
)
from stateward.pipelines.statements.model import (
    Place,
    Problem,
    Reading,
    Section,
    Terms,
)
from stateward.pipelines.statements.pdf import facts as told
from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.decide import Tried, decide, totals_of
from stateward.pipelines.statements.pdf.rows import (
    Builder,
    direction_of,
    missing_dates,
    opening_of,
    title_text,
)
from stateward.pipelines.statements.pdf.tables import Table, tables_of
from stateward.pipelines.statements.pdf.tokens import StatementLine, date_at, has_decimals
from stateward.pipelines.statements.pdf.ways import Story
from stateward.pipelines.statements.source import Source

__all__ = ["read", "read_pdf"]

CONTEXT_MAX = 8  # lines above a heading that may be its title
UNREAD_SHOWN_MAX = 20
RAW_CHARS_MAX = 200
ROW_WORDS_MAX = 30
CARD_SURE = 2  # see `facts.card_strength`
SHORT_PAGES = 3  # a long statement may end with pages that are nearly empty
CODES = {
    CORRUPT_FILE: "PDF_CORRUPT",
    EMPTY_DOCUMENT: "EMPTY_FILE",
    ENCRYPTED: "PDF_ENCRYPTED",
    TEXT_TOO_LARGE: "TOO_LARGE",
    TOO_MANY_PAGES: "TOO_LARGE",
}
ADVICE = "ask the bank for the original PDF or export the statement as CSV"


def read(source: Source) -> Reading:
    """A PDF with the first of the known passwords that opens it."""
    hints = source.hints
    for password in (None, *hints.passwords):
        try:
            reading = read_pdf(
                source.path,
                password=password,
                pages_max=source.bounds.pages_max,
                is_card=hints.is_card,
                date_order=hints.date_order,
            )
        except FatalFailure as error:
            if error.code != "PDF_ENCRYPTED":
                raise
        else:
            reading.decisions[:0] = source.decisions
            return reading
    tried = len(hints.passwords)
    which = f"none of the {tried} known ones is right" if tried else "none is configured"
    raise FatalFailure(
        f"the PDF is encrypted with a password, and {which}; add it to the file that the setting statements.passwords "
        "names, then retry",
        code="PDF_ENCRYPTED",
    )


def read_pdf(
    path: Path,
    *,
    password: str | None = None,
    pages_max: int = PAGES_MAX,
    is_card: bool = False,
    date_order: str = "",
) -> Reading:
    """The statements of one PDF.

    The last two are hints of the user: that it is of a card, and how dates are written where the file itself does not
    decide it.
    """
    with recode(CODES):
        pages = list(read_pages(path, password=password, pages_max=pages_max))
        chars_min = CHARS_PER_PAGE_MIN * min(len(pages), SHORT_PAGES)
        require_text(pages, chars_min=chars_min, advice=ADVICE)
    lines, margin = lines_of(pages, StatementLine, is_content=_is_content)
    document = _Document(pages, lines, margin, is_card=is_card, date_order=date_order)
    reading = document.reading()
    if damaged := count_damaged_streams(path):
        said = f"{damaged} parts of the file are damaged, so text may be missing; download it again"
        reading.problems.append(Problem(code="PDF_DAMAGED", message=said))
    return reading


def _is_content(text: str) -> bool:
    """Whether a text in a margin is a heading or a balance, which every page may repeat."""
    is_balance = any(book.found(say.plain(text)) for book in say.BALANCE_BOOKS.values())
    return bool(say.heading_role(text)) or is_balance


class _Document:
    """One file being put together."""

    def __init__(
        self,
        pages: Sequence[PdfPage],
        lines: list[list[StatementLine]],
        margin: list[StatementLine],
        *,
        is_card: bool,
        date_order: str,
    ) -> None:
        self._is_card = is_card
        self._date_order = date_order
        self._pages = len(pages)
        self._unreadable = [page.number for page in pages if page.is_picture]
        self._lines = [line for page in lines for line in page]
        self._margin = margin
        self._tables = tables_of(lines)
        self._builder = Builder()
        self._accounts: list[str] = []
        self._starts: list[tuple[int, int]] = []  # page and line where each section begins
        self._left_out: set[tuple[int, int]] = set()
        self._decisions: list[str] = []
        self._problems: list[Problem] = []

    def reading(self) -> Reading:
        """Everything, decided."""
        self._build()
        if not self._builder.sections:
            return self._without_rows()
        taken = {at for rows in self._builder.sections for row in rows for at in row.lines}
        free = [
            line for line in self._margin + self._lines if (line.page, line.number) not in taken
        ]
        sections = [self._section(number, free) for number in range(len(self._builder.sections))]
        self._report_unread(free)
        self._report_pictures()
        return Reading(
            format="pdf", sections=sections, problems=self._problems, decisions=self._decisions
        )

    def _without_rows(self) -> Reading:
        """A statement of a month in which nothing happened: what it opens with, it closes with."""
        lines = [*self._lines, *self._margin]
        found = told.facts_of(lines, 0)
        story = Story([], found, [], told.period_of(lines), self._card(lines))
        tried = decide(story)
        if not tried.is_sound:
            raise FatalFailure(
                f"no table of transactions was found on the {self._pages} pages; if this is a statement, export it"
                " as CSV and tell us which bank prints it so",
                code="NO_TABLE",
            )
        self._accounts.append("")
        self._decisions.append(
            "no transaction is printed, and the statement closes with what it opens with"
        )
        return Reading(
            format="pdf",
            sections=[self._made(0, story, tried, lines, [])],
            problems=self._problems,
            decisions=self._decisions,
        )

    def _build(self) -> None:
        builder = self._builder
        for table in self._tables:
            context = [*table.above, *builder.context][-CONTEXT_MAX:]
            if self._is_left_out(table, context):
                continue
            self._begin(table, context)
            titles = [title_text(line.text) for line in context]
            named = table.heading.columns[0].text
            builder.begin_table(direction_of(named) or direction_of(*reversed(titles)))
            for part, parsed in table.parts:
                builder.add(part, parsed, table.manner)
        builder.finish()

    def _is_left_out(self, table: Table, context: Sequence[StatementLine]) -> bool:
        """Tables of what is not booked, or of balances alone."""
        titles = (title_text(line.text) for line in reversed(context))
        title = next((title for title in titles if say.NOT_BOOKED_BOOK.found(title)), "")
        if not title and table.heading.has(say.MOVES):
            return False
        why = f"its title is {title!r}" if title else "it has no column of amounts"
        self._decisions.append(f"the table on page {table.heading.page} was left out: {why}")
        self._left_out |= {(line.page, line.number) for line in table.lines}
        return True

    def _begin(self, table: Table, context: Sequence[StatementLine]) -> None:
        """A new section if the lines above the table name another account, or open with another balance."""
        account = told.account_of(context)
        builder = self._builder
        if not builder.sections:
            self._open_section(account, table, context)
        elif account and told.account_key(account) != told.account_key(self._accounts[-1]):
            if self._accounts[-1] or builder.sections[-1]:
                self._open_section(account, table, context)
            else:
                self._accounts[-1] = account
        elif not account and builder.sections[-1] and self._opens_anew(table, context):
            self._open_section("", table, context)

    def _open_section(self, account: str, table: Table, context: Sequence[StatementLine]) -> None:
        start = (table.heading.page, table.heading.start + 1)
        named = [line for line in context if account and told.account_of([line]) == account]
        if named or account == "":
            first = named[0] if named else next(iter(context), None)
            start = (first.page, first.number) if first is not None and self._starts else start
        self._builder.begin_section()
        self._accounts.append(account)
        self._starts.append(start)
        for (
            fact
        ) in self._builder.facts:  # what was printed below the last row belongs to what comes
            if (fact.page, fact.line) >= start:
                fact.section = len(self._starts) - 1

    def _opens_anew(self, table: Table, context: Sequence[StatementLine]) -> bool:
        """Whether a balance opens the table that nothing before it closed with: no page is turned, an account is."""
        number = len(self._builder.sections) - 1
        first = [one for _, parsed in table.parts for one in parsed[:2]]
        opening = {bare(f.value) for f in told.facts_of(context, number) if f.kind == say.OPENING}
        opening |= {bare(value) for one in first if (value := opening_of(one))}
        inside = {(line.page, line.number) for line in context}
        known = {
            bare(fact.value)
            for fact in self._builder.facts
            if fact.section == number and (fact.page, fact.line) not in inside
        }
        known.add(bare(self._builder.sections[-1][-1].money.get(say.BALANCE, "")))
        if not opening or opening & known:
            return False
        start, end = self._starts[-1], (table.heading.page, table.heading.start)
        above = [line for line in self._lines if start <= (line.page, line.number) < end]
        told_before = [line for line in above if (line.page, line.number) not in inside]
        return opening.isdisjoint(bare(f.value) for f in told.facts_of(told_before, number))

    def _section(self, number: int, free: Sequence[StatementLine]) -> Section:
        entries = self._builder.sections[number]
        is_only = len(self._builder.sections) == 1
        own = list(free) if is_only else [line for line in free if self._owner(line) == number]
        shared = [] if is_only else [line for line in free if self._owner(line) < 0]
        in_table = [fact for fact in self._builder.facts if fact.section == number]
        known = {(fact.page, fact.line) for fact in in_table}
        own_facts = [f for f in told.facts_of(own, number) if (f.page, f.line) not in known]
        story = Story(
            entries,
            sorted(in_table + own_facts, key=lambda fact: (fact.page, fact.line)),
            told.facts_of(shared, -1),
            self._period(own, shared),
            self._card(own),
            told.is_bank(own),
            _is_thai(self._lines),
            any(table.heading.is_guessed for table in self._tables),
        )
        return self._made(number, story, decide(story), own, shared)

    def _card(self, lines: Sequence[StatementLine]) -> int:
        """How sure it is that this is a card; who says so is believed."""
        return CARD_SURE if self._is_card else told.card_strength(lines)

    def _terms(self, terms: Terms) -> Terms:
        """How the strings are read; what the file leaves open, the user may have said."""
        if terms.date_order or not self._date_order:
            return terms
        why = {
            **terms.why,
            "date_order": f"{self._date_order}: so the user says, the file does not decide it",
        }
        return replace(terms, date_order=self._date_order, why=why)

    def _owner(self, line: StatementLine) -> int:
        """The section in whose part of the file a line stands; -1 if before the first."""
        at = (line.page, line.number)
        return sum(start <= at for start in self._starts) - 1 if line.number else -1

    def _period(self, own: Sequence[StatementLine], shared: Sequence[StatementLine]) -> told.Period:
        """The period told above the first table; else anywhere."""
        first = self._tables[0].heading
        every = sorted(
            [*shared, *own], key=lambda line: not line.number
        )  # what pages repeat comes last
        head = [
            line
            for line in every
            if not line.number or (line.page, line.number) <= (first.page, first.start)
        ]
        for lines in (own, head) if shared else (head, own):
            period = told.period_of(lines)
            if period.is_told:
                return period
        period = told.period_of(head)
        return period if period.end else told.period_of(every)

    def _made(
        self,
        number: int,
        story: Story,
        tried: Tried,
        own: Sequence[StatementLine],
        shared: Sequence[StatementLine],
    ) -> Section:
        texts = [text for entry in story.entries for text in entry.money.values()]
        self._doubt(tried)
        return Section(
            account=self._accounts[number] or told.first_account([*own, *shared]),
            currency=told.currency_of([*own, *shared], texts),
            opening=tried.opening.value if tried.opening else "",
            closing=tried.closing.value if tried.closing else "",
            opening_date=tried.opening.date if tried.opening else "",
            closing_date=tried.closing.date if tried.closing else "",
            period_from=story.period.start,
            period_to=story.period.end,
            totals=totals_of(story.facts),
            terms=self._terms(tried.terms),
            rows=tried.rows,
        )

    def _doubt(self, tried: Tried) -> None:
        """Say what the arithmetic of a section cannot vouch for."""
        if not tried.rows and not tried.is_sound:
            said = "a table was found, but no row in it could be read"
            self._problems.append(Problem(code="TABLE_UNREAD", message=said))
        if tried.doubt:
            first = tried.rows[0].place if tried.rows else Place()
            self._problems.append(Problem(code="SIGN_UNPROVEN", message=tried.doubt, place=first))
        for entry in missing_dates(tried.entries):
            self._problems.append(
                Problem(
                    code="DATE_MISSING",
                    message="the row has no date, though its table prints one for every row; that of the row above"
                    " was taken",
                    place=Place(entry.page, entry.line),
                    raw=" ".join(entry.texts)[:RAW_CHARS_MAX],
                )
            )

    def _report_unread(self, free: Sequence[StatementLine]) -> None:
        """Lines that look like rows and are in none."""
        facts = {(fact.page, fact.line) for fact in self._builder.facts}
        count = 0
        for line in free:
            at = (line.page, line.number)
            if not line.number or at in self._left_out or at in facts or not _looks_like_row(line):
                continue
            count += 1
            if count <= UNREAD_SHOWN_MAX:
                self._problems.append(
                    Problem(
                        code="ROW_UNREAD",
                        message="the line has a date and an amount but stands in no table that was read",
                        place=Place(*at),
                        raw=line.text[:RAW_CHARS_MAX],
                    )
                )

    def _report_pictures(self) -> None:
        for number in self._unreadable:
            self._problems.append(
                Problem(
                    code="PAGE_UNREADABLE",
                    message="the page is a picture without text: what is on it was not read",
                    place=Place(number),
                )
            )


def bare(value: str) -> str:
    """The figures of an amount: a page may write the sign of a balance otherwise than a row."""
    return "".join(letter for letter in value if letter.isdigit())


def _looks_like_row(line: StatementLine) -> bool:
    """A date at the very left and an amount at the very right."""
    token = date_at(line.words, 0)
    amounts = [found for found in line.money if has_decimals(found.text)]
    if token is None or not amounts or len(line.words) > ROW_WORDS_MAX:
        return False
    text = say.plain(line.text)
    is_label = any(book.found(text) for book in say.BALANCE_BOOKS.values())
    return amounts[-1].end == len(line.words) and amounts[0].start >= token.end and not is_label


def _is_thai(lines: Sequence[StatementLine]) -> bool:
    return any("\u0e00" <= letter <= "\u0e7f" for line in lines[:200] for letter in line.text)
