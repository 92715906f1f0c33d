"""Stateward with a coordinator and two workers in processes of their own, over the database or over an engine.

They are `stateward coordinator` and `stateward worker`; over an engine the workers have no database. They and the
engine are children of the process that measures, which only submits and waits, so that their CPU time counts.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from lab.brokers import Broker, nats_broker, nats_program, redis_broker, redis_program
from stateward import __version__
from stateward.app import App
from stateward.settings import Settings
from stateward.testing.bench import product
from stateward.testing.bench.jobs import WARM_UP, Job, Meter, Reading, reading
from stateward.testing.bench.product import (
    LAST,
    durability,
    latencies_s,
    machine_name,
    submit_and_wait,
    submit_records,
)
from stateward.transport import VIA_TRANSPORT

WORKERS = 2
READY_S = 120.0
LOG = "processes.log"
DONE_S = 600.0
LOOK_S = 0.1  # each look is a query that is charged to the system
RECORDS_MAX = 2_000
# What each is called in the table, how its server is started, where that is, and how durable it is.
ENGINES: dict[str, tuple[Callable[[], Broker] | None, Callable[[], str | None], str]] = {
    "ours, 2 workers": (None, lambda: "", ""),
    "ours, 2 workers over Redis": (redis_broker, redis_program, "Redis: appendfsync everysec"),
    "ours, 2 workers over NATS": (nats_broker, nats_program, "NATS: JetStream on disk"),
}
SYSTEMS = tuple(ENGINES)
SETTINGS = {
    "ours, 2 workers": "coordinator and workers apart",
    "ours, 2 workers over Redis": "coordinator and workers apart; transport: redis",
    "ours, 2 workers over NATS": "coordinator and workers apart; transport: nats",
}
CONFIG = """\
data: {data}
store: {{url: "{url}"}}
transport: {{url: "{transport}"}}
pipelines: [{pipelines}]
"""


def measure(job: Job) -> Reading:
    """A burst, or one record after the other."""
    make, program, how = ENGINES[job.system]
    if program() is None:
        raise RuntimeError("not measured: its server is not installed; `make setup-dev` brings it")
    with ExitStack() as stack:
        broker = stack.enter_context(make() if make is not None else nullcontext())
        transport = "database:" if broker is None else broker.url
        settings = _settings(job, transport)
        client = stack.enter_context(App(settings))  # first: it makes the tables
        stack.enter_context(_processes(job, transport))
        _warm_up(client, job, via="" if broker is None else VIA_TRANSPORT)
        if job.mode == "burst":
            meter = Meter(job.server)
            ids = submit_records(client, job.records, isolation=job.isolation)
            _wait_for(client, job, len(ids) + WARM_UP * WORKERS)
            spent, waits = meter.spent(), latencies_s(client, ids)
        else:
            meter = Meter(job.server)
            waits = [submit_and_wait(client, isolation=job.isolation) for _ in range(job.records)]
            spent = meter.spent()
        said = "; ".join(filter(None, (durability(client), how)))
        note = f"{WORKERS} worker processes, one coordinator"
        return reading(job, spent, waits, version=__version__, durability=said, note=note)


def _settings(job: Job, transport: str) -> Settings:
    config = Path(job.folder) / "stateward.yaml"
    config.write_text(
        CONFIG.format(
            data=f"{job.folder}/data",
            url=job.url or "sqlite:",
            transport=transport,
            pipelines=product.__name__,
        )
    )
    return Settings.load(config, environ={})


@contextmanager
def _processes(job: Job, transport: str) -> Iterator[None]:
    config = Path(job.folder) / "stateward.yaml"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    stateward = [sys.executable, "-m", "stateward", "--config", str(config)]
    worker = [*stateward, "worker"]
    if transport != "database:":
        worker += ["--transport", transport, "--blobs", f"{job.folder}/data/artifacts"]
    with (Path(job.folder) / LOG).open("w") as log:
        started = [
            subprocess.Popen(command, env=variables, stdout=log, stderr=log)
            for command in ([*stateward, "coordinator"], *[worker] * WORKERS)
        ]
    try:
        yield
    finally:
        for each in reversed(started):  # the coordinator last: it hears that the workers leave
            each.terminate()
            each.wait(READY_S)


def _warm_up(client: App, job: Job, *, via: str) -> None:
    """Until both are there, and have run something: their children start, which is not what a record costs."""
    until = time.monotonic() + READY_S
    while sum(each.via == via for each in client.bus.workers()) < WORKERS:
        if time.monotonic() > until:
            log = (Path(job.folder) / LOG).read_text(errors="replace")
            raise RuntimeError(f"the workers did not come: {log[-300:]}")
        time.sleep(LOOK_S)
    submit_records(client, WARM_UP * WORKERS, isolation=job.isolation)
    _wait_for(client, job, WARM_UP * WORKERS)


def _wait_for(client: App, job: Job, count: int) -> None:
    until = time.monotonic() + DONE_S
    while client.store.queries.counts().get((machine_name(job.isolation), LAST), 0) < count:
        if time.monotonic() > until:
            raise RuntimeError(f"not all of {count} records were done in {DONE_S:g} s")
        time.sleep(LOOK_S)
