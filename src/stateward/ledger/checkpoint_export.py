"""Exports a checkpoint to a place that the owner of this disk does not own: a folder or an http(s) address.

One attempt, and no queue: a later checkpoint covers the lines of every earlier one, so the caller (a command in
a crontab, the service each night) says what failed and comes again with a newer one.

An address confirms with 2xx. Redirects are not followed and proxies not used. With a secret, posts are signed as in
Standard Webhooks. A folder must exist: a share that is not mounted is a failure, and not an empty folder of that name.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from stateward import http_client
from stateward.core.errors import InvalidRequest
from stateward.core.webhook_signing import signed_headers
from stateward.definition.section import PLAIN_ADDRESS, is_plain_address
from stateward.ledger.disk import Disk, wall_clock, write_atomically
from stateward.proofs.checkpoints import parse_checkpoint

ERROR_CHARS_MAX = 300
POST_S_MAX = 15.0
RESPONSE_BYTES_MAX = 64 << 10
"""Nothing in the response matters but its status; a longer one is not read to its end."""


def export_checkpoint(
    checkpoint: str, destination: str, *, secret: str | None = None, clock: Callable[[], float] = wall_clock,
    disk: Disk | None = None,
) -> str:  # fmt: skip
    """Why the destination has not got the checkpoint, as a sentence; empty if it has. `secret` signs what is posted."""
    parse_checkpoint(checkpoint)
    data = checkpoint.encode()
    secrets = () if secret is None else (secret.strip(),)
    try:
        if is_address(destination):
            _post(destination, data, secrets, second=int(clock()))
            return ""
        folder = Path(destination)
        if not folder.is_dir():
            raise OSError(f"the folder {folder} is not there; is it mounted?")
        path = folder / checkpoint_name(checkpoint)
        if not path.exists() or path.read_bytes() != data:
            write_atomically(disk or Disk(), path, data)
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        return "".join(char if char.isprintable() else "?" for char in reason[:ERROR_CHARS_MAX])
    return ""


def checkpoint_name(checkpoint: str) -> str:
    """The name of a file with this checkpoint; no two have the same, so none replaces another."""
    origin, size, _ = parse_checkpoint(checkpoint)
    name = re.sub(r"[^A-Za-z0-9.]+", "-", origin)
    return f"checkpoint-{name}-{size}-{sha256(checkpoint.encode()).hexdigest()[:8]}.txt"


def _post(url: str, body: bytes, secrets: tuple[str, ...], *, second: int) -> None:
    """Post a checkpoint with the headers of Standard Webhooks; the id is the same whenever it is sent."""
    message_id = f"checkpoint_{sha256(body).hexdigest()[:32]}"
    headers = signed_headers(message_id, second=second, body=body, secrets=secrets)
    headers |= {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "stateward-ledger"}
    try:
        reply = http_client.post(
            url, body, headers, timeout_s=POST_S_MAX, body_bytes_max=RESPONSE_BYTES_MAX
        )
    except TimeoutError:
        raise OSError(f"it did not answer within {POST_S_MAX:g} s") from None
    if not 200 <= reply.status < 300:
        phrases = {status.value: status.phrase for status in HTTPStatus}
        raise OSError(f"it answered {reply.status} {phrases.get(reply.status, '')}".rstrip())


def is_address(destination: str) -> bool:
    """Whether a destination is an http(s) address."""
    return destination.partition(":")[0].lower() in ("http", "https")


def check_destination(destination: str, ledger: Path) -> None:
    """Refuse what cannot be a destination, or proves nothing because it is the ledger itself."""
    if is_address(destination):
        if not is_plain_address(destination):
            raise InvalidRequest(
                f"{destination!r:.200} is no address to post to: it is {PLAIN_ADDRESS}"
            )
    elif not destination or "://" in destination or "\x00" in destination:
        raise InvalidRequest(
            f"{destination!r:.200} is no destination for checkpoints: name a folder, or an http or https address"
        )
    elif Path(destination).resolve().is_relative_to(ledger.resolve()):
        raise InvalidRequest(
            f"{destination} is inside the ledger and proves nothing there; name a folder on another disk or machine"
        )
