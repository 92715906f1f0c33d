"""The sixteen states of a document in the ledger, and the machine that says how they follow each other."""

from enum import StrEnum
from importlib.resources import files

from stateward.core.declare import from_yaml

LITERATURE = from_yaml(
    (files(__package__) / "literature.yaml").read_text("utf-8"), source="literature.yaml"
)


class LedgerState(StrEnum):
    """Where a document is. What each state means stands beside it in `literature.yaml`."""

    PENDING = "pending"
    FETCHING = "fetching"
    FETCHED = "fetched"
    PARSING = "parsing"
    PARSED = "parsed"
    VALIDATING = "validating"
    VALIDATED = "validated"
    IR_BUILDING = "ir_building"
    IR_READY = "ir_ready"
    EMBEDDING = "embedding"
    INDEXED = "indexed"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    SKIPPED = "skipped"
    LEGACY = "legacy"
