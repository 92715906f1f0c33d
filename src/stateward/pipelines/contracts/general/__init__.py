"""General contracts and NDAs without a model: parties, effective date, governing law, term.

The rules are about language, not about any form: the names behind `between` and in signatures, the date of the first
sentence or the letter, the law that `governs`, and how long the contract or its duty of confidence lasts. Every value
has its place and a confidence that was set on one half of a set of real contracts and checked on the other.
"""

from typing import TYPE_CHECKING, Protocol

from stateward.core.model import Fields, Json
from stateward.pipelines.contracts.caps import FLAGS, lower_confidence
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.rules import ContractRules, Vertical
from stateward.pipelines.kit.documents import TextDocument

if TYPE_CHECKING:
    from stateward.pipelines.contracts.general.elimination import Doubt
    from stateward.pipelines.contracts.general.prose import Prose

VERSION = 7  # what comes out of the same text; a change that shows in values counts it up
SOURCE = f"general/{VERSION}"
# A contract may name the term of its duty and one of its own: of the best ones 88 in 100 were right on both halves.
TERM_MAX = 78


class GeneralExtractor:
    """The offline extractor of the vertical `general`."""

    def extract(
        self, document: TextDocument, vertical: Vertical, rules: ContractRules
    ) -> Extraction:
        """The values of a contract; fields that the vertical does not have are left out."""
        from stateward.pipelines.contracts.general.prose import Prose

        prose = Prose(document)
        wanted = {field.name for field in vertical.fields}
        found = [one for one in find_values(prose) if one.field in wanted]
        about: Fields = {"rules": rules.version, "version": VERSION}
        if flags := find_contradictions(prose):
            about[FLAGS] = flags
        return Extraction(
            vertical=vertical.slug,
            provider=None,
            found=found,
            extractor=SOURCE,
            about=about,
        )


def find_contradictions(prose: "Prose") -> list[Json]:
    """What the contract says in two ways, for a person to decide."""
    from stateward.pipelines.contracts.general.term import contradicting_terms

    terms = contradicting_terms(prose)
    if not terms:
        return []
    one, two = (term.value for term in terms)
    return [{"code": "CONTRADICTION", "sentence": f"it says that it lasts {one}, and also {two}"}]


def find_values(prose: "Prose") -> list[FoundValue]:
    """All values of a contract: parties first, in the order in which they are named."""
    # Imported here: their patterns take a fifth of a second to compile, which other contracts must not pay for.
    from stateward.pipelines.contracts.general.effective import effective_date
    from stateward.pipelines.contracts.general.elimination import (
        doubt_of_date,
        doubt_of_law,
        doubt_of_parties,
        raised_parties,
    )
    from stateward.pipelines.contracts.general.law import governing_law, named_laws
    from stateward.pipelines.contracts.general.parties import parties_of
    from stateward.pipelines.contracts.general.term import term_of

    parties = parties_of(prose)
    doubt = doubt_of_parties(prose, parties)
    found = [
        _apply_doubt(
            _found_value(prose, "party", one.name, one.confidence, one.why, one.cap), doubt
        )
        for one in raised_parties(prose, parties)
    ]
    if day := effective_date(prose):
        value = _found_value(prose, "effective_date", day, day.confidence, day.why, day.cap)
        found.append(_apply_doubt(value, doubt_of_date(prose, day, parties)))
    laws = named_laws(prose)
    if governing := governing_law(laws):
        law, confidence = governing
        value = _found_value(prose, "governing_law", law, confidence, _WHY_LAW[law.kind])
        found.append(_apply_doubt(value, doubt_of_law(prose, law, laws)))
    if lasting := term_of(prose, day.value if day else None):
        term, confidence = lasting
        sure = min(confidence, TERM_MAX)
        found.append(_found_value(prose, "term", term, sure, "how long it lasts"))
    return found


_WHY_LAW = {
    "clause": "the clause on the governing law",
    "adjective": "the clause on the governing law",
    "label": "the clause on the governing law",
    "laws": "a law named in the text",
    "courts": "the place of the courts",
}


class _Placed(Protocol):
    """A value and its place in the running text."""

    @property
    def value(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def _found_value(
    prose: "Prose", field: str, one: _Placed, confidence: int, why: str, cap: int = 100
) -> FoundValue:
    return FoundValue(
        field=field,
        value=one.value,
        raw=" ".join(prose.text[one.start : one.end].split()),
        confidence=confidence,
        source=SOURCE,
        place=prose.place(one.start, one.end),
        why=why,
        cap=cap,
    )


def _apply_doubt(found: FoundValue, doubt: "Doubt | None") -> FoundValue:
    return found if doubt is None else lower_confidence(found, doubt.cap, doubt.sentence)
