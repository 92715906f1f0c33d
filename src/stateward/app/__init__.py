"""The composition root: the only place that picks engines, clocks and identities and starts processes.

Doors (command line, HTTP, web) call an `App` and nothing below it. The roles of a process (coordinator, worker)
are driven by a `Node`, one loop in one thread that sleeps until something happens.
"""

import os
import signal
import socket
import time
from base64 import b32hexencode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from secrets import token_bytes
from typing import Literal, Self

import msgspec
from msgspec.structs import replace

from stateward import __version__, telemetry
from stateward.app.domains import Domains
from stateward.blobs import Artifact, Folder, pieces_of
from stateward.core.errors import (
    ConcurrentModification,
    DeclarationError,
    Fault,
    InvalidRequest,
    InvalidTransition,
    StatewardError,
    UnknownName,
)
from stateward.core.failpoints import CrashAt, Point, install
from stateward.core.machine import (
    CANCEL_REQUESTED,
    RETRY_REQUESTED,
    Machine,
    Stage,
)
from stateward.core.model import (
    PRIORITY_MAX,
    PRIORITY_MIN,
    PRIORITY_NORMAL,
    SECOND,
    TRACE,
    Event,
    Fields,
    Ignored,
    Micros,
    Record,
    Transition,
    clean_text,
    event_id,
)
from stateward.core.query import Query, check_names, parse_query
from stateward.core.view import (
    Explanation,
    WaitContext,
    explain,
    sentence,
    view,
)
from stateward.engine.coordinator import (
    Coordinator,
    CoordinatorConfig,
    MachineRegistry,
    Submission,
    Submitted,
    register,
)
from stateward.engine.external_driver import ExternalDriver
from stateward.engine.history import (
    Progress,
    Verdict,
    export,
    verify,
)
from stateward.engine.mirror import Comparison, Mirror, compare
from stateward.engine.node import Node, Roles
from stateward.engine.reviews import Reviews
from stateward.engine.scheduler import Scheduler
from stateward.engine.system import (
    host_name,
    is_alive,
    own_scratch,
    person,
    process_life,
    steady_clock,
)
from stateward.extras import missing_extra
from stateward.ledger import Keeping, read_signer
from stateward.ledger.maintenance import ORIGIN
from stateward.ledger.schedule import time_of_day
from stateward.monitoring.dashboard import Dashboard
from stateward.monitoring.gauges import Monitor
from stateward.notifications import NotificationService, Notifier
from stateward.notifications.signing import KEY_BYTES, secret_of
from stateward.pipelines import BUNDLED
from stateward.pipelines import load as load_pipelines
from stateward.settings import LedgerSettings, Settings
from stateward.storage.audit import AuditEntry, AuditLog
from stateward.storage.database import TOPIC_CHANGES, Database, Wakeup
from stateward.storage.idempotency import IdempotencyKeys
from stateward.storage.keys import (
    ApiKey,
    Keys,
    check_name,
    check_role,
    key_text,
)
from stateward.storage.outputs import AttemptResult, Output, Outputs
from stateward.storage.sessions import Sessions
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.storage.store import ErrorGroup, Pause, Store
from stateward.telemetry.tracing import (
    SPAN_BYTES,
    TRACE_BYTES,
    Spans,
    new_traceparent,
    trace_id,
)
from stateward.transport import Bus
from stateward.workers.pipeline import MAIN, Pipeline
from stateward.workers.sdk import (
    Failed,
    Job,
    Limits,
    Result,
    registered,
    run_runner,
)
from stateward.workers.worker import (
    Pairs,
    StageSavedValues,
    Worker,
    WorkerConfig,
    WorkerIdentity,
    options_of,
)

RUNNER_ROLE = "stateward_runner"
BULK_BATCH = 500
EXAMPLES_MAX = 5
EPOCH_OF_IDS_NS = 1_577_836_800 * 10**9  # 2020-01-01: six bytes of ticks reach to 2156
ID_TICKS_A_SECOND = 2**16
WAIT_STEP_S = 5.0
EDITION_OF = "edition_of"  # the fact of an edition: the version whose items it stands for
SWEEP_AGE_S = 86_400.0

Verb = Literal["retry", "cancel"]
_EVENT_OF: dict[Verb, str] = {"retry": RETRY_REQUESTED, "cancel": CANCEL_REQUESTED}


def new_record_id(prefix: str) -> str:
    """An id that nobody can guess (128 random bits) and that sorts by the time it was made.

    So records that were opened together lie together in every index, and are moved on a page at a time.
    """
    ticks = max(0, time.time_ns() - EPOCH_OF_IDS_NS) * ID_TICKS_A_SECOND // 10**9 % 2**48
    raw = b32hexencode(ticks.to_bytes(6, "big") + token_bytes(16))
    return f"{prefix}_{raw.rstrip(b'=').decode().lower()}"


def open_database(settings: Settings, *, role: str | None = None) -> Database:
    """The engine that the settings name."""
    url = settings.store.url
    if url.startswith("memory:"):
        return SqliteDatabase(MEMORY)
    if settings.store_path is not None:
        return SqliteDatabase(settings.store_path)
    try:
        from stateward.storage.postgres import PostgresDatabase
    except ModuleNotFoundError as error:
        raise (missing_extra(error) or error) from error

    # Who is stopped inside a unit holds its rows no longer than a silent worker holds its work.
    return PostgresDatabase(url, role=role, unit_idle_s=settings.worker.lease_seconds)


