"""What a ledger does when its files are not as they should be: falls back, refuses, is repaired; and says so."""

import errno
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from stateward.ledger import (
    Ledger,
    LedgerDamaged,
    LedgerError,
    LedgerPoisoned,
    LedgerState,
    repair,
    verify,
)
from stateward.ledger.manifest import Manifest, read_manifest
from tests.ledger.builders import DAY_S, Clock, QuickDisk, a_ledger, states_of
from tests.ledger.proof.faults import FailingDisk

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING


def three_days(folder: Path) -> dict[str, str]:
    """Two snapshots, the older one packed, and an active delta."""
    clock = Clock()
    with a_ledger(folder, clock=clock) as ledger:
        for day in range(3):
            ledger.record_many([(f"doc:{day}:{number}", PENDING) for number in range(5)])
            ledger.record(f"doc:{day}:0", FETCHING)
            if day < 2:
                ledger.compact()
            clock.tick(DAY_S)
        return states_of(ledger)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_damaged_snapshot_falls_back_to_the_one_before_and_says_so(tmp_path: Path) -> None:
    expected = three_days(tmp_path / "l")
    newest = tmp_path / "l" / "snapshot-2025-10-05.json"
    flip(newest, newest.read_bytes().index(b"doc:0:3"))
    before = {path.name for path in (tmp_path / "l").iterdir()}

    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        assert states_of(reader) == expected
        assert any("snapshot-2025-10-04.json" in note for note in reader.notes)
    assert {path.name for path in (tmp_path / "l").iterdir()} == before
    with a_ledger(tmp_path / "l") as ledger:
        assert states_of(ledger) == expected
        assert any("instead" in note for note in ledger.notes)
        ledger.compact()
        assert states_of(ledger) == expected

    assert verify(tmp_path / "l").is_sound


@pytest.mark.parametrize("bit", [0, 7])
def test_a_snapshot_whose_header_is_no_text_any_more_is_not_used(tmp_path: Path, bit: int) -> None:
    expected = three_days(tmp_path / "l")
    newest = tmp_path / "l" / "snapshot-2025-10-05.json"
    data = bytearray(newest.read_bytes())
    data[data.index(b'"created_at":"') + 16] ^= 1 << bit
    newest.write_bytes(data)

    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        assert states_of(reader) == expected
        assert any("was not used" in note for note in reader.notes)


