"""A pipeline with one stage that asks outside for something dear, and dies once it has it. Tests load this file."""

import os
import signal
import socket
from typing import Any

from stateward.definition.declare import declare
from stateward.workers.sdk import Job, runner

PAYING = declare(
    {
        "machine": "paying",
        "version": 1,
        "prefix": "PY",
        "initial": "received",
        "states": {
            "received": {"kind": "ready"},
            "asking": {"kind": "running"},
            "done": {"kind": "terminal"},
            "error": {"kind": "failed"},
        },
        "stages": {
            "ask": {
                "from": "received",
                "running": "asking",
                "outcomes": {"done": "done"},
                "on_error": "error",
                "timeout_s": 30,
                "network": True,
            }
        },
        "retry": {"max_retries": 3, "backoff_s": [3600]},
    }
)


@runner("paying.ask")
def ask(job: Job) -> dict[str, Any]:
    """Ask the seller whose port the document names; a worker that dies afterwards has still paid once."""
    answer = job.load("answer")
    if answer is None:
        with socket.create_connection(("127.0.0.1", int(job.text()))) as seller:
            answer = seller.recv(100)
        job.save("answer", answer)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"answer": answer.decode()}
