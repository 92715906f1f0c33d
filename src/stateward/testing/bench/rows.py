"""Runs measurements in fresh processes and turns their readings into rows of a table.

Everything happens in temporary folders, and in a PostgreSQL database that is created for a measurement and dropped
after it. A measurement that fails says so in the note of its row and stops nothing.
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
from typing import Literal

import msgspec

import stateward
from stateward.core.errors import StatewardError
from stateward.testing.bench.jobs import Job, Reading, decode_reading, encode

StoreName = Literal["sqlite", "postgres"]
Isolation = Literal["process", "inline"]
Tell = Callable[[str], None]

JOB_S_MAX = 1800
NOTE_CHARS_MAX = 200
IDLE_RECORDS = 200
MODES = ("burst", "idle")
# The default first: it is what a new user gets.
ISOLATIONS: tuple[Isolation, ...] = ("process", "inline")
PRODUCT = "stateward.testing.bench.product"
# Our packages come last on the path: another system's Python has its own.
LAUNCH = (
    "import sys; sys.path += sys.argv[1].split(':'); "
    "from stateward.testing.bench.child import main; main()"
)
SOURCES = (str(Path(stateward.__file__).parents[1]),)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table. CPU is that of all processes, the database server included; no numbers where it failed.

    `isolation` is how our stages ran (empty for other systems); `settings` is what differs from a fresh install.
    """

    system: str
    store: StoreName
    mode: str
    isolation: str = ""
    records: int
    records_per_s: float | None = None
    cpu_ms_per_record: float | None = None
    server_cpu_ms_per_record: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    durability: str = ""
    version: str = ""
    settings: str = ""
    rounds: int = 1
    load: float = 0.0
    note: str = ""


class MeasurementFailed(Exception):
    """A measurement that did not come to an end; says why."""


def own_rows(
    *, records: int, rounds: int = 1, postgres: str | None = None, tell: Tell = lambda _: None
) -> Iterator[Row]:
    """Our own rows on this machine: SQLite, and PostgreSQL where the URL of a server is given."""
    stores: list[StoreName] = ["sqlite", *(["postgres"] if postgres else [])]  # type: ignore[list-item]
    for store in stores:
        for isolation in ISOLATIONS:
            for mode in MODES:
                count = records if mode == "burst" else min(IDLE_RECORDS, records)
                found: list[Reading | MeasurementFailed] = []
                load = os.getloadavg()[0]
                for number in range(rounds):
                    tell(f"{store}, {isolation}, {mode}, {count} records, round {number + 1}")
                    found.append(_measure_once(store, postgres, mode, isolation, count))
                yield row_of(
                    Row(
                        system="ours", store=store, mode=mode, isolation=isolation, records=count,
                        settings=settings_of(isolation), load=round(load, 1),
                    ),
                    found,
                )  # fmt: skip


def settings_of(isolation: str) -> str:
    """What differs from the settings of a fresh installation."""
    return "" if isolation == ISOLATIONS[0] else f"isolation: {isolation}"


def _measure_once(
    store: StoreName, postgres: str | None, mode: str, isolation: Isolation, records: int
) -> Reading | MeasurementFailed:
    try:
        with (
            empty_folder() as folder,
            _database(postgres if store == "postgres" else None) as place,
        ):
            url, server = place
            job = Job(
                "ours",
                store,
                mode,
                records,
                str(folder),
                url=url,
                server=server,
                isolation=isolation,
            )
            return measure_in_child(job)
    except (MeasurementFailed, StatewardError) as failure:
        return MeasurementFailed(str(failure))


@contextmanager
def _database(server_url: str | None) -> Iterator[tuple[str, int]]:
    """A database of its own on this server, dropped afterwards: its URL, and the server's process id if it is local."""
    if server_url is None:
        yield "", 0
        return
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import make_conninfo

    name = f"stateward_bench_{os.getpid()}"
    try:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            try:
                yield _with_database(server_url, name, make_conninfo), _local_server(connection)
            finally:
                connection.execute(
                    sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
                )
    except psycopg.Error as error:
        raise MeasurementFailed(f"PostgreSQL: {str(error).strip()}") from error


def _with_database(server_url: str, name: str, make_conninfo: Callable[..., str]) -> str:
    from urllib.parse import urlsplit, urlunsplit

    if "://" not in server_url:
        return make_conninfo(server_url, dbname=name)
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def _local_server(connection: object) -> int:
    """The first process of the server if it runs on this machine, else 0: its CPU time cannot be read then."""
    pid = connection.info.backend_pid  # type: ignore[attr-defined]
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1]) if b"postgres" in command else 0


def row_of(row: Row, found: Sequence[Reading | MeasurementFailed]) -> Row:
    """The row with the medians of its readings; the first failure where there is none."""
    good = [each for each in found if isinstance(each, Reading)]
    failures = [str(each) for each in found if isinstance(each, MeasurementFailed)]
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


def measure_in_child(
    job: Job,
    *,
    module: str = PRODUCT,
    python: str = sys.executable,
    sources: Sequence[str] = SOURCES,
) -> Reading:
    """Have this job measured by a fresh process of that Python; `MeasurementFailed` has its last line."""
    try:
        done = subprocess.run(
            child_command(job, module=module, python=python, sources=sources),
            cwd=job.folder,
            capture_output=True,
            text=True,
            timeout=JOB_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise MeasurementFailed(f"not done after {JOB_S_MAX} s") from late
    return read_answer(done.returncode, done.stdout, done.stderr)


def child_command(
    job: Job,
    *,
    module: str = PRODUCT,
    python: str = sys.executable,
    sources: Sequence[str] = SOURCES,
) -> list[str]:
    """The command that measures a job."""
    return [python, "-c", LAUNCH, ":".join(sources), module, encode(job)]


def read_answer(returncode: int, stdout: str, stderr: str) -> Reading:
    """The reading in the last line that a child printed."""
    try:
        return decode_reading(stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError, TypeError):
        lines = stderr.strip().splitlines() or [f"it ended with {returncode} and printed nothing"]
        raise MeasurementFailed(f"failed: {lines[-1][:NOTE_CHARS_MAX]}") from None


@contextmanager
def empty_folder() -> Iterator[Path]:
    """A folder on the disk that holds temporary files, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="stateward-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
