"""Reviews: tasks, claims, decisions, opinions, approver links, and statistics."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from stateward.core.field_docs import about
from stateward.core.model import Fields
from stateward.schemas.base import (
    MAX_INTEGER,
    REASON_CHARS_MAX,
    REVIEWS_MAX,
    Count,
    Document,
    Request,
    Time,
)

LINK_PERSON_CHARS_MAX = 60
LINK_HOURS_MAX = 168

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
    Annotated[str, about("Stored in the history.", max_length=REASON_CHARS_MAX)] | None
)
ReasonCode: TypeAlias = (
    Annotated[
        str,
        about(
            "One of the `reason_codes` of the review; a rejection needs one where there are some.",
            max_length=64,
        ),
    ]
    | None
)


class ReviewRequest(Request, frozen=True, kw_only=True):
    """An answer to a review."""

    action: Annotated[
        str,
        about(
            "`approve`, `correct`, `reject` or `timeout`, or an answer that the machine declares.",
            min_length=1,
            max_length=64,
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
        about(
            "The name of a person, or `group:` and that of a group (`reviews.groups`).",
            min_length=1,
            max_length=80,
        ),
    ]
    corrected: Corrected = {}
    is_blind: Annotated[bool, about("Whether these values are hidden from who is asked.")] = False
    notes: Notes = None


class ReviewLinkRequest(Request, frozen=True, kw_only=True):
    """A link that lets a named person decide one review."""

    person: Annotated[
        str,
        about(
            "A name or an e-mail address; it stands in the history as who decided. What is before an @ "
            "is the person's name, as in groups.",
            min_length=1,
            max_length=LINK_PERSON_CHARS_MAX,
        ),
    ]
    hours: Annotated[
        Annotated[float, Meta(gt=0, le=LINK_HOURS_MAX)] | None,
        Meta(description="How long it can be used; left out, `reviews.link_hours`."),
    ] = None


class ReviewLink(Document, frozen=True, kw_only=True):
    """A link to one review. `url` is in the answer to its making, and in no other."""

    id: str
    record_id: str
    person: str
    state: Annotated[
        Literal["unopened", "opened", "used", "decided", "expired", "revoked"],
        about(
            "`used`: its person has answered; `decided`: the review is over; `revoked`: also where the key "
            "that it was made with is."
        ),
    ]
    created_at: Time
    created_by: str
    expires_at: Time
    opened_at: Time | None
    revoked_at: Time | None
    url: str | UnsetType = UNSET


class ReviewLinkList(Document, frozen=True, kw_only=True):
    """The links to the reviews of a record, oldest first."""

    items: list[ReviewLink]


class ReviewLinkRevoked(Document, frozen=True, kw_only=True):
    """A link that is closed from the next request on."""

    id: str
    was_open: Annotated[bool, about("False if it was revoked before.")]


class ReviewChoice(Request, frozen=True, kw_only=True):
    """A review, as it was when it was looked at."""

    record_id: Annotated[str, Meta(min_length=1, max_length=80)]
    version: Annotated[int, about("Refused if the record has moved since.", ge=0, le=MAX_INTEGER)]


class ReviewBatchRequest(Request, frozen=True, kw_only=True):
    """One answer to many reviews."""

    action: Literal["approve", "reject"]
    reviews: Annotated[tuple[ReviewChoice, ...], Meta(min_length=1, max_length=REVIEWS_MAX)]
    notes: Notes = None
    reason_code: ReasonCode = None
    dry_run: Annotated[
        bool, about("Only say which of them would be decided, and why others not.")
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
        Time | None, about("Until then it can be undone; null: in effect already.")
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
        list[str], about("All who accepted it, where more than one person had to.")
    ] = msgspec.field(default_factory=list)


class ReviewApproval(Document, frozen=True, kw_only=True):
    """One of several approvals that a review needs."""

    by: str
    answer: str
    is_mine: Annotated[bool, about("Whether it is the caller's.")] = False


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
        about(
            "What the first reviewer would correct. Of a blind one it is shown once the review is decided."
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
        dict[str, str | list[str] | None], about("The corrected values; shown to its author only.")
    ] = msgspec.field(default_factory=dict)
    notes: str | None = None
    reason_code: str | None = None
    batch: Annotated[
        str | None, about("The bulk decision that it is a part of; shown to its author only.")
    ] = None


class ReviewTask(Document, frozen=True, kw_only=True):
    """A question to a person: one record that waits, or waited, for a decision."""

    record_id: str
    machine: str
    status: str
    version: Count
    review: str
    actions: Annotated[list[str], about("What may be answered; none once it is decided.")]
    deadline: Time | None
    waiting_since: Time
    claim: ReviewClaim | None
    decision: ReviewDecision | None
    pending: Annotated[ReviewPending | None, about("A decision that does not have effect yet.")] = (
        None
    )
    filename: str | None
    facts: Annotated[
        dict[str, str | None], about("What its pipeline wants a reviewer to know about it.")
    ] = msgspec.field(default_factory=dict)
    confidence: Annotated[
        int | None, about("How sure the values are, 0 to 100; null if nothing says so.")
    ] = None
    reasons: Annotated[list[str], about("Why it is in review, as its pipeline says.")] = (
        msgspec.field(default_factory=list)
    )
    reason_codes: Annotated[
        dict[str, str], about("What a rejection can be for: code and text.")
    ] = msgspec.field(default_factory=dict)
    approvals: Annotated[
        list[ReviewApproval], about("Who has accepted it so far, of those it needs.")
    ] = msgspec.field(default_factory=list)
    approvals_needed: Annotated[int, about("How many different people must accept it.")] = 1
    group: Annotated[str | None, about("The group whose members may answer.")] = None
    referral: Annotated[ReviewReferral | None, about("The second opinion that it waits for.")] = (
        None
    )
    may_decide: Annotated[bool, about("Whether the caller is one of those who may answer.")] = True
    submitted_at: Time
    retry_count: Count
    replaces: str | None


class EvidenceTable(Document, frozen=True, kw_only=True):
    """A list that its pipeline shows to a reviewer below the values, such as what speaks for each kind of document."""

    title: str
    columns: list[str]
    rows: list[list[str]]


class ReviewDetail(ReviewTask, frozen=True, kw_only=True):
    """A task with what is to be looked at: the values that were found, and what the checks say of them."""

    submitted_by: str
    fields: list[Fields]
    problems: list[Fields]
    opinions: Annotated[list[ReviewOpinion], about("The second opinions that were asked for.")] = (
        msgspec.field(default_factory=list)
    )
    evidence: Annotated[
        list[EvidenceTable], about("What else its pipeline shows to a reviewer.")
    ] = msgspec.field(default_factory=list)


class PersonStatistics(Document, frozen=True, kw_only=True):
    """What one person decided in reviews."""

    person: str
    decided: Annotated[int, about("Answers, each of several approvals counted.")]
    approved: Count
    corrected: Count
    rejected: Count
    overturned: Annotated[
        int, about("Those that this person accepted and another then corrected or rejected.")
    ]
    worked_s: Annotated[float | None, about("The median time from the claim to the decision.")]
    wait_s: Annotated[float | None, about("The median time from the question to the decision.")]


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
        bool, about("Whether all decisions of that time were counted, or the newest.")
    ]


class ReviewPage(Document, frozen=True, kw_only=True):
    """Some tasks that wait, the nearest deadline first; `next` leads on, or is null."""

    items: list[ReviewTask]
    next: str | None
