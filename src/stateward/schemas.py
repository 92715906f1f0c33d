"""The JSON documents of the HTTP API: what the server answers, the client decodes and commands print; and requests.

Names are snake_case, times are RFC 3339 in UTC. A field that does not apply is absent, not null (`UNSET`). How an
answer is made from the engine's values is in `app.views`.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from stateward.core.model import Fields, Json

PROBLEM_PREFIX = "urn:stateward:problem:"
PROBLEM_JSON = "application/problem+json"
REASON_CHARS_MAX = 2000
IDS_MAX = 10_000
REVIEWS_MAX = 200  # of one bulk decision, which is one transaction
MAX_INTEGER = 2**63 - 1

Time: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Reason: TypeAlias = (
    Annotated[
        str,
        Meta(max_length=REASON_CHARS_MAX, description="Why; stored in the history with who asked."),
    ]
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


class StatusMetadata(Document, frozen=True, kw_only=True):
    """About the present status."""

    started_at: Time
    worker_id: str | None
    retry_count: Count


class RecordFile(Document, frozen=True, kw_only=True):
    """A file that a stage derived from the document of a record. Its bytes are at `url`."""

    stage: str
    name: str
    media_type: Annotated[
        str, Meta(description="As the stage said; the answer at `url` may be more careful.")
    ]
    size: Count
    sha256: str
    reference: Annotated[str, Meta(description="`sha256:…`, as exposed fields and items name it.")]
    attempt: Annotated[int, Meta(description="The attempt that saved it.")]
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


class FlagRequest(Document, frozen=True, kw_only=True):
    """A decision about a flagged result: it is right as it is, was corrected, or must not be used."""

    action: Literal["confirm", "correct", "reject"]
    reason: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, Meta(description="Needed to reject.")
    ] = None


class ErasureRequest(Document, frozen=True, kw_only=True):
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
    is_dry_run: bool


class HoldRequest(Document, frozen=True, kw_only=True):
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


class RetentionRequest(Document, frozen=True, kw_only=True):
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


class RetentionAnswer(Document, frozen=True, kw_only=True):
    """What the rules of retention did, or would do."""

    is_dry_run: bool
    rules: list[RetentionRuleResult]


class RereadRequest(Document, frozen=True, kw_only=True):
    """What a person says about a document that is to be read again."""

    hints: Annotated[
        dict[str, str],
        Meta(description="By name; those of earlier corrections stay, an empty one is taken back."),
    ] = {}
    secrets: Annotated[
        dict[str, str], Meta(description="Hints that are stored nowhere, such as a password.")
    ] = {}
    is_preview: Annotated[bool, Meta(description="Whether to store nothing.")] = False
    is_reset: Annotated[
        bool, Meta(description="Whether to begin without the hints of earlier corrections.")
    ] = False
    remember: Annotated[
        bool,
        Meta(description="Whether to apply the hints to other documents of the same layout, too."),
    ] = False
    accept_flags: Annotated[
        bool,
        Meta(description="Whether to store a flagged result in place of one that is not."),
    ] = False
    only_outdated: Annotated[
        bool, Meta(description="Whether to leave alone what the readers of today have read.")
    ] = False


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
        Meta(description="The record that processes a document that had failed with these hints."),
    ] = None
    learned: Annotated[
        list[str], Meta(description="What is remembered for other documents of the same layout.")
    ] = []
    is_skipped: Annotated[
        bool, Meta(description="Whether it was left alone, because it is not outdated.")
    ] = False


class Record(Document, frozen=True, kw_only=True):
    """A document's place in a machine. `exposed` holds the fields that the machine shows at its status."""

    id: str
    machine: str
    status: str
    version: Count
    error_code: str | None
    error_message: str | None
    exposed: Fields
    disclosed: Annotated[Fields, Meta(description="Deprecated: the former name of `exposed`.")]
    priority: Annotated[int, Meta(ge=1, le=10)]
    priority_reason: Annotated[
        str | None,
        Meta(description="Why it has the priority that it was submitted with, if that was said."),
    ] = None
    retry_count: Count
    max_retries: Count
    last_retry_at: Time | None
    rest: str | None
    is_at_rest: Annotated[
        bool, Meta(description="Whether nothing happens to it until a person acts.")
    ]
    notes: Json
    flags: Annotated[
        list[str],
        Meta(description="Codes by which a stage says that its result is wrong or incomplete."),
    ] = []
    flag_decision: Annotated[
        FlagDecision | None,
        Meta(description="What a person decided about the flags; null until then."),
    ] = None
    labels: Fields
    replaces: str | None
    created_at: Time
    updated_at: Time
    status_metadata: StatusMetadata
    files: Annotated[
        list[RecordFile], Meta(description="Files that its stages derived from the document.")
    ] = []


