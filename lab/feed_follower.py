"""Systems that follow the change feed: each reads with its engine's own client and applies what it has not seen.

They share no code with what sends the feed. A position is what the engine gives, so that a follower that died can go on
from where it had saved its state, and sees some events again.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

Known = dict[str, tuple[int, str]]
"""By record, its version and status."""
Events = list[dict[str, Any]]
Position = bytes | int | dict[int, int] | None
"""The id of an entry, a number, or an offset for each partition; None: the beginning."""
Read = Callable[[Any], tuple[Events, Position]]
"""What came after a position, and the position after that."""

ANSWER_S = 5.0
PARTITIONS = 4  # of a topic that librdkafka's mock cluster makes
WRONG_MAX = 20


class Follower:
    """A system that applies the feed as its page says: an event counts if its version is above the known one."""

    def __init__(self, read: Read) -> None:
        self.known: Known = {}
        self.repeated = 0
        self.wrong: list[str] = []
        self._read = read
        self._position: Position = None
        self._saved: tuple[Known, Position] = ({}, None)

    def step(self) -> int:
        """Apply what came since the last step; how many events that were."""
        events, self._position = self._read(self._position)
        for each in events:
            self._apply(each["data"])
        return len(events)

    def _apply(self, data: Mapping[str, Any]) -> None:
        record_id, version = data["id"], data["version"]
        known = self.known.get(record_id, (-1, ""))[0]
        if version <= known:
            self.repeated += 1
            return
        if version > known + 1:
            self.wrong.append(f"{record_id}: version {version} came after {known}")
            del self.wrong[WRONG_MAX:]
        self.known[record_id] = (version, data["status"])

    def save(self) -> None:
        """Make durable what was applied, and the position with it."""
        self._saved = dict(self.known), self._position

    def die(self) -> None:
        """Go on from what was saved last, as after a crash."""
        known, self._position = self._saved
        self.known = dict(known)


def redis_reader(url: str, topic: str) -> Read:
    """A stream of Redis."""
    import redis

    def read(position: bytes | None) -> tuple[Events, Position]:
        client: Any = redis.Redis.from_url(url, socket_timeout=ANSWER_S)
        try:
            found = client.xrange(topic, min="-" if position is None else b"(" + position)
        except redis.RedisError as error:
            raise ConnectionError(str(error)) from error
        finally:
            client.close()
        events = [json.loads(entry[b"body"]) for _, entry in found]
        return events, found[-1][0] if found else position

    return read


def nats_reader(url: str, stream: str) -> Read:
    """A stream of JetStream, by number."""
    import nats
    from nats.js.errors import NotFoundError

    async def read(after: int) -> tuple[Events, int]:
        client = await nats.connect(url, allow_reconnect=False, connect_timeout=round(ANSWER_S))
        try:
            source = client.jetstream()
            last = (await source.stream_info(stream)).state.last_seq
            found = [await source.get_msg(stream, seq=each) for each in range(after + 1, last + 1)]
        except NotFoundError:  # nothing was sent yet
            return [], after
        finally:
            await client.close()
        return [json.loads(each.data or b"") for each in found], last

    def read_now(position: int | None) -> tuple[Events, Position]:
        try:
            return asyncio.run(read(position or 0))
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise ConnectionError(str(error)) from error

    return read_now


def kafka_reader(url: str, topic: str) -> Read:
    """A topic of Kafka, every partition to its end. The key of each message must be its record."""
    from confluent_kafka import Consumer, TopicPartition

    servers = url.removeprefix("kafka://").partition("?")[0]

    def read(position: dict[int, int] | None) -> tuple[Events, Position]:
        offsets = dict.fromkeys(range(PARTITIONS), 0) | (position or {})
        own = {"bootstrap.servers": servers, "group.id": "follower", "enable.partition.eof": True}
        consumer: Any = Consumer(own)
        consumer.assign([TopicPartition(topic, each, at) for each, at in offsets.items()])
        events, ended = Events(), 0
        try:
            while ended < PARTITIONS:
                message = consumer.poll(ANSWER_S)
                if message is None:
                    raise ConnectionError("the cluster does not answer")
                if message.error() is not None:
                    ended += 1
                    continue
                events.append(json.loads(message.value()))
                offsets[message.partition()] = message.offset() + 1
                if message.key().decode() != events[-1]["subject"]:
                    raise ValueError(f"the key of {events[-1]['id']} is not its record")
        finally:
            consumer.close()
        return events, offsets

    return read
