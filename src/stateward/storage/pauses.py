"""Stages that are not dispatched for now, because a person said so."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from stateward.core.model import Micros
from stateward.storage.database import TOPIC_READY, Asked, Database, Known, Table
from stateward.storage.row_seals import sealed_change

PAUSES = Table(
    "pauses",
    {"machine": "text", "stage": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("machine", "stage"),
)


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that is not dispatched for now; stage '' is the whole machine."""

    machine: str
    stage: str
    at: Micros
    actor: str
    reason: str | None


class Pauses:
    """The pauses in force. Each change is sealed in the audit log, in its own transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, pause: Pause) -> None:
        """Stop dispatching a stage; attempts that run are not stopped. Pausing again replaces the reason."""
        with sealed_change(self._database, PAUSES.name, [pause.machine], at=pause.at):
            self._database.delete(PAUSES, [(pause.machine, pause.stage)])
            row = (pause.machine, pause.stage, pause.at, pause.actor, pause.reason)
            self._database.insert(PAUSES, [row])

    def lift(self, machine: str, stage: str, *, now: Micros) -> bool:
        """Dispatch a stage again; whether it was paused."""
        with sealed_change(self._database, PAUSES.name, [machine], at=now):
            (was_paused,) = self._database.delete(PAUSES, [(machine, stage)])
            self._database.notify([TOPIC_READY])
            return was_paused

    def all(self) -> list[Pause]:
        """Every pause in force."""
        found = self._database.rows(
            "SELECT machine, stage, at, actor, reason FROM pauses ORDER BY machine, stage"
        )
        return [Pause(**PAUSES.named(row)) for row in found]

    def ask(self) -> Asked:
        """Ask for the (machine, stage) that are paused; stage '' is the whole machine."""
        return self._database.ask("SELECT machine, stage FROM pauses")

    def open_stages(self, stages: Sequence[tuple[str, str]]) -> dict[tuple[str, str], bool]:
        """Which of these (machine, stage) are not paused, and for each whether records wait for it."""
        return stages_waited_for(self.ask_open_stages(stages))

    def ask_open_stages(self, stages: Sequence[tuple[str, str]]) -> Asked:
        if not stages:
            return Known([])
        given = {f"p{n}": name for n, name in enumerate(name for pair in stages for name in pair)}
        return self._database.ask(_open_stages_sql(len(stages)), **given)


def stages_waited_for(asked: Asked) -> dict[tuple[str, str], bool]:
    """The answer to `Pauses.ask_open_stages`."""
    return {(str(machine), str(stage)): bool(waits) for machine, stage, waits in asked.rows()}


# One statement for all stages, asked at every turn; a short list of machines makes few distinct counts.
@lru_cache
def _open_stages_sql(count: int) -> str:
    values = ", ".join(f"(:p{2 * n}, :p{2 * n + 1})" for n in range(count))
    return (
        "SELECT v.column1, v.column2, EXISTS"
        " (SELECT 1 FROM records WHERE machine = v.column1 AND waiting = v.column2)"
        f" FROM (VALUES {values}) AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM pauses WHERE machine = v.column1 AND stage IN ('', v.column2))"
    )
