"""A Stateward over HTTP, for commands: a `Client` that satisfies `AppProtocol`.

Whatever the server refuses is raised as the error that a local app would have raised, so that messages and exit codes
are the same. Only what commands ask for otherwise than the client offers it has a method here.
"""

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TypeVar

from msgspec import UNSET

from stateward import schemas
from stateward.app.actions import Bulk, BulkAction
from stateward.cli.apps import AppProtocol, StageItems, status_query
from stateward.cli.output import write_file
from stateward.client import ApiProblem, Client, ServerUnreachable
from stateward.client.steps import Listing, Steps
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

POLL_S = 0.2
PING_POLL_S = 0.25
PING_S_MAX = 75.0
TRANSITIONS_FILE = "transitions.jsonl"
PROGRESS_LINES = 10_000
T = TypeVar("T")


class RemoteApp(Client, AppProtocol):
    """`AppProtocol` over HTTP; the actor is the person whose key it is. The server completes ids in addresses."""

    def _run(self, steps: Steps[T]) -> T:
        with translate_errors():
            return super()._run(steps)

    def _iterate(self, steps: Listing) -> Iterator[Any]:
        with translate_errors():
            yield from super()._iterate(steps)

    def whole_webhook(self, given: str) -> str:
        """The same; as it was typed for who may not list webhooks.

        What is then done with it is refused as well, in a sentence that names the roles that can do that: some of it
        needs more than the list does.
        """
        try:
            return super().whole_webhook(given)
        except InvalidRequest as error:
            if isinstance(error.__cause__, ApiProblem):
                return given
            raise

    # Documents in

    def check_submission(
        self, machine: str | None, priority: str, source_type: str | None = None
    ) -> str:
        """The machine that documents go to; whether a priority and a source type are known, the server says."""
        if machine in (None, AUTO):
            return AUTO
        known = [each.name for each in self.machines()]
        if machine not in known:
            raise UnknownName("machine", machine or "", known)
        return machine or AUTO

    def submit_document(
        self,
        source: Path | Iterable[bytes],
        *,
        machine: str,
        name: str | None,
        labels: Mapping[str, str],
        priority: str,
        reason: str | None,
    ) -> schemas.RecordOpened:
        given = dict(labels)
        source_type = given.pop("source_type", None)
        with _repeatable(source) as file:
            return self.submit(
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
        return any(
            each.is_likely or source_type == each.source_type or machine == each.machine
            for each in self.detect(path)
        )

    def work_while(self, is_wanted: Callable[[], bool]) -> bool:
        """Never here: the workers are where the server is."""
        return False

    # Queries

    def statuses(self) -> dict[str, list[str]]:
        """The statuses of each machine in force."""
        return {each.name: each.states for each in self.machines()}

    def find(
        self,
        query: str,
        *,
        statuses: Sequence[str] = (),
        machines: Sequence[str] = (),
        after: str = "",
    ) -> Iterator[schemas.Record]:
        """Every record that matches, newest first."""
        if statuses or machines:
            query = status_query(query, self.statuses(), statuses=statuses, machines=machines)
        for record in self.records(query or None):
            if not after or record.id < after:
                yield record

    def attempts(self, record_id: str) -> list[schemas.Attempt]:
        logs = [self.log(record_id, stage) for stage in self.stages(record_id)]
        found = [each for log in logs for each in log.attempts]
        return sorted(found, key=lambda each: each.attempt)

    def stages(self, record_id: str) -> list[str]:
        machine = self.record(record_id).machine
        return next(each.stages for each in self.machines() if each.name == machine)

    def stage_items(
        self,
        record_id: str,
        *,
        stage: str | None = None,
        kind: str | None = None,
        edition: int | None = None,
    ) -> StageItems:
        """The items of a stage; the first page says which stage that is."""

        def fetch(cursor: str | None) -> schemas.ItemPage:
            return self.item_page(record_id, stage=stage, kind=kind, edition=edition, cursor=cursor)

        def rows(page: schemas.ItemPage) -> Iterator[Fields]:
            yield from page.items
            while page.next is not None:
                page = fetch(page.next)
                yield from page.items

        first = fetch(None)
        return StageItems(first.stage, rows(first))

    # Actions

    def set_priority(
        self,
        record_id: str,
        priority: int | str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Let a record go sooner or later, by a number."""
        number = _number(priority)
        return super().set_priority(
            record_id, number, reason=reason, version=version, idempotency_key=idempotency_key
        )

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
            return self.batch(
                action, query=query, ids=ids, priority=number, reason=reason, dry_run=dry_run
            )

        foreseen = begin(dry_run=True)
        batch = foreseen if is_dry_run else begin(dry_run=False)
        while batch.status == "running":
            progress(batch.matched)
            time.sleep(POLL_S)
            batch = self.get_batch(batch.id or "")
        examples = dict(batch.examples)
        return Bulk(
            matched=batch.matched,
            applied=batch.applied,
            refused=dict(batch.refused),
            is_dry_run=is_dry_run,
            by_status={} if foreseen.by_status is UNSET else dict(foreseen.by_status),
            examples=tuple(examples.pop("applied", ())),
            refused_examples=tuple(each for ids in examples.values() for each in ids),
            note=foreseen.note,
        )

    # The installation

    def verify(
        self,
        *,
        checkpoint: str | None = None,
        progress: Callable[[str, int], None] = lambda _what, _count: None,
    ) -> schemas.Verification:
        """Replay the whole history and check it, on the server."""
        return super().verify(checkpoint=checkpoint)

    def erase_records(
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
        return self.erase(named, subject=subject, reason=reason, is_dry_run=is_dry_run)

    def apply_retention(
        self,
        *,
        is_dry_run: bool = False,
        progress: Callable[[str, int], None] = lambda _what, _count: None,
    ) -> schemas.RetentionAnswer:
        """Delete what is old, by the rules of the server's settings."""
        return super().apply_retention(is_dry_run=is_dry_run)

    def export_history(
        self, folder: Path, *, progress: Callable[[str, int], None]
    ) -> dict[str, int]:
        """Write the transitions that the key may see into a new or empty folder."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidRequest(f"{folder} is not an empty folder; name a new one")
        lines = self.history_lines()
        first = list(islice(lines, 1))  # a refusal makes no folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        count = write_file(
            str(folder / TRANSITIONS_FILE), _with_progress(chain(first, lines), progress)
        )
        return {TRANSITIONS_FILE: count}

    def test_webhook(self, webhook_id: str) -> schemas.DeliveryDocument:
        """Send a test, and wait until the notifier there has tried it once."""
        sent = self.ping_webhook(webhook_id)
        deadline = time.monotonic() + PING_S_MAX
        while True:
            found = self.delivery(webhook_id, sent.message_id)
            if found.attempts or found.state != "pending" or time.monotonic() >= deadline:
                return found
            time.sleep(PING_POLL_S)


def _with_progress(lines: Iterable[bytes], progress: Callable[[str, int], None]) -> Iterator[bytes]:
    for count, line in enumerate(lines, start=1):
        yield line
        if count % PROGRESS_LINES == 0:
            progress(TRANSITIONS_FILE, count)


def _number(priority: int | str) -> int:
    if not str(priority).isdecimal():
        raise InvalidRequest(f"over --server a priority is a number, 1 to 10; {priority!r} is none")
    return int(priority)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise what the server says as the error that a local app would have raised."""
    try:
        yield
    except ServerUnreachable as error:
        raise StoreUnreachable(str(error)) from error
    except ApiProblem as error:
        raise _local_error(error) from error


def _local_error(error: ApiProblem) -> StatewardError:
    problem = error.problem
    allowed = [] if problem.allowed is UNSET else problem.allowed
    # What the server says of a record is the message of its error, which begins with the id.
    record_id, _, sentence = problem.detail.partition(" ")
    record_id = record_id.removesuffix(":")
    match error.kind:
        case "not-found" | "unknown-value" if problem.what and problem.name is not UNSET:
            return UnknownName(str(problem.what), problem.name, allowed)
        case "stale":
            version = re.search(r"at version (\d+)", sentence)
            return ConcurrentModification(record_id, expected=version and int(version[1]))
        case "impossible":
            found = "" if problem.found is UNSET else problem.found
            operation = sentence.partition(" is not possible from ")[0]
            return InvalidTransition(record_id, expected=operation, found=found, allowed=allowed)
        case "review-taken":
            until = None if problem.until is UNSET else problem.until
            by = "" if problem.by is UNSET else problem.by
            return ReviewTaken(record_id, by=by, sentence=sentence, until=until)
        case "review-refused":
            return ReviewRefused(problem.detail)
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
