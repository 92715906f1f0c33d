"""Reviews that need more than one person: several approvals, and a second opinion. Pure.

A record that a person approved as one of several, or referred to another person, stays in its status: the transition
leads from the review to itself (`<review>.endorsed`, `<review>.referred`), so that the history has it like any other,
and its new version ends the claims and decisions that were made on the old one. Its deadline stays.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from stateward.core.machine import ENDORSED, Machine, Review
from stateward.core.model import (
    Applied,
    Ask,
    Change,
    Decision,
    Event,
    Fields,
    Ignored,
    Json,
    Micros,
    Record,
    Transition,
    to_iso,
    without_key,
)

APPROVALS = "approvals"
"""The field of a waiting record, and of the transition that ended its review, with who accepted it so far."""
REFERRAL = "referral"
"""The field of a waiting record that was referred to another person or group."""
REVIEWER = "reviewer"
APPROVED, CORRECTED = "approved", "corrected"
GROUP = "group:"


def person_of(actor: str, reviewer: Json = None) -> str:
    """The name by which people are compared: without the role prefix and the key, and otherwise whole.

    Two keys of one name are one person; `anna@a.org` and `anna@b.org` are two. An external driver delivers the answers
    of people, and names them.
    """
    if isinstance(reviewer, str) and reviewer:
        return reviewer
    return without_key(actor.partition(":")[2])


def is_same_person(one: str, other: str) -> bool:
    """Whether two names are to be taken for one person's; case tells no people apart.

    `anna@a.org` and `anna@b.org` are two people. A bare name and an address that begins with it are one: the same
    person may have a key by name and a link by address, and must not count twice.
    """
    if one.casefold() == other.casefold():
        return True
    name, is_address, _ = one.casefold().partition("@")
    other_name, is_other_address, _ = other.casefold().partition("@")
    return name == other_name and not (is_address and is_other_address)


def is_among(person: str, people: Iterable[str]) -> bool:
    """Whether a person is one of these."""
    return any(is_same_person(person, each) for each in people)


def approvals_of(record: Record) -> list[Fields]:
    """Who has accepted a waiting record so far, and how: `by` and `answer` each."""
    given = record.fields.get(APPROVALS)
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def has_approved(record: Record, person: str) -> bool:
    """Whether this person is one of those who accepted it."""
    return _is_one_of(approvals_of(record), person)


def _is_one_of(approvals: list[Fields], person: str) -> bool:
    return is_among(person, (str(each.get("by")) for each in approvals))


def is_corrected(approvals: list[Fields]) -> bool:
    """Whether what is being accepted are values that a person corrected."""
    return any(each.get("answer") == CORRECTED for each in approvals)


def with_approval(record: Record, event: Event, review: Review) -> list[Fields] | Ignored:
    """The approvals of a record with this one.

    A correction changes what is accepted, so it begins anew: those who accepted the former values have not seen these.
    """
    answer = event.type.removeprefix(f"{review.name}.")
    person = person_of(event.actor, event.facts.get(REVIEWER))
    given = [] if answer == CORRECTED else approvals_of(record)
    if _is_one_of(given, person):
        detail = f"{person} accepted {record.id} already: the next approval is another person's"
        return Ignored(reason="not_allowed", detail=detail)
    return [*given, {"by": person, "answer": answer}]


def endorse(
    machine: Machine,
    record: Record,
    event: Event,
    review: Review,
    approvals: list[Fields],
    *,
    now: Micros,
) -> Applied:
    """One of several approvals: the record waits for the next."""
    listed: list[Json] = [*approvals]
    outputs = record.outputs
    if event.count is not None:
        outputs = outputs | {review.name: record.version}
    endorsed = replace(record, fields=_with_answer(record) | {APPROVALS: listed}, outputs=outputs)
    facts: Fields = {APPROVALS: listed, "approvals_needed": review.approvals}
    return _stay(machine, endorsed, record, event, f"{review.name}.{ENDORSED}", facts, now=now)


def refer(machine: Machine, record: Record, event: Event, *, now: Micros) -> Decision:
    """A second opinion: from now on the one who was asked decides. Asked of no one, no one could."""
    to = event.facts.get("to")
    if not (isinstance(to, str) and to):
        return Ignored(reason="impossible", detail=f"{event.id} does not say whom it asks (`to`)")
    referral: Fields = {
        "by": person_of(event.actor),
        "to": to,
        "at": to_iso(now),
        "is_blind": event.facts.get("is_blind") is True,
    }
    if event.count is not None:
        referral["version"] = record.version  # of the values that the first reviewer would give
    if event.reason is not None:
        referral["notes"] = event.reason
    referred = replace(record, fields=record.fields | {REFERRAL: referral})
    return _stay(machine, referred, record, event, event.type, {}, now=now)


def without_answers(record: Record) -> Record:
    """The record without what belongs to a review that is over."""
    if APPROVALS not in record.fields and REFERRAL not in record.fields:
        return record
    left = {name: value for name, value in _with_answer(record).items() if name != APPROVALS}
    return replace(record, fields=left)


def _with_answer(record: Record) -> Fields:
    """The fields once the person who was asked for an opinion has given it."""
    return {name: value for name, value in record.fields.items() if name != REFERRAL}


def _stay(
    machine: Machine,
    stayed: Record,
    record: Record,
    event: Event,
    trigger: str,
    facts: Fields,
    *,
    now: Micros,
) -> Applied:
    moved = replace(
        stayed,
        version=record.version + 1,
        machine_version=machine.version,
        entered_at=now,
    )
    metadata: Fields = {**event.facts, **facts}
    if event.count is not None:
        metadata["count"] = event.count
    if event.output_digest is not None:
        metadata["output_digest"] = event.output_digest
    if event.reason is not None:
        metadata["reason"] = event.reason
    if event.trace is not None:
        metadata["trace"] = event.trace
    transition = Transition(
        record_id=record.id,
        machine=machine.name,
        machine_version=machine.version,
        source=record.status,
        target=record.status,
        version=moved.version,
        event_id=event.id,
        at=now,
        actor=event.actor,
        trigger=trigger,
        metadata=metadata,
    )
    review = machine.review_in[record.status]
    ask = Ask(
        record_id=record.id, version=moved.version, review=review.name, deadline=record.due_at
    )
    return Applied(
        Change(record=moved, expected=record.version, transition=transition, effects=(ask,))
    )
