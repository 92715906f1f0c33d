"""Dates inside running text, by patterns.

A pattern has the groups `y` with `m` and `d`, or `y` with `a` and `b` where nothing but an order says which of the two
is the month. A pattern may print the day as a word (`w`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import msgspec

from stateward.pipelines.kit.dates import CENTURY_PIVOT
from stateward.pipelines.kit.windows import windows

# Around an anchor: the longest date before it (`the thirty-first (31st) day of …`), and what a look-ahead must see.
BEFORE_CHARS, BEHIND_CHARS = 120, 12


class FoundDate(msgspec.Struct, frozen=True, gc=False):
    """A date where it stands in a text."""

    start: int
    end: int
    day: date
    is_ambiguous: bool = False  # day and month may be the other way round

    @property
    def value(self) -> str:
        """The date in ISO form."""
        return self.day.isoformat()


class DateFinder:
    """Finds dates by patterns, those of the first pattern first; a later pattern cannot overlap an earlier one."""

    def __init__(
        self,
        patterns: Sequence[re.Pattern[str]],
        *,
        months: Mapping[str, int],
        day_words: Mapping[str, int] | None = None,
        years: tuple[int, int],
        century_pivot: int = CENTURY_PIVOT,
        anchor: re.Pattern[str] | None = None,
    ) -> None:
        """`anchor` is what each match of each pattern holds at its end, such as a year: only there is looked."""
        self._patterns = patterns
        self._months = months
        self._day_words = day_words or {}
        self._years = years
        self._pivot = century_pivot
        self._anchor = anchor

    def find(
        self, text: str, *, order: str, start: int = 0, end: int | None = None
    ) -> Iterator[FoundDate]:
        """Every date between two offsets; `order` ("dmy" or "mdy") is for patterns with `a` and `b`."""
        stop = len(text) if end is None else end
        if self._anchor is None:
            yield from self._within(text, order, start, stop)
            return
        around = windows(
            self._anchor, text, before=BEFORE_CHARS, behind=BEHIND_CHARS, start=start, end=stop
        )
        for first, last in around:
            yield from self._within(text, order, first, last)

    def _within(self, text: str, order: str, start: int, stop: int) -> Iterator[FoundDate]:
        taken: list[tuple[int, int]] = []  # spans of earlier patterns, sorted
        for pattern in self._patterns:
            spans: list[tuple[int, int]] = []
            for match in pattern.finditer(text, start, stop):
                if not _overlaps(taken, match.start(), match.end()):
                    found = self._read(match, order)
                    if found is not None:
                        spans.append(match.span())
                        yield found
            taken = sorted([*taken, *spans])

    def _read(self, match: re.Match[str], order: str) -> FoundDate | None:
        groups = match.groupdict()
        year = self._year(groups["y"])
        is_ambiguous = False
        if groups.get("a"):
            first, second = int(groups["a"]), int(groups["b"])
            month, day = (second, first) if order == "dmy" else (first, second)
            if month > 12:  # then it can only be the other way round
                month, day = day, month
            is_ambiguous = first != second and max(first, second) <= 12
        else:
            name = groups["m"].lower()
            month = int(name) if name.isdigit() else self._months[name]
            day = self._day(groups)
        try:
            value = date(year, month, day)
        except ValueError:
            return None
        if not self._years[0] <= year <= self._years[1]:
            return None
        return FoundDate(match.start(), match.end(), value, is_ambiguous)

    def _year(self, text: str) -> int:
        digits = text.replace(" ", "").lstrip("'’")
        year = int(digits)
        if len(digits) == 2:
            year += 1900 if year >= self._pivot else 2000
        return year

    def _day(self, groups: Mapping[str, str | None]) -> int:
        if number := groups.get("d"):
            return int(number)
        return self._day_words["-".join((groups.get("w") or "").lower().replace("-", " ").split())]


def _overlaps(taken: list[tuple[int, int]], start: int, end: int) -> bool:
    at = bisect_left(taken, (start, start))
    return (at > 0 and taken[at - 1][1] > start) or (at < len(taken) and taken[at][0] < end)
