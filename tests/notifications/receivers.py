"""Real HTTP servers that receive webhooks, and misbehave as a test says."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from standardwebhooks.webhooks import Webhook as Verifier

from tests.waiting import WAIT_S_MAX


class Post(NamedTuple):
    """What came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Answer(NamedTuple):
    """What to say to a post."""

    status: int = 204
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    held: threading.Event | None = None
    """Not said before this is set."""


class Receiver:
    """Keeps what it is given; answers each post with the next of `answers`, and then always with `then`."""

    def __init__(self, *answers: Answer | int, then: Answer | int = 204) -> None:
        self.answers = list(answers)
        self.then = then
        self.posts: list[Post] = []
        self.url = ""

    def answer(self) -> Answer:
        said = self.answers.pop(0) if self.answers else self.then
        return Answer(said) if isinstance(said, int) else said

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.posts]

    def verified(self, secret: str) -> int:
        """How many posts the independent library believes; it raises for the first that it does not."""
        for post in self.posts:
            Verifier(secret).verify(post.body, post.headers)
        return len(self.posts)


@contextmanager
def receiving(
    *answers: Answer | int,
    then: Answer | int = 204,
    wrap: Callable[[socket.socket], socket.socket] | None = None,
) -> Iterator[Receiver]:
    """A receiver at an address of its own; `wrap` puts TLS around it."""
    receiver = Receiver(*answers, then=then)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(size)
            if len(body) < size:
                return  # who posted was killed while it sent: nothing was received
            receiver.posts.append(Post(self.path, headers, body))
            answer = receiver.answer()
            if answer.held is not None:
                answer.held.wait(WAIT_S_MAX)
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # who posted has left
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    if wrap is not None:
        server.socket = wrap(server.socket)
    scheme = "http" if wrap is None else "https"
    receiver.url = f"{scheme}://127.0.0.1:{server.server_port}/hook"
    with served(server):
        yield receiver


@contextmanager
def served(server: ThreadingHTTPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def take_request(connection: socket.socket) -> None:
    """Read all of a post: to close a connection with unread bytes would take back what was said over it."""
    head, size, body = b"", 0, b""
    while b"\r\n\r\n" not in head or len(body) < size:
        piece = connection.recv(65_536)
        if not piece:
            return
        head += piece
        names, _, body = head.partition(b"\r\n\r\n")
        lines = (line.partition(b":") for line in names.lower().split(b"\r\n"))
        size = next((int(value) for name, _, value in lines if name == b"content-length"), 0)


@contextmanager
def saying(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does what `talk` does with each connection, for those that do not speak HTTP; its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=converse, args=(connection,), daemon=True).start()

    def converse(connection: socket.socket) -> None:
        with connection:
            try:
                take_request(connection)
                talk(connection)
            except OSError:
                pass

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        listener.close()
