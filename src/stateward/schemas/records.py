"""Records: what they are, what happened to them, what came out of them, and what is asked of one."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from stateward.core.field_docs import about
from stateward.core.model import Fields, Json
from stateward.schemas.base import Count, Document, Priority, Reason, Request, Time


class StatusMetadata(Document, frozen=True, kw_only=True):
    """About the present status."""

    started_at: Time
    worker_id: str | None
    retry_count: Count


class RecordFile(Document, frozen=True, kw_only=True):
    """A file that a stage derived from the document of a record. Its bytes are at `url`."""

    stage: str
    name: str
    media_type: Annotated[str, about("As the stage said; the answer at `url` may be more careful.")]
    size: Count
    sha256: str
    reference: Annotated[str, about("`sha256:…`, as exposed fields and items name it.")]
    attempt: Annotated[int, about("The attempt that saved it.")]
    url: str


class RecordFiles(Document, frozen=True, kw_only=True):
    """The derived files of a record, by stage, in the order in which they were saved."""

    record_id: str
    items: list[RecordFile]


class FlagDecision(Document, frozen=True, kw_only=True):
    """What a person decided about a flagged result."""

    action: str
    by: str
    reason: str | None
    at: Time


class FlagRequest(Request, frozen=True, kw_only=True):
    """A decision about a flagged result: it is right as it is, was corrected, or must not be used."""

    action: Literal["confirm", "correct", "reject"]
    reason: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, Meta(description="Needed to reject.")
    ] = None


class RereadRequest(Request, frozen=True, kw_only=True):
    """What a person says about a document that is to be read again."""

    hints: Annotated[
        dict[str, str],
        about("By name; those of earlier corrections stay, an empty one is taken back."),
    ] = {}
    secrets: Annotated[
        dict[str, str], about("Hints that are stored nowhere, such as a password.")
    ] = {}
    is_preview: Annotated[bool, about("Whether to store nothing.")] = False
    is_reset: Annotated[
        bool, about("Whether to begin without the hints of earlier corrections.")
    ] = False
    remember: Annotated[
        bool, about("Whether to apply the hints to other documents of the same layout, too.")
    ] = False
    accept_flags: Annotated[
        bool, about("Whether to store a flagged result in place of one that is not.")
    ] = False
    only_outdated: Annotated[
        bool, about("Whether to leave alone what the readers of today have read.")
    ] = False
    reason: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        Meta(description="Why, for the history."),
    ] = None
    reason_code: Annotated[
        Annotated[str, Meta(max_length=80)] | None,
        Meta(
            description="Of a record in review, whose review ends as rejected, where it has codes."
        ),
    ] = None


class RereadAnswer(Document, frozen=True, kw_only=True):
    """What changed in the items of the last stage of a document that was read again."""

    record_id: str
    stage: str
    before: Count
    after: Count
    added: list[Fields]
    removed: list[Fields]
    flags: list[str]
    former_flags: list[str] = []
    is_stored: bool
    successor: Annotated[
        str | None,
        about(
            "The record that processes the document anew: it had failed, was in review, or its machine has "
            "reviews."
        ),
    ] = None
    learned: Annotated[
        list[str], about("What is remembered for other documents of the same layout.")
    ] = []
    is_skipped: Annotated[bool, about("Whether it was left alone, because it is not outdated.")] = (
        False
    )
    has_other_facts: Annotated[
        bool, about("Whether what is said about the document as a whole changed.")
    ] = False

    @property
    def is_changed(self) -> bool:
        """Whether any item, flag or fact differs."""
        is_other = self.has_other_facts or self.flags != self.former_flags
        return is_other or bool(self.added or self.removed)


class Record(Document, frozen=True, kw_only=True):
    """A document's place in a machine. `exposed` holds the fields that the machine shows at its status."""

    id: str
    machine: str
    status: str
    version: Count
    error_code: str | None
    error_message: str | None
    exposed: Fields
    priority: Annotated[int, Meta(ge=1, le=10)]
    priority_reason: Annotated[
        str | None, about("Why it has the priority that it was submitted with, if that was said.")
    ] = None
    is_priority_used: Annotated[
        bool,
        about(
            "Whether its priority counts: the settings have a `priority_queue` for its machine. Otherwise "
            "it is first come, first served."
        ),
    ] = False
    retry_count: Count
    max_retries: Count
    last_retry_at: Time | None
    rest: str | None
    is_at_rest: Annotated[bool, about("Whether nothing happens to it until a person acts.")]
    notes: Json
    flags: Annotated[
        list[str], about("Codes by which a stage says that its result is wrong or incomplete.")
    ] = []
    flag_decision: Annotated[
        FlagDecision | None, about("What a person decided about the flags; null until then.")
    ] = None
    labels: Fields
    replaces: str | None
    replaced_by: Annotated[
        list[str] | UnsetType,
        about(
            "The records that process its document again, the oldest first. Only where one record is "
            "asked for; it changes without a new version."
        ),
    ] = UNSET
    created_at: Time
    updated_at: Time
    status_metadata: StatusMetadata
    files: Annotated[
        list[RecordFile], about("Files that its stages derived from the document.")
    ] = []


