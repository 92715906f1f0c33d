"""The runners of the `contract` machine, from a file to better offers.

`parse` reads the text with its places, `extract` finds the terms (by rules, by a model, or by both), `validate` judges
them by the rules, and `compare` reckons what offers would cost. What they need is imported when they first run.
"""

from stateward.workers.sdk import Job, Outcome, runner


@runner("contract.parse")
def parse(job: Job) -> Outcome:
    """A PDF, DOCX or text as pages."""
    from stateward.pipelines.contracts.stages import parse

    return parse(job)


@runner("contract.extract")
def extract(job: Job) -> Outcome:
    """Pages as terms, each with its evidence."""
    from stateward.pipelines.contracts.stages import extract

    return extract(job)


@runner("contract.validate")
def validate(job: Job) -> Outcome:
    """Terms as a verdict."""
    from stateward.pipelines.contracts.stages import validate

    return validate(job)


@runner("contract.compare")
def compare(job: Job) -> Outcome:
    """Terms against the offers of a catalogue."""
    from stateward.pipelines.contracts.stages import compare_offers

    return compare_offers(job)
