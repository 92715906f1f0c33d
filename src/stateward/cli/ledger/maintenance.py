"""The upkeep of a ledger: `stateward ledger compact`, `snapshots`, `rollback`, `archive` and `checkpoint`.

What takes something away prints first what it would do, and does it only with --yes.
"""

from pathlib import Path

import click

from stateward.cli.commands import A_FILE, command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.options import execute, ledger_argument, reading, writing
from stateward.cli.output import plural, write_table, write_text

KEY_BYTES_MAX = 4096


@command(
    "compact", "stateward ledger compact ledger/", "stateward ledger compact ledger/ --no-pack"
)
@ledger_argument
@flag_option("--no-pack", "Compress nothing: quicker, for just before something risky.")
@pass_context
def compact(context: CliContext, *, ledger_path: Path, no_pack: bool) -> None:
    """Make a snapshot, compress what is old, keep the last 7.

    Opening the ledger then costs the same however long its history is. The history stays, and the snapshot can be
    rolled back to.
    """
    with writing(context, ledger_path) as found:
        made = found.compact(
            progress=lambda what, done, every: context.progress(f"{what}: {done:,} of {every:,}"),
            compress=not no_pack,
        )
    if context.json:
        context.emit({"snapshot": made})
    elif made is None:
        context.say("nothing is new since the last snapshot")
    else:
        context.say(
            f"{made.file} holds {plural(made.documents, 'document')} as of seq {made.last_seq:,}"
        )


@command("snapshots", "stateward ledger snapshots ledger/", is_listing=True)
@ledger_argument
@pass_context
def snapshots(context: CliContext, ledger_path: Path) -> None:
    """List the snapshots that can be rolled back to."""
    with reading(context, ledger_path) as found:
        infos = found.snapshots()
    context.show_rows(
        infos,
        ("snapshot", "made", "seq", "documents", "of"),
        lambda each: (
            each.file,
            each.created_at,
            each.last_seq,
            each.documents,
            "" if each.rolled_back_to is None else f"rollback to {each.rolled_back_to}",
        ),
    )


@command(
    "rollback",
    "stateward ledger rollback ledger/ 2025-10-04",
    "stateward ledger rollback ledger/ 17 --reason 'a bad run' --yes",
)
@ledger_argument
@click.argument("to", metavar="SNAPSHOT")
@option("--reason", "Why; it is kept in the log.", default="")
@execute
@pass_context
def rollback(
    context: CliContext, *, ledger_path: Path, to: str, reason: str, execute: bool
) -> None:
    """Go back to a snapshot: its date, name or seq.

    The documents are then in the states of that time; the log keeps everything, and says that and why it was rolled
    back.
    """
    from stateward.engine.system import person
    from stateward.ledger.compaction import find_snapshot

    wanted: str | int = int(to) if to.isascii() and to.isdecimal() else to
    with reading(context, ledger_path) as found:
        target = find_snapshot(found.snapshots(), wanted)
        undone = found.last_seq - target.last_seq
    made = None
    if execute:
        with writing(context, ledger_path) as found:
            made = found.rollback(target.last_seq, reason=reason, actor=person())
    if context.json:
        context.emit({"to": target, "undone": undone, "is_executed": execute, "snapshot": made})
    else:
        verb = "are" if execute else "would be"
        advice = "" if execute else "; add --yes to do it"
        context.say(
            f"the states of {target.file} ({plural(target.documents, 'document')}, seq {target.last_seq:,}) {verb} in "
            f"effect again; in the log alone: {plural(undone, 'later line')}{advice}"
        )


@command(
    "archive",
    "stateward ledger archive ledger/",
    "stateward ledger archive ledger/ --remove-up-to 1000000 --reason 'kept 7 years' --yes",
    is_listing=True,
)
@ledger_argument
@option("--remove-up-to SEQ", "Remove archived files up to this seq.", type=click.IntRange(1))
@option("--reason", "Why; it is kept in the tombstone.", default="")
@execute
@pass_context
def archive(
    context: CliContext, *, ledger_path: Path, remove_up_to: int | None, reason: str, execute: bool
) -> None:
    """List old segments of the log, or remove them.

    No snapshot needs them any more; they are the audit trail. What is removed leaves a tombstone, so that the rest can
    still be verified and proved.
    """
    if remove_up_to is None:
        with reading(context, ledger_path) as found:
            infos = found.archive()
    else:
        if not reason:
            raise click.UsageError("say why with --reason: it is kept")
        with writing(context, ledger_path) as found:
            infos = found.remove_archived(up_to=remove_up_to, reason=reason, execute=execute)
    if context.is_for_programs:
        context.emit_rows(infos)
        return
    is_asked = (
        remove_up_to is not None and not execute
    )  # nothing was removed, whatever the tombstone would say
    rows = [
        (each.file, each.first_seq, each.last_seq, each.bytes, "" if is_asked else each.removed_at, each.reason)
        for each in infos
    ]  # fmt: skip
    write_table(("file", "from seq", "to seq", "bytes", "removed", "why"), rows)
    if is_asked:
        context.say(f"{plural(len(infos), 'file')} would be removed; add --yes to do it")


@command(
    "checkpoint",
    "stateward ledger checkpoint ledger/ --out checkpoint.txt",
    "stateward ledger checkpoint ledger/ --sign-with key --export-to /mnt/other/checkpoints",
    "stateward ledger checkpoint ledger/ --export-to https://audit.example.org/checkpoints --json",
)
@ledger_argument
@option("--out FILE", "File to write; otherwise stdout.", type=A_FILE)
@option(
    "--export-to DESTINATION",
    "Export it to a folder on another machine or to an http(s) address.",
    to="destinations",
    multiple=True,
)
@option(
    "--origin NAME",
    "The name of the log in its checkpoints, such as example.org/ledger; otherwise that of the key.",
)
@option(
    "--sign-with FILE",
    "Sign the checkpoint with the key in this file (see key signing create).",
    to="key",
    type=A_FILE,
)
@option(
    "--webhook-secret FILE",
    "Sign what is posted (Standard Webhooks) with the whsec_… in this file.",
    to="secret",
    type=A_FILE,
)
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
    from stateward.ledger.checkpoint_export import check_destination, is_address

    # All that can be refused, before anything is read or sent.
    for destination in destinations:
        check_destination(destination, ledger_path)
    signer = None if key is None else parse_signer(_read_key(key))
    signing = None if secret is None else _read_key(secret)
    if signing is not None:
        key_of(signing)
    with reading(context, ledger_path) as found:
        text = found.checkpoint(
            origin=origin, signer=signer, write=False, progress=context.progress_of
        )
    if out is not None:
        out.write_text(text, "utf-8")
        context.say(f"the checkpoint is in {out}; keep it on another machine")
    places = [each if is_address(each) else str(Path(each).absolute()) for each in destinations]
    done = [
        {"place": each, "error": export_checkpoint(text, each, secret=signing)} for each in places
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


def _read_key(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(KEY_BYTES_MAX).decode("utf-8", "replace").strip()


COMMANDS: tuple[click.Command, ...] = (compact, snapshots, rollback, archive, checkpoint)
