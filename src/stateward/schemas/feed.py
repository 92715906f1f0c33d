"""The change feed: how far it has come, and from where it is sent again."""

from typing import Annotated

from stateward.core.field_docs import about
from stateward.schemas.base import MAX_INTEGER, Count, Document, Request, Seconds, Time


class FeedDocument(Document, frozen=True, kw_only=True):
    """How far the change feed has come."""

    sent: Annotated[Count, about("The `seq` of the last transition that was sent, or passed over.")]
    end: Annotated[Count, about("The `seq` of the newest transition.")]
    behind: Annotated[Count, about("How many transitions are not sent yet.")]
    late_seconds: Annotated[
        Seconds, about("How long the first of these has waited; 0 if there is none.")
    ]
    oldest_at: Annotated[Time | None, about("When it was made.")]
    is_late: Annotated[bool, about("It has waited for longer than `feed.warn_after_seconds`.")]


class FeedReplayRequest(Request, frozen=True, kw_only=True):
    """Which part of the change feed to send again."""

    seq: Annotated[
        int, about("The `seq` of the first transition to send again.", ge=1, le=MAX_INTEGER)
    ]
