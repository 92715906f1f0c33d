"""Who may answer a review: its group, the person who was asked for an opinion, and not the same person twice."""

from collections.abc import Mapping, Sequence

from stateward.core.approvals import (
    GROUP,
    REFERRAL,
    has_approved,
    is_among,
    is_same_person,
    person_of,
)
from stateward.core.errors import InvalidRequest, ReviewRefused, UnknownName
from stateward.core.machine import Review
from stateward.core.model import PERSON, Fields, Record, clean_text
from stateward.engine.answers import ANSWERS, APPROVE, DecisionRequest

NAME_CHARS_MAX = 80


class Reviewers:
    """The groups of an installation, and what they mean for a review. It knows people by name alone."""

    def __init__(self, groups: Mapping[str, Sequence[str]]) -> None:
        self._groups = {name: frozenset(members) for name, members in groups.items()}

    def people(self, record: Record, review: Review) -> frozenset[str] | None:
        """Those whose answer counts, by name; None where anyone's does."""
        referral = referral_of(record)
        if referral is None:
            return None if review.group is None else self._members(review.group)
        to = str(referral.get("to"))
        if to.startswith(GROUP):
            return self._members(to.removeprefix(GROUP))
        return frozenset({to.removeprefix(PERSON)})

    def _members(self, group: str) -> frozenset[str]:
        return self._groups.get(group, frozenset())

    def check_person(
        self, record: Record, review: Review, person: str, *, is_administrator: bool = False
    ) -> None:
        """Refuse everyone else; an administrator may answer in place of one who was asked and is away."""
        people = self.people(record, review)
        if people is None or is_among(person, people):
            return
        referral = referral_of(record)
        if referral is None:
            raise ReviewRefused(
                f"{record.id} is decided by the group {review.group}, and {person} is not in it "
                f"(setting reviews.groups.{review.group})"
            )
        if not is_administrator:
            to = shown_name(str(referral["to"]))
            raise ReviewRefused(
                f"{referral['by']} asked {to} for a second opinion on {record.id}: {to} decides it"
            )

    def check_asker(
        self, record: Record, review: Review, person: str, *, is_administrator: bool
    ) -> bool:
        """Refuse who may not ask for a second opinion; whether this person asked for the one that is awaited.

        Who asked may ask again, also to take it back.
        """
        referral = referral_of(record)
        is_again = referral is not None and referral.get("by") == person
        if not is_again:
            self.check_person(record, review, person, is_administrator=is_administrator)
        return is_again

    def check_second(self, record: Record, deciding: DecisionRequest, answer: str) -> None:
        """Refuse a second approval of one person: it would count as that of another."""
        person = person_of(deciding.actor, deciding.reviewer)
        if answer == ANSWERS[APPROVE] and has_approved(record, person):
            raise ReviewRefused(
                f"{person} accepted {record.id} already: the next approval is another person's"
            )

    def addressee(self, to: str, review: Review, *, by: str, is_again: bool) -> str:
        """Whom a second opinion is asked of, as it is stored: `person:NAME` or `group:NAME`.

        Who asked for one before may take it back: the next to be asked is then the same person.
        """
        given = clean_text(to.strip(), chars_max=NAME_CHARS_MAX)
        if given.startswith(GROUP):
            group = given.removeprefix(GROUP)
            if group not in self._groups:
                raise UnknownName("group", group, sorted(self._groups))
            return given
        person = given.removeprefix(PERSON)
        if not person or (is_same_person(person, by) and not is_again):
            raise InvalidRequest("name another person, or a group as group:NAME")
        if review.group is not None and not is_among(person, self._members(review.group)):
            raise ReviewRefused(f"{person} is not in the group {review.group}, which decides this")
        return f"{PERSON}{person}"


def referral_of(record: Record) -> Fields | None:
    """The second opinion that a record waits for, if it does."""
    found = record.fields.get(REFERRAL)
    return found if isinstance(found, dict) else None


def shown_name(to: str) -> str:
    """A person or a group in a sentence."""
    if to.startswith(GROUP):
        return f"the group {to.removeprefix(GROUP)}"
    return to.removeprefix(PERSON)


def check_reason_code(review: Review, code: str | None, *, is_rejection: bool) -> None:
    """A rejection names one of the codes, where there are some; another answer may."""
    known = review.reason_codes
    if code is not None and code not in known:
        raise UnknownName("reason code", clean_text(code, chars_max=NAME_CHARS_MAX), sorted(known))
    if code is None and is_rejection and known:
        raise InvalidRequest(f"name the reason of the rejection, one of: {', '.join(known)}")
