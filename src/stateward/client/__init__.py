"""The HTTP API as Python: typed, patient, synchronous (`Client`) and for asyncio (`stateward.async_client`).

    from stateward.client import Client

    with Client("http://127.0.0.1:8420") as client:
        sent = client.submit("january.pdf", machine="invoices")
        print(client.wait(sent.record.id).status)

Lists are iterators that fetch page after page. What may be repeated is repeated: a server that is busy or away is
asked again after the time it names, or after a growing one; a POST carries an `Idempotency-Key`, so it is done once
however often it is sent. Everything else that goes wrong is an `ApiProblem` with the problem in it.

`Operations` defines every method once, as steps (`steps`); a client says how a step is done.
"""

import time
from collections.abc import Generator, Iterator
from typing import Any, Self, TypeVar

import httpx2

from stateward.client.administration import AdministrationOperations
from stateward.client.records import RecordOperations
from stateward.client.reviews import ReviewOperations
from stateward.client.steps import (
    TIMEOUT_S,
    TRIES_MAX,
    ApiProblem,
    Call,
    Listing,
    Rows,
    ServerUnreachable,
    Source,
    Steps,
    Stream,
    connection_options,
    refuse,
)

__all__ = ["ApiProblem", "Client", "Operations", "ServerUnreachable", "Source"]
T = TypeVar("T")


class Operations(RecordOperations, ReviewOperations, AdministrationOperations):
    """Every operation of the API that is of no pipeline in particular, each defined once for every kind of client."""


class Client(Operations):
    """A connection to a Stateward service."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES_MAX,
    ) -> None:
        super().__init__(url, tries=tries)
        self._http = httpx2.Client(**connection_options(self._url, key, timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _run(self, steps: Steps[T]) -> T:
        given: object = None
        while True:
            try:
                step = steps.send(given)
            except StopIteration as end:
                result: T = end.value
                return result
            given = self._do(step)

    def _do(self, step: Call | float) -> object:
        if isinstance(step, float):
            time.sleep(step)
            return None
        try:
            return self._http.request(**step._asdict())
        except httpx2.TransportError as error:
            return error

    def _iterate(self, steps: Listing) -> Iterator[Any]:
        given: object = None
        while True:
            try:
                step = steps.send(given)
            except StopIteration:
                return
            given = None
            if isinstance(step, Rows):
                yield from step.rows
            elif isinstance(step, Stream):
                given = yield from self._pieces(step)
            else:
                given = self._do(step)

    def _pieces(self, stream: Stream) -> Generator[Any, None, object]:
        """What a stream gives; why it ended, as the steps are told."""
        http = httpx2.Client(timeout=self._http.timeout) if stream.is_link else self._http
        try:
            with http.stream("GET", **stream.request()) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    refuse(answer)
                if answer.is_redirect:
                    return answer.headers["Location"]
                for piece in answer.iter_lines() if stream.is_lines else answer.iter_bytes():
                    yield from stream.feed(piece)
        except httpx2.TransportError as error:
            return error
        finally:
            if stream.is_link:
                http.close()
        return None
