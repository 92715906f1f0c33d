"""XLSX, XLS and ODS: every sheet that holds a table of transactions is a section."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.kit.failures import (
    CORRUPT_FILE,
    ENCRYPTED,
    HOSTILE_FILE,
    TEXT_TOO_LARGE,
    recode,
)
from stateward.pipelines.kit.spreadsheets import (
    FORMULA_UNSAVED,
    hidden_lines,
    read_sheets,
    unsaved_formulas,
    unsaved_message,
)
from stateward.pipelines.statements.model import (
    StatementProblem,
    StatementReading,
    StatementSection,
)
from stateward.pipelines.statements.source import Source
from stateward.pipelines.statements.table import StatementTable

_NUMBER = re.compile(r"-?[0-9]+\.[0-9]+")  # as a sheet keeps it
# With two figures behind a comma there is no other way to read it.
_TYPED = re.compile(r"[-+\u2212]?\s?(?:[0-9]{1,3}(?:[ \u00a0\u202f.'’][0-9]{3})+|[0-9]+),[0-9]{2}")
CODES = {
    CORRUPT_FILE: "SHEET_CORRUPT",
    ENCRYPTED: "SHEET_ENCRYPTED",
    HOSTILE_FILE: "XML_ENTITY",
    TEXT_TOO_LARGE: "TOO_LARGE",
}


def read(source: Source) -> StatementReading:
    """One section for each sheet with transactions; the others are named in the log."""
    reading = StatementReading(format="xlsx", sections=(), problems=[], decisions=[], late={})
    sections: list[StatementSection] = []
    with recode(CODES):
        hidden = hidden_lines(source.path)
        for name, rows in read_sheets(source.path):
            if not any(any(cells) for cells in rows):
                continue
            section = table_section(_with_typed_numbers(rows), source, reading)
            if section is None:
                reading.decisions.append(f"the sheet {name!r} holds no table of transactions")
            else:
                sections.append(section)
                if name in hidden:
                    reading.problems += _hidden_rows(name, section, hidden[name])
                reading.decisions.append(f"the sheet {name!r} holds a statement")
    if not sections:
        raise FatalFailure(
            "no sheet has a column of dates beside a column of amounts; is this a statement?",
            code="UNKNOWN_FORMAT",
        )
    if cells := unsaved_formulas(source.path):
        message = unsaved_message(cells)
        reading.problems.append(StatementProblem(code=FORMULA_UNSAVED, message=message))
    reading.sections = sections
    return reading


def _with_typed_numbers(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows in which a number that was typed as a text, among numbers of its column, is written as those are.

    A sheet keeps its numbers without a decimal sign of its own; a program that groups thousands by blanks writes texts.
    """
    numeric = {
        at
        for at, column in enumerate(zip_longest(*rows, fillvalue=""))
        if any(map(_NUMBER.fullmatch, column))
    }
    return [
        [_as_number(cell) if at in numeric else cell for at, cell in enumerate(cells)]
        for cells in rows
    ]


def _as_number(cell: str) -> str:
    return str(money.amount(cell, ",")) if _TYPED.fullmatch(cell) else cell


def _hidden_rows(
    name: str, section: StatementSection, lines: frozenset[int]
) -> list[StatementProblem]:
    """What a person who opens a sheet does not see of its rows; `lines` is empty where the whole sheet is hidden."""
    rows = [row for row in section.rows if not lines or row.place.line in lines]
    if not rows:
        return []
    what = f"{len(rows)} rows of the sheet {name!r} are" if lines else f"the sheet {name!r} is"
    message = f"{what} hidden, by a filter or a person, and was read with the others"
    message = message.replace("and was", "and were") if lines else message
    return [StatementProblem(code="ROWS_HIDDEN", message=message, place=rows[0].place)]


def table_section(
    rows: list[list[str]], source: Source, reading: StatementReading
) -> StatementSection | None:
    """A sheet as a table; None without transactions. Facts below the rows are its own: a sheet is not streamed."""

    def lines() -> Iterator[Record]:
        return ((number, list(cells)) for number, cells in enumerate(rows, start=1) if any(cells))

    part = StatementReading(format="xlsx", sections=(), problems=[], decisions=[], late={})
    try:
        section = StatementTable(lines, source, part).section()
    except FatalFailure:
        return None
    listed = list(section.rows)
    reading.problems += part.problems
    reading.decisions += part.decisions
    return StatementSection(
        account=section.account,
        currency=section.currency,
        opening=part.late.get("opening", section.opening),
        closing=part.late.get("closing", section.closing),
        period_from=section.period_from,
        period_to=section.period_to,
        totals=section.totals
        | {name: part.late[name] for name in ("debits", "credits") if name in part.late},
        terms=section.terms,
        rows=listed,
    )
