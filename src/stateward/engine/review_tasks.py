"""The questions that wait for a person, as tasks: what is found about each, who has claimed it, how it was decided.

This only reads. A task is a record in a suspended state, not a row of its own (docs/decisions/0016).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from stateward import telemetry
from stateward.core.approvals import approvals_of, is_corrected
from stateward.core.errors import UnknownName
from stateward.core.machine import REFERRED, Machine, Review
from stateward.core.model import Fields, Micros, Record, Transition, clean_text
from stateward.core.query import Query, parse_query
from stateward.definition.display import AboutTable, RecordView
from stateward.engine.answers import TIMEOUT, actions_of, decision_in
from stateward.engine.claims import Claim, Claims
from stateward.engine.corrections import values_of
from stateward.engine.gold import Gold, RecordedDecision, facts_of, gold_of
from stateward.engine.pending_decisions import PendingDecision, PendingDecisions
from stateward.engine.registry import MachineRegistry
from stateward.engine.reviewers import Reviewers
from stateward.storage.audit import AuditLog
from stateward.storage.database import Database
from stateward.storage.outputs import Outputs
from stateward.storage.review_links import ReviewLinks
from stateward.storage.store import Store

if TYPE_CHECKING:
    from stateward.engine.coordinator import Coordinator

PAGES_MAX = 100  # pages of open reviews that one question looks through
PENDING_MAX = 1000  # records of one query, whatever limit a caller gives: bounds memory
# The keys by which an item tells of a problem, or holds several.
TELLS_A_PROBLEM = frozenset({"sentence", "message", "code", "problems"})


SelfApproval: TypeAlias = Literal["auto", "allow", "refuse"]
Judged: TypeAlias = tuple[Sequence[Fields], Sequence[tuple[str, str]]]
Judge: TypeAlias = Callable[[Record, Sequence[Fields], Sequence[str]], Judged]
# What keeps a record from being approved as it is, given the problems that the checks found: (field, sentence) each.
Approval: TypeAlias = Callable[[Record, Sequence[Fields]], Sequence[tuple[str, str]]]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person: open while the record waits, and then decided."""

    record: Record
    review: str
    actions: tuple[str, ...]
    claim: Claim | None
    decided: RecordedDecision | None
    pending: PendingDecision | None = None
    facts: dict[str, str | None] = {}
    """What the pipeline declares that a reviewer should know of a record, such as whose document it is."""
    confidence: int | None = None
    reason_codes: dict[str, str] = {}
    """What a rejection can be for."""
    approvals_needed: int = 1
    group: str | None = None
    people: frozenset[str] | None = None
    """Those who may answer, by name; None: anyone."""

    @property
    def is_open(self) -> bool:
        """Whether it has no decision yet."""
        return self.decided is None


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """A second opinion that was asked for; `values` are those that the first reviewer would correct."""

    by: str
    to: str
    at: Micros
    is_blind: bool
    notes: str | None
    values: dict[str, list[str]]


