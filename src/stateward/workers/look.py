"""The runner behind `SingleJobs.look`; only the children of single jobs import it."""

from collections.abc import Callable
from pathlib import Path

from stateward.core.errors import FatalFailure
from stateward.definition.plugin import resolve
from stateward.workers.sdk import Job, Outcome, runner
from stateward.workers.single_jobs import LOOK


@runner(LOOK)
def look(job: Job) -> Outcome:
    """Call a function with the document and what was given; bytes come back as a file, all else as a value."""
    target, given = str(job.options["target"]), job.options["given"]
    if job.path is None or not isinstance(given, dict):
        raise FatalFailure("there is no document to look at", code="BAD_HINT")
    act: Callable[[Path, object], object] = resolve(target)
    found = act(job.path, given)
    if isinstance(found, bytes):
        job.save_file("found", found, media_type="application/octet-stream")
        return Outcome()
    return Outcome(about={"found": found})
