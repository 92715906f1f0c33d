"""The two stages of a contract as clauses: `parse` finds its parts, `normalize` their types."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.clauses.items import part_items, typed_clauses
from stateward.pipelines.clauses.segments import segments_of
from stateward.pipelines.clauses.settings import ClauseSettings
from stateward.pipelines.clauses.split import CLAUSE, split_clauses
from stateward.pipelines.kit.archive_repair import readable_path
from stateward.pipelines.kit.failures import DAMAGED_FILE, damage_is_retried
from stateward.pipelines.kit.reader import read_document
from stateward.workers.sdk import Job, Outcome

NO_CLAUSES, NUMBERS_MISSING = "NO_CLAUSES", "NUMBERS_MISSING"
NOTES_SHOWN = 5
NOTE_CHARS_MAX = 400


def parse(job: Job) -> Outcome:
    """The parts of a contract, in order; together they are its text."""
    settings = msgspec.convert(dict(job.options), ClauseSettings)
    with damage_is_retried(job.retry_count):
        document = read_document(
            readable_path(job, _path(job)),
            pages_max=settings.pages_max,
            chars_max=settings.chars_max,
            is_numbered=True,
            is_lenient=job.retry_count > 0,
        )
    whole = document.text
    contract = split_clauses(segments_of(document))
    parts = contract.parts
    clauses = sum(part.kind == CLAUSE for part in parts)
    if not clauses:
        raise FatalFailure(
            "no clause was found: the text has neither numbers such as 1., § 1 or Article I nor headings; submit the"
            " contract itself, or use the pipeline for contract terms",
            code=NO_CLAUSES,
        )
    job.log(f"{clauses} clauses in {len(parts)} parts of {len(whole)} characters")
    facts: Fields = {}
    notes = [_gap_note(contract.gaps)] if contract.gaps else []
    if document.damage:
        job.log(f"the file is damaged: {document.damage}", level="warning")
        notes.insert(
            0, f"{DAMAGED_FILE}: clauses may be missing: {document.damage}"[:NOTE_CHARS_MAX]
        )
        facts["flags"] = [DAMAGED_FILE]
    if notes:
        facts["notes"] = list(notes)
    return Outcome(
        facts=facts,
        items=part_items(contract, document),
        about={
            "format": document.format,
            "pages": len(document.pages),
            "chars": len(whole),
            "clauses": clauses,
        },
    )


def normalize(job: Job) -> Iterator[Fields]:
    """Every clause with its type."""
    return typed_clauses(job.items("parse"))


def _gap_note(gaps: list[tuple[str, str]]) -> str:
    shown = ", ".join(f"{one} and {two}" for one, two in gaps[:NOTES_SHOWN])
    more = f" and {len(gaps) - NOTES_SHOWN} more" if len(gaps) > NOTES_SHOWN else ""
    return f"{NUMBERS_MISSING}: between {shown}{more} a number is missing; look there for a clause that was not found"


def _path(job: Job) -> Path:
    """The document as a file: the libraries that open it want one."""
    if job.path is not None:
        return job.path
    path = job.scratch / "document"
    path.write_bytes(job.bytes())
    return path
