"""The upkeep half of `stateward ledger`: check, mend, prove, compact, roll back, archive, export, measure.

Whatever takes something away says first what it would do, and does it only with --yes.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.bench import bench
from stateward.cli.ledger.options import (
    RENAMED_FLAGS,
    accept_loss,
    execute,
    reading,
    writing,
)
from stateward.cli.output import plural, write, write_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from stateward.ledger import SnapshotPart, Verdict

FINDINGS_SHOWN_MAX = 1000

a_ledger = click.argument("ledger_path", metavar="DIR", type=click.Path(path_type=Path))


def _progress(context: CliContext) -> "Callable[[str, int], None]":
    return lambda what, count: context.progress(f"{what}: {count:,}")


# Checking


@click.command(
    "verify",
    cls=Command,
    examples=[
        "stateward ledger verify ledger/",
        "stateward ledger verify ledger/ --replay",
        "stateward ledger verify ledger/ --checkpoint checkpoint.txt",
        "stateward ledger verify export.jsonl --json",
        "stateward ledger verify history/transitions.jsonl",
    ],
)
@click.argument("ledger_path", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A checkpoint that was kept elsewhere, to compare with.",
)
@click.option(
    "--signed-by",
    metavar="KEY",
    help="The public half of the key that must have signed the checkpoint.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Also replay the log: each move against the state machine, the outcome against the snapshots.",
)
@pass_context
def verify(
    context: CliContext,
    *,
    ledger_path: Path,
    checkpoint: Path | None,
    signed_by: str | None,
    replay: bool,
) -> Exit:
    """Read every byte and say what is wrong, and where.

    Checks the chain of lines, each file against the manifest, each snapshot against its checksum, and a checkpoint and
    its signature if they are given. A FILE is what `ledger export` wrote, a delta beside its manifest, or the
    transitions.jsonl of `stateward export history` with its anchor.json. Needs no lock; work may go on. Ends with 1 on
    any damage.
    """
    verdict = _verdict(context, ledger_path, checkpoint, signed_by)
    if replay:
        verdict = _replayed(context, ledger_path, verdict)
    if context.json:
        answer = {"is_sound": verdict.is_sound, **_plain(verdict)}
        context.emit(answer | ({"is_valid": verdict.is_sound} if replay else {}))
    else:
        for finding in verdict.findings:
            write(finding)
        for note in verdict.notes:
            context.say(f"note: {note}")
        context.say(
            _judgement(verdict) + ("; every move is valid" if replay and verdict.is_sound else "")
        )
    return Exit.OK if verdict.is_sound else Exit.FOUND_PROBLEMS


def _verdict(
    context: CliContext, path: Path, checkpoint: Path | None, signed_by: str | None
) -> "Verdict":
    from stateward.ledger import verify as verify_folder
    from stateward.ledger.export_file import verify_file

    if signed_by is not None and checkpoint is None:
        raise click.UsageError("--signed-by is about a checkpoint: name it with --checkpoint")
    if path.is_file():
        if checkpoint is not None:
            raise click.UsageError("a checkpoint is compared with a directory, not with a file")
        return verify_file(path, progress=_progress(context))
    text = _text_of(checkpoint)
    verdict = verify_folder(path, checkpoint=text, progress=_progress(context))
    return verdict if text is None or signed_by is None else _signed(verdict, text, signed_by)


def _replayed(context: CliContext, path: Path, verdict: "Verdict") -> "Verdict":
    """The verdict with what a replay of the log finds; a damaged log is not replayed."""
    from itertools import islice

    from msgspec.structs import replace

    if path.is_file():
        raise click.UsageError("--replay needs a ledger directory, not a file")
    if not verdict.is_sound:
        return verdict
    with reading(context, path) as found:
        replayed = found.validate(progress=_progress(context))
        return replace(verdict, findings=tuple(islice(replayed, FINDINGS_SHOWN_MAX)))


def _text_of(path: Path | None) -> str | None:
    """A checkpoint in a file; what is no text is no checkpoint, and will be told so."""
    return None if path is None else path.read_text("utf-8", "replace")


def _signed(verdict: "Verdict", text: str, signed_by: str) -> "Verdict":
    from msgspec.structs import replace

    from stateward.ledger import Finding, check_signature, read_verifier

    key = read_verifier(signed_by)
    if check_signature(text, key):
        return verdict
    finding = Finding(file="checkpoint", sentence=f"it carries no good signature of {key.name}")
    return replace(verdict, findings=(*verdict.findings, finding))


def _plain(verdict: "Verdict") -> dict[str, object]:
    from msgspec.structs import asdict

    return asdict(verdict)


def _judgement(verdict: "Verdict") -> str:
    seen = f"{plural(verdict.lines, 'line')} and {plural(verdict.snapshots, 'snapshot')}"
    if verdict.is_sound:
        return f"{seen} are sound; the head of the chain is {verdict.head}"
    return f"{plural(len(verdict.findings), 'finding')} in {seen}"


@click.command(
    "repair",
    cls=Command,
    is_listing=True,
    examples=["stateward ledger repair ledger/", "stateward ledger repair ledger/ --yes"],
    renamed=RENAMED_FLAGS,
)
@a_ledger
@execute
@accept_loss
@pass_context
def repair(context: CliContext, *, ledger_path: Path, execute: bool, accept_loss: bool) -> Exit:
    """Say what can be done about damage, and do it.

    Bytes that have to go are kept beside (.torn, .corrupt, .damaged). What costs acknowledged records is done only with
    --accept-loss; what cannot be mended needs a backup. Ends with 1 while anything is left.
    """
    from stateward.ledger import repair as mend
    from stateward.ledger.disk import wall_clock

    steps = mend(
        ledger_path, execute=execute, accept_loss=accept_loss, clock=wall_clock, progress=_progress(context)
    )  # fmt: skip
    left = [
        each
        for each in steps
        if not execute or not each.is_possible or (each.needs_accept_loss and not accept_loss)
    ]
    if context.is_for_programs:
        context.emit_rows(steps)
    else:
        for each in steps:
            write(each.finding)
            done = (
                "done"
                if execute and each not in left
                else "would do"
                if each.is_possible
                else "cannot be mended"
            )
            write(f"  {done}: {each.action}")
            if each.needs_accept_loss and not accept_loss:
                write(f"  this costs {plural(each.lost, 'record')}: only with --accept-loss")
        context.say("nothing is wrong" if not steps else f"{plural(len(left), 'thing')} left to do")
    return Exit.FOUND_PROBLEMS if left else Exit.OK


@click.command(
    "prove",
    cls=Command,
    examples=[
        "stateward ledger prove ledger/ 17",
        "stateward ledger prove ledger/ 17 --checkpoint checkpoint.txt --json",
    ],
)
@a_ledger
@click.argument("seq", type=click.IntRange(1))
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Prove it against this checkpoint; otherwise against all lines there are.",
)
@pass_context
def prove(context: CliContext, *, ledger_path: Path, seq: int, checkpoint: Path | None) -> Exit:
    """Prove that a line is in the ledger (RFC 6962).

    Prints the line, the size and root of the tree, and the hashes that lead from one to the other. Whoever has the
    checkpoint can check it without the ledger. Ends with 1 if the ledger is not that of the checkpoint.
    """
    from stateward.ledger import parse_checkpoint, verify_proof

    with reading(context, ledger_path) as found:
        text = _text_of(checkpoint) or found.checkpoint(write=False, progress=_progress(context))
        _, size, root = parse_checkpoint(text)
        proof = found.prove(seq, size=size, progress=_progress(context))
    is_proved = verify_proof(proof, text)
    if context.json:
        context.emit({"is_proved": is_proved, "root": root.hex(), "proof": proof})
    else:
        write(proof.line)
        write(f"line {proof.seq} of {proof.size}, root {root.hex()}")
        for hashed in proof.path:
            write(f"  {hashed}")
        context.say(
            "proved"
            if is_proved
            else "NOT proved: the ledger is not the one that the checkpoint was made of"
        )
    return Exit.OK if is_proved else Exit.FOUND_PROBLEMS


# Keeping it small


@click.command("compact", cls=Command, examples=["stateward ledger compact ledger/"])
@a_ledger
@pass_context
def compact(context: CliContext, ledger_path: Path) -> None:
    """Make a snapshot, pack what is old, keep the last 7.

    Submission the ledger then costs the same however long its history is. The history stays.
    """
    _compact(context, ledger_path, is_packed=True)


@click.command("snapshot", cls=Command, examples=["stateward ledger snapshot ledger/"])
@a_ledger
@pass_context
def snapshot(context: CliContext, ledger_path: Path) -> None:
    """Make a snapshot that can be rolled back to.

    As compact, but files are not packed: quicker, for just before something risky.
    """
    _compact(context, ledger_path, is_packed=False)


def _compact(context: CliContext, path: Path, *, is_packed: bool) -> None:
    with writing(context, path) as found:
        made = found.compact(
            progress=lambda what, done, every: context.progress(f"{what}: {done:,} of {every:,}"),
            pack=is_packed,
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
@a_ledger
@pass_context
def snapshots(context: CliContext, ledger_path: Path) -> None:
    """List the snapshots that can be rolled back to."""
    with reading(context, ledger_path) as found:
        parts = found.snapshots()
    if context.is_for_programs:
        context.emit_rows(parts)
    else:
        rows = [
            (each.file, each.created_at, each.last_seq, each.documents, _back(each))
            for each in parts
        ]
        write_table(("snapshot", "made", "seq", "documents", "of"), rows)


def _back(part: "SnapshotPart") -> str:
    return "" if part.rolled_back_to is None else f"rollback to {part.rolled_back_to}"


@click.command(
    "rollback",
    cls=Command,
    examples=[
        "stateward ledger rollback ledger/ 2025-10-04",
        "stateward ledger rollback ledger/ 17 --reason 'a bad run' --yes",
    ],
    renamed=RENAMED_FLAGS,
)
@a_ledger
@click.argument("to", metavar="SNAPSHOT")
@click.option("--reason", default="", help="Why; it is kept in the log.")
@execute
@pass_context
def rollback(
    context: CliContext, *, ledger_path: Path, to: str, reason: str, execute: bool
) -> None:
    """Go back to a snapshot: its date, name or seq.

    The documents are then where they were; the log keeps everything, and says that and why it was rolled back.
    """
    from stateward.engine.system import person
    from stateward.ledger.upkeep import find_snapshot

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
        verb = "count" if execute else "would count"
        context.say(
            f"the {plural(target.documents, 'document')} of {target.file} (seq {target.last_seq:,}) {verb} again; "
            f"in the log alone: {plural(undone, 'later line')}"
            + ("" if execute else "; add --yes to do it")
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
@a_ledger
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
    """List old stretches of the log, or remove them.

    No snapshot needs them any more; they are the audit trail. What is removed leaves a tombstone, so that what is left
    can still be verified and proved.
    """
    if remove_up_to is None:
        with reading(context, ledger_path) as found:
            parts = found.archive()
    else:
        if not reason:
            raise click.UsageError("say why with --reason: it is kept")
        with writing(context, ledger_path) as found:
            parts = found.remove_archived(up_to=remove_up_to, reason=reason, execute=execute)
    if context.is_for_programs:
        context.emit_rows(parts)
        return
    rows = [
        (each.file, each.first_seq, each.last_seq, each.bytes, each.removed_at, each.reason)
        for each in parts
    ]
    write_table(("file", "from seq", "to seq", "bytes", "removed", "why"), rows)
    if remove_up_to is not None and not execute:
        context.say(f"{plural(len(parts), 'file')} would be removed; add --yes to do it")


@click.command(
    "export", cls=Command, examples=["stateward ledger export ledger/ --out ledger.jsonl"]
)
@a_ledger
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), required=True, help="A new file."
)
@pass_context
def export(context: CliContext, *, ledger_path: Path, out: Path) -> None:
    """Write the whole log into one file that proves itself.

    The lines as they are, and an anchor at the end: `ledger verify FILE` finds any change and any cut.
    """
    from stateward.ledger.export_file import export as export_file

    with reading(context, ledger_path) as found:
        anchor = export_file(found, out, progress=_progress(context))
    if context.json:
        context.emit({"out": str(out), **_plain_anchor(anchor)})
    else:
        context.say(
            f"{plural(anchor.count, 'line')} written to {out}; the head of the chain is {anchor.head}"
        )


def _plain_anchor(anchor: object) -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(anchor)
    return plain


COMMANDS: tuple[click.Command, ...] = (
    verify, repair, prove, compact, snapshot, snapshots, rollback, archive, export, bench,
)  # fmt: skip
