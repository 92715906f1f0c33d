"""A ledger of the old form becomes one of ours: nothing is lost, nothing is done twice, and there is a way back."""

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.core.errors import DeclarationError, InvalidRequest, LedgerError
from stateward.ledger import Ledger, LedgerState, verify
from stateward.ledger.legacy import LegacyMapping, read_mapping
from stateward.ledger.migrate import (
    LINE_BYTES_MORE,
    MigrationProgress,
    undo,
)
from stateward.ledger.migration_backups import backups, prune_backups
from stateward.ledger.migration_report import report_text, write_report
from tests.ledger.builders import DAY_S, Clock, QuickDisk, states_of
from tests.ledger.old_ledgers import DyingDisk, Killed, an_old_ledger, moved


def test_a_dry_run_reports_everything_and_writes_nothing(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path)

    report = moved(path, output=tmp_path / "new", dry_run=True)

    assert [each.name for each in tmp_path.iterdir()] == ["ledger.jsonl"]
    assert (report.lines, report.records, report.blank, report.broken) == (12, 7, 1, 4)
    assert report.words["FETCHING"] == ("fetching", 1)
    assert report.words["auto_done"] == ("completed", 2)
    assert report.unmapped == {"weird thing": 1}
    assert report.before == {"completed": 1, "auto_done": 1, "weird thing": 1}
    assert report.after == {"completed": 2, "legacy": 1}
    assert report.begun_later == {"completed": 1, "legacy": 1}
    assert report.impossible_moves == {"fetching → ir_ready": 1}
    assert [each.line for each in report.impossible_places] == [5]
    assert [each.line for each in report.broken_places] == [8, 9, 10, 11]
    assert [each.line for each in report.disagreeing_places] == [12]
    assert (report.repeated, report.times_assumed) == (1, 3)
    assert report.backup is None


def test_nothing_that_an_old_line_said_is_lost(tmp_path: Path) -> None:
    moved(an_old_ledger(tmp_path), output=tmp_path / "new")

    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        one, two, three = (ledger.history(f"doc:{number}") for number in (1, 2, 3))
        states = states_of(ledger)
        findings = list(ledger.replay())
    assert states == {"doc:1": "completed", "doc:2": "completed", "doc:3": "legacy"}
    assert findings == []
    assert verify(tmp_path / "new").is_sound
    assert [each.timestamp for each in one] == [
        1700000000.5,
        1700000001.0,
        1700000003.0,
        1700000003.0,
    ]
    assert [each.source_seq for each in one] == [1, 2, 5, 12]
    assert one[1].metadata == {"legacy_state": "FETCHING"}
    assert one[2].metadata == {"run": 2, "legacy_run": 7, "legacy_state": "pdf_ir_ready"}
    assert one[3].metadata == {"legacy_timestamp": "yesterday", "legacy_old_state": "parsing"}
    assert two[0].metadata == {"pages": 12, "legacy_state": "auto_done"}
    assert (two[1].error_type, two[1].error_message) == ("Timeout", "too slow")
    assert (three[0].retry_count, three[0].duration_seconds) == (3, 1.5)
    assert three[0].metadata == {"legacy_state": "weird thing"}


def test_impossible_moves_are_imported_and_are_logged(tmp_path: Path) -> None:
    report = moved(an_old_ledger(tmp_path), output=tmp_path / "new")

    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        control = [each for each in ledger.records() if each.is_control]
    assert [each.new_state for each in control] == [
        "ledger.import_opened",
        "ledger.import_closed",
        "ledger.compacted",
    ]
    assert report.sha256 in str(control[0].metadata["reason"])
    assert control[1].metadata["records"] == 7


def test_run_twice_it_changes_nothing(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path)
    first = moved(path, output=tmp_path / "new")
    before = bytes_of(tmp_path)

    again = moved(path, output=tmp_path / "new", clock=Clock(Clock().now + DAY_S))

    assert again.is_done_already
    assert (again.after, again.backup) == (first.after, first.backup)
    assert bytes_of(tmp_path) == before


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "LOCK"
    }


def test_a_file_without_one_usable_line_is_refused(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path, ["{", ""])

    with pytest.raises(LedgerError, match=r"not one of the 2 lines .* line 1: this is not JSON"):
        moved(path, output=tmp_path / "new")

    assert [each.name for each in tmp_path.iterdir()] == ["ledger.jsonl"]
    assert not moved(path, output=tmp_path / "new", dry_run=True).is_usable


