"""Search in the documents of a machine that declares a ranking: documents, the best first, with passages and reasons.

Words are compared by their stems and need not all occur; phrases in quotes must, and excluded ones must not. The first
search reads the lists of the query's terms, whatever it costs; the best of what the record query and the filters leave
are put in order by the second one (see `core.ranking`). Only what is shown is read from the outputs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from stateward import schemas
from stateward.app.vectors import VectorSearch
from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Record, to_iso
from stateward.core.ranking import RankedHit, RankedQuery, Ranking, packed_terms
from stateward.core.stemming import term_spans, terms_of
from stateward.core.text_search import Phrase, RankedWords, TextQuery, matches, snippet
from stateward.definition.display import Where
from stateward.definition.plugin import resolve
from stateward.definition.search import RankedText, ResultFormat, Test, fact_test
from stateward.engine.ranked_indexer import read_document
from stateward.storage.outputs import Outputs
from stateward.storage.ranked import IndexedDocument, RankedIndex
from stateward.storage.store import Store

NUMBERS_AT_ONCE = 500
PASSAGES_MAX = 3
TERMS_SHOWN = 6
FILTERS_MAX = 20
WORDS_SHARE = 0.4  # of a hybrid score; the rest is meaning
FEEDBACK_DOCUMENTS = 3
MEANING = "(meaning)"  # the reason of a result that is alike; no term has brackets


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of one machine: a text query, its words as they were written, and a condition over `records`."""

    query: TextQuery
    words: RankedWords
    filters: Sequence[str]
    condition: str
    params: Mapping[str, object]
    is_hybrid: bool = False


class OutputAt(msgspec.Struct, frozen=True):
    """Which output of which record."""

    record_id: str
    stage: str
    version: int


class RankedSearch:
    """Ranked search over one database."""

    def __init__(
        self,
        declared: Iterable[RankedText],
        *,
        index: RankedIndex,
        outputs: Outputs,
        store: Store,
        vectors: VectorSearch | None = None,
    ) -> None:
        self._declared = {each.machine: each for each in declared}
        self._vectors = vectors
        self._index = index
        self._outputs = outputs
        self._store = store

    def of(self, machines: Sequence[str]) -> RankedText | None:
        """The ranking of the machine that a query is about; None if it has none, or there are several."""
        return self._declared.get(machines[0]) if len(machines) == 1 else None

    def format(self, ranked: RankedText, name: str) -> ResultFormat:
        """A format of results by its name."""
        known = {each.name: each for each in ranked.formats}
        if name not in known:
            offered = ", ".join(known) or "none"
            raise InvalidRequest(f"{name!r} is no format of these results; there are: {offered}")
        return known[name]

    def find(
        self, ranked: RankedText, asked: Asked, *, offset: int, limit: int
    ) -> tuple[list[schemas.SearchHit], bool]:
        """Some results, and whether there are more."""
        if asked.is_hybrid and self._vectors is None:
            raise InvalidRequest("this service searches without vectors")
        search = _Search(
            ranked,
            asked,
            index=self._index,
            outputs=self._outputs,
            store=self._store,
            vectors=self._vectors,
        )
        shown = list(islice(search.results(), offset, offset + limit + 1))
        return shown[:limit], len(shown) > limit

    def documents_named(self, machine: str, names: Iterable[str]) -> dict[str, list[str]]:
        """The records whose document has one of these names, by name."""
        return self._index.names.having(machine, names)

    def same_documents(self, machine: str) -> list[list[str]]:
        """Groups of records whose documents are the same; in each, the canonical one first."""
        return self._index.names.shared(machine)

    def frequencies(self, ranked: RankedText, terms: Sequence[str]) -> Mapping[str, int]:
        """How many documents have each of these terms."""
        return self._index.frequencies(ranked.machine, terms) if terms else {}

    def is_listed(self, ranked: RankedText, record_id: str) -> bool:
        """Whether the document of a record is in the index, whatever its words."""
        return record_id in self._index.of_records(ranked.machine, [record_id])

    def missing_vectors(
        self, ranked: RankedText, record_id: str, vectors: Sequence[str], *, model: str
    ) -> str:
        """Why a search by meaning does not find these vectors of a record; "" if it does."""
        if self._vectors is None:
            return ""
        return self._vectors.missing(ranked.machine, record_id, vectors, model=model)

    def formatted(self, ranked: RankedText, made: ResultFormat, ids: Sequence[str]) -> str:
        """Results, by their records, in another format."""
        records = self._store.load(ids)
        about = [
            self._outputs.about(
                each, self._outputs.newest_edition(each, stage=ranked.stage, made=made_by)
            )
            for each in ids
            if each in records and (made_by := records[each].outputs.get(ranked.stage)) is not None
        ]
        text: str = resolve(made.write)(about)
        return text


