"""Which event a record's `due_at` stands for. Pure: the scheduler, which has the clock, calls it."""

from stateward.core.machine import RETRIES_EXHAUSTED, RETRY_DUE, Machine
from stateward.core.model import (
    CLOCK,
    Event,
    Micros,
    Record,
    event_about,
)


def due_event(machine: Machine, record: Record, *, now: Micros) -> Event | None:
    """The event of a record whose `due_at` has come; None where its state has nothing that could be due."""
    type_ = _due_type(machine, record)
    if type_ is None:
        return None
    return event_about(record, type_, at=now, actor=CLOCK)


def _due_type(machine: Machine, record: Record) -> str | None:
    match machine.kind[record.status]:
        case "running":
            return f"{machine.stage_running_in[record.status].name}.timed_out"
        case "suspended":
            review = machine.review_in.get(record.status)
            return f"{review.name}.timed_out" if review else None
        case "failed":
            is_over = machine.is_exhausted(record) or machine.is_given_up(record)
            return RETRIES_EXHAUSTED if is_over else RETRY_DUE
        case _:
            return None
