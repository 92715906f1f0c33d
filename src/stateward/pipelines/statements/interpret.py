"""The printed strings of a row as values, by the terms of its section. Used to choose terms and to convert rows.

Amounts of every format are signed alike: credits are positive, debits negative.
"""

import re
from datetime import date, timedelta
from decimal import Decimal

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements.model import ReadingTerms, StatementRow, StatementSection

DAY_MONTH = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}", re.ASCII)
YEAR = timedelta(days=364)  # the longest period that contains each day and month once


class UnreadableText(ValueError):
    """A printed text that is not of the kind of its column; the message names it."""


def signed_amount(row: StatementRow, terms: ReadingTerms) -> Decimal:
    """The amount of a row, positive for credits; `UnreadableText` if it has none that can be read."""
    if terms.sign == "printed":
        quick = money.plain_number(row.amount, terms.decimal)
        if quick is not None:
            return quick
    if terms.sign.startswith("columns"):
        return _from_columns(row, terms)
    read = _money(row.amount, terms.decimal, "amount")
    if terms.sign == "printed":
        sign = money.mark_sign(read.mark) if read.mark else 0
        return abs(read.value) * sign if sign else read.value
    if terms.sign == "flipped":
        # A mark beside an amount of a card takes precedence.
        sign = money.mark_sign(read.mark or row.mark)
        return abs(read.value) * sign if sign else -read.value
    if terms.sign == "plus_else_debit":
        return abs(read.value) if has_plus(row.amount) else -abs(read.value)
    return _from_mark(row, read, terms)


def has_mark(row: StatementRow, terms: ReadingTerms) -> bool:
    """Whether a mark says what the amount of a row is."""
    read = money.read_amount(row.amount, terms.decimal)
    return bool(row.mark.strip() or (read is not None and read.mark))


def has_plus(text: str) -> bool:
    """Whether an amount is printed with a plus sign."""
    return text.strip().startswith("+") or text.strip().endswith("+")


def balance(text: str, terms: ReadingTerms) -> Decimal | None:
    """A printed balance with its sign; None where none is printed."""
    is_owed = terms.balances == "owed"
    if not is_owed and (quick := money.plain_number(text, terms.decimal)) is not None:
        return quick
    if not text.strip():
        return None
    value = _money_signed(text, terms.decimal, "balance")
    if is_owed and not money.mark_sign(_money(text, terms.decimal, "balance").mark):
        return -value
    return value


def booking_date(
    text: str, terms: ReadingTerms, *, period: tuple[date, date] | None = None
) -> date:
    """A printed date; without a year, the one nearest to the period. `UnreadableText` if it is no date."""
    day: date | None
    if DAY_MONTH.fullmatch(text):  # in a column of dates, 02.10 is the second of October
        text += "."
    if dates.has_year(text) or period is None:
        day = dates.read_date(text, terms.date_order or "dmy", terms.era)
    else:
        day = dates.nearest_date(text, terms.date_order or "dmy", start=period[0], end=period[1])
    if day is None:
        raise UnreadableText(f"{text!r} is not a date" if text.strip() else "there is no date")
    return day


def period_of(section: StatementSection) -> tuple[date, date] | None:
    """The period that a section covers, from its printed period or the dates of its balances."""
    start = _day(section.period_from or section.opening_date, section.terms)
    end = _day(section.period_to or section.closing_date, section.terms)
    if start is None and end is not None and section.period_from:
        # `1 March to 31 March 2025`: within the year before the last day
        order = section.terms.date_order or "dmy"
        start = dates.nearest_date(section.period_from, order, start=end - YEAR, end=end)
    # With only one end printed, the period is the year before or after it.
    if start is None and end is not None:
        start = end - YEAR
    elif end is None and start is not None:
        end = start + YEAR
    if start is None or end is None:
        return None
    return (start, end) if start <= end else (end, start)


def _day(text: str, terms: ReadingTerms) -> date | None:
    return dates.read_date(text, terms.date_order or "dmy", terms.era) if text else None


def _from_columns(row: StatementRow, terms: ReadingTerms) -> Decimal:
    debit = _filled_amount(row.debit, terms.decimal, "debit")
    credit = _filled_amount(row.credit, terms.decimal, "credit")
    if debit is None and credit is None:
        raise UnreadableText("it has neither a debit nor a credit")
    if debit and credit:
        raise UnreadableText(f"it has both a debit {row.debit!r} and a credit {row.credit!r}")
    left, right = debit or money.ZERO, credit or money.ZERO
    if terms.sign == "columns":
        _refuse_opposite(row.debit, terms.decimal, -1)
        _refuse_opposite(row.credit, terms.decimal, 1)
    if terms.sign.startswith("columns_signed"):
        value = left + right
    elif terms.sign.startswith("columns_absolute"):
        value = abs(right) - abs(left)
    else:
        value = right - left
    return -value if terms.sign.endswith("_swapped") else value


def _refuse_opposite(text: str, decimal: str, sign: int) -> None:
    """Refuse an amount whose mark says the opposite of the column that it stands in."""
    if text.isascii() and not any(map(str.isalpha, text)):
        return
    read = money.read_amount(text, decimal)
    if read is not None and read.mark and money.mark_sign(read.mark) == -sign:
        side = "credits" if sign > 0 else "debits"
        raise UnreadableText(f"{text!r} stands among {side}, and its mark says the opposite")


def _from_mark(row: StatementRow, read: money.PrintedAmount, terms: ReadingTerms) -> Decimal:
    mark = read.mark or row.mark
    if mark:
        sign = money.mark_sign(mark)
        if not sign:
            raise UnreadableText(f"the mark {mark!r} beside its amount is unknown")
        # A negative amount with a mark corrects an entry of that kind.
        return read.value * (-sign if terms.sign == "marks_reversed" else sign)
    if terms.sign == "marks_else_debit":
        return -read.value
    return read.value


def _filled_amount(text: str, decimal: str, what: str) -> Decimal | None:
    if not text.strip() or text.strip() in ("-", "–", "—"):
        return None
    return _money(text, decimal, what).value


def _money_signed(text: str, decimal: str, what: str) -> Decimal:
    value = money.amount(text, decimal)
    if value is None:
        raise UnreadableText(f"the {what} {text!r} is not an amount")
    return value


def _money(text: str, decimal: str, what: str) -> money.PrintedAmount:
    read = money.read_amount(text, decimal)
    if read is None:
        why = f"the {what} {text!r} is not an amount" if text.strip() else f"there is no {what}"
        raise UnreadableText(why)
    return read
