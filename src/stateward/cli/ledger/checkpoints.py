"""Checkpoints of a ledger: `stateward ledger checkpoint`."""

from pathlib import Path

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.options import ledger_argument, line_progress, reading
from stateward.cli.output import write_text

KEY_BYTES_MAX = 4096
A_FILE = click.Path(path_type=Path)


@click.command(
    "checkpoint",
    cls=Command,
    examples=[
        "stateward ledger checkpoint ledger/ --out checkpoint.txt",
        "stateward ledger checkpoint ledger/ --sign-with key --export-to /mnt/other/checkpoints",
        "stateward ledger checkpoint ledger/ --export-to https://audit.example.org/checkpoints --json",
    ],
    renamed={"--hand-over": "--export-to"},
)
@ledger_argument
@click.option("--out", metavar="FILE", type=A_FILE, help="Write it there instead of to stdout.")
@click.option(
    "--export-to", "destinations", metavar="DESTINATION", multiple=True,
    help="Export it to a folder on another machine or to an http(s) address.",
)  # fmt: skip
@click.option(
    "--origin", metavar="NAME",
    help="The name of the log in its checkpoints, such as example.org/ledger; otherwise that of the key.",
)  # fmt: skip
@click.option(
    "--sign-with", "key", metavar="FILE", type=A_FILE,
    help="Sign the checkpoint with the key in this file (see key signing create).",
)  # fmt: skip
@click.option(
    "--webhook-secret", "secret", metavar="FILE", type=A_FILE,
    help="Sign what is posted (Standard Webhooks) with the whsec_… in this file.",
)  # fmt: skip
@pass_context
def checkpoint(
    context: CliContext, *, ledger_path: Path, out: Path | None, destinations: tuple[str, ...], origin: str | None,
    key: Path | None, secret: Path | None,
) -> Exit:  # fmt: skip
    """Print a checkpoint, or export it.

    Three lines of text: a name, the number of lines, the root over them (C2SP tlog-checkpoint), and a signature with
    --sign-with. Only a copy on another machine proves anything against the owner of this disk. Ends with 1 if a
    destination has not got it; the next checkpoint covers its lines too.
    """
    from stateward.core.webhook_signing import key_of
    from stateward.ledger import export_checkpoint, parse_signer
    from stateward.ledger.checkpoint_export import check_destination

    # All that can be refused, before anything is read or sent.
    for destination in destinations:
        check_destination(destination, ledger_path)
    signer = None if key is None else parse_signer(_read_key(key))
    signing = None if secret is None else _read_key(secret)
    if signing is not None:
        key_of(signing)
    with reading(context, ledger_path) as found:
        progress = line_progress(context)
        text = found.checkpoint(origin=origin, signer=signer, write=False, progress=progress)
    if out is not None:
        out.write_text(text, "utf-8")
        context.say(f"the checkpoint is in {out}; keep it on another machine")
    done = [
        {"place": each, "error": export_checkpoint(text, each, secret=signing)}
        for each in map(_absolute, destinations)
    ]
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


def _absolute(destination: str) -> str:
    from stateward.ledger.checkpoint_export import is_address

    return destination if is_address(destination) else str(Path(destination).absolute())


def _read_key(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(KEY_BYTES_MAX).decode("utf-8", "replace").strip()


COMMANDS: tuple[click.Command, ...] = (checkpoint,)
