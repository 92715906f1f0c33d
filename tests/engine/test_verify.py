"""Verification finds every change that was planted in the store."""

import json
from contextlib import closing

import pytest
from _pytest.mark.structures import ParameterSet

from stateward.core.chain import GENESIS
from stateward.core.errors import StoreMismatch
from stateward.core.model import Fields
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.database import Database
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.testing.rig import START, Rig

# ruff: noqa: S608 - the statements are made of constants


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000  # Python 3.13 reads 5,000 levels


def _planted(database: Database, sql: str) -> None:
    assert database.run(sql) > 0


CHANGES = [
    "UPDATE transitions SET source = 'parsed' WHERE seq = 3",
    "UPDATE transitions SET target = 'error' WHERE seq = 3",
    "UPDATE transitions SET trigger = 'parse.failed' WHERE seq = 3",
    "UPDATE transitions SET actor = 'person:eve' WHERE seq = 3",
    "UPDATE transitions SET at = at + 1 WHERE seq = 3",
    "UPDATE transitions SET event_id = 'x' WHERE seq = 3",
    "UPDATE transitions SET metadata = '{}' WHERE seq = 3",
    "UPDATE transitions SET attempt = 9 WHERE seq = 3",
    "UPDATE transitions SET epoch = 9 WHERE seq = 3",
    "UPDATE transitions SET authority = 'runner' WHERE seq = 3",
    "UPDATE transitions SET machine = 'contract' WHERE seq = 3",
    "UPDATE transitions SET machine_version = 2 WHERE seq = 3",
    "UPDATE transitions SET record_hash = 'x' WHERE seq = 3",
    "UPDATE transitions SET prev_hash = 'x' WHERE seq = 3",
    "UPDATE transitions SET hash = 'x' WHERE seq = 3",
    "UPDATE transitions SET seq = 99 WHERE seq = 3",
    "UPDATE transitions SET version = 99 WHERE seq = 3",
    "UPDATE transitions SET record_id = 'UL_x' WHERE seq = 3",
    "DELETE FROM transitions WHERE seq = 5",
    "DELETE FROM records",
    "DELETE FROM transitions",
    "UPDATE records SET status = 'parsed'",
    "UPDATE records SET version = 3",
    "UPDATE records SET retry_count = 1",
    "UPDATE records SET error_code = 'X'",
    "UPDATE records SET error_message = 'X'",
    "UPDATE records SET artifact = 'x'",
    "UPDATE records SET labels = '{\"a\":1}'",
    "UPDATE records SET fields = '{}'",
    "UPDATE records SET outputs = '{}'",
    "UPDATE records SET head = 'x'",
    "UPDATE records SET rest = 'skipped'",
    "UPDATE records SET created_at = 1",
    "UPDATE records SET entered_at = 1",
    "UPDATE records SET machine_version = 2",
    "UPDATE records SET failed_from = 'parsing'",
    "UPDATE records SET replaces = 'x'",
    "UPDATE records SET dedupe = 'x'",
    "UPDATE records SET last_retry_at = 1",
    "UPDATE records SET priority = 99",
    "UPDATE records SET waiting = 'parse'",
    "UPDATE records SET due_at = 1",
    "UPDATE lanes SET count = count - 1 WHERE count > 0",
    "UPDATE lanes SET head = 'x' WHERE count > 0",
    "DELETE FROM lanes WHERE count > 0",
]
# One of each kind. What is read is judged by the same code on every database; each column of PostgreSQL is tried by
# `make test-long`.
ON_EACH_DATABASE = {
    "UPDATE transitions SET at = at + 1 WHERE seq = 3",
    "UPDATE transitions SET metadata = '{}' WHERE seq = 3",
    "UPDATE transitions SET hash = 'x' WHERE seq = 3",
    "UPDATE transitions SET seq = 99 WHERE seq = 3",
    "DELETE FROM transitions WHERE seq = 5",
    "DELETE FROM records",
    "UPDATE records SET status = 'parsed'",
    "UPDATE records SET fields = '{}'",
    "UPDATE records SET due_at = 1",
    "UPDATE lanes SET head = 'x' WHERE count > 0",
    "DELETE FROM lanes WHERE count > 0",
}


def planted_on(database: str, change: str) -> ParameterSet:
    is_long = database != "sqlite" and change not in ON_EACH_DATABASE
    is_long |= database == "memory"
    return pytest.param(database, change, marks=pytest.mark.long if is_long else ())


def test_one_change_of_each_kind_is_planted_on_each_database() -> None:
    assert set(CHANGES) >= ON_EACH_DATABASE


@pytest.mark.parametrize(
    ("open_database", "change"),
    [
        planted_on(database, change)
        for change in CHANGES
        for database in ("memory", "sqlite", "postgres")
    ],
    indirect=["open_database"],
)
def test_verify_finds_a_planted_change(rig: Rig, change: str) -> None:
    rig.worker()
    rig.open()
    rig.run()
    assert rig.verify().is_sound

    _planted(rig.database, change)

    assert not rig.verify().is_sound


