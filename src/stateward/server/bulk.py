"""Bulk actions, a step at a time: each step moves some records on and notes how far it came, in one transaction.

So a bulk action can be watched, stopped, and gone on with by any process after a crash, and no record is acted on
twice. The query is frozen when it begins; a query that asks for nothing in particular is refused. Where a person
confirms what was counted, `check` stores the counted action and `confirm` begins that one and no other: whatever the
form says by then, and only if it would still meet as many records.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from stateward.app import App
from stateward.app.actions import Command, Verb
from stateward.app.submissions import unused_priorities
from stateward.core.errors import (
    ConcurrentModification,
    InvalidRequest,
    StatewardError,
    UnknownName,
)
from stateward.core.machine import CANCEL_REQUESTED, RETRY_REQUESTED
from stateward.core.model import SECOND, Micros, Record
from stateward.core.query import Query, Term
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Batch

STEP_RECORDS = 200
EXAMPLES_MAX = 5
EXAMPLES_AMONG = 100
APPLIED, IMPOSSIBLE, STALE = "applied", "impossible", "stale"
PREFIX = "BA"
CHECKED: Literal["checked"] = "checked"
CONFIRM_WITHIN = 15 * 60 * SECOND
EVENTS = {"retry": RETRY_REQUESTED, "cancel": CANCEL_REQUESTED}
PRIORITY = "priority"  # kept with the number, as in `priority 7`

Action: TypeAlias = Literal["retry", "cancel", "priority"]


def verb_of(action: Action, priority: int | None) -> str:
    """A bulk action as it is kept and shown."""
    if (action == PRIORITY) != (priority is not None):
        raise InvalidRequest("`priority` goes with the action priority, and with no other")
    return action if priority is None else f"{PRIORITY} {priority}"


def within(query: Query, machines: Sequence[str]) -> Query:
    """The query, of these machines only; none means all."""
    if not machines:
        return query
    return replace(query, terms=(*query.terms, Term(key="machine", values=tuple(machines))))


def check_selection(
    app: App, text: str | None, ids: Sequence[str], *, now: Micros | None = None
) -> Query | None:
    """The query of a bulk action; None where records are named. Neither, both or an empty one is refused."""
    if ids and text is not None:
        raise InvalidRequest("name records or give a query, and not both")
    if ids:
        return None
    query = app.records.query(text or "", now=now)
    if query.is_empty:
        raise InvalidRequest("name records or a query; an empty query would mean every record")
    return query


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """What a bulk action would meet now; `note`: that a priority does not count there."""

    by_status: dict[str, int]
    applied: int
    refused: dict[str, int]
    examples: dict[str, list[str]]
    note: str = ""


def foreseen(
    app: App,
    verb: str,
    *,
    text: str | None,
    ids: Sequence[str],
    machines: Sequence[str],
    now: Micros | None = None,
) -> Foreseen:
    """What a bulk action would do: one count, however many records it concerns. Ages count from `now`."""
    query = check_selection(app, text, ids, now=now)
    if query is None:
        some = _records_named(app, ids, machines)
        pairs: Mapping[tuple[str, str], int] = Counter((each.machine, each.status) for each in some)
    else:
        pairs = app.records.count(within(query, machines))
        some = app.records.find(within(query, machines), limit=EXAMPLES_AMONG)
    by_status: Counter[str] = Counter()
    applied = refused = 0
    for (machine, status), count in pairs.items():
        by_status[status] += count
        if _would(app, verb, machine, status):
            applied += count
        else:
            refused += count
    examples: dict[str, list[str]] = {}
    for record in some:
        became = APPLIED if _would(app, verb, record.machine, record.status) else IMPOSSIBLE
        examples.setdefault(became, []).append(record.id)
    return Foreseen(
        by_status=dict(by_status),
        applied=applied,
        refused={IMPOSSIBLE: refused} if refused else {},
        examples={key: found[:EXAMPLES_MAX] for key, found in examples.items()},
        note=_note(app, verb, {machine for machine, _ in pairs}),
    )


def note_of(app: App, batch: Batch) -> str:
    """That the priority which a bulk action gives does not count for some of its records; mostly empty."""
    if not batch.verb.startswith(PRIORITY):
        return ""
    query = None if batch.ids else batch.query
    found = foreseen(
        app, batch.verb, text=query, ids=batch.ids, machines=batch.pipelines, now=batch.query_at
    )
    return found.note


def _note(app: App, verb: str, machines: Collection[str]) -> str:
    return unused_priorities(app.settings, machines) if verb.startswith(PRIORITY) else ""


def _would(app: App, verb: str, machine: str, status: str) -> bool:
    own = app.registry.newest.get(machine)
    if own is None:
        return False
    if verb.startswith(PRIORITY):
        return own.kind.get(status) != "terminal"
    return (status, EVENTS[verb]) in own.rules


def begin(
    app: App,
    verb: str,
    *,
    text: str | None,
    ids: Sequence[str],
    machines: Sequence[str],
    actor: str,
    reason: str | None,
    found: Foreseen | None = None,
) -> Batch:
    """Store a new bulk action, whose steps come after; with what was `found`, one that waits to be confirmed."""
    query = check_selection(app, text, ids)
    expected = (
        len(_records_named(app, ids, machines))
        if query is None
        else sum(app.records.count(within(query, machines)).values())
    )
    now = app.clock()
    batch = Batch(
        id=app.new_id(PREFIX),
        version=0,
        verb=verb,
        status="running" if found is None else CHECKED,
        query="" if query is None else str(query),
        query_at=now if query is None else query.now,
        ids=tuple(dict.fromkeys(ids)),
        pipelines=tuple(machines),
        actor=actor,
        reason=reason,
        after="",
        expected=expected,
        matched=0,
        applied=0 if found is None else found.applied,
        refused={},
        examples={},
        created_at=now,
        updated_at=now,
    )
    app.idempotency.add_batch(batch)
    return batch


def check(
    app: App,
    verb: str,
    *,
    text: str | None,
    ids: Sequence[str],
    machines: Sequence[str],
    actor: str,
    reason: str | None,
) -> tuple[Batch, Foreseen]:
    """Store a bulk action with what it would meet; nothing happens until its author confirms it."""
    found = foreseen(app, verb, text=text, ids=ids, machines=machines)
    batch = begin(
        app, verb, text=text, ids=ids, machines=machines, actor=actor, reason=reason, found=found
    )
    return batch, found


def confirm(app: App, batch_id: str, *, actor: str) -> Batch:
    """Begin the bulk action that was checked, if it is its author's and would meet what it met then."""
    batch = app.idempotency.batch(batch_id, lock=True)
    if batch.actor != actor:
        raise UnknownName("batch", batch_id[:80])
    if batch.status != CHECKED:
        return batch  # confirmed twice: a second click, or an answer that was lost
    if app.clock() - batch.created_at > CONFIRM_WITHIN:
        raise Refusal("stale", "this was checked a while ago: check again what would happen")
    query = None if batch.ids else batch.query
    found = foreseen(
        app, batch.verb, text=query, ids=batch.ids, machines=batch.pipelines, now=batch.query_at
    )
    if (sum(found.by_status.values()), found.applied) != (batch.expected, batch.applied):
        raise Refusal(
            "stale",
            f"{found.applied} of {sum(found.by_status.values())} records would be concerned now, "
            f"{batch.applied} of {batch.expected} when it was checked: check again what would happen",
        )
    begun = replace(
        batch, status="running", version=batch.version + 1, applied=0, updated_at=app.clock()
    )
    app.idempotency.save_batch(begun)
    return begun


