"""A worker that is told to end does so, also while its broker is away: what it could not send is done by another."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.brokers import nats_broker, nats_program, redis_broker, redis_program
from lab.kafka_mock import KafkaMock
from tests.transport.scene import Scene
from tests.waiting import WAIT_S_MAX

ASKING = Path(__file__).parent / "asking.py"


class Away(NamedTuple):
    """A broker, and what makes it go away and come back."""

    url: str
    leave: Callable[[], None]
    come_back: Callable[[], None]


# Over one engine in `make test`, over all in `make test-long`.
OTHERS = [
    pytest.param(each, marks=pytest.mark.long)
    for each in ("redis-silent", "nats-refuses", "nats-silent", "kafka-refuses")
]


@pytest.fixture(params=["redis-refuses", *OTHERS])
def broker(request: pytest.FixtureRequest) -> Iterator[Away]:
    name, _, how = request.param.partition("-")
    if name == "kafka":
        with KafkaMock() as mock:
            yield Away(mock.url, mock.stop, mock.go_on)
        return
    program, start = {"redis": (redis_program, redis_broker), "nats": (nats_program, nats_broker)}[
        name
    ]
    if program() is None:
        pytest.skip(f"there is no {name}-server here")
    number = signal.SIGSTOP if how == "silent" else signal.SIGKILL
    with start() as own:
        yield Away(own.url, lambda: os.kill(own.pid, number), own.restart)


@contextmanager
def a_worker(scene: Scene) -> Iterator["subprocess.Popen[str]"]:
    """A worker without a database, in a process of its own."""
    scene.worker_settings("remote")
    config = scene.folder / "remote" / "config.yaml"
    environ = {each: value for each, value in os.environ.items() if "STORE" not in each}
    command = [sys.executable, "-m", "stateward", "--config", str(config), "worker"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as own:
        try:
            yield own
        finally:
            own.kill()


def test_a_worker_ends_without_its_broker_and_another_does_the_work_again(
    broker: Away, tmp_path: Path
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as answering,
        closing(Scene(broker.url, tmp_path, "e", text=f"pipelines: ['{ASKING}']\n")) as scene,
    ):
        answering.setblocking(False)
        with a_worker(scene) as told:
            port = str(answering.getsockname()[1])
            record = scene.app.submit(port.encode(), machine="asking").record
            first = _asker(scene, answering)
            broker.leave()
            told.send_signal(signal.SIGTERM)
            with first:
                first.sendall(b"of the first")
            _, said = told.communicate(timeout=WAIT_S_MAX)

        assert told.returncode == 0
        assert "ending with results that could not be sent: 1;" in said

        broker.come_back()
        scene.add_worker()
        with _asker(scene, answering) as second:
            second.sendall(b"of the second")
        assert scene.finish(record.id) == "done"
        assert list(scene.app.items(record.id)) == [{"answer": "of the second"}]


def _asker(scene: Scene, answering: socket.socket) -> socket.socket:
    """The connection of the attempt that asks next."""
    found: list[socket.socket] = []

    def has_come() -> bool:
        try:
            found.append(answering.accept()[0])
        except BlockingIOError:
            return False
        return True

    scene.until(has_come)
    return found[0]
