"""Statements: the `upload` machine and its two stages.

For now the stages read delimited text: `parse` keeps every row just as the file has it, with its line number,
and `normalize` trims it. The readers of real bank formats take their place here.
"""

import csv
import io
from collections.abc import Iterator

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines import shipped
from stateward.runners.kit import Job, runner

UPLOAD = shipped(__name__, "machine.yaml")
SNIFF_CHARS = 8192
DELIMITERS = ",;\t|"


@runner("upload.parse")
def parse(job: Job) -> Iterator[Fields]:
    """Each row of a delimited text as an observation: its line, and its cells as they stand."""
    text = _text(job.bytes())
    dialect = _dialect(text)
    reader = csv.reader(io.StringIO(text, newline=""), dialect)
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield {"line": reader.line_num, "cells": list(cells)}


@runner("upload.normalize")
def normalize(job: Job) -> Iterator[Fields]:
    """Each observation with its cells trimmed and its runs of blanks closed."""
    for item in job.items():
        cells = item["cells"]
        if isinstance(cells, list):
            yield {"line": item["line"], "cells": [" ".join(str(cell).split()) for cell in cells]}


def _text(raw: bytes) -> str:
    if b"\x00" in raw[:SNIFF_CHARS]:
        raise FatalFailure("this is not a text file; export the statement as CSV", code="NOT_TEXT")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _dialect(text: str) -> type[csv.Dialect]:
    try:
        return csv.Sniffer().sniff(text[:SNIFF_CHARS], DELIMITERS)
    except csv.Error:
        return csv.excel
