"""The ledger: the history of every document, one JSON line per change, tamper-evident and fast to open.

`stateward.ledger` works without the rest of Stateward: it needs no database and no service. Start with `Ledger.open`;
the files are described in `stateward.ledger.ledger`.
"""

from stateward.core.errors import (
    Damage,
    LedgerDamaged,
    LedgerError,
    LedgerLocked,
    LedgerMismatch,
    LedgerPoisoned,
)
from stateward.ledger.checkpoint_export import CheckpointDelivery, CheckpointOutbox
from stateward.ledger.checkpoints import (
    CheckpointSigner,
    CheckpointVerifier,
    generate_key,
    parse_checkpoint,
    parse_signer,
    parse_verifier,
    verify_proof,
)
from stateward.ledger.ledger import ImportWriter, Ledger
from stateward.ledger.maintenance import MaintenanceOptions, MaintenanceThread
from stateward.ledger.manifest import DeltaInfo, SnapshotInfo
from stateward.ledger.merkle import InclusionProof
from stateward.ledger.record import LedgerAuditRecord, LedgerDocument, LedgerEntry
from stateward.ledger.repair import RepairStep, repair
from stateward.ledger.schedule import MaintenanceSchedule, last_occurrence, next_occurrence
from stateward.ledger.states import (
    DOCUMENT_MACHINE,
    LedgerState,
    is_retryable,
    is_terminal,
    valid_next_states,
)
from stateward.ledger.summary import Durations, Summary
from stateward.ledger.verify import LedgerVerification, verify

__all__ = [
    "DOCUMENT_MACHINE", "CheckpointDelivery", "CheckpointOutbox", "CheckpointSigner", "CheckpointVerifier", "Damage",
    "DeltaInfo", "Durations", "ImportWriter", "InclusionProof", "Ledger", "LedgerAuditRecord", "LedgerDamaged",
    "LedgerDocument", "LedgerEntry", "LedgerError", "LedgerLocked", "LedgerMismatch", "LedgerPoisoned", "LedgerState",
    "LedgerVerification", "MaintenanceOptions", "MaintenanceSchedule", "MaintenanceThread", "RepairStep",
    "SnapshotInfo", "Summary", "generate_key", "is_retryable", "is_terminal", "last_occurrence", "next_occurrence",
    "parse_checkpoint", "parse_signer", "parse_verifier", "repair", "valid_next_states", "verify", "verify_proof",
]  # fmt: skip
