"""Old ledgers come over whole: counted, marked, resumable, repeatable, and the old bytes can always be had back."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateward.core.errors import DeclarationError, InvalidRequest
from stateward.ledger import (
    Ledger,
    LedgerError,
    LedgerState,
    verify,
)
from stateward.ledger.disk import Disk
from stateward.ledger.legacy import read_mapping, seconds
from stateward.ledger.migrate import (
    Progress,
    Report,
    backups,
    migrate,
    prune_backups,
    report_text,
    undo,
    write_report,
)
from tests.ledger.building import DAY_S, Clock, QuickDisk, states_of

OLD = [
    '{"doc_id":"doc:1","state":"pending","timestamp":1700000000.5,"metadata":{"run":1}}',
    '{"doc_id":"doc:1","old_state":"pending","new_state":"FETCHING","timestamp":"1700000001","adapter":"pubmed"}',
    "",
    '{"id":"doc:2","status":"auto_done","ts":1700000002000,"pages":12}',
    '{"document":"doc:1","state":"pdf_ir_ready","timestamp":"2023-11-14T22:13:23Z","metadata":{"run":2},"run":7}',
    '{"doc_id":"doc:3","state":"weird thing","retry_count":"3","duration":"1.5"}',
    '{"doc_id":"doc:2","state":"auto_done","error":{"type":"Timeout","message":"too slow"}}',
    '{"doc_id":"doc:4"',
    '["doc:4"]',
    '{"state":"pending"}',
    '{"doc_id":"doc:5","timestamp":1}',
    '{"doc_id":"doc:1","old_state":"parsing","state":"completed","timestamp":"yesterday"}',
]


def an_old_ledger(folder: Path, lines: list[str] = OLD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ledger.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass") + b"\n")
    return path


def moved(path: Path, **how: Any) -> Report:  # noqa: ANN401 - migrate's own words
    return migrate(path, clock=how.pop("clock", Clock()), disk=how.pop("disk", QuickDisk()), **how)


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
    assert report.impossible_moves == {
        "(nothing) → completed": 1, "fetching → ir_ready": 1, "(nothing) → legacy": 1,
    }  # fmt: skip
    assert [each.line for each in report.impossible_places] == [4, 5, 6]
    assert [each.line for each in report.broken_places] == [8, 9, 10, 11]
    assert [each.line for each in report.disagreeing_places] == [12]
    assert (report.repeated, report.times_assumed) == (1, 3)
    assert report.backup is None


def test_nothing_that_an_old_line_said_is_lost(tmp_path: Path) -> None:
    moved(an_old_ledger(tmp_path), output=tmp_path / "new")

    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        one, two, three = (ledger.history(f"doc:{number}") for number in (1, 2, 3))
        states = states_of(ledger)
        findings = list(ledger.validate())
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


def test_impossible_moves_come_through_the_import_door_and_are_logged(tmp_path: Path) -> None:
    report = moved(an_old_ledger(tmp_path), output=tmp_path / "new")

    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        control = [each for each in ledger.records() if each.is_control]
    assert [each.new_state for each in control] == ["ledger.import_opened", "ledger.import_closed"]
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


def test_a_file_without_one_usable_line_is_migrated_once_too(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path, ["{", ""])

    first, again = (moved(path, output=tmp_path / "new") for _ in range(2))

    assert (first.documents, first.broken, first.is_done_already) == (0, 1, False)
    assert again.is_done_already


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
    path.write_bytes(b"somebody wrote here")

    done = undo(path, clock=Clock(), disk=QuickDisk(), **where)

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

    with pytest.raises(InvalidRequest, match="1 records that are newer"):
        undo(path, output=tmp_path / "new")

    assert (tmp_path / "new" / "MANIFEST.json").exists()
    assert undo(path, output=tmp_path / "new", accept_loss=True).later_records == 1


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


class Killed(BaseException):
    """The process is gone."""


class DyingDisk(QuickDisk):
    """Works so many times and never again, as a process that is killed."""

    def __init__(self, after: int) -> None:
        self._left = after

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any method
        if not name.startswith("_") and callable(getattr(Disk, name, None)) and name != "close":
            self._left -= 1
            if self._left < 0:
                raise Killed
        return super().__getattribute__(name)


@pytest.mark.parametrize("in_place", [True, False])
def test_killed_at_any_step_it_goes_on_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool
) -> None:
    monkeypatch.setattr("stateward.ledger.migrate.GROUP_LINES", 2)
    text = an_old_ledger(tmp_path / "whole").read_bytes()
    whole = moved(tmp_path / "whole" / "ledger.jsonl", in_place=True)
    steps = 0
    while True:
        folder = tmp_path / f"{in_place}{steps}"
        path = an_old_ledger(folder / "old")
        where: dict[str, Any] = {"in_place": True} if in_place else {"output": folder / "new"}
        try:
            moved(path, disk=DyingDisk(after=steps), **where)
            break
        except Killed:
            pass

        target = folder / "old" if in_place else folder / "new"
        assert_nothing_half_done(target)
        report = moved(path, **where)

        assert report.after == whole.after
        assert (report.records, report.impossible) == (whole.records, whole.impossible)
        with Ledger.open(target, read_only=True) as ledger:
            assert {str(k): n for k, n in ledger.counts().items()} == whole.after
            lines = [each.source_seq for each in ledger.records() if not each.is_control]
        assert lines == [1, 2, 4, 5, 6, 7, 12]
        assert verify(target).is_sound
        assert path.read_bytes() == text == Path(str(report.backup)).read_bytes()
        steps += 1
    assert steps > 25


def assert_nothing_half_done(target: Path) -> None:
    """What a program finds that opens the target now: no ledger, a refusal, or all of it."""
    try:
        with Ledger.open(target, read_only=True) as ledger:
            assert ledger.summary().documents == 3
    except LedgerError:
        pass


@pytest.mark.slow
def test_a_real_kill_in_the_middle_is_survived(tmp_path: Path) -> None:
    lines = [
        json.dumps({"doc_id": f"doc:{n // 3}", "state": ("new", "done", "odd")[n % 3]})
        for n in range(20_000)
    ]
    path = an_old_ledger(tmp_path, lines)
    code = (
        "import os, signal\nfrom pathlib import Path\nimport stateward.ledger.migrate as m\nm.GROUP_LINES = 500\n"
        "def show(now):\n    if now.lines >= 9000: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"m.migrate(Path({str(path)!r}), output=Path({str(tmp_path / 'new')!r}), progress=show)\n"
    )

    dead = subprocess.run([sys.executable, "-c", code], check=False, timeout=50)
    report = moved(path, output=tmp_path / "new")

    assert dead.returncode == -9
    assert 0 < report.resumed_after_line < 9001
    assert (report.records, report.documents) == (20_000, 6667)
    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        assert sum(1 for each in ledger.records() if not each.is_control) == 20_000


def test_a_file_that_is_still_written_to_is_refused(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path)

    def write_more(now: Progress) -> None:
        path.write_bytes(path.read_bytes() + b"more\n")

    with pytest.raises(LedgerError, match="changed while"):
        moved(path, output=tmp_path / "new", progress=write_more)
    assert not (tmp_path / "new").exists()


def test_a_ledger_that_was_not_made_of_the_file_is_never_touched(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path)
    with Ledger.open(tmp_path / "new", disk=QuickDisk()) as ledger:
        ledger.record("doc:1", LedgerState.PENDING)

    with pytest.raises(InvalidRequest, match="a ledger already"):
        moved(path, output=tmp_path / "new")


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
    kept = backups(path)
    too_young = prune_backups(tmp_path, days=40, execute=True, clock=clock)
    done = prune_backups(tmp_path, execute=True, clock=clock)

    assert looked == kept == done
    assert too_young == []
    assert backups(path) == []


def test_a_report_is_written_as_text_and_as_json(tmp_path: Path) -> None:
    report = moved(an_old_ledger(tmp_path), output=tmp_path / "new", dry_run=True)

    text, data = write_report(report, tmp_path / "report.txt")

    assert text.read_text("utf-8") == report_text(report)
    assert "line 5: doc:1: fetching → ir_ready" in report_text(report)
    assert json.loads(data.read_text("utf-8"))["impossible"] == 3


def test_progress_tells_bytes_rate_and_what_is_left(tmp_path: Path) -> None:
    seen: list[Progress] = []
    path = an_old_ledger(tmp_path)

    moved(path, output=tmp_path / "new", progress=seen.append)

    assert [each.what for each in seen][-1] == "checking"
    assert seen[0].done == seen[0].all == path.stat().st_size
    assert all(each.lines_per_s > 0 and each.left_s == 0 for each in seen)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        (1700000000, 1700000000.0), (1700000000.25, 1700000000.25), (1700000000123, 1700000000.123),
        (1700000000123456, 1700000000.123456), (1700000000123456789, 1700000000.123457),
        ("1700000000.5", 1700000000.5), ("2023-11-14T22:13:20Z", 1700000000.0), ("2023-11-14 22:13:20", 1700000000.0),
        ("2023-11-14T23:13:20+01:00", 1700000000.0), ("2023-11-14", 1699920000.0),
        (True, None), ("soon", None), (-1, None), ("nan", None), ("\uff11\uff17", None), ([], None),
        ("0001-01-01", None),
    ],
)  # fmt: skip
def test_times_are_read_as_they_were_written(given: Any, at: float | None) -> None:  # noqa: ANN401
    assert seconds(given) == at


WORDS = (
    "pending",
    "FETCHING",
    "fetched",
    "auto_done",
    "pdf-ir-ready",
    "error",
    "odd",
    "Retry",
    "",
    None,
    3,
    True,
)
IDS = ("doc:1", "doc:2", 'q"uote', "new\nline", "emoji 📄", "nul\x00", "", None, 17, "x" * 5000)
TIMES = (None, 1.5, 1700000000, "1700000000", "2023-11-14T22:13:20Z", "soon", -5, 1e300)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
old_lines = st.fixed_dictionaries(
    {},
    optional={
        "doc_id": st.sampled_from(IDS), "id": st.sampled_from(IDS), "state": st.sampled_from(WORDS),
        "status": st.sampled_from(WORDS), "old_state": st.sampled_from(WORDS), "timestamp": st.sampled_from(TIMES),
        "adapter": values, "metadata": values, "error": values, "retry_count": values, "loose": values,
        "DOC_ID": values,
    },
).map(json.dumps)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        old_lines | st.sampled_from(["", "  ", "{", "null", '{"doc_id":"a","state":"\\ud800"}']),
        max_size=25,
    )
)
def test_any_old_ledger_is_counted_migrated_once_and_restorable(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=_memory()) as name:
        folder = Path(name)
        path = an_old_ledger(folder, lines)
        text = path.read_bytes()

        looked = moved(path, output=folder / "new", dry_run=True)
        done = moved(path, output=folder / "new")
        again = moved(path, output=folder / "new")

        assert done.lines == done.blank + done.broken + done.records == text.count(b"\n")
        assert sum(done.before.values()) == sum(done.after.values()) == done.documents
        assert (looked.after, looked.impossible, looked.broken_places) == (
            done.after,
            done.impossible,
            done.broken_places,
        )
        assert again.is_done_already
        with Ledger.open(folder / "new", read_only=True) as ledger:
            assert Counter(states_of(ledger).values()) == Counter(done.after)
            assert sum(1 for each in ledger.records() if not each.is_control) == done.records
            assert list(ledger.validate()) == []
        path.unlink()
        undo(path, output=folder / "new", disk=QuickDisk())
        assert path.read_bytes() == text


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.mark.parametrize(
    ("line", "metadata"),
    [
        (b'\xef\xbb\xbf{"doc_id":"a","state":"pending"}', {}),
        (b'{"doc_id":"a","state":"pending","score":NaN}', {"score": "NaN"}),
        (b'{"doc_id":"a","state":"pending","score":-Infinity}', {"score": "-Infinity"}),
        (b'{"doc_id":"a","state":"pending","score":1e999}', {"score": "1e999"}),
        (b'{"doc_id":"a","state":"pending","n":%s}' % (b"9" * 6000), {"n": "9" * 6000}),
        (b'{"doc_id":"a","state":"pending","text":"half \\ud800"}', {"text": "half \\ud800"}),
        (b'{"doc_id":"a","state":"pending","x":[{"\\udfff":NaN}]}', {"x": [{"\\udfff": "NaN"}]}),
    ],
    ids=["mark", "nan", "infinity", "large", "long", "half", "nested"],
)
def test_what_no_strict_reader_takes_is_kept_as_text(
    tmp_path: Path, line: bytes, metadata: dict[str, Any]
) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(line + b"\n")

    migrate(tmp_path / "ledger.jsonl", output=tmp_path / "new")

    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        found = ledger.document("a")
    assert found is not None
    assert found.metadata == metadata


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"doc_id":"a\xff","state":"pending"}', "this is not UTF-8 (byte 12)"),
        (b'{"doc_id":"a","sta', "this is not JSON: Unterminated string starting at (character 15)"),
        (b"\x00" * 9, "this is not JSON: Expecting value (character 1)"),
        (b"[" * 100_000, "this is nested too deeply"),
        (b"[1]", "not a JSON object"),
    ],
    ids=["bytes", "cut", "zeros", "deep", "list"],
)
def test_a_line_that_cannot_be_read_is_reported_with_its_reason(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(line + b"\n")

    report = migrate(tmp_path / "ledger.jsonl", dry_run=True)

    assert report.broken == 1
    assert reason in report_text(report)
