"""Whether a file is a contract, by the words at its start, with the words that speak for it.

Nothing is parsed: of an archive only the bounded start of its text is inflated, of a PDF that of its first streams. So
a contract that shows no words there (a scan, a damaged file) is not detected, and its sender says what it is.
"""

import quopri
import re
import zipfile
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import unescape
from importlib.resources import files
from math import inf
from typing import NamedTuple

import msgspec

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.contracts import SOURCE_TYPE
from stateward.pipelines.kit.files import ZIP, is_pdf
from stateward.pipelines.kit.mail import is_mail
from stateward.pipelines.kit.pdf.peek import amounts_of, is_thin, peeked_texts

TEXT_BYTES_MAX = 128 * 1024
TEXT_CHARS_MAX = 16_000  # what a contract is shows on its first pages
WORDS_CHARS_MAX = 60  # of a sign, as evidence
SIGNS_MIN = 3
# What an account has paid for names contracts, too, with their numbers, day after day.
SIGNS_MIN_IN_TABLES, SIGNS_MIN_AMONG_DAYS = 4, 6
# A contract names other documents in passing ("within 14 days of the invoice date"). So many kinds of their words, or
# one with its figure behind it ("Invoice date: 3 March"), are those of the document itself.
SIGNS_MIN_BESIDE_OTHERS = 6
OTHERS_MAX = 2
AMOUNTS_MIN, DAYS_MIN = 6, 9  # of a table
_DAY = re.compile(
    r"(?m)^\W{0,3}\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?\b|^\W{0,3}\d{1,2}[ -][^\W\d_]{3,9}\b"
)
LINES_SEEN, LINES_MIN = 20, 3  # of a table with a sign between its cells
# More than what is said of any DOCX (70), and less than what a format says that is unmistakable.
CONFIDENCES = {3: 72, 4: 78, 5: 84}
CONFIDENCE_MAX = 88
_BODIES = {"word/document.xml": "docx", "content.xml": "odt"}
_TAG = re.compile(r"<[^>]{0,2000}>")
_ESCAPED = re.compile(r"\\u(\d{1,5}) ?\??")
_BYTE = re.compile(r"\\'([0-9a-fA-F]{2})")
_BASE64 = re.compile(rb"\n\n((?:[A-Za-z0-9+/]{60,80}\n){2,1200}[A-Za-z0-9+/=]{0,80})")
PARTS_MAX = 8
_CONTROL = re.compile(r"\{\\rtf|\\[a-z]+-?\d* ?|[{}]")


class Signs(NamedTuple):
    """What speaks for a contract, and for a document that only names contracts (`signs.yaml`)."""

    patterns: Mapping[str, re.Pattern[str]]
    others: re.Pattern[str]
    own_others: re.Pattern[str]
    stems: tuple[str, ...]


@cache
def signs() -> Signs:
    """The signs, read when a document is first looked at."""
    read = msgspec.yaml.decode(
        (files("stateward.pipelines.contracts") / "signs.yaml").read_text("utf-8")
    )
    patterns = {name: _any(words) for name, words in read["signs"].items()}
    others = _any(read["others"])
    own_others = re.compile(rf"(?:{others.pattern})[ :#\u2013-]{{0,4}}(?:\w{{1,9}}[ -]){{0,1}}\d")
    return Signs(patterns, others, own_others, tuple(read["stems"]))


def _any(words: Iterable[str]) -> re.Pattern[str]:
    # Small letters on both sides: without regard to case a pattern of so many words is tried at every letter.
    return re.compile(rf"\b(?:{'|'.join(words)})\w*")


def detect(content: Content) -> Detected | None:
    """A contract with its evidence, or None."""
    form, texts = _read(content)
    plain = _plain(texts)
    best = _signs(plain)
    if not best or len(best) < max(_signs_min(texts), _signs_min_beside_others(plain)):
        return None
    return Detected(
        source_type=SOURCE_TYPE,
        format=form,
        confidence=CONFIDENCES.get(len(best), CONFIDENCE_MAX),
        evidence=tuple(best),
    )


def _signs_min(texts: Sequence[str]) -> int:
    """How many signs are enough."""
    amounts = max((len(amounts_of(text)) for text in texts), default=0)
    if amounts >= AMOUNTS_MIN and any(len(_DAY.findall(text)) >= DAYS_MIN for text in texts):
        return SIGNS_MIN_AMONG_DAYS
    if amounts >= AMOUNTS_MIN and not any(map(is_thin, texts)):
        return SIGNS_MIN_IN_TABLES
    return SIGNS_MIN


