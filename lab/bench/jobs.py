"""What one measurement is, what it found, and the meter that finds it.

A measurement runs in a process of its own, perhaps with a Python that has none of our packages: this module uses
the standard library only. CPU time is that of the process, of its children, and of every process of the PostgreSQL
server, those that ended meanwhile included; what the server does later (a checkpoint, a vacuum) is not seen.
"""

import json
import resource
import time
from collections.abc import Iterable, Sequence
from math import ceil
from os import sysconf
from pathlib import Path
from typing import NamedTuple

TICKS_PER_S = sysconf("SC_CLK_TCK")
GROUP = 256
WARM_UP = 10


class Job(NamedTuple):
    """What to measure. `folder` is empty and ours; `url` names a database of our own, '' a file in the folder.

    `depth` is how many records wait all the time, in the one mode that keeps a queue.
    """

    system: str
    store: str
    mode: str
    records: int
    folder: str
    url: str = ""
    server: int = 0
    depth: int = 0


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
        """What was spent since."""
        return Spent(*(now - then for now, then in zip(self._now(), self._begin, strict=True)))

    def _now(self) -> Spent:
        server_s = server_cpu_s(self._server) if self._server else 0.0
        return Spent(time.perf_counter(), own_cpu_s(), server_s)


def own_cpu_s() -> float:
    """The CPU time of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def server_cpu_s(server: int) -> float:
    """The CPU time of a PostgreSQL: its first process, the sessions there are, and those that were."""
    first = _stat(server)
    # Fields 14 to 17 of proc(5): user, system, and both of the children that were waited for.
    ticks = sum(int(first[place]) for place in (11, 12, 13, 14))
    for stat in map(_stat, _everybody()):
        if stat and int(stat[1]) == server:
            ticks += int(stat[11]) + int(stat[12])
    return ticks / TICKS_PER_S


def _everybody() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """State, parent and the rest of /proc/<pid>/stat; empty if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def written(value: Job | Reading) -> str:
    """A job or a reading as one line."""
    return json.dumps(value._asdict())


def read_job(line: str) -> Job:
    """The job of a line."""
    return Job(**json.loads(line))


def read_reading(line: str) -> Reading:
    """The reading of a line."""
    return Reading(**json.loads(line))