class RecordOpened(Document, frozen=True, kw_only=True):
    """The record of a document that was submitted; `is_duplicate`: it existed before."""

    record: Record
    is_duplicate: bool
    edition: Annotated[
        Count | None,
        Meta(description="The edition that was made because the document came with other hints."),
    ] = None
    note: Annotated[str, Meta(description="What became of those hints.")] = ""


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
    source: Annotated[str | None, Meta(description="The status before; null for the first.")] = (
        msgspec.field(name="from")
    )
    target: Annotated[str, Meta(description="The status after.")] = msgspec.field(name="to")
    old_status: Annotated[str | None, Meta(description="Deprecated: the former name of `from`.")]
    new_status: Annotated[str, Meta(description="Deprecated: the former name of `to`.")]
    version: Count
    event_id: str
    at: Time
    actor: str
    trigger: str
    attempt: int | None
    metadata: Fields
    sentence: Annotated[str, Meta(description="The same as a line for people.")]
    authority: str
    epoch: Count
    record_hash: str
    hash: str
    prev_hash: str
    salt: Annotated[
        str | UnsetType,
        Meta(description="With it the hash can be computed from the metadata; gone when erased."),
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
    """Why a record is where it is, and what to do about it."""

    id: str
    status: str
    code: str
    sentence: str
    advice: str
    until: Time | None


class StatusCount(Document, frozen=True, kw_only=True):
    """How many records of a machine are in a status."""

    machine: str
    status: str
    count: Count


class Counts(Document, frozen=True, kw_only=True):
    """Records by machine and status, in the order in which records pass the statuses."""

    items: list[StatusCount]


class ErrorGroup(Document, frozen=True, kw_only=True):
    """Records that rest with the same error."""

    machine: str
    error_code: str
    error_message: str | None
    count: Count


class Errors(Document, frozen=True, kw_only=True):
    """Errors by cause, the most frequent first."""

    items: list[ErrorGroup]


class SnippetSegment(Document, frozen=True, kw_only=True):
    """A piece of a snippet; `is_match`: it is what was looked for."""

    text: str
    is_match: bool


class SearchPassage(Document, frozen=True, kw_only=True):
    """A passage of a ranked document: the number of its item, the id that the item has in its pipeline, its place."""

    item: Count
    id: str
    snippet: list[SnippetSegment]
    where: Fields | None


class SearchReason(Document, frozen=True, kw_only=True):
    """What a term adds to the score of a result. `term` is the stem of a word."""

    term: str
    share: float


class SearchHit(Document, frozen=True, kw_only=True):
    """A passage of a document that matches; of a machine that ranks its documents, a document with its best passages.

    `title` is the name of the document, `kind` what its pipeline calls this text, `item` the number of the item of the
    stage (from 0), `where` its place in the document: `page` and `box`, `line`, `row`, or `start` and `end`.
    """

    record_id: str
    machine: str
    status: str
    stage: str
    item: Count
    kind: str
    title: str
    snippet: Annotated[
        list[SnippetSegment], Meta(description="Plain text in pieces; nothing in it is markup.")
    ]
    score: Annotated[float, Meta(ge=0, le=1, description="How well it matches; higher is better.")]
    where: Fields | None
    created_at: Time
    facts: Annotated[
        Fields, Meta(description="Of a ranked document: what results can be filtered by.")
    ] = {}
    passages: Annotated[
        list[SearchPassage],
        Meta(
            description="Of a ranked document: its best passages, of which `snippet` is the first."
        ),
    ] = []
    same_as: Annotated[
        list[str],
        Meta(
            description="Of a ranked document: other records of the same one, which are not shown again."
        ),
    ] = []
    canonical: Annotated[
        str | None,
        Meta(description="Of a document that has several records: the one that was indexed first."),
    ] = None
    why: Annotated[
        list[SearchReason],
        Meta(description="Of a ranked document: what made up its score, the most first."),
    ] = []


class SearchPage(Document, frozen=True, kw_only=True):
    """Some results, the best first; `next` leads on, or is null."""

    items: list[SearchHit]
    next: str | None


class Ask(Request, frozen=True, kw_only=True):
    """A request of a person, with its reason."""

    reason: Reason = None


Priority: TypeAlias = Annotated[int, Meta(ge=1, le=10, description="1 to 10; higher goes first.")]


class PriorityRequest(Request, frozen=True, kw_only=True):
    """Another priority for a record."""

    priority: Priority
    reason: Reason = None


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
    created_at: Time
    updated_at: Time


class BatchPage(Document, frozen=True, kw_only=True):
    """Some bulk actions, newest first."""

    items: list[Batch]
    next: str | None


class SourceType(Document, frozen=True, kw_only=True):
    """A kind of document that a machine takes. `format` is what its content must be; empty: any that is read."""

    name: str
    title: str
    format: str
    suffixes: list[str]
    labels: Annotated[
        dict[str, str], Meta(description="Labels that it needs, each with what to give.")
    ] = {}


class DetectedType(Document, frozen=True, kw_only=True):
    """What a document may be: a source type of a machine, and how sure that is."""

    machine: str
    source_type: str
    title: str
    format: str
    confidence: Annotated[int, Meta(ge=0, le=100)]
    is_likely: Annotated[
        bool, Meta(description="Whether it is taken for this if it is sent without a pipeline.")
    ]
    labels: Annotated[
        dict[str, str], Meta(description="Labels that it needs, each with what to give.")
    ] = {}


class Detection(Document, frozen=True, kw_only=True):
    """What a document may be, the surest first; empty where no pipeline takes it for one of its own."""

    items: list[DetectedType]


class ItemColumn(Document, frozen=True, kw_only=True):
    """A column of items. `path` leads to the value inside an item."""

    name: str
    title: str
    format: str
    align: str
    path: list[str]


class ItemView(Document, frozen=True, kw_only=True):
    """How the items of a stage are shown; without columns, as they are.

    `where` is the key of an item with its place in the document: `page` and `box`, `line`, `row`, or `start` and `end`.
    """

    stage: str
    title: str
    columns: list[ItemColumn]
    where: str
    source_types: list[str]


class MachineSummary(Document, frozen=True, kw_only=True):
    """A machine in short. `title` and `accepts` say what documents it takes; `is_default`: those that name none."""

    name: str
    version: int
    prefix: str
    doc: str
    states: list[str]
    stages: list[str]
    title: str = ""
    accepts: str = ""
    is_default: bool = False


class MachineDetail(Document, frozen=True, kw_only=True):
    """A machine as it is drawn (`graph`) and declared (`declaration`), what it takes, and how its items are shown."""

    name: str
    version: int
    graph: Fields
    declaration: Fields
    source_types: list[SourceType] = msgspec.field(default_factory=list)
    items: list[ItemView] = msgspec.field(default_factory=list)


class Machines(Document, frozen=True, kw_only=True):
    """The machines in force that the caller may see."""

    items: list[MachineSummary]


class Pause(Document, frozen=True, kw_only=True):
    """A stage that is not dispatched for now; stage null is the whole machine."""

    machine: str
    stage: str | None
    at: Time
    actor: str
    reason: str | None


class Pauses(Document, frozen=True, kw_only=True):
    """What is paused."""

    items: list[Pause]


class PauseRequest(Request, frozen=True, kw_only=True):
    """A stage to pause or to resume; null is the whole machine."""

    stage: Annotated[str, Meta(max_length=100)] | None = None
    reason: Reason = None


class Paused(Document, frozen=True, kw_only=True):
    """Whether a stage is paused now, and whether it was before."""

    machine: str
    stage: str | None
    is_paused: bool
    was_paused: bool


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
    former: Annotated[int, Meta(ge=0, description="Transitions from before the store had lanes.")]
    since: str | None
    unsealed: Annotated[
        int, Meta(ge=0, description="Outputs of attempts from before their digests were sealed.")
    ] = 0
    sealed_since: str | None = None
    has_strays: Annotated[
        bool,
        Meta(description="Of an empty history: documents are stored beside it that no record has."),
    ] = False
    checkpoint: Annotated[str, Meta(description="Of a sound history: keep it elsewhere.")]
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


# Reviews


CorrectedValue: TypeAlias = (
    Annotated[str, Meta(max_length=2000)]
    | Annotated[tuple[Annotated[str, Meta(max_length=2000)], ...], Meta(max_length=50)]
    | None
)
Corrected: TypeAlias = Annotated[
    dict[Annotated[str, Meta(min_length=1, max_length=100)], CorrectedValue],
    Meta(
        max_length=100,
        description="Field → its right value, several values, or null where it has none. What is not named stays.",
    ),
]
Notes: TypeAlias = (
    Annotated[str, Meta(max_length=REASON_CHARS_MAX, description="Stored in the history.")] | None
)


ReasonCode: TypeAlias = (
    Annotated[
        str,
        Meta(
            max_length=64,
            description="One of the `reason_codes` of the review; a rejection needs one where there are some.",
        ),
    ]
    | None
)


class ReviewRequest(Request, frozen=True, kw_only=True):
    """An answer to a review."""

    action: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=64,
            description="`approve`, `correct`, `reject` or `timeout`, or an answer that the machine declares.",
        ),
    ]
    corrected: Corrected = {}
    moved: Annotated[
        dict[
            Annotated[str, Meta(max_length=100)], Annotated[str, Meta(min_length=1, max_length=100)]
        ],
        Meta(
            max_length=100,
            description="Field → the field that its values belong to instead; part of a correction.",
        ),
    ] = {}
    notes: Notes = None
    reason_code: ReasonCode = None


