"""Old ledgers: `stateward ledger migrate` makes a ledger of one, undoes that, and clears its backups away."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger.options import accept_loss, execute
from stateward.cli.output import plural, span, write_table, write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from stateward.ledger.legacy import LegacyMapping
    from stateward.ledger.migrate import MigrationProgress
    from stateward.ledger.migration_report import MigrationReport

BACKUP_DAYS = 30
SAID_EVERY_S = 10.0
PLACES_SHOWN = 10


@command(
    "migrate",
    "stateward ledger migrate ledger.jsonl --report report.txt",
    "stateward ledger migrate ledger.jsonl --output ledger/ --yes",
    "stateward ledger migrate old/ledger.jsonl --in-place --mapping words.yaml --yes",
    "stateward ledger migrate ledger.jsonl --output ledger/ --rollback --yes",
    "stateward ledger migrate old/ --prune-backups --days 60 --yes",
)
@click.argument("source", metavar="FILE|DIR", type=A_FILE)
@option("--output DIR", "The new ledger: a new folder.", type=A_FILE)
@flag_option("--in-place", "Make the folder of FILE the new ledger.")
@option("--mapping FILE", "Words for states of your own, as YAML.", type=A_FILE)
@flag_option("--dry-run", "The default: read everything, write nothing.", hidden=True)
@option("--report FILE", "Write the report as text and JSON.", type=A_FILE)
@flag_option("--rollback", "Put the new ledger aside and bring the old bytes back.")
@flag_option("--prune-backups", "Remove old backups that migrations left in the folder DIR.")
@option(
    "--days N",
    "With --prune-backups: how long they are kept.",
    type=click.IntRange(1),
    default=BACKUP_DAYS,
    show_default=True,
)
@accept_loss
@execute
@pass_context
def migrate(
    context: CliContext, *, source: Path, output: Path | None, in_place: bool, mapping: Path | None, dry_run: bool,
    report: Path | None, rollback: bool, prune_backups: bool, days: int, accept_loss: bool, execute: bool,
) -> Exit:  # fmt: skip
    """Convert an old file of JSON lines to a ledger.

    Without --yes it only reports what would become of it. Keeps a backup first, builds the new one beside, checks it,
    then puts it in place in one step. Killed, it goes on where it was; run twice, it changes nothing. Moves that the
    machine does not have are imported, marked and reported.
    """
    from stateward.ledger.migrate import migrate as run
    from stateward.ledger.migration_report import write_report

    if dry_run and execute:
        raise click.UsageError("--dry-run or --yes: take one")
    if report is not None and not report.absolute().parent.is_dir():
        # Before anything is done: what was done could not be reported.
        raise click.BadParameter(f"there is no folder {report.parent} for the report")
    if prune_backups:
        _prune(context, source, days=days, execute=execute)
        return Exit.OK
    if output is None and not in_place and (execute or rollback):
        raise click.UsageError("say which is the new ledger: --output DIR or --in-place")
    if rollback:
        _undo(context, source, output, in_place=in_place, accept_loss=accept_loss, execute=execute)
        return Exit.OK
    done = run(
        source,
        output=output,
        in_place=in_place,
        mapping=_mapping(mapping),
        dry_run=not execute,
        progress=_meter(context),
    )
    if report is not None:
        text, data = write_report(done, report)
        context.say(f"the report is in {text} and {data}")
    _tell(context, done, is_long=report is None)
    return Exit.OK if done.is_usable else Exit.FOUND_PROBLEMS


def _mapping(path: Path | None) -> "LegacyMapping | None":
    from stateward.ledger.legacy import read_mapping

    return None if path is None else read_mapping(path.read_text("utf-8"), source=str(path))


def _meter(context: CliContext) -> "Callable[[MigrationProgress], None]":
    said_at = time.monotonic()

    def show(now: "MigrationProgress") -> None:
        share = 100 * now.done / now.all if now.all else 100.0
        left = span(round(now.left_s * 1_000_000))
        text = f"{now.what}: {share:.0f} %, {now.lines:,} lines, {now.lines_per_s:,.0f} a second, {left} left"
        context.progress(text)
        nonlocal said_at
        if not sys.stderr.isatty() and time.monotonic() >= said_at + SAID_EVERY_S:
            said_at = time.monotonic()
            context.say(text)  # for a log file: a migration of minutes must not look as if it hung

    return show


def _tell(context: CliContext, done: "MigrationReport", *, is_long: bool) -> None:
    from stateward.ledger.migration_report import report_text

    if context.json:
        context.emit(done)
        return
    if is_long:
        write_text(report_text(done, places_max=PLACES_SHOWN))
    if not done.is_usable:
        sentence = "not one of its lines can be read" if done.broken else "it is empty"
        context.say(f"{sentence}: this is no ledger that can be migrated")
    elif done.is_done_already:
        context.say(f"{done.target} was made of this file already; nothing was changed")
    elif done.is_dry_run:
        # How long it will take, where that is worth saying.
        takes_s = done.expected_s or 0
        length = f" in about {span(round(takes_s * 1_000_000))}" if takes_s >= 1 else ""
        context.say(
            f"a dry run: {plural(done.documents, 'document')} would be migrated{length}; nothing was written, add "
            "--yes to do it"
        )
    else:
        context.say(
            f"{plural(done.documents, 'document')} in {done.target}; the old file is kept as {done.backup}"
        )


def _undo(
    context: CliContext, source: Path, output: Path | None, *, in_place: bool, accept_loss: bool, execute: bool
) -> None:  # fmt: skip
    from stateward.ledger.migrate import undo

    done = undo(source, output=output, in_place=in_place, accept_loss=accept_loss, execute=execute)
    if context.json:
        context.emit(done)
        return
    was = "is" if execute else "would be"
    context.say(f"the new ledger {was} put aside as {done.aside}")
    if done.changed_as is not None:
        context.say(f"{done.source}, which was written to since, {was} kept as {done.changed_as}")
    if done.is_restored:
        context.say(f"{done.source} {was} brought back from {done.backup}")
    else:
        context.say(f"{done.source} has its old bytes")
    if not execute:
        need = "--yes --accept-loss" if done.loss else "--yes"
        context.say(f"nothing was changed; add {need} to do it")


def _prune(context: CliContext, folder: Path, *, days: int, execute: bool) -> None:
    """Nothing else ever removes a backup. Their age is the date in their name."""
    from stateward.ledger.migration_backups import prune_backups

    old = prune_backups(folder, days=days, execute=execute)
    if context.json:
        context.emit(
            [{"path": str(each.path), "day": str(each.day), "bytes": each.bytes} for each in old]
        )
        return
    write_table(("backup", "of", "bytes"), [(each.path, each.day, each.bytes) for each in old])
    message = "removed" if execute else "would be removed; add --yes to do it"
    context.say(f"{plural(len(old), 'backup')} older than {plural(days, 'day')} {message}")


COMMANDS: tuple[click.Command, ...] = (migrate,)
