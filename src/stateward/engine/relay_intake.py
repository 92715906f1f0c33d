"""What a relay takes in: messages of workers, checked before anything of them counts.

A result counts for the work that the store still has, a heartbeat for the worker that its credential names. What may
not be said is refused and buried; what comes late or twice is dropped.
"""

import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from stateward.core.model import Loss, Micros, Work, clean_text, from_iso
from stateward.engine.admission import (
    TEXT_MAX,
    Admission,
    InvalidCredential,
    RefusedMessage,
    RevokedCredential,
    StaleHeartbeat,
    UnsignedMessage,
    check_stage,
)
from stateward.engine.remote_results import ResultChecker
from stateward.engine.sent_work import Attempt, Sent
from stateward.storage.database import Database
from stateward.storage.outputs import Output
from stateward.storage.worker_keys import WorkerKey
from stateward.telemetry import Log
from stateward.transport import Bus, messages
from stateward.transport.channel import Channel, Received
from stateward.transport.credentials import allows
from stateward.transport.messages import (
    Envelope,
    HeartbeatMessage,
    Key,
    ResultMessage,
    ReturnedMessage,
    SavedMessage,
    data_of,
)

LOST_WORKER = "its worker stopped sending heartbeats"
UNKNOWN_MAX = 1000  # attempts that are looked up in the store at once

Runners = Mapping[tuple[str, str, str], str]
"""Those of each stage, by (machine, stage, source type)."""


class Heard(msgspec.Struct, frozen=True, gc=False):
    """A heartbeat that counts, and when it was signed, by the clock of its worker; None: it is not signed."""

    message: HeartbeatMessage
    said_at: Micros | None


