"""`backup` makes a set of everything an installation holds, `restore` brings one back."""

from typing import TYPE_CHECKING

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import plural, write, write_table

if TYPE_CHECKING:
    from stateward.app.backup_places import BackupSet
    from stateward.app.restore import Restored

SHOWN_MAX = 10


@click.command(
    "backup",
    cls=Command,
    examples=[
        "stateward backup /mnt/backup/stateward",
        "stateward backup /mnt/backup/stateward --keep 14",
        "stateward backup /mnt/backup/stateward --list",
        "stateward backup s3://bucket/stateward --keep 14",
    ],
)
@click.argument("where", metavar="DIR|URL")
@click.option(
    "--keep", metavar="N", type=click.IntRange(min=1), help="Remove all but the newest N sets."
)
@click.option("--list", "is_list", is_flag=True, help="Make none: show those that there are.")
@pass_context
def backup(context: CliContext, where: str, *, keep: int | None, is_list: bool) -> Exit:
    """Back up database, documents, ledger and settings as one set.

    Into a folder, or into object storage (s3://, gs://, az://; credentials from the environment, endpoint and region
    of `artifacts`). Works while the service runs. Documents that an earlier set there holds are not copied again. The
    set is complete and durable when this ends with 0; with 1 it is complete but for the documents that are listed.
    """
    from stateward.app.backup import Backup
    from stateward.app.backup_places import place_at

    place = place_at(where, context.settings())
    if is_list:
        return _show_sets(context, place.sets())
    with context.local_app() as app:
        maker = Backup(
            app.settings, place, database=app.database, config=context.config, clock=app.clock
        )
        made = maker.make(progress=lambda what, count: context.progress(f"{what}: {count:,}"))
    gone = [] if keep is None else place.remove_old(keep=keep)
    if context.json:
        context.emit({**_plain(made), "removed": gone})
    else:
        for digest in made.missing:
            write(f"missing: {digest}")
        context.say(_told(made, place.location))
        if gone:
            context.say(f"removed {plural(len(gone), 'older set')}")
    return Exit.FOUND_PROBLEMS if made.missing else Exit.OK


@click.command(
    "restore",
    cls=Command,
    examples=[
        "stateward --data stateward-restored restore /mnt/backup/stateward/sets/20260131T030000Z",
        "stateward --data stateward-restored restore s3://bucket/stateward/sets/20260131T030000Z",
    ],
)
@click.argument("place", metavar="SET")
@pass_context
def restore(context: CliContext, place: str) -> Exit:
    """Bring a backup set back into an empty data folder.

    Checks every file against its hash, refuses to overwrite a store, and then says what is known here beyond the set:
    documents that came later, records that the mirrored ledger knows, and checkpoints that were handed over and cover
    more. With 1 something is missing.
    """
    from stateward.app import App
    from stateward.app.restore import restore as bring_back

    settings = context.settings()
    found = bring_back(
        place, settings, progress=lambda what, count: context.progress(f"{what}: {count:,}")
    )
    with App(settings) as app:
        verdict = app.admin.verify(
            progress=lambda what, count: context.progress(f"{what}: {count:,}")
        )
    if context.json:
        context.emit({**_plain(found), "is_sound": verdict.is_sound})
    else:
        for finding in verdict.findings:
            write(finding)
        _tell_restored(context, found)
    is_ahead = found.ledger_ahead or found.checkpoint_ahead
    is_well = verdict.is_sound and not found.missing and not is_ahead
    return Exit.OK if is_well else Exit.FOUND_PROBLEMS


def _plain(value: "BackupSet | Restored") -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(value)
    return plain


def _told(made: "BackupSet", location: str) -> str:
    size = f"{made.new_bytes / 1e6:,.1f} MB"
    return (
        f"{plural(made.records, 'record')}, {plural(made.transitions, 'transition')} and "
        f"{plural(made.documents, 'document')} ({made.new_documents:,} new, {size}) are in "
        f"{location}/sets/{made.name}"
    )


def _show_sets(context: CliContext, sets: "list[BackupSet]") -> Exit:
    if context.json:
        context.emit([_plain(each) for each in sets])
        return Exit.OK
    write_table(
        ("set", "records", "transitions", "documents", "missing", "stateward"),
        [
            (
                each.name,
                each.records,
                each.transitions,
                each.documents,
                len(each.missing),
                each.stateward,
            )
            for each in sets
        ],
    )
    return Exit.OK


def _tell_restored(context: CliContext, found: "Restored") -> None:
    context.say(
        f"restored {plural(found.set.records, 'record')} with {plural(found.documents, 'document')} as of "
        f"{found.set.taken_at}"
    )
    if found.missing:
        write(f"{plural(len(found.missing), 'document')} of these records could not be restored:")
        for digest in found.missing[:SHOWN_MAX]:
            write(f"  {digest}")
    if found.unknown_documents:
        write(
            f"{plural(len(found.unknown_documents), 'document')} in the data folder came after the backup; submit each "
            "again to have a record for it:"
        )
        for digest in found.unknown_documents[:SHOWN_MAX]:
            write(f"  artifacts/{digest[:2]}/{digest}")
    if found.ledger_ahead:
        write(
            f"the mirrored ledger knows {plural(found.ledger_ahead, 'transition')} beyond the backup, of: "
            f"{', '.join(found.ledger_records[:SHOWN_MAX])}"
        )
        context.say(
            "look at them with `stateward ledger history`; then name a new folder in ledger.mirror, because this "
            "ledger is not continued by the restored history"
        )
    if found.checkpoint is not None:
        write(
            f"{found.checkpoint} covers {plural(found.checkpoint_ahead, 'transition')} beyond the backup: what "
            "happened then is in a newer set, in the ledger, or lost"
        )
        context.say(
            "tell those who have such checkpoints that the history was restored: it does not grow from them any more"
        )
