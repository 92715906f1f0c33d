"""The client of `/experiments`: what was published, as one file."""

from collections.abc import Iterator

from stateward.client import Client, Operations
from stateward.client.steps import part


class ExperimentOperations(Operations):
    """Every operation of a service that also publishes research data, each defined once for every kind of client."""

    def bundle(self, record_id: str) -> Iterator[bytes]:
        """The ZIP of published research data, a piece at a time."""
        return self._bytes(f"/experiments/{part(record_id)}/bundle")


class ExperimentClient(ExperimentOperations, Client):
    """A connection to a Stateward service that also publishes research data."""