class OpinionRequest(Request, frozen=True, kw_only=True):
    """A question to another reviewer, who then decides."""

    to: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=80,
            description="The name of a person, or `group:` and that of a group (`reviews.groups`).",
        ),
    ]
    corrected: Corrected = {}
    is_blind: Annotated[
        bool, Meta(description="Whether these values are hidden from who is asked.")
    ] = False
    notes: Notes = None


class ReviewChoice(Request, frozen=True, kw_only=True):
    """A review, as it was when it was looked at."""

    record_id: Annotated[str, Meta(min_length=1, max_length=80)]
    version: Annotated[
        int, Meta(ge=0, le=MAX_INTEGER, description="Refused if the record has moved since.")
    ]


class ReviewBatchRequest(Request, frozen=True, kw_only=True):
    """One answer to many reviews."""

    action: Literal["approve", "reject"]
    reviews: Annotated[tuple[ReviewChoice, ...], Meta(min_length=1, max_length=REVIEWS_MAX)]
    notes: Notes = None
    reason_code: ReasonCode = None
    dry_run: Annotated[
        bool, Meta(description="Only say which of them would be decided, and why others not.")
    ] = False


class ReviewBatchResult(Document, frozen=True, kw_only=True):
    """What became of one review of a bulk decision: decided, or refused with the type of a problem."""

    record_id: str
    problem: str | None = None
    detail: str | None = None


