"""What metrics count, summed up in the database: so that all processes give one answer, and no restart begins anew.

Most of it follows from the log of transitions. `follow` adds what is new since the last time, under a lock, together
with the place that it came to, so each transition counts exactly once whoever asks and however often. Nothing here
decides anything, and nothing depends on it but numbers for people.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import msgspec

from stateward.core.model import SECOND, Micros
from stateward.storage.database import Database, Row

FOLLOWER = "metrics"
BATCH_MAX = 500  # a transaction of a few milliseconds: others write in between
SOURCE_TYPES_MAX = 50
CODES_MAX = 200
OTHER = "other"
TEXT_CHARS_MAX = 100
# Seconds, up to an hour; 60 is the promise of the enterprise profile, 0.1 that of the extra hop (R10).
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

_FRESH = """
SELECT t.seq, t.machine, t.source, t.target, t.trigger, t.at, t.metadata, p.at, o.at, r.created_at, r.labels
FROM transitions t
LEFT JOIN transitions p ON p.record_id = t.record_id AND p.version = t.version - 1
LEFT JOIN outputs o ON o.record_id = t.record_id AND o.version = t.version - 1
LEFT JOIN records r ON r.id = t.record_id
WHERE t.seq > :after ORDER BY t.seq LIMIT :limit
"""

Ends: TypeAlias = AbstractSet[tuple[str, str]]

_decode_metadata = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


class CounterValue(msgspec.Struct, frozen=True, kw_only=True):
    """A number that only grows. A histogram has one for each bucket, with the sum of what fell into it."""

    metric: str
    labels: tuple[str, ...]
    bucket: int
    count: int
    total: int


class Sums:
    """Numbers on their way to the table."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, tuple[str, ...], int], list[int]] = {}

    def count(self, metric: str, *labels: str, by: int = 1) -> None:
        """One more of these."""
        self._add(metric, labels, 0, by, 0)

    def time(self, metric: str, *labels: str, micros: Micros) -> None:
        """One that took so long."""
        took = max(0, micros)
        self._add(metric, labels, bisect_left(_BUCKETS_US, took), 1, took)

    def _add(
        self, metric: str, labels: tuple[str, ...], bucket: int, count: int, total: int
    ) -> None:
        sums = self._sums.setdefault((metric, labels, bucket), [0, 0])
        sums[0] += count
        sums[1] += total

    def __iter__(self) -> Iterator[CounterValue]:
        for (metric, labels, bucket), (count, total) in sorted(self._sums.items()):
            yield CounterValue(
                metric=metric, labels=labels, bucket=bucket, count=count, total=total
            )


class Counters:
    """The table of sums."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sums: Iterable[CounterValue]) -> None:
        """Add these up."""
        for each in sums:
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
        """Every sum there is."""
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

    def follow(self, *, ends: Ends, limit: int = BATCH_MAX) -> int:
        """Count what is new in the log; how many transitions that were. `ends`: (machine, status) that are the end."""
        with self._database.transaction():
            ((place,),) = self._database.rows(
                f"SELECT seq FROM followers WHERE name = :name{self._database.for_update}",
                name=FOLLOWER,
            )
            fresh = self._database.rows(_FRESH, after=int(place or 0), limit=limit)
            if not fresh:
                return 0
            self.add(_counted(fresh, known=self._known_labels(), ends=ends))
            self._database.run(
                "UPDATE followers SET seq = :seq WHERE name = :name",
                seq=int(fresh[-1][0] or 0),
                name=FOLLOWER,
            )
            return len(fresh)

    def _known_labels(self) -> "Known":
        found = self._database.rows(
            "SELECT DISTINCT metric, labels FROM counters WHERE metric IN ('durations', 'errors')"
        )
        known = Known()
        for metric, labels in found:
            machine, _, last = msgspec.json.decode(str(labels), type=list[str])
            known.keep(str(metric), machine, last)
        return known


class Known:
    """The values that a label had so far: what people make up freely must not make series without end."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], set[str]] = {}

    def keep(self, metric: str, machine: str, value: str) -> None:
        """This value has a series."""
        self._values.setdefault((metric, machine), set()).add(value)

    def bounded(self, metric: str, machine: str, value: str, *, most: int) -> str:
        """The value itself, or `other` where there are too many already."""
        values = self._values.setdefault((metric, machine), set())
        if value not in values and len(values) >= most:
            return OTHER
        values.add(value)
        return value


def _counted(rows: Sequence[Row], *, known: Known, ends: Ends) -> Sums:
    sums = Sums()
    for row in rows:
        _count(row, sums, known, ends)
    return sums


def _count(row: Row, sums: Sums, known: Known, ends: Ends) -> None:
    (
        _, machine, source, target, trigger, at, metadata, entered_at, reported_at, created_at, labels,
    ) = row  # fmt: skip
    name, to, on, when = str(machine), str(target), str(trigger), int(at or 0)
    facts = _decode_metadata(str(metadata))
    kind = known.bounded(DURATIONS, name, _source_type(labels), most=SOURCE_TYPES_MAX)
    sums.count(TRANSITIONS, name, "" if source is None else str(source), to)
    if source is not None and entered_at is not None:
        sums.time(DURATIONS, name, str(source), kind, micros=when - int(entered_at))
    if reported_at is not None:
        sums.time(LATENCY, name, micros=when - int(reported_at))
    if on in ("retry.due", "retry.requested"):
        sums.count(RETRIES, name, to, _plain(facts, "retry_count") or "0")
    code = _plain(facts, "error_code")
    if code and source is not None:
        sums.count(ERRORS, name, to, known.bounded(ERRORS, name, code, most=CODES_MAX))
        if code == "TIMEOUT":
            sums.count(TIMEOUTS, name, str(source))
    if (name, to) in ends and created_at is not None:
        sums.time(WHOLE, name, to, kind, micros=when - int(created_at))


def _source_type(labels: object) -> str:
    """What the submitter called the document; one label, short and bounded."""
    if labels is None or labels == "{}":
        return ""
    said = _plain(_decode_metadata(str(labels)), "source_type") or ""
    return said[:TEXT_CHARS_MAX]


def _plain(facts: dict[str, msgspec.Raw], key: str) -> str | None:
    raw = facts.get(key)
    if raw is None:
        return None
    value: object = msgspec.json.decode(raw)
    return None if value is None else str(value)[:TEXT_CHARS_MAX]


def summed(counters: Iterable[CounterValue], metric: str) -> Counter[tuple[str, ...]]:
    """The counts of a metric by its labels."""
    found: Counter[tuple[str, ...]] = Counter()
    for each in counters:
        if each.metric == metric:
            found[each.labels] += each.count
    return found
