"""Keys that checkpoints are signed with, as the two lines of text that the signed-note form knows.

    PRIVATE+KEY+example.org/ledger+1f9c0a2b+AQ…=     the signer: keep it from everybody
    example.org/ledger+1f9c0a2b+AQ…=                 the verifier: give it to everybody

In the middle stand the first four bytes of SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key), in hex; at the end, in base64,
the byte 1 (Ed25519) and the 32 bytes of the seed or of the public key. Other tools for transparency logs read the
same lines. Nothing here touches a disk; randomness is that of the package `cryptography`.
"""

import base64

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.ledger.merkle import (
    ED25519,
    HASH_BYTES,
    ed25519_module,
    is_signed_by,
    key_id,
)

PRIVATE = "PRIVATE+KEY+"


class Signer(msgspec.Struct, frozen=True):
    """Who signs: the name that stands in the signature, and the 32-byte seed of the key."""

    name: str
    seed: bytes

    def __repr__(self) -> str:
        """Without the key."""
        return f"Signer(name={self.name!r})"


class Verifier(msgspec.Struct, frozen=True):
    """Whose signature is wanted: the name, and the 32-byte public key."""

    name: str
    public: bytes


def new_key(name: str) -> tuple[str, str]:
    """A new key as the lines of its signer and its verifier."""
    _check_name(name)
    key = ed25519_module().Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    signer = f"{PRIVATE}{_line(name, public, key.private_bytes_raw())}"
    return signer, _line(name, public, public)


def _line(name: str, public: bytes, secret: bytes) -> str:
    return f"{name}+{key_id(name, public).hex()}+{base64.b64encode(ED25519 + secret).decode()}"


def read_signer(text: str) -> Signer:
    """The signer that a line names. No sentence repeats the line: it is a secret."""
    if not text.startswith(PRIVATE):
        raise InvalidRequest(f"this is no key to sign with: such a line begins with {PRIVATE}")
    name, seed, said = _parts(text.removeprefix(PRIVATE), "a key to sign with")
    public = ed25519_module().Ed25519PrivateKey.from_private_bytes(seed)
    if key_id(name, public.public_key().public_bytes_raw()).hex() != said:
        raise InvalidRequest("this is no key to sign with: its middle does not fit its end")
    return Signer(name, seed)


def read_verifier(text: str) -> Verifier:
    """The verifier that a line names."""
    if text.startswith(PRIVATE):
        raise InvalidRequest(
            "this is the private half of a key; the other line, without PRIVATE+KEY, is meant"
        )
    name, public, said = _parts(text, "a public key")
    if key_id(name, public).hex() != said:
        raise InvalidRequest("this is no public key: its middle does not fit its end")
    return Verifier(name, public)


def check_signature(checkpoint: str, verifier: Verifier) -> bool:
    """Whether the checkpoint carries a good signature of this key."""
    try:
        return is_signed_by(checkpoint, name=verifier.name, public_key=verifier.public)
    except ValueError:  # what stands where a signature should is no base64
        return False


def _parts(text: str, what: str) -> tuple[str, bytes, str]:
    parts = text.strip().split("+", 2)  # base64 may hold a + of its own
    try:
        name, said, coded = parts
        data = base64.b64decode(coded, validate=True)
    except ValueError as error:
        raise InvalidRequest(
            f"this is not {what}: it has not three parts with + between"
        ) from error
    if len(data) != 1 + HASH_BYTES or data[:1] != ED25519:
        raise InvalidRequest(f"this is not {what}: only Ed25519 is known")
    _check_name(name)
    return name, data[1:], said


def _check_name(name: str) -> None:
    if not name or any(char.isspace() or char == "+" for char in name):
        raise InvalidRequest(
            f"a key's name is one word without '+', like example.org/ledger, not {name!r}"
        )