def test_an_empty_file_where_packed_lines_were_is_damage(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    (tmp_path / "l" / "MANIFEST.json").unlink()
    packed = next((tmp_path / "l").glob("delta-*.gz"))
    packed.write_bytes(b"")

    with pytest.raises(LedgerDamaged, match="it is empty"):
        Ledger.open(tmp_path / "l", read_only=True)


def test_without_any_sound_snapshot_the_whole_log_is_used(tmp_path: Path) -> None:
    expected = three_days(tmp_path / "l")
    for path in (tmp_path / "l").glob("snapshot-*"):
        path.write_bytes(b"")

    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        assert states_of(reader) == expected
        assert any("whole log" in note for note in reader.notes)


def test_deltas_alone_are_used_only_when_asked_for_and_marked(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    for pattern in ("snapshot-*", "delta-2025-10-04.jsonl*"):
        for path in (tmp_path / "l").glob(pattern):
            path.unlink()

    with pytest.raises(LedgerDamaged, match=r"missing|not there"):
        Ledger.open(tmp_path / "l", read_only=True)
    with Ledger.open(tmp_path / "l", read_only=True, partial=True) as reader:
        found = reader.document("doc:2:1")
        assert reader.is_partial
        assert found is not None
        assert found.is_partial


def test_a_lost_manifest_is_rebuilt_from_the_files(tmp_path: Path) -> None:
    expected = three_days(tmp_path / "l")
    (tmp_path / "l" / "MANIFEST.json").unlink()

    with a_ledger(tmp_path / "l") as ledger:
        assert states_of(ledger) == expected
        assert any("rebuilt" in note for note in ledger.notes)

    with a_ledger(tmp_path / "l") as ledger:
        assert ledger.notes == ()
        assert ledger.verify().is_sound


def test_a_torn_line_is_cut_off_and_its_bytes_are_kept(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    active = tmp_path / "l" / "delta-2025-10-05.jsonl"
    size = active.stat().st_size
    with active.open("ab") as file:
        file.write(b'{"doc_id":"half')

    assert verify(tmp_path / "l").is_sound
    with a_ledger(tmp_path / "l") as ledger:
        assert "15 bytes" in ledger.notes[0]

    assert active.stat().st_size == size
    assert (tmp_path / "l" / f"{active.name}.torn-{size}").read_bytes() == b'{"doc_id":"half'


def test_damage_to_an_acknowledged_line_is_refused_and_named(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    active = tmp_path / "l" / "delta-2025-10-05.jsonl"
    (tmp_path / "l" / "HEAD").unlink()
    lines = active.read_bytes().splitlines(keepends=True)
    flip(active, len(lines[0]) + 12)

    with pytest.raises(LedgerDamaged) as refused:
        a_ledger(tmp_path / "l")

    finding = refused.value.findings[0]
    assert (finding.file, finding.byte, finding.seq) == (active.name, len(lines[0]), 15)
    assert verify(tmp_path / "l").findings[0].byte == len(lines[0])


def test_repair_says_what_it_would_do_and_keeps_the_damaged_bytes(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    active = tmp_path / "l" / "delta-2025-10-05.jsonl"
    lines = active.read_bytes().splitlines(keepends=True)
    flip(active, len(lines[0]) + 12)
    hurt = active.read_bytes()

    plan = repair(tmp_path / "l")
    assert [step.lost for step in plan] == [6]
    assert plan[0].needs_accept_loss
    repair(tmp_path / "l", execute=True)
    with pytest.raises(LedgerDamaged):
        a_ledger(tmp_path / "l")
    repair(tmp_path / "l", execute=True, accept_loss=True)

    with a_ledger(tmp_path / "l") as ledger:
        assert ledger.last_seq == 14
        ledger.record("doc:after", PENDING)
        assert ledger.verify().is_sound
    assert (tmp_path / "l" / f"{active.name}.damaged").read_bytes() == hurt


def test_repair_after_an_older_backup_came_back(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    active = tmp_path / "l" / "delta-2025-10-05.jsonl"
    lines = active.read_bytes().splitlines(keepends=True)
    active.write_bytes(b"".join(lines[:-2]))

    with pytest.raises(LedgerDamaged, match="acknowledged"):
        a_ledger(tmp_path / "l")
    repair(tmp_path / "l", execute=True, accept_loss=True)

    with a_ledger(tmp_path / "l") as ledger:
        assert ledger.last_seq == 18


def test_repair_puts_a_damaged_snapshot_aside(tmp_path: Path) -> None:
    expected = three_days(tmp_path / "l")
    newest = tmp_path / "l" / "snapshot-2025-10-05.json"
    flip(newest, newest.read_bytes().index(b"doc:0:3"))

    steps = repair(tmp_path / "l", execute=True)

    assert "aside" in steps[0].action
    assert newest.with_name(newest.name + ".corrupt").exists()
    with a_ledger(tmp_path / "l") as ledger:
        assert states_of(ledger) == expected


def test_a_directory_without_its_log_is_not_made_new(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    for path in (tmp_path / "l").iterdir():
        if path.name not in ("HEAD", "LOCK"):
            path.unlink()

    with pytest.raises(LedgerDamaged, match="acknowledged"):
        a_ledger(tmp_path / "l")


def test_verify_names_a_rewritten_log_by_its_checkpoint(tmp_path: Path) -> None:
    """An owner of the disk rewrites everything; a checkpoint kept elsewhere tells."""
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([("doc:1", PENDING), ("doc:2", PENDING)])
        checkpoint = ledger.checkpoint()
    with a_ledger(tmp_path / "forged") as ledger:
        ledger.record_many([("doc:1", PENDING), ("doc:3", PENDING)])

    assert verify(tmp_path / "l", checkpoint=checkpoint).is_sound
    assert "checkpoint" in str(verify(tmp_path / "forged", checkpoint=checkpoint).findings[0])


def test_a_rotation_that_cannot_open_its_file_lets_go_of_the_lock(tmp_path: Path) -> None:
    """The old descriptor was closed twice then, and the lock was held until the process ended."""
    disk = FailingDisk("open_log", 2, errno.EIO, is_persistent=False)
    ledger = a_ledger(tmp_path / "l", disk=disk)
    ledger.record("doc:1", PENDING)

    with pytest.raises(LedgerPoisoned):
        ledger.rotate()
    with pytest.raises(LedgerPoisoned):
        ledger.record("doc:2", PENDING)
    ledger.close()

    with a_ledger(tmp_path / "l") as again:
        assert states_of(again) == {"doc:1": "pending"}


def test_what_a_writer_replaces_during_every_attempt_is_not_called_damaged(tmp_path: Path) -> None:
    three_days(tmp_path / "l")
    flip(next((tmp_path / "l").glob("delta-*.gz")), 40)
    generations = count(100)

    def replaced(folder: Path) -> Manifest | None:
        listed = read_manifest(folder)
        return listed and replace(listed, generation=next(generations))

    with (
        patch("stateward.ledger.verification.read_manifest", replaced),
        pytest.raises(LedgerError, match="changed too often"),
    ):
        verify(tmp_path / "l")
    assert not verify(tmp_path / "l").is_sound


def test_what_is_damaged_is_not_packed_as_if_it_were_sound(tmp_path: Path) -> None:
    """Its part of the Merkle tree would go into the manifest, and checkpoints of before would not fit any more."""
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(9)])
        checkpoint = ledger.checkpoint(write=False)
        ledger.compact(compress=False)
    (sealed, _) = sorted(folder.glob("delta-*.jsonl"))
    flip(sealed, 300)

    with a_ledger(folder) as ledger:
        ledger.record("doc:0", FETCHING)
        made = ledger.compact()
        (note,) = ledger.notes
    found = verify(folder).findings

    assert (made is not None, sealed.exists(), sealed.name in note) == (True, True, True)
    assert {finding.file for finding in found} == {sealed.name}
    flip(sealed, 300)  # as a backup brings it back
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", FETCHING)
        ledger.compact()
    assert not sealed.exists()
    assert verify(folder, checkpoint=checkpoint).is_sound


@pytest.mark.parametrize("name", ["snapshot-*.json", "delta-*.jsonl"])
def test_a_file_that_is_gone_does_not_keep_others_from_being_packed(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        for state in (PENDING, FETCHING):
            ledger.record("doc:1", state)
            ledger.compact(compress=False)
    gone = min(folder.glob(name))
    gone.unlink()

    with Ledger.open(folder, disk=QuickDisk(), snapshots_kept=1) as ledger:
        ledger.record("doc:2", PENDING)
        assert ledger.compact() is not None
        assert states_of(ledger) == {"doc:1": "fetching", "doc:2": "pending"}

    left = (
        {gone.name} if gone.suffix == ".jsonl" else set()
    )  # an old snapshot is not needed any more
    assert {finding.file for finding in verify(folder).findings} == left
    assert len(list(folder.glob("delta-*.gz"))) == 3 - len(left)


def test_without_head_nobody_says_that_a_torn_line_was_never_acknowledged(tmp_path: Path) -> None:
    """A power cut may take HEAD and the last line; so may damage, and then the line had been acknowledged."""
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record_many([("doc:1", PENDING), ("doc:2", PENDING)])
        delta = ledger.files()[-1][0]
    flip(delta, delta.stat().st_size - 50)
    (folder / "HEAD").unlink()

    finding, *_ = verify(folder).findings
    (step,) = repair(folder)
    with Ledger.open(folder, read_only=True) as reader:
        (note,) = reader.notes

    assert "HEAD is missing or damaged" in finding.sentence
    assert (step.lost, step.needs_accept_loss) == (1, True)
    assert "HEAD is missing or damaged" in note
    with a_ledger(folder) as ledger:
        assert list(states_of(ledger)) == ["doc:1"]
    assert verify(folder).is_sound


def test_whoever_opens_a_ledger_without_head_is_told(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
    (tmp_path / "l" / "HEAD").write_bytes(b"")
    found = verify(tmp_path / "l")

    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        (said,) = reader.notes
    with a_ledger(tmp_path / "l") as ledger:
        (note,) = ledger.notes

    assert [each.file for each in found.findings] == ["HEAD"]
    assert said == note
    assert "nothing says whether lines after seq 1 were lost" in note
    assert verify(tmp_path / "l").is_sound


def test_without_head_no_writer_cuts_off_many_lines_unasked(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record("doc:first", PENDING)
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(30)])
        delta = ledger.files()[-1][0]
    flip(delta, delta.read_bytes().index(b"\n") + 20)
    (folder / "HEAD").unlink()
    hurt = delta.read_bytes()

    with pytest.raises(LedgerDamaged, match="the last 30 lines are torn; HEAD is missing"):
        a_ledger(folder)
    assert delta.read_bytes() == hurt
    (step,) = repair(folder, execute=True, accept_loss=True)

    assert (step.lost, step.needs_accept_loss) == (30, True)
    with a_ledger(folder) as ledger:
        assert list(states_of(ledger)) == ["doc:first"]
