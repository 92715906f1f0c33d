"""What a person may do with a review: whose it is, which answers it takes, and what is refused with which sentence.

Each check raises its refusal and writes nothing. Those of a decision lock the record, so that what was checked is still
true when the decision is stored (stateward.engine.reviews).
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from stateward.core.approvals import approvals_of, is_corrected, is_same_person, person_of
from stateward.core.errors import (
    ConcurrentModification,
    InvalidCorrection,
    InvalidRequest,
    InvalidTransition,
    ReviewRefused,
    ReviewTaken,
    UnknownName,
)
from stateward.core.machine import Machine, Review
from stateward.core.model import SEQUENCER, Fields, Record, clean_text, plain_actor, to_iso
from stateward.engine.answers import (
    ANSWERS,
    APPROVE,
    CORRECT,
    REJECT,
    TIMEOUT,
    DecisionRequest,
    answer_of,
    decision_in,
)
from stateward.engine.corrections import (
    VALUES_MAX,
    are_rows,
    corrected_items,
    values_of,
    with_moves,
)
from stateward.engine.review_tasks import ReviewTasks, Task
from stateward.engine.reviewers import check_reason_code

REPLACED_MAX = 20  # records before this one of the same document whose submitters are looked at


class Refusals(msgspec.Struct, frozen=True, kw_only=True):
    """Why a person may not do what a review offers, in a sentence each; "" for what the person may do."""

    decide: str = ""
    accept: str = ""
    refer: str = ""
    link: str = ""


class ReviewRules(ReviewTasks):
    """The reviews of one database, and who may answer what."""

    def refusals(self, task: Task, actor: str, *, is_administrator: bool) -> Refusals:
        """Why this person is refused what can be done with an open review, by the rules that refuse it."""
        record, person = task.record, person_of(actor)
        review = self._registry.of(record).review_in.get(record.status)
        if review is None:
            return Refusals()

        def check_person() -> None:
            self.reviewers.check_person(record, review, person, is_administrator=is_administrator)

        def check_asker() -> None:
            self.reviewers.check_asker(record, review, person, is_administrator=is_administrator)

        def check_maker() -> None:
            self._check_maker(record, review, actor, is_administrator=is_administrator)

        decide = _refusal_of(check_person)
        return Refusals(
            decide=decide,
            accept=decide or _refusal_of(lambda: self._check_own(record, actor)),
            refer=_refusal_of(check_asker),
            link=_refusal_of(check_maker),
        )

    def _check_maker(
        self, record: Record, review: Review, actor: str, *, is_administrator: bool
    ) -> None:
        if is_administrator:
            return
        self.reviewers.check_person(record, review, person_of(actor))
        if review.approvals > 1:
            raise ReviewRefused(
                f"{record.id} needs {review.approvals} approvals of different people: only an administrator makes "
                "links to it"
            )
        if self._is_own(record, actor):
            raise ReviewRefused(
                f"{plain_actor(actor)} submitted {record.id}: another person must make a link to its review"
            )

    def _check_decision(self, deciding: DecisionRequest) -> tuple[Record, Review, str]:
        """The record, locked, its review, and the answer; refused if the decision may not be made."""
        record, review, answer = self._decidable(deciding)
        if answer != ANSWERS[TIMEOUT]:
            self.reviewers.check_person(
                record,
                review,
                person_of(deciding.actor, deciding.reviewer),
                is_administrator=deciding.is_administrator,
            )
        self.reviewers.check_second(record, deciding, answer)
        check_reason_code(review, deciding.reason_code, is_rejection=answer == ANSWERS[REJECT])
        self._check(record, deciding, answer)
        return record, review, answer

    def _decidable(self, deciding: DecisionRequest) -> tuple[Record, Review, str]:
        """The same for every person: refused if the record moved, or its review has no such answer."""
        record, review = self._open(
            deciding.record_id, deciding.machines, deciding.actor, deciding.action
        )
        if deciding.version is not None and deciding.version != record.version:
            raise ConcurrentModification(record.id, expected=deciding.version)
        return record, review, answer_of(review, deciding.action)

    def _open(
        self, record_id: str, machines: Sequence[str], actor: str, action: str
    ) -> tuple[Record, Review]:
        """The record, locked, and its review; refused if it is decided, or claimed by another person.

        A timeout ignores claims: a claim must not extend the deadline of a review.
        """
        record = self._record(record_id, machines, lock=True)
        machine = self._registry.of(record)
        review = machine.review_in.get(record.status)
        if review is None:
            raise self._closed_error(record, machine, action)
        claim = self._live(record, self._claim_on(record))
        if claim is not None and claim.actor != actor and action != TIMEOUT:
            until = to_iso(claim.until)
            who = plain_actor(claim.actor)
            message = (
                f"{who} has claimed this review until {until}; look at another, or come back then"
            )
            raise ReviewTaken(record.id, by=claim.actor, sentence=message, until=until)
        pending = self._pending_of(record)
        if pending is not None and pending.actor != actor and action != TIMEOUT:
            until = to_iso(pending.effective_at)
            message = f"{plain_actor(pending.actor)} has decided it, which takes effect at {until}"
            raise ReviewTaken(record.id, by=pending.actor, sentence=message, until=until)
        return record, review

    def _closed_error(
        self, record: Record, machine: Machine, action: str
    ) -> ReviewTaken | InvalidTransition:
        found = decision_in(machine, self._store.history(record.id))
        if found is None:
            allowed = machine.allowed_from(record.status)
            return InvalidTransition(
                record.id, expected=action, found=record.status, allowed=allowed
            )
        _, decided = found
        message = f"{plain_actor(decided.by)} decided it already, at {to_iso(decided.at)}: {decided.action}"
        return ReviewTaken(record.id, by=decided.by, sentence=message, until=None)

    def _check(self, record: Record, deciding: DecisionRequest, answer: str) -> None:
        has_reason = deciding.reason_code is not None or bool((deciding.notes or "").strip())
        if deciding.action == REJECT and not has_reason:
            raise InvalidRequest("give a reason for the rejection: the sender will ask")
        if deciding.corrected and answer != ANSWERS[CORRECT]:
            raise InvalidRequest("only a correction has corrected values; the action is `correct`")
        if answer == ANSWERS[CORRECT] and not deciding.corrected:
            raise InvalidRequest("a correction names at least one field and its right value")
        if len(deciding.corrected) > VALUES_MAX:
            raise InvalidRequest(f"a correction has at most {VALUES_MAX} fields")
        if answer in (ANSWERS[APPROVE], ANSWERS[CORRECT]):
            self._check_own(record, deciding.actor, deciding.reviewer)
        # What another person corrected was checked then: the problems are those of the former values.
        is_checked = is_corrected(approvals_of(record))
        if (
            answer == ANSWERS[APPROVE]
            and not is_checked
            and (missing := self._approval(record, self.problems(record)))
        ):
            raise InvalidCorrection(record.id, missing)
        if answer == ANSWERS[TIMEOUT] and self._is_early(record):
            self._check_early_timeout(record, deciding)

    def _is_early(self, record: Record) -> bool:
        return record.due_at is None or record.due_at > self._clock()

    def _check_early_timeout(self, record: Record, deciding: DecisionRequest) -> None:
        """Before the deadline only an administrator times a review out, and says why: people were told of that time."""
        until = "" if record.due_at is None else f", {to_iso(record.due_at)}"
        if not deciding.is_administrator:
            raise ReviewRefused(
                f"{record.id} is not timed out before its deadline{until}; only an administrator may end it earlier"
            )
        if not (deciding.notes or "").strip():
            raise InvalidRequest(
                f"give a reason (`notes`, --reason): {record.id} is timed out before its deadline{until}"
            )

    def _check_own(self, record: Record, actor: str, reviewer: str | None = None) -> None:
        if self._is_own(record, actor, reviewer):
            raise ReviewRefused(
                f"{plain_actor(actor)} submitted {record.id}, and who submits a document may not accept it: "
                "another person must decide it"
            )

    def _is_own(self, record: Record, actor: str, reviewer: str | None = None) -> bool:
        """Whether a person accepts what the same person submitted.

        `auto` allows it while there are no API keys: without them people cannot be distinguished. An external driver
        that submitted a record delivers the answers of other people, so its key is not compared with itself.
        """
        if self._self_approval == "allow":
            return False
        if self._self_approval == "auto" and not self._has_keys():
            return False
        return any(
            # By name: two keys, or a key and a link, of one person are still one person.
            is_same_person(person_of(submitter), person)
            for submitter in self._submitters(record)
            for person in (person_of(actor), person_of(actor, reviewer))
            if not (submitter == actor and actor.startswith(SEQUENCER) and person != reviewer)
        )

    def _submitters(self, record: Record) -> Iterator[str]:
        """Who submitted a record, and those that it replaces: read again, a document is still that of its submitter."""
        replaced: Record | None = record
        for _ in range(REPLACED_MAX):
            if replaced is None:
                return
            # From the history, which is sealed; the first transition is the submission.
            yield self._store.history(replaced.id)[0].actor
            replaced = None if replaced.replaces is None else self._store.get(replaced.replaces)

    def _with_moves(self, deciding: DecisionRequest) -> DecisionRequest:
        """The decision with the values that it assigns to other fields as corrected ones."""
        if not deciding.moved:
            return deciding
        items = self.items(self._record(deciding.record_id, deciding.machines))
        if unknown := sorted(deciding.moved.keys() - values_of(items).keys()):
            raise UnknownName("field", clean_text(unknown[0], chars_max=80), values_of(items))
        return replace(deciding, corrected=with_moves(items, deciding.corrected, deciding.moved))

    def _check_corrections(
        self, record: Record, deciding: DecisionRequest
    ) -> tuple[Sequence[Fields], Sequence[Fields]]:
        """The items as they were found and as they are corrected; refused if the pipeline finds a fault."""
        before = self.items(record)
        if are_rows(before):
            raise InvalidRequest(
                f"{record.id} has rows to look at, not fields with a value: approve or reject it"
            )
        named = list(deciding.corrected)
        after, faults = self._judge(record, corrected_items(before, deciding.corrected), named)
        if faults:
            raise InvalidCorrection(record.id, faults)
        return before, after


def _refusal_of(check: Callable[[], object]) -> str:
    try:
        check()
    except ReviewRefused as refused:
        return str(refused)
    return ""
