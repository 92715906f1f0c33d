"""Plans measurements, has each made in a process of its own, and turns what they find into rows.

Everything happens in folders and databases made for it and removed after it: files on the disk of the folder for
temporary files, and a durable PostgreSQL started for the occasion. What fails says so in the note of its row.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

import msgspec
import psycopg

import stateward
from lab.bench.jobs import (
    Job,
    Reading,
    read_reading,
    written,
)
from lab.postgres import Cluster, MissingPostgres, cluster
from stateward.core.errors import StatewardError

StoreName = Literal["sqlite", "postgres"]

RECORDS = 20_000
IDLE_RECORDS = 200
JOB_S_MAX = 1800
NOTE_CHARS_MAX = 200
STORES: tuple[StoreName, ...] = ("sqlite", "postgres")
OWN = ("ours", "floor")
MODES = ("burst", "idle")
# How many records a peer is given at most: it is given fewer because it takes longer.
PEERS: dict[tuple[str, StoreName], int] = {
    ("DBOS", "sqlite"): 300,
    ("Huey", "sqlite"): 2_000,
    ("DBOS", "postgres"): 500,
    ("PgQueuer", "postgres"): 2_000,
}
SYSTEMS = (*OWN, *dict.fromkeys(name for name, _ in PEERS))
LAUNCH = "import sys; sys.path.append(sys.argv[1]); from lab.bench.child import main; main()"
PACKAGES = Path(stateward.__file__).parents[1]

Tell = Callable[[str], None]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the table. CPU is that of all processes, the server's included; no numbers where it failed."""

    system: str
    store: StoreName
    mode: str
    records: int
    records_per_s: float | None = None
    cpu_ms_per_record: float | None = None
    server_cpu_ms_per_record: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    durability: str = ""
    version: str = ""
    rounds: int = 1
    load: float = 0.0
    note: str = ""


class Plan(NamedTuple):
    """What to measure: which systems on which stores, how much, how often, and the Python that has the peers."""

    records: int = RECORDS
    systems: tuple[str, ...] = SYSTEMS
    stores: tuple[StoreName, ...] = STORES
    rounds: int = 1
    peers_python: Path | None = None


class Failure(Exception):
    """A measurement that did not come to an end; says why."""


def rows(plan: Plan, *, tell: Tell = lambda _: None) -> Iterator[Row]:
    """Every row of the plan, as it is measured."""
    for store in plan.stores:
        try:
            with place(store) as where:
                for mode in MODES:
                    yield from _rows(plan, where, mode, tell)
        except MissingPostgres as missing:
            for system in plan.systems:
                if system in OWN or (system, store) in PEERS:
                    yield Row(system=system, store=store, mode="", records=0, note=str(missing))


def _rows(plan: Plan, where: "Place", mode: str, tell: Tell) -> Iterator[Row]:
    store = where.store
    own = [system for system in OWN if system in plan.systems]
    peers = [system for system in plan.systems if (system, store) in PEERS]
    count = plan.records if mode == "burst" else min(IDLE_RECORDS, plan.records)
    found: dict[str, list[Reading | Failure]] = {system: [] for system in own}
    loads: dict[str, float] = {}
    for number in range(
        plan.rounds
    ):  # in turns, so that a busy minute of the machine meets them all
        for system in own:
            tell(f"{system} on {store}, {mode}, {count} records, round {number + 1}")
            loads[system] = os.getloadavg()[0]
            found[system].append(_tried(where, system, mode, count, sys.executable))
    for system in own:
        yield _row(system, store, mode, count, found[system], loads[system])
    for system in peers:
        few = min(count, PEERS[system, store])
        tell(f"{system} on {store}, {mode}, {few} records")
        load = os.getloadavg()[0]
        yield _row(system, store, mode, few, [_tried_peer(plan, where, system, mode, few)], load)


