"""What people ask of records: retry, cancel, another priority, one by one or in bulk; and pauses of stages."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeGuard

import msgspec
from msgspec.structs import replace

from stateward.app.records import unknown_record
from stateward.app.submissions import clean_reason, priority_number, unused_priorities
from stateward.core.errors import (
    ConcurrentModification,
    InvalidRequest,
    InvalidTransition,
    StatewardError,
    UnknownName,
)
from stateward.core.machine import CANCEL_REQUESTED, RETRY_REQUESTED
from stateward.core.model import (
    PERSON,
    SEQUENCER,
    Event,
    Fields,
    Ignored,
    Micros,
    Record,
    clean_text,
    event_about,
)
from stateward.core.query import Query
from stateward.engine.coordinator import Coordinator
from stateward.engine.registry import MachineRegistry
from stateward.settings import Settings
from stateward.storage.audit import PAUSED, PRIORITY_SET, RESUMED, AuditEntry, AuditLog
from stateward.storage.pauses import Pause
from stateward.storage.store import Store

BULK_BATCH = 500  # records per transaction of a bulk action: others write in between
EXAMPLES_MAX = 5
ACTOR_CHARS_SHOWN = 80

Verb = Literal["retry", "cancel"]
BulkAction = Literal["retry", "cancel", "priority"]
_EVENT_OF: dict[Verb, str] = {"retry": RETRY_REQUESTED, "cancel": CANCEL_REQUESTED}


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A person's request about one record. `machines` are those that the person may see; none means all."""

    verb: Verb
    record_id: str
    actor: str
    reason: str | None
    version: int | None = None
    machines: tuple[str, ...] = ()
    trace: str | None = None


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """What a bulk action did, or would do. The examples are ids: of what is done, of what is refused.

    `note`: that a priority does not count for some of them.
    """

    matched: int
    applied: int
    refused: dict[str, int]
    is_dry_run: bool
    by_status: dict[str, int]
    examples: tuple[str, ...] = ()
    refused_examples: tuple[str, ...] = ()
    note: str = ""


