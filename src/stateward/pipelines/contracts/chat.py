"""A client for one chat endpoint with OpenAI's `/v1/chat/completions`.

Transient errors (429, 5xx, a broken or silent connection) are retried, after the wait that the endpoint asks for;
others (400, 401, 403, 404, …) fail at once with their own code. The call itself is that of `kit.model_api`.
"""

import time
from collections.abc import Callable

import msgspec

from stateward.core.errors import FatalFailure, StageFailure
from stateward.http_client import HttpReply
from stateward.pipelines.kit.model_api import (
    OK,
    TOO_MANY_REQUESTS,
    TRANSIENT,
    AnswerTooLarge,
    ModelApi,
    NoAnswer,
    UntrustedCertificate,
    asked_wait_s,
    call,
    excerpt,
)

PATH = "/chat/completions"
ANSWER_BYTES_MAX = 512 * 1024  # an answer must fit among the saved values of a stage
BACKOFF_S = 1.0
BACKOFF_S_MAX = 30.0
RETRY_AFTER_S_MAX = 300.0
SPARE_S = 5.0  # of the time of the attempt, reserved for what follows the answer
BAD_REQUEST = "MODEL_BAD_REQUEST"
FATAL = {
    400: (BAD_REQUEST, "it did not understand the request"),
    401: ("MODEL_KEY_REFUSED", "it does not accept the key; see contracts.model.key"),
    402: ("MODEL_KEY_REFUSED", "the account of the key has no money left"),
    403: ("MODEL_KEY_REFUSED", "the key may not use this model; see contracts.model"),
    404: ("MODEL_NOT_FOUND", "there is no such address or model; see contracts.model"),
    413: (BAD_REQUEST, "the document is too long for it; see contracts.model.document_chars_max"),
}  # fmt: skip


class UnusableAnswer(Exception):
    """An answer that cannot be used; the message is the reason."""


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

    @property
    def api(self) -> ModelApi:
        """How it is called."""
        return ModelApi(
            base_url=self.base_url, key=self.key, timeout_s=self.timeout_s, ca_file=self.ca_file
        )


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
        except NoAnswer as error:
            reason, code = str(error), "MODEL_UNAVAILABLE"
        else:
            if reply.status == OK:
                return reply.body
            reason = _refusal(endpoint, reply)  # raises if a retry cannot help
            code = "MODEL_BUSY" if reply.status == TOO_MANY_REQUESTS else "MODEL_UNAVAILABLE"
            wait_s = max(wait_s, asked_wait_s(reply) or 0.0)
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
    if reply.status in TRANSIENT:
        after = asked_wait_s(reply)
        asked = f" and asked to wait {after:g} s" if after is not None else ""
        return f"it answered {reply.status}{asked}"
    code, meaning = FATAL.get(reply.status, (BAD_REQUEST, "it refused the request"))
    said = "" if reply.status in (401, 403) else excerpt(endpoint.api, reply.body)
    message = f"the model at {endpoint.base_url} answered {reply.status}: {meaning}"
    raise FatalFailure(f"{message}. Its answer: {said}" if said else message, code=code)


def _post(endpoint: Endpoint, body: bytes, timeout_s: float) -> HttpReply:
    try:
        return call(
            endpoint.api, PATH, body, answer_bytes_max=ANSWER_BYTES_MAX, timeout_s=timeout_s
        )
    except UntrustedCertificate as error:
        said = f"the certificate of {endpoint.base_url} is not trusted: {error}"
        raise FatalFailure(f"{said}; see contracts.model.ca_file", code="MODEL_TLS") from None
    except AnswerTooLarge as error:
        said = f"the model's answer has {error}"
        raise FatalFailure(said, code="MODEL_ANSWER_TOO_LARGE") from None
