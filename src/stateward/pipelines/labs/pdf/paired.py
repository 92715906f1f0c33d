"""Rows with two results each: a count in per cent and per volume, with their units or below a line that names both."""

from collections.abc import Iterator, Sequence

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import cells, is_result, split_value, without_leaders
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit, is_measure
from stateward.pipelines.labs.words import column_of

COLUMNS_MIN = 2  # of different units
ROWS_MIN = 2  # below a line of units alone
BESIDE_MAX = 30.0  # points between a cell and the heading that it belongs to


class _Column(msgspec.Struct):
    """A heading that is a unit or ends with one: `/mm3`, `Anzahl G/l`, `Norm G/l`."""

    unit: str
    is_range: bool
    x0: float
    x1: float


Placed = dict[int, list[PdfWord]]


def paired_tables(page: Sequence[PdfLine]) -> tuple[list[Row], list[PdfLine]]:
    """The results of tables whose headings name several units; and the lines that are of none.

    Differentialblutbild   Anteil %    Norm %         Anzahl G/l    Norm G/l
    Neutrophile            29,0 -      40,0 - 75,0    3,53          1,80 - 7,50

    Série branca           %           /mm3           /mm3
    Neutrófilos            55,4        3.440          1.700 a 7.000
    """
    rows: list[Row] = []
    others: list[PdfLine] = []
    at = 0
    while at < len(page):
        title, columns = _unit_headings(page[at])
        lines = _lines_below(page, at + 1, columns) if columns else []
        rows_min = 1 if any(each.is_range for each in columns) else ROWS_MIN
        if len(lines) >= rows_min and _tell_ranges(columns, [placed for _, placed in lines]):
            for line, placed in lines:
                rows += _row_of_pairs(line, placed, columns, title)
            at += 1 + len(lines)
        else:
            others.append(page[at])
            at += 1
    return rows, others


def _unit_headings(line: PdfLine) -> tuple[str, list[_Column]]:
    """The title before the units of a line, and the columns that these name; none if it is another line."""
    first, *found = cells(line.words)
    title = _text(first)
    if is_known_unit(title):
        title, found = "", [first, *found]
    heads = [" ".join(word.text for word in cell[:-1]) for cell in found]
    columns = [
        _Column(unit, column_of(head) == "range", cell[0].x0, cell[-1].x1)
        for cell, head in zip(found, heads, strict=True)
        if is_known_unit(unit := cell[-1].text)
    ]
    is_told = not any(heads) or any(each.is_range for each in columns)
    is_whole = is_told and len(columns) == len(found) and not any(map(str.isdigit, title))
    has_several = len({each.unit for each in columns}) >= COLUMNS_MIN
    return (title, columns) if is_whole and has_several else ("", [])


def _lines_below(
    page: Sequence[PdfLine], start: int, columns: Sequence[_Column]
) -> list[tuple[PdfLine, Placed]]:
    """The lines of the table: a name, and behind it cells that each belong to another column."""
    found: list[tuple[PdfLine, Placed]] = []
    for line in page[start:]:
        placed = _place(line, columns)
        if placed is None:
            break
        found.append((line, placed))
    return found


def _place(line: PdfLine, columns: Sequence[_Column]) -> Placed | None:
    """The cells behind the name of a line by column; None where one is a unit or belongs to no column."""
    first, *found = cells(line.words)
    placed: Placed = {}
    if not found or first[0].x0 >= columns[0].x0 or is_result(_text(first)):
        return None
    for cell in found:
        gaps = [max(each.x0 - cell[-1].x1, cell[0].x0 - each.x1, 0.0) for each in columns]
        at = gaps.index(min(gaps))
        if min(gaps) > BESIDE_MAX or is_measure(_text(cell)):
            return None
        placed.setdefault(at, []).extend(cell)
    return placed


def _tell_ranges(columns: Sequence[_Column], rows: Sequence[Placed]) -> bool:
    """Tell the columns of ranges from those of results by what they hold; False where they hold anything else."""
    for at, column in enumerate(columns):
        texts = [_text(row[at]) for row in rows if at in row]
        ranges = sum(read_range(text).kind == "interval" and not _is_value(text) for text in texts)
        column.is_range = column.is_range or (bool(texts) and 2 * ranges > len(texts))
        if not column.is_range and 2 * sum(map(_is_value, texts)) < len(texts):
            return False
    values = {each.unit for each in columns if not each.is_range}
    return len(values) >= COLUMNS_MIN and all(
        each.unit in values for each in columns if each.is_range
    )


def _is_value(text: str) -> bool:
    return is_result(split_value(text).value)


def _row_of_pairs(
    line: PdfLine, placed: Placed, columns: Sequence[_Column], title: str
) -> Iterator[Row]:
    """The results of a line, each with the range in its unit."""
    first = cells(line.words)[0]
    name = without_leaders(_text(first))
    ranges = {each.unit: at for at, each in enumerate(columns) if each.is_range}
    values = [at for at, each in enumerate(columns) if not each.is_range and at in placed]
    for at in values:
        unit = columns[at].unit
        of_range = placed.get(ranges[unit], []) if unit in ranges else []
        words = [*first, *placed[at], *of_range]
        texts = {"unit": unit, "range": _text(of_range)}
        row = Row(
            name,
            line.page,
            line.base,
            line.height,
            line.x0,
            words,
            texts,
            [(_text(placed[at]), "")],
        )
        row.section, row.start = title, line.base
        yield row


def paired_rows(line: PdfLine) -> list[Row]:
    """The two results of a line: a name, two numbers, each with its unit, and maybe their two ranges.

    One range is that of the value in its unit: `Linfócitos   31 %   2.124 /mm³   1.000 a 4.000 /mm³`.
    """
    found = cells(line.words)
    texts = [*map(_text, found)]
    has_ranges = len(texts) == 5 and all(read_range(each).kind == "interval" for each in texts[3:])
    shared = read_range(texts[3]) if len(texts) == 4 else None
    if not (has_ranges or len(texts) == 3 or (shared and shared.kind == "interval")):
        return []
    values = [split_value(text) for text in texts[1:3]]
    units = tuple(each.unit for each in values)
    texts[1:3] = [each.value for each in values]
    if not all(units) or units[0] == units[1] or not all(map(is_result, texts[1:3])):
        return []
    if shared is not None:
        if shared.unit not in units:
            return []
        texts[3:] = [texts[3] if unit == shared.unit else "" for unit in units]
        found[3:] = [found[3] if unit == shared.unit else [] for unit in units]
        has_ranges = True
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
