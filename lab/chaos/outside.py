"""What processes reach besides their store: a broker for work and results, a bucket for documents, each through links.

Each process has a link of its own to the server, so that one can be cut off while others are well. The bucket keeps its
objects in memory and is never killed: that would be the loss of the documents, which nothing can recover from.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from random import Random
from unittest.mock import patch

import msgspec

from lab.brokers import Broker, nats_broker, nats_program, redis_broker, redis_program, s3_server
from lab.chaos.proxy import LOOPBACK, Link, Switchboard
from lab.s3 import ENVIRONMENT

REDIS, NATS = "redis", "nats"
BROKERS: dict[str, Callable[[], Broker]] = {REDIS: redis_broker, NATS: nats_broker}
PROGRAMS: dict[str, Callable[[], str | None]] = {REDIS: redis_program, NATS: nats_program}
BUCKET = "stateward-chaos"
REQUEST_S = 3.0  # of one request to the bucket, so that an outage is noticed within a round


class Outside(msgspec.Struct, kw_only=True):
    """The servers of one round. Links are by the name of the process."""

    broker: Broker | None = None
    bucket: Broker | None = None
    broker_links: dict[str, Link] = {}
    bucket_links: dict[str, Link] = {}

    def settings(self, name: str) -> Mapping[str, object]:
        """What the settings of a process say of them, by its own way."""
        found: dict[str, object] = {}
        if self.broker is not None:
            scheme = self.broker.url.partition(":")[0]
            port = self._port(self.broker_links, name, self.broker)
            found["transport"] = {"url": f"{scheme}://{LOOPBACK}:{port}"}
        if self.bucket is not None:
            port = self._port(self.bucket_links, name, self.bucket)
            found["artifacts"] = {
                "url": f"s3://{BUCKET}/documents",
                "endpoint": f"http://{LOOPBACK}:{port}",
                "timeout_seconds": REQUEST_S,
            }
        return found

    @staticmethod
    def _port(links: Mapping[str, Link], name: str, server: Broker) -> int:
        return links[name].port if name in links else server.port


@contextmanager
def surroundings(
    broker: str, *, has_bucket: bool, names: Sequence[str], seed: int
) -> Iterator[Outside]:
    """The servers that a fault asks for, with a link for each of these processes."""
    found = Outside()
    with ExitStack() as stack:
        if broker:
            found.broker = stack.enter_context(BROKERS[broker]())
            found.broker_links = _links(found.broker, names, seed, stack)
        if has_bucket:
            stack.enter_context(patch.dict(os.environ, ENVIRONMENT))
            found.bucket = stack.enter_context(s3_server())
            _make_bucket(found.bucket.url)
            found.bucket_links = _links(found.bucket, names, seed + 1, stack)
        yield found


def _links(server: Broker, names: Sequence[str], seed: int, stack: ExitStack) -> dict[str, Link]:
    board = stack.enter_context(Switchboard(server.port, rng=Random(seed)))
    return {name: board.link() for name in names}


def _make_bucket(endpoint: str) -> None:
    import boto3  # type: ignore[import-untyped]

    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=BUCKET)


def lacks(broker: str, *, has_bucket: bool) -> str:
    """Why the servers of a round cannot be started here, if so."""
    if broker and PROGRAMS[broker]() is None:
        return f"no {broker}-server is installed"
    return "moto is not installed" if has_bucket and find_spec("moto") is None else ""
