"""A whole statement on paper: its front, its summaries, and its tables with the traps that were chosen."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

from lab.documents.statements.figures import figure, places
from lab.documents.statements.happenings import Account, Move, groups_of
from lab.documents.statements.paper import width
from lab.documents.statements.sheet import FIGURE_WIDTH, Sheet
from lab.documents.statements.words import PAYERS, SHOPS, TAILS

ENGLISH = {
    "date": "Date", "value_date": "Value date", "text": "Description", "debit": "Debit", "credit": "Credit",
    "amount": "Amount", "balance": "Balance", "reference": "Ref", "mark": "D/C", "foreign": "Foreign amount",
    "available": "Available balance",
}  # fmt: skip
FIGURED = frozenset({"debit", "credit", "amount", "balance"})


class Press(Sheet):
    """One bank's way to print."""

    def print(self, accounts: Sequence[Account]) -> bytes:
        """The whole file."""
        self._new_page()
        self._front(accounts)
        for at, account in enumerate(accounts):
            self._account = account
            if len(accounts) > 1:
                self._ensure_space(8)
                self._y += 14
                number = (
                    f"  {self._tongue.account} {account.number}" if self._choice.has_numbers else ""
                )
                self._say(40, account.name + number, bold=1)
                self._y += 4
                self._summary(account)
            if self._choice.kind == "table":
                self._table(account)
            else:
                for title, moves in groups_of(account):
                    self._titled(title, moves)
            self._y += 10
            if at + 1 == len(accounts):
                self._tail(account)
                self._notes()
        return self._paper.pdf()

    def _front(self, accounts: Sequence[Account]) -> None:
        choice, tongue = self._choice, self._tongue
        self._say(40, tongue.card if choice.is_card else tongue.title, bold=3)
        self._say(40, "Jane Q. Sample")
        self._say(40, "12 Example Street, 10115 Sampletown")
        self._y += 6
        if len(accounts) == 1:
            self._say(40, f"{tongue.account} {accounts[0].number}   {self._currency}")
        start, end = (self._period_date(day) for day in self._period)
        if choice.tells == "period":
            self._say(40, f"{tongue.period} {start} {tongue.to} {end}")
        else:
            self._say(40, end)
        if choice.is_card:
            self._pair(tongue.limit, figure(Decimal("10000.00"), choice.number))
            self._pair(tongue.least, figure(Decimal("25.00"), choice.number))
        if len(accounts) == 1:
            self._summary(accounts[0])
        self._y += 10

    def _summary(self, account: Account) -> None:
        choice, tongue = self._choice, self._tongue
        opening, closing = (
            self._shown_balance(account.opening),
            self._shown_balance(account.closing),
        )
        if choice.has_counts:
            self._say(40, f"Number of transactions: {len(account.moves)}")
        if choice.labels == "dated" and choice.summary in ("lines", "both"):
            for day, shown in zip(self._period, (opening, closing), strict=True):
                self._pair(f"Balance on {self._period_date(day)}", shown)
            return
        if choice.summary in ("lines", "both"):
            self._pair(tongue.opening, opening)
            if choice.has_totals:
                self._totals(account)
            self._pair(tongue.closing, closing)
        elif choice.summary == "boxes":
            self._y += 4
            self._line([(40, tongue.opening), (210, tongue.closing)])
            self._line([(40, opening), (210, closing)])
            if choice.has_totals:
                self._totals(account)

    def _totals(self, account: Account) -> None:
        out = -sum((m.amount for m in account.moves if m.amount < 0), Decimal(0))
        come = sum((m.amount for m in account.moves if m.amount > 0), Decimal(0))
        unit = Decimal(1).scaleb(-places(self._choice.number))
        self._pair(self._tongue.totals[0], figure(out.quantize(unit), self._choice.number))
        self._pair(self._tongue.totals[1], figure(come.quantize(unit), self._choice.number))

    def _table(self, account: Account) -> None:
        choice = self._choice
        self._lay_out()
        self._ensure_space(6)
        self._heads()
        self._is_first = True
        if choice.summary in ("table", "both"):
            self._label(self._tongue.opening, account.opening)
        moves = list(reversed(account.moves)) if choice.is_newest_first else account.moves
        last: date | None = None
        for at, move in enumerate(moves):
            lines = max(1, len(move.lines)) + (1 if choice.is_day_line else 0)
            lines = min(lines, 2) if choice.is_torn and choice.amount_at == "first" else lines
            before = moves[at - 1].balance if at else account.opening
            is_broken = self._break_if(lines, before)
            if choice.is_day_line and (move.day != last or is_broken):
                self._y += self._pitch + self._gap
                self._paper.text(
                    self._columns[0][1], self._y, self._date(move.day), size=choice.size
                )
            is_blank = choice.is_day_line or (choice.is_blank_date and move.day == last)
            self._row(move, is_blank=is_blank)
            last = move.day
        if choice.summary in ("table", "both") and account.moves:
            self._label(self._tongue.closing, account.closing)

    def _lay_out(self) -> None:
        """Which columns there are, and where."""
        choice, wide = self._choice, self._paper.size[0]
        money = self._money_columns()
        place = wide - 42.0
        figures: list[tuple[str, float, str]] = []
        step = max(
            74 if choice.size < 9 else 80,
            *(width(self._names()[role], choice.size) + 10 for role in money),
        )
        for role in reversed(money):
            figures.insert(0, (role, place, "r"))
            place -= 34 if role == "mark" else step
        date_width = width(self._date(date(2025, 10, 28)), choice.size) + 14
        date_width = max(date_width, width(self._tongue.date, choice.size) + 10)
        dates = [("date", 40.0, "l")]
        x = 40.0 + date_width
        if choice.has_value_date:
            dates.append(("value_date", x, "l"))
            x += max(date_width, width(self._tongue.value_date, choice.size) + 10)
        texts = [("text", x, "l")]
        if choice.has_reference:
            texts.insert(0, ("reference", x, "l"))
            texts[1] = ("text", x + 60, "l")
        if choice.order == "date_second":
            texts = [("text", 40.0, "l")]
            longest = max(width(text, choice.size) for text in (*SHOPS, *PAYERS, *TAILS))
            dates = [("date", 40.0 + longest + 12, "l")]
        elif choice.order == "text_last":
            x = 40.0 + date_width + (max(date_width, 60) if choice.has_value_date else 0)
            step = max(
                76.0, *(width(self._names()[role], choice.size) + 12 for role, _, _ in figures)
            )
            figures = [
                (role, x + step * (at + 1) - 12, "r") for at, (role, _, _) in enumerate(figures)
            ]
            texts = [("text", figures[-1][1] + 14, "l")]
        elif choice.order == "balance_first" and len(figures) > 1 and figures[-1][0] == "balance":
            roles = [figures[-1][0], *(role for role, _, _ in figures[:-1])]
            figures = [(role, x, side) for role, (_, x, side) in zip(roles, figures, strict=True)]
        self._columns = sorted([*dates, *texts, *figures], key=lambda column: column[1])

    def _heads(self) -> None:
        choice = self._choice
        if choice.names == "none":
            return
        names = self._names()
        tops: list[tuple[float, str, str]] = []
        lows: list[tuple[float, str, str]] = []
        for role, right, given in self._columns:
            name = names[role]
            x, side = self._head_place(role, right, given, name)
            first, _, rest = name.partition(" ")
            if choice.heads == "two" and rest:
                tops.append((x, first, side))
                lows.append((x, rest, side))
            else:
                lows.append((x, name, side))
        self._y += 6
        for row in (tops, lows):
            if row:
                self._y += self._pitch
                self._cells(row)
        if choice.heads == "both" and choice.tongue != "en_GB" and choice.names == "known":
            self._y += self._pitch
            self._cells([(x, ENGLISH[role], side) for role, x, side in self._columns])
        self._paper.rule(self._y + 3)
        self._y += 4

    def _head_place(self, role: str, x: float, side: str, name: str) -> tuple[float, str]:
        """Where the name of a column stands, and whether that is its left or its right end."""
        choice = self._choice
        if choice.figures_at == "left" and side == "r":
            return x - FIGURE_WIDTH, "l"
        if choice.figures_at == "middle" and side == "r":
            return x - (FIGURE_WIDTH + width(name, choice.size)) / 2, "l"
        if choice.heads == "left" and role in FIGURED:
            return x - 52, "l"
        return x, side

    def _row(self, move: Move, *, is_blank: bool) -> None:
        choice = self._choice
        self._y += self._gap
        lines = move.lines or [""]
        amount_line = len(lines) - 1 if choice.amount_at == "last" else 0
        top = self._y + self._pitch
        if choice.wrap == "middle" and len(lines) > 1:
            figures_y = top + self._pitch * (len(lines) - 1) / 2
        else:
            figures_y = top + self._pitch * amount_line
        date_y = figures_y if choice.wrap == "middle" else top
        shown = self._shown_move(move)
        for role, x, _ in self._columns:
            if role in ("date", "value_date") and not is_blank:
                day = move.day + timedelta(days=1 if role == "value_date" else 0)
                self._paper.text(x, date_y, self._date(day), size=choice.size)
            elif role == "text":
                self._texts(x, top, lines)
            elif role == "reference":
                self._paper.text(x, date_y, "R" + str(move.day.toordinal())[-5:], size=choice.size)
            elif text := shown.get(role, ""):
                self._figure(x, figures_y, text)
        self._y = max(top + self._pitch * (len(lines) - 1), self._y)
        if self._torn:
            rest, self._torn = self._torn, []
            self._new_page()
            if choice.repeats_heads:
                self._heads()
            x = next(x for role, x, _ in self._columns if role == "text")
            for text in rest:
                self._y += self._pitch
                self._paper.text(x, self._y, text, size=choice.size)

    def _texts(self, x: float, top: float, lines: Sequence[str]) -> None:
        """The lines of a text; what no longer fits goes on over the page."""
        for at, text in enumerate(lines):
            y = top + at * self._pitch
            if (
                self._choice.is_torn
                and self._choice.amount_at == "first"
                and at
                and y > self._paper.size[1] - 90
            ):
                self._torn = list(lines[at:])
                return
            self._paper.text(x, y, text, size=self._choice.size)

    def _label(self, text: str, value: Decimal) -> None:
        """A line of the table that prints a balance and is no movement."""
        self._y += self._pitch + self._gap
        places = {role: x for role, x, _ in self._columns}
        self._paper.text(places["text"], self._y, text, size=self._choice.size)
        self._paper.right(
            places.get("balance", self._paper.size[0] - 42),
            self._y,
            self._shown_balance(value),
            size=self._choice.size,
        )

    def _titled(self, title: str, moves: Sequence[Move]) -> None:
        """A table of one kind of movement, unsigned; cheques stand three side by side."""
        size = self._choice.size
        is_checks = title == "Checks Paid"
        across = 3 if is_checks and len(moves) > 2 else 1
        self._ensure_space(6)
        self._y += 14
        self._say(40, title, bold=1)
        self._y += self._pitch
        step = 178
        for part in range(across):
            x = 40 + part * step
            self._paper.text(x, self._y, "Check No." if is_checks else "Date", size=size)
            self._paper.text(x + 60, self._y, "Date" if is_checks else "Description", size=size)
            self._paper.right(x + 155 if across > 1 else 560, self._y, "Amount", size=size)
        deep = -(-len(moves) // across)
        for at in range(deep):
            if self._break_if(2, None):
                self._say(40, f"{title} (continued)", bold=1)
            self._y += self._pitch + self._gap
            for part in range(across):
                if at + part * deep < len(moves):
                    self._titled_row(
                        moves[at + part * deep], 40 + part * step, across, is_checks=is_checks
                    )
            if not is_checks:
                for text in moves[at].lines[1:]:
                    self._y += self._pitch
                    self._paper.text(100, self._y, text, size=size)
        self._y += self._pitch + self._gap
        total = sum((abs(move.amount) for move in moves), Decimal(0))
        self._paper.text(40, self._y, f"Total {title}", size=size)
        self._paper.right(560, self._y, figure(total, self._choice.number), size=size)

    def _titled_row(self, move: Move, x: float, across: int, *, is_checks: bool) -> None:
        size = self._choice.size
        first, second = (
            (move.check, self._date(move.day))
            if is_checks
            else (self._date(move.day), (move.lines or [""])[0])
        )
        self._paper.text(x, self._y, first, size=size)
        self._paper.text(x + 60, self._y, second, size=size)
        self._paper.right(
            x + 155 if across > 1 else 560,
            self._y,
            figure(move.amount, self._choice.number),
            size=size,
        )

    def _break_if(self, lines: int, balance: Decimal | None) -> bool:
        """A new page if the lines do not fit, with what is carried over to it."""
        choice = self._choice
        # Now and then a row is torn: its text goes on over the page.
        fits = self._y + lines * self._pitch + self._gap < self._paper.size[1] - 90
        if fits:
            return False
        if choice.has_carried and balance is not None:
            self._label(self._tongue.carried, balance)
        self._new_page()
        if choice.kind == "table":
            if choice.repeats_heads:
                self._heads()
            if choice.has_carried and balance is not None:
                self._label(self._tongue.brought, balance)
        return True

    def _tail(self, account: Account) -> None:
        """A table that looks like one of movements and is not."""
        choice = self._choice
        if not choice.tail or not account.moves or choice.names != "known":
            return
        self._ensure_space(10)
        self._y += 14
        self._say(
            40, "Daily Ending Balance" if choice.tail == "daily" else "Pending transactions", bold=1
        )
        self._y += 4
        if choice.tail == "daily":
            self._line([(40, "Date"), (140, "Balance"), (240, "Date"), (340, "Balance")])
            for move in account.moves[:3]:
                shown = self._shown_balance(move.balance)
                self._line(
                    [
                        (40, self._date(move.day)),
                        (140, shown),
                        (240, self._date(move.day)),
                        (340, shown),
                    ]
                )
        else:
            self._line([(40, "Date"), (140, "Description"), (440, "Amount")])
            for move in account.moves[:2]:
                self._line(
                    [
                        (40, self._date(move.day)),
                        (140, "COFFEE HOUSE"),
                        (440, figure(move.amount, choice.number)),
                    ]
                )

    def _notes(self) -> None:
        self._ensure_space(5)
        self._y += 16
        self._say(
            40,
            "Please check this statement. A fee of 12.00 applies from 1 January 2026 for paper statements.",
        )
        self._say(40, "Ask about our credit card with a credit limit of 5,000.00 today.")
