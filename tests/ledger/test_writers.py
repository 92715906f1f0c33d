"""What is acknowledged can be read again: bad values are refused, a second writer is noticed, threads share syncs."""

import math
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from stateward.core.errors import (
    InvalidRequest,
    InvalidTransition,
    LedgerDamaged,
    LedgerLocked,
    LedgerPoisoned,
)
from stateward.ledger import Ledger, LedgerEntry, LedgerState
from stateward.ledger.builder import Change
from stateward.ledger.chain import GENESIS, SEAL_BYTES, head_of, seal
from stateward.ledger.disk import Disk
from stateward.ledger.export_file import file_states, verify_file
from stateward.ledger.manifest import LOCK, read_manifest
from stateward.ledger.record import LedgerAuditRecord, encode_json
from stateward.ledger.states import DOCUMENT_MACHINE
from stateward.ledger.summary import Summary
from stateward.ledger.verification import verify
from stateward.ledger.writer import Durability
from stateward.proofs.merkle import MerkleSpan, leaf_hash
from tests.ledger.builders import START, Clock, QuickDisk, a_ledger

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING
NOT_COUNTS = [1.0, True, "3", -1, 2**31, float("nan"), b"1", [1]]


def active_file(folder: Path) -> Path:
    manifest = read_manifest(folder)
    assert manifest is not None
    return folder / manifest.active.file


# Values


@pytest.mark.parametrize("value", NOT_COUNTS, ids=repr)
@pytest.mark.parametrize("field", ["retry_count", "max_retries"])
def test_what_is_no_count_is_refused_and_leaves_the_ledger_as_it_was(
    tmp_path: Path, field: str, value: object
) -> None:
    with Ledger.open(tmp_path / "l") as ledger, pytest.raises(InvalidRequest, match=field):
        ledger.record("doc:1", PENDING, **{field: value})  # type: ignore[arg-type]

    with Ledger.open(tmp_path / "l") as ledger:
        assert ledger.durable_seq == 0


@pytest.mark.parametrize("value", [1.5, True, "3", -1, 2**63], ids=repr)
def test_a_mirrored_entry_has_a_whole_number(tmp_path: Path, value: object) -> None:
    entry = LedgerEntry(doc_id="doc:1", state="here", source_seq=value)  # type: ignore[arg-type]

    with (
        Ledger.open(tmp_path / "l", machine=None) as ledger,
        pytest.raises(InvalidRequest, match="source_seq"),
    ):
        ledger.mirror([entry], source="store")

    assert verify(tmp_path / "l").lines == 0


@pytest.mark.parametrize("value", [1e18, -1e18, float("inf"), "now", True], ids=repr)
def test_a_time_that_no_date_can_be_made_of_is_refused(tmp_path: Path, value: object) -> None:
    entry = LedgerEntry(doc_id="doc:1", state=PENDING, timestamp=value)  # type: ignore[arg-type]

    with Ledger.open(tmp_path / "l") as ledger, pytest.raises(InvalidRequest, match="timestamp"):
        ledger.record_many([entry])


@pytest.mark.parametrize("said", [math.nan, math.inf, 1e18, "soon", None], ids=str)
def test_a_clock_that_tells_no_time_writes_nothing(tmp_path: Path, said: Any) -> None:  # noqa: ANN401 - also what is none
    times: list[Any] = [1.0]
    with Ledger.open(tmp_path / "l", clock=lambda: times[-1]) as ledger:
        ledger.record("doc:1", PENDING)
        times.append(said)
        for write in (
            lambda: ledger.record("doc:2", PENDING),
            lambda: ledger.record_many([(f"doc:{each}", PENDING) for each in range(3, 20)]),
        ):
            with pytest.raises(InvalidRequest, match="timestamp is in seconds"):
                write()
        times.append(2.0)
        ledger.record("doc:2", PENDING)

    with Ledger.open(tmp_path / "l", read_only=True) as ledger:
        assert [each.doc_id for each in ledger.documents()] == ["doc:1", "doc:2"]
    assert verify(tmp_path / "l").is_sound


