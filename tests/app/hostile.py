"""A pipeline whose runner does what the document says: everything a runner should not do."""

import os
import sys
import time
from collections.abc import Iterator

from stateward.core.model import Fields
from stateward.definition.declare import declare
from stateward.workers import Job, runner

HOSTILE = declare(
    machine="hostile",
    version=1,
    prefix="HO",
    initial="queued",
    states={"queued": "ready", "running": "running", "done": "terminal", "error": "failed"},
    stages={
        "act": {
            "from": "queued",
            "running": "running",
            "outcomes": {"done": "done"},
            "on_error": "error",
            "produces": "acts",
            "timeout_s": 3,
        }
    },
    retry={"max_retries": 0},
)


@runner("hostile.act")
def act(job: Job) -> Iterator[Fields]:
    match job.text():
        case "print":
            os.write(1, os.urandom(100_000))
            sys.stdout.write("\x1b[31mred\x00")
        case "fork":
            for _ in range(3):
                if os.fork() == 0:
                    time.sleep(60)
        case "exit":
            sys.exit(7)
        case "die":
            os._exit(9)
        case "allocate":
            hoard = [bytearray(64 << 20) for _ in range(1000)]
            yield {"hoard": len(hoard)}
        case "sleep":
            time.sleep(600)
        case "million":
            for number in range(1_000_000):
                yield {"n": number}
        case "raise":
            raise RuntimeError("it \x00 broke \ud800")
    yield {"acted": True, "process": os.getpid()}
