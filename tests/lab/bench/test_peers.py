"""How peers are measured, shown on stand-ins: the real ones are not installed where tests run."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from lab.bench import peers
from lab.bench.peers import Waits
from stateward.testing.bench.jobs import WARM_UP, Job

pytestmark = pytest.mark.long  # whole measurements; the command itself is called in tests/cli


class Pipeline:
    """What Huey makes of a task with arguments."""

    def __init__(self, function: Callable[[str], str | None], key: str) -> None:
        self.functions = [function]
        self.key = key

    def then(self, task: Any) -> "Pipeline":  # noqa: ANN401 - a stand-in
        self.functions.append(task.function)
        return self


class Huey:
    """One thread that runs what is enqueued."""

    def __init__(self, name: str, *, filename: str, fsync: bool) -> None:
        assert fsync
        self.queue: Queue[Pipeline | None] = Queue()
        self.ran = 0

    def task(self) -> Callable[[Callable[[str], str | None]], SimpleNamespace]:
        return lambda function: SimpleNamespace(
            function=function, s=lambda key: Pipeline(function, key)
        )

    def enqueue(self, pipeline: Pipeline) -> None:
        self.queue.put(pipeline)

    def create_consumer(self, **_: object) -> threading.Thread:
        return threading.Thread(target=self._consume, daemon=True)

    def _consume(self) -> None:
        while (pipeline := self.queue.get()) is not None:
            for function in pipeline.functions:
                function(pipeline.key)
                self.ran += 1


class Dbos:
    """Runs a workflow in the thread that asks for its result."""

    ran = 0

    def __init__(self, *, config: dict[str, str]) -> None:
        assert config["system_database_url"].startswith("sqlite:///")

    @staticmethod
    def step() -> Callable[[Callable[[str], object]], Callable[[str], object]]:
        return lambda function: function

    @staticmethod
    def workflow(*, name: str) -> Callable[[Callable[[str], None]], Callable[[str], None]]:
        return lambda function: function

    @staticmethod
    def launch() -> None:
        pass

    @classmethod
    def start_workflow(cls, flow: Callable[[str], None], key: str) -> SimpleNamespace:
        cls.ran += 1
        return SimpleNamespace(get_result=lambda: flow(key))


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> list[Huey]:
    """The stand-ins instead of the real ones; every Huey that was made."""
    made: list[Huey] = []

    def sqlite_huey(name: str, **how: Any) -> Huey:  # noqa: ANN401 - a stand-in
        made.append(Huey(name, **how))
        return made[-1]

    modules = {
        "huey": SimpleNamespace(SqliteHuey=sqlite_huey),
        "dbos": SimpleNamespace(DBOS=Dbos),
    }
    monkeypatch.setattr(peers, "import_module", modules.__getitem__)
    monkeypatch.setattr(peers, "version", lambda _: "1.2.3")
    monkeypatch.setattr(logging, "disable", lambda _: None)
    monkeypatch.setattr(Dbos, "ran", 0)
    return made


@pytest.mark.parametrize("mode", ["burst", "idle"])
def test_huey_runs_both_stages_of_every_record(
    mode: str, tmp_path: Path, stand_ins: list[Huey]
) -> None:
    found = peers.measure(Job("Huey", "sqlite", mode, 30, str(tmp_path)))

    (huey,) = stand_ins
    assert huey.ran == 2 * (30 + WARM_UP)
    assert (found.records, found.version) == (30, "1.2.3")
    assert "synchronous FULL" in found.durability
    huey.queue.put(None)


@pytest.mark.parametrize("mode", ["burst", "idle"])
def test_dbos_runs_a_workflow_for_every_record(mode: str, tmp_path: Path) -> None:
    found = peers.measure(Job("DBOS", "sqlite", mode, 30, str(tmp_path)))

    assert Dbos.ran == 30 + WARM_UP
    assert found.records == 30
    assert ("in flight" in found.note) == (mode == "burst")


def test_what_is_not_waited_for_is_not_counted() -> None:
    waits = Waits()
    waits.expect(["a"])

    waits.end("b")
    waits.end("a")
    waits.until_all()

    assert len(waits.seconds) == 1


def test_a_peer_that_loses_a_record_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "DONE_MAX_S", 0.01)
    waits = Waits()
    waits.expect(["a", "b"])
    waits.end("a")

    with pytest.raises(RuntimeError, match="only 1 of 2 were done"):
        waits.until_all()
