"""Sources that fail or stand still: records of one kind of document that failed lately, or are past their time.

One record that fails is its own fault, and has its own alert; many of one source within an hour are that of the source.
"""

import msgspec

from stateward.core.model import CANCELLED, SECOND, Micros
from stateward.storage.database import Database

WINDOW: Micros = 3600 * SECOND
FAILED_MIN = 10
# Records past their time that are looked at. The limit also keeps SQLite from reading all records, finished ones too,
# in the order of the groups.
LATE_MAX = 100_000
GROUPS_MAX = 200


class FailingSource(msgspec.Struct, frozen=True, kw_only=True):
    """Records of a source that failed within the window, with their most frequent error, or that are overdue."""

    machine: str
    source_type: str
    failed: int = 0
    error_code: str = ""
    overdue: int = 0

    @property
    def name(self) -> str:
        """The source for people."""
        return f"{self.machine}/{self.source_type}"

    @property
    def sentence(self) -> str:
        """What is wrong with it."""
        failed = f"{self.failed} failed within an hour, mostly {self.error_code}"
        overdue = f"{self.overdue} are past their time"
        return ", ".join(([failed] if self.failed else []) + ([overdue] if self.overdue else []))


def failing_sources(database: Database, *, now: Micros, overdue_us: Micros) -> list[FailingSource]:
    """Sources of which several records failed within the last hour, or are past their time by so much."""
    failed = database.rows(
        "SELECT machine, labels ->> 'source_type', error_code, count(*) FROM records"
        " WHERE error_code IS NOT NULL AND error_code <> :cancelled AND entered_at >= :since"
        " AND labels ->> 'source_type' IS NOT NULL"
        " GROUP BY 1, 2, 3 ORDER BY count(*) DESC, 1, 2, 3"
        f" LIMIT {GROUPS_MAX}",
        cancelled=CANCELLED,
        since=now - WINDOW,
    )
    late = database.rows(
        "SELECT machine, labels ->> 'source_type', count(*) FROM"
        f" (SELECT machine, labels FROM records WHERE due_at < :before LIMIT {LATE_MAX}) AS late"
        f" WHERE labels ->> 'source_type' IS NOT NULL GROUP BY 1, 2 LIMIT {GROUPS_MAX}",
        before=now - overdue_us,
    )
    found: dict[tuple[str, str], FailingSource] = {}
    for machine, source, code, count in failed:  # the most frequent error of a source comes first
        key = (str(machine), str(source))
        known = found.get(key) or FailingSource(
            machine=key[0], source_type=key[1], error_code=str(code)
        )
        found[key] = msgspec.structs.replace(known, failed=known.failed + int(count or 0))
    found = {
        key: each if each.failed >= FAILED_MIN else msgspec.structs.replace(each, failed=0)
        for key, each in found.items()
    }
    for machine, source, count in late:
        key = (str(machine), str(source))
        known = found.get(key) or FailingSource(machine=key[0], source_type=key[1])
        found[key] = msgspec.structs.replace(known, overdue=int(count or 0))
    return [each for _, each in sorted(found.items()) if each.failed or each.overdue]
