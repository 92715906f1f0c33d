"""Checkpoints of a ledger: `stateward ledger checkpoint`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.options import ledger_argument, line_progress, reading
from stateward.cli.output import write_text

if TYPE_CHECKING:
    from stateward.ledger import Ledger

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
            help="Sign the checkpoint with the key in this file (see key signing create).",
        ),
        click.option(
            "--origin", metavar="NAME",
            help="The name of the log in its checkpoints, such as example.org/ledger; otherwise that of the key.",
        ),
        click.option(
            "--export-to", "destinations", metavar="DESTINATION", multiple=True,
            help="Export it to a folder on another machine or to an http(s) address.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


class CheckpointExport:
    """How checkpoints are named, signed and exported, as the options of a command say."""

    def __init__(
        self,
        ledger_path: Path,
        *,
        destinations: tuple[str, ...],
        origin: str | None,
        key: Path | None,
        secret: Path | None,
    ) -> None:
        from stateward.ledger import parse_signer
        from stateward.ledger.checkpoint_export import check_destination, is_address, secret_bytes

        for each in destinations:
            check_destination(each, ledger_path)
        self._destinations = [
            each if is_address(each) else str(Path(each).absolute()) for each in destinations
        ]
        self._signer = None if key is None else parse_signer(_read_key(key))
        self._origin = origin
        self._secret = None if secret is None else _read_key(secret)
        if self._secret is not None:
            secret_bytes(self._secret)

    def checkpoint(self, context: CliContext, ledger: "Ledger", *, write: bool) -> str:
        """The checkpoint of a ledger."""
        progress = line_progress(context)
        return ledger.checkpoint(
            origin=self._origin, signer=self._signer, write=write, progress=progress
        )

    def deliver(self, checkpoint: str) -> list[dict[str, str]]:
        """Export it to every destination; each with why it has not got it, or an empty text."""
        from stateward.ledger import export_checkpoint

        return [
            {"place": each, "error": export_checkpoint(checkpoint, each, secret=self._secret)}
            for each in self._destinations
        ]


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
    destination has not got it; the next checkpoint covers its lines too.
    """
    export = CheckpointExport(ledger_path, **how)
    with reading(context, ledger_path) as found:
        text = export.checkpoint(context, found, write=False)
    if out is not None:
        out.write_text(text, "utf-8")
        context.say(f"the checkpoint is in {out}; keep it on another machine")
    done = export.deliver(text)
    if context.json:
        answer: dict[str, object] = {"checkpoint": text}
        answer |= {"out": str(out)} if out is not None else {}
        context.emit(answer | ({"exported": done} if done else {}))
    elif out is None and not done:
        write_text(text)
    for each in done:
        has = f"has not got the checkpoint: {each['error']}" if each["error"] else "has it"
        context.say(f"{each['place']} {has}")
    return Exit.FOUND_PROBLEMS if any(each["error"] for each in done) else Exit.OK


COMMANDS: tuple[click.Command, ...] = (checkpoint,)
