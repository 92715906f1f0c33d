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
    "coda": "coda",
    "norma43": "norma43",
    "cnab240": "cnab240",
    "one_c": "one_c",
    "html": "html_table",
    "picture": "scan",
}


# What a person can say about a file and only some formats ask for: a PDF has no columns to map, SWIFT marks its signs.
TABLES = frozenset({"csv", "sheet", "html"})
PRINTED = TABLES | {"pdf", "picture"}
TEXTS = TABLES - {"sheet"} | {"ofx", "qif", "mt940", "bai2", "coda", "norma43", "cnab240", "one_c"}
USED_BY = {"map": TABLES, "sign": PRINTED, "decimal": PRINTED | {"qif"}, "encoding": TEXTS}


def _unused_hints(source: Source, format_: str) -> list[StatementProblem]:
    """A note where something was said that the reader of this format does not ask for."""
    unused = [
        name
        for name, formats in USED_BY.items()
        if getattr(source.hints, name) and format_ not in formats
    ]
    if not unused:
        return []
    message = f"{' and '.join(unused)} changed nothing: they are not asked for in {format_}"
    return [StatementProblem(code="HINT_UNUSED", message=message)]


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
    reading.problems += _unused_hints(source, found)
    if source.encoding_doubt:
        doubt = f"{source.encoding_doubt}; say which it is if its letters are wrong"
        reading.problems.append(StatementProblem(code="ENCODING_UNPROVEN", message=doubt))
    return reading
