"""A person with write access to the database, who knows how it is sealed and makes hashes fit again."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from stateward.core.chain import GENESIS, record_hash, transition_hash
from stateward.core.lanes import Lane, extend, lane_of
from stateward.core.model import Record, Transition
from stateward.storage.audit import (
    COORDINATOR_STARTED,
    SEALED,
    SEALING_BEGAN,
    AuditEntry,
    AuditLog,
)
from stateward.storage.lanes import LANES
from stateward.storage.record_rows import APPENDED, RECORDS, record_row, transition_row
from stateward.storage.row_seals import ERASED, add_seals, stored_digests
from stateward.storage.store import Store
from stateward.testing.rig import START, Rig

SEALS = (SEALED, SEALING_BEGAN, COORDINATOR_STARTED)


class Forger:
    """The whole history in memory: change it, seal as much of it anew as wanted, write it back."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.log: list[Transition] = rig.store.log.read(limit=10_000)
        self.records: dict[str, Record] = {each.id: each for each in rig.store.walk()}
        self.lanes = rig.store.lanes.all()
        self._statements: list[str] = []
        self._later: list[str] = []
        self._is_resealed = False

    # What is changed

    def move(self, place: int, **changes: object) -> None:
        """Change a transition."""
        self.log[place] = replace(self.log[place], **changes)

    def record(self, **changes: object) -> None:
        """Change the first record."""
        first = next(iter(self.records))
        self.records[first] = replace(self.records[first], **changes)

    def run(self, statement: str) -> None:
        """Change another table, when the history is written."""
        self._statements.append(statement)

    def later(self, statement: str) -> None:
        """Change the history itself, after it is written."""
        self._later.append(statement)

    def output_digest(self, record_id: str, version: int, *, count: int, data: str) -> str:
        """Give an output other items, of one chunk; its new digest."""
        self._rig.database.run(
            "UPDATE item_chunks SET count = :count, data = :data"
            " WHERE record_id = :record_id AND version = :version",
            count=count,
            data=data,
            record_id=record_id,
            version=version,
        )
        return self._rig.outputs.seal(record_id, version).output

    def rewrite_audit(self, actor: str | None = None, *, without: str = "") -> None:
        """Write the audit log anew, as if one person had done it all, or without the seals of some rows."""
        self._write_audit(
            [
                replace(each, actor=actor or each.actor)
                for each in AuditLog(self._rig.database).walk()
                if without not in each.detail
            ]
        )

    def _write_audit(self, entries: Sequence[AuditEntry]) -> None:
        database = self._rig.database
        database.run("DELETE FROM audit_log")
        database.run("UPDATE audit_head SET count = 0, hash = :none", none=GENESIS)
        AuditLog(database).add(entries)

    def call_erased(self, kind: str) -> None:
        """Delete the rows of a table, and append to the audit log that they were erased."""
        database = self._rig.database
        digests = [digest for own, _, digest in stored_digests(database) if own == kind]
        database.run(f"DELETE FROM {kind}")  # noqa: S608
        add_seals(database, {f"{ERASED}{kind}": digests}, at=START)

    def reseal_rows(self) -> None:
        """When the history is written, write the audit log anew with seals of the rows as they are then."""
        self._is_resealed = True

    # How far it is sealed anew

    def seal_rows(self) -> None:
        """Each transition has the hash of its content."""
        self.log = [replace(each, hash=transition_hash(each)) for each in self.log]

    def seal_records(self) -> None:
        """Each record's transitions are chained, the last seals the record, and the record names the last."""
        last = {each.record_id: place for place, each in enumerate(self.log)}
        heads: dict[str, str] = {}
        for place, each in enumerate(self.log):
            forged = replace(each, prev_hash=heads.get(each.record_id, GENESIS))
            if last[each.record_id] == place and each.record_id in self.records:
                forged = replace(
                    forged, record_hash=record_hash(self.records[each.record_id], each.salt)
                )
            self.log[place] = replace(forged, hash=transition_hash(forged))
            heads[each.record_id] = self.log[place].hash
        self.records = {
            id_: replace(each, head=heads.get(id_, "")) for id_, each in self.records.items()
        }

    def seal_all(self, *, lanes: int | None = None) -> None:
        """The whole database: also every lane ends with the head that its transitions give, and the audit log fits."""
        self.seal_records()
        self.reseal_rows()
        count = lanes or len(self.lanes)
        own: list[list[str]] = [[] for _ in range(count)]
        for each in self.log:
            own[lane_of(each.record_id, count)].append(each.hash)
        epoch = self.lanes[0].epoch
        self.lanes = [
            Lane(
                lane=number,
                count=len(hashes),
                head=extend(GENESIS, hashes),
                epoch=epoch,
                since=1,
            )
            for number, hashes in enumerate(own)
        ]

    def write(self) -> None:
        """Put it into the database."""
        database = self._rig.database
        with database.transaction():
            for statement in (
                "DELETE FROM transitions",
                "DELETE FROM records",
                "DELETE FROM lanes",
                *self._statements,
            ):
                database.run(statement)
            database.insert(RECORDS, [record_row(each) for each in self.records.values()])
            database.insert(APPENDED, [transition_row(each) for each in self.log])
            database.insert(LANES, [msgspec.structs.astuple(each) for each in self.lanes])
            for statement in self._later:
                database.run(statement)
        self._rig.store = Store(database)
        if self._is_resealed:
            acts = [each for each in AuditLog(database).walk() if each.verb not in SEALS]
            self._write_audit(acts)
            self._rig.store.seal_former_rows(now=1)


def nothing(_: Forger) -> None:
    """Leave all hashes as they are."""


Edit = Callable[[Forger], object]
