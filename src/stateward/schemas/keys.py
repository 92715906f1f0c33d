"""Keys of the HTTP API and console, without their secrets."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from stateward.core.field_docs import about
from stateward.schemas.base import Document, Request, Time

DAYS_MAX = 3650
Role = Literal["viewer", "submitter", "reviewer", "operator", "admin"]
Positive = Annotated[int, Meta(ge=1, le=2**53)]


class KeyRequest(Request, frozen=True, kw_only=True):
    """A key to make."""

    name: Annotated[
        str, about("Who uses it; it stands in the history.", min_length=1, max_length=200)
    ]
    role: Annotated[Role, about("What it may do; each can read.")]
    pipelines: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(max_length=100, description="Only for these; none means all."),
    ] = ()
    days: Annotated[
        Annotated[float, Meta(gt=0, le=DAYS_MAX)] | None,
        Meta(description="How long it is valid; left out, until it is revoked."),
    ] = None
    rate_per_minute: Annotated[
        Positive | None, about("Requests a minute, if not `api.rate_per_minute`.")
    ] = None
    upload_bytes_max: Annotated[
        Positive | None, about("The largest document, if not that of the settings.")
    ] = None


class KeyDocument(Document, frozen=True, kw_only=True):
    """A key. `key` is its text: in the answer to its making, and in no other."""

    id: str
    name: str
    role: Role
    pipelines: tuple[str, ...]
    is_live: Annotated[bool, about("Neither expired nor revoked.")]
    created_at: Time
    created_by: str
    expires_at: Time | None
    revoked_at: Time | None
    used_at: Time | None
    rate_per_minute: int | None
    upload_bytes_max: int | None
    key: str | UnsetType = UNSET


class KeyList(Document, frozen=True, kw_only=True):
    """All keys, also those that are revoked."""

    items: list[KeyDocument]


class KeyRevoked(Document, frozen=True, kw_only=True):
    """A key that is closed from the next request on."""

    id: str
    was_open: Annotated[bool, about("False if it was revoked before.")]
