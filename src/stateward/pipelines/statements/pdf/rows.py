"""Lines below a heading as rows: what starts a row, what continues it, and what only looks like one.

A row stays open until the next one starts. Its date may be missing (then the date of the row above holds), its amount
may be on its last line, its text may continue on the next page. Lines that print a balance or a total are no rows: they
become facts, against which the rows are checked.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from stateward.pipelines.kit import dates
from stateward.pipelines.kit.money import CURRENCY_CODES
from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.statements.headings import role_of
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import TableHeading, is_aligned
from stateward.pipelines.statements.pdf.fields import (
    TEXT_REACH,
    ParsedLine,
    any_money,
    dates_end,
    has_letters,
    text_start,
)
from stateward.pipelines.statements.pdf.titles import direction_of, may_be_title, title_text
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals, is_date

CONTINUED_GAP_MAX = 2.0  # of the line height: text further below does not belong to the row
DISTANT_LINES_MAX = 4  # between the first line of a row and its amount
SECOND_DAYS_MIN = 2  # rows with a lone date below them
LINES_PER_ROW_MAX = 40
TEXT_CHARS_MAX = 200  # of a line that is reported
DAY_DIGITS_MAX = 8
SAME_START = 1.0  # points between the starts of two lines of one cell
FIGURES_MAX = 2  # of a row: its amount and its balance

# Words that a label may have besides its phrase: `Balance carried forward to page 2`, `Saldovortrag per 31.12.`
LABEL_WORDS = frozenset(
    "the a of on at as from to for in by per page sheet seite blatt vom am zum von bis auf au du le de la les page "
    "del al el dal di da do em na no op den pr til fra previous next last statement your account period day end "
    "vostro vostra nostro credito debito favore avere dare votre notre faveur crediteur debiteur favor haben soll "
    "start saldo balance solde eur usd gbp chf sek nok dkk pln czk huf inr brl cad aud euro euros cr dr debit "
    "credit auszug nr uhr um kontoauszug".split()
)
# What a line counts that has a number before it and its total behind it.
COUNTED = frozenset(
    "credits debits deposits withdrawals payments checks cheques entries items".split()
)
_NONZERO = frozenset("123456789")
_LEADING_NUMBERS = re.compile(r"^(?:[0-9]+ )+")
SIGNED = re.compile(r"[-+(]|[A-Za-z]$")
_DUE = re.compile(r"minim|mindest|asgari|\bdue\b|最低")


# Totals of more than the rows.
_OF_YEAR = re.compile(r"\b(?:year|ytd|jahr\w*|annee|ano|anno|jaar)\b")
MARKS_BELOW = ("CR", "DR")  # below an amount; other marks are also words
MARK_REACH = 30.0  # points from the right edge of the row
DAY_WORDS = (2, 3)
UNBOOKED = "a title above it says that it is not booked"
NAMED_BALANCE = "it is called a balance"
NO_DAYS = "its table has no day and other columns than those of the rows"
DATED = "dated"  # a balance that may be opening or closing: only its date is printed


class PrintedFact(msgspec.Struct, gc=False):
    """A printed balance, total or count, with its label and the date in its line."""

    kind: str
    value: str
    label: str
    page: int
    line: int
    date: str = ""
    section: int = -1  # the section that prints it; -1: before the first


class SideTotals(msgspec.Struct, frozen=True):
    """What a line without a date prints below debits and below credits."""

    page: int
    line: int
    debit: str
    credit: str


class DraftRow(msgspec.Struct, gc=False):
    """A row while its lines are collected."""

    page: int
    line: int
    box: list[float]
    date: str = ""
    value_date: str = ""
    texts: list[str] = []
    parties: list[str] = []
    references: list[str] = []
    money: dict[str, str] = {}
    more: dict[str, str] = {}
    mark: str = ""
    currency: str = ""
    direction: str = ""  # DEBIT or CREDIT by the title of the table
    group: int = 0  # rows below the same title, whose total may be printed
    title: str = ""  # a title between the rows, above it, that says nothing that is known
    is_dated: bool = True  # False: the date is that of the row above
    doubt: str = ""  # why it may not be a row
    has_other_date: bool = False  # it borrows its date, although another stands in it
    x_text: float = 0.0  # where its text begins
    last_base: float = 0.0
    last_page: int = 0
    lines: list[tuple[int, int]] = []  # page and number of each of its lines

    @property
    def is_complete(self) -> bool:
        """Whether it has an amount."""
        return not vocab.AMOUNT_ROLES.isdisjoint(self.money)


class RowBuilder:
    """Builds the rows of one file, in the order printed; the caller starts sections and tables."""

    def __init__(self) -> None:
        self.sections: list[list[DraftRow]] = []
        self.facts: list[PrintedFact] = []
        self.context: list[StatementLine] = []  # lines since the last row: titles of the next table
        self._open: DraftRow | None = None
        self._date = ""
        self._direction = ""
        self._last: DraftRow | None = None
        self._is_running = False  # only rows since the heading
        self._group = 0
        self._second_lines = 0  # how many rows of the table had a second line, with another date
        self._heading_lines = 0  # lines of names below the heading, from the column of dates on
        self._is_carried = (
            False  # the last line but texts is a balance with its day, as at the top of a page
        )
        self._year = ""  # a line above the rows, of which it is the year
        self._has_second_days = False  # a lone date below a row is another one of that row
        self._is_dayless = False  # its table has no day at all
        self._is_unbooked = False  # a title between the rows says that those below it do not count
        self._unknown_title = ""  # what else stands like a title between the rows
        self.day_balances: set[tuple[int, int]] = set()  # lines that print the balance of a day
        self.group_totals: dict[tuple[int, int], list[str]] = {}  # by section and group
        self.side_totals: dict[int, list[SideTotals]] = {}  # by section
        # By section: the places and texts of dated lines without an amount.
        self.unfilled: dict[int, list[tuple[tuple[int, int], str]]] = {}
        self.figured: set[tuple[int, int]] = set()  # those of them that seem to have an amount

    def begin_section(self) -> None:
        """Start the rows of another account or another statement."""
        self.sections.append([])
        self._open = self._last = None
        self._date = self._direction = self._year = self._unknown_title = ""

    def join_sections(self) -> None:
        """Make one section of all: their tables are of one account."""
        self.sections = [[row for rows in self.sections for row in rows]]
        self.side_totals = {0: [each for found in self.side_totals.values() for each in found]}
        self.group_totals = {(0, group): found for (_, group), found in self.group_totals.items()}
        self.unfilled = {0: [each for found in self.unfilled.values() for each in found]}
        for fact in self.facts:
            fact.section = min(fact.section, 0)

    def begin_table(
        self, direction: str, *, is_unbooked: bool = False, is_dayless: bool = False
    ) -> None:
        """Start a table; `direction` is what its title says about its amounts.

        One without any day, below other names of columns than those of the rows, may add something up.
        """
        above = self.context if self.sections and self.sections[-1] else []
        titles = (title for line in above if (title := self._unknown(line)))
        self._unknown_title = next(titles, "" if direction else self._unknown_title)
        self.context = []
        self._direction = direction
        self._group += 1
        self._second_lines = self._heading_lines = 0
        self._is_unbooked = is_unbooked
        self._is_dayless = is_dayless
        self._is_running = True

    def add(
        self, heading: TableHeading, parsed: Sequence[ParsedLine], *, is_amount_last: bool
    ) -> None:
        """Add the lines below a heading."""
        self._has_second_days = _have_second_days(parsed)
        for at, one in enumerate(parsed):
            after = parsed[at + 1] if at + 1 < len(parsed) else None
            self._add(heading, one, after, is_amount_last)

    def _add(
        self, heading: TableHeading, one: ParsedLine, after: ParsedLine | None, is_last: bool
    ) -> None:
        if not any(map(str.isalnum, one.line.text)):
            return  # a rule that is drawn with characters
        if self._take_mark(one) or self._take_year(one):
            return
        if self._is_balance(heading, one) or self._repeats_balance(one) or self._is_total(one):
            self._add_totals(one)
            self._close()
            self.context.append(one.line)
            return
        if one.date:
            self._take_dated(one)
        elif one.has_amount:
            self._take_undated(heading, one)
        elif one.text:
            self._text(heading, one, after, is_last)
        elif one.year and self._open is not None and self._open.is_complete:
            self._add_year(self._open, one)
        elif one.money or one.more:
            self._figures(one)

    def _add_year(self, entry: DraftRow, one: ParsedLine) -> None:
        """The year of a date that stands above it, also where the date stands above its row."""
        if entry.date == self._date and self._is_near(entry, one.line, CONTINUED_GAP_MAX):
            entry.is_dated = True
            self._extend(entry, one)
            self._date = entry.date
        else:
            self.context.append(one.line)

    def _take_year(self, one: ParsedLine) -> bool:
        """Whether a line is the year of the rows below it: so is each year alone, if one stands above the first row."""
        if not one.year or len(one.line.words) > 1 or not (self._year or not self._date):
            return False
        self._end_row(one.line)
        self._year = one.year
        self._is_running = True
        return True

    def _take_mark(self, one: ParsedLine) -> bool:
        """Whether a line has nothing but CR or DR below the amount of a row, which it marks."""
        opened, words = self._open, one.line.words
        if opened is None or not opened.is_complete or opened.mark or len(words) != 1:
            return False
        is_mark = words[0].text in MARKS_BELOW and words[0].x1 > opened.box[2] - MARK_REACH
        if is_mark and self._is_near(opened, one.line, CONTINUED_GAP_MAX):
            opened.mark = words[0].text
            opened.lines.append((one.line.page, one.line.number))
            opened.last_base = one.line.base
            return True
        return False

    def _take_dated(self, one: ParsedLine) -> None:
        self._is_running = True
        opened, is_second = self._open, self._has_second_days and _is_day_alone(one)
        is_second &= opened is not None and opened.is_complete
        if is_second and opened is not None and self._is_near(opened, one.line, CONTINUED_GAP_MAX):
            opened.value_date = opened.value_date or one.date
            opened.last_base = one.line.base
            opened.lines.append((one.line.page, one.line.number))
            return
        self._close()
        if self._year and not dates.has_year(one.date):
            one = msgspec.structs.replace(one, date=_with_year(one.date, self._year))
        self._date = one.date
        if not one.text and not one.has_amount and not one.money:
            return  # a date above the rows of its day
        if not one.has_amount and one.money and not one.text:
            self.context.append(one.line)
            return
        self._begin(one, is_dated=True)

    def _take_undated(self, heading: TableHeading, one: ParsedLine) -> None:
        is_list = heading.has(vocab.NUMBER_ROLES) and not heading.has(vocab.WORD_ROLES)
        if is_list and has_letters(one.text):
            self._end_row(one.line)  # a list of checks has no texts: this is its total
            return
        opened = self._open
        if self._is_no_booking(heading, one):
            self._end_row(one.line)
            return
        if opened is not None and opened.is_complete and _is_foreign(opened, one):
            self._extend(opened, msgspec.structs.replace(one, money={}, more={}))
            return
        is_torn = False
        if opened is not None and self._second_lines and self._is_below_row(opened) and one.text:
            # Rows of this table have two lines, both with a date: this is the first of another that lost its own.
            self._close()
            opened, is_torn = None, True
        if (
            opened is not None
            and not opened.is_complete
            and self._is_near(opened, one.line, DISTANT_LINES_MAX)
        ):
            self._extend(opened, one)
            return
        if not (self._date and self._is_running and has_letters(one.text)):
            self._end_row(one.line)
            return
        self._close()
        self._begin(one, is_dated=False)
        if self._open is None:
            return
        self._open.has_other_date |= is_torn
        if one.x_text < text_start(heading) - TEXT_REACH:
            self._open.doubt = "its text starts in the column of dates"
        elif vocab.SUMS.prefix(vocab.simplify(one.text)) and not one.fills_row:
            self._open.doubt = "it starts like a total"

    def _is_no_booking(self, heading: TableHeading, one: ParsedLine) -> bool:
        """Whether an amount without a date is what is due, or a sum beside a column of balances that it has none of."""
        text = vocab.simplify(one.text)
        phrase = vocab.CARDS.prefix(text)
        sums = [token for token in one.line.money if has_decimals(token.text)]
        if _says_currency_alone(one):
            return True  # `in EUR 99,00` below the name of a balance
        if len(sums) > FIGURES_MAX and sum(t.end - t.start for t in sums) == len(one.line.words):
            return True  # figures alone, below their names
        if phrase and _DUE.search(phrase) and _is_label(text, phrase):
            return True
        last = self._open if self._open is not None and self._open.is_complete else self._last
        is_bare = heading.has({vocab.BALANCE}) and vocab.BALANCE not in one.money
        has_before = last is not None and vocab.BALANCE in last.money and last.is_dated
        return is_bare and has_before and bool(vocab.SUMS.find(text))

    def _text(
        self, heading: TableHeading, one: ParsedLine, after: ParsedLine | None, is_last: bool
    ) -> None:
        text = vocab.simplify(one.text)
        if (
            after is not None
            and _says_currency_alone(after)
            and _is_label(text, _balance_label(text)[1] or "-")
        ):
            self._end_row(one.line)  # the name of a balance, whose amount stands below it
            return
        opened = self._open or self._last
        starts_right = one.x_text >= text_start(heading) - TEXT_REACH
        # The name of a column may stand over its middle: then the row shows where its texts begin.
        if opened is not None and opened.is_complete and opened.texts:
            starts_right = starts_right or abs(one.x_text - opened.x_text) <= SAME_START
            # Nothing but a text begins between the dates and the name of a column of texts.
            starts_right = starts_right or one.x_text > dates_end(heading)
        if not starts_right and not self._date and len(cells_of(one.line)) > 1:
            self._heading_lines += 1  # a heading of several lines: so have its rows
        elif not starts_right and opened is not None and opened.is_complete:
            starts_right = 0 < len(opened.lines) <= self._heading_lines
        if title := self._title(heading, one, after):
            self._close()
            self._direction, self._is_unbooked, self._unknown_title = title, False, ""
            self._group += 1
            self.context.append(one.line)
            return
        is_unbooked = vocab.NOT_BOOKED.matches(title_text(one.line.text))
        if not starts_right or is_unbooked:
            self._unknown_title = self._unknown(one.line) or self._unknown_title
            self._end_row(one.line)
            self._is_unbooked |= is_unbooked
            return
        if is_last and (self._open is None or self._open.is_complete) and self._date:
            self._close()
            self._begin(one, is_dated=False)
        elif opened is not None and self._continues(heading, opened, one.line):
            self._extend(opened, one)
        elif self._is_carried and (opened is None or opened.last_page != one.line.page):
            self.context.append(one.line)  # of the last row of the page before
        else:
            self._end_row(one.line)

    def _unknown(self, line: StatementLine) -> str:
        """A line of one text below a row of its page that may be the title of something else; "" if it is none."""
        rows = self.sections[-1] if self.sections else []
        last = self._open or (rows[-1] if rows else None)
        is_below = last is not None and last.last_page == line.page
        return line.text if is_below and may_be_title(line) else ""

    def _end_row(self, line: StatementLine) -> None:
        """A line that belongs to no row: the table has ended, or is interrupted.

        The head of the next page does not end a row whose whole text is still to come, below that head.
        """
        last = self._open or self._last
        is_bare = self._open is not None and self._open.is_complete and not self._open.texts
        if is_bare and last is not None and line.page == last.last_page + 1:
            self.context.append(line)
            return
        self._is_unbooked &= last is None or last.doubt != UNBOOKED
        self._close()
        self._last = None
        self._is_running = self._is_carried = False
        self.context.append(line)

    def _continues(self, heading: TableHeading, entry: DraftRow, line: StatementLine) -> bool:
        """Whether text continues a row: close below it, or at the top of the next page within its column."""
        if line.page == entry.last_page:
            return line.base - entry.last_base <= CONTINUED_GAP_MAX * line.height
        starts = [c.x0 for c in heading.columns if c.role in vocab.TEXT_ROLES]
        nexts = [
            c.x0 for c in heading.columns if c.x0 > line.x0 + 1 and c.role not in vocab.TEXT_ROLES
        ]
        return (
            entry is self._open
            and line.page == entry.last_page + 1
            and any(abs(line.x0 - start) < TEXT_REACH for start in starts)
            and line.x1 < min(nexts, default=float("inf"))
        )

    def _figures(self, one: ParsedLine) -> None:
        """A line of numbers without words: the balance of the row above, or a total."""
        opened = self._open
        if (
            opened is not None
            and vocab.BALANCE in one.money
            and vocab.BALANCE not in opened.money
            and self._is_near(opened, one.line, CONTINUED_GAP_MAX)
        ):
            self._extend(opened, one)
        else:
            self.context.append(one.line)

    def _begin(self, one: ParsedLine, *, is_dated: bool) -> None:
        line = one.line
        self._open = DraftRow(
            line.page,
            line.number,
            _box(line),
            one.date or self._date,
            one.value_date,
            is_dated=is_dated,
            direction=self._direction,
            group=self._group,
            x_text=one.x_text,
            last_base=line.base,
            last_page=line.page,
            doubt=UNBOOKED if self._is_unbooked else NO_DAYS if self._is_dayless else "",
            title=self._unknown_title,
        )
        self._is_carried = False
        self._fill(self._open, one)
        others = (cell.text for cell in cells_of(line) if cell.text != one.value_date)
        self._open.has_other_date = not is_dated and any(
            is_date(text)
            and not has_decimals(text)
            # The number of a cheque may look like a day in figures alone: 100417.
            and not (text.isdigit() and not self._date.isdigit())
            and not _is_long_number(text)
            for text in others
        )
        self.context = []

    def _extend(self, entry: DraftRow, one: ParsedLine) -> None:
        if one.date and not entry.is_dated:
            entry.date, entry.is_dated = one.date, True
        self._fill(entry, one)
        if one.line.page == entry.page:
            _grow(entry.box, one.line)
        entry.last_base, entry.last_page = one.line.base, one.line.page

    def _fill(self, entry: DraftRow, one: ParsedLine) -> None:
        entry.lines += [(line.page, line.number) for line in (one.line, *one.parts)]
        for line in one.parts:
            _grow(entry.box, line)
            entry.last_base = max(entry.last_base, line.base)
        if one.year and entry.is_dated and not dates.has_year(entry.date):
            entry.date = _with_year(entry.date, one.year)
        if one.text and len(entry.texts) < LINES_PER_ROW_MAX:
            entry.texts.append(one.text)
        if one.party:
            entry.parties.append(one.party)
        if one.reference:
            entry.references.append(one.reference)
        for role, text in one.money.items():
            entry.money.setdefault(role, text)
        for name, text in one.more.items():
            entry.more[name] = f"{entry.more[name]} {text}" if name in entry.more else text
        entry.mark = entry.mark or one.mark
        entry.currency = entry.currency or one.currency
        entry.value_date = entry.value_date or one.value_date

    def _close(self) -> None:
        entry, self._open = self._open, None
        if entry is None:
            return
        if entry.is_complete:
            self.sections[-1].append(entry)
            self._last = entry
        elif set(entry.money) == {vocab.BALANCE} and entry.is_dated:
            self._close_day(entry)
        elif self._last is not None and self._is_below_row(entry):
            self._second_lines += 1
            self._last.texts += entry.texts
            self._last.parties += entry.parties
            self._last.references += entry.references
            self._last.lines += entry.lines
            self._last.value_date = self._last.value_date or entry.date
            self._last.last_base, self._last.last_page = entry.last_base, entry.last_page
        else:
            if entry.is_dated and entry.texts:
                known = self.unfilled.setdefault(len(self.sections) - 1, [])
                known.append(((entry.page, entry.line), " ".join(entry.texts)[:TEXT_CHARS_MAX]))
                if self.sections[-1] and _ends_with_figure(self.sections[-1][-1], entry):
                    self.figured.add((entry.page, entry.line))
            self._last = None

    def _close_day(self, entry: DraftRow) -> None:
        """A dated line with a balance alone: the balance at the end of its day, which is that of the row above it."""
        last = self._last
        text = vocab.simplify(" ".join(entry.texts))
        if text and not any(vocab.heading_role(word) == vocab.BALANCE for word in text.split()):
            return  # a row whose amount was taken for a balance: it stays unread, and is reported
        if vocab.heading_role(text) == vocab.BALANCE or not text:
            kind = vocab.CARRIED if self.sections[-1] else vocab.OPENING
            place = (entry.page, entry.line, entry.date, len(self.sections) - 1)
            self.facts.append(PrintedFact(kind, entry.money[vocab.BALANCE], text, *place))
        if last is not None and last.date == entry.date:
            last.money.setdefault(vocab.BALANCE, entry.money[vocab.BALANCE])
        self.day_balances.update(entry.lines)

    def _is_below_row(self, entry: DraftRow) -> bool:
        """Whether a line with a date and no amount belongs to the row above it."""
        is_open = entry.is_dated and not entry.money and self._last is not None
        return is_open and self._is_second_line(self._last, entry)  # type: ignore[arg-type]

    def _is_second_line(self, last: DraftRow, entry: DraftRow) -> bool:
        """Whether a dated line without an amount is the second line of a row: its value date, below the date."""
        if _ends_with_figure(last, entry):
            return False
        height = entry.box[3] - entry.box[1]
        return entry.page == last.last_page and entry.box[1] - last.box[3] < max(0.7 * height, 4)

    def finish(self) -> None:
        """Close the last row."""
        self._close()

    def _is_near(self, entry: DraftRow, line: StatementLine, lines: float) -> bool:
        if line.page != entry.last_page:
            return line.page == entry.last_page + 1
        return line.base - entry.last_base <= lines * line.height

    def _is_balance(self, heading: TableHeading, one: ParsedLine) -> bool:
        """Whether a line prints a balance. It becomes a fact, and a doubtful row if it may be the name of a shop."""
        text = _LEADING_NUMBERS.sub("", vocab.simplify(one.text))
        kind, phrase = _balance_label(text)
        if not phrase:
            return self._is_bare_balance(one) or self._is_dated_balance(one, text)
        is_label = _is_label(text, phrase)
        if one.has_amount and one.fills_row and self._date and not is_label:
            return False
        if one.date and not is_label and not one.money:
            return False  # the first line of a row, whose amount follows below
        if not is_label and self._continues_row(one):
            return False  # a name below the row that it belongs to, with a figure in it
        is_label = is_label or (not one.date and " " in phrase)
        if one.has_amount and not is_label and (one.date or self._is_in_table(one)):
            return False  # the name of a shop: TRANSPORT FOR LONDON
        # An amount and the balance after it are a row, whatever its text; both sides without one are sums of a page.
        is_row = bool(one.has_amount and vocab.BALANCE in one.money and one.date)
        is_row = is_row and not (is_label and _moves_nothing(one))
        if is_row or (_fills_both_sides(one) and vocab.BALANCE not in one.money):
            return False
        value = one.money.get(vocab.BALANCE) or any_money(one)
        if (
            vocab.BALANCE not in one.money
            and not SIGNED.search(value)
            and _is_among_debits(heading, one)
        ):
            value = f"{value} DR"  # printed among the debits: a debt
        if not value and self._open is not None and not one.date:
            return False
        if value:
            self._add_fact(kind, as_debt(value, text), phrase, one, _full_date(one))
        if one.has_amount and (one.date or (self._date and self._is_running)):
            self._add_doubtful(one)
        if one.date:
            self._date = one.date
            self._is_carried = True
        return True

    def _continues_row(self, one: ParsedLine) -> bool:
        """Whether a line has no date and nothing in a column of amounts, right below a row that has its amount."""
        opened = self._open
        return (
            opened is not None
            and opened.is_complete
            and not one.date
            and not one.money
            and self._is_near(opened, one.line, CONTINUED_GAP_MAX)
        )

    def _is_in_table(self, one: ParsedLine) -> bool:
        """Whether a line without a date can be a row of the day of the row above it."""
        has_rows = self._open is not None or self._last is not None
        return bool(self._date) and self._is_running and has_rows

    def _add_fact(
        self, kind: str, value: str, phrase: str, one: ParsedLine, date: str = ""
    ) -> None:
        self.facts.append(
            PrintedFact(
                kind,
                value,
                phrase,
                one.line.page,
                one.line.number,
                date or one.date,
                len(self.sections) - 1,
            )
        )

    def _add_doubtful(self, one: ParsedLine, why: str = "it looks like a balance") -> None:
        """Add a row that counts only if the statement adds up with it and not without it."""
        self._close()
        context = self.context
        self._begin(one, is_dated=bool(one.date))
        if self._open is not None:
            self._open.doubt = why
            self.sections[-1].append(self._open)
        self._open, self.context = None, context

    def _is_bare_balance(self, one: ParsedLine) -> bool:
        """Whether a line is `Balance   1,234.56` in no column: the balance after the row above, which it becomes.

        `End of day balance` is also one in the column of amounts; a lone word there may be the name of a shop.
        """
        row, line = self._open, one.line
        sums = [token for token in line.money if has_decimals(token.text)]
        if row is None or not row.is_complete or one.date or len(sums) != 1:
            return False
        label = " ".join(word.text for word in line.words[: sums[0].start])
        if one.money and (" " not in label or one.fills_row):
            return False
        is_named = vocab.is_exact_heading(label) and vocab.heading_role(label) == vocab.BALANCE
        if not is_named or sums[0].end != len(line.words) or vocab.BALANCE in row.money:
            return False
        row.money[vocab.BALANCE] = sums[0].text
        self.day_balances.add((line.page, line.number))
        return True

    def _repeats_balance(self, one: ParsedLine) -> bool:
        """Whether a line has no day, and nothing but the balance that is known already, below an amount without one.

        An amount moves the balance behind it, so this is none of its row, but one that is printed again: at the end.
        """
        row, rows = self._open, self.sections[-1] if self.sections else []
        if row is None or not rows or not row.is_complete or vocab.BALANCE in row.money:
            return False
        value = one.money.get(vocab.BALANCE, "")
        if one.date or one.has_amount or not value or value != rows[-1].money.get(vocab.BALANCE):
            return False
        if not any(map(_is_filled, row.money.values())):
            return False
        self._add_fact(vocab.CARRIED, value, vocab.simplify(one.text), one)
        return True

    def _is_dated_balance(self, one: ParsedLine, text: str) -> bool:
        """Whether a line is `Balance on 28.02.2025   1,234.56`."""
        phrase = vocab.DATED_BALANCES.prefix(text)
        if one.date and not _is_label(text, phrase):
            if " " in phrase and one.has_amount and _tells_other_day(one):
                self._add_doubtful(one)
                return True
            phrase = ""  # a row, whose text begins like that
        if one.date and one.has_amount and vocab.BALANCE in one.money:
            phrase = ""
        if self._continues_row(one) and not _is_label(text, phrase):
            return False
        # `Saldo 31.12.23`: a lone word with nothing but a day behind it; `Saldo Bar 31.12.23` is a name.
        if not phrase or not any_money(one) or not (" " in phrase or _is_label(text, phrase)):
            return False
        # `14/03  Balance  280.00`: in the column of amounts, a booking may be called so.
        is_like_row = bool(one.date) and one.has_amount
        day = _full_date(one) or (one.date if is_like_row else "")
        if not day and not one.has_amount and _is_day(text.removeprefix(phrase)):
            # `Balance on 31 March`: without a year, its place tells which end it is of.
            has_rows = self._open is not None or self._last is not None
            kind = vocab.CLOSING if has_rows else vocab.OPENING
            self._add_fact(kind, as_debt(any_money(one), text), phrase, one)
            return True
        if not day:
            return False
        self._add_fact(DATED, as_debt(any_money(one), text), phrase, one, day)
        if is_like_row:
            self._add_doubtful(one, NAMED_BALANCE)
        return True

    def _is_total(self, one: ParsedLine) -> bool:
        """Whether a line is a total: by its words, or because no row could start with them."""
        text = vocab.simplify(one.text)
        if one.fills_row or not text or not (one.money or any_money(one)):
            return False
        if one.date:
            return bool(vocab.SUMS.matches(text))  # `26 Jul  Closing totals  0.00  2,260.14`
        if any(labels.prefix(text) for labels in vocab.TOTAL_LABELS.values()):
            return True
        if _fills_both_sides(one):
            return True
        counted = _LEADING_NUMBERS.sub("", text)
        if counted in COUNTED and counted != text:
            return True  # `2 Credits  4,407.83`
        is_sum = bool(vocab.SUMS.prefix(text))
        if is_sum and self._continues_row(one) and not _is_label(text, vocab.SUMS.prefix(text)):
            return False
        return is_sum and (not self._date or vocab.SUMS.matches(text) or not one.has_amount)

    def _add_totals(self, one: ParsedLine) -> None:
        """Remember what a line that is nothing but a total says of its group, and of both columns of the table."""
        text = vocab.simplify(one.text)
        is_carried = _balance_label(text)[0] == vocab.CARRIED
        is_sum = bool(vocab.SUMS.prefix(text)) or _fills_both_sides(one)
        if one.date or not (is_sum or is_carried):
            return
        number = len(self.sections) - 1
        self.group_totals.setdefault((number, self._group), []).append(any_money(one))
        if any(role_of(name) == "fee" and _is_filled(text) for name, text in one.more.items()):
            return  # debits are added up without the fees, of which some are rows
        sides = [one.money.get(role, "") for role in (vocab.DEBIT, vocab.CREDIT)]
        if all(sides) and not is_carried and not _OF_YEAR.search(text):
            place = (one.line.page, one.line.number)
            self.side_totals.setdefault(number, []).append(SideTotals(*place, *sides))
        is_whole = vocab.SUMS.matches(text) or (is_sum and len(text.split()) == 1)
        if is_whole and not is_carried and all(sides):
            for kind, value in zip(("debits", "credits"), sides, strict=True):
                self._add_fact(kind, value, text, one)

    def _title(self, heading: TableHeading, one: ParsedLine, after: ParsedLine | None) -> str:
        """DEBIT or CREDIT by a title within the table, or ""."""
        if after is None or not (after.date or after.has_amount):
            return ""
        if one.line.x0 > heading.columns[0].x0 + TEXT_REACH:
            return ""  # it is in the column of texts
        return direction_of(one.line.text)


def _is_day_alone(one: ParsedLine) -> bool:
    return bool(one.date) and not (one.text or one.money or one.more)


def _have_second_days(parsed: Sequence[ParsedLine]) -> bool:
    """Whether most rows with a date have a lone date on the next line, which is that of the value.

    Then no row without a date stands between such a date and the next row, whose day it would be.
    """
    lone = False
    below = rows = 0
    for above, one in pairwise([*parsed[:1], *parsed]):
        if _is_day_alone(one):
            is_row = bool(above.date) and above.has_amount and one.line.page == above.line.page
            gap = one.line.base - above.line.base
            lone = is_row and gap <= CONTINUED_GAP_MAX * one.line.height
            below += lone
        elif one.has_amount:
            if lone and not one.date:
                return False
            rows += bool(one.date)
            lone = False
    return below >= SECOND_DAYS_MIN and 2 * below > rows


def _is_filled(text: str) -> bool:
    """Whether an amount is more than nothing, by its figures."""
    return not _NONZERO.isdisjoint(text)


def _says_currency_alone(one: ParsedLine) -> bool:
    """Whether the text of a line says nothing but in which currency its amount is."""
    words = vocab.simplify(one.text).split()
    return bool(words) and all(word == "in" or vocab.is_currency_alone(word) for word in words)


def _with_year(day: str, year: str) -> str:
    """A day that is printed without its year, with it."""
    return f"{day}{year}" if day[-1:] in "./-" else f"{day} {year}"


def _is_long_number(text: str) -> bool:
    """Whether a text is figures alone, more than those of a day: the number of a booking may begin with its day."""
    return text.isdigit() and len(text) > DAY_DIGITS_MAX


def _is_among_debits(heading: TableHeading, one: ParsedLine) -> bool:
    """Whether an amount stands exactly below debits: one that follows its label may come to stand near them."""
    debits = [column for column in heading.columns if column.role == vocab.DEBIT]
    return vocab.DEBIT in one.money and any(
        token.text == one.money[vocab.DEBIT] and is_aligned(column, token)
        for token in one.line.money
        for column in debits
    )


def _fills_both_sides(one: ParsedLine) -> bool:
    """Whether a line has a debit and a credit with decimals: no booking has both, so these are totals."""
    sides = [one.money.get(role, "") for role in (vocab.DEBIT, vocab.CREDIT)]
    return all(has_decimals(text) and any(c in "123456789" for c in text) for text in sides)


# An amount with the code of its currency, and no other words: `11.50 USD`, `USD 1.234,00`.
_ABROAD = re.compile(r"(?:[0-9][0-9.,' ]* ?([A-Z]{3})|([A-Z]{3}) ?[0-9][0-9.,' ]*)", re.ASCII)


def _is_foreign(entry: DraftRow, one: ParsedLine) -> bool:
    """Whether a line below a row tells what it was in another currency: `Rate €1.00 = $1.08   $115.67`.

    A line with a balance of its own is a row of an account in several currencies.
    """
    if vocab.BALANCE in one.money:
        return False
    # `CHQ 100417` is a cheque and its number.
    if (found := _ABROAD.fullmatch(one.text)) and (found[1] or found[2]) in CURRENCY_CODES:
        return True
    own, other = _currency_signs(entry.money), _currency_signs(one.money)
    if own and other:
        return own.isdisjoint(other)
    codes, others = _currency_codes(entry.money), _currency_codes(one.money)
    return bool(others) and codes.isdisjoint(others)


def _currency_signs(printed: Mapping[str, str]) -> set[str]:
    return {letter for text in printed.values() for letter in text if letter in "$€£¥₹"}


def _currency_codes(printed: Mapping[str, str]) -> set[str]:
    return {word for text in printed.values() for word in text.split() if word in CURRENCY_CODES}


def _balance_label(text: str) -> tuple[str, str]:
    """The kind of balance that a simplified text starts with, and the phrase; or two empty strings."""
    found = [(kind, labels.prefix(text)) for kind, labels in vocab.BALANCE_LABELS.items()]
    # The longest: "sold final zi" is that of a day, though "sold final" is that of the account.
    kind, phrase = max(found, key=lambda each: len(each[1]))
    if not phrase and (kind := vocab.made_balance(text)):
        phrase = text
    return (kind, phrase) if phrase else ("", "")


def opening_of(one: ParsedLine) -> str:
    """The opening balance that a line prints; "" if it prints none."""
    text = _LEADING_NUMBERS.sub("", vocab.simplify(one.text))
    kind, _ = _balance_label(text)
    return one.money.get(vocab.BALANCE) or any_money(one) if kind == vocab.OPENING else ""


def as_debt(value: str, text: str) -> str:
    """A balance with the mark of a debt, if its label says so and it has no sign."""
    has_sign = any(letter in value for letter in "-(") or value[-1:].isalpha()
    return f"{value} DR" if vocab.OWING.find(text) and not has_sign else value


def missing_dates(drafts: Sequence[DraftRow]) -> list[DraftRow]:
    """Rows without a date in a section that repeats equal dates.

    Where the date is printed once for each day, no two consecutive rows of a page print the same date.
    """
    repeats = any(
        one.is_dated and other.is_dated and one.date == other.date and one.page == other.page
        for one, other in pairwise(drafts)
    )
    return [entry for entry in drafts if entry.has_other_date or (repeats and not entry.is_dated)]


def _moves_nothing(one: ParsedLine) -> bool:
    """Whether all amounts of a line beside its balance are zero."""
    moved = (text for role, text in one.money.items() if role != vocab.BALANCE)
    return not any(c in "123456789" for text in moved for c in text)


def _full_date(one: ParsedLine) -> str:
    """The first date with a year in a line, or ""."""
    found = (token.text for token in one.line.dates if dates.has_year(token.text))
    return next(found, "")


def _tells_other_day(one: ParsedLine) -> bool:
    """Whether the text of a row has a date with a year, beside that of the row."""
    return sum(dates.has_year(token.text) for token in one.line.dates) > 1


def _is_label(text: str, phrase: str) -> bool:
    """Whether a text is the phrase with no more than a date, a number or small words: a label, not a shop's name."""
    rest = text[len(phrase) :].split() if text.startswith(phrase) else text.split()
    return all(
        word in LABEL_WORDS or not word.isalpha() or word in dates.MONTHS or len(word) == 1
        for word in rest
    )


def _is_day(text: str) -> bool:
    """Whether a simplified text is a day and a month, with or without a year."""
    words = text.split()
    return len(words) in DAY_WORDS and all(
        word.isdigit() or dates.fold(word) in dates.MONTHS for word in words
    )


def _box(line: StatementLine) -> list[float]:
    tops = [word.top for word in line.words]
    bottoms = [word.bottom for word in line.words]
    right = max(word.x1 for word in line.words)
    return [line.x0 - line.shift, min(tops), right - line.shift, max(bottoms)]


def _ends_with_figure(last: DraftRow, entry: DraftRow) -> bool:
    """Whether a line ends where the amount above does, with an amount not read: -500 where others print cents."""
    text = entry.texts[-1] if entry.texts else ""
    return text[-1:].isdigit() and abs(last.box[2] - entry.box[2]) <= SAME_START


def _grow(box: list[float], line: StatementLine) -> None:
    other = _box(line)
    box[:] = [
        min(box[0], other[0]),
        min(box[1], other[1]),
        max(box[2], other[2]),
        max(box[3], other[3]),
    ]
