"""What the courier of a worker does with work that comes twice or late, and when there is none."""

import math
import sys
from pathlib import Path

import pytest

from lab.memory_broker import MemoryBroker, MemoryEngine
from stateward.app import App
from stateward.blobs import Folder
from stateward.core.errors import StatewardError
from stateward.core.model import Work
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.transport import Bus, WorkerInfo
from stateward.transport.channel import Channel, Received
from stateward.transport.messages import (
    STOP,
    WORK,
    Envelope,
    StopMessage,
    WorkMessage,
    encode,
)
from stateward.workers.courier import Courier, CourierConfig
from stateward.workers.remote_outputs import RemoteOutputs, Reporter
from tests.transport.scene import settings

URL = "redis://127.0.0.1:1"  # nothing is asked of it
STREAM = "stateward.work.m.s.normal"


class Handed:
    """Messages that were received at once."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def fileno(self) -> int:
        return -1

    def want(self, count: int) -> None: ...

    def wake_in(self) -> float:
        return math.inf

    def stop(self) -> None: ...

    def take(self, _: object = None) -> list[Received]:
        return self._channel.receive([STREAM], limit=10, wait_s=0.0)

    def take_told(self) -> list[Envelope]:
        return self._channel.broadcasts()


class Idle:
    """A worker that does nothing; how many rows of work there were each time its children were to begin."""

    info = WorkerInfo(
        id="w", host="", pid=1, life="", runners=(), slots=9, inline_slots=9, started_at=1, seen_at=1
    )  # fmt: skip
    returned = 0

    def __init__(self, database: SqliteDatabase) -> None:
        self._bus = Bus(database)
        self.rows: list[int] = []

    def accept(self, work: object) -> None: ...

    def tend(self) -> None:
        self.rows.append(len(self._bus.assigned_work("w", limit=10)))


def open_courier(channel: Channel, database: SqliteDatabase, worker: Idle, folder: Path) -> Courier:
    reporter = Reporter(channel, worker="w", prefix="stateward", clock=lambda: 1)
    return Courier(
        channel,
        Handed(channel),  # type: ignore[arg-type]
        CourierConfig(heartbeat_s=60.0, lease_s=180.0),
        database=database,
        outputs=RemoteOutputs(database, reporter, shared=None),
        reporter=reporter,
        artifacts=Folder(folder),
        worker=worker,
    )


def work_of(version: int) -> Envelope:
    work = Work(
        record_id="r", version=version, machine="m", stage="s", running="r", runner="m.s", worker="relay-1",
        created_at=0, rank=0, timeout_s=60.0,
    )  # fmt: skip
    return encode(WORK, WorkMessage(work=work), id_="1", source="/", subject="r", at=1)


def open_channel() -> Channel:
    return Channel(MemoryEngine(MemoryBroker(), consumer="w", lease_s=60.0), clock=lambda: 1)


def test_only_the_latest_attempt_at_a_record_is_worked_on(tmp_path: Path) -> None:
    channel, database = open_channel(), SqliteDatabase(MEMORY)
    courier = open_courier(channel, database, Idle(database), tmp_path)

    for version in (2, 4, 3):
        channel.publish(STREAM, [work_of(version)])
        courier.prepare()
        courier.flush()

    assert [each.version for each in Bus(database).assigned_work("w", limit=10)] == [4]
    assert channel.depth(STREAM) == 1  # the others are settled

    for delivery in (2, 1):  # of which the first is not what is here
        said = StopMessage(attempts=[("r", 4, delivery)])
        channel.broadcast(encode(STOP, said, id_="1", source="/", subject="", at=1))
        courier.prepare()
        courier.flush()
        left = [each.version for each in Bus(database).assigned_work("w", limit=10)]
        assert left == ([4] if delivery == 2 else [])

    assert channel.depth(STREAM) == 0
    database.close()


def test_a_child_begins_before_the_row_of_its_work_is_written(tmp_path: Path) -> None:
    channel, database = open_channel(), SqliteDatabase(MEMORY)
    worker = Idle(database)
    courier = open_courier(channel, database, worker, tmp_path)
    channel.publish(STREAM, [work_of(1)])

    courier.prepare()

    assert worker.rows == [0]
    assert [each.version for each in Bus(database).assigned_work("w", limit=10)] == [1]
    database.close()


def test_a_worker_without_the_client_of_its_bucket_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    bucket = settings(tmp_path, URL, "never", text="artifacts: s3://documents/x\n")

    with App(bucket, is_runner=True) as app, pytest.raises(StatewardError, match="'stateward"):
        app.node(is_coordinator=False)


def test_a_worker_may_start_before_the_folder_of_its_documents_is_made(tmp_path: Path) -> None:
    early = settings(tmp_path, URL, "early", transport=f", blobs: '{tmp_path}/not-yet'")

    with App(early, is_runner=True) as app, app.node(is_coordinator=False):
        assert not (tmp_path / "not-yet").exists()