@pytest.mark.parametrize("how", [{"reason": "\ud800"}, {"reason": math.nan}, {"actor": 7}], ids=str)
def test_why_and_by_whom_a_ledger_is_rolled_back_is_text(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        ledger.compact()
        last = ledger.last_seq

        with pytest.raises(InvalidRequest):
            ledger.rollback(1, **how)
        with pytest.raises(InvalidRequest), ledger.importing(**{"reason": "a test", **how}):
            pass

        assert ledger.last_seq == last


@pytest.mark.parametrize("state", [1, None, "x" * 300, "\ud800"], ids=repr)
def test_a_mirrored_state_is_text(tmp_path: Path, state: object) -> None:
    entry = LedgerEntry(doc_id="doc:1", state=state, source_seq=1)  # type: ignore[arg-type]

    with Ledger.open(tmp_path / "l", machine=None) as ledger, pytest.raises(InvalidRequest):
        ledger.mirror([entry], source="store")


@pytest.mark.parametrize(
    "change", [("doc:1",), ("doc:1", PENDING, "", {}, 5), ("doc:1", PENDING, "", None), "ab"], ids=repr
)  # fmt: skip
def test_what_is_no_change_is_refused(tmp_path: Path, change: Change) -> None:
    with a_ledger(tmp_path / "l") as ledger, pytest.raises(InvalidRequest):
        ledger.record_many([change])


class Real(float):
    """What is a number in Python, and none that JSON could be made of."""


@pytest.mark.parametrize("value", [1.7e308, -1e11, -0.5, float("nan"), True, Real(1.5)], ids=repr)
def test_what_would_spoil_the_totals_is_no_duration(tmp_path: Path, value: float) -> None:
    with a_ledger(tmp_path / "l") as ledger, pytest.raises(InvalidRequest, match="duration"):
        ledger.record("doc:1", PENDING, duration_seconds=value)


@pytest.mark.parametrize("details", [{"duration_seconds": 10**400}, {"metadata": {"x": Real(1)}}])
def test_what_cannot_be_written_is_refused_as_a_request(
    tmp_path: Path, details: dict[str, Any]
) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        with pytest.raises(InvalidRequest):
            ledger.record("doc:1", PENDING, **details)

        assert ledger.record("doc:1", PENDING).seq == 1


def test_durations_that_an_older_version_took_do_not_spoil_the_totals(tmp_path: Path) -> None:
    with (
        Ledger.open(tmp_path / "l") as ledger,
        patch("stateward.ledger.record.DURATION_S_MAX", math.inf),
    ):
        for number in range(2):
            ledger.record(f"doc:{number}", PENDING)
            ledger.record(f"doc:{number}", FETCHING, duration_seconds=1.7e308)
        ledger.compact()

    with Ledger.open(tmp_path / "l") as ledger:
        assert ledger.durations()[PENDING].total_s == 2e10


def test_a_snapshot_whose_totals_cannot_be_read_is_not_used(tmp_path: Path) -> None:
    """As an older version left one: it could be written and verified, and then kept the ledger from opening."""
    with Ledger.open(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        with (
            patch("stateward.ledger.compaction.merge_summaries", lambda _: Summary(last_at=math.nan)),
            pytest.raises(LedgerDamaged, match="cannot be read"),
        ):  # fmt: skip
            ledger.compact()

    assert "cannot be read" in str(verify(tmp_path / "l").findings[0])
    with Ledger.open(tmp_path / "l") as ledger:
        assert ledger.state("doc:1") == PENDING


ANY_VALUE = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(),
    some.floats(),
    some.text(max_size=20),
    some.binary(max_size=4),
    some.dictionaries(some.text(max_size=4), some.integers(), max_size=2),
)
FIELDS = (
    "adapter", "error_type", "error_message", "traceback", "retry_count", "max_retries", "duration_seconds", "metadata",
    "actor",
)  # fmt: skip


ENTRY_FIELDS = (*FIELDS, "doc_id", "state", "timestamp", "old_state", "source_seq", "extra")


@given(
    values=some.dictionaries(some.sampled_from(ENTRY_FIELDS), ANY_VALUE),
    how=some.sampled_from(["record", "record_many", "mirror"]),
)
def test_whatever_is_taken_can_be_read_again(
    tmp_path: Path, values: dict[str, Any], how: str
) -> None:
    folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
    machine = None if how == "mirror" else DOCUMENT_MACHINE
    taken = 0
    with Ledger.open(folder, machine=machine, clock=Clock(), disk=QuickDisk()) as ledger:
        try:
            if how == "record":
                ledger.record(
                    "doc:1", PENDING, **{name: values[name] for name in FIELDS if name in values}
                )
                taken = 1
            else:
                entry = LedgerEntry(
                    **{"doc_id": "doc:1", "state": PENDING, "source_seq": 1, **values}
                )
                many = [entry]
                taken = (
                    ledger.mirror(many, source="store")
                    if how == "mirror"
                    else ledger.record_many(many)
                )
        except (InvalidRequest, InvalidTransition):
            pass
        ledger.compact(compress=False)

    with Ledger.open(folder, read_only=True, machine=machine) as ledger:
        assert len([each for each in ledger.records() if not each.is_control]) == taken
        assert len(list(ledger.documents())) == taken
    assert verify(folder).is_sound


def test_a_sealed_line_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with Ledger.open(folder) as ledger:
        ledger.record("doc:1", PENDING)
    path = active_file(folder)
    first = path.read_bytes()
    body = first[:-SEAL_BYTES].replace(b'"seq":1', b'"retry_count":1.5,"seq":2')
    path.write_bytes(first + seal(body, head_of(first))[0])

    (finding,) = verify(folder).findings

    assert (finding.seq, finding.byte) == (2, len(first))
    assert "cannot be read" in finding.sentence
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        Ledger.open(folder)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"doc_id":"doc:1","old_state":null,"new_state":3,"seq":1,"n":1', "cannot be read"),
        (b'{"doc_id":"","old_state":null,"new_state":3,"seq":1,"n":1', "cannot be read"),
        (b'["doc_id":"doc:1","seq":1,"n":1', "cannot be read"),
        (
            b'{"doc_id":"","old_state":null,"new_state":"ledger.rolled_back","timestamp":1,"adapter":"",'
            b'"metadata":{"to_seq":1},"seq":1,"n":1',
            "does not name an earlier line",
        ),
    ],
)
def test_a_sealed_line_without_sense_is_damage_of_an_export_and_of_a_ledger(
    tmp_path: Path, body: bytes, words: str
) -> None:
    folder, export = tmp_path / "l", tmp_path / "export.jsonl"
    Ledger.open(folder).close()
    text, head = seal(body, GENESIS)
    active_file(folder).write_bytes(text)
    root = MerkleSpan()
    root.add(leaf_hash(text))
    anchor = {"count": 1, "head": head.decode(), "root": root.root().hex()}
    export.write_bytes(text + encode_json({"anchor": anchor}) + b"\n")

    (of_export,), (of_ledger,) = verify_file(export).findings, verify(folder).findings

    assert (words in of_export.sentence, words in of_ledger.sentence) == (True, True)
    with pytest.raises(LedgerDamaged, match=words):
        file_states(export)
    with pytest.raises(LedgerDamaged, match=words):
        Ledger.open(folder)


