"""Where the change feed goes: Redis streams, NATS JetStream, Kafka. One small interface for the three.

`send` returns when the engine has acknowledged every message, and raises `TransportUnreachable` otherwise; the caller
then sends all of them again. What an engine may change is how often a message arrives, never the order of one record:
Redis takes a batch as one transaction; Kafka's producer is idempotent and the record is the key; to NATS no two
messages of one record are under way at the same time.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from stateward.core.errors import TransportUnreachable
from stateward.definition.section import mask_secrets
from stateward.extras import missing_extra

CONTENT_TYPE = "application/cloudevents+json"
BODY = "body"
STREAM = "stateward-feed"


class FeedMessage(msgspec.Struct, frozen=True):
    """One event: where it goes, the record that it belongs to, its id and its bytes."""

    topic: str
    key: str
    id: str
    body: bytes


class FeedTarget(Protocol):
    """An engine."""

    def send(self, messages: Sequence[FeedMessage]) -> None:
        """Publish in this order; durable at the engine's own terms when this returns."""

    def close(self) -> None:
        """Give the connection back."""


def open_target(
    url: str, *, timeout_s: float, length_max: int | None = None, subjects: str = "stateward.*"
) -> FeedTarget:
    """The engine that a URL names. `subjects` is for a stream of JetStream that must be made first."""
    scheme = urlsplit(url).scheme if not url.startswith("kafka://") else "kafka"
    try:
        if scheme in ("redis", "rediss"):
            return RedisTarget(url, timeout_s=timeout_s, length_max=length_max)
        if scheme in ("nats", "tls"):
            return NatsTarget(url, timeout_s=timeout_s, length_max=length_max, subjects=subjects)
        return KafkaTarget(url, timeout_s=timeout_s)
    except ImportError as error:
        raise (missing_extra(error) or error) from error


def _unreachable(url: str, error: object) -> TransportUnreachable:
    return TransportUnreachable(
        f"the change feed at {mask_secrets(url)} cannot be sent: {error or 'no answer'}"
    )


class RedisTarget:
    """Streams of Redis or Valkey: one entry for each event, with the fields `id`, `key` and `body`."""

    def __init__(self, url: str, *, timeout_s: float, length_max: int | None) -> None:
        import redis

        self._url = url
        self._length_max = length_max
        self._redis: Any = redis.Redis.from_url(
            url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s
        )

    def send(self, messages: Sequence[FeedMessage]) -> None:
        """All of them in one transaction: they appear together and in this order, or not at all."""
        from redis.exceptions import RedisError

        try:
            with self._redis.pipeline(transaction=True) as pipe:
                for each in messages:
                    entry = {"id": each.id, "key": each.key, BODY: each.body}
                    pipe.xadd(each.topic, entry, maxlen=self._length_max, approximate=True)
                pipe.execute()
        except (RedisError, OSError) as error:
            raise _unreachable(self._url, error) from error

    def close(self) -> None:
        self._redis.close()


class NatsTarget:
    """A stream of JetStream. The one that takes the subjects is used; if there is none, `stateward-feed` is made."""

    def __init__(
        self, url: str, *, timeout_s: float, length_max: int | None, subjects: str
    ) -> None:
        from stateward.transport.jetstream import JetStreamApi
        from stateward.transport.nats_login import parse_nats_url
        from stateward.transport.nats_wire import NatsWire

        own = parse_nats_url(url)
        self._url = url
        self._length_max = length_max
        self._subjects = subjects
        self._wire = NatsWire(own, name=STREAM, answer_s=timeout_s)
        self._api = JetStreamApi(self._wire, own)
        self._ready = 0

    def send(self, messages: Sequence[FeedMessage]) -> None:
        """In waves that hold each record once, each wave acknowledged before the next.

        Without `Nats-Msg-Id`: the server would drop what it has seen within two minutes, and answer that it has it, so
        that a replay of it would not arrive.
        """
        try:
            self._ensure_stream()
            for wave in waves(messages):
                refusal = self._api.publish(partial(_publications, wave))
                if refusal is not None:
                    raise _unreachable(self._url, refusal.description)
        except (OSError, msgspec.MsgspecError) as error:
            self._wire.close()  # the next batch begins with a new connection
            raise _unreachable(self._url, error) from error

    def _ensure_stream(self) -> None:
        """Once for each connection: the server of another one may have lost it."""
        if self._ready and self._ready == self._wire.connections:
            return
        found = self._api.ask("STREAM.NAMES", {"subject": self._subjects})
        if found is None or not found.streams:
            self._api.make_stream(STREAM, self._subjects, {"max_msgs": self._length_max or -1})
        self._ready = self._wire.connections

    def close(self) -> None:
        self._wire.close()


def _publications(messages: Sequence[FeedMessage], reply: str) -> list[bytes]:
    from stateward.transport.nats_wire import publication

    return [
        publication(each.topic, each.body, reply, {"Content-Type": CONTENT_TYPE})
        for each in messages
    ]


def waves(messages: Sequence[FeedMessage]) -> Iterator[list[FeedMessage]]:
    """The messages in groups of neighbours that hold no record twice, in the same order."""
    wave: list[FeedMessage] = []
    seen: set[str] = set()
    for each in messages:
        if each.key in seen:
            yield wave
            wave, seen = [], set()
        wave.append(each)
        seen.add(each.key)
    if wave:
        yield wave


class KafkaTarget:
    """Topics of Kafka, with the record as key: its events are in one partition, in their order."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        from confluent_kafka import Producer

        from stateward.transport.kafka import client_settings, silent_log

        self._url = url
        self._timeout_s = timeout_s
        self._producer: Any = Producer(
            {
                "enable.idempotence": True,  # a repetition within the producer neither doubles nor overtakes
                "acks": "all",
                "linger.ms": 5,
                "message.timeout.ms": round(timeout_s * 1000),
                **client_settings(url),
            },
            logger=silent_log("stateward.feed.kafka"),
        )

    def send(self, messages: Sequence[FeedMessage]) -> None:
        """Produce all of them, and wait for every delivery report."""
        from confluent_kafka import KafkaException

        failed: list[object] = []

        def report(error: object, _: object) -> None:
            if error is not None:
                failed.append(error)

        try:
            for each in messages:
                self._producer.produce(
                    each.topic,
                    key=each.key.encode(),
                    value=each.body,
                    headers={"content-type": CONTENT_TYPE, "ce_id": each.id},
                    on_delivery=report,
                )
            left = self._producer.flush(self._timeout_s + 1)
        except (KafkaException, BufferError) as error:
            failed.append(error)
            left = 0
        if failed or left:
            # What is still queued must not overtake the repetition.
            self._producer.purge()
            self._producer.flush(1)
            raise _unreachable(self._url, failed[0] if failed else "no delivery report in time")

    def close(self) -> None:
        """Nothing is queued between two batches."""
