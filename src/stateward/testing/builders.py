"""Builders: a value with every field filled in, of which a test names only what it is about.

    record = a_record(UPLOAD, status="error", retry_count=3)
    event = an_event(record, "retry.requested", actor="person:ada")

They make values, and decide nothing; what happens to a record is for the coordinator (see `testing.rig`).
"""

from copy import deepcopy
from typing import Any

from stateward.core.machine import Machine
from stateward.core.model import (
    PERSON,
    RUNNER,
    SECOND,
    Event,
    Micros,
    Record,
    Transition,
    event_id,
)
from stateward.definition.declare import declare

NOW: Micros = 1_800_000_000 * SECOND
WORKER = "w1"
ADA = f"{PERSON}ada"

SMALL: dict[str, Any] = {
    "machine": "note",
    "version": 1,
    "prefix": "NT",
    "initial": "new",
    "states": {"new": "ready", "reading": "running", "read": "terminal", "broken": "failed"},
    "stages": {
        "read": {
            "from": "new",
            "running": "reading",
            "outcomes": {"done": "read"},
            "on_error": "broken",
            "produces": "lines",
        }
    },
}


def a_declaration(**changes: object) -> dict[str, Any]:
    """The smallest sound declaration, a copy of its own, with these keys put in place of its own."""
    return {**deepcopy(SMALL), **changes}


def a_machine(**changes: object) -> Machine:
    """The smallest sound machine: `new → reading → read`, and `broken` when that fails."""
    return declare(a_declaration(**changes))


def a_record(machine: Machine | None = None, **changes: object) -> Record:
    """A record that was just opened, or as `changes` say; a machine of its own unless one is given."""
    machine = machine or a_machine()
    fields: dict[str, Any] = {
        "id": f"{machine.prefix}_1",
        "machine": machine.name,
        "machine_version": machine.version,
        "status": machine.initial,
        "version": 0,
        "created_at": NOW,
        "entered_at": NOW,
    }
    return Record(**{**fields, **changes})


def an_event(record: Record, type_: str, **changes: object) -> Event:
    """An event of this kind about the record as it stands; a runner reports it unless told otherwise."""
    fields: dict[str, Any] = {
        "id": event_id(record.id, makes=record.version + 1, type_=type_),
        "type": type_,
        "record_id": record.id,
        "version": record.version,
        "at": record.entered_at,
        "actor": f"{RUNNER}{WORKER}",
    }
    return Event(**{**fields, **changes})


def a_transition(record: Record | None = None, **changes: object) -> Transition:
    """The transition that opened the record; it is not sealed."""
    record = record or a_record()
    fields: dict[str, Any] = {
        "record_id": record.id,
        "machine": record.machine,
        "machine_version": record.machine_version,
        "source": None,
        "target": record.status,
        "version": record.version,
        "event_id": event_id(record.id, makes=record.version, type_=f"{record.machine}.created"),
        "at": record.entered_at,
        "actor": ADA,
        "trigger": f"{record.machine}.created",
    }
    return Transition(**{**fields, **changes})
