"""Decisions of people that are stored and not in effect yet: until then their author can undo them.

A decision is durable when it is stored here; a coordinator applies it when its time has come, as if it were made then.
It is valid for one version of a record, like a claim, and there is at most one a record (docs/decisions/0020).
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TypeAlias

import msgspec
from msgspec import field
from msgspec.structs import asdict

from stateward.core.model import Micros, Record
from stateward.engine.answers import DecisionRequest
from stateward.storage.database import Database, Row, Table
from stateward.storage.row_seals import sealed_change

PENDING_DECISIONS = Table(
    "pending_decisions",
    {
        "record_id": "text",
        "version": "bigint",
        "actor": "text",
        "action": "text",
        "request": "text",
        "at": "bigint",
        "effective_at": "bigint",
    },
    key=("record_id",),
)
CorrectedValues: TypeAlias = dict[str, str | list[str] | None]
_COLUMNS = ", ".join(PENDING_DECISIONS.columns)


class PendingDecision(DecisionRequest, frozen=True, kw_only=True):
    """A decision that takes effect at `effective_at`, unless `actor` undoes it before."""

    corrected: CorrectedValues = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    at: Micros
    effective_at: Micros

    def is_valid(self, record: Record) -> bool:
        """Whether the record has not moved since."""
        return self.version == record.version


class _Stored(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the decision says beside the columns of its row, as it is stored."""

    corrected: CorrectedValues = {}
    notes: str | None = None
    trace: str | None = None
    batch: str | None = None
    reason_code: str | None = None
    moved: dict[str, str] = {}
    claimed_at: Micros | None = None
    is_administrator: bool = False
    salt: str = ""
    """Random: nothing can be guessed from the digest of a decision that was erased."""


_STORED = frozenset(_Stored.__struct_fields__)
_decode = msgspec.json.Decoder(_Stored).decode


class PendingDecisions:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, record_ids: Iterable[str]) -> dict[str, PendingDecision]:
        """Those of these records, valid or not."""
        wanted = sorted(set(record_ids))
        if not wanted:
            return {}
        condition, params = self._database.among("record_id", wanted)
        return {each.record_id: each for each in self._find(f"WHERE {condition}", **params)}

    def due(self, now: Micros, *, limit: int) -> list[PendingDecision]:
        """Those whose time has come, the oldest first."""
        clause = "WHERE effective_at <= :now ORDER BY effective_at, record_id LIMIT :limit"
        return self._find(clause, now=now, limit=limit)

    def of_batch(self, batch: str, *, actor: str) -> list[PendingDecision]:
        """Those of one bulk decision, by record. A person has few that are pending, so all of them are read."""
        found = self._find("WHERE actor = :actor ORDER BY record_id", actor=actor)
        return [each for each in found if each.batch == batch]

    def put(self, decision: PendingDecision, *, salt: str) -> None:
        """Store a decision in place of the present one; the caller holds the lock on the record."""
        own = {name: each for name, each in asdict(decision).items() if name in _STORED}
        request = _Stored(**own, salt=salt)
        row: Row = (
            decision.record_id,
            decision.version,
            decision.actor,
            decision.action,
            msgspec.json.encode(request).decode(),
            decision.at,
            decision.effective_at,
        )
        with self._seal_change(decision.record_id, now=decision.at):
            self._database.delete(PENDING_DECISIONS, [(decision.record_id,)])
            self._database.insert(PENDING_DECISIONS, [row])

    def drop(self, record_id: str, *, now: Micros) -> bool:
        """Delete the pending decision of a record; whether there was one."""
        with self._seal_change(record_id, now=now):
            (was_there,) = self._database.delete(PENDING_DECISIONS, [(record_id,)])
            return was_there

    def _seal_change(self, record_id: str, *, now: Micros) -> AbstractContextManager[None]:
        return sealed_change(self._database, PENDING_DECISIONS.name, [record_id], at=now)

    def _find(self, clause: str, **params: object) -> list[PendingDecision]:
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM pending_decisions {clause}",
            **params,
        )
        return [_decision(row) for row in found]


def _decision(row: Row) -> PendingDecision:
    columns = PENDING_DECISIONS.named(row)
    own = asdict(_decode(str(columns.pop("request"))))
    del own["salt"]
    return PendingDecision(**columns, **own)
