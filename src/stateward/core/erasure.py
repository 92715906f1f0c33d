"""What erasing does to a record: a transition that says who, when, why and what kinds, and a record without the rest.

Pure: the store deletes what the kinds name, in the transaction that writes the transition. Its status stays, and so do
all transitions: their metadata is replaced by its commitment (`core.chain`).
"""

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from stateward.core.machine import Machine
from stateward.core.model import (
    ERASED_REST,
    Applied,
    Change,
    Decision,
    Fields,
    Ignored,
    Micros,
    Record,
    Transition,
    event_id,
)

DOCUMENTS, ITEMS, LOGS, CONTENTS = "documents", "items", "logs", "contents"
KINDS: Final = (DOCUMENTS, ITEMS, LOGS, CONTENTS)
"""Documents; items, derived files, saved values and what can be found of them; logs; labels, notes, facts, messages."""
RECORD_ERASED = "record.erased"
"""The trigger of the transition."""


def erase(
    machine: Machine,
    record: Record,
    *,
    kinds: Collection[str],
    actor: str,
    reason: str,
    now: Micros,
    facts: Fields | None = None,
) -> Decision:
    """Erase these kinds of a record that has ended or rests; refused while anything may still happen to it."""
    if machine.kind[record.status] not in ("terminal", "failed") or _is_moving(record):
        detail = f"{record.id} is in {record.status!r} and not at its end; cancel it first"
        return Ignored(reason="not_allowed", detail=detail)
    at = max(now, record.entered_at)
    # `entered_at` stays: it says how old the record is, which rules of retention ask for.
    erased = replace(_without(record, kinds), version=record.version + 1)
    transition = Transition(
        record_id=record.id,
        machine=record.machine,
        machine_version=record.machine_version,
        source=record.status,
        target=record.status,
        version=erased.version,
        event_id=event_id(record.id, makes=erased.version, type_=RECORD_ERASED),
        at=at,
        actor=actor,
        trigger=RECORD_ERASED,
        metadata={
            "kinds": [each for each in KINDS if each in kinds],
            "reason": reason,
            **(facts or {}),
        },
    )
    return Applied(Change(record=erased, expected=record.version, transition=transition))


def erased_kinds(transition: Transition) -> frozenset[str]:
    """The kinds that a transition erased; none if it is about something else."""
    kinds = transition.metadata.get("kinds") if transition.trigger == RECORD_ERASED else None
    return frozenset(map(str, kinds)) if isinstance(kinds, list) else frozenset()


def _is_moving(record: Record) -> bool:
    return record.waiting is not None or record.due_at is not None or record.worker is not None


def _without(record: Record, kinds: Collection[str]) -> Record:
    if DOCUMENTS in kinds:
        record = replace(record, artifact=None, dedupe=None, rest=ERASED_REST)
    if ITEMS in kinds:
        record = replace(record, outputs={}, rest=ERASED_REST)
    if CONTENTS in kinds:
        message = None if record.error_message is None else ERASED_REST
        record = replace(
            record, labels={}, fields={}, error_message=message, dedupe=None, rest=ERASED_REST
        )
    return record
