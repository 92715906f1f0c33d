"""The runners of the `experiments` machine. What they need is imported when they first run."""

from stateward.workers.sdk import Job, Outcome, runner


@runner("experiments.validate")
def validate(job: Job) -> Outcome:
    """Tables as rows that fit their schema."""
    from stateward.pipelines.experiments.stages import validate

    return validate(job)


@runner("experiments.process")
def process(job: Job) -> Outcome:
    """Statistics, plots and a clean copy."""
    from stateward.pipelines.experiments.stages import process

    return process(job)
