"""The encoding of a text file: by its byte order mark, by its bytes, or by the words that its letters make."""

import codecs
import re
from pathlib import Path
from typing import NamedTuple

from stateward.core.errors import FatalFailure

HEAD_BYTES = 64 * 1024
CHUNK_BYTES = 1 << 20
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WIDE_SAMPLES_BYTES = (400, 4096)  # a short heading may be of another script than the text below it
WIDE_SHARE = 0.8  # of the bytes on one side are zero where the letters are Latin
# Other characters than letters that Western texts contain beyond ASCII.
WESTERN_SIGNS = frozenset("€£§°–—‘’“”„«»·…®©´`\u00a0\u00ad")
# Where several fit, the first is taken: the most common first.
CODE_PAGES = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_INNER_CAPITAL = re.compile(r"[a-z\u00df-\u00ff][\u00c0-\u00de\u0178][a-z]")


class Encoding(NamedTuple):
    """The name of a codec, and why it was chosen."""

    name: str
    why: str


def find_encoding(path: Path, *, hint: str = "") -> Encoding:
    """The encoding of a file; `hint` is used where there is no byte order mark."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    for mark, name in BOMS:
        if head.startswith(mark):
            return Encoding(name, "its byte order mark says so")
    if hint:
        return Encoding(_codec(hint), "the source type says so")
    if name := _utf16_without_mark(head):
        return Encoding(name, "every second byte is zero")
    sample = _first_invalid_utf8(path)
    if sample is None:
        return Encoding("utf-8", "all of it is valid")
    if _is_mostly_utf8(sample):
        return Encoding("utf-8", "nearly all of it is valid; invalid bytes are shown as \ufffd")
    return _code_page(sample)


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise FatalFailure(
            f"unknown encoding {name!r}; correct the source type in the settings", code="BAD_HINT"
        ) from error


def _utf16_without_mark(head: bytes) -> str:
    """UTF-16 of Latin text, in which nearly every second byte is zero; "" if it is none."""
    for size in WIDE_SAMPLES_BYTES:
        sample = head[:size]
        half = max(1, len(sample) // 2)
        even, odd = sample[0::2].count(0) / half, sample[1::2].count(0) / half
        if odd > WIDE_SHARE and even < 1 - WIDE_SHARE:
            return "utf-16-le"
        if even > WIDE_SHARE and odd < 1 - WIDE_SHARE:
            return "utf-16-be"
    return ""


def _first_invalid_utf8(path: Path) -> bytes | None:
    """The part of a file around the first bytes that are not UTF-8; None if all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                return chunk[max(0, error.start - HEAD_BYTES) : error.start + HEAD_BYTES]
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            return bytes(error.object)
    return None


def _is_mostly_utf8(sample: bytes) -> bool:
    """Whether a text is UTF-8 with a few damaged bytes: no code page makes that many valid pairs by chance."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return sum(c >= "\x80" for c in text) - bad > 3 * bad


def _code_page(sample: bytes) -> Encoding:
    """A code page: the first whose letters make words, else what a statistical detector finds."""
    faults = {name: _faults(sample, name) for name in CODE_PAGES}
    best = min(CODE_PAGES, key=lambda name: faults[name])
    if faults[best] == 0:
        return Encoding(best, "its letters make words so")
    from charset_normalizer import from_bytes  # rarely needed, and slow to import

    detected = from_bytes(sample).best()
    if detected is not None and faults.get(detected.encoding, faults[best]) < faults[best]:
        best = detected.encoding
    return Encoding(best, "its letters make the most sense so")


def _faults(sample: bytes, name: str) -> int:
    """How much of a text looks wrong in an encoding: signs among letters, words of two scripts."""
    text = sample.decode(name, "replace")
    count = sum(1 for c in text if c >= "\x80" and not c.isalpha() and c not in WESTERN_SIGNS)
    for word in _WORDS.findall(text):
        scripts = {"latin" if c < "\u0250" else "other" for c in word}
        count += len(scripts) > 1 or _INNER_CAPITAL.search(word) is not None
    return count