def _tried_peer(
    plan: Plan, where: "Place", system: str, mode: str, count: int
) -> Reading | Failure:
    python = plan.peers_python
    if python is None or not python.exists():
        return Failure("not measured: no environment with the peers; `make bench` makes one")
    return _tried(where, system, mode, count, str(python.absolute()))


def _tried(where: "Place", system: str, mode: str, count: int, python: str) -> Reading | Failure:
    try:
        with where.job(system, mode, count) as job:
            return measured(job, python=python)
    except (Failure, StatewardError) as failure:
        return Failure(str(failure))


def _row(
    system: str,
    store: StoreName,
    mode: str,
    count: int,
    found: Sequence[Reading | Failure],
    load: float,
) -> Row:
    good = [each for each in found if isinstance(each, Reading)]
    failures = [str(each) for each in found if isinstance(each, Failure)]
    row = Row(system=system, store=store, mode=mode, records=count, load=round(load, 1))
    if not good:
        return msgspec.structs.replace(row, note=failures[0])

    def middle(of: Callable[[Reading], float]) -> float:
        return round(median(of(each) for each in good), 4)

    return msgspec.structs.replace(
        row,
        records=good[0].records,
        records_per_s=middle(lambda each: each.records / each.wall_s),
        cpu_ms_per_record=middle(lambda each: 1000 * (each.own_s + each.server_s) / each.records),
        server_cpu_ms_per_record=middle(lambda each: 1000 * each.server_s / each.records),
        p50_ms=middle(lambda each: 1000 * each.p50_s),
        p95_ms=middle(lambda each: 1000 * each.p95_s),
        durability=good[0].durability,
        version=good[0].version,
        rounds=len(good),
        note="; ".join([*filter(None, [good[0].note]), *failures]),
    )


# One measurement in a process of its own


def measured(job: Job, *, python: str = sys.executable) -> Reading:
    """Have this job done by a process with that Python; raises `Failure` with its last words."""
    try:
        done = subprocess.run(
            command(job, python=python),
            cwd=job.folder,
            capture_output=True,
            text=True,
            timeout=JOB_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise Failure(f"not done after {JOB_S_MAX} s") from late
    return answer(done.returncode, done.stdout, done.stderr)


def command(job: Job, *, python: str = sys.executable) -> list[str]:
    """The command that does a job. Our packages come last: a peer's Python has its own."""
    return [python, "-c", LAUNCH, str(PACKAGES), written(job)]


def answer(returncode: int, stdout: str, stderr: str) -> Reading:
    """The reading in the last line that a child printed."""
    try:
        return read_reading(stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError, TypeError):
        words = stderr.strip().splitlines() or [f"it ended with {returncode} and said nothing"]
        raise Failure(f"failed: {words[-1][:NOTE_CHARS_MAX]}") from None


# Where it happens


class Place:
    """Where jobs on one store are done, each on an empty store of its own that is removed after it."""

    def __init__(self, store: StoreName, server: Cluster | None) -> None:
        self.store = store
        self.server = server

    @contextmanager
    def job(self, system: str, mode: str, records: int) -> Iterator[Job]:
        """A job on an empty store."""
        with empty_folder() as folder, self._database() as url:
            server = 0 if self.server is None else self.server.pid
            yield Job(system, self.store, mode, records, str(folder), url=url, server=server)

    @contextmanager
    def _database(self) -> Iterator[str]:
        if self.server is None:
            yield ""
            return
        name = self.server.create_database()
        url = self.server.dsn(name)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")  # what came before is not this job's to write
        try:
            yield url
        finally:
            self.server.drop_database(name)


@contextmanager
def place(store: StoreName) -> Iterator[Place]:
    """A place for jobs; for PostgreSQL with a durable server of our own."""
    if store == "sqlite":
        yield Place(store, None)
        return
    with cluster(is_durable=True) as server:
        yield Place(store, server)


@contextmanager
def empty_folder() -> Iterator[Path]:
    """A folder on the disk that holds temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="stateward-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
