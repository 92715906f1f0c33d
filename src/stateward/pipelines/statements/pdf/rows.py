"""Lines under a heading made into rows: what is a row, what goes on, and what only looks like one.

A row is held open until the next one begins. Its date may be missing (then it is that of the row above), its
amount may stand on its last line, its text may go on over a page. Lines that print a balance or a total are kept
as facts, to be checked against; they are no rows.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from stateward.pipelines.kit import dates
from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.columns import Heading
from stateward.pipelines.statements.pdf.fields import (
    TEXT_REACH,
    Parsed,
    any_money,
    has_letters,
    text_start,
)
from stateward.pipelines.statements.pdf.manner import CLOSER, Manner
from stateward.pipelines.statements.pdf.tokens import StatementLine, dates_in

CONTINUED_GAP_MAX = 2.0  # of the height of a line: text further below is not of the row
LINES_PER_ROW_MAX = 40

_LEADING_FIGURES = re.compile(r"^(?:[0-9]+ )+")
_NOISE = re.compile(r"[\W\d_]+")


DATED = "dated"  # the kind of a balance of which only the date is told


class Fact(msgspec.Struct, gc=False):
    """A printed balance, total or count, with its label and the date in its line."""

    kind: str
    value: str
    label: str
    page: int
    line: int
    date: str = ""
    section: int = -1  # the section in whose lines it stands; -1: before the first


class Entry(msgspec.Struct, gc=False):
    """A row as it is being put together."""

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
    direction: str = ""  # DEBIT or CREDIT where the title of the table says so
    is_dated: bool = True  # whether the date is its own
    is_leading: bool = False  # it has only text so far: its date and amount come below
    doubt: str = ""  # why it may be no row at all
    last_base: float = 0.0
    last_page: int = 0
    lines: list[tuple[int, int]] = []  # page and number of every line that it took

    @property
    def is_complete(self) -> bool:
        """Whether it has an amount."""
        return not say.MOVES.isdisjoint(self.money)


class Builder:
    """Rows of the tables of one file, in the order printed; told of each section as it begins."""

    def __init__(self) -> None:
        self.sections: list[list[Entry]] = []
        self.facts: list[Fact] = []
        self.context: list[StatementLine] = []  # lines since the last row: titles of what comes
        self.unread: list[StatementLine] = []
        self._open: Entry | None = None
        self._date = ""
        self._direction = ""
        self._last: Entry | None = None
        self._lead = 0.0
        self._is_running = False  # nothing but rows since the heading

    def begin_section(self) -> None:
        """What follows is of another account or another statement."""
        self.sections.append([])
        self._open = self._last = None
        self._date = self._direction = ""

    def begin_table(self, direction: str) -> None:
        """A heading was printed; `direction` is what its title says of its amounts."""
        self.context = []
        self._direction = direction
        self._is_running = True

    def add(self, heading: Heading, parsed: Sequence[Parsed], manner: Manner) -> None:
        """Lines under a heading, set in the manner of all tables like it."""
        self._lead = manner.lead
        for at, one in enumerate(parsed):
            after = parsed[at + 1] if at + 1 < len(parsed) else None
            self._add(heading, one, after, manner.is_amount_last)

    def _add(self, heading: Heading, one: Parsed, after: Parsed | None, is_last: bool) -> None:
        if self._is_balance(one) or self._is_total(one):
            self._close()
            self.context.append(one.line)
            return
        if one.date:
            self._dated(one)
        elif one.has_move:
            self._undated(heading, one)
        elif one.text:
            self._text(heading, one, after, is_last)
        elif one.money or one.more:
            self._figures(one)

    def _dated(self, one: Parsed) -> None:
        self._is_running = True
        opened = self._open
        if opened is not None and opened.is_leading and one.line.page == opened.last_page:
            opened.is_leading = False
            self._date = one.date
            self._extend(opened, one)
            return
        self._close()
        self._date = one.date
        if not one.text and not one.has_move and not one.money:
            return  # a date over the rows of its day
        if not one.has_move and one.money and not one.text:
            self.context.append(one.line)
            return
        self._begin(one, is_dated=True)

    def _undated(self, heading: Heading, one: Parsed) -> None:
        opened = self._open
        if opened is not None and not opened.is_complete and self._is_near(opened, one.line, 4):
            self._extend(opened, one)
            return
        if not (self._date and self._is_running and has_letters(one.text)):
            self._leave(one.line)
            return
        self._close()
        self._begin(one, is_dated=False)
        if self._open is None:
            return
        if one.x_text < text_start(heading) - TEXT_REACH:
            self._open.doubt = "it begins where dates stand"
        elif say.SUM_BOOK.begins(say.plain(one.text)):
            self._open.doubt = "it begins like a total"

    def _text(self, heading: Heading, one: Parsed, after: Parsed | None, is_last: bool) -> None:
        opened = self._open or self._last
        starts_right = one.x_text >= text_start(heading) - TEXT_REACH
        if title := self._title(heading, one, after):
            self._close()
            self._direction = title
            self.context.append(one.line)
            return
        if not starts_right or say.NOT_BOOKED_BOOK.is_said(title_text(one.line.text)):
            self._leave(one.line)
            return
        belongs_below = _is_of_next(opened, one, after, self._lead)
        if is_last and (self._open is None or self._open.is_complete) and self._date:
            self._close()
            self._begin(one, is_dated=False)
        elif belongs_below:
            self._close()
            self._begin(one, is_dated=False)
            if self._open is not None:
                self._open.is_leading = True
        elif opened is not None and self._goes_on(heading, opened, one.line):
            self._extend(opened, one)
        else:
            self._leave(one.line)

    def _leave(self, line: StatementLine) -> None:
        """A line that is of no row: the table has ended, or pauses."""
        self._close()
        self._last = None
        self._is_running = False
        self.context.append(line)

    def _goes_on(self, heading: Heading, entry: Entry, line: StatementLine) -> bool:
        """Whether text goes on a row: close below it, or at the top of the next page within its column."""
        if line.page == entry.last_page:
            return line.base - entry.last_base <= CONTINUED_GAP_MAX * line.height
        starts = [c.x0 for c in heading.columns if c.role in say.WORDY]
        nexts = [c.x0 for c in heading.columns if c.x0 > line.x0 + 1 and c.role not in say.WORDY]
        return (
            entry is self._open
            and line.page == entry.last_page + 1
            and any(abs(line.x0 - start) < TEXT_REACH for start in starts)
            and line.x1 < min(nexts, default=float("inf"))
        )

    def _figures(self, one: Parsed) -> None:
        """A line of figures without a word: the balance of the row above, or a total."""
        opened = self._open
        if (
            opened is not None
            and say.BALANCE in one.money
            and say.BALANCE not in opened.money
            and self._is_near(opened, one.line, CONTINUED_GAP_MAX)
        ):
            self._extend(opened, one)
        else:
            self.context.append(one.line)

    def _begin(self, one: Parsed, *, is_dated: bool) -> None:
        line = one.line
        self._open = Entry(
            line.page,
            line.number,
            _box(line),
            one.date or self._date,
            one.value_date,
            is_dated=is_dated,
            direction=self._direction,
            last_base=line.base,
            last_page=line.page,
        )
        self._fill(self._open, one)
        self.context = []

    def _extend(self, entry: Entry, one: Parsed) -> None:
        if one.date and not entry.is_dated:
            entry.date, entry.is_dated = one.date, True
        self._fill(entry, one)
        if one.line.page == entry.page:
            _grow(entry.box, one.line)
        entry.last_base, entry.last_page = one.line.base, one.line.page

    def _fill(self, entry: Entry, one: Parsed) -> None:
        entry.lines.append((one.line.page, one.line.number))
        if one.year and entry.is_dated and not dates.has_year(entry.date):
            entry.date = (
                f"{entry.date}{one.year}"
                if entry.date[-1:] in "./-"
                else f"{entry.date} {one.year}"
            )
        if one.text and len(entry.texts) < LINES_PER_ROW_MAX:
            entry.texts.append(one.text)
        if one.party:
            entry.parties.append(one.party)
        if one.reference:
            entry.references.append(one.reference)
        for role, text in one.money.items():
            entry.money.setdefault(role, text)
        entry.more.update(one.more)
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
        elif self._last is not None and entry.is_dated and self._is_second_line(self._last, entry):
            self._last.texts += entry.texts
            self._last.parties += entry.parties
            self._last.references += entry.references
            self._last.lines += entry.lines
            self._last.value_date = self._last.value_date or entry.date
            self._last.last_base, self._last.last_page = entry.last_base, entry.last_page
        else:
            self._last = None

    def _is_second_line(self, last: Entry, entry: Entry) -> bool:
        """Whether a dated line without an amount is the second one of a row: its value date stands under the date."""
        height = entry.box[3] - entry.box[1]
        return entry.page == last.last_page and entry.box[1] - last.box[3] < max(0.7 * height, 4)

    def finish(self) -> None:
        """No more lines."""
        self._close()

    def _is_near(self, entry: Entry, line: StatementLine, lines: float) -> bool:
        if line.page != entry.last_page:
            return line.page == entry.last_page + 1
        return line.base - entry.last_base <= lines * line.height

    def _is_balance(self, one: Parsed) -> bool:
        """A line that prints a balance: kept as a fact, and as a doubtful row if it may be one of a shop's name."""
        text = _LEADING_FIGURES.sub("", say.plain(one.text))
        kind, phrase = _balance_label(text)
        if not phrase:
            return self._is_dated_balance(one, text)
        if one.has_move and one.date and not _is_label(text, phrase):
            return False
        if one.has_move and say.BALANCE in one.money and one.date:
            return False  # it moves money and prints what is left: a row, whatever it is called
        value = one.money.get(say.BALANCE) or any_money(one)
        if not value and self._open is not None and not one.date:
            return False
        if value:
            self._keep(kind, owed(value, text), phrase, one)
        if one.has_move and (one.date or (self._date and self._is_running)):
            self._doubtful(one)
        if one.date:
            self._date = one.date
        return True

    def _keep(self, kind: str, value: str, phrase: str, one: Parsed, date: str = "") -> None:
        self.facts.append(
            Fact(
                kind,
                value,
                phrase,
                one.line.page,
                one.line.number,
                date or one.date,
                len(self.sections) - 1,
            )
        )

    def _doubtful(self, one: Parsed) -> None:
        """A row that is probably none: it counts only if the statement adds up with it and not without."""
        self._close()
        context = self.context
        self._begin(one, is_dated=bool(one.date))
        if self._open is not None:
            self._open.doubt = "it reads like a balance"
            self.sections[-1].append(self._open)
        self._open, self.context = None, context

    def _is_dated_balance(self, one: Parsed, text: str) -> bool:
        """`Balance on 28.02.2025   1,234.56`, as a line of the table."""
        phrase = "" if one.date else say.DATED_BALANCE_BOOK.begins(text)
        if not phrase or not any_money(one):
            return False
        days = [token.text for token in dates_in(one.line.words) if dates.has_year(token.text)]
        if not days:
            return False
        self._keep(DATED, owed(any_money(one), text), phrase, one, days[0])
        return True

    def _is_total(self, one: Parsed) -> bool:
        """A line that sums up: by its words, or because no row could begin with them."""
        text = say.plain(one.text)
        if one.date or not text or not (one.money or any_money(one)):
            return False
        if any(book.begins(text) for book in say.TOTAL_BOOKS.values()):
            return True
        is_sum = bool(say.SUM_BOOK.begins(text))
        return is_sum and (not self._date or say.SUM_BOOK.is_said(text) or not one.has_move)

    def _title(self, heading: Heading, one: Parsed, after: Parsed | None) -> str:
        """The direction that a title within a table gives to the rows below it, or ""."""
        if after is None or not (after.date or after.has_move):
            return ""
        if one.line.x0 > heading.columns[0].x0 + TEXT_REACH:
            return ""  # it stands where texts of rows do
        return direction_of(one.line.text)


