"""The tables of a page of HTML as rows of cells. No network, no entity, and no limit of the parser lifted."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from lxml import etree, html

from stateward.core.errors import FatalFailure

CELLS_MAX = 5_000_000
SPAN_MAX = 100  # of one cell: more is no table that a person would look at
COLUMNS_MAX = 200  # in which cells may go on: a page of spans alone must not take minutes
Content = TypeVar("Content")  # of a cell


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
    spans = CellSpans()
    return [
        spans.columns([(cell, _text(cell)) for cell in row if cell.tag in ("td", "th")], empty="")
        for row in table.iter("tr")
    ]


class CellSpans:
    """Which columns of the next row of a table cells above it cover."""

    def __init__(self) -> None:
        self._covered: dict[int, int] = {}  # of a column: in how many rows from here on

    def columns(
        self, cells: Sequence[tuple[html.HtmlElement, Content]], *, empty: Content
    ) -> list[Content]:
        """The contents of the columns of the next row; `empty` where a cell beside it or above goes on."""
        columns: list[Content] = []
        covered = self._covered
        below = {at: count - 1 for at, count in covered.items() if count > 1}
        for cell, content in cells:
            while len(columns) in covered:
                columns.append(empty)
            width = _span(cell, "colspan") if len(columns) < COLUMNS_MAX else 1
            height = _span(cell, "rowspan") if len(columns) < COLUMNS_MAX else 1
            if height > 1:
                below |= dict.fromkeys(range(len(columns), len(columns) + width), height - 1)
            columns += [content, *[empty] * (width - 1)]
        while len(columns) in covered:
            columns.append(empty)
        self._covered = below
        return columns


def _span(cell: html.HtmlElement, name: str) -> int:
    text = str(cell.get(name) or "1").strip()
    return min(max(int(text), 1), SPAN_MAX) if text.isdecimal() and len(text) < 6 else 1


def _text(cell: html.HtmlElement) -> str:
    return " ".join(" ".join(str(part) for part in cell.itertext()).split())
