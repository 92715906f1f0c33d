"""The HTTP API for programs that run on asyncio: every method of `Client`, awaited.

    from stateward.async_client import AsyncClient

    async with AsyncClient("http://127.0.0.1:8420") as client:
        sent = await client.submit("january.pdf", machine="invoices")
        async for record in client.records("status:error"):
            print(record.id)

There is one definition: the methods are those of `Client`, made here from it, and so are their types (the stub beside
this module, which a test compares). Each call runs in a thread of this client, so retries, pages and answers are the
same; at most `at_once` calls run at a time, and one that is cancelled ends by itself. It must never have a method that
`Client` does not have.
"""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, get_origin

from stateward.client import TIMEOUT_S, TRIES_MAX, Client

AT_ONCE = 32
OWN = frozenset({"close"})
_END = object()


class AsyncClient:
    """A connection to a Stateward service, for asyncio."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES_MAX,
        at_once: int = AT_ONCE,
    ) -> None:
        self._client = Client(url, key=key, timeout_s=timeout_s, tries=tries)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="stateward-client")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        """Without the key."""
        return f"Async{self._client!r}"

    async def close(self) -> None:
        """Let go of the connection; calls under way are waited for."""
        await asyncio.to_thread(self._threads.shutdown)
        self._client.close()

    async def _run(self, act: Callable[..., Any], *given: Any, **named: Any) -> Any:  # noqa: ANN401 - any method
        call = functools.partial(act, *given, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def is_listing(method: Callable[..., Any]) -> bool:
    """Whether a method of `Client` gives one thing after another."""
    return get_origin(inspect.signature(method).return_annotation) is Iterator


def _awaited(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def call(self: AsyncClient, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - any method
        return await self._run(method, self._client, *given, **named)

    return call


def _iterated(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def call(self: AsyncClient, *given: Any, **named: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - any method
        rows = await self._run(method, self._client, *given, **named)
        while (row := await self._run(next, rows, _END)) is not _END:
            yield row

    return call


for _name, _method in vars(Client).items():
    if inspect.isfunction(_method) and not _name.startswith("_") and _name not in OWN:
        setattr(AsyncClient, _name, (_iterated if is_listing(_method) else _awaited)(_method))