@pytest.mark.parametrize("lines", [[], ["", "  "]], ids=["no byte", "blank lines"])
def test_an_empty_file_becomes_no_ledger(tmp_path: Path, lines: list[str]) -> None:
    path = an_old_ledger(tmp_path, lines)

    with pytest.raises(LedgerError, match="nothing to migrate"):
        moved(path, output=tmp_path / "new")

    assert [each.name for each in tmp_path.iterdir()] == ["ledger.jsonl"]
    assert not moved(path, output=tmp_path / "new", dry_run=True).is_usable


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b'{"doc_id":"a","state":"pending"}\n'), "gzip -dc < "),
        ('{"doc_id":"a","state":"pending"}\n'.encode("utf-16"), "UTF-16"),
        ('{"doc_id":"a","state":"pending"}\n'.encode("utf-16-le"), "iconv -f UTF-16LE"),
        ('{"doc_id":"a","state":"pending"}\n'.encode("utf-16-be"), "iconv -f UTF-16BE"),
        ("{}".encode("utf-32"), "iconv -f UTF-32 "),
    ],
    ids=["gzip", "utf-16", "utf-16-le", "utf-16-be", "utf-32"],
)
def test_what_is_compressed_or_no_utf8_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(data)

    for is_dry_run in (True, False):
        with pytest.raises(InvalidRequest, match=words):
            moved(path, output=tmp_path / "new", dry_run=is_dry_run)

    assert [each.name for each in tmp_path.iterdir()] == ["ledger.jsonl"]


@pytest.mark.parametrize(
    ("pack", "tool"),
    [(gzip.compress, "gzip"), (lambda data: data.decode().encode("utf-16"), "iconv")],
)
def test_the_command_that_is_advised_makes_a_file_that_can_be_migrated(
    tmp_path: Path, pack: Callable[[bytes], bytes], tool: str
) -> None:
    """Also where the name says nothing of it, and has a blank."""
    path = tmp_path / "old ledger.jsonl"
    path.write_bytes(pack(b'{"doc_id":"a","state":"pending"}\n'))
    with pytest.raises(InvalidRequest) as refused:
        moved(path, output=tmp_path / "new")
    command = str(refused.value).partition("with: ")[2]

    assert command.startswith(tool)
    subprocess.run(["/bin/sh", "-c", command], check=True)

    assert moved(tmp_path / "old ledger.jsonl.plain", output=tmp_path / "new").lines == 1


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("auto_done", "completed"), ("auto_failed", "failed"), ("auto_inflight", "fetching"), ("ir_exists", "ir_ready"),
        ("ir_written", "ir_ready"), ("mineru_failed", "failed"), ("mineru_inflight", "ir_building"),
        ("pdf_downloaded", "fetched"), ("pdf_ir_ready", "ir_ready"), ("postpdf_started", "embedding"),
    ],
)  # fmt: skip
def test_the_words_of_the_first_literature_pipeline_mean_what_they_meant_there(
    word: str, state: str
) -> None:
    assert LegacyMapping().state(word) == state


def test_in_place_the_folder_becomes_the_ledger_and_the_file_stays(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path / "old")
    text = path.read_bytes()

    report = moved(path, in_place=True)
    again = moved(path, in_place=True)

    assert path.read_bytes() == text
    assert Path(str(report.backup)).read_bytes() == text
    assert again.is_done_already
    with Ledger.open(tmp_path / "old", disk=QuickDisk()) as ledger:
        assert ledger.counts() == {LedgerState.COMPLETED: 2, LedgerState.LEGACY: 1}
        ledger.record("doc:9", LedgerState.PENDING)


def test_in_place_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path)
    (tmp_path / "thesis.tex").write_text("mine")

    with pytest.raises(InvalidRequest, match="holds more than"):
        moved(path, in_place=True)


