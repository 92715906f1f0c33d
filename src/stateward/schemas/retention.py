"""Erasure, legal hold and retention."""

from typing import Annotated

from msgspec import Meta

from stateward.schemas.base import Document, Request


class ErasureRequest(Request, frozen=True, kw_only=True):
    """What is to be erased: records by their ids, or all that have a label."""

    reason: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2000,
            description="Why; it stays in the history, so name no person.",
        ),
    ]
    record_ids: Annotated[
        list[str], Meta(max_length=500, description="The records; or name a `subject`.")
    ] = []
    subject: Annotated[
        Annotated[str, Meta(max_length=500)] | None,
        Meta(description="`LABEL=VALUE`: all records that have this label, at most 500."),
    ] = None
    is_dry_run: Annotated[
        bool, Meta(description="Only say what would be erased, and what is refused.")
    ] = False


class ErasureAnswer(Document, frozen=True, kw_only=True):
    """What was erased, or would be."""

    erased: list[str]
    refused: Annotated[dict[str, str], Meta(description="Records that are not erased, and why.")]
    documents: Annotated[int, Meta(description="How many documents are gone.")]
    copies: Annotated[
        list[str], Meta(description="Where it may still be, which only people can change.")
    ] = []
    left: Annotated[
        dict[str, str],
        Meta(
            description="Records that are erased, but of which a file could not be deleted yet, and why. The service "
            "tries again."
        ),
    ] = {}
    is_dry_run: bool


class HoldRequest(Request, frozen=True, kw_only=True):
    """Whether anything of a record may be deleted."""

    is_held: Annotated[bool, Meta(description="True forbids it, false allows it again.")]
    reason: Annotated[str, Meta(min_length=1, max_length=2000)]


class HeldRecord(Document, frozen=True, kw_only=True):
    """A record of which nothing may be deleted; or, released, the one that may be again."""

    record_id: str
    is_held: bool
    at: Annotated[str, Meta(description="Since when, or when it was released.")]
    actor: str
    reason: str


class HeldRecords(Document, frozen=True, kw_only=True):
    """All records on hold, by id."""

    items: list[HeldRecord]


class RetentionRequest(Request, frozen=True, kw_only=True):
    """Apply the rules of retention now."""

    is_dry_run: Annotated[bool, Meta(description="Only say what would be deleted.")] = False


class RetentionRuleResult(Document, frozen=True, kw_only=True):
    """What one rule did, or would do."""

    pipeline: str
    status: str
    older_than_days: float
    delete: list[str]
    records: Annotated[int, Meta(description="How many records lost something.")]
    documents: int
    refused: Annotated[int, Meta(description="How many were not touched: on hold, or under way.")]
    left: Annotated[
        int,
        Meta(description="Of how many a file could not be deleted yet. The service tries again."),
    ] = 0
    fault: Annotated[str, Meta(description="Why one of them could not be deleted.")] = ""


class RetentionAnswer(Document, frozen=True, kw_only=True):
    """What the rules of retention did, or would do."""

    is_dry_run: bool
    rules: list[RetentionRuleResult]
