"""The engines that the suites run over, each with a real server; one that cannot be had is skipped with the reason."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from lab.brokers import nats_broker, nats_program, redis_broker, redis_program
from lab.kafka_mock import KafkaMock
from lab.memory_broker import MemoryBroker, MemoryEngine
from stateward.transport.connect import connect
from stateward.transport.engine import Engine

LEASE_S = 0.5
ENGINES = ("memory", "redis", "nats", "kafka")


class Site:
    """One server and the engines that a test opens on it; the names of its streams are its own."""

    def __init__(self, open_engine: Callable[[str, float, int], Engine], *, url: str = "") -> None:
        self._open = open_engine
        self.url = url
        self.prefix = f"t{uuid.uuid4().hex[:12]}"
        self._engines: list[Engine] = []

    def engine(
        self, consumer: str = "one", *, lease_s: float = LEASE_S, depth_max: int = 100
    ) -> Engine:
        self._engines.append(self._open(consumer, lease_s, depth_max))
        return self._engines[-1]

    def stream(self, name: str = "s") -> str:
        return f"{self.prefix}.test.{name}"

    def close(self) -> None:
        while self._engines:
            self._engines.pop().close()


@contextmanager
def server_of(name: str) -> Iterator[str]:
    """The URL of a server of this kind; skips the test where there is none.

    Of Kafka it is the mock cluster of librdkafka, unless TEST_KAFKA_BOOTSTRAP names the brokers of a real one.
    """
    if name == "kafka":
        with _kafka() as url:
            yield url
        return
    variable = f"TEST_{name.upper()}_URL"
    programs = {"redis": redis_program, "nats": nats_program}
    if named := os.environ.get(variable):
        yield named
    elif programs[name]() is None:
        pytest.skip(f"there is no {name}-server here, and {variable} names none")
    else:
        with (redis_broker if name == "redis" else nats_broker)() as broker:
            yield broker.url


@contextmanager
def _kafka() -> Iterator[str]:
    if named := os.environ.get("TEST_KAFKA_BOOTSTRAP"):
        yield f"kafka://{named}?partitions=4&replicas=1"
    else:
        with KafkaMock() as mock:
            yield mock.url


@contextmanager
def site_of(name: str) -> Iterator[Site]:
    with ExitStack() as stack:
        if name == "memory":
            broker = MemoryBroker()
            site = Site(
                lambda consumer, lease_s, depth_max: MemoryEngine(
                    broker, consumer=consumer, lease_s=lease_s, depth_max=depth_max
                )
            )
        else:
            url = stack.enter_context(server_of(name))
            site = Site(
                lambda consumer, lease_s, depth_max: connect(
                    url, consumer=consumer, lease_s=lease_s, depth_max=depth_max
                ),
                url=url,
            )
        stack.callback(site.close)
        yield site
