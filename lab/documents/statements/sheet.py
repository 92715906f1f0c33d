"""One bank's paper: its pages with what they repeat, and how it writes names, dates, amounts and balances."""

import random
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from lab.documents.statements.choices import TWO_COLUMNS, Choice
from lab.documents.statements.figures import dated, figure
from lab.documents.statements.happenings import Account, Move
from lab.documents.statements.paper import (
    A4,
    LETTER,
    Paper,
    width,
)
from lab.documents.statements.words import Tongue

FIGURE_WIDTH = 60.0


NAMED = ("date", "value_date", "text", "debit", "credit", "amount", "balance")
NONSENSE = {
    "date": "Zolb", "value_date": "Zolbik", "text": "Vritna", "debit": "Okku", "credit": "Ammu", "amount": "Plesk",
    "balance": "Gruun", "reference": "Ix", "mark": "Q", "foreign": "Fremmik", "available": "Gruunix",
}  # fmt: skip
# A style without a year, and the one in which the same bank prints a period.
FULL = {
    "d_mon": "d_mon_yyyy", "dm_dot": "dmy_dot", "dm_slash": "dmy_slash", "md_slash": "mdy_slash", "mon_d": "mdy_slash",
    "d_mon_yy": "d_mon_yyyy", "dMONyy": "d_mon_yyyy", "iso_short": "iso", "dmy_buddhist_short": "dmy_buddhist",
}  # fmt: skip


