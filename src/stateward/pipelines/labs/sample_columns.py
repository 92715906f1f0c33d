"""Tables with a column for each sample: what their headings, or rows above them, call the samples.

Sample ID:                       BH01         BH02
Date sampled:                    2025-05-20   2025-05-20
Analyte       Unit     LOR
Arsenic       mg/L     0.001     0.004        <0.001
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from stateward.pipelines.kit.dates import is_date
from stateward.pipelines.labs.ranges import flag_of, read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import is_number_like, read_value
from stateward.pipelines.labs.words import column_of_cell, ordinal_of

ROWS_ABOVE_MAX = 8  # of names, places, depths and dates of the samples
VALUES_SHARE = 0.6  # of the filled cells of a column of results
UNITS_SHARE = 0.5  # of the cells in the column of units
VALUES_MIN = 2
LIMITS_MIN = 3  # rows with both, before two columns are taken for limits
INSIDE_SHARE = 0.4  # of their values


class Sample(NamedTuple):
    """A column of results of one sample: its place, what it is called and when it was taken, as printed."""

    at: int
    name: str
    day: str


def sample_columns(
    rows: Sequence[Sequence[str]], at: int, roles: Mapping[str, int]
) -> tuple[Sample, ...]:
    """The columns of samples behind those of the row of headings `at`, which names a test and a unit but no result."""
    body = rows[at + 1 :]
    units = [text for row in body if (text := _cell(row, roles["unit"]))]
    if sum(map(is_known_unit, units)) < max(1, UNITS_SHARE * len(units)):
        return ()
    behind = max(roles["test"], roles["unit"])
    width = max(map(len, rows), default=0)
    found = [
        index for index in range(behind + 1, width)
        if not column_of_cell(_cell(rows[at], index))
        and _holds_values(cells := [_cell(row, index) for row in body])
        and not _holds_ranges(cells)
    ]  # fmt: skip
    names, days = _told_of(rows, at, found)
    return tuple(
        Sample(index, names[index], days.get(index, "")) for index in found if index in names
    )


def column_of_ranges(
    rows: Sequence[Sequence[str]], at: int, roles: Mapping[str, int], samples: Sequence[Sample]
) -> dict[str, int]:
    """The column of ranges by what it holds, where no heading names it: two limits, or one with its comparison."""
    if not {"range", "low", "high"}.isdisjoint(roles) or not (samples or "value" in roles):
        return {}
    taken = {*roles.values(), *(each.at for each in samples)}
    width = max(map(len, rows), default=0)
    body = rows[at + 1 :]
    found = (
        n
        for n in range(width)
        if n not in taken
        and _holds_ranges([_cell(row, n) for row in body])
        and (samples or _are_of_values(body, n, roles["value"]))
    )
    index = next(found, None)
    return {} if index is None else {"range": index}


def _are_of_values(body: Sequence[Sequence[str]], at: int, value_at: int) -> bool:
    """Whether the values of enough rows lie in what reads as a range: the number of an order does, too."""
    sides = [flag_of(read_value(_cell(row, value_at)), read_range(_cell(row, at))) for row in body]
    told = [side for side in sides if side]
    return bool(told) and told.count("N") >= INSIDE_SHARE * len(told)


def columns_of_limits(
    rows: Sequence[Sequence[str]], at: int, roles: Mapping[str, int]
) -> dict[str, int]:
    """Two columns side by side by what they hold, where no heading names limits: smaller and larger, values between.

    Earlier results can rise as well: what is read so is marked as unsure.
    """
    if "value" not in roles or not {"range", "low", "high", "previous"}.isdisjoint(roles):
        return {}
    taken = {*roles.values()}
    for low in range(max(map(len, rows), default=0) - 1):
        headings = [_cell(rows[at], index) for index in (low, low + 1)]
        if {low, low + 1} & taken or any(map(column_of_cell, headings)):
            continue
        told = [
            tuple(read_value(_cell(row, index)) for index in (low, roles["value"], low + 1))
            for row in rows[at + 1 :]
            if _cell(row, low) and _cell(row, low + 1)
        ]
        numbers = [tuple(each.number for each in row) for row in told if row[0].number is not None]
        whole = [
            (one, value, two) for one, value, two in numbers if one is not None and two is not None
        ]
        is_rising = len(whole) == len(told) >= LIMITS_MIN and all(
            one < two for one, _, two in whole
        )
        inside = sum(value is not None and one <= value <= two for one, value, two in whole)
        if is_rising and inside >= INSIDE_SHARE * len(whole):
            return {"low": low, "high": low + 1}
    return {}


def _holds_ranges(cells: Sequence[str]) -> bool:
    filled = [text for text in cells if is_measured(text)]
    told = [read_range(text) for text in filled if not _is_quantity(text)]
    is_two_sided = any(each.low is not None and each.high is not None for each in told)
    count = sum(each.kind == "interval" for each in told)
    return is_two_sided and count >= VALUES_SHARE * len(filled)


def _is_quantity(text: str) -> bool:
    """Whether a text is one number without a comparison."""
    return read_value(text).kind == "quantity" and text[0] not in "<>≤≥"


def is_measured(text: str) -> bool:
    """Whether a cell of a sample holds a result: a dash means that nothing was asked for."""
    return any(map(str.isalnum, text))


def _told_of(
    rows: Sequence[Sequence[str]], at: int, columns: Sequence[int]
) -> tuple[dict[int, str], dict[int, str]]:
    """The names of samples and the days on which they were taken, by column; none without names."""
    names: dict[int, str] = {}
    days: dict[int, str] = {}
    for row in _rows_of_samples(rows, at):
        told = {index: text for index in columns if (text := _cell(row, index))}
        if told and all(map(_is_day, told.values())):
            days = days or told
        elif len(names) < len(told) == len(set(told.values())):
            names = told
    # A label may stand above a column that holds no results: `Sample ID:` above limits of reporting.
    return {index: text for index, text in names.items() if not text.endswith(":")}, days


def _rows_of_samples(rows: Sequence[Sequence[str]], at: int) -> Iterator[Sequence[str]]:
    """The row of headings, whose own names come first, and the rows above it."""
    yield rows[at]
    yield from rows[max(0, at - ROWS_ABOVE_MAX) : at]


def _is_day(text: str) -> bool:
    return is_date(text.replace("T", " ").split(" ")[0]) or is_date(text)


def _holds_values(cells: Sequence[str]) -> bool:
    filled = [text for text in cells if is_measured(text)]
    told = sum(is_number_like(text) or bool(ordinal_of(text)) or text[0] in "<>" for text in filled)
    return len(filled) >= VALUES_MIN and told >= VALUES_SHARE * len(filled)


def _cell(row: Sequence[str], index: int) -> str:
    return row[index].strip() if index < len(row) else ""