@pytest.mark.parametrize("in_place", [True, False])
def test_the_way_back_restores_the_old_bytes_and_keeps_the_new_ledger_aside(
    tmp_path: Path, in_place: bool
) -> None:
    path = an_old_ledger(tmp_path / "old")
    text = path.read_bytes()
    where: dict[str, Any] = {"in_place": True} if in_place else {"output": tmp_path / "new"}
    moved(path, **where)
    path.write_bytes(text + b"one line more\n")
    undone: dict[str, Any] = {"clock": Clock(), "disk": QuickDisk(), **where}

    looked = undo(path, **undone)
    with pytest.raises(InvalidRequest, match="was written to after the migration"):
        undo(path, execute=True, **undone)
    assert path.read_bytes() == text + b"one line more\n"
    done = undo(path, execute=True, accept_loss=True, **undone)

    assert looked == replace(done, is_executed=False)
    assert Path(str(done.changed_as)).read_bytes() == text + b"one line more\n"
    assert done.is_restored
    assert path.read_bytes() == text
    with Ledger.open(done.aside, read_only=True) as ledger:
        assert ledger.counts()[LedgerState.COMPLETED] == 2
    assert not moved(path, **where).is_done_already


def test_the_way_back_is_refused_where_it_would_cost_newer_records(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path / "old")
    moved(path, output=tmp_path / "new")
    with Ledger.open(tmp_path / "new", disk=QuickDisk()) as ledger:
        ledger.record("doc:9", LedgerState.PENDING)

    with pytest.raises(InvalidRequest, match="1 record that is newer"):
        undo(path, output=tmp_path / "new", execute=True)

    assert (tmp_path / "new" / "MANIFEST.json").exists()
    assert undo(path, output=tmp_path / "new", accept_loss=True, execute=True).later_records == 1


def test_words_of_ones_own_come_from_a_file(tmp_path: Path) -> None:
    text = "states:\n  Weird Thing: skipped\n  '*': pending\nfields:\n  pmid: doc_id\n"
    path = an_old_ledger(
        tmp_path, ['{"pmid":7,"state":"weird-thing"}', '{"pmid":8,"state":"unheard of"}']
    )

    report = moved(path, output=tmp_path / "new", mapping=read_mapping(text, source="words.yaml"))

    assert report.after == {"pending": 1, "skipped": 1}
    assert report.unmapped == {"unheard of": 1}


def test_every_fault_of_such_a_file_is_told_with_its_line() -> None:
    text = "states:\n  a: nowhere\n  b: pending\n  B: failed\nfields:\n  pmid: docid\nmore: 1\n"

    with pytest.raises(DeclarationError) as refused:
        read_mapping(text, source="words.yaml")

    assert [fault.line for fault in refused.value.faults] == [2, 6, 7]
    with pytest.raises(DeclarationError, match="same word"):
        read_mapping("states:\n  b: pending\n  B: failed\n", source="words.yaml")


def test_another_table_begins_anew_instead_of_going_on(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path)
    dead = DyingDisk(after=30)
    with pytest.raises(Killed):
        moved(path, output=tmp_path / "new", disk=dead)

    table = read_mapping("states:\n  weird thing: skipped\n", source="words.yaml")
    report = moved(path, output=tmp_path / "new", mapping=table)

    assert report.after == {"completed": 2, "skipped": 1}
    assert not list(tmp_path.glob(".new.migrating-*"))


def test_a_ledger_that_was_made_with_another_table_is_not_reported_with_this_one(
    tmp_path: Path,
) -> None:
    path = an_old_ledger(tmp_path)
    moved(path, output=tmp_path / "new")
    table = read_mapping("states:\n  weird thing: skipped\n", source="words.yaml")

    with pytest.raises(InvalidRequest, match="another table of words"):
        moved(path, output=tmp_path / "new", mapping=table)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "say where"),
        ({"output": Path("new"), "in_place": True}, "take one"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, how: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        moved(an_old_ledger(tmp_path), **how)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="there is no file"):
        moved(tmp_path / "nothing", output=tmp_path / "new")
    with pytest.raises(InvalidRequest, match="is not a file"):
        moved(tmp_path, output=tmp_path / "new")


def test_only_backups_older_than_so_many_days_are_pruned_and_only_when_told(tmp_path: Path) -> None:
    clock = Clock()
    path = an_old_ledger(tmp_path)
    moved(path, output=tmp_path / "new", clock=clock)
    clock.tick(31 * DAY_S + 1)

    looked = prune_backups(tmp_path, clock=clock)
    kept = backups(path.parent, path.name)
    too_young = prune_backups(tmp_path, days=40, execute=True, clock=clock)
    done = prune_backups(tmp_path, execute=True, clock=clock)

    assert looked == kept == done
    assert too_young == []
    assert backups(path.parent, path.name) == []


