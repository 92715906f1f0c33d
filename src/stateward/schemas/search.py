"""Full-text search: hits, their passages, and why each was found."""

from typing import Annotated

from stateward.core.field_docs import about
from stateward.core.model import Fields
from stateward.schemas.base import Count, Document, Time


class SnippetSegment(Document, frozen=True, kw_only=True):
    """A piece of a snippet; `is_match`: it is what was looked for."""

    text: str
    is_match: bool


class SearchPassage(Document, frozen=True, kw_only=True):
    """A passage of a ranked document: the number of its item, the id that the item has in its pipeline, its place."""

    item: Count
    id: str
    snippet: list[SnippetSegment]
    where: Fields | None


class SearchReason(Document, frozen=True, kw_only=True):
    """What a term adds to the score of a result. `term` is the stem of a word."""

    term: str
    share: float


class SearchHit(Document, frozen=True, kw_only=True):
    """A passage of a document that matches; of a machine that ranks its documents, a document with its best passages.

    `title` is the name of the document, `kind` what its pipeline calls this text, `item` the number of the item of the
    stage (from 0), `where` its place in the document: `page` and `box`, `line`, `row`, or `start` and `end`.
    """

    record_id: str
    machine: str
    status: str
    stage: str
    item: Count
    kind: str
    title: str
    snippet: Annotated[
        list[SnippetSegment], about("Plain text in pieces; nothing in it is markup.")
    ]
    score: Annotated[float, about("How well it matches; higher is better.", ge=0, le=1)]
    where: Fields | None
    created_at: Time
    facts: Annotated[Fields, about("Of a ranked document: what results can be filtered by.")] = {}
    passages: Annotated[
        list[SearchPassage],
        about("Of a ranked document: its best passages, of which `snippet` is the first."),
    ] = []
    same_as: Annotated[
        list[str],
        about("Of a ranked document: other records of the same one, which are not shown again."),
    ] = []
    canonical: Annotated[
        str | None, about("Of a document that has several records: the one that was indexed first.")
    ] = None
    why: Annotated[
        list[SearchReason], about("Of a ranked document: what made up its score, the most first.")
    ] = []


class SearchPage(Document, frozen=True, kw_only=True):
    """Some results, the best first; `next` leads on, or is null."""

    items: list[SearchHit]
    next: str | None
