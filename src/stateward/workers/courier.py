"""The worker's side of a transport: work comes from streams instead of the store, results go back the same way.

A worker without a database has a small one in memory, with the same tables, in which it finds its work and writes its
results as always; a `Courier` fills it from messages and empties it into messages. So there is one worker, and what
holds for it (limits, confinement, one transaction per result) holds without a database too.

A message is acknowledged after its result was: a worker that dies in between costs a second run, of which the
coordinator drops the result. Nothing here decides what a result means.
"""

import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from stateward import telemetry
from stateward.blobs import ArtifactStore, pieces_of
from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    StatewardError,
    StoreUnreachable,
    TransportError,
)
from stateward.core.files import DerivedFile
from stateward.core.model import Event, Micros, Work
from stateward.storage.database import Database, Row
from stateward.storage.outputs import DERIVED_FILES, ITEM_CHUNKS, SAVED_VALUES, Outputs
from stateward.transport import Bus, WorkerInfo
from stateward.transport.channel import Channel, MessageTooLarge, Received
from stateward.transport.credentials import WorkerCredential, sign
from stateward.transport.inbox import Inbox, Outage
from stateward.transport.messages import (
    HEARTBEAT,
    RESULT,
    RETURNED,
    SAVED,
    Envelope,
    FileReference,
    HeartbeatMessage,
    ItemChunk,
    Key,
    ResultMessage,
    ReturnedMessage,
    SavedMessage,
    WorkMessage,
    data_of,
    encode,
    results_stream,
)

RESULTS_MAX = 256  # that are published in one step
LOST = "WORKER_LOST"
TOO_LARGE = "RESULT_TOO_LARGE"
FORGET = (
    "DELETE FROM outputs WHERE record_id = :record_id",
    "DELETE FROM item_chunks WHERE record_id = :record_id",
    "DELETE FROM derived_files WHERE record_id = :record_id",
    "DELETE FROM saved_values WHERE record_id = :record_id",
)


class Held(msgspec.Struct, frozen=True, gc=False):
    """Work that this worker has, and the lease on its message. `work` is as the coordinator sent it."""

    received: Received
    work: Work


class CourierConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker without a database reports. `shares_blobs`: coordinators reach its blob storage too."""

    heartbeat_s: float
    shares_blobs: bool = False


class Reporter:
    """What a worker sends to the coordinators."""

    def __init__(
        self,
        channel: Channel,
        *,
        worker: str,
        prefix: str,
        clock: Callable[[], Micros],
        credential: WorkerCredential | None = None,
    ) -> None:
        self._channel = channel
        self._credential = credential
        self._worker = worker
        self._stream = results_stream(prefix)
        self._clock = clock
        self._count = 0

    def send(self, type_: str, messages: Sequence[object], *, subject: str = "") -> None:
        """Publish messages; on return the engine has them."""
        self._channel.publish(
            self._stream, [self._envelope(type_, each, subject) for each in messages]
        )

    def _envelope(self, type_: str, data: object, subject: str) -> Envelope:
        self._count += 1
        envelope = encode(
            type_,
            data,
            id_=f"{self._worker}-{self._count}",
            source=f"/stateward/workers/{self._worker}",
            subject=getattr(data, "record_id", subject),
            at=self._clock(),
        )
        return envelope if self._credential is None else sign(envelope, self._credential)


class RemoteOutputs(Outputs):
    """The outputs of a worker without a database: values that runners save are sent before they count as saved."""

    def __init__(self, database: Database, reporter: Reporter) -> None:
        super().__init__(database)
        self._reporter = reporter
        self.held: dict[tuple[str, int], Held] = {}

    def save_value(self, record_id: str, stage: str, name: str, data: bytes, *, at: Micros) -> None:
        """Send bytes for all attempts of a stage; the engine has them on return. The first value under a name wins."""
        held = next(
            each
            for (own, _), each in self.held.items()
            if own == record_id and each.work.stage == stage
        )
        message = SavedMessage(
            record_id=record_id,
            version=held.work.version,
            delivery=held.work.delivery,
            assigned_to=held.work.worker,
            stage=stage,
            name=name,
            data=data,
        )
        try:
            self._reporter.send(SAVED, [message])
        except TransportError as error:  # the loop waits for it, as for a database that is away
            raise StoreUnreachable(str(error)) from error
        super().save_value(record_id, stage, name, data, at=at)


class Courier:
    """Messages in, rows of the worker's own database out; results the other way."""

    def __init__(
        self,
        channel: Channel,
        inbox: Inbox,
        config: CourierConfig,
        *,
        database: Database,
        outputs: RemoteOutputs,
        reporter: Reporter,
        artifacts: ArtifactStore,
        info: Callable[[], WorkerInfo],
        clock: Callable[[], Micros],
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
        self._info = info
        self._clock = clock
        self._outage = Outage(telemetry.log("transport"))
        self._try_at = 0.0
        self._beat_at = 0.0
        self._announced: WorkerInfo | None = None

    # The steps of a turn

    def prepare(self) -> bool:
        """Put the work that came into the worker's database; whether there was any."""
        found = self._inbox.take()
        for each in found:
            self._accept(each)
        self._ask()
        return bool(found)

    def flush(self) -> None:
        """Publish the results that the worker has written, and the heartbeat when it is due."""
        if time.monotonic() < self._try_at:
            return
        try:
            self._beat()  # first: whatever else cannot be sent, this worker is there
            while self._report():
                pass
            self._return()
        except (TransportError, ArtifactsUnreachable) as error:
            self._outage.note(error)
            self._try_at = time.monotonic() + self._outage.pause_s
        else:
            self._outage.end()
        self._ask()

    def watched(self) -> Iterator[int]:
        """The descriptors to sleep on."""
        yield self._inbox.fileno()

    def wake_in(self) -> float:
        """Seconds until a heartbeat, or the next try, is due."""
        at = self._try_at if self._outage.is_on else self._beat_at
        return max(0.0, at - time.monotonic())

    @property
    def is_idle(self) -> bool:
        """Whether all that was begun here is reported."""
        return not self._bus.depth()

    def drain(self) -> None:
        """Take nothing more."""
        self._inbox.stop()

    def close(self) -> None:
        """Say goodbye and give back what was not finished."""
        self._inbox.close()
        try:
            self._report()
            self._channel.release([each.received for each in self._held.values()])
            self._send_heartbeat(replace(self._info(), is_draining=True, slots=0, inline_slots=0))
        except TransportError:
            pass  # then leases run out, with the same effect but later
        self._channel.close()

    # Work in

    def _ask(self) -> None:
        info = self._info()
        free = 0 if info.is_draining else info.slots - len(self._held)
        self._inbox.want(max(0, free))

    def _accept(self, received: Received) -> None:
        try:
            message = data_of(received.envelope, WorkMessage)
        except ValueError as error:
            self._channel.bury(received.delivery, f"not work: {error}")
            return
        work = message.work
        attempt = (work.record_id, work.version)
        before = self._held.get(attempt)
        if self._channel.is_poison(received):
            self._give_up(received, work)
            return
        if before is not None and before.work.delivery >= work.delivery:
            self._channel.ack([received])  # sent twice: the first one is under way
            return
        if self._is_overtaken(work):
            self._channel.ack([received])
            return
        try:
            self._store_inputs(message)
        except (StatewardError, ValueError) as error:
            self._channel.bury(received.delivery, f"its inputs cannot be used: {error}")
            return
        own = replace(work, worker=self._info().id)
        with self._database.transaction():
            # Another delivery of the same attempt takes the place of the one before, which stops.
            (self._bus.send if before is None else self._bus.reassign)([own])
        if before is not None:
            self._channel.ack([before.received])
        self._held[attempt] = Held(received, work)

    def _is_overtaken(self, work: Work) -> bool:
        """Whether a later attempt at the record is here; earlier ones are dropped, for the record went on without them.

        Their results would be dropped by the coordinator, and here they would take the place of a later one's inputs.
        """
        others = [key for key in self._held if key[0] == work.record_id and key[1] != work.version]
        for key in [each for each in others if each[1] < work.version]:
            self._bus.withdraw([key])
            self._channel.ack([self._held.pop(key).received])
        return any(version > work.version for _, version in others)

    def _store_inputs(self, message: WorkMessage) -> None:
        """What the attempt reads, where the worker looks for it."""
        work = message.work
        if message.document is not None and work.artifact is not None:
            self._artifacts.put_copy(work.artifact, message.document)
        at = self._clock()
        chunks: list[Row] = [
            (work.record_id, work.inputs[stage], number, 1, bytes(data).decode())
            for stage, given in message.items.items()
            if stage in work.inputs
            for number, data in enumerate(given)
        ]
        saved: list[Row] = [
            (work.record_id, work.stage, name, b64encode(data).decode(), at)
            for name, data in message.saved.items()
        ]
        files: list[Row] = [
            (
                work.record_id, work.inputs[each.stage], each.name, number, each.stage, each.media_type, each.size,
                each.sha256,
            )
            for number, each in enumerate(message.files)
            if each.stage in work.inputs
        ]  # fmt: skip
        for each in message.files:
            if each.data is not None:
                self._artifacts.put_copy(each.sha256, each.data)
        with self._database.transaction():
            for table, rows in (
                (ITEM_CHUNKS, chunks),
                (SAVED_VALUES, saved),
                (DERIVED_FILES, files),
            ):
                if rows:
                    self._database.insert_new(table, rows)

    def _give_up(self, received: Received, work: Work) -> None:
        """Report work that was delivered too often as failed: it may be what ends its workers."""
        count = received.delivery.count
        reason = f"delivered {count} times without an answer"
        self._reporter.send(
            RESULT,
            [
                self._failed(
                    work, LOST, f"its worker was lost {count - 1} times while it ran {work.stage}"
                )
            ],
        )
        self._channel.bury(received.delivery, reason)

    # Results out

    def _report(self) -> bool:
        """Publish some of the results; whether there may be more. One transaction: what fails is published again."""
        with self._database.transaction():
            found = self._bus.next_events(limit=RESULTS_MAX)
            for each in found:
                if each.event is not None:
                    self._publish(each.event)
            if found:
                self._bus.settle([each.seq for each in found])
        return len(found) == RESULTS_MAX

    def _return(self) -> None:
        """Give back what the worker has returned: unstarted work to the stream, lost work to the coordinator."""
        for each in self._bus.orphaned_work(limit=RESULTS_MAX):
            work = each.work
            held = self._held.get((work.record_id, work.version))
            if held is not None and each.loss is None:
                self._channel.release([held.received])
            elif held is not None and each.loss is not None:
                own = held.work
                self._reporter.send(
                    RETURNED,
                    [
                        ReturnedMessage(
                            record_id=own.record_id,
                            version=own.version,
                            delivery=own.delivery,
                            assigned_to=own.worker,
                            stage=own.stage,
                            loss=each.loss,
                        )
                    ],
                )
                self._channel.ack([held.received])
            self._bus.withdraw([(work.record_id, work.version)])
            if held is not None:
                del self._held[work.record_id, work.version]
                self._forget(work.record_id)

    def _publish(self, event: Event) -> None:
        attempt = (event.record_id, event.version or 0)
        held = self._held.get(attempt)
        if held is None:
            self._forget(event.record_id)
            return
        try:
            self._reporter.send(RESULT, [self._message(held.work)])
        except (MessageTooLarge, ArtifactError) as error:
            self._reporter.send(
                RESULT, [self._failed(held.work, TOO_LARGE, str(error), is_retryable=False)]
            )
        self._channel.ack([held.received])
        del self._held[attempt]
        self._forget(event.record_id)

    def _message(self, work: Work) -> ResultMessage:
        result = self._outputs.result(work.record_id, work.version)
        if result is None:
            return self._failed(work, LOST, "its result is gone")
        chunks = self._database.rows(
            "SELECT count, data FROM item_chunks WHERE record_id = :record_id AND version = :version ORDER BY chunk",
            record_id=work.record_id,
            version=work.version,
        )
        return ResultMessage(
            record_id=work.record_id,
            version=work.version,
            delivery=work.delivery,
            assigned_to=work.worker,
            stage=work.stage,
            worker=result.worker,
            outcome=result.outcome,
            count=result.count,
            facts=result.facts,
            error_code=result.error_code,
            error_message=result.error_message,
            is_retryable=result.is_retryable,
            log=result.log,
            items=[
                ItemChunk(count=int(str(count)), data=msgspec.Raw(str(data).encode()))
                for count, data in chunks
            ],
            files=[
                self._file(work.stage, each.file)
                for each in self._outputs.files(work.record_id, {work.stage: work.version})
            ],
        )

    def _file(self, stage: str, file: DerivedFile) -> FileReference:
        data = None
        if not self._config.shares_blobs:
            data = b"".join(pieces_of(self._artifacts.path(file.sha256)))
        return FileReference(
            name=file.name,
            media_type=file.media_type,
            size=file.size,
            sha256=file.sha256,
            stage=stage,
            data=data,
        )

    def _failed(
        self, work: Work, code: str, message: str, *, is_retryable: bool = True
    ) -> ResultMessage:
        return ResultMessage(
            record_id=work.record_id,
            version=work.version,
            delivery=work.delivery,
            assigned_to=work.worker,
            stage=work.stage,
            worker=self._info().id,
            error_code=code,
            error_message=message,
            is_retryable=is_retryable,
        )

    def _forget(self, record_id: str) -> None:
        """Delete what is stored of a record, unless it has other work here."""
        if any(own == record_id for own, _ in self._held):
            return
        for sql in FORGET:
            self._database.run(sql, record_id=record_id)

    def _beat(self) -> None:
        """Extend all leases and tell the coordinators who is here; at once when that has changed much."""
        info = self._info()
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
            runners=list(info.runners),
            slots=info.slots,
            inline_slots=info.inline_slots,
            is_draining=info.is_draining,
            holding=holding,
        )
        self._reporter.send(HEARTBEAT, [message], subject=info.id)
