"""A migration that is killed or disturbed goes on and ends the same."""

import errno
import json
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stateward.core.errors import InvalidRequest, LedgerPoisoned
from stateward.ledger import Ledger, LedgerError, LedgerState, verify
from stateward.ledger.migrate import MigrationProgress
from tests.ledger.builders import QuickDisk
from tests.ledger.old_ledgers import DyingDisk, Killed, an_old_ledger, moved
from tests.ledger.proof.faults import FailingDisk


# Between them the shorter ones take every step, and `make test-long` takes each of both ways.
@pytest.mark.parametrize(
    ("in_place", "first", "every"),
    [
        (True, 0, 2),
        (False, 1, 2),
        pytest.param(True, 0, 1, marks=pytest.mark.long),
        pytest.param(False, 0, 1, marks=pytest.mark.long),
    ],
)
def test_killed_at_any_step_it_goes_on_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool, first: int, every: int
) -> None:
    monkeypatch.setattr("stateward.ledger.migrate.GROUP_LINES", 2)
    monkeypatch.setattr("stateward.ledger.migrate.LINES_AT_ONCE", 2)
    text = an_old_ledger(tmp_path / "whole").read_bytes()
    whole = moved(tmp_path / "whole" / "ledger.jsonl", in_place=True)
    steps = first
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
        steps += every
    assert steps > 25


@pytest.mark.parametrize("kind", ["write", "write_at", "fsync"])
def test_a_disk_that_fills_up_in_the_middle_is_told_and_the_next_run_goes_on(
    tmp_path: Path, kind: str
) -> None:
    for nth in count(1):
        path = an_old_ledger(tmp_path / str(nth))
        text, target = path.read_bytes(), tmp_path / str(nth) / "new"
        disk = FailingDisk(kind, nth, errno.ENOSPC, is_persistent=True)
        try:
            moved(path, output=target, disk=disk)
            break
        except LedgerPoisoned as error:
            told = str(error)
        assert "No space left on device" in told
        assert "run the same command again" in told
        assert path.read_bytes() == text

        assert moved(path, output=target).records == 7
        assert verify(target).is_sound
    assert nth > 2


def assert_nothing_half_done(target: Path) -> None:
    """What a program finds that opens the target now: no ledger, a refusal, or all of it."""
    try:
        with Ledger.open(target, read_only=True) as ledger:
            assert ledger.summary().documents == 3
    except LedgerError:
        pass


@pytest.mark.long
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
    assert 9000 <= report.resumed_after_line < 10_000
    assert (report.records, report.documents) == (20_000, 6667)
    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        assert sum(1 for each in ledger.records() if not each.is_control) == 20_000


def test_a_file_that_is_still_written_to_is_refused(tmp_path: Path) -> None:
    path = an_old_ledger(tmp_path)

    def write_more(now: MigrationProgress) -> None:
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