def test_transitions_that_were_renumbered_are_found_on_every_database(rig: Rig) -> None:
    """Numbers of PostgreSQL may have gaps; what a coordinator saw when it started binds them there."""
    rig.store.seal_former_rows(now=START)
    rig.worker()
    rig.open()
    rig.run()
    rig.store.lanes.begin_epoch(now=START)
    rig.open()
    assert rig.verify().is_sound

    _planted(rig.database, "UPDATE transitions SET seq = seq + 1000")

    assert {each.check for each in rig.verify().findings} == {"order"}


def test_a_result_that_a_cancellation_overtook_is_no_forgery(rig: Rig) -> None:
    rig.store.seal_former_rows(now=START)
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()
    rig.complete(work)
    rig.ask("cancel.requested", record)
    assert rig.verify().is_sound  # the event of the result still waits

    rig.settle()

    assert rig.verify().is_sound
    _planted(rig.database, "DELETE FROM dispositions")
    assert {each.check for each in rig.verify().findings} == {"sealed", "output"}


def test_a_result_of_a_runner_of_a_former_version_is_no_forgery(rig: Rig) -> None:
    """Its event has no digest, and is handled after the upgrade: it waited, or the runner is not upgraded yet."""
    rig.worker()
    rig.open()
    rig.settle()
    (work,) = rig.work()
    rig.complete(work)
    ((body,),) = rig.database.rows("SELECT body FROM events")
    event: Fields = json.loads(str(body))
    without = {name: value for name, value in event.items() if not name.endswith("_digest")}
    assert without != event
    rig.database.run("UPDATE events SET body = :body", body=json.dumps(without))
    rig.store.seal_former_rows(now=START)

    rig.settle()

    verdict = rig.verify()
    assert (verdict.findings, verdict.unsealed) == ((), 1)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE transitions SET metadata = 'zz' WHERE seq = 2", "entry 2 of the history"),
        ("UPDATE records SET labels = '[1'", "record UL_000001"),
        ("UPDATE audit_log SET detail = 'zz' WHERE seq = 1", "entry 1 of the audit log"),
        ("UPDATE machines SET document = '{}'", "version 1 of the machine"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(change: str, named: str) -> None:
    """On SQLite, whose columns of JSON take any text."""
    rig = Rig(SqliteDatabase(MEMORY), [UPLOAD])
    rig.open()
    rig.settle()
    rig.worker()
    rig.settle()
    _planted(rig.database, change)

    with pytest.raises(StoreMismatch, match=named):
        rig.verify()


def test_rows_of_a_former_version_get_their_salts_before_they_are_sealed(rig: Rig) -> None:
    """Else a disposition that is erased later could be guessed from its digest."""
    rig.worker()
    rig.ask("retry.requested", rig.open())
    rig.store.dead_letters.add([DeadLetter(kind="event", body="?", reason="not an event", at=7)])
    for table in ("dispositions", "dead_letters"):
        _planted(rig.database, f"UPDATE {table} SET salt = NULL")
    rig.database.run("DELETE FROM audit_log")
    rig.database.run("UPDATE audit_head SET count = 0, hash = :none", none=GENESIS)

    rig.store.seal_former_rows(now=START)

    for table in ("dispositions", "dead_letters"):
        assert rig.database.rows(f"SELECT count(*) FROM {table} WHERE salt IS NULL") == [(0,)]
    assert rig.verify().is_sound


def test_a_result_of_a_stage_that_follows_without_a_start_is_no_forgery(rig: Rig) -> None:
    """An external driver ended the attempt first; before that, the result waits for its event."""
    rig.store.seal_former_rows(now=START)
    rig.worker()
    record = rig.open("contract")
    rig.settle()
    (work,) = rig.work()
    rig.complete(work)
    rig.settle()
    (work,) = rig.work()
    rig.write_but_lose_event(work)
    started = [each.trigger for each in rig.store.history(record.id)].count("extract.started")
    assert (work.stage, started) == ("extract", 0)

    assert rig.verify().is_sound


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE records SET error_message = CAST(x'ff41' AS TEXT)",
        "UPDATE transitions SET actor = CAST(x'c0af' AS TEXT)",
        "UPDATE audit_log SET actor = CAST(x'eda080' AS TEXT)",
        f"UPDATE records SET labels = '{DEEP}'",
        f"UPDATE transitions SET metadata = '{DEEP}'",
        f"UPDATE audit_log SET detail = '{DEEP}'",
    ],
    ids=lambda edit: edit[:40],
)
def test_a_row_that_nothing_can_read_is_named(edit: str) -> None:
    """SQLite takes any bytes for a text, and text is nested as deep as someone likes."""
    with closing(SqliteDatabase(MEMORY)) as database:
        rig = Rig(database, [UPLOAD])
        rig.store.seal_former_rows(now=1)
        rig.open()
        assert rig.verify().is_sound
        database.run(edit)

        with pytest.raises(StoreMismatch, match="something other than Stateward wrote it"):
            rig.verify()
