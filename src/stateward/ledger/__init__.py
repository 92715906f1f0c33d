"""The ledger: every document's way, one line per change, readable by any tool, provable, quick to open.

`stateward.ledger` stands alone: it imports the core only, and is of use to a team that has nothing else of
Stateward. Begin with `Ledger.open`; the files are described in `stateward.ledger.ledger`.
"""

from stateward.ledger.checkpoint_export import Delivery, Outbox
from stateward.ledger.errors import (
    Finding,
    LedgerDamaged,
    LedgerError,
    LedgerLocked,
    LedgerMismatch,
    LedgerPoisoned,
)
from stateward.ledger.keys import (
    Signer,
    Verifier,
    check_signature,
    new_key,
    read_signer,
    read_verifier,
)
from stateward.ledger.ledger import ImportWriter, Ledger
from stateward.ledger.maintenance import Keeper, Keeping
from stateward.ledger.manifest import DeltaPart, SnapshotPart
from stateward.ledger.merkle import (
    Proof,
    is_signed_by,
    parse_checkpoint,
    verify_proof,
)
from stateward.ledger.record import Document, Entry, LedgerAuditRecord
from stateward.ledger.repair import Step, repair
from stateward.ledger.schedule import (
    Housekeeping,
    last_time,
    next_midnight,
    next_time,
)
from stateward.ledger.states import (
    LITERATURE,
    LedgerState,
    is_retryable,
    is_terminal,
    valid_next_states,
)
from stateward.ledger.summary import Durations, Summary
from stateward.ledger.verify import Verdict, verify

__all__ = [
    "LITERATURE",
    "Delivery",
    "DeltaPart",
    "Document",
    "Durations",
    "Entry",
    "Finding",
    "Housekeeping",
    "ImportWriter",
    "Keeper",
    "Keeping",
    "Ledger",
    "LedgerAuditRecord",
    "LedgerDamaged",
    "LedgerError",
    "LedgerLocked",
    "LedgerMismatch",
    "LedgerPoisoned",
    "LedgerState",
    "Outbox",
    "Proof",
    "Signer",
    "SnapshotPart",
    "Step",
    "Summary",
    "Verdict",
    "Verifier",
    "check_signature",
    "is_retryable",
    "is_signed_by",
    "is_terminal",
    "last_time",
    "new_key",
    "next_midnight",
    "next_time",
    "parse_checkpoint",
    "read_signer",
    "read_verifier",
    "repair",
    "valid_next_states",
    "verify",
    "verify_proof",
]