def test_a_report_is_written_as_text_and_as_json(tmp_path: Path) -> None:
    report = moved(an_old_ledger(tmp_path), output=tmp_path / "new", dry_run=True)

    text, data = write_report(report, tmp_path / "report.txt")

    assert text.read_text("utf-8") == report_text(report)
    assert "line 5: doc:1: fetching → ir_ready" in report_text(report)
    short = report_text(report, places_max=1)
    assert "line 8: " in short
    assert "line 9: " not in short
    assert "and 3 more: --report FILE has them" in short
    assert json.loads(data.read_text("utf-8"))["impossible"] == 1


def test_progress_is_told_while_what_was_written_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stateward.ledger.compaction.TEXTS_BYTES_MAX", 0)
    seen: list[MigrationProgress] = []

    def die(now: MigrationProgress) -> None:
        seen.append(now)
        if now.what == "checking":
            raise Killed

    path = an_old_ledger(tmp_path)
    with pytest.raises(Killed):
        moved(path, output=tmp_path / "new", progress=die)
    snapshot = [each.done for each in seen if each.what == "writing the snapshot"]
    assert snapshot == sorted(set(snapshot))
    assert len(snapshot) == 2

    seen.clear()
    moved(path, output=tmp_path / "new", progress=seen.append)

    assert [each.what for each in seen].count("checking") > 2


def test_progress_tells_bytes_rate_and_what_is_left(tmp_path: Path) -> None:
    seen: list[MigrationProgress] = []
    path = an_old_ledger(tmp_path)

    moved(path, output=tmp_path / "new", progress=seen.append)

    assert [each.what for each in seen] == [
        "reading",
        "writing the snapshot",
        "checking",
        "checking",
    ]
    assert [each.done for each in seen] == sorted(each.done for each in seen)
    assert seen[-1].done == seen[-1].all == path.stat().st_size
    assert all(each.lines_per_s > 0 for each in seen)
    assert seen[-1].left_s == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"doc_id": "%d", "state": "pending", "timestamp": 1700000000}',
        '{"doc_id": "%d", "state": "no word of ours"}',
        '{"doc_id": "doc:%d", "state": "postpdf_started", "timestamp": 1700000000.25, "adapter": "pmc"}',
        '{"doc_id": "doc:%d", "state": "parsed", "metadata": {"title": "' + "x" * 1500 + '"}}',
    ],
)
def test_a_disk_without_space_is_refused_before_anything_is_written(
    tmp_path: Path, line: str
) -> None:
    path = an_old_ledger(tmp_path, [line % number for number in range(3000)])
    size = path.stat().st_size
    moved(path, output=tmp_path / "spacious", free_bytes=lambda _: 100 * size)
    taken = size_of(tmp_path / "spacious") + size
    (again := tmp_path / "again").mkdir()
    path = path.rename(again / path.name)

    with pytest.raises(LedgerError, match="needs up to"):
        moved(path, output=again / "new", free_bytes=lambda _: taken - 1)

    assert [each.name for each in again.iterdir()] == [path.name]


def test_a_migration_that_goes_on_needs_space_for_the_rest_alone(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path, [f'{{"doc_id": "{n}", "state": "new"}}' for n in range(20_000)])
    space = 3 * path.stat().st_size + 20_000 * LINE_BYTES_MORE

    def die(now: MigrationProgress) -> None:
        if now.what == "writing the snapshot":
            raise Killed

    with pytest.raises(Killed):
        moved(path, output=tmp_path / "new", progress=die, free_bytes=lambda _: space)
    left = space - size_of(tmp_path) + path.stat().st_size

    assert moved(path, output=tmp_path / "new", free_bytes=lambda _: left).documents == 20_000


def size_of(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def test_a_dry_run_says_how_long_it_will_take(tmp_path: Path) -> None:
    ticks = iter(range(100))

    report = moved(an_old_ledger(tmp_path), dry_run=True, ticks=lambda: float(next(ticks)))

    assert report.expected_s is not None
    assert report.expected_s > 0
