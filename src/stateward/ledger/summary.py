"""What the ledger knows without looking at documents: counts, durations, error types, adapters, sources.

A summary is kept on the way, one line after the other, and can be added to another one. So it stands in
the header of each snapshot (all lines so far) and in the index of each delta (its lines alone), and the
present one is the sum of those few: no question that it answers depends on the number of documents.

Durations are counted in buckets that grow by a tenth: a percentile is right to within 5 %. They speak of
the log, so a rollback leaves them as they are; counts and sources go back with the documents.
Nothing here touches a disk.
"""

import math
from collections.abc import Iterable

import msgspec

from stateward.ledger.record import CONTROL, Line

GROWTH = 1.1
_PER_LOG = 1 / math.log(GROWTH)
_MIDDLE = 2 * GROWTH / (GROWTH + 1)
SHORTEST_S = 1e-6
LONGEST_S = 1e10
NAMES_MAX = 256
OTHER = "(other)"
"""Where names are counted once there are too many different ones."""


class Durations(msgspec.Struct, kw_only=True):
    """How long documents stayed in one state before they left it."""

    count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    buckets: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        """One more stay."""
        self.count += 1
        self.total_s += seconds
        if seconds > self.max_s:
            self.max_s = seconds
        bounded = min(max(seconds, SHORTEST_S), LONGEST_S)
        bucket = math.ceil(math.log(bounded) * _PER_LOG)
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1

    def merge(self, other: "Durations") -> None:
        """All stays that `other` knows."""
        self.count += other.count
        self.total_s += other.total_s
        self.max_s = max(self.max_s, other.max_s)
        _add(self.buckets, other.buckets)

    def percentile(self, share: float) -> float:
        """The duration that this share of the stays did not exceed, to within 5 %."""
        wanted = math.ceil(share * self.count)
        seen = 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= wanted:
                return min(GROWTH ** (bucket - 1) * _MIDDLE, self.max_s)
        return self.max_s


class Summary(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sums over lines. In a delta `counts` are differences and may be negative."""

    counts: dict[str, int] = {}
    durations: dict[str, Durations] = {}
    adapters: dict[str, int] = {}
    errors: dict[str, int] = {}
    sources: dict[str, int] = {}
    records: int = 0
    last_at: float = 0.0

    def add(self, line: Line) -> None:
        """One more line of the log."""
        self.records += 1
        if line.doc_id == CONTROL:
            return
        counts, old, new = self.counts, line.old_state, line.new_state
        counts[new] = counts.get(new, 0) + 1
        if old is not None:
            counts[old] = counts.get(old, 0) - 1
            if line.duration_seconds is not None:
                stays = self.durations.get(old)
                if stays is None:
                    stays = self.durations[old] = Durations()
                stays.add(line.duration_seconds)
        _count(self.adapters, line.adapter)
        if line.error_type is not None:
            _count(self.errors, line.error_type)
        if line.source is not None and line.source_seq is not None:
            self.sources[line.source] = line.source_seq
        self.last_at = max(self.last_at, line.timestamp)

    def merge(self, later: "Summary") -> None:
        """All lines that `later` knows, which come after these."""
        _add(self.counts, later.counts)
        _add(self.adapters, later.adapters)
        _add(self.errors, later.errors)
        self.sources.update(later.sources)
        self.records += later.records
        self.last_at = max(self.last_at, later.last_at)
        for state, stays in later.durations.items():
            self.durations.setdefault(state, Durations()).merge(stays)

    def copy(self) -> "Summary":
        """Another one, equal and independent."""
        return total([self])

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return sum(self.counts.values())


def total(summaries: Iterable[Summary]) -> Summary:
    """The sum, in order."""
    result = Summary()
    for each in summaries:
        result.merge(each)
    return result


def _count(names: dict[str, int], name: str) -> None:
    if name not in names and len(names) >= NAMES_MAX:
        name = OTHER
    names[name] = names.get(name, 0) + 1


def _add(into: dict[int, int] | dict[str, int], more: dict[int, int] | dict[str, int]) -> None:
    for name, count in more.items():
        into[name] = into.get(name, 0) + count  # type: ignore[index, arg-type]
