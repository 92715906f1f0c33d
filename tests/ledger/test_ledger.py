"""What a ledger promises to those who use it."""

import json
import os
import threading
import zlib
from datetime import timedelta
from pathlib import Path

import pytest

from stateward.core.errors import InvalidRequest, InvalidTransition, UnknownName
from stateward.definition.declare import declare
from stateward.ledger import Ledger, LedgerEntry, LedgerLocked, LedgerMismatch, LedgerState
from stateward.ledger.export_file import export
from stateward.ledger.manifest import SNAPSHOT_NAME, unused_name
from stateward.ledger.record import LedgerAuditRecord, audit_record
from tests.ledger.builders import DAY_S, START, Clock, a_ledger, states_of
from tests.waiting import wait_until

PENDING, FETCHING, FETCHED = LedgerState.PENDING, LedgerState.FETCHING, LedgerState.FETCHED


def test_a_recorded_move_is_there_after_reopening(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING, adapter="pubmed", metadata={"pages": 3})

    with Ledger.open(tmp_path / "l") as ledger:
        found = ledger.document("doc:1")

    assert found is not None
    assert (found.state, found.adapter, found.metadata) == (PENDING, "pubmed", {"pages": 3})
    assert isinstance(found.state, LedgerState)


def test_a_bad_move_writes_nothing(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)

        with pytest.raises(InvalidTransition, match="fetching, skipped"):
            ledger.record("doc:1", LedgerState.PARSED)
        with pytest.raises(InvalidTransition):
            ledger.record_many([("doc:2", PENDING), ("doc:1", FETCHING), ("doc:1", PENDING)])

        assert ledger.last_seq == 1
        assert ledger.state("doc:2") is None


def test_a_document_begins_at_the_beginning(tmp_path: Path) -> None:
    with (
        a_ledger(tmp_path / "l") as ledger,
        pytest.raises(InvalidTransition, match="possible from there: pending"),
    ):
        ledger.record("doc:1", FETCHING)


def test_words_are_not_states(tmp_path: Path) -> None:
    with (
        a_ledger(tmp_path / "l") as ledger,
        pytest.raises(InvalidRequest, match="not a LedgerState"),
    ):
        ledger.record("doc:1", "pending")


