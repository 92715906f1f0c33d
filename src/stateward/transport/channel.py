"""What coordinators and workers use of an engine: messages instead of bytes, by rank, large ones through blob storage.

The same for every engine. Poison is buried with a reason and never delivered again: what cannot be read, and what was
delivered too often without an answer.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from stateward.blobs import Artifact
from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    InvalidRequest,
    TransportError,
)
from stateward.core.model import Micros, to_iso
from stateward.transport.engine import AskedEngine, Delivery, Engine, Parcel
from stateward.transport.messages import (
    DATA,
    NO_DATA,
    REFERENCE,
    DeadLetterMessage,
    Envelope,
    control_topic,
    dead_stream,
    from_bytes,
    to_bytes,
)

DATA_BYTES_MAX = 256 * 1024 * 1024  # of one message, in blob storage
PART_BYTES = 4 * 1024 * 1024  # of messages that an engine is given in one step
NEWEST = 10  # dead letters among which the one of a check is
HEADS = 2  # messages of each stream that are compared by rank at first
ACK_S = 0.2  # that settled messages wait for others to be acknowledged with
ACKS_MAX = 64  # that wait: they are in memory, and count as unsettled


class Blobs(Protocol):
    """Blob storage that both sides of a transport reach, as far as messages need it."""

    def put(self, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact:
        """Store bytes durably under their SHA-256."""

    def announce(self, record_id: str, digests: Sequence[str]) -> None:
        """Say for whom bytes are about to be stored; durable on return."""

    def path(self, digest: str) -> Path:
        """A file with these bytes; raises ArtifactError if there is none."""

    def verify(self, digest: str) -> bool:
        """Whether the bytes still have the hash that is their name."""


class Received(msgspec.Struct, frozen=True, gc=False):
    """A message and the lease on it."""

    delivery: Delivery
    envelope: Envelope


class Channel:
    """Messages over one engine. `receive` may be called by another thread than the rest."""

    def __init__(
        self,
        engine: Engine,
        *,
        clock: Callable[[], Micros],
        blobs: Blobs | None = None,
        prefix: str = "stateward",
        deliveries_max: int = 3,
        bytes_max: int | None = None,
    ) -> None:
        self._engine = engine
        self._asked = engine if isinstance(engine, AskedEngine) else None
        self._clock = clock
        self._blobs = blobs
        self._dead = dead_stream(prefix)
        self._control = control_topic(prefix)
        self._deliveries_max = deliveries_max
        self._bytes_max = bytes_max
        self._heads: list[Received] = []
        self._unread: list[Delivery] = []  # whose data is in blob storage, which is away

    @property
    def losses(self) -> int:
        """How often the engine was found to have lost what it held."""
        return self._engine.losses

    def publish(self, stream: str, envelopes: Sequence[Envelope]) -> None:
        """Send messages; on return the engine has acknowledged them. Raises `MessageTooLarge`, `TransportError`."""
        parcels = [Parcel(each.subject, self._pack(each)) for each in envelopes]
        for part in _parts(parcels):
            self._engine.publish(stream, part)

    def _pack(self, envelope: Envelope) -> bytes:
        body = to_bytes(envelope)
        own = self._engine.bytes_max
        bytes_max = min(own, self._bytes_max or own)
        if len(body) <= bytes_max:
            return body
        if self._blobs is None:
            raise MessageTooLarge(len(body), bytes_max)
        # Data of a message is text of a document, and no row ever names it: announced, it goes with its record or when
        # the record has no more work (`Eraser.sweep`).
        data = bytes(envelope.data)
        self._blobs.announce(envelope.subject, [sha256(data).hexdigest()])
        stored = self._blobs.put([data], bytes_max=DATA_BYTES_MAX)
        reference = REFERENCE + stored.sha256
        return to_bytes(replace(envelope, data=NO_DATA, dataref=reference))

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Received]:
        """Lease up to `limit` messages, the lowest rank first over all streams.

        The heads of all streams are compared, so a few more are leased than are returned; the next call returns those
        first. So a low priority that has waited long comes before a high one that is new, as in the store.
        """
        share = _share(streams, limit)
        wait_s = 0.0 if self._heads else wait_s
        found = self._take(self._engine.receive(streams, limit=share, wait_s=wait_s))
        return self._lowest(found, share, limit)

    @property
    def can_ask(self) -> bool:
        """Whether the engine needs no thread to wait for messages: only then the next three do something."""
        return self._asked is not None

    def ask(self, streams: Sequence[str], *, limit: int) -> bool:
        """Have `fileno` become readable when messages come; whether `collect` has some now."""
        if self._heads or self._asked is None:
            return bool(self._heads)
        return self._asked.ask(streams, limit=_share(streams, limit))

    def fileno(self) -> int:
        """The descriptor of what was asked for; -1 while there is none."""
        return -1 if self._asked is None else self._asked.fileno()

    def collect(self, streams: Sequence[str], *, limit: int) -> list[Received]:
        """What came of what was asked for with this limit, as `receive` returns it."""
        if self._asked is None:
            return []
        share = _share(streams, limit)
        found = self._take(self._asked.collect(streams, limit=share))
        return self._lowest(found, share, limit)

    def _lowest(self, found: list[Received], share: int, limit: int) -> list[Received]:
        """The lowest ranks of what was leased ahead, and of what the streams of these have besides."""
        while found and len(self._heads) < limit:
            # What gave all that was asked for has probably more: as much of each as would fill the rest evenly.
            given = Counter(each.delivery.stream for each in found)
            busy = [stream for stream, count in given.items() if count >= share]
            if not busy:
                break
            share = -(-(limit - len(self._heads)) // len(busy))
            found = self._take(self._engine.receive(busy, limit=share, wait_s=0.0))
        self._heads.sort(key=lambda each: int(each.envelope.rank))
        taken, self._heads = self._heads[:limit], self._heads[limit:]
        return taken

    def _take(self, deliveries: Sequence[Delivery]) -> list[Received]:
        again, self._unread = self._unread, []
        found = [read for each in (*again, *deliveries) if (read := self._read(each)) is not None]
        self._heads += found
        return found

    def _read(self, delivery: Delivery) -> Received | None:
        """A message that was delivered; None if it was poison, which is buried."""
        try:
            envelope = self._unpack(from_bytes(delivery.body))
        except (ValueError, InvalidRequest) as error:
            self.bury(delivery, f"not a message: {error}")
            return None
        except ArtifactsUnreachable:
            self._unread.append(delivery)  # it stays leased here, and is read with a later call
            return None
        except ArtifactError as error:
            if delivery.count <= self._deliveries_max:
                return None  # not acknowledged: it comes again, when the blob storage may have it
            self.bury(delivery, f"its data cannot be read: {error}")
            return None
        return Received(delivery, envelope)

    def _unpack(self, envelope: Envelope) -> Envelope:
        if envelope.type not in DATA:
            raise ValueError(f"type {envelope.type[:100]!r} is not known here")
        if envelope.dataref is None:
            return envelope
        if self._blobs is None:
            raise ValueError("its data is in blob storage, and none is configured here")
        digest = envelope.dataref.removeprefix(REFERENCE)
        path = self._blobs.path(digest)
        if path.stat().st_size > DATA_BYTES_MAX:
            raise ValueError(f"its data has more than {DATA_BYTES_MAX} bytes")
        if not self._blobs.verify(digest):
            raise ValueError(f"its data is not what it was: {digest}")
        return replace(envelope, data=msgspec.Raw(path.read_bytes()), dataref=None)

    def is_poison(self, received: Received) -> bool:
        """Whether a message was delivered too often without an answer: it may be what ends its consumers."""
        return received.delivery.count > self._deliveries_max

    def bury(self, delivery: Delivery, reason: str) -> None:
        """Move a message to the dead letters, with the reason.

        Nothing of its data: that may be of a document, and no erasure reaches what a broker keeps.
        """
        letter = DeadLetterMessage(
            reason=reason,
            stream=delivery.stream,
            at=to_iso(self._clock()),
            head=_head_of(delivery.body),
            size=len(delivery.body),
            sha256=sha256(delivery.body).hexdigest(),
        )
        self._engine.bury(self._dead, Parcel("", msgspec.json.encode(letter)))
        self._engine.ack([delivery])

    def dead_letters(self, *, limit: int = 100) -> list[DeadLetterMessage]:
        """The newest dead letters, oldest first."""
        return [letter for _, letter in self.named_dead_letters(limit=limit)]

    def named_dead_letters(self, *, limit: int) -> list[tuple[str, DeadLetterMessage]]:
        """The same, each with what its engine calls it."""
        found = self._engine.buried(self._dead, limit=limit)
        return [(each.id, self._letter_of(each.body)) for each in found]

    def _letter_of(self, body: bytes) -> DeadLetterMessage:
        try:
            return msgspec.json.decode(body, type=DeadLetterMessage)
        except (
            msgspec.MsgspecError,
            RecursionError,
        ):  # who may write to the stream can write anything
            return DeadLetterMessage(
                reason="it is no dead letter: another program wrote it to the stream of dead letters",
                stream=self._dead,
                at="",
                size=len(body),
                sha256=sha256(body).hexdigest(),
            )

    def check_writable(self) -> None:
        """Store a dead letter and take it out again; raises TransportError where the broker takes nothing in.

        A broker that is full goes on to answer questions. From a log nothing is taken out: there it is a word to all
        workers that says nothing.
        """
        if self._asked is None:
            self._engine.broadcast(self._control, b"{}")
            return
        letter = DeadLetterMessage(
            reason="a check of the broker", stream=self._dead, at=to_iso(self._clock())
        )
        body = msgspec.json.encode(letter)
        self._engine.bury(self._dead, Parcel("", body))
        newest = self._engine.buried(self._dead, limit=NEWEST)
        self._engine.unbury(self._dead, [each.id for each in newest if each.body == body])

    def drop_dead_letters(self, ids: Sequence[str]) -> None:
        """Take dead letters out of their stream for good."""
        self._engine.unbury(self._dead, ids)

    def ack(self, received: Sequence[Received]) -> None:
        if received:
            self._engine.ack([each.delivery for each in received])

    def extend(self, received: Sequence[Received]) -> None:
        """Start the leases of these messages again, and of those that wait here to be returned by `receive`."""
        own = [*(each.delivery for each in (*received, *self._heads)), *self._unread]
        if own:
            self._engine.extend(own)

    def release(self, received: Sequence[Received]) -> None:
        if received:
            self._engine.release([each.delivery for each in received])

    def give_back(self) -> None:
        """Give back what was leased ahead, for those who have the time. By the thread that calls `receive`."""
        self.release(self._heads)
        self._heads = []
        self._engine.give_back()

    def drain(self) -> None:
        """Give back what was leased ahead; `receive` is not called any more."""
        waiting = [*(each.delivery for each in self._heads), *self._unread]
        self._heads, self._unread = [], []
        if waiting:
            self._engine.release(waiting)
        self._engine.drain()

    def broadcast(self, envelope: Envelope) -> None:
        """Tell all workers that listen now."""
        self._engine.broadcast(self._control, to_bytes(envelope))

    def broadcasts(self) -> list[Envelope]:
        """What coordinators told since the last call, without what is no message.

        By the thread that calls `receive`.
        """
        found: list[Envelope] = []
        for body in self._engine.broadcasts(self._control):
            with suppress(ValueError):
                found.append(from_bytes(body))
        return found

    def depth(self, stream: str) -> int:
        return self._engine.depth(stream)

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()


class Acknowledgements:
    """Settled messages, acknowledged some at a time: none waits for that, and each step costs the engine the same.

    NATS begins a new file for a stream with each acknowledgement that empties it. What was not acknowledged when its
    process was killed is delivered again, and dropped as what it is. Over Kafka nothing is put off: a partition that
    goes to another worker takes what is not acknowledged along.
    """

    def __init__(self, channel: Channel, *, ticks: Callable[[], float] = time.monotonic) -> None:
        self._channel = channel
        self._ticks = ticks
        self._settled: list[Received] = []
        self._due_at = math.inf

    @property
    def due_at(self) -> float:
        """When `send` has to be called, on the clock of `ticks`."""
        return self._due_at

    def add(self, received: Sequence[Received]) -> None:
        """These are settled."""
        if received and not self._settled:
            self._due_at = self._ticks() + (ACK_S if self._channel.can_ask else 0.0)
        self._settled += received

    def send(self, *, is_last: bool = False) -> None:
        """Acknowledge what is due; with `is_last` all."""
        if is_last or self._ticks() >= self._due_at or len(self._settled) >= ACKS_MAX:
            self._channel.ack(self._settled)
            self._settled, self._due_at = [], math.inf


def _share(streams: Sequence[str], limit: int) -> int:
    """How many messages of each stream are asked for at first.

    Two of each: a stream that has only one has no more, so that a message alone is not held up by a second look.
    """
    return min(limit, HEADS) if len(streams) > 1 else limit


def _head_of(body: bytes) -> str:
    try:
        return to_bytes(replace(from_bytes(body), data=NO_DATA)).decode()
    except ValueError:
        return ""


def _parts(parcels: Sequence[Parcel]) -> Iterator[list[Parcel]]:
    """Messages in portions of a bounded size: an engine takes each in one step."""
    part: list[Parcel] = []
    size = 0
    for each in parcels:
        part.append(each)
        size += len(each.body)
        if size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


class MessageTooLarge(TransportError):
    """More than the engine takes in one message, and there is no blob storage that both sides reach."""

    def __init__(self, size: int, bytes_max: int) -> None:
        super().__init__(
            f"a message of {size} bytes is more than the {bytes_max} that the transport takes; "
            "name a blob storage that coordinators and workers share"
        )
