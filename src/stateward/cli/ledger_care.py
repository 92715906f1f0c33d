"""The upkeep half of `stateward ledger`: check, mend, prove, compact, roll back, archive, export, migrate, measure.

Whatever takes something away says first what it would do, and does it only with --execute.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.door import Command, Door, pass_door
from stateward.cli.exits import Exit
from stateward.cli.ledger_door import reading, writing
from stateward.cli.shown import plural, span, write, write_table, write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from stateward.ledger import SnapshotPart, Verdict
    from stateward.ledger.legacy import StateMap
    from stateward.ledger.migrate import Progress, Report

BACKUP_DAYS = 30
BENCH_DOCUMENTS_MAX = 10_000_000
FINDINGS_SHOWN_MAX = 1000

a_ledger = click.argument("ledger_path", metavar="DIR", type=click.Path(path_type=Path))
execute = click.option(
    "--execute", is_flag=True, help="Do it; otherwise only say what would be done."
)
accept_loss = click.option("--accept-loss", is_flag=True, help="Go on even where records are lost.")


def _progress(door: Door) -> "Callable[[str, int], None]":
    return lambda what, count: door.progress(f"{what}: {count:,}")


# Checking


@click.command("validate", cls=Command, examples=["stateward ledger validate ledger/"])
@a_ledger
@pass_door
def validate(door: Door, ledger_path: Path) -> Exit:
    """Replay the log: every move, and what is kept.

    Checks each move against the machine (what came through the import door is known to be otherwise) and the documents
    as they are kept against those that the log tells of. Ends with 1 if anything differs.
    """
    from itertools import islice

    with reading(door, ledger_path) as found:
        findings = list(islice(found.validate(), FINDINGS_SHOWN_MAX))
        lines = found.last_seq
    if door.json:
        door.emit({"is_valid": not findings, "lines": lines, "findings": findings})
    else:
        for finding in findings:
            write(finding)
        said = plural(len(findings), "finding") + " in" if findings else "every move is valid in"
        door.say(f"{said} {plural(lines, 'line')}")
    return Exit.FOUND_PROBLEMS if findings else Exit.OK


@click.command(
    "verify",
    cls=Command,
    examples=[
        "stateward ledger verify ledger/",
        "stateward ledger verify ledger/ --checkpoint checkpoint.txt",
        "stateward ledger verify export.jsonl --json",
    ],
)
@click.argument("ledger_path", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A checkpoint that was kept elsewhere, to compare with.",
)
@pass_door
def verify(door: Door, *, ledger_path: Path, checkpoint: Path | None) -> Exit:
    """Read every byte and say what is wrong, and where.

    Checks the chain of lines, each file against the manifest, each snapshot against its checksum, and a checkpoint if
    one is given. Needs no lock; work may go on. Ends with 1 on any damage.
    """
    verdict = _verdict(door, ledger_path, checkpoint)
    if door.json:
        door.emit({"is_sound": verdict.is_sound, **_plain(verdict)})
    else:
        for finding in verdict.findings:
            write(finding)
        for note in verdict.notes:
            door.say(f"note: {note}")
        door.say(_judgement(verdict))
    return Exit.OK if verdict.is_sound else Exit.FOUND_PROBLEMS


def _verdict(door: Door, path: Path, checkpoint: Path | None) -> "Verdict":
    from stateward.ledger import verify as verify_folder
    from stateward.ledger.single import verify_file

    if path.is_file():
        if checkpoint is not None:
            raise click.UsageError("a checkpoint is compared with a directory, not with a file")
        return verify_file(path, progress=_progress(door))
    text = None if checkpoint is None else checkpoint.read_text("utf-8")
    return verify_folder(path, checkpoint=text, progress=_progress(door))


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
    examples=["stateward ledger repair ledger/", "stateward ledger repair ledger/ --execute"],
)
@a_ledger
@execute
@accept_loss
@pass_door
def repair(door: Door, *, ledger_path: Path, execute: bool, accept_loss: bool) -> Exit:
    """Say what can be done about damage, and do it.

    Bytes that have to go are kept beside (.torn, .corrupt, .damaged). What costs acknowledged records is done only with
    --accept-loss; what cannot be mended needs a backup. Ends with 1 while anything is left.
    """
    from stateward.ledger import repair as mend
    from stateward.ledger.disk import wall_clock

    steps = mend(ledger_path, execute=execute, accept_loss=accept_loss, clock=wall_clock)
    left = [
        each
        for each in steps
        if not execute or not each.is_possible or (each.needs_accept_loss and not accept_loss)
    ]
    if door.is_for_programs:
        door.emit_rows(steps)
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
        door.say("nothing is wrong" if not steps else f"{plural(len(left), 'thing')} left to do")
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
@pass_door
def prove(door: Door, *, ledger_path: Path, seq: int, checkpoint: Path | None) -> Exit:
    """Prove that a line is in the ledger (RFC 6962).

    Prints the line, the size and root of the tree, and the hashes that lead from one to the other. Whoever has the
    checkpoint can check it without the ledger. Ends with 1 if the ledger is not that of the checkpoint.
    """
    from stateward.ledger import parse_checkpoint, verify_proof

    with reading(door, ledger_path) as found:
        text = (
            found.checkpoint(write=False) if checkpoint is None else checkpoint.read_text("utf-8")
        )
        _, size, root = parse_checkpoint(text)
        proof = found.prove(seq, size=size)
    is_proved = verify_proof(proof, text)
    if door.json:
        door.emit({"is_proved": is_proved, "root": root.hex(), "proof": proof})
    else:
        write(proof.line)
        write(f"line {proof.seq} of {proof.size}, root {root.hex()}")
        for hashed in proof.path:
            write(f"  {hashed}")
        door.say(
            "proved"
            if is_proved
            else "NOT proved: the ledger is not the one that the checkpoint was made of"
        )
    return Exit.OK if is_proved else Exit.FOUND_PROBLEMS


@click.command(
    "checkpoint",
    cls=Command,
    examples=[
        "stateward ledger checkpoint ledger/ --out checkpoint.txt",
        "stateward ledger checkpoint ledger/ --json",
    ],
)
@a_ledger
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write it there instead of to stdout.",
)
@pass_door
def checkpoint(door: Door, *, ledger_path: Path, out: Path | None) -> None:
    """Print a checkpoint, to be kept elsewhere.

    Three lines of text: a name, the number of lines, the root over them (C2SP tlog-checkpoint). Only a copy that is
    kept on another machine proves anything against somebody who owns this disk.
    """
    with reading(door, ledger_path) as found:
        text = found.checkpoint(write=False)
    if out is not None:
        out.write_text(text, "utf-8")
        door.say(f"the checkpoint is in {out}; keep it on another machine")
    if door.json:
        door.emit({"checkpoint": text} if out is None else {"checkpoint": text, "out": str(out)})
    elif out is None:
        write_text(text)


# Keeping it small


@click.command("compact", cls=Command, examples=["stateward ledger compact ledger/"])
@a_ledger
@pass_door
def compact(door: Door, ledger_path: Path) -> None:
    """Make a snapshot, pack what is old, keep the last 7.

    Opening the ledger then costs the same however long its history is. The history stays.
    """
    _compact(door, ledger_path, is_packed=True)


@click.command("snapshot", cls=Command, examples=["stateward ledger snapshot ledger/"])
@a_ledger
@pass_door
def snapshot(door: Door, ledger_path: Path) -> None:
    """Make a snapshot that can be rolled back to.

    As compact, but files are not packed: quicker, for just before something risky.
    """
    _compact(door, ledger_path, is_packed=False)


def _compact(door: Door, path: Path, *, is_packed: bool) -> None:
    with writing(door, path) as found:
        made = found.compact(
            progress=lambda what, done, every: door.progress(f"{what}: {done:,} of {every:,}"),
            pack=is_packed,
        )
    if door.json:
        door.emit({"snapshot": made})
    elif made is None:
        door.say("nothing is new since the last snapshot")
    else:
        door.say(
            f"{made.file} holds {plural(made.documents, 'document')} as of seq {made.last_seq:,}"
        )


@click.command(
    "snapshots", cls=Command, is_listing=True, examples=["stateward ledger snapshots ledger/"]
)
@a_ledger
@pass_door
def snapshots(door: Door, ledger_path: Path) -> None:
    """List the snapshots that can be rolled back to."""
    with reading(door, ledger_path) as found:
        parts = found.snapshots()
    if door.is_for_programs:
        door.emit_rows(parts)
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
        "stateward ledger rollback ledger/ 17 --reason 'a bad run' --execute",
    ],
)
@a_ledger
@click.argument("to", metavar="SNAPSHOT")
@click.option("--reason", default="", help="Why; it is kept in the log.")
@execute
@pass_door
def rollback(door: Door, *, ledger_path: Path, to: str, reason: str, execute: bool) -> None:
    """Go back to a snapshot: its date, name or seq.

    The documents are then where they were; the log keeps everything, and says that and why it was rolled back.
    """
    from stateward.app import person
    from stateward.ledger.upkeep import find_snapshot

    wanted: str | int = int(to) if to.isascii() and to.isdecimal() else to
    with reading(door, ledger_path) as found:
        target = find_snapshot(found.snapshots(), wanted)
        undone = found.last_seq - target.last_seq
    made = None
    if execute:
        with writing(door, ledger_path) as found:
            made = found.rollback(target.last_seq, reason=reason, actor=person())
    if door.json:
        door.emit({"to": target, "undone": undone, "is_executed": execute, "snapshot": made})
    else:
        verb = "count" if execute else "would count"
        door.say(
            f"the {plural(target.documents, 'document')} of {target.file} (seq {target.last_seq:,}) {verb} again; "
            f"in the log alone: {plural(undone, 'later line')}"
            + ("" if execute else "; say --execute to do it")
        )


@click.command(
    "archive",
    cls=Command,
    is_listing=True,
    examples=[
        "stateward ledger archive ledger/",
        "stateward ledger archive ledger/ --remove-up-to 1000000 --reason 'kept 7 years' --execute",
    ],
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
@pass_door
def archive(
    door: Door, *, ledger_path: Path, remove_up_to: int | None, reason: str, execute: bool
) -> None:
    """List old stretches of the log, or remove them.

    No snapshot needs them any more; they are the audit trail. What is removed leaves a tombstone, so that what is left
    can still be verified and proved.
    """
    if remove_up_to is None:
        with reading(door, ledger_path) as found:
            parts = found.archive()
    else:
        if not reason:
            raise click.UsageError("say why with --reason: it is kept")
        with writing(door, ledger_path) as found:
            parts = found.remove_archived(up_to=remove_up_to, reason=reason, execute=execute)
    if door.is_for_programs:
        door.emit_rows(parts)
        return
    rows = [
        (each.file, each.first_seq, each.last_seq, each.bytes, each.removed_at, each.reason)
        for each in parts
    ]
    write_table(("file", "from seq", "to seq", "bytes", "removed", "why"), rows)
    if remove_up_to is not None and not execute:
        door.say(f"{plural(len(parts), 'file')} would be removed; say --execute to do it")


@click.command(
    "export", cls=Command, examples=["stateward ledger export ledger/ --out ledger.jsonl"]
)
@a_ledger
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), required=True, help="A new file."
)
@pass_door
def export(door: Door, *, ledger_path: Path, out: Path) -> None:
    """Write the whole log into one file that proves itself.

    The lines as they are, and an anchor at the end: `ledger verify FILE` finds any change and any cut.
    """
    from stateward.ledger.single import export as export_file

    with reading(door, ledger_path) as found:
        anchor = export_file(found, out, progress=_progress(door))
    if door.json:
        door.emit({"out": str(out), **_plain_anchor(anchor)})
    else:
        door.say(
            f"{plural(anchor.count, 'line')} written to {out}; the head of the chain is {anchor.head}"
        )


def _plain_anchor(anchor: object) -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(anchor)
    return plain


# Old ledgers


@click.command(
    "migrate",
    cls=Command,
    examples=[
        "stateward ledger migrate ledger.jsonl --dry-run --report report.txt",
        "stateward ledger migrate ledger.jsonl --output ledger/",
        "stateward ledger migrate old/ledger.jsonl --in-place --mapping words.yaml",
        "stateward ledger migrate ledger.jsonl --output ledger/ --rollback",
    ],
)
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--output", metavar="DIR", type=click.Path(path_type=Path), help="The new ledger: a new folder."
)
@click.option("--in-place", is_flag=True, help="Make the folder of FILE the new ledger.")
@click.option(
    "--mapping",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Words for states of your own, as YAML.",
)
@click.option("--dry-run", is_flag=True, help="Read everything, write nothing.")
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report as text and JSON.",
)
@click.option(
    "--rollback", is_flag=True, help="Put the new ledger aside and bring the old bytes back."
)
@accept_loss
@pass_door
def migrate(
    door: Door, *, source: Path, output: Path | None, in_place: bool, mapping: Path | None, dry_run: bool,
    report: Path | None, rollback: bool, accept_loss: bool,
) -> None:  # fmt: skip
    """Make a ledger of an old file of JSON lines.

    Keeps a backup first, builds the new ledger beside, checks it, then puts it in place in one step. Killed, it goes on
    where it was; run twice, it changes nothing. Moves that the machine does not have are imported, marked and reported.
    """
    from stateward.ledger.migrate import migrate as run
    from stateward.ledger.migrate import write_report

    if rollback:
        _undo(door, source, output, in_place=in_place, accept_loss=accept_loss, dry_run=dry_run)
        return
    if output is None and not in_place and not dry_run:
        raise click.UsageError("say where the new ledger goes: --output DIR or --in-place")
    done = run(
        source,
        output=output,
        in_place=in_place,
        mapping=_mapping(mapping),
        dry_run=dry_run,
        progress=_meter(door),
    )
    if report is not None:
        text, data = write_report(done, report)
        door.say(f"the report is in {text} and {data}")
    _tell(door, done, is_long=report is None)


def _mapping(path: Path | None) -> "StateMap | None":
    from stateward.ledger.legacy import read_mapping

    return None if path is None else read_mapping(path.read_text("utf-8"), source=str(path))


def _meter(door: Door) -> "Callable[[Progress], None]":
    def show(now: "Progress") -> None:
        share = 100 * now.done / now.all if now.all else 100.0
        left = span(round(now.left_s * 1_000_000))
        door.progress(
            f"{now.what}: {share:.0f} %, {now.lines:,} lines, {now.lines_per_s:,.0f} a second, {left} left"
        )

    return show


def _tell(door: Door, done: "Report", *, is_long: bool) -> None:
    from stateward.ledger.migrate import report_text

    if door.json:
        door.emit(done)
        return
    if is_long:
        write_text(report_text(done))
    if done.is_done_already:
        door.say(f"{done.target} was made of this file already; nothing was changed")
    elif done.is_dry_run:
        door.say(
            f"a dry run: {plural(done.documents, 'document')} would be migrated; nothing was written"
        )
    else:
        door.say(
            f"{plural(done.documents, 'document')} in {done.target}; the old file is kept as {done.backup}"
        )


def _undo(
    door: Door,
    source: Path,
    output: Path | None,
    *,
    in_place: bool,
    accept_loss: bool,
    dry_run: bool,
) -> None:
    from stateward.ledger.migrate import undo

    done = undo(
        source, output=output, in_place=in_place, accept_loss=accept_loss, execute=not dry_run
    )
    if door.json:
        door.emit(done)
    else:
        was = "would be" if dry_run else "is"
        door.say(
            f"the new ledger {was} put aside as {done.aside}; {done.source} "
            + (
                f"{was} brought back from {done.backup}"
                if done.is_restored
                else "has its old bytes"
            )
        )


@click.command(
    "prune-backups",
    cls=Command,
    is_listing=True,
    examples=[
        "stateward ledger prune-backups .",
        "stateward ledger prune-backups . --days 60 --execute",
    ],
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--days",
    type=click.IntRange(1),
    default=BACKUP_DAYS,
    show_default=True,
    help="How long they are kept.",
)
@execute
@pass_door
def prune_backups(door: Door, *, folder: Path, days: int, execute: bool) -> None:
    """Remove old backups that migrations made.

    Nothing else ever removes one. Their age is the date in their name.
    """
    from stateward.ledger.migrate import prune_backups as prune

    old = prune(folder, days=days, execute=execute)
    if door.is_for_programs:
        door.emit_rows(
            {"path": str(each.path), "day": str(each.day), "bytes": each.bytes} for each in old
        )
        return
    write_table(("backup", "of", "bytes"), [(each.path, each.day, each.bytes) for each in old])
    said = "removed" if execute else "would be removed; say --execute to do it"
    door.say(f"{plural(len(old), 'backup')} older than {plural(days, 'day')} {said}")


# Measuring


@click.command(
    "bench",
    cls=Command,
    examples=["stateward ledger bench", "stateward ledger bench --documents 100000 --json"],
)
@click.option(
    "--documents",
    "count",
    type=click.IntRange(1, BENCH_DOCUMENTS_MAX),
    default=20_000,
    show_default=True,
    help="How many documents the measured ledger has.",
)
@pass_door
def bench(door: Door, *, count: int) -> None:
    """Measure appending, opening and asking, on this disk.

    In a temporary folder; nothing is left behind.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="stateward-ledger-bench-") as folder:
        rows = _measured(door, Path(folder) / "ledger", count)
    if door.json:
        door.emit(
            [
                {"what": what, "count": n, "seconds": s, "each_us": s / n * 1e6}
                for what, n, s in rows
            ]
        )
    else:
        shown = [(what, f"{n:,}", f"{s / n * 1e6:,.1f}", f"{n / s:,.0f}") for what, n, s in rows]
        write_table(("what", "times", "microseconds each", "a second"), shown)


