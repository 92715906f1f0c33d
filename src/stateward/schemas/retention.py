"""Erasure, legal hold and retention."""

from typing import Annotated

from msgspec import Meta

from stateward.core.field_docs import about
from stateward.schemas.base import Document, Request


class ErasureRequest(Request, frozen=True, kw_only=True):
    """What is to be erased: records by their ids, or all that have a label."""

    reason: Annotated[
        str,
        about("Why; it stays in the history, so name no person.", min_length=1, max_length=2000),
    ]
    record_ids: Annotated[
        list[str], about("The records; or name a `subject`.", max_length=500)
    ] = []
    subject: Annotated[
        Annotated[str, Meta(max_length=500)] | None,
        Meta(description="`LABEL=VALUE`: all records that have this label, at most 500."),
    ] = None
    is_dry_run: Annotated[bool, about("Only say what would be erased, and what is refused.")] = (
        False
    )


class ErasureAnswer(Document, frozen=True, kw_only=True):
    """What was erased, or would be."""

    erased: list[str]
    refused: Annotated[dict[str, str], about("Records that are not erased, and why.")]
    documents: Annotated[int, about("How many documents are gone.")]
    copies: Annotated[list[str], about("Where it may still be, which only people can change.")] = []
    left: Annotated[
        dict[str, str],
        about(
            "Records that are erased, but of which a file could not be deleted yet, and why. The service "
            "tries again."
        ),
    ] = {}
    is_dry_run: bool


class HoldRequest(Request, frozen=True, kw_only=True):
    """Whether anything of a record may be deleted."""

    is_held: Annotated[bool, about("True forbids it, false allows it again.")]
    reason: Annotated[str, Meta(min_length=1, max_length=2000)]


class HeldRecord(Document, frozen=True, kw_only=True):
    """A record of which nothing may be deleted; or, released, the one that may be again."""

    record_id: str
    is_held: bool
    at: Annotated[str, about("Since when, or when it was released.")]
    actor: str
    reason: str


class HeldRecords(Document, frozen=True, kw_only=True):
    """All records on hold, by id."""

    items: list[HeldRecord]


class RetentionRequest(Request, frozen=True, kw_only=True):
    """Apply the rules of retention now."""

    is_dry_run: Annotated[bool, about("Only say what would be deleted.")] = False


class RetentionRuleResult(Document, frozen=True, kw_only=True):
    """What one rule did, or would do."""

    pipeline: str
    status: str
    older_than_days: float
    delete: list[str]
    records: Annotated[int, about("How many records lost something.")]
    documents: int
    refused: Annotated[int, about("How many were not touched: on hold, or under way.")]
    left: Annotated[
        int, about("Of how many a file could not be deleted yet. The service tries again.")
    ] = 0
    fault: Annotated[str, about("Why one of them could not be deleted.")] = ""


class RetentionAnswer(Document, frozen=True, kw_only=True):
    """What the rules of retention did, or would do."""

    is_dry_run: bool
    rules: list[RetentionRuleResult]
