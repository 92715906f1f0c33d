"""One checkpoint, posted to one address: signed if wanted, bounded in time, redirects and proxies left alone."""

import base64
import hmac
import socket
import ssl
from contextlib import suppress
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Timer
from urllib.parse import urlsplit

POST_S_MAX = 15.0
ANSWER_BYTES_MAX = 64 << 10


def post(url: str, text: str, *, secret: bytes | None, at: float) -> None:
    """Post the checkpoint. Raises `OSError` unless the answer is 2xx, all within `POST_S_MAX`."""
    parts = urlsplit(url)
    body = text.encode()
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "User-Agent": "stateward-ledger",
        **_webhook_headers(body, secret, at),
    }
    connection = _connection(parts.scheme.lower(), str(parts.hostname), parts.port)
    # A timeout of a socket is for each read; a receiver that drips must not hold us for longer than that.
    timer = Timer(POST_S_MAX, _cut, (connection,))
    timer.daemon = True
    timer.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read(ANSWER_BYTES_MAX)
        if not 200 <= answer.status < 300:
            raise OSError(f"it answered {answer.status} {answer.reason}")
    except HTTPException as error:
        raise OSError(f"it did not answer in HTTP: {str(error) or type(error).__name__}") from error
    finally:
        timer.cancel()
        connection.close()


def _connection(scheme: str, host: str, port: int | None) -> HTTPConnection:
    if scheme == "https":
        context = ssl.create_default_context()
        return HTTPSConnection(host, port, timeout=POST_S_MAX, context=context)
    return HTTPConnection(host, port, timeout=POST_S_MAX)


def _cut(connection: HTTPConnection) -> None:
    with suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)


def _webhook_headers(body: bytes, secret: bytes | None, at: float) -> dict[str, str]:
    """The headers of Standard Webhooks: an id that is the same whenever this checkpoint is sent, and a signature."""
    name, second = f"checkpoint_{sha256(body).hexdigest()[:32]}", f"{int(at)}"
    headers = {"webhook-id": name, "webhook-timestamp": second}
    if secret is not None:
        signed = hmac.new(secret, f"{name}.{second}.".encode() + body, sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(signed).decode()}"
    return headers
