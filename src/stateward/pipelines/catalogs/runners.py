"""The runners of catalogues: `parse` reads a file into observations, `normalize` those into products.

What the two need is imported when they first run, so that nothing else waits for it.
"""

from collections.abc import Iterator

from stateward.workers.sdk import Batch, Job, runner


@runner("catalog.parse")
def parse(job: Job) -> Iterator[Batch]:
    """A catalogue of any format as observations."""
    from stateward.pipelines.catalogs.parse import parse

    return parse(job)


@runner("catalog.normalize")
def normalize(job: Job) -> Iterator[Batch]:
    """Observations as valid products; the others are rejected with a reason."""
    from stateward.pipelines.catalogs.normalize import normalize

    return normalize(job)
