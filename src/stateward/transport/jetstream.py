"""NATS JetStream: a stream of ours is a JetStream stream with one durable pull consumer.

Work-queue retention: a message is removed when it is acknowledged, so what a stream holds is what is unsettled. Its
lease is the consumer's `ack_wait`; `in_progress` starts it again. The client of NATS is asynchronous, so it runs in a
thread with an event loop of its own, and everything here hands it one coroutine and waits for the answer.

Messages are asked for by requests of our own, one open at a time for each stream, and not by the client's `fetch`: its
answer to "nothing there" is a wait, and it neither survives a server that was started anew nor one that lost its disk.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StreamConfig,
)
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from stateward.core.errors import TransportUnreachable
from stateward.transport.engine import (
    ANSWER_S_MAX,
    DEAD_LETTERS_MAX,
    GROUP,
    Delivery,
    Parcel,
    answer_s,
    full,
    unreachable,
)

LATE_S = 1.0  # after its end the answer to a request is not waited for any more: it was lost
FLUSH_S = 60  # after which an answer will not come any more
PING_S = 5  # how often a connection on which nothing comes is tried
NEXT = "$JS.API.CONSUMER.MSG.NEXT"
STATUS, ALIVE = (
    "Status",
    "100",
)  # of answers that carry no message; the second says only that the server is there
NO_STREAM = (
    "409",
    "503",
)  # the consumer was deleted, or nothing answers for it: the server lost it
STREAM_FULL = 10077  # the server's code for more messages than `max_msgs`
BROADCASTS_MAX = 1000  # that wait to be read
ACK_PENDING_MAX = 10_000  # leased messages of one stream, of all consumers together

T = TypeVar("T")


class _Pull:
    """The requests for messages of one stream, and what they brought and nothing has asked for yet."""

    def __init__(self, arrived: asyncio.Event) -> None:
        self.messages: deque[Msg] = deque()
        self.inbox: Any = None  # the client's `Subscription`, of which some methods have no types
        self.is_stale = False
        self.is_empty = False
        """Whether the last thing that the server said was that there is nothing."""
        self._arrived = arrived
        self._open = 0
        self._until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server may still answer the last request."""
        return self._open > 0 and time.monotonic() < self._until

    def begin(self, count: int, *, wait_s: float) -> None:
        """A request for so many messages was sent."""
        self._open, self._until = count, time.monotonic() + wait_s + LATE_S

    def end(self) -> None:
        """The request that was open is not answered any more."""
        self._open = 0
        self._arrived.set()

    async def take_in(self, message: Msg) -> None:
        """Note an answer of the server: a message, or that there is none."""
        status = (message.headers or {}).get(STATUS)
        if status is None:
            self.messages.append(message)
            self.is_empty = False
            self._open -= 1
            self._arrived.set()
        elif status != ALIVE:
            self.is_empty = True
            self.is_stale = status in NO_STREAM
            self.end()


class _Refusal(msgspec.Struct):
    """Why the server did not store a message."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    """The server's answer to one message that was published."""

    error: _Refusal | None = None


class _Batch:
    """Messages that were published together, and what the server said about them.

    Its future belongs to the thread that waits: the last answer wakes that one, with no task in between.
    """

    def __init__(self, count: int) -> None:
        self._left = count
        self.all_answered: Future[None] = Future()
        self.is_gone = False
        """Whether no stream has the subject of one of them."""
        self.error: _Refusal | None = None

    def take_in(self, message: Msg) -> None:
        """Note an answer."""
        if message.headers:
            self.is_gone |= message.headers.get(STATUS) in NO_STREAM
        else:
            self.error = msgspec.json.decode(message.data, type=_Answer).error or self.error
        self._left -= 1
        if not self._left:
            self.end()

    def note_sent(self, sent: "Future[None]") -> None:
        """They were sent; if not, no answer will come."""
        if _failure(sent):
            self.end(sent.exception())

    def end(self, error: BaseException | None = None) -> None:
        """All are answered, or none will be."""
        if self.all_answered.done():
            return
        if error is None:
            self.all_answered.set_result(None)
        else:
            self.all_answered.set_exception(error)


