"""Full-text search: a query of a person in, results with snippets out. Reads only.

The database gives the passages that match, those that were indexed last first, up to `CANDIDATES_MAX`; they are ranked
here. So a search costs the same however long the history is, and both databases rank alike. What matches beyond the
first candidates comes on later pages, ranked among itself.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from stateward import schemas
from stateward.app.ranked_search import Asked, RankedSearch
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import Fields, Micros, Record, clean_text, to_iso
from stateward.core.query import META, Query, Term
from stateward.core.text_search import (
    TYPE,
    Phrase,
    TextQuery,
    matches,
    parse_text_query,
    ranked_words,
    score,
    snippet,
    tag,
)
from stateward.core.view import document_name
from stateward.engine.registry import MachineRegistry
from stateward.storage.full_text import FoundPassage, FullTextIndex
from stateward.storage.search import where
from stateward.storage.store import Store

CANDIDATES_MAX = 200


class SearchPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a list of results goes on: `offset` of the ranked candidates with an id below `below`.

    `now` is what relative times of the query mean.
    """

    below: int
    offset: int
    now: Micros


class SearchResults(msgspec.Struct, frozen=True, kw_only=True):
    """Some results, the best first; `next` is where the list goes on, or None."""

    hits: list[schemas.SearchHit]
    next: SearchPlace | None


