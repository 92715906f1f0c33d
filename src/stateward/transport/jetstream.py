"""NATS JetStream: a stream of ours is a JetStream stream with one durable pull consumer.

Work-queue retention: a message is removed when it is acknowledged, so what a stream holds is what is unsettled. Its
lease is the consumer's `ack_wait`; `+WPI` ("work in progress") starts it again.

There are two connections, as with Redis: one for what comes, and one for the rest. A request for messages
stays open beyond the call that sent it, one at a time for each stream: what it brings is for the next call.
"""

import base64
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

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
    unreachable,
)
from stateward.transport.nats_login import NatsUrl, parse_nats_url
from stateward.transport.nats_wire import (
    NO_HEADERS,
    NatsMessage,
    NatsWire,
    NatsWireError,
    publication,
)

MORE_S = 0.01  # what a server is about to send is waited for so long
LATE_S = 1.0  # after its end the answer to a request is not waited for any more: it was lost
ROUND_S = 1.0  # how often all streams are looked at; between, those for which something came
ACK, IN_PROGRESS = b"+ACK", b"+WPI"
ALIVE = "100"  # the status that says only that the server is there
# The consumer was deleted, or nothing answers for it: the server lost it.
NO_STREAM = ("409", "503")
NOT_FOUND = 404
DIGITS_MAX = 19  # of the number of a message
NO_MESSAGE = (
    10037,
    10043,
    10057,
)  # codes of refusals: no message has the number that is asked for or deleted
STREAM_FULL = 10077  # the server's code for more messages than `max_msgs`
BROADCASTS_MAX = 1000  # that wait to be read
SUBJECT_BYTES = 4096
DELIVERIES, PENDING = 4, 8  # places in the reply subject of a message
ACK_PENDING_MAX = 10_000  # leased messages of one stream, of all consumers together

T = TypeVar("T")


class StreamGone(NatsWireError):
    """No stream takes what was published."""


class _Pull:
    """The requests for messages of one stream, and what they brought and nothing has asked for yet."""

    def __init__(self, number: int, stream: str) -> None:
        self.number = number
        self.stream = stream
        self.messages: deque[NatsMessage] = deque()
        self.is_stale = True
        """Whether its consumer has to be made or looked for."""
        self.is_empty = False
        """Whether the last thing that the server said was that there is nothing, or nothing more."""
        self._open = 0
        self._until = 0.0

    def is_open(self, now: float) -> bool:
        """Whether the server may still answer the last request."""
        return self._open > 0 and now < self._until

    def is_overdue(self, now: float) -> bool:
        """Whether the server should have answered by now, if only that nothing came."""
        return self._open > 0 and now >= self._until

    def is_coming(self, limit: int) -> bool:
        """Whether the server has said that there is more than what came, and an open request asks for it."""
        return self._open > 0 and not self.is_empty and 0 < len(self.messages) < limit

    def begin(self, count: int, *, wait_s: float) -> None:
        """A request for so many messages was sent."""
        self._open, self._until = count, time.monotonic() + wait_s + LATE_S

    def end(self) -> None:
        """The request that was open is not answered any more."""
        self._open = 0

    def take_in(self, message: NatsMessage) -> None:
        """Note an answer of the server: a message, or that there is none."""
        if not message.status:
            self.messages.append(message)
            self.is_empty = _is_last(message)
            self._open -= 1
        elif message.status != ALIVE:
            self.is_empty = True
            self.is_stale = message.status in NO_STREAM
            self.end()


class _Refusal(msgspec.Struct):
    """Why the server did not do something."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class _State(msgspec.Struct):
    messages: int = 0
    first_seq: int = 0
    last_seq: int = 0


class _Stored(msgspec.Struct):
    data: str = ""


class Answer(msgspec.Struct):
    """The server's answer to a message that was published, or to a question about streams."""

    error: _Refusal | None = None
    streams: list[str] | None = None
    state: _State = msgspec.field(default_factory=_State)
    message: _Stored = msgspec.field(default_factory=_Stored)


_decode_answer = msgspec.json.Decoder(Answer).decode


