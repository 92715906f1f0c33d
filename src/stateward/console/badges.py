"""What waits for a person: causes of errors, reviews and flagged results. The menu counts them."""

import msgspec

from stateward.app import App
from stateward.monitoring.dashboard import ErrorCause
from stateward.server.auth import Caller
from stateward.storage.acknowledgements import Acknowledgement


class Badges(msgspec.Struct, frozen=True, kw_only=True):
    """How many causes of errors are not acknowledged, how many reviews are open, and how many results are flagged."""

    errors: int
    reviews: int
    flags: int


def badges(app: App, caller: Caller) -> Badges:
    """What waits now."""
    return Badges(
        errors=len(open_causes(app, caller)),
        reviews=open_reviews(app, caller),
        flags=open_flags(app, caller),
    )


def key_of(cause: ErrorCause) -> str:
    """What an acknowledgement names."""
    return f"{cause.error_code} {cause.cause}"


def open_causes(app: App, caller: Caller) -> list[ErrorCause]:
    """Causes that are not acknowledged, or that struck again since."""
    seen = app.acknowledgements.every()
    return [
        cause
        for cause in app.dashboard.causes()
        if caller.covers(cause.machine) and is_open(cause, seen.get((cause.machine, key_of(cause))))
    ]


def is_open(cause: ErrorCause, seen: Acknowledgement | None) -> bool:
    """Whether a cause is not acknowledged yet."""
    return seen is None or cause.last_at > seen.at


def open_reviews(app: App, caller: Caller) -> int:
    """How many records wait for a person whom the caller may answer for."""
    machines = app.registry.newest
    return sum(
        count
        for (machine, status), count in app.dashboard.counts().items()
        if caller.covers(machine) and machine in machines and status in machines[machine].review_in
    )


def open_flags(app: App, caller: Caller) -> int:
    """How many results are flagged as wrong or incomplete, and not decided."""
    return sum(count for machine, count in app.flags.counts().items() if caller.covers(machine))
