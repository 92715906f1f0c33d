"""Checking a ledger: what `stateward verify` does with one, `stateward ledger repair`, `prove` and `export`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, command, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.options import accept_loss, execute, ledger_argument, reading
from stateward.cli.output import plural, write

if TYPE_CHECKING:
    from stateward.ledger import LedgerVerification
    from stateward.proofs.history_checkpoint import HistoryCheckpoint

FINDINGS_SHOWN_MAX = 1000


def verify_ledger(
    context: CliContext, path: Path, *, checkpoint: Path | None, signed_by: str | None
) -> Exit:
    """Verify a ledger directory and replay it, or verify a file, and print what was found."""
    if path.is_file() and checkpoint is not None:
        raise click.UsageError("--checkpoint needs a ledger directory, not a file")
    found = _verify(context, path, checkpoint, signed_by)
    if path.is_dir() and found.is_sound:  # a damaged log is not replayed
        found = _replay(context, path, found)
    # Where lines were removed a note says which moves are checked.
    moves = "; every move is valid" if path.is_dir() and not found.removed else ""
    valid = {"is_valid": found.is_sound} if path.is_dir() else {}
    return tell_verification(context, found, moves=moves, more=valid)


def tell_verification(
    context: CliContext,
    found: "LedgerVerification",
    *,
    moves: str = "",
    more: Mapping[str, bool] | None = None,
    is_export: bool = False,
    checkpoint: "HistoryCheckpoint | None" = None,
) -> Exit:
    """Print what was found in a ledger or an export."""
    from msgspec.structs import asdict

    if context.json:
        context.emit({"is_sound": found.is_sound, **asdict(found), **(more or {})})
        return Exit.OK if found.is_sound else Exit.FOUND_PROBLEMS
    for finding in found.findings:
        write(finding)
    for note in found.notes:
        context.say(f"note: {note}")
    seen = plural(found.lines, "transition" if is_export else "line")
    if not is_export:
        seen += f" and {plural(found.snapshots, 'snapshot')}"
    if not found.is_sound:
        context.say(f"{plural(len(found.findings), 'finding')} in {seen}")
        return Exit.FOUND_PROBLEMS
    context.say(f"{seen} are sound; the head of the chain is {found.head}{moves}")
    if checkpoint is not None:
        context.say(
            f"they are the {plural(checkpoint.count, 'transition')} of the checkpoint, grown"
        )
    return Exit.OK


def _verify(
    context: CliContext, path: Path, checkpoint: Path | None, signed_by: str | None
) -> "LedgerVerification":
    from msgspec.structs import replace

    from stateward.ledger import Damage, parse_verifier
    from stateward.ledger import verify as verify_folder
    from stateward.ledger.export_file import verify_file

    if path.is_file():
        return verify_file(path, progress=context.progress_of)
    text = _read_checkpoint(checkpoint)
    found = verify_folder(path, checkpoint=text, progress=context.progress_of)
    if text is not None and signed_by is not None:
        key = parse_verifier(signed_by)
        if not key.has_signed(text):
            sentence = f"it carries no good signature of {key.name}"
            damage = Damage(file="checkpoint", sentence=sentence)
            return replace(found, findings=(*found.findings, damage))
    return found


def _replay(context: CliContext, path: Path, found: "LedgerVerification") -> "LedgerVerification":
    """The result with what a replay of the log finds."""
    from itertools import islice

    from msgspec.structs import replace

    with reading(context, path, with_machines=True) as ledger:
        findings = ledger.replay(progress=context.progress_of)
        return replace(found, findings=tuple(islice(findings, FINDINGS_SHOWN_MAX)))


def _read_checkpoint(path: Path | None) -> str | None:
    """A checkpoint in a file, or in a saved mail. What is no text becomes text that is refused as no checkpoint."""
    from stateward.proofs.checkpoints import kept_text

    return None if path is None else kept_text(path.read_bytes())


@command(
    "repair",
    "stateward ledger repair ledger/",
    "stateward ledger repair ledger/ --yes",
    is_listing=True,
)
@ledger_argument
@execute
@accept_loss
@pass_context
def repair(context: CliContext, *, ledger_path: Path, execute: bool, accept_loss: bool) -> Exit:
    """Show what can be done about damage, and do it.

    Bytes that have to go are kept beside (.torn, .corrupt, .damaged). What costs acknowledged records is done only with
    --accept-loss; what cannot be repaired needs a backup. Ends with 1 while anything is left.
    """
    from stateward.ledger import repair as repair_ledger
    from stateward.ledger.disk import wall_clock

    steps = repair_ledger(
        ledger_path,
        execute=execute,
        accept_loss=accept_loss,
        clock=wall_clock,
        progress=context.progress_of,
    )
    left = [
        each
        for each in steps
        if not execute or not each.is_possible or (each.needs_accept_loss and not accept_loss)
    ]
    if context.is_for_programs:
        context.emit_rows(steps)
        return Exit.FOUND_PROBLEMS if left else Exit.OK
    for each in steps:
        write(each.finding)
        planned = "would do" if each.is_possible else "cannot be repaired"
        write(f"  {'done' if execute and each not in left else planned}: {each.action}")
        if each.needs_accept_loss and not accept_loss:
            write(f"  this costs {plural(each.lost, 'record')}: only with --accept-loss")
    context.say("nothing is wrong" if not steps else f"{plural(len(left), 'thing')} left to do")
    return Exit.FOUND_PROBLEMS if left else Exit.OK


@command(
    "prove",
    "stateward ledger prove ledger/ 17",
    "stateward ledger prove ledger/ 17 --checkpoint checkpoint.txt --json",
)
@ledger_argument
@click.argument("seq", type=click.IntRange(1))
@option(
    "--checkpoint FILE",
    "Prove it against this checkpoint; otherwise against all lines there are.",
    type=A_FILE,
)
@pass_context
def prove(context: CliContext, *, ledger_path: Path, seq: int, checkpoint: Path | None) -> Exit:
    """Prove that a line is in the ledger (RFC 6962).

    Prints the line, the size and root of the tree, and the hashes that lead from one to the other. A person with the
    checkpoint can check it without the ledger. Ends with 1 if the ledger is not that of the checkpoint.
    """
    from stateward.ledger import parse_checkpoint, verify_proof

    with reading(context, ledger_path) as found:
        progress = context.progress_of
        text = _read_checkpoint(checkpoint) or found.checkpoint(write=False, progress=progress)
        _, size, root = parse_checkpoint(text)
        proof = found.prove(seq, size=size, progress=progress)
    is_proved = verify_proof(proof, text)
    if context.json:
        context.emit({"is_proved": is_proved, "root": root.hex(), "proof": proof})
    else:
        write(proof.line)
        write(f"line {proof.seq} of {proof.size}, root {root.hex()}")
        for hashed in proof.path:
            write(f"  {hashed}")
        not_proved = "NOT proved: the ledger is not the one that the checkpoint was made of"
        context.say("proved" if is_proved else not_proved)
    return Exit.OK if is_proved else Exit.FOUND_PROBLEMS


@command("export", "stateward ledger export ledger/ --out ledger.jsonl")
@ledger_argument
@option("--out FILE", "A new file.", type=A_FILE, required=True)
@pass_context
def export(context: CliContext, *, ledger_path: Path, out: Path) -> None:
    """Write the whole log into one file that proves itself.

    The lines as they are, and an anchor at the end: `stateward verify FILE` finds any change and any cut.
    """
    from msgspec.structs import asdict

    from stateward.ledger.export_file import export as export_file

    with reading(context, ledger_path) as found:
        anchor = export_file(found, out, progress=context.progress_of)
    if context.json:
        context.emit({"out": str(out), **asdict(anchor)})
    else:
        context.say(
            f"{plural(anchor.count, 'line')} written to {out}; the head of the chain is {anchor.head}"
        )


COMMANDS: tuple[click.Command, ...] = (repair, prove, export)
