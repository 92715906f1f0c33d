"""The places where a process can be cut: each has one name, and can be made to happen by that name.

A commit, a dispatch, a completion mark or an effect is more than one write. Between any two of them the process
may be killed, and each such place calls `point`. Nothing happens there unless somebody installed a hook: the
simulation raises from it, a test of real processes kills itself in it (`STATEWARD_CRASH_AT=name[:n-th time]`),
and in production it is one look at None. A point must never change what the code around it does.
"""

from collections.abc import Callable
from enum import Enum
from typing import Self, TypeAlias

import msgspec


class Point(Enum):
    """Where a process can be cut. The value says what is written by then and what is not."""

    # database: the end of every unit
    COMMIT_BEFORE = "all of a unit is written, nothing of it is durable"
    COMMIT_AFTER = "a unit is durable, nobody was woken and no caller was answered"

    # store: one batch of changes
    RECORDS_WRITTEN = "records are moved, their transitions are not there"
    TRANSITIONS_APPENDED = "transitions are there, the anchor does not count them"
    ANCHOR_ADVANCED = "the anchor counts the transitions, their effects are not there"
    EFFECTS_ADDED = "effects are there, what was ignored is not noted"
    DISPOSITIONS_WRITTEN = "what was ignored is noted, nobody is to be told yet"

    # coordinator: from the inbox to the bus
    EVENTS_TAKEN = "events are read from the inbox, none is decided"
    DEAD_LETTERS_WRITTEN = "what is no event is kept as a dead letter, the rest is not decided"
    EVENTS_DECIDED = "a batch is decided, its last changes are not written"
    WORK_WITHDRAWN = (
        "records moved on and their work is taken back, the inbox still holds the events"
    )
    STARTS_COMMITTED = "records are in their running state, no work is sent"
    RESTARTS_COMMITTED = "records name another worker, the work still names the lost one"
    RECORDS_UPGRADED = "records are in a state of the newer machine, their old work is still out"

    # scheduler
    DUE_FOUND = "what is due was looked up, none of it is reported"

    # bus
    WORK_SENT = "work is with its worker, who was not woken"
    WORK_RECLAIMED = "work is taken from a lost worker, the next one does not have it"
    EVENTS_REPORTED = "events are in the inbox, nobody was woken"
    EVENTS_SETTLED = "handled events are gone from the inbox, in a unit that is still open"
    WORKER_REPLACED = "the old word of a worker is gone, the new one is not there"
    WORKER_REMOVED = "a worker is gone, its work still names it"
    WORK_RELEASED = "the work of lost workers names nobody, and nobody was told"

    # outputs: the completion mark
    RESULTS_WRITTEN = "the marks of attempts are there, their items are not"
    OUTPUTS_WRITTEN = "marks, logs and items are there, no event tells of them"

    # worker
    WORK_DONE = "an attempt has ended, nothing of it is written"
    WORK_FINISHED = "an attempt is off the bus, its output is not written"
    RESULTS_DURABLE = "an output is durable, its worker still holds it as unwritten"

    @property
    def label(self) -> str:
        """The name by which it is asked for, like `commit_before`."""
        return self.name.lower()


Hook: TypeAlias = Callable[[Point], None]

_hook: Hook | None = None


def point(here: Point) -> None:
    """The process can be cut here."""
    if _hook is not None:
        _hook(here)


def install(hook: Hook | None) -> Hook | None:
    """Have this called at every point of this process (None: nothing is); what was there before."""
    global _hook  # one process, one hook: that is what makes a point nearly free
    before, _hook = _hook, hook
    return before


class CrashAt(msgspec.Struct, frozen=True):
    """A point, and the how manieth time of reaching it counts."""

    point: Point
    nth: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """What `name` or `name:3` asks for; a `ValueError` says what is wrong with anything else."""
        name, colon, number = text.partition(":")
        known = {each.label: each for each in Point}
        if name not in known:
            raise ValueError(f"there is no point {name!r}; there are: {', '.join(known)}")
        if colon and not (number.isascii() and number.isdecimal() and int(number) > 0):
            raise ValueError(f"after {name}: must stand a count from 1 up, not {number!r}")
        return cls(known[name], int(number) if colon else 1)
