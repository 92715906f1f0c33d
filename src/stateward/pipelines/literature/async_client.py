"""The client of `/literature` for asyncio: every method of `LiteratureClient`, awaited."""

from stateward.async_client import AsyncClient
from stateward.pipelines.literature.client import LiteratureOperations


class AsyncLiteratureClient(LiteratureOperations, AsyncClient):
    """A connection to a Stateward service that also reads papers, for asyncio."""
