"""The page: one table, the ratios, and the aims with what was reached; and what machine it was.

It puts text between two markers of a page and leaves the rest as it is. It measures nothing but the disk.
"""

import os
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import apsw

from lab.bench import transports
from lab.bench.runs import PEERS
from stateward.core.errors import InvalidRequest
from stateward.core.model import to_iso
from stateward.engine.system import wall_clock
from stateward.testing.bench.rows import Row, StoreName

FSYNCS = 50
FLOOR_AIM = 3.0
APART_AIM = 1.5
APART_P50_MS = 10.0


class Aims(NamedTuple):
    """What the engine is held to on one store with one isolation."""

    burst_cpu_ms: float
    records_per_s: float
    idle_p50_ms: float
    idle_cpu_ms: float
    less_than_dbos: float


AIMS: dict[tuple[StoreName, str], Aims] = {
    ("sqlite", "process"): Aims(0.7, 1_800, 4, 3, 25),
    ("sqlite", "inline"): Aims(0.25, 4_000, 3, 2, 50),
    ("postgres", "process"): Aims(1.0, 1_200, 6, 7, 25),
    ("postgres", "inline"): Aims(0.45, 2_500, 4.5, 5, 50),
}
TIMES = "\N{MULTIPLICATION SIGN}"
NAMES: dict[StoreName, str] = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


class Aim(NamedTuple):
    """An aim, what was measured, and whether it was reached; None where it could not be measured."""

    sentence: str
    found: str
    is_reached: bool | None


