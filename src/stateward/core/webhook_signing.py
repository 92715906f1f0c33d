"""Signatures of Standard Webhooks 1.0: `v1`, HMAC-SHA256 over `{id}.{timestamp}.{body}`.

A secret is `whsec_` and 24 to 64 bytes in base64, one for each endpoint. After a rotation messages are signed with the
new and the previous secret for a while, so that a receiver need not change at the same moment as we do.
"""

import base64
import hmac
from collections.abc import Sequence
from hashlib import sha256

from stateward.core.errors import InvalidRequest

SECRET_START = "whsec_"  # noqa: S105 - the form of a secret, not one
KEY_BYTES = 32  # of a generated secret: as long as the digest, beyond which HMAC gains nothing
KEY_BYTES_MIN, KEY_BYTES_MAX = 24, 64  # as the specification says
SLACK_S = 300  # the clocks of sender and receiver may differ by that, as in the reference libraries


def secret_of(key: bytes) -> str:
    """A key as it is written down."""
    return SECRET_START + base64.b64encode(key).decode()


def key_of(secret: str) -> bytes:
    """The bytes of a secret; an invalid one is refused, and not repeated in the message."""
    start, text = secret[: len(SECRET_START)], secret[len(SECRET_START) :]
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if start != SECRET_START or not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise InvalidRequest(
            f"a webhook secret is {SECRET_START} and {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64; this is none"
        )
    return key


def signed_headers(
    message_id: str, *, second: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """The headers that a receiver verifies: the id, the time of this attempt, a signature for each secret, if any."""
    text = f"{message_id}.{second}.".encode() + body
    signatures = [
        base64.b64encode(hmac.new(key_of(secret), text, sha256).digest()).decode()
        for secret in secrets
    ]
    headers = {"webhook-id": message_id, "webhook-timestamp": str(second)}
    if signatures:
        headers["webhook-signature"] = " ".join(f"v1,{each}" for each in signatures)
    return headers


def is_signed(headers: dict[str, str], body: bytes, *, secret: str, now_s: int) -> bool:
    """Whether a message is signed with the secret, and recently: an old one may be a replay."""
    second = headers.get("webhook-timestamp", "")
    if not (second.isascii() and second.isdecimal()) or abs(now_s - int(second)) > SLACK_S:
        return False
    expected = signed_headers(
        headers.get("webhook-id", ""), second=int(second), body=body, secrets=[secret]
    )["webhook-signature"]
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(each.encode(), expected.encode()) for each in given)