class Actions:
    """Hands requests of people to the coordinator. Every answer is the record as it then is, or why not."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store,
        coordinator: Coordinator,
        registry: MachineRegistry,
        audit: AuditLog,
        clock: Callable[[], Micros],
    ) -> None:
        self._settings = settings
        self._store = store
        self._coordinator = coordinator
        self._registry = registry
        self._audit = audit
        self._clock = clock

    # Retry and cancel

    def act(
        self,
        verb: Verb,
        record_id: str,
        *,
        actor: str,
        reason: str | None,
        version: int | None = None,
    ) -> Record:
        """Retry or cancel one record; refused where its machine has no such transition."""
        command = Command(
            verb=verb, record_id=record_id, actor=actor, reason=reason, version=version
        )
        (answer,) = self.act_each([command])
        if isinstance(answer, StatewardError):
            raise answer
        return answer

    def act_each(self, commands: Sequence[Command]) -> list[Record | StatewardError]:
        """Retry or cancel records, each for itself, all in one transaction; for each, its answer."""
        with self._store.transaction():
            found = self._store.load([each.record_id for each in commands], lock=True)
            answers = [_check(each, found.get(each.record_id)) for each in commands]
            sound = [pair for pair in zip(commands, answers, strict=True) if _is_sound(pair[1])]
            made = self._answers_to(
                [
                    self._event(
                        _EVENT_OF[each.verb],
                        found[each.record_id],
                        actor=each.actor,
                        reason=each.reason,
                        trace=each.trace,
                    )
                    for each, _ in sound
                ],
                [each.verb for each, _ in sound],
            )
            return [next(made) if _is_sound(each) else each for each in answers]

    def _answers_to(
        self, events: Sequence[Event], asked: Sequence[str]
    ) -> Iterator[Record | StatewardError]:
        """What became of each event: the record as it then is, or why what was `asked` could not be."""
        decisions = self._coordinator.handle(events) if events else []
        for event, what, decision in zip(events, asked, decisions, strict=True):
            yield (
                self._ignored_error(event, what, decision)
                if isinstance(decision, Ignored)
                else decision.change.record
            )

    def _event(
        self,
        type_: str,
        record: Record,
        *,
        actor: str,
        reason: str | None,
        trace: str | None = None,
    ) -> Event:
        reason = clean_reason(self._settings, reason)
        return event_about(record, type_, at=self._clock(), actor=actor, reason=reason, trace=trace)

    def _ignored_error(self, event: Event, asked: str, ignored: Ignored) -> StatewardError:
        # Read again: an earlier event of the same batch may have moved it.
        record = self._store.load([event.record_id])[event.record_id]
        if ignored.reason in ("stale", "ahead", "duplicate"):
            return ConcurrentModification(record.id, expected=record.version)
        if ignored.reason == "not_allowed":
            return _not_a_person(event.actor)
        allowed = self._registry.of(record).allowed_from(record.status)
        return InvalidTransition(record.id, expected=asked, found=record.status, allowed=allowed)

    # Moves that a machine declares

    def move(
        self,
        event: str,
        record_ids: Sequence[str],
        *,
        actor: str,
        reason: str | None,
        machines: Sequence[str] = (),
        version: int | None = None,
    ) -> list[Record | StatewardError]:
        """Make a move of the machine (an entry of its `moves`), each record for itself; for each, its answer.

        With `version`, only of those that still have it; `machines` are those that the person may see, none means all.
        """
        with self._store.transaction():
            found = self._store.load(record_ids, lock=True)
            answers = [
                self._declares(_addressed_record(each, found.get(each), machines, version), event)
                for each in record_ids
            ]
            events = [
                self._event(event, each, actor=actor, reason=reason)
                for each in filter(_is_sound, answers)
            ]
            made = self._answers_to(events, [event] * len(events))
            return [next(made) if _is_sound(each) else each for each in answers]

    def _declares(self, found: Record | StatewardError, event: str) -> Record | StatewardError:
        if not _is_sound(found):
            return found
        moves = {each.on for each in self._registry.of(found).moves}
        return found if event in moves else UnknownName("move", event, sorted(moves))

    # Priority

    def set_priority(
        self,
        record_ids: Sequence[str],
        priority: int | str,
        *,
        actor: str,
        reason: str | None,
        machines: Sequence[str] = (),
        version: int | None = None,
    ) -> list[Record | StatewardError]:
        """Change the priority of records that have not ended, each for itself; for each, its answer.

        With `version`, only of those that still have it.
        A status does not change by this, so it is no transition; who did it and why is in the audit log.
        """
        _check_actor(actor)
        with self._store.transaction():
            found = self._store.load(record_ids, lock=True)
            answers = [
                self._movable(_addressed_record(each, found.get(each), machines, version))
                for each in record_ids
            ]
            fit = [each for each in answers if isinstance(each, Record)]
            numbers = {
                each.machine: priority_number(self._settings.machine(each.machine), priority)
                for each in fit
            }
            placed: dict[str, Record | StatewardError] = {}
            for number in set(numbers.values()):
                of = [each for each in fit if numbers[each.machine] == number]
                for before, after in zip(
                    of, self._coordinator.set_priority(of, number), strict=True
                ):
                    placed[before.id] = after or ConcurrentModification(
                        before.id, expected=before.version
                    )
            self._audit.add(
                [
                    AuditEntry(
                        at=self._clock(),
                        actor=actor,
                        verb=PRIORITY_SET,
                        record_id=each.id,
                        detail={"from": each.priority, "to": numbers[each.machine]},
                        reason=clean_reason(self._settings, reason),
                    )
                    for each in fit
                    if isinstance(placed[each.id], Record)
                ]
            )
            return [placed[each.id] if isinstance(each, Record) else each for each in answers]

    def _movable(self, found: Record | StatewardError) -> Record | StatewardError:
        if _is_sound(found) and self._registry.of(found).kind[found.status] == "terminal":
            return InvalidTransition(found.id, expected="priority", found=found.status, allowed=[])
        return found

    # In bulk

    def bulk(
        self,
        action: BulkAction,
        *,
        ids: Sequence[str] = (),
        query: Query | None = None,
        priority: int | str | None = None,
        actor: str,
        reason: str | None,
        is_dry_run: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Bulk:
        """Do something with everything that is named or matches. An empty query is refused, never 'all'."""
        if not ids and (query is None or query.is_empty):
            raise InvalidRequest("name records or a query; an empty query would mean every record")
        if action == "priority" and priority is None:
            raise InvalidRequest("the action priority needs a priority")
        counter = _BulkCounter()
        for batch in self._batches(ids, query):
            if action == "priority":
                refusals = self._reprioritise(batch, priority or 0, actor, reason, is_dry_run)
            else:
                refusals = self._act_on(batch, action, actor, reason, is_dry_run)
            for record, refusal in zip(batch, refusals, strict=True):
                counter.note(record, refusal)
            progress(counter.matched)
        result = counter.result(is_dry_run=is_dry_run)
        if action != "priority":
            return result
        return replace(result, note=unused_priorities(self._settings, counter.machines))

    def advance_to_new_stages(
        self,
        query: Query,
        *,
        actor: str,
        reason: str | None,
        is_dry_run: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Bulk:
        """Let all that match and had ended go on with the stages that their machines have grown since."""
        if query.is_empty:
            raise InvalidRequest("name a query; an empty one would mean every record")
        counter = _BulkCounter()
        for batch in self._batches((), query):
            decisions = self._coordinator.advance_to_new_stages(
                batch, actor=actor, is_dry_run=is_dry_run
            )
            taken = [
                record
                for record, each in zip(batch, decisions, strict=True)
                if not isinstance(each, Ignored)
            ]
            for record, each in zip(batch, decisions, strict=True):
                counter.note(record, each.reason if isinstance(each, Ignored) else None)
            if taken and not is_dry_run:
                self._audit.add([self._advance_entry(each, actor, reason) for each in taken])
            progress(counter.matched)
        return counter.result(is_dry_run=is_dry_run)

    def _advance_entry(self, record: Record, actor: str, reason: str | None) -> AuditEntry:
        return AuditEntry(
            at=self._clock(),
            actor=actor,
            verb="advance",
            record_id=record.id,
            detail={"from": record.status},
            reason=clean_reason(self._settings, reason),
        )

    def _reprioritise(
        self,
        batch: Sequence[Record],
        priority: int | str,
        actor: str,
        reason: str | None,
        is_dry_run: bool,
    ) -> list[str | None]:
        answers = (
            [self._movable(each) for each in batch]
            if is_dry_run
            else self.set_priority(
                [each.id for each in batch], priority, actor=actor, reason=reason
            )
        )
        return [
            None
            if isinstance(each, Record)
            else "stale"
            if isinstance(each, ConcurrentModification)
            else "impossible"
            for each in answers
        ]

    def _act_on(
        self,
        batch: Sequence[Record],
        verb: Verb,
        actor: str,
        reason: str | None,
        is_dry_run: bool,
    ) -> list[str | None]:
        if is_dry_run:
            moves = [self._registry.of(each).rules for each in batch]
            return [
                None if (each.status, _EVENT_OF[verb]) in rules else "impossible"
                for each, rules in zip(batch, moves, strict=True)
            ]
        decisions = self._coordinator.handle(
            [self._event(_EVENT_OF[verb], each, actor=actor, reason=reason) for each in batch]
        )
        return [each.reason if isinstance(each, Ignored) else None for each in decisions]

    def _batches(self, ids: Sequence[str], query: Query | None) -> Iterator[list[Record]]:
        for start in range(0, len(ids), BULK_BATCH):
            named = dict.fromkeys(ids[start : start + BULK_BATCH])
            found = self._store.load(named)
            for record_id in named:
                if record_id not in found:
                    raise unknown_record(record_id)
            yield [found[record_id] for record_id in named]
        after, names = "", self._registry.query_names
        while query is not None and not ids:
            batch = self._store.queries.find(query, names=names, after=after, limit=BULK_BATCH)
            if not batch:
                return
            yield batch
            after = batch[-1].id

    # Pauses

    def pause(self, machine: str, stage: str, *, actor: str, reason: str | None) -> None:
        """Stop dispatching a stage, or with '' all stages, of a machine."""
        _check_actor(actor)
        self._check_stage(machine, stage)
        pause = Pause(machine=machine, stage=stage, at=self._clock(), actor=actor, reason=reason)
        with self._store.transaction():
            self._store.pauses.add(pause)
            self._note_pause(PAUSED, machine, stage, actor=actor, reason=reason)

    def resume(self, machine: str, stage: str, *, actor: str) -> bool:
        """Dispatch a stage again; whether it was paused."""
        _check_actor(actor)
        self._check_stage(machine, stage)
        with self._store.transaction():
            was_paused = self._store.pauses.lift(machine, stage, now=self._clock())
            if was_paused:
                self._note_pause(RESUMED, machine, stage, actor=actor, reason=None)
        return was_paused

    def _note_pause(
        self, verb: str, machine: str, stage: str, *, actor: str, reason: str | None
    ) -> None:
        detail: Fields = {"machine": machine, **({"stage": stage} if stage else {})}
        entry = AuditEntry(at=self._clock(), actor=actor, verb=verb, detail=detail, reason=reason)
        self._audit.add([entry])

    def _check_stage(self, machine: str, stage: str) -> None:
        own = self._registry.named(machine)
        if stage and stage not in own.stage:
            raise UnknownName("stage", stage, own.stage)


class _BulkCounter:
    """Counts what a bulk action met."""

    def __init__(self) -> None:
        self.matched = 0
        self._applied = 0
        self._refused: dict[str, int] = {}
        self._by_status: dict[str, int] = {}
        self._examples: list[str] = []
        self._refused_examples: list[str] = []
        self.machines: set[str] = set()

    def note(self, record: Record, refusal: str | None) -> None:
        self.matched += 1
        self.machines.add(record.machine)
        self._by_status[record.status] = self._by_status.get(record.status, 0) + 1
        if refusal is None:
            self._applied += 1
        else:
            self._refused[refusal] = self._refused.get(refusal, 0) + 1
        examples = self._examples if refusal is None else self._refused_examples
        if len(examples) < EXAMPLES_MAX:
            examples.append(record.id)

    def result(self, *, is_dry_run: bool) -> Bulk:
        return Bulk(
            matched=self.matched,
            applied=self._applied,
            refused=self._refused,
            by_status=self._by_status,
            is_dry_run=is_dry_run,
            examples=tuple(self._examples),
            refused_examples=tuple(self._refused_examples),
        )


def _is_sound(answer: Record | StatewardError) -> TypeGuard[Record]:
    return isinstance(answer, Record)


def _addressed_record(
    record_id: str, record: Record | None, machines: Sequence[str], version: int | None
) -> Record | StatewardError:
    """The record that a request is about, if the person may see it and it has this version; none means any."""
    if record is None or (machines and record.machine not in machines):
        return unknown_record(record_id)
    if version not in (None, record.version):
        return ConcurrentModification(record_id, expected=version)
    return record


def _is_requester(actor: str) -> bool:
    """Whether a person or an external driver is named; the kind alone names none."""
    return any(
        actor.startswith(kind) and actor[len(kind) :].strip() for kind in (PERSON, SEQUENCER)
    )


def _check_actor(actor: str) -> None:
    if not _is_requester(actor):
        raise _not_a_person(actor)


def _not_a_person(actor: str) -> InvalidRequest:
    shown = clean_text(actor, chars_max=ACTOR_CHARS_SHOWN)
    return InvalidRequest(
        f"the actor {shown!r} may not request this: name a person, as person:anna"
    )


def _check(command: Command, record: Record | None) -> Record | StatewardError:
    """The record that a request is about, or why it cannot even be considered."""
    # Before the state of the record is looked at, which is not what is wrong.
    if not _is_requester(command.actor):
        return _not_a_person(command.actor)
    return _addressed_record(command.record_id, record, command.machines, command.version)
