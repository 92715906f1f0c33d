"""A small client of one chat endpoint: any that speaks OpenAI's `/v1/chat/completions`.

What passes by itself (429, 5xx, a broken or silent connection) is tried again, after the wait that the endpoint asks
for; what does not (400, 401, 403, 404 and their kin) fails at once with its own code. An answer is bounded in size
and in time. The key goes into one header and nowhere else: no message, log line or exception holds it. Redirects are
not followed, since they would carry the key elsewhere.
"""

import http.client
import re
import socket
import ssl
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import clean_text

PATH = "/chat/completions"
READ_BYTES = 64 * 1024
ANSWER_BYTES_MAX = 512 * 1024  # it must fit among the things that a stage can keep
EXCERPT_CHARS_MAX = 300
BACKOFF_S = 1.0
BACKOFF_S_MAX = 30.0
RETRY_AFTER_S_MAX = 300.0
SPARE_S = 5.0  # of the attempt's time, left for what comes after the answer
TOO_MANY_REQUESTS = 429
REQUEST_TIMEOUT = 408
PASSING = frozenset({REQUEST_TIMEOUT, 409, 425, TOO_MANY_REQUESTS})
SERVER_ERRORS = range(500, 600)
OK = 200
FATAL = {
    400: ("MODEL_BAD_REQUEST", "it did not understand the request"),
    401: ("MODEL_KEY_REFUSED", "it does not accept the key; see contracts.model.key"),
    402: ("MODEL_KEY_REFUSED", "the account of the key has no money left"),
    403: ("MODEL_KEY_REFUSED", "the key may not use this model; see contracts.model"),
    404: ("MODEL_NOT_FOUND", "there is no such address or model; see contracts.model"),
    413: ("MODEL_BAD_REQUEST", "the document is too long for it; see contracts.model.document_chars_max"),
}  # fmt: skip
_KEYLIKE = re.compile(r"\b(?:sk|pk|key|Bearer)[-_ ][A-Za-z0-9*._-]{6,}")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the model is, and how patient one is with it. Its repr does not hold the key."""

    base_url: str
    name: str
    key: str = ""
    timeout_s: float = 120.0
    retries: int = 4
    ca_file: str = ""

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint(base_url={self.base_url!r}, name={self.name!r})"


class Reply(NamedTuple):
    """What came back: the status, the wait that was asked for, and the body."""

    status: int
    retry_after_s: float | None
    body: bytes


class _Lost(Exception):
    """No whole answer came; it may come at another try."""


def ask(
    endpoint: Endpoint,
    body: bytes,
    *,
    left_s: Callable[[], float | None],
    sleep: Callable[[float], object] = time.sleep,
    say: Callable[[str], object] = lambda _: None,
) -> bytes:
    """The body of the answer with status 200. `left_s` is how long the attempt may still take.

    Raises `FatalFailure` where no other try can help, and `StageFailure` where tries are used up or time is.
    """
    reason, code = "", "MODEL_UNAVAILABLE"
    for attempt in range(endpoint.retries + 1):
        wait_s = min(BACKOFF_S * 2**attempt, BACKOFF_S_MAX)
        try:
            reply = _post(endpoint, body, _patience(endpoint, left_s()))
        except _Lost as error:
            reason, code = str(error), "MODEL_UNAVAILABLE"
        else:
            if reply.status == OK:
                return reply.body
            reason = _refusal(endpoint, reply)  # raises what no try can cure
            code = "MODEL_BUSY" if reply.status == TOO_MANY_REQUESTS else "MODEL_UNAVAILABLE"
            wait_s = max(wait_s, reply.retry_after_s or 0.0)
        if attempt == endpoint.retries or not _is_time_for(wait_s, left_s()):
            break
        say(f"{reason}; the next try is in {wait_s:g} s")
        sleep(wait_s)
    raise StageFailure(f"the model at {endpoint.base_url} gave no answer: {reason}", code=code)


def _patience(endpoint: Endpoint, left_s: float | None) -> float:
    """How long one call may take; at least a moment, so that a late attempt says why it failed."""
    return endpoint.timeout_s if left_s is None else max(1.0, min(endpoint.timeout_s, left_s - 1))


def _is_time_for(wait_s: float, left_s: float | None) -> bool:
    return wait_s <= RETRY_AFTER_S_MAX and (left_s is None or wait_s + SPARE_S < left_s)


def _refusal(endpoint: Endpoint, reply: Reply) -> str:
    """A sentence for what may pass; raises for what may not."""
    if reply.status in PASSING or reply.status in SERVER_ERRORS:
        after = reply.retry_after_s
        asked = f" and asked to wait {after:g} s" if after is not None else ""
        return f"it answered {reply.status}{asked}"
    code, meaning = FATAL.get(reply.status, ("MODEL_BAD_REQUEST", "it refused the request"))
    said = "" if reply.status in (401, 403) else _excerpt(endpoint, reply.body)
    told = f"the model at {endpoint.base_url} answered {reply.status}: {meaning}"
    raise FatalFailure(f"{told}. It says: {said}" if said else told, code=code)


def _excerpt(endpoint: Endpoint, body: bytes) -> str:
    """A little of what an endpoint says of an error; nothing in it may be a key."""
    text = body[: EXCERPT_CHARS_MAX * 4].decode("utf-8", "replace")
    if endpoint.key:
        text = text.replace(endpoint.key, "***")
    return clean_text(_KEYLIKE.sub("***", " ".join(text.split())), chars_max=EXCERPT_CHARS_MAX)


def _post(endpoint: Endpoint, body: bytes, timeout_s: float) -> Reply:
    deadline = time.monotonic() + timeout_s
    connection = _connection(endpoint, timeout_s)
    try:
        connection.connect()
        held = connection.sock  # it forgets its socket when the last answer begins
        path = urlsplit(endpoint.base_url).path.rstrip("/") + PATH
        connection.request("POST", path, body=body, headers=_headers(endpoint))
        _hurry(held, deadline)
        response = connection.getresponse()
        return Reply(response.status, _retry_after(response), _read(held, response, deadline))
    except ssl.SSLCertVerificationError as error:
        said = f"the certificate of {endpoint.base_url} is not trusted: {error.verify_message}"
        raise FatalFailure(f"{said}; see contracts.model.ca_file", code="MODEL_TLS") from None
    except TimeoutError:
        raise _Lost(f"it did not answer within {timeout_s:g} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Lost(f"{type(error).__name__}: {error}") from None
    finally:
        connection.close()


def _connection(endpoint: Endpoint, timeout_s: float) -> http.client.HTTPConnection:
    url = urlsplit(endpoint.base_url)
    if url.scheme == "https":
        trusted = ssl.create_default_context()
        if endpoint.ca_file:
            trusted.load_verify_locations(endpoint.ca_file)
        return http.client.HTTPSConnection(
            url.hostname or "", url.port, timeout=timeout_s, context=trusted
        )
    return http.client.HTTPConnection(url.hostname or "", url.port, timeout=timeout_s)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",  # a bounded answer cannot be a bomb
        "User-Agent": "stateward",
    }
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    return headers


def _read(held: socket.socket, response: http.client.HTTPResponse, deadline: float) -> bytes:
    """The body, within its size and its time: a server that drips is cut off like one that is silent."""
    body = bytearray()
    while len(body) <= ANSWER_BYTES_MAX:
        _hurry(held, deadline)
        piece = response.read1(READ_BYTES)
        if not piece:
            break
        body += piece
    else:
        said = f"the model's answer has more than {ANSWER_BYTES_MAX} bytes"
        raise FatalFailure(said, code="MODEL_ANSWER_TOO_LARGE")
    declared = response.getheader("Content-Length", "")
    if declared.isdigit() and len(body) < int(declared):
        raise http.client.IncompleteRead(bytes(body[:0]), int(declared) - len(body))
    return bytes(body)


def _hurry(held: socket.socket, deadline: float) -> None:
    """Let the next wait on the socket end with the whole call."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    held.settimeout(left_s)


def _retry_after(response: http.client.HTTPResponse) -> float | None:
    """Seconds, or the time until a date (by the server's own clock, if it says its time)."""
    text = (response.getheader("Retry-After") or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text):
        return float(text)
    try:
        wanted, now = (
            parsedate_to_datetime(each) for each in (text, response.getheader("Date", ""))
        )
        return max(0.0, (wanted - now).total_seconds())
    except (TypeError, ValueError):
        return None
