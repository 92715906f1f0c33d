"""The runners of the `images` machine. What they need is imported when they first run."""

from stateward.workers.sdk import Job, Outcome, runner


@runner("images.resize")
def resize(job: Job) -> Outcome:
    """A derived picture of each size that the settings name."""
    from stateward.pipelines.images.stages import resize

    return resize(job)


@runner("images.thumbnail")
def thumbnail(job: Job) -> Outcome:
    """The thumbnail."""
    from stateward.pipelines.images.stages import thumbnail

    return thumbnail(job)
