"""What shows whether day or month comes first, where no date of the rows does.

Asked only where every date of a table could be both. Other dates of the same file decide it: above and below the rows,
a period that the rows lie in, other columns, and the order of the rows themselves. Then the place: time zones,
addresses that card networks print behind a shop, and a script or a currency of countries that all write the day first.
Dollars, pounds and euros are held everywhere and prove nothing. What only looks likelier is no evidence: a statement of
one month looks like standing orders of a year.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise

from stateward.pipelines.kit import dates
from stateward.pipelines.statements.day_first import day_first_country
from stateward.pipelines.statements.layout import ColumnLayout
from stateward.pipelines.statements.period_order import order_by_period

ROWS_MIN = 3
SEQUENCE_DAYS_MIN = 5  # different days: fewer may be in order by chance
NEAR_DAYS, FAR_DAYS = 7, 20  # between a booking and another date of its row
SHARE_MIN = 0.6  # of the rows: a traveller's card shows some of them abroad, too
TIME_ZONES = frozenset("PST PDT MST MDT CDT EST EDT".split())  # CST is also the time of China
STATES = (
    "AL AK AZ AR CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR"
    " PA RI SC SD TN TX UT VA VT WA WI WV WY"
)
# "SAFEWAY #1234 SEATTLE WA", "SHELL OIL AUSTIN TX 78701", "TARGET.COM BROOKLYN PARK MN USA"
_ADDRESS = re.compile(
    rf"[A-Za-z.]{{3,}} +(?:{STATES.replace(' ', '|')})(?: +[0-9]{{5}}(?:-[0-9]{{4}})?)?(?: +USA?)?\s*$"
)
_ELSEWHERE = re.compile(
    r"[£€]|\b(?:AUD|BRL|CAD|CHF|DKK|EUR|GBP|HKD|INR|JPY|MXN|NOK|NZD|PLN|SEK|SGD)\b"
)
_NUMERIC = re.compile(
    r"(?<![0-9./-])[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{4}|[0-9]{2})(?![0-9./-])"
)
_YEAR = re.compile(r"(?:19|20|25)[0-9]{2}")
Rows = Sequence[Sequence[str]]


def order_evidence(layout: ColumnLayout, rows: Rows, above: Rows) -> tuple[str, str] | None:
    """The order and a sentence about what shows it; None if nothing does."""
    booked: list[Sequence[str]] = []
    others: list[Sequence[str]] = []
    for cells in rows:
        (booked if _is_booked(layout, cells) else others).append(cells)
    found = (
        _around([*above, *others])
        or _in_period(layout, booked, above, others)
        or _beside(layout, booked)
        or _in_sequence(layout, booked)
    )
    if found is not None:
        return found
    if place := american_evidence(layout, rows):
        return "mdy", f"mdy: {place}"
    if place := _day_first_place(layout, booked):
        return "dmy", f"dmy: {place}"
    return None


def printed_era(above: Rows) -> int:
    """The years that a calendar is ahead by dates above the rows: those of the rows may be short."""
    found = (text for cells in above for cell in cells for text in numeric_dates(cell))
    return dates.vote_order(found).era


def numeric_dates(text: str) -> Iterator[str]:
    """The dates in figures that stand in a text."""
    return (found[0] for found in _NUMERIC.finditer(text))


def _is_booked(layout: ColumnLayout, cells: Sequence[str]) -> bool:
    return len(cells) == layout.width and dates.is_date(cells[layout.date])


def _around(rows: Rows) -> tuple[str, str] | None:
    """By dates outside of the rows: a period, the day of the download."""
    texts = [text for cells in rows for cell in cells for text in numeric_dates(cell)]
    vote = dates.vote_order(texts)
    if vote.order not in ("dmy", "mdy") or vote.against or not texts:
        return None
    return (vote.order, f"{vote.why} (above or below the rows)") if _is_shown(texts) else None


def _in_period(
    layout: ColumnLayout, booked: Rows, above: Rows, below: Rows
) -> tuple[str, str] | None:
    """By the period that is printed above or below the rows, where they lie in it in one order only."""
    if not any(_YEAR.search(cell) for cells in (*above, *below) for cell in cells):
        return None
    # Here, because it needs the reader of PDFs, which few tables do.
    from stateward.pipelines.statements.printed_text import period_around

    period = period_around(above, below)
    texts = sorted({cells[layout.date].strip() for cells in booked})
    if not (period.start and period.end) or not texts:
        return None
    order, _, why = order_by_period(texts, period, dates.OrderVote("", 0, ""), 0)
    return (order, why) if order else None


def _is_shown(texts: Sequence[str]) -> bool:
    """Whether one of the dates can be read in one order only: points alone show a country, not this table."""
    return any(len(dates.possible_orders(text) - {"ymd"}) == 1 for text in texts)


def _beside(layout: ColumnLayout, booked: Rows) -> tuple[str, str] | None:
    """By other dates of the same rows that show their own order: one reading is near to them, the other far."""
    votes = {"dmy": 0, "mdy": 0}
    for cells in booked:
        days = _both(cells[layout.date])
        if days is None:
            continue
        for other in _clear_dates(cells, layout):
            gaps = {order: abs((day - other).days) for order, day in days.items()}
            if min(gaps.values()) <= NEAR_DAYS and max(gaps.values()) >= FAR_DAYS:
                votes[min(gaps, key=lambda order: gaps[order])] += 1
    won = max(votes, key=lambda order: votes[order])
    if votes[won] and votes[won] == sum(votes.values()):
        return won, f"{won}: {votes[won]} other dates of the rows are near only so"
    return None


def _clear_dates(cells: Sequence[str], layout: ColumnLayout) -> Iterator[date]:
    for place, cell in enumerate(cells):
        parts = dates.split_date(cell) if place != layout.date else None
        if parts is not None and parts.order and len(parts.numbers) == 3:
            day = dates.read_date(cell, parts.order)
            if day is not None:
                yield day


def _in_sequence(layout: ColumnLayout, booked: Rows) -> tuple[str, str] | None:
    """By the order of the rows, which only one reading leaves sorted."""
    pairs = [days for cells in booked if (days := _both(cells[layout.date])) is not None]
    sorted_in = [order for order in ("dmy", "mdy") if _is_sorted([days[order] for days in pairs])]
    if len(sorted_in) == 1 and len({days["dmy"] for days in pairs}) >= SEQUENCE_DAYS_MIN:
        return sorted_in[0], f"{sorted_in[0]}: only so are the rows in the order of their days"
    return None


def _both(text: str) -> dict[str, date] | None:
    """The days of a date in both orders; None where one of them is none."""
    days = {order: dates.read_date(text, order) for order in ("dmy", "mdy")}
    return {order: day for order, day in days.items() if day} if all(days.values()) else None


def _is_sorted(days: Sequence[date]) -> bool:
    return all(a <= b for a, b in pairwise(days)) or all(a >= b for a, b in pairwise(days))


def american_evidence(layout: ColumnLayout, rows: Rows) -> str:
    """What shows that a table was made in the United States, where dates begin with the month; "" if nothing does."""
    dated = [cells for cells in rows if len(cells) == layout.width]
    if len(dated) < ROWS_MIN:
        return ""
    for place, heading in enumerate(layout.headings):
        if heading.replace(" ", "").casefold() == "timezone":
            zones = {cells[place].strip().upper() for cells in dated}
            if zones <= TIME_ZONES:
                return f"its times are of {', '.join(sorted(zones))}"
    if any(_ELSEWHERE.search(cell) for cells in (layout.headings, *dated) for cell in cells):
        return ""
    text = layout.description
    found = sum(bool(_ADDRESS.search(cells[text])) for cells in dated) if text >= 0 else 0
    if found >= ROWS_MIN and found >= SHARE_MIN * len(dated):
        return f"{found} of {len(dated)} rows end with a place in the United States"
    return ""


def _day_first_place(layout: ColumnLayout, booked: Rows) -> str:
    """What shows a country that writes the day first: the script of the headings, or the currency of all rows."""
    currency = ""
    if layout.currency >= 0:
        named = {cells[layout.currency].strip() for cells in booked}
        currency = named.pop() if len(named) == 1 else ""
    return day_first_country(
        layout.headings, [layout.headings[place] for place in layout.amounts], currency
    )
