"""What people look at: counts, queues, causes, the newest and the past, at a cost that does not grow with history.

Counts follow from the counters and the end of the log, read in one statement, so they are exact without counting
records. Everything else follows an index and takes a page. It writes nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from stateward.core.model import SECOND, Micros, Transition
from stateward.core.query import Query
from stateward.storage.database import Database, Row
from stateward.storage.search import where
from stateward.storage.store import (
    TRANSITIONS,
    QueryNames,
    Store,
    transition_of_row,
)

TAIL_MAX = 20_000
"""So many transitions after the counters are counted one by one; more, and the records are counted instead."""
CAUSES_MAX = 1000
RECENT_LOG = 400
PULSE_LOG_MAX = 20_000
PULSE_BINS = 60
PULSE_BIN: Micros = 60 * SECOND
SEARCH_SPAN = 50_000
"""So many entries of the log one search looks through; it says so, and can be carried on from there."""
PATH_MAX = 400
CAUSE_CHARS_MAX = 200

_TRANSITION_COLUMNS = ", ".join(TRANSITIONS.columns)
_NUMBERS = re.compile(r"[0-9]+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|«[^»]*»|“[^”]*”")
_LIKE_SIGNS = re.compile(r"([!%_])")
_decode_names = msgspec.json.Decoder(list[str]).decode

_COUNTS = """
SELECT labels, '', '', sum(count) FROM counters WHERE metric = 'transitions' GROUP BY labels
UNION ALL
SELECT machine, coalesce(source, ''), target, count(*) FROM transitions
WHERE seq > (SELECT seq FROM followers WHERE name = 'metrics') GROUP BY machine, source, target
"""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Records that rest with one kind of error: the same code, and the same message but for its numbers and names."""

    machine: str
    error_code: str
    cause: str
    message: str
    count: int
    first_at: Micros
    last_at: Micros
    messages: tuple[str, ...] = ()


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """Records of one priority that wait."""

    machine: str
    priority: int
    count: int
    oldest_at: Micros


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """One minute of a machine: how many records ended, how many failed, and how long those that ended took."""

    at: Micros
    ended: int
    failed: int
    p95_s: float | None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a search in the log, and the place to go on from; None where the log begins."""

    transitions: list[Transition]
    looked_to: int
    next: int | None


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt at a stage without its log: which, how it ended, and when."""

    version: int
    stage: str
    outcome: str
    count: int
    error_code: str | None
    error_message: str | None
    worker: str
    at: Micros
    log_chars: int


