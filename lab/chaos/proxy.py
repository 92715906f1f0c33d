"""A small TCP proxy between the processes and a server, to be told how badly to behave.

Each process gets a `Link`, a port of its own on the loopback address, so that one can be cut off while others are
well. A link passes bytes on to the server, a database's unix socket or a port of this machine; it can delay them, hold
them back, reset connections, or take none. All links of a `Switchboard` run on one asyncio loop in a thread of their
own. It must never listen on anything but the loopback address.
"""

import asyncio
import re
import socket
import struct
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, Self, TypeVar

import msgspec

LOOPBACK = "127.0.0.1"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
FAILURE = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
PIECE_BYTES = 65_536
HOLD_STEP_S = 0.02
START_S_MAX = 10.0

T = TypeVar("T")
Target = Path | int
"""A unix socket, or a port of the loopback address."""


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """What a link does with every piece of bytes."""

    latency_s: tuple[float, float] | None = None
    reset_odds: float = 0.0
    tear_odds: float = 0.0
    """How often half of a piece of an answer comes through, and then the connection ends."""
    is_holding: bool = False
    is_refusing: bool = False
    is_failing: bool = False
    """HTTP: each request of a new connection is read to its end and answered with 500, and not passed on."""


WELL = Behaviour()


class Link:
    """One port, and what comes through it."""

    def __init__(self, switchboard: "Switchboard", target: Target, rng: Random) -> None:
        self.behaviour = WELL
        self.port = 0
        self._switchboard = switchboard
        self._target = target
        self._rng = rng
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen on any free port."""
        self._server = await asyncio.start_server(self._meet, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def behave(self, behaviour: Behaviour) -> None:
        """From the next piece on, do this."""
        self.behaviour = behaviour

    def reset(self) -> int:
        """Tear every connection down at once, as a router does that was restarted; how many there were."""
        return self._switchboard.call(self._reset)

    def _reset(self) -> int:
        writers = list(self._writers)
        for writer in writers:
            _abort(writer)
        return len(writers) // 2

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.behaviour.is_refusing:
            _abort(writer)
            return
        if self.behaviour.is_failing:
            await self._fail(reader, writer)
            return
        try:
            there, back = await self._server_connection()
        except OSError:  # the server is down: a client hears what it would hear from the server
            _abort(writer)
            return
        ends = {writer, back}
        self._writers |= ends
        try:
            await asyncio.gather(
                self._pass_on(reader, back), self._pass_on(there, writer, is_answer=True)
            )
        finally:
            self._writers -= ends
            for end in ends:
                end.close()

    async def _server_connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, int):
            return await asyncio.open_connection(LOOPBACK, self._target)
        return await asyncio.open_unix_connection(str(self._target))

    async def _fail(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a request as a server that is broken."""
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, OSError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                if b"100-continue" in head.lower():
                    writer.write(CONTINUE)
                found = LENGTH.search(head)
                left = 0 if found is None else int(found[1])
                while left > 0 and (piece := await reader.read(PIECE_BYTES)):
                    left -= len(piece)
                writer.write(FAILURE)
                await writer.drain()
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        is_answer: bool = False,
    ) -> None:
        with suppress(ConnectionError, OSError):
            while piece := await reader.read(PIECE_BYTES):
                await self._linger()
                if is_answer and self._rng.random() < self.behaviour.tear_odds:
                    writer.write(piece[: len(piece) // 2])
                    writer.close()  # after that half
                    return
                if self._rng.random() < self.behaviour.reset_odds:
                    self._reset()
                    return
                writer.write(piece)
                await writer.drain()
        with suppress(ConnectionError, OSError, RuntimeError):
            writer.write_eof()

    async def _linger(self) -> None:
        if self.behaviour.latency_s is not None:
            await asyncio.sleep(self._rng.uniform(*self.behaviour.latency_s))
        while self.behaviour.is_holding:  # noqa: ASYNC110 - told from another thread
            await asyncio.sleep(HOLD_STEP_S)

    async def close(self) -> None:
        """Stop listening and hang up."""
        self._reset()
        if self._server is not None:
            self._server.close()


class Switchboard:
    """All links to one server."""

    def __init__(self, target: Target, *, rng: Random) -> None:
        self._target = target
        self._rng = rng
        self._links: list[Link] = []
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="switchboard", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for link in self._links:
            self._wait_for(link.close())
        self._wait_for(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_S_MAX)
        self._loop.close()

    def link(self) -> Link:
        """A new link, open."""
        link = Link(self, self._target, self._rng)
        self._wait_for(link.open())
        self._links.append(link)
        return link

    def call(self, act: Callable[[], T]) -> T:
        """Do something on the loop, where the connections live."""

        async def on_loop() -> T:
            return act()

        return self._wait_for(on_loop())

    def _wait_for(self, task: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(task, self._loop).result(START_S_MAX)


def _abort(writer: asyncio.StreamWriter) -> None:
    """Hang up with a reset: without lingering, the kernel sends RST instead of the polite end."""
    end = writer.get_extra_info("socket")
    with suppress(OSError):
        if end is not None and end.family != socket.AF_UNIX:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _cancel_all() -> None:
    own = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not own]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
