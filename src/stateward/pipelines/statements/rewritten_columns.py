"""Records of a table as most tables print them: one column of amounts, one decimal sign, and Gregorian days.

Each function gives the same records rewritten, or None where the first of them show no need for it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta

from stateward.pipelines.kit import money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.table_cells import TableHead

SOLAR_YEAR_MIN, SOLAR_YEAR_MAX = 1370, 1449  # 1991 to 2070; a lunar year of that number is past
DATE_ROLES = frozenset({"date", "date_plain", "value_date"})
Cells = Sequence[str]
Start = Callable[[], Iterator[Record]]

_CURRENCY_ALONE = re.compile(r"([A-Z]{3})\s?[$€£]?")
# Letters that Persian has and Arabic has not.
_PERSIAN = re.compile("[\u067e\u0686\u0698\u06a9\u06af\u06cc]")
_SWAPPED = str.maketrans(".,", ",.")
_DAY_MONTH = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.?")
SIGNED_ROWS_MIN = 2  # amounts that show the decimal sign of a column
_SOLAR = re.compile(r"(1[34][0-9]{2})[/.-]([0-9]{1,2})[/.-]([0-9]{1,2})")


def start_with_one_amount(start: Start, head: TableHead) -> Start | None:
    """Amounts in the first of several columns that are called by nothing but a currency, each with that currency.

    Such tables (`CAD$,USD$`) fill one of the columns in each row, by the currency of its account.
    """
    columns = _currency_columns(head)
    if not columns:
        return None
    first = min(columns)

    def records() -> Iterator[Record]:
        for line, cells in start():
            filled = [i for i in columns if i < len(cells) and money.is_amount(cells[i].strip())]
            if len(filled) != 1:
                yield line, cells
                continue
            at = filled[0]
            moved = ["" if i in columns else cell for i, cell in enumerate(cells)]
            moved[first] = f"{cells[at].strip()} {columns[at]}"
            yield line, moved

    return records


def start_with_fees_booked(start: Start, head: TableHead) -> Start | None:
    """Fees in the column of money out, in rows that have no other amount: there, the fee is what was booked."""
    found = next(filter(None, (_fee_columns(cells) for _, cells in head.headings())), None)
    if found is None:
        return None
    fee, out, others = found

    def is_lone(cells: Cells) -> bool:
        width = max(fee, *others)
        return (
            len(cells) > width
            and not any(cells[i].strip() for i in others)
            and money.is_amount(cells[fee].strip())
        )

    if not any(map(is_lone, head.rows)):
        return None
    texts = [cells[out].strip() for cells in head.rows if len(cells) > out]
    has_minus = any(text[:1] in "-−" for text in texts if money.is_amount(text))

    def records() -> Iterator[Record]:
        for line, cells in start():
            if is_lone(cells):
                text = cells[fee].strip().lstrip("-−")
                cells[out], cells[fee] = f"-{text}" if has_minus else text, ""
            yield line, cells

    return records


def _fee_columns(cells: Cells) -> tuple[int, int, list[int]] | None:
    """The columns of fees, of money out, and all of money below headings; None where one of them is missing."""
    roles = [headings.role_of(cell) for cell in cells]
    others = [i for i, role in enumerate(roles) if role in ("amount", "debit", "credit")]
    if not {"fee", "debit"} <= {*roles}:
        return None
    return roles.index("fee"), roles.index("debit"), others


def _currency_columns(head: TableHead) -> dict[int, str]:
    for at, cells in head.headings():
        found = {
            i: name[1]
            for i, cell in enumerate(cells)
            if (name := _CURRENCY_ALONE.fullmatch(cell.strip())) and name[1] in money.CURRENCY_CODES
        }
        if len(found) < 2 or not any(headings.role_of(cell) in DATE_ROLES for cell in cells):
            continue
        rows = [
            [row[i].strip() for i in found] for row in head.rows[at + 1 :] if len(row) > max(found)
        ]
        counts = [sum(map(money.is_amount, row)) for row in rows]
        is_either = bool(counts) and max(counts) == 1 and len(set(found.values())) == len(found)
        return (
            found if is_either and any(row[1:] != [""] * (len(found) - 1) for row in rows) else {}
        )
    return {}


def start_with_one_decimal(start: Start, head: TableHead) -> Start | None:
    """All amounts with a decimal comma, where whole columns have one and other whole columns have a point."""
    places = _point_columns(head)
    if not places:
        return None

    def records() -> Iterator[Record]:
        for line, cells in start():
            yield line, [c.translate(_SWAPPED) if i in places else c for i, c in enumerate(cells)]

    return records


def _point_columns(head: TableHead) -> frozenset[int]:
    """The columns whose amounts all have a decimal point, if those of another all have a decimal comma."""
    widths = Counter(len(cells) for cells in head.rows)
    width = max(widths, key=lambda each: (widths[each], each), default=0)
    rows = [cells for cells in head.rows if len(cells) == width]
    columns = [*zip(*rows, strict=True)]
    printed = ["".join(column) for column in columns]
    if not any("." in text for text in printed) or not any("," in text for text in printed):
        return frozenset()  # as in most tables: quicker than to look at each amount
    signs = {i: _decimal_signs([*map(str.strip, column)]) for i, column in enumerate(columns)}
    points = frozenset(i for i, found in signs.items() if found == {"."})
    return points if {","} in signs.values() else frozenset()


def _decimal_signs(column: Sequence[str]) -> set[str]:
    """The decimal signs of a column of amounts below its heading; none where other texts stand in it."""
    filled = [text for text in column if any(map(str.isdigit, text))]
    others = {*column} - {*filled, ""}  # the heading may stand there again
    if len(filled) < SIGNED_ROWS_MIN or len(others) > 1 or all(map(_DAY_MONTH.fullmatch, filled)):
        return set()
    if not all(map(money.is_amount, filled)):
        return set()
    return {
        sign for text in filled if (sign := money.vote_decimal([text], usual="?").decimal) != "?"
    }


def start_with_solar_days(start: Start, head: TableHead) -> Start | None:
    """Days of the Persian calendar (`1404/10/11`) as those of the Gregorian one, below Persian headings."""
    columns = _solar_columns(head)
    if not columns:
        return None

    def records() -> Iterator[Record]:
        for line, cells in start():
            yield line, [_from_solar(c) if i in columns else c for i, c in enumerate(cells)]

    return records


def _solar_columns(head: TableHead) -> tuple[int, ...]:
    for at, cells in head.headings():
        if not any(map(_PERSIAN.search, cells)):
            continue
        places = [i for i, cell in enumerate(cells) if headings.role_of(cell) in DATE_ROLES]
        if not places:
            continue
        below = head.below(at)
        return tuple(i for i in places if _are_solar([row[i] for row in below]))
    return ()


def _are_solar(column: Sequence[str]) -> bool:
    filled = [text for text in column if text.strip()]
    return bool(filled) and all(_from_solar(text) != text for text in filled)


def _from_solar(text: str) -> str:
    """A day of the Persian calendar in ISO; what is none stays as it is."""
    found = _SOLAR.fullmatch(money.western_digits(text.strip()))
    if found is None:
        return text
    year, month, day = map(int, found.groups())
    is_year = SOLAR_YEAR_MIN <= year <= SOLAR_YEAR_MAX
    if not is_year or not 1 <= month <= 12 or not 1 <= day <= (31 if month < 7 else 30):
        return text
    before = 31 * (month - 1) if month < 7 else 186 + 30 * (month - 7)
    return (_new_year(year) + timedelta(days=before + day - 1)).isoformat()


# The year 1370 began on 21 March 1991. A leap year follows after four years, and once in a while after five.
_SOLAR_LEAPS = frozenset(
    (1370, 1375, 1379, 1383, 1387, 1391, 1395, 1399, 1403, 1408, 1412, 1416, 1420, 1424, 1428, 1432, 1436, 1441, 1445)
)  # fmt: skip


def _new_year(year: int) -> date:
    leaps = sum(leap < year for leap in _SOLAR_LEAPS)
    return date(1991, 3, 21) + timedelta(days=365 * (year - SOLAR_YEAR_MIN) + leaps)