class Intake:
    """What came and is not durable yet; `sent` is what the relay has under way."""

    def __init__(
        self,
        sent: dict[Attempt, Sent],
        runners: Runners,
        *,
        channel: Channel,
        database: Database,
        checker: ResultChecker,
        log: Log,
        admission: Admission | None,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sent = sent
        self._runners = runners
        self._channel = channel
        self._database = database
        self._bus = Bus(database)
        self._checker = checker
        self._log = log
        self._admission = admission
        self._ticks = ticks
        self.taken: list[Received] = []
        self.results: dict[Attempt, tuple[Work, Output]] = {}
        self.saved: list[SavedMessage] = []
        self.returned: list[tuple[ReturnedMessage, Loss]] = []
        self.heard: dict[str, Heard] = {}
        self.holding: dict[str, tuple[frozenset[Key], WorkerKey | None]] = {}
        """What workers say that they have, by worker, with its credential."""
        self.unknown: set[Key] = set()
        """What workers say that they have, and this relay has not sent."""
        self.redelivered: list[Sent] = []
        """What the engine gave to another worker, without what the first one saved since."""
        self.revoked: set[str] = set()
        """Credentials that workers use and that do not count."""
        self.has_unsigned = False
        """Whether a worker without a credential reported something, where workers have them."""

    def clear(self) -> list[Received]:
        """All of it is durable: forget it; the messages, to be acknowledged."""
        for attempt in self.results:
            self._sent.pop(attempt, None)
        for each, _ in self.returned:
            self._sent.pop((each.record_id, each.version), None)
        taken, self.taken = self.taken, []
        self.results.clear()
        self.saved.clear()
        self.returned.clear()
        self.heard.clear()
        return taken

    def take(self, received: Received) -> None:
        """Take a message in. Raises ArtifactsUnreachable or SecretUnreadable where it cannot be checked now."""
        envelope = received.envelope
        try:
            key = None if self._admission is None else self._admission.admit(envelope)
            match envelope.type:
                case messages.RESULT:
                    self._take_result(data_of(envelope, ResultMessage), key)
                case messages.SAVED:
                    self._take_saved(data_of(envelope, SavedMessage), key)
                case messages.RETURNED:
                    self._take_returned(data_of(envelope, ReturnedMessage), key)
                case messages.HEARTBEAT:
                    self._take_heartbeat(envelope, key)
                case other:
                    raise ValueError(f"a worker does not send {other}")
        except (
            StaleHeartbeat
        ) as error:  # many may have waited in the broker: they are no dead letters
            self._note_stale(envelope, error)
        except (ValueError, RefusedMessage) as error:
            is_news = True
            if self._admission is not None and isinstance(error, RefusedMessage):
                is_news = self._admission.note(envelope, error)
            self._tell_sender(error)
            if isinstance(error, RevokedCredential):
                is_news = False  # it is told, and ends
            if envelope.type == messages.HEARTBEAT and not is_news:
                self.taken.append(received)  # one every few seconds would push other letters out
                return
            sender = clean_text(envelope.source, chars_max=TEXT_MAX)
            self._log.warning(f"a message of {sender} was refused: {error}", source=sender)
            self._channel.bury(received.delivery, str(error))
            return
        self.taken.append(received)

    def _tell_sender(self, error: Exception) -> None:
        """Have a worker end of which nothing counts: it takes work away from those whose results do."""
        if isinstance(error, UnsignedMessage):
            self.has_unsigned = True
        if isinstance(error, InvalidCredential) and len(self.revoked) < UNKNOWN_MAX:
            self.revoked.add(error.key_id)

    def _take_result(self, message: ResultMessage, key: WorkerKey | None) -> None:
        """Check a result against the work that the store has; what is late or repeated is dropped."""
        attempt = (message.record_id, message.version)
        sent = self._sent.get(attempt)
        work = self._bus.assigned(*attempt) if sent is None else sent.work
        if work is None:
            self._check_record(message.record_id, "result")
        if work is None or (work.worker, work.delivery) != (message.assigned_to, message.delivery):
            record_id = clean_text(message.record_id, chars_max=TEXT_MAX)
            self._log.info(
                f"dropped a result of {record_id}: the store has no such work any more",
                record_id=record_id, version=message.version,
            )  # fmt: skip
            return
        if message.stage != work.stage:
            raise RefusedMessage(f"a result of {message.stage!r} for work of {work.stage!r}")
        check_stage(key, work.machine, work.stage)
        if attempt not in self.results:
            own = replace(message, worker=_name(message.worker, key))
            self.results[attempt] = (work, self._checker.output(work, own))

    def _take_saved(self, message: SavedMessage, key: WorkerKey | None) -> None:
        """Bytes for later attempts. Those of an attempt that is over count too: they were paid for."""
        machine = self._check_record(message.record_id, "saved value")
        check_stage(key, machine, message.stage)
        self.saved.append(message)

    def _check_record(self, record_id: str, what: str) -> str:
        """The machine of a record; what is of none here is perhaps taken away from those who have it."""
        found = self._database.rows(
            "SELECT machine FROM records WHERE id = :record_id", record_id=record_id
        )
        if not found:
            raise RefusedMessage(
                f"a {what} of {record_id[:100]!r}, which is no record here: two installations on one broker need two "
                "values of transport.prefix"
            )
        return str(found[0][0])

    def _take_returned(self, message: ReturnedMessage, key: WorkerKey | None) -> None:
        work = self._bus.assigned(message.record_id, message.version)
        if work is None:
            return
        check_stage(key, work.machine, work.stage)
        sent = self._sent.get((message.record_id, message.version))
        if message.loss is not None:
            self.returned.append((message, message.loss))
        elif sent is None:  # another coordinator's: it is assigned anew
            self.returned.append((message, Loss(worker="", has_begun=True, cause=LOST_WORKER)))
        elif sent.work.delivery == message.delivery and sent.number:
            self.redelivered.append(sent)

    def _note_stale(self, envelope: Envelope, error: StaleHeartbeat) -> None:
        if self._admission is not None and self._admission.note(envelope, error):
            sender = clean_text(envelope.source, chars_max=TEXT_MAX)
            self._log.warning(f"a heartbeat of {sender} does not count: {error}", source=sender)

    def _take_heartbeat(self, envelope: Envelope, key: WorkerKey | None) -> None:
        message = data_of(envelope, HeartbeatMessage)
        own = self._admission
        if key is None or own is None or own.is_news(envelope, key, message.worker):
            said_at = None if key is None else from_iso(envelope.time)
            self._hear(message, key, said_at)

    def _hear(
        self, message: HeartbeatMessage, key: WorkerKey | None, said_at: Micros | None
    ) -> None:
        own = replace(message, worker=_name(message.worker, key))
        if key is not None:
            mine = {
                runner
                for (machine, stage, _), runner in self._runners.items()
                if allows(key.stages, machine, stage)
            }
            own = replace(own, runners=[each for each in own.runners if each in mine])
        self.heard[own.worker] = Heard(own, said_at)
        self.holding[own.worker] = frozenset(own.holding), key
        now = self._ticks()
        for record_id, version, delivery in message.holding:
            sent = self._sent.get((record_id, version))
            if sent is None or sent.work.delivery != delivery:
                if len(self.unknown) < UNKNOWN_MAX:
                    self.unknown.add((record_id, version, delivery))
                continue
            if key is None or allows(key.stages, sent.work.machine, sent.work.stage):
                sent.heard_at = now


def _name(worker: str, key: WorkerKey | None) -> str:
    """A worker's name. With a credential its name is part of it, so that none can speak for another."""
    return worker if key is None else f"{key.name}/{worker}"
