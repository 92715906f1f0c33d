"""What the law prints into every contract with a consumer: the instruction on withdrawal, and the head of a summary.

Its sentences are those of the law, with an address filled in, so they say the same in every contract: nothing of this
one. Yet they speak of withdrawals that arrived, of fourteen days and of repayments. They are blanked before anything
is read; an instruction in words of its own stays, and so does one into which something of this contract is filled.
"""

import re
from functools import cache
from importlib.resources import files

import msgspec

from stateward.pipelines.kit.documents import TextDocument

_STEM = re.compile(
    r"widerr?uf|right to cancel|cancellation period|cooling|vertragszusammenfassung|contract summary",
    re.IGNORECASE,
)
# What is filled in: no end of a sentence, apart from that of a shortened word.
_FILLED = r"(?:[^.;!?]|(?:(?<=\b\w)|(?<=Tel|Str|bzw))[.]|[.](?!\s+(?-i:[A-ZÄÖÜ])\w\w))"
_GAP = rf"(\s{_FILLED}{{1,300}}?\s?)"
_BRACKETED = rf"\(((?:(?![()]){_FILLED}){{1,200}})\)"
_INK = re.compile(r"\S")
# What no law fills in: an amount, and that the contract ended, was cancelled or is another one.
_OF_CONTRACT = re.compile(
    r"\d\s?(?:€|£|EUR\b|Euro\b|GBP\b|CHF\b|ct\b|Cent\b|p\b)|(?:€|£|\b(?:EUR|GBP|CHF))\s?\d"
    r"|storn|gekündigt|kündigung|beendet|endete|ungültig|unwirksam|nichtig|hinfällig|aufgehoben|abgelehnt|annulliert|widerrufen"
    r"|eingegangen|ersetzt|ruht\b|ruhend|entwurf|status|\b(?:nicht|kein\w*|not|never|void|draft)\b"
    r"|cancel+ed|terminated|revoked|rescinded|withdrawn|withdrew|lapsed|superseded|\bended|rejected|declined|suspended",
    re.IGNORECASE,
)


def mask_statutory(document: TextDocument) -> TextDocument:
    """The document with blanks where it says what the law prescribes, in the words of the law."""
    if not any(_STEM.search(page.text) for page in document.pages):
        return document
    pages = [
        msgspec.structs.replace(page, text=_pattern().sub(_blanks, page.text))
        for page in document.pages
    ]
    return msgspec.structs.replace(document, pages=pages)


def _blanks(found: re.Match[str]) -> str:
    filled = [each for each in found.groups() if each]
    # Two ends of a line enclose a whole one: that of a column beside the instruction, or of a note in it.
    if any(each.count("\n") > 1 or _OF_CONTRACT.search(each) for each in filled):
        return found[0]
    return _INK.sub(" ", found[0])


@cache
def _pattern() -> re.Pattern[str]:
    """The sentences of the law, read when a document first needs them."""
    source = files("stateward.pipelines.contracts") / "statutory.yaml"
    listed = msgspec.yaml.decode(source.read_text("utf-8"), type=dict[str, list[str]])
    return re.compile(
        "|".join(_form(each) for one in listed.values() for each in one), re.IGNORECASE
    )


def _form(sentence: str) -> str:
    """The pattern of a sentence; what is filled in is a group of it."""
    return sentence.replace("(…)", _BRACKETED).replace(" … ", _GAP).replace(" ", r"\s+")
