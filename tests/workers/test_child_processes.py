"""No process outlives the job or the worker that started it."""

import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest

from stateward.core.errors import DeclarationError
from stateward.definition.discovery import installed_plugins, plugins
from stateward.definition.plugin import Plugin
from stateward.engine.system import raise_open_files
from stateward.storage.pipe_wakeups import is_readable
from stateward.workers import processes, spawning
from stateward.workers.sandbox import Child
from stateward.workers.sdk import Failed, Limits
from tests.workers.children import (
    HOSTILE,
    ChildSlot,
    an_order,
    is_alive,
    much_later,
    only_item,
    said,
    wait_for_log,
    wait_until_dead,
    wait_until_gone,
    with_path,
)

SPARE_FILES = 256  # what a run has open beside those
SELECT_MAX = 1024  # descriptors that `select` can take


def test_a_forked_copy_that_comes_back_does_not_answer_twice(slot: ChildSlot) -> None:
    assert only_item(slot.completes("bad.fork_both_return")) == {"ok": True}


@pytest.mark.parametrize("runner", ["bad.fork", "bad.daemon"])
def test_no_process_outlives_its_job(slot: ChildSlot, runner: str) -> None:
    result = slot.completes(runner)

    wait_until_gone(only_item(result)["pid"])
    (warning,) = said(result, "warning")
    # The parent of a daemon may not have left yet when they are counted.
    assert re.fullmatch("the runner left [12] processes; they are killed", warning)
    assert len(slot.spawned) == 2


def test_a_daemon_does_not_outlive_a_job_that_exits(slot: ChildSlot) -> None:
    result = slot.fails("bad.daemon_and_exit")

    assert result.code == "RUNNER_EXITED"
    wait_until_gone(int(said(result, "output")[0].split()[1]))


def test_a_daemon_does_not_outlive_a_job_that_timed_out(slot: ChildSlot) -> None:
    child = slot.idle_child()
    child.start(an_order("bad.daemon_and_sleep"))
    pid = printed_pid(child)

    result = child.expire(much_later())

    assert isinstance(result, Failed)
    assert result.code == "TIMEOUT"
    wait_until_gone(pid)
    slot.works()


def test_a_process_that_flees_from_one_pid_to_the_next_is_caught(slot: ChildSlot) -> None:
    result = slot.completes("bad.rabbit")

    assert "they are killed" in said(result, "warning")[0]
    assert slot.spawned[0].is_dead


def test_dead_processes_that_were_not_reaped_do_no_harm(slot: ChildSlot) -> None:
    slot.completes("bad.zombies")

    assert len(slot.spawned) == 1


@pytest.mark.parametrize("runner", ["bad.fork_bomb", "bad.threads"])
def test_too_many_processes_end_the_job(slot: ChildSlot, runner: str) -> None:
    slot.limits = Limits(processes_max=20)

    # Such a bomb makes a busy machine slow: the limit counts here, not how soon it is reached.
    result = slot.fails(runner, timeout_s=240.0)

    assert result.code == "PROCESS_LIMIT"
    assert result.message.endswith("the limit is 20 (worker.processes_max)")


def test_cancelling_kills_the_job_and_what_it_started(slot: ChildSlot) -> None:
    child = slot.idle_child()
    child.start(an_order("bad.daemon_and_sleep"))
    pid = printed_pid(child)

    result = child.cancel()

    assert result is not None
    assert result.code == "CANCELLED"
    assert child.is_dead
    wait_until_gone(pid)
    assert child.cancel() is None
    slot.works()


def test_a_fork_server_that_is_killed_takes_its_children_along_and_is_replaced(
    slot: ChildSlot,
) -> None:
    slot.works()
    (first,) = slot.spawned

    os.kill(spawning.the_fork_server().pid, signal.SIGKILL)
    wait_until_dead(first)

    slot.works()
    assert len(slot.spawned) == 2
    assert processes.children_of(spawning.the_fork_server().pid) == [slot.spawned[1].pid]


