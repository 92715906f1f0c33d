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

from lab.bench.runs import Row, StoreName
from stateward.core.errors import InvalidRequest
from stateward.core.model import to_iso
from stateward.engine.system import wall_clock

FSYNCS = 50
CPU_AIM_MS = {"sqlite": 0.25, "postgres": 0.6}
FLOOR_AIM = 3.0
DBOS_AIM = {"sqlite": 50.0, "postgres": 25.0}
IDLE_AIM_MS = 20.0
TIMES = "\N{MULTIPLICATION SIGN}"
NAMES: dict[StoreName, str] = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


class Aim(NamedTuple):
    """An aim, what was measured, and whether it was reached; None where it could not be measured."""

    sentence: str
    found: str
    is_reached: bool | None


class Table:
    """Rows that can be found by what they are of."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self._row = {(row.system, row.store, row.mode): row for row in self.rows}

    def cpu_ms(self, system: str, store: StoreName, mode: str = "burst") -> float | None:
        """CPU a record."""
        row = self._row.get((system, store, mode))
        return None if row is None else row.cpu_ms_per_record

    def p95_ms(self, system: str, store: StoreName) -> float | None:
        """The latency of one record at a time that 95 of 100 do not exceed."""
        row = self._row.get((system, store, "idle"))
        return None if row is None else row.p95_ms

    def ratio(self, system: str, store: StoreName, mode: str, *, to: str) -> float | None:
        """CPU of one system over that of another, in the same mode on the same store."""
        one, other = self.cpu_ms(system, store, mode), self.cpu_ms(to, store, mode)
        return None if not one or not other else one / other

    def aims(self) -> list[Aim]:
        """What the engine is held to."""
        return [aim for store, name in NAMES.items() for aim in self._aims_on(store, name)]

    def _aims_on(self, store: StoreName, name: str) -> Iterator[Aim]:
        cpu_ms, limit = self.cpu_ms("ours", store), CPU_AIM_MS[store]
        yield _at_most(f"{name}: at most {limit} ms of CPU a record", cpu_ms, limit, "{:.3f} ms")
        above = self.ratio("ours", store, "burst", to="floor")
        sentence = f"{name}: within {FLOOR_AIM:g} {TIMES} of the floor"
        yield _at_most(sentence, above, FLOOR_AIM, "{:.2f} " + TIMES)
        less = self.ratio("DBOS", store, "burst", to="ours")
        sentence = f"{name}: at least {DBOS_AIM[store]:g} {TIMES} less CPU than DBOS"
        is_less = None if less is None else less >= DBOS_AIM[store]
        yield Aim(sentence, number(less, "{:.0f} " + TIMES), is_less)
        sentence = f"{name}: one record at a time, p95 under {IDLE_AIM_MS:g} ms"
        yield _at_most(sentence, self.p95_ms("ours", store), IDLE_AIM_MS, "{:.1f} ms")


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
    "system", "store", "mode", "records", "records/s", "CPU ms/record", "of it server", "p50 ms", "p95 ms",
    "CPU ÷ floor", "CPU ÷ ours", "load",
)  # fmt: skip


def _cells(table: Table, row: Row) -> tuple[str, ...]:
    return (
        f"{row.system} {row.version}".strip(),
        NAMES[row.store],
        row.mode,
        f"{row.records:,}",
        number(row.records_per_s, "{:,.0f}"),
        number(row.cpu_ms_per_record, "{:.3f}"),
        number(row.server_cpu_ms_per_record or None, "{:.3f}"),
        number(row.p50_ms, "{:,.1f}"),
        number(row.p95_ms, "{:,.1f}"),
        number(table.ratio(row.system, row.store, row.mode, to="floor"), "{:.1f}"),
        number(table.ratio(row.system, row.store, row.mode, to="ours"), "{:.1f}"),
        f"{row.load:g}",
    )


def notes(rows: Sequence[Row]) -> str:
    """What a reader must know of single rows: how durable, how it was run, why it failed."""
    said: dict[str, list[str]] = {}
    for row in rows:
        words = "; ".join(filter(None, (row.durability, row.note)))
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
