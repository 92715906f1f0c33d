"""How well a reading explains a table: the same lines may be read in several ways, and the best one is kept.

A reading is good where names, numbers, units and ranges are what they should be, and where the printed flags are those
that value and range give; it is bad where something is left over. All of it is counted from the rows alone.
"""

from collections.abc import Sequence

from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import is_flag, is_result, split_unit_and_range, split_value
from stateward.pipelines.labs.pdf.leftovers import unread_cells
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import flag_of, read_range
from stateward.pipelines.labs.table import limits
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import flag_of_words

CLEARLY = 1.08  # a reading replaces the one that headings ask for only if it explains so much more
MARGIN = 3.0  # and so much, where there is little to explain
_SIDES = {"HH": "H", "LL": "L"}


def is_clearly_better(other: Sequence[Row], usual: Sequence[Row]) -> bool:
    """Whether another reading explains more than the usual one, beyond doubt."""
    return score(other) > score(usual) * CLEARLY + MARGIN


def score(rows: Sequence[Row]) -> float:
    """What a reading explains, in points."""
    return sum(map(_row_score, rows))


def _row_score(row: Row) -> float:
    if row.is_unread or not row.values:
        return -1.0
    unit, range_, side = split_unit_and_range(row.texts.get("unit", ""), row.texts.get("range", ""))
    range_ = range_ or limits(row.texts.get("low", ""), row.texts.get("high", ""))
    points = 0.0
    for text, _ in row.values:
        parts = split_value(text)
        told = read_range(range_ or parts.range)
        points += is_result(parts.value)
        points += is_known_unit(parts.unit or unit) or is_known_unit(told.unit)
        points += told.kind in ("interval", "titre")
        points -= told.kind == "unread" or (bool(told.unit) and not is_known_unit(told.unit))
        printed = parts.flag or row.texts.get("flag", "") or side or row.flag
        points += _flag_score(flag_of(read_value(parts.value), told), printed)
    return points + (2 if is_name(row.name) else -1) - len(unread_cells(row)) - row.has_unread


def _flag_score(computed: str, printed: str) -> float:
    """Whether a flag is where it belongs; what is no flag in its place speaks against a reading."""
    if printed and not is_flag(printed):
        return -1.0
    said = flag_of_words(printed) if printed else ""
    said = _SIDES.get(said, said)
    if not computed:
        return 0.0
    if computed == "N":
        return 0.5 if said in ("", "N") else -1.0
    return 1.0 if said in (computed, "A") else 0.0 if not said else -1.0
