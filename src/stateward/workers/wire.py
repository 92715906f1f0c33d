"""Frames of JSON over a socket pair that is never waited for: what comes from a child is bounded before it is read."""

import socket
from collections.abc import Iterable, Iterator
from itertools import chain

from stateward.workers import child_protocol as protocol
from stateward.workers.results import (
    CHUNK_BYTES_MAX,
    KIB,
    Limits,
)

READ_BYTES = 64 * KIB  # what a pipe holds on Linux unless it was enlarged
# Reads from one child before the others get their turn.
READS_MAX = 16
SEND_BYTES = 64 * KIB
# For what a frame holds besides one chunk or item: the JSON around it, or a whole log line (its facts
# alone may have LINE_BYTES_MAX).
FRAME_SLACK_BYTES = 256 * KIB


class ProtocolViolation(Exception):
    """A child sent what the SDK never sends: it is broken or hostile, and is killed."""


class Wire:
    """The worker's end of the channel: never blocks, and refuses a frame by its length before it is collected."""

    def __init__(self, ours: socket.socket, *, frame_bytes_max: int) -> None:
        self.is_ended = False
        self._socket = ours
        self._frame_bytes_max = frame_bytes_max
        self._incoming = bytearray()
        self._taken = 0  # of these, by frames that were cut off already
        self._received = 0
        self._payloads: Iterator[bytes] = iter(())
        self._sending = memoryview(b"")

    @property
    def wants_write(self) -> bool:
        return bool(self._sending) and not self.is_ended

    @property
    def has_more(self) -> bool:
        """Whether bytes followed the last message: the child sent more than it was asked for."""
        return len(self._incoming) > self._taken

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, payloads: Iterable[bytes]) -> None:
        """Queue payloads and send what goes at once.

        They are encoded a few at a time as the socket takes them: inputs may lie in files and exceed memory.
        """
        self._payloads = chain(self._payloads, payloads)
        if not self._sending:
            self._sending = self._next()
        self.flush()

    def flush(self) -> None:
        try:
            while self._sending and not self.is_ended:
                sent = self._socket.send(self._sending)
                self._sending = self._sending[sent:] or self._next()
        except BlockingIOError:
            return
        except OSError:  # the other end is closed: what it has sent before can still be read
            self._sending = memoryview(b"")

    def receive(self) -> Iterator[bytes]:
        """The payloads that are complete, within the bytes of one turn: others are waiting too."""
        for _ in range(READS_MAX):
            yield from self._complete()
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                return
            except ConnectionError:
                # Reset, because the child died with our bytes unread: an end as any other.
                data = b""
            if not data:
                self.is_ended = True
                return
            self._incoming += data
            self._received += len(data)
        yield from self._complete()

    def take_size(self) -> int:
        """How many bytes came since this was last asked."""
        size, self._received = self._received, 0
        return size

    def close(self) -> None:
        self.is_ended = True
        self._socket.close()

    def _next(self) -> memoryview:
        data = b""
        for payload in self._payloads:
            data += protocol.frame(payload)
            if len(data) >= SEND_BYTES:
                break
        return memoryview(data)

    def _complete(self) -> Iterator[bytes]:
        """Cut whole frames off what was received: a length of four bytes, big-endian, then the payload."""
        incoming = self._incoming
        while (start := self._taken + protocol.HEADER_BYTES) <= len(incoming):
            size = int.from_bytes(incoming[self._taken : start], "big")
            if size > self._frame_bytes_max:
                raise ProtocolViolation(f"it sent what is not a message, or one of {size} bytes")
            end = start + size
            if len(incoming) < end:
                break
            self._taken = end
            yield bytes(incoming[start:end])
        del incoming[: self._taken]
        self._taken = 0


def whole_frames(data: bytes) -> Iterator[bytes]:
    """The payloads of what was read from a pipe into which frames are written whole."""
    start = 0
    while start < len(data):
        begin = start + protocol.HEADER_BYTES
        end = begin + int.from_bytes(data[start:begin], "big")
        if end > len(data):
            raise ProtocolViolation("it wrote what is not a line to its log")
        yield data[begin:end]
        start = end


def frame_bytes_max(limits: Limits) -> int:
    """The longest frame that is accepted: what a child can make the worker hold in memory at once."""
    return max(CHUNK_BYTES_MAX, limits.item_bytes_max) + FRAME_SLACK_BYTES
