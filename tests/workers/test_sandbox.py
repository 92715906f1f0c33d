"""Whatever a runner does, one clear result comes of it, and the next job works."""

import json
import os
import re
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateward.core.errors import StoreUnreachable
from stateward.workers import child_main as inside
from stateward.workers import sandbox
from stateward.workers.sandbox import Child, JobOrder, sandbox_layers
from stateward.workers.sdk import (
    CHUNK_ITEMS_MAX,
    Completed,
    Failed,
    Limits,
    Result,
    UnsavedValues,
)

HOSTILE = str(Path(__file__).parent / "hostile.py")
NOW = 1_700_000_000_000_000
MIB = 1024 * 1024

needs_landlock = pytest.mark.skipif(
    inside.landlock_abi() < inside.ABI_SCOPES, reason="the kernel's Landlock is too old"
)
needs_seccomp = pytest.mark.skipif(
    os.uname().machine not in inside.CALLS, reason="no list of system calls for this machine"
)


class Seat:
    """A place for one child: spawns one when there is none, as a worker does."""

    def __init__(self, scratch_root: Path) -> None:
        self.scratch_root = scratch_root
        self.limits = Limits(memory_bytes=256 * MIB)
        self.imports: list[str] = [HOSTILE]
        self.options: dict[str, Any] = {}
        self.child: Child | None = None
        self.spawned: list[Child] = []

    def idle_child(self) -> Child:
        if self.child is None or self.child.is_dead:
            self.child = Child.spawn(
                self.imports,
                limits=self.limits,
                scratch_root=self.scratch_root,
                now=lambda: NOW,
                **self.options,
            )
            self.spawned.append(self.child)
        return self.child

    def run(self, runner: str, **order: Any) -> Result:  # noqa: ANN401
        child = self.idle_child()
        child.start(an_order(runner, **order))
        return wait_for(child)

    def fails(self, runner: str, **order: Any) -> Failed:  # noqa: ANN401
        result = self.run(runner, **order)
        assert isinstance(result, Failed), result
        assert_lines(result.log, self.limits)
        self.works()
        return result

    def completes(self, runner: str, **order: Any) -> Completed:  # noqa: ANN401
        result = self.run(runner, **order)
        assert isinstance(result, Completed), result
        assert_lines(result.log, self.limits)
        self.works()
        return result

    def works(self) -> None:
        """The next job is done, by this child or a new one."""
        result = self.run("good.echo", record_id="UL_next")
        assert isinstance(result, Completed), result
        assert only_item(result)["record_id"] == "UL_next"

    def close(self) -> None:
        for child in self.spawned:
            child.close(wait_s=10)
        sandbox.bury()


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    """A seat; when the test is over, no process and no scratch folder of its children is left."""
    seat = Seat(tmp_path / "scratch")
    yield seat
    seat.close()
    left = [pid for child in seat.spawned for pid in inside.members_of(child.pid)]
    assert [pid for pid in left if is_alive(pid)] == []
    assert list(seat.scratch_root.glob("*")) == []


def an_order(runner: str, **order: Any) -> JobOrder:  # noqa: ANN401
    return JobOrder(**{
        "runner": runner, "record_id": "UL_1", "stage": "parse", "attempt": 7, "timeout_s": 30.0,
        "timeout_message": "Parsing timeout (30s)", **order,
    })  # fmt: skip


def wait_for(child: Child) -> Result:
    with selectors.DefaultSelector() as selector:
        watched: dict[int, int] = {}
        while True:
            for fd in watched:
                selector.unregister(fd)
            watched = dict(child.watched())
            for fd, events in watched.items():
                selector.register(fd, events)
            deadline = child.deadline
            assert deadline is not None
            selector.select(max(0.0, deadline - time.monotonic()))
            result = child.on_ready() or child.expire()
            if result is not None:
                return result


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.log.splitlines()]


def said(result: Result, level: str) -> list[str]:
    return [line["message"] for line in lines(result) if line["level"] == level]


def assert_lines(log: str, limits: Limits) -> None:
    assert len(log.encode()) <= limits.log_bytes_max
    assert "\x00" not in log
    for line in log.splitlines():
        assert {"at", "level", "message"} <= json.loads(line).keys()


def items(result: Completed) -> list[dict[str, Any]]:
    rows = [chunk for chunk in result.chunks if chunk.count]
    found = [item for chunk in rows for item in json.loads(chunk.data)]
    assert len(found) == result.count == sum(chunk.count for chunk in result.chunks)
    return found


def only_item(result: Result) -> dict[str, Any]:
    assert isinstance(result, Completed), result
    (item,) = items(result)
    return item


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def becomes_dead(child: Child) -> bool:
    for _ in range(500):
        if child.is_dead:
            return True
        time.sleep(0.01)
    return False


def is_gone_soon(pid: int) -> bool:
    for _ in range(500):
        if not is_alive(pid):
            return True
        time.sleep(0.01)
    return False


