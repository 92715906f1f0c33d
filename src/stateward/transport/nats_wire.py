"""A connection to a NATS server that is written to and read from by the thread that uses it.

The protocol of NATS is lines of text (https://docs.nats.io/reference/reference-protocols/nats-protocol). Its client for
Python is asynchronous: behind it each message passes a thread with an event loop on its way out, and again on its way
in, which cost 8 ms of CPU for a record alone (docs/decisions/0045). Here a message is a write to the socket
and an answer a read from it. Nothing goes on in the background: a connection that was lost is made anew by its
next use.
"""

import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from threading import RLock
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from stateward.transport.nats_login import PORT, NatsUrl

CHUNK_BYTES = 256 * 1024
LINE_BYTES_MAX = (
    1024 * 1024
)  # of the protocol's own lines; the longest is what the server says of itself
# After which a connection is looked at before it is used: the server may have closed it.
IDLE_S = 1.0
NO_SUBSCRIPTION = b"Permissions Violation for Subscription"
NO_HEADERS: Mapping[str, str] = {}
NOTHING_YET = (BlockingIOError, TimeoutError, ssl.SSLWantReadError)

T = TypeVar("T")


class NatsWireError(OSError):
    """The server refuses something, or says what is no answer."""


class NatsMessage(msgspec.Struct, gc=False):
    """A message as it came. `status` is that of an answer which carries none, such as 404: there is nothing."""

    subject: str
    reply: str
    data: bytes
    status: str = ""
    headers: bytes = b""
    is_settled: bool = False


class ServerInfo(msgspec.Struct):
    """What a server says of itself, as far as it matters here."""

    max_payload: int = 1024 * 1024
    tls_required: bool = False
    headers: bool = False
    nonce: str = ""
    connect_urls: list[str] = []


