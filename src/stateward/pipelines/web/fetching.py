"""A page by its address: fetched once, from public addresses only, as robots.txt allows, within limits.

Every name is resolved here and every address found is checked, of the page as of each redirect and of robots.txt; the
connection is then made to those very addresses. What was received is saved before anything is made of it, so that a
retry or a replay reads the same bytes and fetches nothing.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import msgspec

from stateward.core.errors import FatalFailure, TransientFailure
from stateward.http_addresses import (
    AddressRefused,
    AllowedHosts,
    Lookup,
    Purpose,
    look_up,
    parse_url,
    resolve,
)
from stateward.http_client import HttpReply, get
from stateward.pipelines.web.captures import CapturedPage, decompress
from stateward.pipelines.web.options import WebOptions
from stateward.workers.sdk import SAVED_BYTES_MAX, Job

REDIRECTS_MAX = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ROBOTS_BYTES_MAX = 512 * 1024  # what RFC 9309 asks for
GONE = frozenset({404, 410})
FORBIDDEN = frozenset({401, 402, 403, 451})
PURPOSE = Purpose(
    what="pages are fetched",
    allow_setting="web.allow",
    ports_setting="web.ports",
    is_plain_http_allowed=True,
)
HTML = ("text/html", "application/xhtml+xml")


class ReceivedPage(msgspec.Struct, frozen=True, kw_only=True):
    """What was received, without its body, which is saved in parts."""

    url: str
    asked: str
    content_type: str
    sha256: str
    parts: int


def fetch_page(
    job: Job, url: str, options: WebOptions, *, lookup: Lookup = look_up
) -> CapturedPage:
    """The page at an address; the one that an earlier attempt received, if there is one."""
    name = f"page:{sha256(url.encode()).hexdigest()}"
    known = job.load(name)
    if known is not None:
        page = msgspec.json.decode(known, type=ReceivedPage)
        job.log(
            "the page was received by an earlier attempt and is not fetched again", url=page.url
        )
        return CapturedPage(html=_load(job, page), url=page.url, content_type=page.content_type)
    if not options.fetch:
        raise FatalFailure(
            "pages are not fetched here (setting web.fetch); save the page and submit that",
            code="FETCH_DISABLED",
        )
    found = _Fetcher(job, options, lookup).page(url)
    digest = sha256(found.html).hexdigest()
    pieces = [
        found.html[at : at + SAVED_BYTES_MAX] for at in range(0, len(found.html), SAVED_BYTES_MAX)
    ]
    for number, piece in enumerate(pieces):
        job.save(f"part:{digest}:{number}", piece)
    # Last, and under the digest of its parts: an attempt that was killed before leaves nothing that is half.
    received = ReceivedPage(
        url=found.url, asked=url, content_type=found.content_type, sha256=digest, parts=len(pieces)
    )
    job.save(name, msgspec.json.encode(received))
    return found


def _load(job: Job, page: ReceivedPage) -> bytes:
    parts = [job.load(f"part:{page.sha256}:{number}") for number in range(page.parts)]
    return b"".join(part for part in parts if part is not None)


class _Answer(NamedTuple):
    url: str
    reply: HttpReply


class _Fetcher:
    def __init__(self, job: Job, options: WebOptions, lookup: Lookup) -> None:
        self._job = job
        self._options = options
        self._lookup = lookup
        self._allowed = AllowedHosts(
            options.allow,
            ports=options.ports,
            purpose=PURPOSE,
        )

    def page(self, url: str) -> CapturedPage:
        """The page at an address, behind at most a few redirects."""
        target = url.partition("#")[0]
        answer = self._follow(target, bytes_max=self._options.page_bytes_max, asks_robots=True)
        reply = answer.reply
        self._job.log(
            "the page was received", url=answer.url, status=reply.status, bytes=len(reply.body)
        )
        _check_status(reply, answer.url)
        content_type = reply.header("content-type") or ""
        if content_type and not content_type.lower().startswith(HTML):
            raise FatalFailure(
                f"{answer.url} is {content_type.partition(';')[0][:60]} and no web page; download it and submit that",
                code="UNSUPPORTED_FORMAT",
            )
        body = reply.body
        if (reply.header("content-encoding") or "identity") in ("gzip", "x-gzip", "deflate"):
            body = decompress(body, bytes_max=self._options.page_bytes_max)
        return CapturedPage(html=body, url=answer.url, content_type=content_type)

    def _follow(self, url: str, *, bytes_max: int, asks_robots: bool) -> _Answer:
        for _ in range(REDIRECTS_MAX + 1):
            if asks_robots and self._options.robots:
                self._check_robots(url)
            reply = self._get(url, bytes_max)
            place = reply.header("location")
            if reply.status not in REDIRECTS or not place:
                return _Answer(url, reply)
            url = urljoin(url, place).partition("#")[0]
        raise FatalFailure(
            f"{url} is behind more than {REDIRECTS_MAX} redirects; submit the address of the page itself",
            code="TOO_MANY_REDIRECTS",
        )

    def _get(self, url: str, bytes_max: int) -> HttpReply:
        try:
            target = parse_url(url)
            addresses = resolve(target, self._allowed, self._lookup)
            reply = get(
                url,
                self._headers(),
                timeout_s=self._options.fetch_timeout_seconds,
                body_bytes_max=bytes_max,
                addresses=addresses,
            )
        except AddressRefused as error:
            raise FatalFailure(
                f"the page is not fetched: {error}", code="ADDRESS_REFUSED"
            ) from error
        except OSError as error:
            reason = str(error) or type(error).__name__
            raise TransientFailure(
                f"{url} cannot be reached: {reason}", code="PAGE_UNREACHABLE"
            ) from error
        if reply.body_end == "limit":
            raise FatalFailure(
                f"{url} has more than {bytes_max} bytes (setting web.page_bytes_max)",
                code="PAGE_TOO_LARGE",
            )
        if reply.body_end != "complete":
            raise TransientFailure(
                f"{url} was cut off while it was received", code="PAGE_UNREACHABLE"
            )
        return reply

    def _headers(self) -> Mapping[str, str]:
        return {
            "User-Agent": self._options.user_agent,
            "Accept": "text/html,application/xhtml+xml",
            "Accept-Encoding": "identity",
        }

    def _check_robots(self, url: str) -> None:
        """Ask robots.txt of the site; one that is missing allows everything, one that fails nothing (RFC 9309)."""
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}/robots.txt"
        reply = self._follow(place, bytes_max=ROBOTS_BYTES_MAX, asks_robots=False).reply
        if reply.status >= 500:
            raise TransientFailure(
                f"{place} cannot be read now (status {reply.status})", code="PAGE_UNREACHABLE"
            )
        if reply.status != 200:
            return
        rules = RobotFileParser()
        rules.parse(reply.body.decode("utf-8", "replace").splitlines())
        if not rules.can_fetch(self._options.user_agent, url):
            raise FatalFailure(
                f"{place} does not allow this page to be fetched; ask the site, or save the page yourself",
                code="ROBOTS_DISALLOW",
            )


def _check_status(reply: HttpReply, url: str) -> None:
    status = reply.status
    if status == 200:
        return
    if status in GONE:
        raise FatalFailure(f"there is no page at {url} (status {status})", code="PAGE_NOT_FOUND")
    if status in FORBIDDEN:
        raise FatalFailure(
            f"the site does not give {url} out (status {status}); save the page from a browser",
            code="PAGE_FORBIDDEN",
        )
    if status == 429 or status >= 500:
        raise TransientFailure(
            f"{url} is not available now (status {status})", code="PAGE_UNREACHABLE"
        )
    raise FatalFailure(f"{url} answers with status {status} and no page", code="PAGE_NOT_FOUND")
