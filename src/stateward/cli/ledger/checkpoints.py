"""Checkpoints and daily maintenance of a ledger: `stateward ledger checkpoint`, `new-key` and `maintain`."""

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
from stateward.cli.ledger.options import ledger_argument, line_progress, reading, writing
from stateward.cli.output import hand_over as flush
from stateward.cli.output import plural, write_text

if TYPE_CHECKING:
    from datetime import datetime, time, tzinfo

    from stateward.ledger import CheckpointDelivery, CheckpointOutbox, Ledger

WAIT_S_MAX = 20.0
"""The schedule is on the wall clock, which may be set while we wait."""
WAIT_S_MIN = 0.05
KEY_MODE = 0o600
KEY_BYTES_MAX = 4096
RENAMED_FLAGS = {"--hand-over": "--export-to"}

F = TypeVar("F", bound=Callable[..., Any])


def export_options(command: F) -> F:
    """The options of every command that exports checkpoints."""
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
            "--export-to", "destinations", metavar="DESTINATION", multiple=True,
            help="Export it to a folder on another machine or to an http(s) address; retried until it is there.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


class CheckpointExport:
    """How checkpoints are named, signed and exported, as the options of a command say."""

    def __init__(
        self,
        *,
        destinations: tuple[str, ...],
        origin: str | None,
        key: Path | None,
        secret: Path | None,
    ) -> None:
        from stateward.ledger import parse_signer

        self._destinations = destinations
        self._signer = None if key is None else parse_signer(_read_key(key))
        self._origin = origin
        self._secret = None if secret is None else _read_key(secret)

    def checkpoint(self, context: CliContext, ledger: "Ledger", *, write: bool) -> str:
        """The checkpoint of a ledger."""
        progress = line_progress(context)
        return ledger.checkpoint(
            origin=self._origin, signer=self._signer, write=write, progress=progress
        )

    def outbox(self, ledger_path: Path) -> "CheckpointOutbox | None":
        """Where checkpoints wait; None if there is no destination."""
        from stateward.ledger import CheckpointOutbox
        from stateward.ledger.disk import wall_clock

        if not self._destinations:
            return None
        return CheckpointOutbox(
            ledger_path, self._destinations, clock=wall_clock, secret=self._secret
        )


def _read_key(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(KEY_BYTES_MAX).decode("utf-8", "replace").strip()


@click.command(
    "checkpoint",
    cls=Command,
    examples=[
        "stateward ledger checkpoint ledger/ --out checkpoint.txt",
        "stateward ledger checkpoint ledger/ --sign-with key --export-to /mnt/other/checkpoints",
        "stateward ledger checkpoint ledger/ --export-to https://audit.example.org/checkpoints --json",
    ],
    renamed=RENAMED_FLAGS,
)
@ledger_argument
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write it there instead of to stdout."
)  # fmt: skip
@export_options
@pass_context
def checkpoint(context: CliContext, /, *, ledger_path: Path, out: Path | None, **how: Any) -> Exit:  # noqa: ANN401
    """Print a checkpoint, or export it.

    Three lines of text: a name, the number of lines, the root over them (C2SP tlog-checkpoint), and a signature with
    --sign-with. Only a copy on another machine proves anything against the owner of this disk. Ends with 1 if a
    destination has not got it: it waits in the ledger, and the next checkpoint or `ledger maintain` tries again.
    """
    export = CheckpointExport(**how)
    with reading(context, ledger_path) as found:
        text = export.checkpoint(context, found, write=False)
    if out is not None:
        out.write_text(text, "utf-8")
        context.say(f"the checkpoint is in {out}; keep it on another machine")
    outbox = export.outbox(ledger_path)
    done: list[CheckpointDelivery] = []
    if outbox is not None:
        outbox.add(text)
        done = outbox.deliver(is_forced=True)
    if context.json:
        answer: dict[str, object] = {"checkpoint": text}
        answer |= {"out": str(out)} if out is not None else {}
        context.emit(answer | ({"handed_over": done} if outbox is not None else {}))
    elif out is None and outbox is None:
        write_text(text)
    return _report_deliveries(context, done)


def _report_deliveries(context: CliContext, done: "list[CheckpointDelivery]") -> Exit:
    """Say what each destination got; 1 if one lacks something."""
    for each in done:
        if each.is_done:
            context.say(f"{each.place} has all checkpoints; {each.handed} of them now")
        else:
            waiting = plural(each.waiting, "checkpoint")
            context.say(f"{each.place} lacks {waiting}: {each.error or 'it is tried later'}")
    return Exit.OK if all(each.is_done for each in done) else Exit.FOUND_PROBLEMS


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
    from stateward.ledger import generate_key

    private, public = generate_key(name)
    try:
        # The mode is given at creation: between creating and a chmod others could open the file.
        fd = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, KEY_MODE)
    except FileExistsError:
        raise InvalidRequest(f"{out} exists; name a new file") from None
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(f"{private}\n")
    if context.json:
        context.emit({"out": str(out), "public": public})
    else:
        write_text(public)
        context.say(f"the private half is in {out}; give the line above to those who verify")


# Daily maintenance


