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
    TransportFull,
)
from stateward.core.files import DerivedFile, SavedFile
from stateward.core.model import Event, Micros, Work
from stateward.storage.database import Database, Row
from stateward.storage.outputs import (
    DERIVED_FILES,
    ITEM_CHUNKS,
    SAVED_VALUES,
    AttemptResult,
    Outputs,
)
from stateward.transport import Bus, WorkerInfo
from stateward.transport.channel import Channel, MessageTooLarge, Received
from stateward.transport.credentials import WorkerCredential, sign
from stateward.transport.inbox import Inbox, Outage
from stateward.transport.messages import (
    HEARTBEAT,
    RESULT,
    RETURNED,
    SAVED,
    STOP,
    Envelope,
    FileReference,
    HeartbeatMessage,
    ItemChunk,
    Key,
    ResultMessage,
    ReturnedMessage,
    SavedMessage,
    StopMessage,
    WorkMessage,
    data_of,
    encode,
    results_stream,
)

RESULTS_MAX = 256  # that are published in one step
LOST = "WORKER_LOST"
TOO_LARGE = "RESULT_TOO_LARGE"
FORGET = (
    "DELETE FROM outputs WHERE ",
    "DELETE FROM item_chunks WHERE ",
    "DELETE FROM derived_files WHERE ",
    "DELETE FROM saved_values WHERE ",
)


class Held(msgspec.Struct, frozen=True, gc=False):
    """Work that this worker has, and the lease on its message. `work` is as the coordinator sent it."""

    received: Received
    work: Work


class Poison(msgspec.Struct, frozen=True, gc=False):
    """A message that cannot be worked on, why, and what the coordinator is told of its attempt, if anything."""

    received: Received
    reason: str
    result: ResultMessage | None = None


