"""Rows below the headings of a table that say in words what its columns hold, as programs for surveys write them."""

import re
from collections.abc import Iterable, Sequence

from stateward.pipelines.experiments.schema import heading_unit
from stateward.pipelines.experiments.units import is_unit
from stateward.pipelines.kit.delimited import Record

SAMPLE_ROWS = 200
ROWS_MIN = 3  # of data, by which columns are known
LABEL_ROWS_MAX = 3  # below the headings
LABELLED_MIN = 2  # columns of numbers that have words above them
LABELLED_SHARE = 0.7  # of their cells
_IN_BRACKETS = re.compile(r"\(([^()]{1,40})\)")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+(?:[eE][+-]?[0-9]{1,4})?")


def count_labels(records: Sequence[Record], missing_values: Iterable[str]) -> int:
    """How many first rows are words above numbers: a survey program writes its questions below the headings."""
    width = len(records[0][1]) if records else 0
    missing = frozenset(missing_values)
    labels = [cells for _, cells in records[:LABEL_ROWS_MAX] if len(cells) == width]
    sample = [cells for _, cells in records[LABEL_ROWS_MAX:SAMPLE_ROWS] if len(cells) == width]
    if len(sample) < ROWS_MIN:
        return 0
    numeric = [
        at
        for at in range(width)
        if (below := [c for cells in sample if (c := cells[at].strip()) not in missing])
        and sum(_is_figure(cell) for cell in below) >= LABELLED_SHARE * len(below)
    ]
    if len(numeric) < LABELLED_MIN:
        return 0
    count = 0
    for cells in labels:
        told = [cells[at].strip() for at in numeric]
        if not all(told) or any(map(_is_figure, told)):
            break
        count += 1
    return count


def _is_figure(cell: str) -> bool:
    """Whether a cell is a number or a moment."""
    return _NUMBER.fullmatch(cell) is not None or (
        cell[:1].isdigit() and _LETTERS.search(cell) is None
    )


def units_in_labels(headings: Sequence[str], labels: Sequence[Sequence[str]]) -> dict[str, str]:
    """The units that descriptions of columns name in brackets: `How far is it (km, one way)?`."""
    found: dict[str, str] = {}
    for cells in labels:
        for heading, cell in zip(headings, cells, strict=True):
            for told in _IN_BRACKETS.findall(cell):
                first = told.split(",")[0].strip()
                if is_unit(first) and len(first) > 1 and not heading_unit(heading)[1]:
                    found.setdefault(heading, first)
    return found
