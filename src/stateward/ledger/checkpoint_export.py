"""Exports checkpoints to places that the owner of this disk does not own: each at least once, durable until then.

    ledger/handover/
      00000017.txt      a checkpoint, numbered in order of arrival; the newest one stays
      PLACES.json       per destination: the last number it has, failures in a row, next attempt, last error
      ADDING, LOCK      held by the process that adds one, and by the one that is exporting

A destination is a folder on another disk or machine, or an http(s) address that the text is posted to. Each gets
every checkpoint, in order. What a destination has is written down after it has confirmed it, so a crash in between
exports the same checkpoint twice, never not at all: a folder then holds the same file, and an address sees the same
`webhook-id`. A destination that fails is tried again after a minute, then at doubling intervals of at most an hour,
for ever. If more than `WAITING_MAX` checkpoints wait, the oldest are dropped, as newer ones cover their lines.

Adding and exporting have separate locks: an export may wait for a slow destination, and adding must not wait for that.

An address confirms with 2xx. Redirects are not followed and proxies not used. With a secret, posts are signed as in
Standard Webhooks. A folder must exist: a share that is not mounted is a failure, and not an empty folder of that name.
"""

import base64
import hmac
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from stateward import http_client
from stateward.core.errors import InvalidRequest
from stateward.ledger.checkpoints import parse_checkpoint
from stateward.ledger.disk import Disk, try_lock, unlink_if_exists, write_atomically
from stateward.ledger.schedule import BACKOFF_MAX_S, backoff_s

FOLDER = "handover"
STATE_FILE = "PLACES.json"
DESTINATIONS_MAX = 16
WAITING_MAX = 1000
ADDING_S_MAX = 10.0
LOCK_POLL_S = 0.01
"""flock has no timeout, so a lock that may be waited for is tried again and again."""
ERROR_CHARS_MAX = 300
POST_S_MAX = 15.0
RESPONSE_BYTES_MAX = 64 << 10
"""Nothing in the response matters but its status; a longer one is not read to its end."""
SECRET_START = "whsec_"  # noqa: S105 - the form of a secret, not one
SECRET_BYTES_MIN = 24
"""Standard Webhooks asks for 24 to 64 bytes."""
_NUMBERED = re.compile(r"\d{8,}\.txt")


class ExportState(msgspec.Struct, omit_defaults=True):
    """How far a destination is: the last number it has, and what keeps it from having more."""

    number: int = 0
    failures: int = 0
    again_at: float = 0.0
    error: str = ""


class CheckpointDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of exporting to one destination: how many were `handed` over now, how many wait, and why."""

    place: str
    handed: int
    waiting: int
    error: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the destination has everything."""
        return not self.waiting


