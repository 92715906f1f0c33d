"""Which messages of workers behind a transport count: those that a credential signed, for the stages that it names.

From the first credential on, a message without one is refused; before that, all that reach the broker are believed, as
far as the store has the work. Refusals are dead letters with the reason, and are in the audit log.
"""

import time
from collections.abc import Callable

from stateward.core.errors import StatewardError
from stateward.core.model import Fields, Micros, clean_text
from stateward.storage.audit import KEY_REFUSED, AuditEntry, AuditLog
from stateward.storage.worker_keys import WorkerKey, WorkerKeys
from stateward.transport.credentials import allows, is_signed
from stateward.transport.messages import Envelope

FRESH_S = (
    1.0  # how long what was read of the credentials counts: a revoked one is believed for no longer
)
NOTE_EVERY_S = (
    60.0  # one entry of the audit log for each sender and reason: a flood must not become its own
)
SENDERS_MAX = 1000
TEXT_MAX = 200


class RefusedMessage(StatewardError):
    """A message that its sender may not send, or that contradicts the store."""


class Admission:
    """Checks signatures against the credentials of the store."""

    def __init__(
        self,
        keys: WorkerKeys,
        audit: AuditLog,
        *,
        clock: Callable[[], Micros],
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._audit = audit
        self._clock = clock
        self._ticks = ticks
        self._known: dict[str, tuple[WorkerKey, str]] = {}
        self._read_at: float | None = None
        self._noted: dict[tuple[str, str], float] = {}

    def admit(self, envelope: Envelope) -> WorkerKey | None:
        """The credential of a message; None where none was ever made. Raises RefusedMessage."""
        known = self._fresh()
        if not known:
            return None
        if envelope.keyid is None:
            raise RefusedMessage("it is not signed, and workers have credentials here")
        key, secret = known.get(envelope.keyid, (None, ""))
        if key is None:
            raise RefusedMessage("it is signed with a credential that is not known")
        if not is_signed(envelope, secret):
            raise RefusedMessage(f"its signature is not that of the credential {key.name}")
        if key.revoked_at is not None:
            raise RefusedMessage(f"the credential {key.name} is revoked")
        return key

    def note(self, envelope: Envelope, error: RefusedMessage) -> None:
        """Write a refusal to the audit log, the same one once a minute."""
        sender = clean_text(envelope.keyid or envelope.source, chars_max=TEXT_MAX)
        now, what = self._ticks(), (sender, str(error))
        if now < self._noted.get(what, 0.0):
            return
        if len(self._noted) >= SENDERS_MAX:
            self._noted.clear()
        self._noted[what] = now + NOTE_EVERY_S
        detail: Fields = {
            "source": clean_text(envelope.source, chars_max=TEXT_MAX),
            "type": envelope.type,
        }
        self._audit.add(
            [
                AuditEntry(
                    at=self._clock(),
                    actor=f"worker:{sender}",
                    verb=KEY_REFUSED,
                    detail=detail,
                    reason=str(error),
                )
            ]
        )

    def _fresh(self) -> dict[str, tuple[WorkerKey, str]]:
        now = self._ticks()
        if self._read_at is None or now - self._read_at >= FRESH_S:
            self._known = {key.id: (key, secret) for key, secret in self._keys.with_secrets()}
            self._read_at = now
        return self._known


def check_stage(key: WorkerKey | None, machine: str, stage: str) -> None:
    """Refuse what a credential for other stages says about this one."""
    if key is not None and not allows(key.stages, machine, stage):
        raise RefusedMessage(f"the credential {key.name} is not for {machine}.{stage}")
