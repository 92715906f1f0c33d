"""What a runner cannot reach: files outside its folder, the network, processes of others."""

import os
import socket
import sys
from pathlib import Path

import pytest

from stateward.core.errors import StoreUnreachable
from stateward.workers import confinement, spawning
from stateward.workers.confinement import Grants
from stateward.workers.layers import missing_protection, sandbox_layers
from stateward.workers.sdk import Completed, Failed, UnsavedValues
from tests.waiting import wait_until
from tests.workers.children import ChildSlot, an_order, only_item, wait_for

needs_landlock = pytest.mark.skipif(
    confinement.landlock_abi() < confinement.ABI_SCOPES, reason="the kernel's Landlock is too old"
)
needs_seccomp = pytest.mark.skipif(
    os.uname().machine not in confinement.CALLS, reason="no list of system calls for this machine"
)


@needs_landlock
def test_nothing_can_be_changed_outside_the_scratch_folder(slot: ChildSlot, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")

    result = slot.completes("bad.write_outside", labels={"folder": str(tmp_path)})

    assert only_item(result) == {"worked": []}
    assert victim.read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "scratch"}


@needs_seccomp
def test_no_socket_can_be_opened(slot: ChildSlot) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = slot.completes("bad.network", labels={"port": server.getsockname()[1]})

        assert only_item(result) == {"worked": [], "pair": 2}
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@needs_seccomp
def test_a_connection_that_is_forbidden_says_so(slot: ChildSlot) -> None:
    result = slot.fails("bad.connect")

    said = "a stage opens no connection unless it declares `network: true`"
    assert result.message == f"PermissionError: [Errno 13] Permission denied; {said}"


def test_saved_values_outlive_a_kill_and_the_first_one_wins(slot: ChildSlot) -> None:
    saved_values = UnsavedValues()
    child = slot.idle_child()

    child.start(an_order("good.pay_once", attempt=1), saved_values=saved_values)
    first = wait_for(child)
    child = slot.idle_child()
    child.start(an_order("good.pay_once", attempt=2), saved_values=saved_values)
    second = wait_for(child)

    assert isinstance(first, Failed)
    assert first.code == "RUNNER_DIED"
    assert isinstance(second, Completed)
    assert only_item(second) == {"answer": b"paid by 1\x00\xff".hex(), "other": None}


def test_a_job_whose_worker_cannot_load_a_saved_value_fails_and_may_be_tried_again(
    slot: ChildSlot,
) -> None:
    class Broken(UnsavedValues):
        def load(self, name: str) -> bytes | None:
            raise StoreUnreachable("the database is away")

    child = slot.idle_child()
    child.start(an_order("good.pay_once"), saved_values=Broken())
    result = wait_for(child)

    assert isinstance(result, Failed)
    assert (result.code, result.is_retryable) == ("NOT_KEPT", True)
    slot.works()


def test_a_child_that_saves_what_the_sdk_refuses_is_killed(slot: ChildSlot) -> None:
    assert slot.fails("bad.save_too_much").code == "RUNNER_BROKE_PROTOCOL"


@needs_landlock
def test_a_child_may_be_given_the_network_and_nothing_else(slot: ChildSlot, tmp_path: Path) -> None:
    slot.options = {"grants": Grants(may_connect=True)}
    (tmp_path / "victim").touch()

    with socket.create_server(("127.0.0.1", 0)) as server:
        result = slot.completes("bad.network", labels={"port": server.getsockname()[1]})

    assert "tcp" in only_item(result)["worked"]
    result = slot.completes("bad.write_outside", labels={"folder": str(tmp_path)})
    assert only_item(result) == {"worked": []}


@needs_landlock
def test_the_processes_above_cannot_be_seen_into_or_signalled(slot: ChildSlot) -> None:
    result = slot.completes("bad.spy", labels={"worker": os.getpid()})

    assert only_item(result) == {"worked": []}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has powers to give up")
def test_a_runner_of_root_has_no_powers_of_root(slot: ChildSlot) -> None:
    assert only_item(slot.completes("bad.become_root")) == {"worked": []}


def test_without_the_confinement_jobs_still_run(slot: ChildSlot) -> None:
    slot.options = {"landlock": False}

    slot.works()

    assert slot.idle_child().layers == ()


def test_the_layers_are_told() -> None:
    layers = {layer.name: layer for layer in sandbox_layers()}

    assert layers["limits"].is_available
    assert layers["landlock"].is_available == (confinement.landlock_abi() > 0)
    assert all(
        layer.is_available != layer.sentence.startswith("missing") for layer in layers.values()
    )


def test_a_machine_without_the_layers_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement, "landlock_abi", lambda: 0)
    monkeypatch.setattr(confinement, "CALLS", {})
    monkeypatch.setattr(confinement, "_has_capabilities", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    layers = confinement.confine(tmp_path, tmp_path, Grants())

    assert layers == ("capabilities",)
    assert not any(layer.is_available for layer in sandbox_layers()[1:])
    assert "can open sockets" in (missing_protection() or "")
    monkeypatch.undo()
    monkeypatch.setattr(confinement, "landlock_abi", lambda: 0)
    assert "can read every file" in (missing_protection() or "")


def test_a_process_that_cannot_be_started_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    monkeypatch.setattr(spawning, "_SERVERS", spawning._Servers())
    before = open_fds()

    with pytest.raises(FileNotFoundError):
        ChildSlot(tmp_path / "scratch").idle_child()

    wait_until(lambda: open_fds() <= before)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_child_that_is_closed_leaves_nothing_open(slot: ChildSlot) -> None:
    spawning.the_fork_server()  # which stays
    before = open_fds()
    slot.works()
    slot.fails("bad.segfault")

    slot.close()

    # What other tests left in this process may open and close something meanwhile.
    wait_until(lambda: open_fds() <= before)


def open_fds() -> set[str]:
    listed = list(Path("/proc/self/fd").iterdir())
    return {path.name for path in listed if path.is_symlink()}  # all but that of the listing itself
