"""A laboratory's own words for high and low, learned from where they stand.

A word that stands in every row above its range and in no row within it means high, in whatever language it is and
whatever the heading of its column says. What is learned so is given as the printed flag; nothing is converted by it.
"""

from collections import defaultdict
from collections.abc import Sequence

from stateward.pipelines.labs.pdf.cells import is_flag, split_unit_and_range, split_value
from stateward.pipelines.labs.pdf.headings import UNKNOWN
from stateward.pipelines.labs.pdf.leftovers import unread_cells
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import flag_of, read_range
from stateward.pipelines.labs.values import read_value

WORDS_MAX = 3
ROWS_MIN = 2  # out of range: one may be chance
PLACES = ("flag", "comment", "status", UNKNOWN, "")  # roles of columns; "" for cells without one
NORMAL = "N"


def learn_flags(rows: Sequence[Row]) -> None:
    """Give the rows of a report the flags whose words it does not share with others, where they can be told."""
    if any(row.flag or is_flag(row.texts.get("flag", "")) for row in rows):
        return
    if any(split_value(text).flag for row in rows for text, _ in row.values):
        return
    sides = [(row, side) for row in rows if (side := _side(row))]
    for place in PLACES:
        told = [(row, side, _text(row, place)) for row, side in sides]
        if _is_learned([(side, text) for _, side, text in told]):
            for row in rows:
                if text := _text(row, place):
                    row.flag = text
                    row.texts.pop(place, None)
            return


def _is_learned(told: Sequence[tuple[str, str]]) -> bool:
    """Whether words tell rows above their range, below it and within it apart."""
    meanings: dict[str, set[str]] = defaultdict(set)
    for side, text in told:
        meanings[text].add(side)
    outside = [text for side, text in told if side != NORMAL]
    return (
        len(outside) >= ROWS_MIN
        and all(outside)
        and all(not each & {NORMAL} or each == {NORMAL} for each in meanings.values())
        and any(side == NORMAL for side, _ in told)
    )


def _text(row: Row, place: str) -> str:
    text = row.texts.get(place, "") if place else " ".join(unread_cells(row))
    is_word = 0 < len(text.split()) <= WORDS_MAX and not any(map(str.isdigit, text))
    return text if is_word else ""  # an earlier result differs from row to row, too


def _side(row: Row) -> str:
    if len(row.values) != 1:
        return ""
    _, range_, _ = split_unit_and_range(row.texts.get("unit", ""), row.texts.get("range", ""))
    parts = split_value(row.values[0][0])
    return flag_of(read_value(parts.value), read_range(range_ or parts.range))
