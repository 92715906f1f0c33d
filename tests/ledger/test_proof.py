"""The proofs of `tests/ledger/proof`, at a size that a test run can afford; `python -m tests.ledger.proof` for all."""

import gzip
from pathlib import Path

import msgspec
import pytest

from stateward.core.errors import InvalidRequest
from stateward.ledger import Ledger, LedgerDamaged
from stateward.ledger.export_file import file_states, verify_file
from stateward.ledger.head import head_of_text
from tests.ledger.proof import crash, damage, faults, kill
from tests.ledger.proof.__main__ import BEGIN, END, Row, main, write_page
from tests.ledger.proof.recorded import Platter, RecordingDisk


@pytest.mark.parametrize(
    ("every", "least"), [(48, 170), pytest.param(12, 700, marks=pytest.mark.long)]
)
def test_no_power_cut_loses_or_invents_anything(tmp_path: Path, every: int, least: int) -> None:
    report = crash.explore(tmp_path, days=3, every=every)

    assert report.failures == []
    assert report.states > least
    assert report.torn > 0


def test_a_power_cut_after_the_first_opening_leaves_both_slots_of_head(tmp_path: Path) -> None:
    disk, platter = RecordingDisk(), Platter()
    Ledger.open(tmp_path / "new", disk=disk).close()

    for call in disk.trace:
        platter.apply(call)

    head = platter.sure[platter.names["HEAD"]]
    assert head[:32] == head[32:]
    assert head_of_text(head) == (0, 1, True)


@pytest.mark.parametrize("barrier", ["fdatasync", "fsync", "sync_dir"])
def test_the_proof_fails_when_a_barrier_is_missing(tmp_path: Path, barrier: str) -> None:
    report = crash.explore(tmp_path, days=2, every=7, without=barrier, failures_max=1)

    assert report.failures != []


@pytest.mark.parametrize(
    ("step", "least"), [(197, 140), pytest.param(97, 280, marks=pytest.mark.long)]
)
def test_no_damage_to_any_byte_is_silent(tmp_path: Path, step: int, least: int) -> None:
    report = damage.explore(tmp_path, bits=(0, 7), step=step)

    assert report.wrong == []
    assert report.damages > least
    assert report.refused > least // 12


@pytest.mark.long
def test_no_damage_is_silent_when_the_list_of_files_is_lost_as_well(tmp_path: Path) -> None:
    report = damage.explore(tmp_path, bits=(7,), step=83, lost=("MANIFEST.json",))

    assert report.wrong == []
    assert report.unharmed > 100


@pytest.mark.long
def test_the_writer_is_not_fooled_by_damage_either(tmp_path: Path) -> None:
    report = damage.explore(tmp_path, bits=(3,), step=197, is_written=True)

    assert report.wrong == []


def test_a_full_or_failing_disk_is_noticed_and_survived(tmp_path: Path) -> None:
    report = faults.explore(tmp_path, nth_max=60, step=4)

    assert report.failures == []
    assert report.noticed > 30


@pytest.mark.chaos
def test_a_killed_writer_has_lost_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    report = kill.explore(tmp_path, kills=4, groups_max=120)

    assert report.failures == []
    assert report.seen > 0


def test_no_damage_to_an_exported_history_goes_by(tmp_path: Path) -> None:
    history = damage.a_history(tmp_path / "service")

    report = damage.explore_file(
        history,
        lambda path: not verify_file(path).is_sound,
        tmp_path / "hurt",
        bits=(0, 5),
        step=23,
    )

    assert verify_file(history).is_sound
    assert report.wrong == []
    assert report.damages > 500


def test_a_history_without_its_anchor_or_with_another_is_not_believed(tmp_path: Path) -> None:
    history = damage.a_history(tmp_path / "service")
    lines = history.read_bytes().splitlines(keepends=True)
    states = file_states(history)

    history.write_bytes(b"".join(lines[:-1]))
    cut = verify_file(history)
    history.write_bytes(b"".join(lines))
    history.with_name("anchor.json").unlink()
    alone = verify_file(history)

    assert len(states) == 3
    assert "do not fit" in str(cut.findings[0])
    assert "nothing says that this is all" in str(alone.findings[0])
    with pytest.raises(
        LedgerDamaged, match=r"nothing says .* export the ledger or the history again"
    ):
        file_states(history)


def test_an_export_of_the_first_release_is_not_called_damaged(tmp_path: Path) -> None:
    history = damage.a_history(tmp_path / "service")
    encode = msgspec.json.Encoder(order="sorted").encode
    names = {"seal": "hash", "record_prev": "prev_hash"}
    gone = {"lane", "lane_seq", "lane_prev", "lane_hash", "salt"}
    old = [
        {names.get(name, name): value for name, value in msgspec.json.decode(line).items() if name not in gone}
        for line in history.read_bytes().splitlines()
    ]  # fmt: skip
    history.write_bytes(b"".join(encode(line) + b"\n" for line in old))

    found = verify_file(history)

    assert not found.is_sound
    assert "an export of version 0.1.0" in str(found.findings[0])


def test_the_result_stands_between_the_marks_of_its_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n{BEGIN}\nold\n{END}\nafter\n")

    write_page(page, [Row("cuts", 12_000, "fine", ["one"])], took_s=3, words=["--quick"])

    text = page.read_text()
    assert text.startswith("# Before\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "| cuts | 12,000 | fine | 1 |" in text
    assert "old" not in text


def test_what_is_no_proof_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["luck"])

    assert "there is no proof 'luck'" in capsys.readouterr().err


def test_an_old_ledger_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(b'{"doc_id":"a","state":"pending"}\n')

    for read in (verify_file, file_states):
        with pytest.raises(InvalidRequest, match=f"stateward ledger migrate {path}"):
            read(path)


def test_a_compressed_export_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n"))

    for read in (verify_file, file_states):
        with pytest.raises(InvalidRequest, match="is compressed; unpack it first, with: gzip"):
            read(path)
