"""The kinds of states as people see them: who stopped a record did not make it fail, and not each end is a success."""

from stateward.app import App
from stateward.core.machine import Machine
from stateward.core.model import CANCELLED, Record
from stateward.engine.answers import ANSWERS, REJECT

CANCELLED_NAME = "cancelled"
SETBACK = "setback"
REJECTIONS = (REJECT, ANSWERS[REJECT])


def shown_kind(machine: Machine, record: Record) -> str:
    """The kind of a record's state."""
    kind = machine.kind[record.status]
    is_cancelled = kind == "failed" and record.error_code == CANCELLED
    return CANCELLED_NAME if is_cancelled else state_kind(machine, record.status)


def state_kind(machine: Machine, status: str) -> str:
    """The kind of a state; a former one that the machine does not have any more is shown as one that waits."""
    return SETBACK if status in _setbacks(machine) else machine.kind.get(status, "ready")


def state_kinds(app: App) -> dict[str, dict[str, str]]:
    """The kinds of all states, those of former versions among them, by machine and status."""
    machines = app.registry.newest
    return {
        name: {**kinds, **dict.fromkeys(_setbacks(machines[name]), SETBACK)}
        for name, kinds in app.registry.query_names.kinds.items()
    }


def _setbacks(machine: Machine) -> frozenset[str]:
    """The ends that are no success: only errors, timeouts, rejections, unmet conditions and moves lead there.

    Of the routes of an outcome the first is the one that is hoped for, and those after it are for what misses its
    condition.
    """
    hoped_for = {routes[0].to for stage in machine.stages for routes in stage.outcomes.values()}
    hoped_for |= {
        to
        for review in machine.reviews
        for answer, to in review.outcomes.items()
        if answer not in REJECTIONS
    }
    ends = (state.name for state in machine.states if state.kind == "terminal")
    return frozenset(name for name in ends if name not in hoped_for)
