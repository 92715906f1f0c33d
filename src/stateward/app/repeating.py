"""Chores that the service repeats in a thread beside its loop: they must not hold up any record."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

from stateward import telemetry
from stateward.core.errors import StatewardError
from stateward.core.model import SECOND, Micros
from stateward.settings import Settings

RETRY_S = 900.0  # after a failure: often enough that a short outage costs no day, seldom enough for the log
# What was begun is finished, so that what was sent is also noted as sent. Each chore can be cut off and done again, so
# what a network holds up does not hold up the end of the service: all of them together have this long.
FINISH_S = 10.0
AHEAD_MAX: Micros = 300 * SECOND
"""So far the clocks of two machines may differ. What was done later than that was done by a clock that was wrong."""


def seconds_left(last: Micros, *, every_s: float, now: Micros) -> float:
    """How long until something that was done then is due again; not above 0 if it is due now.

    A clock that was ahead for an hour and a year would else put it off for that year.
    """
    return 0.0 if last > now + AHEAD_MAX else (last - now) / SECOND + every_s


def is_recent(last: Micros, *, within: float, now: Micros) -> bool:
    """Whether something was done within so many microseconds, by a clock that agrees with the one of now."""
    return -AHEAD_MAX <= now - last <= within


class Chore(NamedTuple):
    """Something to do after `first_s` and then again and again; `act` says in how many seconds next."""

    name: str
    act: Callable[[Settings], float]
    first_s: float = 0.0


@contextmanager
def repeat_in_background(chores: Iterable[Chore], settings: Settings) -> Iterator[None]:
    """Do these chores, each in a thread of its own, as long as this lasts."""
    ending = Event()
    threads = [
        Thread(target=_repeat, args=(each, settings, ending), name=each.name, daemon=True)
        for each in chores
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ending.set()
        until = monotonic() + FINISH_S
        for thread in threads:
            thread.join(max(0.0, until - monotonic()))


def _repeat(chore: Chore, settings: Settings, ending: Event) -> None:
    wait_s = chore.first_s
    while not ending.wait(wait_s):
        wait_s = RETRY_S
        try:
            wait_s = chore.act(settings)
        except (StatewardError, OSError) as error:
            telemetry.log(chore.name).error(
                f"it could not be done, and is tried again in {RETRY_S / 60:.0f} minutes: {error}",
                reason=str(error),
            )