def _balance_label(text: str) -> tuple[str, str]:
    """The kind of balance that a plain text begins with, and the phrase; nothing if with none."""
    for kind, book in say.BALANCE_BOOKS.items():
        if phrase := book.begins(text):
            return kind, phrase
    return "", ""


def opening_of(one: Parsed) -> str:
    """The balance that a line says a table opens with; "" if it says none."""
    text = _LEADING_FIGURES.sub("", say.plain(one.text))
    kind, _ = _balance_label(text)
    return one.money.get(say.BALANCE) or any_money(one) if kind == say.OPENING else ""


def owed(value: str, text: str) -> str:
    """A balance with the mark of a debt, if its label says so and it has no sign of its own."""
    has_sign = any(letter in value for letter in "-(") or value[-1:].isalpha()
    return f"{value} DR" if say.OWING_BOOK.found(text) and not has_sign else value


def missing_dates(entries: Sequence[Entry]) -> list[Entry]:
    """Rows without a date in a section that prints the same date on one row after another.

    Where a date is printed once for each day, no two rows that follow each other both print it.
    """
    repeats = any(
        one.is_dated and other.is_dated and one.date == other.date
        for one, other in pairwise(entries)
    )
    return [entry for entry in entries if not entry.is_dated] if repeats else []


def direction_of(*titles: str) -> str:
    """Whether a title says that what follows is money in (CREDIT) or out (DEBIT); "" if none says either."""
    for title in titles:
        text = title_text(title)
        for role, book in say.TITLE_BOOKS.items():
            if text and book.is_said(text):
                return role
    return ""


