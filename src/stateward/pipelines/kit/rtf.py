r"""Rich Text Format: its text, paragraphs as lines, the cells of a row of a table parted by tabs.

The library that reads it knows no hidden text, so a document with text that a person does not see (hidden, deleted in
a tracked change, white) is refused: what cannot be told apart must not become a value.
"""

import re

from stateward.core.errors import FatalFailure
from stateward.extras import missing_extra
from stateward.pipelines.kit.failures import CORRUPT_FILE, UNSUPPORTED_FORMAT

MAGIC = b"{\\rtf"
GROUPS_MAX = 100_000  # a document has some thousands; more are made to keep a program busy
# `\v` switches hidden text on, `\v0` off; `\viewkind` is another word.
_HIDDEN = re.compile(r"\\(?:v1?(?![a-z0-9])|deleted1?(?![a-z0-9]))")
_COLOURS = re.compile(r"\{\\colortbl\b([^{}]*)\}")
_WHITE = re.compile(r"\\red255\s*\\green255\s*\\blue255\b")
_BOXES = re.compile(r"\s*\|\s*")


def is_rtf(head: bytes) -> bool:
    """Whether a file begins like an RTF."""
    return head.startswith(MAGIC)


def rtf_text(data: bytes) -> str:
    """The text of an RTF, or a refusal."""
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError as error:
        raise missing_extra(error) or error from error
    source = data.decode("cp1252", "replace")
    if source.count("{") > GROUPS_MAX:
        raise FatalFailure(
            f"the RTF has more than {GROUPS_MAX} groups; save it as PDF", code=CORRUPT_FILE
        )
    if _HIDDEN.search(source) or _has_white_text(source):
        raise FatalFailure(
            "the RTF holds text that a person does not see (hidden, deleted or white); save it as PDF and submit that",
            code=UNSUPPORTED_FORMAT,
        )
    try:
        text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, IndexError, KeyError, LookupError) as error:
        raise FatalFailure(
            f"the RTF is damaged ({error}); save it again", code=CORRUPT_FILE
        ) from error
    return "\n".join(_cells(line) for line in text.split("\n"))


def _cells(line: str) -> str:
    """A line; one of a table ends with a bar, which stands behind each of its cells."""
    return _BOXES.sub("\t", line.rstrip(" |")) if line.rstrip().endswith("|") else line


def _has_white_text(source: str) -> bool:
    table = _COLOURS.search(source)
    if table is None:
        return False
    white = [at for at, colour in enumerate(table[1].split(";")) if _WHITE.search(colour)]
    return any(re.search(rf"\\cf{at}(?![0-9])", source) for at in white)
