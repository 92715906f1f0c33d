"""Checkpoints handed to places that the owner of this disk does not own: each at least once, durable until then.

    ledger/handover/
      00000017.txt      a checkpoint, numbered as it came; the newest one stays
      PLACES.json       of each place: the last number it has, failures in a row, when it is tried again, and why
      ADDING, LOCK      held by whoever adds one, and by whoever is handing over

A place is a folder on another disk or machine, or an http(s) address that the text is posted to. Each place gets
every checkpoint, in order. What a place has is written down after it said that it has it, so a crash in between
hands the same checkpoint over twice, never not at all: a folder then holds the same file, and an address sees the same
`webhook-id`. A place that fails is tried again after a minute, then later each time, at most an hour, for ever;
if more than `WAITING_MAX` checkpoints wait, the oldest go, for the newer ones cover their lines.

An address answers 2xx when it has the checkpoint. Redirects are not followed and proxies not used. With a secret,
posts are signed as Standard Webhooks does it. A folder must be there: a share that is not mounted is a failure, and
not an empty folder of that name.
"""

import base64
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.ledger.disk import (
    Disk,
    discard,
    put,
    try_lock,
)
from stateward.ledger.merkle import parse_checkpoint
from stateward.ledger.schedule import BACKOFF_MAX_S, backoff_s

FOLDER = "handover"
PLACES = "PLACES.json"
PLACES_MAX = 16
WAITING_MAX = 1000
ADDING_S_MAX = 10.0
LOCK_POLL_S = 0.01
ERROR_CHARS_MAX = 300
SECRET_START = "whsec_"  # noqa: S105 - the form of a secret, not one
_NUMBERED = re.compile(r"\d{8,}\.txt")


class Place(msgspec.Struct, omit_defaults=True):
    """How far a place is: the last number it has, and what keeps it from having more."""

    number: int = 0
    failures: int = 0
    again_at: float = 0.0
    error: str = ""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of handing over to one place: `handed` now, `waiting` still, and why."""

    place: str
    handed: int
    waiting: int
    error: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the place has everything."""
        return not self.waiting


class Outbox:
    """The checkpoints of one ledger on their way to some places."""

    def __init__(
        self, ledger: Path, places: Sequence[str], *, clock: Callable[[], float], disk: Disk | None = None,
        secret: str | None = None,
    ) -> None:  # fmt: skip
        if len(places) > PLACES_MAX:
            raise InvalidRequest(f"there are at most {PLACES_MAX} places to hand over to")
        for place in places:
            check_place(place, ledger)
        self._folder = ledger / FOLDER
        self._places = tuple(dict.fromkeys(map(_steady, places)))
        self._clock, self._disk = clock, disk or Disk()
        self._secret = None if secret is None else key_of(secret)

    def add(self, checkpoint: str) -> None:
        """Keep a checkpoint until every place has it; durable when this returns."""
        parse_checkpoint(checkpoint)
        if not self._folder.exists():
            self._disk.make_dir(self._folder)
            self._disk.sync_dir(self._folder.parent)
        data = checkpoint.encode()
        with self._held("ADDING", patience_s=ADDING_S_MAX):
            numbers = self._numbers()
            newest = numbers[-1] if numbers else 0
            if numbers and self._path(newest).read_bytes() == data:
                return
            put(self._disk, self._path(newest + 1), data)
            for number in numbers[: max(0, len(numbers) + 1 - WAITING_MAX)]:
                self._disk.unlink(self._path(number))

    def deliver(self, *, is_forced: bool = False) -> list[Delivery]:
        """Hand over what each place has not, unless it failed a short while ago (`is_forced`: then too)."""
        if not self._folder.exists():
            return [Delivery(place=place, handed=0, waiting=0) for place in self._places]
        with self._held("LOCK"):
            known = self._known()
            done = [self._to(place, known, is_forced=is_forced) for place in self._places]
            self._clear(known)
            return done

    @property
    def wakes_at(self) -> float | None:
        """When a place that failed is tried again; None if nothing waits."""
        if not self._folder.exists():
            return None
        newest = max(self._numbers(), default=0)
        known = self._known()
        states = [known[place] for place in self._places]
        return min((self._again_at(each) for each in states if each.number < newest), default=None)

    def _again_at(self, state: Place) -> float:
        """When a place is tried again; at once if the clock was set back meanwhile."""
        return state.again_at if state.again_at <= self._clock() + BACKOFF_MAX_S else 0.0

    def _to(self, place: str, known: dict[str, Place], *, is_forced: bool) -> Delivery:
        state = known[place]
        waiting = [number for number in self._numbers() if number > state.number]
        handed = 0
        if waiting and (is_forced or self._clock() >= self._again_at(state)):
            for number in waiting:
                error = self._hand(place, number)
                if error:
                    state.failures += 1
                    state.error = error
                    state.again_at = self._clock() + backoff_s(state.failures)
                    self._write(known)
                    break
                state.number, state.failures, state.again_at, state.error = number, 0, 0.0, ""
                self._write(known)
                handed += 1
        left = len(waiting) - handed
        return Delivery(place=place, handed=handed, waiting=left, error=state.error if left else "")

    def _hand(self, place: str, number: int) -> str:
        """Hand one over; why it could not be, or nothing."""
        try:
            text = self._path(number).read_text("utf-8")
            parse_checkpoint(text)
        except (ValueError, InvalidRequest):
            return ""  # somebody damaged it here; the next one covers its lines
        try:
            if is_address(place):
                self._post(place, text)
            else:
                keep_in(self._disk, Path(place), text)
        except OSError as error:
            said = error.strerror or str(error) or type(error).__name__
            return "".join(char if char.isprintable() else "?" for char in said[:ERROR_CHARS_MAX])
        return ""

    def _post(self, url: str, text: str) -> None:
        from stateward.ledger.posting import post

        post(url, text, secret=self._secret, at=self._clock())

    # What is on the disk

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.txt"

    def _numbers(self) -> list[int]:
        names = (path.name for path in self._folder.iterdir())
        return sorted(int(name[:-4]) for name in names if _NUMBERED.fullmatch(name))

    def _known(self) -> dict[str, Place]:
        """What is known of each place, also of those that others hand over to.

        A list that cannot be read is as good as none: everything is handed over again.
        """
        try:
            text = (self._folder / PLACES).read_bytes()
            found = msgspec.json.decode(text, type=dict[str, Place])
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            found = {}
        return found | {place: found.get(place, Place()) for place in self._places}

    def _write(self, known: dict[str, Place]) -> None:
        put(self._disk, self._folder / PLACES, msgspec.json.encode(known) + b"\n")

    def _clear(self, known: dict[str, Place]) -> None:
        """Remove what every place has that anybody hands over to; the newest one stays: it carries the number."""
        everywhere = min((each.number for each in known.values()), default=0)
        for number in self._numbers()[:-1]:
            if number <= everywhere:
                discard(self._disk, self._path(number))

    @contextmanager
    def _held(self, name: str, *, patience_s: float = 0.0) -> Iterator[None]:
        fd = self._disk.open_slots(self._folder / name)
        try:
            until = time.monotonic() + patience_s
            while not try_lock(fd):
                if time.monotonic() >= until:
                    raise InvalidRequest(
                        f"another process is handing over the checkpoints of {self._folder.parent}; let it"
                    )
                time.sleep(LOCK_POLL_S)
            yield
        finally:
            os.close(fd)


