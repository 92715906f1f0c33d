"""HTML tables: many banks save a web page under the name of a spreadsheet. Each table with transactions is read."""

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.html_tables import parse_html, tables_of
from stateward.pipelines.statements.model import StatementReading, StatementSection
from stateward.pipelines.statements.sheet import table_section
from stateward.pipelines.statements.source import Source

BYTES_MAX = 64 << 20


def read(source: Source) -> StatementReading:
    """One section for each table that holds transactions; the others are named in the log."""
    if source.path.stat().st_size > BYTES_MAX:
        raise FatalFailure(f"the page is larger than {BYTES_MAX} bytes; split it", code="TOO_LARGE")
    reading = StatementReading(format="html", sections=(), problems=[], decisions=[], late={})
    sections: list[StatementSection] = []
    for number, rows in enumerate(tables_of(parse_html(source.text())), start=1):
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
