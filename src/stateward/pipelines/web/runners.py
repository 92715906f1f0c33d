"""The runners of web pages: `parse` and `fetch` find text and facts, `normalize` resolves what they are about.

What they need is imported when they first run, so that nothing else waits for it.
"""

from collections.abc import Iterator

from stateward.workers.sdk import Batch, Job, runner


@runner("web.parse")
def parse(job: Job) -> Iterator[Batch]:
    """The pages in a file, and the facts in them."""
    from stateward.pipelines.web.parse import parse

    return parse(job)


@runner("web.fetch")
def fetch(job: Job) -> Iterator[Batch]:
    """The page at the address in a file, and the facts in it. Fetched once: a retry reads what was received."""
    from stateward.pipelines.web.parse import fetch

    return fetch(job)


@runner("web.normalize")
def normalize(job: Job) -> Iterator[Batch]:
    """Facts with the entities, dates and amounts that they are about."""
    from stateward.pipelines.web.normalize import normalize

    return normalize(job)