class Search:
    """What can be asked about the text of documents."""

    def __init__(
        self,
        *,
        index: FullTextIndex,
        store: Store,
        registry: MachineRegistry,
        query: Callable[[str, Micros | None], Query],
        ranked: RankedSearch | None = None,
        types: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._rank = ranked
        self._types = types
        self._index = index
        self._store = store
        self._registry = registry
        self._query = query

    def find(
        self,
        text: str,
        *,
        machines: Sequence[str] = (),
        pipeline: str = "",
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        after: SearchPlace | None = None,
        limit: int = 20,
    ) -> SearchResults:
        """Results of these machines (none: all). `InvalidRequest` says what is wrong with a query.

        A query about one `pipeline` that ranks its documents gives documents, to which `filters` apply; one about
        others gives passages.
        """
        wanted = parse_text_query(text)
        self._check_types(wanted)
        query = self._query(wanted.records, None if after is None else after.now)
        named = (self._registry.named(pipeline).name,) if pipeline else query.machines
        for own in (named if pipeline else (), machines):
            if own:
                query = replace(query, terms=(*query.terms, Term(key="machine", values=(*own,))))
        ranked = None if self._rank is None else self._rank.of(named)
        if self._rank is not None and ranked is not None:
            if wanted.types or wanted.unwanted_types:
                raise InvalidRequest("ranked documents have no types; leave `type:` out")
            offset = 0 if after is None else after.offset
            text_query = replace(self._query_of(text, wanted, query, filters), is_hybrid=is_hybrid)
            hits, has_more = self._rank.find(ranked, text_query, offset=offset, limit=limit)
            following = SearchPlace(below=0, offset=offset + limit, now=query.now)
            return SearchResults(hits=hits, next=following if has_more else None)
        if filters or is_hybrid:
            raise InvalidRequest(
                "only ranked documents are filtered and compared by meaning; name one pipeline that ranks"
            )
        return self._find_passages(wanted, query, after, limit)

    def _check_types(self, wanted: TextQuery) -> None:
        """Refuse a type that no passage can have: a slip of the pen would find nothing, without a word."""
        known = self._types()
        for name in (*(each for group in wanted.types for each in group), *wanted.unwanted_types):
            if name not in known:
                raise UnknownName("type of passages", clean_text(name, chars_max=40), known)

    def _query_of(
        self, text: str, wanted: TextQuery, query: Query, filters: Sequence[str]
    ) -> Asked:
        names = self._registry.query_names
        condition, params = where(query, kinds=names.kinds, running=names.running)
        return Asked(
            query=wanted,
            words=ranked_words(text),
            filters=filters,
            condition=condition,
            params=params,
        )

    def _find_passages(
        self, wanted: TextQuery, query: Query, after: SearchPlace | None, limit: int
    ) -> SearchResults:
        found = self._candidates(wanted, query, below=None if after is None else after.below)
        ranked = _rank(wanted, found)
        offset = 0 if after is None else after.offset
        shown = ranked[offset : offset + limit]
        records = self._store.load(each.record_id for _, each in shown)
        return SearchResults(
            hits=[
                _hit(wanted, each, records[each.record_id], points=points)
                for points, each in shown
                if each.record_id in records
            ],
            next=_next(ranked, found, offset=offset + limit, after=after, now=query.now),
        )

    def formatted(
        self, name: str, hits: Sequence[schemas.SearchHit], *, pipeline: str = ""
    ) -> tuple[str, str]:
        """Results in a format that their pipeline offers, and its media type."""
        of = {hit.machine for hit in hits} or {pipeline}
        ranked = None if self._rank is None else self._rank.of([*of])
        if self._rank is None or ranked is None:
            raise InvalidRequest(
                f"only results of one pipeline that ranks can be written as {name}"
            )
        made = self._rank.format(ranked, name)
        text = self._rank.formatted(ranked, made, [hit.record_id for hit in hits])
        return text, made.media_type

    def documents_named(self, machine: str, names: Iterable[str]) -> dict[str, list[str]]:
        """The records whose document has one of these names, by name: `doi:10.5555/x`."""
        return {} if self._rank is None else self._rank.documents_named(machine, names)

    def same_documents(self, machine: str) -> list[list[str]]:
        """Groups of records of a machine whose documents are the same; in each, the canonical one first."""
        return [] if self._rank is None else self._rank.same_documents(machine)

    def _candidates(
        self, wanted: TextQuery, query: Query, *, below: int | None
    ) -> list[FoundPassage]:
        names = self._registry.query_names
        condition, params = where(query, kinds=names.kinds, running=names.running)
        unwanted = [Phrase(words=(tag(TYPE, each),)) for each in wanted.unwanted_types]
        return self._index.find(
            replace(wanted, unwanted=(*wanted.unwanted, *unwanted)),
            tags=[*_tags(query), *([tag(TYPE, each) for each in group] for group in wanted.types)],
            condition=condition,
            params=params,
            below=below,
            limit=CANDIDATES_MAX,
        )


def _tags(query: Query) -> list[list[str]]:
    """What records must have, as words of their passages: groups, of each of which one."""
    return [
        [tag(term.key, value) for value in term.texts]
        for term in query.terms
        if (term.key == "machine" or term.key.startswith(META)) and not term.is_negated
    ]


def _rank(wanted: TextQuery, found: Sequence[FoundPassage]) -> list[tuple[float, FoundPassage]]:
    """The best first, newer ones before older ones that are as good; each item once."""
    scored = [(score(each.text, wanted.wanted), each) for each in found]
    scored.sort(key=lambda pair: (-pair[0], -pair[1].id))
    best: dict[tuple[str, str, int, str], tuple[float, FoundPassage]] = {}
    for pair in scored:
        each = pair[1]
        best.setdefault((each.record_id, each.stage, each.item, each.title), pair)
    return list(best.values())


def _next(
    ranked: Sequence[tuple[float, FoundPassage]],
    found: Sequence[FoundPassage],
    *,
    offset: int,
    after: SearchPlace | None,
    now: Micros,
) -> SearchPlace | None:
    if offset < len(ranked):
        # Fixed by the first page: what is indexed meanwhile moves nothing.
        below = found[0].id + 1 if after is None else after.below
        return SearchPlace(below=below, offset=offset, now=now)
    if len(found) < CANDIDATES_MAX:
        return None
    return SearchPlace(below=found[-1].id, offset=0, now=now)


def _hit(
    wanted: TextQuery, found: FoundPassage, record: Record, *, points: float
) -> schemas.SearchHit:
    place: Fields | None = msgspec.json.decode(found.place) if found.place else None
    return schemas.SearchHit(
        record_id=record.id,
        machine=record.machine,
        status=record.status,
        stage=found.stage,
        item=found.item,
        kind=found.title,
        title=document_name(record),
        snippet=[
            schemas.SnippetSegment(text=each.text, is_match=each.is_match)
            for each in snippet(found.text, matches(found.text, wanted.wanted))
        ],
        score=points,
        where=place,
        created_at=to_iso(record.created_at),
    )
