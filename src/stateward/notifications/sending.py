"""One attempt to deliver a webhook: to checked addresses, and with everything that was answered kept for people.

Whatever a receiver does becomes a `WebhookResponse`; `http_client` bounds the time and the size of it.
"""

import math
from collections.abc import Callable, Mapping

import msgspec

from stateward import http_client
from stateward.core.errors import InvalidRequest, MissingExtra
from stateward.core.model import SECOND, Micros, clean_text
from stateward.http_addresses import AllowedHosts, Lookup, look_up, parse_url, resolve
from stateward.http_client import HttpReply, InvalidResponse

RESPONSE_BYTES_MAX = 64 << 10
# What is stored of a response, for a person who looks for the cause of a failure.
BODY_CHARS_MAX = 2000
HEADERS_MAX = 30
HEADER_NAME_CHARS_MAX, HEADER_CHARS_MAX = 100, 300
ERROR_CHARS_MAX = 500
# A receiver may ask for a pause of a day at most: by mistake it could silence itself for years.
RETRY_AFTER_MAX_S = 86_400
GONE = 410
HIDDEN = "(hidden)"
# Cookies and credentials are nothing for the people who may read the log of deliveries.
_HIDDEN_HEADERS = frozenset(
    {"set-cookie", "authorization", "proxy-authorization", "www-authenticate"}
)


class WebhookResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one attempt. Without a `status` there was no response, and `error` says why."""

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
        """Whether the receiver wants no more messages, for ever."""
        return self.status == GONE

    @property
    def summary(self) -> str:
        """The result in one line."""
        if self.error:
            return self.error
        is_redirect = self.status is not None and 300 <= self.status < 400
        advice = ": redirects are not followed, use the final address" if is_redirect else ""
        return f"it answered {self.status}{advice}"


class Sender:
    """Posts webhooks; any number of threads may share one."""

    def __init__(
        self,
        *,
        allowed: AllowedHosts,
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

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> WebhookResponse:
        """Post it once; never raises for what a receiver or a network does."""
        began = self._ticks()
        try:
            response = self._post(url, body, headers, until=began + self._timeout_s)
        except TimeoutError:
            response = WebhookResponse(error=f"no response within {self._timeout_s:g} s")
        except (InvalidRequest, MissingExtra) as refused:
            response = WebhookResponse(error=str(refused))
        except InvalidResponse as error:
            response = _failure(f"no valid HTTP response: {error}")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            response = _failure(f"no response: {reason}")
        duration_ms = round((self._ticks() - began) * 1000)
        return msgspec.structs.replace(response, duration_ms=duration_ms)

    def _post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, until: float
    ) -> WebhookResponse:
        # The name is resolved once, and the connection is made to one of the addresses that were checked.
        addresses = resolve(parse_url(url), self._allowed, self._lookup)
        reply = http_client.post(
            url,
            body,
            headers,
            timeout_s=until - self._ticks(),  # the lookup has taken some of it
            body_bytes_max=RESPONSE_BYTES_MAX,
            addresses=addresses,
            ca_file=self._ca_file,
        )
        wait_s = http_client.retry_after_s(reply.header("retry-after"), now_s=self._now() / SECOND)
        # A body that is cut short, or longer than it says, changes nothing: the status has arrived.
        return WebhookResponse(
            status=reply.status,
            headers=_headers_to_store(reply),
            body=clean_text(reply.body.decode("utf-8", "replace"), chars_max=BODY_CHARS_MAX),
            address=reply.address,
            retry_after_s=None if wait_s is None else min(math.ceil(wait_s), RETRY_AFTER_MAX_S),
        )


def _failure(error: str) -> WebhookResponse:
    return WebhookResponse(error=clean_text(error, chars_max=ERROR_CHARS_MAX))


def _headers_to_store(reply: HttpReply) -> dict[str, str]:
    return {
        clean_text(name, chars_max=HEADER_NAME_CHARS_MAX): HIDDEN
        if name in _HIDDEN_HEADERS
        else clean_text(value, chars_max=HEADER_CHARS_MAX)
        for name, value in reply.headers[:HEADERS_MAX]
    }
