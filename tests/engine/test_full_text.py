"""Search over every database: what is indexed, what is found, and what a crash leaves."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
import pytest

from stateward.app.search import CANDIDATES_MAX, Search, SearchResults
from stateward.core.errors import InvalidRequest
from stateward.core.failpoints import Point, install
from stateward.core.model import Fields, Record
from stateward.core.query import parse_query
from stateward.definition.display import SearchableText
from stateward.engine.indexer import AHEAD_MAX, LOOK_EVERY_S, PACE_S, Indexer, Searchable
from stateward.storage import full_text
from stateward.storage.database import Row
from stateward.storage.full_text import FullTextIndex, IndexedTransition
from stateward.storage.outputs import AttemptResult, Output
from stateward.testing.builders import a_machine
from stateward.testing.rig import Rig
from tests.engine.conftest import Opener

NOTE = a_machine()
MEMO = a_machine(machine="memo", prefix="MM")
REVIEWED = a_machine(
    machine="reviewed",
    prefix="RV",
    states={
        "new": "ready",
        "reading": "running",
        "read": "suspended",
        "kept": "terminal",
        "broken": "failed",
    },
    reviews={
        "approval": {
            "state": "read",
            "of": "read",
            "outcomes": {"approved": "kept", "rejected": "broken"},
            "timeout_s": 3600,
            "on_timeout": "broken",
        }
    },
)
REVIEWS = SearchableText(machine="reviewed", stage="read", fields=("text",), title="Lines")
NOTES = SearchableText(machine="note", stage="read", fields=("text",), title="Lines")
MEMOS = SearchableText(machine="memo", stage="read", fields=("text", "author"), where="at")
SCANS = SearchableText(
    machine="note", stage="read", fields=("ocr",), title="Scan", source_types=("scan",)
)


class Library:
    """An engine whose workers read documents line by line, with an index and a search over it."""

    def __init__(self, open_database: Opener, *declared: SearchableText) -> None:
        self.rig = Rig(open_database(), [NOTE, MEMO, REVIEWED])
        self.rig.worker()
        self.index = FullTextIndex(self.rig.database)
        self.ticks = 0.0
        self.indexer = self.new_indexer(*(declared or (NOTES, MEMOS, SCANS)))
        self.searches = Search(
            index=self.index,
            store=self.rig.store,
            registry=self.rig.registry,
            query=lambda text, now: parse_query(text, now=self.rig.clock() if now is None else now),
        )

    def new_indexer(self, *declared: SearchableText) -> Indexer:
        return Indexer(
            Searchable(declared),
            index=self.index,
            outputs=self.rig.outputs,
            ticks=lambda: self.ticks,
        )

    def read(
        self, *lines: str | Fields, machine: str = "note", chunks: int = 1, **labels: str
    ) -> Record:
        """A document whose stage made an item of each line."""
        record = self.rig.open(machine, labels=dict(labels))
        self.rig.settle()
        self.read_again(*lines, chunks=chunks)
        return record

    def read_again(self, *lines: str | Fields, chunks: int = 1) -> None:
        """The one stage that is assigned made an item of each line."""
        (work,) = self.rig.work()
        rows: list[Fields] = [{"text": each} if isinstance(each, str) else each for each in lines]
        result = AttemptResult(
            record_id=work.record_id,
            version=work.version,
            stage=work.stage,
            worker=work.worker,
            at=self.rig.clock(),
            count=len(rows),
        )
        size = -(-len(rows) // chunks)
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        self.rig._end(work, Output(result, [(len(each), _json(each)) for each in parts]))
        self.rig.settle()

    def all_indexed(self) -> None:
        while not self.indexer.is_done():
            self.indexer.step(is_busy=False)

    def find(self, text: str, machines: Sequence[str] = (), limit: int = 20) -> SearchResults:
        return self.searches.find(text, machines=machines, limit=limit)

    def texts(self, text: str, machines: Sequence[str] = ()) -> list[str]:
        """The snippets of what is found, in the order of the documents."""
        hits = sorted(self.find(text, machines).hits, key=lambda hit: (hit.record_id, hit.item))
        return ["".join(each.text for each in hit.snippet) for hit in hits]


def _json(rows: Sequence[Fields]) -> str:
    return msgspec.json.encode(rows).decode()


@pytest.fixture
def library(open_database: Opener) -> Library:
    return Library(open_database)


# What is found


def test_words_phrases_prefixes_and_exclusions(library: Library) -> None:
    library.read("The late payment of the rent", "Payment is late", "Invoice 1,234.56 to O'Brien")
    library.read("Die MÜLLERIN zahlt die Straße", "契約書を見る")
    library.all_indexed()

    assert library.texts("late payment") == ["The late payment of the rent", "Payment is late"]
    assert library.texts('"late payment"') == ["The late payment of the rent"]
    assert library.texts("invoi*") == ["Invoice 1,234.56 to O'Brien"]
    assert library.texts('"late paym"*') == ["The late payment of the rent"]
    assert library.texts("late -rent") == ["Payment is late"]
    assert library.texts('payment -"late payment"') == ["Payment is late"]
    assert library.texts("1,234.56") == library.texts("o'brien") == library.texts("234")
    assert library.texts("mullerin strasse") == library.texts("Müllerin Straße") != []
    assert library.texts("約書") == ["契約書を見る"]
    assert library.texts("lat") == library.texts("rent müllerin") == []


def test_a_result_names_record_place_and_what_matched(library: Library) -> None:
    record = library.read(
        {"text": "nothing"},
        {"text": "rent & <i>more</i>", "where": {"page": 2, "box": [1.0, 2.0, 3.0, 4.0]}},
        filename="lease.pdf",
    )
    library.all_indexed()

    (hit,) = library.find("RENT").hits

    assert (hit.record_id, hit.machine, hit.status, hit.stage) == (
        record.id,
        "note",
        "read",
        "read",
    )
    assert (hit.title, hit.kind, hit.item) == ("lease.pdf", "Lines", 1)
    assert hit.where == {"page": 2, "box": [1.0, 2.0, 3.0, 4.0]}
    assert [(each.text, each.is_match) for each in hit.snippet] == [
        ("rent", True), (" & <i>more</i>", False),
    ]  # fmt: skip
    assert 0 < hit.score <= 1


def test_filters_choose_records(library: Library) -> None:
    library.read("rent one", client="42", source_type="letter")
    library.read("rent two", client="43", filename="b.txt")
    library.read({"text": "rent", "author": "Ann", "at": {"line": 3}}, machine="memo")
    library.all_indexed()

    assert (
        library.texts("rent machine:memo") == library.texts("rent pipeline:memo") == ["rent · Ann"]
    )
    assert library.texts("rent machine:note,memo -machine:memo") == ["rent one", "rent two"]
    assert (
        library.texts("rent label.client:42") == library.texts("rent source:letter") == ["rent one"]
    )
    assert library.texts("rent meta.client:42,43") == ["rent one", "rent two"]
    assert library.texts("rent -label.client:42 machine:note") == ["rent two"]
    assert library.texts("rent status:read is:ended") != []
    assert library.texts("rent status:new") == library.texts("rent label.client:4") == []
    assert library.texts("rent", ["memo"]) == ["rent · Ann"]
    assert library.texts("rent machine:note", ["memo"]) == []


def test_the_declaration_for_a_source_type_goes_before_the_one_for_all(library: Library) -> None:
    library.read({"text": "typed", "ocr": "scanned"}, source_type="scan")
    library.read({"text": "typed", "ocr": "scanned"}, source_type="letter")
    library.all_indexed()

    assert [hit.kind for hit in library.find("typed").hits] == ["Lines"]
    assert [hit.kind for hit in library.find("scanned").hits] == ["Scan"]


@pytest.mark.parametrize(
    "text",
    [
        "rent' OR 1=1 --", 'rent"', '"rent', "rent NEAR(a, 2)", "rent AND NOT", "{rent}: x", "^rent +a",
        "rent:*", "rent & !", "rent <-> (", "rent \\", "terms:rent", "rent * -", "rent \x00 \ud800", "rent %_[a-z]",
        "rent 'x':1A", "0tag", "rent label.x:' label.y:\\",
    ],
)  # fmt: skip
def test_no_query_is_a_syntax_error(library: Library, text: str) -> None:
    library.read("rent")
    library.all_indexed()

    with suppress(InvalidRequest):
        library.find(text)


def test_pages_hold_every_result_once_while_more_is_indexed(library: Library) -> None:
    count = CANDIDATES_MAX + 55
    library.read(*(f"rent {number}" for number in range(count)))
    library.all_indexed()

    seen: list[int] = []
    page = library.find("rent", limit=40)
    while True:
        seen += [hit.item for hit in page.hits]
        library.read("rent again")
        library.all_indexed()
        if page.next is None:
            break
        page = library.searches.find("rent", after=page.next, limit=40)

    assert sorted(seen) == list(range(count))


def test_rare_words_are_found_beyond_the_newest_passages(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_text, "NEWEST", 3)
    library.read(*(f"rent {number}" for number in range(10)), client="42")
    library.read("other")
    library.all_indexed()

    assert len(library.texts("rent")) == 10
    assert library.texts('"rent 2" label.client:42 status:read') == ["rent 2"]
    assert library.texts('"rent 2" status:new') == []


def test_the_better_match_comes_first(library: Library) -> None:
    library.read("rent " + "and many other words " * 20, "rent, the rent")
    library.all_indexed()

    hits = library.find("rent").hits

    assert [hit.item for hit in hits] == [1, 0]
    assert hits[0].score > hits[1].score


def test_a_long_item_is_found_once_at_its_place(library: Library) -> None:
    text = "filler " * 2000 + "needle in hay"
    library.read({"text": text, "where": {"start": 100, "end": 100 + len(text)}})
    library.all_indexed()

    (hit,) = library.find("needle").hits
    assert len(library.find("filler").hits) == 1
    assert hit.where is not None
    start = int(str(hit.where["start"])) - 100
    assert 0 < start <= text.index("needle") < start + 4000


# How it follows the history


def test_nothing_is_indexed_that_is_not_declared(open_database: Opener) -> None:
    library = Library(open_database, MEMOS)
    library.read("rent")
    library.read({"text": "rent", "secret": "hidden"}, machine="memo")

    library.all_indexed()

    assert library.texts("rent") == ["rent"]
    assert library.texts("hidden") == []


def test_the_database_is_not_asked_while_no_record_with_searchable_text_moves(
    open_database: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(open_database, MEMOS)
    while library.indexer.step(is_busy=False):
        pass
    library.read({"text": "rent"}, machine="memo")
    asked: list[str] = []
    rows = library.rig.database.rows

    def counted(sql: str, **params: object) -> list[Row]:
        asked.append(sql)
        return rows(sql, **params)

    monkeypatch.setattr(library.rig.database, "rows", counted)

    assert not library.indexer.step(is_busy=False, changed={"note"})
    assert asked == []
    library.ticks += LOOK_EVERY_S  # another process may have written meanwhile
    assert library.indexer.step(is_busy=False, changed=frozenset())
    library.read({"text": "more rent"}, machine="memo")
    assert library.indexer.step(is_busy=False, changed={"memo"})
    assert len(library.texts("rent")) == 2


def test_records_without_searchable_text_that_were_passed_over_make_it_look_no_sooner(
    open_database: Opener,
) -> None:
    library = Library(open_database, MEMOS)
    library.read("rent")
    assert library.indexer.step(is_busy=False, changed={"note"})
    library.read("more rent")
    library.ticks += PACE_S

    assert not library.indexer.step(is_busy=False, changed={"note"})
    library.ticks += LOOK_EVERY_S
    assert library.indexer.step(is_busy=False, changed={"note"})
    assert library.indexer.is_done()


def test_what_was_just_indexed_is_not_looked_for_in_another_transaction(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.read("rent")
    assert library.indexer.step(is_busy=False)
    locked: list[object] = []
    monkeypatch.setattr(library.index, "lock", lambda: locked.append(None))

    is_new = library.indexer.step(is_busy=False)

    assert not is_new
    assert locked == []


def test_records_without_searchable_text_are_passed_over_in_one_step(open_database: Opener) -> None:
    library = Library(open_database, MEMOS)
    for number in range(5):
        library.read(f"rent {number}")

    library.indexer.step(is_busy=False)

    assert library.indexer.is_done()


def test_a_large_output_is_indexed_in_steps_that_survive_a_crash(library: Library) -> None:
    record = library.read(*(f"line {number}" for number in range(12)), chunks=6)
    library.indexer.step(is_busy=False)
    assert 0 < library.index.count() < 12

    library.indexer = library.new_indexer(NOTES)  # another process, after a crash
    library.all_indexed()

    assert library.index.count() == 12
    assert [hit.item for hit in library.find('"line 11"').hits] == [11]
    assert library.find("line").hits[0].record_id == record.id


@pytest.mark.parametrize("at", [Point.COMMIT_BEFORE, Point.COMMIT_AFTER])
def test_a_crash_at_a_commit_neither_loses_nor_doubles_anything(
    library: Library, at: Point
) -> None:
    library.read("rent one")
    library.read("rent two")
    _crash_once(at, lambda: library.indexer.step(is_busy=False))

    library.indexer = library.new_indexer(NOTES)
    library.all_indexed()

    assert library.texts("rent") == ["rent one", "rent two"]
    assert library.index.count() == 2


def _crash_once(at: Point, act: Callable[[], object]) -> None:
    def hook(here: Point) -> None:
        if here is at:
            raise KeyboardInterrupt

    install(hook)
    try:
        with pytest.raises(KeyboardInterrupt):
            act()
    finally:
        install(lambda _: None)


def test_a_stage_that_runs_again_replaces_its_text(library: Library) -> None:
    record = library.read("old words")
    library.all_indexed()
    made = library.rig.now(record).outputs["read"]
    edition = AttemptResult(
        record_id=record.id,
        version=-1,
        stage="read",
        worker="person:ada",
        at=library.rig.clock(),
        facts={"edition_of": made},
    )
    library.rig.outputs.write([Output(edition, [(1, _json([{"text": "new words"}]))])])

    library.indexer.replace(
        IndexedTransition(
            seq=0, record_id=record.id, machine="note", stage="read", version=made, labels={}
        )
    )

    assert library.texts("words") == ["new words"]
    for _ in library.indexer.clear():
        pass
    library.all_indexed()
    assert library.texts("words") == ["new words"]


def test_the_text_of_a_deleted_record_is_gone(library: Library) -> None:
    record, other = library.read("rent one"), library.read("rent two")
    library.all_indexed()

    library.rig.database.run("DELETE FROM records WHERE id = :id", id=record.id)

    assert [hit.record_id for hit in library.find("rent").hits] == [other.id]
    assert library.index.count() == 1


def test_rebuilding_indexes_what_is_declared_now(library: Library) -> None:
    library.read({"text": "rent", "note": "remark"})
    library.all_indexed()
    library.indexer = library.new_indexer(
        SearchableText(machine="note", stage="read", fields=("note",))
    )
    assert not library.indexer.is_declared_alike()

    assert sum(library.indexer.clear()) == 1
    library.all_indexed()

    assert library.indexer.is_declared_alike()
    assert (library.texts("rent"), library.texts("remark")) == ([], ["remark"])


def test_while_others_are_busy_it_takes_a_small_share(library: Library) -> None:
    for number in range(3):
        library.read(f"rent {number}")

    assert library.indexer.step(is_busy=True)
    assert not library.indexer.step(is_busy=True)
    assert 0 < library.indexer.wakes_in < 1
    library.ticks += library.indexer.wakes_in
    library.read("rent 4")
    assert library.indexer.step(is_busy=True)
    assert len(library.texts("rent")) == 4


def test_of_two_processes_one_indexes(library: Library, open_database: Opener) -> None:
    library.read("rent")
    database = open_database()
    other = FullTextIndex(database)

    with library.index.transaction():
        assert library.index.lock() is not None
        if database.text_index == "tsvector":
            with other.transaction():
                assert other.lock() is None
    library.all_indexed()

    assert other.count() == 1


def test_items_that_are_no_text_are_harmless(library: Library) -> None:
    library.read(
        {"text": None}, {"text": 12.5}, {"text": ["rent", 3]}, {"text": {"a": "rent due"}},
        {"text": "nul \x00 byte"}, {"where": "nowhere", "text": "placeless"}, {},
    )  # fmt: skip
    library.all_indexed()

    assert library.texts("rent") == ["rent; 3", "rent due"]
    assert library.texts("12.5") == ["12.5"]
    assert library.texts("byte") == ["nul byte"]
    assert library.find("placeless").hits[0].where is None


def test_an_output_that_another_of_its_stage_replaces_in_the_same_step_is_not_found(
    open_database: Opener,
) -> None:
    library = Library(open_database, REVIEWS)
    record = library.read("old words", machine="reviewed")
    library.rig.ask("approval.rejected", record, reason="a page is missing")
    library.rig.ask("retry.requested", record)
    library.rig.settle()
    library.read_again("new words")

    library.all_indexed()

    assert library.rig.now(record).status == "read"
    assert library.texts("words") == ["new words"]


def test_a_step_asks_for_many_outputs_as_often_as_for_one(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.read("rent 0")
    library.all_indexed()
    asked: list[str] = []
    for name in ("rows", "run"):
        act = getattr(library.rig.database, name)

        def counted(sql: str, act: Callable[..., object] = act, /, **params: object) -> object:
            asked.append(sql)
            return act(sql, **params)

        monkeypatch.setattr(library.rig.database, name, counted)

    def queries(documents: int) -> int:
        for number in range(documents):
            library.read(f"rent {number}")
        asked.clear()
        library.indexer.step(is_busy=False)
        return len(asked)

    assert queries(AHEAD_MAX - 1) == queries(1)


def test_more_outputs_than_are_read_at_once_are_indexed_in_one_step(library: Library) -> None:
    for number in range(2 * AHEAD_MAX + 1):
        library.read(f"rent {number}", machine="memo" if number % 3 else "note")

    library.indexer.step(is_busy=False)

    assert library.indexer.is_done()
    assert library.index.count() == 2 * AHEAD_MAX + 1
    assert library.texts(f'"rent {2 * AHEAD_MAX}"') == [f"rent {2 * AHEAD_MAX}"]