def load_settings(
    config: Path | None = None,
    *,
    profile: str | None = None,
    data: str | None = None,
    server: str | None = None,
) -> Settings:
    """The settings of a command: its options lie above this process's environment."""
    said = {"STATEWARD_DATA": data, "STATEWARD_SERVER": server}
    own = {name: value for name, value in said.items() if value is not None}
    return Settings.load(config, profile=profile, environ={**os.environ, **own})


def declared_machines(settings: Settings) -> list[Machine]:
    """The machines that these settings load, with their waits and retries; no database is opened."""
    return _tuned(settings, load_pipelines([*BUNDLED, *settings.pipelines]))


def read_machines(name: str) -> tuple[list[Machine], list[str]]:
    """The machines of one file or module, and the runners that they name but nobody has loaded."""
    machines = load_pipelines([name])
    named = {stage.runner for machine in machines for stage in machine.stages}
    return machines, sorted(named - registered().keys())


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """What a bulk action did, or would do. The examples are ids: of what is done, of what is refused."""

    matched: int
    applied: int
    refused: dict[str, int]
    is_dry_run: bool
    by_status: dict[str, int]
    examples: tuple[str, ...] = ()
    refused_examples: tuple[str, ...] = ()


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A person's request about one record. `machines` are those that the person may see; none means all."""

    verb: Verb
    record_id: str
    actor: str
    reason: str | None
    version: int | None = None
    machines: tuple[str, ...] = ()
    trace: str | None = None


