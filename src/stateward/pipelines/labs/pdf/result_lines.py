"""Which lines of a table are results, and which only look like one: by name, value, unit and range, and by alignment.

Whatever stands in line with results and is no known kind of one is to be flagged, and not to be lost.
"""

import re
from collections.abc import Sequence

from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import NUMERIC, split_value
from stateward.pipelines.labs.pdf.layout import Layout
from stateward.pipelines.labs.pdf.line import VALUE_ROLES
from stateward.pipelines.labs.pdf.line_kinds import span_in
from stateward.pipelines.labs.pdf.row import SMALL_PRINT, Row, is_administrative, name_of
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import PENDING_WORDS, fold

FAR = 8.0  # of the height: beyond such a gap a name and a number alone are no result, but the foot of the page
ALIGNED = 4.0  # points
_FEW = re.compile(r"[0-9]{1,2}\s?[-–]\s?[0-9]{1,2}", re.ASCII)


def is_believable(row: Row, rows: Sequence[Row], layout: Layout, *, is_certain: bool) -> bool:
    """Whether a name and a value are a result: a number or a known word, or words that other cells confirm."""
    text = row.values[0][0]
    parts = split_value(text)
    range_kind = read_range(row.texts.get("range", "")).kind
    kind = "ordinal" if row.meaning else read_value(parts.value).kind
    unit = row.texts.get("unit", "")
    is_of_heading = any(unit == each.text for each in layout.columns)
    has_more = (
        (is_known_unit(unit) and not is_of_heading)
        or bool(parts.unit)
        or range_kind in ("interval", "titre", "conditional")
        or (range_kind == "ordinal" and kind != "unread")
    )
    if is_administrative(row.name) and not (has_more or is_name(row.name)):
        return False
    if kind == "unread":
        return has_more or is_name(row.name)
    if not has_more and rows and _is_small_note(rows[-1], row):
        return False
    if kind == "interval" and not has_more and not is_name(row.name):
        # Years, or the pages of what is cited; below a heading, few are what was counted.
        return is_certain and _FEW.fullmatch(text) is not None and is_aligned(row, rows, layout)
    if kind in NUMERIC or kind == "ordinal":
        is_far = bool(rows) and row.base - rows[-1].base > FAR * row.height
        return (is_certain and not is_far) or has_more or is_name(row.name)
    if fold(text) in PENDING_WORDS or has_more or is_name(row.name):
        return True
    return (
        is_certain
        and is_aligned(row, rows, layout)
        and len(text.split()) <= 8
        and len(row.name.split()) <= 6
    )


def _is_small_note(last: Row, row: Row) -> bool:
    """Whether a line in small print has a colon inside: `Method: photometry, Cobas 8000`."""
    return ": " in row.name and row.height < SMALL_PRINT * last.height


def is_in_line(row: Row, last: Row | None, *, is_certain: bool) -> bool:
    """Whether a line that is no known kind of result stands in the table as one: to be flagged, not to be lost."""
    return (
        (is_certain or last is not None)
        and not is_administrative(row.name)
        and not is_administrative(name_of(row))
        and not row.has_colon
        and (last is None or row.base - last.base <= FAR * row.height)
        and (last is None or row.height >= SMALL_PRINT * last.height)
    )


def is_aligned(row: Row, rows: Sequence[Row], layout: Layout) -> bool:
    """Whether the value begins or ends where other values do."""
    at = next((n for n, each in enumerate(layout.columns) if each.role in VALUE_ROLES), None)
    if at is None:
        return False
    mine = span_in(layout, row.words, at)
    others = [span_in(layout, each.words, at) for each in rows]
    return mine is not None and (
        not rows
        or any(
            other is not None
            and (abs(other[0] - mine[0]) < ALIGNED or abs(other[1] - mine[1]) < ALIGNED)
            for other in others
        )
    )
