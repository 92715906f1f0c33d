"""The file to be read, what the user said of it, and what it may cost. Bytes become text here.

What the user says is a hint: content decides what a file is, and a hint only what content leaves open.
"""

import codecs
import re
from functools import cached_property
from pathlib import Path

import msgspec
from charset_normalizer import from_bytes

from stateward.core.errors import FatalFailure

MIB = 1024 * 1024
HEAD_BYTES = 64 * 1024
PIECE_BYTES = 1 << 20
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What banks write beside letters in the code page of Western Windows.
WESTERN_SIGNS = frozenset("€£§°–—‘’“”„«»·…®©´`\u00a0\u00ad")
# In the order in which they are believed where several fit.
CODE_PAGES = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_INNER_CAPITAL = re.compile(r"[a-z\u00df-\u00ff][\u00c0-\u00de\u0178][a-z]")


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What the user or a source type says of a file; "" is nothing."""

    source_type: str = "auto"
    format: str = ""
    date_order: str = ""
    decimal: str = ""
    sign: str = ""
    currency: str = ""
    account: str = ""
    encoding: str = ""
    is_card: bool = False
    passwords: tuple[str, ...] = ()


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one file may cost to read."""

    inflated_bytes_max: int = 256 * MIB
    pages_max: int = 2000
    rows_max: int = 5_000_000


class Source:
    """One file: its bytes, and its text once the encoding is found."""

    def __init__(self, path: Path, hints: Hints, bounds: Bounds) -> None:
        self.path = path
        self.hints = hints
        self.bounds = bounds
        self.decisions: list[str] = []

    @cached_property
    def head(self) -> bytes:
        """The first bytes, enough to know the format by."""
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def size(self) -> int:
        """The number of bytes."""
        return self.path.stat().st_size

    def raw(self) -> bytes:
        """The whole file."""
        return self.path.read_bytes()

    @cached_property
    def encoding(self) -> str:
        """The encoding of the text, by its mark, by its bytes, or by the letters that they make."""
        found, why = self._encoding()
        self.decisions.append(f"the text is {found}: {why}")
        return found

    def text(self) -> str:
        """The whole file as text."""
        return self.raw().decode(self.encoding, "replace")

    def _encoding(self) -> tuple[str, str]:
        for mark, name in BOMS:
            if self.head.startswith(mark):
                return name, "its first bytes say so"
        if self.hints.encoding:
            return _known(self.hints.encoding), "the source type says so"
        if name := _wide(self.head):
            return name, "every second byte is zero"
        bad = self._not_utf8()
        if bad is None:
            return "utf-8", "all of it can be read so"
        if _is_mostly_utf8(bad):
            return "utf-8", "nearly all of it can be read so; bytes that cannot are shown as \ufffd"
        return _legacy(bad)

    def _not_utf8(self) -> bytes | None:
        """The part of the file around the first bytes that are no UTF-8; None if all of it is."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        with self.path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                try:
                    decoder.decode(piece)
                except UnicodeDecodeError as error:
                    return piece[max(0, error.start - HEAD_BYTES) : error.start + HEAD_BYTES]
            try:
                decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                return bytes(error.object)
        return None


def _known(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise FatalFailure(
            f"nobody knows the encoding {name!r}; mend the source type in the settings",
            code="BAD_HINT",
        ) from error


def _wide(head: bytes) -> str:
    """UTF-16 without its mark: text of Latin letters in which every second byte is zero."""
    if len(head) < 4 or head.count(0) < len(head) // 4:
        return ""
    if not any(head[0:400:2]):
        return "utf-16-be"
    return "utf-16-le" if not any(head[1:400:2]) else ""


def _is_mostly_utf8(sample: bytes) -> bool:
    """Whether a text is UTF-8 in which a few bytes were damaged: no code page makes so many pairs by chance."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return sum(c >= "\x80" for c in text) - bad > 3 * bad


def _legacy(sample: bytes) -> tuple[str, str]:
    """An encoding of one byte a letter: the first whose letters make words, else the best guess of a detector."""
    faults = {name: _faults(sample, name) for name in CODE_PAGES}
    best = min(CODE_PAGES, key=lambda name: faults[name])
    if faults[best] == 0:
        return best, "its letters make words so"
    guess = from_bytes(sample).best()
    if guess is None or faults.get(guess.encoding, faults[best]) >= faults[best]:
        return best, "its letters make the most sense so"
    return guess.encoding, "its letters make the most sense so"


def _faults(sample: bytes, name: str) -> int:
    """How much of a text looks wrong in an encoding: signs among letters, words of two scripts."""
    text = sample.decode(name, "replace")
    count = sum(1 for c in text if c >= "\x80" and not c.isalpha() and c not in WESTERN_SIGNS)
    for word in _WORDS.findall(text):
        scripts = {"latin" if c < "\u0250" else "other" for c in word}
        is_odd = len(scripts) > 1 or _INNER_CAPITAL.search(word) is not None
        count += is_odd
    return count
