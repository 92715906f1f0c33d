# Made by `python tools/async_stub.py` from the operations of the client; do not edit.

from collections.abc import AsyncIterator

from stateward.async_client import AsyncClient

class AsyncExperimentClient(AsyncClient):
    def bundle(self, record_id: str) -> AsyncIterator[bytes]: ...