@click.command(
    "maintain",
    cls=Command,
    examples=[
        "stateward ledger maintain ledger/",
        "stateward ledger maintain ledger/ --at 03:30 --zone Europe/Berlin --export-to /mnt/other/checkpoints",
        "stateward ledger maintain ledger/ --once",
    ],
    renamed=RENAMED_FLAGS,
)
@ledger_argument
@click.option("--at", metavar="HH:MM", default="00:00", show_default=True, help="When, each day.")
@click.option(
    "--zone",
    metavar="NAME",
    help="The time zone of that, as Europe/Berlin; otherwise that of this machine.",
)
@click.option("--once", is_flag=True, help="Do it now and end; for cron and timers.")
@export_options
@pass_context
def maintain(
    context: CliContext, /, *, ledger_path: Path, at: str, zone: str | None, once: bool, **how: Any  # noqa: ANN401
) -> Exit:  # fmt: skip
    """Compact a ledger daily, and export checkpoints.

    For ledgers whose writers come and go: it takes the lock only while it works. While another process writes, that one
    has to compact (maintenance=MaintenanceOptions() of Ledger.open); its checkpoints are exported all the same. Runs
    until SIGTERM or SIGINT; what was due while it was not running it does at its start.
    """
    from stateward.ledger.schedule import time_of_day, zone_named

    when, where = time_of_day(at), None if zone is None else zone_named(zone)
    run = MaintenanceRun(context, ledger_path, CheckpointExport(**how))
    if once:
        return run.once()
    with _stop_signals() as stopping:
        return run.daily(at=when, zone=where, stopping=stopping)


class MaintenanceRun:
    """What is done each day, and the waiting in between.

    Unlike `ledger.maintenance`, which works inside the process that writes, this opens the ledger for each run: the
    lock must be free for the writers in between.
    """

    def __init__(self, context: CliContext, path: Path, export: CheckpointExport) -> None:
        self._context, self._path, self._export = context, path, export
        self._outbox = export.outbox(path)

    def daily(self, *, at: "time", zone: "tzinfo | None", stopping: Event) -> Exit:
        """Do it each day until told to stop; failures are reported and tried again."""
        from stateward.core.errors import InvalidRequest, LedgerError
        from stateward.ledger import MaintenanceSchedule

        with reading(self._context, self._path) as found:
            compacted_at = found.compacted_at
        schedule = MaintenanceSchedule(_now(), zone=zone, at=at, last_at=compacted_at)
        self._context.say(
            f"the next maintenance of {self._path} is due at {schedule.due_at:%Y-%m-%d %H:%M %Z}"
        )
        while not stopping.wait(self._wait_s(schedule.due_at)):
            now = _now()
            try:
                if schedule.is_due(now):
                    self.once()
                    schedule.succeeded(now)
                elif (attempt_at := self._next_attempt_at()) and attempt_at <= now.timestamp():
                    _report_deliveries(self._context, self._deliver())
            except (LedgerError, InvalidRequest, OSError) as error:
                schedule.failed(now)
                self._context.say(
                    f"it failed: {error}; the next try is at {schedule.due_at:%H:%M:%S %Z}"
                )
        return Exit.OK

    def once(self) -> Exit:
        """Compact, make a checkpoint, export it; 1 if a destination lacks something."""
        from stateward.ledger import LedgerLocked

        context, made, locked = self._context, None, None
        try:
            with writing(context, self._path) as found:
                made = found.compact(
                    progress=lambda what, done, every: context.progress(
                        f"{what}: {done:,} of {every:,}"
                    )
                )
                text = self._export.checkpoint(context, found, write=True)
        except LedgerLocked as error:
            locked = str(error)
            with reading(context, self._path) as found:
                text = self._export.checkpoint(context, found, write=False)
        if self._outbox is not None:
            self._outbox.add(text)
        done = self._deliver()
        if context.json:
            context.emit(
                {"snapshot": made, "not_compacted": locked, "checkpoint": text, "handed_over": done}
            )
            flush()
        elif locked is not None:
            context.say(f"not compacted: {locked}")
        elif made is None:
            context.say("nothing is new since the last snapshot")
        else:
            context.say(
                f"{made.file} holds {plural(made.documents, 'document')} as of seq {made.last_seq:,}"
            )
        return _report_deliveries(context, done)

    def _deliver(self) -> "list[CheckpointDelivery]":
        return [] if self._outbox is None else self._outbox.deliver()

    def _next_attempt_at(self) -> float | None:
        return None if self._outbox is None else self._outbox.next_attempt_at

    def _wait_s(self, due_at: "datetime") -> float:
        now = _now().timestamp()
        waits = [WAIT_S_MAX, due_at.timestamp() - now]
        if (attempt_at := self._next_attempt_at()) is not None:
            waits.append(attempt_at - now)
        return max(WAIT_S_MIN, min(waits))


def _now() -> "datetime":
    from datetime import UTC, datetime

    from stateward.ledger.disk import wall_clock

    return datetime.fromtimestamp(wall_clock(), UTC)


@contextmanager
def _stop_signals() -> Iterator[Event]:
    """An event that SIGTERM and SIGINT set."""
    stopping = Event()
    before = {
        each: signal.signal(each, lambda *_: stopping.set())
        for each in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stopping
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


COMMANDS: tuple[click.Command, ...] = (checkpoint, new_key, maintain)
