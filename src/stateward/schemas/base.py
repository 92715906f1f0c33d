"""What every JSON document of the API shares: its two base classes, the types of its fields, and problems."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from stateward.core.field_docs import about

PROBLEM_PREFIX = "urn:stateward:problem:"
PROBLEM_JSON = "application/problem+json"
REASON_CHARS_MAX = 2000
IDS_MAX = 10_000
REVIEWS_MAX = 200  # of one bulk decision, which is one transaction
MAX_INTEGER = 2**63 - 1
Time: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Priority: TypeAlias = Annotated[int, about("1 to 10; higher goes first.", ge=1, le=10)]
Reason: TypeAlias = (
    Annotated[str, about("Why; stored in the history with who asked.", max_length=REASON_CHARS_MAX)]
    | None
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object. Unknown keys of an answer are left alone, so that old clients read new servers."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object that a client sends; unknown keys are refused."""


class FieldFault(Document, frozen=True, kw_only=True):
    """One field of a request and what is wrong with it."""

    field: str
    sentence: str


class Problem(Document, frozen=True, kw_only=True):
    """Why a request was not done (RFC 9457). `type` is stable; `detail` is for people."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldFault] | UnsetType = UNSET
    allowed: list[str] | UnsetType = UNSET
    expected: list[str] | UnsetType = UNSET
    found: str | UnsetType = UNSET
    what: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    limit: int | UnsetType = UNSET
    record_id: str | UnsetType = UNSET
    version: int | UnsetType = UNSET
    by: str | UnsetType = UNSET
    until: str | UnsetType = UNSET
    error_code: str | UnsetType = UNSET
    retryable: bool | UnsetType = UNSET
