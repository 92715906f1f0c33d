"""How quickly the console answers on a long history in PostgreSQL: board, lists, and a record that moved 10,000 times.

    python -m lab.bench.console docs/explanation/console-speed.md --records 1000000

The history is that of `fill`, a fiftieth of it failed. The time is that of whole answers over loopback, one after the
other: the service and its server share the machine with the client.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import quote

import httpx2
import msgspec
import psycopg

from lab.bench.fill import History
from lab.bench.pages import facts
from lab.bench.report import write_between
from lab.bench.runs import place
from stateward.app import App
from stateward.console import console
from stateward.server.http_server import Server
from stateward.settings import Settings
from stateward.testing.bench.jobs import Job, percentile
from stateward.testing.bench.product import PROCESS as MACHINE
from stateward.testing.bench.rows import Tell

RECORDS = 1_000_000
ROUNDS = 20
LONG = 10_000
FAILED_EACH = 50
CAUSES = 40
NAME = "console"
LIST_AIM_MS, RECORD_AIM_MS = 300, 1000

# Without these the failed records would have no cause; and their counters are as the follower leaves them.
FAIL = f"""
UPDATE stateward.records SET status = 'broken', failed_from = 'first_running', error_code = 'READ_' || (n % 4),
    error_message = 'row ' || n || ' of file ' || (n % {CAUSES}) || ' cannot be read', entered_at = created_at + n
FROM (SELECT id AS of, row_number() OVER (ORDER BY id) AS n FROM stateward.records) AS numbered
WHERE id = of AND n % {FAILED_EACH} = 0
"""
COUNT = """
INSERT INTO stateward.counters (metric, labels, bucket, count, total)
SELECT 'transitions', json_build_array(machine, coalesce(source, ''), target)::text, 0, count(*), 0
FROM stateward.transitions GROUP BY machine, source, target
ON CONFLICT (metric, labels, bucket) DO UPDATE SET count = excluded.count;
UPDATE stateward.followers SET seq = (SELECT max(seq) FROM stateward.transitions) WHERE name = 'metrics'
"""
LENGTHEN = f"""
INSERT INTO stateward.transitions
SELECT (SELECT max(seq) FROM stateward.transitions) + i, record_id, version + i, machine, machine_version,
    CASE mod(i, 2) WHEN 0 THEN 'first_running' ELSE 'broken' END,
    CASE mod(i, 2) WHEN 0 THEN 'broken' ELSE 'first_running' END, NULL, at + i::bigint * 1000000, actor,
    CASE mod(i, 2) WHEN 0 THEN 'first.failed' ELSE 'first.started' END, i, metadata, authority, epoch,
    record_hash, prev_hash, hash
FROM stateward.transitions AS t, generate_series(1, {LONG}) AS s(i)
WHERE record_id = %(id)s AND version = (SELECT version FROM stateward.records WHERE id = %(id)s);
UPDATE stateward.records SET version = version + {LONG} WHERE id = %(id)s;
SELECT setval('stateward.transitions_numbers', (SELECT max(seq) FROM stateward.transitions))
"""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A page and how long its answers took."""

    what: str
    median_ms: float
    p95_ms: float
    most_ms: float
    kib: float
    aim_ms: int | None = None


def measure(records: int, *, tell: Tell = print) -> Iterator[Answered]:
    """Every page, as it is measured."""
    with place("postgres") as where, where.job("ours", "burst", records) as job:
        tell(f"filling up to {records:,} records")
        History(job).fill(records)
        with serving(job) as url, httpx2.Client(base_url=url, timeout=120) as client:
            tell("the board before anything was tallied")
            yield asked(client, "board, nothing tallied yet", "/console", rounds=3)
        tell("letting some fail, and tallying")
        long_id = prepared(job)
        with serving(job) as url, httpx2.Client(base_url=url, timeout=120) as client:
            for what, path, aim_ms in pages(long_id):
                tell(what)
                yield asked(client, what, path, aim_ms=aim_ms)