class ReviewBatch(Document, frozen=True, kw_only=True):
    """A bulk decision. A dry run has no id and changes nothing."""

    id: str | None
    action: str
    applied: Count
    refused: Count
    effective_at: Annotated[
        Time | None, Meta(description="Until then it can be undone; null: in effect already.")
    ]
    results: list[ReviewBatchResult]


class ReviewBatchUndone(Document, frozen=True, kw_only=True):
    """The reviews of a bulk decision that wait again."""

    id: str
    undone: list[str]


class ReviewClaim(Document, frozen=True, kw_only=True):
    """Who has claimed a review, and until when."""

    by: str
    is_mine: bool
    at: Time
    until: Time


class ReviewDecision(Document, frozen=True, kw_only=True):
    """How a review was decided."""

    action: str
    by: str
    reviewer: str | None
    at: Time
    notes: str | None
    reason_code: str | None = None
    approvals: Annotated[
        list[str], Meta(description="All who accepted it, where more than one person had to.")
    ] = msgspec.field(default_factory=list)


class ReviewApproval(Document, frozen=True, kw_only=True):
    """One of several approvals that a review needs."""

    by: str
    answer: str


class ReviewReferral(Document, frozen=True, kw_only=True):
    """Who was asked for a second opinion, by whom."""

    by: str
    to: str
    at: Time
    is_blind: bool
    notes: str | None = None


class ReviewOpinion(ReviewReferral, frozen=True, kw_only=True):
    """A second opinion that was asked for, with the values of the first reviewer."""

    values: Annotated[
        dict[str, list[str]],
        Meta(
            description="What the first reviewer would correct. Of a blind one it is shown once the review is decided."
        ),
    ] = msgspec.field(default_factory=dict)


class ReviewPending(Document, frozen=True, kw_only=True):
    """A decision that is stored and takes effect later, unless its author undoes it."""

    action: str
    by: str
    is_mine: bool
    at: Time
    effective_at: Time
    corrected: Annotated[
        dict[str, str | list[str] | None],
        Meta(description="The corrected values; shown to its author only."),
    ] = msgspec.field(default_factory=dict)
    notes: str | None = None
    reason_code: str | None = None
    batch: Annotated[
        str | None,
        Meta(description="The bulk decision that it is a part of; shown to its author only."),
    ] = None


