"""The runners of the `literature` machine; what they need is imported when they first run.

Each is a pure function of its input: the same file gives the same items and the same intermediate form.
"""

from stateward.workers.sdk import Job, Outcome, runner


@runner("literature.fetch")
def fetch(job: Job) -> Outcome:
    """Nothing is fetched for a document that was submitted as a file."""
    with job.open() as file:  # refused now if there is none
        size = file.seek(0, 2)
    return Outcome(facts={"bytes": size})


@runner("literature.download")
def download(job: Job) -> Outcome:
    """The paper of an identifier or an address, from its source."""
    from stateward.pipelines.literature.sources import download

    return download(job)


@runner("literature.parse")
def parse(job: Job) -> Outcome:
    """A file of any format as blocks, with the metadata of the paper about them."""
    from stateward.pipelines.literature.stages import parse

    return parse(job)


@runner("literature.validate")
def validate(job: Job) -> Outcome:
    """A paper is found sound, or refused; its items are what a person should know of it."""
    from stateward.pipelines.literature.stages import validate

    return validate(job)


@runner("literature.build_ir")
def build_ir(job: Job) -> Outcome:
    """The intermediate form."""
    from stateward.pipelines.literature.stages import build_ir

    return build_ir(job)


@runner("literature.embed")
def embed(job: Job) -> Outcome:
    """Pieces of the text as vectors."""
    from stateward.pipelines.literature.embedding.stage import embed

    return embed(job)
