"""Redis or Valkey: a stream is a Redis stream with one consumer group.

A message is deleted from its stream in the step that acknowledges it, so the length of a stream is what is unsettled,
and no trimming can remove what is still wanted. Redis leases by idle time: what a consumer has not claimed again
within a lease, another one may take (XAUTOCLAIM).
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar

import redis
from redis.exceptions import (
    AskError,
    ClusterCrossSlotError,
    ClusterDownError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import TimeoutError as TimedOut

from stateward.core.errors import InvalidRequest
from stateward.storage.pipe_wakeups import is_readable
from stateward.telemetry import log
from stateward.transport.engine import (
    DEAD_LETTERS_MAX,
    DELIVERED,
    GROUP,
    Buried,
    Delivery,
    Parcel,
    answer_s,
    delivered_before,
    full,
    masked_url,
    unreachable,
)

# Redis takes 512 MB, but such a value blocks all its other clients while it is copied.
BYTES_MAX = 1024 * 1024
BROADCASTS_MAX = 1000  # that are read in one step
CLAIM_MAX = 64  # messages of lost consumers that are taken over in one step; ten times as many are looked at
FIRST = b"0-0"  # where the list of what is leased begins, and what is said at its end
ASK_S = 0.5  # for which the server holds a request for messages
UNREAD_MAX = 256  # answers that lie on a connection before they are read
BODY, BEFORE = b"body", DELIVERED.encode()
MULTI, EXEC = (b"MULTI",), (b"EXEC",)
_IS_ID = re.compile("[0-9]{1,20}-[0-9]{1,20}")
_ALREADY_THERE = "BUSYGROUP"
# The group, or the stream that was read when it went: a server that lost it, or a person who deleted it.
_NO_GROUP = ("NOGROUP", "UNBLOCKED")
Command = tuple[Any, ...]

T = TypeVar("T")


class _Wire:
    """One connection, and commands on it: what is sent for every message costs half as much without the client.

    For one thread at a time: what cannot be read is buried, and acknowledged, by the caller that receives.
    The client's own way (a pool, a pipeline, a parser for each command) stays for all that is rare.
    """

    def __init__(self, client: "redis.Redis") -> None:
        self._connection: Any = client.connection_pool.make_connection()
        self._lock = Lock()
        self._packed: dict[tuple[Command, ...], list[bytes]] = {}
        self._was_used = False
        self._unread = 0  # answers that none waits for
        self._refusal: ResponseError | None = None  # the first one among them
        self._late_at: float | None = None  # by when `begin` has to be answered

    def send(self, *commands: Command) -> None:
        """Send commands whose answers are not waited for: they are passed over with the next ones.

        What the server refused of earlier ones is raised here, once, after these are sent.
        """
        with self._lock:
            if self._unread >= UNREAD_MAX:
                self._ask(((b"PING",),), is_repeated=False)
            try:
                self._connection.send_packed_command(self._connection.pack_commands(commands))
            except BaseException:
                self._disconnect()
                raise
            self._unread += len(commands)
            refusal, self._refusal = self._refusal, None
            if refusal is not None:
                raise refusal

    def ask(self, *commands: Command, is_repeated: bool = False) -> list[Any]:
        """Send commands at once; their answers. `is_repeated`: the same will be sent often."""
        with self._lock:
            return self._ask(commands, is_repeated=is_repeated)

    @property
    def is_open(self) -> bool:
        """Whether a command was begun that is not answered yet."""
        return self._late_at is not None

    def fileno(self) -> int:
        """The descriptor of the connection; -1 without one."""
        own = self._connection._sock  # redis-py has no public name for it
        return -1 if own is None else int(own.fileno())

    def begin(self, command: Command, *, answer_s: float) -> None:
        """Send a command that the server answers when it has something to say, and do not wait for that."""
        with self._lock:
            packed = self._pack((command,), is_repeated=True)
            if self._was_used and self._is_lost():
                self._disconnect()
            try:
                self._connection.send_packed_command(packed)
            except BaseException:
                self._disconnect()
                raise
            self._late_at = time.monotonic() + answer_s

    def _is_lost(self) -> bool:
        """Whether the server closed the connection while nothing was asked."""
        if not self._is_readable():
            return False
        try:
            self._connection.can_read(0)
        except RedisError:
            return True
        return False

    def _is_readable(self) -> bool:
        """Whether something has come, if only the end. The client looks three times more, to tell which it is."""
        own = self.fileno()
        return own >= 0 and is_readable(own, timeout_s=0.0)

    def end(self, wait_s: float = 0.0) -> list[Any] | None:
        """The answer to what was begun; None if there is none yet or the connection was lost.

        Raises where it is overdue.
        """
        with self._lock:
            if self._late_at is None:
                return None
            try:
                # What was read before with something else is not on the descriptor any more.
                if not (self._is_readable() or self._connection.can_read(wait_s)):
                    if time.monotonic() < self._late_at:
                        return None
                    raise TimedOut("no answer")
                found = [self._answer()]
            except Disconnected:  # what begins it anew connects, and is told if that fails
                self._disconnect()
                return None
            except BaseException:
                self._disconnect()
                raise
            self._late_at = None
            self._was_used = True
            if (refusal := _refusal_in(found)) is not None:
                raise refusal
            return found

    def _ask(self, commands: tuple[Command, ...], *, is_repeated: bool) -> list[Any]:
        packed = self._pack(commands, is_repeated=is_repeated)
        try:
            return self._answers(packed, len(commands))
        except Disconnected:
            # A server that was started anew while nothing was asked. What it had already got is there twice then, as
            # with any engine.
            if not self._was_used:
                raise
        self._was_used = False
        return self._answers(packed, len(commands))

    def _pack(self, commands: tuple[Command, ...], *, is_repeated: bool) -> list[bytes]:
        packed: list[bytes] | None = self._packed.get(commands) if is_repeated else None
        if packed is None:
            packed = self._connection.pack_commands(commands)
        if is_repeated:
            self._packed = {commands: packed}
        return packed

    def _answers(self, packed: list[bytes], count: int) -> list[Any]:
        try:
            self._connection.send_packed_command(packed)
            while self._unread:
                passed_over = _refusal_in([self._answer()])
                self._refusal = self._refusal or passed_over
                self._unread -= 1
            found = [self._answer() for _ in range(count)]
        except BaseException:
            self._disconnect()
            raise
        self._was_used = True
        refusal = _refusal_in(found)
        if refusal is not None:
            raise refusal
        return found

    def _answer(self) -> object:
        try:
            return self._connection.read_response()
        except ResponseError as error:  # the answers after it have to be read, too
            return error

    def _disconnect(self) -> None:
        """Without a connection: what is still to come is no answer to what is asked next."""
        self._unread = 0
        self._late_at = None
        self._connection.disconnect()

    def close(self) -> ResponseError | None:
        """Close the connection, once the server has read what was sent; what it refused of that."""
        with suppress(RedisError):
            if self._unread:
                self.ask((b"PING",))
        self._connection.disconnect()
        return self._refusal


def _refusal_in(answers: Sequence[object]) -> ResponseError | None:
    """The first refusal among answers, and then among those that a transaction gave."""
    inner = (each for answer in answers if isinstance(answer, list) for each in answer)
    return next((each for each in (*answers, *inner) if isinstance(each, ResponseError)), None)


class RedisEngine:
    """A consumer of Redis streams."""

    bytes_max = BYTES_MAX

    def __init__(self, url: str, *, consumer: str, lease_s: float, depth_max: int) -> None:
        self._consumer = consumer
        self._lease_ms = round(lease_s * 1000)
        self._depth_max = depth_max
        self._url = url
        self._groups: set[str] = set()
        self.losses = 0
        self._claim_at: dict[str, float] = {}
        self._claim_from: dict[str, bytes] = {}  # where the look at a stream goes on
        self._claimed: list[Delivery] = []  # that are for the next call of `receive`
        self._depths: dict[str, int] = {}
        self._channels: dict[str, Any] = {}
        self._answer_s = answer_s(lease_s)
        # No retries of its own: the callers know how long an outage may last and what to do meanwhile.
        try:
            self._redis: Any = redis.Redis.from_url(
                url, socket_timeout=self._answer_s, socket_connect_timeout=self._answer_s
            )
            # One for what comes and one for the rest: a request that waits blocks its connection.
            self._reading, self._writing = _Wire(self._redis), _Wire(self._redis)
        except (
            TypeError,
            ValueError,
            RedisError,
        ) as error:
            # redis-py says of an option that it does not have that a class of its own has not.
            unknown = re.search(r"unexpected keyword argument '(.+)'", str(error))
            said = f"there is no option {unknown[1]}" if unknown else str(error)
            raise InvalidRequest(f"{masked_url(url)} and its options: {said}") from None

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages; raises `TransportFull` where the stream has its most already.

        How long the stream is comes with the answer to each append, so that mostly one step will do: what others have
        appended since is not known, and the limit may be passed by that much.
        """
        depth = self._depths.get(stream, self._depth_max)
        if depth + len(parcels) > self._depth_max:
            depth = self.depth(stream)
        if depth + len(parcels) > self._depth_max:
            raise full(stream, self._depth_max)

        appends: list[Command] = [(b"XADD", stream, b"*", BODY, each.body) for each in parcels]
        if len(appends) > 1:  # in one transaction, or a reader that waits is given the first alone
            appends = [MULTI, *appends, EXEC]
        *_, length = self._answer(lambda: self._writing.ask(*appends, (b"XLEN", stream)))
        self._depths[stream] = int(length)

    def ask(self, streams: Sequence[str], *, limit: int) -> bool:
        """Have messages sent when they come; whether there are some now: those of lost consumers."""
        if not (self._claimed or self._reading.is_open):
            self._claimed = self._claim(streams)
        if not (self._claimed or self._reading.is_open):
            command = self._read_command(streams, limit, self._wait_ms(ASK_S))
            self._answer(lambda: self._reading.begin(command, answer_s=ASK_S + self._answer_s))
        return bool(self._claimed)

    def fileno(self) -> int:
        """The connection on which messages come that were asked for; -1 without one."""
        return self._reading.fileno()

    def collect(self, streams: Sequence[str], *, limit: int) -> list[Delivery]:
        claimed, self._claimed = self._claimed, []
        return claimed or self._collect(streams, 0.0)

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease messages: those of lost consumers first, then new ones."""
        if claimed := self._claim(streams):
            return claimed
        # The socket must outlast the wait, so no wait is as long as its patience. Without one, no BLOCK: BLOCK 0 would
        # wait for ever, and the server ends even a short wait only with its next tick, up to 100 ms later.
        command = self._read_command(streams, limit, self._wait_ms(wait_s))
        (found,) = self._ensure_group(streams, lambda: self._reading.ask(command, is_repeated=True))
        return _deliveries(found)

    def _wait_ms(self, wait_s: float) -> int | None:
        return min(round(wait_s * 1000), round(self._answer_s * 500)) or None

    def _read_command(self, streams: Sequence[str], limit: int, wait_ms: int | None) -> Command:
        block = () if wait_ms is None else (b"BLOCK", wait_ms)
        return (
            b"XREADGROUP", b"GROUP", GROUP, self._consumer, b"COUNT", limit, *block, b"STREAMS", *streams,
            *([b">"] * len(streams)),
        )  # fmt: skip

    def _collect(self, streams: Sequence[str], wait_s: float) -> list[Delivery]:
        """What the request that is open has brought."""
        try:
            answer = self._answer(lambda: self._reading.end(wait_s))
        except ResponseError as error:
            if not str(error).startswith(_NO_GROUP):
                raise
            self.losses += 1
            self._make_groups(streams)
            return []
        return [] if answer is None else _deliveries(answer[0])

    def _claim(self, streams: Sequence[str]) -> list[Delivery]:
        """Take over what consumers left that were not heard from.

        Each stream is looked through a few times per lease, in steps: behind much that others are working on there may
        be something that was lost.
        """
        now = time.monotonic()
        due = [stream for stream in streams if now >= self._claim_at.get(stream, 0.0)]
        if not due:
            return []
        self._claim_at.update(dict.fromkeys(due, now + self._lease_ms / 4000))
        # All at once: a worker has dozens of streams, and a message that comes meanwhile waits for this.
        commands: list[Command] = [
            (
                b"XAUTOCLAIM",
                stream,
                GROUP,
                self._consumer,
                self._lease_ms,
                self._claim_from.get(stream, FIRST),
                b"COUNT",
                CLAIM_MAX,
            )
            for stream in due
        ]
        answers = self._ensure_group(due, lambda: self._reading.ask(*commands))
        for stream, (further, *_) in zip(due, answers, strict=True):
            self._claim_from[stream] = further
            if further != FIRST:
                self._claim_at[stream] = now
        return [
            _delivery(stream, token, _fields(fields), self._count(stream, token))
            for stream, (_, entries, *_) in zip(due, answers, strict=True)
            for token, fields in entries
            if fields is not None
        ]

    def _count(self, stream: str, token: bytes) -> int:
        found = self._answer(lambda: self._redis.xpending_range(stream, GROUP, token, token, 1))
        return int(found[0]["times_delivered"]) if found else 1

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        """Claim messages again: their idle time starts anew. JUSTID leaves the count of deliveries alone."""
        for stream, tokens in _by_stream(deliveries).items():
            with suppress(ResponseError):  # the stream was deleted: there is nothing to extend
                self._answer(
                    lambda stream=stream, tokens=tokens: self._redis.xclaim(  # type: ignore[misc]
                        stream, GROUP, self._consumer, 0, tokens, justid=True
                    )
                )

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge and delete, in one step.

        It is not waited for: what is not heard comes again, and its result is dropped.
        """
        commands: list[Command] = [MULTI]
        for stream, tokens in _by_stream(deliveries).items():
            commands += [(b"XACK", stream, GROUP, *tokens), (b"XDEL", stream, *tokens)]
        if deliveries:
            self._answer(lambda: self._writing.send(*commands, EXEC))

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Append the messages again and delete them where they were: a stream has no other way back."""

        def give_back() -> None:
            with self._redis.pipeline(transaction=True) as pipe:
                for each in deliveries:
                    before = {BEFORE: each.count - 1} if each.count > 1 else {}
                    pipe.xadd(each.stream, {BODY: each.body, **before})
                    pipe.xack(each.stream, GROUP, each.token)
                    pipe.xdel(each.stream, each.token)
                pipe.execute()

        if deliveries:
            self._answer(give_back)

    def give_back(self) -> None:
        """A request that is open ends soon by itself, and what it brings is for the next call of `receive`."""

    def drain(self) -> None:
        """Wait for the answer to a request that is open, and give back what it brings."""
        self.release(self._collect((), self._answer_s))

    def bury(self, stream: str, parcel: Parcel) -> None:
        self._answer(lambda: self._redis.xadd(stream, {BODY: parcel.body}, maxlen=DEAD_LETTERS_MAX))

    def buried(self, stream: str, *, limit: int) -> list[Buried]:
        found = self._answer(lambda: self._redis.xrevrange(stream, count=limit))
        return [Buried(token.decode(), fields.get(BODY, b"")) for token, fields in reversed(found)]

    def unbury(self, stream: str, ids: Sequence[str]) -> None:
        """Delete dead letters."""
        if own := [each for each in ids if _IS_ID.fullmatch(each)]:
            self._answer(lambda: self._redis.xdel(stream, *own))

    def broadcast(self, topic: str, body: bytes) -> None:
        """Publish to a channel, which keeps nothing."""
        self._answer(lambda: self._redis.publish(topic, body))

    def broadcasts(self, topic: str) -> list[bytes]:
        """What came over the channel since the last call."""
        return self._answer(lambda: self._receive(topic))

    def _receive(self, topic: str) -> list[bytes]:
        channel = self._channels.get(topic)
        if channel is None:
            channel = self._redis.pubsub(ignore_subscribe_messages=True)
            channel.subscribe(topic)
            self._channels[topic] = channel  # only now: a server that is away is asked again
        found: list[bytes] = []
        for _ in range(BROADCASTS_MAX):
            # None also stands for the answer to the subscription, which comes first.
            message = channel.get_message()
            if message is None and not channel.connection.can_read(timeout=0):
                break
            if message is not None:
                found.append(message["data"])
        return found

    def depth(self, stream: str) -> int:
        """The length of the stream, after what was acknowledged here."""
        (length,) = self._answer(lambda: self._writing.ask((b"XLEN", stream)))
        return int(length)

    def close(self) -> None:
        for each in self._channels.values():
            each.close()
        self._reading.close()
        refusal = self._writing.close()
        self._redis.close()
        if refusal is not None:
            log("transport").warning(f"the server refused what was sent last: {refusal}")

    def _ensure_group(self, streams: Sequence[str], ask: Callable[[], T]) -> T:
        """Ask streams that have their group; after a flush of the server they get it again."""
        missing = [each for each in streams if each not in self._groups]
        try:
            self._make_groups(missing)
            return self._answer(ask)
        except ResponseError as error:
            if not str(error).startswith(_NO_GROUP):
                raise
            self.losses += 1
            self._make_groups(streams)
            return self._answer(ask)

    def _make_groups(self, streams: Sequence[str]) -> None:
        for stream in streams:
            try:
                # From the beginning: what was published before the first consumer came is delivered too.
                self._answer(
                    lambda stream=stream: self._redis.xgroup_create(  # type: ignore[misc]
                        stream, GROUP, id="0", mkstream=True
                    )
                )
            except ResponseError as error:
                if not str(error).startswith(_ALREADY_THERE):
                    raise
            self._groups.add(stream)

    def _answer(self, ask: Callable[[], T]) -> T:
        """Ask; what the server refuses (it is out of memory, a replica, or this user may not) is told as an outage."""
        try:
            return ask()
        except ResponseError as error:
            if str(error).startswith((_ALREADY_THERE, *_NO_GROUP)):
                raise
            raise unreachable(self._url, _say_which(error)) from error
        except RedisError as error:
            raise unreachable(self._url, _say_which(error)) from error


def _say_which(error: RedisError) -> Exception:
    """What a server of a kind that does not do says, with the kind, and what one says that wants a password."""
    if "HELLO must be called" in str(error):  # with which the client begins
        return RedisError("it asks for a password")
    if isinstance(error, (ClusterDownError, ClusterCrossSlotError, AskError)):
        return ResponseError(f"it is a node of a Redis Cluster, which is not supported ({error})")
    if str(error).startswith("unknown command"):
        return ResponseError(f"it is no Redis of version 7 or newer, or it is a Sentinel ({error})")
    return error


def _deliveries(found: Any) -> list[Delivery]:  # noqa: ANN401 - an answer, which may be of any kind
    by_stream = found.items() if isinstance(found, dict) else found or ()  # RESP 3, RESP 2
    return [
        _delivery(name.decode(), token, _fields(fields))
        for name, entries in by_stream
        for token, fields in entries
        if fields is not None
    ]


def _fields(found: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(found[::2], found[1::2], strict=True))


def _delivery(
    stream: str, token: object, fields: Mapping[bytes, bytes], count: int = 1
) -> Delivery:
    """An entry that was delivered so often, besides what it says itself of those that it takes the place of."""
    before = delivered_before(fields.get(BEFORE))
    return Delivery(stream, token, fields.get(BODY, b""), before + count)


def _by_stream(deliveries: Sequence[Delivery]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for each in deliveries:
        found.setdefault(each.stream, []).append(each.token)
    return found
