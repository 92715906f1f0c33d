"""Records, transitions and the rest as the documents of `wire`: what outsiders see, and no internal id."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import UNSET

from stateward import schemas
from stateward.app import App
from stateward.core.errors import ConcurrentModification
from stateward.core.machine import Machine
from stateward.core.model import (
    NOTES,
    Fields,
    Micros,
    Record,
    Transition,
    rest_reason,
    to_iso,
)
from stateward.core.view import Explanation
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Answer, Batch
from stateward.storage.outputs import AttemptResult

JSON = "application/json"
UPLOAD = "upload"
UPLOAD_FIELDS = (
    "upload_log_ref",
    "parse_log_ref",
    "observations_count",
    "normalizer_log_ref",
    "canonicals_count",
)
LOG_LINES_MAX = 100_000

T = TypeVar("T")


def answered(
    document: object, *, status: int = 200, headers: dict[str, str] | None = None
) -> Answer:
    """A document as an answer."""
    return Answer(
        status=status,
        headers={"Content-Type": JSON, **(headers or {})},
        body=msgspec.json.encode(document),
    )


def etag(version: int) -> str:
    """The version, as HTTP writes it."""
    return f'"{version}"'


def stale(error: ConcurrentModification, version: int) -> Answer:
    """Somebody was quicker; the version that there is now goes with it."""
    headers = {"ETag": etag(version)}
    return Refusal("stale", str(error), headers=headers, version=version).answer()


def record_view(app: App, record: Record) -> schemas.Record:
    """A record of any machine."""
    machine = app.registry.of(record)
    return schemas.Record(
        id=record.id,
        machine=record.machine,
        status=record.status,
        version=record.version,
        error_code=record.error_code,
        error_message=record.error_message,
        disclosed=machine.exposed(record),
        priority=record.priority,
        retry_count=record.retry_count,
        max_retries=machine.retry.max_retries,
        last_retry_at=_iso(record.last_retry_at),
        rest=rest_reason(record),
        is_at_rest=app.records.is_at_rest(record),
        notes=record.fields.get(NOTES) or None,
        labels=record.labels,
        replaces=record.replaces,
        created_at=to_iso(record.created_at),
        updated_at=to_iso(record.entered_at),
        status_metadata=_metadata(record),
    )


def upload_view(app: App, record: Record) -> schemas.Upload:
    """A record of the machine `upload`, with exactly the fields that are due."""
    machine = app.registry.of(record)
    disclosed = machine.exposed(record)
    known = {name: disclosed[name] for name in UPLOAD_FIELDS if name in disclosed}
    further = {name: value for name, value in disclosed.items() if name not in UPLOAD_FIELDS}
    size = record.labels.get("size")
    return schemas.Upload(
        upload_id=record.id,
        status=record.status,
        version=record.version,
        source_type=text_of(record.labels.get("source_type")),
        filename=text_of(record.labels.get("filename")),
        size=size if isinstance(size, int) else None,
        error_code=record.error_code,
        error_message=record.error_message,
        **known,  # type: ignore[arg-type]
        further=further or UNSET,
        priority=record.priority,
        retry_count=record.retry_count,
        max_retries=machine.retry.max_retries,
        last_retry_at=_iso(record.last_retry_at),
        rest=rest_reason(record),
        is_at_rest=app.records.is_at_rest(record),
        notes=record.fields.get(NOTES) or None,
        created_at=to_iso(record.created_at),
        updated_at=to_iso(record.entered_at),
        status_metadata=_metadata(record),
    )


def submitted_view(record: Record, *, is_duplicate: bool) -> schemas.Submitted:
    """What a submitter is told."""
    return schemas.Submitted(
        upload_id=record.id,
        status=record.status,
        version=record.version,
        upload_log_ref=text_of(record.fields.get("upload_log_ref")),
        is_duplicate=is_duplicate,
    )


def transition_view(app: App, transition: Transition) -> schemas.Transition:
    """One change of status."""
    return schemas.Transition(
        seq=transition.seq,
        record_id=transition.record_id,
        machine=transition.machine,
        machine_version=transition.machine_version,
        old_status=transition.source,
        new_status=transition.target,
        version=transition.version,
        event_id=transition.event_id,
        at=to_iso(transition.at),
        actor=transition.actor,
        trigger=transition.trigger,
        attempt=transition.attempt,
        metadata=transition.metadata,
        sentence=app.records.sentence(transition),
        authority=transition.authority,
        epoch=transition.epoch,
        record_hash=transition.record_hash,
        hash=transition.hash,
        prev_hash=transition.prev_hash,
    )


def attempt_view(mark: AttemptResult) -> schemas.Attempt:
    """An attempt with its log."""
    return schemas.Attempt(
        stage=mark.stage,
        attempt=mark.version,
        at=to_iso(mark.at),
        worker=mark.worker,
        outcome=mark.outcome if mark.error_code is None else "failed",
        count=mark.count,
        error_code=mark.error_code,
        error_message=mark.error_message,
        log=list(_log_lines(mark)),
    )


def _log_lines(mark: AttemptResult) -> Iterator[Fields]:
    for line in mark.log.splitlines()[:LOG_LINES_MAX]:
        try:
            said = msgspec.json.decode(line)
        except msgspec.DecodeError:
            said = None
        yield said if isinstance(said, dict) else {"message": line}


def why_view(record: Record, why: Explanation) -> schemas.Why:
    """Why a record is where it is."""
    return schemas.Why(
        id=record.id,
        status=record.status,
        code=why.code,
        sentence=why.sentence,
        advice=why.advice,
        until=why.until,
    )


def batch_view(batch: Batch) -> schemas.Batch:
    """A bulk action."""
    return schemas.Batch(
        id=batch.id,
        version=batch.version,
        action=batch.verb,
        status=batch.status,
        query=batch.query or None,
        actor=batch.actor,
        reason=batch.reason,
        expected=batch.expected,
        matched=batch.matched,
        applied=batch.applied,
        refused=batch.refused,
        examples={key: list(ids) for key, ids in batch.examples.items()},
        created_at=to_iso(batch.created_at),
        updated_at=to_iso(batch.updated_at),
    )


def machine_view(machine: Machine) -> schemas.MachineSummary:
    """A machine in short."""
    return schemas.MachineSummary(
        name=machine.name,
        version=machine.version,
        prefix=machine.prefix,
        doc=machine.doc,
        states=[state.name for state in machine.states],
        stages=[stage.name for stage in machine.stages],
    )


def _metadata(record: Record) -> schemas.StatusMetadata:
    return schemas.StatusMetadata(
        started_at=to_iso(record.entered_at),
        worker_id=record.worker,
        retry_count=record.retry_count,
    )


def _iso(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)


def text_of(value: object) -> str | None:
    """A label or fact as text; none stays none."""
    return None if value is None else str(value)
