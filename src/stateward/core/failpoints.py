"""Failpoints: named places where a process can be made to crash.

A commit, a dispatch, an attempt result or an effect is more than one write. A process can be killed between any two
of them, and each such place calls `point`. Nothing happens there unless a hook is installed: the simulation raises
from it, a test of real processes kills itself in it (`STATEWARD_CRASH_AT=name[:nth]`), and in production it costs one
test for None. A failpoint must never change what the code around it does.
"""

from collections.abc import Callable
from enum import Enum
from typing import Self, TypeAlias

import msgspec


class Point(Enum):
    """Where a process can be killed. The value says what is written by then and what is not."""

    # database: the end of every transaction
    COMMIT_BEFORE = "all of a transaction is written, nothing of it is durable"
    COMMIT_AFTER = "a transaction is durable, no process was notified and no caller was answered"

    # store: one batch of changes
    RECORDS_WRITTEN = "records are moved, their transitions are not there"
    TRANSITIONS_APPENDED = "transitions are there, their lanes do not count them"
    LANES_ADVANCED = "the lanes count the transitions, their effects are not there"
    EFFECTS_ADDED = "effects are there, what was ignored is not written"
    DISPOSITIONS_WRITTEN = "what was ignored is written, no notification is queued yet"

    # coordinator: from the inbox to the transport
    EVENTS_TAKEN = "events are read from the inbox, none is decided"
    DEAD_LETTERS_WRITTEN = "unreadable events are stored as dead letters, the rest is not decided"
    EVENTS_DECIDED = "a batch is decided, its last changes are not written"
    WORK_WITHDRAWN = (
        "records moved on and their work is withdrawn, the inbox still holds the events"
    )
    STARTS_COMMITTED = "records are in their running state, no work is sent"
    RESTARTS_COMMITTED = "records name another worker, the work still names the lost one"
    RECORDS_UPGRADED = (
        "records are in a state of the newer machine, their old work is still assigned"
    )

    # scheduler
    DUE_FOUND = "due records were looked up, none is reported"

    # transport
    WORK_SENT = "work is assigned to its worker, which was not notified"
    WORK_RECLAIMED = "work is taken from a lost worker, the next one does not have it"
    EVENTS_REPORTED = "events are in the inbox, no coordinator was notified"
    EVENTS_SETTLED = "handled events are gone from the inbox, in a transaction that is still open"
    WORKER_REPLACED = "the old entry of a worker is gone, the new one is not there"
    WORKER_REMOVED = "a worker is gone, its work still names it"
    WORK_RELEASED = "the work of lost workers names no worker, and no coordinator was notified"

    # derived files
    FILE_STORED = "a derived file is an artifact, no result names it"

    # outputs: the result of an attempt
    RESULTS_WRITTEN = "the results of attempts are there, their items and files are not"
    OUTPUTS_WRITTEN = "results, logs, items and files are there, no event reports them"

    # worker
    WORK_DONE = "an attempt has ended, nothing of it is written"
    WORK_FINISHED = "the work of an attempt is deleted, its output is not written"
    RESULTS_DURABLE = "an output is durable, its worker still holds it as unwritten"

    @property
    def label(self) -> str:
        """The name that `STATEWARD_CRASH_AT` uses, like `commit_before`."""
        return self.name.lower()


Hook: TypeAlias = Callable[[Point], None]

_hook: Hook | None = None


def point(here: Point) -> None:
    """Mark a place where the process can be killed."""
    if _hook is not None:
        _hook(here)


def install(hook: Hook | None) -> Hook | None:
    """Call `hook` at every failpoint of this process, or nothing for None; returns the hook before."""
    global _hook  # one global per process, because a look-up through objects would cost on every write
    before, _hook = _hook, hook
    return before


class CrashAt(msgspec.Struct, frozen=True):
    """A failpoint, and which time of reaching it counts."""

    point: Point
    nth: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `name` or `name:3`; `ValueError` says what is wrong with anything else."""
        name, colon, number = text.partition(":")
        known = {each.label: each for each in Point}
        if name not in known:
            raise ValueError(f"there is no failpoint {name!r}; there are: {', '.join(known)}")
        if colon and not (number.isascii() and number.isdecimal() and int(number) > 0):
            raise ValueError(f"{name}: must be followed by a count from 1 up, not {number!r}")
        return cls(known[name], int(number) if colon else 1)
