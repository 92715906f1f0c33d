"""A remark below the signatures of an agreement.

What stands there is a name, an address, the number of a page or the heading of a schedule. A sentence there says
something of the agreement, whatever its words: a person reads it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stateward.core.model import Json
from stateward.pipelines.contracts.rules import ContractRules, Vertical
from stateward.pipelines.contracts.states import (
    GENERAL,
    QUOTE_CHARS_MAX,
    family,
    lines_and_sentences,
    small_words,
)
from stateward.pipelines.kit.documents import TextDocument

SMALL_WORDS_MIN = 4  # a name, a title or an address has fewer
TELLING_WORDS_MIN = 1  # of those: words that say something by themselves

_ROW = re.compile(r"\t| {3,}|_{3,}|-{4,}|\.{4,}")


class _Lines(NamedTuple):
    """What lines below an agreement begin with, and what makes a sentence one of the signatures."""

    signature: re.Pattern[str]
    schedule: re.Pattern[str]
    signing: re.Pattern[str]
    function_words: frozenset[str]

    def is_remark(self, text: str) -> bool:
        """Whether a line or sentence says something, and is no part of a signature."""
        if _ROW.search(text) or self.signing.search(text):
            return False
        words = small_words(text)
        telling = [word for word in words if word not in self.function_words]
        return len(words) >= SMALL_WORDS_MIN and len(telling) >= TELLING_WORDS_MIN


def remark_flags(
    document: TextDocument, vertical: Vertical, rules: ContractRules
) -> Iterator[Json]:
    """The first sentence below the last signature of an agreement, if there is one."""
    if vertical.extractor != GENERAL or not rules.signature_words:
        return
    lines = _Lines(
        family(rules.signature_words),
        family(rules.schedule_words),
        family(rules.signing_words),
        rules.function_words,
    )
    for said in lines_and_sentences("\n".join(_below_signatures(document, lines))):
        if lines.is_remark(said.text):
            quote = " ".join(said.text.split())[:QUOTE_CHARS_MAX]
            sentence = f"a remark stands below the signatures: {quote!r}"
            yield {"code": "NOT_UNDERSTOOD", "sentence": sentence}
            return


def _below_signatures(document: TextDocument, known: _Lines) -> Sequence[str]:
    """The lines below the last signature, up to the heading of a schedule; no line that stands on several pages."""
    pages = [[line.strip() for line in page.text.split("\n")] for page in document.pages]
    on_pages = Counter(line for page in pages for line in set(page) if line)
    lines = [line for page in pages for line in page if on_pages[line] <= 1]
    signed = [
        at
        for at, line in enumerate(lines)
        if known.signature.match(line) and not known.is_remark(line)
    ]
    if not signed:
        return []
    below = lines[signed[-1] + 1 :]
    end = next((at for at, line in enumerate(below) if known.schedule.match(line)), len(below))
    return below[:end]
