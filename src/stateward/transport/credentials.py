"""The credential of a worker behind a transport: a file that says who it is and what it may do, and signs its messages.

The signature is HMAC-SHA256 with the secret of the credential, in hexadecimal, over these lines, joined by newlines:
`type`, `id`, `source`, `subject`, `time` of the message, and the SHA-256 of its `data` in hexadecimal. It says who sent
a message, and that it was not changed; that one that is sent twice counts once is a matter of the fencing version, and
of the time of a heartbeat (`engine.admission`).
"""

from hashlib import sha256
from hmac import compare_digest
from hmac import new as new_hmac
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.transport.messages import Envelope

ALL_STAGES = "*"


class WorkerCredential(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds. `stages` are `machine.stage`, or `machine.*` for all of a machine."""

    id: str
    secret: str
    stages: tuple[str, ...]


def allows(stages: tuple[str, ...], machine: str, stage: str) -> bool:
    """Whether one of these names this stage."""
    return f"{machine}.{stage}" in stages or f"{machine}.{ALL_STAGES}" in stages


def read_credential(path: Path) -> WorkerCredential:
    """The credential in a file; raises InvalidRequest if there is none, and never shows what is in it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=WorkerCredential)
    except (OSError, ValueError) as error:
        raise InvalidRequest(
            f"transport.credential: {path} cannot be read ({type(error).__name__}); "
            "make one with `stateward key worker create`"
        ) from None


def sign(envelope: Envelope, credential: WorkerCredential) -> Envelope:
    """A message with the signature of a credential."""
    return replace(envelope, keyid=credential.id, signature=_signature(envelope, credential.secret))


def is_signed(envelope: Envelope, secret: str) -> bool:
    """Whether the signature of a message was made with this secret; compared in constant time."""
    return compare_digest(
        (envelope.signature or "").encode(), _signature(envelope, secret).encode()
    )


def _signature(envelope: Envelope, secret: str) -> str:
    lines = (
        envelope.type,
        envelope.id,
        envelope.source,
        envelope.subject,
        envelope.time,
        sha256(bytes(envelope.data)).hexdigest(),
    )
    return new_hmac(secret.encode(), "\n".join(lines).encode(), sha256).hexdigest()
