"""Lanes: the history divided into hash chains, so that writers of different records do not wait for each other.

A record belongs to the lane CRC-32(its id) mod the number of lanes, which is fixed when a store is made. A lane is one
chain over all transitions of its records in the order of their commits:

    value_n = SHA-256(value_(n-1) ‖ hash_n), both as lower-case hex text; value_0 is 64 zeros

`hash_n` is the hash of the transition (`core.chain`), which covers all of its content and the seal of its record. The
head of a lane is its last value, so it binds every transition before it: none can be changed, left out, added or moved
without another head. No transition concerns two records, so nothing orders the lanes among each other.

Stores that are older than lanes kept the same chain over their whole log. It goes on to count as the lane `FORMER`,
which is closed: its entries are those up to number `count` of the log.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

import msgspec

from stateward.core.chain import GENESIS
from stateward.core.model import Micros

FORMER = -1
"""The lane of what was written before a store had lanes."""


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """How long a lane is and the value that its chain ends with; `since` is when it was made."""

    lane: int
    count: int = 0
    head: str = GENESIS
    epoch: int = 0
    since: Micros = 0


class LogEntry(NamedTuple):
    """What of a transition its lane is made of."""

    seq: int
    record_id: str
    epoch: int
    hash: str


def lane_of(record_id: str, lanes: int) -> int:
    """The lane of a record, of so many."""
    return crc32(record_id.encode()) % lanes if lanes > 1 else 0


def extend(head: str, hashes: Iterable[str]) -> str:
    """The value of a chain after these transitions, in this order."""
    for each in hashes:
        head = sha256((head + each).encode()).hexdigest()
    return head


class LaneRouter:
    """Which lane each entry of the log belongs to, from the lanes of its store."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = sum(each.lane != FORMER for each in lanes)
        self._former = sum(each.count for each in lanes if each.lane == FORMER)

    def lane(self, record_id: str, seq: int) -> int:
        """The lane of an entry with this number in the log."""
        return FORMER if seq <= self._former else lane_of(record_id, self._lanes)
