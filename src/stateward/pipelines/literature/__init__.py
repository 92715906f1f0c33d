"""Literature: the machine of the ledger, run as a pipeline."""

from stateward.ledger import LITERATURE as LITERATURE
