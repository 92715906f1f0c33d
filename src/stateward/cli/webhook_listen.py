"""A small receiver of webhooks for trying things out: it prints what comes, and whether the signature is right."""

import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

from stateward.cli.context import CliContext
from stateward.cli.output import hand_over, write, write_json_lines
from stateward.core.errors import InvalidRequest
from stateward.core.webhook_signing import is_signed, key_of

BODY_BYTES_MAX = 1 << 20


def receive(
    context: CliContext, *, host: str, port: int, secret: str | None, count: int | None, answer: int
) -> None:
    """Print every message that comes, until there were `count` of them."""
    if secret is not None:
        key_of(secret)
    seen = _Seen(context, secret=secret, answer=answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            size = int(length) if length.isascii() and length.isdecimal() else 0
            body = self.rfile.read(min(size, BODY_BYTES_MAX))
            self.send_response(answer)
            self.send_header("Content-Length", "0")
            self.end_headers()
            seen.show({name.lower(): value for name, value in self.headers.items()}, body)

        def log_message(self, *_: object) -> None:
            """Nothing: what came is printed once."""

    try:
        server = HTTPServer((host, port), Handler)
    except OSError as error:
        raise InvalidRequest(f"cannot listen at {host}:{port}: {error.strerror or error}") from None
    with server:
        url = f"http://{host}:{server.server_port}/"
        if context.is_for_programs:
            write_json_lines([{"url": url}])
            hand_over()
        context.say(f"listening at {url} (Ctrl-C ends)")
        while count is None or seen.count < count:
            server.handle_request()


class _Seen:
    """What came so far."""

    def __init__(self, context: CliContext, *, secret: str | None, answer: int) -> None:
        self._context, self._secret, self._answer = context, secret, answer
        self.count = 0

    def show(self, headers: dict[str, str], body: bytes) -> None:
        self.count += 1
        now_s = int(time.time())  # noqa: TID251 - a receiver has a clock of its own
        is_right = (
            None
            if self._secret is None
            else is_signed(headers, body, secret=self._secret, now_s=now_s)
        )
        try:
            content: object = json.loads(body)
        except ValueError:
            content = body.decode("utf-8", "replace")
        message = {"id": headers.get("webhook-id"), "is_signed": is_right, "body": content}
        if self._context.is_for_programs:
            write_json_lines([message])
        else:
            words = {
                None: "signature not checked",
                True: "signature right",
                False: "SIGNATURE WRONG",
            }
            write(f"{message['id']}  {words[is_right]}  {json.dumps(content, ensure_ascii=False)}")
        hand_over()