class JetStreamApi:
    """Publishing to streams, and questions about them, over one connection."""

    def __init__(self, wire: NatsWire, url: NatsUrl) -> None:
        self._wire = wire
        self._replicas = url.replicas
        self.subject = "$JS.API" if url.js_domain is None else f"$JS.{url.js_domain}.API"

    def publish(self, write: Callable[[str], Sequence[bytes]]) -> _Refusal | None:
        """Send the publications that `write` makes for a reply subject; what was refused first, if anything was."""
        answers = self._wire.request(write)
        if any(each.status in NO_STREAM for each in answers):
            raise StreamGone("the server has no such stream any more")
        refusals = (_decode_answer(each.data).error for each in answers)
        return next((each for each in refusals if each is not None), None)

    def ask(self, verb: str, question: dict[str, Any] | None = None) -> Answer | None:
        """Ask the server about streams; None where what is asked for is not there."""
        body = b"" if question is None else msgspec.json.encode(question)
        (said,) = self._wire.request(
            lambda reply: [publication(f"{self.subject}.{verb}", body, reply)]
        )
        if said.status:
            raise NatsWireError("JetStream does not answer: nats-server -js turns it on")
        answer = _decode_answer(said.data)
        if answer.error is None:
            return answer
        if answer.error.code == NOT_FOUND or answer.error.err_code in NO_MESSAGE:
            return None
        raise NatsWireError(answer.error.description)

    def make_stream(self, name: str, subject: str, limits: dict[str, Any]) -> None:
        """Make a stream; one that is there with the same values is no error."""
        config = {"name": name, "subjects": [subject], "num_replicas": self._replicas, **limits}
        self.ask(f"STREAM.CREATE.{name}", config)


