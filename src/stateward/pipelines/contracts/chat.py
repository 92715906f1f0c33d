"""A small client of one chat endpoint: any that speaks OpenAI's `/v1/chat/completions`.

What passes by itself (429, 5xx, a broken or silent connection) is tried again, after the wait that the endpoint asks
for; what does not (400, 401, 403, 404 and their kin) fails at once with its own code. An answer is bounded in size
and in time. The key goes into one header and nowhere else: no message, log line or exception holds it. Redirects are
not followed, since they would carry the key elsewhere.
"""

import re
import ssl
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import msgspec

from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import clean_text
from stateward.http_client import HttpReply, post, retry_after_s

PATH = "/chat/completions"
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


class _NoAnswer(Exception):
    """No whole answer came; another try may get one."""


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
        except _NoAnswer as error:
            reason, code = str(error), "MODEL_UNAVAILABLE"
        else:
            if reply.status == OK:
                return reply.body
            reason = _refusal(endpoint, reply)  # raises what no try can cure
            code = "MODEL_BUSY" if reply.status == TOO_MANY_REQUESTS else "MODEL_UNAVAILABLE"
            wait_s = max(wait_s, _retry_after_s(reply) or 0.0)
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


def _refusal(endpoint: Endpoint, reply: HttpReply) -> str:
    """A sentence for what may pass; raises for what may not."""
    if reply.status in PASSING or reply.status in SERVER_ERRORS:
        after = _retry_after_s(reply)
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


def _post(endpoint: Endpoint, body: bytes, timeout_s: float) -> HttpReply:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",  # so that the limit counts what is decoded
        "User-Agent": "stateward",
    }
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    try:
        reply = post(
            endpoint.base_url.rstrip("/") + PATH,
            body,
            headers,
            timeout_s=timeout_s,
            body_bytes_max=ANSWER_BYTES_MAX,
            ca_file=endpoint.ca_file or None,
        )
    except ssl.SSLCertVerificationError as error:
        said = f"the certificate of {endpoint.base_url} is not trusted: {error.verify_message}"
        raise FatalFailure(f"{said}; see contracts.model.ca_file", code="MODEL_TLS") from None
    except TimeoutError:
        raise _NoAnswer(f"it did not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise _NoAnswer(f"{type(error).__name__}: {error}") from None
    if reply.body_end == "limit":
        said = f"the model's answer has more than {ANSWER_BYTES_MAX} bytes"
        raise FatalFailure(said, code="MODEL_ANSWER_TOO_LARGE")
    if reply.body_end == "timeout":
        raise _NoAnswer(f"it did not answer within {timeout_s:g} s")
    if reply.body_end == "broken":
        raise _NoAnswer(f"its answer broke off after {len(reply.body)} bytes")
    return reply


def _retry_after_s(reply: HttpReply) -> float | None:
    """The wait that it asks for; a date counts from the time that the server itself gives."""
    try:
        now_s = parsedate_to_datetime(reply.header("date") or "").timestamp()
    except (TypeError, ValueError):
        now_s = None
    return retry_after_s(reply.header("retry-after"), now_s=now_s)
