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
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial

import msgspec
from msgspec.structs import replace

from stateward.core.errors import (
    ArtifactsUnreachable,
    SecretUnreadable,
    StoreError,
    TransportError,
)
from stateward.core.model import ERASED_REST, Event, Micros, Work, clean_text
from stateward.engine.admission import TEXT_MAX, Admission
from stateward.engine.relay_intake import Heard, Intake, Runners
from stateward.engine.relay_publisher import Documents, Publisher, PublisherConfig
from stateward.engine.remote_results import ResultChecker
from stateward.engine.sent_work import Attempt, Sent, lost_work, publishable, window
from stateward.storage.database import Database
from stateward.storage.outputs import Outputs, result_event
from stateward.storage.store import Store
from stateward.storage.worker_keys import WorkerKey
from stateward.telemetry import Log
from stateward.transport import VIA_TRANSPORT, Bus, WorkerInfo, messages, work_keys
from stateward.transport.channel import Acknowledgements, Channel, Received
from stateward.transport.credentials import allows
from stateward.transport.inbox import MessageSource, Outage
from stateward.transport.messages import (
    Key,
    StopMessage,
    encode,
    results_stream,
)
from stateward.workers.fetching import LOOK_S
from stateward.workers.routes import Routes
from stateward.workers.work_calls import WorkCalls

