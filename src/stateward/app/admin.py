"""Administration: API keys, verification of the history, its export and comparison with a ledger."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from stateward.app.identity import new_key_id, new_token
from stateward.blobs import ArtifactStore
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import SECOND, Fields, Micros
from stateward.core.verify import Finding
from stateward.engine.clock_guard import ClockGuard
from stateward.engine.history import (
    Progress,
    Verdict,
    check_documents,
    checkpoint_of,
    export,
    verify,
)
from stateward.engine.history_tree import HistoryTree
from stateward.engine.mirror import Comparison, compare, mirror_state
from stateward.engine.registry import MachineRegistry
from stateward.engine.row_check import check_beginning
from stateward.engine.system import person
from stateward.ledger import LedgerError, parse_signer
from stateward.proofs.checkpoints import CheckpointSigner
from stateward.proofs.history_checkpoint import HistoryCheckpoint
from stateward.proofs.history_proof import HistoryProof
from stateward.storage.audit import (
    CLOCK_CONFIRMED,
    EXPORTED,
    KEY_CREATED,
    KEY_REVOKED,
    KEY_SEAL,
    AuditEntry,
    AuditLog,
)
from stateward.storage.keys import ApiKey, Keys, check_name, check_role, key_text
from stateward.storage.store import Store
from stateward.storage.worker_keys import WorkerKey, WorkerKeys
from stateward.transport.credentials import ALL_STAGES, WorkerCredential

DAY = 86_400 * SECOND


class Admin:
    """What the administrator of an installation does."""

    def __init__(
        self,
        *,
        store: Store,
        keys: Keys,
        audit: AuditLog,
        registry: MachineRegistry,
        clock: Callable[[], Micros],
        artifacts: ArtifactStore,
        worker_keys: WorkerKeys,
        signing_key: Callable[[], str | None] = lambda: None,
        mirror: str | None = None,
        is_read_only: bool = False,
    ) -> None:
        self._is_read_only = is_read_only
        self._signing_key = signing_key
        self._artifacts = artifacts
        self._mirror = mirror
        self._store = store
        self._keys = keys
        self._worker_keys = worker_keys
        self._audit = audit
        self._registry = registry
        self._clock = clock

    def new_key(
        self,
        name: str,
        *,
        role: str,
        pipelines: Sequence[str] = (),
        days: float | None = None,
        rate_per_minute: int | None = None,
        upload_bytes_max: int | None = None,
        actor: str | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key and its text. Only a hash of the text is stored: show it now or never."""
        now = self._clock()
        key = ApiKey(
            id=new_key_id(),
            name=check_name(name),
            role=check_role(role),
            pipelines=tuple(self._registry.named(each).name for each in dict.fromkeys(pipelines)),
            created_at=now,
            created_by=actor or person(),
            expires_at=None if days is None else now + round(days * DAY),
            rate_per_minute=rate_per_minute,
            upload_bytes_max=upload_bytes_max,
        )
        secret = new_token()
        with self._store.transaction():
            detail: Fields = {"key_id": key.id, "name": key.name, "role": key.role}
            seal = self._keys.add(key, secret=secret)
            self._note(KEY_CREATED, key.created_by, {**detail, KEY_SEAL: seal})
        return key, key_text(key.id, secret)

    def confirm_clock(self, guard: ClockGuard, *, reason: str) -> str | None:
        """Take the clock of this machine for right; what spoke against it, if anything did. Kept in the audit log."""
        fault = guard.fault()
        guard.believe()
        self._note(CLOCK_CONFIRMED, person(), {"fault": fault}, reason)
        return fault

    def revoke_key(self, key_id: str, *, actor: str | None = None) -> bool:
        """Revoke a key from the next request on; whether it was not revoked before."""
        with self._store.transaction():
            was_open = self._keys.revoke(key_id, now=self._clock())
            if was_open:
                self._note(KEY_REVOKED, actor or person(), {"key_id": key_id})
        return was_open

    def new_worker_key(
        self, name: str, *, stages: Sequence[str], actor: str | None = None
    ) -> tuple[WorkerKey, WorkerCredential]:
        """A credential for a worker behind a transport, and what its file holds. From the first on, all need one."""
        key = WorkerKey(
            id=new_key_id(),
            name=check_name(name),
            stages=tuple(self._stage_name(each) for each in dict.fromkeys(stages)),
            created_at=self._clock(),
            created_by=actor or person(),
        )
        if not key.stages:
            raise InvalidRequest("name at least one stage, as machine.stage or machine.*")
        secret = new_token()
        detail: Fields = {"key_id": key.id, "name": key.name, "stages": list(key.stages)}
        with self._store.transaction():
            self._worker_keys.add(key, secret=secret)
            self._note(KEY_CREATED, key.created_by, detail)
        return key, WorkerCredential(id=key.id, secret=secret, stages=key.stages)

    def _stage_name(self, text: str) -> str:
        """`machine.stage` or `machine.*`, of a machine and a stage that exist."""
        name, _, stage = text.partition(".")
        machine = self._registry.named(name)
        known = [each.name for each in machine.stages]
        if stage != ALL_STAGES and stage not in known:
            raise UnknownName(f"stage of {machine.name}", stage, known)
        return f"{machine.name}.{stage}"

    def worker_keys(self) -> list[WorkerKey]:
        """Every credential of a worker that was ever made."""
        return self._worker_keys.all()

    def revoke_worker_key(self, key_id: str, *, actor: str | None = None) -> bool:
        """Refuse what a credential signs from now on; whether it was not revoked before."""
        with self._store.transaction():
            was_open = self._worker_keys.revoke(key_id, now=self._clock())
            if was_open:
                self._note(KEY_REVOKED, actor or person(), {"key_id": key_id, "is_worker": True})
        return was_open

    def verify(
        self, *, kept: HistoryCheckpoint | None = None, progress: Progress = lambda *_: None
    ) -> Verdict:
        """Replay and check the whole history, also against a checkpoint that was kept elsewhere."""
        versions = {
            (machine.name, machine.version): machine
            for machine, _ in self._store.machine_versions.all()
        }
        found = verify(
            self._store,
            versions,
            audit=self._audit,
            kept=kept,
            signer=self._signer(),
            progress=progress,
        )
        found = replace(
            found, findings=(*found.findings, *check_beginning(self._store, self._audit))
        )
        if found.transitions:
            return found
        # A submission that fails may leave its document, so documents alone prove no loss: the person is told.
        has_strays = next(self._artifacts.digests(), None) is not None
        findings = (*found.findings, *self._traces_of_another_history())
        return replace(found, findings=findings, has_strays=has_strays)

    def _traces_of_another_history(self) -> Iterator[Finding]:
        """What says that a history that is empty should not be: a ledger outlives a database."""
        folder = None if self._mirror is None else Path(self._mirror)
        if folder is None or not folder.exists():
            return
        try:
            mirror_state(self._store, folder)
        except LedgerError as error:
            yield _empty(str(error))

    def checkpoint(self) -> str:
        """The checkpoint of the history as it is now, signed if the settings name a key; nothing is verified."""
        return checkpoint_of(self._store, self._audit, signer=self._signer(), is_stored=True)

    def prove(
        self, old: HistoryCheckpoint, new: HistoryCheckpoint, *, is_stored: bool = True
    ) -> HistoryProof:
        """The proof that the history of one checkpoint has grown from that of another; it may fail when it is checked.

        With `is_stored` False nothing is written, and more of the log is read.
        """
        return HistoryTree(self._store, self._audit, is_stored=is_stored).prove(old, new)

    def verify_documents(self, *, progress: Progress = lambda *_: None) -> list[Finding]:
        """Read every document of a record and compare its bytes with the hash that the history has of it."""
        return list(check_documents(self._store, self._artifacts, progress=progress))

    def _signer(self) -> CheckpointSigner | None:
        key = self._signing_key()  # asked for each time: it may be made while this process runs
        return None if key is None else parse_signer(Path(key).read_text("utf-8").strip())

    def compare(self, folder: Path, *, progress: Progress = lambda *_: None) -> Comparison:
        """Compare the history with a ledger that mirrors it, up to the first difference."""
        return compare(self._store, folder, progress=progress)

    def export(self, folder: Path, *, progress: Progress = lambda *_: None) -> dict[str, int]:
        """Write the whole history as files. Who did so is noted, but of a store that is only read."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidRequest(f"{folder} is not an empty folder; name a new one")
        if not self._is_read_only:
            self._note(EXPORTED, person(), {"what": "history"})
        return export(
            self._store, folder, audit=self._audit, signer=self._signer(), progress=progress
        )

    def _note(self, verb: str, actor: str, detail: Fields, reason: str | None = None) -> None:
        now = self._clock()
        entry = AuditEntry(at=now, actor=actor, verb=verb, detail=detail, reason=reason)
        self._audit.add([entry])


def _empty(sentence: str) -> Finding:
    return Finding(check="empty", where="history", sentence=f"it has no transition, but {sentence}")