# What a good runner gets


def test_a_job_arrives_as_it_was_ordered(seat: Seat, tmp_path: Path) -> None:
    artifact = tmp_path / "artifact"
    artifact.write_text("a line\r\n")

    result = seat.completes(
        "good.echo", retry_count=2, labels={"source": "bank"}, artifact_path=str(artifact)
    )

    item = only_item(result)
    del item["pid"]
    assert item == {
        "record_id": "UL_1", "stage": "parse", "attempt": 7, "retry_count": 2,
        "labels": {"source": "bank"}, "text": "a line\r\n", "seconds": 30,
    }  # fmt: skip
    assert lines(result) == [
        {"at": "2023-11-14T22:13:20.000000Z", "level": "info", "message": "reading", "bytes": 8}
    ]


def test_a_warm_child_does_job_after_job_until_its_count_is_reached(seat: Seat) -> None:
    seat.limits = Limits(jobs_per_child=2)

    pids = [only_item(seat.run("good.echo"))["pid"] for _ in range(4)]

    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_large_inputs_and_outputs_go_through(seat: Seat) -> None:
    chunk = json.dumps([{"number": number, "text": "ü" * 500} for number in range(200)])
    others = {"ocr": ['[{"not":"these"}]'], "parse": [chunk] * 100, "empty": []}

    result = seat.completes("good.copy", items=others)

    assert result.count == 20_000
    assert items(result)[:200] == json.loads(chunk)
    assert max(chunk.count for chunk in result.chunks) <= CHUNK_ITEMS_MAX


def test_starting_a_job_with_large_inputs_does_not_wait_for_the_child(seat: Seat) -> None:
    child = seat.idle_child()
    seat.works()

    child.start(an_order("good.copy", items={"parse": ['[{"text":"' + "x" * 1000 + '"}]'] * 5000}))

    assert child.wants_write
    assert (
        child.filenos()[0],
        selectors.EVENT_READ | selectors.EVENT_WRITE,
    ) in child.watched()
    result = wait_for(child)
    assert isinstance(result, Completed)
    assert result.count == 5000
    assert not child.wants_write


def test_the_scratch_folder_is_empty_again_for_the_next_job(seat: Seat) -> None:
    result = seat.completes("good.scratch")

    assert only_item(result) == {"found": ["deep", "here"], "code": 0}
    assert only_item(seat.run("good.look"))["found"] == []