def test_a_retry_resumes_at_the_step_that_failed_and_only_a_person_reopens(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        for state in (PENDING, FETCHING, FETCHED, LedgerState.PARSING, LedgerState.RETRYING):
            ledger.record("doc:1", state)

        with pytest.raises(InvalidTransition, match="parsing, failed"):
            ledger.record("doc:1", FETCHING)
        assert ledger.next_states("doc:1") == (LedgerState.PARSING, LedgerState.FAILED)
        ledger.record("doc:1", LedgerState.FAILED, error_type="Timeout", error_message="no answer")
        with pytest.raises(InvalidRequest, match="person"):
            ledger.record("doc:1", LedgerState.RETRYING)
        ledger.record("doc:1", LedgerState.RETRYING, actor="person:jane")
        record = ledger.record("doc:1", LedgerState.PARSING)

    assert record.retry_count == 2
    assert record.max_retries == 3


def test_durations_are_worked_out_on_the_way(tmp_path: Path) -> None:
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        for number in range(100):
            ledger.record(f"doc:{number}", PENDING)
        for number in range(100):
            clock.tick(1)
            ledger.record(f"doc:{number}", FETCHING, adapter="pubmed")

        stays = ledger.durations()[PENDING]

    assert stays.count == 100
    assert stays.percentile(0.5) == pytest.approx(50, rel=0.06)
    assert stays.percentile(0.95) == pytest.approx(95, rel=0.06)
    assert stays.max_s == 100


def test_counts_and_questions_agree_before_and_after_compaction(tmp_path: Path) -> None:
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record_many([(f"doc:{number:03}", PENDING, "a") for number in range(300)])
        ledger.record_many([(f"doc:{number:03}", FETCHING, "b") for number in range(0, 300, 3)])
        before = states_of(ledger)

        part = ledger.compact()

        assert part is not None
        assert states_of(ledger) == before
        assert ledger.counts() == {PENDING: 200, FETCHING: 100}
        assert [each.doc_id for each in ledger.documents(state=FETCHING)] == [
            f"doc:{number:03}" for number in range(0, 300, 3)
        ]
        assert [each.new_state for each in ledger.history("doc:003")] == ["pending", "fetching"]
        clock.tick(7 * 3600)
        ledger.record("doc:001", FETCHING)
        assert len(list(ledger.stuck(older_than=timedelta(hours=6)))) == 299


def test_metadata_cannot_pretend_to_be_a_state(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record(
            "doc:1", PENDING, metadata={"x": {"state": "failed"}, 'y":{"state":"failed"': 1}
        )
        ledger.compact()

        assert list(ledger.documents(state=LedgerState.FAILED)) == []
        assert [each.doc_id for each in ledger.documents(state=PENDING)] == ["doc:1"]


@pytest.mark.parametrize(
    "doc_id",
    [
        '"',
        "\n",
        "\x00",
        "\U0001f4c4",
        "a" * 4096,
        "\\",
        '","old_state":',
        '":{"state":',
        "\u2028",
        " ",
    ],
)
def test_any_document_id_is_kept_exactly(tmp_path: Path, doc_id: str) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record(doc_id, PENDING)
        ledger.compact()
        ledger.record(doc_id, FETCHING)
        ledger.rotate()

        assert ledger.state(doc_id) == FETCHING
        assert [each.doc_id for each in ledger.documents()] == [doc_id]
        assert len(ledger.history(doc_id)) == 2


@pytest.mark.parametrize(
    ("doc_id", "sentence"),
    [("", "empty"), ("x" * 10_000, "at most 4096 bytes"), ("\ud800", "surrogate"), (7, "is text")],
)
def test_an_impossible_document_id_is_refused(tmp_path: Path, doc_id: str, sentence: str) -> None:
    with a_ledger(tmp_path / "l") as ledger, pytest.raises(InvalidRequest, match=sentence):
        ledger.record(doc_id, PENDING)


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"x": float("nan")}, "cannot represent"),
        ({"x": 1e999}, "cannot represent"),
        ({"x": "\ud800"}, "surrogate"),
        ({"x": 2**64}, "64 bits"),
        ({"x": "y" * 10_000_000}, "at most 1048576 bytes"),
        ({1: 2}, "key"),
        ({"x": {1, 2}}, "no JSON value"),
        ([1], "mapping"),
    ],
)
def test_impossible_metadata_is_refused(
    tmp_path: Path, metadata: dict[str, object], sentence: str
) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        with pytest.raises(InvalidRequest, match=sentence):
            ledger.record("doc:1", PENDING, metadata=metadata)  # type: ignore[arg-type]

        assert ledger.last_seq == 0


def test_deep_metadata_is_refused(tmp_path: Path) -> None:
    deep: dict[str, object] = {}
    for _ in range(1000):
        deep = {"x": deep}

    with a_ledger(tmp_path / "l") as ledger, pytest.raises(InvalidRequest, match="deeper"):
        ledger.record("doc:1", PENDING, metadata=deep)  # type: ignore[arg-type]


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l"):
        with pytest.raises(LedgerLocked, match=f"process {os.getpid()}") as refused:
            a_ledger(tmp_path / "l")
        assert refused.value.pid == os.getpid()

    a_ledger(tmp_path / "l").close()


def test_what_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("")

    with pytest.raises(LedgerMismatch, match=r"letter\.txt|file"):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerMismatch, match="is a file"):
        Ledger.open(tmp_path / "file")
    with pytest.raises(LedgerMismatch, match="is not a ledger"):
        Ledger.open(tmp_path / "nowhere", read_only=True)
    assert {path.name for path in tmp_path.iterdir()} == {"letter.txt", "file"}


def test_a_newer_format_is_not_touched(tmp_path: Path) -> None:
    a_ledger(tmp_path / "l").close()
    path = tmp_path / "l" / "MANIFEST.json"
    text = path.read_bytes().replace(b'"format": 2', b'"format": 4')
    body = text.rpartition(b',\n  "crc": "')[0]
    path.write_bytes(body + b',\n  "crc": "%08x"\n}\n' % zlib.crc32(body))

    with pytest.raises(LedgerMismatch, match="format 4"):
        Ledger.open(tmp_path / "l")


def test_a_clock_that_goes_back_does_not_turn_time_around(tmp_path: Path) -> None:
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record("doc:1", PENDING)
        clock.tick(-3600)
        record = ledger.record("doc:1", FETCHING)

    assert record.timestamp == START
    assert record.duration_seconds == 0


