"""Which format a paper has, by its first bytes. Nothing is parsed."""

import re

from stateward.core.errors import FatalFailure
from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT, UNSUPPORTED_FORMAT
from stateward.pipelines.kit.files import ZIP, foreign_file, is_empty, is_pdf

FILE = "paper_file"
CONFIDENCES = {
    "jats": 95,
    "pubmed": 95,
    "trial": 90,
    "arxiv": 90,
    "html": 40,
    "pdf": 20,
    "text": 10,
}
_COMMENT = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>", re.DOTALL | re.IGNORECASE
)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")
ROOTS = {
    "article": "jats", "pmc-articleset": "jats", "OAI-PMH": "jats", "PubmedArticleSet": "pubmed",
    "PubmedArticle": "pubmed", "feed": "arxiv", "html": "html",
}  # fmt: skip
_HTML = re.compile(r"\s*(?:<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>])", re.IGNORECASE)


def detect(content: Content) -> Detected | None:
    """A paper of some format; a refusal with its sentence if it is none that is read."""
    found = format_of(content.head)
    return Detected(source_type=FILE, format=found, confidence=CONFIDENCES[found])


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
    return "text"


def _xml_format(text: str) -> str:
    root = _ROOT.search(_COMMENT.sub(" ", text))
    name = root[1] if root else ""
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
