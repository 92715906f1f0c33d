"""A pipeline whose stages derive files from each other's. Tests load this file."""

from hashlib import sha256
from typing import Any

from stateward.core.errors import StageFailure
from stateward.definition.declare import declare
from stateward.workers.sdk import Job, Outcome, runner

PICTURES = declare(
    {
        "machine": "pictures",
        "version": 1,
        "prefix": "PX",
        "initial": "received",
        "states": {
            "received": {"kind": "ready"},
            "shrinking": {"kind": "running"},
            "shrunk": {"kind": "ready"},
            "framing": {"kind": "running"},
            "framed": {"kind": "ready"},
            "checking": {"kind": "running"},
            "done": {"kind": "terminal"},
            "error": {"kind": "failed"},
        },
        "stages": {
            "shrink": {
                "from": "received",
                "running": "shrinking",
                "outcomes": {"done": "shrunk"},
                "on_error": "error",
                "timeout_s": 30,
            },
            "frame": {
                "from": "shrunk",
                "running": "framing",
                "outcomes": {"done": "framed"},
                "on_error": "error",
                "timeout_s": 30,
                "isolation": "inline",
            },
            "check": {
                "from": "framed",
                "running": "checking",
                "outcomes": {"done": "done"},
                "on_error": "error",
                "timeout_s": 30,
            },
        },
        "retry": {"max_retries": 3, "backoff_s": [3600]},
        "expose": {"thumbnail_ref": "shrunk"},
    }
)


@runner("pictures.shrink")
def shrink(job: Job) -> Outcome[Any]:
    """Save a picture and a page; the first attempt at some documents fails after it."""
    picture = job.scratch / "small.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + job.bytes())
    reference = job.save_file("small.png", picture, media_type="image/png")
    page = b"<script>alert(1)</script>"
    job.save_file("page.html", page, media_type="text/html")
    if job.text().startswith("fails first") and job.retry_count == 0:
        job.save_file("of-the-first.txt", b"never seen", media_type="text/plain")
        raise StageFailure("not yet", code="NOT_YET")
    return Outcome(facts={"thumbnail_ref": reference})


@runner("pictures.frame")
def frame(job: Job) -> dict[str, Any]:
    """Save a file in the worker's own process."""
    data = b"framed " + job.file("shrink", "small.png").read_bytes()
    return {"reference": job.save_file("framed.bin", data, media_type="application/x-framed")}


@runner("pictures.check")
def check(job: Job) -> dict[str, Any]:
    """Read the files of both."""
    found = [job.file("shrink", "small.png"), job.file("frame", "framed.bin")]
    return {"sha256": [sha256(each.read_bytes()).hexdigest() for each in found]}
