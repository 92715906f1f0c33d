"""Which messages of workers behind a transport count: those that a credential signed, for the stages that it names.

From the first credential on, a message without one is refused; before that, all that reach the broker are believed, as
far as the store has the work. Refusals are dead letters with the reason, and are in the audit log.

A signed message that was overheard can be sent again. Results are fenced by the version of their record; a heartbeat
counts once, and only while it is new.
"""

import time
from collections.abc import Callable

from stateward.core.errors import StatewardError
from stateward.core.model import SECOND, Fields, Micros, clean_text, from_iso
from stateward.storage.audit import KEY_REFUSED, AuditEntry, AuditLog
from stateward.storage.worker_keys import WorkerKey, WorkerKeys
from stateward.transport.credentials import allows, is_signed
from stateward.transport.messages import Envelope

# How long what was read of the credentials counts: a revoked one is believed for no longer.
FRESH_S = 1.0
# One entry of the audit log for each sender and reason: a flood must not become its own.
NOTE_EVERY_S = 60.0
HEARTBEAT_AGE_S = 300.0  # clocks of two machines may differ by as much
SENDERS_MAX = 1000
TEXT_MAX = 200


class RefusedMessage(StatewardError):
    """A message that its sender may not send, or that contradicts the store."""


class UnsignedMessage(RefusedMessage):
    """A message of a worker without a credential, where workers have them."""


class InvalidCredential(RefusedMessage):
    """A message of a worker whose credential does not count."""

    def __init__(self, key_id: str, reason: str) -> None:
        super().__init__(reason)
        self.key_id = key_id


class RevokedCredential(InvalidCredential):
    """A message of a worker whose credential counts no more."""


class StaleHeartbeat(RefusedMessage):
    """A heartbeat of another time: it waited in the broker or was sent again, or a clock is wrong."""


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
        self._opened: dict[str, str] = {}
        self._heard: dict[tuple[str, str], Micros] = {}
        self._read_at: float | None = None
        self._noted: dict[tuple[str, str], float] = {}

    def admit(self, envelope: Envelope) -> WorkerKey | None:
        """The credential of a message; None where none was ever made.

        Raises RefusedMessage, and SecretUnreadable where the key file of this machine does not open its secret: that
        is no fault of the sender.
        """
        known = self._fresh()
        if not known:
            return None
        if envelope.keyid is None:
            raise UnsignedMessage("it is not signed, and workers have credentials here")
        if envelope.keyid not in known:  # it may have been made just now
            known = self._read()
        key, stored = known.get(envelope.keyid, (None, ""))
        if key is None:
            reason = "it is signed with a credential that is not known"
            raise InvalidCredential(clean_text(envelope.keyid, chars_max=TEXT_MAX), reason)
        if key.revoked_at is not None:
            raise RevokedCredential(key.id, f"the credential {key.name} is revoked")
        if not is_signed(envelope, self._secret(key, stored)):
            raise RefusedMessage(f"its signature is not that of the credential {key.name}")
        return key

    def is_news(self, envelope: Envelope, key: WorkerKey, worker: str) -> bool:
        """Whether a heartbeat is later than all before it of this worker. Raises StaleHeartbeat if it is of long ago.

        The times of one worker are of one clock, so that they can be compared however wrong it is.
        """
        try:
            at = from_iso(envelope.time)
        except ValueError:
            raise RefusedMessage("a signed heartbeat without a time") from None
        if abs(self._clock() - at) > HEARTBEAT_AGE_S * SECOND:
            raise StaleHeartbeat(
                f"a heartbeat of the credential {key.name} is more than {HEARTBEAT_AGE_S:.0f} s off: it was held up or "
                "sent again, or the clock of its machine or of this one is wrong"
            )
        if at <= self._heard.get((key.id, worker), 0):
            return False
        if len(self._heard) >= SENDERS_MAX:
            self._heard.clear()
        self._heard[key.id, worker] = at
        return True

    def note(self, envelope: Envelope, error: RefusedMessage) -> bool:
        """Write a refusal to the audit log, the same one once a minute; whether it was written."""
        sender = clean_text(envelope.keyid or envelope.source, chars_max=TEXT_MAX)
        now, what = self._ticks(), (sender, str(error))
        if now < self._noted.get(what, 0.0):
            return False
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
        return True

    def _fresh(self) -> dict[str, tuple[WorkerKey, str]]:
        is_fresh = self._read_at is not None and self._ticks() - self._read_at < FRESH_S
        return self._known if is_fresh else self._read()

    def _read(self) -> dict[str, tuple[WorkerKey, str]]:
        self._known = {key.id: (key, stored) for key, stored in self._keys.stored()}
        self._read_at = self._ticks()
        return self._known

    def _secret(self, key: WorkerKey, stored: str) -> str:
        if stored not in self._opened:
            if len(self._opened) >= SENDERS_MAX:
                self._opened.clear()
            self._opened[stored] = self._keys.open(key, stored)
        return self._opened[stored]


def check_stage(key: WorkerKey | None, machine: str, stage: str) -> None:
    """Refuse what a credential for other stages says about this one."""
    if key is not None and not allows(key.stages, machine, stage):
        raise RefusedMessage(f"the credential {key.name} is not for {machine}.{stage}")
