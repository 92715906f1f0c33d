"""A runner changes no other process, leaves nothing in the kernel and hides nothing that it takes."""

import errno
import os
import resource
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stateward.workers.sdk import Failed, Limits
from tests.workers.children import only_item
from tests.workers.test_prying import Place, as_user, both_users, needs_landlock, needs_seccomp

MEDDLING = str(Path(__file__).parent / "meddling.py")
MIB = 1024 * 1024


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path)
    found.imports = [MEDDLING]
    return found


@needs_seccomp
@both_users
def test_a_runner_changes_no_other_process(tmp_path: Path, place: Place, *, is_root: bool) -> None:
    def act() -> dict[str, Any]:
        with subprocess.Popen(["/bin/sleep", "600"]) as victim:
            before = manner(victim.pid)
            found = only_item(place.run("meddle.processes", victim=victim.pid))
            found["is changed"] = manner(victim.pid) != before
            victim.kill()
        return found

    found = as_user(is_root, act, tmp_path)

    assert found == {"worked": [], "new call": errno.ENOSYS, "is changed": False}


def manner(pid: int) -> list[object]:
    """How a process is run."""
    return [
        resource.prlimit(pid, resource.RLIMIT_CORE),
        os.getpriority(os.PRIO_PROCESS, pid),
        os.sched_getaffinity(pid),
        os.sched_getscheduler(pid),
    ]


@needs_seccomp
@both_users
def test_a_runner_leaves_nothing_in_the_kernel_and_hears_of_no_folder(
    tmp_path: Path, place: Place, *, is_root: bool
) -> None:
    def act() -> dict[str, Any]:
        return only_item(place.run("meddle.kernel", folder=str(place.data / "artifacts")))

    assert as_user(is_root, act, tmp_path) == {"worked": []}


@needs_seccomp
@pytest.mark.parametrize("way", ["memory", "in flight"])
def test_what_no_folder_shows_counts_or_cannot_be_had(place: Place, way: str) -> None:
    place.limits = Limits(scratch_bytes_max=10 * MIB)

    result = place.run("meddle.fill", way=way)

    assert isinstance(result, Failed)
    assert result.code == ("SCRATCH_LIMIT" if way == "memory" else "EXCEPTION"), result.message


@needs_landlock
@both_users
def test_a_runner_writes_to_its_own_document_by_no_way_and_inherits_no_file(
    tmp_path: Path, place: Place, *, is_root: bool
) -> None:
    def act() -> dict[str, Any]:
        with socket.socket(), (place.data / "stateward.db").open():
            return only_item(place.run("meddle.own"))

    found = as_user(is_root, act, tmp_path)

    assert found["worked"] == []
    assert [each for each in found["open"] if not each.startswith(("/dev/", "/proc/"))] == []
    assert set(found["environment"]) <= {
        "HOME",
        "TMPDIR",
        "MALLOC_ARENA_MAX",
        "OPENBLAS_NUM_THREADS",
        "LC_CTYPE",
    }
    assert place.own.read_text() == "mine"


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize(
    ("runner", "said"),
    [
        ("meddle.pool", "multiprocessing"),
        ("meddle.tool", "exec: [true]"),
        ("bad.connect", "network: true"),
        ("pry.other", "worker.readable"),
    ],
)
def test_what_the_sandbox_forbids_says_what_to_do(place: Place, runner: str, said: str) -> None:
    result = place.run(runner, file=str(place.secrets[0]))

    assert isinstance(result, Failed)
    assert result.code == "EXCEPTION"
    assert result.message.startswith("PermissionError: [Errno 13] Permission denied")
    assert said in result.message
