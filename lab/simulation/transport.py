"""Histories over a faulty transport: the engine drops, repeats, delays, reorders, is cut off and goes back in time.

The store, the coordinator, the scheduler and the relay are the real ones; workers are made of messages alone, and die
or fall asleep. Time is a number. A history is a function of its seed, so one that goes wrong can be run again.

After the faults everything heals, and must then end: each record is in a final status, each attempt that completed has
one result, whose item says for which record and stage it was made, and the independent checker finds nothing in the
history as it is exported.

    python -m lab.simulation.transport 1000
"""

import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from typing import Any

import msgspec

from lab.checker import Seen, check
from lab.memory_broker import MemoryBroker, MemoryEngine
from lab.simulation.late_refusals import LateRefusals
from lab.simulation.run import exported
from lab.simulation.shapes import plain
from lab.simulation.witness import kept_marks, kept_work
from stateward.core.errors import StoreUnreachable, TransportUnreachable
from stateward.core.model import SECOND, Event, Record, to_iso
from stateward.definition.declare import declare
from stateward.engine.coordinator import Coordinator, Submission
from stateward.engine.coordinator_config import CoordinatorConfig
from stateward.engine.foresight import LOOK_MAX
from stateward.engine.registry import register
from stateward.engine.relay import Relay, RelayConfig
from stateward.engine.remote_results import ResultChecker
from stateward.engine.scheduler import Scheduler
from stateward.storage.outputs import Outputs
from stateward.storage.sqlite import MEMORY
from stateward.storage.store import Store
from stateward.telemetry import Log
from stateward.transport import RELAY, Bus, WorkerInfo
from stateward.transport.channel import Channel, Received
from stateward.transport.engine import Delivery, Parcel
from stateward.transport.messages import (
    CLASSES,
    HEARTBEAT,
    RESULT,
    HeartbeatMessage,
    ItemChunk,
    ResultMessage,
    WorkMessage,
    data_of,
    encode,
    results_stream,
    work_stream,
)
from stateward.workers.sdk import Limits

START = 1_700_000_000 * SECOND
STEP_S = 0.5
LEASE_S = 3.0
STEPS = 60
ROUND_STEPS = 2  # a coordinator looks for everything once a second
HEAL_STEPS_MAX = 3000
RECORDS = 4
WORKERS = 3
RUNNERS = ("letters.read", "letters.sort")
FAULTS = (
    "drop",
    "duplicate",
    "delay",
    "reorder",
    "partition",
    "rollback",
    "flush",
    "kill",
    "sleep",
    "restart",
)

MACHINE = declare(
    {
        "machine": "letters",
        "version": 1,
        "prefix": "LT",
        "initial": "received",
        "states": {
            "received": {"kind": "ready"},
            "reading": {"kind": "running"},
            "read": {"kind": "ready"},
            "sorting": {"kind": "running"},
            "sorted": {"kind": "terminal"},
            "error": {"kind": "failed"},
        },
        "stages": {
            "read": {"from": "received", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error",
                     "timeout_s": 60, "produces": "words"},
            "sort": {"from": "read", "running": "sorting", "outcomes": {"done": "sorted"}, "on_error": "error",
                     "timeout_s": 60, "produces": "words"},
        },
        "retry": {"max_retries": 50, "backoff_s": [1]},
    }
)  # fmt: skip
PLAIN = plain(MACHINE)


class Silent(Log):
    """A log that writes nothing."""

    def _write(self, level: str, event: str, facts: object) -> None: ...