def step(app: App, batch_id: str) -> Batch:
    """Move a bulk action on by some records; any process may call it."""
    with app.database.transaction():
        batch = app.idempotency.batch(batch_id, lock=True)
        if batch.status != "running":
            return batch
        records, after = _next(app, batch)
        if not records and not after:
            ended = replace(batch, status="done", version=batch.version + 1, updated_at=app.clock())
            app.idempotency.save_batch(ended)
            return ended
        moved = _count_batch(batch, records, _act_on(app, batch, records))
        moved = replace(moved, after=after, version=batch.version + 1, updated_at=app.clock())
        app.idempotency.save_batch(moved)
        return moved


def _act_on(app: App, batch: Batch, records: Sequence[Record]) -> Sequence[Record | StatewardError]:
    if not records:
        return []
    if batch.verb.startswith(PRIORITY):
        number = batch.verb.rpartition(" ")[2]
        ids = [each.id for each in records]
        return app.actions.set_priority(ids, number, actor=batch.actor, reason=batch.reason)
    verb: Verb = "retry" if batch.verb == "retry" else "cancel"
    return app.actions.act_each(
        [
            Command(verb=verb, record_id=each.id, actor=batch.actor, reason=batch.reason)
            for each in records
        ]
    )


def abort(app: App, batch_id: str, *, version: int | None) -> Batch:
    """Stop a bulk action after the step that is under way; what it did, it did. Call this inside a unit."""
    batch = app.idempotency.batch(batch_id, lock=True)
    if version is not None and version != batch.version:
        raise ConcurrentModification(batch_id, expected=version)
    if batch.status != "running":
        raise Refusal(
            "impossible",
            f"{batch_id} is {batch.status}; there is nothing to abort",
            found=batch.status,
            allowed=[],
        )
    aborted = replace(batch, status="aborted", version=batch.version + 1, updated_at=app.clock())
    app.idempotency.save_batch(aborted)
    return aborted


def _next(app: App, batch: Batch) -> tuple[list[Record], str]:
    """The next records of a bulk action, and where it is then; ([], "") at its end."""
    if batch.ids:
        start = int(batch.after or 0)
        named = batch.ids[start : start + STEP_RECORDS]
        found = app.store.load(named, lock=True)
        return [found[each] for each in named if each in found], str(
            start + len(named)
        ) if named else ""
    query = within(app.records.query(batch.query, now=batch.query_at), batch.pipelines)
    records = app.records.find(query, after=batch.after, limit=STEP_RECORDS)
    return records, records[-1].id if records else ""


def _count_batch(
    batch: Batch, records: Sequence[Record], answers: Sequence[Record | StatewardError]
) -> Batch:
    refused = dict(batch.refused)
    examples = {key: list(ids) for key, ids in batch.examples.items()}
    applied = batch.applied
    for record, answer in zip(records, answers, strict=True):
        if isinstance(answer, StatewardError):
            became = STALE if isinstance(answer, ConcurrentModification) else IMPOSSIBLE
            refused[became] = refused.get(became, 0) + 1
        else:
            became = APPLIED
            applied += 1
        shown = examples.setdefault(became, [])
        if len(shown) < EXAMPLES_MAX:
            shown.append(record.id)
    return replace(
        batch,
        matched=batch.matched + len(records),
        applied=applied,
        refused=refused,
        examples={key: tuple(ids) for key, ids in examples.items()},
    )


def _records_named(app: App, ids: Sequence[str], machines: Sequence[str]) -> list[Record]:
    found = app.store.load(ids)
    for record_id in ids:
        record = found.get(record_id)
        if record is None or (machines and record.machine not in machines):
            raise UnknownName("record", record_id[:80])
    return list(found.values())
