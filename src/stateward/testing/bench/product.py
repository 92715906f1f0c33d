"""Stateward measured: an App and a Node on an empty store, and a pipeline of two stages that do nothing.

Records are submitted through the coordinator and moved by the same Node that `stateward up` runs, with the settings
of a fresh installation. The one thing that may differ from those is the isolation of the stages, which is a column
of every row.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from stateward import __version__
from stateward.app import App
from stateward.core.machine import Machine
from stateward.core.model import PERSON, SECOND
from stateward.definition.declare import declare
from stateward.definition.plugin import Plugin
from stateward.engine.coordinator import Submission
from stateward.engine.node import Node
from stateward.settings import Settings
from stateward.testing.bench import nothing
from stateward.testing.bench.jobs import GROUP, WARM_UP, Job, Meter, Reading, Spent, reading

ACTOR = f"{PERSON}bench"
FIRST, LAST = "queued", "finished"
DONE_MAX_S = 60.0
LOAD_MAX = 500


def _machine(isolation: str) -> Machine:
    return declare(
        {
            "machine": machine_name(isolation),
            "version": 1,
            "prefix": "BN",
            "initial": FIRST,
            "states": {
                FIRST: "ready",
                "first_running": "running",
                "first_done": "ready",
                "second_running": "running",
                LAST: "terminal",
                "broken": "failed",
            },
            "stages": {
                "first": {
                    "from": FIRST,
                    "running": "first_running",
                    "outcomes": {"done": "first_done"},
                    "on_error": "broken",
                    "produces": "items",
                    "isolation": isolation,
                    "runner": nothing.NAME,
                },
                "second": {
                    "from": "first_done",
                    "running": "second_running",
                    "outcomes": {"done": LAST},
                    "on_error": "broken",
                    "produces": "rows",
                    "isolation": isolation,
                    "runner": nothing.NAME,
                },
            },
        },
        source=__name__,
    )


def machine_name(isolation: str) -> str:
    """The name of the state machine whose stages are isolated like this."""
    return f"bench_{isolation}"


PROCESS = _machine("process")
INLINE = _machine("inline")
PLUGIN = Plugin(
    name="bench", package=__package__, machines=(PROCESS, INLINE), runners=(nothing.__name__,)
)


def open_app(job: Job) -> App:
    """Stateward on the store of this measurement, with the settings of a fresh installation."""
    variables = {"STATEWARD_DATA": job.folder, "STATEWARD_STORE_URL": job.url or "sqlite:"}
    # Named in the settings, not given as objects: child processes load the runner by this name.
    return App(replace(Settings.load(environ=variables), pipelines=(__name__,)))


def burst(job: Job) -> Reading:
    """Submit all records at once, then run the node until nothing is left."""
    with open_app(job) as app, app.node() as node:
        meter = Meter(job.server)
        ids = submit_records(app, job.records, isolation=job.isolation)
        node.run(until_idle=True)
        # Before connections and children close: what ends takes its CPU time out of sight.
        spent = meter.spent()
        return _reading(job, app, spent, latencies_s(app, ids))


def idle(job: Job) -> Reading:
    """Submit one record after the other through a connection of its own, and wait for each."""
    with open_app(job) as app, running(app), open_app(job) as client:
        for _ in range(WARM_UP):
            submit_and_wait(client, isolation=job.isolation)
        meter = Meter(job.server)
        waits = [submit_and_wait(client, isolation=job.isolation) for _ in range(job.records)]
        return _reading(job, app, meter.spent(), waits)


MODES = {"burst": burst, "idle": idle}


def measure(job: Job) -> Reading:
    """Do what this job asks for."""
    return MODES[job.mode](job)


@contextmanager
def running(app: App) -> Iterator[Node]:
    """A node of this app in a thread of its own."""
    with app.node() as node:
        thread = threading.Thread(target=node.run, name="node")
        thread.start()
        try:
            yield node
        finally:
            node.stop()
            thread.join()


def submit_records(app: App, count: int, *, isolation: str) -> list[str]:
    """Submit so many new records, in groups; their ids."""
    submission = Submission(machine=machine_name(isolation), actor=ACTOR)
    ids: list[str] = []
    while len(ids) < count:
        group = [submission] * min(GROUP, count - len(ids))
        ids += [submitted.record.id for submitted in app.coordinator.submit(group)]
    return ids


def submit_and_wait(client: App, *, isolation: str) -> float:
    """Submit one record and wait until it is finished; the seconds that took."""
    begin = time.perf_counter()
    (record_id,) = submit_records(client, 1, isolation=isolation)
    record = client.records.wait(record_id, timeout_s=DONE_MAX_S)
    if record.status != LAST:
        raise RuntimeError(f"{record_id} is still {record.status} after {DONE_MAX_S} s")
    return time.perf_counter() - begin


def latencies_s(app: App, ids: Sequence[str]) -> list[float]:
    """Seconds from submission to the end, of the records that are finished."""
    found: list[float] = []
    for start in range(0, len(ids), LOAD_MAX):
        records = app.store.load(ids[start : start + LOAD_MAX]).values()
        finished = [record for record in records if record.status == LAST]
        found += [(record.entered_at - record.created_at) / SECOND for record in finished]
    return found


def durability(app: App) -> str:
    """What an acknowledgement means here, as the database itself says it."""
    facts = app.database.check()
    if "fsync" in facts:
        return f"fsync {facts['fsync']}, synchronous_commit {facts['synchronous_commit']}"
    return f"journal {facts['journal']}, synchronous {facts['synchronous']}"


def _reading(job: Job, app: App, spent: Spent, waits: Sequence[float]) -> Reading:
    return reading(job, spent, waits, version=__version__, durability=durability(app))