def _signs_min_beside_others(plain: Iterable[str]) -> float:
    """How many signs are enough beside the words of other documents."""
    known = signs()
    named = set[str]()
    for text in plain:
        if known.own_others.search(text.lower()):
            return inf
        named.update(known.others.findall(text.lower()))
    if len(named) > OTHERS_MAX:
        return inf
    return SIGNS_MIN_BESIDE_OTHERS if named else 0


def _is_table(text: str) -> bool:
    """Whether nearly every line has as many signs between its cells as the first one: an export, and no contract.

    A comma with a blank behind it is one of a sentence.
    """
    lines = [line for line in text.splitlines() if line.strip()][:LINES_SEEN]
    if len(lines) < LINES_MIN:
        return False
    return any(
        (count := _count(sign, lines[0])) >= 2
        and sum(_count(sign, line) >= count for line in lines) >= len(lines) - 1
        for sign in ",;\t|"
    )


def _count(sign: str, line: str) -> int:
    return line.count(sign) - (0 if sign == "|" else line.count(f"{sign} "))


def _plain(texts: Iterable[str]) -> list[str]:
    """Those of the texts of a document that have any word of a contract, without line breaks."""
    plain = (" ".join(text.split())[:TEXT_CHARS_MAX] for text in texts)
    stems = signs().stems
    return [text for text in plain if any(stem in text.lower() for stem in stems)]


def _signs(plain: Iterable[str]) -> list[str]:
    """The signs of texts that are one document, each with the first words that were found."""
    known = signs()
    found: dict[str, str] = {}
    for text in plain:
        small = text.lower()
        for name, pattern in known.patterns.items():
            if name not in found and (match := pattern.search(small)):
                found[name] = text[match.start() : match.end()][:WORDS_CHARS_MAX]
    return [f"{name}: {found[name]}" for name in known.patterns if name in found]


def _read(content: Content) -> tuple[str, list[str]]:
    head = content.head
    if is_pdf(head):
        return "pdf", peeked_texts(content.path)
    if head.startswith(ZIP):
        return _archive_text(content)
    if head.startswith(b"{\\rtf"):
        return "rtf", [_rtf_text(head)]
    text = _as_text(_mail_text(head))
    if "\x00" in text or text.lstrip()[:1] in ("<", "{", "["):
        return "", []
    return ("", []) if _is_table(text) else ("text", [text])


def _rtf_text(head: bytes) -> str:
    """The words of an RTF, by what its control words leave; an escaped byte is a letter."""
    text = _ESCAPED.sub(lambda found: chr(int(found[1]) & 0xFFFF), head.decode("cp1252", "replace"))
    return _CONTROL.sub(
        " ", _BYTE.sub(lambda found: bytes([int(found[1], 16)]).decode("cp1252", "replace"), text)
    )


def _mail_text(head: bytes) -> bytes:
    """What a mail says that is written quoted-printable or in base64; anything else stays."""
    if not is_mail(head):
        return head
    own, _, body = head.replace(b"\r\n", b"\n").partition(b"\n\n")
    if b"quoted-printable" in head:
        return own + b"\n\n" + quopri.decodestring(body)
    decoded = [_base64(found) for found in _BASE64.findall(body)[:PARTS_MAX]]
    return b"\n".join((head, *decoded))


def _base64(text: bytes) -> bytes:
    try:
        return b64decode(text.translate(None, b"\n"))
    except ValueError:
        return b""


def _as_text(head: bytes) -> str:
    try:
        return head[: len(head) - 4].decode("utf-8") + head[len(head) - 4 :].decode(
            "utf-8", "replace"
        )
    except UnicodeDecodeError:
        return head.decode("cp1252", "replace")


def _archive_text(content: Content) -> tuple[str, list[str]]:
    """The start of the text of a DOCX or ODT."""
    try:
        with zipfile.ZipFile(content.path) as archive:
            name = next((each for each in _BODIES if each in archive.namelist()), None)
            if name is None:
                return "", []
            with archive.open(name) as entry:
                data = entry.read(TEXT_BYTES_MAX)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
        return "", []
    return _BODIES[name], [
        unescape(_TAG.sub(" ", data.decode("utf-8", "replace").replace("</w:p>", "\n")))
    ]
