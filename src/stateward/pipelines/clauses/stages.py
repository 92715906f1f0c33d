"""The two stages of a contract as clauses: `parse` finds its parts, `normalize` their types."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields, Json
from stateward.pipelines.clauses.segments import segments_of
from stateward.pipelines.clauses.settings import ClauseSettings
from stateward.pipelines.clauses.split import ANNEX, CLAUSE, Part, split_clauses
from stateward.pipelines.clauses.types import SURE, Typed, clause_type, topics_of, type_titles
from stateward.pipelines.kit.documents import TextDocument, locate
from stateward.pipelines.kit.reader import read_document
from stateward.workers.sdk import Job, Outcome

NO_CLAUSES, NUMBERS_MISSING = "NO_CLAUSES", "NUMBERS_MISSING"
TYPED_KINDS = (CLAUSE, ANNEX)
NOTES_SHOWN = 5


def parse(job: Job) -> Outcome:
    """The parts of a contract, in order; together they are its text."""
    settings = msgspec.convert(dict(job.options), ClauseSettings)
    document = read_document(
        _path(job),
        pages_max=settings.pages_max,
        chars_max=settings.chars_max,
        is_numbered=True,
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
    offsets = _page_offsets(document)
    facts: Fields = {}
    if contract.gaps:
        facts["notes"] = [_gap_note(contract.gaps)]
    return Outcome(
        facts=facts,
        items=(_item(index, part, document, whole, offsets) for index, part in enumerate(parts)),
        about={
            "format": document.format,
            "pages": len(document.pages),
            "chars": len(whole),
            "clauses": clauses,
        },
    )


def normalize(job: Job) -> Iterator[Fields]:
    """Every clause with its type; a clause below another may have its type from there."""
    titles = type_titles()
    typed: dict[int, Typed] = {}
    for item in job.items("parse"):
        if item["kind"] not in TYPED_KINDS:
            continue
        parent = item.get("parent")
        above = typed.get(parent) if isinstance(parent, int) else None
        found = clause_type(str(item["heading"]), str(item["text"]), above=above)
        typed[int(str(item["part"]))] = found
        yield _clause(item, found, titles[found.type])


def _gap_note(gaps: list[tuple[str, str]]) -> str:
    shown = ", ".join(f"{one} and {two}" for one, two in gaps[:NOTES_SHOWN])
    more = f" and {len(gaps) - NOTES_SHOWN} more" if len(gaps) > NOTES_SHOWN else ""
    return f"{NUMBERS_MISSING}: between {shown}{more} a number is missing; look there for a clause that was not found"


def _clause(item: Fields, found: Typed, title: str) -> Fields:
    return {
        "path": item["path"],
        "number": item["number"],
        "heading": item["heading"],
        "type": found.type,
        "title": title,
        "confidence": found.confidence,
        "is_sure": found.confidence >= SURE,
        "topics": list(topics_of(str(item["text"]), besides=found.type)),
        "matched": list(found.matched),
        "flags": list(found.flags),
        "level": item["level"],
        "page": item["page"],
        "text": item["text"],
        "where": item["where"],
    }


def _item(index: int, part: Part, document: TextDocument, whole: str, offsets: list[int]) -> Fields:
    spans: list[Json] = [[start, end] for start, end in part.spans]
    return {
        "part": index,
        "kind": part.kind,
        "number": part.number,
        "heading": part.heading,
        "level": part.level,
        "path": " ".join([*part.around, part.number]).strip(),
        "parent": part.parent,
        "page": part.page,
        "spans": spans,
        "text": part.text(whole),
        "where": _where(part, document, whole, offsets),
    }


def _where(part: Part, document: TextDocument, whole: str, offsets: list[int]) -> Fields:
    """The first span on its page, without the blanks around it, and the box around it."""
    start, end = part.spans[0]
    text = whole[start:end]
    start += len(text) - len(text.lstrip())
    page = document.pages[part.page - 1]
    first = min(start - offsets[part.page - 1], len(page.text))
    last = max(first, min(end - offsets[part.page - 1], len(page.text)))
    last = first + len(page.text[first:last].rstrip())
    place = locate(document, part.page, first, last)
    where: Fields = {"page": part.page, "start": first, "end": last}
    if place.box is not None:
        where["box"] = list(place.box)
    return where


def _page_offsets(document: TextDocument) -> list[int]:
    offsets = [0]
    for page in document.pages:
        offsets.append(offsets[-1] + len(page.text) + 1)
    return offsets


def _path(job: Job) -> Path:
    """The document as a file: the libraries that open it want one."""
    if job.path is not None:
        return job.path
    path = job.scratch / "document"
    path.write_bytes(job.bytes())
    return path
