"""What a ledger raises on purpose, under the names that this room uses.

The classes stand in the one tree of `core.errors`. A wrong move is `InvalidTransition`, a wrong value
`InvalidRequest`: those are the caller's, and nothing was written.
"""

from stateward.core.errors import Damage as Finding
from stateward.core.errors import (
    LedgerDamaged,
    LedgerError,
    LedgerLocked,
    LedgerMismatch,
    LedgerPoisoned,
)

__all__ = [
    "Finding",
    "LedgerDamaged",
    "LedgerError",
    "LedgerLocked",
    "LedgerMismatch",
    "LedgerPoisoned",
]
