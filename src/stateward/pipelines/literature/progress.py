"""How far papers are, by the source that they come from: states, pace, time left, and sources that fail."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from stateward.core.machine import Machine
from stateward.core.model import SECOND, Micros

WINDOW_S = 600
PACE_S_MIN = 60  # what ended in the first seconds is no pace yet
RETRYING = "retrying"
SKIPPED = "skipped"  # no work was done for these, and a list that is added again has thousands
_FAILED = frozenset({"failed", RETRYING})


class SourceCount(Protocol):
    """Papers of one source in one state, counted by the database; `lately` and `errors` are of those of the window."""

    @property
    def source_type(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def lately(self) -> int: ...

    @property
    def errors(self) -> Mapping[str, int]: ...

    @property
    def due_at(self) -> Micros | None: ...

    @property
    def lately_from(self) -> Micros | None: ...


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """Papers of a source that failed within the window, and their most frequent error."""

    count: int
    error_code: str


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Papers by source and state. `per_hour` is the pace of the window; `left_seconds` is None where nothing ends.

    The window begins when the first of the papers that ended in it was added, if that is later: the pace of a list that
    was added a minute ago is that of the minute. What is skipped makes no pace.
    It is at least the time until the last retry: a source that asked to be left alone for an hour is not asked before.
    """

    total: int
    ended: int
    per_hour: int
    left_seconds: int | None
    adapters: dict[str, dict[str, int]]
    failing: dict[str, Failing]


def progress_of(counted: Iterable[SourceCount], machine: Machine, *, now: Micros) -> Progress:
    """The progress of papers that were counted, with those of the window."""
    counts: dict[str, Counter[str]] = {}
    errors: dict[str, Counter[str]] = {}
    total = ended = lately = wait_s = 0
    begun = now
    for each in counted:
        adapter = each.source_type or "file"
        counts.setdefault(adapter, Counter())[each.status] += each.count
        total += each.count
        if machine.kind.get(each.status) == "terminal":
            ended += each.count
            if each.status != SKIPPED:
                lately += each.lately
                begun = min(begun, each.lately_from or now)
        if each.status == RETRYING and each.due_at is not None:
            wait_s = max(wait_s, round((each.due_at - now) / SECOND))
        if each.status in _FAILED and each.errors:
            errors.setdefault(adapter, Counter()).update(each.errors)
    passed_s = min(max((now - begun) / SECOND, PACE_S_MIN), WINDOW_S)
    return Progress(
        total=total,
        ended=ended,
        per_hour=round(lately * 3600 / passed_s),
        left_seconds=max(wait_s, round((total - ended) * passed_s / lately)) if lately else None,
        adapters={name: _order_states(counts[name], machine) for name in sorted(counts)},
        failing={
            name: Failing(count=each.total(), error_code=each.most_common(1)[0][0])
            for name, each in sorted(errors.items())
        },
    )


def _order_states(counts: Counter[str], machine: Machine) -> dict[str, int]:
    """States in the order in which papers pass them."""
    return {
        state: counts[state]
        for state in sorted(counts, key=lambda each: machine.order.get(each, len(machine.order)))
    }