class JetStreamEngine:
    """A consumer of JetStream streams. The URL is that of `nats_login`; `replicas` servers keep each stream."""

    def __init__(self, url: str, *, consumer: str, lease_s: float, depth_max: int) -> None:
        self._url = url
        own = parse_nats_url(url)
        self._lease_s = lease_s
        self._answer_s = answer_s(lease_s)
        self._depth_max = depth_max
        self._pulls: dict[str, _Pull] = {}
        self._by_inbox: dict[str, _Pull] = {}
        self._heard: dict[str, _Pull] = {}
        """For which something came since their request was sent, and those with messages."""
        self._asked: Sequence[str] = ()
        """The streams of which each had an open request at the last round."""
        self._round_at = 0.0
        self._connections = 0
        self._streams: set[str] = set()
        self._told: dict[str, deque[bytes]] = {}
        self.losses = 0
        # One for what comes and one for the rest: neither waits for the other.
        self._reading = NatsWire(own, name=consumer, answer_s=self._answer_s)
        self._writing = NatsWire(own, name=consumer, answer_s=self._answer_s)
        self._api = JetStreamApi(self._writing, own)

    @property
    def bytes_max(self) -> int:
        """What the server said last, or its default; the subject counts towards that as well."""
        return self._writing.info.max_payload - SUBJECT_BYTES

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages, all at once; each is acknowledged by the server: they share one step."""
        self._answer(
            lambda: self._publish(
                stream, lambda reply: [publication(stream, each.body, reply) for each in parcels]
            )
        )

    def _publish(self, stream: str, write: Callable[[str], Sequence[bytes]]) -> None:
        self._ensure(stream)
        try:
            error = self._api.publish(write)
        except StreamGone:
            self._streams.discard(stream)  # the next try makes it again
            raise
        if error is not None and error.err_code == STREAM_FULL:
            raise full(stream, self._depth_max)
        if error is not None:
            raise NatsWireError(error.description)

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        wait_s = min(wait_s, self._answer_s / 2)
        return self._answer(lambda: self._receive(streams, limit, wait_s))

    def ask(self, streams: Sequence[str], *, limit: int) -> bool:
        return self._answer(lambda: self._begin(streams, limit))

    def _begin(self, streams: Sequence[str], limit: int) -> bool:
        self._take_in(0.0)
        is_round = not self._is_asked(streams)
        due = streams if is_round else list(self._heard_of(streams))
        pulls = self._look(due, limit, is_waiting=True)
        if not (is_round or self._is_asked(streams)):  # it was connected anew meanwhile
            is_round, pulls = True, self._look(streams, limit, is_waiting=True)
        if any(each.messages for each in self._heard_of(streams).values()):
            return True
        self._ask_again(pulls, limit)
        now = time.monotonic()
        if is_round:
            self._asked, self._round_at = tuple(streams), now + ROUND_S
        for stream, pull in pulls.items():
            if pull.is_open(now):
                self._heard.pop(stream, None)
        return False

    def _is_asked(self, streams: Sequence[str]) -> bool:
        """Whether only those need a look for which something came: the rest have open requests.

        A worker has streams of all stages, of which most say nothing for hours.
        """
        is_same = self._connections == self._reading.connections
        return is_same and time.monotonic() < self._round_at and self._asked == tuple(streams)

    def _heard_of(self, streams: Sequence[str]) -> dict[str, _Pull]:
        return {stream: pull for stream, pull in self._heard.items() if stream in streams}

    def collect(self, streams: Sequence[str], *, limit: int) -> list[Delivery]:
        self._answer(self._take_in_all)
        self._answer(lambda: self._wait_for_more(self._heard_of(streams), limit))
        return _deliveries(self._heard_of(streams), limit)

    def fileno(self) -> int:
        """The connection on which messages come that were asked for; -1 without one."""
        return self._reading.fileno()

    def _receive(self, streams: Sequence[str], limit: int, wait_s: float) -> list[Delivery]:
        """Ask for what is there, of all streams, so that ranks can be compared; and only then for what may come.

        A request that waits stays open beyond this call, and what it brings is for the next one.
        """
        pulls = self._look(streams, limit, is_waiting=wait_s > 0)
        # Also those that run out while this waits: what came to a stream then would lie there until the next call.
        self._wait(
            wait_s,
            lambda: any(each.messages for each in pulls.values()),
            lambda: self._ask_again(pulls, limit),
        )
        self._wait_for_more(pulls, limit)
        return _deliveries(pulls, limit)

    def _wait_for_more(self, pulls: Mapping[str, _Pull], limit: int) -> None:
        self._wait(MORE_S, lambda: not any(each.is_coming(limit) for each in pulls.values()))

    def _look(self, streams: Sequence[str], limit: int, *, is_waiting: bool) -> dict[str, _Pull]:
        """Ask for what is there; with `is_waiting` not where the server has just said that there is nothing."""
        pulls = {stream: self._pull(stream) for stream in streams}
        self._take_in(0.0)  # which connects
        self._check_connection(pulls.values())
        now = time.monotonic()
        due = {
            stream: pull
            for stream, pull in pulls.items()
            if not (pull.messages or pull.is_open(now) or (is_waiting and pull.is_empty))
        }
        self._ask(due, limit)
        if due:
            self._wait(
                LATE_S, lambda: not any(each.is_open(time.monotonic()) for each in due.values())
            )
        return pulls

    def _ask_again(self, pulls: Mapping[str, _Pull], limit: int) -> None:
        """Have the server hold requests until something comes."""
        now = time.monotonic()
        again = {
            stream: pull
            for stream, pull in pulls.items()
            if not (pull.is_open(now) or pull.is_stale)
        }
        self._ask(again, limit, self._answer_s)

    def _check_connection(self, pulls: Collection[_Pull]) -> None:
        """Forget requests that were sent over an earlier connection; try one on which answers are missing."""
        now = time.monotonic()
        if any(each.is_overdue(now) for each in pulls):
            for each in pulls:
                each.end()
            self._reading.flush()
            self._take_in(0.0)  # what came before the answer to that
        if self._connections != self._reading.connections:
            self._connections, self._asked = self._reading.connections, ()
            for each in self._pulls.values():
                each.end()

    def _wait(
        self, wait_s: float, is_enough: Callable[[], bool], ask: Callable[[], None] | None = None
    ) -> None:
        """Wait until enough has come, at most so long; `ask` before each wait."""
        until = time.monotonic() + wait_s
        while not is_enough() and (left := until - time.monotonic()) > 0:
            if ask is not None:
                ask()
            self._take_in(left)

    def _take_in_all(self) -> None:
        """Also what is not on the descriptor any more, which nothing would tell of."""
        self._take_in(0.0)
        while self._reading.has_more:
            self._take_in(0.0)

    def _take_in(self, wait_s: float) -> None:
        for each in self._reading.messages(wait_s):
            # A message has the subject of its stream, and an answer without one that of the request.
            pull = self._pulls.get(each.subject) or self._by_inbox.get(each.subject)
            if pull is not None:
                pull.take_in(each)
                self._heard[pull.stream] = pull
            elif each.subject in self._told:
                self._told[each.subject].append(each.data)

    def _pull(self, stream: str) -> _Pull:
        """Where the messages of a stream arrive, its consumer made anew where the server has lost it."""
        pull = self._pulls.get(stream)
        if pull is None:
            pull = _Pull(len(self._pulls), stream)
            self._make_consumer(stream)
            self._pulls[stream] = self._by_inbox[self._inbox_of(pull)] = pull
        elif pull.is_stale:
            self.losses += 1
            self._make_consumer(stream)
        pull.is_stale = False
        return pull

    def _inbox_of(self, pull: _Pull) -> str:
        return f"{self._reading.inbox}.{pull.number}"

    def _ask(self, pulls: Mapping[str, _Pull], limit: int, wait_s: float = 0.0) -> None:
        """Send one request for each stream, at once: for what is there, or for what comes within some time."""
        how = {"expires": round(wait_s * 1e9)} if wait_s else {"no_wait": True}
        body = msgspec.json.encode({"batch": limit, **how})
        for pull in pulls.values():
            pull.begin(limit, wait_s=wait_s)
        if pulls:
            self._reading.send(
                *(
                    publication(
                        f"{self._api.subject}.CONSUMER.MSG.NEXT.{_name(stream)}.{GROUP}",
                        body,
                        self._inbox_of(pull),
                    )
                    for stream, pull in pulls.items()
                )
            )

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        """Tell the server that they are still being worked on, and wait until it has heard that."""
        unsettled = _open_messages(deliveries)
        if unsettled:
            publications = [publication(each.reply, IN_PROGRESS) for each in unsettled]
            self._answer(lambda: self._writing.flush(*publications))

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge messages; the server removes them.

        It is not waited for: what is not heard comes again, and its result is dropped.
        """
        self._answer(lambda: self._settle(_open_messages(deliveries)))

    def _settle(self, messages: Sequence[NatsMessage]) -> None:
        if messages:
            self._writing.send(*(publication(each.reply, ACK) for each in messages))
        for each in messages:
            each.is_settled = True

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Publish messages again and settle those that were leased: a refusal would count as another delivery."""
        by_stream: dict[str, list[Delivery]] = {}
        for each in deliveries:
            by_stream.setdefault(each.stream, []).append(each)
        for stream, some in by_stream.items():
            self._give_back(stream, _open_messages(some))

    def _give_back(self, stream: str, messages: Sequence[NatsMessage]) -> None:
        if messages:
            self._answer(
                lambda: self._publish(
                    stream, lambda reply: [_again(stream, each, reply) for each in messages]
                )
            )
            self._answer(lambda: self._settle(messages))

    def give_back(self) -> None:
        """End the requests that are open, and give back what came for them after the call that sent them had enough."""
        self._asked = ()
        now = time.monotonic()
        if any(pull.is_open(now) for pull in self._pulls.values()):
            self._answer(self._end_requests)
        for stream, pull in self._pulls.items():
            self._give_back(stream, _some(pull.messages, len(pull.messages)))

    def drain(self) -> None:
        """The same for good."""
        self.give_back()
        self._pulls.clear()
        self._by_inbox.clear()
        self._heard.clear()

    def _end_requests(self) -> None:
        """The server answers none of them any more; what is on its way arrives before this returns."""
        try:
            self._reading.change_inbox()
            self._take_in(0.0)
        finally:  # the inbox has its new name even if the server was not reached
            self._by_inbox = {self._inbox_of(pull): pull for pull in self._pulls.values()}
            for pull in self._pulls.values():
                pull.end()

    def bury(self, stream: str, parcel: Parcel) -> None:
        self._answer(lambda: self._bury(stream, parcel))

    def _bury(self, stream: str, parcel: Parcel) -> None:
        self._make_stream(stream, {"max_msgs": DEAD_LETTERS_MAX})
        self._publish(stream, lambda reply: [publication(stream, parcel.body, reply)])

    def buried(self, stream: str, *, limit: int) -> list[Buried]:
        """The newest dead letters, read by number: a stream of them has no consumer."""
        return self._answer(lambda: self._read_dead_letters(stream, limit))

    def _read_dead_letters(self, stream: str, limit: int) -> list[Buried]:
        info = self._stream_info(stream)
        if info is None:
            return []
        found: list[Buried] = []
        count = min(limit, info.state.messages)
        for number in range(info.state.last_seq, info.state.first_seq - 1, -1):
            if len(found) >= count:
                break
            answer = self._api.ask(f"STREAM.MSG.GET.{_name(stream)}", {"seq": number})
            if answer is not None:  # else it was taken out
                found.append(Buried(str(number), base64.b64decode(answer.message.data)))
        return found[::-1]

    def unbury(self, stream: str, ids: Sequence[str]) -> None:
        """Delete dead letters by their numbers."""
        numbers = [int(each) for each in ids if each.isdecimal() and len(each) <= DIGITS_MAX]
        self._answer(lambda: self._delete(stream, numbers))

    def _delete(self, stream: str, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._api.ask(f"STREAM.MSG.DELETE.{_name(stream)}", {"seq": number})

    def broadcast(self, topic: str, body: bytes) -> None:
        """Publish to a subject of no stream: the server keeps nothing."""
        self._answer(lambda: self._writing.flush(publication(topic, body)))

    def broadcasts(self, topic: str) -> list[bytes]:
        """What came to the subject since the last call."""
        if topic not in self._told:
            self._answer(lambda: self._reading.subscribe(topic))
            self._told[topic] = deque(maxlen=BROADCASTS_MAX)
        self._answer(lambda: self._take_in(0.0))
        queued = self._told[topic]
        return [queued.popleft() for _ in range(len(queued))]

    def depth(self, stream: str) -> int:
        """How many messages the stream holds."""
        found = self._answer(lambda: self._stream_info(stream))
        return 0 if found is None else found.state.messages

    def close(self) -> None:
        self._reading.close()
        self._writing.close()

    def _make_consumer(self, stream: str) -> None:
        """Make a stream and its consumer. One that exists with other values is used as it is."""
        # Looked up anew, whatever is remembered of it: a server that lost its disk may have been back before we asked.
        self._streams.discard(stream)
        self._ensure(stream)
        name = f"{_name(stream)}.{GROUP}"
        if self._api.ask(f"CONSUMER.INFO.{name}") is None:
            config = {
                "durable_name": GROUP,
                "ack_policy": "explicit",
                "ack_wait": round(self._lease_s * 1e9),
                "max_deliver": -1,  # poison is told by the count, and buried with a reason
                "max_ack_pending": ACK_PENDING_MAX,
            }
            self._api.ask(
                f"CONSUMER.DURABLE.CREATE.{name}",
                {"stream_name": _name(stream), "config": config},
            )

    def _ensure(self, stream: str) -> None:
        """Make a stream. One that exists with other values, for an operator wanted them, is used as it is."""
        if stream in self._streams:
            return
        if self._stream_info(stream) is None:
            limits = {"retention": "workqueue", "max_msgs": self._depth_max, "discard": "new"}
            self._make_stream(stream, limits)
        self._streams.add(stream)

    def _make_stream(self, stream: str, limits: dict[str, Any]) -> None:
        self._api.make_stream(_name(stream), stream, limits)

    def _stream_info(self, stream: str) -> Answer | None:
        return self._api.ask(f"STREAM.INFO.{_name(stream)}")

    def _answer(self, ask: Callable[[], T]) -> T:
        """Ask; what the server refuses, or does not answer, is told as an outage."""
        try:
            return ask()
        except (OSError, msgspec.MsgspecError) as error:
            raise unreachable(self._url, error) from error


def _open_messages(deliveries: Sequence[Delivery]) -> list[NatsMessage]:
    """Their messages, without those that an earlier try settled of which the answer was lost."""
    tokens = (each.token for each in deliveries)
    return [each for each in tokens if isinstance(each, NatsMessage) and not each.is_settled]


def _deliveries(pulls: Mapping[str, _Pull], limit: int) -> list[Delivery]:
    return [
        Delivery(stream, each, each.data, _count(each))
        for stream, pull in pulls.items()
        for each in _some(pull.messages, limit)
    ]


def _some(messages: deque[NatsMessage], count: int) -> list[NatsMessage]:
    return [messages.popleft() for _ in range(min(count, len(messages)))]


def _count(message: NatsMessage) -> int:
    """How often a message was delivered, as its reply subject says, and before it was given back."""
    count = _number_in(message, DELIVERIES)
    if not message.headers:
        return count
    header = message.headers.partition(f"\r\n{DELIVERED}: ".encode())[2].partition(b"\r\n")[0]
    return count + delivered_before(header)


def _number_in(message: NatsMessage, place: int) -> int:
    """A number in the reply subject: `$JS.ACK.[domain.account.]stream.consumer.deliveries.seq.seq.time.pending`."""
    parts = message.reply.split(".")
    return int(parts[place if len(parts) < 11 else place + 2])


def _is_last(message: NatsMessage) -> bool:
    """Whether the stream had nothing more for its consumers when it gave this, as the reply subject says."""
    return _number_in(message, PENDING) == 0


def _again(stream: str, message: NatsMessage, reply: str) -> bytes:
    """The command that publishes a message which is given back, with how often it was delivered before that."""
    before = _count(message) - 1
    headers = {DELIVERED: str(before)} if before else NO_HEADERS
    return publication(stream, message.data, reply, headers)


def _name(stream: str) -> str:
    """The name of a JetStream stream, which may have no dots."""
    return stream.replace(".", "_")
