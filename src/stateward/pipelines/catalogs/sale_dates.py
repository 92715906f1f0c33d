"""From when to when a sale price holds: two cells, or one that holds both as an ISO 8601 interval."""

import re

from stateward.pipelines.catalogs.model import PrintedProduct
from stateward.pipelines.kit.dates import read_date

FAULT = "SALE_DATES_UNREADABLE"
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def sale_period(row: PrintedProduct, flags: list[str]) -> tuple[str, str]:
    """The two days or moments in ISO; "" and a flag where one cannot be read for sure."""
    first, second = row.sale_from, row.sale_to
    if row.sale_dates:
        first, _, second = row.sale_dates.partition("/")
    return _moment(first, flags), _moment(second, flags)


def _moment(text: str, flags: list[str]) -> str:
    text = text.strip()
    if not text or _MOMENT.fullmatch(text):
        return text
    # Whether the day or the month comes first cannot be seen from one date: both must say the same.
    found = {day for order in ("dmy", "mdy") if (day := read_date(text, order)) is not None}
    if len(found) == 1:
        return found.pop().isoformat()
    if FAULT not in flags:
        flags.append(FAULT)
    return ""
