"""When a contract can be left: by its end, its notice period, and the day on which somebody asks.

Pure arithmetic of days. The day comes from outside: nothing here looks at a clock.
"""

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import Literal, TypeAlias

import msgspec

Unit: TypeAlias = Literal["day", "week", "month", "year"]

RENEWALS_MAX = 1200
COUNT_MAX = 10_000
YEAR_LAST = 9000
_WORDS: dict[str, Unit] = {
    "d": "day", "day": "day", "days": "day", "tag": "day", "tage": "day", "tagen": "day",
    "w": "week", "week": "week", "weeks": "week", "woche": "week", "wochen": "week",
    "m": "month", "month": "month", "months": "month", "monat": "month", "monate": "month",
    "monaten": "month", "monats": "month",
    "y": "year", "year": "year", "years": "year", "jahr": "year", "jahre": "year", "jahren": "year",
}  # fmt: skip
_PERIOD = re.compile(r"\s*(?:P(?=\d))?(\d{1,5})\s*([A-Za-z]+)", re.ASCII)


class Period(msgspec.Struct, frozen=True):
    """A length of time as contracts say it: three months are not ninety days."""

    count: int
    unit: Unit

    def __str__(self) -> str:
        """As `3 months`."""
        return f"{self.count} {self.unit}{'' if self.count == 1 else 's'}"


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """The first day under another contract, the last day to give notice for it, and why."""

    on: date
    notice_by: date
    why: str


def period_of(text: str) -> Period | None:
    """`3 months`, `6 Wochen`, `P3M`; None where no length of time can be seen."""
    found = _PERIOD.match(text)
    unit = _WORDS.get(found[2].lower()) if found else None
    if found is None or unit is None or int(found[1]) > COUNT_MAX:
        return None
    return Period(int(found[1]), unit)


def shifted(day: date, period: Period, *, times: int = 1) -> date:
    """That much later (earlier, if `times` is negative); the 31st becomes the last day of a shorter month."""
    count = period.count * times
    if period.unit in ("day", "week"):
        return day + timedelta(days=count * (7 if period.unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if period.unit == "year" else 1)
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def earliest_switch(
    *, today: date, end: date | None, notice: Period, renewal: Period | None
) -> Switch:
    """The first day on which another contract can begin, if notice is given today.

    `renewal` is by how much a contract goes on that nobody ended in time; None: it runs on, and its notice period
    alone holds it.
    """
    if end is None:
        return Switch(
            on=shifted(today, notice),
            notice_by=today,
            why=f"no end is known; notice of {notice} given today holds",
        )
    if shifted(end, notice, times=-1) >= today:
        return _after(end, notice, f"the contract ends on {end}; notice is {notice}")
    if renewal is None:
        free = max(shifted(today, notice), end + timedelta(days=1))
        why = f"its first term ended or can no longer be ended on {end}; it runs on, with a notice of {notice}"
        return Switch(on=free, notice_by=today, why=why)
    for times in range(1, RENEWALS_MAX):
        again = shifted(end, renewal, times=times)
        if shifted(again, notice, times=-1) >= today:
            why = f"notice for {end} is too late; it goes on by {renewal} at a time, to {again}"
            return _after(again, notice, why)
    return _after(today, notice, "it has ended long ago")


def day_of(text: str) -> date | None:
    """An ISO date that can be reckoned with; None for anything else."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return day if 1900 <= day.year <= YEAR_LAST else None


def _after(end: date, notice: Period, why: str) -> Switch:
    return Switch(on=end + timedelta(days=1), notice_by=shifted(end, notice, times=-1), why=why)
