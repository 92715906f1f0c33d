"""Which format a paper has, by its first bytes, and a PDF by the words of its first streams. Nothing is parsed."""

import re
from collections.abc import Sequence

from stateward.core.errors import FatalFailure
from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT, UNSUPPORTED_FORMAT
from stateward.pipelines.kit.files import ZIP, foreign_file, is_empty, is_pdf
from stateward.pipelines.kit.pdf.peek import peeked_texts
from stateward.pipelines.literature.tagged import has_list_form

FILE = "paper_file"
CONFIDENCES = {
    "jats": 95,
    "pubmed": 95,
    "trial": 90,
    "arxiv": 90,
    "list": 90,
    "html": 40,
    "pdf": 15,
    "text": 10,
}
# Of a PDF whose words are seen: those of a paper are among them, or not.
PAPER_WORDS, OTHER_WORDS = 45, 5
SIGNS_MIN, WORDS_MIN = 3, 30
_SIGNS = re.compile(
    r"\b(abstract|introduction|references|bibliography|acknowledge?ments?|keywords|et al|doi|arxiv|zusammenfassung"
    r"|einleitung|literaturverzeichnis|résumé|bibliographie|resumen|referencias)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_COMMENT = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>", re.DOTALL | re.IGNORECASE
)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")
ROOTS = {
    "article": "jats", "pmc-articleset": "jats", "OAI-PMH": "jats", "PubmedArticleSet": "pubmed",
    "PubmedArticle": "pubmed", "PubmedBookArticle": "pubmed", "feed": "arxiv", "html": "html",
}  # fmt: skip
_JSON = re.compile(r'\{\s*"[^"\n]{1,200}"\s*:|\[\s*\{\s*"')
_HTML = re.compile(r"\s*(?:<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>])", re.IGNORECASE)


def detect(content: Content) -> Detected | None:
    """A paper of some format; a refusal with its sentence if it is none that is read."""
    found = format_of(content.head)
    confidence = CONFIDENCES[found]
    if found == "pdf":
        confidence = _pdf_confidence(peeked_texts(content.path))
    return Detected(source_type=FILE, format=found, confidence=confidence)


def _pdf_confidence(texts: Sequence[str]) -> int:
    signs = [{sign.casefold() for sign in _SIGNS.findall(text)} for text in texts]
    if any(len(each) >= SIGNS_MIN for each in signs):
        return PAPER_WORDS
    is_seen = any(len(_WORD.findall(text)) >= WORDS_MIN for text in texts)
    return OTHER_WORDS if is_seen else CONFIDENCES["pdf"]


def format_of(head: bytes) -> str:
    """The format of a file that begins so."""
    if is_empty(head):
        raise FatalFailure("the file is empty; submit it again", code=EMPTY_DOCUMENT)
    if is_pdf(head):
        return "pdf"
    if what := foreign_file(head):
        raise _unsupported_error(what)
    if head.startswith(ZIP):
        raise _unsupported_error("a zip archive; extract it and submit the papers that it holds")
    text = _as_text(head)
    if _HTML.match(text):
        return "html"
    if text.startswith("{") and '"protocolSection"' in text:
        return "trial"
    if text.startswith("<"):
        return _xml_format(text)
    if _JSON.match(text):
        raise _unsupported_error(
            "JSON of an unknown kind; studies of ClinicalTrials.gov are read, and lists as RIS, BibTeX or CSV"
        )
    if text.startswith("#!"):
        raise _unsupported_error("a script")
    return "list" if has_list_form(text) else "text"


def _xml_format(text: str) -> str:
    root = _ROOT.search(_COMMENT.sub(" ", text))
    name = root[1] if root else ""
    if name == "feed" and "arxiv.org" not in text:
        raise _unsupported_error("a feed that is none of arXiv")
    if name in ROOTS:
        return ROOTS[name]
    if name and "<body" in text.lower() and "<p" in text.lower():
        return "html"
    raise _unsupported_error(
        f"XML of an unknown kind (<{name}>); JATS, PubMed and the formats of arXiv and ClinicalTrials.gov are read"
    )


def _as_text(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head[: len(head) & ~1].decode("utf-16", "replace").lstrip("\ufeff \t\r\n")
    return head.replace(b"\x00", b"").decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def _unsupported_error(what: str) -> FatalFailure:
    return FatalFailure(f"the file is {what}", code=UNSUPPORTED_FORMAT)
