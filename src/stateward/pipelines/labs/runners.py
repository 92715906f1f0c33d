"""The runners of lab reports. What they need is imported when they first run."""

from stateward.workers.sdk import Job, Outcome, runner


@runner("labs.parse")
def parse(job: Job) -> Outcome:
    """A report as observations."""
    from stateward.pipelines.labs.stages import parse

    return parse(job)


@runner("labs.normalize")
def normalize(job: Job) -> Outcome:
    """Observations as results."""
    from stateward.pipelines.labs.stages import normalize

    return normalize(job)


@runner("labs.validate")
def validate(job: Job) -> Outcome:
    """A report as results, in one step."""
    from stateward.pipelines.labs.stages import validate

    return validate(job)


@runner("labs.analyze")
def analyze(job: Job) -> Outcome:
    """Results with what a person should look at."""
    from stateward.pipelines.labs.stages import analyze

    return analyze(job)
