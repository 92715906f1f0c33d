"""Running totals over the log: documents by state, durations, error types, adapters, mirrored sources.

A summary is updated line by line and can be added to another one. So it stands in the header of each snapshot (all
lines so far) and in the index of each delta (its lines alone), and the present totals are the sum of those few: no
question that a summary answers depends on the number of documents.

Durations are counted in buckets that grow by a tenth, so a percentile is exact to within 5 %. They describe the log,
so a rollback leaves them as they are; counts and sources go back with the documents.

Nothing here touches a disk.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from stateward.ledger.record import LedgerLine

GROWTH = 1.1
"""Each bucket of durations is a tenth longer than the one before: quantiles within 5 % from a few hundred counts."""
_PER_LOG = 1 / math.log(GROWTH)
_MIDDLE = 2 * GROWTH / (GROWTH + 1)
"""From the lower bound of a bucket to the middle of it: the middle is never further than 5 % from a value inside."""
SHORTEST_S = 1e-6
LONGEST_S = 1e10
"""300 years. Outside of these bounds durations share the first and the last bucket: at most 387 buckets."""
_FIRST_BUCKET = math.ceil(math.log(SHORTEST_S) * _PER_LOG)
_LAST_BUCKET = math.ceil(math.log(LONGEST_S) * _PER_LOG)
TOTALS_TOLERANCE = 1e-6
NAMES_MAX = 256
"""A caller who puts an id into `error_type` or `adapter` must not make every header grow without end."""
OTHER = "(other)"
"""The name that further names are counted under."""
K = TypeVar("K")


class Durations(msgspec.Struct, kw_only=True):
    """How long documents stayed in one state before they left it."""

    count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    buckets: dict[int, int] = {}

    def add(self, durations: Iterable[tuple[float, int]]) -> None:
        """Count durations: seconds, and how many documents stayed for so long."""
        buckets, log, ceil = self.buckets, math.log, math.ceil
        count, total, longest = self.count, self.total_s, self.max_s
        for each, times in durations:
            seconds = each
            if SHORTEST_S < seconds < LONGEST_S:
                bucket = ceil(log(seconds) * _PER_LOG)
            elif seconds <= SHORTEST_S:
                bucket = _FIRST_BUCKET
            else:
                # A total that is no number any more could be written, but never read.
                bucket, seconds = _LAST_BUCKET, LONGEST_S
            buckets[bucket] = buckets.get(bucket, 0) + times
            count += times
            total += seconds * times
            if seconds > longest:
                longest = seconds
        self.count, self.total_s, self.max_s = count, total, longest

    def merge(self, other: "Durations") -> None:
        """Add all durations that `other` counted."""
        self.count += other.count
        self.total_s += other.total_s
        self.max_s = max(self.max_s, other.max_s)
        _add_counts(self.buckets, other.buckets)

    def percentile(self, share: float) -> float:
        """The duration that this share of the documents did not exceed, to within 5 %."""
        wanted = math.ceil(share * self.count)
        seen = 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= wanted:
                return min(GROWTH ** (bucket - 1) * _MIDDLE, self.max_s)
        return self.max_s


class Summary(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Totals over some lines. In a delta `counts` are differences and may be negative."""

    counts: dict[str, int] = {}
    durations: dict[str, Durations] = {}
    adapters: dict[str, int] = {}
    errors: dict[str, int] = {}
    sources: dict[str, int] = {}
    records: int = 0
    last_at: float = 0.0

    def add(self, lines: Sequence[LedgerLine]) -> None:
        """Count more lines of the log, in order. One that stands for many documents is there as many times.

        Lines of a group are mostly one object (see `builder`), so they are counted by identity first, and equal
        moves are added up before the dictionaries are touched.
        """
        self.records += len(lines)
        moves: dict[tuple[str | None, str, str], int] = {}
        durations: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
        latest = self.last_at
        for line, times in Counter(lines).items():
            if not line.doc_id:
                continue
            old = line.old_state
            move = (old, line.new_state, line.adapter)
            moves[move] = moves.get(move, 0) + times
            if line.timestamp > latest:
                latest = line.timestamp
            if (stayed := line.duration_seconds) is not None and old is not None:
                durations[old].append((stayed, times))
            if line.error_type is not None:
                _count_name(self.errors, line.error_type, times)
            if line.source is not None and line.source_seq is not None:
                self.sources[line.source] = line.source_seq
        self.last_at = latest
        for state, stays in durations.items():
            self._durations_of(state).add(stays)
        counts = self.counts
        for (old, new, adapter), times in moves.items():
            counts[new] = counts.get(new, 0) + times
            if old is not None:
                counts[old] = counts.get(old, 0) - times
            _count_name(self.adapters, adapter, times)

    def add_line(self, line: LedgerLine) -> None:
        """Count one more line: the common case of `record`."""
        self.records += 1
        if not line.doc_id:
            return
        old, counts = line.old_state, self.counts
        counts[line.new_state] = counts.get(line.new_state, 0) + 1
        if old is not None:
            counts[old] = counts.get(old, 0) - 1
            if line.duration_seconds is not None:
                self._durations_of(old).add(((line.duration_seconds, 1),))
        _count_name(self.adapters, line.adapter, 1)
        self.last_at = max(self.last_at, line.timestamp)
        if line.error_type is not None:
            _count_name(self.errors, line.error_type, 1)
        if line.source is not None and line.source_seq is not None:
            self.sources[line.source] = line.source_seq

    def _durations_of(self, state: str) -> Durations:
        found = self.durations.get(state)
        if found is None:
            found = self.durations[state] = Durations()
        return found

    def merge(self, later: "Summary") -> None:
        """Add the totals of lines that come after these."""
        _add_counts(self.counts, later.counts)
        _add_counts(self.adapters, later.adapters)
        _add_counts(self.errors, later.errors)
        self.sources.update(later.sources)
        self.records += later.records
        self.last_at = max(self.last_at, later.last_at)
        for state, durations in later.durations.items():
            self._durations_of(state).merge(durations)

    def is_same(self, other: "Summary") -> bool:
        """Whether both say the same. Totals of seconds depend a little on the order in which they were added up."""
        own, others = self.durations, other.durations
        return _without_totals(self) == _without_totals(other) and all(
            math.isclose(each.total_s, others[state].total_s, rel_tol=TOTALS_TOLERANCE)
            for state, each in own.items()
        )

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return sum(self.counts.values())


def _without_totals(summary: Summary) -> Summary:
    durations = {state: replace(each, total_s=0.0) for state, each in summary.durations.items()}
    return replace(summary, durations=durations)


def merge_summaries(summaries: Iterable[Summary]) -> Summary:
    """The sum of summaries of consecutive stretches of the log."""
    result = Summary()
    for each in summaries:
        result.merge(each)
    return result


def _count_name(names: dict[str, int], name: str, count: int) -> None:
    if name not in names and len(names) >= NAMES_MAX:
        name = OTHER
    names[name] = names.get(name, 0) + count


def _add_counts(into: dict[K, int], more: dict[K, int]) -> None:
    for name, count in more.items():
        into[name] = into.get(name, 0) + count
