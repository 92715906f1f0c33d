"""Bulk actions."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from stateward.schemas.base import IDS_MAX, Count, Document, Priority, Reason, Request, Time


class BatchRequest(Request, frozen=True, kw_only=True):
    """A bulk action: on the records that are named, or on all that match a query."""

    action: Literal["retry", "cancel", "priority"]
    priority: Annotated[
        Priority | None, Meta(description="The new priority, where that is the action.")
    ] = None
    query: (
        Annotated[str, Meta(max_length=8000, description="In the query grammar; never empty.")]
        | None
    ) = None
    ids: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=80)], ...],
        Meta(max_length=IDS_MAX, description="Records by id, instead of a query."),
    ] = ()
    reason: Reason = None
    dry_run: Annotated[bool, Meta(description="Only count what it would concern.")] = False


class Batch(Document, frozen=True, kw_only=True):
    """A bulk action and how far it is. A dry run has no id and changes nothing."""

    id: str | None
    version: Count
    action: str
    status: Literal["dry_run", "checked", "running", "done", "aborted"]
    query: str | None
    actor: str
    reason: str | None
    expected: Annotated[int, Meta(ge=0, description="Records that matched when it began.")]
    matched: Annotated[int, Meta(ge=0, description="Records that it came to so far.")]
    applied: Count
    refused: Annotated[dict[str, Count], Meta(description="How many were refused, by reason.")]
    by_status: dict[str, Count] | UnsetType = UNSET
    examples: dict[str, list[str]]
    note: Annotated[
        str,
        Meta(
            description="For which machines a priority does not count; only where the action is asked for."
        ),
    ] = ""
    created_at: Time
    updated_at: Time


class BatchPage(Document, frozen=True, kw_only=True):
    """Some bulk actions, newest first."""

    items: list[Batch]
    next: str | None
