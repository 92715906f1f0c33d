"""Any damage of one to three files: verified, planned, repaired; nothing is said that is not so.

The files are damaged by chance, from a fixed seed; a failure names it. What must hold each time: a ledger that opens
with other answers, or does not open, is not called sound; a repair that asks for no loss costs nothing; one that does
costs no more records than it says, where HEAD is there to count them; and afterwards the ledger is sound and can be
written to, or a backup is asked for.
"""

import random
import shutil
from pathlib import Path

import pytest

from stateward.ledger import Ledger, LedgerError, LedgerState, RepairStep, repair, verify
from stateward.ledger.head import read_head
from stateward.ledger.manifest import HEAD, read_manifest
from tests.ledger.builders import DAY_S, Clock, QuickDisk

WAY = (
    LedgerState.PENDING, LedgerState.FETCHING, LedgerState.FETCHED, LedgerState.PARSING, LedgerState.PARSED,
    LedgerState.VALIDATING,
)  # fmt: skip
KINDS = ("delete", "truncate", "flip", "restore", "append", "empty", "double")
SEEDS, SEEDS_A_TEST = 120, 20
Answers = tuple[dict[int, tuple[str, str]], dict[str, str]]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two ledgers with archived, packed, sealed and active deltas; of one the oldest lines were removed."""
    folders = [tmp_path_factory.mktemp("sound") / name for name in ("whole", "removed")]
    for folder in folders:
        clock = Clock()
        with Ledger.open(folder, clock=clock, disk=QuickDisk(), snapshots_kept=2) as ledger:
            for step, state in enumerate(WAY):
                ledger.record_many([(f"doc:{number}", state) for number in range(5)])
                if step < 4:
                    ledger.compact()
                elif step == 4:
                    ledger.rotate()
                clock.tick(DAY_S)
                if step == 3:
                    shutil.copytree(folder, folder.with_suffix(".older"))
            if folder.name == "removed":
                assert ledger.remove_archived(up_to=7, reason="old", execute=True)
    return folders


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_A_TEST))
def test_any_damage_is_told_and_repaired_at_the_price_that_was_said(
    sound: list[Path], tmp_path: Path, first: int
) -> None:
    for seed in range(first, first + SEEDS_A_TEST):
        rng = random.Random(seed)
        original, folder = rng.choice(sound), tmp_path / f"{seed}"
        shutil.copytree(original, folder)
        done = [damage(rng, folder, original) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]

        check(folder, answers(original), why=f"seed {seed}: {done}")


def test_without_head_a_log_that_was_cut_after_a_line_is_not_called_sound(tmp_path: Path) -> None:
    """Each line that is left is good, and what said how many there were is gone."""
    folder = tmp_path / "l"
    with Ledger.open(folder, clock=Clock(), disk=QuickDisk()) as ledger:
        for state in WAY:
            ledger.record("doc:1", state)
        delta = ledger.files()[-1][0]
    before = answers(folder)
    assert verify(folder).is_sound
    delta.write_bytes(b"".join(delta.read_bytes().splitlines(keepends=True)[:2]))
    (folder / HEAD).unlink()

    (finding,) = verify(folder).findings
    (step,) = repair(folder, execute=True)

    assert (finding.file, finding.seq) == (HEAD, 2)
    assert "nothing says whether lines after seq 2 were lost" in finding.sentence
    assert (step.finding, step.needs_accept_loss) == (finding, True)
    assert not verify(folder).is_sound
    check(folder, before, why="HEAD deleted, the active delta cut after its second line")


@pytest.mark.parametrize("slot", [0, 1])
def test_half_a_head_does_not_vouch_for_the_end_of_the_log(tmp_path: Path, slot: int) -> None:
    """Each slot is written after one group: without the newer one the last group is not missed."""
    folder = tmp_path / "l"
    with Ledger.open(folder, clock=Clock(), disk=QuickDisk()) as ledger:
        for state in WAY:
            ledger.record("doc:1", state)
        delta = ledger.files()[-1][0]
    before, head = answers(folder), (folder / HEAD).read_bytes()
    (folder / HEAD).write_bytes(head[: 32 * slot] + bytes(32) + head[32 * slot + 32 :])
    lines = delta.read_bytes().splitlines(keepends=True)
    delta.write_bytes(b"".join(lines[: read_head(folder).seq]))

    assert [each.file for each in verify(folder).findings] == [HEAD]
    check(folder, before, why=f"slot {slot} of HEAD damaged, the log cut at the other one")


@pytest.mark.parametrize("is_deleted", [False, True], ids=["emptied", "deleted"])
def test_a_head_of_an_older_backup_does_not_vouch_for_a_last_file_without_lines(
    sound: list[Path], tmp_path: Path, is_deleted: bool
) -> None:
    """It says that the log ended earlier, which it once did."""
    folder = tmp_path / "l"
    shutil.copytree(sound[0], folder)
    shutil.copyfile(sound[0].with_suffix(".older") / HEAD, folder / HEAD)
    with Ledger.open(folder, read_only=True) as ledger:
        delta = ledger.files()[-1][0]
    delta.unlink() if is_deleted else delta.write_bytes(b"")

    found = verify(folder)

    assert not found.is_sound
    assert any("older than the manifest" in each.sentence for each in found.findings) or is_deleted
    assert all(each.needs_accept_loss for each in repair(folder))
    check(folder, answers(sound[0]), why="HEAD of an older backup, the last file without lines")


def test_a_crash_right_after_the_manifest_was_replaced_leaves_a_head_that_is_believed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "l"
    with Ledger.open(folder, clock=Clock(), disk=QuickDisk()) as ledger:
        ledger.record("doc:1", LedgerState.PENDING)
        before = (folder / HEAD).read_bytes()
        ledger.rotate()
    (folder / HEAD).write_bytes(before)

    assert verify(folder).is_sound


def check(folder: Path, before: Answers, *, why: str) -> None:
    manifest, head = read_manifest(folder), read_head(folder)
    if manifest is not None:
        head = head.beside(manifest, folder)
    is_known = head.is_whole  # without HEAD nobody can count what is lost
    found = verify(folder)
    if found.is_sound:
        assert answers(folder)[1] == before[1], why
    steps = repair(folder)
    assert found.is_sound or steps, why
    clock = Clock()
    for accept_loss in (False, True):
        steps = repair(folder, execute=True, accept_loss=accept_loss, clock=clock)
        if not any(each.needs_accept_loss for each in steps):
            break
    after = verify(folder)
    if not after.is_sound and not any(not each.is_possible for each in steps):
        # A second look: what was behind the first damage could not be seen before.
        steps += repair(folder, execute=True, accept_loss=accept_loss, clock=clock)
        after = verify(folder)
    if after.is_sound:
        compare(before, answers(folder), steps, is_known=is_known, why=why)
        with Ledger.open(folder, clock=Clock(), disk=QuickDisk()) as ledger:
            ledger.record("doc:new", LedgerState.PENDING)
    else:
        assert any(not each.is_possible for each in steps), why


def compare(
    before: Answers, after: Answers, steps: list[RepairStep], *, is_known: bool, why: str
) -> None:
    said = sum(each.lost for each in steps)
    assert said or after == before or not is_known, why
    assert not is_known or len(before[0].keys() - after[0].keys()) <= said, why
    assert all(after[0][seq] == before[0][seq] for seq in before[0].keys() & after[0].keys()), why


def answers(folder: Path) -> Answers:
    """Every record of a document by its number, and the state of each document."""
    with Ledger.open(folder, read_only=True) as ledger:
        try:
            lines = {each.seq: (each.doc_id, each.new_state) for each in ledger.records()}
        except LedgerError:
            lines = {}  # an archived file is gone: the states are known all the same
        states = {each.doc_id: str(each.state) for each in ledger.documents()}
    return {seq: line for seq, line in lines.items() if line[0]}, states


def damage(rng: random.Random, folder: Path, original: Path) -> tuple[str, str]:
    path = rng.choice(sorted(each for each in folder.iterdir() if each.name != "LOCK"))
    kind, data = rng.choice(KINDS), path.read_bytes()
    older = original.with_suffix(".older") / path.name
    if kind == "delete":
        path.unlink()
    elif kind == "truncate":
        path.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif kind == "flip" and data:
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    elif kind == "restore" and older.exists():
        shutil.copyfile(older, path)
    elif kind == "append":
        path.write_bytes(data + b"garbage\n")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "double" and b"\n" in data:
        lines = data.splitlines(keepends=True)
        at = rng.randrange(len(lines))
        path.write_bytes(b"".join([*lines[: at + 1], *lines[at:]]))
    return path.name, kind