def test_files_of_one_day_sort_by_name_as_they_were_made(tmp_path: Path) -> None:
    made: list[str] = []
    for number in range(12):
        there = set(made[3:]) | set(made[-1:])  # old ones were removed
        made.append(unused_name(tmp_path, "snapshot", ".json", 0.0, taken=there))
        if number % 2:
            (tmp_path / f"{made[-1]}.gz").touch()

    assert sorted(made) == made
    assert all(SNAPSHOT_NAME.fullmatch(each) for each in (*made, "snapshot-2025-10-04.2.json"))


def test_the_files_are_plain_json_for_any_tool(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([("doc:1", PENDING, "pubmed"), ('doc:"2"', PENDING, "arxiv")])
        ledger.compact()
        ledger.record("doc:1", FETCHING)

    snapshot = json.loads((tmp_path / "l" / "snapshot-2025-10-04.json").read_text())
    named, line = map(
        json.loads, (tmp_path / "l" / "delta-2025-10-04_000002.jsonl").read_text().splitlines()
    )
    assert named["metadata"]["root"] == snapshot["checksum"]["root"]
    assert snapshot["version"] == "1.0"
    assert snapshot["document_count"] == 2
    assert snapshot["machine_version"] == 1
    assert snapshot["states"]['doc:"2"']["state"] == "pending"
    assert (line["old_state"], line["new_state"], line["seq"], line["n"]) == (
        "pending",
        "fetching",
        4,
        1,
    )
    assert json.loads((tmp_path / "l" / "MANIFEST.json").read_text())["machine"] == "literature"


def test_an_import_is_written_into_the_log(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        with ledger.importing(reason="migration of ledger.jsonl", actor="person:jane") as importer:
            importer.record_many(
                [LedgerEntry(doc_id="doc:1", state="legacy", timestamp=1.5, extra={"line": 7})]
            )
        ledger.record("doc:1", LedgerState.PENDING)

        records = list(ledger.records())

    assert [each.new_state for each in records] == [
        "ledger.import_opened", "legacy", "ledger.import_closed", "pending",
    ]  # fmt: skip
    assert records[0].metadata["reason"] == "migration of ledger.jsonl"
    assert records[2].metadata == {"opened": 1, "records": 1}
    assert records[1].timestamp == 1.5
    assert records[1].extra == {"line": 7}


def test_legacy_is_entered_by_migration_alone(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        with pytest.raises(InvalidTransition):
            ledger.record("doc:1", LedgerState.LEGACY)


def test_a_field_of_a_newer_version_is_kept() -> None:
    text = (
        b'{"doc_id":"a","old_state":null,"new_state":"b","timestamp":1.0,"adapter":"c","mood":"good",'
        b'"seq":1,"n":1,"h":"x"}'
    )

    record = audit_record(text)

    assert record.extra == {"mood": "good"}
    assert record.to_dict()["mood"] == "good"
    assert isinstance(record, LedgerAuditRecord)


def test_a_mirror_takes_each_entry_once(tmp_path: Path) -> None:
    entries = [
        LedgerEntry(
            doc_id=f"UL-{number % 3}",
            state=f"state_{number}",
            source_seq=number,
            timestamp=float(number),
        )
        for number in range(1, 30)
    ]
    with Ledger.open(tmp_path / "l", machine=None, clock=Clock()) as ledger:
        assert ledger.mirror(entries[:10], source="main") == 10
        assert ledger.mirror(entries[:20], source="main") == 10
        ledger.compact()

    with Ledger.open(tmp_path / "l", machine=None, clock=Clock()) as ledger:
        assert ledger.source_seq("main") == 20
        assert ledger.mirror(entries, source="main") == 9
        taken = [each.source_seq for each in ledger.records() if not each.is_control]
        assert taken == list(range(1, 30))
        assert ledger.state("UL-2") == "state_29"
        with pytest.raises(InvalidRequest, match="mirror"):
            ledger.record("UL-1", "anything")


def test_another_machine_has_its_own_ledger(tmp_path: Path) -> None:
    machine = declare(
        machine="letters", version=2, prefix="LE", initial="new",
        states={"new": "ready", "reading": "running", "done": "terminal"},
        stages={"read": {"from": "new", "running": "reading", "outcomes": {"done": "done"}, "on_error": "done"}},
    )  # fmt: skip
    with Ledger.open(tmp_path / "l", machine=machine) as ledger:
        ledger.record("a", "new")
        ledger.record("a", "reading")
        with pytest.raises(InvalidTransition):
            ledger.record("a", "new")

    with pytest.raises(LedgerMismatch, match="letters"):
        Ledger.open(tmp_path / "l")


def test_a_rollback_brings_the_documents_back_and_keeps_the_history(tmp_path: Path) -> None:
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record_many([("doc:1", PENDING), ("doc:2", PENDING)])
        ledger.compact()
        clock.tick(DAY_S)
        ledger.record_many([("doc:1", FETCHING), ("doc:3", PENDING)])
        ledger.compact()

        ledger.rollback("2025-10-04", reason="the adapter was wrong")

        assert states_of(ledger) == {"doc:1": "pending", "doc:2": "pending"}
        assert ledger.counts() == {PENDING: 2}
        assert ledger.state("doc:3") is None
        assert [each.new_state for each in ledger.history("doc:1")] == ["pending", "fetching"]
        ledger.record("doc:3", PENDING)
        assert list(ledger.replay()) == []
        with pytest.raises(UnknownName, match="snapshot-2025-10-04"):
            ledger.rollback("1999-01-01")

    with a_ledger(tmp_path / "l") as ledger:
        assert ledger.counts() == {PENDING: 3}


def test_threads_share_their_syncs(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:

        def write(name: int) -> None:
            for number in range(50):
                ledger.record(f"doc:{name}:{number}", PENDING)
                assert ledger.state(f"doc:{name}:{number}") == PENDING

        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert ledger.counts() == {PENDING: 200}
        assert ledger.verify().is_sound


def test_appends_go_on_during_a_compaction(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(3000)])
        stop = threading.Event()
        written = 0

        def write() -> None:
            nonlocal written
            while not stop.is_set() and written < 2000:
                ledger.record(f"doc:{written}", FETCHING)
                written += 1

        thread = threading.Thread(target=write)
        thread.start()
        wait_until(lambda: written > 0)
        for _ in range(3):
            ledger.compact()
        stop.set()
        thread.join()

        assert ledger.counts() == {PENDING: 3000 - written, FETCHING: written}
        assert list(ledger.replay()) == []


def test_a_log_whose_lines_were_all_removed_is_not_exported_as_empty(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l", clock=Clock(), snapshots_kept=1) as ledger:
        ledger.record("doc:1", PENDING)
        ledger.compact()
        ledger.remove_archived(up_to=ledger.last_seq, reason="over", execute=True)

        with pytest.raises(InvalidRequest, match="removed on purpose"):
            export(ledger, tmp_path / "out.jsonl")

    assert not (tmp_path / "out.jsonl").exists()


def test_a_line_that_was_removed_alone_is_not_proved(tmp_path: Path) -> None:
    """The tombstone of a segment of one line holds that line's leaf, but not the line."""
    with Ledger.open(tmp_path / "l", clock=Clock(), snapshots_kept=1) as ledger:
        ledger.record("doc:1", PENDING)
        ledger.compact()
        assert ledger.remove_archived(up_to=1, reason="over", execute=True)

        with pytest.raises(InvalidRequest, match="line 1 was removed"):
            ledger.prove(1)


def test_removed_archives_leave_tombstones_that_proofs_can_use(tmp_path: Path) -> None:
    clock = Clock()
    with Ledger.open(tmp_path / "l", clock=clock, snapshots_kept=1) as ledger:
        for day in range(4):
            ledger.record_many([(f"doc:{day}:{number}", PENDING) for number in range(7)])
            ledger.compact()
            clock.tick(DAY_S)
        checkpoint = ledger.checkpoint(write=False)
        last = ledger.archive()[1].last_seq
        assert last is not None

        planned = ledger.remove_archived(up_to=last, reason="two years are over")
        assert ledger.history("doc:0:0") != []
        done = ledger.remove_archived(up_to=last, reason="two years are over", execute=True)

        assert [part.file for part in planned] == [part.file for part in done]
        assert ledger.history("doc:0:0") == []
        assert ledger.state("doc:0:0") == PENDING
        assert ledger.checkpoint(write=False) == checkpoint
        assert ledger.verify(checkpoint=checkpoint).is_sound
        assert [each.seq for each in ledger.records()] == list(range(last + 1, 33))

    with Ledger.open(tmp_path / "l", clock=clock) as ledger:
        assert ledger.state("doc:0:0") == PENDING


def test_a_read_only_handle_cannot_write(tmp_path: Path) -> None:
    a_ledger(tmp_path / "l").close()

    with (
        Ledger.open(tmp_path / "l", read_only=True) as ledger,
        pytest.raises(InvalidRequest, match="read_only"),
    ):
        ledger.record("doc:1", PENDING)
