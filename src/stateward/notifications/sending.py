"""One notice, posted once: to a checked address, within a time, without redirects, and with all that was said kept.

Whatever a receiver does becomes an `Answer`: hang, drip, lie about lengths, redirect, speak no HTTP. At most
`ANSWER_BYTES_MAX` of what it says is read, and a little of that is kept for people.
"""

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Timer

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import SECOND, Micros, clean_text
from stateward.notifications.addresses import (
    Allowed,
    Lookup,
    Target,
    look_up,
    parse_url,
    resolved,
)

ANSWER_BYTES_MAX = 64 << 10
KEPT_CHARS_MAX = 2000
HEADERS_KEPT_MAX = 30
ERROR_CHARS_MAX = 500
RETRY_AFTER_MAX_S = 86_400
GONE = 410
HIDDEN = "(hidden)"
# What a receiver may set on a person who looks at the log, or what was meant for nobody else.
_HIDDEN_HEADERS = frozenset(
    {"set-cookie", "authorization", "proxy-authorization", "www-authenticate"}
)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one post. Without a `status` nobody answered, and `error` says why."""

    status: int | None = None
    error: str = ""
    headers: dict[str, str] = {}
    body: str = ""
    address: str = ""
    duration_ms: int = 0
    retry_after_s: int | None = None

    @property
    def is_success(self) -> bool:
        """Only 2xx is."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """Whether the receiver wants to hear nothing any more."""
        return self.status == GONE

    @property
    def sentence(self) -> str:
        """What happened, in one line."""
        if self.error:
            return self.error
        if self.status is not None and 300 <= self.status < 400:
            return (
                f"it answered {self.status}: redirects are not followed, put the final address in"
            )
        return f"it answered {self.status}"


class Sender:
    """Posts notices; any number of threads may use one."""

    def __init__(
        self,
        *,
        allowed: Allowed,
        timeout_s: float,
        now: Callable[[], Micros],
        ticks: Callable[[], float],
        lookup: Lookup = look_up,
        ca_file: str | None = None,
    ) -> None:
        self._allowed = allowed
        self._timeout_s = timeout_s
        self._now = now
        self._ticks = ticks
        self._lookup = lookup
        self._ca_file = ca_file

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Post it; never raises for what a receiver or a network does."""
        began = self._ticks()
        try:
            target = parse_url(url)
            answer = self._post(target, body, headers, until=began + self._timeout_s)
        except InvalidRequest as refused:
            answer = Answer(error=str(refused))
        except TimeoutError:
            answer = Answer(error=f"no answer within {self._timeout_s:g} s")
        except (HTTPException, OSError, ValueError) as error:
            is_late = self._ticks() - began >= self._timeout_s
            said = f"no answer within {self._timeout_s:g} s" if is_late else _said(error)
            answer = Answer(error=said)
        duration_ms = round((self._ticks() - began) * 1000)
        return msgspec.structs.replace(answer, duration_ms=duration_ms)

    def _post(
        self, target: Target, body: bytes, headers: Mapping[str, str], *, until: float
    ) -> Answer:
        addresses = resolved(target, self._allowed, self._lookup)
        raw, address = self._connected(addresses, target.port, until=until)
        left = max(0.0, until - self._ticks())
        with raw, _cut_after(raw, left), self._secured(raw, target) as sock:
            connection = HTTPConnection(target.host, target.port)
            connection.sock = sock  # so it opens none of its own
            connection.request("POST", target.path, body, {"Host": target.netloc, **headers})
            response = connection.getresponse()
            if self._ticks() >= until:  # what it said by then was cut off
                raise TimeoutError
            return self._read(response, address)

    def _connected(
        self, addresses: list[str], port: int, *, until: float
    ) -> tuple[socket.socket, str]:
        """A connection to one of the addresses that were checked, the first that answers."""
        trouble: OSError = OSError("it has no address")
        for address in addresses:
            left = until - self._ticks()
            if left <= 0:
                raise TimeoutError
            try:
                return socket.create_connection((address, port), timeout=left), address
            except OSError as error:
                trouble = error
        raise trouble

    def _secured(self, raw: socket.socket, target: Target) -> socket.socket:
        if target.scheme == "http":
            return raw
        return _context(self._ca_file).wrap_socket(raw, server_hostname=target.host)

    def _read(self, response: HTTPResponse, address: str) -> Answer:
        # A body that is cut short, or longer than it says, changes nothing: the status was said.
        body = b""
        with suppress(HTTPException, OSError):
            body = response.read(ANSWER_BYTES_MAX)
        kept = {
            clean_text(name.lower(), chars_max=100): HIDDEN
            if name.lower() in _HIDDEN_HEADERS
            else clean_text(value, chars_max=300)
            for name, value in response.getheaders()[:HEADERS_KEPT_MAX]
        }
        return Answer(
            status=response.status,
            headers=kept,
            body=clean_text(body.decode("utf-8", "replace"), chars_max=KEPT_CHARS_MAX),
            address=address,
            retry_after_s=retry_after_s(response.getheader("Retry-After"), now=self._now()),
        )


def retry_after_s(text: str | None, *, now: Micros) -> int | None:
    """The wait that a receiver asks for, in seconds or as a date; what cannot be read is no wish."""
    if text is None:
        return None
    word = text.strip()
    if word.isascii() and word.isdecimal() and len(word) < 10:
        return min(int(word), RETRY_AFTER_MAX_S)
    try:
        moment = parsedate_to_datetime(word)
    except (ValueError, TypeError, OverflowError):
        return None
    wait_s = moment.timestamp() - now / SECOND if moment.tzinfo else -1.0
    return min(round(wait_s), RETRY_AFTER_MAX_S) if wait_s > 0 else None


@lru_cache(maxsize=4)
def _context(ca_file: str | None) -> ssl.SSLContext:
    """TLS that checks certificate and name; the roots of the system, and the settings' own."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


@contextmanager
def _cut_after(sock: socket.socket, wait_s: float) -> Iterator[None]:
    """End the connection when the time is up, whatever it is doing.

    A timeout of a socket is for each read: who drips, also in a TLS handshake, would hold us for ever. The second
    handle stays ours when TLS takes the first one over.
    """
    with sock.dup() as handle:
        timer = Timer(wait_s, _cut, (handle,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _cut(handle: socket.socket) -> None:
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)


def _said(error: Exception) -> str:
    if isinstance(error, HTTPException):
        said = f"it did not answer in HTTP: {str(error) or type(error).__name__}"
        return clean_text(said, chars_max=ERROR_CHARS_MAX)
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return clean_text(f"no answer: {said}", chars_max=ERROR_CHARS_MAX)