class CheckpointOutbox:
    """The checkpoints of one ledger on their way to some destinations."""

    def __init__(
        self, ledger: Path, destinations: Sequence[str], *, clock: Callable[[], float], disk: Disk | None = None,
        secret: str | None = None,
    ) -> None:  # fmt: skip
        if len(destinations) > DESTINATIONS_MAX:
            raise InvalidRequest(f"there are at most {DESTINATIONS_MAX} destinations")
        for destination in destinations:
            check_destination(destination, ledger)
        self._folder = ledger / FOLDER
        # Absolute, so that a folder is the same destination wherever a command is run.
        self._destinations = tuple(
            dict.fromkeys(
                each if is_address(each) else str(Path(each).absolute()) for each in destinations
            )
        )
        self._clock, self._disk = clock, disk or Disk()
        self._secret = None if secret is None else _secret_bytes(secret)

    def add(self, checkpoint: str) -> None:
        """Keep a checkpoint until every destination has it; durable when this returns."""
        parse_checkpoint(checkpoint)
        if not self._folder.exists():
            self._disk.make_dir(self._folder)
            self._disk.sync_dir(self._folder.parent)
        data = checkpoint.encode()
        with self._locked("ADDING", wait_s=ADDING_S_MAX):
            numbers = self._numbers()
            newest = numbers[-1] if numbers else 0
            if numbers and self._path(newest).read_bytes() == data:
                return
            write_atomically(self._disk, self._path(newest + 1), data)
            for number in numbers[: max(0, len(numbers) + 1 - WAITING_MAX)]:
                self._disk.unlink(self._path(number))

    def deliver(self, *, is_forced: bool = False) -> list[CheckpointDelivery]:
        """Export what each destination does not have; one that failed lately only with `is_forced`."""
        if not self._folder.exists():
            return [
                CheckpointDelivery(place=each, handed=0, waiting=0) for each in self._destinations
            ]
        with self._locked("LOCK"):
            states = self._states()
            done = [self._export(each, states, is_forced=is_forced) for each in self._destinations]
            # What every known destination has can go, also of those that other processes export to. The newest one
            # stays, because the next one gets the number after it.
            everywhere = min((each.number for each in states.values()), default=0)
            for number in self._numbers()[:-1]:
                if number <= everywhere:
                    unlink_if_exists(self._disk, self._path(number))
            return done

    @property
    def next_attempt_at(self) -> float | None:
        """When the next attempt is due; None if nothing waits."""
        if not self._folder.exists():
            return None
        newest = max(self._numbers(), default=0)
        known = self._states()
        behind = (known[each] for each in self._destinations if known[each].number < newest)
        return min(map(self._next_attempt_at, behind), default=None)

    def _next_attempt_at(self, state: ExportState) -> float:
        # Further away than any pause: the clock was set back meanwhile.
        return state.again_at if state.again_at <= self._clock() + BACKOFF_MAX_S else 0.0

    def _export(
        self, destination: str, states: dict[str, ExportState], *, is_forced: bool
    ) -> CheckpointDelivery:
        state = states[destination]
        waiting = [number for number in self._numbers() if number > state.number]
        handed = 0
        if waiting and (is_forced or self._clock() >= self._next_attempt_at(state)):
            for number in waiting:
                error = self._export_one(destination, number)
                if error:
                    state.failures += 1
                    state.error = error
                    state.again_at = self._clock() + backoff_s(state.failures)
                else:
                    state.number, state.failures, state.again_at, state.error = number, 0, 0.0, ""
                    handed += 1
                text = msgspec.json.encode(states) + b"\n"
                write_atomically(self._disk, self._folder / STATE_FILE, text)
                if error:
                    break
        left = len(waiting) - handed
        error = state.error if left else ""
        return CheckpointDelivery(place=destination, handed=handed, waiting=left, error=error)

    def _export_one(self, destination: str, number: int) -> str:
        """Export one checkpoint; why that failed, or an empty text."""
        try:
            text = self._path(number).read_text("utf-8")
            origin, size, root = parse_checkpoint(text)
        except (ValueError, InvalidRequest):
            return ""  # the file here is damaged; the next checkpoint covers its lines
        try:
            if is_address(destination):
                self._post(destination, text.encode())
            else:
                folder = Path(destination)
                if not folder.is_dir():
                    raise OSError(f"the folder {folder} is not there; is it mounted?")
                name = re.sub(r"[^A-Za-z0-9.]+", "-", origin)
                path = folder / f"checkpoint-{name}-{size}-{root.hex()[:8]}.txt"
                if not path.exists() or path.read_bytes() != text.encode():
                    write_atomically(self._disk, path, text.encode())
        except OSError as error:
            said = error.strerror or str(error) or type(error).__name__
            return "".join(char if char.isprintable() else "?" for char in said[:ERROR_CHARS_MAX])
        return ""

    def _post(self, url: str, body: bytes) -> None:
        """Post a checkpoint with the headers of Standard Webhooks; the id is the same whenever it is sent."""
        message_id, second = f"checkpoint_{sha256(body).hexdigest()[:32]}", f"{int(self._clock())}"
        headers = {
            "Content-Type": "text/plain; charset=utf-8",
            "User-Agent": "stateward-ledger",
            "webhook-id": message_id,
            "webhook-timestamp": second,
        }
        if self._secret is not None:
            signed = hmac.digest(self._secret, f"{message_id}.{second}.".encode() + body, "sha256")
            headers["webhook-signature"] = f"v1,{base64.b64encode(signed).decode()}"
        try:
            reply = http_client.post(
                url, body, headers, timeout_s=POST_S_MAX, body_bytes_max=RESPONSE_BYTES_MAX
            )
        except TimeoutError:
            raise OSError(f"it did not answer within {POST_S_MAX:g} s") from None
        if not 200 <= reply.status < 300:
            phrases = {status.value: status.phrase for status in HTTPStatus}
            raise OSError(f"it answered {reply.status} {phrases.get(reply.status, '')}".rstrip())

    # Files

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.txt"

    def _numbers(self) -> list[int]:
        names = (path.name for path in self._folder.iterdir())
        return sorted(int(name[:-4]) for name in names if _NUMBERED.fullmatch(name))

    def _states(self) -> dict[str, ExportState]:
        """What is known of each destination, also of those that other processes export to.

        A file that cannot be read is as good as none: everything is exported again.
        """
        try:
            text = (self._folder / STATE_FILE).read_bytes()
            found = msgspec.json.decode(text, type=dict[str, ExportState])
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            found = {}
        return found | {each: found.get(each, ExportState()) for each in self._destinations}

    @contextmanager
    def _locked(self, name: str, *, wait_s: float = 0.0) -> Iterator[None]:
        fd = self._disk.open_slots(self._folder / name)
        try:
            until = time.monotonic() + wait_s
            while not try_lock(fd):
                if time.monotonic() >= until:
                    raise InvalidRequest(
                        f"another process is exporting the checkpoints of {self._folder.parent}; let it"
                    )
                time.sleep(LOCK_POLL_S)
            yield
        finally:
            os.close(fd)


def is_address(destination: str) -> bool:
    """Whether a destination is an http(s) address."""
    return destination.partition(":")[0].lower() in ("http", "https")


def check_destination(destination: str, ledger: Path) -> None:
    """Refuse what cannot be a destination, or proves nothing because it is the ledger itself."""
    if is_address(destination):
        try:
            parts = urlsplit(destination)
            is_valid = bool(parts.hostname) and (parts.port or 1) > 0 and "@" not in parts.netloc
        except ValueError:
            is_valid = False
        if not is_valid:
            raise InvalidRequest(
                f"{destination!r:.200} is no address to post to: it is http or https, with a host and without "
                "credentials"
            )
    elif not destination or "://" in destination or "\x00" in destination:
        raise InvalidRequest(
            f"{destination!r:.200} is no destination for checkpoints: name a folder, or an http or https address"
        )
    elif Path(destination).resolve().is_relative_to(ledger.resolve()):
        raise InvalidRequest(
            f"{destination} is inside the ledger and proves nothing there; name a folder on another disk or machine"
        )


def _secret_bytes(secret: str) -> bytes:
    """The bytes of a secret in the form of Standard Webhooks. The error does not repeat it."""
    try:
        key = base64.b64decode(secret.strip().removeprefix(SECRET_START), validate=True)
    except ValueError:
        key = b""
    if not secret.strip().startswith(SECRET_START) or len(key) < SECRET_BYTES_MIN:
        raise InvalidRequest(
            f"a webhook secret is {SECRET_START} and at least {SECRET_BYTES_MIN} bytes in base64; this is none"
        )
    return key
