"""The tables of a page of HTML as rows of cells. No network, no entity, and no limit of the parser lifted."""

from collections.abc import Iterator

from lxml import etree, html

from stateward.core.errors import FatalFailure

CELLS_MAX = 5_000_000
SPAN_MAX = 100  # of one cell: more is no table that a person would look at


def parse_html(text: str) -> html.HtmlElement:
    """The root of a page. Its text is decoded already, whatever encoding the page names."""
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True)
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise FatalFailure(f"the page cannot be read: {error}", code="UNKNOWN_FORMAT") from error
    # What stands deeper is left out by the parser, without an exception.
    if any("Excessive depth" in entry.message for entry in parser.error_log):
        raise FatalFailure("the page has too many elements within elements", code="UNKNOWN_FORMAT")
    return root


def tables_of(root: html.HtmlElement) -> Iterator[list[list[str]]]:
    """The rows of every innermost table: an outer one only places the others."""
    left = CELLS_MAX
    for table in root.iter("table"):
        if next(table.iterdescendants("table"), None) is not None:
            continue
        rows = _rows(table)
        left -= sum(map(len, rows))
        if left < 0:
            raise FatalFailure(f"the page has more than {CELLS_MAX} cells", code="TOO_LARGE")
        yield rows


def _rows(table: html.HtmlElement) -> list[list[str]]:
    """A cell over several columns or rows is in the first of them, and the others are empty."""
    rows: list[list[str]] = []
    below: dict[
        int, int
    ] = {}  # of each column that a cell above covers: in how many rows from here on
    for row in table.iter("tr"):
        cells: list[str] = []
        covered = below
        below = {at: count - 1 for at, count in covered.items() if count > 1}
        for cell in row:
            if cell.tag in ("td", "th"):
                while len(cells) in covered:
                    cells.append("")
                width, height = _span(cell, "colspan"), _span(cell, "rowspan")
                if height > 1:
                    below |= dict.fromkeys(range(len(cells), len(cells) + width), height - 1)
                cells += [_text(cell), *[""] * (width - 1)]
        while len(cells) in covered:
            cells.append("")
        rows.append(cells)
    return rows


def _span(cell: html.HtmlElement, name: str) -> int:
    text = str(cell.get(name) or "1").strip()
    return min(max(int(text), 1), SPAN_MAX) if text.isdecimal() and len(text) < 6 else 1


def _text(cell: html.HtmlElement) -> str:
    return " ".join(" ".join(str(part) for part in cell.itertext()).split())
