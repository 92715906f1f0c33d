"""Reviews: the questions that wait for a person, who has claimed them, and their decisions.

A task is a record in a suspended state, not a row of its own; its deadline is the record's `due_at`, which the
scheduler watches (docs/decisions/0016). `decide` checks who may answer what, stores a correction beside what it
corrects, and gives the answer to the coordinator as an event, all in one transaction under the record's lock: of
several answers exactly one is applied, and no correction is stored without its decision. `hold` makes the same checks,
stores the decision as a pending one, and `apply_due` makes it when its time has come. Nothing here writes a status.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from stateward.core.approvals import (
    has_approved,
    person_of,
)
from stateward.core.errors import (
    ArtifactError,
    ConcurrentModification,
    InvalidCorrection,
    InvalidRequest,
    InvalidTransition,
    ReviewRefused,
    StatewardError,
    StoreError,
    TransportError,
    UnknownName,
)
from stateward.core.machine import REFERRED, Review
from stateward.core.model import (
    PERSON,
    SECOND,
    Event,
    Fields,
    Ignored,
    Micros,
    Record,
    clean_text,
    event_about,
)
from stateward.core.timers import due_event
from stateward.engine.answers import (
    ANSWERS,
    TIMEOUT,
    DecisionRequest,
    OpinionRequest,
    clean_notes,
    decision_in,
)
from stateward.engine.claims import Claim
from stateward.engine.corrections import (
    VALUES_MAX,
    Values,
    changed_fields,
    corrected_items,
    values_of,
)
from stateward.engine.pending_decisions import CorrectedValues, PendingDecision
from stateward.engine.review_rules import ReviewRules
from stateward.engine.review_tasks import Task
from stateward.storage.audit import (
    DECISION_DROPPED,
    DECISION_UNDONE,
    REVIEW_DECIDED,
    REVIEW_REFERRED,
    AuditEntry,
)
from stateward.storage.outputs import AttemptResult, Output
from stateward.storage.review_links import LINK_PREFIX

DUE_MAX = 100  # pending decisions that one turn makes: each is a transaction of its own
# Items are stored in chunks, so that a reader of many holds a few chunks in memory.
CHUNK_ITEMS_MAX = 500
_encode = msgspec.json.Encoder(order="deterministic").encode


class Reviews(ReviewRules):
    """The reviews of one database, and their decisions."""

    # Claiming

    def claim(
        self,
        record_id: str,
        *,
        actor: str,
        machines: Sequence[str] = (),
        is_administrator: bool = False,
    ) -> Task:
        """Claim a review; its holder may claim it again, which gives more time.

        Under the record's lock, like every claim and decision: of two people who claim at once, one is refused.
        """
        with self._store.transaction():
            record, review = self._open(record_id, machines, actor, CLAIMING)
            self.reviewers.check_person(
                record, review, person_of(actor), is_administrator=is_administrator
            )
            now = self._clock()
            former = self._live(record, self._claim_on(record))
            claim = Claim(
                record_id=record.id,
                version=record.version,
                actor=actor,
                at=now if former is None else former.at,  # renewing it is the same work
                until=now + round(self._claim_s * SECOND),
            )
            self._claims.take(claim)
            return self._task(record, review, claim, self._pending_of(record))

    def unclaim(self, record_id: str, *, actor: str, machines: Sequence[str] = ()) -> Task:
        """Give up a claim. Without one it does nothing, so that it can be repeated."""
        with self._store.transaction():
            record, review = self._open(record_id, machines, actor, "leave")
            self._claims.drop(record.id)
            return self._task(record, review, None, self._pending_of(record))

    # Deciding

    def decide(self, deciding: DecisionRequest) -> Record:
        """Answer a review; returns the record after the decision.

        A refusal is raised inside the transaction, and so takes back a correction that was stored before it. The claim
        is deleted with the decision; the new version would end it anyway.
        """
        with self._store.transaction():
            deciding = self._with_moves(deciding)
            return self._make(deciding, *self._check_decision(deciding))

    def _make(
        self, deciding: DecisionRequest, record: Record, review: Review, answer: str
    ) -> Record:
        """Make a decision that is allowed; the caller holds the transaction and the record's lock."""
        event = self._event(record, review, deciding, answer)
        (decision,) = self._coordinator().handle([event])
        if isinstance(decision, Ignored):
            raise self._refusal(record, deciding.action, decision)
        self._claims.drop(record.id)
        self._pending.drop(record.id, now=self._clock())
        self._note(REVIEW_DECIDED, record, deciding.actor, deciding.action, deciding.batch)
        return decision.change.record

    def is_repeat(self, deciding: DecisionRequest) -> bool:
        """Whether this very answer was given before, by the same caller: a repeat may be answered as the first was.

        The corrected values are compared as the pipeline stores them, so that another spelling is the same answer. That
        time is over any caller may have said.
        """
        deciding = self._with_moves(deciding)
        record = self._record(deciding.record_id, deciding.machines)
        found = decision_in(self._registry.of(record), self._store.history(record.id))
        if found is None or found[1].action != deciding.action:
            return False
        name, decided = found
        if deciding.action == TIMEOUT:
            return True
        if (decided.by, decided.notes) != (deciding.actor, clean_notes(deciding.notes)):
            return False
        if deciding.reviewer is not None and deciding.reviewer != decided.reviewer:
            return False
        made = record.outputs.get(name)
        stored = [] if made is None else list(self._outputs.items(record.id, made))
        try:
            after = self._check_corrections(record, deciding)[1] if deciding.corrected else []
        except InvalidCorrection:
            return False
        return values_of(after) == values_of(stored)

    def hold(self, deciding: DecisionRequest) -> Task:
        """Store a decision that its author can undo for a while; it is checked as if it took effect now.

        Where there is no such time, or the review's deadline comes before it is over, the decision is made at once:
        what was pressed before the deadline counts.
        """
        with self._store.transaction():
            return self._hold(deciding, *self._holdable(deciding))

    def hold_each(
        self, decisions: Sequence[DecisionRequest], *, is_dry_run: bool = False
    ) -> list[Task | StatewardError]:
        """Store decisions, each checked for itself and all in one transaction; for each its task, or why not.

        Records are locked in the order of their ids, so that two bulk decisions cannot wait for each other, and all of
        them before the first is sealed: who decides about one of them waits for that while it is locked.
        """
        answers: dict[int, Task | StatewardError] = {}
        with self._store.transaction():
            self._store.load([each.record_id for each in decisions], lock=not is_dry_run)
            places = sorted(range(len(decisions)), key=lambda at: decisions[at].record_id)
            for at in places:
                try:
                    found = self._holdable(decisions[at])
                except StatewardError as error:
                    answers[at] = error
                    continue
                record, review, _ = found
                answers[at] = (
                    self._task(record, review, None)
                    if is_dry_run
                    else self._hold(decisions[at], *found)
                )
        return [answers[at] for at in range(len(decisions))]

    def _holdable(self, deciding: DecisionRequest) -> tuple[Record, Review, str]:
        """What a decision is about; refused if it may not be made. Nothing is written."""
        deciding = self._with_moves(deciding)
        record, review, answer = self._check_decision(deciding)
        if deciding.corrected:
            self._check_corrections(record, deciding)
        return record, review, answer

    def _hold(self, deciding: DecisionRequest, record: Record, review: Review, answer: str) -> Task:
        now = self._clock()
        effective_at = now + round(self._undo_s * SECOND)
        is_late = record.due_at is not None and record.due_at <= effective_at
        if effective_at <= now or is_late or answer == ANSWERS[TIMEOUT]:
            self.decide(deciding)
            return self.task(record.id)
        stored = replace(
            deciding,
            version=record.version,
            corrected=_plain(deciding.corrected),
            moved=dict(deciding.moved),
            notes=clean_notes(deciding.notes),
            claimed_at=self._claimed_at(record, deciding),
            reviewer=None,
            machines=(),
        )
        pending = PendingDecision(
            **msgspec.structs.asdict(stored), at=now, effective_at=effective_at
        )
        self._pending.put(pending, salt=self._store.new_salt())
        self._claims.drop(record.id)
        return self._task(record, review, None, pending)

    def is_standing(self, deciding: DecisionRequest, *, version: int) -> bool:
        """Whether a decision that was stored for this version is pending still, or the record has moved since."""
        record = self._record(deciding.record_id, deciding.machines)
        pending = self._pending_of(record)
        is_own = pending is not None and pending.actor == deciding.actor
        return is_own or record.version != version

    def is_batch_standing(self, batch: str, *, actor: str, versions: Mapping[str, int]) -> bool:
        """Whether any of a bulk decision is pending still, or any of its records has moved since these versions."""
        if self._pending.of_batch(batch, actor=actor):
            return True
        records = self._store.load(list(versions))
        return any(
            (record := records.get(id_)) is None or record.version != version
            for id_, version in versions.items()
        )

    def undo(self, record_id: str, *, actor: str, machines: Sequence[str] = ()) -> PendingDecision:
        """Take a pending decision back; returns it, so that nothing that was typed is lost."""
        with self._store.transaction():
            record, _ = self._open(record_id, machines, actor, "undo")
            pending = self._pending_of(record)
            if pending is None:
                raise UnknownName("pending decision", clean_text(record_id, chars_max=80))
            self._pending.drop(record.id, now=self._clock())
            self._note(DECISION_UNDONE, record, actor, pending.action, pending.batch)
            return pending

    def undo_batch(
        self, batch: str, *, actor: str, machines: Sequence[str] = ()
    ) -> list[PendingDecision]:
        """Take back what is still pending of a bulk decision of the caller's own; returns it."""
        with self._store.transaction():
            found = self._pending.of_batch(batch, actor=actor)
            records = self._store.load([each.record_id for each in found], lock=True)
            undone = [  # read again: one that its author replaced meanwhile is no longer of this bulk decision
                each
                for each in self._pending.of_batch(batch, actor=actor)
                if (record := records.get(each.record_id)) is not None
                if each.is_valid(record) and (not machines or record.machine in machines)
            ]
            if not undone:
                raise UnknownName("pending decisions", clean_text(batch, chars_max=80))
            for each in undone:
                self._pending.drop(each.record_id, now=self._clock())
                record = records[each.record_id]
                self._note(DECISION_UNDONE, record, actor, each.action, each.batch)
            return undone

    # A second opinion

    def refer(self, asking: OpinionRequest) -> Task:
        """Ask another person or a group: the record stays in its review, and who was asked decides it.

        The values that the first reviewer would correct are stored beside it, and count for nothing. Who asked may ask
        again, also to take it back.
        """
        if len(asking.values) > VALUES_MAX:
            raise InvalidRequest(f"an opinion has at most {VALUES_MAX} fields")
        with self._store.transaction():
            record, review = self._open(asking.record_id, asking.machines, asking.actor, "refer")
            if asking.version is not None and asking.version != record.version:
                raise ConcurrentModification(record.id, expected=asking.version)
            person = person_of(asking.actor)
            is_again = self.reviewers.check_asker(
                record, review, person, is_administrator=asking.is_administrator
            )
            to = self.reviewers.addressee(asking.to, review, by=person, is_again=is_again)
            now = self._clock()
            count, digest = None, None
            if (
                asking.values
            ):  # as they were typed: who is not sure may ask with what the rules would refuse
                items = corrected_items(self.items(record), asking.values)
                digest = self._write_items(record, review, items, actor=asking.actor, now=now)
                count = len(items)
            event = event_about(
                record,
                f"{review.name}.{REFERRED}",
                at=now,
                actor=asking.actor,
                count=count,
                output_digest=digest,
                facts={"to": to, "is_blind": asking.is_blind},
                reason=clean_notes(asking.notes),
                trace=asking.trace,
            )
            (decision,) = self._coordinator().handle([event])
            if isinstance(decision, Ignored):
                raise self._refusal(record, "refer", decision)
            self._claims.drop(record.id)
            self._pending.drop(record.id, now=self._clock())
            self._note(REVIEW_REFERRED, record, asking.actor, f"asks {to}", None)
        return self.task(asking.record_id)

    # Approver links

    def invite(
        self,
        record_id: str,
        person: str,
        *,
        actor: str,
        machines: Sequence[str] = (),
        is_administrator: bool = False,
    ) -> Record:
        """The record, locked, if its review may be given to this person by a link. The caller's own claim ends.

        A link gives no more than its maker has: who is no administrator could decide this review, and alone. Otherwise
        one person could be two, or accept a document of their own under another name.
        """
        with self._store.transaction():
            record, review = self._open(record_id, machines, actor, "link")
            if self._pending_of(record) is not None:
                raise InvalidRequest(f"you have decided {record.id}; undo that first")
            self._check_maker(record, review, actor, is_administrator=is_administrator)
            invited = f"{PERSON}{person}@{LINK_PREFIX}"
            name = person_of(invited)
            self.reviewers.check_person(record, review, name)
            if has_approved(record, name) or self._is_own(record, invited):
                raise ReviewRefused(
                    f"{name} submitted or accepted {record.id} already: name another person"
                )
            self._claims.drop(record.id)
            return record

    def apply_due(self) -> int:
        """Make the pending decisions whose time has come; how many there were.

        Who may decide, and how, was checked when a decision was stored, and its author was told that it counts: other
        rules since then, as after a restart with other settings, do not take it back. One that cannot be made at all,
        because its record moved or its machine has no such answer now, is dropped, logged and noted in the audit log:
        it holds up no other and never ends the process. Trouble with the store is no answer to a decision: it is
        raised, and the decision stays.
        """
        due = self._pending.due(self._clock(), limit=DUE_MAX)
        for pending in due:
            try:
                with self._store.transaction():
                    if self._is_pending_still(pending):
                        self._make(self._with_moves(pending), *self._decidable(pending))
            except (StoreError, ArtifactError, TransportError):
                raise
            except StatewardError as error:
                self._drop(pending, type(error).__name__)
        return len(due)

    def _is_pending_still(self, pending: PendingDecision) -> bool:
        """Whether it was neither undone nor replaced nor made elsewhere since it was read; its record is locked."""
        self._store.load([pending.record_id], lock=True)
        return self._pending.of([pending.record_id]).get(pending.record_id) == pending

    def _drop(self, pending: PendingDecision, why: str) -> None:
        """Give a pending decision up. Without the error's sentence: it may quote what the person wrote."""
        detail: Fields = {"action": pending.action, "version": pending.version, "why": why}
        now = self._clock()
        entry = AuditEntry(
            at=now,
            actor=pending.actor,
            verb=DECISION_DROPPED,
            record_id=pending.record_id,
            detail=detail,
        )
        with self._store.transaction():
            if not self._is_pending_still(pending):
                return
            self._pending.drop(pending.record_id, now=now)
            self._audit.add([entry])
        self._log.warning(f"the pending decision about {pending.record_id} was dropped ({why})")

    def _note(self, verb: str, record: Record, actor: str, action: str, batch: str | None) -> None:
        """In the audit log, without the values and notes: those are in the history alone."""
        detail: Fields = {"action": action, "version": record.version}
        if batch is not None:
            detail["batch"] = batch
        now = self._clock()
        entry = AuditEntry(at=now, actor=actor, verb=verb, record_id=record.id, detail=detail)
        self._audit.add([entry])

    def _event(
        self, record: Record, review: Review, deciding: DecisionRequest, answer: str
    ) -> Event:
        now = self._clock()
        if answer == ANSWERS[TIMEOUT] and not self._is_early(record):
            # The scheduler's own event, with its actor and derived id: whichever comes second changes nothing.
            rung = due_event(self._registry.of(record), record, now=now)
            if rung is not None:
                return rung
        given = {
            "reviewer": deciding.reviewer,
            "batch": deciding.batch,
            "reason_code": deciding.reason_code,
        }
        facts: Fields = {name: value for name, value in given.items() if value is not None}
        if (link := self._links.of_actor(deciding.actor)) is not None:
            facts |= {"link": link.id, "link_by": link.created_by}
        count, digest = None, None
        if (since := self._claimed_at(record, deciding)) is not None:
            facts["worked_s"] = round(max(0, now - since) / SECOND)
        if deciding.corrected:
            count, corrected, digest = self._keep(record, review, deciding, now)
            facts["corrected"] = list(corrected)
        if deciding.moved:
            facts["moved"] = dict(deciding.moved)
        return event_about(
            record,
            f"{review.name}.{answer}",
            at=now,
            actor=deciding.actor,
            count=count,
            output_digest=digest,
            facts=facts,
            reason=clean_notes(deciding.notes),
            trace=deciding.trace,
        )

    def _claimed_at(self, record: Record, deciding: DecisionRequest) -> Micros | None:
        if deciding.claimed_at is not None:
            return deciding.claimed_at
        claim = self._live(record, self._claim_on(record))
        return claim.at if claim is not None and claim.actor == deciding.actor else None

    def _keep(
        self, record: Record, review: Review, deciding: DecisionRequest, now: Micros
    ) -> tuple[int, list[str], str]:
        """Write the corrected items as the output of the review; their number, the fields that changed, their digest.

        They are stored under the suspended record's version, which no attempt of a stage can have. The items that were
        found keep theirs, so both can be compared later.
        """
        before, after = self._check_corrections(record, deciding)
        digest = self._write_items(record, review, after, actor=deciding.actor, now=now)
        return len(after), changed_fields(before, deciding.corrected), digest

    def _write_items(
        self, record: Record, review: Review, items: Sequence[Fields], *, actor: str, now: Micros
    ) -> str:
        """Store the items of a reviewer; their digest."""
        mark = AttemptResult(
            record_id=record.id,
            version=record.version,
            stage=review.name,
            worker=actor,
            at=now,
            count=len(items),
        )
        chunks = [
            (len(part), _encode(part).decode())
            for start in range(0, len(items), CHUNK_ITEMS_MAX)
            if (part := items[start : start + CHUNK_ITEMS_MAX])
        ]
        self._outputs.write([Output(mark, chunks)])
        return self._outputs.seal(record.id, record.version).output

    def _refusal(
        self, record: Record, action: str, ignored: Ignored
    ) -> ConcurrentModification | InvalidTransition:
        # These mean that another change was first; any other reason, that this state does not allow the action.
        if ignored.reason in ("stale", "ahead", "duplicate"):
            return ConcurrentModification(record.id, expected=record.version)
        allowed = self._registry.of(record).allowed_from(record.status)
        return InvalidTransition(record.id, expected=action, found=record.status, allowed=allowed)


CLAIMING = "claim"


def _plain(values: Values) -> CorrectedValues:
    return {
        name: value if value is None or isinstance(value, str) else list(value)
        for name, value in values.items()
    }
