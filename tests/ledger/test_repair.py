"""What `repair` offers: first what costs nothing, then each action under its own finding, with its true price."""

import gzip
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.ledger import Ledger, LedgerDamaged, LedgerState, repair, verify
from stateward.ledger.disk import Disk
from stateward.ledger.manifest import read_archive, read_manifest, write_manifest
from tests.ledger.builders import DAY_S, Clock, QuickDisk, a_ledger, states_of
from tests.ledger.test_recovery import flip

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING


def archived(folder: Path) -> dict[str, str]:
    """Three days, of which one snapshot is kept: the deltas of the first two are in the archive."""
    clock = Clock()
    with Ledger.open(folder, clock=clock, disk=QuickDisk(), snapshots_kept=1) as ledger:
        for day in range(3):
            ledger.record_many([(f"doc:{day}:{number}", PENDING) for number in range(5)])
            ledger.record(f"doc:{day}:0", FETCHING)
            if day < 2:
                ledger.compact()
            clock.tick(DAY_S)
        return states_of(ledger)


def archived_file(folder: Path, at: int = 0) -> Path:
    manifest = read_manifest(folder)
    assert manifest is not None
    return folder / read_archive(folder, manifest)[at].file


@pytest.mark.parametrize("with_head", [False, True])
def test_a_stale_manifest_is_mended_without_loss(tmp_path: Path, with_head: bool) -> None:
    """Also where HEAD is as old: continuing after the old list would fork the log."""
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)
        for name in ("MANIFEST.json", "HEAD"):
            shutil.copy(folder / name, tmp_path / name)
        ledger.rotate()
        ledger.record("doc:1", FETCHING)
        expected = states_of(ledger)
    for name in ("MANIFEST.json", "HEAD") if with_head else ("MANIFEST.json",):
        shutil.copy(tmp_path / name, folder / name)

    with pytest.raises(LedgerDamaged, match="older than the other files"):
        a_ledger(folder)
    assert not verify(folder).is_sound
    plan = repair(folder)
    assert {(step.lost, step.needs_accept_loss) for step in plan} == {(0, False)}
    repair(folder, execute=True)

    assert verify(folder).is_sound
    with a_ledger(folder) as ledger:
        assert states_of(ledger) == expected
        ledger.record("doc:2", PENDING)


def test_an_archived_file_and_the_only_snapshot_cannot_both_be_done_without(tmp_path: Path) -> None:
    archived(tmp_path / "l")
    flip(archived_file(tmp_path / "l"), 40)
    snapshot = next((tmp_path / "l").glob("snapshot-*.json"))
    flip(snapshot, snapshot.read_bytes().index(b"doc:0:3"))

    plan = repair(tmp_path / "l")
    done = repair(tmp_path / "l", execute=True, accept_loss=True)

    assert plan == done
    assert [(step.finding.file, step.is_possible) for step in plan] == [
        (snapshot.name, True),
        (archived_file(tmp_path / "l").name, False),
    ]


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_compressed_snapshot_is_named_as_the_file_that_is_put_aside(
    tmp_path: Path, is_cut: bool
) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        for number in range(2):
            ledger.record(f"doc:{number}", PENDING)
            ledger.compact()
    packed = next((tmp_path / "l").glob("snapshot-*.json.gz"))
    text = gzip.decompress(packed.read_bytes())
    whole = gzip.compress(text.replace(b"pending", b"parsing"))
    packed.write_bytes(whole[:-4] if is_cut else whole)

    (step,) = repair(tmp_path / "l", execute=True)

    aside = f"{packed.name}.corrupt"
    assert step.action.startswith(f"put {packed.name} aside as {aside}; ")
    assert (tmp_path / "l" / aside).exists()
    assert verify(tmp_path / "l").is_sound


