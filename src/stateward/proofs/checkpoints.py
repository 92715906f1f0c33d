"""Checkpoints: the root over all lines as a few lines of text, signed or not, and the keys that sign them.

A checkpoint is text in the form of C2SP tlog-checkpoint: origin, number of lines, root in base64; then, if it is
signed, an empty line and a signature line of the signed-note form, which tools for transparency logs read:

    example.org/ledger
    17
    8bIj4iFtmQ7CkR9Srrd4oz66w4KL3mGl3b8gw10DJS4=

    — example.org/ledger base64(4-byte key id ‖ Ed25519 signature over the lines above the empty one)

Only a checkpoint kept *elsewhere* proves anything against the owner of this disk: the owner can recompute every
hash in the ledger, but not take back what others have.

A key is one line of text for each half, in the same form:

    PRIVATE+KEY+example.org/ledger+1f9c0a2b+AQ…=     signs: keep it secret
    example.org/ledger+1f9c0a2b+AQ…=                 verifies: give it to everybody

In the middle stands the key id, the first four bytes of SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key), in hex; at the end,
in base64, the byte 1 (Ed25519) and the 32 bytes of the seed or of the public key.

Nothing here touches a disk. Signing needs the package `cryptography`, which is optional; new keys use its randomness.
"""

import base64
import re
from hashlib import sha256
from typing import Any

import msgspec

from stateward.core.errors import InvalidRequest, MissingExtra
from stateward.proofs.merkle import HASH_BYTES, InclusionProof, proof_root

ORIGIN = "stateward.local/ledger"
"""The name of a log that was not given one."""
PRIVATE = "PRIVATE+KEY+"
SIGNATURE_START = "\u2014"
"""The em dash that begins a signature line."""
ED25519 = b"\x01"
KEY_ID_BYTES = 4


def checkpoint_text(origin: str, *, size: int, root: bytes) -> str:
    _check_name(origin, "an origin")
    return f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"


def parse_checkpoint(text: str) -> tuple[str, int, bytes]:
    """Origin, number of lines and root of a checkpoint; signatures are not checked."""
    lines = text.split("\n")
    if len(lines) < 4 or not re.fullmatch("0|[1-9][0-9]{0,18}", lines[1]):
        raise InvalidRequest("this is no checkpoint: it has no origin, size and root")
    try:
        root = base64.b64decode(lines[2], validate=True)
    except ValueError as error:
        raise InvalidRequest("this is no checkpoint: its root is not base64") from error
    if len(root) != HASH_BYTES:
        raise InvalidRequest("this is no checkpoint: its root has not 32 bytes")
    return lines[0], int(lines[1]), root


def kept_text(data: bytes) -> str:
    """The checkpoint in a file as someone kept it: its lines, or the whole mail that it came in.

    A file that holds neither is given back as text, for the caller to refuse.
    """
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n")
    for found in (lines, _text_of_mail(data)):
        try:
            parse_checkpoint(found)
        except InvalidRequest:
            continue
        return found
    return lines


def _text_of_mail(data: bytes) -> str:
    from email import message_from_bytes, policy

    body = message_from_bytes(data, policy=policy.default).get_body(("plain",))
    try:
        return "" if body is None else str(body.get_content()).replace("\r\n", "\n").lstrip()
    except (LookupError, ValueError):  # a form or an encoding that no checkpoint is sent in
        return ""


def verify_proof(proof: InclusionProof, checkpoint: str) -> bool:
    """Whether the proof leads from its line to the root of the checkpoint."""
    _, size, root = parse_checkpoint(checkpoint)
    return size == proof.size and proof_root(proof) == root


# Signatures


class CheckpointSigner(msgspec.Struct, frozen=True):
    """The private half of a key: the name that stands in the signature, and the 32-byte seed."""

    name: str
    seed: bytes

    def __repr__(self) -> str:
        """Without the secret, so that no log and no traceback shows it."""
        return f"CheckpointSigner(name={self.name!r})"

    def sign(self, checkpoint: str) -> str:
        """The checkpoint with a signature line."""
        key = _ed25519().Ed25519PrivateKey.from_private_bytes(self.seed)
        blob = _key_id(self.name, key.public_key().public_bytes_raw()) + key.sign(
            checkpoint.encode()
        )
        signature = base64.b64encode(blob).decode()
        return f"{checkpoint}\n{SIGNATURE_START} {self.name} {signature}\n"


