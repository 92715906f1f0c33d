"""The worker's side of a transport: work comes from streams instead of the store, results go back the same way.

A worker without a database has a small one in memory, in which its work stands as always; a `Courier` fills it from
messages and empties it into messages. So there is one worker, and what holds for it (limits, confinement, fencing)
holds without a database too. What attempts read and leave is beside it, in `RemoteOutputs`.

A message is acknowledged after its result was: a worker that dies in between costs a second run, of which the
coordinator drops the result. Nothing here decides what a result means.
"""

import math
import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

import msgspec
from msgspec.structs import replace

from stateward import telemetry
from stateward.blobs import ArtifactStore
from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    InvalidRequest,
    StatewardError,
    TransportError,
    TransportFull,
)
from stateward.core.model import Event, Work
from stateward.storage.database import Database
from stateward.transport import Bus, WorkerInfo
from stateward.transport.channel import (
    Acknowledgements,
    Channel,
    MessageTooLarge,
    Received,
)
from stateward.transport.inbox import Outage, ToldSource
from stateward.transport.messages import (
    HEARTBEAT,
    RESULT,
    RETURNED,
    STOP,
    Envelope,
    HeartbeatMessage,
    Key,
    ResultMessage,
    StopMessage,
    WorkMessage,
    data_of,
)
from stateward.workers.remote_outputs import (
    Attempt,
    Given,
    Held,
    RemoteOutputs,
    Reporter,
    given_with,
)
from stateward.workers.result_messages import TOO_LARGE, ResultMessages

HOST_CHARS_MAX = 253  # as long as a name of a machine may be
RESULTS_MAX = 256  # that are published in one step


class Performer(Protocol):
    """The worker, as far as a courier needs it."""

    @property
    def info(self) -> WorkerInfo:
        """What it announces about itself."""

    @property
    def returned(self) -> int:
        """How often it has given work back."""

    def accept(self, work: Sequence[Work]) -> None:
        """Take work that is assigned to it."""

    def tend(self) -> None:
        """Begin with what its children can take now."""


class Poison(msgspec.Struct, frozen=True, gc=False):
    """A message that cannot be worked on, why, and what the coordinator is told of its attempt, if anything."""

    received: Received
    reason: str
    result: ResultMessage | None = None


class Coming:
    """The work that came at once, and the attempts whose place it takes."""

    def __init__(self) -> None:
        self.work: dict[Attempt, Work] = {}
        self.overtaken: list[Attempt] = []
        self.is_repeated = False
        """Whether another delivery of some of it is here already."""


class CourierConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker without a database reports. `shares_blobs`: coordinators reach its blob storage too."""

    heartbeat_s: float
    lease_s: float
    shares_blobs: bool = False


class Courier:
    """Messages in, work of the worker's own database out; results the other way."""

    def __init__(
        self,
        channel: Channel,
        inbox: ToldSource,
        config: CourierConfig,
        *,
        database: Database,
        outputs: RemoteOutputs,
        reporter: Reporter,
        artifacts: ArtifactStore,
        worker: Performer,
    ) -> None:
        self._channel = channel
        self._inbox = inbox
        self._config = config
        self._database = database
        self._bus = Bus(database)
        self._outputs = outputs
        self._held = outputs.held
        self._reporter = reporter
        self._artifacts = artifacts
        self._worker = worker
        self._messages = ResultMessages(worker.info.id, artifacts, shares_blobs=config.shares_blobs)
        self._log = telemetry.log("transport")
        self._outage = Outage(self._log)
        self._is_away = False  # the engine
        self._is_draining = False
        # When a worker that is told to end waits no longer for results to be sent: a lease after the first try that
        # failed. Coordinators that heard nothing for so long give the work to another, and drop what would still come.
        self._end_by = math.inf
        self._try_at = 0.0
        self._beat_at = 0.0
        self._announced: WorkerInfo | None = None
        self._returned = 0
        self._ended: list[Attempt] = []
        self._done: list[Received] = []  # of this turn, to be acknowledged
        self._acknowledgements = Acknowledgements(channel)
        self._poison: list[Poison] = []
        self._redelivered: list[Held] = []

    # The steps of a turn

    def prepare(self, ready: AbstractSet[int] | None = None) -> bool:
        """Give the worker what came. Never a reason for another turn: the worker starts it in this one."""
        found = self._inbox.take(ready)
        if found:
            self._accept(found)
        for message in self._inbox.take_told():
            if message.type == STOP:
                self._stop(message)
        return False

    def end(self, events: Sequence[Event]) -> None:
        """Take over how attempts ended, once the worker has written their results."""
        self._ended += [(each.record_id, each.version or 0) for each in events]

    def flush(self) -> None:
        """Publish the results that the worker has written, and the heartbeat when it is due."""
        if time.monotonic() >= self._try_at:
            self._tell()
        # Have the inbox wait for more, now that this turn has sent what it had: it is not in the way of that. While the
        # engine is away it is tried once in a turn, by what is to be sent.
        info = self._worker.info
        free = 0 if info.is_draining else info.slots - len(self._held)
        if not self._is_away:
            self._inbox.want(max(0, free))

    def _tell(self) -> None:
        try:
            self._beat()  # first: whatever else cannot be sent, this worker is there
            self._bury()
            self._report()
            self._return()
            self._return_redelivered()
            self._acknowledge()
        except (TransportError, ArtifactsUnreachable) as error:
            self._outage.note(error)
            self._try_at = time.monotonic() + self._outage.pause_s
            self._is_away = isinstance(error, TransportError)
            if self._is_draining:
                self._end_by = min(self._end_by, time.monotonic() + self._config.lease_s)
        else:
            self._outage.end()
            self._is_away = False
            self._end_by = math.inf

    def watched(self) -> Iterator[int]:
        """The descriptors to sleep on."""
        yield self._inbox.fileno()

    def wake_in(self) -> float:
        """Seconds until a heartbeat, the next try, or something of the inbox is due."""
        at = self._try_at if self._outage.is_on else self._beat_at
        at = min(at, max(self._try_at, self._acknowledgements.due_at))
        return min(max(0.0, at - time.monotonic()), self._inbox.wake_in())

    @property
    def is_at_hand(self) -> bool:
        """Whether a turn can do something for it now, without a message."""
        return bool(self._ended) and time.monotonic() >= self._try_at

    @property
    def is_idle(self) -> bool:
        """Whether all that was begun here is reported, or will not be: what takes results was away for too long."""
        return not self._ended or time.monotonic() >= self._end_by

    def drain(self) -> None:
        """Take nothing more."""
        self._is_draining = True
        self._inbox.stop()

    def close(self) -> None:
        """Say goodbye and give back what was not finished."""
        self._inbox.close()
        try:
            self._report()
            self._acknowledge(is_last=True)
            self._channel.release([each.received for each in self._held.values()])
            own = self._worker.info
            self._send_heartbeat(replace(own, is_draining=True, slots=0, inline_slots=0))
        except (TransportError, ArtifactsUnreachable) as error:
            # Then leases run out, with the same effect but later.
            if self._ended:
                self._log.warning(
                    f"ending with results that could not be sent: {len(self._ended)}; their work is given to another "
                    f"worker when its lease has run out: {error}"
                )
        self._channel.close()

    # Work in

    def _accept(self, received: Sequence[Received]) -> None:
        """Take what came, in one transaction; what cannot be worked on is settled with the next `flush`."""
        coming = Coming()
        for each in received:
            try:
                message = data_of(each.envelope, WorkMessage)
            except ValueError as error:
                self._poison.append(Poison(each, f"not work: {error}"))
                continue
            self._take(each, message, coming)
        work = list(coming.work.values())
        has_begun = not (coming.is_repeated or coming.overtaken)
        if has_begun:  # its child runs while its row is written, which nothing looks for before
            self._worker.accept(work)
            self._worker.tend()
        with self._database.transaction():
            if coming.overtaken:
                self._bus.withdraw(coming.overtaken)
            if coming.is_repeated:
                # Another delivery of the same attempt takes the place of the one before, which stops.
                self._bus.reassign(work)
            elif work:
                self._bus.send(work, told=self._worker.info.id)
        if not (
            has_begun or coming.is_repeated
        ):  # then it looks itself: it must stop something first
            self._worker.accept(work)

    def _take(self, received: Received, message: WorkMessage, coming: Coming) -> None:
        work = message.work
        attempt = (work.record_id, work.version)
        before = self._held.get(attempt)
        if self._channel.is_poison(received):
            # Work that was delivered too often is reported as failed.
            count = received.delivery.count
            reason = f"delivered {count} times without an answer"
            self._poison.append(
                Poison(received, reason, self._messages.given_up(work, times=count - 1))
            )
            return
        is_repeated = before is not None and before.work.delivery >= work.delivery
        if is_repeated or self._is_overtaken(work, coming):
            self._done.append(received)  # sent twice, and the first one is under way; or too late
            return
        if received.delivery.count > 1:
            self._redelivered.append(Held(received, work))
            return
        try:
            given = self._inputs(message)
        except (StatewardError, ValueError) as error:
            self._poison.append(Poison(received, f"its inputs cannot be used: {error}"))
            return
        coming.work[attempt] = replace(work, worker=self._worker.info.id)
        if before is not None:
            self._done.append(before.received)
            coming.is_repeated = True
        self._outputs.hold(Held(received, work), given)

    def _inputs(self, message: WorkMessage) -> Given:
        """What the attempt reads, where the worker looks for it."""
        work = message.work
        if message.document is not None and work.artifact is not None:
            self._artifacts.put_copy(work.artifact, message.document)
        for file in message.files:
            if file.data is not None:
                self._artifacts.put_copy(file.sha256, file.data)
        return given_with(message)

    def _stop(self, envelope: Envelope) -> None:
        """Stop attempts that are not wanted any more, as far as they are here: their processes are killed.

        Raises InvalidRequest where this worker is not wanted: what it has goes back with the end of its process.
        """
        try:
            message = data_of(envelope, StopMessage)
        except ValueError:
            return
        credential_id = self._reporter.credential_id
        if credential_id is None and message.refuses_unsigned:
            raise InvalidRequest(
                "coordinators refuse what this worker reports, because it has no credential; make one with "
                "`stateward key worker create`, and name its file in transport.credential"
            )
        if credential_id in message.revoked:
            raise InvalidRequest(
                f"the credential {credential_id} of this worker is revoked, or coordinators do not know it; "
                "make another one with `stateward key worker create`"
            )
        for record_id, version, delivery in message.attempts:
            held = self._held.get((record_id, version))
            if held is not None and held.work.delivery == delivery:
                self._bus.withdraw([(record_id, version)])
                self._done.append(self._outputs.drop((record_id, version)).received)

    def _is_overtaken(self, work: Work, coming: Coming) -> bool:
        """Whether a later attempt at the record is here; earlier ones are dropped, for the record went on without them.

        Their results would be dropped by the coordinator, and here they would take the place of a later one's inputs.
        """
        version = self._outputs.version_of(work.record_id)
        if version is None or version >= work.version:
            return version is not None and version > work.version
        key = (work.record_id, version)
        coming.overtaken.append(key)
        coming.work.pop(key, None)
        self._done.append(self._outputs.drop(key).received)
        return False

    def _bury(self) -> None:
        """Move what cannot be worked on to the dead letters, each once it is reported."""
        while self._poison:
            each = self._poison[0]
            if each.result is not None:
                self._reporter.send(RESULT, [each.result])
            self._channel.bury(each.received.delivery, each.reason)
            del self._poison[0]

    def _acknowledge(self, *, is_last: bool = False) -> None:
        """Settle the messages of what was reported, some at a time."""
        self._acknowledgements.add(self._done)
        self._done = []
        self._acknowledgements.send(is_last=is_last)

    # Results out

    def _report(self) -> None:
        """Publish the results; what fails is published again."""
        while self._ended:
            some = self._ended[:RESULTS_MAX]
            self._publish(some)
            del self._ended[: len(some)]

    def _publish(self, attempts: Sequence[Attempt]) -> None:
        """Send the results of these attempts, as many as there are at once."""
        ended = {each: self._held[each].work for each in attempts if each in self._held}
        messages = [
            self._messages.of(work, self._outputs.written(each)) for each, work in ended.items()
        ]
        try:
            self._reporter.send(RESULT, messages)
        except (MessageTooLarge, ArtifactError, TransportFull):
            for work, message in zip(ended.values(), messages, strict=True):
                self._send_alone(work, message)
        self._done += [self._outputs.drop(each).received for each in ended]

    def _send_alone(self, work: Work, message: ResultMessage) -> None:
        """Send one result; one that is too large for the engine becomes a failure that says so."""
        try:
            self._reporter.send(RESULT, [message])
        except (MessageTooLarge, ArtifactError) as error:
            failed = self._messages.failed(work, TOO_LARGE, str(error), is_retryable=False)
            self._reporter.send(RESULT, [failed])

    def _return(self) -> None:
        """Give back what the worker has returned: unstarted work to the stream, lost work to the coordinator."""
        returned = self._worker.returned
        if returned == self._returned:
            return
        for each in self._bus.orphaned_work(limit=RESULTS_MAX):
            attempt = (each.work.record_id, each.work.version)
            held = self._held.get(attempt)
            if held is not None and each.loss is None:
                self._channel.release([held.received])
            elif held is not None and each.loss is not None:
                self._reporter.send(RETURNED, [self._messages.returned(held.work, each.loss)])
                self._done.append(held.received)
            self._bus.withdraw([attempt])
            if held is not None:
                self._outputs.drop(attempt)
        self._returned = returned

    def _return_redelivered(self) -> None:
        """Have sent anew what another worker had before: what that one saved since is not in the message."""
        while self._redelivered:
            received, work = self._redelivered[0].received, self._redelivered[0].work
            self._reporter.send(RETURNED, [self._messages.returned(work, None)])
            self._done.append(received)
            del self._redelivered[0]

    def _beat(self) -> None:
        """Extend all leases and tell the coordinators who is here; at once when that has changed much."""
        info = self._worker.info
        before = self._announced
        is_changed = (
            before is None
            or info.is_draining != before.is_draining
            or info.slots < before.slots
            or info.slots >= 2 * before.slots
        )
        if is_changed or time.monotonic() >= self._beat_at:
            self._channel.extend([each.received for each in self._held.values()])
            self._send_heartbeat(info)
            self._announced = info
            self._beat_at = time.monotonic() + self._config.heartbeat_s

    def _send_heartbeat(self, info: WorkerInfo) -> None:
        holding: list[Key] = [
            (record_id, version, each.work.delivery)
            for (record_id, version), each in self._held.items()
        ]
        message = HeartbeatMessage(
            worker=info.id,
            host=info.host.partition("/")[0][:HOST_CHARS_MAX],
            runners=list(info.runners),
            slots=info.slots,
            inline_slots=info.inline_slots,
            is_draining=info.is_draining,
            holding=holding,
        )
        self._reporter.send(HEARTBEAT, [message], subject=info.id)
