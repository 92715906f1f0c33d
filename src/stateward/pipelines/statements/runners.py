"""The runners of the `upload` machine: `parse` reads a file into observations, `normalize` those into transactions.

What the two need is imported when they first run, so that nothing waits for the parsers of seven formats.
"""

from collections.abc import Iterator

from stateward.workers.sdk import Batch, Job, runner


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
