"""A statement being drawn: the pages, a cursor, tables that break over pages, and the truth of what was printed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from random import Random

from lab.documents.bank_pdfs.activity import Account, Entry
from lab.documents.bank_pdfs.words import LONG_MONTHS, MONTHS
from lab.documents.statements.paper import A4, LETTER, Paper, width

MONEY = ("debit", "credit", "amount", "balance")
Cells = dict[str, str | list[str]]


@dataclass
class Column:
    """A column of a table. `role` says what it tells; `share` is its part of the width of the page."""

    key: str
    heading: str
    share: float
    role: str = "spare"
    align: str = "l"


@dataclass
class Style:
    """How a statement looks, apart from what it says. Mutation changes this."""

    size: tuple[float, float] = A4
    font: str = ""
    bold: str = "bold"
    text_size: float = 8.5
    leading: float = 11.5
    margin: float = 42.0
    bottom: float = 70.0
    thousands: str = ","
    point: str = "."
    is_lettered: bool = False
    has_rules: bool = True
    has_balances: bool = True
    swapped: tuple[str, str] | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    unheaded: str = ""
    blanked: float = 0.0


class Sheet:
    """What a layout draws on. Fractions of the text width say where; `y` is the line that comes next."""

    def __init__(self, random: Random, language: str, style: Style) -> None:
        self.random = random
        self.language = language
        self.style = style
        self.paper = Paper(style.size)
        self.y = 0.0
        self.rows: list[dict[str, str]] = []
        self.balances: list[dict[str, str]] = []
        self.on_page: Callable[[int], None] = lambda _: None
        self.right_edge = 1.0  # a box at the side takes part of the width

    # What is written.

    def num(self, amount: Decimal) -> str:
        """An amount without its sign."""
        text = f"{abs(amount):,f}"
        marks = {",": self.style.thousands, ".": self.style.point}
        return "".join(marks.get(letter, letter) for letter in text)

    def signed(self, amount: Decimal, *, minus: str = "-", plus: str = "") -> str:
        return (minus if amount < 0 else plus) + self.num(amount)

    def trailing(self, amount: Decimal, *, minus: str = "-", plus: str = "") -> str:
        return self.num(amount) + (minus if amount < 0 else plus)

    def brackets(self, amount: Decimal) -> str:
        return f"({self.num(amount)})" if amount < 0 else self.num(amount)

    def day(self, day: date, form: str) -> str:
        """A date: dd mm yy yyyy as numbers, d and m without zero, Mon MON and Month as words."""
        months = MONTHS.get(self.language, MONTHS["en"]).split()
        long = LONG_MONTHS.get(self.language, LONG_MONTHS["en"]).split()
        words = {
            "dd": f"{day.day:02}", "mm": f"{day.month:02}", "yy": f"{day.year % 100:02}", "yyyy": str(day.year), "d": str(day.day),
            "m": str(day.month), "Mon": months[day.month - 1], "MON": months[day.month - 1].upper(), "Month": long[day.month - 1],
        }  # fmt: skip
        return form.format(**words)

    # Where it is written.

    @property
    def left(self) -> float:
        return self.style.margin

    @property
    def wide(self) -> float:
        return (self.style.size[0] - 2 * self.style.margin) * self.right_edge

    @property
    def floor(self) -> float:
        return self.style.size[1] - self.style.bottom

    def x(self, part: float) -> float:
        return self.left + part * self.wide

    def page(self) -> None:
        """Begin a page and draw what stands on each."""
        self.paper.page()
        self.y = 48.0
        self.on_page(self.paper.pages)

    def put(
        self,
        x: float,
        y: float,
        text: str,
        *,
        is_bold: bool = False,
        size: float = 0,
        align: str = "l",
    ) -> None:
        """Text at a place; with "r" it ends there."""
        size = size or self.style.text_size
        font = self.style.bold if is_bold else self.style.font
        if align == "r":
            x -= width(text, size, font)
        elif align == "c":
            x -= width(text, size, font) / 2
        draw = self.paper.letters if self.style.is_lettered else self.paper.text
        draw(x, y, text, size=size, font=font)

    def say(
        self, *texts: str, at: float = 0.0, is_bold: bool = False, size: float = 0, align: str = "l"
    ) -> None:
        """Lines at the cursor."""
        for text in texts:
            self.ensure(1)
            self.put(self.x(at), self.y, text, is_bold=is_bold, size=size, align=align)
            self.y += max(self.style.leading, size * 1.25)

    def gap(self, lines: float = 1) -> None:
        self.y += lines * self.style.leading

    def ensure(self, lines: int) -> None:
        if self.y + lines * self.style.leading > self.floor:
            self.page()

    def rule(self) -> None:
        if self.style.has_rules:
            self.paper.rule(self.y - self.style.leading + 2)

    def pairs(self, pairs: Iterable[tuple[str, str]], *, at: float = 0.0, to: float = 0.5) -> None:
        """A summary: a label and, at the right, its figure. Without balances there is none."""
        if not self.style.has_balances:
            return
        for label, value in pairs:
            self.ensure(1)
            self.put(self.x(at), self.y, label)
            self.put(self.x(to), self.y, value, align="r")
            self.y += self.style.leading

    def footer(self, *lines: str) -> None:
        """Small print below the text."""
        for at, line in enumerate(lines):
            self.put(self.left, self.style.size[1] - 48 + 8 * at, line, size=6)

    def wrap(self, texts: Iterable[str], room: float, *, is_bold: bool = False) -> list[str]:
        """Texts broken where they would run out of their column."""
        font = self.style.bold if is_bold else self.style.font
        done = []
        for text in texts:
            line = ""
            for word in text.split(" "):
                longer = f"{line} {word}" if line else word
                if line and width(longer, self.style.text_size, font) > room:
                    done.append(line)
                    longer = word
                line = longer
            done.append(line)
        return done

    # Tables.

    def table(
        self, columns: Sequence[Column], rows: Sequence[Cells], *, carry: Callable[[int], tuple[Cells, Cells]] | None = None,
        has_headings: bool = True, is_continued: bool = True, at: float = 0.0,
    ) -> None:  # fmt: skip
        """Rows under headings, over as many pages as they need.

        `carry` gives the row that closes a page and the one that opens the next, by the number of rows above the break.
        """
        columns = self._changed(columns)
        if has_headings:
            self.ensure(4)
            self._headings(columns, at)
        for number, cells in enumerate(rows):
            self._blank(columns, cells)
            shown = self._shown(columns, cells)
            lines = max(len(each) for each in shown.values())
            if self.y + (lines + (1 if carry else 0)) * self.style.leading > self.floor:
                if carry:
                    self._row(columns, self._shown(columns, carry(number)[0]), at)
                self.page()
                if has_headings and is_continued:
                    self._headings(columns, at)
                if carry:
                    self._row(columns, self._shown(columns, carry(number)[1]), at)
            self._row(columns, shown, at)

    def _changed(self, columns: Sequence[Column]) -> list[Column]:
        style = self.style
        own = [each for each in columns if style.has_balances or each.role != "balance"]
        for each in own:
            if each.heading and each.role in style.renamed:
                each.heading = style.renamed[each.role]
        by_role = {each.role: at for at, each in enumerate(own)}
        if style.swapped and all(role in by_role for role in style.swapped):
            one, two = (by_role[role] for role in style.swapped)
            own[one], own[two] = own[two], own[one]
        return own

    def _blank(self, columns: Sequence[Column], cells: Cells) -> None:
        for each in columns:
            if each.role == "spare" and self.random.random() < self.style.blanked:
                cells.pop(each.key, None)

    def _headings(self, columns: Sequence[Column], at: float) -> None:
        heads = {
            each.key: each.heading.split("|") if each.role != self.style.unheaded else [""]
            for each in columns
        }
        tall = max(len(lines) for lines in heads.values())
        if any(any(lines) for lines in heads.values()):
            x = at
            for each in columns:
                for line, text in enumerate(heads[each.key]):
                    self._cell(each, x, self.y + line * self.style.leading, text, is_bold=True)
                x += each.share
            self.y += tall * self.style.leading
            self.rule()
            self.y += 3

    def _shown(self, columns: Sequence[Column], cells: Cells) -> dict[str, list[str]]:
        shown = {}
        for each in columns:
            cell = cells.get(each.key, "")
            lines = [cell] if isinstance(cell, str) else cell
            room = each.share * self.wide - 6
            shown[each.key] = self.wrap(lines, room) if each.role == "text" else lines
        return shown

    def _row(self, columns: Sequence[Column], shown: dict[str, list[str]], at: float) -> None:
        x = at
        for each in columns:
            for line, text in enumerate(shown[each.key]):
                self._cell(each, x, self.y + line * self.style.leading, text)
            x += each.share
        self.y += max(len(lines) for lines in shown.values()) * self.style.leading

    def _cell(
        self, column: Column, part: float, y: float, text: str, *, is_bold: bool = False
    ) -> None:
        if not text:
            return
        if column.align == "r":
            self.put(self.x(part + column.share) - 4, y, text, is_bold=is_bold, align="r")
        else:
            self.put(self.x(part), y, text, is_bold=is_bold)

    # Truth.

    def booked(
        self, account: Account, entries: Iterable[Entry], *, balances: str = "", sign: int = 1
    ) -> None:
        """Say what was printed: `balances` is "row" where each row has one, "day" where the last of a day has."""
        for entry in entries:
            row = {
                "date": str(entry.day),
                "amount": str(entry.amount * sign),
                "description": entry.text,
            }
            row |= {"currency": account.currency, "account": account.number}
            at = next(at for at, each in enumerate(account.entries) if each is entry)
            is_shown = balances == "row" or (balances == "day" and account.last_of_day(at))
            if is_shown and self.style.has_balances:
                row["balance"] = str(entry.balance)
            self.rows.append(row)

    def framed(self, account: Account) -> None:
        """Say that opening and closing balance were printed."""
        if self.style.has_balances:
            self.balances.append(
                {
                    "account": account.number,
                    "opening": str(account.opening),
                    "closing": str(account.closing),
                }
            )


US = {"size": LETTER}
