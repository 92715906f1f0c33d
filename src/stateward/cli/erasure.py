"""`erase` deletes what records held and keeps the proof, `retention` by rules; `hold` forbids it for a record."""

from typing import TYPE_CHECKING

import click

from stateward.cli.commands import command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import moment, plural, write, write_table

if TYPE_CHECKING:
    from stateward import schemas


LEFT = "of {} a file could not be deleted; a running service tries it again every six hours"


@command(
    "erase",
    "stateward erase UL_1jmkfmr2i19bcadr3p4nojkkjtstq396 --reason 'request 17 of the customer'",
    "stateward erase --subject customer=4711 --reason 'request 17 of the customer' --yes",
    reads_without="yes",
)
@click.argument("record_ids", metavar="[ID]...", nargs=-1)
@option(
    "--subject LABEL=VALUE",
    "All records with this label, of all pipelines: everything about one person.",
)
@option("--reason TEXT", "Why; it stays in the history, so name no person.")
@flag_option(
    "--no-compact",
    "Do not rewrite the database now, because writers wait meanwhile. Until it is rewritten, earlier states of rows "
    "may remain in unused parts of its files.",
)
@flag_option(
    "--compact",
    "Erase nothing, only rewrite the database: after --no-compact, erasures over HTTP and retention.",
)
@flag_option("--yes", "Do it; otherwise only show what would be done.")
@pass_context
def erase(
    context: CliContext,
    *,
    record_ids: tuple[str, ...],
    subject: str | None,
    reason: str | None,
    no_compact: bool,
    compact: bool,
    yes: bool,
) -> Exit:
    """Erase the content of records, and keep the proof.

    Deletes documents, items, derived files, logs, labels, file names, notes, messages, search entries and messages to
    webhooks. A transition records who erased what, when and why; the history still verifies, also with earlier
    checkpoints. Records that are still in progress or on hold are refused. Says where copies may remain: backups, a
    mirrored ledger, exports.
    """
    if compact and not (record_ids or subject or reason or no_compact):
        return _compact(context)
    if compact or bool(record_ids) == (subject is not None):
        raise click.UsageError(
            "name records, or a person with --subject LABEL=VALUE, or --compact alone"
        )
    if reason is None:
        raise click.UsageError("give a reason with --reason; it stays in the history")
    with context.app() as app:
        done = app.erase_records(
            record_ids,
            subject=subject,
            reason=reason,
            is_dry_run=not yes,
            is_compacted=not no_compact,
            progress=context.progress,
        )
    if context.json:
        context.emit(done)
    else:
        _tell(context, done)
    if done.refused:
        return Exit.REFUSED
    return Exit.FOUND_PROBLEMS if done.left else Exit.OK


def _compact(context: CliContext) -> Exit:
    with context.local_app() as app:
        context.progress("the database is written anew")
        app.database.compact()
        is_file = app.settings.store_path is not None
    context.say(
        "the database was written anew: its file holds nothing that was erased"
        if is_file
        else "what was deleted is free: the server writes over it, and over its log, in its time"
    )
    return Exit.OK


def _tell(context: CliContext, done: "schemas.ErasureAnswer") -> None:
    for record_id, why in done.refused.items():
        write(f"refused: {record_id}: {why}")
    for record_id in done.erased:
        write(record_id)
    records = plural(len(done.erased), "record")
    if done.is_dry_run:
        context.say(f"{records} would be erased; nothing was: add --yes to do it")
        return
    context.say(f"{records} and {plural(done.documents, 'document')} erased; the proof stays")
    for record_id, why in done.left.items():
        write(f"erased, but a file is not deleted yet: {record_id}: {why}")
    if done.left:
        context.say(LEFT.format(plural(len(done.left), "record")))
    if done.erased:
        for each in done.copies:
            context.say(f"may still hold it: {each}")


@command(
    "hold",
    "stateward hold UL_1jmkfmr2i19bcadr3p4nojkkjtstq396 --reason 'case 12 O 34/26'",
    "stateward hold UL_1jmkfmr2i19bcadr3p4nojkkjtstq396 --release --reason 'the case is closed'",
    "stateward hold --list",
    reads_with="is_list",
)
@click.argument("record_id", metavar="[ID]", required=False)
@option("--reason TEXT", "Why; recorded with your name.")
@flag_option("--release", "Release the record.")
@flag_option("--list", "List held records.", to="is_list")
@pass_context
def hold(
    context: CliContext, *, record_id: str | None, reason: str | None, release: bool, is_list: bool
) -> None:
    """Protect records from deletion, or release them.

    Neither retention rules nor requests delete anything of a held record. The audit log says who held or released it,
    when and why.
    """
    if is_list == (record_id is not None):
        raise click.UsageError("name a record, or give --list")
    from stateward.core.model import plain_actor

    with context.app() as app:
        if record_id is None:
            context.show_rows(
                app.holds(),
                ("record", "held at", "by", "reason"),
                lambda each: (
                    each.record_id,
                    moment(each.at),
                    plain_actor(each.actor),
                    each.reason,
                ),
            )
            return
        done = app.hold(record_id, reason=reason or "", is_held=not release)
    outcome = "is held" if done.is_held else "may be deleted again"
    context.show(done, message=f"{done.record_id} {outcome}")


@command("retention", "stateward retention", "stateward retention --yes", reads_without="yes")
@flag_option("--yes", "Do it; otherwise only show what would be done.")
@pass_context
def retention(context: CliContext, *, yes: bool) -> Exit:
    """Delete old content by the retention rules of the settings.

    The rules are in `retention.rules`. `stateward up` and `stateward coordinator` apply them every
    `retention.every_hours`. If a file cannot be deleted, the others still are, and the exit code is 1.
    """
    with context.app() as app:
        done = app.apply_retention(is_dry_run=not yes, progress=context.progress_of)
    left = sum(each.left for each in done.rules)
    status = Exit.FOUND_PROBLEMS if left else Exit.OK
    if context.json:
        context.emit(done)
        return status
    rows = [
        (
            each.pipeline,
            each.status,
            f"{each.older_than_days:g} days",
            ", ".join(each.delete),
            each.records,
        )
        for each in done.rules
    ]
    write_table(("pipeline", "status", "older than", "delete", "records"), rows)
    total = sum(each.records for each in done.rules)
    if not done.rules:
        context.say("there are no rules: name some in retention.rules of the settings")
    elif yes:
        context.say(f"deleted of {plural(total, 'record')}; the proof stays")
    else:
        context.say(f"{plural(total, 'record')} would lose something; add --yes to do it")
    if left:
        fault = next(each.fault for each in done.rules if each.left)
        context.say(f"{LEFT.format(plural(left, 'record'))}: {fault}")
    return status