def _measured(door: Door, folder: Path, count: int) -> list[tuple[str, int, float]]:
    from time import perf_counter

    from stateward.ledger import Ledger, LedgerState

    rows: list[tuple[str, int, float]] = []

    def measure(what: str, times: int, work: "Callable[[], object]") -> None:
        door.progress(what)
        start = perf_counter()
        work()
        rows.append((what, times, max(perf_counter() - start, 1e-9)))

    ids = [f"doc:{number}" for number in range(count)]
    few = ids[: min(count, 200)]
    with Ledger.open(folder) as found:
        measure(
            "append, one record a sync",
            len(few),
            lambda: [found.record(each, LedgerState.PENDING) for each in few],
        )
        rest = [(each, LedgerState.PENDING, "bench") for each in ids[len(few) :]]
        groups = [rest[at : at + 1024] for at in range(0, len(rest), 1024)]
        if rest:
            measure(
                "append, 1,024 records a sync",
                len(rest),
                lambda: [found.record_many(each) for each in groups],
            )
        measure("compact, a document", count, found.compact)
        measure("read a document", len(few), lambda: [found.document(each) for each in few])
    measure("open, read and close", 20, lambda: [_opened(folder, ids[0]) for _ in range(20)])
    return rows


def _opened(folder: Path, doc_id: str) -> str | None:
    from stateward.ledger import Ledger

    with Ledger.open(folder, read_only=True) as found:
        return found.state(doc_id)


COMMANDS: tuple[click.Command, ...] = (
    validate, verify, repair, prove, checkpoint, compact, snapshot, snapshots, rollback, archive, export, migrate,
    prune_backups, bench,
)  # fmt: skip