class App:
    """A Stateward in this process: everything that a door can ask for.

    With `is_runner` it can only work: on PostgreSQL its connection then has the runners' role, which sees no
    record, and a login that was granted nothing else is enough.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        machines: Sequence[Machine] = (),
        pipelines: Sequence[Pipeline] = (),
        database: Database | None = None,
        clock: Callable[[], Micros] = steady_clock,
        new_id: Callable[[str], str] = new_record_id,
        is_runner: bool = False,
    ) -> None:
        if settings.crash_at is not None:
            install(_suicide(settings.crash_at))
        self.settings = settings
        self.clock = clock
        self._new_id = new_id
        self._imports = [*BUNDLED, *settings.pipelines]
        given = [*load_pipelines(self._imports), *machines, *(each.machine for each in pipelines)]
        self._imports += [name for each in pipelines for name in each.modules if name != MAIN]
        self._machines = _tuned(settings, given)
        self.database = database or open_database(settings, role=RUNNER_ROLE if is_runner else None)
        self.store = Store(self.database)
        self.outputs = Outputs(self.database)
        self.bus = Bus(self.database)
        self.keys = Keys(self.database)
        self.requests = IdempotencyKeys(self.database)
        self.sessions = Sessions(self.database)
        self.audit = AuditLog(self.database)
        self.artifacts = Folder(settings.data_path.absolute() / "artifacts")
        self._is_runner = is_runner
        self._log = telemetry.log("coordinator")
        self._levels: dict[str, str] = {}
        self._wakeups: list[Wakeup] = []
        if not is_runner:
            self._register()

    def _register(self) -> None:
        """Put the machines into force at once: a wrong one is refused before anything is done."""
        try:
            self.registry  # noqa: B018 - made on first use
        except BaseException:
            self.database.close()
            raise

    @cached_property
    def registry(self) -> MachineRegistry:
        """The machines in force."""
        return register(self.store, self._machines, now=self.clock())

    @cached_property
    def coordinator(self) -> Coordinator:
        """The sole writer of status."""
        return Coordinator(
            store=self.store,
            bus=self.bus,
            registry=self.registry,
            clock=self.clock,
            new_id=self._new_id,
            sleep=time.sleep,
            is_alive=is_alive,
            on_transitions=self._log_transitions,
            config=CoordinatorConfig(
                batch_max=self.settings.coordinator.batch_max,
                lease_s=self.settings.worker.lease_seconds,
                deliveries_max=self.settings.worker.deliveries_max,
                ageing_s=self._ageing(),
            ),
            ticks=time.monotonic,
        )

    @cached_property
    def scheduler(self) -> Scheduler:
        """Time as a source of events."""
        return Scheduler(
            store=self.store,
            outputs=self.outputs,
            bus=self.bus,
            machine_of=self.registry.of,
            clock=self.clock,
            batch_max=self.settings.coordinator.batch_max,
        )

    @cached_property
    def reviews(self) -> Reviews:
        """What waits for people, and their decisions."""
        own = self.settings.reviews
        return Reviews(
            database=self.database,
            store=self.store,
            outputs=self.outputs,
            coordinator=lambda: self.coordinator,
            registry=self.registry,
            clock=self.clock,
            claim_s=own.claim_seconds,
            self_approval=own.self_approval,
            has_keys=self.keys.any_exist,
            judge=self.domains.judge,
        )

    @cached_property
    def external_driver(self) -> ExternalDriver:
        """What whoever drives records from outside can ask for."""
        return ExternalDriver(
            store=self.store,
            outputs=self.outputs,
            coordinator=lambda: self.coordinator,
            registry=self.registry,
            clock=self.clock,
        )

    @cached_property
    def domains(self) -> Domains:
        """What the bundled pipelines want from this installation."""
        return Domains(self.settings, clock=self.clock)

    @classmethod
    def embedded(
        cls,
        data: str | Path,
        *,
        pipelines: Sequence[Pipeline] = (),
        machines: Sequence[Machine] = (),
    ) -> Self:
        """A Stateward in a folder of one's own, with the personal profile: for scripts and first steps."""
        settings = Settings.load(environ={"STATEWARD_DATA": str(data)})
        return cls(settings, machines=machines, pipelines=pipelines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def _ageing(self) -> dict[str, float]:
        return {
            machine.name: 0.0
            if self.settings.machine(machine.name).is_fifo
            else self.settings.coordinator.ageing_seconds
            for machine in self._machines
        }

    # Submitting

    def submit(
        self,
        source: Path | bytes | Iterable[bytes],
        *,
        machine: str = "upload",
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        priority: int | str = PRIORITY_NORMAL,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Submitted:
        """Keep a document and open its record; the same bytes again give the record there is."""
        own = self.registry.named(machine)
        number = self.priority(machine, priority)
        if isinstance(source, Path):
            name = name or source.name
            pieces: Iterable[bytes] = _pieces(source)
        else:
            pieces = (source,) if isinstance(source, bytes) else source
        artifact = self.artifacts.put(pieces, bytes_max=self.settings.limits.upload_bytes_max)
        (opened,) = self.open(
            [
                self.opening(
                    artifact,
                    machine=own.name,
                    name=name,
                    labels=labels,
                    priority=number,
                    actor=actor or person(),
                    reason=reason,
                )
            ]
        )
        return opened

    def opening(
        self,
        artifact: Artifact,
        *,
        machine: str,
        name: str | None,
        labels: Mapping[str, str] | None,
        priority: int | str,
        actor: str,
        reason: str | None,
        trace: str | None = None,
    ) -> Submission:
        """The request for the record of a document that is kept."""
        facts: Fields = {"size": artifact.size, **self._labels(labels or {})}
        if name:
            facts["filename"] = clean_text(name, chars_max=self.settings.limits.name_chars_max)
        return Submission(
            machine=self.registry.named(machine).name,
            actor=actor,
            artifact=artifact.sha256,
            dedupe=artifact.sha256,
            priority=self.priority(machine, priority),
            labels=facts,
            reason=self._reason(reason),
            trace=trace or self._own_trace(machine),
        )

    def _own_trace(self, machine: str) -> str | None:
        """A trace for a document that brought none, where its machine wants log lines to carry one."""
        is_wanted = self.settings.machine(machine).logging.trace_id
        return new_traceparent(token_bytes(TRACE_BYTES + SPAN_BYTES)) if is_wanted else None

    def open(self, openings: Sequence[Submission]) -> list[Submitted]:
        """Open records, all in one transaction."""
        return self.coordinator.submit(openings)

    def _labels(self, labels: Mapping[str, str]) -> Fields:
        chars_max = self.settings.limits.name_chars_max
        return {
            clean_text(key, chars_max=chars_max): clean_text(value, chars_max=chars_max)
            for key, value in labels.items()
        }

    def priority(self, machine: str, given: int | str) -> int:
        """A priority by number or by the name that the profile gives it."""
        names = self.settings.machine(machine).priorities
        if isinstance(given, str) and given in names:
            return names[given]
        text = str(given)
        if text.isascii() and text.isdecimal() and PRIORITY_MIN <= int(text) <= PRIORITY_MAX:
            return int(text)
        raise UnknownName("priority", text, [*names, f"{PRIORITY_MIN} to {PRIORITY_MAX}"])

    # Command

    def record(self, record_id: str) -> Record:
        """One record, or a clear refusal."""
        found = self.store.get(record_id)
        if found is None:
            raise UnknownName("record", clean_text(record_id, chars_max=80))
        return found

    def view(self, record: Record) -> Fields:
        """A record as outsiders see it."""
        return view(self.registry.of(record), record)

    def query(self, text: str, *, now: Micros | None = None) -> Query:
        """A query in the one grammar of page, API and command line; names that nobody declared are refused."""
        query = parse_query(text, now=self.clock() if now is None else now)
        words = self.registry.query_names
        stages = {stage for stages in words.running.values() for stage in stages}
        check_names(query, kinds=words.kinds, stages=stages)
        return query

    def find(self, query: Query, *, after: str = "", limit: int = 100) -> list[Record]:
        """Records that match, newest first."""
        return self.store.find(query, names=self.registry.query_names, after=after, limit=limit)

    def count(self, query: Query) -> dict[tuple[str, str], int]:
        """How many records match, by machine and status."""
        return self.store.count(query, names=self.registry.query_names)

    def errors(self) -> list[ErrorGroup]:
        """Records that rest with an error, by cause."""
        return self.store.errors()

    def history(self, record_id: str) -> list[Transition]:
        """What happened to a record."""
        self.record(record_id)
        return self.store.history(record_id)

    def attempts(self, record_id: str) -> list[AttemptResult]:
        """Every attempt at a stage of a record that ended, with its log; editions after them."""
        self.record(record_id)
        return [*self.outputs.attempts(record_id), *self.outputs.editions(record_id)]

    def items(
        self, record_id: str, stage: str | None = None, *, edition: int | None = None
    ) -> Iterator[Fields]:
        """What a stage made of a record; by default the last stage that is done, in its newest edition."""
        record = self.record(record_id)
        machine = self.registry.of(record)
        known = [*machine.stage, *(review.name for review in machine.reviews)]
        if stage is not None and stage not in known:
            raise UnknownName("stage", stage, known)
        done = {version: name for name, version in record.outputs.items() if stage in (None, name)}
        if not done:
            return iter(())
        name = done[max(done)]
        return self.outputs.items(record.id, self._edition(record, name, edition))

    def _edition(self, record: Record, stage: str, number: int | None) -> int:
        """The version that the items of a stage stand under: its attempt (edition 0), or one made anew since."""
        made = record.outputs[stage]
        ours = [
            mark
            for mark in self.outputs.editions(record.id)
            if mark.stage == stage and mark.facts.get(EDITION_OF) == made
        ]
        if number is None:
            return ours[-1].version if ours else made
        if not 0 <= number <= len(ours):
            raise UnknownName("edition", str(number), map(str, range(len(ours) + 1)))
        return ours[number - 1].version if number else made

    def rebuild(self, record_id: str, stage: str, *, actor: str) -> AttemptResult | None:
        """Make the items of a finished stage anew from what the stage before left, by the rules of today.

        The record does not move and what there was stays, as an earlier edition. None where nothing changed.
        """
        record = self.record(record_id)
        machine = self.registry.of(record)
        if stage not in machine.stage:
            raise UnknownName("stage", stage, machine.stage)
        if stage not in record.outputs:
            raise InvalidRequest(
                f"{record_id} has not finished {stage}: there is nothing to rebuild"
            )
        result = self._run_again(record, machine.stage[stage])
        if isinstance(result, Failed):
            raise InvalidRequest(f"{record_id} cannot be rebuilt: {result.code}: {result.message}")
        now = self.outputs.item_chunks(record.id, self._edition(record, stage, None))
        pairs = zip(result.chunks, now, strict=False)
        if len(result.chunks) == len(now) and all(new.data == old for new, old in pairs):
            return None
        mark = AttemptResult(
            record_id=record.id,
            version=-1 - len(self.outputs.editions(record.id)),
            stage=stage,
            worker=actor,
            at=self.clock(),
            count=result.count,
            facts={**result.facts, EDITION_OF: record.outputs[stage]},
            log=result.log,
        )
        self.outputs.write([Output(mark, Pairs(result.chunks))])
        return mark

    def _run_again(self, record: Record, stage: Stage) -> Result:
        inputs = {
            name: self.outputs.item_chunks(record.id, version)
            for name, version in sorted(record.outputs.items(), key=lambda pair: pair[1])
            if version < record.outputs[stage.name]
        }
        runner = registered().get(stage.runner)
        if runner is None:
            raise UnknownName("runner", stage.runner, registered())
        job = Job(
            record_id=record.id,
            stage=stage.name,
            attempt=record.outputs[stage.name],
            labels=record.labels,
            path=None if record.artifact is None else self.artifacts.path(record.artifact),
            items=inputs,
            options=options_of(self.domains.runner_options, stage.runner),
            # What was paid for when it was done is not paid for again.
            saved_values=StageSavedValues(self.outputs, record.id, stage.name, self.clock),
        )
        return run_runner(runner, job, limits=self._limits(), sleep=time.sleep, now=self.clock)

    def about(self, record_id: str, stage: str) -> Fields:
        """What a stage said of its items as a whole; nothing if it is not done or said nothing."""
        record = self.record(record_id)
        version = record.outputs.get(stage)
        return {} if version is None else self.outputs.about(record.id, version)

    def sentence(self, transition: Transition) -> str:
        """A transition as a line for people."""
        machine = self.registry.exactly(transition.machine, transition.machine_version)
        return sentence(machine, transition)

    def explain(self, record_id: str) -> Explanation:
        """Why a record is where it is."""
        record = self.record(record_id)
        return explain(self.registry.of(record), record, self._surroundings(record))

    def _surroundings(self, record: Record) -> WaitContext:
        now = self.clock()
        if record.waiting is None:
            return WaitContext(now=now, is_worker_lost=self._is_lost(record.worker))
        machine = self.registry.of(record)
        stage = machine.stage[record.waiting]
        pause = next(
            (
                pause
                for pause in self.store.pauses()
                if pause.machine == machine.name and pause.stage in ("", stage.name)
            ),
            None,
        )
        able = [
            worker
            for worker in self.bus.workers()
            if stage.runner in worker.runners and not worker.is_draining and is_alive(worker)
        ]
        load = self.bus.load_by_worker()
        is_inline = stage.isolation == "inline"
        free = sum(
            max(
                0,
                (worker.inline_slots if is_inline else worker.slots)
                - load.get((worker.id, is_inline), 0),
            )
            for worker in able
        )
        return WaitContext(
            now=now,
            paused_by=None if pause is None else pause.actor,
            paused_stage="" if pause is None else pause.stage,
            pause_reason=None if pause is None else pause.reason,
            workers_able=len(able),
            workers_free=free,
            ahead=self.store.count_ahead(record),
            is_coordinated=now - record.entered_at < WAIT_STEP_S * SECOND,
        )

    def _is_lost(self, worker: str | None) -> bool:
        if worker is None:
            return False
        return not any(each.id == worker and is_alive(each) for each in self.bus.workers())

    def wait(self, record_id: str, *, timeout_s: float) -> Record:
        """Sleep until a record has ended or rests; the record as it then is."""
        deadline = time.monotonic() + timeout_s
        with self._changes() as wakeup:
            while True:
                wakeup.clear()
                record = self.record(record_id)
                left = deadline - time.monotonic()
                if self.is_at_rest(record) or left <= 0:
                    return record
                wakeup.wait(min(left, WAIT_STEP_S))

    def is_worked_on(self) -> bool:
        """Whether a worker is alive that takes work, here or on another machine."""
        return any(is_alive(worker) and not worker.is_draining for worker in self.bus.workers())

    @contextmanager
    def _changes(self) -> Iterator[Wakeup]:
        """A wakeup that rings when records move. Kept for the next caller: on PostgreSQL it is a connection."""
        try:
            wakeup = self._wakeups.pop()
        except IndexError:
            wakeup = self.database.wakeup(TOPIC_CHANGES)
        try:
            yield wakeup
        finally:
            self._wakeups.append(wakeup)

    def is_at_rest(self, record: Record) -> bool:
        """Whether nothing will happen to a record until a person acts."""
        if self.registry.of(record).kind[record.status] == "suspended":
            return True
        return record.waiting is None and record.due_at is None

    # Acting

    def ask(
        self,
        verb: Verb,
        record_id: str,
        *,
        actor: str,
        reason: str | None,
        version: int | None = None,
    ) -> Record:
        """Retry or cancel one record; refused where the machine has no such move."""
        asking = Command(
            verb=verb, record_id=record_id, actor=actor, reason=reason, version=version
        )
        (answer,) = self.ask_each([asking])
        if isinstance(answer, StatewardError):
            raise answer
        return answer

    def ask_each(self, askings: Sequence["Command"]) -> list[Record | StatewardError]:
        """Retry or cancel records, each for itself, all in one transaction; for each, what became of it."""
        with self.store.transaction():
            found = self.store.load([each.record_id for each in askings], lock=True)
            answers: list[Record | StatewardError | None] = [
                _unfit(each, found.get(each.record_id)) for each in askings
            ]
            places = [place for place, answer in enumerate(answers) if answer is None]
            events = [self._event(askings[place], found) for place in places]
            decisions = self.coordinator.handle(events) if events else []
            for place, decision in zip(places, decisions, strict=True):
                asking = askings[place]
                answers[place] = (
                    self._refusal(asking.verb, asking.record_id, decision)
                    if isinstance(decision, Ignored)
                    else decision.change.record
                )
            return [answer for answer in answers if answer is not None]

    def _event(self, asking: "Command", found: Mapping[str, Record]) -> Event:
        record = found[asking.record_id]
        event = self._request(asking.verb, record, asking.actor, asking.reason)
        return event if asking.trace is None else replace(event, trace=asking.trace)

    def _request(self, verb: Verb, record: Record, actor: str, reason: str | None) -> Event:
        type_ = _EVENT_OF[verb]
        return Event(
            id=event_id(record.id, makes=record.version + 1, type_=type_),
            type=type_,
            record_id=record.id,
            version=record.version,
            at=self.clock(),
            actor=actor,
            reason=self._reason(reason),
        )

    def _reason(self, given: str | None) -> str | None:
        chars_max = self.settings.limits.message_chars_max
        return None if given is None else clean_text(given, chars_max=chars_max)

    def _refusal(self, verb: Verb, record_id: str, ignored: Ignored) -> StatewardError:
        record = self.record(record_id)
        if ignored.reason in ("stale", "ahead", "duplicate"):
            return ConcurrentModification(record_id, expected=record.version)
        allowed = self.registry.of(record).allowed_from(record.status)
        return InvalidTransition(record_id, expected=verb, found=record.status, allowed=allowed)

    def prioritise(
        self,
        record_ids: Sequence[str],
        priority: int | str,
        *,
        actor: str,
        reason: str | None,
        machines: Sequence[str] = (),
    ) -> list[Record | StatewardError]:
        """Change the priority of records that have not ended, each for itself; for each, what became of it.

        No status changes by this, so it is no transition; who did it and why is kept among the acts.
        """
        with self.store.transaction():
            found = self.store.load(record_ids, lock=True)
            answers = [self._unplaced(each, found.get(each), machines) for each in record_ids]
            fit = [each for each in answers if isinstance(each, Record)]
            numbers = {each.machine: self.priority(each.machine, priority) for each in fit}
            placed: dict[str, Record | StatewardError] = {}
            for number in set(numbers.values()):
                of = [each for each in fit if numbers[each.machine] == number]
                for before, after in zip(
                    of, self.coordinator.set_priority(of, number), strict=True
                ):
                    placed[before.id] = after or ConcurrentModification(
                        before.id, expected=before.version
                    )
            self.audit.add(
                [
                    AuditEntry(
                        at=self.clock(),
                        actor=actor,
                        verb="priority",
                        record_id=each.id,
                        detail={"from": each.priority, "to": numbers[each.machine]},
                        reason=self._reason(reason),
                    )
                    for each in fit
                    if isinstance(placed[each.id], Record)
                ]
            )
            return [placed[each.id] if isinstance(each, Record) else each for each in answers]

    def prioritise_many(
        self,
        priority: int | str,
        *,
        ids: Sequence[str] = (),
        query: Query | None = None,
        actor: str,
        reason: str | None,
        is_dry_run: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Bulk:
        """Change the priority of everything that is named or matches. An empty query is refused, never 'all'."""
        if not ids and (query is None or query.is_empty):
            raise InvalidRequest("name records or a query; an empty query would mean every record")
        tally = _Tally()
        for batch in self._batches(ids, query):
            named = [each.id for each in batch]
            became = (
                [self._unplaced(each.id, each, ()) for each in batch]
                if is_dry_run
                else self.prioritise(named, priority, actor=actor, reason=reason)
            )
            for record, answer in zip(batch, became, strict=True):
                is_stale = isinstance(answer, ConcurrentModification)
                refusal = "stale" if is_stale else "impossible"
                tally.note(record, None if isinstance(answer, Record) else refusal)
            progress(tally.matched)
        return tally.bulk(is_dry_run=is_dry_run)

    def _unplaced(
        self, record_id: str, record: Record | None, machines: Sequence[str]
    ) -> Record | StatewardError:
        if record is None or (machines and record.machine not in machines):
            return UnknownName("record", clean_text(record_id, chars_max=80))
        if self.registry.of(record).kind[record.status] == "terminal":
            return InvalidTransition(
                record_id, expected="priority", found=record.status, allowed=[]
            )
        return record

    def ask_many(
        self,
        verb: Verb,
        *,
        ids: Sequence[str] = (),
        query: Query | None = None,
        actor: str,
        reason: str | None,
        is_dry_run: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Bulk:
        """Retry or cancel everything that is named or matches. An empty query is refused, never 'all'."""
        if not ids and (query is None or query.is_empty):
            raise InvalidRequest("name records or a query; an empty query would mean every record")
        tally = _Tally()
        for batch in self._batches(ids, query):
            events = [self._request(verb, record, actor, reason) for record in batch]
            if is_dry_run:
                for record in batch:
                    tally.note(record, self._would(verb, record))
            else:
                for record, decision in zip(batch, self.coordinator.handle(events), strict=True):
                    tally.note(record, decision.reason if isinstance(decision, Ignored) else None)
            progress(tally.matched)
        return tally.bulk(is_dry_run=is_dry_run)

    def _would(self, verb: Verb, record: Record) -> str | None:
        machine = self.registry.of(record)
        return None if (record.status, _EVENT_OF[verb]) in machine.rules else "impossible"

    def _batches(self, ids: Sequence[str], query: Query | None) -> Iterator[list[Record]]:
        if ids:
            for start in range(0, len(ids), BULK_BATCH):
                named = dict.fromkeys(ids[start : start + BULK_BATCH])
                found = self.store.load(named)
                for record_id in named:
                    if record_id not in found:
                        raise UnknownName("record", clean_text(record_id, chars_max=80))
                yield [found[record_id] for record_id in named]
            return
        after = ""
        while query is not None and (batch := self.find(query, after=after, limit=BULK_BATCH)):
            yield batch
            after = batch[-1].id

    def pause(self, machine: str, stage: str, *, actor: str, reason: str | None) -> None:
        """Stop handing out a stage, or with '' all stages, of a machine."""
        self._known_stage(machine, stage)
        self.store.pause(
            Pause(machine=machine, stage=stage, at=self.clock(), actor=actor, reason=reason)
        )

    def resume(self, machine: str, stage: str) -> bool:
        """Hand out a stage again; whether it was paused."""
        self._known_stage(machine, stage)
        return self.store.resume(machine, stage)

    def _known_stage(self, machine: str, stage: str) -> None:
        own = self.registry.named(machine)
        if stage and stage not in own.stage:
            raise UnknownName("stage", stage, own.stage)

    # Keys

    def new_key(
        self,
        name: str,
        *,
        role: str,
        pipelines: Sequence[str] = (),
        expires_in_s: float | None = None,
        rate_per_minute: int | None = None,
        upload_bytes_max: int | None = None,
        actor: str | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key and its text, which is kept nowhere: show it now or never."""
        now = self.clock()
        key = ApiKey(
            id=b32hexencode(token_bytes(10)).decode().lower(),
            name=check_name(name),
            role=check_role(role),
            pipelines=tuple(self.registry.named(each).name for each in dict.fromkeys(pipelines)),
            created_at=now,
            created_by=actor or person(),
            expires_at=None if expires_in_s is None else now + round(expires_in_s * SECOND),
            rate_per_minute=rate_per_minute,
            upload_bytes_max=upload_bytes_max,
        )
        secret = b32hexencode(token_bytes(32)).decode().rstrip("=").lower()
        self.keys.add(key, secret=secret)
        return key, key_text(key.id, secret)

    def new_token(self) -> str:
        """256 random bits as text, for sessions and links."""
        return b32hexencode(token_bytes(32)).decode().rstrip("=").lower()

    def new_id(self, prefix: str) -> str:
        """An id that nobody can guess and that sorts by time."""
        return self._new_id(prefix)

    # Proving

    def verify(self, *, progress: Progress = lambda *_: None) -> Verdict:
        """Replay and check the whole history."""
        return verify(self.store, self._all_versions(), progress=progress)

    def compare(self, folder: Path, *, progress: Progress = lambda *_: None) -> Comparison:
        """Compare the history with a ledger that mirrors it, up to the first difference."""
        return compare(self.store, folder, progress=progress)

    def _all_versions(self) -> dict[tuple[str, int], Machine]:
        return {(machine.name, machine.version): machine for machine, _ in self.store.machines()}

    def export(self, folder: Path, *, progress: Progress = lambda *_: None) -> dict[str, int]:
        """Write the whole history as files."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidRequest(f"{folder} is not an empty folder; name a new one")
        return export(self.store, folder, progress=progress)

    # Running

    def worker(self) -> Worker:
        """A worker of this process, with the settings' limits."""
        own = self.settings.worker
        life = process_life(os.getpid())
        name = f"{socket.gethostname()}-{os.getpid()}-{life[-6:]}"
        # On PostgreSQL a worker has a connection of its own, whose role cannot touch a record.
        is_apart = not (self._is_runner or isinstance(self.database, SqliteDatabase))
        database = open_database(self.settings, role=RUNNER_ROLE) if is_apart else self.database
        return Worker(
            WorkerIdentity(name=name, host=host_name(), pid=os.getpid(), life=life),
            WorkerConfig(
                limits=self._limits(),
                processes=own.processes,
                prefetch=own.prefetch,
                inline_window=own.inline_window,
                heartbeat_s=own.heartbeat_seconds,
                scratch_root=own_scratch(self.settings.data_path.absolute() / "scratch", life=life),
                imports=tuple(self._child_imports()),
                options=self.domains.runner_options,
                offline=frozenset(self.domains.offline_runners),
                owns_database=is_apart,
            ),
            database=database,
            bus=Bus(database),
            runners=registered(),
            artifact_path=self.artifacts.path,
            clock=self.clock,
            sleep=time.sleep,
            log=telemetry.log("worker"),
        )

    def _child_imports(self) -> list[str]:
        has_own = any(each.function.__module__ == MAIN for each in registered().values())
        code = [name for name in self._imports if not name.endswith((".yaml", ".yml"))]
        return [*code, *([MAIN] if has_own else [])]

    def _limits(self) -> Limits:
        own = self.settings.worker
        return Limits(
            cpu_s=own.cpu_seconds,
            memory_bytes=own.memory_bytes,
            file_bytes=own.file_bytes,
            open_files=own.open_files,
            processes_max=own.processes_max,
            items_max=own.items_max,
            item_bytes_max=own.item_bytes_max,
            items_bytes_max=own.items_bytes_max,
            log_bytes_max=own.log_bytes_max,
            message_chars_max=self.settings.limits.message_chars_max,
            jobs_per_child=own.jobs_per_child,
            transient_attempts=own.transient_attempts,
            transient_backoff_s=own.transient_backoff_seconds,
        )

    def mirror(self) -> Mirror | None:
        """What keeps the history in a ledger as well, if the settings name one."""
        own = self.settings.ledger
        if own.mirror is None:
            return None
        return Mirror(
            self.store,
            Path(own.mirror),
            clock=self.clock,
            ticks=time.monotonic,
            warn=telemetry.log("ledger").warning,
            batch_max=own.batch_max,
            keeping=_keeping(own),
        )

    @cached_property
    def notifications(self) -> NotificationService:
        """Webhooks and their deliveries."""
        return NotificationService(
            self.database,
            self.settings,
            clock=self.clock,
            new_id=self._new_id,
            new_secret=lambda: secret_of(token_bytes(KEY_BYTES)),
            statuses={name: tuple(own.kind) for name, own in self.registry.newest.items()},
        )

    @cached_property
    def dashboard(self) -> Dashboard:
        """What people look at."""
        return Dashboard(
            self.database,
            self.store,
            clock=self.clock,
            kinds=lambda: {name: dict(own.kind) for name, own in self.registry.newest.items()},
        )

    @cached_property
    def monitor(self) -> Monitor:
        """The numbers of this installation, for Prometheus."""
        return Monitor(
            self.database,
            self.settings,
            machines=lambda: list(self.registry.newest.values()),
            clock=self.clock,
            version=__version__,
        )

    def notifier(self, wake: Callable[[], None]) -> Notifier:
        """What delivers webhooks and mail, for the loop of this process; `wake` ends the loop's sleep."""
        own = self.settings.telemetry
        spans = (
            None
            if own.otlp_endpoint is None
            else Spans(own.otlp_endpoint, service_name=own.service_name, version=__version__)
        )
        return self.notifications.notifier(
            ticks=time.monotonic, wake=wake, log=telemetry.log("notifier"), spans=spans
        )

    def node(
        self, *, is_coordinator: bool = True, is_worker: bool = True, is_notifier: bool = False
    ) -> Node:
        """The loop of this process, in the roles asked for."""
        self.artifacts.sweep(older_than=time.time() - SWEEP_AGE_S)
        if is_coordinator:
            self.store.begin_epoch()
        roles = Roles(
            worker=self.worker() if is_worker else None,
            coordinator=self.coordinator if is_coordinator else None,
            scheduler=self.scheduler if is_coordinator else None,
            mirror=self.mirror() if is_coordinator else None,
            notifier=self.notifier if is_notifier else None,
        )
        return Node(
            roles,
            database=self.database,
            bus=self.bus,
            clock=self.clock,
            idle_s=self.settings.coordinator.idle_seconds,
        )

    def run_until_idle(self) -> None:
        """Do all the work there is, in this process, and return."""
        with self.node() as node:
            node.run(until_idle=True)

    def _log_transitions(
        self, transitions: Sequence[Transition], records: Sequence[Record]
    ) -> None:
        for transition, record in zip(transitions, records, strict=True):
            if telemetry.is_heard("info", at=self._level(record.machine)):
                self._log.info(self.sentence(transition), **self._facts(transition, record))

    def _facts(self, transition: Transition, record: Record) -> dict[str, object]:
        """What a line about a transition carries besides its sentence."""
        facts: dict[str, object] = {
            "record_id": record.id,
            "version": transition.version,
            "actor": transition.actor,
        }
        stage = transition.trigger.partition(".")[0]
        if stage in self.registry.of(record).stage:
            facts["stage"] = stage
        trace = transition.metadata.get(TRACE)
        if isinstance(trace, str) and self.settings.machine(record.machine).logging.trace_id:
            facts["trace_id"] = trace_id(trace)
        return facts

    def _level(self, machine: str) -> str:
        """How talkative a machine's log is; asked for every transition, so it is looked up once."""
        level = self._levels.get(machine)
        if level is None:
            level = self._levels[machine] = self.settings.machine(machine).logging.level
        return level


def _keeping(own: LedgerSettings) -> Keeping | None:
    """How the mirror is kept at night; None if nothing of that is wanted."""
    if not own.compact and not own.checkpoint_destinations:
        return None
    key, secret = (
        None if name is None else Path(name).read_text("utf-8").strip()
        for name in (own.signing_key, own.webhook_secret)
    )
    signer = None if key is None else read_signer(key)
    return Keeping(
        at=time_of_day(own.compact_at),
        is_compacted=own.compact,
        hand_over=own.checkpoint_destinations,
        origin=own.origin or (signer.name if signer else ORIGIN),
        signer=signer,
        secret=secret,
        warn=telemetry.log("ledger").warning,
    )


class _Tally:
    """Counts what a bulk action met."""

    def __init__(self) -> None:
        self.matched = 0
        self._applied = 0
        self._refused: dict[str, int] = {}
        self._by_status: dict[str, int] = {}
        self._examples: list[str] = []
        self._refused_examples: list[str] = []

    def note(self, record: Record, refusal: str | None) -> None:
        self.matched += 1
        self._by_status[record.status] = self._by_status.get(record.status, 0) + 1
        if refusal is None:
            self._applied += 1
        else:
            self._refused[refusal] = self._refused.get(refusal, 0) + 1
        examples = self._examples if refusal is None else self._refused_examples
        if len(examples) < EXAMPLES_MAX:
            examples.append(record.id)

    def bulk(self, *, is_dry_run: bool) -> Bulk:
        return Bulk(
            matched=self.matched,
            applied=self._applied,
            refused=self._refused,
            by_status=self._by_status,
            is_dry_run=is_dry_run,
            examples=tuple(self._examples),
            refused_examples=tuple(self._refused_examples),
        )


def _unfit(asking: Command, record: Record | None) -> StatewardError | None:
    """Why a request about a record cannot even be looked at."""
    if record is None or (asking.machines and record.machine not in asking.machines):
        return UnknownName("record", clean_text(asking.record_id, chars_max=80))
    if asking.version is not None and asking.version != record.version:
        return ConcurrentModification(asking.record_id, expected=asking.version)
    return None


def _suicide(crash_at: CrashAt) -> Callable[[Point], None]:
    """A hook that kills this process, as a power cut would, the n-th time it comes to a point."""
    left = crash_at.nth

    def hook(here: Point) -> None:
        nonlocal left
        if here is crash_at.point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def _tuned(settings: Settings, machines: Sequence[Machine]) -> list[Machine]:
    """The machines with the waits and retries of the profile; a section for none is a fault."""
    faults: list[Fault] = []
    tuned: dict[str, Machine] = {}
    for machine in machines:
        own = settings.machine(machine.name)
        faults += settings.check_states(machine.name, machine.kind)
        tuned[machine.name] = machine.tuned(
            retry=own.retry_rule(machine.retry), timeouts_s=own.timeouts_s
        )
    for name in settings.records.keys() - tuned.keys():
        known = ", ".join(sorted(f"{each}_record" for each in tuned))
        faults.append(
            settings.fault((f"{name}_record",), f"there is no machine {name!r}; there are: {known}")
        )
    if faults:
        raise DeclarationError(faults)
    return list(tuned.values())


def _pieces(path: Path) -> Iterator[bytes]:
    try:
        yield from pieces_of(path)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error
