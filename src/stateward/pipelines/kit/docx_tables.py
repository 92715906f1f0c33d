"""What lies behind the cells of the tables of a DOCX, and how a table style makes their letters look.

What a cell says of its shading comes first, then the parts of the table style that are for its place (head, bands,
first column, ...), then its row and its table; a table without any shows the cell around it, or paper. The ground of
each cell is written into it, for those who ask whether its letters are seen.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lxml import etree

from stateward.pipelines.kit.contrast import BLACK, WHITE, Color, blend, color_of
from stateward.pipelines.kit.xml import local_name

GROUND = "ground"  # the attribute of a cell that no DOCX has: it is in no namespace
PAPER, UNKNOWN = "ffffff", "unknown"  # of a ground: six digits, or a colour of a theme
COLUMNS_MAX = 63  # of a table of Word
BASES_MAX = 20
LOOKS = frozenset({"strike", "dstrike", "vanish", "color", "sz", "shd", "highlight"})
WHOLE = ""
LIGHT_OF_THEME = frozenset({"background1", "bg1", "light1", "lt1"})
# Switches of `tblLook` as bits of its number; the last two switch bands off.
SWITCHES = {
    "firstRow": 0x20, "lastRow": 0x40, "firstColumn": 0x80, "lastColumn": 0x100, "noHBand": 0x200, "noVBand": 0x400,
}  # fmt: skip
Looks = dict[str, etree._Element]


class PartOfStyle(NamedTuple):
    """What a table style says of the cells of one place: a fill of None is not said, "" is none."""

    fill: str | None
    looks: Looks


class TableStyles:
    """The table styles of a document by name; "" is the default."""

    def __init__(self, styles: etree._Element | None) -> None:
        self._own: dict[str, dict[str, PartOfStyle]] = {}
        self._based: dict[str, str] = {}
        self._bands: dict[str, tuple[int, int]] = {}
        for style in styles if styles is not None else ():
            if local_name(style) != "style" or attribute(style, "type") != "table":
                continue
            names = [attribute(style, "styleId")]
            if attribute(style, "default") in ("1", "true", "on"):
                names.append("")
            for name in names:
                self._own[name] = dict(_parts_of(style))
                self._based[name] = value_of(style, "basedOn")
                self._bands[name] = (
                    count_of(style, "tblPr", "tblStyleRowBandSize", least=1),
                    count_of(style, "tblPr", "tblStyleColBandSize", least=1),
                )

    def write_into(self, tree: etree._Element) -> dict[etree._Element, Looks]:
        """Write the ground of each cell into it; the looks that table styles give to cells, and cells not on paper."""
        found: dict[etree._Element, Looks] = {}
        for table in tree.iter("{*}tbl"):  # an outer table comes before those in its cells
            around = ground_around(table)
            below = _fill(table, "tblPr")
            rows = _within(table, "tr", "tbl")
            parts_of = self._parts_of_cells(table, rows)
            for at, row in enumerate(rows):
                of_row = _fill(row, "tblPrEx")
                cells = _within(row, "tc", "tr")
                for cell, parts in zip(cells, parts_of(at, cells), strict=True):
                    fills = (
                        _fill(cell, "tcPr"),
                        *(part.fill for part in reversed(parts)),
                        of_row,
                        below,
                    )
                    ground = next((fill for fill in fills if fill is not None), "") or around
                    cell.set(GROUND, ground)
                    looks: Looks = {}
                    for part in parts:
                        looks |= part.looks
                    if looks or ground != PAPER:
                        found[cell] = looks
        return found

    def _parts_of_cells(
        self, table: etree._Element, rows: Sequence[etree._Element]
    ) -> Callable[[int, Sequence[etree._Element]], list[list[PartOfStyle]]]:
        """What tells the parts of the style of a table for the cells of each of its rows, the strongest last."""
        properties = next(_children(table, "tblPr"), None)
        style = "" if properties is None else value_of(properties, "tblStyle")
        chain = self._chain(style)
        if not any(place for own in chain for place in own):  # as in most documents
            parts = [own[WHOLE] for own in chain]
            return lambda _, cells: [parts] * len(cells)
        look = {} if properties is None else _switches(next(_children(properties, "tblLook"), None))
        bands = self._bands.get(style, (1, 1))

        def of_row(at: int, cells: Sequence[etree._Element]) -> list[list[PartOfStyle]]:
            column = count_of(rows[at], "trPr", "gridBefore", least=0)
            found: list[list[PartOfStyle]] = []
            for number, cell in enumerate(cells):
                ends = (at == 0, at == len(rows) - 1, number == 0, number == len(cells) - 1)
                places = _places(look, ends, (at, column), bands)
                found.append([own[place] for place in places for own in chain if place in own])
                column += count_of(cell, "tcPr", "gridSpan", least=1)
            return found

        return of_row

    def _chain(self, style: str) -> list[dict[str, PartOfStyle]]:
        """A style and those that it is based on, the strongest last."""
        chain: list[dict[str, PartOfStyle]] = []
        for _ in range(BASES_MAX):
            if style in self._own:
                chain.insert(0, self._own[style])
            style = self._based.get(style, "")
            if not style:
                break
        return chain


def ground_around(element: etree._Element) -> str:
    """What lies behind an element by the cell around it; a box of text lies on paper."""
    for above in element.iterancestors("{*}tc", "{*}txbxContent"):
        return str(above.get(GROUND, PAPER))
    return PAPER


def fill_of(shading: etree._Element) -> str:
    """The colour of a shading: six digits, "" where what lies behind shines through, or `unknown`."""
    pattern = attribute(shading, "val").lower()
    back = _color_of(shading, "fill", "themeFill")
    if pattern in ("", "clear", "nil"):
        return back
    front = _color_of(shading, "color", "themeColor")
    colors = color_of(front) if front else BLACK, color_of(back) if back else WHITE
    percent = pattern.removeprefix("pct")
    share = 1.0 if pattern == "solid" else int(percent) / 100 if percent.isdecimal() else 0.5
    return _digits(colors[0], colors[1], min(share, 1.0))


def _digits(front: Color | None, back: Color | None, share: float) -> str:
    if front is None or back is None:
        return UNKNOWN
    return bytes(blend(front, back, share)).hex()


def _color_of(shading: etree._Element, name: str, of_theme: str) -> str:
    digits = attribute(shading, name).lower()
    if digits not in ("", "auto"):
        return digits if color_of(digits) else UNKNOWN
    theme = attribute(shading, of_theme).lower()
    return PAPER if theme in LIGHT_OF_THEME else UNKNOWN if theme else ""


def _parts_of(style: etree._Element) -> Iterator[tuple[str, PartOfStyle]]:
    for place, part in [
        (WHOLE, style),
        *((attribute(each, "type"), each) for each in _children(style, "tblStylePr")),
    ]:
        fill = _fill(part, "tcPr")
        if fill is None:
            fill = _fill(part, "tblPr")
        properties = [each for run in _children(part, "rPr") for each in run]
        yield (
            place,
            PartOfStyle(
                fill, {local_name(each): each for each in properties if local_name(each) in LOOKS}
            ),
        )


def _switches(look: etree._Element | None) -> dict[str, bool]:
    """Which parts of its style a table has; each said by name, or all as one hexadecimal number."""
    if look is None:
        return {}
    try:
        number = int(attribute(look, "val") or "0", 16)
    except ValueError:
        number = 0
    return {
        name: said in ("1", "true", "on") if (said := attribute(look, name)) else bool(number & bit)
        for name, bit in SWITCHES.items()
    }


def _places(
    look: dict[str, bool],
    ends: tuple[bool, bool, bool, bool],
    at: tuple[int, int],
    bands: tuple[int, int],
) -> list[str]:
    """The parts of a table style that a cell belongs to, the strongest last."""
    first_row, last_row, first_column, last_column = (
        is_end and look.get(name, False) for is_end, name in zip(ends, SWITCHES, strict=False)
    )
    row, column = at[0] - look.get("firstRow", False), at[1] - look.get("firstColumn", False)
    places = [WHOLE]
    if not (look.get("noVBand") or first_column or last_column):
        places.append(f"band{column // bands[1] % 2 + 1}Vert")
    if not (look.get("noHBand") or first_row or last_row):
        places.append(f"band{row // bands[0] % 2 + 1}Horz")
    places += ["lastRow"] * last_row + ["firstRow"] * first_row
    places += ["lastCol"] * last_column + ["firstCol"] * first_column
    for has_row, side in ((first_row, "n"), (last_row, "s")):
        places += [f"{side}eCell"] * (has_row and last_column)
        places += [f"{side}wCell"] * (has_row and first_column)
    return places


def _fill(element: etree._Element, part: str) -> str | None:
    for properties in _children(element, part):
        for shading in _children(properties, "shd"):
            return fill_of(shading)
    return None


def _within(element: etree._Element, name: str, around: str) -> list[etree._Element]:
    """Rows or cells of a table, and not of one within it."""
    return [
        each
        for each in element.iter(f"{{*}}{name}")
        if each.getparent() is element
        or next(each.iterancestors(f"{{*}}{around}"), None) is element
    ]


def count_of(element: etree._Element, part: str, name: str, *, least: int) -> int:
    """A number that a row, a cell or a style says of itself."""
    value = next((value_of(each, name) for each in _children(element, part)), "")
    return max(least, min(int(value), COLUMNS_MAX)) if value.isdecimal() else least


def value_of(element: etree._Element, name: str) -> str:
    """The value of a child of a name; "" without one."""
    return next((attribute(each, "val") for each in _children(element, name)), "")


def attribute(element: etree._Element, name: str) -> str:
    """The value of an attribute, whatever its namespace."""
    values = (str(value) for key, value in element.items() if key.rpartition("}")[2] == name)
    return next(values, "")


def _children(element: etree._Element, name: str) -> Iterator[etree._Element]:
    yield from element.iterchildren(f"{{*}}{name}")
