"""Whether a statement adds up: the one place that says so.

Rows are given one by one (`add`), so a statement of any length is checked in constant memory. Four checks, each
made only where the statement prints what it needs: opening + sum = closing; the chain of running balances, in
either direction, with balances on some rows only; printed totals and counts; dates inside the period. A statement is
reconciled when none fails and one of the first two holds. Used by readers to choose between readings, and by
normalization to accept or to flag.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

import msgspec

from stateward.pipelines.kit.dates import DAYS_NEAR, is_near

ZERO = Decimal(0)
BREAKS_SHOWN_MAX = 3
CHAINS_TRIED_ROWS = 500  # by then it is clear which way the balances run
RECONCILED, DIFFERS, UNCHECKED = "reconciled", "differs", "unchecked"
DECISIVE = ("sum", "chain")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked. `difference` is found minus expected, "" where it is no amount."""

    name: (
        str  # "sum", "chain", "debits", "credits", "count", "debit_count", "credit_count", "period"
    )
    holds: bool
    expected: str
    found: str
    difference: str = ""

    def __str__(self) -> str:
        """As a clause of a sentence."""
        said = "holds" if self.holds else f"fails: {self.found} where {self.expected} was expected"
        gap = f", {self.difference} apart" if self.difference and not self.holds else ""
        return f"{WORDS.get(self.name, self.name)} {said}{gap}"


