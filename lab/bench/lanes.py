"""Coordinators side by side on one PostgreSQL, each behind a link that delays every round trip.

The delay makes waiting the limit, not the processors of one machine: what is measured is whether coordinators wait for
the server only, or also for each other. Each node is a process with a coordinator and a worker, and takes a few records
a turn. Beside them the sessions of the server are sampled: how many wait for a lock of another.
"""

import subprocess
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

import psycopg
from msgspec.structs import replace

from lab.bench.report import check_places, write_between
from lab.bench.runs import Place, place
from lab.chaos.proxy import LOOPBACK, Behaviour, Switchboard
from stateward.app import App
from stateward.settings import Settings
from stateward.testing.bench import product
from stateward.testing.bench.jobs import Job
from stateward.testing.bench.product import open_app, submit_records

PLACE = "lanes"
TRANSITIONS_A_RECORD = 5
SAMPLE_S = 0.01
END_S_MAX = 300.0
ARRANGEMENTS = ((1, 16), (2, 16), (4, 16), (4, 1))
IN_LOCKS = """
SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), count(*) FROM pg_stat_activity
WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
"""


class Found(NamedTuple):
    """One measurement: so many coordinators on so many lanes."""

    coordinators: int
    lanes: int
    records_per_s: float
    lock_share: float


class Plan(NamedTuple):
    """How much work there is, and how far away the server is."""

    records: int = 1500  # fewer, and the end, when some nodes have nothing left, is a large part
    window: int = 8
    round_trip_s: float = 0.005
    rounds: int = 3


def measure(plan: Plan, where: Place, *, coordinators: int, lanes: int) -> Found:
    """Let so many nodes finish the records of one queue."""
    with (
        where.job("ours", "share", plan.records) as job,
        open_app(job) as app,
        ExitStack() as stack,
    ):
        app.store.lanes.make(lanes, now=app.clock())
        submit_records(app, plan.records, isolation="inline")
        board = stack.enter_context(Switchboard(_socket_of(job.url), rng=Random(0)))
        half = plan.round_trip_s / 2
        nodes = []
        for _ in range(coordinators):
            link = board.link()
            link.behave(Behaviour(latency_s=(half, half)))
            url = _through(job.url, link.port)
            nodes.append(stack.enter_context(_node(job._replace(url=url), plan.window)))
        for node in nodes:
            _hear(node)
        begun = time.perf_counter()
        with _sampled(job.url) as sampled:
            for node in nodes:
                _tell(node)
            _until_done(app, TRANSITIONS_A_RECORD * plan.records)
        took = time.perf_counter() - begun
        waiting, busy = map(sum, zip(*sampled, strict=True))
        return Found(coordinators, lanes, plan.records / took, waiting / max(1, busy))


def measure_all(plan: Plan) -> list[Found]:
    """Each arrangement in turn, several times: another load of the machine meets all of them. The medians."""
    found: dict[tuple[int, int], list[Found]] = {each: [] for each in ARRANGEMENTS}
    with place("postgres") as where:
        for _ in range(plan.rounds):
            for coordinators, lanes in ARRANGEMENTS:
                one = measure(plan, where, coordinators=coordinators, lanes=lanes)
                found[coordinators, lanes].append(one)
                sys.stderr.write(f"{one}\n")
    return [
        Found(
            *arrangement,
            median(each.records_per_s for each in rounds),
            median(each.lock_share for each in rounds),
        )
        for arrangement, rounds in found.items()
    ]


def _until_done(app: App, transitions: int) -> None:
    deadline = time.monotonic() + END_S_MAX
    while app.store.lanes.count_transitions() < transitions:
        if time.monotonic() > deadline:
            raise RuntimeError("the nodes did not finish their records")
        time.sleep(SAMPLE_S)


def _socket_of(url: str) -> Path:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return Path(str(parts["host"])) / f".s.PGSQL.{parts.get('port') or 5432}"


def _through(url: str, port: int) -> str:
    """The address of the same database through a port of this machine."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    user = f"{parts['user']}@" if parts.get("user") else ""
    return f"postgresql://{user}{LOOPBACK}:{port}/{parts['dbname']}"


@contextmanager
def _sampled(url: str) -> Iterator[list[tuple[int, int]]]:
    """How many sessions wait for a lock, and how many are in a transaction, again and again."""
    found: list[tuple[int, int]] = [(0, 0)]
    ended = threading.Event()

    def sample() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not ended.wait(SAMPLE_S):
                ((waiting, busy),) = connection.execute(IN_LOCKS).fetchall()
                found.append((waiting, busy))

    thread = threading.Thread(target=sample, name="sampler")
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


# The nodes


@contextmanager
def _node(job: Job, window: int) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", __spec__.name, "--node", job.url, job.folder, str(window)]
    node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield node
    finally:
        node.kill()
        node.communicate()


def _hear(node: "subprocess.Popen[str]") -> None:
    if node.stdout is None or node.stdout.readline() != "ready\n":
        raise RuntimeError("a node did not start")


def _tell(node: "subprocess.Popen[str]") -> None:
    if node.stdin is not None:
        node.stdin.write("\n")
        node.stdin.flush()


def _be_node(url: str, folder: str, window: int) -> None:
    """Work on the records of a store once a line is read, until killed."""
    settings = Settings.load(environ={"STATEWARD_DATA": folder, "STATEWARD_STORE_URL": url})
    own = replace(settings.worker, inline_window=window, processes=1)
    app = App(replace(settings, pipelines=(product.__name__,), worker=own))
    with app, app.node() as node:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        node.run()


# The page


def table(found: Sequence[Found], plan: Plan) -> str:
    """What was found, as a table."""
    one = next(each.records_per_s for each in found if each.coordinators == 1)
    rows = [
        f"| {each.coordinators} | {each.lanes} | {each.records_per_s:.0f} | {each.records_per_s / one:.2f} |"
        f" {100 * each.lock_share:.1f} % |"
        for each in found
    ]
    head = (
        "| coordinators | lanes | records/s | of one coordinator | sessions that wait for a lock |"
    )
    about = (
        f"{plan.records:,} records of two stages that do nothing, {plan.window} at a time in each node, "
        f"{1000 * plan.round_trip_s:.0f} ms added to every round trip; medians of {plan.rounds} rounds:"
    )
    return "\n".join([about, "", head, "|---|---|---|---|---|", *rows])


def main() -> None:
    """Measure, and put the table into the page."""
    parser = ArgumentParser(prog="python -m lab.bench.lanes", description=__doc__)
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--records", type=int, default=Plan().records)
    parser.add_argument("--node", nargs=3, metavar=("URL", "FOLDER", "WINDOW"))
    given = parser.parse_args()
    if given.node:
        _be_node(given.node[0], given.node[1], int(given.node[2]))
        return
    if given.page is not None:
        check_places(given.page, PLACE)
    plan = Plan(records=given.records)
    text = table(measure_all(plan), plan)
    if given.page is None:
        sys.stdout.write(text + "\n")
    else:
        write_between(given.page, PLACE, text)


if __name__ == "__main__":
    main()