class _Search:
    def __init__(
        self,
        ranked: RankedText,
        asked: Asked,
        *,
        index: RankedIndex,
        outputs: Outputs,
        store: Store,
        vectors: VectorSearch | None,
    ) -> None:
        self._ranked = ranked
        self._vectors = vectors if asked.is_hybrid else None
        self._asked = asked
        self._index = index
        self._outputs = outputs
        self._store = store
        self._ranking: Ranking = resolve(ranked.ranking)
        if len(asked.filters) > FILTERS_MAX:
            raise InvalidRequest(f"a search may have at most {FILTERS_MAX} filters")
        self._tests: list[Test] = [fact_test(each, ranked.filters) for each in asked.filters]
        self._terms = [*terms_of(asked.words.text), *self._index_if_begun(asked.words.prefixes)]
        if not self._terms:
            raise InvalidRequest(
                "all of these words are too frequent to search for; name what the documents are about"
            )
        self._known: dict[int, IndexedDocument] = {}

    def _index_if_begun(self, prefixes: Sequence[str]) -> Iterator[str]:
        for prefix in prefixes:
            yield from self._index.terms_beginning(self._ranked.machine, prefix)

    # Ranking

    def results(self) -> Iterator[schemas.SearchHit]:
        """Documents, the best first."""
        source = self._index.source(self._ranked.machine, self._terms_of)
        search = RankedQuery(source, self._ranking)
        candidates = self._best_wanted(search.first(self._terms))
        hits = search.reordered(self._terms, candidates)
        if self._vectors is not None:
            hits = self._hybrid(self._vectors, search, candidates, hits)
        shown: set[str] = set()
        for hit in hits:
            if self._known[hit.number].record_id in shown:
                continue
            result = self._result(hit)
            if result is not None:
                shown.update(result.same_as)
                yield result

    def _hybrid(
        self,
        vectors: VectorSearch,
        search: RankedQuery,
        candidates: Mapping[int, float],
        hits: Sequence[RankedHit],
    ) -> list[RankedHit]:
        """Results by words and by meaning. Both are asked again with what the best of a first answer have in common."""
        meaning = vectors.query(self._ranked.machine, self._asked.words.text)
        first = fuse_results(hits, self._alike(meaning.find()))
        scores = {hit.number: hit.score for hit in first}
        nearest = [self._known[hit.number].record_id for hit in first[:FEEDBACK_DOCUMENTS]]
        again = search.reordered(self._terms, {number: scores[number] for number in candidates})
        return fuse_results(again, self._alike(meaning.towards(nearest)))

    def _alike(self, found: Mapping[str, float]) -> dict[int, float]:
        """Of records that are alike in meaning those that are wanted, by number."""
        documents = self._index.of_records(
            self._ranked.machine,
            list(found),
            condition=self._asked.condition,
            params=self._asked.params,
        )
        alike: dict[int, float] = {}
        for record_id, document in documents.items():
            if all(test(document.facts) for test in self._tests):
                alike[document.number] = found[record_id]
                self._known[document.number] = document
        return alike

    def _best_wanted(self, scores: Mapping[int, float]) -> dict[int, float]:
        """The best of those that are there, belong to the wanted records and pass the filters."""
        wanted: dict[int, float] = {}
        order = iter(sorted(scores, key=lambda number: (-scores[number], number)))
        while part := list(islice(order, NUMBERS_AT_ONCE)):
            found = self._index.documents(
                self._ranked.machine,
                part,
                condition=self._asked.condition,
                params=self._asked.params,
            )
            for number in part:
                document = found.get(number)
                if document is not None and all(test(document.facts) for test in self._tests):
                    wanted[number] = scores[number]
                    self._known[number] = document
                    if len(wanted) == self._ranking.reordered:
                        return wanted
        return wanted

    def _terms_of(self, number: int) -> Mapping[str, int]:
        """The terms of a document that was found, read from the output itself."""
        output = self._output(self._known[number])
        if output is None:
            return {}
        document = read_document(self._ranked, self._outputs, output)
        return packed_terms(document.texts, self._ranking)[0]

    def _output(self, document: IndexedDocument) -> OutputAt | None:
        record = self._store.load([document.record_id]).get(document.record_id)
        made = None if record is None else record.outputs.get(document.stage)
        if made is None:
            return None
        version = self._outputs.newest_edition(document.record_id, stage=document.stage, made=made)
        return OutputAt(document.record_id, document.stage, version)

    # Results

    def _result(self, hit: RankedHit) -> schemas.SearchHit | None:
        """A result with its passages; None if it lacks a phrase, has one that is excluded, or is gone."""
        document = self._known[hit.number]
        record = self._store.load([document.record_id]).get(document.record_id)
        output = self._output(document)
        if record is None or output is None:
            return None
        texts = self._texts(output)
        if not self._is_as_asked([text for _, _, text in texts]):
            return None
        return self._search_hit(hit, document, record, self._passages(hit, texts))

    def _texts(self, output: OutputAt) -> list[tuple[int, Fields, str]]:
        """The items of a document with their number and text."""
        text_of = resolve(self._ranked.text)
        items = self._outputs.items(output.record_id, output.version)
        return [
            (number, item, text)
            for number, item in enumerate(items)
            if (text := str(text_of(item)))
        ]

    def _is_as_asked(self, texts: Sequence[str]) -> bool:
        def occurs(phrase: Phrase) -> bool:
            return any(matches(text, [phrase]) for text in texts)

        return all(map(occurs, self._asked.words.quoted)) and not any(
            map(occurs, self._asked.query.unwanted)
        )

    def _passages(
        self, hit: RankedHit, texts: Sequence[tuple[int, Fields, str]]
    ) -> list[schemas.SearchPassage]:
        """The items that hold most of the query's terms, the best first."""
        terms = set(self._terms)
        shares = {term: share for term, share in hit.terms if term in terms}
        scored: list[tuple[int, float, int, Fields, str]] = []
        for number, item, text in texts:
            found = terms.intersection(terms_of(text))
            if found or not scored:
                weight = sum(shares.get(term, 0.0) for term in found)
                scored.append((-len(found), -weight, number, item, text))
        best = sorted(scored, key=lambda each: each[:3])[:PASSAGES_MAX]
        return [
            _passage(number, item, text, terms)
            for lacking, _, number, item, text in best
            if lacking or len(best) == 1
        ]

    def _search_hit(
        self,
        hit: RankedHit,
        document: IndexedDocument,
        record: Record,
        passages: Sequence[schemas.SearchPassage],
    ) -> schemas.SearchHit:
        best = passages[0] if passages else None
        same = self._index.names.same_as(record.machine, record.id)
        return schemas.SearchHit(
            record_id=record.id,
            machine=record.machine,
            status=record.status,
            stage=document.stage,
            item=0 if best is None else best.item,
            kind="",
            title=document.title,
            snippet=[] if best is None else best.snippet,
            score=hit.score,
            where=None if best is None else best.where,
            created_at=to_iso(record.created_at),
            facts=document.facts,
            passages=list(passages),
            same_as=[each for each in same if each != record.id],
            canonical=same[0] if len(same) > 1 else None,
            why=[
                schemas.SearchReason(term=term, share=share)
                for term, share in hit.terms[:TERMS_SHOWN]
            ],
        )


