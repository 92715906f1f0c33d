"""Random identities: of records, keys, sessions. Nothing else in the package draws random bytes for a name."""

import time
from os import urandom

EPOCH_NS = 1_577_836_800 * 10**9  # 2020-01-01: 48 bits of ticks then reach to the year 2156
TICKS_PER_SECOND = 2**16
TOKEN_CHARS = 52
KEY_ID_CHARS = 16
RANDOM_CHARS = 26
# Base 32 with the hex alphabet, which sorts as the numbers do.
DIGITS = "0123456789abcdefghijklmnopqrstuv"
PAIRS = [first + second for first in DIGITS for second in DIGITS]
DIGIT_OF_BYTE = DIGITS.encode() * 8


def new_record_id(prefix: str) -> str:
    """An id that cannot be guessed (130 random bits) and that sorts by the time it was made.

    Records that were submitted together therefore lie together in every index, and a batch touches few pages.
    """
    ticks = max(0, time.time_ns() - EPOCH_NS) * TICKS_PER_SECOND // 10**9 % 2**48
    # Ten digits have two bits more. They are the lowest ones, so that ids of all versions sort among each other.
    n = ticks << 2
    made = f"{PAIRS[n >> 40]}{PAIRS[n >> 30 & 1023]}{PAIRS[n >> 20 & 1023]}{PAIRS[n >> 10 & 1023]}{PAIRS[n & 1023]}"
    return f"{prefix}_{made}{_random(RANDOM_CHARS)}"


def new_token() -> str:
    """260 random bits as text: the secret of a key, a session or a sign-in link."""
    return _random(TOKEN_CHARS)


def new_key_id() -> str:
    """The public part of an API key."""
    return _random(KEY_ID_CHARS)


def _random(chars: int) -> str:
    """So many digits of five random bits each, drawn without a loop: every record has such an id."""
    return urandom(chars).translate(DIGIT_OF_BYTE).decode()
