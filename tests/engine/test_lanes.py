"""Lanes: a history of several chains, made at the start of a store, and made of an older one."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from stateward.core.chain import GENESIS
from stateward.core.errors import InvalidRequest, StoreError
from stateward.core.lanes import FORMER, extend, lane_of
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.proofs.history_checkpoint import make_checkpoint, read_checkpoint
from stateward.storage.database import Database
from stateward.storage.migrations import migrations
from stateward.storage.postgres import PostgresDatabase
from stateward.storage.sqlite import SqliteDatabase
from stateward.testing.rig import START, Rig

Opener = Callable[[], Database]
WITHOUT_LANES = """
CREATE TABLE anchor (one bigint, count bigint, head text, digest text, epoch bigint);
DROP VIEW log_end; DROP VIEW current_epoch; DROP TABLE lanes;
"""
WITHOUT_NUMBERS = """
DROP FUNCTION extend_lanes; DROP FUNCTION hold_epoch; DROP FUNCTION change_epoch;
DROP TRIGGER transitions_announced ON transitions; DROP FUNCTION announce_numbers; DROP FUNCTION complete_to;
ALTER TABLE transitions ALTER COLUMN seq DROP DEFAULT; DROP SEQUENCE transitions_numbers;
"""


def a_busy_rig(rig: Rig, records: int = 8) -> Rig:
    rig.worker()
    for _ in range(records):
        rig.open()
    rig.run()
    return rig


def run_script(database: Database, sql: str) -> None:
    if isinstance(database, PostgresDatabase):
        database._run(lambda session: session.command(sql))
    else:
        assert isinstance(database, SqliteDatabase)
        database._execute(sql)


def make_older(rig: Rig) -> None:
    """The store as it was before there were lanes: one row that counts and binds the whole log."""
    digest = extend(GENESIS, [each.hash for each in rig.store.log.read()])
    count = rig.store.lanes.count_transitions()
    run_script(rig.database, WITHOUT_LANES)
    if isinstance(rig.database, PostgresDatabase):
        run_script(rig.database, WITHOUT_NUMBERS)
    rig.database.run(
        "INSERT INTO anchor VALUES (1, :count, '', :digest, 4)", count=count, digest=digest
    )


def migrate_to_lanes(rig: Rig) -> Rig:
    engine = "postgres" if isinstance(rig.database, PostgresDatabase) else "sqlite"
    for step in migrations(engine):
        if step.name in ("lanes", "lane_ends"):
            run_script(rig.database, step.sql)
    return Rig(
        rig.database, [UPLOAD, CONTRACT], new_id=lambda _: f"UL_new{rig.store.log.last_seq()}"
    )


def test_every_record_is_in_the_lane_of_its_id(rig: Rig) -> None:
    assert rig.store.lanes.make(5, now=START)
    a_busy_rig(rig)

    lanes = rig.store.lanes.all()
    log = rig.store.log.read()

    assert [each.lane for each in lanes] == [0, 1, 2, 3, 4]
    for lane in lanes:
        own = [each.hash for each in log if lane_of(each.record_id, 5) == lane.lane]
        assert (lane.count, lane.head) == (len(own), extend(GENESIS, own))
    assert rig.verify().is_sound


def test_the_number_of_lanes_is_fixed_by_the_first_transition(rig: Rig) -> None:
    assert rig.store.lanes.make(3, now=START)
    rig.open()

    assert not rig.store.lanes.make(4, now=START)
    assert rig.store.lanes.make(3, now=START)
    assert len(rig.store.lanes.all()) == 3


def test_an_older_store_keeps_its_history_in_a_closed_lane(rig: Rig) -> None:
    a_busy_rig(rig)
    older = rig.store.lanes.count_transitions()
    make_older(rig)

    grown = a_busy_rig(migrate_to_lanes(rig), 1)
    verdict = grown.verify()

    former, *lanes = grown.store.lanes.all()
    assert (former.lane, former.count) == (FORMER, older)
    assert sum(each.count for each in lanes) == verdict.transitions - older > 0
    assert {each.epoch for each in lanes} == {4}
    assert (verdict.is_sound, verdict.former) == (True, older)
    assert verdict.since is not None


def test_what_is_older_than_lanes_is_bound_by_a_checkpoint_too(rig: Rig) -> None:
    a_busy_rig(rig)
    make_older(rig)
    rig = migrate_to_lanes(rig)
    kept = read_checkpoint(rig.verify().checkpoint)
    assert rig.verify(kept).is_sound

    rig.database.run("UPDATE transitions SET hash = prev_hash, prev_hash = hash WHERE seq = 2")

    assert {"lane", "checkpoint"} <= {each.check for each in rig.verify(kept).findings}


def test_an_empty_older_store_has_no_closed_lane(rig: Rig) -> None:
    make_older(rig)

    rig = a_busy_rig(migrate_to_lanes(rig), 1)

    assert FORMER not in {each.lane for each in rig.store.lanes.all()}
    assert rig.verify().is_sound


def test_readers_of_the_log_miss_nothing_that_becomes_visible_late(
    postgres_dsn: str,
) -> None:
    """A commit that drew lower numbers ends after one that drew higher ones."""
    slow, quick = (Rig(PostgresDatabase(postgres_dsn), [UPLOAD]) for _ in range(2))
    quick.coordinator._new_id = lambda prefix: f"{prefix}_quick"
    slow.coordinator._new_id = lambda prefix: f"{prefix}_slow"
    assert lane_of("UL_quick", 16) != lane_of("UL_slow", 16)
    try:
        with slow.database.transaction():
            slow.open()
            slow.database.flush()
            quick.open()  # in another lane: it does not wait
            assert quick.store.log.last_seq() > quick.store.log.end() == 0
            assert quick.store.log.read() == []
            assert quick.verify().is_sound
        assert [each.record_id for each in quick.store.log.read()] == ["UL_slow", "UL_quick"]
        with suppress(StoreError), slow.database.transaction():
            slow.coordinator._new_id = lambda prefix: f"{prefix}_never"
            slow.open()
            slow.database.flush()
            raise StoreError("rolled back")
        assert quick.store.log.end() == 2
        slow.coordinator._new_id = lambda prefix: f"{prefix}_after"
        slow.open()
        assert [each.seq for each in quick.store.log.read()] == [1, 2, 4]
        assert quick.verify().is_sound
    finally:
        slow.database.close()
        quick.database.close()


def test_a_lane_is_locked_for_the_commit_only(postgres_dsn: str) -> None:
    rigs = [Rig(PostgresDatabase(postgres_dsn), [UPLOAD]) for _ in range(2)]
    try:
        assert rigs[0].store.lanes.make(1, now=START)
        for name, rig in zip(("one", "other"), rigs, strict=True):
            rig.coordinator._new_id = lambda prefix, name=name: f"{prefix}_{name}"  # type: ignore[misc]
        with rigs[0].database.transaction():
            rigs[0].open()
            rigs[1].open()
        assert [each.record_id for each in rigs[0].store.log.read()] == ["UL_other", "UL_one"]
        assert rigs[0].verify().is_sound
    finally:
        for rig in rigs:
            rig.database.close()


def test_what_is_put_off_until_the_commit_is_seen_by_its_own_transaction(rig: Rig) -> None:
    with rig.store.transaction():
        record = rig.open()

        assert [each.version for each in rig.store.history(record.id)] == [0]
        assert rig.store.lanes.count_transitions() == 1
    assert rig.verify().is_sound


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("lane 0 ", "lane 1 "),
        lambda text: text.replace("\n8\n", "\n9\n"),
        lambda text: "\n".join(text.splitlines()[:3]) + "\n",
        lambda text: text + "lane x\n",
        lambda _: "no checkpoint",
    ],
)
def test_a_checkpoint_that_does_not_fit_itself_is_refused(
    rig: Rig, change: Callable[[str], str]
) -> None:
    for _ in range(8):
        rig.open()
    lanes = rig.store.lanes.all()
    text = make_checkpoint(lanes, trees={each.lane: "a" * 64 for each in lanes})
    assert read_checkpoint(text).count == 8

    with pytest.raises(InvalidRequest, match="checkpoint"):
        read_checkpoint(change(text))