MESSAGES_MAX = 1024  # that are leased ahead of the turn that handles them
LOOK_EVERY_S = 1.0  # for work that was withdrawn, or sent by another coordinator: a notification may have been lost
STOPPED_AT_ONCE = 500  # attempts in one message
SENT_MAX = 100_000  # attempts under way behind one relay


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
    runners: Runners = {}
    routes: Routes = {}


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
        self._info = info
        self._config = config
        self._channel = channel
        self._inbox = inbox
        self._database = database
        self._bus = Bus(database)
        self._outputs = Outputs(database)
        self._store = Store(database)
        self._checker = checker
        self._clock = clock
        self._ticks = ticks
        self._log = log
        self.calls = WorkCalls(database, info.id)
        self._outage = Outage(log, ticks=ticks)
        self._storage = Outage(log, ticks=ticks)
        self._sealed = Outage(log, ticks=ticks)
        self._results_stream = results_stream(config.prefix)
        self._losses, self._gone_at = channel.losses, -math.inf
        self._stood_since: Micros | None = None
        self._incoming: deque[Received] = deque()
        self._sent: dict[Attempt, Sent] = {}
        self._has_unsent = False
        self._intake = Intake(
            self._sent,
            config.runners,
            channel=channel,
            database=database,
            checker=checker,
            log=log,
            admission=admission,
            ticks=ticks,
        )
        self._publisher = Publisher(
            info.id,
            PublisherConfig(
                prefix=config.prefix,
                inline_bytes_max=config.inline_bytes_max,
                ageing_s=config.ageing_s,
            ),
            channel=channel,
            database=database,
            artifacts=artifacts,
            storage=self._storage,
            clock=clock,
            ticks=ticks,
        )
        self._acknowledgements = Acknowledgements(channel, ticks=ticks)
        self._unwanted: set[Key] = set()
        self._holding: dict[str, frozenset[Key]] = {}
        self._look_at = self._beat_at = self._next_beat_at = self._try_at = 0.0

    # The three steps of a turn

    def prepare(self, ready: AbstractSet[int] | None = None) -> bool:
        """Take messages in and check them; whether there are results to settle. Outside of any transaction."""
        if self.calls.take(None) or self._ticks() >= self._look_at:
            self._look_at = self._ticks() + LOOK_EVERY_S
            self._look()
        self._incoming += self._inbox.take(ready)
        try:
            while self._incoming:
                self._intake.take(self._incoming[0])
                self._incoming.popleft()
            self._sealed.end()
        except ArtifactsUnreachable:
            pass  # the rest waits here for a later turn
        except (
            SecretUnreadable
        ) as error:  # it waits too: a worker is not to blame for a key file that is missing here
            self._sealed.note(error)
        for each in self._intake.redelivered:
            # What that one saved since is sent along.
            self._send_again(each, "the worker that had it was lost")
        self._intake.redelivered.clear()
        return bool(self._intake.results)

    def settle(
        self,
        *,
        tell: Callable[[Sequence[Event]], object] | None = None,
        is_expected: bool = False,
    ) -> bool:
        """Write what `prepare` took in, inside the transaction of the coordinator; whether there were results.

        With `is_expected` the transaction fails where work was given to another, and then this is called again without.
        """
        with self._database.transaction():
            if self._ticks() >= self._beat_at:
                self._stand_still()
            if self._intake.saved:
                self._drop_erased()
            with self._database.as_worker():
                return self._settle(tell, is_expected=is_expected)

    def _settle(
        self, tell: Callable[[Sequence[Event]], object] | None, *, is_expected: bool
    ) -> bool:
        self._write_heartbeats()
        for each in self._intake.saved:
            self._outputs.save_value(
                each.record_id, each.stage, each.name, each.data, at=self._clock()
            )
        for lost, loss in self._intake.returned:
            if (work := self._bus.assigned(lost.record_id, lost.version)) is not None:
                own = replace(work, worker=lost.assigned_to, delivery=lost.delivery)
                self._bus.return_lost(own, loss)
        if not self._intake.results:
            return False
        return self._write_results(tell, is_expected=is_expected)

    def _drop_erased(self) -> None:
        """Saved values of records that were erased since do not come back, also if their message is sent again."""
        among, given = self._database.among("id", [each.record_id for each in self._intake.saved])
        found = self._database.rows(
            f"SELECT id FROM records WHERE {among} AND rest = :rest", rest=ERASED_REST, **given
        )
        erased = {str(record_id) for (record_id,) in found}
        self._intake.saved = [each for each in self._intake.saved if each.record_id not in erased]

    def committed(self) -> None:
        """The transaction is durable: forget what it settled. If it failed, the next `settle` writes it again."""
        self._beat_at = self._next_beat_at
        self._acknowledgements.add(self._intake.clear())

    def flush(self) -> None:
        """Acknowledge what is settled and publish what is assigned; what fails is tried again after a pause."""
        if self._ticks() >= self._try_at:
            self._send()
        self._publisher.forget()
        # Only now: while this turn has something to send, nothing else is to be in the way. While the engine is away it
        # is tried once in a turn, by what is to be sent.
        if not self._outage.is_on:
            self._inbox.want(max(0, MESSAGES_MAX - len(self._incoming)))

    def _send(self) -> None:
        try:
            if self._has_unsent:  # first: workers wait for it
                wanted = publishable(list(self._sent.values()), self._config.routes)
                is_all = self._publisher.publish(wanted)
                self._has_unsent = not is_all or len(wanted) < len(self._sent)
            self._acknowledgements.send()
            self._stop_unwanted()
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
                    work=each, stream=self._publisher.stream_of(each)
                )
                self._has_unsent = True

    # For the loop and the coordinator

    @property
    def info(self) -> WorkerInfo:
        return self._info

    def load(self) -> dict[tuple[str, bool], int]:
        under_way = [each for key, each in self._sent.items() if key not in self._intake.results]
        inline = sum(each.work.is_inline for each in under_way)
        return {(self.name, False): len(under_way) - inline, (self.name, True): inline}

    @property
    def finishing(self) -> list[str]:
        """The records whose attempts `settle` will write."""
        return [record_id for record_id, _ in self._intake.results]

    @property
    def owners(self) -> dict[str, str]:
        """Who submitted the records whose attempts `settle` will write, as the store says it."""
        return {
            work.record_id: work.owner for work, _ in self._intake.results.values() if work.owner
        }

    @property
    def under_way(self) -> list[str]:
        """The records whose attempts are under way."""
        return [record_id for record_id, _ in self._sent]

    @property
    def in_flight(self) -> int:
        """How many attempts are under way."""
        return len(self._sent)

    @property
    def is_due(self) -> bool:
        """Whether `settle` has something to write now."""
        return bool(self._intake.taken or self._intake.results) or self._ticks() >= self._beat_at

    @property
    def is_at_hand(self) -> bool:
        """Whether a turn can do something for it now, without a message or a call."""
        return bool(self._incoming) or (self._has_unsent and self._ticks() >= self._try_at)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way behind the transport."""
        return not self._sent

    def watched(self) -> Iterator[int]:
        """The descriptors to sleep on."""
        yield self._inbox.fileno()
        yield from self.calls.filenos()

    def wake_in(self) -> float:
        """Seconds until a heartbeat, a look at the store or another try is due."""
        at = min(self._beat_at, self._look_at)
        if self._publisher.is_fetching:
            return LOOK_S
        at = min(at, self._try_at) if self._outage.is_on else at
        at = min(at, max(self._try_at, self._acknowledgements.due_at))
        return min(max(0.0, at - self._ticks()), self._inbox.wake_in())

    def drain(self) -> None:
        """Nothing more is to be assigned; results go on coming in."""
        if not self._info.is_draining:
            self._info = replace(self._info, is_draining=True)
            self._beat_at = self._next_beat_at = 0.0

    def close(self) -> None:
        """Sign off. What is under way goes to another coordinator, which publishes it again."""
        self._inbox.close()
        self.calls.close()
        with suppress(StoreError):  # then the lease expires, with the same effect but later
            self._bus.return_all(self.name)
            self._bus.remove_worker(self.name)
        self._publisher.close()
        with suppress(TransportError):  # then it comes again, and is dropped
            self._acknowledgements.send(is_last=True)
        self._channel.close()

    def _look(self) -> None:
        """Compare with the store: forget what was withdrawn, find what others assigned here and what got lost."""
        assigned = self._bus.assigned_work(self.name, limit=SENT_MAX)
        present = {(each.record_id, each.version) for each in assigned}
        for attempt in [each for each in self._sent if each not in present]:
            sent = self._sent.pop(attempt)
            if sent.number:
                self._unwanted.add((*attempt, sent.work.delivery))
        self.accept(assigned)
        self._look_up_unknown()
        self._note_holders()
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
            self._send_again(each, "its stream no longer has it")

    def _look_up_unknown(self) -> None:
        """Stop what workers say they have and the store does not: they have missed it, or a coordinator was lost."""
        unknown, self._intake.unknown = self._intake.unknown, set()
        if unknown:
            wanted = self._bus.deliveries([record_id for record_id, _, _ in unknown])
            self._unwanted |= unknown - wanted

    def _note_holders(self) -> None:
        """Write down which worker has which work, as far as that has changed since its last heartbeat."""
        heard, self._intake.holding = self._intake.holding, {}
        for worker, (holding, key) in heard.items():
            before = self._holding.pop(worker, frozenset())
            if holding:
                self._holding[worker] = holding

            def is_let(work: Work, key: WorkerKey | None = key) -> bool:
                return key is None or allows(key.stages, work.machine, work.stage)

            note = partial(self._bus.note_holder, worker, at=self._clock(), is_let=is_let)
            note(before - holding, is_holding=False)
            note(holding - before)

    def _stop_unwanted(self) -> None:
        """Tell all workers once which attempts and credentials are not wanted any more.

        Who misses it is told after a heartbeat.
        """
        revoked, self._intake.revoked = sorted(self._intake.revoked), set()
        is_unsigned, self._intake.has_unsigned = self._intake.has_unsigned, False
        while self._unwanted or revoked or is_unsigned:
            some = sorted(self._unwanted)[:STOPPED_AT_ONCE]
            self._unwanted.difference_update(some)
            message = encode(
                messages.STOP,
                StopMessage(attempts=some, revoked=revoked, refuses_unsigned=is_unsigned),
                id_=f"{self.name}-{self._clock()}",
                source=f"/stateward/coordinators/{self.name}",
                subject="",
                at=self._clock(),
            )
            revoked, is_unsigned = [], False
            with suppress(TransportError):  # nothing depends on it
                self._channel.broadcast(message)

    def _send_again(self, sent: Sent, reason: str) -> None:
        """Publish work again, with what the store has for it now; what was lost too often is a failed attempt."""
        work = sent.work
        sent.losses += 1
        if sent.losses >= self._config.deliveries_max:
            self._intake.results[work.record_id, work.version] = (
                work,
                self._checker.lost(work, self.name, times=sent.losses, reason=reason),
            )
            return
        self._log.warning(
            f"{work.record_id} is sent again: {reason}",
            record_id=work.record_id,
            version=work.version,
        )
        sent.number = 0
        self._has_unsent = True

    # Into the store

    def _write_results(
        self, tell: Callable[[Sequence[Event]], object] | None, *, is_expected: bool
    ) -> bool:
        pairs = list(self._intake.results.values())
        # What the next stages of these records read besides: it costs nothing to ask for it now.
        saved = self._outputs.ask_saved_values_of([work.record_id for work, _ in pairs])
        # Deleting the work is the check that it is still assigned under this delivery, and locks it.
        work = work_keys([work for work, _ in pairs])
        outputs = [output for _, output in pairs]
        is_ours, seals = self._outputs.write_finished(outputs, work, is_expected=is_expected)
        own = [output for output, is_own in zip(outputs, is_ours, strict=True) if is_own]
        self._publisher.remember(own, saved)
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
        known = self._bus.workers() if self._intake.heard else []
        last = {each.id: each.seen_at for each in known}
        started = {each.id: each.started_at for each in known}
        for name, heard in self._intake.heard.items():
            # Sent again to another coordinator than the one that it was counted by.
            if heard.said_at is not None and heard.said_at <= last.get(name, 0):
                continue
            if heard.message.is_draining and not heard.message.slots:
                self._bus.remove_worker(name)
            else:
                self._bus.heartbeat(self._remote(heard, started_at=started.get(name)))
        if not self._intake.heard and self._ticks() < self._beat_at:
            return
        self._next_beat_at = self._ticks() + self._config.heartbeat_s
        workers = self._bus.workers()
        for gone in self._holding.keys() - {each.id for each in workers}:
            del self._holding[gone]
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

    def _remote(self, heard: Heard, *, started_at: Micros | None) -> WorkerInfo:
        message, now = heard.message, self._clock()
        return WorkerInfo(
            id=message.worker,
            host=clean_text(message.host, chars_max=TEXT_MAX),
            pid=0,
            life="",
            runners=tuple(message.runners),
            slots=message.slots,
            inline_slots=message.inline_slots,
            started_at=now if started_at is None else started_at,
            seen_at=now if heard.said_at is None else heard.said_at,
            is_draining=message.is_draining,
            via=VIA_TRANSPORT,
        )
