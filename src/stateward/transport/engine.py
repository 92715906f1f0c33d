"""The interface to an engine that carries messages: Redis, NATS or Kafka, each in a module of its own.

An engine keeps bytes in named streams and leases them to consumers. All that is asked of it: what `publish` returned
for is delivered at least once, to one consumer at a time while that one is heard from. Order, exactly-once delivery
and survival of a lost disk are not asked for: the version of a record in the store fences off what comes twice or
too late, and a coordinator sends again what a stream has lost (docs/decisions/0026).

Every implementation passes the suite in tests/transport/test_conformance.py.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

import msgspec

from stateward.core.errors import TransportFull, TransportUnreachable

GROUP = "stateward"  # the one group of consumers of each stream
# Messages of one stream that are not settled yet: a publisher has to wait beyond it.
DEPTH_MAX = 10_000
# A request that is not answered within this: the server is away.
ANSWER_S_MIN, ANSWER_S_MAX = 2.0, 5.0
# The oldest are dropped: they are for people to read, not for programs to work off.
DEAD_LETTERS_MAX = 10_000
# What a message that was published again is given with it, where it was delivered before: how often.
DELIVERED = "stateward-delivered"
DIGITS_MAX = 6


class Parcel(msgspec.Struct, frozen=True, gc=False):
    """A message to publish. `key` is its record: an engine with partitions keeps those of one record together."""

    key: str
    body: bytes


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message that is leased to this consumer. `token` identifies it to its engine, and to nothing else.

    `count` is how often it was delivered, this time included, as far as the engine knows.
    """

    stream: str
    token: object
    body: bytes
    count: int = 1


class Buried(msgspec.Struct, frozen=True, gc=False):
    """A message of a stream of dead letters. `id` is what its engine calls it: decimal numbers, joined by `-`."""

    id: str
    body: bytes


class Engine(Protocol):
    """One connection to an engine, as one consumer. `receive` may be called by another thread than the rest."""

    losses: int
    """How often a stream that this consumer had used was found gone: its server has lost what it held."""

    @property
    def bytes_max(self) -> int:
        """The largest message that the engine takes."""

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages; on return the engine has acknowledged all of them.

        Raises `TransportFull` where the stream already has its most unsettled messages, and then a caller publishes
        all of them again later: some may have been taken.
        """

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease up to `limit` messages of each of these streams; none after `wait_s`.

        Those of a consumer that was not heard from for a lease come first.
        """

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        """Start the leases of these messages again: they are still being worked on."""

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Remove messages for good. One that another consumer has meanwhile, or that is gone, is no error."""

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Give messages back that were not begun, for another consumer to take at once.

        How often each was delivered before stays with it; the delivery that is given back does not count.
        """

    def give_back(self) -> None:
        """Give back what requests that are still open have brought. By the thread that calls `receive`."""

    def drain(self) -> None:
        """Give back what requests that are still open bring; `receive` is not called any more."""

    def bury(self, stream: str, parcel: Parcel) -> None:
        """Append a message to a stream of dead letters, which nothing consumes; the oldest give way."""

    def buried(self, stream: str, *, limit: int) -> list[Buried]:
        """The newest messages of a stream of dead letters, oldest first."""

    def unbury(self, stream: str, ids: Sequence[str]) -> None:
        """Take messages out of a stream of dead letters for good; what is not there is no error."""

    def broadcast(self, topic: str, body: bytes) -> None:
        """Tell all that listen now; it is not stored, and may be missed: nothing may depend on it."""

    def broadcasts(self, topic: str) -> list[bytes]:
        """What was told since the last call; the first call begins to listen. By the thread that calls `receive`."""

    def depth(self, stream: str) -> int:
        """How many messages of a stream are not settled: waiting, or leased."""

    def close(self) -> None:
        """Let go of the connection. What is leased stays leased until its time is up."""


@runtime_checkable
class AskedEngine(Engine, Protocol):
    """An engine that sends messages to a descriptor once it was asked for them, so that no thread waits for them.

    By the thread that calls `receive`.
    """

    def ask(self, streams: Sequence[str], *, limit: int) -> bool:
        """Have up to `limit` messages of each of these streams sent when they come; whether `collect` has some now.

        Does nothing while that is under way.
        """

    def fileno(self) -> int:
        """What becomes readable when something comes that was asked for; -1 while there is nothing to watch."""

    def collect(self, streams: Sequence[str], *, limit: int) -> list[Delivery]:
        """What came of what was asked for; it does not wait for more."""


def answer_s(lease_s: float) -> float:
    """How long a request is waited for. Well within a lease: who waits for a server that is away sends no heartbeat."""
    return max(ANSWER_S_MIN, min(ANSWER_S_MAX, lease_s / 3))


def delivered_before(header: str | bytes | None) -> int:
    """How often a message was delivered before it was published again, as it says itself; 0 where that is no number."""
    return (
        int(header) if header is not None and header.isdigit() and len(header) <= DIGITS_MAX else 0
    )


def masked_url(url: str) -> str:
    """A URL as messages may show it, without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# What brokers say, in lower case, and what a person does then; the first that fits counts.
_WAYS_ON = (
    (
        ("certificate", "no tls with", "ssl"),
        "check the certificate: the host in the URL must be one of its names, and its authority must be known here",
    ),
    (("permission", "noperm", "not authorized for", "topic authorization"), "give this user the rights it needs there"),
    (
        ("password", "authorization violation", "authentication", "credential", "nkey", "wrongpass", "sasl"),
        "correct user and password in the URL",
    ),
    (
        ("maxmemory", "no space", "insufficient", "resources exceeded", "misconf", "maximum bytes", "storage"),
        "free space on the broker: its memory or disk is full, or its limit too low",
    ),
)  # fmt: skip


def unreachable(url: str, error: BaseException) -> TransportUnreachable:
    """What is raised where the server of a URL does not answer, or does not do what is asked."""
    reason = str(error).rstrip(".") or "no answer"
    return TransportUnreachable(
        f"the transport at {masked_url(url)} cannot be reached: {reason}; {way_on(url, reason)}"
    )


def way_on(url: str, reason: str) -> str:
    """What a person does about what a broker, or the way to it, says."""
    said = reason.lower()
    for words, advice in _WAYS_ON:
        if any(each in said for each in words):
            return f"{advice} (transport.url)"
    if url.startswith(("rediss:", "tls:")):
        return "see whether it runs, and speaks TLS at that port (transport.url)"
    return "see whether it runs at that address (transport.url)"


def full(stream: str, depth_max: int) -> TransportFull:
    """What is raised where a stream takes no more."""
    return TransportFull(
        f"{stream} holds its most unsettled messages, {depth_max}: its consumers are behind"
    )