def title_text(text: str) -> str:
    """A text as a title: without figures, "continued" and punctuation."""
    words = say.plain(_NOISE.sub(" ", text)).split()
    return " ".join(word for word in words if not say.CONTINUED_BOOK.is_said(word))


def _is_of_next(opened: Entry | None, one: Parsed, after: Parsed | None, lead: float) -> bool:
    """Whether text stands so much closer to the row below that it is the first line of that."""
    if after is None or not lead or after.line.page != one.line.page:
        return False
    below = after.line.base - one.line.base
    if not (after.date and after.has_move) or below > lead + 1:
        return False
    if opened is None or opened.last_page != one.line.page:
        return True
    return below < CLOSER * (one.line.base - opened.last_base)


def _is_label(text: str, phrase: str) -> bool:
    """Whether a text is little more than the phrase: a label, not the name of a shop."""
    return len(text.split()) <= len(phrase.split()) + 3


def _box(line: StatementLine) -> list[float]:
    tops = [word.top for word in line.words]
    bottoms = [word.bottom for word in line.words]
    return [line.x0, min(tops), max(word.x1 for word in line.words), max(bottoms)]


def _grow(box: list[float], line: StatementLine) -> None:
    other = _box(line)
    box[:] = [
        min(box[0], other[0]),
        min(box[1], other[1]),
        max(box[2], other[2]),
        max(box[3], other[3]),
    ]
