"""Flagged records: results that a stage itself calls wrong or incomplete, and what people decided about them.

A stage reports codes with the fact `flags`. The record is flagged from then on, whatever its status, until a person
confirms, corrects or rejects the result. A decision is valid for one version of a record: a record that moves on may be
flagged again. A status does not change by it, so it is no transition; who decided and why is in the audit log, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from stateward.core.errors import ConcurrentModification, InvalidRequest, UnknownName
from stateward.core.model import Micros, Record
from stateward.core.view import flag_codes
from stateward.storage.audit import FLAG_DECIDED, AuditEntry, AuditLog
from stateward.storage.database import Database, Row, Table
from stateward.storage.search import FLAGGED
from stateward.storage.store import Store

FlagAction: TypeAlias = Literal["confirm", "correct", "reject"]
ACTIONS: tuple[FlagAction, ...] = get_args(FlagAction)
FLAG_DECISIONS = Table(
    "flag_decisions",
    {
        "record_id": "text",
        "version": "bigint",
        "actor": "text",
        "action": "text",
        "reason": "text",
        "at": "bigint",
    },
    key=("record_id",),
)
_COLUMNS = ", ".join(FLAG_DECISIONS.columns)
_CHUNK = 1000


class FlagDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What a person decided about the flags of a record at one version."""

    record_id: str
    version: int
    actor: str
    action: str
    reason: str | None
    at: Micros


class Flags:
    """The queue of flagged records, and the decisions about them."""

    def __init__(
        self,
        *,
        database: Database,
        store: Store,
        audit: AuditLog,
        clock: Callable[[], Micros],
    ) -> None:
        self._database = database
        self._store = store
        self._audit = audit
        self._clock = clock

    def pending(self, *, machines: Sequence[str] = (), limit: int) -> list[Record]:
        """Flagged records that no person has decided about, the oldest first."""
        condition, params = self._of(machines)
        found = self._database.rows(
            f"SELECT id FROM records WHERE {FLAGGED}{condition} ORDER BY entered_at, id LIMIT :limit",
            limit=limit,
            **params,
        )
        ids = [str(each) for (each,) in found]
        records = self._store.load(ids)
        return [records[each] for each in ids if each in records]

    def counts(self) -> dict[str, int]:
        """How many records of each machine are flagged and not decided."""
        found = self._database.rows(
            f"SELECT machine, count(*) FROM records WHERE {FLAGGED} GROUP BY machine"
        )
        return {str(machine): int(count or 0) for machine, count in found}

    def decisions(self, records: Iterable[Record]) -> dict[str, FlagDecision]:
        """The valid decisions about these records."""
        versions = {each.id: each.version for each in records}
        if not versions:
            return {}
        condition, params = self._database.among("record_id", sorted(versions))
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM flag_decisions WHERE {condition}", **params
        )
        made = [_decision(row) for row in found]
        return {each.record_id: each for each in made if versions[each.record_id] == each.version}

    def decide(
        self,
        record_id: str,
        action: FlagAction,
        *,
        actor: str,
        reason: str | None = None,
        machines: Sequence[str] = (),
        expected: int | None = None,
    ) -> Record:
        """Store a decision; a record that is not flagged, or has moved on meanwhile, is refused."""
        if action not in ACTIONS:
            raise InvalidRequest(f"{action!r} is no decision; there are: {', '.join(ACTIONS)}")
        if action == "reject" and not (reason or "").strip():
            raise InvalidRequest("say why the result is rejected")
        with self._database.transaction():
            record = self._store.load([record_id], lock=True).get(record_id)
            if record is None or (machines and record.machine not in machines):
                raise UnknownName("record", record_id)
            if expected is not None and record.version != expected:
                raise ConcurrentModification(record_id, expected=expected)
            if not flag_codes(record):
                raise InvalidRequest(f"{record_id} is not flagged: there is nothing to decide")
            at = self._clock()
            row: Row = (record_id, record.version, actor, action, reason, at)
            self._database.delete(FLAG_DECISIONS, [(record_id,)])
            self._database.insert(FLAG_DECISIONS, [row])
            entry = AuditEntry(
                at=at,
                actor=actor,
                verb=f"{FLAG_DECIDED}{action}",
                record_id=record_id,
                detail={"flags": list(flag_codes(record)), "version": record.version},
                reason=reason,
            )
            self._audit.add([entry])
            return record

    def _of(self, machines: Sequence[str]) -> tuple[str, dict[str, object]]:
        if not machines:
            return "", {}
        condition, params = self._database.among("machine", sorted(machines))
        return f" AND {condition}", params


def stored_decisions(database: Database) -> Iterator[FlagDecision]:
    """Every decision that is stored, a part at a time."""
    after = ""
    while found := database.rows(
        f"SELECT {_COLUMNS} FROM flag_decisions WHERE record_id > :after ORDER BY record_id LIMIT {_CHUNK}",
        after=after,
    ):
        yield from map(_decision, found)
        after = str(found[-1][0])


def _decision(row: Row) -> FlagDecision:
    record_id, version, actor, action, reason, at = row
    return FlagDecision(
        record_id=str(record_id),
        version=int(version or 0),
        actor=str(actor),
        action=str(action),
        reason=None if reason is None else str(reason),
        at=int(at or 0),
    )
