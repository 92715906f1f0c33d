"""Plans measurements beside the floor and other systems: which, on which store, in what order.

PostgreSQL is a durable server started for the occasion. Each job has an empty store that is removed after it.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from lab.bench import transports
from lab.postgres import Cluster, MissingPostgres, cluster
from stateward.core.errors import StatewardError
from stateward.testing.bench.jobs import Job, Reading
from stateward.testing.bench.rows import (
    IDLE_RECORDS,
    ISOLATIONS,
    MODES,
    SOURCES,
    MeasurementFailed,
    Row,
    StoreName,
    Tell,
    empty_folder,
    measure_in_child,
    row_of,
    settings_of,
)

RECORDS = 20_000
STORES: tuple[StoreName, ...] = ("sqlite", "postgres")
OWN = ("ours", "floor")
# How many records another system is given at most: fewer, because it takes longer.
PEERS: dict[tuple[str, StoreName], int] = {
    ("DBOS", "sqlite"): 300,
    ("Huey", "sqlite"): 2_000,
    ("DBOS", "postgres"): 500,
    ("PgQueuer", "postgres"): 2_000,
}
# Workers apart are for those who have outgrown one file.
APART_ON: StoreName = "postgres"
SYSTEMS = (*OWN, *dict.fromkeys(name for name, _ in PEERS), *transports.SYSTEMS)
MODULES = {
    "ours": "lab.bench.modes",
    "floor": "lab.bench.floor",
    **dict.fromkeys(transports.SYSTEMS, transports.__name__),
}
PEER_MODULE = "lab.bench.peers"
ALL_SOURCES = (*SOURCES, str(Path(__file__).parents[2]))


class Plan(NamedTuple):
    """What to measure: which systems on which stores, how much, how often, and the Python that has the peers."""

    records: int = RECORDS
    systems: tuple[str, ...] = SYSTEMS
    stores: tuple[StoreName, ...] = STORES
    rounds: int = 1
    peers_python: Path | None = None


def measured(job: Job, *, python: str = sys.executable) -> Reading:
    """Have a job of any system measured in a fresh process."""
    module = MODULES.get(job.system, PEER_MODULE)
    return measure_in_child(job, module=module, python=python, sources=ALL_SOURCES)


def rows(plan: Plan, *, tell: Tell = lambda _: None) -> Iterator[Row]:
    """Every row of the plan, as it is measured."""
    for store in plan.stores:
        try:
            with place(store) as where:
                for mode in MODES:
                    yield from _rows(plan, where, mode, tell)
        except MissingPostgres as missing:
            for system in plan.systems:
                is_apart = system in transports.SYSTEMS and store == APART_ON
                if system in OWN or (system, store) in PEERS or is_apart:
                    yield Row(system=system, store=store, mode="", records=0, note=str(missing))


def _rows(plan: Plan, where: "Place", mode: str, tell: Tell) -> Iterator[Row]:
    store = where.store
    own = [
        (system, isolation)
        for system, isolations in (("ours", ISOLATIONS), ("floor", ("",)))
        for isolation in isolations
        if system in plan.systems
    ]
    count = plan.records if mode == "burst" else min(IDLE_RECORDS, plan.records)
    found: dict[tuple[str, str], list[Reading | MeasurementFailed]] = {each: [] for each in own}
    loads: dict[tuple[str, str], float] = {}
    # In turns, so that a busy minute of the machine meets all of them.
    for number in range(plan.rounds):
        for system, isolation in own:
            kind = f"{system} {isolation}".strip()
            tell(f"{kind} on {store}, {mode}, {count} records, round {number + 1}")
            loads[system, isolation] = os.getloadavg()[0]
            found[system, isolation].append(
                _try(where, system, mode, count, sys.executable, isolation=isolation)
            )
    for system, isolation in own:
        row = Row(
            system=system, store=store, mode=mode, isolation=isolation, records=count,
            settings=settings_of(isolation) if isolation else "",
            load=round(loads[system, isolation], 1),
        )  # fmt: skip
        yield row_of(row, found[system, isolation])
    for system in (each for each in plan.systems if (each, store) in PEERS):
        few = min(count, PEERS[system, store])
        tell(f"{system} on {store}, {mode}, {few} records")
        load = os.getloadavg()[0]
        row = Row(system=system, store=store, mode=mode, records=few, load=round(load, 1))
        yield row_of(row, [_try_peer(plan, where, system, mode, few)])
    if store == APART_ON:
        apart = [each for each in plan.systems if each in transports.SYSTEMS]
        yield from _rows_apart(where, apart, mode, min(count, transports.RECORDS_MAX), tell)


def _rows_apart(
    where: "Place", systems: Sequence[str], mode: str, count: int, tell: Tell
) -> Iterator[Row]:
    """Coordinator and workers in processes of their own, over each transport."""
    isolation = ISOLATIONS[0]
    for system in systems:
        tell(f"{system} on {where.store}, {mode}, {count} records")
        row = Row(
            system=system, store=where.store, mode=mode, isolation=isolation, records=count,
            settings=transports.SETTINGS[system], load=round(os.getloadavg()[0], 1),
        )  # fmt: skip
        found = _try(where, system, mode, count, sys.executable, isolation=isolation)
        yield row_of(row, [found])


def _try_peer(
    plan: Plan, where: "Place", system: str, mode: str, count: int
) -> Reading | MeasurementFailed:
    python = plan.peers_python
    if python is None or not python.exists():
        return MeasurementFailed(
            "not measured: no environment with the peers; `make bench` makes one"
        )
    return _try(where, system, mode, count, str(python.absolute()))


def _try(
    where: "Place", system: str, mode: str, count: int, python: str, *, isolation: str = ""
) -> Reading | MeasurementFailed:
    try:
        with where.job(system, mode, count) as job:
            return measured(job._replace(isolation=isolation), python=python)
    except (MeasurementFailed, StatewardError) as failure:
        return MeasurementFailed(str(failure))


class Place:
    """Where jobs on one store are measured, each on an empty store that is removed after it."""

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
            connection.execute("CHECKPOINT")  # what was written before is not charged to this job
        try:
            yield url
        finally:
            self.server.drop_database(name)


@contextmanager
def place(store: StoreName) -> Iterator[Place]:
    """A place for jobs; for PostgreSQL with a durable server of its own."""
    if store == "sqlite":
        yield Place(store, None)
        return
    with cluster(is_durable=True) as server:
        yield Place(store, server)
