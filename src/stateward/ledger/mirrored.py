"""Lines of a ledger that mirrors a store: which fields of a transition stand where. `engine.mirror` writes them."""

import msgspec

from stateward.core.model import SECOND, Json, Transition
from stateward.ledger.record import LedgerAuditRecord, LedgerLine

MIRRORED = "stateward"
"""The source of every line of a mirror; under another name its position would be 0 again."""


def mirrored_fields(record: LedgerAuditRecord | LedgerLine) -> dict[str, Json]:
    """The fields of the transition, by name, that a line of a mirror holds (`engine.mirror` writes it)."""
    found: dict[str, Json] = {
        "record_id": record.doc_id,
        "machine": record.adapter,
        "source": record.old_state,
        "target": record.new_state,
        # The ledger stores seconds as a float, which is precise to the microsecond until the year 2106.
        "at": round(record.timestamp * SECOND),
        "actor": record.actor,
        "seq": record.source_seq,
        **record.metadata,
    }
    found["metadata"] = found.pop("facts", None)
    return found


def mirrored_transition(line: LedgerLine) -> Transition:
    """The transition that a line of a mirror holds. Raises `msgspec.ValidationError`."""
    return msgspec.convert(mirrored_fields(line), Transition)