class Dashboard:
    """Questions of people, answered from one database."""

    def __init__(
        self,
        database: Database,
        store: Store,
        *,
        clock: Callable[[], Micros],
        kinds: Callable[[], dict[str, dict[str, str]]],
    ) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self._kinds = kinds
        self._pulse = _Pulse(seq=0)

    # How many

    def counts(self) -> dict[tuple[str, str], int]:
        """How many records are in each status of each machine."""
        ((place,),) = self._database.rows("SELECT seq FROM followers WHERE name = 'metrics'")
        if self._store.anchor().count - int(place or 0) > TAIL_MAX:
            return self._store.counts()
        counts: Counter[tuple[str, str]] = Counter()
        for machine, source, target, n in self._database.rows(_COUNTS):
            name, left, to = _labels(machine, source, target)
            if left:
                counts[name, left] -= int(n or 0)
            counts[name, to] += int(n or 0)
        return {pair: n for pair, n in counts.items() if n > 0}

    def matching(self, query: Query, *, names: QueryNames, most: int) -> dict[tuple[str, str], int]:
        """How many records match, by machine and status, counting no more than so many.

        What asks for machines and statuses alone is answered from the counts, however many there are.
        """
        if all(term.key in ("machine", "status") and term.op == ":" for term in query.terms):
            return {
                pair: count
                for pair, count in self.counts().items()
                if all(
                    (pair[term.key == "status"] in term.texts) != term.is_negated
                    for term in query.terms
                )
            }
        condition, params = where(query, kinds=names.kinds, running=names.running)
        found = self._database.rows(
            "SELECT machine, status, count(*) FROM"
            f" (SELECT machine, status FROM records WHERE {condition} LIMIT :most) AS found"
            " GROUP BY machine, status",
            most=most,
            **params,
        )
        return {(str(machine), str(status)): int(n or 0) for machine, status, n in found}

    def queues(self) -> list[Queue]:
        """What waits for a worker, by machine and priority, the most urgent first."""
        found = self._database.rows(
            "SELECT machine, priority, count(*), min(entered_at) FROM records WHERE waiting IS NOT NULL"
            " GROUP BY machine, priority ORDER BY machine, priority DESC"
        )
        return [
            Queue(
                machine=str(machine),
                priority=int(priority or 0),
                count=int(count or 0),
                oldest_at=int(oldest or 0),
            )
            for machine, priority, count, oldest in found
        ]

    def causes(self) -> list[Cause]:
        """Why records rest with an error: one entry for each cause, the newest first."""
        found = self._database.rows(
            "SELECT machine, error_code, error_message, count(*), min(entered_at), max(entered_at)"
            " FROM records WHERE error_code IS NOT NULL"
            " GROUP BY machine, error_code, error_message"
            f" ORDER BY count(*) DESC LIMIT {CAUSES_MAX}"
        )
        return sorted(_merged(found), key=lambda cause: -cause.last_at)

    # What moves

    def recent(self, *, machines: Sequence[str], limit: int) -> list[str]:
        """The ids of the records that moved last, the latest first."""
        found = self._database.rows(
            f"SELECT record_id, machine FROM transitions ORDER BY seq DESC LIMIT {RECENT_LOG}"
        )
        ids = dict.fromkeys(
            str(record_id) for record_id, machine in found if not machines or machine in machines
        )
        return list(ids)[:limit]

    def pulse(self) -> tuple[dict[str, list[Beat]], Micros]:
        """The last hour minute by minute, by machine, and since when it is whole.

        Only what is new since the last time is read, and at most `PULSE_LOG_MAX` entries of the log; where more
        happened meanwhile, it begins anew.
        """
        now = self._clock()
        first = now - now % PULSE_BIN - (PULSE_BINS - 1) * PULSE_BIN
        last = self._store.anchor().count
        if last - self._pulse.seq > PULSE_LOG_MAX:
            self._pulse = _Pulse(seq=max(0, last - PULSE_LOG_MAX))
        found = self._database.rows(
            "SELECT t.seq, t.machine, t.target, t.at, r.created_at FROM transitions t"
            " LEFT JOIN records r ON r.id = t.record_id"
            " WHERE t.seq > :after ORDER BY t.seq LIMIT :limit",
            after=self._pulse.seq,
            limit=PULSE_LOG_MAX,
        )
        self._pulse.take(found, self._kinds())
        self._pulse.forget(before=first)
        return self._pulse.beats(self._kinds(), first=first), max(first, self._pulse.since)

    # One record

    def timeline(self, record_id: str, *, before: int | None, limit: int) -> list[Transition]:
        """What happened to a record, newest first, from a version on backwards."""
        cursor = "" if before is None else " AND version < :before"
        found = self._database.rows(
            f"SELECT {_TRANSITION_COLUMNS} FROM transitions WHERE record_id = :record_id{cursor}"
            " ORDER BY version DESC LIMIT :limit",
            record_id=record_id,
            limit=limit,
            **({} if before is None else {"before": before}),
        )
        return [transition_of_row(row) for row in found]

    def path(self, record_id: str) -> list[str]:
        """The statuses that a record went through last, in order."""
        found = self._database.rows(
            "SELECT source, target FROM transitions WHERE record_id = :record_id"
            f" ORDER BY version DESC LIMIT {PATH_MAX}",
            record_id=record_id,
        )
        if not found:
            return []
        source = found[-1][0]
        return [*([] if source is None else [str(source)]), *(str(to) for _, to in reversed(found))]

    def attempts(self, record_id: str, *, limit: int) -> list[Span]:
        """The last attempts at stages of a record, newest first, without their logs."""
        found = self._database.rows(
            "SELECT version, stage, outcome, count, error_code, error_message, worker, at, length(log)"
            " FROM outputs WHERE record_id = :record_id AND version >= 0 ORDER BY version DESC LIMIT :limit",
            record_id=record_id,
            limit=limit,
        )
        names = (
            "version", "stage", "outcome", "count", "error_code", "error_message", "worker", "at", "log_chars",
        )  # fmt: skip
        return [Span(**dict(zip(names, row, strict=True))) for row in found]  # type: ignore[arg-type]

    # The past

    def search(
        self,
        *,
        record_id: str = "",
        actor: str = "",
        trigger: str = "",
        machines: Sequence[str] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> Found:
        """Entries of the log that match, newest first; of one record, or of a span of the log."""
        top = self._store.anchor().count + 1 if before is None else before
        bottom = 0 if record_id else max(0, top - 1 - SEARCH_SPAN)
        conditions, params = ["seq < :top", "seq > :bottom"], {"top": top, "bottom": bottom}
        texts: dict[str, object] = {}
        if record_id:
            conditions.append("record_id = :record_id")
            texts["record_id"] = record_id
        for column, text in (("actor", actor), ("trigger", trigger)):
            if text:
                conditions.append(f"lower({column}) LIKE lower(:{column}) ESCAPE '!'")
                texts[column] = "%" + _LIKE_SIGNS.sub(r"!\1", text) + "%"
        if machines:
            names = [f"m{n}" for n in range(len(machines))]
            conditions.append(f"machine IN ({', '.join(':' + name for name in names)})")
            texts |= dict(zip(names, machines, strict=True))
        rows = self._database.rows(
            f"SELECT {_TRANSITION_COLUMNS} FROM transitions WHERE {' AND '.join(conditions)}"
            " ORDER BY seq DESC LIMIT :limit",
            limit=limit,
            **params,
            **texts,
        )
        found = [transition_of_row(row) for row in rows]
        looked_to = found[-1].seq if len(found) == limit else bottom + 1
        is_over = looked_to <= 1 or (bool(record_id) and len(found) < limit)
        return Found(transitions=found, looked_to=looked_to, next=None if is_over else looked_to)


def cause_of(message: str | None) -> str:
    """What is the same in the messages of one cause: numbers and quoted names left out."""
    text = _NUMBERS.sub("#", _QUOTED.sub("…", message or ""))
    return text[:CAUSE_CHARS_MAX]


def _labels(machine: object, source: object, target: object) -> tuple[str, str, str]:
    """Machine, source and target of a row of `_COUNTS`; those of counters stand in one JSON text."""
    text = str(machine)
    if not target and text.startswith("["):
        name, left, to = _decode_names(text)
        return name, left, to
    return text, str(source or ""), str(target)


def _merged(rows: Iterable[Row]) -> list[Cause]:
    merged: dict[tuple[str, str, str], Cause] = {}
    for machine, code, message, count, first, last in rows:
        said = "" if message is None else str(message)
        key = str(machine), str(code), cause_of(said)
        one = Cause(
            machine=key[0],
            error_code=key[1],
            cause=key[2],
            message=said,
            count=int(count or 0),
            first_at=int(first or 0),
            last_at=int(last or 0),
            messages=(said,),
        )
        other = merged.get(key)
        merged[key] = one if other is None else _joined(other, one)
    return list(merged.values())


def _joined(one: Cause, other: Cause) -> Cause:
    return msgspec.structs.replace(
        one,
        count=one.count + other.count,
        first_at=min(one.first_at, other.first_at),
        last_at=max(one.last_at, other.last_at),
        messages=(*one.messages, *other.messages),
    )


class _Pulse:
    """What ended and failed in each minute, as far as the log was read; minutes that are over keep their p95."""

    def __init__(self, *, seq: int) -> None:
        self.seq = seq
        self.since: Micros = 0
        self._ended: dict[tuple[str, Micros], list[float]] = {}
        self._failed: Counter[tuple[str, Micros]] = Counter()
        self._p95: dict[tuple[str, Micros], float | None] = {}

    def take(self, rows: Sequence[Row], kinds: Mapping[str, Mapping[str, str]]) -> None:
        """Count more of the log."""
        if rows and self.seq and not self.since:
            self.since = int(rows[0][3] or 0)
        for seq, machine, target, at, created_at in rows:
            self.seq, when = int(seq or 0), int(at or 0)
            key = str(machine), when - when % PULSE_BIN
            kind = kinds.get(key[0], {}).get(str(target))
            if kind == "terminal":
                took = (when - int(created_at if created_at is not None else when)) / SECOND
                self._ended.setdefault(key, []).append(took)
                self._p95.pop(key, None)
            elif kind == "failed":
                self._failed[key] += 1

    def forget(self, *, before: Micros) -> None:
        """Drop the minutes that nobody looks at any more."""
        for counted in (self._ended, self._failed, self._p95):
            for key in [key for key in counted if key[1] < before]:
                del counted[key]

    def beats(self, machines: Iterable[str], *, first: Micros) -> dict[str, list[Beat]]:
        """Every minute from this one on, by machine."""
        minutes = [first + place * PULSE_BIN for place in range(PULSE_BINS)]
        return {
            name: [
                Beat(
                    at=at,
                    ended=len(self._ended.get((name, at), ())),
                    failed=self._failed.get((name, at), 0),
                    p95_s=self._slow((name, at)),
                )
                for at in minutes
            ]
            for name in machines
        }

    def _slow(self, key: tuple[str, Micros]) -> float | None:
        if key not in self._ended:
            return None
        if key not in self._p95:
            self._p95[key] = p95(self._ended[key])
        return self._p95[key]


def p95(values: Sequence[float]) -> float | None:
    """The value that 95 of 100 do not exceed; None where there is none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, -(-len(ordered) * 95 // 100) - 1)]