def fuse_results(hits: Sequence[RankedHit], alike: Mapping[int, float]) -> list[RankedHit]:
    """Results by words and by meaning in one order: the weighted sum of both, each against its best."""
    by_words = {hit.number: hit for hit in hits}
    most_words = max((hit.score for hit in hits), default=0.0) or 1.0
    most_alike = max(alike.values(), default=0.0) or 1.0
    both: list[RankedHit] = []
    for number in dict.fromkeys((*by_words, *alike)):
        hit = by_words.get(number)
        meaning = (1 - WORDS_SHARE) * max(alike.get(number, 0.0), 0.0) / most_alike
        factor = WORDS_SHARE / most_words
        terms = (
            [] if hit is None else [(term, round(share * factor, 4)) for term, share in hit.terms]
        )
        if meaning:
            terms.append((MEANING, round(meaning, 4)))
        score = meaning + (0.0 if hit is None else hit.score * factor)
        terms.sort(key=lambda pair: (-pair[1], pair[0]))
        both.append(RankedHit(number=number, score=round(min(score, 1.0), 6), terms=tuple(terms)))
    return sorted(both, key=lambda each: (-each.score, each.number))


def _passage(number: int, item: Fields, text: str, asked: set[str]) -> schemas.SearchPassage:
    found = [(start, end) for term, start, end in term_spans(text) if term in asked]
    where = Where.read(item.get("where"))
    place: Fields | None = None if where is None else msgspec.to_builtins(where)
    return schemas.SearchPassage(
        item=number,
        id=str(item.get("id") or ""),
        snippet=[
            schemas.SnippetSegment(text=each.text, is_match=each.is_match)
            for each in snippet(text, found)
        ],
        where=place,
    )