def is_address(place: str) -> bool:
    """Whether a place is one to post to."""
    return place.partition(":")[0].lower() in ("http", "https")


def _steady(place: str) -> str:
    """A folder by its whole path, so that it is the same one wherever a command is run."""
    return place if is_address(place) else str(Path(place).absolute())


def check_place(place: str, ledger: Path) -> None:
    """Refuse what cannot be a place, or proves nothing because it is the ledger itself."""
    if is_address(place):
        try:
            parts = urlsplit(place)
            is_right = bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_right = False
        if not is_right or "@" in urlsplit(place).netloc:
            raise InvalidRequest(
                f"{place!r:.200} is no address to post to: it is http or https, with a host and without credentials"
            )
        return
    if not place or "://" in place or "\x00" in place:
        raise InvalidRequest(
            f"{place!r:.200} is no place for checkpoints: name a folder, or an http or https address"
        )
    if Path(place).resolve().is_relative_to(ledger.resolve()):
        raise InvalidRequest(
            f"{place} is inside the ledger: whoever owns that owns this; name a folder on another disk or machine"
        )


def keep_in(disk: Disk, folder: Path, text: str) -> None:
    """The checkpoint as a file of its own, durable when this returns."""
    if not folder.is_dir():
        raise OSError(f"the folder {folder} is not there; is it mounted?")
    origin, size, root = parse_checkpoint(text)
    name = re.sub(r"[^A-Za-z0-9.]+", "-", origin)
    path = folder / f"checkpoint-{name}-{size}-{root.hex()[:8]}.txt"
    if not path.exists() or path.read_bytes() != text.encode():
        put(disk, path, text.encode())


def key_of(secret: str) -> bytes:
    """The bytes of a secret that is written as Standard Webhooks has it."""
    try:
        key = base64.b64decode(secret.strip().removeprefix(SECRET_START), validate=True)
    except ValueError:
        key = b""
    if not secret.strip().startswith(SECRET_START) or len(key) < 24:
        raise InvalidRequest(
            f"a webhook secret is {SECRET_START} and at least 24 bytes in base64; this is none"
        )
    return key
