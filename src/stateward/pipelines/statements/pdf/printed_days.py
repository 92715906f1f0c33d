"""What pages say of the calendar and the order of their dates, and dates of rows that contradict them."""

import re
from collections.abc import Sequence
from datetime import timedelta

from stateward.pipelines.kit import dates
from stateward.pipelines.statements.day_first import day_first_account, day_first_country
from stateward.pipelines.statements.headings import day_first_language
from stateward.pipelines.statements.interpret import YEAR
from stateward.pipelines.statements.model import StatementRow
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.choose import TriedReading
from stateward.pipelines.statements.pdf.tables import PdfTable
from stateward.pipelines.statements.pdf.tokens import DAY_MONTH, StatementLine, is_date
from stateward.pipelines.statements.period_order import DAYS_LATE, PrintedPeriod

LONG_DAYS = 300  # rows that end so long before a day may as well be those of the year after
LETTER_DAYS = 45  # between the last booking and the day on which a statement was made
ORDERED_MIN = 5  # rows with a balance: fewer are in order by chance
LINES_MAX = 200  # that are searched for letters of a country
_THAI = re.compile("[\u0e00-\u0e7f]")


def short_era(lines: Sequence[StatementLine]) -> int:
    """The calendar in which short years are counted: that of Thailand or of Japan, if words of it are printed."""
    texts = [line.text for line in lines[:LINES_MAX] if not line.text.isascii()]
    if any("令和" in text for text in texts):
        return dates.REIWA
    return dates.BUDDHIST if any(map(_THAI.search, texts)) else 0


def day_first(tables: Sequence[PdfTable], currency: str, account: str) -> str:
    """What shows that day comes before month: the language of the headings, their script, currency, or account."""
    columns = [column for table in tables for column in table.heading.columns]
    names = [column.text for column in columns]
    if language := day_first_language(names):
        return f"the language of the headings is {language}"
    of_amounts = [column.text for column in columns if column.role in vocab.MONEY_ROLES]
    if country := day_first_country(names, of_amounts, currency):
        return country
    return day_first_account(account)


def year_doubt(period: PrintedPeriod, tried: TriedReading) -> str:
    """Why the year of dates that print none may be another, or ""."""
    if _are_all_outside(period, tried):
        return "no row lies inside the period from which the year of its date was taken"
    if _are_long_before(period, tried):
        return f"no row lies shortly before {period.end}, from which the year of its date was taken"
    if period.is_unnamed and not (_is_day_of_closing(period, tried) or _ends_before(period, tried)):
        return f"rows print no year, and nothing calls {period.end} the day of the statement: its year was taken"
    return ""


def _is_day_of_closing(period: PrintedPeriod, tried: TriedReading) -> bool:
    """Whether the closing balance, to which the rows lead, is that of the day from which the year was taken."""
    if not tried.is_summed or tried.closing is None:
        return False
    order, era = tried.terms.date_order, tried.terms.era
    end, day = (dates.read_date(text, order, era) for text in (period.end, tried.closing.date))
    return end is not None and end == day


def _ends_before(period: PrintedPeriod, tried: TriedReading) -> bool:
    """Whether every date has a year, or the last of them lies shortly before a day, as before that of a letter."""
    texts = [row.date for row in tried.rows if not dates.has_year(row.date)]
    order, era = tried.terms.date_order, tried.terms.era
    end = dates.read_date(period.end, order, era)
    if not texts or end is None:
        return True
    if period.is_of_other:
        return False
    start = end - YEAR
    whole = [f"{text}." if DAY_MONTH.fullmatch(text) else text for text in texts]
    days = [dates.nearest_date(text, order, start=start, end=end) for text in whole]
    known = [each for each in days if each is not None]
    if not known:
        return True
    short = timedelta(days=LETTER_DAYS)
    is_in_order = known in (sorted(known), sorted(known, reverse=True))
    is_in_order |= max(known) - min(known) <= short
    return is_in_order and start < min(known) and end - short <= max(known) <= end


