"""A pipeline whose stage stores a file and many items, all of them text of the document. Tests load this file."""

from collections.abc import Iterator
from typing import Any

from stateward.definition.declare import declare
from stateward.workers.sdk import Job, runner

DERIVING = declare(
    {
        "machine": "deriving",
        "version": 1,
        "prefix": "DV",
        "initial": "received",
        "states": {
            "received": "ready",
            "reading": "running",
            "read": "terminal",
            "error": "failed",
        },
        "stages": {
            "read": {
                "from": "received", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error",
                "isolation": "inline",
            },
        },
    }
)  # fmt: skip


@runner("deriving.read")
def read(job: Job) -> Iterator[dict[str, Any]]:
    """The document is a text and a number: it is stored as a file, and given as an item that often."""
    text, _, count = job.text().rpartition(" ")
    job.save_file("page.txt", text.encode(), media_type="text/plain")
    yield from ({"text": text} for _ in range(int(count)))