def pages(long_id: str) -> list[tuple[str, str, int | None]]:
    """What is asked for: its name, its address, and the aim."""
    return [
        ("board", "/console", LIST_AIM_MS),
        ("board, what changes", "/console/board/live", LIST_AIM_MS),
        ("records", "/console/records", LIST_AIM_MS),
        ("records of a status", "/console/records?q=" + quote("machine:bench status:broken"), LIST_AIM_MS),
        ("how many of a status", "/console/records/count?q=" + quote("machine:bench status:finished"), LIST_AIM_MS),
        ("records of an error", "/console/records?q=" + quote("error:READ_2"), LIST_AIM_MS),
        (f"a record with {LONG:,} transitions", f"/console/records/{long_id}", RECORD_AIM_MS),
        ("its earlier history", f"/console/records/{long_id}/timeline?before=5000", RECORD_AIM_MS),
        ("errors by cause", "/console/errors", None),
        ("ledger", "/console/ledger", None),
        ("search in the history", "/console/ledger?actor=nobody", None),
        ("operations", "/console/operations", None),
    ]  # fmt: skip


@contextmanager
def serving(job: Job) -> Iterator[str]:
    """The service with its console on the store of a job; where."""
    variables = {"STATEWARD_DATA": job.folder, "STATEWARD_STORE_URL": job.url}
    settings = Settings.load(environ=variables)
    settings = msgspec.structs.replace(settings, api=msgspec.structs.replace(settings.api, port=0))

    def open_app() -> App:
        return App(settings, machines=[MACHINE])

    with Server(settings, open_app=open_app, extra_routes=console()) as server:
        yield server.url


def prepared(job: Job) -> str:
    """Let some records fail, count the log's transitions, and give one record a long history; its id."""
    with psycopg.connect(job.url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(FAIL)
        found = connection.execute(
            "SELECT id FROM stateward.records WHERE status = 'broken' LIMIT 1"
        ).fetchall()
        record_id = str(found[0][0])
        for statement in LENGTHEN.split(";"):
            connection.execute(statement, {"id": record_id})
        for statement in COUNT.split(";"):
            connection.execute(statement)
        connection.execute("VACUUM (ANALYZE)")
        return record_id


def asked(
    client: httpx2.Client,
    what: str,
    path: str,
    *,
    aim_ms: int | None = None,
    rounds: int = ROUNDS,
    ticks: Callable[[], float] = time.perf_counter,
) -> Answered:
    """Ask for a page again and again; the first time does not count."""
    took: list[float] = []
    size = 0
    for number in range(rounds + 1):
        before = ticks()
        answer = client.get(path)
        if number:
            took.append(1000 * (ticks() - before))
        answer.raise_for_status()
        size = len(answer.content)
    return Answered(
        what=what,
        median_ms=median(took),
        p95_ms=percentile(took, 95),
        most_ms=max(took),
        kib=size / 1024,
        aim_ms=aim_ms,
    )


def table(found: list[Answered], *, records: int) -> str:
    """What was found, in Markdown."""
    command = "make bench-console" + ("" if records == RECORDS else f" RECORDS={records}")
    about = facts(command, ("postgres",))
    lines = [
        *(f"- {line}" for line in about),
        f"- {records:,} records",
        "",
        "| page | median ms | p95 ms | most ms | KiB | aim |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in found:
        is_met = "" if each.aim_ms is None else "reached" if each.p95_ms < each.aim_ms else "missed"
        aim = "" if each.aim_ms is None else f"{each.aim_ms} ms: {is_met}"
        lines.append(
            f"| {each.what} | {each.median_ms:.0f} | {each.p95_ms:.0f} | {each.most_ms:.0f} | {each.kib:.0f} | {aim} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and put the table into a page."""
    parser = argparse.ArgumentParser(prog="python -m lab.bench.console")
    parser.add_argument("page", type=Path)
    parser.add_argument("--records", type=int, default=RECORDS)
    given = parser.parse_args()
    found = list(measure(given.records, tell=lambda text: print(text, flush=True)))
    write_between(given.page, NAME, table(found, records=given.records))


if __name__ == "__main__":
    main()
