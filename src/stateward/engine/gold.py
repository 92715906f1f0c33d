"""Gold data: the decisions of people as JSON lines, the ground truth by which extractors are measured.

One line per decision: the document by its SHA-256, the values that were found with their confidence, and the right
ones. A rejection does not say what is right, so its line has no `values`.
"""

from collections.abc import Iterable, Sequence

import msgspec

from stateward.core.model import (
    Fields,
    Micros,
    Record,
    to_iso,
)
from stateward.engine.corrections import values_of

REJECT = "reject"


class RecordedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a review, as its transition records it."""

    action: str
    by: str
    at: Micros
    notes: str | None
    reviewer: str | None
    version: int
    reason_code: str | None = None
    approvals: tuple[str, ...] = ()
    """All who accepted it, where more than one had to."""


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """A value as it was found, before any correction."""

    field: str
    value: str | None
    confidence: int | None = None


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """One decision. `values` are right: as found where it was approved, else as corrected.

    `facts` are what the pipeline shows a reviewer of a record. In a line each is a key of its own.
    """

    document: str | None
    record: str
    machine: str
    facts: dict[str, str | None]
    filename: str | None
    decision: str
    by: str
    at: str
    original: list[Original]
    values: dict[str, list[str]] | None
    reviewer: str | None = None
    notes: str | None = None
    reason_code: str | None = None

    def line(self) -> bytes:
        """The decision as one line of JSON."""
        fields = msgspec.structs.asdict(self)
        facts = fields.pop("facts")
        return msgspec.json.encode({**fields, **facts}) + b"\n"


def gold_of(
    record: Record,
    decided: RecordedDecision,
    *,
    found: Sequence[Fields],
    corrected: Sequence[Fields] | None,
    facts: dict[str, str | None],
) -> Gold:
    """The gold line of a record that a person decided; `corrected` is None where there was no correction."""
    right = (
        None if decided.action == REJECT else values_of(found if corrected is None else corrected)
    )
    return Gold(
        document=record.artifact,
        record=record.id,
        machine=record.machine,
        facts=facts,
        filename=_text(record.labels.get("filename")),
        decision=decided.action,
        by=decided.by,
        at=to_iso(decided.at),
        original=[_original(item) for item in found],
        values=right,
        reviewer=decided.reviewer,
        notes=decided.notes,
        reason_code=decided.reason_code,
    )


def facts_of(record: Record, names: Iterable[str]) -> dict[str, str | None]:
    """The facts of these names: from the record's stages, which read the document, else from the submitter's labels."""
    return {name: _text(record.fields.get(name) or record.labels.get(name)) for name in names}


def _original(item: Fields) -> Original:
    confidence = item.get("confidence")
    return Original(
        field=str(item.get("field")),
        value=_text(item.get("value")),
        confidence=confidence if isinstance(confidence, int) else None,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