class CheckpointVerifier(msgspec.Struct, frozen=True):
    """The public half of a key: the name, and the 32-byte public key."""

    name: str
    public: bytes

    def has_signed(self, checkpoint: str) -> bool:
        """Whether the checkpoint carries a good signature of this key."""
        key = _ed25519().Ed25519PublicKey.from_public_bytes(self.public)
        from cryptography.exceptions import InvalidSignature  # type: ignore[import-not-found,unused-ignore]

        text, _, notes = checkpoint.partition("\n\n")
        for line in notes.splitlines():
            words = line.split(" ")
            if len(words) == 3 and words[:2] == [SIGNATURE_START, self.name]:
                try:
                    blob = base64.b64decode(words[2])
                    if blob[:KEY_ID_BYTES] == _key_id(self.name, self.public):
                        key.verify(blob[KEY_ID_BYTES:], f"{text}\n".encode())
                        return True
                except (ValueError, InvalidSignature):
                    return False
        return False


def generate_key(name: str) -> tuple[str, str]:
    """A new key as the lines of its private and its public half."""
    _check_name(name, "a key's name")
    key = _ed25519().Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    start = f"{name}+{_key_id(name, public).hex()}+"
    private, shared = (ED25519 + half for half in (key.private_bytes_raw(), public))
    return (
        f"{PRIVATE}{start}{base64.b64encode(private).decode()}",
        f"{start}{base64.b64encode(shared).decode()}",
    )


def parse_signer(text: str) -> CheckpointSigner:
    """The private half of a key. No error message repeats the text: it is a secret."""
    if not text.startswith(PRIVATE):
        raise InvalidRequest(f"this is no key to sign with: such a line begins with {PRIVATE}")
    name, key_id, seed = _key_parts(text.removeprefix(PRIVATE), "a key to sign with")
    key = _ed25519().Ed25519PrivateKey.from_private_bytes(seed)
    if _key_id(name, key.public_key().public_bytes_raw()).hex() != key_id:
        raise InvalidRequest("this is no key to sign with: its middle does not fit its end")
    return CheckpointSigner(name, seed)


def parse_verifier(text: str) -> CheckpointVerifier:
    """The public half of a key."""
    if text.startswith(PRIVATE):
        raise InvalidRequest(
            "this is the private half of a key; the other line, without PRIVATE+KEY, is meant"
        )
    name, key_id, public = _key_parts(text, "a public key")
    if _key_id(name, public).hex() != key_id:
        raise InvalidRequest("this is no public key: its middle does not fit its end")
    return CheckpointVerifier(name, public)


def _key_parts(text: str, what: str) -> tuple[str, str, bytes]:
    try:
        name, key_id, encoded = text.strip().split("+", 2)  # base64 may hold a + of its own
        data = base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise InvalidRequest(
            f"this is not {what}: it has not three parts with + between"
        ) from error
    if len(data) != 1 + HASH_BYTES or data[:1] != ED25519:
        raise InvalidRequest(f"this is not {what}: only Ed25519 is known")
    _check_name(name, "a key's name")
    return name, key_id, data[1:]


def _check_name(name: str, what: str) -> None:
    # Both forms use spaces, newlines and + as separators, and are UTF-8, which has no half characters.
    if not name or any(
        char.isspace() or char == "+" or "\ud800" <= char <= "\udfff" for char in name
    ):
        raise InvalidRequest(
            f"{what} is one word without '+', like example.org/ledger, not {name!r}"
        )


def _key_id(name: str, public: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + ED25519 + public).digest()[:KEY_ID_BYTES]


def _ed25519() -> Any:  # noqa: ANN401 - the package may not be there
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise MissingExtra("cryptography", ["signing"]) from error
    return ed25519
