"""The active delta is filled with empty lines ahead: no reader minds, and nothing of it stays."""

import shutil
from pathlib import Path

import msgspec
import pytest

from stateward.core.errors import InvalidRequest
from stateward.ledger import Ledger, LedgerState, verify
from stateward.ledger.copying import copy_ledger
from stateward.ledger.delta import PADDING, before_padding, without_padding
from stateward.ledger.export_file import file_states, verify_file
from stateward.ledger.head import head_of_text
from stateward.ledger.manifest import HEAD, MANIFEST
from tests.ledger.builders import Clock, a_ledger, states_of
from tests.ledger.proof.recorded import Platter, RecordingDisk

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING


def active_file(ledger: Ledger) -> Path:
    return ledger.files()[-1][0]


def test_the_file_is_filled_ahead_and_cut_to_its_lines_at_the_end(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        path = active_file(ledger)
        filled = path.stat().st_size
        ledger.record("doc:2", PENDING)

        text = path.read_bytes()
        assert len(text) == filled  # the second line changed no size
        assert text.endswith(b"\n" * (len(PADDING) // 2))
        assert [msgspec.json.decode(each)["seq"] for each in text.splitlines() if each] == [1, 2]
        ledger.rotate()
        sealed = path.read_bytes()
        ledger.record("doc:3", PENDING)
        path = active_file(ledger)

    assert sealed.count(b"\n") == 2
    assert path.read_bytes().count(b"\n") == 1


def test_large_groups_and_unsynced_ledgers_are_not_filled_ahead(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(500)])
        assert active_file(ledger).read_bytes().count(b"\n") == 500
    with Ledger.open(tmp_path / "os", durability="os") as ledger:
        ledger.record("doc:1", PENDING)
        assert active_file(ledger).read_bytes().count(b"\n") == 1


def test_no_line_is_named_for_good_before_it_is_durable_itself(tmp_path: Path) -> None:
    """`HEAD` is synced before the manifest is replaced; the lines of such a ledger may not be by then."""
    disk = RecordingDisk()
    with Ledger.open(tmp_path / "l", clock=Clock(), disk=disk, durability="os") as ledger:
        for state in (PENDING, FETCHING):
            ledger.record("doc:1", state)
            ledger.compact(compress=False)
    platter, names = Platter(), dict[int, str]()

    for op in disk.trace:
        platter.apply(op)
        if op[0] == "create":
            names[op[2]] = op[1]
        sure = {name: platter.sure[file] for file, name in names.items()}
        lines = sum(text.count(b"\n") for name, text in sure.items() if name.endswith(".jsonl"))
        assert head_of_text(sure.get(HEAD, b"")).seq <= lines


def test_readers_copies_and_checks_of_a_filled_file_see_the_lines_alone(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        with Ledger.open(tmp_path / "l", read_only=True) as reader:
            assert reader.last_seq == 1
            ledger.record("doc:2", PENDING)
            assert reader.state("doc:2") == PENDING
        copy_ledger(tmp_path / "l", tmp_path / "copy")
        report = verify(tmp_path / "l")
        alone = verify_file(active_file(ledger))
        with pytest.raises(InvalidRequest, match="name that folder"):
            file_states(active_file(ledger))

    assert (report.lines, report.findings, report.notes) == (2, (), ())
    assert (alone.lines, alone.findings, alone.notes) == (2, (), ())
    assert verify(tmp_path / "copy").is_sound
    with Ledger.open(tmp_path / "copy", read_only=True) as copied:
        assert active_file(copied).read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("has_manifest", [True, False])
def test_after_a_crash_the_padding_is_used_again(tmp_path: Path, has_manifest: bool) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        shutil.copytree(tmp_path / "l", tmp_path / "crashed")
    if not has_manifest:
        (tmp_path / "crashed" / MANIFEST).unlink()

    with a_ledger(tmp_path / "crashed") as ledger:
        size = active_file(ledger).stat().st_size
        ledger.record("doc:1", FETCHING)

        assert not any("cut off" in note for note in ledger.notes)
        assert active_file(ledger).stat().st_size == size > len(PADDING)
    assert verify(tmp_path / "crashed").lines == 2
    with a_ledger(tmp_path / "crashed") as ledger:
        assert states_of(ledger) == {"doc:1": "fetching"}


@pytest.mark.parametrize("hole", [0, 900])
def test_half_a_line_in_the_padding_is_cut_off(tmp_path: Path, hole: int) -> None:
    """Also where the disk wrote the end of a group and not its beginning."""
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", PENDING)
        path, end = ledger.files()[-1]
        shutil.copytree(tmp_path / "l", tmp_path / "crashed")
    assert end is not None
    crashed = tmp_path / "crashed" / path.name
    text = crashed.read_bytes()
    half = b'{"doc_id":"half'
    crashed.write_bytes(text[: end + hole] + half + text[end + hole + len(half) :])

    (note,) = verify(tmp_path / "crashed").notes
    with a_ledger(tmp_path / "crashed") as ledger:
        ledger.record("doc:2", PENDING)

    assert "never acknowledged" in note.sentence
    assert verify(tmp_path / "crashed").lines == 2
    torn = (tmp_path / "crashed" / f"{path.name}.torn-{end}").read_bytes()
    assert torn == b"\n" * hole + half + b"\n"


def test_padding_is_told_from_lines() -> None:
    assert without_padding(b"\n\n\n") == b""
    assert without_padding(b"half") == b"half"
    assert without_padding(b"half\n\n") == b"half\n"
    assert before_padding(b"one\ntwo\n\n\nlate\n") == b"one\ntwo\n"
    assert before_padding(b"\n\n") == b""
    assert before_padding(b"one\ntw") == b"one\ntw"


def test_padding_that_was_cut_at_the_end_does_not_come_back_into_a_sealed_file(
    tmp_path: Path,
) -> None:
    """A power cut undoes what was not synced: a file that the manifest calls complete must be so on the disk."""
    disk = RecordingDisk()
    with a_ledger(tmp_path / "l", disk=disk) as ledger:
        ledger.record("doc:1", PENDING)
    with a_ledger(tmp_path / "l", disk=disk) as ledger:
        ledger.rotate()
        (sealed, end), (active, _) = ledger.files()
    platter = Platter()
    for call in disk.trace:
        platter.apply(call)

    assert platter.sure[platter.names[sealed.name]] == sealed.read_bytes()
    assert sealed.read_bytes().count(b"\n") == 1
    assert active != sealed
    assert end is None or end == sealed.stat().st_size
