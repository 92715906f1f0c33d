"""Every way in which a request can fail, and the one shape it has then: a problem document of RFC 9457.

A problem's type never changes its meaning; clients may rely on it. What a `StatewardError` of the packages below means
to a client is decided here and nowhere else. No problem tells more of an unforeseen error than that there was one.
"""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET

from stateward.blobs import TooLarge
from stateward.core.errors import (
    ArtifactsUnreachable,
    ConcurrentModification,
    InvalidCorrection,
    InvalidRequest,
    InvalidTransition,
    MissingLabels,
    ReviewRefused,
    ReviewTaken,
    SecretUnreadable,
    StatewardError,
    StoreError,
    StoreFull,
    UnknownName,
)
from stateward.schemas import PROBLEM_JSON, PROBLEM_PREFIX, FieldFault, Problem
from stateward.storage.idempotency import Answer

SOON_S = 1


class Kind(msgspec.Struct, frozen=True):
    """A type of problem: its status, its title, and when it happens."""

    slug: str
    status: int
    title: str
    when: str

    @property
    def type(self) -> str:
        """The URI that names it."""
        return PROBLEM_PREFIX + self.slug


_KINDS = (
    Kind("invalid-request", 400, "Invalid request",
         "It does not fit its description here: a name, a type, a form or a limit is another."),
    Kind("missing-fields", 400, "Fields are missing", "`errors` names each field that is needed."),
    Kind("unauthenticated", 401, "No valid key", "The key is missing, unknown, expired or revoked."),
    Kind("forbidden", 403, "Forbidden", "The role of the key lacks the right."),
    Kind("review-refused", 403, "This decision is not allowed for you",
         "Who submitted a document may not accept it; a deadline is not brought forward."),
    Kind("not-found", 404, "Not found", "Unknown, or of a pipeline that the key does not cover."),
    Kind("method-not-allowed", 405, "The method is not allowed here", "`Allow` names those that are."),
    Kind("timed-out", 408, "Request timed out", "Nothing came for `api.idle_seconds` in the middle of it."),
    Kind("duplicate", 409, "Duplicate document", "`record_id`, or as the path calls it, is their record."),
    Kind("impossible", 409, "Transition not allowed", "`allowed` names the states that may follow."),
    Kind("review-taken", 409, "The review is claimed or decided by another person",
         "`by` has taken it up until `until`, or has decided it."),
    Kind("out-of-order", 409, "The step is not next",
         "`found` is where the workflow is, `allowed` names the calls that are possible."),
    Kind("in-progress", 409, "The same request is still under way",
         "Same `Idempotency-Key`; come back after `Retry-After`."),
    Kind("link-over", 410, "This link is over",
         "An approver link that has expired, was revoked or opened elsewhere, or whose review is decided."),
    Kind("stale", 412, "The record was changed meanwhile", "`If-Match` is not its version any more; `ETag` is."),
    Kind("too-large", 413, "Too large", "`limit` is the most bytes that are taken."),
    Kind("unsupported-content", 415, "Unsupported content",
         "`expected` and `found` say why, by content and not by name."),
    Kind("wrong-host", 421, "This service has another name", "The `Host` is not one of `api.hosts`."),
    Kind("invalid-correction", 422, "Invalid corrected values", "`errors` has a sentence for each field."),
    Kind("step-failed", 422, "The step failed, and a retry cannot cure it",
         "`error_code` says why; `retryable` is false."),
    Kind("unprocessable", 422, "Cannot be processed",
         "It fits its description and cannot be meant so: a query, a cursor, an address or a choice of fields."),
    Kind("unknown-value", 422, "Unknown value",
         "`allowed` names those that there are: source types, pipelines, priorities, stages, files."),
    Kind("key-reused", 422, "The Idempotency-Key belongs to another request",
         "Same key, other content, or a decision that was undone since: take a new key."),
    Kind("if-match-required", 428, "If-Match is required",
         "`api.require_if_match` is set: say which version is meant."),
    Kind("too-many-requests", 429, "Too many requests", "The key's rate is used up; come back after `Retry-After`."),
    Kind("internal", 500, "Internal error", "It is in the log; nothing was half-done."),
    Kind("step-retryable", 503, "The step failed, and a retry may cure it",
         "`error_code` says why; the same call tries it again."),
    Kind("step-unfinished", 503, "The step takes longer than the call", "The same call waits on."),
    Kind("unavailable", 503, "Service unavailable",
         "The database is away or the service is full; come back after `Retry-After`."),
    Kind("storage-full", 507, "Insufficient storage", "The disk of the service is full; nothing was half-written."),
)  # fmt: skip
KINDS: dict[str, Kind] = {kind.slug: kind for kind in _KINDS}


