"""Queries for the console: counts, queues, causes of errors, recent activity and search, at bounded cost.

The cost does not grow with the history. Counts are derived from the counters and the transitions after them, read in
one SQL statement, so that they are exact without counting records; every other query follows an index, by pages.
Nothing is written.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from stateward.core.erasure import RECORD_ERASED
from stateward.core.machine import CANCEL_REQUESTED
from stateward.core.model import CANCELLED, SECOND, Micros, Transition
from stateward.core.query import Query
from stateward.storage.counters import record_counts
from stateward.storage.database import Database, Row
from stateward.storage.record_queries import QueryNames
from stateward.storage.record_rows import TRANSITIONS, transition_of_row
from stateward.storage.search import where
from stateward.storage.store import Store

CAUSES_MAX = 1000
RECENT_TRANSITIONS = 400
ACTIVITY_TRANSITIONS_MAX = 20_000
ACTIVITY_MINUTES = 60
MINUTE: Micros = 60 * SECOND
# Transitions that one search reads, since no index serves its text; the page says where to continue.
SEARCH_SPAN = 50_000
PATH_MAX = 400
CAUSE_CHARS_MAX = 200

_TRANSITION_COLUMNS = ", ".join(TRANSITIONS.columns)
_NUMBERS = re.compile(r"[0-9]+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|«[^»]*»|“[^”]*”")
_LIKE_SIGNS = re.compile(r"([!%_])")


class ErrorCause(msgspec.Struct, frozen=True, kw_only=True):
    """Failed records with the same code and the same message, numbers and quoted names aside."""

    machine: str
    error_code: str
    cause: str
    message: str
    count: int
    first_at: Micros
    last_at: Micros
    messages: tuple[str, ...] = ()


class QueueLength(msgspec.Struct, frozen=True, kw_only=True):
    """Records of one priority that wait for a worker."""

    machine: str
    priority: int
    count: int
    oldest_at: Micros
    by_status: dict[str, int]


class MinuteActivity(msgspec.Struct, frozen=True, kw_only=True):
    """One minute of a machine: records that ended, records that failed, and the time those that ended took."""

    at: Micros
    ended: int
    failed: int
    p95_s: float | None


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a search, down to sequence number `searched_to`; `next` continues it, None at the beginning."""

    transitions: list[Transition]
    searched_to: int
    next: int | None


