"""What a record costs as everything grows: the history, the coordinators, and the queue.

A store with a history is measured in turns with an empty one, so that a busy minute of the machine meets both, and
what is compared is the ratio.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

import msgspec
import psycopg

from lab.bench.fill import History
from lab.bench.runs import ALL_SOURCES, MODULES, Place, measured, place
from stateward.settings import DATABASE
from stateward.testing.bench.jobs import (
    Job,
    Meter,
    Reading,
    Spent,
    percentile,
)
from stateward.testing.bench.product import latencies_s, open_app, submit_records
from stateward.testing.bench.rows import (
    MeasurementFailed,
    StoreName,
    Tell,
    child_command,
    read_answer,
)

SIZES = (10_000, 100_000, 1_000_000)
COORDINATORS = (1, 2, 4)
DEPTHS = (10, 1_000, 100_000)
BURST = 5_000
IDLE = 100
OPENINGS = 5
DEPTH_BURST = 2_560
ROUNDS = 3

What = Literal["history", "coordinators", "depth"]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the tables of growth. `against` is the CPU of an empty store, measured in turns with this one."""

    what: What
    store: StoreName
    size: int
    records_per_s: float | None = None
    cpu_ms_per_record: float | None = None
    server_cpu_ms_per_record: float | None = None
    against_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    opening_ms: float | None = None
    bytes_per_record: float | None = None
    log_bytes_per_record: float | None = None
    note: str = ""


class Growth(NamedTuple):
    """What to measure; a size of 0 is a store without a history."""

    stores: tuple[StoreName, ...] = ("sqlite", "postgres")
    sizes: tuple[int, ...] = SIZES
    coordinators: tuple[int, ...] = COORDINATORS
    depths: tuple[int, ...] = DEPTHS
    burst: int = BURST
    idle: int = IDLE
    rounds: int = ROUNDS


def lines(plan: Growth, *, tell: Tell = lambda _: None) -> Iterator[Line]:
    """Every line of the plan, as it is measured."""
    for store in plan.stores:
        with place(store) as where:
            yield from _histories(plan, where, tell)
            for count in plan.coordinators:
                tell(f"{store}: {count} coordinators")
                yield _shared(plan, where, count)
            for depth in plan.depths:
                tell(f"{store}: a queue of {depth:,}")
                yield _deep(plan, where, depth)


# History


def _histories(plan: Growth, where: Place, tell: Tell) -> Iterator[Line]:
    with where.job("ours", "burst", plan.burst) as job:
        history = History(job)
        for size in plan.sizes:
            tell(f"{where.store}: filling up to {size:,} finished records")
            history.fill(size)
            tell(f"{where.store}: measuring with {size:,} finished records")
            yield _with_history(plan, where, job, size)


def _with_history(plan: Growth, where: Place, job: Job, size: int) -> Line:
    bytes_ = _bytes(job) / max(1, size)
    opening = measured(job._replace(mode="opening", records=OPENINGS))
    found, empty = [], []
    log_bytes = 0.0
    for _ in range(plan.rounds):
        with where.job("ours", "burst", plan.burst) as other:
            empty.append(measured(other))
        before = _log_position(job)
        found.append(measured(job))
        log_bytes = (_log_position(job) - before) / plan.burst
    idle = measured(job._replace(mode="idle", records=plan.idle))
    return msgspec.structs.replace(
        _line("history", where.store, size, found),
        against_ms=median(map(_cpu_ms, empty)),
        p50_ms=1000 * idle.p50_s,
        p95_ms=1000 * idle.p95_s,
        opening_ms=1000 * opening.p50_s,
        bytes_per_record=bytes_,
        log_bytes_per_record=log_bytes or None,
    )


def _bytes(job: Job) -> int:
    if not job.url:
        return (Path(job.folder) / DATABASE).stat().st_size
    return _asked(job, "SELECT pg_database_size(current_database())")


def _log_position(job: Job) -> int:
    """How much PostgreSQL has written ahead; SQLite does not tell."""
    return _asked(job, "SELECT (pg_current_wal_lsn() - '0/0')::bigint") if job.url else 0


def _asked(job: Job, sql: str) -> int:
    with psycopg.connect(job.url) as connection:
        ((found,),) = connection.execute(sql).fetchall()
        return int(str(found))


# Coordinators


def _shared(plan: Growth, where: Place, count: int) -> Line:
    """So many nodes, each a process with a coordinator and a worker, on one queue."""
    found: list[Reading] = []
    for _ in range(plan.rounds):
        with where.job("ours", "share", plan.burst) as job:
            found.append(_share(job, count))
    line = _line("coordinators", where.store, count, found)
    return msgspec.structs.replace(
        line,
        p50_ms=1000 * median(each.p50_s for each in found),
        p95_ms=1000 * median(each.p95_s for each in found),
    )


def _share(job: Job, count: int) -> Reading:
    with open_app(job) as app, ExitStack() as stack:
        ids = submit_records(app, job.records, isolation=job.isolation)
        nodes = [stack.enter_context(_started(job)) for _ in range(count)]
        _heard(nodes)
        meter = Meter(job.server)
        _tell(nodes)
        readings = [read_answer(0, line, "") for line in _heard(nodes)]
        spent = meter.spent()
        _tell(nodes)
        waits = latencies_s(app, ids)
        if len(waits) != job.records:
            raise MeasurementFailed(
                f"{len(waits)} of {job.records} records were done by {count} nodes"
            )
        return _together(readings, spent, waits)


def _started(job: Job) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        child_command(job, module=MODULES["ours"], sources=ALL_SOURCES),
        cwd=job.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _heard(nodes: Sequence["subprocess.Popen[str]"]) -> list[str]:
    """The next line of each: that it is ready, then what it found."""
    return [node.stdout.readline() for node in nodes if node.stdout is not None]


def _tell(nodes: Sequence["subprocess.Popen[str]"]) -> None:
    """Let them go on."""
    for node in nodes:
        if node.stdin is not None:
            node.stdin.write("\n")
            node.stdin.flush()


def _together(readings: Sequence[Reading], spent: Spent, waits: Sequence[float]) -> Reading:
    return readings[0]._replace(
        wall_s=spent.wall_s,
        own_s=sum(each.own_s for each in readings),
        server_s=spent.server_s,
        p50_s=percentile(waits, 50),
        p95_s=percentile(waits, 95),
    )


# Depth


def _deep(plan: Growth, where: Place, depth: int) -> Line:
    found = []
    for _ in range(plan.rounds):
        records = min(DEPTH_BURST, plan.burst)
        with where.job("ours", "depth", records) as job:
            # Inline: turns of the loop are counted here, and a child process would be waited for between them.
            found.append(measured(job._replace(depth=depth, isolation="inline")))
    return _line("depth", where.store, depth, found)


def _line(what: What, store: StoreName, size: int, found: Sequence[Reading]) -> Line:
    return Line(
        what=what,
        store=store,
        size=size,
        records_per_s=median(each.records / each.wall_s for each in found),
        cpu_ms_per_record=median(map(_cpu_ms, found)),
        server_cpu_ms_per_record=median(1000 * each.server_s / each.records for each in found),
    )


def _cpu_ms(reading: Reading) -> float:
    return 1000 * (reading.own_s + reading.server_s) / reading.records
