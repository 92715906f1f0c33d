"""One measurement, its result, and the CPU meter.

A measurement runs in a process of its own, perhaps with a Python that has none of our dependencies: this module uses
the standard library only. CPU time is that of the process, of its children, and of every process of the PostgreSQL
server, those that ended meanwhile included; what the server does later (a checkpoint, a vacuum) is not seen.
"""

import json
import os
import resource
import time
from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
GROUP = 256
WARM_UP = 10


class Job(NamedTuple):
    """What to measure, in an empty `folder`; `url` names an empty database, "" a SQLite file in the folder.

    `server` is the process id of a PostgreSQL on this machine whose CPU time counts too (0: none). `depth` is how
    many records wait all the time, in the one mode that keeps a queue. `isolation` is how stages are run.
    """

    system: str
    store: str
    mode: str
    records: int
    folder: str
    url: str = ""
    server: int = 0
    depth: int = 0
    isolation: str = "process"


class Spent(NamedTuple):
    """Time: on the wall, and of processors here and in the server."""

    wall_s: float
    own_s: float
    server_s: float


class Reading(NamedTuple):
    """What a measurement found; latencies in seconds, from submit to done."""

    records: int
    wall_s: float
    own_s: float
    server_s: float
    p50_s: float
    p95_s: float
    version: str
    durability: str
    note: str = ""


def reading(
    job: Job,
    spent: Spent,
    latencies_s: Sequence[float],
    *,
    version: str,
    durability: str,
    note: str = "",
) -> Reading:
    """A reading; refused unless every record that was asked for was done."""
    if len(latencies_s) != job.records:
        raise RuntimeError(f"{len(latencies_s)} of {job.records} records were done")
    return Reading(
        records=job.records,
        wall_s=spent.wall_s,
        own_s=spent.own_s,
        server_s=spent.server_s,
        p50_s=percentile(latencies_s, 50),
        p95_s=percentile(latencies_s, 95),
        version=version,
        durability=durability,
        note=note,
    )


def percentile(values: Iterable[float], percent: int) -> float:
    """The smallest value that so many percent of all values do not exceed.

    >>> percentile([4, 1, 3, 2], 50), percentile([4, 1, 3, 2], 95)
    (2, 4)
    """
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


class Meter:
    """Counts from when it is made."""

    def __init__(self, server: int = 0) -> None:
        self._server = server
        self._begin = self._now()

    def spent(self) -> Spent:
        return Spent(*(now - then for now, then in zip(self._now(), self._begin, strict=True)))

    def _now(self) -> Spent:
        server_s = server_cpu_s(self._server) if self._server else 0.0
        return Spent(time.perf_counter(), own_cpu_s(), server_s)


def own_cpu_s() -> float:
    """The CPU time of this process, of its children that ended, and of all its descendants that still run.

    The kernel adds a child's time to its parent only when the child has ended, and sandboxed children live on.
    """
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended_s = sum(each.ru_utime + each.ru_stime for each in used)
    return ended_s + _descendants_cpu_s(os.getpid())


def server_cpu_s(server: int) -> float:
    """The CPU time of a PostgreSQL: its first process, its sessions, and sessions that have ended."""
    return _cpu_s(_stat(server)) + _descendants_cpu_s(server)


def _descendants_cpu_s(root: int) -> float:
    stats = {pid: stat for pid in _all_pids() if (stat := _stat(pid))}
    found: set[int] = set()
    frontier = {root}
    while frontier:
        frontier = {pid for pid, stat in stats.items() if int(stat[1]) in frontier} - found
        found |= frontier
    return sum(_cpu_s(stats[pid]) for pid in found)


def _cpu_s(stat: Sequence[str]) -> float:
    # Fields 14 to 17 of proc(5): user, system, and both of the children that were waited for.
    return sum(int(field) for field in stat[11:15]) / TICKS_PER_S


def _all_pids() -> list[int]:
    try:
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    except OSError:
        return []  # a system without /proc: only what getrusage knows is counted


def _stat(pid: int) -> list[str]:
    """State, parent and the rest of /proc/<pid>/stat; empty if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def encode(value: Job | Reading) -> str:
    """A job or a reading as one line."""
    return json.dumps(value._asdict())


def decode_job(line: str) -> Job:
    return Job(**json.loads(line))


def decode_reading(line: str) -> Reading:
    return Reading(**json.loads(line))
