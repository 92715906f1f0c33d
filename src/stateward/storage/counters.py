"""The counters behind the metrics, in the database: all processes report the same, and a restart loses nothing.

Most counters follow from the log of transitions. `follow` adds what is new since the last time, under a lock,
together with the position that it reached, so that each transition counts exactly once whichever process does it.
Nothing but metrics depends on these numbers.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import msgspec

from stateward.core.erasure import RECORD_ERASED
from stateward.core.machine import is_stay
from stateward.core.model import SECOND, Micros
from stateward.storage.database import Database, Row, log_end

FOLLOWER = "metrics"
BATCH_MAX = 500  # a transaction of a few milliseconds: others write in between
# Users choose source types and error codes freely, and every distinct value is a time series for ever.
SOURCE_TYPES_MAX = 50
CODES_MAX = 200
OTHER = "other"
TEXT_CHARS_MAX = 100
# Seconds, up to an hour. 60 is the end-to-end target of the enterprise profile, 0.1 the target for the coordinator's
# share of it: only a target that is the bound of a bucket can be checked.
BUCKETS_S = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0,
)  # fmt: skip
_BUCKETS_US = [round(each * SECOND) for each in BUCKETS_S]

TRANSITIONS = "transitions"
DURATIONS = "durations"
WHOLE = "whole"
LATENCY = "latency"
RETRIES = "retries"
TIMEOUTS = "timeouts"
ERRORS = "errors"
DELIVERIES = "deliveries"
ATTEMPT_TIMES = "attempt_times"
MAILS = "mails"

# Each new transition with the one before it (how long the state lasted), the result that it applies (how long the
# decision took) and its record (how long all of it took).
_FRESH = """
SELECT t.seq, t.machine, t.source, t.target, t.trigger, t.at, t.metadata, p.at, o.at, r.created_at, r.labels
FROM transitions t
LEFT JOIN transitions p ON p.record_id = t.record_id AND p.version = t.version - 1
LEFT JOIN outputs o ON o.record_id = t.record_id AND o.version = t.version - 1
LEFT JOIN records r ON r.id = t.record_id
WHERE t.seq > :after AND t.seq <= :until ORDER BY t.seq LIMIT :limit
"""

# Transitions after the counters that are counted one by one. If there are more (metrics were not read in a
# while), counting the records is quicker.
UNCOUNTED_MAX = 20_000
_COUNTS = """
SELECT labels, '', '', sum(count) FROM counters WHERE metric = 'transitions' GROUP BY labels
UNION ALL
SELECT machine, coalesce(source, ''), target, count(*) FROM transitions
WHERE seq > (SELECT seq FROM followers WHERE name = 'metrics') GROUP BY machine, source, target
"""

Ends: TypeAlias = AbstractSet[tuple[str, str]]

_decode_metadata = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_names = msgspec.json.Decoder(list[str]).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def record_counts(database: Database) -> dict[tuple[str, str], int]:
    """How many records are in each status of each machine, exact, without reading every record.

    Each transition takes a record out of one status and into another, so what has entered a status less what has left
    it is there. The counters hold the sums up to a place in the log, and the rest is read in the same statement.
    """
    ((counted,),) = database.rows("SELECT seq FROM followers WHERE name = 'metrics'")
    if log_end(database) - int(counted or 0) > UNCOUNTED_MAX:
        return counted_records(database, "TRUE")
    counts: Counter[tuple[str, str]] = Counter()
    for machine, source, target, n in database.rows(_COUNTS):
        name, left, to = _machine_and_statuses(machine, source, target)
        if left:
            counts[name, left] -= int(n or 0)
        counts[name, to] += int(n or 0)
    return {pair: n for pair, n in counts.items() if n > 0}


def counted_records(
    database: Database, condition: str, **params: object
) -> dict[tuple[str, str], int]:
    """How many records meet a condition of SQL, by machine and status; all of them are read for it."""
    found = database.rows(
        f"SELECT machine, status, count(*) FROM records WHERE {condition} GROUP BY machine, status",
        **params,
    )
    return {(str(machine), str(status)): int(n or 0) for machine, status, n in found}


def _machine_and_statuses(machine: object, source: object, target: object) -> tuple[str, str, str]:
    """Machine, source and target of a row of `_COUNTS`; counters have all three in one JSON text."""
    text = str(machine)
    if not target and text.startswith("["):
        name, left, to = _decode_names(text)
        return name, left, to
    return text, str(source or ""), str(target)


class CounterValue(msgspec.Struct, frozen=True, kw_only=True):
    """A number that only grows. A histogram has one per bucket, with the sum of its observations."""

    metric: str
    labels: tuple[str, ...]
    bucket: int
    count: int
    total: int


class CounterDeltas:
    """Increments, collected before they are written: one statement per series and not one per transition."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, tuple[str, ...], int], list[int]] = {}

    def count(self, metric: str, *labels: str, by: int = 1) -> None:
        self._add(metric, labels, 0, by, 0)

    def time(self, metric: str, *labels: str, micros: Micros) -> None:
        """Observe a duration; clocks of two machines may differ, so a negative one counts as zero."""
        took = max(0, micros)
        self._add(metric, labels, bisect_left(_BUCKETS_US, took), 1, took)

    def _add(
        self, metric: str, labels: tuple[str, ...], bucket: int, count: int, total: int
    ) -> None:
        sums = self._sums.setdefault((metric, labels, bucket), [0, 0])
        sums[0] += count
        sums[1] += total

    def __iter__(self) -> Iterator[CounterValue]:
        # Sorted, so that two processes lock rows in the same order and never deadlock.
        for (metric, labels, bucket), (count, total) in sorted(self._sums.items()):
            yield CounterValue(
                metric=metric, labels=labels, bucket=bucket, count=count, total=total
            )


