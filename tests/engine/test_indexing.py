"""Indexing for the search, over every database: what is indexed, when, and what a crash leaves."""

from collections.abc import Callable

import pytest

from stateward.core.failpoints import Point, install
from stateward.definition.display import SearchableText
from stateward.engine.indexer import AHEAD_MAX, LOOK_EVERY_S, PACE_S
from stateward.storage.database import Row
from stateward.storage.full_text import FullTextIndex, IndexedTransition
from stateward.storage.outputs import AttemptResult, Output
from tests.engine.conftest import Opener
from tests.engine.full_text_library import MEMOS, NOTES, REVIEWS, Library, json_text


@pytest.fixture
def library(open_database: Opener) -> Library:
    return Library(open_database)


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
    library.rig.outputs.write([Output(edition, [(1, json_text([{"text": "new words"}]))])])

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
