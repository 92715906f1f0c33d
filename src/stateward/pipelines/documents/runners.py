"""The runners of the `documents` machine; what they need is imported when they first run."""

from collections.abc import Generator

from stateward.core.model import Fields
from stateward.workers.sdk import Job, Outcome, runner


@runner("documents.ocr")
def ocr(job: Job) -> Generator[Fields, None, Outcome]:
    """The pages of a scan as lines of words."""
    from stateward.pipelines.documents.stages import read_lines

    return read_lines(job)


@runner("documents.index")
def index(job: Job) -> Generator[Fields, None, Outcome]:
    """Lines as searchable pages, and the fields of a receipt."""
    from stateward.pipelines.documents.stages import index_pages

    return index_pages(job)