def _are_long_before(period: PrintedPeriod, tried: TriedReading) -> bool:
    """Whether dates without a year, read as the last ones before the one day that is printed, end long before it."""
    end = dates.read_date(period.end, tried.terms.date_order, tried.terms.era)
    if period.start or end is None or _is_day_of_closing(period, tried):
        return False
    if not tried.rows or any(dates.has_year(row.date) for row in tried.rows):
        return False
    order = tried.terms.date_order
    texts = [f"{row.date}." if DAY_MONTH.fullmatch(row.date) else row.date for row in tried.rows]
    days = [dates.nearest_date(text, order, start=end - YEAR, end=end) for text in texts]
    known = [day for day in days if day is not None]
    return bool(known) and max(known) < end - timedelta(days=LONG_DAYS)


def _are_all_outside(period: PrintedPeriod, tried: TriedReading) -> bool:
    """Whether dates without a year all lie well outside of the two days that are printed as the period."""
    order, era = tried.terms.date_order, tried.terms.era
    start, end = (dates.read_date(text, order, era) for text in (period.start, period.end))
    if start is None or end is None or any(dates.has_year(row.date) for row in tried.rows):
        return False
    texts = [f"{row.date}." if DAY_MONTH.fullmatch(row.date) else row.date for row in tried.rows]
    days = [dates.nearest_date(text, order, start=start, end=end) for text in texts]
    known = [day for day in days if day is not None]
    return bool(known) and not any(dates.is_near(day, start, end, days=DAYS_LATE) for day in known)


def have_two_days(tried: TriedReading) -> bool:
    """Whether any row has a second day, and not the first one written in another way: 02/01/2024 and 02/01/24."""
    return any(
        row.value_date not in ("", row.date) and not _are_one_day(row, tried) for row in tried.rows
    )


def _are_one_day(row: StatementRow, tried: TriedReading) -> bool:
    return _is_day(row.value_date, row, tried)


def are_days_of_booking(tried: TriedReading) -> bool:
    """Whether running balances show which of two days is that of the booking: rows stand in order by it alone.

    A balance follows the bookings, so a column of days in which the rows of a proven chain go back and forth is of
    something else. A card may be sorted by purchases.
    """
    balances = sum(bool(row.balance) for row in tried.rows)
    if not tried.is_sound or balances < ORDERED_MIN or balances < len(tried.rows):
        return False
    columns = [[row.date for row in tried.rows], [row.value_date for row in tried.rows]]
    own, other = (_are_in_order(texts, tried) for texts in columns)
    return own is True and other is False


def _are_in_order(texts: Sequence[str], tried: TriedReading) -> bool | None:
    """Whether days only go on, or only back; None where not every one has a year or can be read."""
    order, era = tried.terms.date_order, tried.terms.era
    days = [dates.read_date(text, order, era) if dates.has_year(text) else None for text in texts]
    known = [day for day in days if day is not None]
    if len(known) < len(days):
        return None
    return known in (sorted(known), sorted(known, reverse=True))


def begin_with_days(tried: TriedReading, tables: Sequence[PdfTable]) -> bool:
    """Whether every text begins with a day, and not always with that of its row: a column of dates without a name.

    One word without a year that may be a day is doubted only where no column is called that of the booking: shops
    have numbers.
    """
    has_date = any(table.heading.has({vocab.DATE}) for table in tables)
    days = [_first_day(row, is_short_taken=not has_date) for row in tried.rows]
    return (
        bool(days)
        and all(days)
        and any(
            day not in ("", row.date) and not _is_day(day, row, tried)
            for day, row in zip(days, tried.rows, strict=True)
        )
    )


def _first_day(row: StatementRow, *, is_short_taken: bool) -> str:
    """The day that the text of a row begins with, or ""."""
    words = row.description.split()
    for count in (3, 2, 1):
        day = " ".join(words[:count])
        is_told = count > 1 or is_short_taken or dates.has_year(day)
        if len(words) >= count and is_told and is_date(day) and not day.isdigit():
            return day
    return ""


def _is_day(text: str, row: StatementRow, tried: TriedReading) -> bool:
    order, era = tried.terms.date_order, tried.terms.era
    days = [dates.read_date(each, order, era) for each in (row.date, text)]
    return None not in days and days[0] == days[1]