def test_a_job_sees_nothing_of_the_worker(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEWARD_SECRET", "xyz")

    seen = only_item(seat.completes("good.look"))

    assert set(seen["environment"]) <= {"HOME", "TMPDIR", "MALLOC_ARENA_MAX", "LC_CTYPE"}
    assert seen["folder"] == seen["scratch"]
    assert seen["stdin"] == ""
    assert seen["umask"] == 0o077
    assert seen["session"] != os.getsid(0)
    assert len(seen["fds"]) <= 5  # 0, 1, 2, the channel, and the folder being listed
    assert seen["status"]["NoNewPrivs"] == "1"
    assert seen["limits"] == {
        "RLIMIT_CORE": [0, 0],
        "RLIMIT_FSIZE": [seat.limits.file_bytes] * 2,
        "RLIMIT_NOFILE": [seat.limits.open_files] * 2,
    }


# What a runner prints and logs


def test_printed_garbage_becomes_log_lines(seat: Seat) -> None:
    result = seat.completes("bad.garbage")

    assert only_item(result) == {"ok": True}
    assert "to the other one" in said(result, "output")
    assert "\\ud800 printed" in said(result, "output")


def test_a_flood_of_output_is_cut_and_leaves_room_for_the_log(seat: Seat) -> None:
    result = seat.completes("bad.flood")

    assert said(result, "info") == ["said after the flood"]
    (closing,) = said(result, "warning")
    assert closing.startswith("the log is full: ")
    assert int(closing.split()[4]) > 90_000_000


def test_a_flood_of_log_lines_is_cut(seat: Seat) -> None:
    result = seat.completes("bad.log")

    first, *_, last = lines(result)
    assert first["number"] == 0
    assert first["at_"] == "mine"
    assert last["message"].startswith("the log is full: ")


# Processes


def test_a_forked_copy_that_comes_back_does_not_answer_twice(seat: Seat) -> None:
    assert only_item(seat.completes("bad.fork_both_return")) == {"ok": True}


@pytest.mark.parametrize("runner", ["bad.fork", "bad.daemon"])
def test_no_process_outlives_its_job(seat: Seat, runner: str) -> None:
    result = seat.completes(runner)

    assert is_gone_soon(only_item(result)["pid"])
    (warning,) = said(result, "warning")
    # The parent of a daemon may not have left yet when they are counted.
    assert re.fullmatch("the runner left [12] processes; they are killed", warning)
    assert len(seat.spawned) == 2


@pytest.mark.parametrize(
    ("runner", "timeout_s", "code"),
    [("bad.daemon_and_exit", 30, "RUNNER_EXITED"), ("bad.daemon_and_sleep", 1, "TIMEOUT")],
)
def test_a_daemon_does_not_outlive_a_job_that_died(
    seat: Seat, runner: str, timeout_s: float, code: str
) -> None:
    result = seat.fails(runner, timeout_s=timeout_s)

    assert result.code == code
    assert is_gone_soon(int(said(result, "output")[0].split()[1]))


def test_a_process_that_flees_from_one_pid_to_the_next_is_caught(seat: Seat) -> None:
    result = seat.completes("bad.rabbit")

    assert "they are killed" in said(result, "warning")[0]
    assert seat.spawned[0].is_dead


def test_dead_processes_that_nobody_buried_do_no_harm(seat: Seat) -> None:
    seat.completes("bad.zombies")

    assert len(seat.spawned) == 1


@pytest.mark.parametrize("runner", ["bad.fork_bomb", "bad.threads"])
def test_too_many_processes_end_the_job(seat: Seat, runner: str) -> None:
    seat.limits = Limits(processes_max=20)

    result = seat.fails(runner)

    assert result.code == "PROCESS_LIMIT"
    assert result.message.endswith("the limit is 20 (worker.processes_max)")


def test_cancelling_kills_the_job_and_what_it_started(seat: Seat) -> None:
    child = seat.idle_child()
    child.start(an_order("bad.daemon_and_sleep"))
    pid = printed_pid(child)

    result = child.cancel()

    assert result is not None
    assert result.code == "CANCELLED"
    assert child.is_dead
    assert is_gone_soon(pid)
    assert child.cancel() is None
    seat.works()


def test_children_die_with_their_worker(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(
        textwrap.dedent(f"""
            import time
            from pathlib import Path
            from stateward.workers.sdk import Limits
            from stateward.workers.sandbox import Child, JobOrder

            child = Child.spawn([{HOSTILE!r}], limits=Limits(), scratch_root=Path("scratch"),
                                now=lambda: 0)
            child.start(JobOrder(runner="bad.daemon_and_sleep", record_id="UL_1", stage="parse",
                                 attempt=1, timeout_s=60))
            while "pid" not in child._attempt.log.text():
                child.on_ready()
                time.sleep(0.01)
            print(child.pid, child._attempt.log.text().split("pid ")[1].split('"')[0], flush=True)
            time.sleep(60)
        """)
    )
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, cwd=tmp_path, env=with_path(), stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        supervisor, daemon = (int(pid) for pid in worker.stdout.readline().split())
        assert is_alive(supervisor)
        assert is_alive(daemon)

        worker.kill()

    assert is_gone_soon(daemon)
    assert is_gone_soon(supervisor)
    assert list((tmp_path / "scratch").iterdir()) == []


# Ends of a process


@pytest.mark.parametrize(
    ("runner", "code", "message"),
    [
        ("bad.exit", "RUNNER_EXITED", "SystemExit: goodbye"),
        ("bad.os_exit", "RUNNER_EXITED", "exited with code 3; a runner returns or raises"),
        ("bad.kill_self", "RUNNER_DIED", "killed by SIGKILL; is the machine out of memory?"),
        ("bad.segfault", "RUNNER_DIED", "killed by SIGSEGV"),
        ("bad.memory", "MEMORY_LIMIT", "ran out of memory; the limit is"),
        ("bad.memory_crumbs", "MEMORY_LIMIT", "ran out of memory; the limit is"),
        ("bad.memory_map", "MEMORY_LIMIT", "ran out of memory; the limit is"),
        ("bad.close_channel", "RUNNER_BROKE_PROTOCOL", "broke the channel"),
        ("bad.close_all", "RUNNER_BROKE_PROTOCOL", "closed the channel to its worker"),
    ],
)
def test_a_process_that_ends_says_how(seat: Seat, runner: str, code: str, message: str) -> None:
    result = seat.fails(runner)

    assert result.code == code
    assert message in result.message
    assert result.is_retryable
    assert len(seat.spawned) == 2


def test_a_crash_leaves_its_stack_in_the_log(seat: Seat) -> None:
    result = seat.fails("bad.segfault")

    output = "\n".join(said(result, "output"))
    assert "Segmentation fault" in output
    assert "hostile.py" in output
    assert "in segfault" in output


def test_a_runner_that_uses_up_its_processor_time_is_ended(seat: Seat) -> None:
    seat.limits = Limits(cpu_s=1)

    result = seat.fails("bad.spin")

    assert result.code == "CPU_LIMIT"
    assert "processor time of 1 s" in result.message
    assert "in spin" in "\n".join(said(result, "output"))


@pytest.mark.parametrize("runner", ["bad.sleep", "bad.spin_deaf", "bad.stop"])
def test_a_runner_that_takes_too_long_is_killed(seat: Seat, runner: str) -> None:
    began = time.monotonic()

    result = seat.fails(runner, timeout_s=0.5, timeout_message="Parsing timeout (0.5s)")

    assert result.code == "TIMEOUT"
    assert result.message == "Parsing timeout (0.5s)"
    assert result.is_retryable
    assert time.monotonic() - began < 5


def test_a_job_that_hangs_leaves_its_log_and_its_stack(seat: Seat) -> None:
    result = seat.fails("bad.sleep", timeout_s=1)

    assert said(result, "info") == ["about to sleep"]
    assert "in sleep_for_ever" in "\n".join(said(result, "output"))


def test_a_supervisor_that_is_killed_takes_its_runner_along(seat: Seat) -> None:
    seat.options = {"landlock": False}

    result = seat.fails("bad.kill_parents")

    assert result.code == "RUNNER_DIED"


def test_a_child_that_died_between_jobs_is_found_dead(seat: Seat) -> None:
    seat.works()
    child = seat.idle_child()
    (runner,) = inside.descendants(child.pid)

    os.kill(runner, signal.SIGKILL)

    assert becomes_dead(child)
    assert not child.is_idle
    with pytest.raises(RuntimeError, match="not idle"):
        child.start(an_order("good.echo"))


# Items


@pytest.mark.parametrize(
    ("runner", "code", "message"),
    [
        ("bad.million", "TOO_MANY_ITEMS", "more than 200000 items; produce less, or raise"),
        ("bad.endless", "OUTPUT_TOO_LARGE", "raise the setting worker.items_bytes_max"),
        ("bad.large", "ITEM_TOO_LARGE", "item 1 has more than 1048576 bytes"),
        ("bad.outcome", "BAD_OUTCOME", "facts.confidence is nan"),
    ],
)
def test_too_much_is_refused(seat: Seat, runner: str, code: str, message: str) -> None:
    seat.limits = Limits(items_max=200_000, items_bytes_max=20 * MIB)

    result = seat.fails(runner)

    assert result.code == code
    assert message in result.message
    assert not result.is_retryable
    assert len(seat.spawned) == 1


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("object", "item 2.rows[0].amount is of type Decimal, which JSON has no form for"),
        ("nan", "item 2.amount is nan, which JSON cannot say; give null"),
        ("infinity", "item 2.amounts[1] is -inf, which JSON cannot say; give null"),
        ("key", "item 2.by_line has a key that is of type int; keys are text"),
        ("list", "item 2 is of type list, not a dict"),
        ("text", "item 2 is of type str, not a dict"),
        ("deep", " is nested more than 100 deep"),
        ("cycle", " is nested more than 100 deep"),
    ],
)
def test_what_is_not_json_is_refused(seat: Seat, kind: str, message: str) -> None:
    result = seat.fails("bad.item", labels={"kind": kind})

    assert result.code == "BAD_ITEM"
    assert message in result.message