class Refusal(Exception):
    """A request that is answered with a problem."""

    def __init__(
        self,
        slug: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **members: object,
    ) -> None:
        super().__init__(detail)
        self.kind = KINDS[slug]
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members

    def answer(self) -> Answer:
        """As it is sent."""
        known = {name: each for name, each in self.members.items() if name in _MEMBERS}
        problem = Problem(
            type=self.kind.type,
            title=self.kind.title,
            status=self.kind.status,
            detail=self.detail,
            **known,  # type: ignore[arg-type]
        )
        # The rest is what a resource calls the id of its records.
        further = {name: each for name, each in self.members.items() if name not in _MEMBERS}
        body = msgspec.json.encode({**msgspec.to_builtins(problem), **further})
        headers = {"Content-Type": PROBLEM_JSON, **self.headers}
        return Answer(status=self.kind.status, headers=headers, body=body)


def come_back(sentence: str, wait_s: float) -> Refusal:
    """The refusal of one request too many, with the time after which the next is taken."""
    headers = {"Retry-After": str(max(1, round(wait_s + 0.5)))}
    return Refusal("too-many-requests", sentence, headers=headers)


def internal_error() -> Refusal:
    """The refusal where something failed that was not foreseen."""
    return Refusal("internal", "an unexpected error; the log of the service has the details")


def undone_since() -> Refusal:
    """The refusal to repeat, under its key, a decision that was undone: the first answer says that it is stored."""
    return Refusal(
        "key-reused",
        "this decision was undone after it was sent under this Idempotency-Key; to decide the same again, take a "
        "new one",
    )


class ClientGone(Refusal):
    """The client went away in the middle of its request, which is no fault of ours."""

    def __init__(self) -> None:
        super().__init__("invalid-request", "the client went away")


_MEMBERS = frozenset(Problem.__struct_fields__)


def refusal_of(error: StatewardError) -> Refusal:
    """What an error of the packages below means to a client."""
    text = str(error)
    match error:
        case UnknownName(
            what="record"
            | "review"
            | "batch"
            | "machine"
            | "attempt"
            | "key"
            | "webhook"
            | "delivery"
            | "refused upload"
            | "pending decision"
            | "pending decisions"
            | "approver link"
        ):
            return Refusal("not-found", text, what=error.what, name=error.name)
        case UnknownName():
            return Refusal(
                "unknown-value", text, allowed=list(error.known), what=error.what, name=error.name
            )
        case InvalidTransition():
            return Refusal("impossible", text, found=error.found, allowed=list(error.allowed))
        case ConcurrentModification():
            return Refusal("stale", text)
        case ReviewTaken():
            until = UNSET if error.until is None else error.until
            return Refusal("review-taken", text, by=error.by, until=until)
        case ReviewRefused():
            return Refusal("review-refused", text)
        case InvalidCorrection():
            faults = [FieldFault(field=field, sentence=said) for field, said in error.faults]
            return Refusal("invalid-correction", text, errors=faults)
        case TooLarge():
            return Refusal("too-large", text, limit=error.bytes_max)
        case StoreFull():
            return Refusal("storage-full", "the disk of the service is full or failing")
        case StoreError():
            return _unavailable(error)
        case InvalidRequest():
            return _invalid(error)
    return internal_error()


def _unavailable(error: StoreError) -> Refusal:
    if isinstance(error, SecretUnreadable):  # its message names a file of the service
        return Refusal("unavailable", "a secret of the service cannot be read; its log says why")
    what = "document storage" if isinstance(error, ArtifactsUnreachable) else "database"
    message = f"the {what} of the service cannot be used now"
    return Refusal("unavailable", message, headers={"Retry-After": str(SOON_S)})


def _invalid(error: InvalidRequest) -> Refusal:
    if not isinstance(error, MissingLabels):
        return Refusal("unprocessable", str(error))
    faults = [FieldFault(field=f"label.{name}", sentence=why) for name, why in error.labels.items()]
    return Refusal("missing-fields", str(error), errors=faults)
