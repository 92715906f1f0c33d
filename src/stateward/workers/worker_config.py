"""Which process a worker is, how it works, and the options of its runners."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from stateward.core.model import Fields
from stateward.core.redelivery import RedeliveryLimits
from stateward.workers.results import Limits
from stateward.workers.routes import Routes


class WorkerIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which process a worker is. `life` tells two processes with the same pid apart."""

    name: str
    host: str
    pid: int
    life: str


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works.

    `imports` are loaded by its child processes, `preload` (by runner) by the process that they are forked from.
    `offline` are runners that get no network even if their stage asks for it. `recycle` says when a child is replaced
    by a fresh one: before every job, before a job of another owner, or only after its number of jobs. `readable` and
    `hidden` are those of `Grants`.
    `owns_database`: the connection is not shared with a coordinator, so `close` closes it.
    """

    limits: Limits
    processes: int
    prefetch: int
    inline_window: int
    heartbeat_s: float
    scratch_root: Path
    imports: tuple[str, ...] = ()
    preload: Mapping[str, tuple[str, ...]] = {}
    options: Mapping[str, Fields] = {}
    routes: Routes = {}
    offline: frozenset[str] = frozenset()
    owns_database: bool = False
    recycle: Literal["always", "owner", "jobs"] = "owner"
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    redelivery: RedeliveryLimits = RedeliveryLimits()


def options_of(options: Mapping[str, Fields], runner: str) -> Fields:
    """The options that the settings have for a runner: under its full name, else under that of its pipeline."""
    found = options.get(runner)
    return options.get(runner.partition(".")[0], {}) if found is None else found


def paths_in(options: Fields) -> list[str]:
    """The files and folders that the options of a runner name."""
    texts = [value for value in options.values() if isinstance(value, str)]
    return [text for text in texts if text.startswith("/") and Path(text).exists()]
