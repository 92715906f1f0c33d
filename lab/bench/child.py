"""The process in which one measurement happens: a job comes in as an argument, a reading goes out as a line.

It may run in a Python that has only a peer's packages, so it loads nothing but what the job asks for. Whatever a
peer prints goes to stderr.
"""

import os
import sys
from importlib import import_module

from lab.bench.jobs import (
    Job,
    Reading,
    read_job,
    written,
)

OURS = ("ours", "floor")
MODULES = {
    "ours": "lab.bench.ours",
    "floor": "lab.bench.floor",
    "DBOS": "lab.bench.peers",
    "PgQueuer": "lab.bench.peers",
    "Huey": "lab.bench.peers",
}


def measure(job: Job) -> Reading:
    """What the system of this job takes for it."""
    reading: Reading = import_module(MODULES[job.system]).measure(job)
    return reading


def main() -> None:
    """Measure what the last argument asks for."""
    job = read_job(sys.argv[-1])
    answer = os.dup(1)
    if job.mode != "share":  # that one talks with whoever started it
        os.dup2(2, 1)
    line = written(measure(job))
    sys.stdout.flush()
    os.write(answer, f"{line}\n".encode())
    if job.system not in OURS:
        sys.stderr.flush()
        os._exit(0)  # a peer's threads and handlers may take their time
