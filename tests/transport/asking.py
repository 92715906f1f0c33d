"""A pipeline with one stage that waits for an answer from outside. Tests load this file."""

import socket
from typing import Any

from stateward.definition.declare import declare
from stateward.workers.sdk import Job, runner

ASKING = declare(
    {
        "machine": "asking",
        "version": 1,
        "prefix": "AK",
        "initial": "received",
        "states": {
            "received": "ready",
            "asking": "running",
            "done": "terminal",
            "error": "failed",
        },
        "stages": {
            "ask": {
                "from": "received", "running": "asking", "outcomes": {"done": "done"}, "on_error": "error",
                "network": True,
            },
        },
    }
)  # fmt: skip


@runner("asking.ask")
def ask(job: Job) -> dict[str, Any]:
    """What is said at the port that the document names."""
    with socket.create_connection(("127.0.0.1", int(job.text()))) as other:
        return {"answer": other.recv(100).decode()}
