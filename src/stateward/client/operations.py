"""Every operation of the HTTP API that is of no pipeline in particular."""

from stateward.client.administration import AdministrationOperations
from stateward.client.records import RecordOperations
from stateward.client.reviews import ReviewOperations


class Operations(RecordOperations, ReviewOperations, AdministrationOperations):
    """Every operation of a Stateward service, each defined once for every kind of client."""
