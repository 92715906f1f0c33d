"""What a file is, as far as a door has to know before it takes it in. It never inflates or parses anything."""

import zipfile
from pathlib import Path

from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.sniff import ENTRIES_MAX, ZIP, sniff
from stateward.pipelines.statements.source import Bounds, Hints, Source

SHEETS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")


def format_of(path: Path) -> str:
    """The format by content, as `sniff` names it; a refusal with its sentence if it is none."""
    source = Source(path, Hints(), Bounds())
    return _zipped(path) if source.head.startswith(ZIP) else sniff(source)


def _zipped(path: Path) -> str:
    """A sheet, if the directory of the zip says so. What it inflates to is seen when it is parsed, under limits."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError) as error:
        raise FatalFailure(
            f"the file is a damaged zip or spreadsheet ({error}); download it again",
            code="SHEET_CORRUPT",
        ) from error
    if len(names) <= ENTRIES_MAX and any(name in SHEETS for name in names):
        return "sheet"
    raise FatalFailure(
        "the file is a zip archive; unpack it and submit what is inside", code="UNKNOWN_FORMAT"
    )
