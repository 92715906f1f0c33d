"""A pipeline whose second stage reads items of earlier records. Tests load this file."""

from typing import Any

from stateward.definition.declare import declare
from stateward.workers.sdk import Job, runner

COMPARING = declare(
    {
        "machine": "comparing",
        "version": 1,
        "prefix": "CG",
        "initial": "received",
        "states": {
            "received": "ready",
            "reading": "running",
            "read": "ready",
            "comparing": "running",
            "compared": "terminal",
            "error": "failed",
        },
        "stages": {
            "read": {
                "from": "received", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error",
                "isolation": "inline",
            },
            "compare": {
                "from": "read", "running": "comparing", "outcomes": {"done": "compared"}, "on_error": "error",
                "isolation": "inline",
                "earlier": {"of": ["read"], "key": "who", "at": "day", "fields": ["value"]},
            },
        },
    }
)  # fmt: skip


@runner("comparing.read")
def read(job: Job) -> dict[str, Any]:
    """The document is `who day value`."""
    who, day, value = job.text().split()
    return {"who": who, "day": day, "value": int(value)}


@runner("comparing.compare")
def compare(job: Job) -> dict[str, Any]:
    """The value before this one, and this one."""
    (own,) = job.items("read")
    return {"before": [each["value"] for each in job.earlier()], "value": own["value"]}
