"""The ranked index over every database: any portions rank alike, and what is gone or replaced is not found."""

from collections.abc import Iterable, Sequence

import pytest

from stateward.app.ranked_search import RankedSearch
from stateward.app.search import Search
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import Fields
from stateward.core.query import parse_query
from stateward.core.ranking import RankedField, Ranking, rank, segment, source_of
from stateward.definition.search import RankedDocument, RankedText
from stateward.engine.indexer import Indexer, Searchable
from stateward.engine.ranked_indexer import RankedIndexer
from stateward.storage.outputs import Outputs
from stateward.storage.ranked import (
    LARGEST,
    DocumentToIndex,
    IndexedDocument,
    RankedIndex,
    joinable,
)
from stateward.storage.vectors import Vectors
from tests.engine.conftest import Opener
from tests.engine.full_text_library import NOTES, Library

RANKING = Ranking(fields=(RankedField("head", 3.0, 0.4), RankedField("text")))
WORDS = ("tide", "mill", "bread", "salt", "slack", "water", "rye", "ferry", "night")


def a_text(number: int) -> dict[str, str]:
    """A text like few others."""
    own = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 3 + number % 7)]
    return {"head": WORDS[number % len(WORDS)], "text": " ".join(own)}


def to_index(number: int) -> DocumentToIndex:
    return DocumentToIndex(
        record_id=f"r{number}", stage="read", title="", facts={}, texts=a_text(number)
    )


@pytest.mark.parametrize("portions", [(100,), (1,) * 100, (60, 1, 1, 30, 1, 1, 1, 1, 1, 3)])
def test_documents_rank_alike_however_they_were_added(
    open_database: Opener, portions: Sequence[int]
) -> None:
    database = open_database()
    index = RankedIndex(database)
    memory = source_of(segment(map(a_text, range(100)), RANKING, first=0))
    at = 0
    for size in portions:
        with database.transaction():
            index.add("note", [to_index(number) for number in range(at, at + size)], RANKING)
        at += size

    stored = index.source("note", memory.terms_of)

    assert len(stored.lengths) < 10
    for query in ("slack tides", "rye bread ferries", "zebra"):
        assert rank(stored, RANKING, query) == rank(memory, RANKING, query)


def test_only_small_segments_are_joined() -> None:
    ones = [(number, number) for number in range(8)]
    large = [(number * LARGEST, (number + 1) * LARGEST - 1) for number in range(20)]
    tail = [(20 * LARGEST + number, 20 * LARGEST + number) for number in range(8)]

    assert joinable(ones[:7]) == ()
    assert joinable(ones) == ones
    assert joinable(large) == ()
    assert joinable([*large, *tail]) == tail


def document_of(about: Fields, items: Iterable[Fields]) -> RankedDocument:
    texts = [str(item["text"]) for item in items]
    if "broken" in texts[0]:
        raise ValueError("an item of an older version")
    return RankedDocument(
        title=texts[0],
        texts={"head": texts[0], "text": " ".join(texts)},
        facts={"lines": len(texts)},
    )


DECLARED = RankedText(
    machine="note",
    stage="read",
    document=document_of,
    text=lambda item: str(item["text"]),
    ranking=RANKING,
    filters={"lines": "number"},
)


class RankedLibrary(Library):
    """A library whose notes are ranked."""

    def __init__(self, open_database: Opener) -> None:
        super().__init__(open_database, NOTES)
        outputs: Outputs = self.rig.outputs
        self.ranked = RankedIndex(self.rig.database)
        ranked = RankedIndexer(
            [DECLARED],
            index=self.ranked,
            vectors=Vectors(self.rig.database),
            outputs=outputs,
        )
        self.indexer = Indexer(
            Searchable([NOTES], ranked=ranked.declared),
            index=self.index,
            outputs=outputs,
            ticks=lambda: self.ticks,
            ranked=ranked,
        )
        self.searches = Search(
            index=self.index,
            store=self.rig.store,
            registry=self.rig.registry,
            query=lambda text, now: parse_query(text, now=self.rig.clock() if now is None else now),
            ranked=RankedSearch(
                [DECLARED], index=self.ranked, outputs=outputs, store=self.rig.store
            ),
        )

    def titles(self, text: str, *filters: str) -> list[str]:
        found = self.searches.find(text, pipeline="note", filters=filters)
        return [hit.title for hit in found.hits]


@pytest.fixture
def library(open_database: Opener) -> RankedLibrary:
    return RankedLibrary(open_database)


def test_documents_are_ranked_filtered_and_paged(library: RankedLibrary) -> None:
    library.read("Tide mills", "They grind salt", chunks=2)
    library.read("Bread", "A mill grinds")
    library.read("Memos of mills", machine="memo")
    library.all_indexed()

    assert library.titles("mill") == ["Tide mills", "Bread"]
    assert library.titles("mill", "lines>2") == []
    assert library.titles('mill "they grind"') == ["Tide mills"]
    first = library.searches.find("mill machine:note", limit=1)
    assert first.next is not None
    (second,) = library.searches.find("mill machine:note", limit=1, after=first.next).hits
    assert [hit.title for hit in (*first.hits, second)] == ["Tide mills", "Bread"]
    assert [each.item for each in first.hits[0].passages] == [0]
    assert library.searches.find("mills").hits[0].passages == []  # no pipeline: passages
    with pytest.raises(UnknownName):
        library.searches.find("mill", pipeline="notes")
    with pytest.raises(InvalidRequest):
        library.searches.find("mill", filters=["lines>2"])


def test_a_caller_for_other_machines_finds_no_ranked_document(library: RankedLibrary) -> None:
    library.read("Tide mills")
    library.all_indexed()

    assert library.searches.find("mills", pipeline="note", machines=["memo"]).hits == []


def test_what_is_deleted_or_replaced_is_not_found(library: RankedLibrary) -> None:
    gone = library.read("Tide mills")
    library.read("Mills and bread")
    library.all_indexed()
    library.rig.database.run("DELETE FROM records WHERE id = :id", id=gone.id)

    assert library.titles("mills") == ["Mills and bread"]
    (number,) = library.ranked.documents("note", range(10))
    with library.rig.database.transaction():
        other = DocumentToIndex(
            record_id=_only(library).record_id, stage="read", title="New", facts={}, texts={"head": "rye"}
        )  # fmt: skip
        library.ranked.add("note", [other], RANKING)
    assert library.ranked.documents("note", [number]) == {}
    assert _only(library).title == "New"


def _only(library: RankedLibrary) -> IndexedDocument:
    (found,) = library.ranked.documents("note", range(10)).values()
    return found


def test_an_index_made_anew_finds_the_same(library: RankedLibrary) -> None:
    for number in range(20):
        library.read(*a_text(number).values())
    library.all_indexed()
    before = library.searches.find("slack tide", pipeline="note")

    list(library.indexer.clear())
    assert library.ranked.count() == 0
    library.all_indexed()

    assert library.searches.find("slack tide", pipeline="note").hits == before.hits


def test_a_document_that_its_pipeline_cannot_read_stops_nothing(library: RankedLibrary) -> None:
    library.read("broken mills")
    library.read("Tide mills")
    library.all_indexed()

    assert library.titles("mills") == ["Tide mills"]
    assert len(library.searches.find("mills").hits) == 2
