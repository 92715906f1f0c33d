"""What the store promises, whatever database is under it."""

import pytest
from msgspec.structs import replace

from stateward.core.chain import GENESIS
from stateward.core.decide import begin, start
from stateward.core.errors import ConcurrentModification, InvalidRequest, UnknownName
from stateward.core.lanes import extend
from stateward.core.model import Record
from stateward.core.query import parse_query
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.pauses import Pause
from stateward.storage.record_rows import records_of
from stateward.storage.search import Order
from stateward.storage.store import Store
from stateward.testing.rig import START, Rig


def a_new_record(store: Store, record_id: str = "UL_1", dedupe: str | None = None) -> Record:
    change = begin(
        UPLOAD, record_id=record_id, now=START, actor="person:test", dedupe=dedupe
    ).change
    (written,) = store.commit([change])
    assert written is not None
    return written.record


def test_a_record_comes_back_as_it_was_written(rig: Rig) -> None:
    labels = {
        "filename": "ä \"x\" \\ {a,b} 'NULL'\n😀",
        "size": 2**53,
        "is_new": True,
        "none": None,
    }

    opened = rig.open(labels=labels, artifact="a" * 64, dedupe="a" * 64, priority=7)

    assert rig.now(opened) == opened
    assert rig.now(opened).labels == labels


def test_a_change_needs_the_version_that_it_was_made_from(rig: Rig) -> None:
    record = a_new_record(rig.store)
    first = start(UPLOAD, record, worker="w1", now=START).change
    second = start(UPLOAD, record, worker="w2", now=START).change
    rig.store.commit([first])

    with pytest.raises(ConcurrentModification, match="UL_1 is no longer at version 0"):
        rig.store.commit([second])

    assert rig.now(record).worker == "w1"
    assert [each.version for each in rig.store.history("UL_1")] == [0, 1]


def test_one_stale_change_undoes_the_whole_batch(rig: Rig) -> None:
    one, other = a_new_record(rig.store, "UL_1"), a_new_record(rig.store, "UL_2")
    good = start(UPLOAD, one, worker="w1", now=START).change
    stale = replace(start(UPLOAD, other, worker="w1", now=START).change, expected=7)

    with pytest.raises(ConcurrentModification):
        rig.store.commit([good, stale])

    assert rig.now(one) == one
    assert rig.store.lanes.count_transitions() == 2
    assert rig.verify().is_sound


def test_the_same_dedupe_key_makes_one_record_in_a_machine(rig: Rig) -> None:
    first = begin(UPLOAD, record_id="UL_1", now=START, actor="person:a", dedupe="d").change
    second = begin(UPLOAD, record_id="UL_2", now=START, actor="person:b", dedupe="d").change

    written = rig.store.commit([first, second])

    assert [each and each.record.id for each in written] == ["UL_1", None]
    assert rig.store.get("UL_2") is None
    assert rig.store.lanes.count_transitions() == 1
    assert rig.verify().is_sound


def test_a_lane_counts_every_transition_and_its_head_binds_them(rig: Rig) -> None:
    record = a_new_record(rig.store)
    rig.store.commit([start(UPLOAD, record, worker="w", now=START).change])

    (lane,) = (each for each in rig.store.lanes.all() if each.count)

    assert lane.count == 2
    assert lane.head == extend(GENESIS, [each.hash for each in rig.store.history("UL_1")])
    assert [each.seq for each in rig.store.log.read()] == [1, 2]


def test_epochs_only_rise(rig: Rig) -> None:
    first = rig.store.lanes.begin_epoch(now=START)
    a_new_record(rig.store, "UL_1")
    second = rig.store.lanes.begin_epoch(now=START)
    a_new_record(rig.store, "UL_2")

    assert second == first + 1
    assert [each.epoch for each in rig.store.log.read()] == [first, second]


def test_counting_sees_every_record(rig: Rig) -> None:
    rig.worker()
    for _ in range(3):
        rig.open()
    rig.open("contract")
    rig.settle()
    for work in rig.work():
        if work.machine == "upload":
            rig.fail(work, "PDF_CORRUPT")
    rig.settle()

    assert rig.store.queries.counts() == {("upload", "error"): 3, ("contract", "parsing_pdf"): 1}


