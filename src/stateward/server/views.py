"""Records, transitions and the rest as the documents of `wire`: what outsiders see, and no internal id."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec

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
from stateward.definition.display import Column
from stateward.definition.draw import machine_json
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Answer, Batch
from stateward.storage.outputs import AttemptResult

JSON = "application/json"
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


def machine_view(app: App, machine: Machine) -> schemas.MachineSummary:
    """A machine in short."""
    view = app.plugins.record_view(machine.name)
    return schemas.MachineSummary(
        name=machine.name,
        version=machine.version,
        prefix=machine.prefix,
        doc=machine.doc,
        states=[state.name for state in machine.states],
        stages=[stage.name for stage in machine.stages],
        title=view.title,
        accepts=view.accepts,
        is_default=machine.name == app.submissions.default_machine,
    )


def machine_detail(app: App, machine: Machine) -> schemas.MachineDetail:
    """A machine with what it takes and how its items are shown."""
    return schemas.MachineDetail(
        name=machine.name,
        version=machine.version,
        graph=machine_json(machine),
        declaration=msgspec.to_builtins(machine),
        source_types=[
            schemas.SourceType(
                name=each.name, title=each.title, format=each.format, suffixes=list(each.suffixes)
            )
            for each in app.plugins.source_types(machine.name).values()
        ],
        items=[
            schemas.ItemView(
                stage=view.stage,
                title=view.title,
                columns=[_column(each) for each in view.columns],
                where=view.where,
                source_types=list(view.source_types),
            )
            for plugin in app.plugins
            for view in plugin.items
            if view.machine == machine.name
        ],
    )


def _column(column: Column) -> schemas.ItemColumn:
    return schemas.ItemColumn(
        name=column.name,
        title=column.heading,
        format=column.format,
        align=column.alignment,
        path=list(column.path or (column.name,)),
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
