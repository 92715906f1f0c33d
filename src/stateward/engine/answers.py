"""Answers to reviews: what callers send, what event types contain, and which answer a record got. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from stateward.core.approvals import APPROVALS
from stateward.core.errors import UnknownName
from stateward.core.machine import Machine, Review, is_stay
from stateward.core.model import Micros, Transition, clean_text
from stateward.engine.corrections import Values
from stateward.engine.gold import RecordedDecision

NOTES_CHARS_MAX = 2000  # notes become part of the transition, which is hashed and stored for ever
APPROVE, CORRECT, REJECT, TIMEOUT = "approve", "correct", "reject", "timeout"
# Actions are what callers send ("approve"); answers are what event types and transitions contain ("approved").
ANSWERS = {APPROVE: "approved", CORRECT: "corrected", REJECT: "rejected", TIMEOUT: "timed_out"}
ACTIONS = {answer: action for action, answer in ANSWERS.items()}


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to a review.

    `machines` are those that the caller may see; none means all. `actor` is the authenticated caller; `reviewer` is the
    person whom an external driver names, and is only recorded. With `version` the answer is refused if the record has
    moved since the reviewer looked at it. `is_administrator`: the caller may end a review before its deadline.
    `batch` names the bulk decision that this is a part of; it is recorded with the decision. `reason_code` is one of
    those that the review has. `moved` assigns the values of a field to another one: from, to.
    """

    record_id: str
    action: str
    actor: str
    corrected: Values = {}
    notes: str | None = None
    reviewer: str | None = None
    version: int | None = None
    machines: tuple[str, ...] = ()
    trace: str | None = None
    is_administrator: bool = False
    batch: str | None = None
    reason_code: str | None = None
    moved: Mapping[str, str] = {}
    claimed_at: Micros | None = None
    """When the caller began to work on it; None: as the claim says."""


class OpinionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A reviewer asks another person (`to`: a name) or a group (`group:NAME`) for a second opinion.

    `values` are those that the reviewer would correct; `is_blind` hides them from who is asked until the decision.
    """

    record_id: str
    actor: str
    to: str
    values: Values = {}
    is_blind: bool = False
    notes: str | None = None
    version: int | None = None
    machines: tuple[str, ...] = ()
    trace: str | None = None
    is_administrator: bool = False


def answer_of(review: Review, action: str) -> str:
    """The answer that an action means in a review. Pipelines may declare answers of their own, which have no action.

    A timeout is always possible: every review has a deadline.
    """
    answer = ANSWERS.get(action, action)
    if answer in review.outcomes or answer == ANSWERS[TIMEOUT]:
        return answer
    raise UnknownName("action", clean_text(action, chars_max=80), actions_of(review))


def actions_of(review: Review) -> tuple[str, ...]:
    """The possible actions, in the order of the declaration."""
    return tuple(ACTIONS.get(answer, answer) for answer in review.outcomes)


def decision_in(
    machine: Machine, history: Sequence[Transition]
) -> tuple[str, RecordedDecision] | None:
    """The last answer to a review of this record, and the review's name.

    The trigger of its transition is `<review>.<answer>`: the history is the only place where decisions are stored.
    """
    names = {review.name for review in machine.reviews}
    for transition in reversed(history):
        name, _, answer = transition.trigger.partition(".")
        if name in names and not is_stay(transition.trigger):
            return name, _recorded_decision(transition, answer)
    return None


def _recorded_decision(transition: Transition, answer: str) -> RecordedDecision:
    metadata: Mapping[str, object] = transition.metadata
    notes, reviewer = metadata.get("reason"), metadata.get("reviewer")
    code, approvals = metadata.get("reason_code"), metadata.get(APPROVALS)
    return RecordedDecision(
        action=ACTIONS.get(answer, answer),
        by=transition.actor,
        at=transition.at,
        notes=None if notes is None else str(notes),
        reviewer=None if reviewer is None else str(reviewer),
        version=transition.version,
        reason_code=None if code is None else str(code),
        approvals=_people(approvals),
    )


def _people(approvals: object) -> tuple[str, ...]:
    given = approvals if isinstance(approvals, list) else []
    return tuple(str(each.get("by")) for each in given if isinstance(each, dict))


def clean_notes(given: str | None) -> str | None:
    return None if given is None else clean_text(given, chars_max=NOTES_CHARS_MAX)
