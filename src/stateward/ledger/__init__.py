"""The ledger: the history of every document, one JSON line per change, tamper-evident and fast to open.

`stateward.ledger` works without the rest of Stateward: it needs no database and no service. Start with `Ledger.open`;
the files are described in `stateward.ledger.ledger`. A name is looked up when
it is first used, so that a pipeline which needs the state machine alone does not load the writer.
"""

from typing import TYPE_CHECKING

from stateward.lazy_names import look_up_in

if TYPE_CHECKING:
    from stateward.core.errors import (
        Damage,
        LedgerDamaged,
        LedgerError,
        LedgerLocked,
        LedgerMismatch,
        LedgerPoisoned,
    )
    from stateward.ledger.checkpoint_export import export_checkpoint
    from stateward.ledger.copying import copy_ledger
    from stateward.ledger.ledger import ImportWriter, Ledger
    from stateward.ledger.manifest import DeltaInfo, SnapshotInfo
    from stateward.ledger.record import LedgerAuditRecord, LedgerDocument, LedgerEntry
    from stateward.ledger.repairs import RepairStep, repair
    from stateward.ledger.states import (
        DOCUMENT_MACHINE,
        LedgerState,
        is_retryable,
        is_terminal,
        valid_next_states,
    )
    from stateward.ledger.summary import Durations, Summary
    from stateward.ledger.verification import LedgerVerification, verify
    from stateward.proofs.checkpoints import (
        CheckpointSigner,
        CheckpointVerifier,
        generate_key,
        parse_checkpoint,
        parse_signer,
        parse_verifier,
        verify_proof,
    )
    from stateward.proofs.merkle import InclusionProof

_MODULES = {
    "stateward.core.errors": (
        "Damage", "LedgerDamaged", "LedgerError", "LedgerLocked", "LedgerMismatch", "LedgerPoisoned",
    ),
    "stateward.ledger.checkpoint_export": ("export_checkpoint",),
    "stateward.proofs.checkpoints": (
        "CheckpointSigner", "CheckpointVerifier", "generate_key", "parse_checkpoint", "parse_signer",
        "parse_verifier", "verify_proof",
    ),
    "stateward.ledger.copying": ("copy_ledger",),
    "stateward.ledger.ledger": ("ImportWriter", "Ledger"),
    "stateward.ledger.manifest": ("DeltaInfo", "SnapshotInfo"),
    "stateward.proofs.merkle": ("InclusionProof",),
    "stateward.ledger.record": ("LedgerAuditRecord", "LedgerDocument", "LedgerEntry"),
    "stateward.ledger.repairs": ("RepairStep", "repair"),
    "stateward.ledger.states": ("DOCUMENT_MACHINE", "LedgerState", "is_retryable", "is_terminal", "valid_next_states"),
    "stateward.ledger.summary": ("Durations", "Summary"),
    "stateward.ledger.verification": ("LedgerVerification", "verify"),
}  # fmt: skip

__all__ = [
    "DOCUMENT_MACHINE", "CheckpointSigner", "CheckpointVerifier", "Damage", "DeltaInfo", "Durations", "ImportWriter",
    "InclusionProof", "Ledger", "LedgerAuditRecord", "LedgerDamaged", "LedgerDocument", "LedgerEntry", "LedgerError",
    "LedgerLocked", "LedgerMismatch", "LedgerPoisoned", "LedgerState", "LedgerVerification", "RepairStep",
    "SnapshotInfo", "Summary", "copy_ledger", "export_checkpoint", "generate_key", "is_retryable", "is_terminal",
    "parse_checkpoint", "parse_signer", "parse_verifier", "repair", "valid_next_states", "verify", "verify_proof",
]  # fmt: skip


if not TYPE_CHECKING:  # a type checker would take every name for one that exists
    __getattr__ = look_up_in(__name__, _MODULES)


def __dir__() -> list[str]:
    """What completion shows."""
    return sorted(__all__)
