"""Statements: the `upload` machine and its two stages, from a bank's file to transactions that add up.

`parse` reads a file into observations: rows just as they are printed, with their places (`parsing`, and a reader
for each format). `normalize` reads those by the terms that were decided over the whole file (`normalizing`). What
the two need is imported when they first run, so that no command waits for the parsers of five formats.
"""

from collections.abc import Iterator

from stateward.pipelines import shipped
from stateward.workers.sdk import Batch, Job, runner

UPLOAD = shipped(__name__, "machine.yaml")


@runner("upload.parse")
def parse(job: Job) -> Iterator[Batch]:
    """A statement of any format as observations."""
    from stateward.pipelines.statements.parse import parse

    return parse(job)


@runner("upload.normalize")
def normalize(job: Job) -> Iterator[Batch]:
    """Observations as canonical transactions."""
    from stateward.pipelines.statements.normalize import normalize

    return normalize(job)
