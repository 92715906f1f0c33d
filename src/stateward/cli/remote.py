"""A Stateward over HTTP, for commands: `AppProtocol` over a `Client`.

Whatever the server refuses is raised as the error that a local app would have raised, so that messages and exit codes
are the same.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO

from msgspec import UNSET

from stateward import schemas
from stateward.app.actions import Bulk, BulkAction, Verb
from stateward.cli.apps import (
    AppProtocol,
    AuditFilter,
    Corrections,
    ReviewAnswer,
    SearchRequest,
    StageItems,
    check_known,
    of_machines,
    status_query,
)
from stateward.cli.output import write_file
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
from stateward.core.model import Fields
from stateward.definition.plugin import AUTO
from stateward.engine.flags import FlagAction

POLL_S = 0.2

TRANSITIONS_FILE = "transitions.jsonl"
PROGRESS_LINES = 10_000


class RemoteApp(AppProtocol):
    """`AppProtocol` over HTTP; the actor is the person whose key it is."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @contextmanager
    def _on(self, record_id: str, verb: str = "") -> Iterator[str]:
        """The id of the record that a person means; what the server says about it becomes a local error."""
        whole = self.whole(record_id)
        with translate_errors(whole, verb=verb):
            yield whole

    # Documents in

    def check_submission(
        self, machine: str | None, priority: str, source_type: str | None = None
    ) -> str:
        """The machine that documents go to; whether a priority and a source type are known, the server says."""
        if machine in (None, AUTO):
            return AUTO
        with translate_errors():
            known = self._client.machines()
        for each in known:
            if each.name == machine:
                return each.name
        raise UnknownName("machine", machine or "", [each.name for each in known])

    def submit(
        self,
        source: Path | Iterable[bytes],
        *,
        machine: str,
        name: str | None,
        labels: Mapping[str, str],
        priority: str,
        reason: str | None,
    ) -> schemas.RecordOpened:
        """Send a document."""
        given = dict(labels)
        source_type = given.pop("source_type", None)
        with _repeatable(source) as file, translate_errors():
            return self._client.submit(
                file,
                machine=machine,
                source_type=source_type,
                name=name,
                labels=given,
                priority=priority,
                reason=reason,
            )

    def is_known(self, path: Path, *, machine: str, source_type: str | None) -> bool:
        """Whether a pipeline of the server reads a file as it is."""
        with translate_errors():
            found = self._client.detect(path)
        return any(
            each.is_likely or source_type == each.source_type or machine == each.machine
            for each in found
        )

    def work_while(self, is_wanted: Callable[[], bool]) -> bool:
        """Never here: the workers are where the server is."""
        return False

    # Queries

    def record(self, record_id: str) -> schemas.Record:
        with self._on(record_id) as record_id:
            return self._client.record(record_id)

    def find(
        self,
        query: str,
        *,
        statuses: Sequence[str] = (),
        machines: Sequence[str] = (),
        after: str = "",
    ) -> Iterator[schemas.Record]:
        with translate_errors():
            known = {}
            if statuses or machines:
                known = {each.name: each.states for each in self._client.machines()}
            text = status_query(query, known, statuses=statuses, machines=machines)
            for record in self._client.records(text or None):
                if not after or record.id < after:
                    yield record

    def wait(self, record_id: str, *, timeout_s: float) -> schemas.Record:
        with self._on(record_id) as record_id:
            return self._client.wait(record_id, timeout_s=timeout_s)

    def history(self, record_id: str) -> list[schemas.Transition]:
        with self._on(record_id) as record_id:
            return list(self._client.history(record_id))

    def explain(self, record_id: str) -> schemas.Why:
        with self._on(record_id) as record_id:
            return self._client.explain(record_id)

    def attempts(self, record_id: str) -> list[schemas.Attempt]:
        record_id = self.whole(record_id)
        stages = self.stages(record_id)
        with translate_errors(record_id):
            logs = [self._client.log(record_id, stage) for stage in stages]
        found = [each for log in logs for each in log.attempts]
        return sorted(found, key=lambda each: each.attempt)

    def stages(self, record_id: str) -> list[str]:
        record_id = self.whole(record_id)
        machine = self.record(record_id).machine
        with translate_errors():
            return next(each.stages for each in self._client.machines() if each.name == machine)

    def items(
        self,
        record_id: str,
        *,
        stage: str | None = None,
        kind: str | None = None,
        edition: int | None = None,
    ) -> StageItems:
        record_id = self.whole(record_id)

        def fetch(cursor: str | None) -> schemas.ItemPage:
            with translate_errors(record_id):
                return self._client.item_page(
                    record_id, stage=stage, kind=kind, edition=edition, cursor=cursor
                )

        def rows(page: schemas.ItemPage) -> Iterator[Fields]:
            yield from page.items
            while page.next is not None:
                page = fetch(page.next)
                yield from page.items

        first = fetch(None)
        return StageItems(first.stage, rows(first))

    def files(self, record_id: str) -> list[schemas.RecordFile]:
        with self._on(record_id) as record_id:
            return self._client.files(record_id)

    def file(self, record_id: str, stage: str, name: str) -> Iterator[bytes]:
        record_id = self.whole(record_id)
        with translate_errors():
            yield from self._client.file(record_id, stage, name)

    def search(self, asked: SearchRequest) -> Iterator[schemas.SearchHit]:
        with translate_errors():
            yield from self._client.search(
                asked.text,
                pipeline=asked.pipeline,
                filters=asked.filters,
                is_hybrid=asked.is_hybrid,
            )

    def search_as(self, asked: SearchRequest, format_: str, *, limit: int) -> str:
        with translate_errors():
            return self._client.search_as(
                asked.text,
                format_,
                pipeline=asked.pipeline,
                filters=asked.filters,
                is_hybrid=asked.is_hybrid,
                limit=limit,
            )

    def errors(self, machines: Sequence[str] = ()) -> list[schemas.ErrorGroup]:
        with translate_errors():
            if machines:
                check_known("machine", machines, {each.name for each in self._client.machines()})
            return of_machines(self._client.errors(), machines)

    def counts(self, query: str) -> list[schemas.StatusCount]:
        with translate_errors():
            return self._client.counts(query or None)

    # Actions

    def act(self, verb: Verb, record_id: str, *, reason: str | None) -> schemas.Record:
        record_id = self.whole(record_id)
        act = self._client.retry if verb == "retry" else self._client.cancel
        with translate_errors(record_id, verb=verb):
            return act(record_id, reason=reason)

    def set_priority(self, record_id: str, priority: str, *, reason: str | None) -> schemas.Record:
        with self._on(record_id, "priority") as record_id:
            return self._client.set_priority(record_id, _number(priority), reason=reason)

    def bulk(
        self,
        action: BulkAction,
        *,
        ids: Sequence[str],
        query: str | None,
        priority: str | None,
        reason: str | None,
        is_dry_run: bool,
        progress: Callable[[int], None],
    ) -> Bulk:
        """Do something with everything that is named or matches; the server does it in the background."""
        ids = [self.whole(each) for each in ids]
        number = None if priority is None else _number(priority)

        def begin(*, dry_run: bool) -> schemas.Batch:
            return self._client.batch(
                action, query=query, ids=ids, priority=number, reason=reason, dry_run=dry_run
            )

        with translate_errors():
            foreseen = begin(dry_run=True)
            batch = foreseen if is_dry_run else begin(dry_run=False)
            while batch.status == "running":
                progress(batch.matched)
                time.sleep(POLL_S)
                batch = self._client.get_batch(batch.id or "")
        examples = dict(batch.examples)
        return Bulk(
            matched=batch.matched,
            applied=batch.applied,
            refused=dict(batch.refused),
            is_dry_run=is_dry_run,
            by_status={} if foreseen.by_status is UNSET else dict(foreseen.by_status),
            examples=tuple(examples.pop("applied", ())),
            refused_examples=tuple(each for ids in examples.values() for each in ids),
        )

    def reprocess(self, record_id: str, *, reason: str | None) -> schemas.RecordOpened:
        with self._on(record_id, "reprocess") as record_id:
            return self._client.reprocess(record_id, reason=reason)

    def move(self, event: str, record_id: str, *, reason: str | None) -> schemas.Record:
        with self._on(record_id, event) as record_id:
            return self._client.move(record_id, event, reason=reason)

    def advance(self, record_id: str, *, reason: str | None) -> schemas.Record:
        with self._on(record_id, "advance") as record_id:
            return self._client.advance(record_id, reason=reason)

    def provenance(self, record_id: str, form: str) -> schemas.Provenance:
        with self._on(record_id) as record_id:
            return self._client.provenance(
                record_id, form="prov" if form == "prov" else "openlineage"
            )

    def pause(self, machine: str, stage: str, *, reason: str | None) -> None:
        with translate_errors():
            self._client.pause(machine, stage=stage or None, reason=reason)

    def resume(self, machine: str, stage: str) -> bool:
        with translate_errors():
            return self._client.resume(machine, stage=stage or None).was_paused

    def audit(self, wanted: AuditFilter, *, is_rising: bool = False) -> Iterator[schemas.AuditItem]:
        whole = wanted.record_id and self.whole(wanted.record_id)
        with translate_errors():
            yield from self._client.audit(
                actor=wanted.actor,
                verb=wanted.verb,
                record_id=whole,
                since=wanted.since,
                until=wanted.until,
                after=0 if is_rising else None,
            )

    # Reviews

    def reread(self, record_id: str, asked: schemas.RereadRequest) -> schemas.RereadAnswer:
        """Have the server read a document again."""
        with self._on(record_id) as record_id:
            return self._client.reread(record_id, asked)

    def decide_flags(
        self, record_id: str, action: FlagAction, *, reason: str | None
    ) -> schemas.Record:
        with translate_errors(record_id, verb=action):
            return self._client.decide_flags(record_id, action, reason=reason)

    def pending_reviews(self, *, limit: int) -> list[schemas.ReviewTask]:
        with translate_errors():
            return list(islice(self._client.pending_reviews(limit=limit), limit))

    def review(self, record_id: str) -> schemas.ReviewDetail:
        with self._on(record_id) as record_id:
            return self._client.get_review(record_id)

    def review_statistics(self, *, days: int) -> schemas.ReviewStatistics:
        with translate_errors():
            return self._client.review_statistics(days=days)

    def claim(self, record_id: str) -> schemas.ReviewTask:
        with self._on(record_id, "claim") as record_id:
            return self._client.claim_review(record_id)

    def unclaim(self, record_id: str) -> schemas.ReviewTask:
        with self._on(record_id, "unclaim") as record_id:
            return self._client.unclaim_review(record_id)

    def create_review_link(
        self, record_id: str, person: str, *, hours: float | None
    ) -> schemas.ReviewLink:
        with self._on(record_id, "link") as record_id:
            return self._client.create_review_link(record_id, person, hours=hours)

    def review_links(self, record_id: str) -> list[schemas.ReviewLink]:
        with self._on(record_id, "look") as record_id:
            return self._client.review_links(record_id)

    def revoke_review_link(self, record_id: str, link_id: str) -> bool:
        record_id = self.whole(record_id)
        with translate_errors():
            return self._client.revoke_review_link(record_id, link_id).was_open

    def decide(self, record_id: str, answer: ReviewAnswer) -> schemas.Record:
        with self._on(record_id, answer.action) as record_id:
            return self._client.review(record_id, **answer._asdict())

    def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Corrections,
        is_blind: bool,
        notes: str | None,
    ) -> schemas.ReviewTask:
        with self._on(record_id, "refer") as record_id:
            return self._client.ask_opinion(
                record_id, to, corrected=corrected, is_blind=is_blind, notes=notes
            )

    # The installation

    def doctor(self) -> schemas.Diagnosis:
        with translate_errors():
            return self._client.doctor()

    def verify(
        self, *, checkpoint: str | None = None, progress: Callable[[str, int], None]
    ) -> schemas.Verification:
        """Replay the whole history and check it, on the server."""
        with translate_errors():
            return self._client.verify(checkpoint=checkpoint)

    def erase(
        self,
        record_ids: Sequence[str],
        *,
        subject: str | None,
        reason: str,
        is_dry_run: bool,
        is_compacted: bool,
        progress: Callable[[str], None],
    ) -> schemas.ErasureAnswer:
        """Delete what records held; the server does not write its database anew, since its writers would wait."""
        named = [self.whole(each) for each in record_ids]
        with translate_errors():
            return self._client.erase(named, subject=subject, reason=reason, is_dry_run=is_dry_run)

    def hold(self, record_id: str, *, reason: str, is_held: bool) -> schemas.HeldRecord:
        with self._on(record_id) as record_id:
            return self._client.hold(record_id, reason=reason, is_held=is_held)

    def holds(self) -> list[schemas.HeldRecord]:
        with translate_errors():
            return self._client.holds()

    def apply_retention(
        self, *, is_dry_run: bool, progress: Callable[[str, int], None]
    ) -> schemas.RetentionAnswer:
        """Delete what is old, by the rules of the server's settings."""
        with translate_errors():
            return self._client.apply_retention(is_dry_run=is_dry_run)

    def dead_letters(self) -> Iterator[schemas.DeadLetter]:
        with translate_errors():
            yield from self._client.dead_letters()

    def feed(self) -> schemas.FeedDocument:
        with translate_errors():
            return self._client.feed()

    def replay_feed(self, seq: int) -> schemas.FeedDocument:
        with translate_errors():
            return self._client.replay_feed(seq)

    def gold_lines(self) -> Iterator[bytes]:
        with translate_errors():
            yield from self._client.gold_lines()

    def export_history(
        self, folder: Path, *, progress: Callable[[str, int], None]
    ) -> dict[str, int]:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidRequest(f"{folder} is not an empty folder; name a new one")
        with translate_errors():
            lines = self._client.history_lines()
            first = list(islice(lines, 1))  # a refusal makes no folder
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            count = write_file(
                str(folder / TRANSITIONS_FILE), _with_progress(chain(first, lines), progress)
            )
        return {TRANSITIONS_FILE: count}