class Coming:
    """What is written for the work that came at once: rows of inputs, work that is here, attempts that it ends."""

    def __init__(self) -> None:
        self.chunks: list[Row] = []
        self.saved: list[Row] = []
        self.files: list[Row] = []
        self.work: dict[tuple[str, int], Work] = {}
        self.overtaken: list[tuple[str, int]] = []


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
        self._versions: dict[str, int] = {}  # of a record only the latest attempt is held

    def hold(self, held: Held) -> None:
        """This worker has an attempt."""
        self.held[held.work.record_id, held.work.version] = held
        self._versions[held.work.record_id] = held.work.version

    def drop(self, attempt: tuple[str, int]) -> Held:
        """It no longer has it."""
        self._versions.pop(attempt[0], None)
        return self.held.pop(attempt)

    def version_of(self, record_id: str) -> int | None:
        """Which attempt at a record it has, if any."""
        return self._versions.get(record_id)

    def save_value(self, record_id: str, stage: str, name: str, data: bytes, *, at: Micros) -> None:
        """Send bytes for all attempts of a stage; the engine has them on return. The first value under a name wins."""
        held = self.held.get((record_id, self._versions.get(record_id, -1)))
        if (
            held is None or held.work.stage != stage
        ):  # withdrawn: its process is about to be stopped
            return
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
        self._ended: list[Event] = []
        self._done: list[Received] = []  # to be acknowledged
        self._poison: list[Poison] = []

    # The steps of a turn

    def prepare(self) -> bool:
        """Put the work that came into the worker's database; whether there was any."""
        found = self._inbox.take()
        if found:
            self._accept(found)
        for told in self._inbox.take_told():
            if told.type == STOP:
                self._stop(told)
        self._ask()
        return bool(found)

    def end(self, events: Sequence[Event]) -> None:
        """Take over how attempts ended, once the worker has written their results."""
        self._ended += events

    def flush(self) -> None:
        """Publish the results that the worker has written, and the heartbeat when it is due."""
        if time.monotonic() < self._try_at:
            return
        try:
            self._beat()  # first: whatever else cannot be sent, this worker is there
            self._bury()
            self._report()
            self._return()
            self._acknowledge()
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
        return not self._ended

    def drain(self) -> None:
        """Take nothing more."""
        self._inbox.stop()

    def close(self) -> None:
        """Say goodbye and give back what was not finished."""
        self._inbox.close()
        try:
            self._report()
            self._acknowledge()
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
        inputs = (
            (ITEM_CHUNKS, coming.chunks),
            (SAVED_VALUES, coming.saved),
            (DERIVED_FILES, coming.files),
        )
        with self._database.transaction():
            if coming.overtaken:
                self._bus.withdraw(coming.overtaken)
            for table, rows in inputs:
                if rows:
                    self._database.insert_new(table, rows)
            if coming.work:
                # Another delivery of the same attempt takes the place of the one before, which stops.
                self._bus.reassign(list(coming.work.values()))

    def _take(self, received: Received, message: WorkMessage, coming: "Coming") -> None:
        work = message.work
        attempt = (work.record_id, work.version)
        before = self._held.get(attempt)
        if self._channel.is_poison(received):
            self._poison.append(self._given_up(received, work))
            return
        is_repeated = before is not None and before.work.delivery >= work.delivery
        if is_repeated or self._is_overtaken(work, coming):
            self._done.append(received)  # sent twice, and the first one is under way; or too late
            return
        try:
            self._add_inputs(message, coming)
        except (StatewardError, ValueError) as error:
            self._poison.append(Poison(received, f"its inputs cannot be used: {error}"))
            return
        coming.work[attempt] = replace(work, worker=self._info().id)
        if before is not None:
            self._done.append(before.received)
        self._outputs.hold(Held(received, work))

    def _stop(self, told: Envelope) -> None:
        """Stop attempts that are not wanted any more, as far as they are here: their processes are killed."""
        try:
            message = data_of(told, StopMessage)
        except ValueError:
            return
        for record_id, version, delivery in message.attempts:
            held = self._held.get((record_id, version))
            if held is not None and held.work.delivery == delivery:
                self._bus.withdraw([(record_id, version)])
                self._done.append(self._outputs.drop((record_id, version)).received)
                self._forget([record_id])

    def _is_overtaken(self, work: Work, coming: "Coming") -> bool:
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

    def _add_inputs(self, message: WorkMessage, coming: "Coming") -> None:
        """What the attempt reads, where the worker looks for it."""
        work = message.work
        if message.document is not None and work.artifact is not None:
            self._artifacts.put_copy(work.artifact, message.document)
        for file in message.files:
            if file.data is not None:
                self._artifacts.put_copy(file.sha256, file.data)
        at = self._clock()
        coming.chunks += [
            (work.record_id, work.inputs[stage], number, 1, bytes(data).decode())
            for stage, given in message.items.items()
            if stage in work.inputs
            for number, data in enumerate(given)
        ]
        coming.saved += [
            (work.record_id, work.stage, name, b64encode(data).decode(), at)
            for name, data in message.saved.items()
        ]
        coming.files += [
            (
                work.record_id, work.inputs[each.stage], each.name, number, each.stage, each.media_type, each.size,
                each.sha256,
            )
            for number, each in enumerate(message.files)
            if each.stage in work.inputs
        ]  # fmt: skip

    def _given_up(self, received: Received, work: Work) -> "Poison":
        """Work that was delivered too often is reported as failed: it may be what ends its workers."""
        count = received.delivery.count
        said = f"its worker was lost {count - 1} times while it ran {work.stage}"
        return Poison(
            received,
            f"delivered {count} times without an answer",
            self._failed(work, LOST, said),
        )

    def _bury(self) -> None:
        """Move what cannot be worked on to the dead letters, each once it is reported."""
        while self._poison:
            each = self._poison[0]
            if each.result is not None:
                self._reporter.send(RESULT, [each.result])
            self._channel.bury(each.received.delivery, each.reason)
            del self._poison[0]

    def _acknowledge(self) -> None:
        """Settle the messages of what was reported, all in one step."""
        if self._done:
            self._channel.ack(self._done)
            self._done = []

    # Results out

    def _report(self) -> None:
        """Publish the results; what fails is published again."""
        while self._ended:
            some = self._ended[:RESULTS_MAX]
            self._publish(some)
            del self._ended[: len(some)]

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
                self._done.append(held.received)
            self._bus.withdraw([(work.record_id, work.version)])
            if held is not None:
                self._outputs.drop((work.record_id, work.version))
                self._forget([work.record_id])

    def _publish(self, events: Sequence[Event]) -> None:
        """Send the results of these attempts, as many as there are at once."""
        attempts = [(each.record_id, each.version or 0) for each in events]
        ended = {each: self._held[each] for each in attempts if each in self._held}
        work = [each.work for each in ended.values()]
        messages = self._messages(work) if work else []
        try:
            self._reporter.send(RESULT, messages)
        except (MessageTooLarge, ArtifactError, TransportFull):
            for own, message in zip(work, messages, strict=True):
                self._send_alone(own, message)
        self._done += [each.received for each in ended.values()]
        for attempt in ended:
            self._outputs.drop(attempt)
        self._forget([record_id for record_id, _ in attempts])

    def _send_alone(self, work: Work, message: ResultMessage) -> None:
        """Send one result; one that is too large for the engine becomes a failure that says so."""
        try:
            self._reporter.send(RESULT, [message])
        except (MessageTooLarge, ArtifactError) as error:
            failed = self._failed(work, TOO_LARGE, str(error), is_retryable=False)
            self._reporter.send(RESULT, [failed])

    def _messages(self, work: Sequence[Work]) -> list[ResultMessage]:
        records = [each.record_id for each in work]
        results = self._outputs.results_of(records)
        chunks = self._outputs.counted_chunks_of(records)
        files = self._outputs.files_of(
            {each.record_id: {each.stage: each.version} for each in work}
        )
        return [
            self._message(
                each,
                results.get((each.record_id, each.version)),
                chunks.get((each.record_id, each.version), []),
                files.get(each.record_id, []),
            )
            for each in work
        ]

    def _message(
        self,
        work: Work,
        result: AttemptResult | None,
        chunks: Sequence[tuple[int, str]],
        files: Sequence[SavedFile],
    ) -> ResultMessage:
        if result is None:
            return self._failed(work, LOST, "its result is gone")
        try:
            references = [self._file(work.stage, each.file) for each in files]
        except ArtifactError as error:
            return self._failed(work, TOO_LARGE, str(error), is_retryable=False)
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
                ItemChunk(count=count, data=msgspec.Raw(data.encode())) for count, data in chunks
            ],
            files=references,
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

    def _forget(self, record_ids: Sequence[str]) -> None:
        """Delete what is stored of records, unless they have other work here."""
        over = [
            each for each in dict.fromkeys(record_ids) if self._outputs.version_of(each) is None
        ]
        if over:
            condition, given = self._database.among("record_id", over)
            for sql in FORGET:
                self._database.run(sql + condition, **given)

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
