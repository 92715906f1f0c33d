"""Connections of the HTTP server: how many there may be, and how long one may keep its place without asking anything.

A connection costs a descriptor and some memory before it has said a word, so that a few thousand silent ones could take
all of them away from the coordinator and the worker in the same process. There is a most. A new connection beyond it
takes the place of the one that has been idle longest, or else of one whose request no key or session stands for and
that is not done; only where all are busy for who was let in is it refused with 503. What is too slow is closed: a
request whose head is not whole in time, a body that comes in slower than any line, an answer that is read slower than
that, a connection that asks nothing more. The parser (llhttp, by httptools) is fast and sets no limits: those of a head
are set here as well.
"""

import asyncio
import errno
import ipaddress
import re
import resource
from collections import OrderedDict, deque
from functools import partial
from http import HTTPStatus
from itertools import chain, takewhile
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from stateward import telemetry
from stateward.server.problems import Refusal
from stateward.server.strict import CALLER
from stateward.server.turns import leave
from stateward.settings.server import ApiSettings

SWEEP_S = 1.0
# Slower than any line that a person would call one. A body has `idle_seconds` besides, and so has an answer.
BODY_BYTES_PER_S = 1024
# A look at a key and a page for everybody take less than this, and so does a request to come.
NEW_S = 2.0
# Descriptors that connections leave to the database, documents, children and the log. Where there are few of them, a
# process that does nothing has used half of these already.
OPEN_FILES_RESERVED = 256
OPEN_FILES_NEEDED = 48
CONNECTIONS_MIN = 4
# What may come without a head being whole or a byte of a body: the parser keeps all of it. One read may go beyond.
HEAD_BYTES_MAX = 64 << 10
# Requests that a client sends before it has heard the answers: each is kept until those before it are answered.
PIPELINED_MAX = 8
OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
SCHEMES = frozenset({b"http", b"https"})
# A name or an address, and a port (RFC 9112, 3.2 with RFC 3986, 3.2.2). Empty is for who has none to name.
HOST = re.compile(rb"(?:\[([0-9A-Fa-f:.]+)\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::([0-9]{0,5}))?")
PORT_MAX = 65_535
VERSIONS = frozenset({"1.0", "1.1"})
# Of what strangers can cause thousands of times a second there is a line in the log no more often than this.
LOGGED_S = 60.0
HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def _last_answer(refusal: Refusal) -> bytes:
    """A refusal as it is sent before a connection is closed, where no application has its say."""
    answer = refusal.answer()
    fields = {
        **answer.headers,
        "Content-Length": str(len(answer.body)),
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join((*lines, "", "")).encode("ascii") + answer.body


INVALID = _last_answer(Refusal("invalid-request", "this is not a valid request of HTTP/1.1"))
FULL = _last_answer(
    Refusal("unavailable", "all connections are busy; try again", headers={"Retry-After": "1"})
)


class Connections:
    """All connections of one server. It belongs to the thread of its event loop."""

    def __init__(self, settings: ApiSettings) -> None:
        self.header_s = settings.header_seconds
        self.idle_s = settings.idle_seconds
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        # Half of them at most: an upload has a file as well.
        affordable = max(
            CONNECTIONS_MIN, (files - OPEN_FILES_NEEDED) // 4, (files - OPEN_FILES_RESERVED) // 2
        )
        is_unlimited = files == resource.RLIM_INFINITY
        self.most = (
            settings.connections_max if is_unlimited else min(settings.connections_max, affordable)
        )
        self.refused = 0
        self.displaced = 0
        self._log = telemetry.log("api")
        self._unsaid: dict[str, int] = {}
        self._said_at: dict[str, float] = {}
        # Ordered by time, the oldest first; a plain dictionary is slow at its beginning once much was taken from there.
        self._idle: OrderedDict[BoundedProtocol, None] = OrderedDict()
        self._busy: OrderedDict[BoundedProtocol, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    def protocol(self) -> type[asyncio.Protocol]:
        """What uvicorn makes of every connection, in the form in which it takes it: a class."""
        return partial(BoundedProtocol, self)  # type: ignore[return-value]

    def admit(self, protocol: "BoundedProtocol") -> bool:
        """Take a connection in; False where all others are busy."""
        if len(self) >= self.most:
            longest = self._least_needed(protocol.loop.time())
            if longest is None:
                self.refused += 1
                return False
            self.displaced += 1
            longest.drop()
        self._idle[protocol] = None
        return True

    def _least_needed(self, now: float) -> "BoundedProtocol | None":
        """Which one gives way to a new one: the longest idle, or a stranger's that has been busy for a while.

        One that is idle since a moment may have sent its request already, and strangers who come back whenever they
        are closed must not take its place: it gives way last.
        """
        # Both stand in the order of their times, so that the first that is new ends the search.
        silent = takewhile(lambda each: not each.is_new(now), self._idle)
        longer = takewhile(lambda each: not each.is_new(now), self._busy)
        strangers = (each for each in longer if each.is_strangers(now))
        return next(chain(silent, strangers, self._idle), None)

    def note(self, protocol: "BoundedProtocol", *, is_busy: bool) -> None:
        """A connection has begun something: to be idle, to send a head, or to be busy with a request."""
        self.forget(protocol)
        (self._busy if is_busy else self._idle)[protocol] = None

    def forget(self, protocol: "BoundedProtocol") -> None:
        self._idle.pop(protocol, None)
        self._busy.pop(protocol, None)

    def note_invalid(self, protocol: "BoundedProtocol", now: float) -> None:
        """A connection has sent what is no HTTP."""
        address = None if protocol.client is None else protocol.client[0]
        self._say("a request is not valid HTTP, and was refused", now, address=address)

    def note_fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What the event loop could not do. Without descriptors to accept with, all that are idle give theirs back."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in OUT_OF_FILES:
            self._log.error(f"the event loop: {context.get('message')}", exc_info=error)
            return
        self._say("there are no open files left for connections; idle ones are closed", loop.time())
        for protocol in list(self._idle):
            self.displaced += 1
            protocol.drop()

    def _say(self, sentence: str, now: float, **facts: object) -> None:
        count = self._unsaid.get(sentence, 0) + 1
        self._unsaid[sentence] = count
        if now - self._said_at.get(sentence, -LOGGED_S) >= LOGGED_S:
            self._said_at[sentence] = now
            self._unsaid[sentence] = 0
            self._log.warning(sentence, count=count, **facts)

    def sweep(self, now: float) -> None:
        """Close what is too slow."""
        for protocol in [each for each in (*self._idle, *self._busy) if each.is_late(now)]:
            protocol.drop()

    async def keep_sweeping(self) -> None:
        """Sweep until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_S)
            self.sweep(loop.time())


class BoundedProtocol(HttpToolsProtocol):
    """A connection that knows how long it has kept its place."""

    def __init__(
        self,
        own: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.parser = self._make_parser()
        self._own = own
        self._is_admitted = False
        self._since = self.loop.time()
        """When it became idle, began to send the head of a request, or began to send a body."""
        self._is_begun = False
        self._received = 0
        self._fruitless = 0
        """Bytes since the last head or piece of a body."""
        self._is_in_head = False
        self._hosts = 0
        self._host = b""
        self._cycles: deque[RequestResponseCycle] = deque()
        """Requests that are not answered yet: the one under way and those sent ahead."""
        self._last_words = b""
        """What ends it once these are answered: the refusal of what came after them."""
        self._stalled_at: float | None = None
        """When more was sent than its client has read; None while it keeps up."""
        self._unread = 0

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way here."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def is_late(self, now: float) -> bool:
        """Whether it has had all the time that it may have."""
        elapsed = now - self._since
        if not self.is_busy:
            return elapsed > (self._own.header_s if self._is_begun else self._own.idle_s)
        if self._stalled_at is not None:
            read = self._unread - self.transport.get_write_buffer_size()
            return now - self._stalled_at > self._own.idle_s + read / BODY_BYTES_PER_S
        # While reading is paused it is we who are slow.
        is_sending = self.cycle.more_body and not self.flow.read_paused
        return is_sending and elapsed > self._own.idle_s + self._received / BODY_BYTES_PER_S

    def is_strangers(self, now: float) -> bool:
        """Whether it is busy for longer than a look at a key takes, and no caller was found in its request."""
        cycle = next((each for each in self._cycles if not each.response_complete), None)
        return not self.is_new(now) and cycle is not None and CALLER not in cycle.scope["state"]

    def is_new(self, now: float) -> bool:
        """Whether it does what it does since a moment only."""
        return now - self._since <= NEW_S

    def pause_writing(self) -> None:
        """Its client reads slower than we answer."""
        super().pause_writing()
        self._stalled_at = self.loop.time()
        self._unread = self.transport.get_write_buffer_size()

    def resume_writing(self) -> None:
        """Its client has read nearly all of it."""
        super().resume_writing()
        self._stalled_at = None

    def drop(self) -> None:
        """Close it at once, whatever still waits to be sent."""
        self._own.forget(self)
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it in, or say that there is no place."""
        if not self._own.admit(self):
            transport.write(FULL)
            transport.close()
            return
        self._is_admitted = True
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone. What is under way must hear of it, and uvicorn tells the request that came last alone."""
        self._own.forget(self)
        for cycle in self._cycles:
            cycle.disconnected = cycle.disconnected or not cycle.response_complete
            cycle.message_event.set()
            leave(cycle.scope["state"])
        self._cycles.clear()
        if self._is_admitted:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Let the time of a head run from its first byte, that of a body from the end of the head."""
        if not self._is_admitted or self._last_words:
            return
        was_busy = self.is_busy
        if was_busy:
            self._received += len(data)
        elif not self._is_begun:
            self._is_begun = True
            self._since = self.loop.time()
            self._own.note(self, is_busy=False)
        self._fruitless += len(data)
        self._unset_keepalive_if_required()
        self._parse(data)
        if len(self.pipeline) > PIPELINED_MAX:
            self.drop()
        elif self._fruitless > HEAD_BYTES_MAX:
            self._refuse(HEAD_TOO_LARGE)
        if self.is_busy and not was_busy:
            self._begin()

    def _parse(self, data: bytes) -> None:
        # In a loop, because one read may hold thousands of requests that each offer another protocol.
        while data and len(self.pipeline) <= PIPELINED_MAX:
            try:
                self.parser.feed_data(data)
                data = b""
            except httptools.HttpParserUpgrade as upgrade:
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
            except httptools.HttpParserError:
                self._own.note_invalid(self, self.loop.time())
                self._refuse(INVALID)
                data = b""

    def _make_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        # A client that says that it closes, and sends more, still gets the answer to what it asked before.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _head_without_upgrade(self) -> bytes:
        """The head of a request that asks for another protocol, which a server may ignore, and this one does.

        The parser would take what follows for the other protocol, the body of the request among it.
        """
        version = self.parser.get_http_version().encode()
        self.parser = self._make_parser()
        lines = [self.scope["method"].encode() + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join((*lines, b"", b""))

    def _refuse(self, answer: bytes) -> None:
        """End it with an answer, after those to the requests before."""
        whole = [each for each in self._cycles if not (each.response_complete or each.more_body)]
        half_read = [each for each in self._cycles if each.more_body and not each.response_complete]
        if any(each.response_started for each in half_read):
            self.drop()  # half of another answer is on its way
            return
        for cycle in half_read:
            cycle.disconnected = True  # what it would say comes too late
        if whole:
            # Of those sent ahead, the one whose body is not whole is not begun.
            self.pipeline = deque(each for each in self.pipeline if each[0] not in half_read)
            self._cycles = deque(whole)
            self._last_words = answer
        else:
            self.transport.write(answer)
            self.transport.close()

    # Called by the parser

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._is_in_head, self._hosts, self._host = True, 0, b""

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the head; those that follow a body are not let into what was said before it."""
        if self._is_in_head:
            super().on_header(name, value)
            match name.lower():
                case b"host":
                    self._hosts += 1
                    self._host = value
                case b"transfer-encoding" if not self._is_known_encoding(value):
                    raise ValueError("an encoding that this server does not know")

    def _is_known_encoding(self, value: bytes) -> bool:
        """Whether a body comes in pieces and is nothing else besides.

        The parser takes others before it and leaves them in the body, which is then another one. HTTP/1.0 has none
        (RFC 9112, 6.1): what came before this server may have taken the pieces for requests.
        """
        is_chunked = value.strip().lower() == b"chunked"
        return is_chunked and self.parser.get_http_version() != "1.0"

    def on_headers_complete(self) -> None:
        """Begin the request. It must name one host (RFC 9112, 3.2), and the parser does not ask."""
        self._is_in_head, self._fruitless = False, 0
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT" or self._hosts > 1 or version not in VERSIONS:
            raise ValueError("not for this server")  # of which the parser makes an error of its own
        if not self._hosts and version != "1.0":
            raise ValueError("it names no host")
        if not is_host(self._host):
            raise ValueError("what it names is no host")
        if not self._is_own_target():
            raise ValueError("its target is none of this host")
        if self.parser.should_upgrade():
            self.scope["method"] = method.decode("ascii")
        else:
            super().on_headers_complete()
            while self._cycles and self._cycles[0].response_complete:
                self._cycles.popleft()
            self._cycles.append(self.cycle)

    def _is_own_target(self) -> bool:
        """Whether the target is a path, or a whole address of the host that the head names (RFC 9112, 3.2.2).

        Which of two hosts is meant could be read differently by a proxy, and so could what follows a `#`.
        """
        if b"#" in self.url:
            return False
        if self.url.startswith(b"/") or self.url == b"*":
            return True
        scheme, _, rest = self.url.lower().partition(b"://")
        host = re.split(b"[/?]", rest, maxsplit=1)[0]
        return scheme in SCHEMES and host == self._host.lower()

    def on_body(self, body: bytes) -> None:
        self._fruitless = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request; one that asks for another protocol is read again without that."""
        self._fruitless = 0
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """It is idle, or goes on with what was sent ahead."""
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._last_words:
            if all(each.response_complete for each in self._cycles):
                self.transport.write(self._last_words)
                self.transport.close()
        elif self.is_busy:
            self._begin()
        else:
            self._since, self._is_begun = self.loop.time(), False
            self._own.note(self, is_busy=False)

    def _begin(self) -> None:
        self._since, self._is_begun, self._received = self.loop.time(), False, 0
        self._own.note(self, is_busy=True)


def is_host(value: bytes) -> bool:
    """Whether a request may name this as its host; others are refused, since what reads it later may fail over it."""
    found = HOST.fullmatch(value)
    if found is None or int(found[2] or 0) > PORT_MAX:
        return False
    try:
        return found[1] is None or bool(ipaddress.IPv6Address(found[1].decode("ascii")))
    except ValueError:
        return False
