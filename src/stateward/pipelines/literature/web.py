"""Getting bytes from a source: checked addresses, few redirects, bounded size and time, and nothing got twice.

Every answer that was received whole is saved before anything is done with it: a later attempt at the same record finds
it and asks no one. What is kept says where it came from, when, and with which headers.
"""

import re
import ssl
import time
import zlib
from collections.abc import Callable
from hashlib import sha256
from itertools import takewhile
from urllib.parse import urljoin, urlsplit

import msgspec

from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import SECOND, to_iso
from stateward.http_addresses import (
    AddressRefused,
    AllowedHosts,
    Lookup,
    Purpose,
    look_up,
    parse_url,
    resolve,
)
from stateward.http_client import HttpReply, InvalidResponse, get, retry_after_s
from stateward.pipelines.literature.politeness import pause, paused_until, turn
from stateward.workers.sdk import SAVED_BYTES_MAX, Job

REDIRECTS_MAX = 5
BUSY_TRIES_MAX = 3
BUSY_WAIT_S = 2.0
BUSY_WAIT_S_MAX = 60.0
REFRESHES_MAX = 10_000  # of one record
PAUSE_S_MAX = 24 * 3600.0  # a source that asks for more is asked after a day
PAUSES_MAX = 1000  # of one record and host
SPARE_S = 5.0  # of the time of the attempt, for what follows
HEADERS_KEPT = frozenset({
    "content-type", "content-length", "etag", "last-modified", "date", "retry-after", "location", "content-language",
})  # fmt: skip
MOVED = frozenset({301, 302, 303, 307, 308})
BUSY = frozenset({408, 425, 429, 503})
GONE = frozenset({404, 410})
WHOLE = frozenset({200, 203})

NOT_FOUND, REFUSED, SOURCE_BUSY = "NOT_FOUND", "SOURCE_REFUSED", "SOURCE_BUSY"
SOURCE_ERROR, TRUNCATED, TOO_LARGE = "SOURCE_ERROR", "TRUNCATED", "TOO_LARGE"
ADDRESS_REFUSED, TOO_MANY_REDIRECTS = "ADDRESS_REFUSED", "TOO_MANY_REDIRECTS"
NOT_MODIFIED, SAVED_ANSWER_DAMAGED = "NOT_MODIFIED", "SAVED_ANSWER_DAMAGED"
WRONG_CONTENT = "WRONG_CONTENT"
PURPOSE = Purpose(
    what="papers are fetched", allow_setting="literature.fetch.allow", is_plain_http_allowed=True
)
PORTS = (80, 443, 8080, 8443)
# Keys of sources in an address: they are sent, and never kept.
_SECRET = re.compile(r"([?&](?:api_key|email)=)[^&#]*")


class FetchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How one source is asked."""

    timeout_s: float = 60.0
    bytes_max: int = 64 * 1024 * 1024
    pause_s: float = 0.4
    allow: tuple[str, ...] = ()
    user_agent: str = "Stateward"
    ca_file: str | None = None


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was received whole; `url` is where it was in the end, without keys."""

    asked: str
    url: str
    at: str
    status: int
    headers: dict[str, str]
    sha256: str
    size: int
    pieces: int

    @property
    def media_type(self) -> str:
        """Its content type, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Web:
    """Gets URLs for one attempt. `received` are all answers of this record, in the order in which they were used."""

    def __init__(
        self,
        job: Job,
        limits: FetchLimits,
        *,
        lookup: Lookup = look_up,
        sleep: Callable[[float], object] = time.sleep,
        is_refresh: bool = False,
    ) -> None:
        self._is_refresh = is_refresh
        self._job = job
        self._limits = limits
        self._lookup = lookup
        self._sleep = sleep
        self._allowed = AllowedHosts(limits.allow, ports=PORTS, purpose=PURPOSE)
        self.received: list[Received] = []

    def get(
        self, url: str, *, pause_s: float | None = None, conditions: dict[str, str] | None = None
    ) -> bytes:
        """What is at a URL: saved by an earlier attempt, or got now.

        `conditions` are If-None-Match and If-Modified-Since of an earlier copy; what has not changed since is
        `NOT_MODIFIED`. A refresh asks although there is an answer, on the condition that it has changed.
        """
        name, known = self._latest(f"answer/{sha256(url.encode()).hexdigest()}")
        if known is not None and not self._is_refresh:
            return self._use(name, known)
        pause = self._limits.pause_s if pause_s is None else pause_s
        try:
            final, reply = self._follow(url, pause, conditions or _unless_changed(known))
        except FatalFailure as failure:
            if known is None or failure.code != NOT_MODIFIED:
                raise
            self._job.log(f"{known.url} has not changed since {known.at}")
            return self._use(name, known)
        body = _body(reply, self._limits.bytes_max)
        if known is not None:
            if sha256(body).hexdigest() == known.sha256:
                return self._use(name, known)
            name = _next_name(name)
        received = self._describe(url, final, reply, body)
        for piece in range(received.pieces):
            self._job.save(
                _piece_name(name, received, piece),
                body[piece * SAVED_BYTES_MAX : (piece + 1) * SAVED_BYTES_MAX],
            )
        self._job.save(
            name, msgspec.json.encode(received)
        )  # last: it says that all pieces are there
        self._job.log(f"got {len(body)} bytes from {received.url}", status=received.status)
        self.received.append(received)
        return body

    def _latest(self, first: str) -> tuple[str, Received | None]:
        """The newest answer that was saved, with its name: the first value under a name stays, so each has its own."""
        name, known = first, self._job.load(first)
        for _ in range(REFRESHES_MAX):
            newer = None if known is None else self._job.load(_next_name(name))
            if newer is None:
                break
            name, known = _next_name(name), newer
        return name, None if known is None else msgspec.json.decode(known, type=Received)

    def _use(self, name: str, known: Received) -> bytes:
        self.received.append(known)
        return self._saved_body(name, known)

    def _saved_body(self, name: str, known: Received) -> bytes:
        body = b"".join(
            self._job.load(_piece_name(name, known, piece)) or b"" for piece in range(known.pieces)
        )
        if sha256(body).hexdigest() != known.sha256:
            raise FatalFailure(
                f"the saved answer of {known.asked} is not what was received; add the paper again",
                code=SAVED_ANSWER_DAMAGED,
            )
        return body

    def _describe(self, url: str, final: str, reply: HttpReply, body: bytes) -> Received:
        now = int(time.time() * SECOND)  # noqa: TID251 - when it was received is part of what is kept
        return Received(
            asked=without_keys(url),
            url=without_keys(final),
            at=to_iso(now),
            status=reply.status,
            headers={name: value for name, value in reply.headers if name in HEADERS_KEPT},
            sha256=sha256(body).hexdigest(),
            size=len(body),
            pieces=-(-len(body) // SAVED_BYTES_MAX),
        )

    def _follow(
        self, url: str, pause_s: float, conditions: dict[str, str]
    ) -> tuple[str, HttpReply]:
        """The answer at the end of the redirects; each address on the way is checked."""
        for _ in range(REDIRECTS_MAX + 1):
            reply = self._patiently(url, pause_s, conditions)
            location = reply.header("location")
            if reply.status not in MOVED or not location:
                return url, reply
            self._job.log(f"{without_keys(url)} has moved to {without_keys(location)}")
            url = urljoin(url, location)
        raise FatalFailure(
            f"{without_keys(url)} leads to ever further addresses", code=TOO_MANY_REDIRECTS
        )

    def _patiently(self, url: str, pause_s: float, conditions: dict[str, str]) -> HttpReply:
        """The answer; a source that is busy is asked again after the time that it names, as long as there is time."""
        addresses = self._addresses(url)
        host = urlsplit(url).hostname or ""
        server = urlsplit(url).netloc.rpartition("@")[2]
        pauses = self._pauses(host)
        self._check_pauses(host, [*pauses, _pause_of(server)])
        wait_s, status = 0.0, 0
        for tries in range(1, BUSY_TRIES_MAX + 1):
            with turn(
                host,
                pause_s=pause_s + wait_s,
                left_s=lambda: self._job.remaining_s,
                sleep=self._sleep,
            ):
                # Another worker may have been told to wait while this one waited for its turn.
                self._check_pauses(host, [_pause_of(server)])
                reply = self._ask(url, addresses, conditions)
            if reply.status not in BUSY:
                return _check_reply(without_keys(url), reply)
            wait_s, status = self._wait_s(reply, tries), reply.status
            left_s = self._job.remaining_s
            if wait_s > BUSY_WAIT_S_MAX or (left_s is not None and wait_s + SPARE_S > left_s):
                break
            self._job.log(
                f"{host} is busy ({reply.status}); asked again in {wait_s:g} s", level="warning"
            )
        until_s = time.time() + min(wait_s, PAUSE_S_MAX)  # noqa: TID251 - a time that a later attempt compares
        self._job.save(_pause_name(host, len(pauses)), b"%d" % until_s)
        if wait_s > BUSY_WAIT_S_MAX:
            pause(server, int(until_s))
        raise StageFailure(
            f"{host} answered {status} and asks to wait {wait_s:g} s; it is asked again later",
            code=SOURCE_BUSY,
            retry_after_s=wait_s,
        )

    def _pauses(self, host: str) -> list[int]:
        """Until when a host asked earlier attempts to wait, in seconds since 1970; each has a name of its own."""
        saved = (self._job.load(_pause_name(host, number)) for number in range(PAUSES_MAX))
        return [int(each) for each in takewhile(lambda each: each is not None, saved) if each]

    def _check_pauses(self, host: str, pauses: list[int]) -> None:
        """A person may retry it earlier than the source asked for: it is not asked before."""
        until_s = max(pauses, default=0)
        left_s = until_s - time.time()  # noqa: TID251 - compared with the time that an earlier attempt saved
        if left_s > 0:
            raise StageFailure(
                f"{host} asked to wait until {to_iso(until_s * SECOND)} and is not asked before",
                code=SOURCE_BUSY,
                retry_after_s=left_s,
            )

    def _wait_s(self, reply: HttpReply, tries: int) -> float:
        now_s = time.time()  # noqa: TID251 - Retry-After may be a date
        asked = retry_after_s(reply.header("retry-after"), now_s=now_s)
        return BUSY_WAIT_S * 2 ** (tries - 1) if asked is None else asked

    def _addresses(self, url: str) -> list[str]:
        try:
            return resolve(parse_url(url), self._allowed, self._lookup)
        except AddressRefused as error:
            raise FatalFailure(
                f"{without_keys(url)} is not fetched: {error}", code=ADDRESS_REFUSED
            ) from error
        except OSError as error:
            raise StageFailure(str(error), code=SOURCE_ERROR) from error

    def _ask(self, url: str, addresses: list[str], conditions: dict[str, str]) -> HttpReply:
        limits, left_s = self._limits, self._job.remaining_s
        timeout_s = (
            limits.timeout_s if left_s is None else max(1.0, min(limits.timeout_s, left_s - 1))
        )
        try:
            return get(
                url,
                {
                    "User-Agent": limits.user_agent,
                    "Accept": "*/*",
                    "Accept-Encoding": "identity",
                    **conditions,
                },
                timeout_s=timeout_s,
                body_bytes_max=limits.bytes_max,
                addresses=addresses,
                ca_file=limits.ca_file,
            )
        except TimeoutError as error:
            raise StageFailure(
                f"{without_keys(url)} did not answer within {timeout_s:g} s", code=SOURCE_ERROR
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise FatalFailure(
                f"the certificate of {without_keys(url)} is not trusted: {error}", code=REFUSED
            ) from error
        except InvalidResponse as error:
            raise StageFailure(
                f"{without_keys(url)} does not answer in HTTP: {error}", code=SOURCE_ERROR
            ) from error
        except OSError as error:
            raise StageFailure(
                f"{without_keys(url)} cannot be reached: {error}", code=SOURCE_ERROR
            ) from error


def _pause_of(server: str) -> int:
    return paused_until(server, now_s=int(time.time()))  # noqa: TID251 - as the worker that was told to wait


def _next_name(name: str) -> str:
    """The name of the answer after this one: `answer/x`, `answer/x@1`, `answer/x@2`."""
    first, _, number = name.partition("@")
    return f"{first}@{int(number or 0) + 1}"


def _pause_name(host: str, number: int) -> str:
    return f"pause/{sha256(host.encode()).hexdigest()}@{number}"


def _unless_changed(known: Received | None) -> dict[str, str]:
    """The conditions under which a source need not send again what is known."""
    headers = {} if known is None else known.headers
    names = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
    return {name: headers[own] for name, own in names.items() if headers.get(own)}


def _piece_name(name: str, received: Received, piece: int) -> str:
    """Named by the whole answer: an attempt that was killed between two pieces may have had another one."""
    return f"{name}/{received.sha256[:32]}/{piece}"


def without_keys(url: str) -> str:
    """An address as it may be kept and shown."""
    return _SECRET.sub(r"\1***", url)


def _check_reply(url: str, reply: HttpReply) -> HttpReply:
    """An answer that can be used; raises for every other."""
    status = reply.status
    if status == 304:
        raise FatalFailure(f"{url} has not changed since it was fetched", code=NOT_MODIFIED)
    if status in GONE:
        raise FatalFailure(
            f"{url} answered {status}: there is no such paper at this source", code=NOT_FOUND
        )
    if 400 <= status < 500:
        raise FatalFailure(f"{url} answered {status}: it refuses the request", code=REFUSED)
    if status in MOVED and reply.header("location"):
        return reply
    if (
        status not in WHOLE
    ):  # 202 and 204 have no paper yet, and the page of a redirect that leads nowhere is none
        raise StageFailure(f"{url} answered {status}; it is asked again later", code=SOURCE_ERROR)
    if reply.body_end == "limit":
        raise FatalFailure(
            f"{url} sends more than the limit; raise literature.fetch.bytes_max if papers are that large",
            code=TOO_LARGE,
        )
    if reply.body_end != "complete":
        raise StageFailure(f"the answer of {url} was cut off ({reply.body_end})", code=TRUNCATED)
    return reply


def _body(reply: HttpReply, bytes_max: int) -> bytes:
    """The body, unpacked where the source packed it although it was asked not to."""
    packed = (reply.header("content-encoding") or "identity").strip().lower()
    if packed in ("gzip", "x-gzip"):
        return _unpack(reply.body, bytes_max)
    if packed != "identity":
        raise StageFailure(
            f"the answer is packed in a way that was not asked for ({packed[:40]})",
            code=WRONG_CONTENT,
        )
    return reply.body


def _unpack(rest: bytes, bytes_max: int) -> bytes:
    """All members of a packed answer, one after the other; zeros may follow the last."""
    body = b""
    while rest.strip(b"\0"):
        unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            body += unpack.decompress(rest, bytes_max - len(body) + 1)
        except zlib.error as error:
            raise StageFailure(f"the packed answer is damaged: {error}", code=TRUNCATED) from error
        if len(body) > bytes_max:
            raise FatalFailure("the unpacked answer is larger than the limit", code=TOO_LARGE)
        if not unpack.eof:
            raise StageFailure("the packed answer is cut off", code=TRUNCATED)
        rest = unpack.unused_data
    return body