def test_text_that_no_store_keeps_is_cleaned_and_said_so(seat: Seat) -> None:
    result = seat.completes("bad.surrogates")

    assert items(result) == [
        {"text": "a?b", "key?": [{"nul": "a\ufffdb"}]},
        {"text": "fine", "path": "C:\\u0000"},
    ]
    (warning,) = said(result, "warning")
    assert warning.startswith("NUL or lone surrogates were replaced in 1 items")


# Errors


@pytest.mark.parametrize(
    ("runner", "code", "message"),
    [
        ("bad.mute", "EXCEPTION", "Mute: (its text cannot be shown)"),
        ("bad.recursion", "EXCEPTION", "RecursionError: maximum recursion depth exceeded"),
        ("bad.fatal", "ENCRYPTED", "page 3 is encrypted"),
        ("bad.many_files", "EXCEPTION", "Too many open files"),
        ("bad.file", "FILE_LIMIT", "wrote a file of more than 3000000 bytes"),
    ],
)
def test_an_error_is_told(seat: Seat, runner: str, code: str, message: str) -> None:
    seat.limits = Limits(file_bytes=3_000_000)

    result = seat.fails(runner)

    assert result.code == code
    assert message in result.message
    (line,) = [line for line in lines(result) if line["level"] == "error"]
    assert line["code"] == code
    assert "hostile.py" in line["traceback"]


def test_a_long_message_is_cut(seat: Seat) -> None:
    result = seat.fails("bad.chatty")

    assert result.message.startswith("ValueError: ?\ufffdxxx")
    assert len(result.message) == seat.limits.message_chars_max


def test_a_hostile_scratch_folder_is_emptied(seat: Seat, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "kept").write_text("x")

    seat.completes("bad.deep_folders", labels={"folder": str(there)})

    assert only_item(seat.run("good.look"))["found"] == []
    assert (there / "kept").exists()


# Confinement


