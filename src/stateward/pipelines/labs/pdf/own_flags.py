"""A laboratory's own words for high and low, learned from where they stand.

A word that stands in every row above its range and in no row within it means high, in whatever language it is and
whatever the heading of its column says. What is learned so is given as the printed flag; nothing is converted by it.
"""

import re
from collections.abc import Collection, Sequence

from stateward.pipelines.labs.pdf.cells import is_flag, split_unit_and_range, split_value
from stateward.pipelines.labs.pdf.headings import UNKNOWN
from stateward.pipelines.labs.pdf.leftovers import unread_cells
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import flag_of, read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value

WORDS_MAX = 3
ROWS_MIN = 2  # out of range: one may be chance
PLACES = ("flag", "comment", "status", UNKNOWN)  # roles of columns
NORMAL = "N"
DASHES = frozenset({"-", "−", "–", "—", "--"})  # which mean low beside low values
_BEHIND_NUMBER = re.compile(
    r"(?P<number>[<>≤≥]?\s?[0-9][0-9.,]*)\s+(?P<word>[^\W\d]{2,})(?P<unit>\s.*)?"
)


def drop_dashes(rows: Sequence[Row]) -> None:
    """Empty the cells of flags where a dash stands for none: it is beside more normal values than low ones."""
    dashed = [row for row in rows if row.texts.get("flag", "") in DASHES]
    sides = [_side(row) for row in dashed]
    if sides.count(NORMAL) > sides.count("L"):
        for row in dashed:
            row.texts["flag"] = ""


def learn_flags(rows: Sequence[Row]) -> None:
    """Give the rows of a report the flags whose words it does not share with others, where they can be told.

    They stand in a column, in a cell that is in none, or behind the number of a value.
    """
    if any(row.flag or is_flag(row.texts.get("flag", "")) for row in rows):
        return
    if any(split_value(text).flag for row in rows for text, _ in row.values):
        return
    sides = [(row, side) for row in rows if (side := _side(row))]
    for place in PLACES:
        if words := _learn_words([(side, [_text(row, place)]) for row, side in sides]):
            for row in rows:
                if _text(row, place) in words:
                    row.flag = row.texts.pop(place)
            return
    if words := _learn_words([(side, _cells(row)) for row, side in sides]):
        for row in rows:
            row.flag = next((text for text in _cells(row) if text in words), "")
    elif words := _learn_words([(side, [_word(row)]) for row, side in sides]):
        for row in rows:
            _part_value(row, words)


def _learn_words(told: Sequence[tuple[str, Sequence[str]]]) -> set[str]:
    """The words of which each row out of its range has one, and no row within it; none if that is chance."""
    within = {text for side, texts in told if side == NORMAL for text in texts}
    outside = [{*texts} - within - {""} for side, texts in told if side != NORMAL]
    has_within = len(outside) < len(told)
    is_told = len(outside) >= ROWS_MIN and has_within and all(len(each) == 1 for each in outside)
    return set[str]().union(*outside) if is_told else set()


def _text(row: Row, place: str) -> str:
    return _as_word(row.texts.get(place, ""))


def _cells(row: Row) -> list[str]:
    return [text for each in unread_cells(row) if (text := _as_word(each))]


def _as_word(text: str) -> str:
    # An earlier result differs from row to row, too.
    is_word = len(text.split()) <= WORDS_MAX and not any(map(str.isdigit, text))
    return text if is_word else ""


def _word(row: Row) -> str:
    """The word behind the number of a value, and before its unit: `3,4 low mmol/L`."""
    found = _BEHIND_NUMBER.fullmatch(row.values[0][0]) if len(row.values) == 1 else None
    return "" if found is None or is_known_unit(found["word"]) else found["word"]


def _part_value(row: Row, words: Collection[str]) -> None:
    """Take one of the words out of a value, which may be a word itself."""
    for at, (text, date) in enumerate(row.values):
        parts = text.split()
        found = next((word for word in parts[1:] if word in words), "")
        if found:
            parts.remove(found)
            row.values[at], row.flag = (" ".join(parts), date), found


def _side(row: Row) -> str:
    if len(row.values) != 1:
        return ""
    _, range_, _ = split_unit_and_range(row.texts.get("unit", ""), row.texts.get("range", ""))
    found = _BEHIND_NUMBER.fullmatch(row.values[0][0]) if _word(row) else None
    parts = split_value(row.values[0][0] if found is None else found["number"])
    return flag_of(read_value(parts.value), read_range(range_ or parts.range))