def test_a_lost_archived_file_gets_a_tombstone_and_verify_an_end(tmp_path: Path) -> None:
    expected = archived(tmp_path / "l")
    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        checkpoint = reader.checkpoint()
    lost = archived_file(tmp_path / "l")
    lost.unlink()

    plan = repair(tmp_path / "l", execute=True)
    assert [(step.finding.file, step.lost) for step in plan] == [(lost.name, 6)]
    assert not verify(tmp_path / "l").is_sound
    repair(tmp_path / "l", execute=True, accept_loss=True, clock=Clock())

    assert repair(tmp_path / "l") == []
    assert verify(tmp_path / "l", checkpoint=checkpoint).is_sound
    with a_ledger(tmp_path / "l") as ledger:
        assert states_of(ledger) == expected


def test_each_action_stands_under_its_own_finding(tmp_path: Path) -> None:
    archived(tmp_path / "l")
    old = archived_file(tmp_path / "l")
    old.unlink()
    active = tmp_path / "l" / "delta-2025-10-05.jsonl"
    lines = active.read_bytes().splitlines(keepends=True)
    flip(active, len(lines[0]) + 12)

    steps = repair(tmp_path / "l")

    assert [step.finding.file for step in steps] == [old.name, active.name]
    assert "tombstone" in steps[0].action
    assert active.name in steps[1].action


def test_what_is_lost_is_counted_without_head(tmp_path: Path) -> None:
    """The manifest does not know how long the active delta is; its own lines do."""
    with a_ledger(tmp_path / "l") as ledger:
        for number in range(10):
            ledger.record(f"doc:{number}", PENDING)
    (tmp_path / "l" / "HEAD").unlink()
    active = next((tmp_path / "l").glob("delta-*.jsonl"))
    flip(active, 12)

    assert [step.lost for step in repair(tmp_path / "l")] == [10]


def test_a_sealed_delta_that_is_not_the_recorded_one_is_refused_at_opening(tmp_path: Path) -> None:
    """As long, as many lines, every seal good: only the head in the manifest tells."""
    for name in ("a", "b"):
        with a_ledger(tmp_path / name) as ledger:
            ledger.record(f"doc:{name}", PENDING)
            ledger.rotate()
            ledger.record("doc:x", PENDING)
    sealed = "delta-2025-10-04.jsonl"
    shutil.copy(tmp_path / "b" / sealed, tmp_path / "a" / sealed)
    for index in (tmp_path / "a").glob("*.idx"):
        index.unlink()

    with pytest.raises(LedgerDamaged, match="not those that the manifest recorded"):
        Ledger.open(tmp_path / "a", read_only=True)


def mended(folder: Path) -> int:
    """Repair whatever is possible; the records that it cost. The ledger can be written to afterwards."""
    lost = sum(step.lost for step in repair(folder, execute=True, accept_loss=True))
    assert verify(folder).is_sound
    with a_ledger(folder) as ledger:
        ledger.record("doc:later", PENDING)
    return lost


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_delta_that_is_gone_costs_its_lines_and_those_after_it(
    tmp_path: Path, is_sealed: bool
) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)
        ledger.rotate()
        ledger.record_many([("doc:1", FETCHING), ("doc:2", PENDING)])
    sorted(folder.glob("delta-*.jsonl"))[0 if is_sealed else 1].unlink()

    assert mended(folder) == (3 if is_sealed else 2)


def test_a_compressed_delta_that_cannot_be_unpacked_is_cut_off_where_no_snapshot_has_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        for state in (PENDING, FETCHING):
            ledger.record_many([(f"doc:{number}", state) for number in range(9)])
            ledger.compact()
    for name in ("delta-*_000002.jsonl.gz", "snapshot-*.json"):
        path = next(folder.glob(name))
        path.write_bytes(path.read_bytes()[:30])

    assert mended(folder) == 11  # two lines name snapshots