class Counters:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, deltas: Iterable[CounterValue]) -> None:
        for each in deltas:
            self._database.run(
                "INSERT INTO counters (metric, labels, bucket, count, total)"
                " VALUES (:metric, :labels, :bucket, :count, :total)"
                " ON CONFLICT (metric, labels, bucket) DO UPDATE"
                " SET count = counters.count + excluded.count, total = counters.total + excluded.total",
                metric=each.metric,
                labels=_encode(each.labels).decode(),
                bucket=each.bucket,
                count=each.count,
                total=each.total,
            )

    def all(self) -> list[CounterValue]:
        found = self._database.rows(
            "SELECT metric, labels, bucket, count, total FROM counters ORDER BY metric, labels, bucket"
        )
        return [
            CounterValue(
                metric=str(metric),
                labels=tuple(msgspec.json.decode(str(labels), type=list[str])),
                bucket=int(bucket or 0),
                count=int(count or 0),
                total=int(total or 0),
            )
            for metric, labels, bucket, count, total in found
        ]

    def follow(self, *, ends: Ends) -> int:
        """Count new transitions; how many there were. `ends` are the (machine, status) in which records finish."""
        with self._database.transaction():
            ((position,),) = self._database.rows(
                f"SELECT seq FROM followers WHERE name = :name{self._database.for_update}",
                name=FOLLOWER,
            )
            after, until = int(position or 0), log_end(self._database)
            if until <= after:
                return 0
            fresh = self._database.rows(_FRESH, after=after, until=until, limit=BATCH_MAX)
            if not fresh:
                return 0
            deltas, limiter = CounterDeltas(), self._label_limiter()
            for row in fresh:
                _count(row, deltas, limiter, ends)
            self.add(deltas)
            self._database.run(
                "UPDATE followers SET seq = :seq WHERE name = :name",
                seq=int(fresh[-1][0] or 0),
                name=FOLLOWER,
            )
            return len(fresh)

    def _label_limiter(self) -> "LabelLimiter":
        found = self._database.rows(
            "SELECT DISTINCT metric, labels FROM counters WHERE metric IN ('durations', 'errors')"
        )
        limiter = LabelLimiter()
        for metric, labels in found:
            machine, _, value = msgspec.json.decode(str(labels), type=list[str])
            limiter.limit(str(metric), machine, value, most=SOURCE_TYPES_MAX + CODES_MAX)
        return limiter


class LabelLimiter:
    """Bounds the number of values of a label."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], set[str]] = {}

    def limit(self, metric: str, machine: str, value: str, *, most: int) -> str:
        """The value itself, or `other` where there are `most` values already."""
        values = self._values.setdefault((metric, machine), set())
        if value not in values and len(values) >= most:
            return OTHER
        values.add(value)
        return value


def _count(row: Row, deltas: CounterDeltas, limiter: LabelLimiter, ends: Ends) -> None:
    (
        _, machine, source, target, trigger, at, metadata, entered_at, reported_at, created_at, labels,
    ) = row  # fmt: skip
    name, to, when = str(machine), str(target), int(at or 0)
    facts = _decode_metadata(str(metadata))
    source_type = (
        "" if labels is None else _text(_decode_metadata(str(labels)), "source_type") or ""
    )
    kind = limiter.limit(DURATIONS, name, source_type, most=SOURCE_TYPES_MAX)
    deltas.count(TRANSITIONS, name, "" if source is None else str(source), to)
    if trigger == RECORD_ERASED or is_stay(str(trigger)):
        return  # it came into no status, and nothing took its time
    if source is not None and entered_at is not None:
        deltas.time(DURATIONS, name, str(source), kind, micros=when - int(entered_at))
    if reported_at is not None:
        deltas.time(LATENCY, name, micros=when - int(reported_at))
    if trigger in ("retry.due", "retry.requested"):
        deltas.count(RETRIES, name, to, _text(facts, "retry_count") or "0")
    code = _text(facts, "error_code")
    if code and source is not None:
        deltas.count(ERRORS, name, to, limiter.limit(ERRORS, name, code, most=CODES_MAX))
        if code == "TIMEOUT":
            deltas.count(TIMEOUTS, name, str(source))
    if (name, to) in ends and not _text(facts, "retry_count"):
        deltas.count(RETRIES, name, to, "0")  # it came to its end without a retry
    if (name, to) in ends and created_at is not None:
        deltas.time(WHOLE, name, to, kind, micros=when - int(created_at))


def _text(facts: dict[str, msgspec.Raw], key: str) -> str | None:
    raw = facts.get(key)
    value: object = None if raw is None else msgspec.json.decode(raw)
    return None if value is None else str(value)[:TEXT_CHARS_MAX]
