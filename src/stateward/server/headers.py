"""What the headers of a request say: which version it means, that it is done once, which trace it belongs to."""

import re
from collections.abc import Sequence
from hashlib import sha256

from stateward.server.auth import KEY_CHARS, Asked, Caller
from stateward.server.problems import Refusal
from stateward.server.service import Service
from stateward.storage.idempotency import IdempotentRequest

QUOTED = re.compile(r'".+"')
ENTITY_TAG = re.compile(r'\s*(?:\*|(?P<weak>W/)?"(?P<version>[0-9]{1,18})")\s*')
TAG_LIST = re.compile(r'(?:W/)?"([^"]*)"')
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def expected_version(service: Service, if_match: str | None) -> int | None:
    """The version that a change is meant for; None is any."""
    if if_match is None:
        if service.settings.api.require_if_match:
            raise Refusal(
                "if-match-required",
                "say which version is meant: If-Match with the ETag of the record",
            )
        return None
    found = ENTITY_TAG.fullmatch(if_match)
    if found is None:
        raise Refusal("invalid-request", 'If-Match takes one ETag of ours, as in "7", or *')
    if found["weak"]:
        raise Refusal("invalid-request", "If-Match takes no weak ETag")
    return None if found["version"] is None else int(found["version"])


def is_known(if_none_match: str | None, tag: int | str) -> bool:
    """Whether the client has this version or these bytes already."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or str(tag) in TAG_LIST.findall(if_none_match)


def once_of(
    caller: Caller, request: Asked, key: str | None, content: Sequence[bytes | str]
) -> IdempotentRequest | None:
    """The request as one that must be done once, if it has an Idempotency-Key."""
    if key is None:
        return None
    bare = key.strip()
    if QUOTED.fullmatch(bare):  # as the draft of the header has it
        bare = bare[1:-1]
    if not KEY_CHARS.fullmatch(bare):
        raise Refusal("invalid-request", "an Idempotency-Key has 1 to 255 visible ASCII characters")
    digest = sha256()
    for part in (request.method, request.url.path, request.url.query, *content):
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return IdempotentRequest(caller=caller.id, key=bare, fingerprint=digest.hexdigest())


def trace_of(request: Asked) -> str | None:
    """The W3C trace that a request belongs to."""
    given = request.headers.get("traceparent", "")
    return given if TRACEPARENT.fullmatch(given) else None
