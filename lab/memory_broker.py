"""Streams in the memory of one process: for tests and the simulation, where faults are put between it and its users."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition

import msgspec

from stateward.transport.engine import DEAD_LETTERS_MAX, DEPTH_MAX, Buried, Delivery, Parcel, full

BYTES_MAX = 1024 * 1024


class _Entry(msgspec.Struct, kw_only=True):
    body: bytes
    key: str
    count: int = 0
    consumer: str | None = None
    leased_until: float = 0.0


class MemoryBroker:
    """What several engines of one process share: the streams."""

    def __init__(self, *, ticks: Callable[[], float] = time.monotonic) -> None:
        self.ticks = ticks
        self.streams: dict[str, dict[int, _Entry]] = {}
        self.dead: dict[str, deque[Buried]] = {}
        self.buried = 0
        self.told: dict[str, list[bytes]] = {}
        self.changed = Condition()
        self._last = 0

    def append(self, stream: str, parcel: Parcel) -> None:
        """Add a message to a stream; `changed` must be held."""
        self._last += 1
        entries = self.streams.setdefault(stream, {})
        entries[self._last] = _Entry(body=parcel.body, key=parcel.key)

    def flush(self) -> None:
        """Lose everything, as a broker does that loses its disk."""
        with self.changed:
            self.streams.clear()


class MemoryEngine:
    """One consumer of a broker in memory."""

    bytes_max = BYTES_MAX
    losses = 0

    def __init__(
        self, broker: MemoryBroker, *, consumer: str, lease_s: float, depth_max: int = DEPTH_MAX
    ) -> None:
        self._broker = broker
        self._consumer = consumer
        self._lease_s = lease_s
        self._depth_max = depth_max
        self._heard: dict[str, int] = {}

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages."""
        with self._broker.changed:
            if len(self._broker.streams.get(stream, ())) + len(parcels) > self._depth_max:
                raise full(stream, self._depth_max)
            for each in parcels:
                self._broker.append(stream, each)
            self._broker.changed.notify_all()

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease messages whose lease is over, or that have none."""
        until = time.monotonic() + wait_s
        with self._broker.changed:
            while not (found := self._lease(streams, limit)):
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._broker.changed.wait(min(left, self._lease_s / 4))
            return found

    def _lease(self, streams: Sequence[str], limit: int) -> list[Delivery]:
        now = self._broker.ticks()
        found: list[Delivery] = []
        for stream in streams:
            free = [
                (token, each)
                for token, each in self._broker.streams.get(stream, {}).items()
                if each.leased_until <= now
            ]
            for token, each in free[:limit]:
                each.count += 1
                each.consumer, each.leased_until = self._consumer, now + self._lease_s
                found.append(Delivery(stream, token, each.body, each.count))
        return found

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        """Start the leases again that are still this consumer's."""
        with self._broker.changed:
            for entry in self._own(deliveries):
                entry.leased_until = self._broker.ticks() + self._lease_s

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Remove messages."""
        with self._broker.changed:
            for each in deliveries:
                self._broker.streams.get(each.stream, {}).pop(each.token, None)  # type: ignore[call-overload]

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """End the leases; what was not begun does not count as delivered."""
        with self._broker.changed:
            for entry in self._own(deliveries):
                entry.count, entry.consumer, entry.leased_until = entry.count - 1, None, 0.0
            self._broker.changed.notify_all()

    def _own(self, deliveries: Sequence[Delivery]) -> list[_Entry]:
        entries = [
            self._broker.streams.get(each.stream, {}).get(each.token)  # type: ignore[call-overload]
            for each in deliveries
        ]
        return [each for each in entries if each is not None and each.consumer == self._consumer]

    def give_back(self) -> None:
        """None is open, as for `drain`."""

    def drain(self) -> None:
        """A request is answered before `receive` returns: none is open."""

    def bury(self, stream: str, parcel: Parcel) -> None:
        """Append a dead letter."""
        with self._broker.changed:
            dead = self._broker.dead.setdefault(stream, deque(maxlen=DEAD_LETTERS_MAX))
            self._broker.buried += 1
            dead.append(Buried(str(self._broker.buried), parcel.body))

    def buried(self, stream: str, *, limit: int) -> list[Buried]:
        """The newest dead letters."""
        return list(self._broker.dead.get(stream, ()))[-limit:]

    def unbury(self, stream: str, ids: Sequence[str]) -> None:
        """Remove dead letters."""
        with self._broker.changed:
            dead: deque[Buried] = self._broker.dead.get(stream, deque())
            for each in [each for each in dead if each.id in ids]:
                dead.remove(each)

    def broadcast(self, topic: str, body: bytes) -> None:
        """Tell all that listen."""
        with self._broker.changed:
            self._broker.told.setdefault(topic, []).append(body)

    def broadcasts(self, topic: str) -> list[bytes]:
        """What was told since the last call."""
        with self._broker.changed:
            told = self._broker.told.get(topic, [])
            heard = self._heard.get(topic, len(told))
            self._heard[topic] = len(told)
            return told[heard:]

    def depth(self, stream: str) -> int:
        """How many messages a stream has."""
        return len(self._broker.streams.get(stream, ()))

    def close(self) -> None:
        """Nothing is open."""
