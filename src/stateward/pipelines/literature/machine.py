"""The state machine of this pipeline, as a value."""

from stateward.ledger import DOCUMENT_MACHINE as DOCUMENT_MACHINE
