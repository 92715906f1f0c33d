"""Whether a file is a contract, by the words at its start, with the words that speak for it.

Nothing is parsed: of an archive only the bounded start of its text is inflated, of a PDF that of its first streams. So
a contract that shows no words there (a scan, a damaged file) is not detected, and its sender says what it is.
"""

import re
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache
from html import unescape
from importlib.resources import files
from typing import NamedTuple

import msgspec

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.contracts import SOURCE_TYPE
from stateward.pipelines.kit.files import ZIP, is_pdf
from stateward.pipelines.kit.pdf.peek import peeked_texts

TEXT_BYTES_MAX = 128 * 1024
SIGNS_MIN = 3
# More than what is said of any DOCX (70), and less than what a format says that is unmistakable.
CONFIDENCES = {3: 72, 4: 78, 5: 84}
CONFIDENCE_MAX = 88
_BODIES = {"word/document.xml": "docx", "content.xml": "odt"}
_TAG = re.compile(r"<[^>]{0,2000}>")
_CONTROL = re.compile(r"\{\\rtf|\\[a-z]+-?\d* ?|[{}]")


class Signs(NamedTuple):
    """What speaks for a contract, and for a document that only names contracts (`signs.yaml`)."""

    patterns: Mapping[str, re.Pattern[str]]
    others: re.Pattern[str]


@cache
def signs() -> Signs:
    """The signs, read when a document is first looked at."""
    read = msgspec.yaml.decode(
        (files("stateward.pipelines.contracts") / "signs.yaml").read_text("utf-8")
    )
    patterns = {name: _any(words) for name, words in read["signs"].items()}
    return Signs(patterns, _any(read["others"]))


def _any(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\w*", re.IGNORECASE)


def detect(content: Content) -> Detected | None:
    """A contract with its evidence, or None."""
    form, texts = _read(content)
    best = max((_signs(text) for text in texts), key=len, default=[])
    if len(best) < SIGNS_MIN:
        return None
    return Detected(
        source_type=SOURCE_TYPE,
        format=form,
        confidence=CONFIDENCES.get(len(best), CONFIDENCE_MAX),
        evidence=tuple(best),
    )


def _signs(text: str) -> list[str]:
    """The signs of a text, each with the words that were found."""
    plain = " ".join(text.split())
    known = signs()
    if known.others.search(plain):
        return []
    met = ((name, pattern.search(plain)) for name, pattern in known.patterns.items())
    return [f"{name}: {found[0]}" for name, found in met if found]


def _read(content: Content) -> tuple[str, list[str]]:
    head = content.head
    if is_pdf(head):
        return "pdf", peeked_texts(content.path)
    if head.startswith(ZIP):
        return _archive_text(content)
    if head.startswith(b"{\\rtf"):
        return "rtf", [_CONTROL.sub("", head.decode("cp1252", "replace"))]
    text = head.decode("utf-8", "replace")
    if "\x00" in text or text.lstrip()[:1] in ("<", "{", "["):
        return "", []
    return "text", [text]


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
