"""Whether a search finds one document: by its own words, and by its own vectors where it has any.

The queries are those of a person, restricted to the one record, so that what says "found" is what people search with.
"""

from collections.abc import Iterable

from stateward.app.ranked_search import Asked, OutputAt, RankedSearch
from stateward.core.errors import InvalidRequest
from stateward.core.model import Record
from stateward.core.stemming import term_spans
from stateward.core.text_search import RankedWords, TextQuery
from stateward.definition.search import RankedDocument, RankedText
from stateward.engine.ranked_indexer import read_document
from stateward.engine.search_confirmation import Probed
from stateward.storage.outputs import Outputs

WORDS_ASKED = 3
WORDS_RATED = 60  # of which the rarest are asked for: frequent ones cost time and tell little


class SearchProbe:
    """Asks the search for documents."""

    def __init__(
        self, declared: Iterable[RankedText], *, search: RankedSearch, outputs: Outputs
    ) -> None:
        self._declared = {each.machine: each for each in declared}
        self._search = search
        self._outputs = outputs

    def __call__(self, record: Record) -> Probed:
        """What the search says of a record's document."""
        ranked = self._declared[record.machine]
        try:
            return self._probe(ranked, record)
        except InvalidRequest as error:  # a search that is refused finds nothing
            return Probed(missing=f"the search was refused: {error}")

    def _probe(self, ranked: RankedText, record: Record) -> Probed:
        made = record.outputs.get(ranked.stage)
        if made is None:
            return Probed(missing=f"there is no output of {ranked.stage} to search in")
        version = self._outputs.newest_edition(record.id, stage=ranked.stage, made=made)
        output = OutputAt(record.id, ranked.stage, version)
        words = self._rarest_words(ranked, read_document(ranked, self._outputs, output))
        if not self._finds_words(ranked, record, words):
            return Probed(missing=f"a search for {words!r}, its own words, does not find it")
        embedded = record.outputs.get(ranked.vectors)
        if embedded is None:
            return Probed(found_by=("words",))
        if missing := self._missing_vectors(ranked, record, embedded):
            return Probed(missing=missing)
        return Probed(found_by=("words", "vectors"))

    def _rarest_words(self, ranked: RankedText, document: RankedDocument) -> str:
        """The words of a document that the fewest others have."""
        words: dict[str, str] = {}
        for text in document.texts.values():
            for term, start, end in term_spans(text):
                words.setdefault(term, text[start:end])
                if len(words) == WORDS_RATED:
                    break
        known = self._search.frequencies(ranked, list(words))
        # A word that no document has is not in the index: another one must find it.
        rarest = sorted((each for each in words if known.get(each)), key=lambda each: known[each])
        return " ".join(words[each] for each in (rarest or [*words])[:WORDS_ASKED])

    def _finds_words(self, ranked: RankedText, record: Record, words: str) -> bool:
        if (
            not words
        ):  # a document of stop words alone is found by no word; that it is listed is all there is
            return self._search.is_listed(ranked, record.id)
        query = Asked(
            query=TextQuery(wanted=()),
            words=RankedWords(text=words),
            filters=(),
            condition="records.id = :probed",
            params={"probed": record.id},
        )
        hits, _ = self._search.find(ranked, query, offset=0, limit=1)
        return [hit.record_id for hit in hits] == [record.id]

    def _missing_vectors(self, ranked: RankedText, record: Record, version: int) -> str:
        """Why a search by meaning does not find the document; "" if it does."""
        model = str(self._outputs.about(record.id, version).get("model", ""))
        vectors = [str(item.get("vector", "")) for item in self._outputs.items(record.id, version)]
        return self._search.missing_vectors(ranked, record.id, vectors, model=model)
