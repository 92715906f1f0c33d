"""Attempts as spans: what the log says of the stages that ended, told to a collector of traces."""

import msgspec

from stateward.core.model import Fields, Micros
from stateward.storage.database import Database, Row
from stateward.telemetry.tracing import Attempt

_ENDED = """
SELECT t.record_id, t.machine, t.source, t.target, t.trigger, t.at, t.metadata, p.at
FROM transitions t JOIN transitions p ON p.record_id = t.record_id AND p.version = t.version - 1
WHERE t.seq > :after AND t.seq <= :until AND t.attempt = t.version - 1 ORDER BY t.seq
"""
_decode_fields = msgspec.json.Decoder(Fields).decode


def ended_attempts(database: Database, *, after: int, until: int) -> list[Attempt]:
    """Every attempt that ended in this part of the log."""
    return [_attempt(row) for row in database.rows(_ENDED, after=after, until=until)]


def _attempt(row: Row) -> Attempt:
    record_id, machine, source, target, trigger, at, metadata, began = row
    facts = _decode_fields(str(metadata))
    code, trace = facts.get("error_code"), facts.get("trace")
    told: dict[str, str | int] = {
        "stateward.machine": str(machine),
        "stateward.status": str(source),
        "stateward.next_status": str(target),
        "stateward.retry_count": _count(facts.get("retry_count")),
    }
    return Attempt(
        name=f"{machine!s}.{str(trigger).partition('.')[0]}",
        record_id=str(record_id),
        began=_micros(began),
        ended=_micros(at),
        trace=trace if isinstance(trace, str) else None,
        facts=told,
        error=None if code is None else str(code),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _micros(value: object) -> Micros:
    return value if isinstance(value, int) else 0