class ArchiveMember(Document, frozen=True, kw_only=True):
    """A file of an archive that was submitted: its record, or why it was refused."""

    name: str
    record_id: str | None = None
    is_duplicate: bool = False
    problem: Annotated[str, about("Why it was refused; empty if it was not.")] = ""


class RecordOpened(Document, frozen=True, kw_only=True):
    """The record of a document that was submitted; `is_duplicate`: it existed before."""

    record: Record
    is_duplicate: bool
    edition: Annotated[
        Count | None, about("The edition that was made because the document came with other hints.")
    ] = None
    note: Annotated[
        str, about("What became of those hints, and that a priority does not count.")
    ] = ""
    members: Annotated[
        list[ArchiveMember] | UnsetType,
        about("Of an archive, each file in it; `record` is that of the first one."),
    ] = UNSET


class RecordPage(Document, frozen=True, kw_only=True):
    """Some records, newest first; `next` leads on, or is null."""

    items: list[Record]
    next: str | None


class Transition(Document, frozen=True, kw_only=True):
    """One change of status, as the history has it."""

    seq: Count
    record_id: str
    machine: str
    machine_version: int
    source: Annotated[str | None, about("The status before; null for the first.")] = msgspec.field(
        name="from"
    )
    target: Annotated[str, about("The status after.")] = msgspec.field(name="to")
    version: Count
    event_id: str
    at: Time
    actor: str
    trigger: str
    attempt: int | None
    metadata: Fields
    sentence: Annotated[str, about("The same as a line for people.")]
    authority: str
    epoch: Count
    record_hash: str
    hash: str
    prev_hash: str
    salt: Annotated[
        str | UnsetType,
        about("With it the hash can be computed from the metadata; gone when erased."),
    ] = UNSET


class History(Document, frozen=True, kw_only=True):
    """What happened to a record, oldest first."""

    items: list[Transition]
    next: str | None


class ItemPage(Document, frozen=True, kw_only=True):
    """Some rows that a stage produced, in their order; `next` leads on within the same attempt."""

    kind: str | None
    stage: str | None
    attempt: int | None
    items: list[Fields]
    next: str | None


class Attempt(Document, frozen=True, kw_only=True):
    """An attempt at a stage that ended, with what its runner wrote meanwhile."""

    stage: str
    attempt: int
    at: Time
    worker: str
    outcome: str
    count: Count
    error_code: str | None
    error_message: str | None
    log: list[Fields]


class StageLog(Document, frozen=True, kw_only=True):
    """Every attempt at a stage of a record, oldest first."""

    record_id: str
    stage: str
    attempts: list[Attempt]


class Why(Document, frozen=True, kw_only=True):
    """Why a record is where it is, and what to do about it; `reasons` of one in review are what made it wait."""

    id: str
    status: str
    code: str
    sentence: str
    advice: str
    until: Time | None
    reasons: list[str] = []


class StatusCount(Document, frozen=True, kw_only=True):
    """How many records of a machine are in a status; `cancelled` of them were stopped by a person and did not fail."""

    machine: str
    status: str
    count: Count
    cancelled: Count = 0


class Counts(Document, frozen=True, kw_only=True):
    """Records by machine and status, in the order in which records pass the statuses."""

    items: list[StatusCount]


class ErrorGroup(Document, frozen=True, kw_only=True):
    """Records that rest with the same error: messages that differ in numbers and quoted names are one."""

    machine: str
    error_code: str
    error_message: Annotated[
        str | None,
        Meta(description="Where they differ, `#` stands for numbers and `…` for quoted names."),
    ]
    count: Count


class Errors(Document, frozen=True, kw_only=True):
    """Errors by cause, the most frequent first."""

    items: list[ErrorGroup]


class Ask(Request, frozen=True, kw_only=True):
    """A request of a person, with its reason."""

    reason: Reason = None


class ReprocessRecordRequest(Request, frozen=True, kw_only=True):
    """A document that is to be processed again, and what is to be known of it this time."""

    hints: Annotated[
        dict[str, str],
        about("By name, as its pipeline declares them; the others stay as they were."),
    ] = {}
    reason: Reason = None


class PriorityRequest(Request, frozen=True, kw_only=True):
    """Another priority for a record."""

    priority: Priority
    reason: Reason = None


class RefusedUpload(Document, frozen=True, kw_only=True):
    """A document that was sent and not accepted."""

    id: str
    name: str
    problem: Annotated[str, about("The word of the problem, such as `too-large`.")]
    reason: str
    at: Time


class RefusedUploads(Document, frozen=True, kw_only=True):
    """What the caller sent and was refused, the newest first, until it is dismissed."""

    items: list[RefusedUpload]
