"""Checkpoints of a ledger: `stateward ledger checkpoint` and `new-key`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stateward.cli.context import CliContext, Command, context_of, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.options import ledger_argument, line_progress, reading
from stateward.cli.output import plural, write_text

if TYPE_CHECKING:
    from stateward.ledger import CheckpointDelivery, CheckpointOutbox, Ledger

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
    destination has not got it: it waits in the ledger, and the next checkpoint tries again.
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


@click.command("maintain", cls=Command, hidden=True, examples=[], renamed=RENAMED_FLAGS)
@ledger_argument
@click.option("--once", is_flag=True, help="Do it now and end.")
@click.option("--at", help="Ignored.")
@click.option("--zone", help="Ignored.")
@export_options
@click.pass_context
def maintain(
    click_context: click.Context, /, *, ledger_path: Path, once: bool, at: str | None, zone: str | None,
    **how: Any,  # noqa: ANN401
) -> Exit:  # fmt: skip
    """Compact and make a checkpoint, for one version; waiting for the night is the task of cron."""
    from stateward.cli.ledger.maintenance import compact

    del at, zone
    line = f"stateward ledger compact {ledger_path} && stateward ledger checkpoint {ledger_path}"
    if not once:
        raise click.UsageError(
            f"a ledger no longer waits for the night by itself; let cron or a timer run: {line} --export-to …"
        )
    context_of(click_context).say(f"warning: `ledger maintain --once` is deprecated, write: {line}")
    click_context.invoke(compact, ledger_path=ledger_path, no_pack=False)
    done: Exit = click_context.invoke(checkpoint, ledger_path=ledger_path, out=None, **how)
    return done


COMMANDS: tuple[click.Command, ...] = (checkpoint, new_key, maintain)
