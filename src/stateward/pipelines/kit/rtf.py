r"""Rich Text Format: headers, paragraphs, tables, boxes of text, footers and notes, as a person reads them.

What a person does not see (hidden, white, tiny, comments) and what is struck through or deleted is no text; it is told
apart. A row of a table is a line, or several if its cells hold several, with tabs between the cells; so is a row of a
table within a cell.
"""

import re
from itertools import zip_longest

from stateward.core.errors import FatalFailure
from stateward.extras import missing_extra
from stateward.pipelines.kit.documents import UnseenText
from stateward.pipelines.kit.failures import CORRUPT_FILE
from stateward.pipelines.kit.rtf_streams import BODY, CELL, ROW, ROW_START, RtfStreams

MAGIC = b"{\\rtf"
GROUPS_MAX = 100_000  # a document has some thousands; more are made to keep a program busy
_ROW = re.compile(f"{ROW_START}([^{ROW_START}{ROW}]*){ROW}")
_MARKS = re.compile(f"[{ROW_START}{ROW}]")


def is_rtf(head: bytes) -> bool:
    """Whether a file begins like an RTF."""
    return head.startswith(MAGIC)


def read_rtf(data: bytes) -> tuple[str, UnseenText]:
    """The whole text of an RTF, and what it holds beside it; or a refusal."""
    source = data.decode("cp1252", "replace")
    if source.count("{") > GROUPS_MAX:
        raise FatalFailure(
            f"the RTF has more than {GROUPS_MAX} groups; save it as PDF", code=CORRUPT_FILE
        )
    streams = RtfStreams(source)
    lines = _distinct(_text(streams.of("headers")))
    lines += _rows(_text(streams.of(BODY)))
    lines += [line for line in _text(streams.of("boxes")).split("\n") if line.strip()]
    lines += _distinct(_text(streams.of("footers")))
    lines += _distinct(_text(streams.of("notes")))
    unseen = (_unseen_lines(streams, each) for each in ("hidden", "struck", "aside"))
    return "\n".join(lines), UnseenText(*unseen)


def _text(source: str) -> str:
    """The text of one stream, with the marks of its tables."""
    if not source:
        return ""
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError as error:
        raise missing_extra(error) or error from error
    try:
        text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, IndexError, KeyError, LookupError) as error:
        raise FatalFailure(
            f"the RTF is damaged ({error}); save it again", code=CORRUPT_FILE
        ) from error
    # Letters beyond the first plane are written as two halves.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _rows(text: str) -> list[str]:
    """The lines of a text: a row of cells is a line, or several that go through all of its cells."""
    text = _ROW.sub(lambda row: "\n".join(_row(row[1])) + "\n", text)
    return [line.rstrip() for line in _MARKS.sub("", text).replace(CELL, "\t").split("\n")]


def _row(row: str) -> list[str]:
    cells = [
        # The last cell of a nested row ends with a tab, too.
        [line.rstrip() for line in cell.split("\n") if line.strip()] or [""]
        for cell in row.split(CELL)
    ]
    return ["\t".join(level).rstrip() for level in zip_longest(*cells, fillvalue="")]


def _distinct(text: str) -> list[str]:
    """The lines of headers, footers or notes, none of them twice: first, left and right pages repeat them."""
    lines = (line for line in _rows(text) if line.strip())
    return list(dict.fromkeys(lines))


def _unseen_lines(streams: RtfStreams, name: str) -> str:
    lines = (" ".join(line.split()) for line in _text(streams.of(name)).split("\n"))
    return "\n".join(filter(None, lines))
