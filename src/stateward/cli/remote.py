"""A Stateward elsewhere, for commands that think it is here: what they ask of an App goes over HTTP.

Only what the commands need is there. Whatever the server refuses becomes the error that the App would have raised, so
that words and exit codes are the same on both ways.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, NoReturn, Self, cast

import msgspec
from msgspec import UNSET

from stateward import schemas
from stateward.app.actions import Bulk, BulkAction, Verb
from stateward.cli.remote_reviews import RemoteReviews
from stateward.client import ApiProblem, Client, ServerUnreachable
from stateward.core.errors import (
    ConcurrentModification,
    InvalidCorrection,
    InvalidRequest,
    InvalidTransition,
    ReviewRefused,
    ReviewTaken,
    StatewardError,
    StoreFull,
    StoreUnreachable,
    UnknownName,
)
from stateward.core.machine import Machine, load_machine
from stateward.core.model import (
    NOTES,
    Fields,
    Record,
    Transition,
    from_iso,
)
from stateward.core.query import Query, check_names, parse_query
from stateward.core.view import Explanation, sentence, view
from stateward.engine.coordinator import MachineRegistry, Submitted
from stateward.engine.system import wall_clock
from stateward.settings import ServerSettings
from stateward.storage.outputs import AttemptResult
from stateward.storage.store import ErrorGroup

POLL_S = 0.2


class RemoteApp:
    """The part of an App that commands use, on another machine."""

    def __init__(self, server: ServerSettings) -> None:
        self._client = Client(server.url or "", key=server.key)
        self._found: dict[str, schemas.Record] = {}
        self._pages: Iterator[schemas.Record] = iter(())
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def __getattr__(self, name: str) -> NoReturn:
        """What needs the database itself cannot be done from afar."""
        raise InvalidRequest(
            "this command works on the database itself; run it there, without --server"
        )

    @property
    def records(self) -> Self:
        """Queries, as of a local app."""
        return self

    submissions = actions = records

    # What is known of the server

    @cached_property
    def registry(self) -> MachineRegistry:
        """The machines in force there."""
        with _translated():
            details = [self._client.machine(each.name) for each in self._client.machines()]
        return MachineRegistry([load_machine(each.declaration) for each in details])

    @cached_property
    def default_machine(self) -> str:
        """The machine of documents that are submitted without naming one."""
        with _translated():
            known = self._client.machines()
        found = [each.name for each in known if each.is_default]
        if not found:
            raise UnknownName("machine", "", [each.name for each in known])
        return found[0]

    def priority(self, machine: str, given: int | str) -> int | str:
        """As it was given: the server knows the classes."""
        return given

    def has_worker(self) -> bool:
        """Whether others do the work: there they do."""
        return True

    # Sending

    def submit(
        self,
        source: Path | bytes | Iterable[bytes],
        *,
        machine: str | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        priority: int | str = 5,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Submitted:
        """Send a document; the same bytes again give the record there is."""
        given = dict(labels or {})
        source_type = given.pop("source_type", None)
        with _file(source) as file, _translated():
            opened = self._client.submit(
                file,
                machine=machine or self.default_machine,
                source_type=source_type,
                name=name,
                labels=given,
                priority=priority,
                reason=reason,
            )
        return Submitted(self._kept(opened.record), is_duplicate=opened.is_duplicate)

    # Command

    def record(self, record_id: str) -> Record:
        """One record."""
        with _translated(record_id):
            return self._kept(self._client.record(record_id))

    def _kept(self, found: schemas.Record) -> Record:
        self._found[found.id] = found
        return _record(found, self.registry.newest[found.machine])

    def view(self, record: Record) -> Fields:
        """A record as the server showed it."""
        found = self._found[record.id]
        machine = self.registry.newest[record.machine]
        fields = {**msgspec.to_builtins(found), **found.disclosed}
        known = [key for key in view(machine, record) if key not in machine.expose]
        at = known.index("error_message") + 1
        ordered = [*known[:at], *found.disclosed, *known[at:]]
        return {key: fields[key] for key in ordered}

    def is_at_rest(self, record: Record) -> bool:
        """Whether nothing will happen to a record until a person acts."""
        return self._found[record.id].is_at_rest

    def wait(self, record_id: str, *, timeout_s: float) -> Record:
        """Wait until a record has ended or rests."""
        with _translated(record_id):
            return self._kept(self._client.wait(record_id, timeout_s=timeout_s))

    def query(self, text: str) -> Query:
        """A query; names that nobody declared are refused."""
        query = parse_query(text, now=wall_clock())
        words = self.registry.query_names
        stages = {stage for stages in words.running.values() for stage in stages}
        check_names(query, kinds=words.kinds, stages=stages)
        return query

    def find(self, query: Query, *, after: str = "", limit: int = 100) -> list[Record]:
        """Records that match, newest first."""
        if not after or after != self._last:
            everything = self._client.records(str(query) or None)
            self._pages = (each for each in everything if not after or each.id < after)
        with _translated():
            found = [self._kept(each) for each in islice(self._pages, limit)]
        self._last = found[-1].id if found else ""
        return found

    def count(self, query: Query) -> dict[tuple[str, str], int]:
        """How many records match, by machine and status."""
        with _translated():
            found = self._client.counts(str(query) or None)
        return {(each.machine, each.status): each.count for each in found}

    def errors(self) -> list[ErrorGroup]:
        """Records that rest with an error, by cause."""
        with _translated():
            return [
                ErrorGroup(
                    machine=each.machine,
                    error_code=each.error_code,
                    error_message=each.error_message,
                    count=each.count,
                )
                for each in self._client.errors()
            ]

    def history(self, record_id: str) -> list[Transition]:
        """What happened to a record."""
        with _translated(record_id):
            return [_transition(each) for each in self._client.history(record_id)]

    def sentence(self, transition: Transition) -> str:
        """A transition as a line for people."""
        return sentence(self.registry.named(transition.machine), transition)

    def explain(self, record_id: str) -> Explanation:
        """Why a record is where it is."""
        with _translated(record_id):
            why = self._client.explain(record_id)
        return Explanation(code=why.code, sentence=why.sentence, advice=why.advice, until=why.until)

    def attempts(self, record_id: str) -> list[AttemptResult]:
        """Every attempt at a stage of a record that ended, with its log."""
        stages = self.registry.of(self.record(record_id)).stage
        with _translated(record_id):
            logs = [self._client.log(record_id, stage) for stage in stages]
        marks = [_mark(record_id, each) for log in logs for each in log.attempts]
        return sorted(marks, key=lambda mark: mark.version)

    def items(
        self, record_id: str, stage: str | None = None, *, edition: int | None = None
    ) -> Iterator[Fields]:
        """What a stage made of a record."""
        if edition is not None:
            raise InvalidRequest("editions can be looked at only where the database is")
        stages = self.registry.of(self.record(record_id)).stage
        if stage is not None and stage not in stages:
            raise UnknownName("stage", stage, stages)
        kind = None if stage is None else stages[stage].produces
        with _translated(record_id):
            yield from self._client.items(record_id, kind=kind)

    @cached_property
    def reviews(self) -> RemoteReviews:
        """What waits for people there."""
        return RemoteReviews(
            self._client, record=self.record, kept=self._kept, translated=_translated
        )

    # Acting

    def act(
        self,
        verb: Verb,
        record_id: str,
        *,
        actor: str,
        reason: str | None,
        version: int | None = None,
    ) -> Record:
        """Retry or cancel one record; who asks, the key says."""
        act = self._client.retry if verb == "retry" else self._client.cancel
        with _translated(record_id, verb=verb):
            return self._kept(act(record_id, reason=reason, version=version))

    def bulk(
        self,
        verb: BulkAction,
        *,
        ids: Sequence[str] = (),
        query: Query | None = None,
        priority: int | str | None = None,
        actor: str,
        reason: str | None,
        is_dry_run: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Bulk:
        """Retry or cancel everything that is named or matches."""
        text = None if query is None else str(query)
        number = None if priority is None else int(priority)
        with _translated():
            foreseen = self._client.batch(
                verb, query=text, ids=ids, priority=number, reason=reason, dry_run=True
            )
            batch = foreseen
            if not is_dry_run:
                batch = self._client.batch(
                    verb, query=text, ids=ids, priority=number, reason=reason
                )
            while batch.status == "running":
                progress(batch.matched)
                _sleep()
                batch = self._client.get_batch(batch.id or "")
        by_status = {} if foreseen.by_status is UNSET else dict(foreseen.by_status)
        examples = dict(batch.examples)
        return Bulk(
            matched=batch.matched,
            applied=batch.applied,
            refused=dict(batch.refused),
            is_dry_run=is_dry_run,
            by_status=by_status,
            examples=tuple(examples.pop("applied", ())),
            refused_examples=tuple(each for ids in examples.values() for each in ids),
        )

    def pause(self, machine: str, stage: str, *, actor: str, reason: str | None) -> None:
        """Stop handing out a stage, or with '' all stages, of a machine."""
        with _translated():
            self._client.pause(machine, stage=stage or None, reason=reason)

    def resume(self, machine: str, stage: str) -> bool:
        """Hand out a stage again; whether it was paused."""
        with _translated():
            return self._client.resume(machine, stage=stage or None).was_paused


def _sleep() -> None:
    import time

    time.sleep(POLL_S)


@contextmanager
def _translated(record_id: str = "", *, verb: str = "") -> Iterator[None]:
    """What the server says as the error that is raised here."""
    try:
        yield
    except ServerUnreachable as error:
        raise StoreUnreachable(str(error)) from error
    except ApiProblem as error:
        raise _ours(error, record_id, verb) from error


def _ours(error: ApiProblem, record_id: str, verb: str) -> StatewardError:
    problem = error.problem
    match error.kind:
        case "not-found" if record_id:
            return UnknownName("record", record_id)
        case "not-found" | "unknown-value":
            known = [] if problem.allowed is UNSET else problem.allowed
            return UnknownName("such thing on the server", problem.detail, known)
        case "stale":
            return ConcurrentModification(record_id, expected=None)
        case "impossible" if record_id:
            found = "" if problem.found is UNSET else problem.found
            allowed = [] if problem.allowed is UNSET else problem.allowed
            return InvalidTransition(record_id, expected=verb, found=found, allowed=allowed)
        case "review-taken" | "review-refused" | "invalid-correction":
            return _of_review(error, record_id)
        case "unavailable" | "too-many-requests" | "internal":
            return StoreUnreachable(f"the server cannot do that now: {problem.detail}")
        case "storage-full":
            return StoreFull(f"the server has no room: {problem.detail}")
        case "unauthenticated":
            return InvalidRequest(f"{problem.detail}; put a key into STATEWARD_KEY")
    return InvalidRequest(problem.detail)


def _of_review(error: ApiProblem, record_id: str) -> StatewardError:
    problem = error.problem
    said = problem.detail.removeprefix(f"{record_id}: ")
    if error.kind == "review-taken":
        until = None if problem.until is UNSET else problem.until
        by = "" if problem.by is UNSET else problem.by
        return ReviewTaken(record_id, by=by, sentence=said, until=until)
    if error.kind == "invalid-correction":
        faults = [] if problem.errors is UNSET else problem.errors
        return InvalidCorrection(record_id, [(each.field, each.sentence) for each in faults])
    return ReviewRefused(said)


@contextmanager
def _file(source: Path | bytes | Iterable[bytes]) -> Iterator[Path | bytes | IO[bytes]]:
    """A document as something that can be read twice, should it have to be sent again."""
    if isinstance(source, Path):
        try:
            source.open("rb").close()
        except OSError as error:
            raise InvalidRequest(f"cannot read {source}: {error.strerror or error}") from error
        yield source
    elif isinstance(source, bytes):
        yield source
    else:
        with tempfile.TemporaryFile() as file:
            for piece in source:
                file.write(piece)
            file.seek(0)
            yield cast("IO[bytes]", file)


def _record(found: schemas.Record, machine: Machine) -> Record:
    """As much of a record as can be seen from outside."""
    made = [
        stage.name
        for stage in machine.stages
        if stage.produces and found.disclosed.get(f"{stage.produces}_count") is not None
    ]
    return Record(
        id=found.id,
        machine=found.machine,
        machine_version=machine.version,
        status=found.status,
        version=found.version,
        created_at=from_iso(found.created_at),
        entered_at=from_iso(found.updated_at),
        priority=found.priority,
        worker=found.status_metadata.worker_id,
        retry_count=found.retry_count,
        last_retry_at=None if found.last_retry_at is None else from_iso(found.last_retry_at),
        error_code=found.error_code,
        error_message=found.error_message,
        rest=found.rest,
        replaces=found.replaces,
        labels=found.labels,
        fields={**found.disclosed, **({NOTES: found.notes} if found.notes else {})},
        outputs={stage: place for place, stage in enumerate(made, 1)},
    )


def _transition(found: schemas.Transition) -> Transition:
    return Transition(
        record_id=found.record_id,
        machine=found.machine,
        machine_version=found.machine_version,
        source=found.old_status,
        target=found.new_status,
        version=found.version,
        event_id=found.event_id,
        at=from_iso(found.at),
        actor=found.actor,
        trigger=found.trigger,
        attempt=found.attempt,
        metadata=found.metadata,
        authority=found.authority,
        epoch=found.epoch,
        seq=found.seq,
        record_hash=found.record_hash,
        prev_hash=found.prev_hash,
        hash=found.hash,
    )


def _mark(record_id: str, found: schemas.Attempt) -> AttemptResult:
    lines: list[Any] = list(found.log)
    return AttemptResult(
        record_id=record_id,
        version=found.attempt,
        stage=found.stage,
        worker=found.worker,
        at=from_iso(found.at),
        outcome=found.outcome,
        count=found.count,
        error_code=found.error_code,
        error_message=found.error_message,
        log="\n".join(msgspec.json.encode(line).decode() for line in lines),
    )