class ReviewTask(Document, frozen=True, kw_only=True):
    """A question to a person: one record that waits, or waited, for a decision."""

    record_id: str
    machine: str
    status: str
    version: Count
    review: str
    actions: Annotated[
        list[str], Meta(description="What may be answered; none once it is decided.")
    ]
    deadline: Time | None
    waiting_since: Time
    claim: ReviewClaim | None
    decision: ReviewDecision | None
    pending: Annotated[
        ReviewPending | None, Meta(description="A decision that does not have effect yet.")
    ] = None
    filename: str | None
    facts: Annotated[
        dict[str, str | None],
        Meta(
            description="What its pipeline wants a reviewer to know about it.",
        ),
    ] = msgspec.field(default_factory=dict)
    confidence: Annotated[
        int | None, Meta(description="How sure the values are, 0 to 100; null if nothing says so.")
    ] = None
    reasons: Annotated[
        list[str], Meta(description="Why it waits for a person, as its pipeline says.")
    ] = msgspec.field(default_factory=list)
    reason_codes: Annotated[
        dict[str, str], Meta(description="What a rejection can be for: code and text.")
    ] = msgspec.field(default_factory=dict)
    approvals: Annotated[
        list[ReviewApproval], Meta(description="Who has accepted it so far, of those it needs.")
    ] = msgspec.field(default_factory=list)
    approvals_needed: Annotated[
        int, Meta(description="How many different people must accept it.")
    ] = 1
    group: Annotated[str | None, Meta(description="The group whose members may answer.")] = None
    referral: Annotated[
        ReviewReferral | None, Meta(description="The second opinion that it waits for.")
    ] = None
    may_decide: Annotated[
        bool, Meta(description="Whether the caller is one of those who may answer.")
    ] = True
    submitted_at: Time
    retry_count: Count
    replaces: str | None


class ReviewDetail(ReviewTask, frozen=True, kw_only=True):
    """A task with what is to be looked at: the values that were found, and what the checks say of them."""

    submitted_by: str
    fields: list[Fields]
    problems: list[Fields]
    opinions: Annotated[
        list[ReviewOpinion], Meta(description="The second opinions that were asked for.")
    ] = msgspec.field(default_factory=list)


class AuditItem(Document, frozen=True, kw_only=True):
    """One entry of the audit log. `seq` and `hash` are its place in the chain; null in those of former versions."""

    number: Count
    at: Time
    actor: str
    verb: str
    record_id: str | None
    detail: Fields
    reason: str | None
    seq: int | None
    hash: str | None


class AuditPage(Document, frozen=True, kw_only=True):
    """Some entries of the audit log; `next` leads on, or is null."""

    items: list[AuditItem]
    next: str | None


class PersonStatistics(Document, frozen=True, kw_only=True):
    """What one person decided in reviews."""

    person: str
    decided: Annotated[int, Meta(description="Answers, each of several approvals counted.")]
    approved: Count
    corrected: Count
    rejected: Count
    overturned: Annotated[
        int,
        Meta(description="Those that this person accepted and another then corrected or rejected."),
    ]
    worked_s: Annotated[
        float | None, Meta(description="The median time from the claim to the decision.")
    ]
    wait_s: Annotated[
        float | None, Meta(description="The median time from the question to the decision.")
    ]


class FieldStatistics(Document, frozen=True, kw_only=True):
    """How often people corrected a field, of the records of its machine that they accepted."""

    machine: str
    field: str
    corrected: Count
    accepted: Count


class ReasonStatistics(Document, frozen=True, kw_only=True):
    """How often a reason code was given."""

    machine: str
    reason_code: str
    count: Count


class ReviewStatistics(Document, frozen=True, kw_only=True):
    """What people decided in reviews since a time. Only an administrator sees the lines of other people."""

    since: Time
    people: list[PersonStatistics]
    fields: list[FieldStatistics]
    reasons: list[ReasonStatistics]
    is_complete: Annotated[
        bool, Meta(description="Whether all decisions of that time were counted, or the newest.")
    ]


class VerificationRequest(Request, frozen=True, kw_only=True):
    """A checkpoint of the history that was kept elsewhere, as `verify` wrote it."""

    checkpoint: Annotated[str, Meta(min_length=1, max_length=100_000)]


class RefusedUpload(Document, frozen=True, kw_only=True):
    """A document that was sent and not accepted."""

    id: str
    name: str
    problem: Annotated[str, Meta(description="The word of the problem, such as `too-large`.")]
    reason: str
    at: Time


class RefusedUploads(Document, frozen=True, kw_only=True):
    """What the caller sent and was refused, the newest first, until it is dismissed."""

    items: list[RefusedUpload]


class ReviewPage(Document, frozen=True, kw_only=True):
    """Some tasks that wait, the nearest deadline first; `next` leads on, or is null."""

    items: list[ReviewTask]
    next: str | None


Sequencing: TypeAlias = Literal["outside", "auto"]
