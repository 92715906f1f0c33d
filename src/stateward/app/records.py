"""Queries: records, their histories, items and logs, why they wait, how many there are. Writes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from stateward import schemas
from stateward.app.views import record_view, transition_view
from stateward.core.errors import ConcurrentModification, UnknownName
from stateward.core.files import SavedFile
from stateward.core.machine import Machine, Stage
from stateward.core.model import (
    SECOND,
    Fields,
    Micros,
    Record,
    Transition,
    clean_text,
    plain_actor,
)
from stateward.core.query import Query, Term, check_names, parse_query
from stateward.core.retry import retry_after_s
from stateward.core.view import Explanation, WaitContext, explain, flag_codes, is_at_rest
from stateward.engine.registry import MachineRegistry
from stateward.engine.system import is_alive
from stateward.storage.database import Wakeup
from stateward.storage.outputs import EDITION_OF, AttemptResult, Outputs
from stateward.storage.search import NEWEST, Order
from stateward.storage.store import Store
from stateward.transport import RELAY, Bus

if TYPE_CHECKING:
    from stateward.engine.flags import FlagDecision

FLAG_ADVICE = (
    "look at it and decide: stateward flag confirm {id}, or reject it with a reason; what it does not say itself, "
    "tell it by stateward reparse {id} (--help lists the hints)"
)
WAIT_STEP_S = 5.0  # a lost wake-up delays a waiting caller by no more than this
ID_CHARS_SHOWN = 80
NAME_CHARS_SHOWN = 80


class Records:
    """What can be asked about records. Times are microseconds, records are the engine's."""

    def __init__(
        self,
        *,
        store: Store,
        outputs: Outputs,
        bus: Bus,
        registry: MachineRegistry,
        new_wakeup: Callable[[], Wakeup],
        flag_decisions: Callable[[Iterable[Record]], Mapping[str, FlagDecision]],
        successors: Callable[[Record], list[str]],
        has_runner: Callable[[str], bool],
        is_priority_used: Callable[[str], bool],
        engine_stages: Collection[tuple[str, str]] = (),
        clock: Callable[[], Micros],
    ) -> None:
        self._store = store
        self._outputs = outputs
        self._bus = bus
        self._registry = registry
        self._new_wakeup = new_wakeup
        self._flag_decisions = flag_decisions
        self._successors = successors
        self._has_runner = has_runner
        self._is_priority_used = is_priority_used
        self._engine_stages = engine_stages
        self._clock = clock
        self._wakeups: list[Wakeup] = []

    # One record

    def get(self, record_id: str) -> Record:
        """One record; `UnknownName` if there is none."""
        found = self._store.get(record_id)
        if found is None:
            raise unknown_record(record_id)
        return found

    def lock(self, record: Record) -> None:
        """Let no other transaction change a record until this one ends; refused if one has changed it already."""
        found = self._store.load([record.id], lock=True).get(record.id)
        if found is None or found.version != record.version:
            raise ConcurrentModification(record.id, expected=record.version)

    def view(self, record: Record, *, files: Sequence[SavedFile] | None = None) -> schemas.Record:
        """A record as outsiders see it; `files` are its derived files, if they are known already."""
        saved = self.files(record) if files is None else files
        decision = self._decision(record)
        return record_view(
            self._registry.of(record),
            record,
            saved,
            decision,
            is_priority_used=self._is_priority_used(record.machine),
        )

    def with_successors(self, shown: schemas.Record, record: Record) -> schemas.Record:
        """The view of a record with the records that process its document again."""
        return replace(shown, replaced_by=self._successors(record))

    def _decision(self, record: Record) -> FlagDecision | None:
        """What was decided about a flagged record; for the others, which are most, nothing is looked up."""
        if not flag_codes(record):
            return None
        return self._flag_decisions([record]).get(record.id)

    def views(self, records: Sequence[Record]) -> list[schemas.Record]:
        """Several records as outsiders see them; their files are looked up together."""
        files = self.files_of(records)
        return [self.view(each, files=files.get(each.id, [])) for each in records]

    def files(self, record: Record) -> list[SavedFile]:
        """The derived files of a record: of the attempts that count, stage by stage."""
        return self.files_of([record]).get(record.id, [])

    def file(self, record: Record, path: str) -> SavedFile:
        """One of them, by its path `stage/name`; raises `UnknownName`."""
        saved = self.files(record)
        for each in saved:
            if each.path == path:
                return each
        shown = clean_text(path, chars_max=NAME_CHARS_SHOWN)
        raise UnknownName("file", shown, [each.path for each in saved])

    def files_of(self, records: Sequence[Record]) -> Mapping[str, list[SavedFile]]:
        """The derived files of several records, by id; those without any are left out."""
        made = {each.id: each.outputs for each in records if each.outputs}
        return self._outputs.newest_files_of(made) if made else {}

    def history(self, record_id: str) -> list[Transition]:
        """Every transition of a record, oldest first."""
        self.get(record_id)
        return self._store.history(record_id)

    def transition_view(self, transition: Transition) -> schemas.Transition:
        """A transition as outsiders see it, with a sentence for people."""
        machine = self._registry.exactly(transition.machine, transition.machine_version)
        return transition_view(machine, transition)

    def attempts(self, record_id: str) -> list[AttemptResult]:
        """Every attempt at a stage of a record that ended, with its log; then its editions."""
        self.get(record_id)
        return [*self._outputs.attempts(record_id), *self._outputs.editions(record_id)]

    def items(
        self,
        record_id: str,
        stage: str | None = None,
        *,
        kind: str | None = None,
        edition: int | None = None,
    ) -> Iterator[Fields]:
        """The items of a stage or of a kind; by default of the last stage that is done, in their newest edition."""
        found = self.find_items(self.get(record_id), stage=stage, kind=kind, edition=edition)
        return iter(()) if found is None else self._outputs.items(record_id, found[1])

    def find_items(
        self,
        record: Record,
        *,
        stage: str | None = None,
        kind: str | None = None,
        edition: int | None = None,
    ) -> tuple[str, int] | None:
        """The stage that made these items, and the version that they are stored under; None if none is done."""
        machine = self._registry.of(record)
        kinds = {each.name: each.produces for each in machine.stages if each.produces is not None}
        known = [*machine.stage, *(review.name for review in machine.reviews)]
        if stage is not None and stage not in known:
            raise UnknownName("stage", clean_text(stage, chars_max=ID_CHARS_SHOWN), known)
        if kind is not None and kind not in kinds.values():
            shown = clean_text(kind, chars_max=ID_CHARS_SHOWN)
            raise UnknownName("kind of items", shown, set(kinds.values()))
        done = {
            version: name
            for name, version in record.outputs.items()
            if stage in (None, name) and kind in (None, kinds.get(name))
        }
        if not done:
            return None
        last = done[max(done)]
        return last, edition_version(self._outputs, record, last, edition)

    def about(self, record_id: str, stage: str) -> Fields:
        """What a stage said about its items as a whole, in the newest edition; empty if it did not."""
        record = self.get(record_id)
        if stage not in record.outputs:
            return {}
        return self._outputs.about(record.id, edition_version(self._outputs, record, stage))

    def is_at_rest(self, record: Record) -> bool:
        """Whether nothing will happen to a record until a person acts."""
        return is_at_rest(self._registry.of(record), record)

    def wait(self, record_id: str, *, timeout_s: float) -> Record:
        """Sleep until a record has ended or rests, at most so long; the record as it then is."""
        deadline = time.monotonic() + timeout_s
        with self._rests() as wakeup:
            while True:
                wakeup.clear()  # before the look: what comes between look and sleep then wakes us at once
                record = self.get(record_id)
                left = deadline - time.monotonic()
                if self.is_at_rest(record) or left <= 0:
                    return record
                wakeup.wait(min(left, WAIT_STEP_S))

    @contextmanager
    def _rests(self) -> Iterator[Wakeup]:
        """A wakeup for records that come to rest, reused by the next caller: on PostgreSQL it is a connection."""
        try:
            wakeup = self._wakeups.pop()  # atomic: two threads never get the same one
        except IndexError:
            wakeup = self._new_wakeup()
        try:
            yield wakeup
        finally:
            self._wakeups.append(wakeup)

    # Many records

    def query(self, text: str, *, now: Micros | None = None) -> Query:
        """A query in the grammar of console, API and command line; names that are not declared are refused."""
        query = parse_query(text, now=self._clock() if now is None else now)
        words = self._registry.query_names
        stages = {stage for stages in words.running.values() for stage in stages}
        check_names(query, kinds=words.kinds, stages=stages)
        return query

    def find(
        self, query: Query, *, after: str = "", limit: int = 100, order: Order = NEWEST
    ) -> list[Record]:
        """Records that match, newest first or in another order."""
        names = self._registry.query_names
        return self._store.queries.find(query, names=names, after=after, limit=limit, order=order)

    def count(self, query: Query) -> dict[tuple[str, str], int]:
        """How many records match, by machine and status, in the order in which records pass the statuses."""
        found = self._store.queries.count(query, names=self._registry.query_names)
        orders = {machine.name: machine.order for machine in self._registry.newest.values()}

        def place(pair: tuple[str, str]) -> tuple[str, int, str]:
            machine, status = pair
            order = orders.get(machine, {})
            return machine, order.get(status, len(order)), status  # of an older version: last

        return {pair: found[pair] for pair in sorted(found, key=place)}

    def count_cancelled(self, query: Query) -> dict[tuple[str, str], int]:
        """How many of these a person stopped, by machine and status: they did not fail."""
        stopped = Term(key="is", values=("cancelled",))
        return self.count(replace(query, terms=(*query.terms, stopped)))

    # Why a record waits

    def explain(self, record_id: str) -> Explanation:
        """Why a record is where it is."""
        record = self.get(record_id)
        machine = self._registry.of(record)
        if record.waiting is None:
            around = self._under_way(record, machine)
        else:
            around = self._queue(record, machine.stage[record.waiting])
        return self._with_flags(record, self._with_reason(record, explain(machine, record, around)))

    def _under_way(self, record: Record, machine: Machine) -> WaitContext:
        """Who has a record that waits for nothing of this installation."""
        alive = {each.id: each for each in self._bus.workers() if is_alive(each)}
        is_sent = record.worker is not None and record.worker.startswith(RELAY)
        holder = self._bus.holder(record.id, record.version) if is_sent else None
        worker = holder.worker if holder is not None and holder.worker else record.worker
        return WaitContext(
            now=self._clock(),
            is_worker_lost=worker is not None and worker not in alive,
            is_sent=is_sent,
            holder="" if holder is None else holder.worker,
            holder_host=alive[worker].host if is_sent and worker in alive else "",
            held_since=0 if holder is None else holder.since,
            losses=self._bus.losses(record.id, record.version),
            asked_until=self._asked_until(record, machine),
        )

    def _asked_until(self, record: Record, machine: Machine) -> Micros | None:
        """Until when what failed was asked to wait, as its last transition says."""
        if machine.kind[record.status] != "failed" or record.due_at is None:
            return None
        wait_s = sum(retry_after_s(each.metadata) for each in self._store.history(record.id)[-1:])
        return record.entered_at + round(wait_s * SECOND) if wait_s else None

    def _with_reason(self, record: Record, why: Explanation) -> Explanation:
        """The explanation of a record that ended, with the reason that was given for its end, if there is one."""
        last = self._store.history(record.id)[-1:] if why.code == "ended" else []
        reason = last[0].metadata.get("reason") if last else None
        return why if reason is None else replace(why, sentence=f"{why.sentence}; reason: {reason}")

    def _with_flags(self, record: Record, why: Explanation) -> Explanation:
        """An explanation that says, too, that the result is flagged and who decided about it."""
        codes = flag_codes(record)
        if not codes:
            return why
        decision = self._decision(record)
        sentence = (
            f"{why.sentence}; its result is flagged as wrong or incomplete: {', '.join(codes)}"
        )
        if decision is not None:
            return replace(
                why, sentence=f"{sentence} ({decision.action} by {plain_actor(decision.actor)})"
            )
        return replace(
            why, sentence=sentence, advice=why.advice or FLAG_ADVICE.format(id=record.id)
        )

    def _queue(self, record: Record, stage: Stage) -> WaitContext:
        """What a record that waits for a stage waits behind: pauses, workers and other records."""
        now = self._clock()
        pauses = [
            each
            for each in self._store.pauses.all()
            if each.machine == record.machine and each.stage in ("", stage.name)
        ]
        pause = pauses[0] if pauses else None
        able = [
            each
            for each in self._bus.workers()
            if stage.runner in each.runners
            and not (each.is_draining or each.via)  # behind a transport: its relay counts
            and is_alive(each)
        ]
        load = self._bus.load_by_worker()
        is_inline = stage.isolation == "inline"
        free = sum(
            max(
                0,
                (each.inline_slots if is_inline else each.slots)
                - load.get((each.id, is_inline), 0),
            )
            for each in able
        )
        return WaitContext(
            now=now,
            paused_by=None if pause is None else pause.actor,
            paused_stage="" if pause is None else pause.stage,
            pause_reason=None if pause is None else pause.reason,
            workers_able=len(able),
            workers_free=free,
            is_runner_installed=self._has_runner(stage.runner),
            is_engine_stage=(record.machine, stage.name) in self._engine_stages,
            ahead=self._store.count_ahead(record),
            is_coordinated=now - record.entered_at < WAIT_STEP_S * SECOND,
        )

    def has_worker(self) -> bool:
        """Whether a worker is alive that accepts work, here or on another machine."""
        return any(
            is_alive(each) and not (each.is_draining or each.is_relay)
            for each in self._bus.workers()
        )


def unknown_record(record_id: str) -> UnknownName:
    """The error for a record that does not exist, or that the caller may not see."""
    return UnknownName("record", clean_text(record_id, chars_max=ID_CHARS_SHOWN))


def edition_version(outputs: Outputs, record: Record, stage: str, number: int | None = None) -> int:
    """The version under which an edition of a stage's items is stored; by default the newest."""
    made = record.outputs[stage]
    later = [
        each.version
        for each in outputs.editions(record.id)
        if each.stage == stage and each.facts.get(EDITION_OF) == made
    ]
    versions = [made, *later]
    if number is None:
        return versions[-1]
    if not 0 <= number < len(versions):
        raise UnknownName("edition", str(number), map(str, range(len(versions))))
    return versions[number]
