"""The client of `/experiments` for asyncio: every method of `ExperimentClient`, awaited."""

from stateward.async_client import AsyncClient
from stateward.pipelines.experiments.client import ExperimentOperations


class AsyncExperimentClient(ExperimentOperations, AsyncClient):
    """A connection to a Stateward service that also publishes research data, for asyncio."""