class NatsWire:
    """One connection, for one thread at a time. What is subscribed to, it is again whenever it is made anew."""

    def __init__(self, url: NatsUrl, *, name: str, answer_s: float) -> None:
        self._url = url
        self._name = name
        self._answer_s = answer_s
        self._lock = RLock()
        self._socket: socket.socket | None = None
        self._buffer = bytearray()
        self._kept: list[NatsMessage] = []  # that came while an answer was waited for
        self._heard_at = 0.0
        self._pongs = 0
        self._requests = 0
        self._subjects: list[str] = []
        self.inbox = ""
        self.info = ServerInfo()
        self.connections = 0
        """How often it was connected: what was asked for over an earlier connection is not answered."""
        self._name_inbox()

    def _name_inbox(self) -> None:
        """Choose a new subject for answers, in the place of the former: the first one that is subscribed to."""
        self.inbox = f"{self._url.inbox_prefix}.{os.urandom(11).hex()}"
        self._subjects[:1] = [f"{self.inbox}.*"]

    # Used by all

    def subscribe(self, subject: str) -> None:
        """Have messages of a subject sent here, now and after each loss of the connection."""
        with self._lock:
            self._subjects.append(subject)
            if self._socket is not None:
                self._send(_subscription(subject, len(self._subjects)))

    def change_inbox(self) -> None:
        """Have nothing sent for earlier requests any more; what is on its way has arrived when this returns."""
        with self._lock:
            self._name_inbox()
            self.flush(b"UNSUB 1\r\n", _subscription(self._subjects[0], 1))

    def send(self, *commands: bytes) -> None:
        """Send what is not answered."""
        with self._lock:
            self._again(lambda: self._send(*commands))

    def request(self, write: Callable[[str], Sequence[bytes]]) -> list[NatsMessage]:
        """Send at once what `write` makes for a reply subject, and wait until each of it is answered."""
        with self._lock:
            return self._again(lambda: self._request(write))

    def flush(self, *commands: bytes) -> None:
        """Send, and wait until the server has read it."""
        with self._lock:
            self._again(lambda: self._flush(*commands))

    def messages(self, wait_s: float) -> list[NatsMessage]:
        """All messages that are there, or that come next within some time."""
        with self._lock, self._closed_by_errors():
            self._connect()
            return self._messages(time.monotonic() + wait_s)

    def fileno(self) -> int:
        """The descriptor of the connection; -1 without one."""
        own = self._socket
        return -1 if own is None else own.fileno()

    @property
    def has_more(self) -> bool:
        """Whether something was read from the socket that `messages` has not returned."""
        own = self._socket
        return bool(self._kept) or (isinstance(own, ssl.SSLSocket) and own.pending() > 0)

    def close(self) -> None:
        """Close the connection; the next use makes another one."""
        with self._lock, suppress(OSError):
            own, self._socket = self._socket, None
            if own is not None:
                own.close()

    # Asking

    def _again(self, ask: Callable[[], T]) -> T:
        """Ask; once more over a new connection where the one there was had been lost unnoticed.

        What the server had already got is there twice then, as with any engine.
        """
        was_connected = self._socket is not None
        try:
            with self._closed_by_errors():
                self._connect()
                return ask()
        except ConnectionError:
            if not was_connected:
                raise
        with self._closed_by_errors():
            self._connect()
            return ask()

    def _request(self, write: Callable[[str], Sequence[bytes]]) -> list[NatsMessage]:
        self._requests += 1
        reply = f"{self.inbox}.{self._requests}"
        commands = write(reply)
        self._send(*commands)
        until = time.monotonic() + self._answer_s
        answers: list[NatsMessage] = []
        while len(answers) < len(commands):
            found = self._messages(until)
            if not found:
                raise TimeoutError("the server did not answer in time")
            answers += [each for each in found if each.subject == reply]
        return answers

    def _flush(self, *commands: bytes) -> None:
        wanted = self._pongs + 1
        self._send(*commands, b"PING\r\n")
        until = time.monotonic() + self._answer_s
        while self._pongs < wanted:
            if not self._read(until):
                raise TimeoutError("the server did not answer in time")
            self._kept += self._parse()

    # The connection

    def _connect(self) -> None:
        """Connect where there is no connection, or the server has closed it."""
        if self._socket is not None:
            if time.monotonic() - self._heard_at > IDLE_S:
                self._look()
            return
        errors: dict[str, OSError] = {}
        for host, port in self._servers():
            try:
                self._open(host, port)
            except OSError as error:
                self.close()
                errors[f"{host}:{port}"] = error
            else:
                return
        if len(errors) == 1:
            raise next(iter(errors.values()))
        raise NatsWireError(
            ", ".join(f"{server}: {str(error) or 'no answer'}" for server, error in errors.items())
        )

    def _servers(self) -> list[tuple[str, int]]:
        """Those of the URL, and then those that the server told of that was connected last."""
        known = [each for each in map(_split, self.info.connect_urls) if each[0]]
        return list(dict.fromkeys([*self._url.servers, *known]))

    def _open(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=self._answer_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer.clear()
        if self._url.tlsfirst:
            self._encrypt(host)
        line = self._line(time.monotonic() + self._answer_s)
        if not line.startswith(b"INFO "):
            raise NatsWireError("what answers is no NATS server")
        self.info = msgspec.json.decode(line[5:], type=ServerInfo)
        if (self.info.tls_required or self._url.is_tls) and not self._url.tlsfirst:
            self._buffer.clear()  # what came before the server has proved who it is counts for nothing
            self.info.connect_urls = [
                each for each in self.info.connect_urls if _is_address(_split(each)[0])
            ]
            self._encrypt(host)
        numbered = enumerate(self._subjects, 1)
        self._send(
            b"CONNECT " + msgspec.json.encode(self._introduction()) + b"\r\n",
            *(_subscription(subject, number) for number, subject in numbered),
        )
        self._flush()
        self.connections += 1

    def _introduction(self) -> dict[str, Any]:
        own: dict[str, Any] = {
            "verbose": False, "pedantic": False, "name": self._name, "lang": "python", "version": "1",
            "protocol": 1, "headers": self.info.headers, "no_responders": self.info.headers,
        }  # fmt: skip
        return own | self._url.login | (self._url.sign(self.info.nonce) if self.info.nonce else {})

    def _encrypt(self, host: str) -> None:
        """Speak TLS from now on.

        A server that another told of by its address shows the certificate of the name that is in the URL. One that was
        told of by a name shows the certificate of that, so that the name must have come over TLS: in a line in clear
        text an attacker could write it, and would choose who gets the login.
        """
        first, _ = self._url.servers[0]
        is_told = host not in dict(self._url.servers) and _is_address(host)
        own = self._connected
        own.settimeout(self._answer_s)
        self._socket = self._url.tls_context().wrap_socket(
            own, server_hostname=first if is_told else host
        )

    def _look(self) -> None:
        """Read what came meanwhile: a ping that has to be answered, or the end of the connection."""
        try:
            while self._read(0.0):
                self._kept += self._parse()
        except (ConnectionError, NatsWireError):
            self.close()
            self._connect()

    def _closed_by_errors(self) -> "_ClosedByErrors":
        return _ClosedByErrors(self)

    # Reading and writing

    @property
    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionResetError("the connection was closed")
        return self._socket

    def _send(self, *commands: bytes) -> None:
        own = self._connected
        own.settimeout(self._answer_s)
        own.sendall(b"".join(commands))

    def _messages(self, until: float) -> list[NatsMessage]:
        """What is there, or what comes until then; empty if nothing does."""
        while True:
            found = self._kept + list(self._parse())
            self._kept = []
            if found or not self._read(until):
                return found

    def _read(self, until: float) -> bool:
        """Read once; whether anything came. A time that has passed reads what is there."""
        own = self._connected
        own.settimeout(max(0.0, until - time.monotonic()))
        try:
            chunk = own.recv(CHUNK_BYTES)
        except NOTHING_YET:
            return False
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        self._buffer += chunk
        self._heard_at = time.monotonic()
        return True

    def _line(self, until: float) -> bytes:
        """The first line of a new connection. What comes after it waits for TLS, and is not read with it."""
        while (end := self._buffer.find(b"\r\n")) < 0:
            if not self._read(until):
                raise TimeoutError("the server did not answer in time")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _parse(self) -> Iterator[NatsMessage]:
        """The messages that are whole in the buffer; the server's own words are heeded on the way."""
        buffer, at = self._buffer, 0
        try:
            while (end := buffer.find(b"\r\n", at)) >= 0:
                line = bytes(buffer[at:end])
                if line[:4] in (b"MSG ", b"HMSG"):
                    size = int(line[line.rfind(b" ") + 1 :])
                    after = end + 2 + size
                    if len(buffer) < after + 2:
                        return
                    message = _message(line, bytes(buffer[end + 2 : after]))
                    at = after + 2
                    yield message
                else:
                    at = end + 2
                    if line == b"PING":
                        self._send(b"PONG\r\n")
                    elif line == b"PONG":
                        self._pongs += 1
                    elif line.startswith(b"INFO "):
                        self.info = msgspec.json.decode(line[5:], type=ServerInfo)
                    elif line.startswith(b"-ERR") and NO_SUBSCRIPTION not in line:
                        raise NatsWireError(line[4:].strip(b" '").decode(errors="replace"))
            if len(buffer) - at > LINE_BYTES_MAX:
                raise NatsWireError("the server sends what is no line of its protocol")
        finally:
            if at:
                del buffer[:at]


class _ClosedByErrors:
    """After an error the connection is not used any more: what is still to come is no answer to what is asked next."""

    def __init__(self, wire: NatsWire) -> None:
        self._wire = wire

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._wire.close()


def _split(server: str) -> tuple[str, int]:
    """Host and port; without a host where a server tells of what is none."""
    with suppress(ValueError):
        parts = urlsplit(f"//{server}")
        return parts.hostname or "", parts.port or PORT
    return "", PORT


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def publication(
    subject: str, body: bytes, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
) -> bytes:
    """The command that publishes a message."""
    to = (f"{subject} {reply}" if reply else subject).encode()
    if not headers:
        return b"PUB %b %d\r\n%b\r\n" % (to, len(body), body)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"NATS/1.0\r\n{lines}\r\n".encode()
    return b"HPUB %b %d %d\r\n%b%b\r\n" % (to, len(head), len(head) + len(body), head, body)


def _subscription(subject: str, number: int) -> bytes:
    return f"SUB {subject} {number}\r\n".encode()


def _message(line: bytes, payload: bytes) -> NatsMessage:
    """`MSG subject number [reply] size`, and the same with `HMSG` and the size of the headers before the last."""
    words = line.decode().split(" ")
    if words[0] == "MSG":
        return NatsMessage(words[1], words[3] if len(words) == 5 else "", payload)
    headers = int(words[-2])
    status = payload[9:12].decode() if payload[8:9] == b" " else ""
    return NatsMessage(
        words[1], words[3] if len(words) == 6 else "", payload[headers:], status, payload[:headers]
    )
