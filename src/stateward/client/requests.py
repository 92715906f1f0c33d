"""How an operation becomes steps: a request whose answer is read, pages, lines, an upload."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import httpx2
import msgspec

from stateward.client.steps import (
    ANYTHING,
    TRIES_MAX,
    Call,
    Listing,
    Rows,
    Source,
    Steps,
    Stream,
    given_parameters,
    lines,
    new_key,
    open_source,
    patiently,
    read,
    stream_pages,
)

T = TypeVar("T")
Row = TypeVar("Row", covariant=True)


class Listed(Protocol[Row]):
    """A document that is a list."""

    @property
    def items(self) -> Sequence[Row]:
        """What is in it."""


class Requests:
    """What every group of operations is made of: one request, a page after the other, a stream.

    What a method returns here, an asynchronous client gives awaited.
    """

    def __init__(self, url: str, *, tries: int = TRIES_MAX) -> None:
        self._url = url.rstrip("/")
        self._tries = max(1, tries)

    def __repr__(self) -> str:
        """Without the key."""
        return f"{type(self).__name__}({self._url!r})"

    @abstractmethod
    def _run(self, steps: Steps[T]) -> T:
        """Do the steps; what they end with."""

    @abstractmethod
    def _iterate(self, steps: Listing) -> Iterator[Any]:
        """Do the steps; the rows on the way."""

    def _ask(self, call: Call) -> Steps[httpx2.Response]:
        return patiently(call, tries=self._tries, url=self._url)

    def _get(self, path: str, type_: type[T], *, params: Mapping[str, Any] | None = None) -> T:
        return self._run(self._get_steps(path, type_, params))

    def _get_steps(
        self, path: str, type_: type[T], params: Mapping[str, Any] | None = None
    ) -> Steps[T]:
        return read((yield from self._ask(Call("GET", path, params or {}))), type_)

    def _list(
        self, path: str, type_: type[Listed[T]], params: Mapping[str, Any] | None = None
    ) -> list[T]:
        def steps() -> Steps[list[T]]:
            return list((yield from self._get_steps(path, type_, params)).items)

        return self._run(steps())

    def _text(self, path: str, *, params: Mapping[str, Any] | None = None) -> str:
        def steps() -> Steps[str]:
            call = Call("GET", path, params or {}, ANYTHING)
            return (yield from self._ask(call)).text

        return self._run(steps())

    def _delete(self, path: str, type_: type[T]) -> T:
        def steps() -> Steps[T]:
            answer = yield from self._ask(Call("DELETE", path))
            return read(answer, type_) if answer.content else msgspec.convert(None, type_)

        return self._run(steps())

    def _post(
        self,
        path: str,
        document: object,
        type_: type[T],
        *,
        params: Mapping[str, Any] | None = None,
        version: int | None = None,
        key: str | None = None,
        method: Literal["POST", "PUT"] = "POST",
    ) -> T:
        """Send a document; with a version, only for a record that is still that one."""
        return self._run(
            self._post_steps(
                path, document, type_, params=params, version=version, key=key, method=method
            )
        )

    def _post_steps(
        self,
        path: str,
        document: object,
        type_: type[T],
        *,
        params: Mapping[str, Any] | None = None,
        version: int | None = None,
        key: str | None = None,
        method: Literal["POST", "PUT"] = "POST",
    ) -> Steps[T]:
        sent = {"Idempotency-Key": key or new_key(), "Content-Type": "application/json"}
        if version is not None:
            sent["If-Match"] = f'"{version}"'
        content = b"" if document is None else msgspec.json.encode(document)
        call = Call(method, path, params or None, sent, content)
        return read((yield from self._ask(call)), type_)

    def _send(
        self,
        path: str,
        source: Source,
        type_: type[T],
        *,
        fields: Mapping[str, str],
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> T:
        """Upload a document with the fields of a form."""
        return self._run(
            self._send_steps(path, source, type_, fields=fields, params=params, key=key)
        )

    def _send_steps(
        self,
        path: str,
        source: Source,
        type_: type[T],
        *,
        fields: Mapping[str, str],
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Steps[T]:
        headers = {"Idempotency-Key": key or new_key()}
        with open_source(source) as (filename, file):
            start = file.tell() if file.seekable() else None
            call = Call(
                "POST",
                path,
                params or None,
                headers,
                data=fields,
                files={"file": (filename, file, "application/octet-stream")},
            )
            answer = yield from patiently(
                call,
                tries=1 if start is None else self._tries,
                url=self._url,
                restart=None if start is None else lambda: file.seek(start),
            )
            return read(answer, type_)

    def _pages(self, path: str, query: Mapping[str, Any], type_: type[Any]) -> Iterator[Any]:
        def steps() -> Listing:
            cursor: str | None = None
            while True:
                page = yield from self._get_steps(
                    path, type_, {**query, **given_parameters(cursor=cursor)}
                )
                yield Rows(page.items)
                cursor = page.next
                if cursor is None:
                    return

        return self._iterate(steps())

    def _lines(self, path: str) -> Iterator[bytes]:
        return self._iterate(stream_pages(Stream(path, lines(), is_lines=True)))

    def _bytes(self, path: str) -> Iterator[bytes]:
        return self._iterate(stream_pages(Stream(path, lambda piece: (piece,), is_lines=False)))