class JetStreamEngine:
    """A consumer of JetStream streams. `?replicas=3` in the URL says how many servers keep each stream."""

    def __init__(self, url: str, *, consumer: str, lease_s: float, depth_max: int) -> None:
        parts = urlsplit(url)
        self._url = url
        self._replicas = int(parse_qs(parts.query).get("replicas", ["1"])[0])
        self._lease_s = lease_s
        self._answer_s = answer_s(lease_s)
        self._depth_max = depth_max
        self._pulls: dict[str, _Pull] = {}
        self._arrived = asyncio.Event()
        self._streams: set[str] = set()
        self._told: dict[str, deque[bytes]] = {}
        self._answers: str | None = None
        self._open: dict[str, _Batch] = {}
        self._batches = 0
        self.losses = 0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="nats", daemon=True)
        self._thread.start()
        try:
            self._client = self._run(self._connect(parts._replace(query="").geturl(), consumer))
        except BaseException:
            self._end_loop()
            raise
        self._jetstream = self._client.jetstream(timeout=self._answer_s)
        # Headers and the subject count towards the server's limit as well.
        self.bytes_max: int = self._client.max_payload - 4096

    async def _connect(self, url: str, consumer: str) -> Client:
        async def ignore(_: Exception) -> None:
            """The caller of each operation is told; the client's own log would repeat it."""

        async def forget_requests() -> None:
            """A connection that was made anew: what was asked for over the one before is not answered."""
            for each in self._pulls.values():
                each.end()

        return await asyncio.wait_for(
            nats.connect(
                url,
                name=consumer,
                connect_timeout=max(1, round(self._answer_s)),
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,
                ping_interval=PING_S,
                error_cb=ignore,
                reconnected_cb=forget_requests,
            ),
            ANSWER_S_MAX,
        )

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages, all at once; each is acknowledged by the server: they share one step."""
        self._batches += 1
        number = str(self._batches)
        batch = self._open[number] = _Batch(len(parcels))
        sent = asyncio.run_coroutine_threadsafe(self._publish(stream, parcels, number), self._loop)
        sent.add_done_callback(batch.note_sent)
        try:
            self._result(batch.all_answered)
        finally:
            del self._open[number]
        self._check(stream, batch)

    async def _publish(self, stream: str, parcels: Sequence[Parcel], number: str) -> None:
        await self._ensure(stream)
        if self._answers is None:
            self._answers = self._client.new_inbox()
            await self._client.subscribe(f"{self._answers}.*", cb=self._take_answer)
        for each in parcels:
            await self._client.publish(stream, each.body, reply=f"{self._answers}.{number}")

    def _check(self, stream: str, batch: _Batch) -> None:
        """Raise what the server said against messages."""
        if batch.is_gone:
            self._streams.discard(stream)  # it was deleted meanwhile: the next try makes it again
            raise unreachable(self._url, NoStreamResponseError())
        if batch.error is not None:
            if batch.error.err_code == STREAM_FULL:
                raise full(stream, self._depth_max)
            error = APIError(code=batch.error.code, description=batch.error.description)
            raise unreachable(self._url, error) from error

    async def _take_answer(self, message: Msg) -> None:
        batch = self._open.get(message.subject.rpartition(".")[2])
        if batch is not None:
            batch.take_in(message)

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease messages of the first streams that have any."""
        wait_s = min(wait_s, self._answer_s / 2)
        # First it asks what is there, and gives that LATE_S at most.
        return self._run(self._receive(streams, limit, wait_s), more_s=wait_s + LATE_S)

    async def _receive(self, streams: Sequence[str], limit: int, wait_s: float) -> list[Delivery]:
        """Ask for what is there, of all streams, so that ranks can be compared; and only then for what may come.

        A request that waits stays open beyond this call, and what it brings is for the next one.
        """
        pulls = {stream: await self._pull(stream) for stream in streams}
        asked = [
            await self._ask(stream, pull, limit)
            for stream, pull in pulls.items()
            if not (pull.messages or pull.is_open or (wait_s and pull.is_empty))
        ]
        await self._wait(LATE_S, lambda: not any(each.is_open for each in asked))

        async def ask_again() -> None:
            # Also those that run out while this waits: what came to a stream then would lie there until the next call.
            for stream, pull in pulls.items():
                if not (pull.is_open or pull.is_stale):
                    await self._ask(stream, pull, limit, wait_s)

        await self._wait(wait_s, lambda: any(each.messages for each in pulls.values()), ask_again)
        return [
            Delivery(stream, each, each.data, _count(each))
            for stream, pull in pulls.items()
            for each in _some(pull.messages, limit)
        ]

    async def _wait(
        self,
        wait_s: float,
        is_enough: Callable[[], bool],
        ask: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Wait until enough has come, at most so long; `ask` before each wait."""
        until = time.monotonic() + wait_s
        while True:
            self._arrived.clear()  # before the look: what comes after it ends the wait
            left = until - time.monotonic()
            if is_enough() or left <= 0:
                return
            if ask is not None:
                await ask()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), left)

    async def _pull(self, stream: str) -> _Pull:
        """Where the messages of a stream arrive, its consumer made anew where the server has lost it."""
        pull = self._pulls.get(stream)
        if pull is None:
            pull = self._pulls[stream] = _Pull(self._arrived)
        if pull.is_stale:
            self.losses += 1
            self._streams.discard(stream)
        if pull.inbox is None or pull.is_stale:
            await self._make_consumer(stream)
            pull.is_stale = False
        if pull.inbox is None:
            pull.inbox = await self._client.subscribe(self._client.new_inbox(), cb=pull.take_in)
        return pull

    async def _ask(self, stream: str, pull: _Pull, limit: int, wait_s: float = 0.0) -> _Pull:
        """Send one request: for what is there, or for what comes within some time."""
        how = {"expires": round(wait_s * 1e9)} if wait_s else {"no_wait": True}
        pull.begin(limit, wait_s=wait_s)
        await self._client.publish(
            f"{NEXT}.{_name(stream)}.{GROUP}",
            msgspec.json.encode({"batch": limit, **how}),
            pull.inbox.subject,
        )
        return pull

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        """Tell the server that they are still being worked on, and wait until it has heard that."""
        self._run(self._each(deliveries, "in_progress", is_awaited=True))

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge messages; the server removes them.

        It is not waited for, nor is a failure told: what is not heard comes again, and its result is dropped.
        """
        if deliveries:
            said = asyncio.run_coroutine_threadsafe(self._each(deliveries, "ack"), self._loop)
            said.add_done_callback(_failure)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Publish messages again and settle those that were leased: a refusal would count as another delivery."""
        self._run(self._release([each.token for each in deliveries]))

    async def _release(self, messages: Sequence[Any]) -> None:
        for each in messages:
            if not each.is_acked:
                await self._jetstream.publish(each.subject, each.data)
                await each.ack()

    async def _each(
        self, deliveries: Sequence[Delivery], verb: str, *, is_awaited: bool = False
    ) -> None:
        for each in deliveries:
            message: Any = each.token
            if message.is_acked:  # by an earlier try of which the answer was lost
                continue
            await getattr(message, verb)()
        if deliveries and is_awaited:
            await self._flush()

    async def _flush(self) -> None:
        """Wait until the server has read all that was sent.

        The client's own wait is not ended early: it takes an answer to one that was for an error of the connection.
        """
        flushed = asyncio.ensure_future(self._client.flush(timeout=FLUSH_S))
        flushed.add_done_callback(lambda own: own.cancelled() or own.exception())
        done, _ = await asyncio.wait({flushed}, timeout=self._answer_s)
        if not done:
            raise TimeoutError("the server did not answer in time")
        flushed.result()

    def drain(self) -> None:
        """End the requests that are open, and give back what they brought."""
        self._run(self._drain())

    async def _drain(self) -> None:
        for pull in self._pulls.values():
            if pull.inbox is not None:
                await (
                    pull.inbox.drain()
                )  # the server answers no request to it any more; what is on its way arrives
        for pull in self._pulls.values():
            await self._release(_some(pull.messages, len(pull.messages)))
        self._pulls.clear()

    def bury(self, stream: str, parcel: Parcel) -> None:
        """Append a dead letter."""
        self._run(self._bury(stream, parcel))

    async def _bury(self, stream: str, parcel: Parcel) -> None:
        await self._jetstream.add_stream(self._dead(stream))
        await self._jetstream.publish(stream, parcel.body)

    def buried(self, stream: str, *, limit: int) -> list[bytes]:
        """The newest dead letters, read by number: a stream of them has no consumer."""
        return self._run(self._read_dead_letters(stream, limit))

    async def _read_dead_letters(self, stream: str, limit: int) -> list[bytes]:
        try:
            state = (await self._jetstream.stream_info(_name(stream))).state
        except NotFoundError:
            return []
        first = max(state.first_seq, state.last_seq - limit + 1)
        return [
            (await self._jetstream.get_msg(_name(stream), seq=number)).data or b""
            for number in range(first, state.last_seq + 1)
        ]

    def broadcast(self, topic: str, body: bytes) -> None:
        """Publish to a subject of no stream: the server keeps nothing."""
        self._run(self._tell(topic, body))

    async def _tell(self, topic: str, body: bytes) -> None:
        await self._client.publish(topic, body)
        await self._flush()

    def broadcasts(self, topic: str) -> list[bytes]:
        """What came to the subject since the last call."""
        told = self._told.get(topic)
        if told is None:
            told = self._run(self._listen(topic))
            self._told[topic] = told  # only now: a server that is away is asked again
        return [told.popleft() for _ in range(len(told))]

    async def _listen(self, topic: str) -> deque[bytes]:
        told: deque[bytes] = deque(maxlen=BROADCASTS_MAX)

        async def take_in(message: Msg) -> None:
            told.append(message.data)

        await self._client.subscribe(topic, cb=take_in)
        return told

    def depth(self, stream: str) -> int:
        """How many messages the stream holds."""
        return self._run(self._depth(stream))

    async def _depth(self, stream: str) -> int:
        try:
            return int((await self._jetstream.stream_info(_name(stream))).state.messages)
        except NotFoundError:
            return 0

    def close(self) -> None:
        """Close the connection and end the thread."""
        try:
            self._run(self._close())
        except TransportUnreachable:
            pass  # then there is no connection to close
        finally:
            self._end_loop()

    async def _close(self) -> None:
        await self._client.close()

    async def _make_consumer(self, stream: str) -> None:
        """Make a stream and its consumer. One that exists with other values is used as it is."""
        # Looked up anew, whatever is remembered of it: a server that lost its disk may have been back before we asked.
        self._streams.discard(stream)
        await self._ensure(stream)
        try:
            await self._jetstream.consumer_info(_name(stream), GROUP)
        except NotFoundError:
            await self._jetstream.add_consumer(
                _name(stream),
                ConsumerConfig(
                    durable_name=GROUP,
                    ack_policy=AckPolicy.EXPLICIT,
                    ack_wait=self._lease_s,
                    max_deliver=-1,  # poison is told by the count, and buried with a reason
                    max_ack_pending=ACK_PENDING_MAX,
                ),
            )

    async def _ensure(self, stream: str) -> None:
        """Make a stream. One that exists with other values, for an operator wanted them, is used as it is."""
        if stream in self._streams:
            return
        try:
            await self._jetstream.stream_info(_name(stream))
        except NotFoundError:
            await self._jetstream.add_stream(
                StreamConfig(
                    name=_name(stream),
                    subjects=[stream],
                    retention=RetentionPolicy.WORK_QUEUE,
                    max_msgs=self._depth_max,
                    discard=DiscardPolicy.NEW,
                    num_replicas=self._replicas,
                )
            )
        self._streams.add(stream)

    def _dead(self, stream: str) -> StreamConfig:
        return StreamConfig(
            name=_name(stream),
            subjects=[stream],
            max_msgs=DEAD_LETTERS_MAX,
            num_replicas=self._replicas,
        )

    def _run(self, coroutine: Coroutine[Any, Any, T], *, more_s: float = 0.0) -> T:
        return self._result(asyncio.run_coroutine_threadsafe(coroutine, self._loop), more_s=more_s)

    def _result(self, future: "Future[T]", *, more_s: float = 0.0) -> T:
        try:
            return future.result(self._answer_s + LATE_S + more_s)
        except (NatsError, OSError, TimeoutError) as error:
            future.cancel()
            raise unreachable(self._url, error) from error

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_S_MAX)
        if not self._thread.is_alive():
            self._loop.close()


def _failure(future: "Future[None]") -> bool:
    """Whether it has failed; the look takes note of the failure, which is logged otherwise."""
    return not future.cancelled() and future.exception() is not None


def _some(messages: deque[Msg], count: int) -> list[Msg]:
    return [messages.popleft() for _ in range(min(count, len(messages)))]


def _count(message: Msg) -> int:
    """How often a message was delivered, as its reply subject says; `metadata` reads all of that, for each message."""
    parts = message.reply.split(".")  # $JS.ACK.[domain.account.]stream.consumer.deliveries...
    return int(parts[4 if len(parts) < 11 else 6])


def _name(stream: str) -> str:
    """The name of a JetStream stream, which may have no dots."""
    return stream.replace(".", "_")
