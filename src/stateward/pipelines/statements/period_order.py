"""The order of day and month that a printed period shows: the one in which all dates of the rows lie in it."""

from collections.abc import Sequence

import msgspec

from stateward.pipelines.kit import dates
from stateward.pipelines.statements import interpret

SEQUENCE_MIN = 4  # different days whose sequence shows the date order; fewer are in order by chance
DAYS_SLACK = 2
DAYS_LATE = 10  # how far outside of the printed period a booking may lie


class PrintedPeriod(msgspec.Struct):
    """The first and the last day, as printed; either may be missing."""

    start: str = ""
    end: str = ""
    is_labelled: bool = False  # labelled as the period
    is_unnamed: bool = (
        False  # a day that stands somewhere, and that nothing calls the one of the statement
    )
    is_of_other: bool = False  # that day is called one of something else: a birthday


def order_by_period(
    printed: Sequence[str], period: PrintedPeriod, vote: dates.OrderVote, era: int
) -> tuple[str, int, str]:
    """The one order (and era) in which all dates lie in the period; the vote if there is none."""
    # Without a year, a date that is read as year first is read as month first.
    are_whole = all(dates.has_year(text) or _names_month(text) for text in printed)
    orders = dates.ORDERS if are_whole else ("dmy", "mdy")
    for tried in (era, dates.BUDDHIST) if not era else (era,):
        fits = [order for order in orders if fits_period(printed, order, period, tried)]
        if len(fits) > 1:  # a booking may be late, but it need not be
            inside = [
                o for o in fits if fits_period(printed, o, period, tried, days_late=DAYS_SLACK)
            ]
            fits = inside or fits
        if len(fits) > 1 and all(map(_names_month, printed)):
            shortest = min(
                fits,
                key=lambda order: (
                    _length(period, order, tried),
                    _days_before(printed, period, order, tried),
                ),
            )
            return (
                shortest,
                tried,
                "the dates name their months; the period is read as the shortest",
            )
        if len(fits) == 1:
            name = dates.ORDER_NAMES[fits[0]]
            return fits[0], tried, f"{name}: only then are the dates in sequence inside the period"
    return vote.order, era, vote.why


def _names_month(text: str) -> bool:
    """Whether a date shows its own order, as `5 Dec` does."""
    found = dates.split_date(text)
    return found is not None and bool(found.order)


def _length(period: PrintedPeriod, order: str, era: int) -> int:
    """The days of a period that is read in an order; 0 if only one end is printed."""
    start, end = (dates.read_date(text, order, era) for text in (period.start, period.end))
    return 0 if start is None or end is None else (end - start).days


def _days_before(printed: Sequence[str], period: PrintedPeriod, order: str, era: int) -> int:
    """How many days before the end of the period the last of the dates without a year lies."""
    end = dates.read_date(period.end, order, era) if period.end else None
    if end is None:
        return 0
    start = end - interpret.YEAR
    found = (dates.nearest_date(text, order, start=start, end=end) for text in printed)
    return min((abs((end - day).days) for day in found if day is not None), default=0)


def fits_period(
    printed: Sequence[str],
    order: str,
    period: PrintedPeriod,
    era: int,
    *,
    days_late: int = DAYS_LATE,
) -> bool:
    """Whether every date, read in this order, lies in the period; or is in sequence, where no period is known."""
    ends = [dates.read_date(text, order, era) for text in (period.start, period.end) if text]
    texts = list(printed)
    days = [dates.read_date(text, order, era, dates.LEAP_YEAR) for text in texts]
    if None in days or None in ends:
        return False
    end = ends[-1] if ends else None
    start = ends[0] if len(ends) == 2 else end and end - interpret.YEAR
    if start is None or end is None:
        found = [day for day in days if day is not None]
        is_enough = len(set(found)) >= SEQUENCE_MIN
        return is_enough and found in (sorted(found), sorted(found, reverse=True))
    full = [
        day if dates.has_year(text) else dates.nearest_date(text, order, start=start, end=end)
        for text, day in zip(texts, days, strict=True)
    ]
    return start <= end and all(
        day is not None and dates.is_near(day, start, end, days=days_late) for day in full
    )
