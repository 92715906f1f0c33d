"""A child process to give jobs to, and ways to look at what comes of them."""

import json
import os
import selectors
import sys
import time
from pathlib import Path
from typing import Any

from stateward.workers.child_attempt import JobOrder
from stateward.workers.sandbox import Child
from stateward.workers.sdk import Completed, Failed, Limits, Result
from stateward.workers.spawning import reap_children
from tests.waiting import wait_until

HOSTILE = str(Path(__file__).parent / "hostile.py")
HOSTILE_FILES = str(Path(__file__).parent / "hostile_files.py")
ESCAPING = str(Path(__file__).parent / "escaping.py")
NOW = 1_700_000_000_000_000
MIB = 1024 * 1024


class ChildSlot:
    """A slot for one child: spawns one when there is none, as a worker does."""

    def __init__(self, scratch_root: Path) -> None:
        self.scratch_root = scratch_root
        self.limits = Limits(memory_bytes=256 * MIB)
        self.imports: list[str] = [HOSTILE, HOSTILE_FILES, ESCAPING]
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
        reap_children()


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
    except (FileNotFoundError, ProcessLookupError):  # the second while it is read
        return False


def wait_until_dead(child: Child) -> None:
    wait_until(lambda: child.is_dead)


def wait_until_gone(pid: int) -> None:
    wait_until(lambda: not is_alive(pid))


def wait_for_log(child: Child, words: str) -> str:
    """The log of the job under way, once these words are in it."""
    attempt = child._attempt
    assert attempt is not None

    def is_said() -> bool:
        assert child.on_ready() is None
        return words in attempt.log.text()

    wait_until(is_said)
    return attempt.log.text()


def wait_until_loaded(child: Child) -> None:
    def is_loaded() -> bool:
        assert child.on_ready() is None
        return child.layers is not None

    wait_until(is_loaded)


def much_later() -> float:
    """A time at which every job is overdue, for `Child.expire`."""
    return time.monotonic() + 1000


def with_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
