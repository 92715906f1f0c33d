"""HTML tables: many banks save a web page under the name of a spreadsheet. Each table with transactions is read."""

from collections.abc import Iterator

from lxml import etree, html

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.model import StatementReading, StatementSection
from stateward.pipelines.statements.sheet import table_section
from stateward.pipelines.statements.source import Source

BYTES_MAX = 64 << 20
CELLS_MAX = 5_000_000
SPAN_MAX = 100  # of one cell: more is no table that a person would look at


def read(source: Source) -> StatementReading:
    """One section for each table that holds transactions; the others are named in the log."""
    if source.path.stat().st_size > BYTES_MAX:
        raise FatalFailure(f"the page is larger than {BYTES_MAX} bytes; split it", code="TOO_LARGE")
    reading = StatementReading(format="html", sections=(), problems=[], decisions=[], late={})
    sections: list[StatementSection] = []
    for number, rows in enumerate(_tables(source.text()), start=1):
        section = table_section(rows, source, reading) if len(rows) > 1 else None
        what = "holds no transactions" if section is None else "holds a statement"
        reading.decisions.append(f"the table {number} of the page {what}")
        sections += [section] if section is not None else []
    if not sections:
        raise FatalFailure(
            "the file is a web page without a table of transactions; download the statement as PDF or CSV",
            code="UNKNOWN_FORMAT",
        )
    reading.sections = sections
    reading.decisions[:0] = source.decisions
    return reading


def _tables(text: str) -> Iterator[list[list[str]]]:
    """The rows of every innermost table: an outer one only places the others."""
    # No network, and no limit lifted. The text is decoded already, whatever encoding the page names.
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True)
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise FatalFailure(f"the page cannot be read: {error}", code="UNKNOWN_FORMAT") from error
    left = CELLS_MAX
    for table in root.iter("table"):
        if next(table.iterdescendants("table"), None) is not None:
            continue
        rows = [_cells(row) for row in table.iter("tr")]
        left -= sum(map(len, rows))
        if left < 0:
            raise FatalFailure(f"the page has more than {CELLS_MAX} cells", code="TOO_LARGE")
        yield rows


def _cells(row: html.HtmlElement) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if cell.tag in ("td", "th"):
            # A cell over several columns is in the first of them, and the others are empty.
            cells += [_text(cell), *[""] * (_span(cell) - 1)]
    return cells


def _span(cell: html.HtmlElement) -> int:
    text = str(cell.get("colspan") or "1").strip()
    return min(max(int(text), 1), SPAN_MAX) if text.isdecimal() and len(text) < 6 else 1


def _text(cell: html.HtmlElement) -> str:
    return " ".join(" ".join(str(part) for part in cell.itertext()).split())
