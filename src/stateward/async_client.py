"""The HTTP API for programs that run on asyncio: every method of `Client`, awaited.

    from stateward.async_client import AsyncClient

    async with AsyncClient("http://127.0.0.1:8420") as client:
        sent = await client.submit("january.pdf", machine="invoices")
        async for record in client.records("status:error"):
            print(record.id)

There is one definition: the methods are those of `Operations`, which are steps, and here a step is awaited. So
requests, retries, pages and answers are the same, and a call that is cancelled is not sent any further. Their types
are in the stub beside this module, which a test compares. The bytes of a document are read from disk as they are sent.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

import httpx2

from stateward.client import Operations
from stateward.client.steps import (
    TIMEOUT_S,
    TRIES_MAX,
    Call,
    Listing,
    Rows,
    Steps,
    Stream,
    connection_options,
    refuse,
)


class AsyncClient(Operations):
    """A connection to a Stateward service, for asyncio."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES_MAX,
    ) -> None:
        super().__init__(url, tries=tries)
        self._http = httpx2.AsyncClient(**connection_options(self._url, key, timeout_s))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection."""
        await self._http.aclose()

    async def _run(self, steps: Steps[Any]) -> Any:  # noqa: ANN401 - what the steps end with
        given: object = None
        try:
            while True:
                try:
                    step = steps.send(given)
                except StopIteration as end:
                    return end.value
                given = await self._do(step)
        finally:
            steps.close()  # one that is cancelled lets go of its file

    async def _do(self, step: Call | float) -> object:
        if isinstance(step, float):
            await asyncio.sleep(step)
            return None
        try:
            return await self._http.request(**step._asdict())
        except httpx2.TransportError as error:
            return error

    async def _iterate(self, steps: Listing) -> AsyncIterator[Any]:
        given: object = None
        while True:
            try:
                step = steps.send(given)
            except StopIteration:
                return
            given = None
            if isinstance(step, Rows):
                for row in step.rows:
                    yield row
            elif isinstance(step, Stream):
                ended: list[object] = []
                async for row in self._pieces(step, ended):
                    yield row
                (given,) = ended
            else:
                given = await self._do(step)

    async def _pieces(self, stream: Stream, ended: list[object]) -> AsyncIterator[Any]:
        """What a stream gives; why it ended goes to `ended`, for an asynchronous generator returns nothing."""
        http = httpx2.AsyncClient(timeout=self._http.timeout) if stream.is_link else self._http
        try:
            async with http.stream("GET", **stream.request()) as answer:
                if answer.status_code >= 400:
                    await answer.aread()
                    refuse(answer)
                if answer.is_redirect:
                    ended.append(answer.headers["Location"])
                    return
                pieces = answer.aiter_lines() if stream.is_lines else answer.aiter_bytes()
                async for piece in pieces:
                    for row in stream.feed(piece):
                        yield row
            ended.append(None)
        except httpx2.TransportError as error:
            ended.append(error)
        finally:
            if stream.is_link:
                await http.aclose()