@needs_landlock
def test_nothing_can_be_changed_outside_the_scratch_folder(seat: Seat, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")

    result = seat.completes("bad.write_outside", labels={"folder": str(tmp_path)})

    assert only_item(result) == {"worked": []}
    assert victim.read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "scratch"}


@needs_seccomp
def test_no_socket_can_be_opened(seat: Seat) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = seat.completes("bad.network", labels={"port": server.getsockname()[1]})

        assert only_item(result) == {"worked": [], "pair": 2}
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@needs_seccomp
def test_a_connection_that_is_forbidden_says_so(seat: Seat) -> None:
    result = seat.fails("bad.connect")

    assert result.message == "PermissionError: [Errno 13] Permission denied"


def test_what_was_kept_outlives_a_kill_and_the_first_word_stays(seat: Seat) -> None:
    saved_values = UnsavedValues()
    child = seat.idle_child()

    child.start(an_order("good.pay_once", attempt=1), saved_values=saved_values)
    first = wait_for(child)
    child = seat.idle_child()
    child.start(an_order("good.pay_once", attempt=2), saved_values=saved_values)
    second = wait_for(child)

    assert isinstance(first, Failed)
    assert first.code == "RUNNER_DIED"
    assert isinstance(second, Completed)
    assert only_item(second) == {"answer": b"paid by 1\x00\xff".hex(), "other": None}


def test_a_job_whose_worker_cannot_keep_anything_fails_and_may_be_tried_again(seat: Seat) -> None:
    class Broken(UnsavedValues):
        def kept(self, name: str) -> bytes | None:
            raise StoreUnreachable("the database is away")

    child = seat.idle_child()
    child.start(an_order("good.pay_once"), saved_values=Broken())
    result = wait_for(child)

    assert isinstance(result, Failed)
    assert (result.code, result.is_retryable) == ("NOT_KEPT", True)
    seat.works()


def test_who_asks_to_keep_what_no_kit_would_is_killed(seat: Seat) -> None:
    assert seat.fails("bad.keep_too_much").code == "RUNNER_BROKE_PROTOCOL"


@needs_landlock
def test_a_child_may_be_given_the_network_and_nothing_else(seat: Seat, tmp_path: Path) -> None:
    seat.options = {"network": True}
    (tmp_path / "victim").touch()

    with socket.create_server(("127.0.0.1", 0)) as server:
        result = seat.completes("bad.network", labels={"port": server.getsockname()[1]})

    assert "tcp" in only_item(result)["worked"]
    result = seat.completes("bad.write_outside", labels={"folder": str(tmp_path)})
    assert only_item(result) == {"worked": []}


@needs_landlock
def test_the_processes_above_cannot_be_seen_into_or_signalled(seat: Seat) -> None:
    result = seat.completes("bad.spy", labels={"worker": os.getpid()})

    assert only_item(result) == {"worked": []}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has powers to give up")
def test_a_runner_of_root_has_no_powers_of_root(seat: Seat) -> None:
    assert only_item(seat.completes("bad.become_root")) == {"worked": []}


def test_without_the_confinement_jobs_still_run(seat: Seat) -> None:
    seat.options = {"landlock": False}

    seat.works()

    assert seat.idle_child().layers == ()


def test_the_layers_are_told() -> None:
    layers = {layer.name: layer for layer in sandbox_layers()}

    assert layers["limits"].is_available
    assert layers["landlock"].is_available == (inside.landlock_abi() > 0)
    assert all(
        layer.is_available != layer.sentence.startswith("missing") for layer in layers.values()
    )


def test_a_machine_without_the_layers_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inside, "landlock_abi", lambda: 0)
    monkeypatch.setattr(inside, "CALLS", {})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    layers = inside.confine(tmp_path, may_connect=False)

    assert layers == ("capabilities",)
    assert not any(layer.is_available for layer in sandbox_layers()[1:])


def test_a_process_that_cannot_be_started_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    before = open_fds()

    with pytest.raises(FileNotFoundError):
        Seat(tmp_path / "scratch").idle_child()

    assert open_fds() == before
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_child_that_is_closed_leaves_nothing_open(seat: Seat) -> None:
    before = open_fds()
    seat.works()
    seat.fails("bad.segfault")

    seat.close()

    assert open_fds() == before


def open_fds() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


# The protocol


@pytest.mark.parametrize("junk", ["6a756e6b", "00000000", "ffffffff", "000000017b"])
def test_junk_on_every_descriptor_breaks_the_protocol(seat: Seat, junk: str) -> None:
    result = seat.fails("bad.junk", labels={"bytes": junk})

    assert result.code == "RUNNER_BROKE_PROTOCOL"
    assert "it sent what is not a message" in result.message


def a_chunk(count: int, items: str) -> str:
    return f'{{"type":"items","number":0,"count":{count},"items":{items}}}'


def the_end(outcome: str = "done", *, facts: str = "{}", count: int = 0) -> str:
    return f'{{"type":"done","number":0,"outcome":"{outcome}","facts":{facts},"count":{count}}}'


