"""Attempts as spans: the stages that ended, read from the history for a collector of traces."""

import msgspec

from stateward.core.model import Fields
from stateward.storage.database import Database, Row
from stateward.telemetry.tracing import TracedAttempt

# A transition that ends an attempt names the version at which the attempt began: the one before it.
_ENDED = """
SELECT t.record_id, t.machine, t.source, t.target, t.trigger, t.at, t.metadata, p.at
FROM transitions t JOIN transitions p ON p.record_id = t.record_id AND p.version = t.version - 1
WHERE t.seq > :after AND t.seq <= :until AND t.attempt = t.version - 1 ORDER BY t.seq
"""
_decode_fields = msgspec.json.Decoder(Fields).decode


def attempts_ended(database: Database, *, after: int, until: int) -> list[TracedAttempt]:
    """Every attempt that ended with one of these transitions."""
    return [_attempt(row) for row in database.rows(_ENDED, after=after, until=until)]


def _attempt(row: Row) -> TracedAttempt:
    record_id, machine, source, target, trigger, at, metadata, began = row
    facts = _decode_fields(str(metadata))
    code, trace, retries = (facts.get(key) for key in ("error_code", "trace", "retry_count"))
    return TracedAttempt(
        name=f"{machine!s}.{str(trigger).partition('.')[0]}",
        record_id=str(record_id),
        began=int(began or 0),
        ended=int(at or 0),
        trace=trace if isinstance(trace, str) else None,
        facts={
            "stateward.machine": str(machine),
            "stateward.status": str(source),
            "stateward.next_status": str(target),
            "stateward.retry_count": retries if isinstance(retries, int) else 0,
        },
        error=None if code is None else str(code),
    )
