"""The runners of the `inspection` machine. What they need is imported when they first run."""

from stateward.workers.sdk import Job, Outcome, runner


@runner("inspection.scan")
def scan(job: Job) -> Outcome:
    """What differs between a picture and its template."""
    from stateward.pipelines.inspection.stages import scan

    return scan(job)


@runner("inspection.analyze")
def analyze(job: Job) -> Outcome:
    """The verdict, and the defects with an overlay."""
    from stateward.pipelines.inspection.stages import analyze

    return analyze(job)
