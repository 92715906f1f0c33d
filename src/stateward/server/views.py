"""Documents as HTTP answers: status, headers, entity tags; and those of batches and machines."""

from collections.abc import Sequence

import msgspec

from stateward import schemas
from stateward.app import App
from stateward.app.plugins import Candidate
from stateward.core.errors import ConcurrentModification
from stateward.core.files import SavedFile
from stateward.core.machine import Machine
from stateward.core.model import Record, to_iso
from stateward.definition.display import Column
from stateward.definition.draw import machine_json
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Answer, Batch

JSON = "application/json"


def json_answer(
    document: object,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    is_secret: bool = False,
) -> Answer:
    """A document as an answer."""
    return Answer(
        status=status,
        headers={"Content-Type": JSON, **(headers or {})},
        body=msgspec.json.encode(document),
        is_secret=is_secret,
    )


def etag(version: int) -> str:
    """The version, as HTTP writes it."""
    return f'"{version}"'


def stale_answer(error: ConcurrentModification, version: int) -> Answer:
    """Another writer was first; the present version goes with the refusal."""
    headers = {"ETag": etag(version)}
    return Refusal("stale", str(error), headers=headers, version=version).answer()


def record_view(
    app: App, record: Record, files: Sequence[SavedFile] | None = None
) -> schemas.Record:
    """A record of any machine; `files` are its derived files, if they are known already."""
    return app.records.view(record, files=files)


def record_answer(app: App, record: Record) -> Answer:
    """A record as an answer, with its version."""
    return json_answer(record_view(app, record), headers={"ETag": etag(record.version)})


def candidate_view(candidate: Candidate) -> schemas.DetectedType:
    """What a document may be."""
    return schemas.DetectedType(
        machine=candidate.machine,
        source_type=candidate.source_type,
        title=candidate.title,
        format=candidate.format,
        confidence=candidate.confidence,
        is_likely=candidate.is_likely,
        labels=candidate.labels,
        evidence=list(candidate.evidence),
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
                name=each.name,
                title=each.title,
                format=each.format,
                suffixes=list(each.suffixes),
                labels=each.labels,
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
