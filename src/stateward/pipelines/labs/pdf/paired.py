"""Rows with two results each: a count in per cent and per volume, with their units or below a line that names both."""

from collections.abc import Sequence

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import cells, is_result, split_value, without_leaders
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.words import column_of

PAIRS = 4  # headings: two of values and two of their ranges


class _Column(msgspec.Struct, frozen=True):
    """A heading that ends with a unit: `Anzahl G/l`, `Norm G/l`."""

    unit: str
    is_range: bool
    x0: float
    x1: float


def paired_tables(page: Sequence[PdfLine]) -> tuple[list[Row], list[PdfLine]]:
    """The results of tables whose headings name two units, each with its range; and the lines that are of none.

    Differentialblutbild   Anteil %    Norm %         Anzahl G/l    Norm G/l
    Neutrophile            29,0 -      40,0 - 75,0    3,53          1,80 - 7,50
    """
    rows: list[Row] = []
    others: list[PdfLine] = []
    columns: list[_Column] = []
    title = ""
    for line in page:
        if found := _paired_headings(line):
            columns, title = found, _text(cells(line.words)[0])
        elif columns and (pair := _row_of_pairs(line, columns, title)):
            rows += pair
        else:
            columns = []
            others.append(line)
    return rows, others


def _paired_headings(line: PdfLine) -> list[_Column]:
    """The four headings behind the first cell of a line; none if it is another line."""
    _, *found = cells(line.words)
    columns = [
        _Column(unit, column_of(head) == "range", cell[0].x0, cell[-1].x1)
        for cell in found
        if (head := " ".join(word.text for word in cell[:-1]))
        and is_known_unit(unit := cell[-1].text)
    ]
    values, ranges = ([c.unit for c in columns if c.is_range == told] for told in (False, True))
    is_pair = len(columns) == len(found) == PAIRS and values == ranges and len({*values}) == 2
    return columns if is_pair else []


def _row_of_pairs(line: PdfLine, columns: Sequence[_Column], title: str) -> list[Row]:
    """The two results of a line, each cell below the heading that is nearest; none if it is another line."""
    first, *found = cells(line.words)
    name = without_leaders(_text(first))
    placed: dict[int, list[PdfWord]] = {}
    for cell in found:
        gaps = [max(each.x0 - cell[-1].x1, cell[0].x0 - each.x1, 0.0) for each in columns]
        placed.setdefault(gaps.index(min(gaps)), []).extend(cell)
    rows = []
    for at, column in enumerate(columns):
        if (
            column.is_range
            or at not in placed
            or not is_result(split_value(_text(placed[at])).value)
        ):
            continue
        of_range = next(
            n for n, each in enumerate(columns) if each.is_range and each.unit == column.unit
        )
        words = [*first, *placed[at], *placed.get(of_range, ())]
        texts = {"unit": column.unit, "range": _text(placed.get(of_range, ()))}
        value = [(_text(placed[at]), "")]
        row = Row(name, line.page, line.base, line.height, line.x0, words, texts, value)
        row.section, row.start = title, line.base
        rows.append(row)
    return rows


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
