"""A client for one chat endpoint with OpenAI's `/v1/chat/completions`.

Transient errors (429, 5xx, a broken or silent connection) are retried, after the wait that the endpoint asks for;
others (400, 401, 403, 404, …) fail at once with their own code. An answer is limited in size and time. The key is sent
in one header only: no message, log line or exception contains it. Redirects are not followed, because they would send
the key to another host.
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
ANSWER_BYTES_MAX = 512 * 1024  # an answer must fit among the saved values of a stage
EXCERPT_CHARS_MAX = 300
BACKOFF_S = 1.0
BACKOFF_S_MAX = 30.0
RETRY_AFTER_S_MAX = 300.0
SPARE_S = 5.0  # of the time of the attempt, reserved for what follows the answer
TOO_MANY_REQUESTS = 429
REQUEST_TIMEOUT = 408
TRANSIENT = frozenset({REQUEST_TIMEOUT, 409, 425, TOO_MANY_REQUESTS})
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
    """The address, credentials and limits of a model. Its repr does not contain the key."""

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
    """No complete answer arrived; a retry may get one."""


def ask(
    endpoint: Endpoint,
    body: bytes,
    *,
    left_s: Callable[[], float | None],
    sleep: Callable[[float], object] = time.sleep,
    warn: Callable[[str], object] = lambda _: None,
) -> bytes:
    """The body of the answer with status 200. `left_s` is the remaining time of the attempt.

    Raises `FatalFailure` where a retry cannot help, and `StageFailure` when tries or time are used up.
    """
    reason, code = "", "MODEL_UNAVAILABLE"
    for attempt in range(endpoint.retries + 1):
        wait_s = min(BACKOFF_S * 2**attempt, BACKOFF_S_MAX)
        try:
            reply = _post(endpoint, body, _timeout_s(endpoint, left_s()))
        except _NoAnswer as error:
            reason, code = str(error), "MODEL_UNAVAILABLE"
        else:
            if reply.status == OK:
                return reply.body
            reason = _refusal(endpoint, reply)  # raises if a retry cannot help
            code = "MODEL_BUSY" if reply.status == TOO_MANY_REQUESTS else "MODEL_UNAVAILABLE"
            wait_s = max(wait_s, _retry_after_s(reply) or 0.0)
        if attempt == endpoint.retries or not _is_time_for(wait_s, left_s()):
            break
        warn(f"{reason}; next try in {wait_s:g} s")
        sleep(wait_s)
    raise StageFailure(f"the model at {endpoint.base_url} gave no answer: {reason}", code=code)


def _timeout_s(endpoint: Endpoint, left_s: float | None) -> float:
    """The timeout of one call; at least a second, so that a late attempt fails with a reason."""
    return endpoint.timeout_s if left_s is None else max(1.0, min(endpoint.timeout_s, left_s - 1))


def _is_time_for(wait_s: float, left_s: float | None) -> bool:
    return wait_s <= RETRY_AFTER_S_MAX and (left_s is None or wait_s + SPARE_S < left_s)


def _refusal(endpoint: Endpoint, reply: HttpReply) -> str:
    """The reason for a retry; raises if a retry cannot help."""
    if reply.status in TRANSIENT or reply.status in SERVER_ERRORS:
        after = _retry_after_s(reply)
        asked = f" and asked to wait {after:g} s" if after is not None else ""
        return f"it answered {reply.status}{asked}"
    code, meaning = FATAL.get(reply.status, ("MODEL_BAD_REQUEST", "it refused the request"))
    excerpt = "" if reply.status in (401, 403) else _excerpt(endpoint, reply.body)
    message = f"the model at {endpoint.base_url} answered {reply.status}: {meaning}"
    raise FatalFailure(f"{message}. Its answer: {excerpt}" if excerpt else message, code=code)


def _excerpt(endpoint: Endpoint, body: bytes) -> str:
    """The start of an error message of the endpoint, without anything that may be a key."""
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
