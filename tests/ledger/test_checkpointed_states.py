"""A checkpoint that is kept elsewhere covers the states too: the log names the root of each snapshot."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.ledger import (
    Ledger,
    LedgerEntry,
    LedgerState,
    compaction,
    repair,
    verify,
    verify_proof,
)
from stateward.ledger.chain import seal
from stateward.ledger.disk import Disk
from stateward.ledger.manifest import read_manifest, write_manifest
from stateward.ledger.snapshot import Snapshot, SnapshotWriter
from tests.ledger.builders import DAY_S, Clock, QuickDisk, a_ledger, states_of

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING


def a_compacted_ledger(folder: Path) -> str:
    """A ledger with a snapshot; a checkpoint of it."""
    with a_ledger(folder) as ledger:
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(9)])
        ledger.compact()
        return ledger.checkpoint(write=False)


def forge(folder: Path, found: bytes = b'"pending"', put: bytes = b'"skipped"') -> None:
    """Another snapshot with the same name, its own right checksum and index, and a manifest that fits."""
    manifest = read_manifest(folder)
    assert manifest is not None
    info = manifest.snapshots[0]
    old = Snapshot(folder / info.file, root=info.root)
    documents = list(old.lines())
    writer = SnapshotWriter(Disk(), folder / info.file, old.header)
    for key, kept in documents:
        writer.add(b"%b:%b" % (key, kept.replace(found, put)))
    forged = replace(info, root=writer.finish(), bytes=(folder / info.file).stat().st_size)
    write_manifest(Disk(), folder, replace(manifest, snapshots=(forged,)))


def test_a_forged_snapshot_is_found(tmp_path: Path) -> None:
    checkpoint = a_compacted_ledger(tmp_path / "l")
    assert verify(tmp_path / "l", checkpoint=checkpoint) == replace(
        verify(tmp_path / "l"), notes=()
    )

    forge(tmp_path / "l")

    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        assert set(states_of(reader).values()) == {"skipped"}  # nothing else tells
    for given in (None, checkpoint):
        assert "names another root" in str(verify(tmp_path / "l", checkpoint=given).findings[0])


@pytest.mark.parametrize(
    ("old", "new"), [(b'"pending"', b'"skipped"'), (b'"adapter":""', b'"adapter":"x"')]
)
def test_a_forged_snapshot_is_found_even_if_a_new_line_names_it(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    """The line can be forged as well, but it comes after the checkpoint; then the log is asked."""
    checkpoint = a_compacted_ledger(tmp_path / "l")
    forge(tmp_path / "l", old, new)
    with a_ledger(tmp_path / "l") as ledger:
        compaction._name_in_log(ledger._require_writer(), ledger.snapshots()[0])

    findings = verify(tmp_path / "l", checkpoint=checkpoint).findings

    assert "but the log says" in str(findings[0]) or "other details" in str(findings[0])


def test_a_compaction_after_the_checkpoint_is_compared_with_the_log(tmp_path: Path) -> None:
    checkpoint = a_compacted_ledger(tmp_path / "l")
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", FETCHING, metadata={"pages": 3}, error_message="none")
        ledger.compact()

    found = verify(tmp_path / "l", checkpoint=checkpoint)

    assert found.is_sound
    assert "after the 10 lines of the checkpoint" in str(found.notes[0])


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_manifest_cannot_make_up_or_conceal_a_rollback(tmp_path: Path, is_listed: bool) -> None:
    a_compacted_ledger(tmp_path / "l")
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", FETCHING)
        if is_listed:
            ledger.rotate()
        else:
            ledger.rollback(9)
        checkpoint = ledger.checkpoint(write=False)
    manifest = read_manifest(tmp_path / "l")
    assert manifest is not None
    forged = ((11, 9),) if is_listed else ()
    write_manifest(Disk(), tmp_path / "l", replace(manifest, rollbacks=forged))

    (finding,) = verify(tmp_path / "l", checkpoint=checkpoint).findings[:1]
    assert "does not have the rollback to seq 9" in str(finding)

    repair(tmp_path / "l", execute=True)
    assert verify(tmp_path / "l", checkpoint=checkpoint).is_sound


def a_ledger_that_names_no_snapshot(folder: Path) -> str:
    """As older versions left it; a checkpoint of it."""
    a_compacted_ledger(folder)
    active = max(folder.glob("delta-*_000002.jsonl"))
    active.write_bytes(b"")
    (folder / "HEAD").unlink()
    with a_ledger(folder) as ledger:
        ledger.record("doc:x", PENDING)
        return ledger.checkpoint(write=False)


def test_a_snapshot_that_no_line_names_is_compared_with_the_log(tmp_path: Path) -> None:
    checkpoint = a_ledger_that_names_no_snapshot(tmp_path / "l")

    found = verify(tmp_path / "l", checkpoint=checkpoint)

    assert found.is_sound
    assert "no line of the log names its root" in str(found.notes[0])

    forge(tmp_path / "l")

    assert verify(tmp_path / "l").is_sound
    findings = verify(tmp_path / "l", checkpoint=checkpoint).findings
    assert "is kept as skipped, but the log says pending" in str(findings[0])


def test_a_snapshot_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    a_ledger_that_names_no_snapshot(tmp_path / "l")
    forge(tmp_path / "l", b'"updated_at":', b'"updated_at":"then","at":')

    with Ledger.open(tmp_path / "l", read_only=True) as ledger:
        (finding,) = ledger.replay()

    assert "cannot be read" in finding.sentence


def removed_before_the_snapshot(folder: Path) -> str:
    """A ledger of two days, of which the lines of the first are gone; a checkpoint from before the second."""
    with Ledger.open(folder, clock=Clock(), disk=QuickDisk(), snapshots_kept=1) as ledger:
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(9)])
        ledger.compact()
        ledger.record("doc:1", FETCHING)
        ledger.compact()
        checkpoint = ledger.checkpoint(write=False)
        gone = ledger.remove_archived(up_to=9, reason="old", execute=True)
        assert [info.last_seq for info in gone] == [9]
    return checkpoint


def test_without_all_lines_an_older_snapshot_shows_that_a_newer_one_is_right(
    tmp_path: Path,
) -> None:
    checkpoint = removed_before_the_snapshot(tmp_path / "l")
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:2", FETCHING)
        ledger.compact()

    assert verify(tmp_path / "l", checkpoint=checkpoint).is_sound

    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:3", FETCHING)
        ledger.rollback(11)

    assert verify(tmp_path / "l", checkpoint=checkpoint).is_sound


def test_moves_are_checked_after_lines_that_were_removed(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    removed_before_the_snapshot(folder)
    with a_ledger(folder) as ledger:
        ledger.record("doc:2", FETCHING)
        last, head, delta = ledger.last_seq, ledger.head, ledger.files()[-1][0]
        assert list(ledger.replay()) == []
    moved = '{"doc_id":"doc:3","old_state":"pending","new_state":"completed","timestamp":1.0,"adapter":""'
    body = f'{moved},"seq":{last + 1},"n":1'.encode()
    delta.write_bytes(delta.read_bytes() + seal(body, head.encode())[0])

    found = verify(folder)
    with a_ledger(folder) as ledger:
        (finding,) = ledger.replay()

    (note,) = found.notes
    assert note.sentence == (
        "9 lines were removed, the last of them here, so that only moves after seq 11 are checked"
    )
    assert "pending → completed is no move" in finding.sentence


def test_moves_before_lines_that_were_given_up_are_checked_too(tmp_path: Path) -> None:
    folder, clock = tmp_path / "l", Clock()
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)
        last, head, delta = ledger.last_seq, ledger.head, ledger.files()[-1][0]
    moved = '{"doc_id":"doc:1","old_state":"pending","new_state":"completed","timestamp":1.0,"adapter":""'
    body = f'{moved},"seq":{last + 1},"n":1'.encode()
    delta.write_bytes(delta.read_bytes() + seal(body, head.encode())[0])
    with Ledger.open(folder, clock=clock, disk=QuickDisk(), snapshots_kept=2) as ledger:
        for day in range(4):
            ledger.record_many([(f"doc:{day}:{number}", PENDING) for number in range(3)])
            ledger.compact()
            clock.tick(DAY_S)
    sorted(folder.glob("delta-*.gz"))[1].unlink()
    repair(folder, execute=True, accept_loss=True, clock=clock)

    found = verify(folder)
    with Ledger.open(folder, read_only=True) as reader:
        (finding,) = reader.replay()

    assert (found.is_sound, found.removed) == (True, 4)
    assert "only moves up to seq 5 and after seq 13 are checked" in found.notes[0].sentence
    assert "pending → completed is no move" in finding.sentence


def test_an_import_whose_beginning_was_removed_may_still_make_any_move(tmp_path: Path) -> None:
    clock = Clock()
    how = {"clock": clock, "disk": QuickDisk(), "snapshots_kept": 1}
    with Ledger.open(tmp_path / "l", **how) as ledger:  # type: ignore[arg-type]
        with ledger.importing(reason="old") as importer:
            importer.record_many([LedgerEntry(doc_id="doc:1", state="pending", timestamp=1.0)])
            ledger.compact()
            clock.tick(DAY_S)
            importer.record_many([LedgerEntry(doc_id="doc:1", state="completed", timestamp=2.0)])
        assert ledger.remove_archived(up_to=2, reason="old", execute=True)
        last, head, delta = ledger.last_seq, ledger.head, ledger.files()[-1][0]
        assert list(ledger.replay()) == []
    moved = '{"doc_id":"doc:1","old_state":"completed","new_state":"pending","timestamp":3.0,"adapter":""'
    body = f'{moved},"seq":{last + 1},"n":1'.encode()
    delta.write_bytes(delta.read_bytes() + seal(body, head.encode())[0])

    with a_ledger(tmp_path / "l") as ledger:
        (finding,) = ledger.replay()

    assert "completed → pending is no move" in finding.sentence


def test_after_an_import_that_was_cut_short_nobody_says_that_every_move_is_valid(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        with ledger.importing(reason="old"):
            pass
        delta = ledger.files()[-1][0]
    opened, _closed = delta.read_bytes().splitlines(keepends=True)
    delta.write_bytes(opened)
    (folder / "HEAD").unlink()
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)

        (finding,) = ledger.replay()

    assert (finding.seq, verify(folder).is_sound) == (1, True)
    assert "an import began here and never ended" in finding.sentence


def test_a_forged_snapshot_is_found_where_the_lines_before_it_are_gone(tmp_path: Path) -> None:
    checkpoint = removed_before_the_snapshot(tmp_path / "l")
    forge(tmp_path / "l")
    with a_ledger(tmp_path / "l") as ledger:
        compaction._name_in_log(ledger._require_writer(), ledger.snapshots()[0])

    (finding,) = verify(tmp_path / "l", checkpoint=checkpoint).findings[:1]

    assert "were removed, so no checkpoint covers it" in str(finding)


def test_an_idle_ledger_is_compacted_once(tmp_path: Path) -> None:
    a_compacted_ledger(tmp_path / "l")

    with a_ledger(tmp_path / "l") as ledger:
        assert ledger.compact() is None
        assert ledger.last_seq == 10


def test_a_rollback_names_its_snapshot_too(tmp_path: Path) -> None:
    a_compacted_ledger(tmp_path / "l")
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", FETCHING)
        ledger.rollback(9)
        checkpoint = ledger.checkpoint(write=False)

    found = verify(tmp_path / "l", checkpoint=checkpoint)

    assert (found.is_sound, found.notes) == (True, ())


@pytest.mark.parametrize("seq", [1, 9, 20, 28])
def test_a_proof_reads_no_other_archived_file_than_that_of_its_line(
    tmp_path: Path, seq: int
) -> None:
    with Ledger.open(tmp_path / "l", clock=Clock(), disk=QuickDisk(), snapshots_kept=1) as ledger:
        for day in range(4):
            ledger.record_many([(f"doc:{day}:{number}", PENDING) for number in range(7)])
            ledger.compact()
        checkpoint = ledger.checkpoint(write=False)
        for info in ledger.archive():
            if not info.first_seq <= seq <= info.end_seq:
                (tmp_path / "l" / info.file).unlink()

        assert verify_proof(ledger.prove(seq), checkpoint)


def test_a_reader_makes_no_checkpoint_of_lines_that_a_power_cut_could_take(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        ledger.record_many([("doc:2", PENDING), ("doc:3", PENDING)])
        early = (tmp_path / "l" / "HEAD").read_bytes()
        ledger.record_many([("doc:4", PENDING), ("doc:5", PENDING)])
        (tmp_path / "l" / "HEAD").write_bytes(
            early
        )  # as if the last group were written, but not synced

        with Ledger.open(tmp_path / "l", read_only=True) as reader:
            assert reader.last_seq == 5
            assert reader.durable_seq == 3
            assert reader.checkpoint().splitlines()[1] == "3"
        assert ledger.checkpoint(write=False).splitlines()[1] == "5"