def a_fault(*, number: int, code: str) -> str:
    return f'{{"type":"fault","number":{number},"code":"{code}","message":"","is_retryable":true}}'


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (['{"type":"ready","layers":[]}'], "it said twice that it was ready"),
        (['{"type":"nonsense"}'], "not a message"),
        (["[" * 100_000], "not a message"),
        ([a_chunk(2, "[{}]")], "it sent 1 items as 2"),
        ([a_chunk(0, "[]")], "it sent a chunk that is too large"),
        ([a_chunk(501, "[]")], "it sent a chunk that is too large"),
        ([a_chunk(1, "[1]")], "not JSON objects"),
        ([a_chunk(1, '[{"a":1e999}]')], "not JSON objects"),
        ([a_chunk(1, '[{"a":"\\ud800 "}]')], "it sent"),
        ([a_chunk(1, '[{"a":"\\u0000"}]')], "text with NUL"),
        ([a_chunk(1, '[{"a":' + "[" * 50_000 + "]" * 50_000 + "}]")], "it sent"),
        ([a_chunk(1, "[{}]")] * 11, "more items than the limits allow"),
        ([a_chunk(1, '[{"a":"' + "x" * 1500 + '"}]')] * 3, "more items than the limits allow"),
        ([the_end(count=3)], "it counted 3 items and sent 0"),
        ([the_end("")], "an outcome that no kit lets through"),
        ([the_end("a\\u0000")], "an outcome that no kit lets through"),
        ([the_end(facts='{"b":"\\u0000"}')], "facts that no kit lets through"),
        ([a_fault(number=9, code="A")], "another job"),
    ],
)
def test_a_lie_is_not_believed(seat: Seat, messages: list[str], message: str) -> None:
    seat.limits = Limits(items_max=10, items_bytes_max=4000)

    result = seat.fails("bad.forge", labels={"messages": messages})

    assert result.code == "RUNNER_BROKE_PROTOCOL"
    assert message in result.message


def test_a_message_that_is_cut_off_by_death_does_not_hide_how_it_died(seat: Seat) -> None:
    result = seat.fails("bad.half_a_message")

    assert result.code == "RUNNER_EXITED"


def test_a_forged_failure_is_only_its_own(seat: Seat) -> None:
    messages = [a_fault(number=0, code="\\u0000")]

    result = seat.run("bad.forge", labels={"messages": messages})

    assert isinstance(result, Failed)
    assert (result.code, result.message) == ("\ufffd", "")


def test_a_child_that_speaks_between_jobs_is_not_used_again(seat: Seat) -> None:
    seat.run("bad.speak_later")

    assert becomes_dead(seat.spawned[0])
    seat.works()


def test_closed_output_does_no_harm(seat: Seat) -> None:
    assert only_item(seat.completes("bad.close_output")) == {"ok": True}


# Loading


