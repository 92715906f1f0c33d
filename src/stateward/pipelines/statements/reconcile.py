"""Whether a statement adds up.

Rows are added one by one, so a statement of any length is checked in constant memory. There are four checks, each made
only where the statement prints what it needs: opening + sum = closing; the chain of running balances, in either
direction, with balances on some rows only; printed totals and counts; dates inside the period. A statement is
reconciled when no check fails and one of the first two holds. Readers use it to choose between readings, normalization
to accept or flag a statement.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

import msgspec

from stateward.pipelines.kit.dates import DAYS_NEAR, is_near

ZERO = Decimal(0)
BREAKS_SHOWN_MAX = 3
SUMMANDS_MIN = 3
STRAY_DAYS = 366  # between the day of a row and those of both rows around it
STRAY_ROWS_MIN, STRAY_SHARE = (
    4,
    0.02,
)  # rows, and the share of strays in a table that is sorted by days
EDGE_ROWS = 4  # at the start and the end of a table, where totals stand
EDGE_BALANCES_MIN = 3  # rows with a balance, before one without is strange
CHAINS_TRIED_ROWS = 500  # by then it is clear in which direction the balances run
RECONCILED, DIFFERS, UNCHECKED = "reconciled", "differs", "unchecked"
DECISIVE = ("sum", "chain")


class ReconcileCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check. `difference` is found minus expected, "" where it is no amount."""

    name: str  # "sum", "chain", "end", "debits", "credits", "count", "debit_count", "credit_count", "period"
    holds: bool
    expected: str
    found: str
    difference: str = ""

    def __str__(self) -> str:
        """As a clause of a sentence."""
        name = CHECK_NAMES.get(self.name, self.name)
        if self.holds:
            return f"{name} holds"
        gap = f", difference {self.difference}" if self.difference else ""
        return f"{name} fails: {self.found}, expected {self.expected}{gap}"


CHECK_NAMES = {
    "sum": "opening + sum = closing",
    "chain": "the chain of balances",
    "end": "the balance at the end of the chain",
    "debits": "the printed total of debits",
    "credits": "the printed total of credits",
    "count": "the printed number of transactions",
    "debit_count": "the printed number of debits",
    "credit_count": "the printed number of credits",
    "period": "dates inside the period",
}


