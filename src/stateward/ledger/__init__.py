"""The ledger's states. The machine is the one truth; the enum gives its states a type.

`stateward.ledger` stands alone: it imports the core only.
"""

from stateward.ledger.states import LITERATURE, LedgerState

__all__ = ["LITERATURE", "LedgerState"]
