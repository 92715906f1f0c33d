"""What the ledger knows without looking at documents: counts, durations, error types, adapters, sources.

A summary is kept on the way, one line after the other, and can be added to another one. So it stands in
the header of each snapshot (all lines so far) and in the index of each delta (its lines alone), and the
present one is the sum of those few: no question that it answers depends on the number of documents.

Durations are counted in buckets that grow by a tenth: a percentile is right to within 5 %. They speak of
the log, so a rollback leaves them as they are; counts and sources go back with the documents.
Nothing here touches a disk.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from stateward.ledger.record import Line

GROWTH = 1.1
_PER_LOG = 1 / math.log(GROWTH)
_MIDDLE = 2 * GROWTH / (GROWTH + 1)
SHORTEST_S = 1e-6
LONGEST_S = 1e10
_FIRST = math.ceil(math.log(SHORTEST_S) * _PER_LOG)
_LAST = math.ceil(math.log(LONGEST_S) * _PER_LOG)
NAMES_MAX = 256
OTHER = "(other)"
"""Where names are counted once there are too many different ones."""


class Durations(msgspec.Struct, kw_only=True):
    """How long documents stayed in one state before they left it."""

    count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    buckets: dict[int, int] = {}

    def add(self, stays: Iterable[tuple[float, int]]) -> None:
        """More stays: seconds, and how many stayed for so long."""
        buckets, log, ceil = self.buckets, math.log, math.ceil
        count, total, longest = self.count, self.total_s, self.max_s
        for seconds, times in stays:
            if SHORTEST_S < seconds < LONGEST_S:
                bucket = ceil(log(seconds) * _PER_LOG)
            else:
                bucket = _FIRST if seconds <= SHORTEST_S else _LAST
            buckets[bucket] = buckets.get(bucket, 0) + times
            count += times
            total += seconds * times
            if seconds > longest:
                longest = seconds
        self.count, self.total_s, self.max_s = count, total, longest

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

    def add(self, lines: Sequence[Line]) -> None:
        """More lines of the log, in order. One that stands for many documents is there as many times."""
        self.records += len(lines)
        if len(lines) == 1:
            self._add(lines[0], 1)
            return
        moves: dict[tuple[str | None, str, str], int] = {}
        stays: dict[str, list[tuple[float, int]]] = {}
        latest = self.last_at
        for line, times in Counter(lines).items():
            if not line.doc_id or line.error_type is not None:
                self._add(line, times)
                continue
            old = line.old_state
            move = (old, line.new_state, line.adapter)
            moves[move] = moves.get(move, 0) + times
            if line.timestamp > latest:
                latest = line.timestamp
            if line.duration_seconds is not None and old is not None:
                stays.setdefault(old, []).append((line.duration_seconds, times))
        self.last_at = max(self.last_at, latest)
        self.sources.update(
            {
                line.source: line.source_seq
                for line in lines
                if line.source is not None and line.source_seq is not None
            }
        )
        for state, seconds in stays.items():
            self._stays(state).add(seconds)
        for (old, new, adapter), count in moves.items():
            self._move(old, new, adapter, count)

    def _add(self, line: Line, times: int) -> None:
        if not line.doc_id:
            return
        old = line.old_state
        self._move(old, line.new_state, line.adapter, times)
        if line.timestamp > self.last_at:
            self.last_at = line.timestamp
        if line.duration_seconds is not None and old is not None:
            self._stays(old).add(((line.duration_seconds, times),))
        if line.error_type is not None:
            _count(self.errors, line.error_type, times)
        if line.source is not None and line.source_seq is not None:
            self.sources[line.source] = line.source_seq

    def _move(self, old: str | None, new: str, adapter: str, times: int) -> None:
        counts = self.counts
        counts[new] = counts.get(new, 0) + times
        if old is not None:
            counts[old] = counts.get(old, 0) - times
        _count(self.adapters, adapter, times)

    def _stays(self, state: str) -> Durations:
        stays = self.durations.get(state)
        if stays is None:
            stays = self.durations[state] = Durations()
        return stays

    def merge(self, later: "Summary") -> None:
        """All lines that `later` knows, which come after these."""
        _add(self.counts, later.counts)
        _add(self.adapters, later.adapters)
        _add(self.errors, later.errors)
        self.sources.update(later.sources)
        self.records += later.records
        self.last_at = max(self.last_at, later.last_at)
        for state, stays in later.durations.items():
            self._stays(state).merge(stays)

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


def _count(names: dict[str, int], name: str, count: int) -> None:
    if name not in names and len(names) >= NAMES_MAX:
        name = OTHER
    names[name] = names.get(name, 0) + count


def _add(into: dict[int, int] | dict[str, int], more: dict[int, int] | dict[str, int]) -> None:
    for name, count in more.items():
        into[name] = into.get(name, 0) + count  # type: ignore[index, arg-type]
