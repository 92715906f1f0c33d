"""The reader of each format. The file is recognised by its content first."""

from collections.abc import Callable
from importlib import import_module

from stateward.pipelines.statements.model import StatementProblem, StatementReading
from stateward.pipelines.statements.sniff import sniff
from stateward.pipelines.statements.source import Source

# Modules with a function `read(source)`, imported when they are first needed: no command should wait for five parsers.
READERS = {
    "pdf": "pdf",
    "csv": "delimited",
    "sheet": "sheet",
    "ofx": "ofx",
    "qif": "qif",
    "mt940": "mt940",
    "camt": "camt",
    "bai2": "bai2",
    "html": "html_table",
    "picture": "scan",
}


def read_statement(source: Source) -> StatementReading:
    """Read a file by what it is; a hint that its content contradicts is logged and ignored."""
    found = sniff(source)
    hinted = source.hints.format
    if hinted and hinted != found:
        source.decisions.append(
            f"the source type says {hinted}, but by its content the file is {found}: read as {found}"
        )
    read: Callable[[Source], StatementReading] = import_module(
        f"{__package__}.{READERS[found]}"
    ).read
    reading = read(source)
    if source.encoding_doubt:
        doubt = f"{source.encoding_doubt}; say which it is if its letters are wrong"
        reading.problems.append(StatementProblem(code="ENCODING_UNPROVEN", message=doubt))
    return reading
