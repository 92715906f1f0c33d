"""The runner of the benchmark. Children import this module alone, as they import the runners of any pipeline."""

from collections.abc import Iterator

from stateward.core.model import Fields
from stateward.workers.sdk import Job, runner

NAME = "bench.nothing"


@runner(NAME)
def nothing(_: Job) -> Iterator[Fields]:
    """A stage that does nothing, and produces one item."""
    yield {"n": 1}