class AttemptSummary(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt at a stage without its log."""

    version: int
    stage: str
    outcome: str
    count: int
    error_code: str | None
    error_message: str | None
    worker: str
    at: Micros
    log_chars: int


class SourceCount(msgspec.Struct, frozen=True, kw_only=True):
    """Records of one source type ("" if none) in one status; `lately` and `errors` are of those new in it.

    `due_at` is when the last of them is due, if any is; `lately_from` is when the oldest of the new ones was created.
    """

    source_type: str
    status: str
    count: int
    lately: int
    errors: dict[str, int]
    due_at: Micros | None
    lately_from: Micros | None


class Dashboard:
    """The queries, on one database. Not for several threads: `activity` remembers what it has read."""

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
        self._activity = _Activity(seq=0)

    def counts(self) -> dict[tuple[str, str], int]:
        """How many records are in each status of each machine."""
        return record_counts(self._database)

    def count_matching(
        self, query: Query, *, names: QueryNames, most: int
    ) -> dict[tuple[str, str], int]:
        """How many records match, by machine and status, counting no more than `most`.

        A query about machines and statuses alone is answered from the counts, whatever their number.
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

    def source_counts(self, machine: str, *, since: Micros) -> list[SourceCount]:
        """The records of a pipeline by source and status, and what became of them since then."""
        source = "coalesce(labels ->> 'source_type', '')"
        failed = self._database.rows(
            f"SELECT {source}, status, error_code, count(*) FROM records"
            " WHERE machine = :machine AND error_code IS NOT NULL AND entered_at >= :since GROUP BY 1, 2, 3",
            machine=machine,
            since=since,
        )
        errors: dict[tuple[str, str], dict[str, int]] = {}
        for name, status, code, count in failed:
            errors.setdefault((str(name), str(status)), {})[str(code)] = int(count or 0)
        found = self._database.rows(
            f"SELECT {source}, status, count(*), sum(CASE WHEN entered_at >= :since THEN 1 ELSE 0 END), max(due_at),"
            " min(CASE WHEN entered_at >= :since THEN created_at END)"
            " FROM records WHERE machine = :machine GROUP BY 1, 2 ORDER BY 1, 2",
            machine=machine,
            since=since,
        )
        return [
            SourceCount(
                source_type=str(name),
                status=str(status),
                count=int(count or 0),
                lately=int(lately or 0),
                errors=errors.get((str(name), str(status)), {}),
                due_at=None if due_at is None else int(due_at),
                lately_from=None if lately_from is None else int(lately_from),
            )
            for name, status, count, lately, due_at, lately_from in found
        ]

    def queues(self) -> list[QueueLength]:
        """How many records wait for a worker, by machine and priority, the most urgent first."""
        found = self._database.rows(
            "SELECT machine, priority, status, count(*), min(entered_at) FROM records WHERE waiting IS NOT NULL"
            " GROUP BY machine, priority, status ORDER BY machine, priority DESC"
        )
        queues: dict[tuple[str, int], list[tuple[str, int, Micros]]] = {}
        for machine, priority, status, count, oldest in found:
            of = queues.setdefault((str(machine), int(priority or 0)), [])
            of.append((str(status), int(count or 0), int(oldest or 0)))
        return [
            QueueLength(
                machine=machine,
                priority=priority,
                count=sum(count for _, count, _ in of),
                oldest_at=min(oldest for _, _, oldest in of),
                by_status={status: count for status, count, _ in of},
            )
            for (machine, priority), of in queues.items()
        ]

    def causes(self) -> list[ErrorCause]:
        """Why records have failed: one entry for each cause, the newest first."""
        found = self._database.rows(
            "SELECT machine, error_code, error_message, count(*), min(entered_at), max(entered_at)"
            " FROM records WHERE error_code IS NOT NULL AND error_code <> :cancelled"
            " GROUP BY machine, error_code, error_message"
            f" ORDER BY count(*) DESC LIMIT {CAUSES_MAX}",
            cancelled=CANCELLED,
        )
        return sorted(_merge_causes(found), key=lambda cause: -cause.last_at)

    def recent(self, *, machines: Sequence[str], limit: int) -> list[str]:
        """The ids of the records with the latest transitions, newest first."""
        found = self._database.rows(
            f"SELECT record_id, machine FROM transitions ORDER BY seq DESC LIMIT {RECENT_TRANSITIONS}"
        )
        ids = dict.fromkeys(
            str(record_id) for record_id, machine in found if not machines or machine in machines
        )
        return list(ids)[:limit]

    def activity(self) -> tuple[dict[str, list[MinuteActivity]], Micros]:
        """The last hour minute by minute, by machine, and the time from which on it is complete.

        Only the transitions since the last call are read, and at most `ACTIVITY_TRANSITIONS_MAX`; if there were more,
        it starts again with the latest.
        """
        now = self._clock()
        first = now - now % MINUTE - (ACTIVITY_MINUTES - 1) * MINUTE
        last = self._store.log.end()
        if last - self._activity.seq > ACTIVITY_TRANSITIONS_MAX:
            self._activity = _Activity(seq=max(0, last - ACTIVITY_TRANSITIONS_MAX))
        found = self._database.rows(
            "SELECT t.seq, t.machine, t.target, t.at, t.trigger, r.created_at FROM transitions t"
            " LEFT JOIN records r ON r.id = t.record_id"
            " WHERE t.seq > :after AND t.seq <= :until ORDER BY t.seq LIMIT :limit",
            after=self._activity.seq,
            until=last,
            limit=ACTIVITY_TRANSITIONS_MAX,
        )
        self._activity.add(found, self._kinds())
        self._activity.forget(before=first)
        return self._activity.minutes(self._kinds(), first=first), max(first, self._activity.since)

    def timeline(self, record_id: str, *, before: int | None, limit: int) -> list[Transition]:
        """The transitions of a record, newest first, below a version."""
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
        """The latest statuses of a record, in order."""
        found = self._database.rows(
            "SELECT source, target FROM transitions WHERE record_id = :record_id"
            f" ORDER BY version DESC LIMIT {PATH_MAX}",
            record_id=record_id,
        )
        if not found:
            return []
        source = found[-1][0]
        return [*([] if source is None else [str(source)]), *(str(to) for _, to in reversed(found))]

    def attempts(self, record_id: str, *, limit: int) -> list[AttemptSummary]:
        """The latest attempts at stages of a record, newest first, without their logs."""
        found = self._database.rows(
            "SELECT version, stage, outcome, count, error_code, error_message, worker, at, length(log)"
            " FROM outputs WHERE record_id = :record_id AND version >= 0 ORDER BY version DESC LIMIT :limit",
            record_id=record_id,
            limit=limit,
        )
        names = (
            "version", "stage", "outcome", "count", "error_code", "error_message", "worker", "at", "log_chars",
        )  # fmt: skip
        return [AttemptSummary(**dict(zip(names, row, strict=True))) for row in found]  # type: ignore[arg-type]

    def search(
        self,
        *,
        record_id: str = "",
        actor: str = "",
        trigger: str = "",
        machines: Sequence[str] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> HistoryPage:
        """Transitions that match, newest first: of one record, or of `SEARCH_SPAN` transitions."""
        top = self._store.log.last_seq() + 1 if before is None else before
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
        searched_to = found[-1].seq if len(found) == limit else bottom + 1
        is_over = searched_to <= 1 or (bool(record_id) and len(found) < limit)
        return HistoryPage(
            transitions=found, searched_to=searched_to, next=None if is_over else searched_to
        )


def cause_of(message: str | None) -> str:
    """What the messages of one cause have in common: numbers and quoted names are replaced."""
    text = _NUMBERS.sub("#", _QUOTED.sub("…", message or ""))
    return text[:CAUSE_CHARS_MAX]


def _merge_causes(rows: Iterable[Row]) -> list[ErrorCause]:
    merged: dict[tuple[str, str, str], ErrorCause] = {}
    for machine, code, message, count, first, last in rows:
        text = "" if message is None else str(message)
        key = str(machine), str(code), cause_of(text)
        one = ErrorCause(
            machine=key[0],
            error_code=key[1],
            cause=key[2],
            message=text,
            count=int(count or 0),
            first_at=int(first or 0),
            last_at=int(last or 0),
            messages=(text,),
        )
        other = merged.get(key)
        if other is not None:
            one = msgspec.structs.replace(
                other,
                count=other.count + one.count,
                first_at=min(other.first_at, one.first_at),
                last_at=max(other.last_at, one.last_at),
                messages=(*other.messages, text),
            )
        merged[key] = one
    return list(merged.values())


class _Activity:
    """What ended and failed in each minute, up to transition `seq`; the p95 of a minute is computed once."""

    def __init__(self, *, seq: int) -> None:
        self.seq = seq
        self.since: Micros = 0
        self._ended: dict[tuple[str, Micros], list[float]] = {}
        self._failed: Counter[tuple[str, Micros]] = Counter()
        self._p95: dict[tuple[str, Micros], float | None] = {}

    def add(self, rows: Sequence[Row], kinds: Mapping[str, Mapping[str, str]]) -> None:
        """Count more transitions."""
        if rows and self.seq and not self.since:
            self.since = int(rows[0][3] or 0)
        for seq, machine, target, at, trigger, created_at in rows:
            self.seq, when = int(seq or 0), int(at or 0)
            key = str(machine), when - when % MINUTE
            kind = kinds.get(key[0], {}).get(str(target))
            if trigger == RECORD_ERASED:
                continue
            if kind == "terminal":
                took = (when - int(created_at if created_at is not None else when)) / SECOND
                self._ended.setdefault(key, []).append(took)
                self._p95.pop(key, None)
            elif kind == "failed" and trigger != CANCEL_REQUESTED:
                self._failed[key] += 1

    def forget(self, *, before: Micros) -> None:
        """Drop the minutes before a time."""
        for counted in (self._ended, self._failed, self._p95):
            for key in [key for key in counted if key[1] < before]:
                del counted[key]

    def minutes(self, machines: Iterable[str], *, first: Micros) -> dict[str, list[MinuteActivity]]:
        """Every minute from `first` on, by machine."""
        minutes = [first + place * MINUTE for place in range(ACTIVITY_MINUTES)]
        return {
            name: [
                MinuteActivity(
                    at=at,
                    ended=len(self._ended.get((name, at), ())),
                    failed=self._failed.get((name, at), 0),
                    p95_s=self._p95_of((name, at)),
                )
                for at in minutes
            ]
            for name in machines
        }

    def _p95_of(self, key: tuple[str, Micros]) -> float | None:
        if key not in self._ended:
            return None
        if key not in self._p95:
            self._p95[key] = p95(self._ended[key])
        return self._p95[key]


def p95(values: Sequence[float]) -> float | None:
    """The 95th percentile by nearest rank; None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, -(-len(ordered) * 95 // 100) - 1)]
