"""XLSX, XLS and ODS as rows of text.

Cells come from the file as numbers and dates, not as print; they are written out in one plain way: a point for
decimals, ISO dates. What a zip may inflate to must be checked before (`archives`).
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from html import unescape
from pathlib import Path

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE, ENCRYPTED, TEXT_TOO_LARGE
from stateward.pipelines.kit.xml import PROLOG_BYTES_MAX, declares_type, hostile_xml

CELLS_MAX = 20_000_000
DIGITS = 15  # what a double of a spreadsheet carries
FORMULA_UNSAVED = "FORMULA_UNSAVED"
_PART_BYTES = 1 << 20
_CELL_BYTES_MAX = 16_384  # a cell with a formula is shorter; the seam of two parts is read twice
# A formula whose result was never computed: programs that write spreadsheets without opening them leave it out.
_UNSAVED = re.compile(
    rb'<c r="([A-Z]{1,3}[0-9]{1,7})"[^>]*><f(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v>\s*</v>|<v\s*/>)?\s*</c>'
)


def read_sheets(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """Each sheet by its name, with the rows above its first cell as empty lists."""
    try:
        book = CalamineWorkbook.from_path(str(path))
    except PasswordError as error:
        raise FatalFailure(
            "the spreadsheet is encrypted with a password; save it without one and submit that",
            code=ENCRYPTED,
        ) from error
    except (CalamineError, OSError, ValueError) as error:
        raise _refusal("the spreadsheet", error, path) from error
    for name in book.sheet_names:
        yield name, _rows(book, name, path)


def unsaved_formulas(path: Path) -> list[str]:
    """The cells of an XLSX that hold a formula and no result of it: they are read as empty."""
    if not zipfile.is_zipfile(path):
        return []
    found: list[str] = []
    with zipfile.ZipFile(path) as book:
        for name in book.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                found += dict.fromkeys(_unsaved_in(book, name))
    return found


def _unsaved_in(book: zipfile.ZipFile, name: str) -> Iterator[str]:
    with book.open(name) as sheet:
        seam = b""
        while part := sheet.read(_PART_BYTES):
            for each in _UNSAVED.finditer(seam + part):
                yield each.group(1).decode("ascii")
            seam = (seam + part)[-_CELL_BYTES_MAX:]


def unsaved_message(cells: list[str]) -> str:
    """The sentence about such cells, for the notes of a record."""
    more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
    return (
        f"the formula in {cells[0]}{more} has no saved result and is read as an empty cell; "
        "open the file in a spreadsheet program, save it and submit that"
    )


def _rows(book: CalamineWorkbook, name: str, path: Path) -> list[list[str]]:
    try:
        sheet = book.get_sheet_by_name(name)
        if sheet.height * sheet.width > CELLS_MAX:
            raise FatalFailure(
                f"the sheet {name!r} has more than {CELLS_MAX} cells; split it", code=TEXT_TOO_LARGE
            )
        first = sheet.start[0] if sheet.start else 0
        rows = sheet.to_python(skip_empty_area=True)
    except (CalamineError, OSError, ValueError) as error:
        raise _refusal(f"the sheet {name!r}", error, path) from error
    return [[] for _ in range(first)] + [[cell_text(cell) for cell in row] for row in rows]


def cell_text(cell: object) -> str:
    """A cell as text. A float is written with the digits that it carries, without binary noise."""
    match cell:
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case int():
            return str(cell)
        case float():
            if cell.is_integer() and abs(cell) < 10**DIGITS:
                return str(int(cell))
            return f"{Decimal(f'{cell:.{DIGITS}g}').normalize():f}"
        case datetime():
            return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return str(cell)
    return ""


def _refusal(what: str, error: Exception, path: Path) -> FatalFailure:
    """Why a spreadsheet was not read. The reader knows no entities, and calls what uses one damaged."""
    if hostile := _declaring_part(path):
        return hostile_xml(f"{hostile!r} in the spreadsheet")
    return FatalFailure(f"{what} is damaged ({error}); download it again", code=CORRUPT_FILE)


def _declaring_part(path: Path) -> str | None:
    """The first part of the archive whose XML declares a document type or an entity."""
    try:
        with zipfile.ZipFile(path) as book:
            for name in book.namelist():
                with book.open(name) as part:
                    if declares_type(part.read(PROLOG_BYTES_MAX)):
                        return name
    except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, zlib.error):
        pass  # it is damaged indeed, or no archive at all
    return None


def hidden_lines(path: Path) -> dict[str, frozenset[int]]:
    """The rows of each sheet of an XLSX that are not shown, numbered from 1; empty for a hidden sheet as a whole.

    Only sheets with such rows, and hidden ones, are listed. What hides a row, a filter or a person, is not told.
    """
    if not zipfile.is_zipfile(path):
        return {}
    try:
        with zipfile.ZipFile(path) as book:
            return dict(_hidden_of(book))
    except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, zlib.error):
        return {}  # what reads the cells says that the file is damaged, or can do without this part


def _hidden_of(book: zipfile.ZipFile) -> Iterator[tuple[str, frozenset[int]]]:
    parts = set(book.namelist())
    if not {_WORKBOOK, _RELATIONS} <= parts:
        return
    targets = dict(_relations(book.read(_RELATIONS)))
    for tag in _SHEET.findall(book.read(_WORKBOOK)):
        name, relation = _attribute(tag, b"name"), _attribute(tag, b"r:id")
        part = f"xl/{targets.get(relation, '')}"
        if _attribute(tag, b"state") in ("hidden", "veryHidden"):
            yield name, frozenset()
        elif part in parts and (lines := frozenset(_hidden_in(book, part))):
            yield name, lines


def _relations(content: bytes) -> Iterator[tuple[str, str]]:
    for tag in _RELATION.findall(content):
        yield _attribute(tag, b"Id"), _attribute(tag, b"Target").removeprefix("/xl/")


def _attribute(tag: bytes, name: bytes) -> str:
    found = re.search(rb"\b" + name + rb'="([^"]*)"', tag)
    return unescape(found[1].decode("utf-8", "replace")) if found else ""


def _hidden_in(book: zipfile.ZipFile, name: str) -> Iterator[int]:
    with book.open(name) as sheet:
        seam = b""
        while part := sheet.read(_PART_BYTES):
            for tag in _HIDDEN_ROW.findall(seam + part):
                if number := _attribute(tag, b"r"):
                    yield int(number)
            seam = (seam + part)[-_ROW_BYTES_MAX:]


_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_SHEET = re.compile(rb"<(?:\w+:)?sheet\s[^>]*>")
_RELATION = re.compile(rb"<(?:\w+:)?Relationship\s[^>]*>")
_HIDDEN_ROW = re.compile(rb'<(?:\w+:)?row\s[^>]*\bhidden="(?:1|true)"[^>]*>')
_ROW_BYTES_MAX = 1024