def test_a_pipeline_that_cannot_be_loaded_fails_jobs_and_says_why(
    seat: Seat, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module_at_all\n")
    seat.imports = [str(broken), HOSTILE]

    result = seat.fails("upload.parse")

    assert result.code == "RUNNER_NOT_LOADED"
    assert "there is no runner 'upload.parse'" in result.message
    assert "broken.py cannot be loaded: ModuleNotFoundError" in result.message
    assert "no_such_module_at_all" in lines(result)[0]["traceback"]
    assert len(seat.spawned) == 1


def test_a_name_that_nobody_registered_is_told_with_those_that_are(seat: Seat) -> None:
    result = seat.fails("upload.parse")

    assert "there are: bad." in result.message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys; sys.exit('no')", "SystemExit: no"),
        ("import os; os._exit(5)", "the process exited with code 5 while it loaded"),
        ("import os; os.abort()", "the process was killed by SIGABRT while it loaded"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_pipeline_that_ends_the_process_is_told(
    seat: Seat, tmp_path: Path, source: str, message: str
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(source)
    seat.imports = [str(broken)]

    result = seat.run("upload.parse")

    assert isinstance(result, Failed)
    assert result.code == "RUNNER_NOT_LOADED"
    assert message in result.message


def test_a_pipeline_that_never_finishes_loading_is_given_up(
    seat: Seat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "LOAD_S_MAX", 0.5)
    slow = tmp_path / "slow.py"
    slow.write_text("import time; print('loading', flush=True); time.sleep(60)")
    seat.imports = [str(slow)]

    result = seat.run("upload.parse")

    assert isinstance(result, Failed)
    assert result.code == "RUNNER_NOT_LOADED"
    assert result.message == "the pipelines were not loaded within 0.5 s"
    assert said(result, "output") == ["loading"]


def test_the_time_to_load_is_not_taken_from_the_job(seat: Seat, tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import time; time.sleep(0.8)\nfrom neighbour import answer\n"
        "from stateward.workers.sdk import runner\n"
        "@runner('slow.job')\ndef job(job): return {'answer': answer}\n"
    )
    (tmp_path / "neighbour.py").write_text("answer = 42")
    seat.imports = [str(slow)]

    result = seat.run("slow.job", timeout_s=0.6)

    assert only_item(result) == {"answer": 42}


def test_a_module_is_loaded_by_name(seat: Seat) -> None:
    seat.imports = ["stateward.pipelines.statements", "no.such.module"]

    observation = '[{"place":{"line":1},"date":"2026-01-05","amount":"-1.50"}]'
    about = '{"format":"csv","sections":[{"terms":{"date_order":"ymd"},"rows":1}]}'

    result = seat.run("upload.normalize", items={"parse": [observation, about]})

    item = only_item(result)
    assert (item["date"], item["amount"]) == ("2026-01-05", "-1.50")


@pytest.mark.parametrize("command", [["script.py"], ["-m", "script"]])
def test_the_runners_of_a_script_are_found_by_its_children(
    tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
            import time
            from pathlib import Path
            from stateward.workers.sdk import Limits, runner
            from stateward.workers.sandbox import Child, JobOrder

            ANSWER = 42

            @runner("my.job")
            def job(job):
                return {"answer": ANSWER, "name": __name__}

            if __name__ == "__main__":
                child = Child.spawn(["__main__"], limits=Limits(), scratch_root=Path("scratch"),
                                    now=lambda: 0)
                child.start(JobOrder(runner="my.job", record_id="UL_1", stage="job", attempt=1,
                                     timeout_s=20))
                while (result := child.on_ready() or child.expire()) is None:
                    time.sleep(0.01)
                print(result.chunks[0].data if hasattr(result, "chunks") else result)
                child.close(wait_s=5)
        """)
    )

    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=with_path(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout) == [{"answer": 42, "name": "__mp_main__"}]


# The same code, in this process


@pytest.fixture
def no_end_of_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a job buries every child of its process: not of this one."""
    monkeypatch.setattr(inside, "after_job", lambda: None)


def served(order: inside.Order, *chunks: bytes, scratch: Path, **faults: str) -> list[inside.Reply]:
    """What a child answers to one order."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for payload in (msgspec.json.encode(order), *chunks):
            ours.sendall(inside.frame(payload))
        ours.shutdown(socket.SHUT_WR)
        inside.serve(
            inside.Channel(theirs),
            limits=Limits(),
            scratch=scratch,
            faults=faults,
            before_job=lambda order, limits: None,
        )
        theirs.shutdown(socket.SHUT_WR)
        answers = inside.Channel(ours)
        payloads = iter(answers.read, None)
        return [msgspec.json.decode(payload, type=inside.Reply) for payload in payloads]


def a_wire_order(runner: str, **inputs: int) -> inside.Order:
    return inside.Order(
        number=3, runner=runner, record_id="UL_1", stage="parse", attempt=1, retry_count=0,
        labels={}, artifact_path=None, inputs=inputs, timeout_s=5,
    )  # fmt: skip


@pytest.mark.usefixtures("no_end_of_job")
def test_the_loop_answers_an_order(tmp_path: Path) -> None:
    inside.load(HOSTILE)

    replies = served(
        a_wire_order("good.copy", parse=2), b'[{"a":1}]', b'[{"a":2}]', scratch=tmp_path
    )
    failure = served(a_wire_order("bad.fatal"), scratch=tmp_path)
    unknown = served(a_wire_order("no.such"), scratch=tmp_path, mine="x\nImportError: y")

    assert replies == [
        inside.Items(number=3, count=2, items=msgspec.Raw(b'[{"a":1},{"a":2}]')),
        inside.Done(number=3, outcome="done", facts={}, count=2),
    ]
    assert isinstance(failure[0], inside.Line)
    assert failure[1] == inside.Fault(
        number=3, code="ENCRYPTED", message="page 3 is encrypted", is_retryable=False
    )
    assert isinstance(unknown[1], inside.Fault)
    assert (
        unknown[1].message == "there is no runner 'no.such'; mine cannot be loaded: ImportError: y"
    )


@pytest.mark.usefixtures("no_end_of_job")
def test_a_channel_that_ends_in_the_middle_ends_the_loop(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(inside.frame(b"cut off")[:-2])
        ours.shutdown(socket.SHUT_WR)

        assert inside.Channel(theirs).read() is None


def test_pipelines_are_loaded_as_far_as_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setitem(sys.modules, "__mp_main__", sys.modules["__main__"])
    (tmp_path / "broken.py").write_text("raise SystemExit('no')")
    script = tmp_path / "script.py"
    script.write_text("NAME = __name__")
    hello = inside.Hello(
        imports=("json", str(tmp_path / "broken.py"), str(tmp_path / "missing.py")),
        limits=Limits(),
        is_confined=False,
        may_connect=False,
        main_path=str(script),
    )

    faults = inside.load_all(hello)
    main = vars(sys.modules["__main__"])

    assert {Path(target).name for target in faults} == {"broken.py", "missing.py"}
    assert main["NAME"] == "__mp_main__"


@pytest.mark.parametrize("has_files", [True, False])
def test_descendants_are_found_with_or_without_the_files_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch, *, has_files: bool
) -> None:
    monkeypatch.setattr(inside, "_HAS_CHILDREN_FILES", has_files)
    script = "import subprocess; subprocess.run(['sleep', '60'])"

    with subprocess.Popen([sys.executable, "-c", script]) as process:
        while len(inside.descendants(process.pid)) < 1:
            time.sleep(0.01)
        killed = inside.kill_descendants(process.pid)

    assert killed == 1
    assert inside.descendants(process.pid) == []
    assert inside.thread_count(process.pid) == 0
    assert inside.thread_count(os.getpid()) >= 1
    assert sum(inside.tasks_of_user(os.getuid())) >= 1


@pytest.mark.parametrize("machine", sorted(inside.CALLS))
def test_the_program_for_the_kernel_denies_what_it_should(machine: str) -> None:
    calls = inside.CALLS[machine]
    (other,) = (each for name, each in inside.CALLS.items() if name != machine)
    code = inside.seccomp_code(calls, (calls.socket, *calls.others))

    def verdict(number: int, architecture: int = calls.architecture) -> int:
        return run_bpf(code, number=number, architecture=architecture)

    denied = [calls.socket, *calls.others, inside.X32_CALLS, inside.X32_CALLS + calls.socket]
    assert {verdict(number) for number in denied} == {inside.SECCOMP_DENY}
    assert {verdict(number) for number in (0, 1, 42, 199, 424, 426)} == {inside.SECCOMP_ALLOW}
    assert verdict(0, other.architecture) == inside.SECCOMP_DENY


def run_bpf(code: bytes, *, number: int, architecture: int) -> int:
    """The little of the kernel's machine that our programs use."""
    steps = list(struct.iter_unpack("=HBBI", code))
    at, value = 0, 0
    while True:
        operation, if_true, if_false, constant = steps[at]
        at += 1
        if operation == inside.BPF_RETURN:
            return int(constant)
        if operation == inside.BPF_LOAD:
            value = number if constant == inside.BPF_AT_NUMBER else architecture
        elif operation == inside.BPF_IF_EQUAL:
            at += if_true if value == constant else if_false
        else:
            at += if_true if value >= constant else if_false


@pytest.mark.parametrize("abi", range(1, inside.landlock_abi() + 1))
def test_older_versions_of_landlock_confine_as_well(tmp_path: Path, abi: int) -> None:
    script = textwrap.dedent(f"""
        from pathlib import Path
        from stateward.workers import child_main as child
        child.landlock_abi = lambda: {abi}
        child.prctl(child.PR_SET_NO_NEW_PRIVS, 1)
        child.restrict_files(Path("scratch"), may_connect=False)
        Path("scratch/fine").write_text("x")
        Path("/dev/null").write_text("x")
        Path("victim").read_text()
        for way in (Path("new").touch, Path("victim").unlink, Path("folder").mkdir,
                    lambda: Path("victim").write_text("x")):
            try:
                way()
            except PermissionError:
                print("denied")
    """)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "victim").write_text("precious")

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=with_path(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["denied"] * 4
    assert (tmp_path / "victim").read_text() == "precious"


# Time


def test_time_is_what_the_clock_says(seat: Seat) -> None:
    times = [0.0]
    seat.options = {"clock": lambda: times[-1]}
    child = seat.idle_child()
    child.start(an_order("bad.sleep", timeout_s=100.0))
    while child.layers is None:
        child.on_ready()
        time.sleep(0.01)

    assert child.deadline == sandbox.CHECK_S
    assert child.expire(1.0) is None
    assert child.deadline == 1.0 + sandbox.CHECK_S
    times.append(100.0)
    result = child.expire()

    assert isinstance(result, Failed)
    assert result.code == "TIMEOUT"
    assert child.expire() is None
    assert child.on_ready() is None
    assert child.filenos() == ()


def test_a_result_that_is_there_counts_even_after_the_deadline(seat: Seat) -> None:
    child = seat.idle_child()
    child.start(an_order("good.echo", timeout_s=30))
    while child.layers is None:
        child.on_ready()
        time.sleep(0.01)
    select.select([child.filenos()[0]], [], [], 10)
    time.sleep(0.1)

    result = child.expire(time.monotonic() + 1000)

    assert isinstance(result, Completed)


def with_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def printed_pid(child: Child) -> int:
    attempt = child._attempt
    assert attempt is not None
    while "pid " not in attempt.log.text():
        assert child.on_ready() is None
        time.sleep(0.01)
    return int(attempt.log.text().split("pid ")[1].split('"')[0])