def test_a_snapshot_that_alone_has_the_states_of_removed_lines_is_not_put_aside(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "l"
    archived(folder)
    with Ledger.open(folder, disk=QuickDisk()) as ledger:
        ledger.remove_archived(up_to=6, reason="kept long enough", execute=True)
    snapshot = next(folder.glob("snapshot-*.json"))
    flip(snapshot, snapshot.read_bytes().index(b"doc:0:3"))

    (step,) = repair(folder, execute=True, accept_loss=True)

    assert (step.finding.file, step.is_possible, snapshot.exists()) == (snapshot.name, False, True)
    assert "no sound snapshot holds their states" in step.action


def test_a_ledger_that_cannot_be_opened_is_not_sound(tmp_path: Path) -> None:
    """Each file is as it was written, but no list names the snapshot that removed lines are known by."""
    folder = tmp_path / "l"
    archived(folder)
    with Ledger.open(folder, disk=QuickDisk()) as ledger:
        ledger.remove_archived(up_to=6, reason="kept long enough", execute=True)
    manifest = read_manifest(folder)
    assert manifest is not None
    write_manifest(Disk(), folder, replace(manifest, snapshots=()))

    (finding,) = verify(folder).findings

    assert "the lines with seq 1 to 6 are missing" in finding.sentence


def test_a_tombstone_with_a_damaged_tree_is_no_tombstone(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    archived(folder)
    with Ledger.open(folder, disk=QuickDisk()) as ledger:
        ledger.remove_archived(up_to=6, reason="kept long enough", execute=True)
    path = folder / "ARCHIVE.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"span":"', b'"span":"x'))

    assert not any(step.is_possible for step in repair(folder))
    assert not verify(folder).is_sound


def test_a_delta_whose_first_line_is_damaged_goes_with_the_lines_before_that_a_lost_list_leaves(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)
        ledger.rotate()
        ledger.record_many([("doc:1", FETCHING), ("doc:2", PENDING)])
    flip(sorted(folder.glob("delta-*.jsonl"))[1], 0)
    (folder / "MANIFEST.json").unlink()

    assert mended(folder) == 2


def test_what_follows_a_sealed_delta_is_cut_off_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)
        ledger.rotate()
        ledger.record("doc:1", FETCHING)
        expected = states_of(ledger)
    sealed = min(folder.glob("delta-*.jsonl"))
    whole = sealed.read_bytes()
    sealed.write_bytes(whole + b"a stray word")

    assert mended(folder) == 0
    assert sealed.read_bytes() == whole
    (torn,) = folder.glob("*.torn-*")
    assert torn.read_bytes() == b"a stray word"
    with a_ledger(folder) as ledger:
        assert states_of(ledger) == expected | {"doc:later": "pending"}


def test_what_a_repair_kept_is_not_replaced_by_the_next_one(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)
        ledger.rotate()
        ledger.record("doc:1", FETCHING)
    sealed = min(folder.glob("delta-*.jsonl"))
    whole = sealed.read_bytes()

    for surplus in (b"first", b"second", b"second"):
        sealed.write_bytes(whole + surplus)
        repair(folder, execute=True)

    assert sealed.read_bytes() == whole
    assert {each.read_bytes() for each in folder.glob("*.torn-*")} == {b"first", b"second"}
    assert len([*folder.glob("*.torn-*")]) == 2


def test_the_active_delta_is_not_lost_for_nothing_where_head_is_lost_too(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    archived(folder)
    with a_ledger(folder) as ledger:
        ledger.files()[-1][0].unlink()
    (folder / "HEAD").unlink()

    (step,) = repair(folder)

    assert step.needs_accept_loss
    assert "it is not there" in step.finding.sentence


def test_an_archived_file_that_is_lost_is_named_where_its_lines_are_asked_for(
    tmp_path: Path,
) -> None:
    archived(tmp_path / "l")
    lost = archived_file(tmp_path / "l")
    lost.unlink()

    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        with pytest.raises(LedgerDamaged, match=lost.name):
            list(reader.records())
        with pytest.raises(LedgerDamaged, match=lost.name):
            reader.prove(1)
