"""The process in which one measurement happens: a job comes in as an argument, a reading goes out as a line.

It may run in a Python that has only another system's packages, so it loads nothing but the module that the first
argument names. Whatever the measured system prints goes to stderr.
"""

import gc
import os
import sys
from importlib import import_module

from stateward.testing.bench.jobs import Reading, decode_job, encode

# These end by themselves; the threads and exit handlers of other systems may take their time.
OURS = ("ours", "floor")
# What the `stateward` command sets for every process of a service. The peers run as their own packages leave it.
GARBAGE_FROM = 50_000


def main() -> None:
    """Measure the job in the last argument with the module in the one before."""
    job = decode_job(sys.argv[-1])
    answer = os.dup(1)
    if job.mode != "share":  # that one talks with the process that started it
        os.dup2(2, 1)
    if job.system in OURS:
        gc.set_threshold(GARBAGE_FROM)
    found: Reading = import_module(sys.argv[-2]).measure(job)
    sys.stdout.flush()
    os.write(answer, f"{encode(found)}\n".encode())
    if job.system not in OURS:
        sys.stderr.flush()
        os._exit(0)
