"""The product as it is: an App and a Node on a store of their own, and a machine of two stages that do nothing.

Records are opened through the coordinator, as every door does, and moved by the same Node that `stateward up`
runs, with the settings of a fresh installation.
"""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lab.bench.jobs import (
    GROUP,
    WARM_UP,
    Job,
    Meter,
    Reading,
    Spent,
    reading,
    written,
)
from stateward import __version__
from stateward.app import App
from stateward.core.model import PERSON, SECOND, Fields
from stateward.definition.declare import declare
from stateward.engine.coordinator import Submission
from stateward.engine.node import Node
from stateward.settings import Settings
from stateward.workers.sdk import Job as RunnerJob
from stateward.workers.sdk import runner

ACTOR = f"{PERSON}bench"
NAME = "bench"
FIRST, LAST = "queued", "finished"
DONE_MAX_S = 60.0
LOAD_MAX = 500
TRANSITIONS_A_RECORD = 5
IDLE_TURNS_MAX = 100

MACHINE = declare(
    {
        "machine": NAME,
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
                "isolation": "inline",
                "runner": "bench.nothing",
            },
            "second": {
                "from": "first_done",
                "running": "second_running",
                "outcomes": {"done": LAST},
                "on_error": "broken",
                "produces": "rows",
                "isolation": "inline",
                "runner": "bench.nothing",
            },
        },
    },
    source=__name__,
)


@runner("bench.nothing")
def nothing(_: RunnerJob) -> Iterator[Fields]:
    """A stage that does nothing, and has one item to show for it."""
    yield {"n": 1}


def open_app(job: Job) -> App:
    """The product on the store of this measurement."""
    variables = {"STATEWARD_DATA": job.folder, "STATEWARD_STORE_URL": job.url or "sqlite:"}
    return App(Settings.load(environ=variables), machines=[MACHINE])


def burst(job: Job) -> Reading:
    """All records at once, then the node until nothing is left."""
    with open_app(job) as app, app.node() as node:
        meter = Meter(job.server)
        ids = open_records(app, job.records)
        node.run(until_idle=True)
        spent = (
            meter.spent()
        )  # before the connections close: a session that ends takes its time along
        return _reading(job, app, spent, latencies_s(app, ids))


def idle(job: Job) -> Reading:
    """One record after the other, through a door with a connection of its own, each waited for."""
    with open_app(job) as app, running(app), open_app(job) as context:
        for _ in range(WARM_UP):
            submit(context)
        meter = Meter(job.server)
        waits = [submit(context) for _ in range(job.records)]
        return _reading(job, app, meter.spent(), waits)


def depth(job: Job) -> Reading:
    """As many records as are done are opened, so that always the same number wait."""
    with open_app(job) as app, app.node() as node:
        open_records(app, job.depth)
        work_on(app, node, until=_transitions(app) + min(job.depth, GROUP))
        meter = Meter(job.server)
        group = min(job.depth, GROUP)
        rounds = max(1, job.records // group)
        target = _transitions(app)
        for _ in range(rounds):
            open_records(app, group)
            target += TRANSITIONS_A_RECORD * group
            work_on(app, node, until=target)
        spent = meter.spent()
        count = rounds * group
        return _reading(job._replace(records=count), app, spent, [spent.wall_s / count] * count)


def opening(job: Job) -> Reading:
    """How long it takes until a store that is there can be worked with."""
    waits = []
    meter = Meter(job.server)
    for _ in range(job.records):
        begin = time.perf_counter()
        app = open_app(job)
        waits.append(time.perf_counter() - begin)
        app.close()
    return reading(job, meter.spent(), waits, version=__version__, durability="")


def share(job: Job) -> Reading:
    """One node of several on one store: waits for a line, works until nothing is left, says so, and waits again.

    What it reports is its own; how long all of them took, only who started them knows.
    """
    with open_app(job) as app, app.node() as node:
        _talk("ready")
        meter = Meter()
        node.run(until_idle=True)
        found = _reading(job, app, meter.spent(), [0.0] * job.records)
        _talk(written(found))  # with its connections open: a session that ends takes its time along
        return found


def _talk(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    sys.stdin.readline()


MODES = {"burst": burst, "idle": idle, "depth": depth, "opening": opening, "share": share}


def measure(job: Job) -> Reading:
    """What this job asks for."""
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


def open_records(app: App, count: int) -> list[str]:
    """So many new records, opened in groups; their ids."""
    opening_ = Submission(machine=NAME, actor=ACTOR)
    ids: list[str] = []
    while len(ids) < count:
        group = [opening_] * min(GROUP, count - len(ids))
        ids += [opened.record.id for opened in app.coordinator.open(group)]
    return ids


def submit(context: App) -> float:
    """Open one record and wait until it is done; the seconds that took."""
    begin = time.perf_counter()
    (record_id,) = open_records(context, 1)
    record = context.wait(record_id, timeout_s=DONE_MAX_S)
    if record.status != LAST:
        raise RuntimeError(f"{record_id} is still {record.status} after {DONE_MAX_S} s")
    return time.perf_counter() - begin


def work_on(app: App, node: Node, *, until: int) -> None:
    """Turn until the log is so long."""
    idle_turns = 0
    while _transitions(app) < until:
        idle_turns = 0 if node.turn() else idle_turns + 1
        if idle_turns > IDLE_TURNS_MAX:
            raise RuntimeError(f"the node found nothing to do at {_transitions(app)} of {until}")


def latencies_s(app: App, ids: Sequence[str]) -> list[float]:
    """From submit to done, of those that are done."""
    found: list[float] = []
    for start in range(0, len(ids), LOAD_MAX):
        records = app.store.load(ids[start : start + LOAD_MAX]).values()
        done = [record for record in records if record.status == LAST]
        found += [(record.entered_at - record.created_at) / SECOND for record in done]
    return found


def _transitions(app: App) -> int:
    return app.store.anchor().count


def durability(app: App) -> str:
    """What an acknowledgement means here, as the database itself says it."""
    facts = app.database.check()
    if "fsync" in facts:
        return f"fsync {facts['fsync']}, synchronous_commit {facts['synchronous_commit']}"
    return f"journal {facts['journal']}, synchronous {facts['synchronous']}"


def _reading(job: Job, app: App, spent: Spent, waits: Sequence[float]) -> Reading:
    return reading(job, spent, waits, version=__version__, durability=durability(app))
