"""The client of `/workflows` for asyncio: every method of `WorkflowClient`, awaited."""

from stateward.async_client import AsyncClient
from stateward.pipelines.contracts.client import WorkflowOperations


class AsyncWorkflowClient(WorkflowOperations, AsyncClient):
    """A connection to a Stateward service that also drives contracts, for asyncio."""
