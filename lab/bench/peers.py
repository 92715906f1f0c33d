"""The peers, each with the same two stages that do nothing, as their documentation says and to their advantage.

A stage that was run counts as done at once, before the peer has written that it is; of two ways to start work the
one that costs less is taken. They are imported by name when they are asked for: they are not ours, and live in an
environment of their own.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stateward.testing.bench.jobs import (
    GROUP,
    WARM_UP,
    Job,
    Meter,
    Reading,
    Spent,
    reading,
)

IN_FLIGHT = 16
HUEY_THREADS = 4
HUEY_POLL_S = 0.01
PGQUEUER_BATCH = 100
DONE_MAX_S = 900.0
SYNCED = "fsync on, synchronous_commit on"


def measure(job: Job) -> Reading:
    """What the peer of this job takes for it."""
    logging.disable(logging.WARNING)
    return {"DBOS": dbos, "PgQueuer": pgqueuer, "Huey": huey}[job.system](job)


class Waits:
    """When each record was submitted and done, and a way to wait for both."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}
        self._done: dict[str, float] = {}
        self._all = threading.Event()
        self._expected = 0

    def expect(self, keys: list[str]) -> None:
        """From now on these are waited for, and nothing else."""
        now = time.perf_counter()
        self._begun, self._done, self._expected = dict.fromkeys(keys, now), {}, len(keys)
        self._all.clear()

    def begin(self, key: str) -> None:
        """This one is submitted now."""
        self._begun[key] = time.perf_counter()

    def end(self, key: str) -> None:
        """This one is done."""
        if key in self._begun:
            self._done[key] = time.perf_counter()
            if len(self._done) == self._expected:
                self._all.set()

    def until_all(self) -> None:
        """Sleep until all are done."""
        if not self._all.wait(DONE_MAX_S):
            raise RuntimeError(
                f"only {len(self._done)} of {self._expected} were done in {DONE_MAX_S} s"
            )

    @property
    def seconds(self) -> list[float]:
        """From submit to done."""
        return [self._done[key] - begun for key, begun in self._begun.items() if key in self._done]


def _measured(
    job: Job, waits: Waits, submit: Callable[[list[str]], None]
) -> tuple[Spent, list[float]]:
    """All records at once, or one after the other; `submit` may or may not wait for them."""
    for number in range(WARM_UP):
        _wait_for(waits, submit, [f"w{number}"])
    keys = [str(number) for number in range(job.records)]
    meter = Meter(job.server)
    if job.mode == "burst":
        _wait_for(waits, submit, keys)
        return meter.spent(), waits.seconds
    seconds = []
    for key in keys:
        _wait_for(waits, submit, [key])
        seconds += waits.seconds
    return meter.spent(), seconds


def _wait_for(waits: Waits, submit: Callable[[list[str]], None], keys: list[str]) -> None:
    waits.expect(keys)
    submit(keys)
    waits.until_all()


def dbos(job: Job) -> Reading:
    """A workflow of two steps, started directly, 16 in flight: its queues cost more."""
    library: Any = import_module("dbos")
    waits = Waits()
    url = job.url or f"sqlite:///{Path(job.folder) / 'dbos.sqlite'}"
    library.DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
    step = library.DBOS.step()(lambda key: {"n": 1} if key else None)

    def workflow(key: str) -> None:
        step(key)
        step(key)

    flow = library.DBOS.workflow(name="two_stages")(workflow)
    library.DBOS.launch()

    def run(key: str) -> None:
        waits.begin(key)
        library.DBOS.start_workflow(flow, key).get_result()
        waits.end(key)

    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        spent, seconds = _measured(job, waits, lambda keys: deque(pool.map(run, keys), 0).clear())
    return reading(
        job,
        spent,
        seconds,
        version=version("dbos"),
        durability=SYNCED if job.url else "as shipped: rollback journal, synchronous FULL",
        note=f"start_workflow, {IN_FLIGHT} in flight" if job.mode == "burst" else "start_workflow",
    )


def huey(job: Job) -> Reading:
    """A pipeline of two tasks and a consumer of four threads in this process."""
    library: Any = import_module("huey")
    waits = Waits()
    queue = library.SqliteHuey("bench", filename=str(Path(job.folder) / "huey.db"), fsync=True)

    def first(key: str) -> str:
        return key

    def second(key: str) -> None:
        waits.end(key)

    one, two = queue.task()(first), queue.task()(second)
    consumer = queue.create_consumer(
        workers=HUEY_THREADS,
        periodic=False,
        initial_delay=HUEY_POLL_S,
        max_delay=HUEY_POLL_S,
        check_worker_health=False,
    )
    consumer.start()

    def submit(keys: list[str]) -> None:
        for key in keys:
            waits.begin(key)
            queue.enqueue(one.s(key).then(two))

    spent, seconds = _measured(job, waits, submit)
    return reading(
        job,
        spent,
        seconds,
        version=version("huey"),
        durability="journal wal, synchronous FULL (fsync=True)",
        note=f"{HUEY_THREADS} threads, polls every {HUEY_POLL_S * 1000:.0f} ms; a crash loses the running task",
    )


def pgqueuer(job: Job) -> Reading:
    """Two entry points, the first of which enqueues for the second."""
    return asyncio.run(_pgqueuer(job))


async def _pgqueuer(job: Job) -> Reading:
    asyncpg: Any = import_module("asyncpg")
    library: Any = import_module("pgqueuer")
    queries: Any = import_module("pgqueuer.queries")
    driver: Any = import_module("pgqueuer.db")
    await queries.Queries(driver.AsyncpgDriver(await asyncpg.connect(job.url))).install()
    manager = library.PgQueuer.from_asyncpg_connection(await asyncpg.connect(job.url))
    producer = queries.Queries(driver.AsyncpgDriver(await asyncpg.connect(job.url)))
    waits = Waits()

    async def first(task: Any) -> None:  # noqa: ANN401 - the peer's own
        await producer.enqueue("second", task.payload)

    async def second(task: Any) -> None:  # noqa: ANN401 - the peer's own
        waits.end(task.payload.decode())

    manager.entrypoint("first")(first)
    manager.entrypoint("second")(second)
    loop = asyncio.get_running_loop()
    consumer = asyncio.create_task(manager.run(batch_size=PGQUEUER_BATCH))

    async def enqueue(keys: list[str]) -> None:
        for start in range(0, len(keys), GROUP):
            group = [key.encode() for key in keys[start : start + GROUP]]
            await producer.enqueue(["first"] * len(group), group, [0] * len(group))

    def submit(keys: list[str]) -> None:
        asyncio.run_coroutine_threadsafe(enqueue(keys), loop).result()

    spent, seconds = await asyncio.to_thread(_measured, job, waits, submit)
    manager.shutdown.set()
    consumer.cancel()
    return reading(
        job,
        spent,
        seconds,
        version=version("pgqueuer"),
        durability=f"{SYNCED}; all tables logged",
        note=f"asyncpg, enqueued by {GROUP}, batch_size={PGQUEUER_BATCH}",
    )