class ReviewTasks:
    """The reviews of one database, to look at; and what all that is done with them needs (see `reviews`).

    `coordinator` and `has_keys` are called when needed: a process that only lists reviews builds none, and keys may be
    created while it runs. `judge` is the pipeline's check of corrected items; it returns them with its faults.
    """

    def __init__(
        self,
        *,
        database: Database,
        store: Store,
        outputs: Outputs,
        coordinator: Callable[[], "Coordinator"],
        registry: MachineRegistry,
        clock: Callable[[], Micros],
        claim_s: float,
        undo_s: float,
        self_approval: SelfApproval,
        has_keys: Callable[[], bool],
        judge: Judge,
        approval: Approval = lambda record, problems: (),
        groups: Mapping[str, Sequence[str]] | None = None,
        view_of: Callable[[str], RecordView] = lambda machine: RecordView(machine=machine),
    ) -> None:
        self.reviewers = Reviewers(groups or {})
        self._claims = Claims(database)
        self._pending = PendingDecisions(database)
        self._store = store
        self._outputs = outputs
        self._registry = registry
        self._clock = clock
        self._view_of = view_of
        self._self_approval = self_approval
        self._has_keys = has_keys
        self._judge = judge
        self._approval = approval
        self._coordinator = coordinator
        self._claim_s = claim_s
        self._undo_s = undo_s
        self._audit = AuditLog(database)
        self._links = ReviewLinks(database)
        self._log = telemetry.log("reviews")

    def pending(
        self,
        *,
        machines: Sequence[str] = (),
        facts: Mapping[str, str] | None = None,
        after: tuple[Micros, str] | None = None,
        limit: int = 100,
    ) -> list[Task]:
        """Open reviews, the nearest deadline first; `after` is the (deadline, id) of the last one seen.

        `facts` are values that records must have, by names that their pipelines declare as facts of reviews.
        """
        wanted = dict(facts or {})
        states = [
            (machine.name, review.state)
            for machine in self._registry.newest.values()
            if not machines or machine.name in machines
            if wanted.keys() <= set(self._view_of(machine.name).facts)
            for review in machine.reviews
        ]
        records = self._due_in(states, wanted, after=after, limit=min(limit, PENDING_MAX))
        claims = self._claims.of(record.id for record in records)
        held = self._pending.of(record.id for record in records)
        return [
            self._task(
                record,
                review,
                self._live(record, claims.get(record.id)),
                _valid(record, held.get(record.id)),
            )
            for record in records
            if (review := self._registry.of(record).review_in.get(record.status)) is not None
        ]

    def fact_names(self, machines: Sequence[str] = ()) -> set[str]:
        """The names of all facts by which open reviews can be chosen."""
        return {
            name
            for machine in self._registry.newest.values()
            if machine.reviews and (not machines or machine.name in machines)
            for name in self._view_of(machine.name).facts
        }

    def _due_in(
        self,
        states: Sequence[tuple[str, str]],
        wanted: Mapping[str, str],
        *,
        after: tuple[Micros, str] | None,
        limit: int,
    ) -> list[Record]:
        """Records that wait, with these facts. Facts are no columns, so pages are read until enough have them."""
        found: list[Record] = []
        for _ in range(PAGES_MAX):
            size = PENDING_MAX if wanted else limit
            page = self._store.due_in(states, after=after, limit=size)
            found += [
                record
                for record in page
                if wanted.items() <= facts_of(record, tuple(wanted)).items()
            ]
            if len(found) >= limit or len(page) < size:
                break
            after = (page[-1].due_at or 0, page[-1].id)
        return found[:limit]

    def task(self, record_id: str, *, machines: Sequence[str] = ()) -> Task:
        """The review of a record: open, or with its decision, which is read from the history."""
        record = self._record(record_id, machines)
        machine = self._registry.of(record)
        review = machine.review_in.get(record.status)
        if review is not None:
            claim = self._live(record, self._claim_on(record))
            return self._task(record, review, claim, self._pending_of(record))
        found = decision_in(machine, self._store.history(record.id))
        if found is None:
            raise UnknownName("review", clean_text(record_id, chars_max=80))
        name, decided = found
        return self._with_facts(
            Task(record=record, review=name, actions=(), claim=None, decided=decided)
        )

    def _task(
        self,
        record: Record,
        review: Review,
        claim: Claim | None,
        pending: PendingDecision | None = None,
    ) -> Task:
        return self._with_facts(
            Task(
                record=record,
                review=review.name,
                actions=actions_of(review),
                claim=claim,
                decided=None,
                pending=pending,
                reason_codes=review.reason_codes,
                approvals_needed=review.approvals,
                group=review.group,
                people=self.reviewers.people(record, review),
            )
        )

    def _with_facts(self, task: Task) -> Task:
        view = self._view_of(task.record.machine)
        found = task.record.fields.get(view.confidence) if view.confidence else None
        return replace(
            task,
            facts=facts_of(task.record, view.facts),
            confidence=found if isinstance(found, int) else None,
        )

    def items(self, record: Record) -> list[Fields]:
        """The items that a reviewer checks: those of the stage that the review is about, as they were found.

        Where one of several people corrected them, the next ones look at the corrected items.
        """
        review, made = self._under_review(record)
        if review is not None and is_corrected(approvals_of(record)):
            made = record.outputs.get(review.name, made)
        return [] if made is None else list(self._outputs.items(record.id, made))

    def tables(self, record: Record) -> list[tuple[AboutTable, list[Fields]]]:
        """What the stage under review says of its items as a whole, where its pipeline has a reviewer see it."""
        declared = self._view_of(record.machine).evidence
        _, made = self._under_review(record) if declared else (None, None)
        about = {} if made is None else self._outputs.about(record.id, made)
        return [(each, rows) for each in declared if (rows := each.rows(about))]

    def _under_review(self, record: Record) -> tuple[Review | None, int | None]:
        """The review of a record, and the version whose output it is about."""
        machine = self._registry.of(record)
        review = machine.review_in.get(record.status) or next(iter(machine.reviews), None)
        made = None if review is None or review.of is None else record.outputs.get(review.of)
        return review, made

    def problems(self, record: Record) -> list[Fields]:
        """What the last stage before the review found wrong with those items.

        That is a stage which leads to the review and is not the one under review; of several, the latest that ran. Its
        items that tell no problem (no sentence, message or code) are something else that it made.
        """
        machine = self._registry.of(record)
        names = {stage.name for stage in machine.stages if stage.running in _before(machine)}
        names -= {review.of for review in machine.reviews if review.of is not None}
        made = [version for name, version in record.outputs.items() if name in names]
        items = self._outputs.items(record.id, max(made)) if made else ()
        return [each for each in items if not TELLS_A_PROBLEM.isdisjoint(each)]

    def gold(self) -> Iterator[Gold]:
        """Every decision of a person, with what was found and what is right: ground truth to measure extractors by.

        Records are read in pages, without a transaction: an export of all must not hold up the writers.
        """
        for name in self._registry.newest:
            after: str | None = ""
            while after is not None:
                found, after = self.gold_page(name, after=after)
                yield from found

    def gold_page(self, name: str, *, after: str) -> tuple[list[Gold], str | None]:
        """Decisions on some records of a machine, and the id of the last record; None where there are no more."""
        if not self._registry.named(name).reviews:
            return [], None
        query = parse_query(f"machine:{name}", now=self._clock())
        records = self._page(query, after)
        found = [gold for each in records if (gold := self._gold_of(each)) is not None]
        return found, records[-1].id if records else None

    def opinions(self, record: Record, *, actor: str) -> list[Opinion]:
        """Each time a second opinion was asked for, with the values of the person who asked.

        Of a blind one they are shown to their author, and to all once it is decided.
        """
        machine = self._registry.of(record)
        names = {f"{review.name}.{REFERRED}" for review in machine.reviews}
        is_decided = record.status not in machine.review_in
        found: list[Opinion] = []
        for each in self._store.history(record.id):
            if each.trigger in names:
                is_shown = is_decided or each.actor == actor or not each.metadata.get("is_blind")
                has_values = is_shown and "count" in each.metadata
                items = self._outputs.items(record.id, each.version - 1) if has_values else ()
                found.append(opinion_of(each, items))
        return found

    def _page(self, query: Query, after: str) -> list[Record]:
        return self._store.queries.find(
            query, names=self._registry.query_names, after=after, limit=PENDING_MAX
        )

    def _gold_of(self, record: Record) -> Gold | None:
        machine = self._registry.of(record)
        if not any(review.of in record.outputs for review in machine.reviews if review.of):
            return None  # no review can have begun; this spares the query of its history
        found = decision_in(machine, self._store.history(record.id))
        if found is None or found[1].action == TIMEOUT:  # a deadline says nothing about the values
            return None
        name, decided = found
        made = record.outputs.get(name)
        corrected = None if made is None else list(self._outputs.items(record.id, made))
        facts = facts_of(record, self._view_of(record.machine).facts)
        return gold_of(record, decided, found=self.items(record), corrected=corrected, facts=facts)

    def _record(self, record_id: str, machines: Sequence[str], *, lock: bool = False) -> Record:
        record = self._store.load([record_id], lock=lock).get(record_id)
        # The same error for a record that the caller may not see: it must not tell that the record exists.
        if record is None or (machines and record.machine not in machines):
            raise UnknownName("record", clean_text(record_id, chars_max=80))
        return record

    def _claim_on(self, record: Record) -> Claim | None:
        return self._claims.of([record.id]).get(record.id)

    def _pending_of(self, record: Record) -> PendingDecision | None:
        return _valid(record, self._pending.of([record.id]).get(record.id))

    def _live(self, record: Record, claim: Claim | None) -> Claim | None:
        return claim if claim is not None and claim.is_live(record, self._clock()) else None


def opinion_of(transition: Transition, items: Iterable[Fields]) -> Opinion:
    """What a transition tells of a second opinion that was asked for."""
    metadata = transition.metadata
    notes = metadata.get("reason")
    return Opinion(
        by=transition.actor,
        to=str(metadata.get("to")),
        at=transition.at,
        is_blind=metadata.get("is_blind") is True,
        notes=None if notes is None else str(notes),
        values=values_of(each for each in items if each.get("is_corrected")),
    )


def _valid(record: Record, pending: PendingDecision | None) -> PendingDecision | None:
    return pending if pending is not None and pending.is_valid(record) else None


def _before(machine: Machine) -> set[str]:
    """The states that lead to a review."""
    asking = {review.state for review in machine.reviews}
    return {edge.source for edge in machine.edges if edge.to in asking}
