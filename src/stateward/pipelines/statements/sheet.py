"""XLSX, XLS and ODS: every sheet that holds a table of transactions is a section.

Cells come from the file as numbers and days, not as print; they are written out here in one plain way (a point for
decimals, ISO days) and so need no votes. What a zip may cost was checked before (`sniff`).
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.model import Reading, Section
from stateward.pipelines.statements.source import Source
from stateward.pipelines.statements.table import Line, Table

CELLS_MAX = 20_000_000
DIGITS = 15  # what a float of a spreadsheet carries


def read(source: Source) -> Reading:
    """One section for each sheet with transactions; the others are named in the log."""
    reading = Reading(format="xlsx", sections=(), problems=[], decisions=[], late={})
    book = _opened(source)
    sections: list[Section] = []
    for name in book.sheet_names:
        rows = _rows(book, name)
        if not any(any(cells) for cells in rows):
            continue
        section = _section(rows, source, reading)
        if section is None:
            reading.decisions.append(f"the sheet {name!r} holds no table of transactions")
        else:
            sections.append(section)
            reading.decisions.append(f"the sheet {name!r} holds a statement")
    if not sections:
        raise FatalFailure(
            "no sheet holds a column of dates beside a column of amounts; is this a statement?",
            code="UNKNOWN_FORMAT",
        )
    reading.sections = sections
    return reading


def _opened(source: Source) -> CalamineWorkbook:
    try:
        return CalamineWorkbook.from_path(str(source.path))
    except PasswordError as error:
        raise FatalFailure(
            "the spreadsheet is locked with a password; save it without one and submit that",
            code="SHEET_ENCRYPTED",
        ) from error
    except (CalamineError, OSError, ValueError) as error:
        raise FatalFailure(
            f"the spreadsheet is damaged ({error}); download it again", code="SHEET_CORRUPT"
        ) from error


def _rows(book: CalamineWorkbook, name: str) -> list[list[str]]:
    try:
        sheet = book.get_sheet_by_name(name)
        if sheet.height * sheet.width > CELLS_MAX:
            raise FatalFailure(
                f"the sheet {name!r} has more than {CELLS_MAX} cells; split it", code="TOO_LARGE"
            )
        first = sheet.start[0] if sheet.start else 0
        rows = sheet.to_python(skip_empty_area=True)
    except (CalamineError, OSError, ValueError) as error:
        raise FatalFailure(
            f"the sheet {name!r} is damaged ({error}); download the file again",
            code="SHEET_CORRUPT",
        ) from error
    return [[] for _ in range(first)] + [[_text(cell) for cell in row] for row in rows]


def _section(rows: list[list[str]], source: Source, reading: Reading) -> Section | None:
    """A sheet as a table. Late facts go to its section at once: a sheet is no stream."""

    def lines() -> Iterator[Line]:
        return ((number, list(cells)) for number, cells in enumerate(rows, start=1) if any(cells))

    part = Reading(format="xlsx", sections=(), problems=[], decisions=[], late={})
    try:
        section = Table(lines, source, part).section()
    except FatalFailure:
        return None
    listed = list(section.rows)
    reading.problems += part.problems
    reading.decisions += part.decisions
    return Section(
        account=section.account,
        currency=section.currency,
        opening=part.late.get("opening", section.opening),
        closing=part.late.get("closing", section.closing),
        period_from=section.period_from,
        period_to=section.period_to,
        totals={name: part.late[name] for name in ("debits", "credits") if name in part.late},
        terms=section.terms,
        rows=listed,
    )


def _text(cell: object) -> str:
    """A cell as text. A float is written with the digits that it carries, never with its noise."""
    match cell:
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case int():
            return str(cell)
        case float():
            return _number(cell)
        case datetime():
            return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return str(cell)
    return ""


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < 10**DIGITS:
        return str(int(value))
    return f"{Decimal(f'{value:.{DIGITS}g}').normalize():f}"
