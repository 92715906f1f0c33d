"""The stage `validate`: whether a paper is sound enough to be found and cited, and what a person should know of it.

A paper without a title or any text is refused. Everything else that is missing or contradicts itself is a finding with
a code: the paper goes on, and the findings stand on its record.
"""

from collections.abc import Iterator

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.literature.identifiers import normal_id, strongest
from stateward.pipelines.literature.paper import Block, Metadata, Note, Place

NO_TITLE = "NO_TITLE"
NO_TEXT_BLOCKS = "NO_CONTENT"
NO_ID = "NO_ID"
NO_AUTHORS = "NO_AUTHORS"
NO_DATE = "NO_DATE"
NO_ABSTRACT = "NO_ABSTRACT"
BAD_ID = "BAD_ID"
EMPTY_REFERENCE = "EMPTY_REFERENCE"
DUPLICATE_REFERENCE = "DUPLICATE_REFERENCE"
RETRACTED, RETRACTION_NOTICE, CONCERN = "RETRACTED", "RETRACTION_NOTICE", "EXPRESSION_OF_CONCERN"
# Formats whose senders know what belongs into them: there, what is missing is worth a word.
STRUCTURED = frozenset({"jats", "pubmed"})
YEARS = range(1600, 2101)


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a person should know."""

    code: str
    message: str
    where: Place = Place()


def require_sound(metadata: Metadata, blocks: list[Block], *, require_id: bool) -> None:
    """Refuse what could be neither found nor cited."""
    if not metadata.title:
        raise FatalFailure(
            "the paper has no title; submit it in a format that names it (JATS, PubMed), or correct the file",
            code=NO_TITLE,
        )
    if not any(block.text for block in blocks):
        raise FatalFailure("the paper has no text; submit another file", code=NO_TEXT_BLOCKS)
    if require_id and strongest(metadata.ids) is None:
        raise FatalFailure(
            "the paper names no DOI, PMID, PMCID, arXiv or NCT number, and the settings require one",
            code=NO_ID,
        )


def findings(metadata: Metadata, blocks: list[Block], notes: list[Note]) -> Iterator[Finding]:
    """All that a person should know of a paper."""
    for note in notes:
        yield Finding(code=note.code, message=note.message, where=note.where)
    yield from _of_metadata(metadata)
    yield from _of_retraction(metadata)
    yield from _of_references(blocks)


def _of_metadata(metadata: Metadata) -> Iterator[Finding]:
    if strongest(metadata.ids) is None:
        yield Finding(code=NO_ID, message="no DOI, PMID, PMCID, arXiv or NCT number is named")
    for scheme, value in metadata.ids.items():
        if scheme != "publisher" and normal_id(scheme, value) != value:
            yield Finding(code=BAD_ID, message=f"{value} is no {scheme}")
    if metadata.format in STRUCTURED:
        if not metadata.authors:
            yield Finding(code=NO_AUTHORS, message="no author is named")
        if metadata.year is None:
            yield Finding(code=NO_DATE, message="no date of publication is given")
        if not metadata.abstract:
            yield Finding(code=NO_ABSTRACT, message="there is no abstract")
    if metadata.year is not None and metadata.year not in YEARS:
        yield Finding(code=NO_DATE, message=f"the year of publication is {metadata.year}")


def _of_retraction(metadata: Metadata) -> Iterator[Finding]:
    others = ", ".join(each.id or each.text for each in metadata.related if "retract" in each.type)
    match metadata.retraction:
        case "retracted":
            yield Finding(
                code=RETRACTED,
                message=f"this paper was retracted ({others or 'no notice is named'})",
            )
        case "notice":
            yield Finding(
                code=RETRACTION_NOTICE,
                message=f"this is a notice that retracts {others or 'another paper'}",
            )
        case "concern":
            yield Finding(code=CONCERN, message="this paper is subject to an expression of concern")


def _of_references(blocks: list[Block]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for block in blocks:
        if block.kind != "reference" or block.part:
            continue
        name = block.label or block.source_id or "a reference"
        if not block.text:
            yield Finding(code=EMPTY_REFERENCE, message=f"{name} is empty", where=block.where)
        doi = block.reference.ids.get("doi", "").lower() if block.reference is not None else ""
        if doi and doi in seen:
            message = f"{name} cites the same DOI as {seen[doi]}: {doi}"
            yield Finding(code=DUPLICATE_REFERENCE, message=message, where=block.where)
        elif doi:
            seen[doi] = name
