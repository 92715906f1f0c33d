"""A chat endpoint on a real socket, whose every answer is told beforehand: it can fail, stall and talk nonsense."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Handler", dict[str, Any]], None]


class Endpoint(ThreadingHTTPServer):
    """The server. `script` is the answers in order; the last one is repeated."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *script: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.released = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def count(self) -> int:
        return len(self.requests)

    def next_reply(self, body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        with self._lock:
            place = len(self.requests)
            self.requests.append(body)
            self.headers.append(headers)
        return self.script[min(place, len(self.script) - 1)]


class Handler(BaseHTTPRequestHandler):
    server: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.next_reply(body, dict(self.headers))(self, body)

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(*script: Reply) -> Iterator[Endpoint]:
    endpoint = Endpoint(*script)
    thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.released.set()
        endpoint.shutdown()
        thread.join()
        endpoint.server_close()


def completion(content: str, *, finish: str = "stop", **more: str) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280}
    return json.dumps({"model": "stub-1", "choices": [choice], "usage": usage, **more}).encode()


def says(content: str | dict[str, object], **more: str) -> Reply:
    text = content if isinstance(content, str) else json.dumps(content)
    return lambda handler, _: handler.send(200, completion(text, **more))


def answers_raw(body: bytes) -> Reply:
    return lambda handler, _: handler.send(200, body)


def refuses(status: int, body: str = "", **headers: str) -> Reply:
    return lambda handler, _: handler.send(status, body.encode(), **headers)


def stalls(handler: Handler, _: dict[str, Any]) -> None:
    """No answer at all until the test is over."""
    handler.server.released.wait(60)
    handler.close_connection = True


def hangs_up(handler: Handler, _: dict[str, Any]) -> None:
    handler.close_connection = True


def drips(handler: Handler, _: dict[str, Any]) -> None:
    """A body that never ends, a byte at a time."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _count in range(600):
        if handler.server.released.wait(0.05):
            return
        handler.wfile.write(b" ")


def tears_off(handler: Handler, _: dict[str, Any]) -> None:
    """Half of the body that it promised."""
    whole = completion("{}")
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(whole)))
    handler.end_headers()
    handler.wfile.write(whole[: len(whole) // 2])
    handler.close_connection = True


def gives(**values: tuple[str, str]) -> Reply:
    """A model that gives these values with their quotes, and null for every other field of the schema."""

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        schema = body["response_format"]["json_schema"]["schema"]
        said: dict[str, object] = {
            name: [] if form.get("type") == "array" else None
            for name, form in schema["properties"].items()
        }
        said |= {name: {"value": value, "quote": quote} for name, (value, quote) in values.items()}
        handler.send(200, completion(json.dumps(said)))

    return reply