WORDS = {
    "sum": "opening + sum = closing",
    "chain": "the chain of balances",
    "debits": "the printed total of debits",
    "credits": "the printed total of credits",
    "count": "the printed number of transactions",
    "debit_count": "the printed number of debits",
    "credit_count": "the printed number of credits",
    "period": "dates inside the period",
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks came to: "reconciled", "differs" or "unchecked" (nothing to check against)."""

    status: str
    checks: tuple[Check, ...]
    opening: str = ""
    closing: str = ""
    total: str = "0"

    @property
    def is_reconciled(self) -> bool:
        """Whether the statement adds up."""
        return self.status == RECONCILED

    @property
    def difference(self) -> str:
        """How far the first failed check is off."""
        return next((check.difference for check in self.checks if not check.holds), "")

    def __str__(self) -> str:
        """One sentence: what was tried and how it went."""
        tried = "; ".join(str(check) for check in self.checks)
        if self.status == UNCHECKED:
            why = "nothing proves the sum: no balances are printed that could"
            return f"{why}; {tried}" if tried else why
        return tried


class Line(msgspec.Struct, frozen=True, gc=False):
    """A row as values."""

    amount: Decimal
    balance: Decimal | None = None
    day: date | None = None


class Reconciler:
    """Adds up one section, row by row."""

    def __init__(
        self,
        *,
        opening: Decimal | None = None,
        closing: Decimal | None = None,
        totals: dict[str, Decimal] | None = None,
        period: tuple[date, date] | None = None,
        days_near: int = DAYS_NEAR,
    ) -> None:
        self._opening = opening
        self._closing = closing
        self._totals = totals or {}
        self._period = period
        self._days_near = days_near
        self._count = self._debit_count = 0
        self._debits = self._credits = ZERO
        self._chains = [_Chain(opening), _Chain(closing, is_backward=True)]
        self._outside: list[date] = []
        self._outside_count = 0
        self._unread_count = 0

    def add(self, amount: Decimal, balance: Decimal | None = None, day: date | None = None) -> None:
        """Count one row in."""
        self._count += 1
        if amount < 0:
            self._debits += amount
            self._debit_count += 1
        else:
            self._credits += amount
        for chain in self._chains:
            chain.add(amount, balance, self._count)
        if self._count == CHAINS_TRIED_ROWS:
            best = min(chain.breaks for chain in self._chains)
            self._chains = [chain for chain in self._chains if chain.breaks == best]
        if day is not None and self._is_outside(day):
            self._outside_count += 1
            if len(self._outside) < BREAKS_SHOWN_MAX:
                self._outside.append(day)

    def skip(self) -> None:
        """Count a row that could not be read: what follows it cannot chain over it."""
        self._unread_count += 1

    @property
    def total(self) -> Decimal:
        """The sum of all rows."""
        return self._debits + self._credits

    @property
    def count(self) -> int:
        """The number of rows that were added."""
        return self._count

    def verdict(self, *, only: Sequence[str] = ()) -> Verdict:
        """What the checks came to: all, or only those of these names."""
        made = [*self._sum(), *self._chain(), *self._printed(), *self._dates()]
        checks = [check for check in made if not only or check.name in only]
        if any(not check.holds for check in checks):
            status = DIFFERS
        elif any(check.name in DECISIVE for check in checks):
            status = RECONCILED
        else:
            status = UNCHECKED
        return Verdict(
            status=status,
            checks=tuple(checks),
            opening=_shown(self._opening),
            closing=_shown(self._closing),
            total=f"{self.total:f}",
        )

    def _is_outside(self, day: date) -> bool:
        return self._period is not None and not is_near(day, *self._period, days=self._days_near)

    def _sum(self) -> Iterable[Check]:
        if self._opening is not None and self._closing is not None:
            reached = self._opening + self.total
            yield Check(
                name="sum",
                holds=reached == self._closing,
                expected=f"{self._closing:f}",
                found=f"{reached:f}",
                difference=f"{reached - self._closing:f}",
            )

    def _chain(self) -> Iterable[Check]:
        chains = [chain for chain in self._chains if chain.links]
        if not chains:
            return
        best = min(chains, key=lambda chain: chain.breaks)
        yield Check(
            name="chain",
            holds=not best.breaks,
            expected=f"{best.links} balances that follow from one another",
            found=best.shown(),
            difference=best.gap,
        )

    def _printed(self) -> Iterable[Check]:
        found = {
            "debits": -self._debits,
            "credits": self._credits,
            "count": Decimal(self._count + self._unread_count),
            "debit_count": Decimal(self._debit_count),
            "credit_count": Decimal(self._count - self._debit_count),
        }
        for name, value in found.items():
            if name in self._totals:
                expected = abs(self._totals[name])
                yield Check(
                    name=name,
                    holds=value == expected,
                    expected=f"{expected:f}",
                    found=f"{value:f}",
                    difference=f"{value - expected:f}",
                )

    def _dates(self) -> Iterable[Check]:
        if self._period is not None and self._count:
            start, end = self._period
            found = ", ".join(day.isoformat() for day in self._outside)
            yield Check(
                name="period",
                holds=not self._outside_count,
                expected=f"{start.isoformat()} to {end.isoformat()}",
                found=f"{self._outside_count} outside, such as {found}" if found else "all inside",
            )


class _Chain:
    """Running balances in one direction; rows without a balance are carried to the next that has one.

    Forward, a row's balance is the one before plus its amount. Backward (newest first), the balance of a
    row below is the one above less the amounts from there on.
    """

    def __init__(self, start: Decimal | None, *, is_backward: bool = False) -> None:
        self._last = start
        self._carried = ZERO
        self._is_backward = is_backward
        self.links = 0
        self.breaks = 0
        self.gap = ""
        self._broken: list[int] = []

    def add(self, amount: Decimal, balance: Decimal | None, number: int) -> None:
        carried = self._carried if self._is_backward else self._carried + amount
        if balance is not None:
            if self._last is not None:
                self.links += 1
                reached = self._last + carried
                if reached != balance:
                    self._break(reached - balance, number)
            self._last = balance
            carried = ZERO
        self._carried = carried - amount if self._is_backward else carried

    def _break(self, gap: Decimal, number: int) -> None:
        self.breaks += 1
        self.gap = self.gap or f"{gap:f}"
        if len(self._broken) < BREAKS_SHOWN_MAX:
            self._broken.append(number)

    def shown(self) -> str:
        """How many links break, and where first."""
        if not self.breaks:
            return f"{self.links} that do"
        rows = ", ".join(map(str, self._broken))
        return f"{self.breaks} that do not, first at row {rows}"


def reconcile(
    lines: Iterable[Line],
    *,
    opening: Decimal | None = None,
    closing: Decimal | None = None,
    totals: dict[str, Decimal] | None = None,
    period: tuple[date, date] | None = None,
) -> Verdict:
    """All lines at once: a reader's way to try a reading."""
    book = Reconciler(opening=opening, closing=closing, totals=totals, period=period)
    for line in lines:
        book.add(line.amount, line.balance, line.day)
    return book.verdict()


def _shown(value: Decimal | None) -> str:
    return "" if value is None else f"{value:f}"
