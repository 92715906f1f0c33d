"""One member of a consumer group of Kafka, with leases on single messages, which Kafka does not know.

A partition belongs to one member, and what it holds waits for that one. So leases are kept here: what is not extended
in time is delivered again, by this member or, once it has left the group, by the one that gets the partition:

- A message that went out is settled when it is acknowledged. The position is committed when messages go out (so that
  each delivery is counted, whatever happens to this process) and shortly after they are settled.
- A member that is not heard from for a lease leaves the group. Its messages are delivered to others, and counted.
- A member that asks for nothing while messages wait in its partitions leaves the group, so that others get these; and
  when others join, it loses partitions. It is alive, so what it has stays its own: the message is settled in the log,
  and its lease goes on here. Should the process die after that, the coordinator sends the work again
  (docs/decisions/0026).

A thread polls, which moves partitions and keeps the membership. Only it uses the client of Kafka: one call of another
thread while it polls would block the process. So the others leave word here, and it looks for that every few
milliseconds.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from threading import Condition, Thread
from typing import Any

import msgspec
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_STORED,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from stateward.transport.engine import DELIVERED, Delivery, delivered_before
from stateward.transport.kafka_offsets import PartitionOffsets

ANSWER_S = 5.0  # a request that is not answered within this: the cluster is away
POLL_S = 0.02  # also how long a message that was settled is not committed
ASK_S = 1.0  # without being asked for messages that wait here, after which others may have them
HEADS_S = 0.2  # for the heads of other streams, once one of them has a message
AHEAD_MAX = 64  # messages of one partition that wait here
AHEAD_MIN = 16  # below it, more are fetched

Place = tuple[str, int]


class Token(msgspec.Struct, frozen=True, gc=False):
    """Where a message is."""

    topic: str
    partition: int
    offset: int


class _Message(msgspec.Struct, frozen=True, gc=False):
    """A message that was fetched. `at` is when it was published, by the clock of its publisher or its broker.

    `before` is how often it was delivered before it was given back and so published again.
    """

    offset: int
    at: int
    body: bytes
    before: int = 0


class _Leased(msgspec.Struct, gc=False):
    """A message that went out, when it comes back, and how often it went out."""

    message: _Message
    until: float
    count: int


class _Partition:
    """A partition that this member has."""

    def __init__(self, offsets: PartitionOffsets) -> None:
        self.offsets = offsets
        self.waiting: deque[_Message] = deque()
        self.leased: dict[int, _Leased] = {}
        self.is_at_end = False
        self.is_paused = False
        self.is_dirty = False

    @property
    def has_next(self) -> bool:
        """Whether a message can go out."""
        return bool(self.waiting) and not self.offsets.is_beyond_window(self.waiting[0].offset)


class _Demand(msgspec.Struct, kw_only=True, gc=False):
    """What a caller of `take` waits for; `found` when the thread has answered."""

    topics: frozenset[str]
    limit: int
    until: float
    heads_until: float
    found: list[Delivery] | None = None


class Member:
    """A member of one group; it reads the topics that it was asked for so far."""

    def __init__(
        self, config: Mapping[str, object], *, lease_s: float, log: logging.Logger
    ) -> None:
        self._lease_s = lease_s
        self._changed = Condition()  # held for everything below
        self._partitions: dict[Place, _Partition] = {}
        # Messages of partitions that are another member's by now.
        self._adopted: dict[Token, _Leased] = {}
        self._topics: frozenset[str] = frozenset()
        self._subscribed: frozenset[str] = frozenset()
        self._demand: _Demand | None = None
        self._is_wanted = False
        # Whether this member is alive and keeps what it has when it loses a partition.
        self._hands_over = True
        self._asked_at = self._heard_at = time.monotonic()
        self._is_closed = False
        self.error: KafkaError | None = None
        self._consumer: Any = Consumer({**config, "error_cb": self._note}, logger=log)
        self._thread = Thread(target=self._run, name="kafka", daemon=True)
        self._thread.start()

    # For the engine; `take` is called by one thread at a time

    def take(self, topics: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease up to `limit` messages of each topic, the oldest first; none after `wait_s`."""
        now = time.monotonic()
        with self._changed:
            self._asked_at = self._heard_at = now
            self._topics |= frozenset(topics)
            self._is_wanted = self._hands_over = True
            if wait_s <= 0 and not self._has_next(topics):
                return []
            demand = self._demand = _Demand(
                topics=frozenset(topics), limit=limit, until=now + wait_s, heads_until=now + wait_s
            )
            self._wait(lambda: demand.found is not None, demand.until + 2 * ANSWER_S)
            self._demand = None
            return demand.found or []

    def extend(self, tokens: Iterable[object]) -> None:
        """Start the leases again of what is still leased here."""
        with self._changed:
            self._begin_leases(tokens)

    def settle(self, tokens: Iterable[object]) -> None:
        """Messages are finished with; that is committed within a moment."""
        with self._changed:
            self._heard_at = time.monotonic()
            for each in tokens:
                if not isinstance(each, Token) or self._adopted.pop(each, None) is not None:
                    continue
                if (own := self._partitions.get((each.topic, each.partition))) is not None:
                    own.leased.pop(each.offset, None)
                    own.offsets.settle(each.offset)
                    own.is_dirty = True

    def leave(self) -> None:
        """Give all partitions to others; what went out and is not settled stays here."""
        with self._changed:
            self._is_wanted = False
            self._wait(lambda: not self._subscribed, time.monotonic() + ANSWER_S)
            self._wait(lambda: not self._partitions, time.monotonic() + ANSWER_S)

    def close(self) -> None:
        """Leave the group; what went out and is not settled goes to others."""
        with self._changed:
            self._hands_over = False
            self._is_closed = True
        self._thread.join(3 * ANSWER_S)

    # The thread

    def _run(self) -> None:
        while not self._is_closed:
            self._watch()
            self._follow()
            self._commit()
            self._throttle()
            if (message := self._consumer.poll(POLL_S)) is not None:
                self._arrive(message)
            self._serve()
        self._commit()
        with suppress(KafkaException, RuntimeError):
            self._consumer.close()

    def _follow(self) -> None:
        """Be in the group, for the topics that were asked for, or not."""
        with self._changed:
            wanted = self._topics if self._is_wanted else frozenset()
            if wanted == self._subscribed:
                return
            is_handing_over = not wanted and self._hands_over
        # While others join, a broker may refuse: then it leaves when they have.
        if is_handing_over and not self._hand_over():
            return
        with self._changed:
            self._subscribed = wanted
            self._changed.notify_all()
        if wanted:
            self._consumer.subscribe(
                sorted(wanted),
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._lost,
            )
        else:
            self._consumer.unsubscribe()

    def _hand_over(self) -> bool:
        """Settle in the log what is out, for it stays here; whether the broker knows that."""
        with self._changed:
            self._adopt(list(self._partitions))
        return not self._commit()

    def _adopt(self, places: Iterable[Place]) -> None:
        """Settle what is out in partitions that go to another member: this one is alive and has it."""
        for place in places:
            state = self._partitions.get(place)
            if state is None or not state.leased:
                continue
            for offset, leased in state.leased.items():
                state.offsets.settle(offset)
                self._adopted[Token(*place, offset)] = leased
            state.leased.clear()
            state.is_dirty = True

    def _assigned(self, consumer: Any, places: list[TopicPartition]) -> None:  # noqa: ANN401
        """Partitions are this member's: go on where the one before it was, and with what it knew."""
        committed = self._committed(consumer, places)
        with self._changed:
            for each in committed:
                is_known = each.offset >= 0
                offsets = PartitionOffsets(each.offset, each.metadata) if is_known else None
                self._partitions[each.topic, each.partition] = _Partition(
                    offsets or PartitionOffsets()
                )
            self._changed.notify_all()
        consumer.incremental_assign(
            [
                # Its metadata is not wanted any more, and the client would commit it again.
                TopicPartition(each.topic, each.partition, _start(each.offset))
                for each in committed
            ]
        )

    def _committed(self, consumer: Any, places: list[TopicPartition]) -> list[TopicPartition]:  # noqa: ANN401
        for _ in range(3):
            with suppress(KafkaException):
                return list(consumer.committed(places, timeout=ANSWER_S))
        # From the position that the broker has, without what is known above it: some messages come twice.
        return [TopicPartition(each.topic, each.partition, OFFSET_STORED) for each in places]

    def _revoked(self, _: Any, places: list[TopicPartition]) -> None:  # noqa: ANN401
        """Partitions go to another member."""
        own = [(each.topic, each.partition) for each in places]
        with self._changed:
            if self._hands_over:
                self._adopt(own)
        self._commit()
        self._forget(own)

    def _lost(self, _: Any, places: list[TopicPartition]) -> None:  # noqa: ANN401
        """Partitions are another member's already: what is out may run there too, and one of both results counts."""
        self._forget([(each.topic, each.partition) for each in places])

    def _forget(self, places: Iterable[Place]) -> None:
        with self._changed:
            for each in places:
                self._partitions.pop(each, None)
            self._changed.notify_all()

    def _watch(self) -> None:
        """Leases that ran out, a member that is not heard from or does not ask, and how much is fetched ahead."""
        now = time.monotonic()
        with self._changed:
            own = list(self._partitions.values())
            if self._demand is not None:  # a caller that waits is alive, however long it waits
                self._heard_at = now
            is_silent = now - self._heard_at > self._lease_s and any(each.leased for each in own)
            is_idle = now - self._asked_at > ASK_S and any(each.waiting for each in own)
            if not is_silent:
                for each in own:
                    self._take_back(each, now)
            if is_silent or is_idle:
                self._is_wanted = False
                self._hands_over = not is_silent

    def _take_back(self, own: _Partition, now: float) -> None:
        late = [each.message for each in own.leased.values() if each.until <= now]
        for message in sorted(late, key=lambda each: each.offset, reverse=True):
            del own.leased[message.offset]
            own.waiting.appendleft(message)
        if late:
            self._changed.notify_all()

    def _throttle(self) -> None:
        with self._changed:
            pause = [
                place
                for place, each in self._partitions.items()
                if not each.is_paused and len(each.waiting) >= AHEAD_MAX
            ]
            resume = [
                place
                for place, each in self._partitions.items()
                if each.is_paused and len(each.waiting) <= AHEAD_MIN
            ]
            for place in (*pause, *resume):
                self._partitions[place].is_paused ^= True
        with suppress(KafkaException):  # a partition that is gone meanwhile
            if pause:
                self._consumer.pause([TopicPartition(*each) for each in pause])
            if resume:
                self._consumer.resume([TopicPartition(*each) for each in resume])

    def _arrive(self, message: Any) -> None:  # noqa: ANN401 - of the library, which has no types
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            self._note(error)
            return
        with self._changed:
            own = self._partitions.get((message.topic(), message.partition()))
            if own is None:
                return
            own.is_at_end = error is not None
            if error is None:
                self.error = None
                if own.offsets.arrive(message.offset()):
                    _, at = message.timestamp()
                    before = delivered_before(dict(message.headers() or ()).get(DELIVERED))
                    own.waiting.append(
                        _Message(message.offset(), at, message.value() or b"", before)
                    )
            self._changed.notify_all()

    def _note(self, error: KafkaError) -> None:
        """Something is wrong with the connection; the engine looks whether it still is."""
        self.error = error

    def _serve(self) -> None:
        """Answer a demand: when there is a message, and the heads of the other streams are known or late."""
        now = time.monotonic()
        with self._changed:
            demand = self._demand
            if demand is None or demand.found is not None:
                return
            if not self._has_next(demand.topics):
                if now >= demand.until:
                    demand.found = []
                    self._changed.notify_all()
                return
            demand.heads_until = min(demand.heads_until, now + HEADS_S)
            if now < demand.heads_until and not all(
                each.waiting or each.is_at_end for each in self._of(demand.topics)
            ):
                return
            found = [each for topic in demand.topics for each in self._lease(topic, demand.limit)]
        # Before anything is done with them, so that each delivery counts. What cannot be committed does not go out: the
        # broker is away, or this member lost its partition and has not heard of it yet.
        refused = self._commit()
        with self._changed:
            found = [each for each in found if not self._is_refused(each.token, refused)]
            if found or now >= demand.until:
                # The broker may have taken longer than a lease to note that they go out.
                self._begin_leases(each.token for each in found)
                demand.found = found
                self._changed.notify_all()

    def _is_refused(self, token: object, refused: AbstractSet[Place]) -> bool:
        """Whether a message that was about to go out stays here, as if it had never been leased."""
        if not isinstance(token, Token) or (token.topic, token.partition) not in refused:
            return False
        own = self._partitions.get((token.topic, token.partition))
        leased = None if own is None else own.leased.pop(token.offset, None)
        if own is None or leased is None:
            return False  # an adopted one
        own.offsets.withhold(token.offset)
        own.waiting.append(leased.message)
        own.waiting = deque(sorted(own.waiting, key=lambda each: each.offset))
        return True

    # Leases and positions; `_changed` is held, but for `_commit`

    def _wait(self, is_true: Callable[[], bool], until: float) -> None:
        while not is_true() and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)

    def _of(self, topics: Iterable[str]) -> Iterator[_Partition]:
        wanted = set(topics)
        return (each for (topic, _), each in self._partitions.items() if topic in wanted)

    def _has_next(self, topics: Iterable[str]) -> bool:
        return any(each.has_next for each in self._of(topics)) or any(
            True for topic in topics for _ in self._late(topic)
        )

    def _late(self, topic: str) -> Iterator[tuple[Token, _Leased]]:
        """Adopted messages whose lease ran out."""
        now = time.monotonic()
        return (
            (token, each)
            for token, each in self._adopted.items()
            if token.topic == topic and each.until <= now
        )

    def _lease(self, topic: str, limit: int) -> Iterator[Delivery]:
        """The oldest messages over all partitions of a topic."""
        until = time.monotonic() + self._lease_s
        late = list(self._late(topic))[:limit]
        for token, each in late:
            each.until, each.count = until, each.count + 1
            yield Delivery(topic, token, each.message.body, each.count)
        for _ in range(limit - len(late)):
            ready = [
                (own.waiting[0].at, number, own)
                for (name, number), own in self._partitions.items()
                if name == topic and own.has_next
            ]
            if not ready:
                return
            _, number, own = min(ready, key=lambda found: found[:2])
            message = own.waiting.popleft()
            count = message.before + own.offsets.deliver(message.offset)
            own.leased[message.offset] = _Leased(message, until, count)
            own.is_dirty = True
            yield Delivery(topic, Token(topic, number, message.offset), message.body, count)

    def _begin_leases(self, tokens: Iterable[object]) -> None:
        self._heard_at = time.monotonic()
        for token in tokens:
            if (leased := self._find_lease(token)) is not None:
                leased.until = self._heard_at + self._lease_s

    def _find_lease(self, token: object) -> _Leased | None:
        if not isinstance(token, Token):
            return None
        own = self._partitions.get((token.topic, token.partition))
        found = None if own is None else own.leased.get(token.offset)
        return found or self._adopted.get(token)

    def _positions(self, places: Iterable[Place]) -> list[TopicPartition]:
        found: list[TopicPartition] = []
        for place in places:
            own = self._partitions.get(place)
            if own is not None and own.is_dirty and own.offsets.position is not None:
                own.is_dirty = False
                found.append(TopicPartition(*place, own.offsets.position, own.offsets.metadata()))
        return found

    def _commit(self) -> AbstractSet[Place]:
        """Tell the broker what has changed; the partitions of which it does not know now.

        They are tried again with the next poll: a second delivery at worst.
        """
        with self._changed:
            positions = self._positions(list(self._partitions))
        if not positions:
            return frozenset()
        try:
            answers = self._consumer.commit(offsets=positions, asynchronous=False)
            refused = [each for each in answers if each.error is not None]
        except KafkaException:
            refused = positions
        with self._changed:
            for each in refused:
                if (own := self._partitions.get((each.topic, each.partition))) is not None:
                    own.is_dirty = True
        return {(each.topic, each.partition) for each in refused}


def _start(offset: int) -> int:
    """Where to read from: a position that was committed, or else the oldest message."""
    return offset if offset >= 0 or offset == OFFSET_STORED else OFFSET_BEGINNING
