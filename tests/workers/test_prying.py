"""A runner reads its own document and nothing else, starts no program, and cannot fill the disk: as root and as a user.

The whole suite mostly runs as root, so each case runs a second time in a process that has become a plain user.
"""

import json
import os
import shutil
import socket
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stateward.workers import confinement
from stateward.workers.confinement import Grants
from stateward.workers.sandbox import Child
from stateward.workers.sdk import Completed, Failed, Limits
from stateward.workers.spawning import reap_children
from tests.workers.children import ESCAPING, ChildSlot, an_order, only_item, wait_for

PRYING = str(Path(__file__).parent / "prying.py")
PLAIN_USER = 54_321
MIB = 1024 * 1024
TIMEOUT_S = 240.0  # what is looked for must end a job, also on a busy machine, and not its time

needs_landlock = pytest.mark.skipif(
    confinement.landlock_abi() < confinement.ABI_SCOPES, reason="the kernel's Landlock is too old"
)
needs_seccomp = pytest.mark.skipif(
    os.uname().machine not in confinement.CALLS, reason="no list of system calls for this machine"
)
both_users = pytest.mark.parametrize(
    "is_root",
    [
        pytest.param(
            True, marks=pytest.mark.skipif(os.geteuid() != 0, reason="not root"), id="root"
        ),
        pytest.param(False, id="plain user"),
    ],
)