def test_records_are_found_newest_first_a_page_at_a_time(rig: Rig) -> None:
    ids = [rig.open().id for _ in range(5)]
    query = rig.query("status:queued_for_parse")

    first = rig.store.queries.find(query, names=rig.registry.query_names, limit=2)
    rest = rig.store.queries.find(
        query, names=rig.registry.query_names, after=first[-1].id, limit=10
    )

    assert [record.id for record in (*first, *rest)] == ids[::-1]


def test_a_pause_is_kept_with_who_and_why_until_it_is_taken_back(rig: Rig) -> None:
    pause = Pause(machine="upload", stage="parse", at=START, actor="person:op", reason="bad deploy")
    rig.store.pauses.add(pause)
    rig.store.pauses.add(replace(pause, reason="still bad"))

    assert rig.store.pauses.all() == [replace(pause, reason="still bad")]
    assert rig.store.pauses.lift("upload", "parse", now=START)
    assert not rig.store.pauses.lift("upload", "parse", now=START)
    assert rig.store.pauses.all() == []


def test_what_a_turn_reads_for_its_records_alone_is_what_is_read_one_by_one(rig: Rig) -> None:
    store = rig.store
    for record_id in ("UL_1", "UL_2"):
        a_new_record(store, record_id)
    for count in range(3):
        for ids in ([], ["UL_1"], ["UL_1", "UL_2"], ["UL_3"]):
            with store.transaction():
                records, epoch, paused = store.ask_alone(ids)
                found = records_of(records.rows()), epoch.rows(), sorted(paused.rows())
                one_by_one = store.ask_epoch_and_paused()
                assert found[0] == store.load(ids)
                assert found[1:] == (one_by_one[0].rows(), sorted(one_by_one[1].rows()))
                assert len(found[2]) == count
        store.pauses.add(
            Pause(machine="upload", stage=f"stage{count}", actor="person:a", at=START, reason=None)
        )


def test_machines_are_remembered_as_they_were(rig: Rig) -> None:
    kept = {machine.name: machine for machine, _ in rig.store.machine_versions.all()}

    assert kept["upload"] == UPLOAD
    assert kept["contract"].pairs == rig.registry.named("contract").pairs


def test_a_list_in_another_order_comes_in_pages_without_gaps(rig: Rig) -> None:
    ids = [f"UL_{number}" for number in range(6)]
    for record_id in ids:
        a_new_record(rig.store, record_id)
    for record_id, priority in zip(ids, (5, 9, 5, 1, 9, 5), strict=True):
        rig.database.run(
            "UPDATE records SET priority = :priority WHERE id = :id",
            id=record_id,
            priority=priority,
        )
    query = parse_query("", now=START)

    for text in ("priority", "+priority", "status", "+submitted", "changed"):
        order, after, seen = Order.parse(text), "", []
        while page := rig.store.queries.find(
            query, names=rig.registry.query_names, after=after, limit=2, order=order
        ):
            seen += [each.id for each in page]
            after = order.place(page[-1])
        assert sorted(seen) == ids
        if text.endswith("priority"):
            falling = ["UL_4", "UL_1", "UL_5", "UL_2", "UL_0", "UL_3"]
            assert seen == (falling[::-1] if order.is_rising else falling)


def test_the_newest_come_first_whatever_their_pipeline_is(rig: Rig) -> None:
    ids = ["UL_1", "CW_2", "CW_3", "UL_4", "DC_5", "CW_6", "UL_7"]
    for record_id in ids:
        a_new_record(rig.store, record_id)
    names, query = rig.registry.query_names, parse_query("not:id:CW_3", now=START)

    for text in ("submitted", "+submitted"):
        order, after, seen = Order.parse(text), "", []
        while page := rig.store.queries.find(query, names=names, after=after, limit=2, order=order):
            seen += [each.id for each in page]
            after = order.place(page[-1])
        wanted = [each for each in ids if each != "CW_3"]
        assert seen == (wanted if order.is_rising else wanted[::-1])


def test_an_order_or_a_place_that_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownName, match="priority"):
        Order.parse("id; DROP TABLE records")
    for place in ("x", '["a"]', '[1e99,"b"]', f'[{2**70},"b"]'):
        with pytest.raises(InvalidRequest, match="cursor"):
            Order.parse("priority").condition(place)
