"""Health, readiness, diagnosis, verification of the history, and the audit log."""

from typing import Annotated, Literal

from msgspec import Meta

from stateward.core.field_docs import about
from stateward.core.model import Fields, Json
from stateward.schemas.base import Count, Document, Request, Time


class Health(Document, frozen=True, kw_only=True):
    """That the process answers."""

    status: Literal["ok"]


class ReadyCheck(Document, frozen=True, kw_only=True):
    """One condition of a service that can do its work."""

    name: str
    is_well: bool
    sentence: str


class DiagnosisCheck(Document, frozen=True, kw_only=True):
    """One thing that was looked at, and what to do about it."""

    name: str
    is_well: bool
    sentence: str
    advice: str


class Diagnosis(Document, frozen=True, kw_only=True):
    """What is wrong with an installation, if anything."""

    is_well: bool
    checks: list[DiagnosisCheck]


class VerificationFinding(Document, frozen=True, kw_only=True):
    """One thing that is not as it must be."""

    check: str
    where: str
    sentence: str


class Verification(Document, frozen=True, kw_only=True):
    """The result of replaying the whole history."""

    is_sound: bool
    records: Count
    transitions: Count
    lanes: Count
    root: str
    former: Annotated[int, about("Transitions from before the store had lanes.", ge=0)]
    since: str | None
    unsealed: Annotated[
        int, about("Outputs of attempts from before their digests were sealed.", ge=0)
    ] = 0
    sealed_since: str | None = None
    has_strays: Annotated[
        bool, about("Of an empty history: documents are stored beside it that no record has.")
    ] = False
    checkpoint: Annotated[str, about("Of a sound history: keep it elsewhere.")]
    findings: list[VerificationFinding]


class Provenance(Document, frozen=True, kw_only=True):
    """The history of a record in the format of another tool; `document` is that."""

    record_id: str
    format: Literal["prov", "openlineage"]
    document: Json


class Readiness(Document, frozen=True, kw_only=True):
    """Whether the service can do its work, and what is missing if it cannot."""

    status: Literal["ready", "not_ready"]
    checks: list[ReadyCheck]


class AuditItem(Document, frozen=True, kw_only=True):
    """One entry of the audit log. `seq` and `hash` are its place in the chain; null in those of former versions.

    `reason_hash` is sealed in the place of the reason of an act about a record; without a `salt` the reason was erased.
    """

    number: Count
    at: Time
    actor: str
    verb: str
    record_id: str | None
    detail: Fields
    reason: str | None
    seq: int | None
    hash: str | None
    salt: str | None
    reason_hash: str | None


class AuditPage(Document, frozen=True, kw_only=True):
    """Some entries of the audit log; `next` leads on, or is null."""

    items: list[AuditItem]
    next: str | None


class DeadLetter(Document, frozen=True, kw_only=True):
    """An event or a message that could not be read; it changed nothing."""

    number: Count
    at: Time
    kind: str
    reason: str
    body: Annotated[str, about("As much of it as was stored.")]


class DeadLetterPage(Document, frozen=True, kw_only=True):
    """What could not be read, newest first; `next` leads on, or is null."""

    items: list[DeadLetter]
    next: str | None


LetterAction = Literal["resend", "drop"]
LETTERS_AT_ONCE = 1000


class TransportLetter(Document, frozen=True, kw_only=True):
    """A message of the transport that could not be used, without its data; `id` is what its broker calls it."""

    id: str
    at: Annotated[str, about("When it was put aside; empty if that is not known.")]
    stream: Annotated[str, about("The stream that it was in.")]
    kind: Annotated[str, about("Its type; `message` where it could not be decoded.")]
    reason: str
    record_id: Annotated[str | None, about("The record that it was about.")]
    source: Annotated[str, about("Who sent it, as it says itself.")]
    size: Count
    sha256: Annotated[str, about("The hash of the message.")]


class TransportLetters(Document, frozen=True, kw_only=True):
    """Messages of the transport that could not be used, newest first; `note` says it if the broker does not answer."""

    items: list[TransportLetter]
    note: str = ""


class LetterRequest(Request, frozen=True, kw_only=True):
    """What to do with dead letters of the transport: `resend` has the attempts that they were about done again."""

    action: LetterAction
    ids: Annotated[list[str], Meta(min_length=1, max_length=LETTERS_AT_ONCE)]


class LetterOutcome(Document, frozen=True, kw_only=True):
    """What became of a dead letter; one that something was done with is gone."""

    id: str
    is_done: bool
    sentence: str


class LetterOutcomes(Document, frozen=True, kw_only=True):
    """What became of dead letters of the transport."""

    items: list[LetterOutcome]


class VerificationRequest(Request, frozen=True, kw_only=True):
    """A checkpoint of the history that was kept elsewhere, as `verify` wrote it."""

    checkpoint: Annotated[str, Meta(min_length=1, max_length=100_000)]
