"""Rows with two results each: a count in per cent and per volume, with their units or below a line that names both."""

from collections.abc import Sequence

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import cells, is_result, split_value, without_leaders
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit


def paired_units(line: PdfLine) -> tuple[str, ...]:
    """The two units of a line that holds nothing else, once for the results and maybe again for the ranges."""
    texts = tuple(map(_text, cells(line.words)))
    is_pair = len(texts) in (2, 4) and texts[0] != texts[1] and texts[:2] == texts[-2:]
    return texts[:2] if is_pair and all(map(is_known_unit, texts)) else ()


def paired_rows(line: PdfLine, units: Sequence[str]) -> list[Row]:
    """The two results of a line: a name, two numbers and maybe their two ranges; none if it is another line."""
    found = cells(line.words)
    texts = [*map(_text, found)]
    has_ranges = len(texts) == 5 and all(read_range(each).kind == "interval" for each in texts[3:])
    if not (has_ranges or len(texts) == 3):
        return []
    values = [split_value(text) for text in texts[1:3]]
    own = tuple(each.unit for each in values)
    if all(own) and own[0] != own[1]:  # `54,5 %   1.635 /mm³`: each value has its unit behind it
        units = own
        texts[1:3] = [each.value for each in values]
    if not units or not all(map(is_result, texts[1:3])):
        return []
    rows = []
    for at, unit in enumerate(units):
        name, range_ = without_leaders(texts[0]), texts[3 + at] if has_ranges else ""
        words = [*found[0], *found[1 + at], *(found[3 + at] if has_ranges else ())]
        row = Row(
            name,
            line.page,
            line.base,
            line.height,
            line.words[0].x0,
            words,
            {"unit": unit, "range": range_},
            [(texts[1 + at], "")],
        )
        row.is_loose, row.is_unread = True, not is_name(name)
        rows.append(row)
    return rows


def _text(cell: Sequence[PdfWord]) -> str:
    return " ".join(word.text for word in cell)
