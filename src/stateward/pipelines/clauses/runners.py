"""The runners of the source type `contract_clauses`; what they need is imported when they first run."""

from collections.abc import Iterator

from stateward.core.model import Fields
from stateward.workers.sdk import Job, Outcome, runner


@runner("clauses.parse")
def parse(job: Job) -> Outcome:
    """A contract as parts that cover its text."""
    from stateward.pipelines.clauses.stages import parse

    return parse(job)


@runner("clauses.normalize")
def normalize(job: Job) -> Iterator[Fields]:
    """Clauses with their types."""
    from stateward.pipelines.clauses.stages import normalize

    return normalize(job)
