"""Random identities: of records, keys, sessions. Nothing else in the package draws random bytes for a name."""

import time
from base64 import b32hexencode
from os import urandom

EPOCH_NS = 1_577_836_800 * 10**9  # 2020-01-01: six bytes of ticks then reach to the year 2156
TICKS_PER_SECOND = 2**16
TOKEN_BYTES = 32
KEY_ID_BYTES = 10


def new_record_id(prefix: str) -> str:
    """An id that cannot be guessed (128 random bits) and that sorts by the time it was made.

    Records that were submitted together therefore lie together in every index, and a batch touches few pages.
    """
    ticks = max(0, time.time_ns() - EPOCH_NS) * TICKS_PER_SECOND // 10**9 % 2**48
    return f"{prefix}_{_base32(ticks.to_bytes(6, 'big') + urandom(16))}"


def new_token() -> str:
    """256 random bits as text: the secret of a key, a session or a sign-in link."""
    return _base32(urandom(TOKEN_BYTES))


def new_key_id() -> str:
    """The public part of an API key."""
    return _base32(urandom(KEY_ID_BYTES))


def _base32(raw: bytes) -> str:
    """Base 32 with the hex alphabet, which sorts as the bytes do."""
    return b32hexencode(raw).rstrip(b"=").decode().lower()