class Sheet:
    """Pages being printed."""

    def __init__(
        self,
        rng: random.Random,
        choice: Choice,
        tongue: Tongue,
        currency: str,
        period: tuple[date, date],
    ) -> None:
        self._rng, self._choice, self._tongue = rng, choice, tongue
        self._currency, self._period = currency, period
        self._months = tongue.months.split()
        size = LETTER if choice.tongue == "en_US" else A4
        self._paper = Paper(size, is_doubled=choice.is_doubled, is_turned=choice.is_turned)
        self._y = 0.0
        self._pitch = choice.size * rng.choice((1.25, 1.4, 1.5))
        self._gap = rng.choice((0.0, 0.0, 3.0, 6.0)) if choice.wrap != "middle" else 7.0
        self._columns: list[tuple[str, float, str]] = []  # role, place, "l" or "r"
        self._account: Account | None = None
        self._is_first = True
        self._torn: list[str] = []

    def _pair(self, label: str, value: str) -> None:
        self._y += self._pitch
        self._paper.text(40, self._y, label, size=self._choice.size)
        self._paper.right(300, self._y, value, size=self._choice.size)

    def _cells(self, cells: Sequence[tuple[float, str, str]]) -> None:
        for x, text, side in cells:
            if side == "r":
                self._paper.right(x, self._y, text, size=self._choice.size)
            else:
                self._paper.text(x, self._y, text, size=self._choice.size)

    def _figure(self, x: float, y: float, text: str) -> None:
        size = self._choice.size
        if self._choice.figures_at == "left":
            self._paper.text(x - FIGURE_WIDTH, y, text, size=size)
        elif self._choice.figures_at == "middle":
            self._paper.text(x - (FIGURE_WIDTH + width(text, size)) / 2, y, text, size=size)
        else:
            self._paper.right(x, y, text, size=size)

    def _shown_move(self, move: Move) -> dict[str, str]:
        choice = self._choice
        bare = self._with_currency(figure(move.amount, choice.number))
        is_in = move.amount > 0
        shown: dict[str, str] = {}
        if choice.sign in TWO_COLUMNS:
            other = {"zeros": figure(move.amount * 0, choice.number), "dashes": "-"}.get(
                choice.sign, ""
            )
            sign = "-" if choice.sign == "negative_debits" and not is_in else ""
            shown["credit" if is_in else "debit"] = sign + bare
            shown["debit" if is_in else "credit"] = other
        elif choice.sign == "mark_column":
            shown["amount"], shown["mark"] = bare, "C" if is_in else "D"
        else:
            shown["amount"] = self._signed(bare, is_in)
        if choice.has_star and move.amount % 3 == 0:
            shown = {
                role: text + "*" if text and role != "mark" else text
                for role, text in shown.items()
            }
        if move.shown_balance and choice.balance != "none":
            shown["balance"] = self._shown_balance(move.balance)
        if choice.extra == "available":
            shown["available"] = self._shown_balance(move.balance + 500)
        if choice.extra == "foreign" and move.amount % 2 == 0:
            shown["foreign"] = "USD " + figure(abs(move.amount) * 2, choice.number)
        return shown

    def _signed(self, bare: str, is_in: bool) -> str:
        return {
            "signed": bare if is_in else f"-{bare}",
            "trailing": bare if is_in else f"{bare}-",
            "marks": f"{bare} CR" if is_in else f"{bare} DR",
            "brackets": bare if is_in else f"({bare})",
            "unicode": bare if is_in else f"\u2212{bare}",
            "plus": f"+{bare}" if is_in else f"-{bare}",
            "unsigned": bare,
            "titles": bare,
            "card_positive": f"-{bare}" if is_in else bare,
            "card_credit_mark": f"{bare} CR" if is_in else bare,
            "card_negative": bare if is_in else f"-{bare}",
            "card_trailing": f"{bare}-" if is_in else bare,
        }[self._choice.sign]

    def _shown_balance(self, value: Decimal) -> str:
        choice = self._choice
        if choice.is_card:
            value = -value  # a debt is printed as positive
        bare = self._with_currency(figure(value, choice.number))
        if choice.sign in ("marks", "card_credit_mark"):
            is_in = value < 0 if choice.is_card else value >= 0
            return f"{bare} {'CR' if is_in else 'DR'}" if not choice.is_card or value < 0 else bare
        if value >= 0:
            return bare
        return {"trailing": f"{bare}-", "card_trailing": f"{bare}-", "brackets": f"({bare})"}.get(
            choice.sign, f"-{bare}"
        )

    def _with_currency(self, bare: str) -> str:
        at = self._choice.currency_at
        if not at or bare.startswith("$"):
            return bare
        return f"{self._currency} {bare}" if at == "before" else f"{bare} {self._currency}"

    def _date(self, day: date) -> str:
        return dated(day, self._choice.date, self._months)

    def _period_date(self, day: date) -> str:
        style = self._choice.date
        full = FULL.get(style, style)
        return dated(day, full, self._months)

    def _ensure_space(self, lines: int) -> None:
        if self._y + lines * self._pitch > self._paper.size[1] - 110:
            self._new_page()

    def _new_page(self) -> None:
        choice, paper = self._choice, self._paper
        wide, high = paper.size
        extra = f"/CropBox [0 0 {wide - 20:g} {high:g}]" if choice.has_outside else ""
        paper.page(extra=extra)
        paper.text(40, 44, "NORTHWIND SAMPLE BANK", size=12)
        paper.right(wide - 42, 44, f"{self._tongue.page} {paper.pages}", size=8)
        if choice.has_outside:
            paper.text(wide - 18, 300, "01/01/2020 GHOST 99.99", size=8)
        if choice.has_big_mark:
            paper.text(120, 330, "SPECIMEN", size=70)
        if choice.has_watermark:
            paper.text(150, 620, "SPECIMEN 01/01/2001 123.45", size=40, angle=45)
        if choice.has_noise:
            paper.text(
                40,
                high - 40,
                "Northwind Sample Bank plc. Deposits protected up to 85,000.00.",
                size=7,
            )
            paper.text(
                40,
                high - 30,
                "Registered 01/02/2020 under 12.34 of the Act. Call 0800 123 456.",
                size=7,
            )
        self._y = 66.0

    def _say(self, x: float, text: str, *, bold: float = 0) -> None:
        self._y += self._pitch + bold
        self._paper.text(x, self._y, text, size=self._choice.size + bold)

    def _line(self, cells: Sequence[tuple[float, str]]) -> None:
        self._y += self._pitch
        for x, text in cells:
            self._paper.text(x, self._y, text, size=self._choice.size)

    def _names(self) -> dict[str, str]:
        if self._choice.names != "known":
            return NONSENSE
        given = {name: getattr(self._tongue, name) for name in NAMED}
        return {
            **given,
            "reference": "Ref",
            "mark": "D/C",
            "foreign": "Foreign amount",
            "available": "Available balance",
        }

    def _money_columns(self) -> list[str]:
        choice = self._choice
        money = ["debit", "credit"] if choice.sign in TWO_COLUMNS else ["amount"]
        if choice.sign == "columns_reversed":
            money.reverse()
        if choice.sign == "mark_column":
            money.append("mark")
        if choice.extra == "foreign":
            money.insert(0, "foreign")
        money += ["balance"] if choice.balance != "none" else []
        return money + (["available"] if choice.extra == "available" else [])
