"""The state machine of this pipeline, as a value."""

from stateward.ledger import LITERATURE as LITERATURE
