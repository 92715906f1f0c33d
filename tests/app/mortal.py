"""A pipeline whose processes die: of the document, by a person's hand, or while they load. Tests load this file."""

import os
import signal
import time
from pathlib import Path

from stateward.definition.declare import declare
from stateward.workers.sdk import Job, runner

# A file beside this one, whose presence kills the next child process that loads it.
TRAP = Path(__file__).with_suffix(".trap")
if "scratch" in Path.cwd().parts and TRAP.exists():
    TRAP.unlink()
    os.kill(os.getpid(), signal.SIGKILL)

MORTAL = declare(
    {
        "machine": "mortal",
        "version": 1,
        "prefix": "MT",
        "initial": "received",
        "states": {
            "received": {"kind": "ready"},
            "working": {"kind": "running"},
            "done": {"kind": "terminal"},
            "error": {"kind": "failed"},
        },
        "stages": {
            "work": {
                "from": "received",
                "running": "working",
                "outcomes": {"done": "done"},
                "on_error": "error",
                "timeout_s": 120,
            }
        },
        "retry": {"max_retries": 0},
    }
)


@runner("mortal.work")
def work(job: Job) -> dict[str, str]:
    """Die of the document, or wait to be killed the first time it is begun."""
    if job.text() == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if job.load("pid") is None:
        job.save("pid", str(os.getpid()).encode())
        time.sleep(100)
    return {"text": job.text()}