def _with_progress(lines: Iterable[bytes], progress: Callable[[str, int], None]) -> Iterator[bytes]:
    for count, line in enumerate(lines, start=1):
        yield line
        if count % PROGRESS_LINES == 0:
            progress(TRANSITIONS_FILE, count)


def _number(priority: str) -> int:
    if not priority.isdecimal():
        raise InvalidRequest(f"over --server a priority is a number, 1 to 10; {priority!r} is none")
    return int(priority)


@contextmanager
def translate_errors(record_id: str = "", *, verb: str = "") -> Iterator[None]:
    """Raise what the server says about a record as the error that a local app would have raised."""
    try:
        yield
    except ServerUnreachable as error:
        raise StoreUnreachable(str(error)) from error
    except ApiProblem as error:
        raise _local_error(error, record_id, verb) from error


def _local_error(error: ApiProblem, record_id: str, verb: str) -> StatewardError:
    problem = error.problem
    allowed = [] if problem.allowed is UNSET else problem.allowed
    match error.kind:
        case "not-found" if record_id:
            return UnknownName("record", record_id)
        case "not-found" | "unknown-value" if problem.what and problem.name is not UNSET:
            return UnknownName(str(problem.what), problem.name, allowed)
        case "stale":
            return ConcurrentModification(record_id, expected=None)
        case "impossible" if record_id:
            found = "" if problem.found is UNSET else problem.found
            return InvalidTransition(record_id, expected=verb, found=found, allowed=allowed)
        case "review-taken":
            until = None if problem.until is UNSET else problem.until
            by = "" if problem.by is UNSET else problem.by
            sentence = problem.detail.removeprefix(f"{record_id}: ")
            return ReviewTaken(record_id, by=by, sentence=sentence, until=until)
        case "review-refused":
            return ReviewRefused(problem.detail.removeprefix(f"{record_id}: "))
        case "invalid-correction":
            faults = [] if problem.errors is UNSET else problem.errors
            return InvalidCorrection(record_id, [(each.field, each.sentence) for each in faults])
        case "unavailable" | "too-many-requests" | "internal":
            return StoreUnreachable(f"the server cannot do that now: {problem.detail}")
        case "storage-full":
            return StoreFull(f"the server has no space left: {problem.detail}")
        case "unauthenticated":
            return InvalidRequest(f"{problem.detail}; put a key into STATEWARD_KEY")
    return InvalidRequest(problem.detail)


@contextmanager
def _repeatable(source: Path | Iterable[bytes]) -> Iterator[Path | IO[bytes]]:
    """A document that can be read again, should it have to be sent again."""
    if isinstance(source, Path):
        try:
            source.open("rb").close()
        except OSError as error:
            raise InvalidRequest(f"cannot read {source}: {error.strerror or error}") from error
        yield source
    else:
        with tempfile.TemporaryFile() as file:
            for piece in source:
                file.write(piece)
            file.seek(0)
            yield file
