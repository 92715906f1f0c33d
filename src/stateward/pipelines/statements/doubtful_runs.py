"""Runs of rows that may be in a file twice: what was pasted or printed again, and the parts of the row above them.

Equal rows of one day are common, and stand side by side. Rows of several days, one after another, that are all there
already are a part of the file that is in it twice: where days follow one another, nothing else looks so.
"""

from collections.abc import Iterator
from decimal import Decimal

from stateward.pipelines.statements.model import StatementProblem

REPEATED_MIN = 3  # rows that are repeated one after another, over at least two days
REPEATED_BACK_MIN = 2  # the same, where the days of the file go both on and back
SUBTOTALS_MIN = (
    2  # rows that are the sum of all rows since the last such row: one may be so by chance
)
PARTS_MIN = 2  # rows without a date, or of the same day and text, before their sum means something
BORROWED = ("the date of the row above was taken", "the date is that of the row above")
ZERO = Decimal(0)


class DoubtfulRuns:
    """Looks for such runs while the rows of a file pass."""

    def __init__(self) -> None:
        self._run = 0  # rows of the run at hand that are in the file already
        self._day = ""
        self._has_days = False
        self._repeated = 0
        self._until = ""
        self._whole = self._sum = ZERO  # of the last row that is no part, and of those below it
        self._parts = self._wholes = 0
        self._text = self._whole_day = ""
        self._since, self._summed, self._subtotals = ZERO, 0, 0  # since the last subtotal
        self._last_day = ""
        self._goes_on = self._goes_back = False
        self._short_runs, self._short_until = 0, ""

    def add(self, amount: Decimal, text: str, note: str, day: str, *, is_known: bool) -> None:
        """Add a booked row; `is_known`: an equal one is in the file already."""
        if amount == self._since and self._summed >= PARTS_MIN and amount:
            self._subtotals += 1
            self._since, self._summed = ZERO, 0
        else:
            self._since += amount
            self._summed += 1
        if day != self._last_day:
            self._goes_on |= "" < self._last_day < day
            self._goes_back |= day < self._last_day
            self._last_day = day
        is_beside = bool(text) and text == self._text and day == self._whole_day
        if is_beside or (note and note.endswith(BORROWED)):
            self._sum += amount
            self._parts += 1
            is_whole = bool(self._whole) and self._sum == self._whole
            self._wholes += is_whole and self._parts >= PARTS_MIN
        else:
            self._whole, self._sum, self._parts = amount, ZERO, 0
            self._text, self._whole_day = text, day
        if is_known:
            self._has_days |= bool(self._run) and day != self._day
            self._run += 1
            self._day = day
        elif self._run:
            self._end()

    def _end(self) -> None:
        if self._run >= REPEATED_MIN and self._has_days:
            self._until = self._until or self._day
            self._repeated += self._run
        elif self._run >= REPEATED_BACK_MIN and self._has_days:
            self._short_until = self._short_until or self._day
            self._short_runs += self._run
        self._run, self._has_days = 0, False

    def problems(self) -> Iterator[StatementProblem]:
        """What was found, once all rows have passed."""
        self._end()
        if self._goes_on and self._goes_back:
            self._repeated += self._short_runs
            self._until = self._until or self._short_until
        if self._wholes:
            message = (
                f"{self._wholes} rows are the sum of rows below them, which may be their parts"
            )
            yield StatementProblem(code="TOTAL_SUSPECTED", message=message)
        if self._subtotals >= SUBTOTALS_MIN:
            message = f"{self._subtotals} rows are each the sum of all rows since the one before: they may be subtotals"
            yield StatementProblem(code="TOTAL_SUSPECTED", message=message)
        if self._repeated:
            message = (
                f"{self._repeated} rows of several days, up to {self._until}, are in the file already, one after"
                " another: a part of it may be in it twice"
            )
            yield StatementProblem(code="DUPLICATE_ROWS", message=message)