# Two writers


def without_a_lock(folder: Path) -> Ledger:
    """A second writer, as on a file system that has no locks."""
    with patch("stateward.ledger.writer.try_lock", lambda _fd: True):
        return Ledger.open(folder)


def test_a_second_writer_is_kept_out_even_where_the_lock_file_was_deleted(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l") as first:
        first.record("doc:1", PENDING)
        (tmp_path / "l" / LOCK).unlink()

        with pytest.raises(LedgerLocked):
            Ledger.open(tmp_path / "l")
        first.record("doc:2", PENDING)


def test_a_writer_notices_another_one_before_it_writes(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with Ledger.open(folder) as first:
        first.record("doc:1", PENDING)
        with without_a_lock(folder) as second:
            second.record("doc:2", PENDING)

            with pytest.raises(LedgerPoisoned, match="another writer"):
                first.record("doc:3", PENDING)
            second.record("doc:4", PENDING)

    with Ledger.open(folder) as ledger:
        assert [line.doc_id for line in ledger.records()] == ["doc:1", "doc:2", "doc:4"]
    assert verify(folder).is_sound


def test_a_writer_notices_that_another_one_began_a_new_file(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with Ledger.open(folder) as first:
        first.record("doc:1", PENDING)
        with without_a_lock(folder) as second:
            second.rotate()

            with pytest.raises(LedgerPoisoned, match="another writer"):
                first.record("doc:3", PENDING)
            second.record("doc:2", PENDING)

    assert verify(folder).is_sound


@pytest.mark.parametrize("durability", ["group", "os"])  # with padding, and without
@pytest.mark.parametrize("act", [lambda ledger: ledger.record("doc:2", PENDING), Ledger.rotate])
def test_a_forked_process_does_not_write(
    tmp_path: Path, act: Callable[[Ledger], object], durability: Durability
) -> None:
    with Ledger.open(tmp_path / "l", durability=durability) as ledger:
        ledger.record("doc:1", PENDING)
        child = os.fork()
        if child == 0:
            try:
                act(ledger)
            except LedgerPoisoned:
                os._exit(7)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ledger.record("doc:3", PENDING)

        assert os.waitstatus_to_exitcode(status) == 7
        assert [line.doc_id for line in ledger.records()] == ["doc:1", "doc:3"]


def test_whole_lines_of_another_writer_are_never_cut_off(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with Ledger.open(folder) as ledger:
        ledger.record("doc:1", PENDING)
    path = active_file(folder)
    first = path.read_bytes()
    with Ledger.open(folder) as ledger:
        ledger.record("doc:2", PENDING)
    ours = path.read_bytes()
    theirs, _ = seal(ours[len(first) : -SEAL_BYTES].replace(b"doc:2", b"doc:9"), head_of(first))
    path.write_bytes(ours + theirs)

    (finding,) = verify(folder).findings
    with pytest.raises(LedgerDamaged, match="another process"):
        Ledger.open(folder)

    assert "another process" in finding.sentence
    assert path.read_bytes() == ours + theirs


def test_ctrl_c_in_the_middle_of_a_write_stops_the_writer(tmp_path: Path) -> None:
    class Interrupted(Disk):
        is_on = False

        def write_at(self, fd: int, data: bytes, offset: int) -> None:
            if self.is_on:
                super().write_at(fd, data[:10], offset)
                raise KeyboardInterrupt
            super().write_at(fd, data, offset)

    disk = Interrupted()
    with Ledger.open(tmp_path / "l", disk=disk) as ledger:
        ledger.record("doc:1", PENDING)
        disk.is_on = True
        with pytest.raises(KeyboardInterrupt):
            ledger.record("doc:2", PENDING)
        disk.is_on = False

        with pytest.raises(LedgerPoisoned):
            ledger.record("doc:3", PENDING)

    with Ledger.open(tmp_path / "l") as ledger:
        assert [line.doc_id for line in ledger.records()] == ["doc:1"]


# Threads


class CountingDisk(Disk):
    """Counts syncs, and makes each last until `pause` returns."""

    def __init__(self, pause: Callable[[], object]) -> None:
        super().__init__()
        self.syncs = 0
        self.pause = pause

    def fdatasync(self, fd: int) -> None:
        self.syncs += 1
        self.pause()
        super().fdatasync(fd)


def test_threads_share_syncs(tmp_path: Path) -> None:
    threads, records = 16, 20
    disk = CountingDisk(lambda: threading.Event().wait(0.002))
    with Ledger.open(tmp_path / "l", disk=disk) as ledger:
        disk.syncs = 0

        def work(number: int) -> None:
            for each in range(records):
                ledger.record(f"doc:{number}:{each}", PENDING)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

        assert ledger.durable_seq == threads * records
        assert disk.syncs < threads * records / 2
    assert verify(tmp_path / "l").is_sound


def test_a_failed_sync_is_told_to_every_thread_that_waits_for_it(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error")

    disk = CountingDisk(lambda: None)
    refused: list[str] = []
    with Ledger.open(tmp_path / "l", disk=disk) as ledger:
        disk.pause = fail

        def work(number: int) -> None:
            try:
                ledger.record(f"doc:{number}", PENDING)
            except LedgerPoisoned:
                refused.append(f"doc:{number}")

        workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    assert len(refused) == 8


def test_a_writer_that_is_alone_gives_way_to_no_other_thread(tmp_path: Path) -> None:
    # On a busy machine each yield would cost a turn of the scheduler, some milliseconds a group.
    with Ledger.open(tmp_path / "ledger") as ledger, patch("time.sleep") as slept:
        for state in (LedgerState.PENDING, LedgerState.FETCHING):
            ledger.record_many([(f"doc:{number}", state) for number in range(20)])

    slept.assert_not_called()


def test_a_record_says_all_that_was_told(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        ledger.record(
            "doc:1", FETCHING, adapter="pubmed", error_type="Warned", error_message="slow\x00",
            traceback="Traceback…", retry_count=1, max_retries=5, duration_seconds=2.5, metadata={"a": [1, None]},
            actor="person:jane",
        )  # fmt: skip
        found = ledger.history("doc:1")[-1]

    told = msgspec.structs.replace(found, h="")
    assert told == LedgerAuditRecord(
        doc_id="doc:1", old_state="pending", new_state="fetching", timestamp=START, adapter="pubmed",
        error_type="Warned", error_message="slow\ufffd", traceback="Traceback…", retry_count=1, max_retries=5,
        duration_seconds=2.5, metadata={"a": [1, None]}, actor="person:jane", seq=2, n=1,
    )  # fmt: skip
