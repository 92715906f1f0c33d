"""The instruction on withdrawal that the law prints into every contract with a consumer.

Its sentences are those of the law, with an address filled in, so they say the same in every contract: nothing of this
one. Yet they speak of withdrawals that arrived, of fourteen days and of repayments. They are blanked before anything
is read; an instruction in words of its own stays.
"""

import re
from functools import cache
from importlib.resources import files

import msgspec

from stateward.pipelines.kit.documents import TextDocument

_STEM = re.compile(r"widerr?uf|right to cancel|cancellation period|cooling", re.IGNORECASE)
# What is filled in: no end of a sentence, apart from that of a shortened word.
_GAP = r"\s(?:[^.;!?]|[.](?!\s+[A-ZÄÖÜ][a-zäöü])){1,400}?\s?"
_INK = re.compile(r"\S")


def mask_statutory(document: TextDocument) -> TextDocument:
    """The document with blanks where it instructs on withdrawal in the words of the law."""
    if not any(_STEM.search(page.text) for page in document.pages):
        return document
    pages = [
        msgspec.structs.replace(page, text=_pattern().sub(_blanks, page.text))
        for page in document.pages
    ]
    return msgspec.structs.replace(document, pages=pages)


def _blanks(found: re.Match[str]) -> str:
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
    return sentence.replace(" … ", _GAP).replace(" ", r"\s+")
