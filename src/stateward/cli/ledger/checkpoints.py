"""Checkpoints and nights of a ledger: `checkpoint`, `new-key` and `keep`, as doors of `stateward.ledger`."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.options import reading, writing
from stateward.cli.output import hand_over as flush
from stateward.cli.output import plural, write_text

if TYPE_CHECKING:
    from datetime import datetime, time, tzinfo

    from stateward.ledger import (
        Delivery,
        Ledger,
        Outbox,
        Signer,
    )

LOOK_S = 20.0
KEY_MODE = 0o600
KEY_BYTES_MAX = 4096

F = TypeVar("F", bound=Callable[..., Any])
a_ledger = click.argument("ledger_path", metavar="DIR", type=click.Path(path_type=Path))


def handing_over(command: F) -> F:
    """The options of every command that hands checkpoints over."""
    a_file = click.Path(path_type=Path)
    for option in (
        click.option(
            "--webhook-secret", "secret", metavar="FILE", type=a_file,
            help="Sign what is posted (Standard Webhooks) with the whsec_… in this file.",
        ),
        click.option(
            "--sign-with", "key", metavar="FILE", type=a_file,
            help="Sign the checkpoint with the key in this file (see ledger new-key).",
        ),
        click.option(
            "--origin", metavar="NAME",
            help="The name of the log in its checkpoints, such as example.org/ledger; otherwise that of the key.",
        ),
        click.option(
            "--hand-over", "places", metavar="WHERE", multiple=True,
            help="Give it to a folder on another machine or to an http(s) address; kept and tried until it is there.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


class Handing:
    """How checkpoints are named, signed and handed over, as a command was told."""

    def __init__(
        self, *, places: tuple[str, ...], origin: str | None, key: Path | None, secret: Path | None
    ) -> None:
        from stateward.ledger import read_signer
        from stateward.ledger.maintenance import ORIGIN

        self.places = places
        self.signer: Signer | None = None if key is None else read_signer(_secret_of(key))
        self.origin = origin or (self.signer.name if self.signer else ORIGIN)
        self._secret = None if secret is None else _secret_of(secret)

    def checkpoint(self, context: CliContext, ledger: "Ledger", *, write: bool) -> str:
        """The checkpoint of a ledger."""
        signer = self.signer
        return ledger.checkpoint(
            origin=self.origin,
            sign_as=signer.name if signer else None,
            private_key=signer.seed if signer else None,
            write=write,
            progress=lambda what, count: context.progress(f"{what}: {count:,}"),
        )

    def outbox(self, ledger_path: Path) -> "Outbox | None":
        """Where checkpoints wait; None if nobody gets them."""
        from stateward.ledger import Outbox
        from stateward.ledger.disk import wall_clock

        if not self.places:
            return None
        return Outbox(ledger_path, self.places, clock=wall_clock, secret=self._secret)


def _secret_of(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(KEY_BYTES_MAX).decode("utf-8", "replace").strip()


# One checkpoint


@click.command(
    "checkpoint",
    cls=Command,
    examples=[
        "stateward ledger checkpoint ledger/ --out checkpoint.txt",
        "stateward ledger checkpoint ledger/ --sign-with key --hand-over /mnt/other/checkpoints",
        "stateward ledger checkpoint ledger/ --hand-over https://audit.example.org/checkpoints --json",
    ],
)
@a_ledger
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write it there instead of to stdout."
)  # fmt: skip
@handing_over
@pass_context
def checkpoint(context: CliContext, /, *, ledger_path: Path, out: Path | None, **how: Any) -> Exit:  # noqa: ANN401
    """Print a checkpoint, or hand it over.

    Three lines of text: a name, the number of lines, the root over them (C2SP tlog-checkpoint), and a signature if one
    is wanted. Only a copy on another machine proves anything against somebody who owns this disk. Ends with 1 if a
    place has not got it yet: it waits in the ledger, and the next checkpoint or `ledger keep` tries again.
    """
    handing = Handing(**how)
    with reading(context, ledger_path) as found:
        text = handing.checkpoint(context, found, write=False)
    if out is not None:
        out.write_text(text, "utf-8")
        context.say(f"the checkpoint is in {out}; keep it on another machine")
    outbox = handing.outbox(ledger_path)
    done: list[Delivery] = []
    if outbox is not None:
        outbox.add(text)
        done = outbox.deliver(is_forced=True)
    if context.json:
        answer: dict[str, object] = {"checkpoint": text}
        answer |= {"out": str(out)} if out is not None else {}
        context.emit(answer | ({"handed_over": done} if outbox is not None else {}))
    else:
        if out is None and outbox is None:
            write_text(text)
        _tell(context, done)
    return Exit.OK if all(each.is_done for each in done) else Exit.FOUND_PROBLEMS


def _tell(context: CliContext, done: "list[Delivery]") -> None:
    for each in done:
        if each.is_done:
            context.say(f"{each.place} has all checkpoints; {each.handed} of them now")
        else:
            waiting = plural(each.waiting, "checkpoint")
            context.say(f"{each.place} has not got {waiting}: {each.error or 'it is tried later'}")


@click.command(
    "new-key", cls=Command, examples=["stateward ledger new-key example.org/ledger --out key"]
)
@click.argument("name")
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), required=True, help="A new file for the private half."
)  # fmt: skip
@pass_context
def new_key(context: CliContext, *, name: str, out: Path) -> None:
    """Make a key that checkpoints are signed with.

    The private half goes to a file that only you can read; the public half is printed, for everybody who verifies.
    Needs the extra `signing`: pip install 'stateward[signing]'.
    """
    from stateward.core.errors import InvalidRequest
    from stateward.ledger import new_key as made

    signer, verifier = made(name)
    try:
        fd = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, KEY_MODE)
    except FileExistsError:
        raise InvalidRequest(f"{out} is there already; name a new file") from None
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(f"{signer}\n")
    if context.json:
        context.emit({"out": str(out), "public": verifier})
    else:
        write_text(verifier)
        context.say(f"the private half is in {out}; give the line above to whoever verifies")


# Every night


@click.command(
    "keep",
    cls=Command,
    examples=[
        "stateward ledger keep ledger/",
        "stateward ledger keep ledger/ --at 03:30 --zone Europe/Berlin --hand-over /mnt/other/checkpoints",
        "stateward ledger keep ledger/ --once",
    ],
)
@a_ledger
@click.option("--at", metavar="HH:MM", default="00:00", show_default=True, help="When, each day.")
@click.option(
    "--zone",
    metavar="NAME",
    help="In whose time, as Europe/Berlin; otherwise that of this machine.",
)
@click.option("--once", is_flag=True, help="Do it now and end; for cron and timers.")
@handing_over
@pass_context
def keep(
    context: CliContext, /, *, ledger_path: Path, at: str, zone: str | None, once: bool, **how: Any  # noqa: ANN401
) -> Exit:  # fmt: skip
    """Compact a ledger each night, and hand it over.

    For ledgers whose writers come and go: it takes the lock only while it works. While another process writes, that one
    has to compact (keeping=Keeping() of Ledger.open); its checkpoints are handed over all the same. Runs until it is
    told to stop; what it missed it makes up for at its start.
    """
    from stateward.ledger.schedule import time_of_day, zone_named

    when, where = time_of_day(at), None if zone is None else zone_named(zone)
    night = Night(context, ledger_path, Handing(**how))
    if once:
        return night.now()
    with _until_told() as told:
        return night.each(at=when, zone=where, told=told)


class Night:
    """What is done each night, and the waiting in between."""

    def __init__(self, context: CliContext, path: Path, handing: Handing) -> None:
        self._context, self._path, self._handing = context, path, handing
        self._outbox = handing.outbox(path)

    def now(self) -> Exit:
        """Do it once; 1 if a place has not got everything."""
        done = self._work()
        return Exit.OK if all(each.is_done for each in done) else Exit.FOUND_PROBLEMS

    def each(self, *, at: "time", zone: "tzinfo | None", told: Event) -> Exit:
        """Do it each night until told to stop."""
        from stateward.core.errors import InvalidRequest, LedgerError
        from stateward.ledger import Housekeeping, last_time

        now = _now()
        due = Housekeeping(now, zone=zone, at=at)
        with reading(self._context, self._path) as found:
            if found.kept_at < last_time(now, zone=zone, at=at).timestamp():
                due.due_at = now
        self._context.say(
            f"the next upkeep of {self._path} is due at {due.due_at:%Y-%m-%d %H:%M %Z}"
        )
        while not told.wait(self._patience_s(due.due_at)):
            now = _now()
            try:
                if due.is_due(now):
                    self._work()
                    due.succeeded(now)
                elif self._is_waited_for(now):
                    _tell(self._context, self._deliver())
            except (LedgerError, InvalidRequest, OSError) as error:
                due.failed(now)
                self._context.say(
                    f"it failed: {error}; the next try is at {due.due_at:%H:%M:%S %Z}"
                )
        return Exit.OK

    def _work(self) -> "list[Delivery]":
        from stateward.ledger import LedgerLocked

        made, held = None, None
        try:
            with writing(self._context, self._path) as found:
                made = found.compact(
                    progress=lambda what, done, every: self._context.progress(
                        f"{what}: {done:,} of {every:,}"
                    )
                )
                text = self._handing.checkpoint(self._context, found, write=True)
        except LedgerLocked as error:
            held = str(error)
            with reading(self._context, self._path) as found:
                text = self._handing.checkpoint(self._context, found, write=False)
        if self._outbox is not None:
            self._outbox.add(text)
        done = self._deliver()
        if self._context.json:
            self._context.emit(
                {"snapshot": made, "not_compacted": held, "checkpoint": text, "handed_over": done}
            )
            flush()
        elif held is not None:
            self._context.say(f"not compacted: {held}")
        elif made is None:
            self._context.say("nothing is new since the last snapshot")
        else:
            self._context.say(
                f"{made.file} holds {plural(made.documents, 'document')} as of seq {made.last_seq:,}"
            )
        _tell(self._context, done)
        return done

    def _deliver(self) -> "list[Delivery]":
        return [] if self._outbox is None else self._outbox.deliver()

    def _is_waited_for(self, now: "datetime") -> bool:
        wakes_at = self._outbox.wakes_at if self._outbox is not None else None
        return wakes_at is not None and wakes_at <= now.timestamp()

    def _patience_s(self, due_at: "datetime") -> float:
        """Never long: a wall clock may be set."""
        waits = [LOOK_S, (due_at - _now()).total_seconds()]
        if self._outbox is not None and (wakes_at := self._outbox.wakes_at) is not None:
            waits.append(wakes_at - _now().timestamp())
        return max(0.05, min(waits))


def _now() -> "datetime":
    from datetime import UTC, datetime

    from stateward.ledger.disk import wall_clock

    return datetime.fromtimestamp(wall_clock(), UTC)


@contextmanager
def _until_told() -> Iterator[Event]:
    """Set by SIGTERM or SIGINT, as for every command that stays."""
    told = Event()
    before = {
        each: signal.signal(each, lambda *_: told.set()) for each in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield told
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


COMMANDS: tuple[click.Command, ...] = (checkpoint, new_key, keep)
