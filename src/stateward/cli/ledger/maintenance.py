"""The files of a ledger: `stateward ledger compact`, `snapshots`, `rollback` and `archive`.

What takes something away prints first what it would do, and does it only with --yes.
"""

from pathlib import Path

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.ledger.options import (
    RENAMED_FLAGS,
    execute,
    ledger_argument,
    reading,
    writing,
)
from stateward.cli.output import plural, write_table


@click.command(
    "compact",
    cls=Command,
    examples=["stateward ledger compact ledger/", "stateward ledger compact ledger/ --no-pack"],
)
@ledger_argument
@click.option(
    "--no-pack", is_flag=True, help="Compress nothing: quicker, for just before something risky."
)
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


@click.command(
    "snapshots", cls=Command, is_listing=True, examples=["stateward ledger snapshots ledger/"]
)
@ledger_argument
@pass_context
def snapshots(context: CliContext, ledger_path: Path) -> None:
    """List the snapshots that can be rolled back to."""
    with reading(context, ledger_path) as found:
        infos = found.snapshots()
    if context.is_for_programs:
        context.emit_rows(infos)
        return
    rows = []
    for each in infos:
        back = each.rolled_back_to
        note = "" if back is None else f"rollback to {back}"
        rows.append((each.file, each.created_at, each.last_seq, each.documents, note))
    write_table(("snapshot", "made", "seq", "documents", "of"), rows)


@click.command(
    "rollback",
    cls=Command,
    examples=[
        "stateward ledger rollback ledger/ 2025-10-04",
        "stateward ledger rollback ledger/ 17 --reason 'a bad run' --yes",
    ],
    renamed=RENAMED_FLAGS,
)
@ledger_argument
@click.argument("to", metavar="SNAPSHOT")
@click.option("--reason", default="", help="Why; it is kept in the log.")
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


@click.command(
    "archive",
    cls=Command,
    is_listing=True,
    examples=[
        "stateward ledger archive ledger/",
        "stateward ledger archive ledger/ --remove-up-to 1000000 --reason 'kept 7 years' --yes",
    ],
    renamed=RENAMED_FLAGS,
)
@ledger_argument
@click.option(
    "--remove-up-to",
    type=click.IntRange(1),
    metavar="SEQ",
    help="Remove archived files up to this seq.",
)
@click.option("--reason", default="", help="Why; it is kept in the tombstone.")
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


COMMANDS: tuple[click.Command, ...] = (compact, snapshots, rollback, archive)