class Place:
    """A folder of data as a service has it, and a child that works there."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.secrets = [
            self._file("stateward.db"),
            self._file("artifacts/ab/other-document"),
            self._file("keys/signing.key"),
            self._file("scratch/child-other/page-1.png"),
        ]
        self.own = self._file("artifacts/cd/own-document", "mine")
        self.imports: list[str] = []
        self.options: dict[str, Any] = {}
        self.limits = Limits()

    def _file(self, name: str, text: str = "secret") -> Path:
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        return path

    def run(self, runner: str, **labels: object) -> Completed | Failed:
        slot = ChildSlot(self.data / "scratch")
        slot.imports = [PRYING, ESCAPING, *self.imports]
        slot.limits, slot.options = self.limits, {"grants": Grants(hidden=(str(self.data),))}
        slot.options |= self.options
        child = slot.idle_child()
        order = an_order(runner, artifact_path=str(self.own), labels=labels, timeout_s=TIMEOUT_S)
        child.start(order)
        result = wait_for(child)
        slot.close()
        return result


def as_user(is_root: bool, act: Callable[[], Any], folder: Path) -> Any:  # noqa: ANN401
    """What `act` returns, here, or in a process that has become a plain user who owns all that is in a folder."""
    if is_root or os.geteuid() != 0:
        return act()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, PLAIN_USER, PLAIN_USER)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            become_plain_user()
            os.write(writer, json.dumps(act()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return json.loads(data)


def become_plain_user() -> None:
    """Leave root for good. One power stays, because the interpreter may lie in root's home: to read any file.

    So the user of these tests can read more than a plain user can, and change no more.
    """
    confinement.prctl(confinement.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(PLAIN_USER, PLAIN_USER, PLAIN_USER)
    os.setresuid(PLAIN_USER, PLAIN_USER, PLAIN_USER)
    confinement.drop_capabilities(is_inherited=True)


@needs_landlock
@needs_seccomp
@both_users
def test_a_runner_reads_its_own_document_and_no_other_file_of_the_service(
    tmp_path: Path, *, is_root: bool
) -> None:
    place = Place(tmp_path)

    def act() -> dict[str, Any]:
        files = [str(each) for each in place.secrets]
        return only_item(place.run("pry.read", files=files, worker=os.getpid()))

    assert as_user(is_root, act, tmp_path) == {"worked": [], "own": "mine"}


@needs_landlock
@needs_seccomp
@both_users
def test_a_runner_changes_no_mode_owner_or_time_of_any_document(
    tmp_path: Path, *, is_root: bool
) -> None:
    place = Place(tmp_path)
    victims = (place.secrets[1], place.own)

    def act() -> dict[str, Any]:
        before = [facts(each) for each in victims]
        only_item(place.run("pry.change", file=str(victims[0])))
        return {"before": before, "after": [facts(each) for each in victims]}

    looked = as_user(is_root, act, tmp_path)
    assert looked["after"] == looked["before"]
    assert place.own.read_text() == "mine"


def facts(path: Path) -> list[object]:
    found = path.stat()
    return [
        stat.S_IMODE(found.st_mode),
        found.st_uid,
        found.st_mtime,
        found.st_size,
        *os.listxattr(path),
    ]


@needs_landlock
@needs_seccomp
@both_users
def test_a_runner_executes_no_program(tmp_path: Path, *, is_root: bool) -> None:
    place = Place(tmp_path)

    def act() -> dict[str, Any]:
        return only_item(place.run("pry.execute", program=shutil.which("true")))

    assert as_user(is_root, act, tmp_path) == {"worked": []}


@needs_landlock
@needs_seccomp
@both_users
def test_a_stage_executes_the_programs_that_it_declares(tmp_path: Path, *, is_root: bool) -> None:
    place = Place(tmp_path)
    program = str(shutil.which("true"))
    place.options = {"grants": Grants(programs=("true",), hidden=(str(place.data),))}

    def act() -> dict[str, Any]:
        return only_item(place.run("pry.execute", program=program))

    # A program in memory has no path that a rule could name; it is confined as its runner is.
    assert set(as_user(is_root, act, tmp_path)["worked"]) - {"from memory"} == {"run"}


@both_users
def test_an_honest_runner_copies_its_document_with_its_mode_and_time(
    tmp_path: Path, *, is_root: bool
) -> None:
    place = Place(tmp_path)

    def act() -> dict[str, Any]:
        return only_item(place.run("pry.copy"))

    assert as_user(is_root, act, tmp_path) == {"text": "mine"}


@pytest.mark.parametrize("way", ["named", "small", "unnamed", "mapped"])
def test_a_runner_that_fills_its_scratch_folder_is_stopped(tmp_path: Path, way: str) -> None:
    place = Place(tmp_path)
    place.limits = Limits(scratch_bytes_max=10 * MIB)

    result = place.run("pry.fill", way=way)

    assert isinstance(result, Failed)
    assert result.code == "SCRATCH_LIMIT"
    assert "worker.scratch_bytes_max" in result.message


@needs_landlock
@needs_seccomp
@pytest.mark.skipif(os.geteuid() != 0, reason="test_confinement is run by a plain user then")
def test_a_runner_of_a_plain_user_gets_to_no_socket_process_or_folder_either(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)

    def act() -> list[Any]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            tries = (
                ("bad.network", {"port": port}),
                ("bad.spy", {"worker": os.getpid()}),
                ("bad.write_outside", {"folder": str(tmp_path)}),
            )
            return [only_item(place.run(name, **labels))["worked"] for name, labels in tries]

    assert as_user(False, act, tmp_path) == [[], [], []]


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_runner_of_root_is_a_user_of_its_own(tmp_path: Path) -> None:
    place = Place(tmp_path)

    assert only_item(place.run("pry.change", file="/nowhere"))["user"] >= confinement.USERS_FROM


def test_no_document_stays_in_the_input_folder(tmp_path: Path) -> None:
    place = Place(tmp_path)
    scratch = place.data / "scratch"
    child = Child.spawn([PRYING], limits=Limits(), scratch_root=scratch, now=lambda: 0)
    child.start(an_order("pry.copy", artifact_path=str(place.own)))
    wait_for(child)

    (inputs,) = scratch.glob("input-*")
    assert list(inputs.iterdir()) == []
    child.close(wait_s=10)
    reap_children()
    assert not inputs.exists()
    assert place.own.stat().st_nlink == 1


def test_code_beside_data_is_read_and_the_data_is_not(tmp_path: Path, monkeypatch: Any) -> None:  # noqa: ANN401
    (tmp_path / "pipeline.py").touch()
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").touch()
    (tmp_path / "invoices").mkdir()
    (tmp_path / "stateward.yaml").touch()
    (tmp_path / "kit" / "data").mkdir()
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    parts: list[Path] = []

    grants = Grants(hidden=(str(tmp_path / "kit" / "data"),))
    found = set(confinement.readable_places(grants, parts.append))

    below = {str(each.relative_to(tmp_path)) for each in found if each.is_relative_to(tmp_path)}
    assert below == {"pipeline.py", "kit/__init__.py"}
    assert parts == [tmp_path]


def test_the_loader_of_a_program_is_executable_with_it(tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text("#!/usr/bin/env python3\n")
    script.chmod(0o755)

    names = {path.name for path in confinement.executables([str(script), "no-such-program"])}

    assert "tool" in names
    assert any(name.startswith("ld-") for name in names)
    assert struct.calcsize("P") == 8