class Reconciliation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the checks: "reconciled", "differs" or "unchecked" (nothing to check against)."""

    status: str
    checks: tuple[ReconcileCheck, ...]
    opening: str = ""
    closing: str = ""
    total: str = "0"

    @property
    def is_reconciled(self) -> bool:
        """Whether the statement adds up."""
        return self.status == RECONCILED

    @property
    def difference(self) -> str:
        """The difference of the first failed check."""
        return next((check.difference for check in self.checks if not check.holds), "")

    def __str__(self) -> str:
        """One sentence: each check with its result."""
        results = "; ".join(str(check) for check in self.checks)
        if self.status == UNCHECKED:
            why = "nothing proves the sum: the balances that could are not printed"
            return f"{why}; {results}" if results else why
        return results


class RowAmounts(msgspec.Struct, frozen=True, gc=False):
    """The amounts of a row as values."""

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
        self._count = self._debit_count = self._zero_count = 0
        self._debits = self._credits = ZERO
        self._chains = [_Chain(opening), _Chain(closing, is_backward=True)]
        self._outside: list[date] = []
        self._outside_count = 0
        self._unread_count = 0
        self._day_before: date | None = None  # the last two days that differ
        self._day: date | None = None
        self._strays: list[date] = []
        self._first: list[Decimal] = []
        self._total_at, self._total_like = 0, ZERO
        self._bare_before = self._bare_run = self._bare_inside = 0  # rows without a balance
        self._balances = 0

    def add(self, amount: Decimal, balance: Decimal | None = None, day: date | None = None) -> None:
        """Add one row."""
        # Without calls of its own where most rows need none: this runs for every row.
        sent, received = self._debits, self._credits
        if self._count < EDGE_ROWS:
            self._first.append(amount)
        elif (
            amount == (sent if amount < 0 else received) or amount == sent + received
        ) and self._is_of_several(amount):
            self._total_at, self._total_like = self._count, amount
        self._count += 1
        if amount < 0:
            self._debits = sent + amount
            self._debit_count += 1
        else:
            self._credits = received + amount
            self._zero_count += not amount
        if balance is None:
            self._bare_run += 1
        else:
            if self._balances:
                self._bare_inside += self._bare_run
            else:
                self._bare_before = self._bare_run
            self._balances += 1
            self._bare_run = 0
        for chain in self._chains:
            chain.add(amount, balance, self._count)
        if self._count == CHAINS_TRIED_ROWS:
            best = min(chain.breaks for chain in self._chains)
            self._chains = [chain for chain in self._chains if chain.breaks == best]
        if day is not self._day and day is not None:
            self._add_day(day)
        if self._period is not None and day is not None and self._is_outside(day):
            self._outside_count += 1
            if len(self._outside) < BREAKS_SHOWN_MAX:
                self._outside.append(day)

    def _add_day(self, day: date) -> None:
        """Compare the day before this one with those around it: rows are sorted, and none is years away from both."""
        before, last = self._day_before, self._day
        if before is not None and last is not None:
            steps = ((last - before).days, (last - day).days)
            if min(steps) > STRAY_DAYS or max(steps) < -STRAY_DAYS:
                self._strays.append(last)
        self._day_before, self._day = last, day

    def stray_day(self) -> date | None:
        """The day of a row that lies years away from the rows around it; None in a table that is not sorted by days."""
        is_sorted = 0 < len(self._strays) <= 1 + self._count * STRAY_SHARE
        return self._strays[0] if is_sorted and self._count >= STRAY_ROWS_MIN else None

    def skip(self) -> None:
        """Count a row that could not be read: the chain of balances breaks there."""
        self._unread_count += 1

    @property
    def total(self) -> Decimal:
        """The sum of all rows."""
        return self._debits + self._credits

    @property
    def count(self) -> int:
        """The number of rows that were added."""
        return self._count

    @property
    def has_open_edge(self) -> bool:
        """Whether the rows at an end have no balance, and none from which or to which they lead is printed."""
        if not self._balances or None not in (self._opening, self._closing):
            return False
        chains = [chain for chain in self._chains if chain.links and not chain.breaks]
        is_backward = bool(chains) and all(chain.is_backward for chain in chains)
        ends = (self._opening, self._closing)
        above, below = reversed(ends) if is_backward else ends
        return bool(self._bare_before and above is None) or bool(self._bare_run and below is None)

    def unbooked_edge(self) -> int:
        """How many of the first or last rows have no balance where every other has one: they may not be booked.

        A chain of balances says nothing of them, because no balance follows.
        """
        if self._bare_inside or self._balances < EDGE_BALANCES_MIN:
            return 0
        # From a printed opening balance the chain leads over the first rows, too.
        is_led = self._opening is not None and any(
            chain.links and not chain.breaks and not chain.is_backward for chain in self._chains
        )
        edge = self._bare_run if is_led else self._bare_before + self._bare_run
        return edge if edge <= EDGE_ROWS else 0

    def suspected_total(self) -> Decimal | None:
        """The amount of one of the first or last rows, if it is the sum of several others: it may be their total."""
        if self._total_at and self._total_at >= self._count - EDGE_ROWS and self._total_like:
            return self._total_like
        if self._count <= EDGE_ROWS:
            return None
        for amount in self._first:
            sums = (self._debits if amount < 0 else self._credits, self.total)
            if amount and any(each == 2 * amount for each in sums) and self._is_of_several(amount):
                return amount
        return None

    def _is_of_several(self, amount: Decimal) -> bool:
        """Whether many other rows have the sign of an amount: 30 after 10 and 20 is hardly a sum."""
        alike = self._debit_count if amount < 0 else self._count - self._debit_count
        return alike - (amount in self._first) >= SUMMANDS_MIN

    def result(self, *, only: Sequence[str] = ()) -> Reconciliation:
        """The result of all checks, or only of those with these names."""
        every = [*self._sum(), *self._chain(), *self._printed_totals(), *self._dates()]
        checks = [check for check in every if not only or check.name in only]
        if any(not check.holds for check in checks):
            status = DIFFERS
        elif any(check.name in DECISIVE for check in checks) or self._is_totalled(checks):
            status = RECONCILED
        else:
            status = UNCHECKED
        return Reconciliation(
            status=status,
            checks=tuple(checks),
            opening=_text(self._opening),
            closing=_text(self._closing),
            total=f"{self.total:f}",
        )

    def _is_totalled(self, checks: Iterable[ReconcileCheck]) -> bool:
        """Whether printed totals, which all hold, cover both what came and what went."""
        names = {check.name for check in checks}
        has_debits = "debits" in names or not self._debit_count
        has_credits = "credits" in names or self._debit_count == self._count
        if not (has_debits and has_credits) or {"debits", "credits"} <= names:
            return has_debits and has_credits
        # The total of one side says nothing of the other, whose rows may be missing: a balance may tell.
        is_contradicted = self._opening is None and self._closing not in (None, self.total)
        return bool(names & {"debits", "credits"}) and not is_contradicted

    def _is_outside(self, day: date) -> bool:
        return self._period is not None and not is_near(day, *self._period, days=self._days_near)

    def _sum(self) -> Iterable[ReconcileCheck]:
        if self._opening is not None and self._closing is not None:
            reached = self._opening + self.total
            yield ReconcileCheck(
                name="sum",
                holds=reached == self._closing,
                expected=f"{self._closing:f}",
                found=f"{reached:f}",
                difference=f"{reached - self._closing:f}",
            )

    def _chain(self) -> Iterable[ReconcileCheck]:
        chains = [chain for chain in self._chains if chain.links]
        if not chains:
            return
        best = min(chains, key=lambda chain: chain.breaks)
        yield ReconcileCheck(
            name="chain",
            holds=not best.breaks,
            expected=f"{best.links} balances that follow from one another",
            found=best.summary(),
            difference=best.gap,
        )
        if not best.breaks:
            yield from self._end(chain for chain in chains if not chain.breaks)

    def _end(self, chains: Iterable["_Chain"]) -> Iterable[ReconcileCheck]:
        """Whether a chain ends with the one printed balance that it did not start from; both are checked by the sum."""
        if (self._opening is None) == (self._closing is None):
            return
        ends = [(self._opening if c.is_backward else self._closing, c.end) for c in chains]
        expected, found = ends[0]
        if expected is None or any(printed in (None, reached) for printed, reached in ends):
            return
        yield ReconcileCheck(
            name="end",
            holds=False,
            expected=f"{expected:f}",
            found=f"{found:f}",
            difference=f"{found - expected:f}",
        )

    def _printed_totals(self) -> Iterable[ReconcileCheck]:
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
                # A row of nothing is of neither side, and may be counted on both.
                low, high = value, value
                if name == "debit_count":
                    high += self._zero_count
                elif name == "credit_count":
                    low -= self._zero_count
                yield ReconcileCheck(
                    name=name,
                    holds=low <= expected <= high,
                    expected=f"{expected:f}",
                    found=f"{value:f}",
                    difference=f"{value - expected:f}",
                )

    def _dates(self) -> Iterable[ReconcileCheck]:
        if self._period is not None and self._count:
            start, end = self._period
            found = ", ".join(day.isoformat() for day in self._outside)
            yield ReconcileCheck(
                name="period",
                holds=not self._outside_count,
                expected=f"{start.isoformat()} to {end.isoformat()}",
                found=f"{self._outside_count} outside, such as {found}" if found else "all inside",
            )


class _Chain:
    """Running balances in one direction; rows without a balance are carried to the next that has one.

    Forward, the balance of a row is the one before plus its amount. Backward (newest first), the balance of a row below
    is the one above less the amounts from there on.
    """

    def __init__(self, start: Decimal | None, *, is_backward: bool = False) -> None:
        self._last = start
        self._carried = ZERO
        self.is_backward = is_backward
        self.links = 0
        self.breaks = 0
        self.gap = ""
        self._broken: list[int] = []

    def add(self, amount: Decimal, balance: Decimal | None, number: int) -> None:
        carried = self._carried if self.is_backward else self._carried + amount
        if balance is not None:
            if self._last is not None:
                self.links += 1
                reached = self._last + carried
                if reached != balance:
                    self._break(reached - balance, number)
            self._last = balance
            carried = ZERO
        self._carried = carried - amount if self.is_backward else carried

    @property
    def end(self) -> Decimal:
        """The balance behind the last row: the closing one, or where the newest row comes first, the opening one."""
        return (self._last or ZERO) + self._carried

    def _break(self, gap: Decimal, number: int) -> None:
        self.breaks += 1
        self.gap = self.gap or f"{gap:f}"
        if len(self._broken) < BREAKS_SHOWN_MAX:
            self._broken.append(number)

    def summary(self) -> str:
        """How many links break, and the first rows where they do."""
        if not self.breaks:
            return f"{self.links} do"
        rows = ", ".join(map(str, self._broken))
        do = "does" if self.breaks == 1 else "do"
        return f"{self.breaks} of {self.links} {do} not, first at row {rows}"


def chain_breaks(lines: Iterable[RowAmounts], *, is_backward: bool) -> tuple[int, int]:
    """How many balances follow a former one, and how many of them do not follow from it."""
    chain = _Chain(None, is_backward=is_backward)
    for number, line in enumerate(lines, start=1):
        chain.add(line.amount, line.balance, number)
    return chain.links, chain.breaks


def reconcile(
    lines: Iterable[RowAmounts],
    *,
    opening: Decimal | None = None,
    closing: Decimal | None = None,
    totals: dict[str, Decimal] | None = None,
    period: tuple[date, date] | None = None,
) -> Reconciliation:
    """Reconcile all rows at once, as readers do to test a reading."""
    reconciler = Reconciler(opening=opening, closing=closing, totals=totals, period=period)
    for line in lines:
        reconciler.add(line.amount, line.balance, line.day)
    return reconciler.result()


def _text(value: Decimal | None) -> str:
    return "" if value is None else f"{value:f}"
