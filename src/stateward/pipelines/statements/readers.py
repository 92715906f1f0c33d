"""One door to every format: the file is looked at, and its reader is called."""

from collections.abc import Callable

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.model import Reading
from stateward.pipelines.statements.sniff import sniff
from stateward.pipelines.statements.source import Source


def read_statement(source: Source) -> Reading:
    """Read a file by what it is; a hint that content denies is noted, not believed."""
    found = sniff(source)
    hinted = source.hints.format
    if hinted and hinted != found:
        source.decisions.append(
            f"the source type says {hinted}, but by its content the file is {found}: read as {found}"
        )
    return READERS[found](source)


def _pdf(source: Source) -> Reading:
    from stateward.pipelines.statements.pdf import Limits, read_pdf

    limits = Limits(pages_max=source.bounds.pages_max)
    for password in (None, *source.hints.passwords):
        try:
            reading = read_pdf(
                source.path,
                password=password,
                limits=limits,
                is_card=source.hints.is_card,
                date_order=source.hints.date_order,
            )
        except FatalFailure as error:
            if error.code != "PDF_ENCRYPTED":
                raise
        else:
            reading.decisions[:0] = source.decisions
            return reading
    tried = len(source.hints.passwords)
    said = f"none of the {tried} known ones opens it" if tried else "none is known here"
    raise FatalFailure(
        f"the PDF is locked with a password, and {said}; put it into the file that statements.passwords names, then "
        "retry",
        code="PDF_ENCRYPTED",
    )


def _csv(source: Source) -> Reading:
    from stateward.pipelines.statements.delimited import read

    return read(source)


def _sheet(source: Source) -> Reading:
    from stateward.pipelines.statements.sheet import read

    return read(source)


def _ofx(source: Source) -> Reading:
    from stateward.pipelines.statements.ofx import read

    return read(source)


def _qif(source: Source) -> Reading:
    from stateward.pipelines.statements.qif import read

    return read(source)


def _mt940(source: Source) -> Reading:
    from stateward.pipelines.statements.mt940 import read

    return read(source)


def _camt(source: Source) -> Reading:
    from stateward.pipelines.statements.camt import read

    return read(source)


# Imported when they are first needed: no command should wait for five parsers.
READERS: dict[str, Callable[[Source], Reading]] = {
    "pdf": _pdf,
    "csv": _csv,
    "sheet": _sheet,
    "ofx": _ofx,
    "qif": _qif,
    "mt940": _mt940,
    "camt": _camt,
}
