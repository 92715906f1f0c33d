"""Rows whose cells do not stand below their headings, and follow each other as the headings do.

Blanks that a program counted for a monospaced font set a row of another one anywhere: `GGT     45    U/L    9 - 48`.
Such a row is read by the order of its cells, where each of them is what its column holds and none is left over.
"""

from collections.abc import Callable, Mapping, Sequence

from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.pdf.cells import is_flag, is_result, split_value
from stateward.pipelines.labs.pdf.layout import Layout
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit

Cells = Sequence[Sequence[PdfWord]]
Placed = dict[int, list[PdfWord]]

CELLS_MIN = 3  # a name, a value and one thing more


def _is_value(text: str) -> bool:
    return is_result(split_value(text).value)


def _is_range(text: str) -> bool:
    return read_range(text).kind in ("interval", "titre", "conditional")


_HOLDS: Mapping[str, Callable[[str], bool]] = {
    "value": _is_value,
    "unit": is_known_unit,
    "range": _is_range,
    "flag": is_flag,
    "status": is_flag,
}


def place_in_order(layout: Layout, found: Cells) -> Placed:
    """The words of a row by column, in the order of its cells; {} where their places tell the columns.

    Only of a table whose columns are all known: beside earlier results, a number might be one of those.
    """
    roles = [each.role for each in layout.columns]
    is_plain = (
        roles[:1] == ["test"] and set(roles[1:]) <= _HOLDS.keys() and roles.count("value") == 1
    )
    if not is_plain or len(found) < CELLS_MIN or not _is_misplaced(layout, found):
        return {}
    placed = {0: [*found[0]]}
    at = 1
    for cell in found[1:]:
        text = _text(cell)
        while at < len(roles) and not _HOLDS[roles[at]](text):
            at += 1
        if at == len(roles):
            return {}
        placed[at] = [*cell]
        at += 1
    return placed if roles.index("value") in placed else {}


def _is_misplaced(layout: Layout, found: Cells) -> bool:
    """Whether no value stands where values do, or a cell with a number reaches over a border."""
    value_at = next(n for n, each in enumerate(layout.columns) if each.role == "value")
    value = " ".join(
        word.text for cell in found for word in cell if layout.column_at(word) == value_at
    )
    is_parted = any(
        len({layout.column_at(word) for word in cell}) > 1 and any(map(str.isdigit, _text(cell)))
        for cell in found[1:]
    )
    return is_parted or not _is_value(value)


def _text(cell: Sequence[PdfWord]) -> str:
    return " ".join(word.text for word in cell)