class Table:
    """Rows that can be looked up by system, store, mode and isolation."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self._row = {(row.system, row.store, row.mode, row.isolation): row for row in self.rows}

    def find(self, system: str, store: StoreName, mode: str, isolation: str = "") -> Row | None:
        """The row; our own default isolation where none is named."""
        own = isolation or ("process" if system.startswith("ours") else "")
        return self._row.get((system, store, mode, own))

    def ratio(self, row: Row | None, *, to: str) -> float | None:
        """CPU of a row over that of another system, in the same mode on the same store."""
        other = None if row is None else self.find(to, row.store, row.mode)
        if row is None or other is None or not row.cpu_ms_per_record or not other.cpu_ms_per_record:
            return None
        return row.cpu_ms_per_record / other.cpu_ms_per_record

    def aims(self) -> list[Aim]:
        """Every aim with what was measured."""
        own = [aim for key, aims in AIMS.items() for aim in self._aims_on(*key, aims)]
        return [*own, *self._aims_apart()]

    def _aims_apart(self) -> Iterator[Aim]:
        """Those of engines that carry work to workers of their own, beside the database that does."""
        store: StoreName = "postgres"
        for system in transports.SYSTEMS[1:]:
            burst = self.find(system, store, "burst")
            idle = self.find(system, store, "idle")
            name = f"{NAMES[store]}, {system}"
            yield _at_most(
                f"{name}: at most {APART_AIM:g} {TIMES} the CPU of workers over the database",
                self.ratio(burst, to=transports.SYSTEMS[0]), APART_AIM, "{:.2f} " + TIMES,
            )  # fmt: skip
            yield _at_most(
                f"{name}: one record at a time, p50 at most {APART_P50_MS:g} ms",
                idle.p50_ms if idle else None, APART_P50_MS, "{:.1f} ms",
            )  # fmt: skip

    def _aims_on(self, store: StoreName, isolation: str, aims: Aims) -> Iterator[Aim]:
        burst = self.find("ours", store, "burst", isolation)
        idle = self.find("ours", store, "idle", isolation)
        name = f"{NAMES[store]}, {isolation}"
        yield _at_most(
            f"{name}: at most {aims.burst_cpu_ms} ms of CPU a record in a burst",
            burst.cpu_ms_per_record if burst else None, aims.burst_cpu_ms, "{:.3f} ms",
        )  # fmt: skip
        yield _at_least(
            f"{name}: at least {aims.records_per_s:,.0f} records/s",
            burst.records_per_s if burst else None, aims.records_per_s, "{:,.0f}",
        )  # fmt: skip
        yield _at_most(
            f"{name}: one record at a time, p50 at most {aims.idle_p50_ms:g} ms",
            idle.p50_ms if idle else None, aims.idle_p50_ms, "{:.1f} ms",
        )  # fmt: skip
        yield _at_most(
            f"{name}: one record at a time, at most {aims.idle_cpu_ms:g} ms of CPU",
            idle.cpu_ms_per_record if idle else None, aims.idle_cpu_ms, "{:.1f} ms",
        )  # fmt: skip
        above = self.ratio(burst, to="floor")
        yield _at_most(
            f"{name}: within {FLOOR_AIM:g} {TIMES} of the floor",
            above,
            FLOOR_AIM,
            "{:.2f} " + TIMES,
        )
        share = self.ratio(burst, to="DBOS")
        yield _at_least(
            f"{name}: at least {aims.less_than_dbos:g} {TIMES} less CPU than DBOS in a burst",
            None if share is None else 1 / share, aims.less_than_dbos, "{:.0f} " + TIMES,
        )  # fmt: skip
        for peer in (each for each, on in PEERS if on == store):
            for row, when in ((burst, "in a burst"), (idle, "one at a time")):
                yield _at_most(
                    f"{name}: less CPU than {peer} {when}",
                    self.ratio(row, to=peer), 1.0, "{:.2f} " + TIMES,
                )  # fmt: skip


def _at_least(sentence: str, found: float | None, limit: float, shape: str) -> Aim:
    return Aim(sentence, number(found, shape), None if found is None else found >= limit)


def _at_most(sentence: str, found: float | None, limit: float, shape: str) -> Aim:
    return Aim(sentence, number(found, shape), None if found is None else found <= limit)


def benchmark(rows: Sequence[Row], *, facts: Iterable[str]) -> str:
    """Everything that stands between the markers of the page."""
    table = Table(rows)
    parts = [
        bullets(facts),
        markdown(HEAD, [_cells(table, row) for row in rows]),
        notes(rows),
        markdown(("aim", "measured", ""), [(a.sentence, a.found, _word(a)) for a in table.aims()]),
    ]
    return "\n\n".join(part for part in parts if part)


HEAD = (
    "system", "store", "isolation", "mode", "records", "records/s", "CPU ms/record", "of it server", "p50 ms", "p95 ms",
    "CPU ÷ floor", "CPU ÷ ours", "load",
)  # fmt: skip


def _cells(table: Table, row: Row) -> tuple[str, ...]:
    return (
        f"{row.system} {row.version}".strip(),
        NAMES[row.store],
        row.isolation,
        row.mode,
        f"{row.records:,}",
        number(row.records_per_s, "{:,.0f}"),
        number(row.cpu_ms_per_record, "{:.3f}"),
        number(row.server_cpu_ms_per_record or None, "{:.3f}"),
        number(row.p50_ms, "{:,.1f}"),
        number(row.p95_ms, "{:,.1f}"),
        number(table.ratio(row, to="floor"), "{:.1f}"),
        number(table.ratio(row, to="ours"), "{:.1f}"),
        f"{row.load:g}",
    )


def notes(rows: Sequence[Row]) -> str:
    """What a reader must know of single rows: how durable, how it was run, why it failed."""
    said: dict[str, list[str]] = {}
    for row in rows:
        words = "; ".join(filter(None, (row.durability, row.settings, row.note)))
        where = f"{row.system} on {NAMES[row.store]}"
        said.setdefault(words, []).append(f"{where} ({row.mode})" if row.note else where)
    return bullets(
        f"{', '.join(dict.fromkeys(who))}: {words}" for words, who in said.items() if words
    )


def _word(aim: Aim) -> str:
    return {True: "reached", False: "**missed**", None: "not measured"}[aim.is_reached]


# Pieces of Markdown


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    every = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in every)


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


def number(value: float | None, shape: str) -> str:
    """A number, or nothing."""
    return "" if value is None else shape.format(value)


def between_markers(page: str, name: str, text: str) -> str:
    """The page with this text between its markers of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, is_begun, rest = page.partition(begin)
    _, is_ended, after = rest.partition(end)
    if not is_begun or not is_ended:
        raise InvalidRequest(f"the page has no place for {name!r}; put {begin} and {end} into it")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def check_places(path: Path, *names: str) -> None:
    """Refuse a page that has no place for what will be measured, before an hour is spent on it."""
    try:
        page = path.read_text("utf-8")
    except OSError as error:
        raise InvalidRequest(
            f"cannot read the page {path} ({error.strerror}); name one that is there"
        ) from error
    for name in names:
        between_markers(page, name, "")


def write_between(path: Path, name: str, text: str) -> None:
    """Put text between two markers of a file."""
    path.write_text(between_markers(path.read_text("utf-8"), name, text), "utf-8")


# The machine


def machine(*, command: str, postgres: str = "") -> list[str]:
    """Where and when it was measured, in lines."""
    engines = [
        f"SQLite {apsw.sqlite_lib_version()}",
        *([f"PostgreSQL {postgres}"] if postgres else []),
    ]
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return [
        f"command: `{command}`",
        f"date: {to_iso(wall_clock())[:16].replace('T', ' ')} UTC",
        f"machine: {os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}, {', '.join(engines)}",
        f"load average at the end (1, 5, 15 minutes): {load}",
        f"an fsync of 4 KiB took {1000 * fsync_s():.2f} ms (median of {FSYNCS}, on the disk that was used)",
    ]


def fsync_s() -> float:
    """How long the disk takes to make one page durable."""
    with tempfile.TemporaryFile() as file:
        return median(_synced(file.fileno()) for _ in range(FSYNCS))


def _synced(descriptor: int) -> float:
    begin = time.perf_counter()
    os.write(descriptor, b"\0" * 4096)
    os.fsync(descriptor)
    return time.perf_counter() - begin
