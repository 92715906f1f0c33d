"""Erasing what records held: a transition says who, when, why and what, and everything else of it is deleted.

One transaction for a batch: transitions and deleted rows. It notes the files, which are deleted after it, some at a
time: a bucket takes its time, and what an erasure locks all others wait for. What a crash or a bucket that does not
answer left of them is deleted within a minute by the service (`remove_erased`), or by the next erasure. A file that
cannot be deleted keeps no other one: it is noted as tried, and tried again by each sweep.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext

import msgspec

from stateward.blobs import ArtifactStore
from stateward.core.erasure import KINDS, erase
from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    InvalidRequest,
    UnknownName,
)
from stateward.core.model import (
    SECOND,
    Applied,
    Fields,
    Micros,
    plain_actor,
    to_iso,
)
from stateward.engine.coordinator import Coordinator
from stateward.engine.registry import MachineRegistry
from stateward.storage.audit import HELD, HOLD_RELEASED, AuditEntry, AuditLog
from stateward.storage.database import Database, Row
from stateward.storage.erasure import ERASED_AT, TRIED_AT, Erasures, Hold, Named
from stateward.storage.output_seals import digests_left
from stateward.storage.outputs import Outputs
from stateward.storage.store import Store

BATCH_MAX = 500
FILES_AT_ONCE = 16  # of one transaction, which lasts as long as their removal
NOT_YET = "it is not deleted yet"
SETTLED_WITHIN: Micros = 6 * 3600 * SECOND  # an attempt announces its files when it ends


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure did: the records, those that it refused with the reason, and how many documents are gone.

    `left` are records that are erased but for a file that is not deleted yet, with the reason. `unreachable` says why
    blob storage was not asked any more.
    """

    erased: tuple[str, ...]
    refused: dict[str, str]
    documents: int
    left: dict[str, str] = {}
    unreachable: str = ""


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """How many files of erased records are gone, and by record why one of its files cannot be deleted."""

    files: int
    kept: dict[str, str]


