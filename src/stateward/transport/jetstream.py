"""NATS JetStream: a stream of ours is a JetStream stream with one durable pull consumer.

Work-queue retention: a message is removed when it is acknowledged, so what a stream holds is what is unsettled. Its
lease is the consumer's `ack_wait`; `in_progress` starts it again. The client of NATS is asynchronous, so it runs in a
thread with an event loop of its own, and everything here hands it one coroutine and waits for the answer.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StreamConfig,
)
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from stateward.core.errors import TransportUnreachable
from stateward.transport.engine import DEAD_LETTERS_MAX, GROUP, Delivery, Parcel, full, unreachable

# A pull always waits a little; what the server has at hand arrives within this.
NO_WAIT_S = 0.005
ANSWER_S = 5.0  # a request that is not answered within this: the server is away
STREAM_FULL = 10077  # the server's code for more messages than `max_msgs`
ACK_PENDING_MAX = 10_000  # leased messages of one stream, of all consumers together

T = TypeVar("T")


class JetStreamEngine:
    """A consumer of JetStream streams. `?replicas=3` in the URL says how many servers keep each stream."""

    def __init__(self, url: str, *, consumer: str, lease_s: float, depth_max: int) -> None:
        parts = urlsplit(url)
        self._url = url
        self._replicas = int(parse_qs(parts.query).get("replicas", ["1"])[0])
        self._lease_s = lease_s
        self._depth_max = depth_max
        self._subscriptions: dict[str, JetStreamContext.PullSubscription] = {}
        self._fetches: dict[str, asyncio.Task[list[Any]]] = {}
        self._streams: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="nats", daemon=True)
        self._thread.start()
        try:
            self._client = self._run(self._connect(parts._replace(query="").geturl(), consumer))
        except BaseException:
            self._end_loop()
            raise
        self._jetstream = self._client.jetstream(timeout=ANSWER_S)
        # Headers and the subject count towards the server's limit as well.
        self.bytes_max: int = self._client.max_payload - 4096

    async def _connect(self, url: str, consumer: str) -> Client:
        async def ignore(_: Exception) -> None:
            """The caller of each operation is told; the client's own log would repeat it."""

        return await asyncio.wait_for(
            nats.connect(
                url,
                name=consumer,
                connect_timeout=round(ANSWER_S),
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,
                error_cb=ignore,
            ),
            ANSWER_S,
        )

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages, all at once; each is acknowledged by the server."""
        self._run(self._publish(stream, parcels))

    async def _publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        await self._ensure(stream)
        sent = await asyncio.gather(
            *(self._jetstream.publish(stream, each.body) for each in parcels),
            return_exceptions=True,
        )
        failed = [each for each in sent if isinstance(each, BaseException)]
        if any(isinstance(each, NoStreamResponseError) for each in failed):
            self._streams.discard(stream)  # it was deleted meanwhile: the next try makes it again
        for each in failed:
            if isinstance(each, APIError) and each.err_code == STREAM_FULL:
                raise full(stream, self._depth_max)
            raise each

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease messages of the first streams that have any."""
        wait_s = max(NO_WAIT_S, min(wait_s, ANSWER_S / 2))
        return self._run(self._receive(streams, limit, wait_s), at_most_s=wait_s + 2 * ANSWER_S)

    async def _receive(self, streams: Sequence[str], limit: int, wait_s: float) -> list[Delivery]:
        """One pull per stream. Those that have not answered are left open: to cancel one could lose a message.

        They end by themselves after `wait_s`, and what they brought is taken by the next call.
        """
        for stream in streams:
            if stream not in self._fetches:
                self._fetches[stream] = asyncio.ensure_future(self._fetch(stream, limit, wait_s))
        await asyncio.wait(
            self._fetches.values(), timeout=wait_s, return_when=asyncio.FIRST_COMPLETED
        )
        # Others that answer in the same moment are told apart by rank, so they get the chance to.
        await asyncio.sleep(0)
        found: list[Delivery] = []
        for stream in [name for name, task in self._fetches.items() if task.done()]:
            found += self._fetches.pop(stream).result()
        return found

    async def _fetch(self, stream: str, limit: int, wait_s: float) -> list[Delivery]:
        try:
            messages = await (await self._subscription(stream)).fetch(limit, timeout=wait_s)
        except TimeoutError:
            return []
        except (NotFoundError, NoStreamResponseError):
            self._subscriptions.pop(stream, None)
            self._streams.discard(stream)
            return []
        return [Delivery(stream, each, each.data, each.metadata.num_delivered) for each in messages]

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        """Tell the server that they are still being worked on."""
        self._run(self._each(deliveries, "in_progress"))

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge messages; the server removes them."""
        self._run(self._each(deliveries, "ack"))

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Refuse messages, for the server to deliver them again at once."""
        self._run(self._each(deliveries, "nak"))

    async def _each(self, deliveries: Sequence[Delivery], verb: str) -> None:
        for each in deliveries:
            message: Any = each.token
            if message.is_acked:  # by an earlier try of which the answer was lost
                continue
            await getattr(message, verb)()
        if deliveries:
            await self._client.flush(timeout=round(ANSWER_S))

    def drain(self) -> None:
        """Wait for the pulls that are open, which end by themselves, and refuse what they bring."""
        self._run(self._drain())

    async def _drain(self) -> None:
        for task in [self._fetches.pop(stream) for stream in list(self._fetches)]:
            await self._each(await task, "nak")

    def bury(self, stream: str, parcel: Parcel) -> None:
        """Append a dead letter."""
        self._run(self._bury(stream, parcel))

    async def _bury(self, stream: str, parcel: Parcel) -> None:
        await self._jetstream.add_stream(self._dead(stream))
        await self._jetstream.publish(stream, parcel.body)

    def buried(self, stream: str, *, limit: int) -> list[bytes]:
        """The newest dead letters, read by number: a stream of them has no consumer."""
        return self._run(self._buried(stream, limit))

    async def _buried(self, stream: str, limit: int) -> list[bytes]:
        try:
            state = (await self._jetstream.stream_info(_name(stream))).state
        except NotFoundError:
            return []
        first = max(state.first_seq, state.last_seq - limit + 1)
        return [
            (await self._jetstream.get_msg(_name(stream), seq=number)).data or b""
            for number in range(first, state.last_seq + 1)
        ]

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
        for task in self._fetches.values():
            task.cancel()
        await asyncio.gather(*self._fetches.values(), return_exceptions=True)
        await self._client.close()

    async def _subscription(self, stream: str) -> JetStreamContext.PullSubscription:
        if stream not in self._subscriptions:
            await self._ensure(stream)
            config = ConsumerConfig(
                durable_name=GROUP,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=self._lease_s,
                max_deliver=-1,  # poison is told by the count, and buried with a reason
                max_ack_pending=ACK_PENDING_MAX,
            )
            self._subscriptions[stream] = await self._jetstream.pull_subscribe(
                stream, durable=GROUP, stream=_name(stream), config=config
            )
        return self._subscriptions[stream]

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

    def _run(self, coroutine: Coroutine[Any, Any, T], *, at_most_s: float = 2 * ANSWER_S) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(at_most_s)
        except (NatsError, OSError, TimeoutError) as error:
            future.cancel()
            raise unreachable(self._url, error) from error

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_S)
        if not self._thread.is_alive():
            self._loop.close()


def _name(stream: str) -> str:
    """The name of a JetStream stream, which may have no dots."""
    return stream.replace(".", "_")
