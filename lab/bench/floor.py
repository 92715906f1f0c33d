"""The floor: the rows that our tables need for a record's way through two stages, written by hand in batches.

It opens the same records, hands them out, writes work, outputs, items and events, moves records by compare-and-set
and appends sealed transitions: the same rows in the same number of transactions as the product, and a history
that `verify` accepts. It lacks everything else: no decisions, no workers, no recovery, no wakeups, one process, one
connection. Nothing is read back but the queue. On SQLite there are no events, for a node's worker tells its own
coordinator there without them. What the product costs above this is the price of its comforts.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from lab.bench.floor_postgres import PostgresWriter
from lab.bench.floor_sqlite import SqliteWriter
from lab.bench.steps import (
    COMPLETE,
    EPOCH,
    MACHINE,
    OPEN,
    START,
    WORKER,
    Live,
    Name,
    Step,
    Writer,
)
from stateward.app import App
from stateward.app.identity import new_record_id
from stateward.core.chain import GENESIS
from stateward.core.model import SECOND, Micros, to_iso
from stateward.engine.system import wall_clock
from stateward.settings import DATABASE
from stateward.testing.bench.jobs import (
    GROUP,
    WARM_UP,
    Job,
    Meter,
    Reading,
    Spent,
    reading,
)
from stateward.testing.bench.product import durability, latencies_s, open_app

DUE_IN = 3605 * SECOND  # the default timeout of a stage, and the grace that the clock gives it

Waits: TypeAlias = Callable[[App], list[float]]


class Floor:
    """Moves records on, a batch a transaction."""

    def __init__(self, writer: Writer, *, batch: int) -> None:
        self._writer = writer
        self._batch = batch
        self._count, self._head = 0, GENESIS
        self._under_way: list[tuple[Name, list[Live]]] = []

    def open(self, count: int) -> list[str]:
        """So many new records, in one transaction."""
        now = wall_clock()
        fresh = [Live(new_record_id("BN"), now, GENESIS) for _ in range(count)]
        self._writer.begin()
        opened = self._seal(OPEN, fresh, now)
        self._writer.open([(each.id, now, now, now, each.head) for each in opened])
        self._writer.end(self._count, self._head)
        return [record.id for record in fresh]

    def run(self) -> None:
        """Turn until nothing is left."""
        self.turn()
        while self._under_way:
            self.turn()

    def turn(self) -> None:
        """Finish what was handed out, hand out what waits."""
        now = wall_clock()
        self._writer.begin()
        under_way, self._under_way = self._under_way, []
        for stage, records in under_way:
            self._finish(stage, records, now)
        capacity = self._batch - sum(len(records) for _, records in self._under_way)
        waiting = self._writer.queue("first", capacity) if capacity else []
        if waiting:
            self._hand_out("first", self._move([START["first"]], waiting, now))
        self._writer.end(self._count, self._head)

    def _finish(self, stage: Name, records: list[Live], now: Micros) -> None:
        """Write what a stage made; a record that goes on at once is written once for both steps."""
        step, writer = COMPLETE[stage], self._writer
        attempt = step.version - 1
        writer.finish(
            [(each.id, attempt) for each in records],
            [(each.id, attempt, stage, now) for each in records],
            [(each.id, attempt) for each in records],
            [(_event(each.id, step, now),) for each in records] if writer.has_inbox else [],
        )
        if stage == "first":
            self._hand_out("second", self._move([step, START["second"]], records, now))
        else:
            self._move([step], records, now)
        if writer.has_inbox:
            writer.settle(len(records))

    def _hand_out(self, stage: Name, records: list[Live]) -> None:
        step = START[stage]
        self._writer.send(
            [(each.id, step.version, each.created_at, _work(each, step, stage)) for each in records]
        )
        self._under_way.append((stage, records))

    def _move(self, steps: Sequence[Step], records: list[Live], now: Micros) -> list[Live]:
        expected, last = steps[0].version - 1, steps[-1]
        for step in steps:
            records = self._seal(step, records, now)
        fields = last.fields_of
        due_at = now + DUE_IN
        rows = [(each.head, fields(each.id), now, due_at, each.id) for each in records]
        self._writer.move(last, rows, expected=expected)
        return records

    def _seal(self, step: Step, records: list[Live], now: Micros) -> list[Live]:
        """Chain this step to the last of each record, and all of them to the lane; they have new heads."""
        of_record, of_transition = _record_text(step, now), _transition_text(step, now)
        sealed, rows = [], []
        count, last = self._count, self._head
        for id_, created_at, head in records:
            sealed_record = sha256(of_record(id_, to_iso(created_at)).encode()).hexdigest()
            hash_ = sha256(of_transition(id_, head, sealed_record).encode()).hexdigest()
            count += 1
            last = sha256((last + hash_).encode()).hexdigest()
            sealed.append(Live(id_, created_at, hash_))
            rows.append((count, id_, now, sealed_record, head, hash_))
        self._count, self._head = count, last
        self._writer.append(rows, step)
        return sealed


def _record_text(step: Step, now: Micros) -> Callable[[str, str], str]:
    """What is hashed of a record as this step leaves it (see `core.chain.record_hash`)."""
    before = f'","{MACHINE}",1,"{step.target}",{step.version},"'
    between = f'","{to_iso(now)}",0,null,null,null,null,null,null,null,null,{{}},'
    after = f",{step.outputs}]"
    fields = step.fields_of
    return lambda id_, created: f'["{id_}{before}{created}{between}{fields(id_)}{after}'


def _transition_text(step: Step, now: Micros) -> Callable[[str, str, str], str]:
    """What is hashed of a transition (see `core.chain.transition_hash`)."""
    source = "null" if step.source is None else f'"{step.source}"'
    attempt = "null" if step.attempt is None else step.attempt
    before = f'","{MACHINE}",1,{source},"{step.target}",{step.version},"'
    between = (
        f':{step.version}:{step.trigger}","{to_iso(now)}","{step.actor}","coordinator",{EPOCH},{attempt},'
        f'"{step.trigger}",{step.metadata},"'
    )
    return lambda id_, head, sealed: f'["{head}","{id_}{before}{id_}{between}{sealed}"]'


def _work(record: Live, step: Step, stage: Name) -> str:
    return (
        f'{{"record_id":"{record.id}","version":{step.version},"machine":"{MACHINE}","stage":"{stage}",'
        f'"running":"{step.target}","runner":"bench.nothing","worker":"{WORKER}",'
        f'"created_at":{record.created_at},"rank":{record.created_at},"timeout_s":3600.0,"delivery":1,'
        f'"artifact":null,"labels":{{}},"inputs":{step.outputs},"retry_count":0,"is_inline":true,'
        f'"produces":"items"}}'
    )


def _event(id_: str, step: Step, now: Micros) -> str:
    return (
        f'{{"id":"{id_}:{step.version}:{step.trigger}","type":"{step.trigger}","record_id":"{id_}",'
        f'"version":{step.version - 1},"at":{now},"actor":"{step.actor}","count":1,"outcome":"done",'
        f'"facts":{{}},"error_code":null,"error_message":null,"is_retryable":true,'
        f'"log_ref":"/logs/first/{id_}","reason":null,"trace":null}}'
    )


# Measuring


def measure(job: Job) -> Reading:
    """What this job asks for."""
    with open_app(job) as app:  # for the tables alone; one writer needs one lane
        app.store.lanes.make(1, now=wall_clock())
        batch = app.settings.worker.inline_window
    with _writer(job) as writer:
        floor = Floor(writer, batch=batch)
        spent, found = (_burst if job.mode == "burst" else _idle)(job, floor)
    with open_app(job) as app:
        waits = found(app)
        library = "psycopg" if job.url else "apsw"
        return reading(
            job, spent, waits, version=f"{library} {version(library)}", durability=durability(app)
        )


def _burst(job: Job, floor: Floor) -> tuple[Spent, Waits]:
    meter = Meter(job.server)
    ids: list[str] = []
    while len(ids) < job.records:
        ids += floor.open(min(GROUP, job.records - len(ids)))
    floor.run()
    return meter.spent(), lambda app: latencies_s(app, ids)


def _idle(job: Job, floor: Floor) -> tuple[Spent, Waits]:
    for _ in range(WARM_UP):
        _one(floor)
    meter = Meter(job.server)
    waits = [_one(floor) for _ in range(job.records)]
    return meter.spent(), lambda _: waits


def _one(floor: Floor) -> float:
    begin = time.perf_counter()
    floor.open(1)
    floor.run()
    return time.perf_counter() - begin


@contextmanager
def _writer(job: Job) -> Iterator[Writer]:
    writer: Writer = (
        PostgresWriter(job.url) if job.url else SqliteWriter(str(Path(job.folder) / DATABASE))
    )
    try:
        yield writer
    finally:
        writer.close()
