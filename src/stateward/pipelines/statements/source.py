"""The file to be read, what the user says about it, and how much of it may be read.

What the user says is a hint: content decides what a file is, and a hint only what content leaves open.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from stateward.core.model import Json
from stateward.pipelines.kit.archives import INFLATED_BYTES_MAX
from stateward.pipelines.kit.encoding import HEAD_BYTES, find_encoding
from stateward.pipelines.statements.headings import simplify, words


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What the user or a source type says about a file; "" says nothing."""

    source_type: str = "auto"
    format: str = ""
    date_order: str = ""
    is_order_said: bool = False  # of this one document: it wins over what its dates suggest
    decimal: str = ""
    sign: str = ""
    currency: str = ""
    account: str = ""
    encoding: str = ""
    map: str = ""  # columns by number: "date=1,amount=4"
    is_card: bool = False
    passwords: tuple[str, ...] = ()


NO_HINTS = Hints()
SINGLE_BYTE = (
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp874",
    "cp866",
    "koi8-r",
)
HEADING_LINES = 60
HEADINGS_MIN = 2
_CELL = re.compile(r'[;,|\t"]+')
# Languages, and the encodings of one byte a letter that they are written in.
CODE_PAGES = {
    ("German", "French", "Spanish", "Italian", "Dutch", "Portuguese", "Danish, Norwegian or Swedish", "Finnish"): (
        "cp1252", "iso8859-1", "iso8859-15", "latin-1", "cp850", "mac_roman",
    ),
    ("Polish", "Czech, Slovak or Hungarian", "Romanian"): ("cp1250", "iso8859-2", "cp852"),
}  # fmt: skip


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much one file may take to read."""

    inflated_bytes_max: int = INFLATED_BYTES_MAX
    pages_max: int = 2000


class Source:
    """One file: its bytes, and its text once the encoding is found. `decisions` goes to the parse log.

    `is_lenient`: what is damaged is left out and reported, where it would otherwise fail the file.
    """

    def __init__(
        self,
        path: Path,
        hints: Hints,
        bounds: Bounds,
        *,
        is_lenient: bool = False,
        profiles: Mapping[str, Json] | None = None,
        head: bytes | None = None,
    ) -> None:
        self._head = head  # if it was read before
        self.profiles = profiles or {}  # one's own column profiles
        self.path = path
        self.is_lenient = is_lenient
        self.hints = hints
        self.bounds = bounds
        self.decisions: list[str] = []
        self.encoding_doubt = ""  # why the text may be in another encoding
        self.encoding_rivals: tuple[str, ...] = ()  # which those are

    @cached_property
    def head(self) -> bytes:
        """The first bytes, enough to recognise the format."""
        if self._head is not None:
            return self._head
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @property
    def content(self) -> Path | bytes:
        """The file; of one that is no longer than the first bytes, these, so that it is not opened again."""
        is_whole = self._head is None and len(self.head) < HEAD_BYTES
        return self.head if is_whole else self.path

    @cached_property
    def is_open_ended(self) -> bool:
        """Whether the file ends neither with a line nor with a quote."""
        if isinstance(self.content, bytes):
            tail = self.content[-4:]
        else:
            with self.path.open("rb") as file:
                file.seek(max(0, self.path.stat().st_size - 4))
                tail = file.read()
        return not tail.replace(b"\0", b"").endswith((b"\n", b"\r", b'"'))

    def raw(self) -> bytes:
        """The whole file."""
        return self.path.read_bytes()

    @cached_property
    def encoding(self) -> str:
        """The encoding of the text; the reason goes to the decisions."""
        found = find_encoding(self.path, hint=self.hints.encoding, head=self.head)
        if not self.hints.encoding and (known := self._by_headings(found.name)):
            self.decisions.append(f"the text is {known}: only so are its headings known")
            return known
        self.decisions.append(f"the text is {found.name}: {found.why}")
        if not found.is_sure:
            self.encoding_doubt = f"the text was read as {found.name}: {found.why}"
            self.encoding_rivals = found.rivals
        return found.name

    def _by_headings(self, guessed: str) -> str:
        """Another encoding of one byte a letter, in which headings are known, where none is in the guessed one."""
        if guessed not in SINGLE_BYTE:
            return ""
        lines = [line for line in self.head.splitlines()[:HEADING_LINES] if not line.isascii()]
        if self._known_headings(lines, guessed):
            return ""
        known = {name: self._known_headings(lines, name) for name in SINGLE_BYTE}
        best = max(known, key=known.__getitem__)
        return best if known[best] >= HEADINGS_MIN else ""

    def _known_headings(self, lines: Sequence[bytes], encoding: str) -> int:
        """How many texts beyond ASCII between the delimiters of a line are headings."""
        columns = words().columns
        return max(
            (
                sum(not cell.isascii() and simplify(cell) in columns for cell in _CELL.split(text))
                for text in (line.decode(encoding, "replace") for line in lines)
            ),
            default=0,
        )

    def prove_encoding(self, word: str) -> bool:
        """Take a word that is known for a proof of the encoding, if no rival would make the same of its letters."""
        if word.isascii() or not self.encoding_rivals:
            return False
        written = word.encode(self.encoding, "replace")
        if any(written.decode(rival, "replace") == word for rival in self.encoding_rivals):
            return False
        self.decisions.append(f"the text is {self.encoding}: {word!r} is written so")
        self.encoding_doubt = ""
        return True

    def prove_language(self, language: str) -> bool:
        """Take the language of headings for a proof of the encoding, if it is one of those in which it is written."""
        known = next((pages for names, pages in CODE_PAGES.items() if language in names), ())
        if not language or self.encoding not in known or {*self.encoding_rivals} & {*known}:
            return False
        self.decisions.append(f"the text is {self.encoding}: its headings are in {language}")
        self.encoding_doubt = ""
        return True

    def text(self) -> str:
        """The whole file as text."""
        return self.raw().decode(self.encoding, "replace")
