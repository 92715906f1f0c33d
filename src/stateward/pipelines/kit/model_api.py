"""One HTTP call to a model endpoint in OpenAI's style: chat completions, embeddings and their like.

The key is sent in one header only: no message, log line or exception contains it. Redirects are not followed, because
they would send the key to another host. An answer is limited in size and time. Nothing is retried here, and nothing is
turned into a failure of a stage: a caller knows its settings and its codes.
"""

import re
import ssl
from email.utils import parsedate_to_datetime

import msgspec

from stateward.core.model import clean_text
from stateward.http_client import HttpReply, post, retry_after_s

OK = 200
TOO_MANY_REQUESTS = 429
TRANSIENT = frozenset({408, 409, 425, TOO_MANY_REQUESTS, *range(500, 600)})
EXCERPT_CHARS_MAX = 300
_KEYLIKE = re.compile(r"\b(?:sk|pk|key|Bearer)[-_ ][A-Za-z0-9*._-]{6,}")


class ModelApi(msgspec.Struct, frozen=True, kw_only=True):
    """Where an endpoint is and how it is asked. Its repr does not contain the key."""

    base_url: str
    key: str = ""
    timeout_s: float = 60.0
    ca_file: str = ""

    def __repr__(self) -> str:
        """Without the key."""
        return f"ModelApi(base_url={self.base_url!r})"


class NoAnswer(Exception):
    """No complete answer arrived; another try may get one."""


class AnswerTooLarge(Exception):
    """The answer has more bytes than it may have."""


class UntrustedCertificate(Exception):
    """The certificate of the endpoint is not trusted; the message is the reason."""


def call(
    api: ModelApi, path: str, body: bytes, *, answer_bytes_max: int, timeout_s: float | None = None
) -> HttpReply:
    """The complete answer to a JSON body, whatever its status; raises one of the three above."""
    wait_s = api.timeout_s if timeout_s is None else timeout_s
    try:
        reply = post(
            api.base_url.rstrip("/") + path,
            body,
            _headers(api),
            timeout_s=wait_s,
            body_bytes_max=answer_bytes_max,
            ca_file=api.ca_file or None,
        )
    except ssl.SSLCertVerificationError as error:
        raise UntrustedCertificate(error.verify_message) from None
    except TimeoutError:
        raise NoAnswer(f"it did not answer within {wait_s:g} s") from None
    except OSError as error:
        raise NoAnswer(f"{type(error).__name__}: {error}") from None
    if reply.body_end == "limit":
        raise AnswerTooLarge(f"more than {answer_bytes_max} bytes")
    if reply.body_end == "timeout":
        raise NoAnswer(f"it did not answer within {wait_s:g} s")
    if reply.body_end == "broken":
        raise NoAnswer(f"its answer broke off after {len(reply.body)} bytes")
    return reply


def _headers(api: ModelApi) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",  # so that the limit counts what is decoded
        "User-Agent": "stateward",
    }
    return {**headers, "Authorization": f"Bearer {api.key}"} if api.key else headers


def asked_wait_s(reply: HttpReply) -> float | None:
    """The wait that it asks for; a date counts from the time that the server itself gives."""
    try:
        now_s = parsedate_to_datetime(reply.header("date") or "").timestamp()
    except (TypeError, ValueError):
        now_s = None
    return retry_after_s(reply.header("retry-after"), now_s=now_s)


def excerpt(api: ModelApi, body: bytes) -> str:
    """The start of an error message of the endpoint, without anything that may be a key."""
    text = body[: EXCERPT_CHARS_MAX * 4].decode("utf-8", "replace")
    if api.key:
        text = text.replace(api.key, "***")
    return clean_text(_KEYLIKE.sub("***", " ".join(text.split())), chars_max=EXCERPT_CHARS_MAX)
