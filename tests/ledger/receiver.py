"""A real HTTP server that takes checkpoints, and can be told to be bad at it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import NamedTuple


class Post(NamedTuple):
    """What came in."""

    path: str
    headers: dict[str, str]
    body: str


class Receiver:
    """Keeps what it is given; answers each post with the next of `answers`, and then with 204."""

    def __init__(self, *answers: int, drip_s: float = 0.0) -> None:
        self.answers = list(answers)
        self.drip_s = drip_s
        self.posts: list[Post] = []
        self.url = ""

    def take(self, handler: BaseHTTPRequestHandler) -> int:
        size = int(handler.headers["Content-Length"])
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.posts.append(Post(handler.path, headers, handler.rfile.read(size).decode()))
        return self.answers.pop(0) if self.answers else 204

    @property
    def bodies(self) -> list[str]:
        return [each.body for each in self.posts]


@contextmanager
def receiving(*answers: int, drip_s: float = 0.0) -> Iterator[Receiver]:
    """A receiver at an address of its own."""
    receiver = Receiver(*answers, drip_s=drip_s)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = receiver.take(self)
            if receiver.drip_s:
                for byte in chain(b"HTTP/1.1 200 ", repeat(ord("x"))):
                    try:
                        self.wfile.write(bytes([byte]))
                    except OSError:
                        return
                    time.sleep(receiver.drip_s)
            if 300 <= status < 400:
                self.send_response(status)
                self.send_header("Location", f"{receiver.url}/elsewhere")
            else:
                self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
