"""The ledger: every document's way, one line per change, readable by any tool, provable, quick to open.

`stateward.ledger` stands alone: it imports the core only, and is of use to a team that has nothing else of
Stateward. Begin with `Ledger.open`; the files are described in `stateward.ledger.ledger`.
"""

from stateward.ledger.errors import (
    Finding,
    LedgerDamaged,
    LedgerError,
    LedgerLocked,
    LedgerMismatch,
    LedgerPoisoned,
)
from stateward.ledger.ledger import ImportDoor, Ledger
from stateward.ledger.manifest import DeltaPart, SnapshotPart
from stateward.ledger.merkle import Proof, is_signed_by, parse_checkpoint, verify_proof
from stateward.ledger.record import Document, Entry, LedgerAuditRecord
from stateward.ledger.repair import Step, Verdict, repair, verify
from stateward.ledger.schedule import Housekeeping, next_midnight
from stateward.ledger.states import (
    LITERATURE,
    LedgerState,
    is_retryable,
    is_terminal,
    valid_next_states,
)
from stateward.ledger.summary import Durations, Summary

__all__ = [
    "LITERATURE",
    "DeltaPart",
    "Document",
    "Durations",
    "Entry",
    "Finding",
    "Housekeeping",
    "ImportDoor",
    "Ledger",
    "LedgerAuditRecord",
    "LedgerDamaged",
    "LedgerError",
    "LedgerLocked",
    "LedgerMismatch",
    "LedgerPoisoned",
    "LedgerState",
    "Proof",
    "SnapshotPart",
    "Step",
    "Summary",
    "Verdict",
    "is_retryable",
    "is_signed_by",
    "is_terminal",
    "next_midnight",
    "parse_checkpoint",
    "repair",
    "valid_next_states",
    "verify",
    "verify_proof",
]
