"""Chores that the service repeats in a thread beside its loop: they must not hold up any record."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from stateward import telemetry
from stateward.core.errors import StatewardError
from stateward.settings import Settings

RETRY_S = 900.0  # after a failure: often enough that a short outage costs no day, seldom enough for the log
# What was begun is finished, so that what was sent is also noted as sent. Each chore can be cut off and done again, so
# one that a network holds up does not hold up the end of the service.
FINISH_S = 10.0


@contextmanager
def repeat_in_background(
    name: str, act: Callable[[Settings], float], settings: Settings, *, first_s: float = 0.0
) -> Iterator[None]:
    """Do `act` after `first_s` and then again and again, as long as this lasts; it says in how many seconds next."""
    ending = Event()
    given = (name, act, settings, ending, first_s)
    thread = Thread(target=_repeat, args=given, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(FINISH_S)


def _repeat(
    name: str,
    act: Callable[[Settings], float],
    settings: Settings,
    ending: Event,
    wait_s: float,
) -> None:
    while not ending.wait(wait_s):
        wait_s = RETRY_S
        try:
            wait_s = act(settings)
        except (StatewardError, OSError) as error:
            telemetry.log(name).error(f"it could not be done: {error}", reason=str(error))
