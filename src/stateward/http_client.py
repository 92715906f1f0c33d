"""One HTTP request within limits: to checked addresses, in bounded time, with a bounded response.

Webhooks, checkpoints, model endpoints and sources of documents are servers of other operators. These hang, send one
byte a second, redirect, lie about lengths or do not speak HTTP at all: the result is a `HttpReply` or an `OSError` in
any case. Redirects are not followed and the proxies of the environment are ignored: both would carry signatures and
keys elsewhere. Nothing is retried here, and nothing is logged: headers hold secrets.
"""

import re
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache
from threading import Timer
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

import msgspec

from stateward.extras import missing_extra

BodyEnd: TypeAlias = Literal["complete", "limit", "broken", "timeout"]


class HttpReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered. `body_end` says whether the body is complete, or why it is not."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    body_end: BodyEnd
    address: str

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each == name.lower()), None)


class InvalidResponse(OSError):
    """The server did not answer, or not in HTTP."""


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout_s: float,
    body_bytes_max: int,
    addresses: Sequence[str] = (),
    ca_file: str | None = None,
) -> HttpReply:
    """Post `body`; the answer, whatever its status is.

    With `addresses` the name in the URL is not looked up: the connection is made to the first of them that accepts
    one. A caller that has checked them knows that no DNS answer can change between its check and the connection. `Host`
    and TLS still use the name.

    Raises `TimeoutError` if no status arrived within `timeout_s` in total, `ssl.SSLCertVerificationError` for a
    certificate that is not trusted, `InvalidResponse` for what is not HTTP, `OSError` for a failed connection, and
    `ValueError` for a URL that no request can be made of.
    """
    request = _Request("POST", url, body, headers)
    return _send(request, timeout_s, body_bytes_max, addresses, ca_file)


def get(
    url: str,
    headers: Mapping[str, str],
    *,
    timeout_s: float,
    body_bytes_max: int,
    addresses: Sequence[str] = (),
    ca_file: str | None = None,
) -> HttpReply:
    """Get what is at a URL; the answer, whatever its status is. Everything else is as for `post`."""
    request = _Request("GET", url, b"", headers)
    return _send(request, timeout_s, body_bytes_max, addresses, ca_file)


class _Request(NamedTuple):
    method: str
    url: str
    body: bytes
    headers: Mapping[str, str]


def _send(
    request: _Request,
    timeout_s: float,
    body_bytes_max: int,
    addresses: Sequence[str],
    ca_file: str | None,
) -> HttpReply:
    until = time.monotonic() + timeout_s
    trouble: OSError = OSError("there is no address to connect to")
    for address in addresses or [""]:
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        with _Deadline(left_s) as deadline:
            try:
                return _exchange(request, address, body_bytes_max, ca_file, deadline)
            except OSError as error:
                # Only if nothing was sent may another address be tried: otherwise it might be received twice.
                if deadline.is_connected or isinstance(error, TimeoutError):
                    raise
                trouble = error
    raise trouble


def retry_after_s(text: str | None, *, now_s: float | None) -> float | None:
    """The wait that a `Retry-After` header asks for, in seconds or until a date; None if it asks for none.

    `now_s` is the time to count from, as a Unix timestamp; without one a date cannot be read.
    """
    word = (text or "").strip()
    # At most nine digits: 30 years, and int() refuses thousands of them.
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", word):
        return float(word)
    try:
        moment = parsedate_to_datetime(word)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None or now_s is None:
        return None
    wait_s = moment.timestamp() - now_s
    return wait_s if wait_s > 0 else None


class _Deadline:
    """Ends a connection when the time is up, whatever it is doing.

    The timeout of a socket is for each read: a server that sends a byte now and then, also within a TLS handshake,
    would hold us for ever.
    """

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s
        self.is_over = False
        self.is_connected = False
        self._until = time.monotonic() + wait_s
        self._socket: socket.socket | None = None
        self._timer: Timer | None = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpx2 for each step of a request; the new connection is the one of interest."""
        if event == "connection.connect_tcp.complete":
            self.is_connected = True
            # A second handle, because TLS takes the first one over.
            self._socket = info["return_value"].get_extra_info("socket").dup()
            self._timer = Timer(max(0.0, self._until - time.monotonic()), self._cut)
            self._timer.daemon = True
            self._timer.start()

    def _cut(self) -> None:
        self.is_over = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._socket is not None:
            self._socket.close()


def _exchange(
    asked: _Request,
    address: str,
    body_bytes_max: int,
    ca_file: str | None,
    deadline: _Deadline,
) -> HttpReply:
    try:  # at the first request: a bare install comes without it, and starting is quicker
        import httpx2
    except ModuleNotFoundError as error:
        raise (missing_extra(error) or error) from error
    # The parser of the caller's check (see http_addresses): a second one might read the URL differently.
    parts = urlsplit(asked.url)
    host = parts.hostname or ""
    try:
        named = httpx2.URL(scheme=parts.scheme, host=host, port=parts.port)
    except httpx2.InvalidURL as error:
        raise ValueError(str(error)) from None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # A transport instead of a client: it follows no redirect, knows no proxy or cookie and adds no header.
    is_tls = parts.scheme == "https"
    verify = _tls_context(ca_file) if is_tls else _context_without_authorities()
    transport = httpx2.HTTPTransport(verify=verify, trust_env=False)
    request = httpx2.Request(
        asked.method,
        named.copy_with(host=address or host, raw_path=path.encode()),
        content=asked.body or None,
        headers={"Host": named.netloc.decode(), "Connection": "close", **asked.headers},
        extensions={
            "timeout": httpx2.Timeout(deadline.wait_s).as_dict(),
            "trace": deadline.trace,
            "sni_hostname": host,
        },
    )
    received = bytearray()
    body_end: BodyEnd = "complete"
    with transport:
        try:
            response = transport.handle_request(request)
        except httpx2.TransportError as error:
            if deadline.is_over or isinstance(error, httpx2.TimeoutException):
                raise TimeoutError from None
            raise _as_os_error(error) from None
        try:
            # As it is on the wire: what is never unpacked cannot grow.
            for piece in response.iter_raw():
                received += piece
                if len(received) > body_bytes_max:
                    body_end = "limit"
                    break
        except httpx2.TransportError as error:
            is_late = deadline.is_over or isinstance(error, httpx2.TimeoutException)
            body_end = "timeout" if is_late else "broken"
        finally:
            response.close()
    return HttpReply(
        status=response.status_code,
        headers=tuple((name.lower(), value) for name, value in response.headers.multi_items()),
        body=bytes(received[:body_bytes_max]),
        body_end=body_end,
        address=address,
    )


def _as_os_error(error: BaseException) -> OSError:
    """The error of the socket below an error of httpx2; without one the server broke the protocol."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError):
            return below
        # The pool of httpx2 raises `from None`, which hides the cause and keeps the context.
        below = below.__cause__ or below.__context__
    return InvalidResponse(str(error) or type(error).__name__)


@cache
def _context_without_authorities() -> ssl.SSLContext:
    """For requests without TLS, which the transport wants one for too: no certificate is read for it."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@lru_cache(
    maxsize=4
)  # building one reads all certificates of the system; there is one ca_file for each use
def _tls_context(ca_file: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context
