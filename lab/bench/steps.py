"""The five steps of a record through two stages, and what a store must do to take them; the floor's own words."""

import json
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from stateward.core.model import Micros
from stateward.testing.bench.product import ACTOR, LAST, machine_name

MACHINE = machine_name("process")
WORKER = "floor-1-000000"
EPOCH = 0

Name: TypeAlias = Literal["first", "second"]
Cells: TypeAlias = Sequence[Sequence[str | int]]


class Live(NamedTuple):
    """What the floor knows of a record between two steps."""

    id: str
    created_at: Micros
    head: str


class Step(NamedTuple):
    """One of the five moves, with all that is the same for every record."""

    version: int
    source: str | None
    target: str
    trigger: str
    actor: str
    attempt: int | None
    metadata: str
    fields: tuple[str, ...]
    outputs: str
    waiting: Name | None = None
    is_running: bool = False

    @property
    def fields_of(self) -> Callable[[str], str]:
        """The domain fields as JSON, for a record's id."""
        return ("{{" + ",".join(self.fields) + "}}").format


STARTED = json.dumps({"retry_count": 0, "worker": WORKER}, separators=(",", ":"))
COUNTED = '{"count":1}'
LOG_1, LOG_2 = '"first_log_ref":"/logs/first/{0}"', '"second_log_ref":"/logs/second/{0}"'
ITEMS, ROWS = '"items_count":1', '"rows_count":1'
BY_RUNNER = f"runner:{WORKER}"

OPEN = Step(0, None, "queued", f"{MACHINE}.created", ACTOR, None, "{}", (), "{}", waiting="first")
START: dict[Name, Step] = {
    "first": Step(
        1, "queued", "first_running", "first.started", "coordinator", 1, STARTED, (LOG_1,), "{}",
        is_running=True,
    ),
    "second": Step(
        3, "first_done", "second_running", "second.started", "coordinator", 3, STARTED,
        (LOG_1, ITEMS, LOG_2), '{"first":1}', is_running=True,
    ),
}  # fmt: skip
COMPLETE: dict[Name, Step] = {
    "first": Step(
        2, "first_running", "first_done", "first.completed", BY_RUNNER, 1, COUNTED, (LOG_1, ITEMS),
        '{"first":1}', waiting="second",
    ),
    "second": Step(
        4, "second_running", LAST, "second.completed", BY_RUNNER, 3, COUNTED,
        (LOG_1, ITEMS, ROWS, LOG_2), '{"first":1,"second":3}',
    ),
}  # fmt: skip


class Writer(Protocol):
    """A store that takes the floor's rows; a batch is a few statements.

    `has_inbox`: whether the product's worker reports by events here, or tells its coordinator directly.
    """

    has_inbox: bool

    def begin(self) -> None:
        """Begin a transaction, and take the log for it."""

    def end(self, count: int, head: str) -> None:
        """Set the head of the lane, and make the transaction durable."""

    def queue(self, stage: Name, limit: int) -> list[Live]:
        """Who waits for a stage, first things first."""

    def open(self, records: Cells) -> None:
        """Write new records."""

    def move(self, step: Step, records: Cells, *, expected: int) -> None:
        """Compare-and-set: the records that are at the expected version are left as this step leaves them."""

    def append(self, transitions: Cells, step: Step) -> None:
        """Write transitions."""

    def send(self, work: Cells) -> None:
        """Write work."""

    def finish(self, work: Cells, outputs: Cells, items: Cells, events: Cells) -> None:
        """Delete work; write outputs, items and events, where there are any."""

    def settle(self, events: int) -> None:
        """Delete the events that were written last."""

    def close(self) -> None:
        """Let go of the store."""


def quoted(text: str | None) -> str:
    """A text of ours in a statement."""
    return "NULL" if text is None else f"'{text}'"
