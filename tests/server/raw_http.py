"""Bytes on a connection to the service, as no client library would send them."""

import socket
import struct
from contextlib import suppress

from tests.server.api_client import ApiClient
from tests.waiting import WAIT_S_MAX


def connection(api: ApiClient, *, unread_bytes_max: int | None = None) -> socket.socket:
    host, port = api.url.removeprefix("http://").split(":")
    made = socket.socket()
    made.settimeout(WAIT_S_MAX)
    if unread_bytes_max is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, unread_bytes_max)
    made.connect((host, int(port)))
    # Closed with a reset: no port waits for a lost packet.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return made


def ask(api: ApiClient, *pieces: bytes) -> bytes:
    """All that the service says to these bytes, until it closes the connection."""
    said = b""
    with connection(api) as made, suppress(ConnectionError):
        for piece in pieces:
            made.sendall(piece)
        while piece := made.recv(65536):
            said += piece
    return said
