"""Whether there is another retry, and when.

Jitter is derived from the record, not random: a decision is repeatable.
"""

from zlib import crc32

import msgspec

from stateward.core.model import SECOND, Fields, Micros

RETRIES_MAX = 1000
RETRY_AFTER = "retry_after_s"  # the fact of a failed attempt
RETRY_AFTER_S_MAX = 24 * 3600.0  # a source that asks for more is asked after a day
BACKOFF_DEFAULT_S = (60.0, 300.0, 900.0)


def retry_after_s(facts: Fields) -> float:
    """How long a failed attempt was asked to wait: what facts say of it, within bounds."""
    seconds = facts.get(RETRY_AFTER)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        return 0.0
    return float(min(seconds, RETRY_AFTER_S_MAX))  # a whole number may be too large for a float


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often an attempt is repeated by itself, and how long each wait is; the last one repeats.

    `fatal_after_s`: how long a failure that no retry can cure waits for a person before it counts as exhausted; None:
    for ever.
    """

    max_retries: int = 3
    backoff_s: tuple[float, ...] = BACKOFF_DEFAULT_S
    jitter_s: float = 0.0
    fatal_after_s: float | None = None

    def next_at(self, *, retry_count: int, token: str, now: Micros) -> Micros | None:
        """When the next automatic try is due, or None when there is none left."""
        if retry_count >= self.max_retries:
            return None
        wait_s = self.backoff_s[min(retry_count, len(self.backoff_s) - 1)]
        return now + round((wait_s + self.jitter_s * spread(token)) * SECOND)


def spread(token: str) -> float:
    """A number in [0, 1) that differs from token to token, and is the same each time for one."""
    return crc32(token.encode()) / 2**32
