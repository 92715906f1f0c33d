"""The coordinator's side of a transport: a worker to the coordinator, whose jobs run wherever messages reach.

The coordinator assigns work to the relay as to any worker, in the store. The relay publishes it, and takes results in:
it checks them, and settles them in the transaction of the turn by deleting the work row that they name. That row is
what makes a result count. Whatever an engine loses, repeats or delays, the store still says what is to be done.

One thread drives it like a worker, in the same three steps: `prepare` reads messages, `settle` writes inside the
transaction, `committed` acknowledges and publishes once that is durable.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec
from msgspec.structs import replace

from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    SecretUnreadable,
    StoreError,
    TransportError,
    TransportFull,
)
from stateward.core.model import ERASED_REST, PRIORITY_NORMAL, Event, Micros, Work
from stateward.engine.admission import Admission, RefusedMessage, StaleHeartbeat, check_stage
from stateward.engine.remote_results import ResultChecker
from stateward.storage.database import TOPIC_WORK, Database
from stateward.storage.outputs import Output, Outputs, result_event
from stateward.storage.store import Store
from stateward.storage.worker_keys import WorkerKey
from stateward.telemetry import Log
from stateward.transport import VIA_TRANSPORT, Bus, WorkerInfo, messages
from stateward.transport.channel import Blobs, Channel, Received
from stateward.transport.credentials import allows
from stateward.transport.inbox import MessageSource, Outage
from stateward.transport.messages import (
    Envelope,
    FileReference,
    HeartbeatMessage,
    ResultMessage,
    ReturnedMessage,
    SavedMessage,
    WorkMessage,
    data_of,
    encode,
    priority_class,
    results_stream,
    work_stream,
)
from stateward.workers.fetching import LOOK_S, Fetchable, Fetcher

RELAY = "relay-"
MESSAGES_MAX = 1024  # that are leased ahead of the turn that handles them
LOOK_EVERY_S = 1.0  # for work that was withdrawn, or sent by another coordinator: a notification may have been lost
SENT_MAX = 100_000  # attempts under way behind one relay

Attempt = tuple[str, int]


class Sent(msgspec.Struct, kw_only=True, gc=False):
    """Work that the store has assigned to this relay.

    `number` is its place among all that was published here; 0: not published yet. `heard_at` is when a worker last
    said that it has it; 0: never.
    """

    work: Work
    stream: str
    number: int = 0
    sent_at: float = 0.0
    heard_at: float = 0.0
    losses: int = 0


class RelayConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a relay works. `ageing_s` by machine is that of the coordinator.

    `runners` are those of each stage, by (machine, stage, source type).
    """

    heartbeat_s: float
    lease_s: float
    deliveries_max: int = 3
    prefix: str = "stateward"
    inline_bytes_max: int = 256 * 1024
    ageing_s: Mapping[str, float] = {}
    runners: Mapping[tuple[str, str, str], str] = {}


def lost_work(
    sent: Sequence[Sent],
    *,
    now: float,
    lease_s: float,
    is_empty: Callable[[str], bool],
    gone_at: float = -math.inf,
) -> list[Sent]:
    """Published work that its stream no longer has, as far as can be told.

    No worker has said for a lease that it has it, and its stream is empty, or it was published before `gone_at`, when
    the engine was found to have lost a stream; or none has for two, and workers had later
    work of the same stream: an engine that still has it would have delivered it to another by then. Wrong at worst: the
    attempt runs twice, and one result is dropped.
    """
    silent = [
        each for each in sent if each.number and max(each.sent_at, each.heard_at) <= now - lease_s
    ]
    if not silent:
        return []
    newest: dict[str, int] = {}
    for each in sent:
        if each.heard_at:
            newest[each.stream] = max(newest.get(each.stream, 0), each.number)
    empty = {stream: is_empty(stream) for stream in dict.fromkeys(each.stream for each in silent)}
    return [
        each
        for each in silent
        if empty[each.stream]
        or each.sent_at < gone_at <= now - lease_s
        or (
            max(each.sent_at, each.heard_at) <= now - 2 * lease_s
            and newest.get(each.stream, 0) > each.number
        )
    ]