class Eraser:
    """Erases, and holds that forbid it."""

    def __init__(
        self,
        *,
        database: Database,
        store: Store,
        coordinator: Callable[[], Coordinator],
        registry: MachineRegistry,
        audit: AuditLog,
        artifacts: ArtifactStore,
        clock: Callable[[], Micros],
    ) -> None:
        self._database = database
        self._store = store
        self._coordinator = coordinator
        self._registry = registry
        self._audit = audit
        self._artifacts = artifacts
        self._clock = clock
        self._erasures = Erasures(database)

    def erase(
        self,
        record_ids: Sequence[str],
        *,
        actor: str,
        reason: str,
        kinds: Collection[str] = KINDS,
        facts: Fields | None = None,
        is_dry_run: bool = False,
        unreachable: str = "",
    ) -> Erased:
        """Erase these kinds of what the records hold; each record by itself is erased or refused.

        `unreachable`: blob storage is known not to answer, so that files are left for later.
        """
        reason = reason.strip()
        if not reason:
            raise InvalidRequest("say why it is erased: the history keeps the reason")
        unknown = set(kinds) - set(KINDS)
        if unknown or not kinds:
            raise InvalidRequest(f"what can be erased are: {', '.join(KINDS)}")
        if not is_dry_run and not unreachable:
            try:
                self.take_announced()
            except ArtifactsUnreachable as error:
                unreachable = str(error)
        done: list[str] = []
        refused: dict[str, str] = {}
        left: dict[str, str] = {}
        documents = 0
        wanted = list(dict.fromkeys(record_ids))
        for start in range(0, len(wanted), BATCH_MAX):
            part = wanted[start : start + BATCH_MAX]
            named: set[Named] = set()
            around = nullcontext() if is_dry_run else self._database.erasing()
            with around, self._store.transaction():
                decided = self._decide(part, kinds, actor, reason, facts)
                changes = [each.change for each in decided.values() if isinstance(each, Applied)]
                refused |= {id_: each for id_, each in decided.items() if isinstance(each, str)}
                ids = [each.record.id for each in changes]
                done += ids
                if changes and not is_dry_run:
                    named = self._erasures.artifacts_of(ids, kinds)
                    self._coordinator().commit_erasures(changes)
                    self._erasures.delete(ids, kinds, at=self._clock())
                    self._erasures.note_erased(named)
            if changes and not is_dry_run:
                kept: dict[str, str] = {}
                try:
                    kept = {} if unreachable else self.remove_erased().kept
                except ArtifactsUnreachable as error:
                    unreachable = str(error)
                pending = self._erasures.pending(ids)
                left |= {id_: kept.get(id_, NOT_YET) for _, id_ in pending}
                left |= dict.fromkeys(ids, unreachable) if unreachable else {}
                documents += self._count_gone(named, pending, ids)
        return Erased(
            erased=tuple(done),
            refused=refused,
            documents=documents,
            left=left,
            unreachable=unreachable,
        )

    def _decide(
        self,
        record_ids: Sequence[str],
        kinds: Collection[str],
        actor: str,
        reason: str,
        facts: Fields | None,
    ) -> dict[str, Applied | str]:
        records = self._store.load(record_ids, lock=True)
        holds = self._erasures.holds(record_ids)
        moved_at = self._erasures.moved_at(record_ids)
        left = digests_left(self._database, record_ids, kinds)
        now = self._clock()
        decided: dict[str, Applied | str] = {}
        for id_ in record_ids:
            record = records.get(id_)
            if record is None:
                decided[id_] = f"there is no record {id_}"
            elif id_ in holds:
                hold = holds[id_]
                decided[id_] = (
                    f"{plain_actor(hold.actor)} holds it since {to_iso(hold.at)}: {hold.reason}"
                )
            else:
                machine = self._registry.exactly(record.machine, record.machine_version)
                decision = erase(
                    machine,
                    record,
                    kinds=kinds,
                    actor=actor,
                    reason=reason,
                    # An erasure does not change when its status began, so the record cannot say when the last one was.
                    now=max(now, moved_at.get(id_, now)),
                    facts={**(facts or {}), **left[id_]},
                )
                decided[id_] = decision if isinstance(decision, Applied) else decision.detail
        return decided

    def take_announced(self) -> None:
        """Take over what processes without a database announced beside the bytes: rows lead to these from now on."""
        outputs = Outputs(self._database)
        while found := self._artifacts.announced(limit=BATCH_MAX):
            now = self._clock()
            with self._store.transaction():
                for record_id, digest in sorted(found, key=lambda each: each[1]):
                    outputs.announce_files(record_id, [digest], at=now)
            self._artifacts.forget_announced(found)

    def sweep(self) -> Removed:
        """Delete what attempts left that were lost, or that ended when their record was erased, and what was tried."""
        self.take_announced()
        with self._database.erasing(), self._store.transaction():
            self._erasures.delete_late_values()
        before = self._clock() - SETTLED_WITHIN
        erased = self._remove_announced(before=TRIED_AT + 1, since=None)
        lost = self._remove_announced(before=before, since=before, first=TRIED_AT + 1)
        return Removed(files=erased.files + lost.files, kept=erased.kept | lost.kept)

    def remove_erased(self) -> Removed:
        """Delete the files of erased records that were not tried yet: an erasure was cut off before it came to them."""
        return self._remove_announced(before=ERASED_AT + 1, since=None)

    def _remove_announced(
        self, *, before: Micros, since: Micros | None, first: Micros = ERASED_AT
    ) -> Removed:
        """Delete files that were announced; one that cannot be deleted keeps no other one."""
        gone = 0
        failed: dict[str, str] = {}
        kept: dict[str, str] = {}
        last: Row = (first, "", "")
        while found := self._erasures.announced(before=before, after=last, limit=FILES_AT_ONCE):
            digests = {str(digest) for digest, _, _ in found}
            own = {str(record_id) for _, record_id, _ in found}
            # A bucket that does not answer is found out here, where no writer of an SQLite file waits for it.
            self._artifacts.holds(min(digests))
            with self._store.transaction():
                gone += self._remove(digests, failed, but=own, since=since)
                self._erasures.forget_announced([row for row in found if row[0] not in failed])
                self._erasures.note_tried([row for row in found if row[0] in failed])
            kept |= {str(row[1]): failed[str(row[0])] for row in found if row[0] in failed}
            *_, (digest, record_id, at) = found
            last = (at, digest, record_id)
        return Removed(files=gone, kept=kept)

    def _remove(
        self,
        digests: set[str],
        failed: dict[str, str],
        *,
        but: Collection[str],
        since: Micros | None,
    ) -> int:
        """Delete the files that no record names now, nor any attempt that is under way (`Erasures.still_named`).

        Who submits the same bytes at this moment has found them stored, and writes no file: it takes turns with this,
        so that either its record is seen here, or it sees that the file is gone (`Submissions.create`). `failed` are
        those that cannot be deleted, with the reason. All are durably gone before the note of them is.
        """
        self._database.take_turns(digests)
        unnamed = digests - self._erasures.still_named(digests, but=but, since=since)
        gone: list[str] = []
        for each in sorted(unnamed - failed.keys()):
            try:
                if self._artifacts.remove(each):
                    gone.append(each)
            except ArtifactError as error:
                failed[each] = str(error)
        self._artifacts.settle_removed(gone)
        return len(gone)

    def _count_gone(
        self, named: set[Named], pending: set[Named], record_ids: Collection[str]
    ) -> int:
        """How many of these files are gone, also if the service beside this has deleted them."""
        gone = {digest for digest, _ in named} - {digest for digest, _ in pending}
        return len(gone - self._erasures.still_named(gone, but=record_ids, since=None))

    # Holds

    def hold(self, record_id: str, *, actor: str, reason: str) -> Hold:
        """Forbid to delete anything of a record, whatever rule or request says so."""
        return self._note(record_id, HELD, actor, reason)

    def release(self, record_id: str, *, actor: str, reason: str) -> Hold:
        """Allow it again."""
        return self._note(record_id, HOLD_RELEASED, actor, reason)

    def _note(self, record_id: str, verb: str, actor: str, reason: str) -> Hold:
        if not reason.strip():
            raise InvalidRequest("give a reason: it is recorded with who said so")
        hold = Hold(record_id=record_id, at=self._clock(), actor=actor, reason=reason.strip())
        with self._store.transaction():
            if self._store.get(record_id) is None:
                raise UnknownName("record", record_id)
            is_changed = (
                self._erasures.hold(hold) if verb == HELD else self._erasures.release(record_id)
            )
            if not is_changed:
                state = "held already" if verb == HELD else "not held"
                raise InvalidRequest(f"{record_id} is {state}")
            entry = AuditEntry(
                at=hold.at, actor=actor, verb=verb, record_id=record_id, reason=hold.reason
            )
            self._audit.add([entry])
        return hold

    def holds(self) -> list[Hold]:
        """All records that are held, by id."""
        return list(self._erasures.holds().values())
