"""Kafka: a stream is a topic, its consumers a group, its messages keyed by record.

Kafka has no lease on a single message, no count of deliveries and no way back into the log, so these are made here,
from positions with metadata (`kafka_offsets`) and from membership in the group (`kafka_member`). A message that is
released is published again. What is settled stays in the log until its topic's retention removes it.

The URL is `kafka://host:9092,host:9092?name=value`. Names with a dot are settings of librdkafka (`security.protocol`,
`sasl.password`, `group.instance.id`); `partitions` and `replicas` are those of topics that are made here.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from stateward.core.errors import InvalidRequest
from stateward.transport.engine import DELIVERED, Buried, Delivery, Parcel, full, unreachable
from stateward.transport.kafka_member import ANSWER_S, Member
from stateward.transport.kafka_offsets import settled_above

SCHEME = "kafka://"
BYTES_MAX = 1_000_000  # `message.max.bytes` of the client; brokers take a little more
OVERHEAD_BYTES = 4096  # key, headers and batch count towards it
PARTITIONS = 8  # more consumers than this cannot share a topic
REPLICAS = -1  # what the cluster has as its default
# What was settled is of no use, and holds documents; what waits for longer is sent again by the coordinator.
RETENTION_MS = 24 * 3600 * 1000
DEAD_RETENTION_MS = 30 * RETENTION_MS
SESSION_MIN_MS = 6000  # the least that brokers accept (`group.min.session.timeout.ms`)
HEARTBEAT_MAX_MS = 3000  # with the next one a member hears that another joins, which waits for that
DEPTH_FOR_S = 1.0  # how long a depth that was asked for counts, besides what was published since
BROADCASTS_MAX = 1000  # that are read in one step
BURIED_S = 10.0  # for reading dead letters
LOOKED_AT = 2  # times as many messages as are asked for: some are notes of what was taken out
DIGITS_MAX = 18  # of an offset

T = TypeVar("T")
Config = dict[str, str | int | float | bool]


def client_settings(url: str) -> dict[str, str]:
    """What a URL says to librdkafka."""
    brokers, _, query = url.removeprefix(SCHEME).partition("?")
    named = {name: value for name, value in parse_qsl(query) if "." in name}
    return {"bootstrap.servers": brokers, **named}


def silent_log(name: str) -> logging.Logger:
    """A log for librdkafka that goes nowhere: callers are told of failures, and its own lines would repeat them."""
    own = logging.getLogger(name)
    own.addHandler(logging.NullHandler())
    own.propagate = False
    return own


class KafkaEngine:
    """A consumer and publisher of Kafka topics."""

    def __init__(self, url: str, *, consumer: str, lease_s: float, depth_max: int) -> None:
        self._url = url
        self._lease_s = lease_s
        self._depth_max = depth_max
        self._topics: set[str] = set()
        self.losses = 0
        self._depths: dict[str, tuple[float, int]] = {}
        self._members: dict[str, Member] = {}
        self._readers: dict[str, Any] = {}
        self._opening = Lock()
        self._log = silent_log("stateward.transport.kafka")
        own = dict(parse_qsl(url.partition("?")[2]))
        self._partitions = _number(own, "partitions", PARTITIONS)
        self._replicas = _number(own, "replicas", REPLICAS)
        self._client: Config = {
            "client.id": consumer,
            "socket.timeout.ms": round(ANSWER_S * 1000),
            **client_settings(url),
        }
        self.bytes_max = int(str(self._client.get("message.max.bytes", BYTES_MAX))) - OVERHEAD_BYTES
        try:
            self._producer: Any = Producer(_producer(self._client), logger=self._log)
            self._admin: Any = AdminClient(_without(self._client, "group."), logger=self._log)
        except KafkaException as error:  # a setting of the URL that librdkafka does not know
            raise InvalidRequest(f"transport.url: {_reason(error)}") from error

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages, by the key of their record; all brokers in sync have them on return."""
        asked_at, depth = self._depths.get(stream, (0.0, 0))
        is_old = time.monotonic() - asked_at > DEPTH_FOR_S
        if is_old or depth + len(parcels) > self._depth_max:
            depth = self.depth(stream)
            asked_at = time.monotonic()
        if depth + len(parcels) > self._depth_max:
            raise full(stream, self._depth_max)
        self._answer(lambda: self._append(stream, parcels))
        self._depths[stream] = (asked_at, depth + len(parcels))

    def _append(
        self, stream: str, parcels: Sequence[Parcel], *, partition: int = -1, before: int = 0
    ) -> None:
        """Publish messages; `before`: how often they were delivered, of which the log has no other memory."""
        self._ensure([stream])
        failed: list[KafkaError] = []
        reported: list[None] = []

        def report(error: KafkaError | None, _: object) -> None:
            reported.append(None)
            if error is not None:
                failed.append(error)

        for each in parcels:
            self._producer.produce(
                stream, key=each.key.encode(), value=each.body, partition=partition,
                on_delivery=report, headers={DELIVERED: str(before)} if before else None,
            )  # fmt: skip
        self._producer.flush(ANSWER_S + 1)
        if failed:
            raise KafkaException(failed[0])
        if len(reported) < len(parcels):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease messages of the partitions that this consumer has, and become a consumer if it is none yet."""
        return self._answer(lambda: self._receive(streams, limit, min(wait_s, ANSWER_S / 2)))

    def _receive(self, streams: Sequence[str], limit: int, wait_s: float) -> list[Delivery]:
        member = self._member(streams)
        found = member.take(streams, limit=limit, wait_s=wait_s)
        if not found and member.error is not None:
            self._admin.list_topics(timeout=1.0)  # raises if it is still away
            member.error = None
        return found

    def _member(self, streams: Sequence[str]) -> Member:
        (group,) = {group_of(each) for each in streams}
        with self._opening:
            if group not in self._members:
                config = _consumer(self._client, group, self._lease_s)
                self._members[group] = Member(config, lease_s=self._lease_s, log=self._log)
            self._ensure(streams)
            return self._members[group]

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        for member, own in self._by_member(deliveries):
            member.extend(each.token for each in own)

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Settle messages; the position follows within a moment."""
        for member, own in self._by_member(deliveries):
            member.settle(each.token for each in own)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Publish messages again and settle them where they were: a log has no other way back."""
        for member, own in self._by_member(deliveries):
            for each in own:
                # Without a key: it may go to a partition of another consumer.
                again = Parcel("", each.body)
                self._answer(
                    lambda each=each, again=again: self._append(  # type: ignore[misc]
                        each.stream, [again], before=each.count - 1
                    )
                )
            member.settle(each.token for each in own)

    def give_back(self) -> None:
        """What waits in partitions is not leased yet."""

    def drain(self) -> None:
        """Leave the groups: what waits in the partitions is for others now."""
        for each in list(self._members.values()):
            each.leave()

    def bury(self, stream: str, parcel: Parcel) -> None:
        """Append a dead letter; all are in one partition, so that the newest are its last."""
        self._answer(lambda: self._append(stream, [parcel], partition=0))

    def buried(self, stream: str, *, limit: int) -> list[Buried]:
        """The newest dead letters, without those that `unbury` has named."""
        return self._answer(lambda: self._read_dead_letters(stream, limit))

    def unbury(self, stream: str, ids: Sequence[str]) -> None:
        """Append a note that names them: of a log no single message can be deleted, it goes with the log's oldest."""
        numbers = [int(each) for each in ids if each.isdecimal() and len(each) <= DIGITS_MAX]
        if numbers:
            note = Parcel("", msgspec.json.encode(_Unburied(unburied=numbers)))
            self._answer(lambda: self._append(stream, [note], partition=0))

    def _read_dead_letters(self, stream: str, limit: int) -> list[Buried]:
        if stream not in self._admin.list_topics(timeout=ANSWER_S).topics:
            return []
        reader = self._reader(stream)
        try:
            low, high = reader.get_watermark_offsets(
                TopicPartition(stream, 0), timeout=ANSWER_S, cached=False
            )
            first = max(low, high - LOOKED_AT * limit)
            reader.assign([TopicPartition(stream, 0, first)])
            found = _read(reader, high - first)
        finally:
            reader.close()
        gone: set[int] = set()
        letters: list[Buried] = []
        for number, body in found:
            note = _taken_out_by(body)
            gone.update(
                each for each in note if each < number
            )  # one never names what came after it
            if not note:
                letters.append(Buried(str(number), body))
        return [each for each in letters if int(each.id) not in gone][-limit:]

    def broadcast(self, topic: str, body: bytes) -> None:
        """Append to a topic that each reads for itself, from where it ends."""
        self._answer(lambda: self._append(topic, [Parcel("", body)], partition=0))

    def broadcasts(self, topic: str) -> list[bytes]:
        """What was appended since the last call."""
        return self._answer(lambda: self._receive_now(topic))

    def _receive_now(self, topic: str) -> list[bytes]:
        reader = self._readers.get(topic)
        if reader is None:
            self._ensure([topic])
            place = TopicPartition(topic, 0)
            end = self._offsets([place], OffsetSpec.latest())[0]  # type: ignore[no-untyped-call]
            reader = self._readers[topic] = self._reader(topic)
            reader.assign([TopicPartition(topic, 0, end)])
        found: list[bytes] = []
        while len(found) < BROADCASTS_MAX and (message := reader.poll(0)) is not None:
            if message.error() is None:
                found.append(message.value() or b"")
        return found

    def _reader(self, topic: str) -> Any:  # noqa: ANN401 - of the library, which has no types
        """A consumer of one topic that is in no group and commits nothing."""
        return Consumer(
            {**_without(self._client, "group."), "group.id": f"{topic}.reader",
             "enable.auto.commit": False},
            logger=self._log,
        )  # fmt: skip

    def depth(self, stream: str) -> int:
        """What is published beyond the positions of the group, and not settled."""
        return self._answer(lambda: self._depth(stream))

    def _depth(self, stream: str) -> int:
        found = self._admin.list_topics(timeout=ANSWER_S).topics.get(stream)
        if found is None or not found.partitions:
            if stream in self._topics:  # it was there: the cluster has lost it, or it was deleted
                self._topics.discard(stream)
                self.losses += 1
            return 0
        places = [TopicPartition(stream, number) for number in found.partitions]
        ends = self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        # Positions are asked for after the ends: what is settled in between must not count as less than nothing.
        (committed,) = self._admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group_of(stream), places)], request_timeout=ANSWER_S
        ).values()
        positions = {each.partition: each for each in committed.result().topic_partitions}
        unread = [each for each in places if positions[each.partition].offset < 0]
        starts = self._offsets(unread, OffsetSpec.earliest()) if unread else {}  # type: ignore[no-untyped-call]
        return sum(
            max(0, end - starts.get(number, positions[number].offset)
                - settled_above(positions[number].metadata))
            for number, end in ends.items()
        )  # fmt: skip

    def _offsets(self, places: Sequence[TopicPartition], spec: OffsetSpec) -> dict[int, int]:
        found = self._admin.list_offsets(dict.fromkeys(places, spec), request_timeout=ANSWER_S)
        return {place.partition: each.result().offset for place, each in found.items()}

    def close(self) -> None:
        """Leave the groups and close the connections."""
        for each in (*self._members.values(), *self._readers.values()):
            each.close()
        self._members.clear()
        self._readers.clear()
        if self._producer is not None:
            self._producer.flush(1)
        # Only the library's destructors end the threads of these two, which try to connect for as long as they live.
        self._producer = self._admin = None

    def _ensure(self, streams: Sequence[str]) -> None:
        """Make the topics that are missing. One that exists with other values is used as it is."""
        if self._topics.issuperset(streams):
            return
        there = self._admin.list_topics(timeout=ANSWER_S).topics
        missing = [each for each in streams if each not in there]
        if missing:
            self._create(missing)
        self._topics.update(streams)

    def _create(self, names: Sequence[str]) -> None:
        made = self._admin.create_topics(
            [self._new_topic(each) for each in names], request_timeout=ANSWER_S
        )
        for name, each in made.items():
            try:
                each.result()
            except KafkaException as error:
                code = error.args[0].code()
                if code == KafkaError._UNSUPPORTED_FEATURE:
                    # The mock cluster cannot: there a topic is made by asking for it.
                    self._producer.list_topics(name, timeout=ANSWER_S)
                elif code != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def _new_topic(self, name: str) -> NewTopic:
        is_dead = name.endswith(".dead")
        is_single = is_dead or name.endswith(".control")
        retention_ms = DEAD_RETENTION_MS if is_dead else RETENTION_MS
        return NewTopic(
            name,
            num_partitions=1 if is_single else self._partitions,
            replication_factor=self._replicas,
            config={"retention.ms": str(retention_ms), "cleanup.policy": "delete"},
        )

    def _by_member(self, deliveries: Sequence[Delivery]) -> list[tuple[Member, list[Delivery]]]:
        found: dict[str, list[Delivery]] = {}
        for each in deliveries:
            found.setdefault(group_of(each.stream), []).append(each)
        return [
            (self._members[group], own) for group, own in found.items() if group in self._members
        ]

    def _answer(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except (KafkaException, BufferError) as error:
            raise unreachable(self._url, Exception(_reason(error))) from error


def group_of(stream: str) -> str:
    """The group of a stream's consumers: the first two parts of its name, `stateward.work` or `stateward.results`.

    One for all work, because a worker reads the streams of all its stages with one membership; another for results,
    so that coordinators notice nothing of workers that come and go.
    """
    return ".".join(stream.split(".")[:2])


def _producer(client: Mapping[str, str | int | float | bool]) -> Config:
    return {
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 0,
        "message.timeout.ms": round(ANSWER_S * 1000),
        "partitioner": "murmur2_random",  # as Kafka's own client
        **_without(client, "group."),
    }


def _consumer(client: Mapping[str, str | int | float | bool], group: str, lease_s: float) -> Config:
    session_ms = max(SESSION_MIN_MS, round(lease_s * 1000))
    config: Config = {
        "group.id": group,
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": session_ms,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": False,
        **client,
    }
    session_ms = int(str(config["session.timeout.ms"]))
    config.setdefault("heartbeat.interval.ms", max(50, min(HEARTBEAT_MAX_MS, session_ms // 10)))
    config.setdefault("max.poll.interval.ms", max(300_000, session_ms))
    return config


def _without(client: Mapping[str, str | int | float | bool], *prefixes: str) -> Config:
    """Settings without those of consumers, of which other clients would complain."""
    own = (*prefixes, "session.", "heartbeat.", "fetch.", "max.poll.", "queued.")
    return {name: value for name, value in client.items() if not name.startswith(own)}


class _Unburied(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dead letters that were taken out, by offset."""

    unburied: list[int]


def _taken_out_by(body: bytes) -> list[int]:
    try:
        return msgspec.json.decode(body, type=_Unburied).unburied
    except msgspec.MsgspecError:
        return []


def _read(reader: Any, count: int) -> list[tuple[int, bytes]]:  # noqa: ANN401 - of the library, which has no types
    found: list[tuple[int, bytes]] = []
    until = time.monotonic() + BURIED_S
    while len(found) < count and time.monotonic() < until:
        message = reader.poll(0.5)
        if message is not None and message.error() is None:
            found.append((message.offset(), message.value() or b""))
    return found


def _number(own: Mapping[str, str], name: str, default: int) -> int:
    with suppress(ValueError):
        return int(own.get(name, default))
    raise InvalidRequest(f"transport.url: {name} must be a number")


def _reason(error: BaseException) -> str:
    cause = error.args[0] if error.args else error
    return str(cause.str()) if isinstance(cause, KafkaError) else str(cause)
