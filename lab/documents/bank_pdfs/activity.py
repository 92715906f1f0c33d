"""What happened on an account between two statements."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from random import Random

from lab.documents.bank_pdfs.words import IN, OUT, PAID, PEOPLE


@dataclass
class Entry:
    """One booking: `amount` is negative where the customer has less (or owes more) afterwards."""

    day: date
    value_day: date
    lines: list[str]
    amount: Decimal
    balance: Decimal
    kind: str
    number: str = ""

    @property
    def is_debit(self) -> bool:
        return self.amount < 0

    @property
    def text(self) -> str:
        return " ".join(self.lines)


@dataclass
class Account:
    """An account with the bookings of a period, oldest first."""

    number: str
    start: date
    end: date
    opening: Decimal
    currency: str
    entries: list[Entry] = field(default_factory=list)

    @property
    def closing(self) -> Decimal:
        return self.entries[-1].balance if self.entries else self.opening

    @property
    def paid_in(self) -> Decimal:
        return sum((each.amount for each in self.entries if not each.is_debit), self.opening * 0)

    @property
    def paid_out(self) -> Decimal:
        """What left, as a positive sum."""
        return -sum((each.amount for each in self.entries if each.is_debit), self.opening * 0)

    def of(self, *kinds: str) -> list[Entry]:
        return [each for each in self.entries if each.kind in kinds]

    def last_of_day(self, at: int) -> bool:
        """Whether the booking at this place is the last of its day."""
        return at + 1 == len(self.entries) or self.entries[at + 1].day != self.entries[at].day


def period(random: Random, *, is_whole_month: bool = True) -> tuple[date, date]:
    """A month of a calendar, or one that begins anywhere and often crosses New Year."""
    year = random.choice((2023, 2024, 2025, 2026))
    if is_whole_month:
        start = date(year, random.randint(1, 9 if year == 2026 else 12), 1)
        return start, (start + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    if random.random() < 0.4:
        start = date(year - 1, 12, random.randint(4, 24))
    else:
        start = date(year, random.randint(1, 9), random.randint(2, 27))
    return start, start + timedelta(days=30)


def account(
    random: Random, language: str, currency: str, span: tuple[date, date], *, places: int = 2, rows: tuple[int, int] = (6, 34),
    checks: int = 0, scale: int = 1, is_card: bool = False,
) -> Account:  # fmt: skip
    """An account with its bookings; a card's balance is what is owed, printed as positive."""
    unit = Decimal(1).scaleb(-places)
    start, end = span
    opening = (Decimal(random.randint(20_000, 950_000)) * scale / 100).quantize(unit)
    if not is_card and random.random() < 0.12:
        opening = -opening / 5
        opening = opening.quantize(unit)
    own = Account(str(random.randint(10**9, 10**10 - 1)), start, end, opening, currency)
    count = random.randint(1, 4) if random.random() < 0.08 else random.randint(*rows)
    days = sorted(random.randint(0, (end - start).days) for _ in range(count))
    balance, number = opening, random.randint(1001, 4000)
    for place, step in enumerate(days):
        is_in = place == count // 2 or random.random() < 0.16
        cents = random.randint(80_000, 420_000) if is_in else _spent(random)
        if is_card and is_in:  # one payment of at most what is owed, and refunds
            is_paid = place == count // 2
            cents = (
                random.randint(2_000, int(opening * 100)) if is_paid else random.randint(500, 9_000)
            )
        amount = (Decimal(cents) * scale / 100).quantize(unit) * (1 if is_in else -1)
        day = start + timedelta(days=step)
        is_check = not is_in and checks and random.random() < 0.2 * checks
        number += random.choice((1, 1, 1, 2))
        lines = list(_lines(random, IN if is_in else OUT, language, day))
        if is_card and is_in:
            lines = [PAID[language][0 if place == count // 2 else 1]]
        if is_check:
            lines = [f"CHECK {number}"]
        balance += amount
        kind = (
            "in"
            if is_in
            else "check"
            if is_check
            else random.choice(("card", "card", "card", "electronic", "fee"))
        )
        value_day = min(end, day + timedelta(days=random.choice((0, 0, 0, 1, 2))))
        own.entries.append(
            Entry(day, value_day, lines, amount, balance, kind, str(number) if is_check else "")
        )
    return own


def _spent(random: Random) -> int:
    return random.choice(
        (random.randint(99, 9_999), random.randint(99, 45_000), random.randint(100, 160_000))
    )


def _lines(
    random: Random, pool: dict[str, tuple[str, ...]], language: str, day: date
) -> Iterator[str]:
    text = random.choice(pool[language])
    shown = (day - timedelta(days=random.randint(0, 2))).strftime("%d/%m")
    fills = {
        "n": str(random.randint(1000, 99999)), "d": shown, "t": f"{random.randint(8, 22)}:{random.randint(10, 59)}",
        "a": f"{random.randint(5, 99)}.{random.randint(10, 99)}", "p": random.choice(PEOPLE),
    }  # fmt: skip
    for line in text.split("|"):
        yield line.format(**fills)
