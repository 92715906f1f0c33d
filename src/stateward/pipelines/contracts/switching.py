"""When a contract can be ended: by its end date, its notice period, and the day of the comparison.

Pure date arithmetic. The day is an argument: nothing here reads a clock.
"""

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import Literal, TypeAlias

import msgspec

Unit: TypeAlias = Literal["day", "week", "month", "year"]

RENEWALS_MAX = 1200  # a hundred years of monthly renewals
COUNT_MAX = 10_000
YEAR_LAST = 9000  # so that adding a period stays below the last year of `date`
_WORDS: dict[str, Unit] = {
    "d": "day", "day": "day", "days": "day", "tag": "day", "tage": "day", "tagen": "day",
    "w": "week", "week": "week", "weeks": "week", "woche": "week", "wochen": "week",
    "m": "month", "month": "month", "months": "month", "monat": "month", "monate": "month",
    "monaten": "month", "monats": "month",
    "y": "year", "year": "year", "years": "year", "jahr": "year", "jahre": "year", "jahren": "year",
}  # fmt: skip
_PERIOD = re.compile(r"\s*(?:P(?=\d))?(\d{1,5})\s*([A-Za-z]+)", re.ASCII)


class CalendarPeriod(msgspec.Struct, frozen=True):
    """A length of time in calendar units: three months are not ninety days."""

    count: int
    unit: Unit

    def __str__(self) -> str:
        """As `3 months`."""
        return f"{self.count} {self.unit}{'' if self.count == 1 else 's'}"


class SwitchDate(msgspec.Struct, frozen=True, kw_only=True):
    """The first day under another contract, the last day to give notice for it, and why."""

    on: date
    notice_by: date
    why: str


def period_of(text: str) -> CalendarPeriod | None:
    """`3 months`, `6 Wochen`, `P3M`; None if the text does not start with a length of time."""
    found = _PERIOD.match(text)
    unit = _WORDS.get(found[2].lower()) if found else None
    if found is None or unit is None or int(found[1]) > COUNT_MAX:
        return None
    return CalendarPeriod(int(found[1]), unit)


def shift_date(day: date, period: CalendarPeriod, *, times: int = 1) -> date:
    """The day so much later (earlier, if `times` is negative); the 31st becomes the last day of a shorter month."""
    count = period.count * times
    if period.unit in ("day", "week"):
        return day + timedelta(days=count * (7 if period.unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if period.unit == "year" else 1)
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def earliest_switch(
    *, today: date, end: date | None, notice: CalendarPeriod, renewal: CalendarPeriod | None
) -> SwitchDate:
    """The first day on which another contract can begin, if notice is given today.

    `renewal` is the period by which a contract renews that was not ended in time; None: it continues without an end,
    and only its notice period applies.
    """
    if end is None:
        return SwitchDate(
            on=shift_date(today, notice),
            notice_by=today,
            why=f"its end is unknown; notice of {notice} given today",
        )
    if shift_date(end, notice, times=-1) >= today:
        return _after(end, notice, f"the contract ends on {end}; notice is {notice}")
    if renewal is None:
        free = max(shift_date(today, notice), end + timedelta(days=1))
        why = f"it can no longer be ended on {end}; it continues, with a notice of {notice}"
        return SwitchDate(on=free, notice_by=today, why=why)
    for times in range(1, RENEWALS_MAX):
        again = shift_date(end, renewal, times=times)
        if shift_date(again, notice, times=-1) >= today:
            why = f"notice for {end} is too late; it renews by {renewal} each time, to {again}"
            return _after(again, notice, why)
    return _after(today, notice, "it ended long ago")


def day_of(text: str) -> date | None:
    """An ISO date in the supported range of years; None for anything else."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return day if 1900 <= day.year <= YEAR_LAST else None


def _after(end: date, notice: CalendarPeriod, why: str) -> SwitchDate:
    return SwitchDate(
        on=end + timedelta(days=1), notice_by=shift_date(end, notice, times=-1), why=why
    )
