"""The composition root: the only place that picks engines, clocks and identities and starts processes.

Doors (command line, HTTP, web) call an `App` and nothing below it. The roles of a process (coordinator, worker)
are driven by `Node`, one loop in one thread that sleeps until something happens.
"""

import errno
import math
import os
import select
import selectors
import signal
import socket
import time
from base64 import b32hexencode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from secrets import token_bytes
from shutil import rmtree
from typing import TYPE_CHECKING, Literal, Self

import msgspec
from msgspec.structs import replace

from stateward import __version__, pipelines, telemetry
from stateward.artifacts import Artifact, Folder, pieces_of
from stateward.bus import Bus, WorkerInfo
from stateward.clockwork import Clockwork
from stateward.coordinator import Catalogue, Coordinator, Opened, Opening, register
from stateward.core.errors import (
    ConcurrentModification,
    DeclarationError,
    Fault,
    InvalidRequest,
    InvalidTransition,
    StatewardError,
    StoreBroken,
    StoreFull,
    StoreUnreachable,
    UnknownName,
)
from stateward.core.machine import CANCEL_REQUESTED, RETRY_REQUESTED, Machine, Stage
from stateward.core.model import (
    PERSON,
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
from stateward.core.points import CrashAt, Point, install
from stateward.core.query import Query, check_names, parse_query
from stateward.core.view import Explanation, Surroundings, explain, sentence, view
from stateward.database import TOPIC_CHANGES, TOPIC_EVENTS, TOPIC_READY, Bell, Database
from stateward.database.sqlite import MEMORY, SqliteDatabase
from stateward.keys import ApiKey, Keys, check_name, check_role, key_text
from stateward.ledger import Keeping, read_signer
from stateward.ledger.keeper import ORIGIN
from stateward.ledger.schedule import time_of_day
from stateward.monitoring import Monitor
from stateward.notices import Desk, Notifier
from stateward.notices.signing import KEY_BYTES, secret_of
from stateward.outputs import Mark, Output, Outputs
from stateward.overview import Overview
from stateward.provenance import (
    Comparison,
    Mirror,
    Progress,
    Verdict,
    compare,
    export,
    mirror_state,
    verify,
)
from stateward.requests import Requests
from stateward.reviews import Reviews
from stateward.runners.kit import Failed, Job, Limits, Result, registered, run_runner
from stateward.runners.sandbox import sandbox_layers
from stateward.runners.worker import Pairs, StageDrawer, Worker, options_of
from stateward.sequencing import Sequencing
from stateward.settings import LedgerSettings, Settings
from stateward.store import ErrorGroup, Pause, Store
from stateward.telemetry.tracing import SPAN_BYTES, TRACE_BYTES, Spans, new_traceparent, trace_id
from stateward.visits import Act, Visits

if TYPE_CHECKING:
    from stateward.pipelines.contracts.document import Document
    from stateward.pipelines.contracts.extraction import Extraction
    from stateward.pipelines.contracts.options import ContractOptions
    from stateward.pipelines.contracts.rules import Rules, Vertical

RUNNER_ROLE = "stateward_runner"
RECOVER_EVERY_S = 1.0
BULK_BATCH = 500
EXAMPLES_MAX = 5
SLEW = 1000
CLOCK_OFF_S = 5.0
PAUSE_MIN_S = 0.1  # while the database is away: doubled from try to try, up to
PAUSE_MAX_S = 2.0
REMIND_EVERY_S = 60.0
TURN_S = 0.02
DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
EPOCH_OF_IDS_NS = 1_577_836_800 * 10**9  # 2020-01-01: six bytes of ticks reach to 2156
ID_TICKS_A_SECOND = 2**16
WAIT_STEP_S = 5.0
EDITION_OF = "edition_of"  # the fact of an edition: the version whose items it stands for
DISK_FREE_MIN = 512 * 2**20
SWEEP_AGE_S = 86_400.0
MIRROR_LATE_S = 60.0

Verb = Literal["retry", "cancel"]
_EVENT_OF: dict[Verb, str] = {"retry": RETRY_REQUESTED, "cancel": CANCEL_REQUESTED}


def wall_clock() -> Micros:
    """What the clock of this machine says, in whole microseconds; it may be set while we run."""
    return time.time_ns() // 1000


def time_passed() -> Micros:
    """Microseconds since the machine was started, its sleep included; nobody can set them."""
    return time.clock_gettime_ns(_PASSING) // 1000


_PASSING: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """The present: the wall clock as it was at the start, and the time that has passed since.

    To set the wall clock while a process runs brings no deadline nearer and puts none off. Where the two differ,
    ours goes a thousandth faster or slower until they agree, so it follows clocks that drift and never jumps. See
    docs/decisions/0011.
    """

    def __init__(
        self,
        wall: Callable[[], Micros] = wall_clock,
        passed: Callable[[], Micros] = time_passed,
    ) -> None:
        self._wall = wall
        self._passed = passed
        # One tuple, so that threads see all of it or none: when we looked, what we said, how far off that was.
        self._looked = (passed(), wall(), 0)

    def __call__(self) -> Micros:
        """Whole microseconds since 1970; never less than before."""
        passed = self._passed()
        looked_at, then, off = self._looked
        since = passed - looked_at
        slack = since // SLEW
        now = then + since + max(-slack, min(off, slack))
        if since >= SECOND:
            self._looked = (passed, now, self._wall() - now)
        return now

    @property
    def off_s(self) -> float:
        """How far the wall clock is ahead of this one, in seconds."""
        return (self._wall() - self()) / SECOND


steady_clock = SteadyClock()


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
    from stateward.database.postgres import PostgresDatabase

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
    return _tuned(settings, pipelines.load([*pipelines.BUNDLED, *settings.pipelines]))


def read_machines(name: str) -> tuple[list[Machine], list[str]]:
    """The machines of one file or module, and the runners that they name but nobody has loaded."""
    machines = pipelines.load([name])
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


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """A person's request about one record. `machines` are those that the person may see; none means all."""

    verb: Verb
    record_id: str
    actor: str
    reason: str | None
    version: int | None = None
    machines: tuple[str, ...] = ()
    trace: str | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `doctor`."""

    name: str
    is_well: bool
    sentence: str
    advice: str = ""


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
        self._imports = [*pipelines.BUNDLED, *settings.pipelines]
        given = [*pipelines.load(self._imports), *machines]
        self._machines = _tuned(settings, given)
        self.database = database or open_database(settings, role=RUNNER_ROLE if is_runner else None)
        self.store = Store(self.database)
        self.outputs = Outputs(self.database)
        self.bus = Bus(self.database)
        self.keys = Keys(self.database)
        self.requests = Requests(self.database)
        self.visits = Visits(self.database)
        self.artifacts = Folder(settings.data_path.absolute() / "artifacts")
        self._is_runner = is_runner
        self._log = telemetry.log("coordinator")
        self._levels: dict[str, str] = {}
        self._bells: list[Bell] = []
        if not is_runner:
            self._register()

    def _register(self) -> None:
        """Put the machines into force at once: a wrong one is refused before anything is done."""
        try:
            self.catalogue  # noqa: B018 - made on first use
        except BaseException:
            self.database.close()
            raise

    @cached_property
    def catalogue(self) -> Catalogue:
        """The machines in force."""
        return register(self.store, self._machines, now=self.clock())

    @cached_property
    def coordinator(self) -> Coordinator:
        """The sole writer of status."""
        return Coordinator(
            store=self.store,
            bus=self.bus,
            catalogue=self.catalogue,
            clock=self.clock,
            new_id=self._new_id,
            sleep=time.sleep,
            is_alive=is_alive,
            on_transitions=self._log_transitions,
            batch_max=self.settings.coordinator.batch_max,
            lease_s=self.settings.worker.lease_seconds,
            deliveries_max=self.settings.worker.deliveries_max,
            ageing_s=self._ageing(),
            ticks=time.monotonic,
        )

    @cached_property
    def clockwork(self) -> Clockwork:
        """Time as a source of events."""
        return Clockwork(
            store=self.store,
            outputs=self.outputs,
            bus=self.bus,
            machine_of=self.catalogue.of,
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
            catalogue=self.catalogue,
            clock=self.clock,
            claim_s=own.claim_seconds,
            self_approval=own.self_approval,
            has_keys=self.keys.is_any,
            judge=self._judge,
        )

    @cached_property
    def sequencing(self) -> Sequencing:
        """What whoever drives records from outside can ask for."""
        return Sequencing(
            store=self.store,
            outputs=self.outputs,
            coordinator=lambda: self.coordinator,
            catalogue=self.catalogue,
            clock=self.clock,
        )

    @classmethod
    def embedded(cls, data: str | Path, *, machines: Sequence[Machine] = ()) -> Self:
        """A Stateward in a folder of one's own, with the personal profile: for scripts and first steps."""
        settings = Settings.load(environ={"STATEWARD_DATA": str(data)})
        return cls(settings, machines=machines)

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
    ) -> Opened:
        """Keep a document and open its record; the same bytes again give the record there is."""
        own = self.catalogue.named(machine)
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
    ) -> Opening:
        """The request for the record of a document that is kept."""
        facts: Fields = {"size": artifact.size, **self._labels(labels or {})}
        if name:
            facts["filename"] = clean_text(name, chars_max=self.settings.limits.name_chars_max)
        return Opening(
            machine=self.catalogue.named(machine).name,
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

    def open(self, openings: Sequence[Opening]) -> list[Opened]:
        """Open records, all in one transaction."""
        return self.coordinator.open(openings)

    def source_types(self, machine: str) -> dict[str, str]:
        """The source types that a machine knows, each with the format its files must have ("" for any).

        A machine that knows none takes any name.
        """
        if machine != "upload":
            return {}
        from stateward.pipelines.statements.options import SOURCE_TYPES

        known = SOURCE_TYPES | {
            each.name: {"format": each.format or ""}
            for each in self.settings.statements.source_types
        }
        return {name: str(hints.get("format") or "") for name, hints in known.items()}

    def format_of(self, machine: str, path: Path) -> str:
        """What a document is by its content; a `StageFailure` where no runner of the machine could read it."""
        if machine != "upload":
            return ""
        from stateward.pipelines.statements.arrival import format_of

        return format_of(path)

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

    def _judge(
        self, record: Record, items: Sequence[Fields], named: Sequence[str]
    ) -> tuple[Sequence[Fields], Sequence[tuple[str, str]]]:
        """What a reviewer's values are under the rules of their machine, and what is wrong with them."""
        vertical = record.fields.get("vertical") or record.labels.get("vertical")
        if record.machine != "contract" or vertical not in self.contracts.rules.verticals:
            return items, ()
        from stateward.pipelines.contracts.correcting import corrected

        return corrected(items, named=named, vertical=str(vertical), rules=self.contracts.rules)

    def extract_terms(
        self, document: "Document", vertical: "Vertical", rules: "Rules"
    ) -> "Extraction":
        """What the contract extractor of the settings finds in a text; for whoever measures it."""
        from stateward.pipelines.contracts.stages import Options, extracted

        job = Job(record_id="measured", stage="extract", options=self.contracts.extract())
        return extracted(job, document, vertical, rules, Options.of(job))

    # Asking

    def record(self, record_id: str) -> Record:
        """One record, or a clear refusal."""
        found = self.store.get(record_id)
        if found is None:
            raise UnknownName("record", clean_text(record_id, chars_max=80))
        return found

    def view(self, record: Record) -> Fields:
        """A record as outsiders see it."""
        return view(self.catalogue.of(record), record)

    def query(self, text: str, *, now: Micros | None = None) -> Query:
        """A query in the one grammar of page, API and command line; names that nobody declared are refused."""
        query = parse_query(text, now=self.clock() if now is None else now)
        words = self.catalogue.words
        stages = {stage for stages in words.running.values() for stage in stages}
        check_names(query, kinds=words.kinds, stages=stages)
        return query

    def find(self, query: Query, *, after: str = "", limit: int = 100) -> list[Record]:
        """Records that match, newest first."""
        return self.store.find(query, words=self.catalogue.words, after=after, limit=limit)

    def count(self, query: Query) -> dict[tuple[str, str], int]:
        """How many records match, by machine and status."""
        return self.store.count(query, words=self.catalogue.words)

    def errors(self) -> list[ErrorGroup]:
        """Records that rest with an error, by cause."""
        return self.store.errors()

    def history(self, record_id: str) -> list[Transition]:
        """What happened to a record."""
        self.record(record_id)
        return self.store.history(record_id)

    def attempts(self, record_id: str) -> list[Mark]:
        """Every attempt at a stage of a record that ended, with its log; editions after them."""
        self.record(record_id)
        return [*self.outputs.attempts(record_id), *self.outputs.editions(record_id)]

    def items(
        self, record_id: str, stage: str | None = None, *, edition: int | None = None
    ) -> Iterator[Fields]:
        """What a stage made of a record; by default the last stage that is done, in its newest edition."""
        record = self.record(record_id)
        machine = self.catalogue.of(record)
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

    def rebuild(self, record_id: str, stage: str, *, actor: str) -> Mark | None:
        """Make the items of a finished stage anew from what the stage before left, by the rules of today.

        The record does not move and what there was stays, as an earlier edition. None where nothing changed.
        """
        record = self.record(record_id)
        machine = self.catalogue.of(record)
        if stage not in machine.stage:
            raise UnknownName("stage", stage, machine.stage)
        if stage not in record.outputs:
            raise InvalidRequest(
                f"{record_id} has not finished {stage}: there is nothing to rebuild"
            )
        result = self._run_again(record, machine.stage[stage])
        if isinstance(result, Failed):
            raise InvalidRequest(f"{record_id} cannot be rebuilt: {result.code}: {result.message}")
        now = self.outputs.stored(record.id, self._edition(record, stage, None))
        pairs = zip(result.chunks, now, strict=False)
        if len(result.chunks) == len(now) and all(new.data == old for new, old in pairs):
            return None
        mark = Mark(
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
            name: self.outputs.stored(record.id, version)
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
            options=options_of(self._options, stage.runner),
            # What was paid for when it was done is not paid for again.
            drawer=StageDrawer(self.outputs, record.id, stage.name, self.clock),
        )
        return run_runner(runner, job, limits=self._limits(), sleep=time.sleep, now=self.clock)

    def about(self, record_id: str, stage: str) -> Fields:
        """What a stage said of its items as a whole; nothing if it is not done or said nothing."""
        record = self.record(record_id)
        version = record.outputs.get(stage)
        return {} if version is None else self.outputs.about(record.id, version)

    def sentence(self, transition: Transition) -> str:
        """A transition as a line for people."""
        machine = self.catalogue.exactly(transition.machine, transition.machine_version)
        return sentence(machine, transition)

    def explain(self, record_id: str) -> Explanation:
        """Why a record is where it is."""
        record = self.record(record_id)
        return explain(self.catalogue.of(record), record, self._surroundings(record))

    def _surroundings(self, record: Record) -> Surroundings:
        now = self.clock()
        if record.waiting is None:
            return Surroundings(now=now, is_worker_lost=self._is_lost(record.worker))
        machine = self.catalogue.of(record)
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
        load = self.bus.load()
        is_inline = stage.isolation == "inline"
        free = sum(
            max(
                0,
                (worker.inline_slots if is_inline else worker.slots)
                - load.get((worker.id, is_inline), 0),
            )
            for worker in able
        )
        return Surroundings(
            now=now,
            paused_by=None if pause is None else pause.actor,
            paused_stage="" if pause is None else pause.stage,
            pause_reason=None if pause is None else pause.reason,
            workers_able=len(able),
            workers_free=free,
            ahead=self.store.ahead(record),
            is_coordinated=now - record.entered_at < WAIT_STEP_S * SECOND,
        )

    def _is_lost(self, worker: str | None) -> bool:
        if worker is None:
            return False
        return not any(each.id == worker and is_alive(each) for each in self.bus.workers())

    def wait(self, record_id: str, *, timeout_s: float) -> Record:
        """Sleep until a record has ended or rests; the record as it then is."""
        deadline = time.monotonic() + timeout_s
        with self._changes() as bell:
            while True:
                bell.clear()
                record = self.record(record_id)
                left = deadline - time.monotonic()
                if self.is_at_rest(record) or left <= 0:
                    return record
                bell.wait(min(left, WAIT_STEP_S))

    def is_worked_on(self) -> bool:
        """Whether a worker is alive that takes work, here or on another machine."""
        return any(is_alive(worker) and not worker.is_draining for worker in self.bus.workers())

    @contextmanager
    def _changes(self) -> Iterator[Bell]:
        """A bell that rings when records move. It is kept for the next who waits: on PostgreSQL it is a connection."""
        try:
            bell = self._bells.pop()
        except IndexError:
            bell = self.database.bell(TOPIC_CHANGES)
        try:
            yield bell
        finally:
            self._bells.append(bell)

    def is_at_rest(self, record: Record) -> bool:
        """Whether nothing will happen to a record until a person acts."""
        if self.catalogue.of(record).kind[record.status] == "suspended":
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
        asking = Asking(verb=verb, record_id=record_id, actor=actor, reason=reason, version=version)
        (answer,) = self.ask_each([asking])
        if isinstance(answer, StatewardError):
            raise answer
        return answer

    def ask_each(self, askings: Sequence["Asking"]) -> list[Record | StatewardError]:
        """Retry or cancel records, each for itself, all in one transaction; for each, what became of it."""
        with self.store.unit():
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

    def _event(self, asking: "Asking", found: Mapping[str, Record]) -> Event:
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
        allowed = self.catalogue.of(record).allowed_from(record.status)
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
        with self.store.unit():
            found = self.store.load(record_ids, lock=True)
            answers = [self._unplaced(each, found.get(each), machines) for each in record_ids]
            fit = [each for each in answers if isinstance(each, Record)]
            numbers = {each.machine: self.priority(each.machine, priority) for each in fit}
            placed: dict[str, Record | StatewardError] = {}
            for number in set(numbers.values()):
                of = [each for each in fit if numbers[each.machine] == number]
                for before, after in zip(of, self.coordinator.prioritise(of, number), strict=True):
                    placed[before.id] = after or ConcurrentModification(
                        before.id, expected=before.version
                    )
            self.visits.note(
                [
                    Act(
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
        if self.catalogue.of(record).kind[record.status] == "terminal":
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
        machine = self.catalogue.of(record)
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
        own = self.catalogue.named(machine)
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
            pipelines=tuple(self.catalogue.named(each).name for each in dict.fromkeys(pipelines)),
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

    def doctor(self) -> list[Check]:
        """What could be wrong with this installation, looked at one by one."""
        return [*_checks(self)]

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
            name=name,
            host=host_name(),
            pid=os.getpid(),
            life=life,
            database=database,
            bus=Bus(database),
            outputs=Outputs(database),
            artifact_path=self.artifacts.path,
            runners=registered(),
            imports=self._child_imports(),
            limits=self._limits(),
            processes=own.processes,
            prefetch=own.prefetch,
            inline_window=own.inline_window,
            heartbeat_s=own.heartbeat_seconds,
            clock=self.clock,
            sleep=time.sleep,
            scratch_root=own_scratch(self.settings.data_path.absolute() / "scratch", life=life),
            log=telemetry.log("worker"),
            options=self._options,
            offline=self._offline,
            on_close=database.close if is_apart else lambda: None,
        )

    @property
    def _offline(self) -> tuple[str, ...]:
        """Runners that may open no connection, because these settings give them nobody to ask."""
        return ("contract.extract",) if self.settings.contracts.extractor == "offline" else ()

    @cached_property
    def _options(self) -> Mapping[str, Fields]:
        """What the settings say to the runners of a machine."""
        from stateward.pipelines.contracts.options import Live

        statements = self._statement_options
        return Live({"upload": lambda: statements, **self.contracts.by_runner})

    @cached_property
    def contracts(self) -> "ContractOptions":
        """The section `contracts` of the settings, live; a file of it that is wrong is refused here."""
        from stateward.pipelines.contracts.options import ContractOptions

        own = self.settings.contracts
        return ContractOptions(own, clock=self.clock, warn=telemetry.log("contracts").warning)

    @cached_property
    def _statement_options(self) -> Fields:
        """The section `statements` of the settings as its runners get it; a wrong file of rules is refused here."""
        own = self.settings.statements
        types: Fields = {
            each.name: {
                key: value
                for key, value in msgspec.structs.asdict(each).items()
                if key != "name" and value
            }
            for each in own.source_types
        }
        return {
            "ambiguous_dates": own.ambiguous_dates,
            "date_order": own.date_order or "",
            "inflated_bytes_max": own.inflated_bytes_max,
            "pages_max": own.pages_max,
            "source_types": types,
            "rules": {} if own.rules is None else pipelines.read_rules(Path(own.rules)),
            "passwords": [] if own.passwords is None else pipelines.read_lines(Path(own.passwords)),
        }

    def _child_imports(self) -> list[str]:
        has_own = any(each.function.__module__ == "__main__" for each in registered().values())
        code = [name for name in self._imports if not name.endswith((".yaml", ".yml"))]
        return [*code, *(["__main__"] if has_own else [])]

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
    def notices(self) -> Desk:
        """Webhooks and their deliveries."""
        return Desk(
            self.database,
            self.settings,
            clock=self.clock,
            new_id=self._new_id,
            new_secret=lambda: secret_of(token_bytes(KEY_BYTES)),
            statuses={name: tuple(own.kind) for name, own in self.catalogue.newest.items()},
        )

    @cached_property
    def overview(self) -> Overview:
        """What people look at."""
        return Overview(
            self.database,
            self.store,
            clock=self.clock,
            kinds=lambda: {name: dict(own.kind) for name, own in self.catalogue.newest.items()},
        )

    @cached_property
    def monitor(self) -> Monitor:
        """The numbers of this installation, for Prometheus."""
        return Monitor(
            self.database,
            self.settings,
            machines=lambda: list(self.catalogue.newest.values()),
            clock=self.clock,
            version=__version__,
        )

    def notifier(self, *, wake: Callable[[], None]) -> Notifier:
        """What delivers webhooks and mail, for the loop of this process; `wake` ends the loop's sleep."""
        own = self.settings.telemetry
        spans = (
            None
            if own.otlp_endpoint is None
            else Spans(own.otlp_endpoint, service_name=own.service_name, version=__version__)
        )
        return self.notices.notifier(
            ticks=time.monotonic, wake=wake, log=telemetry.log("notifier"), spans=spans
        )

    def node(
        self, *, is_coordinator: bool = True, is_worker: bool = True, is_notifier: bool = False
    ) -> "Node":
        """The loop of this process, in the roles asked for."""
        self.artifacts.sweep(older_than=time.time() - SWEEP_AGE_S)
        return Node(
            self,
            is_coordinator=is_coordinator,
            worker=self.worker() if is_worker else None,
            is_notifier=is_notifier,
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
        if stage in self.catalogue.of(record).stage:
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
    if not own.compact and not own.hand_over:
        return None
    key, secret = (
        None if name is None else Path(name).read_text("utf-8").strip()
        for name in (own.signing_key, own.webhook_secret)
    )
    signer = None if key is None else read_signer(key)
    return Keeping(
        at=time_of_day(own.compact_at),
        is_compacted=own.compact,
        hand_over=own.hand_over,
        origin=own.origin or (signer.name if signer else ORIGIN),
        signer=signer,
        secret=secret,
        warn=telemetry.log("ledger").warning,
    )


class Node:
    """One thread that drives the roles of a process: do what there is to do, then sleep until it rings.

    What the roles write in one turn is one transaction where they share a database, so that an output, the
    transition that follows from it and the work that follows from that cost one durable commit.

    A database that is away or full passes: the loop says so once, tries again with growing pauses, and goes on
    where it was. A disk that failed under a write does not pass: then the process ends.
    """

    def __init__(
        self,
        app: App,
        *,
        is_coordinator: bool,
        worker: Worker | None,
        is_notifier: bool = False,
    ) -> None:
        self._app = app
        self._worker = worker
        self._is_coordinator = is_coordinator
        self._is_stopping = False
        self._recover_at = 0.0
        self._trouble: Trouble | None = None
        self._turned_at = -math.inf
        self._log = telemetry.log("process")
        self._is_clock_off = False
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # A notifier beside a coordinator sees what that did at the end of the same turn.
        topics = (TOPIC_EVENTS, TOPIC_READY) if is_coordinator else (TOPIC_CHANGES,) * is_notifier
        self._bell: Bell | None = app.database.bell(*topics) if topics else None
        self._mirror = app.mirror() if is_coordinator else None
        self._notifier = app.notifier(wake=self._wake) if is_notifier else None
        if is_coordinator:
            app.store.begin_epoch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Ask the loop to finish what runs and end; safe in a signal handler and from other threads."""
        self._is_stopping = True
        self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError, OSError):
            os.write(self._wake_writer, b"!")

    def run(self, *, until_idle: bool = False) -> None:
        """Turn until asked to stop, or, with `until_idle`, until nothing is left to do."""
        while True:
            try:
                if self._is_ended(until_idle=until_idle):
                    return
            except (StoreUnreachable, StoreFull, OSError) as error:
                if until_idle or self._is_stopping or not _may_pass(error):
                    raise
                self._endure(error)

    def work_while(self, is_wanted: Callable[[], bool], *, step_s: float = WAIT_STEP_S) -> None:
        """Turn as long as somebody wants it; asked after every turn, and now and then while nothing happens."""
        while is_wanted():
            if not self.turn():
                self._sleep(at_most_s=step_s)

    def _is_ended(self, *, until_idle: bool) -> bool:
        """A turn and the sleep after it; whether that was the last one."""
        if self._is_stopping and self._worker is not None:
            self._worker.drain()
        if self._is_stopping and self._notifier is not None:
            self._notifier.drain()
        if not until_idle:
            self._keep_pace()
        is_busy = self.turn()
        self._relieve()
        if self._is_stopping and self._is_idle:
            return True
        if not is_busy:
            if until_idle and self._is_done():
                return True
            self._sleep()
        return False

    def _keep_pace(self) -> None:
        """Where many jobs are under way, let a little more happen before the next turn.

        One durable commit then serves many of them. The children go on meanwhile with what they have. Where there is
        one job at a time nothing is put off.
        """
        next_at = self._turned_at + TURN_S if self._under_way > 1 else -math.inf
        while (left := next_at - time.monotonic()) > 0 and not self._is_stopping:
            if self._worker is None:
                time.sleep(left)
                continue
            self._worker.tend()
            with selectors.DefaultSelector() as selector:
                for descriptor, events in self._worker.watched(is_called=False):
                    selector.register(descriptor, events)
                selector.select(left)
        self._turned_at = time.monotonic()

    @property
    def _under_way(self) -> int:
        """How many jobs the last turn saw."""
        if self._worker is not None:
            return self._worker.under_way
        return self._app.coordinator.under_way if self._is_coordinator else 0

    @property
    def _is_idle(self) -> bool:
        """Whether nothing that this process began is under way."""
        is_worker_idle = self._worker is None or self._worker.is_idle
        return is_worker_idle and (self._notifier is None or self._notifier.is_idle)

    def _endure(self, error: Exception) -> None:
        """Wait a little before the next try; the first of a row is told, and one a minute."""
        trouble = self._trouble or Trouble(since=time.monotonic())
        if time.monotonic() >= trouble.remind_at:
            trouble.remind_at = time.monotonic() + REMIND_EVERY_S
            self._log.warning(f"cannot go on, trying again until it passes: {error}")
        self._trouble = trouble
        if self._is_coordinator:
            self._app.coordinator.look_anew()  # who could not write is not silent
        select.select([self._wake_reader], [], [], trouble.pause_s)
        trouble.pause_s = min(2 * trouble.pause_s, PAUSE_MAX_S)

    def _relieve(self) -> None:
        if self._trouble is not None:
            self._log.warning(f"going on after {time.monotonic() - self._trouble.since:.1f} s")
            self._trouble = None

    def turn(self) -> bool:
        """One round of all roles; whether there was anything to do."""
        if self._bell is not None:
            self._bell.clear()
        worker = self._worker
        is_busy = worker.prepare() if worker is not None else False
        if worker is not None and worker.database is not self._app.database:
            is_busy |= worker.settle()  # in transactions of its own
            worker.committed()
            worker = None
        if self._is_coordinator:
            told: list[Event] = []
            with self._app.database.unit():
                if worker is not None:
                    is_busy |= worker.settle(tell=told.extend)
                is_busy |= self._coordinate(told)
        elif worker is not None:
            with self._app.database.unit():
                is_busy |= worker.settle()
        if worker is not None:
            worker.committed()
        if self._mirror is not None:
            is_busy |= self._mirror.step() >= self._app.settings.ledger.batch_max
        if self._notifier is not None:
            is_busy |= self._notifier.step()
        return is_busy

    def _coordinate(self, told: Sequence[Event]) -> bool:
        app = self._app
        if time.monotonic() >= self._recover_at:
            self._recover_at = time.monotonic() + RECOVER_EVERY_S
            self._watch_clock()
            app.coordinator.recover()
            app.coordinator.adopt()
        app.clockwork.ring()
        return bool(app.coordinator.turn(told))

    def _watch_clock(self) -> None:
        """Say once that somebody set the clock of this machine."""
        clock = self._app.clock
        off_s = clock.off_s if isinstance(clock, SteadyClock) else 0.0
        is_off = abs(off_s) > CLOCK_OFF_S
        if is_off and not self._is_clock_off:
            self._log.warning(
                f"the clock of this machine was set {'ahead' if off_s > 0 else 'back'} by {abs(off_s):.0f} s; "
                "this process keeps its own time, so that no deadline moves: start it again to take the new one over"
            )
        self._is_clock_off = is_off

    def _is_done(self) -> bool:
        if not self._is_idle or self._app.bus.load() or self._app.bus.depth():
            return False
        return self._notifier is None or self._notifier.is_done()

    def _sleep(self, *, at_most_s: float = math.inf) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_reader, selectors.EVENT_READ)
            if self._bell is not None:
                selector.register(self._bell.fileno(), selectors.EVENT_READ)
            if self._worker is not None:
                for descriptor, events in self._worker.watched():
                    selector.register(descriptor, events)
            selector.select(max(0.0, min(self._patience(), at_most_s)))
        with suppress(BlockingIOError):
            os.read(self._wake_reader, 4096)

    def _patience(self) -> float:
        waits = [self._app.settings.coordinator.idle_seconds]
        if self._worker is not None:
            waits.append(self._worker.wake_in())
        if self._mirror is not None and (wakes_in := self._mirror.wakes_in) is not None:
            waits.append(wakes_in)
        if self._notifier is not None:
            waits.append(self._notifier.wakes_in)
        if self._is_coordinator:
            waits.append(max(0.0, self._recover_at - time.monotonic()))
            due_at = self._app.clockwork.next_at()
            if due_at is not None:
                waits.append((due_at - self._app.clock()) / SECOND)
        return min(waits)

    def close(self) -> None:
        """Leave: what this process still had waits for another."""
        if self._worker is not None:
            self._worker.close()
        if self._mirror is not None:
            self._mirror.close()
        if self._notifier is not None:
            self._notifier.close()
        if self._bell is not None:
            self._bell.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)


class Trouble(msgspec.Struct, kw_only=True):
    """Since when a loop cannot go on, how long it waits before the next try, and when it says so again."""

    since: float
    pause_s: float = PAUSE_MIN_S
    remind_at: float = 0.0


def _may_pass(error: Exception) -> bool:
    """Whether waiting can help: the database is away or held, or the disk is full."""
    if isinstance(error, OSError):
        return error.errno in DISK_FULL_ERRNOS
    return not isinstance(error, StoreBroken)


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


def _unfit(asking: Asking, record: Record | None) -> StatewardError | None:
    """Why a request about a record cannot even be looked at."""
    if record is None or (asking.machines and record.machine not in asking.machines):
        return UnknownName("record", clean_text(asking.record_id, chars_max=80))
    if asking.version is not None and asking.version != record.version:
        return ConcurrentModification(asking.record_id, expected=asking.version)
    return None


def person() -> str:
    """The actor of a command: whoever runs it."""
    import getpass

    try:
        return PERSON + getpass.getuser()
    except (KeyError, OSError):
        return f"{PERSON}uid-{os.getuid()}"


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


def own_scratch(root: Path, *, life: str) -> Path:
    """A scratch folder for this process; those of processes that are gone are removed."""
    for folder in root.glob("*-*") if root.is_dir() else ():
        pid, _, its_life = folder.name.partition("-")
        if pid.isdecimal() and process_life(int(pid)) != its_life:
            rmtree(folder, ignore_errors=True)
    return root / f"{os.getpid()}-{life}"


def host_name() -> str:
    """This machine since its last boot: pids mean something only within it."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{socket.gethostname()}/{boot}"
    return socket.gethostname()


def process_life(pid: int) -> str:
    """What tells a process from a later one with the same pid: when it started. '' if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def is_alive(worker: WorkerInfo) -> bool:
    """Whether a worker of this machine still runs; of other machines only their heartbeat tells."""
    return worker.host != host_name() or process_life(worker.pid) == worker.life


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


def _checks(app: App) -> Iterator[Check]:
    facts = app.database.check()
    is_durable = facts.get("synchronous") in (None, "FULL", "EXTRA") and "off" not in (
        facts.get("fsync"),
        facts.get("synchronous_commit"),
    )
    yield Check(
        name="database",
        is_well=is_durable,
        sentence=", ".join(f"{key} {value}" for key, value in facts.items()),
        advice=""
        if is_durable
        else "acknowledged work may be lost at a power cut: make it durable",
    )
    yield _disk_check(app.settings.data_path)
    yield _clock_check(app)
    workers = app.bus.workers()
    alive = [worker for worker in workers if is_alive(worker)]
    yield Check(
        name="workers",
        is_well=bool(alive),
        sentence=f"{len(alive)} alive"
        + (f", {len(workers) - len(alive)} lost" if len(alive) < len(workers) else ""),
        advice=""
        if alive
        else "nothing is processed until one runs: stateward up, or stateward worker",
    )
    yield _runner_check(app)
    overdue = len(
        app.store.due(
            app.clock() - round(2 * app.settings.worker.lease_seconds * SECOND), limit=1000
        )
    )
    yield Check(
        name="overdue",
        is_well=not overdue,
        sentence=f"{overdue} records are past their time",
        advice="see that a coordinator runs: stateward up, or stateward coordinator"
        if overdue
        else "",
    )
    pauses = app.store.pauses()
    yield Check(
        name="pauses",
        is_well=True,
        sentence=", ".join(
            f"{p.machine}{'.' + p.stage if p.stage else ''} by {p.actor}" for p in pauses
        )
        or "nothing is paused",
    )
    if app.settings.ledger.mirror is not None:
        yield _mirror_check(app, Path(app.settings.ledger.mirror))
    for layer in sandbox_layers():
        yield Check(
            name=f"sandbox: {layer.name}",
            is_well=layer.is_available,
            sentence=layer.sentence,
            advice=""
            if layer.is_available
            else "runners are held by the other layers only; a newer kernel has it",
        )


def _mirror_check(app: App, folder: Path) -> Check:
    try:
        state = mirror_state(app.store, folder)
    except (StatewardError, OSError) as error:
        return Check(
            name="ledger",
            is_well=False,
            sentence=f"the mirror cannot be used: {error}",
            advice=f"work goes on without it; look with: stateward ledger verify {folder}",
        )
    is_late = state.since is not None and app.clock() - state.since > MIRROR_LATE_S * SECOND
    return Check(
        name="ledger",
        is_well=not is_late,
        sentence=f"{state.seq} transitions are mirrored to {folder}, {state.behind} are not yet",
        advice="see that a coordinator runs, and what it logs about the ledger" if is_late else "",
    )


def _disk_check(folder: Path) -> Check:
    folder.mkdir(parents=True, exist_ok=True)
    stat = os.statvfs(folder)
    free = stat.f_bavail * stat.f_frsize
    is_well = free > DISK_FREE_MIN
    return Check(
        name="disk",
        is_well=is_well,
        sentence=f"{free // 2**20} MiB free at {folder}",
        advice="" if is_well else "free some space: new documents will soon be refused",
    )


def _clock_check(app: App) -> Check:
    newest = app.store.log(after=max(0, app.store.anchor().count - 1), limit=1)
    is_back = bool(newest) and newest[0].at > app.clock() + 60 * SECOND
    return Check(
        name="clock",
        is_well=not is_back,
        sentence="the clock is behind the newest transition"
        if is_back
        else "the clock agrees with the history",
        advice="set the clock: timeouts and retries wait until it has caught up" if is_back else "",
    )


def _runner_check(app: App) -> Check:
    loaded = registered()
    missing = [
        stage.runner
        for machine in app.catalogue.newest.values()
        for stage in machine.stages
        if stage.runner not in loaded
    ]
    return Check(
        name="runners",
        is_well=True,
        sentence=f"{len(loaded)} loaded"
        + (f"; driven from outside: {', '.join(missing)}" if missing else ""),
    )