class FaultyEngine(MemoryEngine):
    """A consumer whose messages are lost, repeated, held back or mixed, as long as `World.faults` says."""

    def __init__(self, world: "World", consumer: str) -> None:
        super().__init__(world.broker, consumer=consumer, lease_s=LEASE_S)
        self._world = world
        self.is_cut_off = False

    def _reach(self) -> None:
        if self.is_cut_off:
            raise TransportUnreachable("cut off")

    def publish(self, stream: str, parcels: Sequence[Parcel]) -> None:
        """Append messages, or not, or twice, or later; the caller is told that all is well."""
        self._reach()
        for each in parcels:
            fault = self._world.drawn("drop", "duplicate", "delay")
            if fault == "delay":
                self._world.later.append((stream, each))
            elif fault != "drop":
                super().publish(stream, [each] * (2 if fault == "duplicate" else 1))

    def receive(self, streams: Sequence[str], *, limit: int, wait_s: float) -> list[Delivery]:
        """Lease messages, in any order."""
        self._reach()
        found = super().receive(streams, limit=limit, wait_s=0.0)
        if self._world.drawn("reorder"):
            self._world.random.shuffle(found)
        return found

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Remove messages."""
        self._reach()
        super().ack(deliveries)

    def extend(self, deliveries: Sequence[Delivery]) -> None:
        """Start leases again."""
        self._reach()
        super().extend(deliveries)


class DirectInbox:
    """The messages of a channel, without a thread."""

    def __init__(self, channel: Channel, streams: Sequence[str]) -> None:
        self._channel, self._streams, self._wanted = channel, streams, 100

    def fileno(self) -> int:
        return -1

    def wake_in(self) -> float:
        return math.inf

    def want(self, count: int) -> None:
        self._wanted = count

    def take(self, ready: AbstractSet[int] | None = None) -> list[Received]:
        try:
            return self._channel.receive(self._streams, limit=self._wanted, wait_s=0.0)
        except TransportUnreachable:
            return []

    def close(self) -> None: ...


class MessageWorker:
    """A worker made of messages: it holds work for some steps and then says that it is done."""

    def __init__(self, world: "World", name: str) -> None:
        self.name, self._world = name, world
        self.engine = FaultyEngine(world, name)
        self._channel = Channel(self.engine, clock=world.clock)
        self._held: dict[str, tuple[Received, WorkMessage, int]] = {}
        self.asleep_until = 0
        self._streams = [
            work_stream("letters", stage, each) for stage in ("read", "sort") for each in CLASSES
        ]

    def turn(self) -> None:
        if self._world.step < self.asleep_until:
            return
        try:
            self._beat()
            for each in self._channel.receive(
                self._streams, limit=2 - min(2, len(self._held)) or 1, wait_s=0.0
            ):
                message = data_of(each.envelope, WorkMessage)
                ready_at = self._world.step + self._world.random.randint(0, 4)
                self._held[str(each.delivery.token)] = (each, message, ready_at)
            for token, (each, message, ready_at) in list(self._held.items()):
                if ready_at <= self._world.step:
                    self._answer(message)
                    self._channel.ack([each])
                    del self._held[token]
        except TransportUnreachable:
            pass

    def _beat(self) -> None:
        self._channel.extend([each for each, _, _ in self._held.values()])
        holding = [
            (own.work.record_id, own.work.version, own.work.delivery)
            for _, own, _ in self._held.values()
        ]
        self._send(
            HEARTBEAT,
            HeartbeatMessage(worker=self.name, runners=list(RUNNERS), slots=2, holding=holding),
        )

    def _answer(self, message: WorkMessage) -> None:
        work = message.work
        item = {"record": work.record_id, "stage": work.stage, "version": work.version}
        self._send(
            RESULT,
            ResultMessage(
                record_id=work.record_id, version=work.version, delivery=work.delivery, assigned_to=work.worker,
                stage=work.stage, worker=self.name, count=1,
                items=[ItemChunk(count=1, data=msgspec.Raw(msgspec.json.encode([item])))],
            ),
        )  # fmt: skip

    def _send(self, type_: str, data: object) -> None:
        envelope = encode(
            type_, data, id_="1", source=f"/{self.name}", subject="x", at=self._world.now
        )
        self._channel.publish(results_stream(), [envelope])


class World:
    """One history."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now, self.step, self.is_healing = START, 0, False
        self.faults = frozenset(self.random.sample(FAULTS, self.random.randint(1, len(FAULTS))))
        self.injected: Counter[str] = Counter()
        self.broker = MemoryBroker(ticks=self.ticks)
        self.later: list[tuple[str, Parcel]] = []
        self._snapshot: dict[str, Any] | None = None
        self.database = LateRefusals(MEMORY)
        self.database.has_round_trips = True  # as a server: turns are decided on what is known
        self.store, self.outputs, self.bus = (
            Store(self.database), Outputs(self.database), Bus(self.database),
        )  # fmt: skip
        self.registry = register(self.store, [MACHINE], now=self.now)
        self._names = 0
        self.coordinator, self.relay = self._start()
        self.scheduler = Scheduler(
            store=self.store, outputs=self.outputs, bus=self.bus, machine_of=self.registry.of, clock=self.clock
        )  # fmt: skip
        self.workers = [MessageWorker(self, self._name("w")) for _ in range(WORKERS)]
        self.records: list[Record] = []

    def clock(self) -> int:
        return self.now

    def ticks(self) -> float:
        return (self.now - START) / SECOND

    def drawn(self, *names: str) -> str:
        """A fault of these that happens now; mostly none."""
        possible = [each for each in names if each in self.faults and not self.is_healing]
        if not possible or self.random.random() > 0.15:
            return ""
        fault = self.random.choice(possible)
        self.injected[fault] += 1
        return fault

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self._names}"

    def _start(self) -> tuple[Coordinator, Relay]:
        name = self._name(RELAY.rstrip("-"))
        engine = FaultyEngine(self, name)
        self.relay_engine = engine
        channel = Channel(engine, clock=self.clock)
        relay = Relay(
            WorkerInfo(
                id=name, host="h", pid=1, life="1", runners=(), slots=0, inline_slots=0, started_at=self.now,
                seen_at=self.now,
            ),
            RelayConfig(heartbeat_s=1.0, lease_s=LEASE_S, deliveries_max=1000),
            channel=channel,
            inbox=DirectInbox(channel, [results_stream()]),
            database=self.database,
            checker=ResultChecker(
                limits=Limits(), runners={}, routes={}, artifacts=None, clock=self.clock,  # type: ignore[arg-type]
                outputs=Outputs(self.database),
            ),
            artifacts=None,  # type: ignore[arg-type]
            clock=self.clock,
            log=Silent("transport"),
            ticks=self.ticks,
        )  # fmt: skip
        coordinator = Coordinator(
            store=self.store, bus=self.bus, registry=self.registry, clock=self.clock,
            new_id=lambda prefix: f"{prefix}_{self._name('r')}",
            config=CoordinatorConfig(lease_s=LEASE_S), ticks=self.ticks,
        )  # fmt: skip
        coordinator.dispatcher.local_worker = relay
        return coordinator, relay

    def turn(self) -> None:
        """A turn of the coordinator's process, as its loop makes it."""
        foresight = self.coordinator.foresight
        self.relay.prepare()
        foresight.begin()
        try:
            self._coordinate()
        except StoreUnreachable:
            if not foresight.is_wrong():
                raise
            self.injected["refused"] += 1
            self._coordinate()
        self.relay.committed()
        self.relay.accept(self.coordinator.sent)
        self.relay.flush()
        foresight.look(self.relay.under_way[:LOOK_MAX])

    def _coordinate(self) -> None:
        """Settle and decide; without anything else to look for, on what is known of the one record that is settled."""
        told: list[Event] = []
        due_at = self.scheduler.next_at()
        is_round = self.step % ROUND_STEPS == 0 or self.coordinator.has_more
        is_news = is_round or (due_at is not None and due_at <= self.now)
        with self.database.transaction():
            locked = self.coordinator.lock(self.relay.finishing, is_alone=not is_news)
            is_foreseen = locked.known is not None
            self.injected["foreseen"] += is_foreseen
            self.relay.settle(tell=told.extend, is_expected=is_foreseen)
            if is_round:
                self.coordinator.recover()
            if is_news:
                self.scheduler.tick()
            self.coordinator.turn(told, locked=locked, has_events=is_news, has_waiting=is_news)

    def advance(self) -> None:
        """One step: something goes wrong, and everybody does a turn."""
        self.step += 1
        self.now += round(STEP_S * SECOND)
        self._misbehave()
        self._deliver_late()
        for actor in self.random.sample(
            [self.turn, *(each.turn for each in self.workers)], 1 + len(self.workers)
        ):
            actor()  # fmt: skip

    def _misbehave(self) -> None:
        engines = [self.relay_engine, *(each.engine for each in self.workers)]
        for engine in engines:
            if engine.is_cut_off and (self.is_healing or self.random.random() < 0.3):
                engine.is_cut_off = False
        fault = self.drawn("partition", "rollback", "flush", "kill", "sleep", "restart")
        acts: dict[str, Callable[[], object]] = {
            "partition": lambda: setattr(self.random.choice(engines), "is_cut_off", True),
            "rollback": self._go_back,
            "flush": self.broker.flush,
            "kill": self._kill,
            "sleep": lambda: setattr(
                self.random.choice(self.workers), "asleep_until", self.step + self.random.randint(1, 20)
            ),
            "restart": self._restart,
        }  # fmt: skip
        acts.get(fault, lambda: None)()
        if self.random.random() < 0.1:
            self._snapshot = deepcopy(self.broker.streams)

    def _go_back(self) -> None:
        """The broker has lost what came since some moment, and has again what was removed since."""
        if self._snapshot is not None:
            self.broker.streams = deepcopy(self._snapshot)

    def _kill(self) -> None:
        index = self.random.randrange(len(self.workers))
        self.workers[index] = MessageWorker(self, self._name("w"))

    def _restart(self) -> None:
        """The coordinator dies without a word; another one starts and takes its work over after a lease."""
        self.coordinator, self.relay = self._start()

    def _deliver_late(self) -> None:
        waiting, self.later = self.later, []
        for stream, parcel in waiting:
            if self.is_healing or self.random.random() < 0.3:
                self.broker.append(stream, parcel)
            else:
                self.later.append((stream, parcel))

    def live(self) -> None:
        """Submit, let things go wrong, heal, and wait until all has ended."""
        for number in range(RECORDS):
            submission = Submission(machine="letters", actor="person:ann", dedupe=str(number))
            self.records += [each.record for each in self.coordinator.submit([submission])]
            for _ in range(STEPS // RECORDS):
                self.advance()
        self.is_healing = True
        for _ in range(HEAL_STEPS_MAX):
            if all(each.status == "sorted" for each in self.current()):
                return
            self.advance()

    def current(self) -> list[Record]:
        return list(self.store.load([each.id for each in self.records]).values())

    def violations(self) -> list[str]:
        """What must not be, in words."""
        found = [
            f"{each.id} ended in {each.status}"
            for each in self.current()
            if each.status != "sorted"
        ]
        for record in self.current():
            done = [each for each in self.outputs.attempts(record.id) if each.error_code is None]
            stages = Counter(each.stage for each in done)
            if stages != {"read": 1, "sort": 1}:
                found.append(f"{record.id} has completed {dict(stages)}")
            for each in done:
                (item,) = self.outputs.items(record.id, each.version)
                if item != {"record": record.id, "stage": each.stage, "version": each.version}:
                    found.append(f"{record.id} has the item {item} in {each.stage} {each.version}")
        return found + self._judged()

    def _judged(self) -> list[str]:
        """What the independent checker says of the history."""
        history, malformed = exported(self.store, machines=[PLAIN])
        history.seen = Seen(
            acks=[
                {"record_id": each.id, "machine": each.machine, "dedupe": each.dedupe}
                for each in self.records
            ],
            work=kept_work(self.database),
            marks=kept_marks(self.database),
            now=to_iso(self.now),
            slack_s=STEP_S * self.step,
            is_healed=True,
        )
        return [str(each) for each in [*malformed, *check(history)]]


def run(seed: int) -> tuple[list[str], Counter[str]]:
    """One history: what is wrong with it, and the faults that it had."""
    world = World(seed)
    try:
        world.live()
        return world.violations(), world.injected
    finally:
        world.database.close()


def main(count: int, first: int = 0) -> int:
    """Run histories; how many had a violation."""
    wrong, faults = 0, Counter[str]()
    for seed in range(first, first + count):
        found, injected = run(seed)
        faults += injected
        wrong += bool(found)
        for sentence in found:
            print(f"seed {seed}: {sentence}")
    print(f"{count} histories, {wrong} with violations; faults: {dict(sorted(faults.items()))}")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]), *map(int, sys.argv[2:3])) else 0)
