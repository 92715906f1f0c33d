"""The same faults in real system calls: `strace` makes the kernel's answer a lie, in a process of its own."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from tests.faults.scene import open_app

DEADLINE_S = 60
PIPELINE = """
from tests.faults.scene import INLINE
"""
IS_EVERY = os.environ.get("DISK_FAULTS") == "every"
# (system call, error, from the how manieth on, only once, what the sentence says)
SAMPLE = [
    ("pwrite64", "ENOSPC", 1, False, "free some space and try again"),
    ("pwrite64", "EIO", 1, False, "stop, check the disk, and start again"),
    ("fdatasync", "EIO", 1, True, "stop, check the disk, and start again"),
]
EVERY = [
    (call, code, nth, is_once, "")
    for call in ("pwrite64", "fdatasync")
    for code in ("ENOSPC", "EIO")
    for nth in range(1, 31)
    for is_once in (True, False)
]


@cache
def why_not() -> str:
    """Why system calls cannot be changed here, if so."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    probe = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=getpid:error=EPERM", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"ptrace is not allowed here: {done.stderr.strip()}"


@pytest.fixture(autouse=True)
def _needs_strace() -> None:
    reason = why_not()
    if not reason:
        return
    if os.environ.get("CI", "").lower() in {"true", "1"} and shutil.which("strace") is not None:
        pytest.fail(f"CI must not skip: {reason}")
    pytest.skip(reason)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings of a store that is made, with one document that waits."""
    (tmp_path / "steps.py").write_text(PIPELINE)
    config = tmp_path / "own.yaml"
    config.write_text("pipelines: [steps.py]\ndata: data\n")
    with open_app(tmp_path / "data") as app:
        app.submit(b"one", machine="two_steps")
    return config


def stateward(
    config: Path, *args: str, inject: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """A command, perhaps under strace."""
    wrap = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", *inject] if inject else []
    command = [*wrap, sys.executable, "-m", "stateward", "--config", str(config), *args]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def injected(path: Path, call: str, code: str, nth: int, *, is_once: bool) -> tuple[str, ...]:
    """Options of strace: the n-th such call on a file fails, or it and all that follow."""
    when = f"{nth}" if is_once else f"{nth}+"
    return ("-P", str(path), "-e", f"trace={call}", "-e", f"inject={call}:error={code}:when={when}")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("call", "code", "nth", "is_once", "words"), EVERY if IS_EVERY else SAMPLE)
def test_a_command_on_a_bad_disk_ends_with_one_sentence_and_loses_nothing(
    config: Path, call: str, code: str, nth: int, is_once: bool, words: str
) -> None:
    wal = config.parent / "data" / "stateward.db-wal"
    fault = injected(wal, call, code, nth, is_once=is_once)
    (config.parent / "second").write_bytes(b"two")

    submitted = stateward(
        config,
        "submit",
        str(config.parent / "second"),
        "--machine",
        "two_steps",
        "--json",
        inject=fault,
    )
    worked = stateward(config, "up", "--until-idle", inject=fault)

    for done in (submitted, worked):
        assert done.returncode in (Exit.OK, Exit.DISK_FULL), done.stderr
        assert "Traceback" not in done.stderr
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1]
            assert words in last
    if words:
        assert Exit.DISK_FULL in (submitted.returncode, worked.returncode)
    assert_well(config, is_acknowledged=submitted.returncode == 0)


@pytest.mark.slow
def test_a_document_whose_sync_fails_is_refused(config: Path) -> None:
    (config.parent / "second").write_bytes(b"two")
    fault = ("-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1")

    done = stateward(
        config, "submit", str(config.parent / "second"), "--machine", "two_steps", inject=fault
    )

    assert done.returncode == Exit.DISK_FULL
    assert "nothing was kept" in done.stderr
    assert "there was no file" not in done.stderr  # there was one, and it was not taken
    assert_well(config, is_acknowledged=False)


def assert_well(config: Path, *, is_acknowledged: bool) -> None:
    """The disk is well again: all that was acknowledged is done, and the history is sound."""
    with open_app(config.parent / "data") as app:
        app.run_until_idle()
        verdict = app.admin.verify()
        assert verdict.is_sound, verdict.findings
        assert {record.status for record in app.store.walk()} == {"done"}
        assert verdict.records >= 1 + is_acknowledged
