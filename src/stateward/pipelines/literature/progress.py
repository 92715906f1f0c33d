"""How far papers are, by the source that they come from: states, pace, time left, and sources that fail."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from stateward.core.machine import Machine
from stateward.core.model import SECOND, Micros, Record
from stateward.pipelines.literature import SOURCE_TYPE

WINDOW_S = 600
_FAILED = frozenset({"failed", "retrying"})


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """Papers of a source that failed within the window, and their most frequent error."""

    count: int
    error_code: str


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Papers by source and state. `per_hour` is the pace of the window; `left_seconds` is None where nothing ends."""

    total: int
    ended: int
    per_hour: int
    left_seconds: int | None
    adapters: dict[str, dict[str, int]]
    failing: dict[str, Failing]


def progress_of(records: Iterable[Record], machine: Machine, *, now: Micros) -> Progress:
    """The progress of these papers."""
    counts: dict[str, Counter[str]] = {}
    errors: dict[str, Counter[str]] = {}
    lately = 0
    for record in records:
        adapter = str(record.labels.get(SOURCE_TYPE) or "file")
        counts.setdefault(adapter, Counter())[record.status] += 1
        if now - record.entered_at > WINDOW_S * SECOND:
            continue
        lately += machine.kind.get(record.status) == "terminal"
        if record.status in _FAILED:
            errors.setdefault(adapter, Counter())[record.error_code or "?"] += 1
    total = sum(each.total() for each in counts.values())
    ended = sum(
        count
        for each in counts.values()
        for state, count in each.items()
        if machine.kind.get(state) == "terminal"
    )
    return Progress(
        total=total,
        ended=ended,
        per_hour=round(lately * 3600 / WINDOW_S),
        left_seconds=round((total - ended) * WINDOW_S / lately) if lately else None,
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