PRELOADED = "stateward.pipelines.catalogs.parse"


def test_a_child_has_what_the_process_that_it_is_forked_from_has_loaded_for_it(
    slot: ChildSlot,
) -> None:
    spawning.the_fork_server().close()  # what it has loaded for other tests goes with it
    labels = {PRELOADED: "", "tests": ""}
    before = slot.completes("good.modules", labels=labels)
    slot.child = None
    slot.options["preload"] = [PRELOADED]

    after = slot.completes("good.modules", labels=labels)

    assert only_item(before) == {PRELOADED: False, "tests": False}
    assert only_item(after) == {PRELOADED: True, "tests": False}


def test_a_module_that_cannot_be_preloaded_keeps_no_child_from_working(slot: ChildSlot) -> None:
    slot.options["preload"] = ["stateward.pipelines.absent"]

    slot.works()


def test_what_is_preloaded_can_be_imported_and_starts_no_thread() -> None:
    names = [name for each in installed_plugins() for name in each.plugin.preload]
    code = (
        "import importlib, os, sys; [importlib.import_module(each) for each in sys.argv[1:]];"
        "print(len(os.listdir('/proc/self/task')), 'numpy' in sys.modules);"
        "from stateward.pipelines.contracts.rules import default_rules; print(default_rules.cache_info().currsize)"
    )

    told = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, check=True
    )

    # What NumPy draws at random would be the same in all that are forked from one process.
    # The rules of contracts take a child a second.
    assert told.stdout.split() == ["1", "False", "1"]


def test_only_pipelines_that_come_with_stateward_are_preloaded() -> None:
    foreign = Plugin(name="foreign", preload=("foreign.stages",))

    with pytest.raises(DeclarationError, match="has `preload`"):
        plugins(given=[foreign])


def test_children_die_with_their_worker(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(
        textwrap.dedent(f"""
            import time
            from pathlib import Path
            from stateward.workers.sdk import Limits
            from stateward.workers.child_attempt import JobOrder
            from stateward.workers.sandbox import Child

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

    wait_until_gone(daemon)
    wait_until_gone(supervisor)
    assert list((tmp_path / "scratch").iterdir()) == []


def printed_pid(child: Child) -> int:
    return int(wait_for_log(child, "pid ").split("pid ")[1].split('"')[0])


class Releases:
    """The part of a fork server that is told of the end of what it forked."""

    def __init__(self) -> None:
        self.pids: list[int] = []

    def release(self, pid: int) -> None:
        self.pids.append(pid)


def test_two_threads_that_wait_for_one_process_close_its_descriptor_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    server = Releases()
    forked = spawning.Forked(ended.pid, cast("spawning.ForkServer", server))
    answers = list[bool]()

    def meanwhile(descriptor: int, *, timeout_s: float) -> bool:
        found = is_readable(descriptor, timeout_s=timeout_s)
        if not answers:  # another thread, before this one has closed what it has seen
            answers.append(True)
            with ThreadPoolExecutor() as pool:
                answers[:] = [pool.submit(forked.wait, 0.0).result()]
        return found

    monkeypatch.setattr(spawning, "is_readable", meanwhile)

    assert forked.wait(60.0)
    assert answers == [False]
    assert forked.has_ended
    assert server.pids == [ended.pid]
    ended.wait()


def test_a_process_is_waited_for_where_a_thousand_files_are_open(slot: ChildSlot) -> None:
    raise_open_files()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < SELECT_MAX + SPARE_FILES:
        pytest.skip("this process may not open so many files, so that it cannot come to this")
    with ExitStack() as stack, Path(os.devnull).open("rb") as one:
        for _ in range(SELECT_MAX):
            stack.callback(os.close, os.dup(one.fileno()))
        slot.works()
        (child,) = slot.spawned

        child.close(wait_s=10)

        assert child.is_dead
