"""Bulk actions."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from stateward.core.field_docs import about
from stateward.schemas.base import IDS_MAX, Count, Document, Priority, Reason, Request, Time


class BatchRequest(Request, frozen=True, kw_only=True):
    """A bulk action: on the records that are named, or on all that match a query."""

    action: Literal["retry", "cancel", "priority"]
    priority: Annotated[Priority | None, about("The new priority, where that is the action.")] = (
        None
    )
    query: Annotated[str, about("In the query grammar; never empty.", max_length=8000)] | None = (
        None
    )
    ids: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=80)], ...],
        Meta(max_length=IDS_MAX, description="Records by id, instead of a query."),
    ] = ()
    reason: Reason = None
    dry_run: Annotated[bool, about("Only count what it would concern.")] = False


class Batch(Document, frozen=True, kw_only=True):
    """A bulk action and how far it is. A dry run has no id and changes nothing."""

    id: str | None
    version: Count
    action: str
    status: Literal["dry_run", "checked", "running", "done", "aborted"]
    query: str | None
    actor: str
    reason: str | None
    expected: Annotated[int, about("Records that matched when it began.", ge=0)]
    matched: Annotated[int, about("Records that it came to so far.", ge=0)]
    applied: Count
    refused: Annotated[dict[str, Count], about("How many were refused, by reason.")]
    by_status: dict[str, Count] | UnsetType = UNSET
    examples: dict[str, list[str]]
    note: Annotated[
        str,
        about("For which machines a priority does not count; only where the action is asked for."),
    ] = ""
    created_at: Time
    updated_at: Time


class BatchPage(Document, frozen=True, kw_only=True):
    """Some bulk actions, newest first."""

    items: list[Batch]
    next: str | None