def window(workers: Sequence[WorkerInfo]) -> tuple[int, int]:
    """How much work one relay may have under way, in processes and inline.

    It is what the workers behind the transport announce, shared among all relays; where jobs are quick they announce
    more than they can run at once. No more than that is sent: the timeout of a stage counts while its work waits.
    """
    relays = max(1, sum(each.id.startswith(RELAY) for each in workers))
    able = [each for each in workers if each.via == VIA_TRANSPORT and not each.is_draining]
    slots = sum(each.slots for each in able)
    inline = sum(each.inline_slots for each in able)
    return -(-slots // relays), -(-inline // relays)


class Documents(Blobs, Fetchable, Protocol):
    """Blob storage that documents are read from, fetched ahead where it is on the network."""


class Relay:
    """All work of one coordinator that runs behind a transport."""

    def __init__(
        self,
        info: WorkerInfo,
        config: RelayConfig,
        *,
        channel: Channel,
        inbox: MessageSource,
        database: Database,
        checker: ResultChecker,
        artifacts: Documents,
        clock: Callable[[], Micros],
        log: Log,
        ticks: Callable[[], float] = time.monotonic,
        admission: Admission | None = None,
    ) -> None:
        self.name = info.id
        self._admission = admission
        self._info = info
        self._config = config
        self._channel = channel
        self._inbox = inbox
        self._database = database
        self._bus = Bus(database)
        self._outputs = Outputs(database)
        self._store = Store(database)
        self._fetcher = Fetcher(artifacts)
        self._checker = checker
        self._artifacts = artifacts
        self._clock = clock
        self._ticks = ticks
        self._log = log
        self._wakeup = database.wakeup(TOPIC_WORK)
        self._outage = Outage(log, ticks=ticks)
        self._storage = Outage(log, ticks=ticks)
        self._sealed = Outage(log, ticks=ticks)
        self._results_stream = results_stream(config.prefix)
        self._losses, self._gone_at = channel.losses, -math.inf
        self._stood_since: Micros | None = None
        self._incoming: deque[Received] = deque()
        self._sent: dict[Attempt, Sent] = {}
        self._has_unsent = False
        self._count = 0
        # What this turn settles; forgotten when it is durable.
        self._taken: list[Received] = []
        self._unacked: list[Received] = []
        self._results: dict[Attempt, tuple[Work, Output]] = {}
        self._saved: list[SavedMessage] = []
        self._returned: list[ReturnedMessage] = []
        self._heard: dict[str, HeartbeatMessage] = {}
        self._look_at = self._beat_at = self._next_beat_at = self._try_at = self._fetch_at = 0.0

    # The three steps of a turn

    def prepare(self) -> bool:
        """Take messages in and check them; whether there are results to settle. Outside of any transaction."""
        if self._wakeup.clear() or self._ticks() >= self._look_at:
            self._look_at = self._ticks() + LOOK_EVERY_S
            self._look()
        self._incoming += self._inbox.take()
        try:
            while self._incoming:
                self._take(self._incoming[0])
                self._incoming.popleft()
            self._sealed.end()
        except ArtifactsUnreachable:
            pass  # the rest waits here for a later turn
        except (
            SecretUnreadable
        ) as error:  # it waits too: a worker is not to blame for a key file that is missing here
            self._sealed.note(error)
        self._inbox.want(max(0, MESSAGES_MAX - len(self._incoming)))
        return bool(self._results)

    def settle(self, *, tell: Callable[[Sequence[Event]], object] | None = None) -> bool:
        """Write what `prepare` took in, inside the transaction of the coordinator; whether there were results."""
        with self._database.transaction():
            if self._ticks() >= self._beat_at:
                self._stand_still()
            if self._saved:
                self._drop_erased()
            with self._database.as_worker():
                return self._settle(tell)

    def _settle(self, tell: Callable[[Sequence[Event]], object] | None) -> bool:
        self._write_heartbeats()
        for each in self._saved:
            self._outputs.save_value(
                each.record_id, each.stage, each.name, each.data, at=self._clock()
            )
        for lost in self._returned:
            if (work := self._bus.assigned(lost.record_id, lost.version)) is not None:
                own = replace(work, worker=lost.assigned_to, delivery=lost.delivery)
                self._bus.return_lost(own, lost.loss)
        return self._write_results(tell) if self._results else False

    def _drop_erased(self) -> None:
        """Saved values of records that were erased since do not come back, also if their message is sent again."""
        among, given = self._database.among("id", [each.record_id for each in self._saved])
        found = self._database.rows(
            f"SELECT id FROM records WHERE {among} AND rest = :rest", rest=ERASED_REST, **given
        )
        erased = {str(record_id) for (record_id,) in found}
        self._saved = [each for each in self._saved if each.record_id not in erased]

    def committed(self) -> None:
        """The transaction is durable: forget what it settled. If it failed, the next `settle` writes it again."""
        self._beat_at = self._next_beat_at
        for attempt in self._results:
            self._sent.pop(attempt, None)
        self._unacked += self._taken
        self._taken = []
        self._results.clear()
        for each in self._returned:
            self._sent.pop((each.record_id, each.version), None)
        self._saved.clear()
        self._returned.clear()
        self._heard.clear()

    def flush(self) -> None:
        """Acknowledge what is settled and publish what is assigned; what fails is tried again after a pause."""
        if self._ticks() < self._try_at:
            return
        try:
            if self._unacked:
                self._channel.ack(self._unacked)
                self._unacked = []
            self._publish()
            if self._outage.is_on:
                self._channel.depth(
                    self._results_stream
                )  # nothing may have been sent: is it there?
                self._outage.end()
        except TransportError as error:
            self._outage.note(error)
            self._try_at = self._ticks() + self._outage.pause_s
        except ArtifactsUnreachable as error:  # of a derived file
            self._storage.note(error)
            self._try_at = self._ticks() + self._storage.pause_s

    def _stand_still(self) -> None:
        """Move the deadlines of work on that no worker can have got: its time does not run while an engine is away.

        In steps of a heartbeat. What runs at a worker is stopped there when its time is up.
        """
        since, now = self._stood_since, self._clock()
        is_cut_off = self._outage.is_on or not (self._info.slots or self._info.inline_slots)
        stuck = [key for key, each in self._sent.items() if is_cut_off or not each.number]
        self._stood_since = now if stuck else None
        if since is not None and now > since:
            # Also those that got away since: part of that time they stood still.
            self._store.postpone(stuck or list(self._sent), by=now - since)

    def accept(self, work: Sequence[Work]) -> None:
        """Take work that is durably assigned, as far as it is this relay's and new."""
        for each in work:
            known = self._sent.get((each.record_id, each.version))
            is_new = known is None or known.work.delivery != each.delivery
            if each.worker == self.name and is_new:
                self._sent[each.record_id, each.version] = Sent(
                    work=each, stream=self._stream_of(each)
                )
                self._has_unsent = True

    # For the loop and the coordinator

    @property
    def info(self) -> WorkerInfo:
        """What it announces about itself."""
        return self._info

    def load(self) -> dict[tuple[str, bool], int]:
        """How much work it has, by (its name, whether inline); what it is about to settle is not counted."""
        under_way = [each for key, each in self._sent.items() if key not in self._results]
        inline = sum(each.work.is_inline for each in under_way)
        return {(self.name, False): len(under_way) - inline, (self.name, True): inline}

    @property
    def finishing(self) -> list[str]:
        """The records whose attempts `settle` will write."""
        return [record_id for record_id, _ in self._results]

    @property
    def in_flight(self) -> int:
        """How many attempts are under way."""
        return len(self._sent)

    @property
    def is_due(self) -> bool:
        """Whether `settle` has something to write now."""
        return bool(self._taken or self._results) or self._ticks() >= self._beat_at

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way behind the transport."""
        return not self._sent

    def watched(self) -> Iterator[int]:
        """The descriptors to sleep on."""
        yield self._inbox.fileno()
        yield self._wakeup.fileno()

    def wake_in(self) -> float:
        """Seconds until a heartbeat, a look at the store or another try is due."""
        at = min(self._beat_at, self._look_at)
        if self._fetcher.is_busy:
            return LOOK_S
        return max(0.0, (min(at, self._try_at) if self._outage.is_on else at) - self._ticks())

    def drain(self) -> None:
        """Nothing more is to be assigned; results go on coming in."""
        if not self._info.is_draining:
            self._info = replace(self._info, is_draining=True)
            self._beat_at = self._next_beat_at = 0.0

    def close(self) -> None:
        """Sign off. What is under way goes to another coordinator, which publishes it again."""
        self._inbox.close()
        self._wakeup.close()
        with suppress(StoreError):  # then the lease expires, with the same effect but later
            self._bus.return_all(self.name)
            self._bus.remove_worker(self.name)
        self._fetcher.close()
        self._channel.close()

    # Messages in

    def _take(self, received: Received) -> None:
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
            if self._admission is not None and isinstance(error, RefusedMessage):
                self._admission.note(envelope, error)
            self._log.warning(f"a message was refused: {error}", source=received.envelope.source)
            self._channel.bury(received.delivery, str(error))
            return
        self._taken.append(received)

    def _take_result(self, message: ResultMessage, key: WorkerKey | None) -> None:
        """Check a result against the work that the store has; what is late or repeated is dropped."""
        attempt = (message.record_id, message.version)
        sent = self._sent.get(attempt)
        work = self._bus.assigned(*attempt) if sent is None else sent.work
        if work is None or (work.worker, work.delivery) != (message.assigned_to, message.delivery):
            self._log.info(
                "dropped a result: the store has no such work any more",
                record_id=message.record_id, version=message.version,
            )  # fmt: skip
            return
        if message.stage != work.stage:
            raise RefusedMessage(f"a result of {message.stage!r} for work of {work.stage!r}")
        check_stage(key, work.machine, work.stage)
        if attempt not in self._results:
            own = replace(message, worker=_name(message.worker, key))
            self._results[attempt] = (work, self._checker.output(work, own))

    def _take_saved(self, message: SavedMessage, key: WorkerKey | None) -> None:
        """Bytes for later attempts. Those of an attempt that is over count too: they were paid for."""
        found = self._database.rows(
            "SELECT machine FROM records WHERE id = :record_id", record_id=message.record_id
        )
        if not found:
            raise RefusedMessage(
                f"a saved value of {message.record_id[:100]!r}, which is no record"
            )
        check_stage(key, str(found[0][0]), message.stage)
        self._saved.append(message)

    def _take_returned(self, message: ReturnedMessage, key: WorkerKey | None) -> None:
        work = self._bus.assigned(message.record_id, message.version)
        if work is not None:
            check_stage(key, work.machine, work.stage)
            self._returned.append(message)

    def _note_stale(self, envelope: Envelope, error: StaleHeartbeat) -> None:
        if self._admission is not None and self._admission.note(envelope, error):
            self._log.warning(f"a heartbeat does not count: {error}", source=envelope.source)

    def _take_heartbeat(self, envelope: Envelope, key: WorkerKey | None) -> None:
        message = data_of(envelope, HeartbeatMessage)
        own = self._admission
        if key is None or own is None or own.is_news(envelope, key, message.worker):
            self._hear(message, key)

    def _hear(self, message: HeartbeatMessage, key: WorkerKey | None) -> None:
        own = replace(message, worker=_name(message.worker, key))
        if key is not None:
            mine = {
                runner
                for (machine, stage, _), runner in self._config.runners.items()
                if allows(key.stages, machine, stage)
            }
            own = replace(own, runners=[each for each in own.runners if each in mine])
        self._heard[own.worker] = own
        now = self._ticks()
        for record_id, version, delivery in message.holding:
            sent = self._sent.get((record_id, version))
            if sent is None or sent.work.delivery != delivery:
                continue
            if key is None or allows(key.stages, sent.work.machine, sent.work.stage):
                sent.heard_at = now

    def _look(self) -> None:
        """Compare with the store: forget what was withdrawn, find what others assigned here and what got lost."""
        assigned = self._bus.assigned_work(self.name, limit=SENT_MAX)
        present = {(each.record_id, each.version) for each in assigned}
        for attempt in [each for each in self._sent if each not in present]:
            del self._sent[attempt]
        self.accept(assigned)
        if self._outage.is_on:
            return
        if self._channel.losses != self._losses:
            self._losses, self._gone_at = self._channel.losses, self._ticks()
        try:
            lost = lost_work(
                list(self._sent.values()),
                now=self._ticks(),
                lease_s=self._config.lease_s,
                is_empty=lambda stream: not self._channel.depth(stream),
                gone_at=self._gone_at,
            )
        except TransportError as error:
            self._outage.note(error)
            return
        for each in lost:
            self._send_again(each)

    def _send_again(self, sent: Sent) -> None:
        """Publish work again that its stream has lost; what was lost too often is a failed attempt."""
        work = sent.work
        sent.losses += 1
        if sent.losses >= self._config.deliveries_max:
            self._results[work.record_id, work.version] = (
                work,
                self._checker.lost(work, self.name, times=sent.losses),
            )
            return
        self._log.warning(
            "sent again: its stream has lost it", record_id=work.record_id, version=work.version
        )
        sent.number = 0
        self._has_unsent = True

    # Into the store

    def _write_results(self, tell: Callable[[Sequence[Event]], object] | None) -> bool:
        pairs = list(self._results.values())
        # Deleting the work comes first: it is the check that it is still assigned under this delivery, and locks it.
        is_ours = self._bus.finish([work for work, _ in pairs])
        outputs = [output for (_, output), is_own in zip(pairs, is_ours, strict=True) if is_own]
        seals = self._outputs.write(outputs) if outputs else []
        events = [
            result_event(each.result, seal)
            for each, seal in zip(outputs, seals, strict=True)
            if seal is not None
        ]
        if events:
            (tell or self._bus.report)(events)
        return True

    def _write_heartbeats(self) -> None:
        """Announce this relay and the workers that were heard from; with them its slots follow."""
        for message in self._heard.values():
            if message.is_draining and not message.slots:
                self._bus.remove_worker(message.worker)
            else:
                self._bus.heartbeat(self._remote(message))
        if not self._heard and self._ticks() < self._beat_at:
            return
        self._next_beat_at = self._ticks() + self._config.heartbeat_s
        workers = self._bus.workers()
        slots, inline = window(workers)
        names = {name for each in workers if each.via == VIA_TRANSPORT for name in each.runners}
        before = self._info
        self._info = replace(
            before,
            seen_at=self._clock(),
            slots=slots,
            inline_slots=inline,
            runners=tuple(sorted(names)),
        )
        self._bus.heartbeat(self._info)
        self._bus.request_work()

    def _remote(self, message: HeartbeatMessage) -> WorkerInfo:
        now = self._clock()
        return WorkerInfo(
            id=message.worker,
            host="",
            pid=0,
            life="",
            runners=tuple(message.runners),
            slots=message.slots,
            inline_slots=message.inline_slots,
            started_at=now,
            seen_at=now,
            is_draining=message.is_draining,
            via=VIA_TRANSPORT,
        )

    # Messages out

    def _publish(self) -> None:
        """Publish what is assigned and not published yet, in the order of the queue, stream by stream."""
        if not self._has_unsent:
            return
        waiting: dict[str, list[Sent]] = {}
        for each in sorted(self._sent.values(), key=lambda each: each.work.rank):
            if not each.number:
                waiting.setdefault(each.stream, []).append(each)
        self._has_unsent = False
        for group in waiting.values():
            away = [each for each in group if not self._is_here(each.work)]
            self._has_unsent |= bool(away)
            group[:] = [each for each in group if each not in away]
        for stream, group in waiting.items():
            try:
                self._channel.publish(stream, [self._envelope(each.work) for each in group])
            except (TransportError, ArtifactsUnreachable) as error:
                self._has_unsent = True
                if isinstance(error, TransportFull):
                    continue  # its consumers are behind: with a later turn
                raise
            for each in group:
                self._count += 1
                each.number, each.sent_at, each.heard_at = self._count, self._ticks(), 0.0

    def _is_here(self, work: Work) -> bool:
        """Whether the document can be read without waiting; if not, it is fetched from now on."""
        if self._ticks() < self._fetch_at or not self._fetcher.is_here(work.artifact):
            return False
        try:
            if work.artifact is not None and not self._artifacts.is_local:
                self._fetcher.take(work.artifact)
        except ArtifactsUnreachable as error:
            self._storage.note(error)
            self._fetch_at = self._ticks() + self._storage.pause_s
            return False
        except ArtifactError:
            pass  # the worker finds that too, which is a failed attempt with its code
        self._storage.end()
        return True

    def _stream_of(self, work: Work) -> str:
        own = self._config
        ageing_s = own.ageing_s.get(work.machine, 0.0)
        name = priority_class(work, ageing_s=ageing_s, normal=PRIORITY_NORMAL)
        return work_stream(work.machine, work.stage, name, prefix=own.prefix)

    def _envelope(self, work: Work) -> Envelope:
        return encode(
            messages.WORK,
            self._message(work),
            id_=f"{work.record_id}-{work.version}-{work.delivery}",
            source=f"/stateward/coordinators/{self.name}",
            subject=work.record_id,
            at=self._clock(),
            rank=work.rank,
        )

    def _message(self, work: Work) -> WorkMessage:
        return WorkMessage(
            work=work,
            document=self._document(work),
            items={
                stage: [
                    msgspec.Raw(data.encode())
                    for data in self._outputs.item_chunks(work.record_id, version)
                ]
                for stage, version in work.inputs.items()
            },
            files=[
                FileReference(
                    name=each.file.name,
                    media_type=each.file.media_type,
                    size=each.file.size,
                    sha256=each.file.sha256,
                    stage=each.stage,
                    data=self._small(each.file.sha256),
                )
                for each in self._outputs.files(work.record_id, work.inputs)
            ],
            saved=self._outputs.saved_values(work.record_id, work.stage),
        )

    def _document(self, work: Work) -> bytes | None:
        return None if work.artifact is None else self._small(work.artifact)

    def _small(self, digest: str) -> bytes | None:
        """The bytes of an artifact that is small enough to travel in a message; else it stays in blob storage."""
        try:
            path = self._artifacts.path(digest)
            if path.stat().st_size > self._config.inline_bytes_max:
                return None
            return path.read_bytes()
        except (ArtifactError, OSError):
            return (
                None  # the worker finds that it is missing, which is a failed attempt with its code
            )


def _name(worker: str, key: WorkerKey | None) -> str:
    """A worker's name. With a credential its name is part of it, so that none can speak for another."""
    return worker if key is None else f"{key.name}/{worker}"
