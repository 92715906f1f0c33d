"""Further ways to measure Stateward, for the pages about growth: a queue of constant depth, opening, shared stores."""

import sys
import time

from stateward import __version__
from stateward.app import App
from stateward.engine.node import Node
from stateward.testing.bench import product
from stateward.testing.bench.jobs import GROUP, Job, Meter, Reading, encode, reading
from stateward.testing.bench.product import durability, open_app, submit_records

TRANSITIONS_A_RECORD = 5
IDLE_TURNS_MAX = 100


def depth(job: Job) -> Reading:
    """Submit as many records as are finished, so that always the same number wait."""
    with open_app(job) as app, app.node() as node:
        submit_records(app, job.depth, isolation=job.isolation)
        work_on(app, node, until=_transitions(app) + min(job.depth, GROUP))
        meter = Meter(job.server)
        group = min(job.depth, GROUP)
        rounds = max(1, job.records // group)
        target = _transitions(app)
        for _ in range(rounds):
            submit_records(app, group, isolation=job.isolation)
            target += TRANSITIONS_A_RECORD * group
            work_on(app, node, until=target)
        spent = meter.spent()
        count = rounds * group
        waits = [spent.wall_s / count] * count
        return reading(
            job._replace(records=count),
            spent,
            waits,
            version=__version__,
            durability=durability(app),
        )


def opening(job: Job) -> Reading:
    """How long it takes until an existing store can be worked with."""
    waits = []
    meter = Meter(job.server)
    for _ in range(job.records):
        begin = time.perf_counter()
        app = open_app(job)
        waits.append(time.perf_counter() - begin)
        app.close()
    return reading(job, meter.spent(), waits, version=__version__, durability="")


def share(job: Job) -> Reading:
    """One node of several on one store: waits for a line, works until nothing is left, reports, and waits again.

    What it reports is its own; how long all of them took, only the process that started them knows.
    """
    with open_app(job) as app, app.node() as node:
        _exchange("ready")
        meter = Meter()
        node.run(until_idle=True)
        found = reading(
            job, meter.spent(), [0.0] * job.records, version=__version__, durability=durability(app)
        )
        _exchange(encode(found))  # connections stay open: a session that ends takes its time along
        return found


def _exchange(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    sys.stdin.readline()


MODES = {**product.MODES, "depth": depth, "opening": opening, "share": share}


def measure(job: Job) -> Reading:
    """Do what this job asks for."""
    return MODES[job.mode](job)


def work_on(app: App, node: Node, *, until: int) -> None:
    """Turn until the history is this long."""
    idle_turns = 0
    while _transitions(app) < until:
        idle_turns = 0 if node.turn() else idle_turns + 1
        if idle_turns > IDLE_TURNS_MAX:
            raise RuntimeError(f"the node found nothing to do at {_transitions(app)} of {until}")


def _transitions(app: App) -> int:
    return app.store.lanes.count_transitions()
