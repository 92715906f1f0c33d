"""`backup` makes a set of everything an installation holds, `restore` brings one back."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.kept_files import kept_file
from stateward.cli.output import plural, write, write_table
from stateward.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stateward.app.backup_places import BackupPlace, BackupSet
    from stateward.app.known_elsewhere import Elsewhere
    from stateward.settings import Settings

SHOWN_MAX = 10
OPTION_WORDS = ("list", "check")  # who types one wants to look, and no folder of that name


@command(
    "backup",
    "stateward backup /mnt/backup/stateward",
    "stateward backup /mnt/backup/stateward --keep 14",
    "stateward backup /mnt/backup/stateward --list",
    "stateward backup /mnt/backup/stateward --check",
    "stateward backup s3://bucket/stateward --keep 14",
)
@click.argument("where", metavar="DIR|URL")
@option("--keep N", "Keep the newest N sets and remove the others.", type=click.IntRange(min=1))
@flag_option("--list", "Only list the sets that exist.", to="is_list")
@flag_option(
    "--check",
    "Only check the newest set: read database and documents, and compare them with their hashes.",
    to="is_check",
)
@pass_context
def backup(
    context: CliContext, where: str, *, keep: int | None, is_list: bool, is_check: bool
) -> Exit:
    """Back up database, documents, ledger and settings as one set.

    To a folder or to object storage (s3://, gs://, az://; credentials from the environment, endpoint and region of
    `artifacts`). Works while the service runs. Documents and pieces of an SQLite database that an earlier set contains
    are not copied again. With exit code 0 the set is complete and durable; with 1 it lacks the documents that are
    listed.
    """
    from stateward.app.backup import Backup
    from stateward.app.backup_places import holding_more, place_at

    if where in OPTION_WORDS and not Path(where).exists():
        raise click.UsageError(
            f"name the folder too: stateward backup DIR --{where}; a new folder of that name is ./{where}"
        )
    place = place_at(where, context.settings())
    if is_list:
        return _show_sets(context, place.sets())
    if is_check:
        return _check(context, place)
    with context.local_app(only_reads=True) as app:  # a full disk is the one that wants a backup
        maker = Backup(
            app.settings, place, database=app.database, config=context.config, clock=app.clock
        )
        made = maker.make(progress=context.progress_of)
    if not context.json:  # before older sets are removed, which may be refused
        for digest in made.missing:
            write(f"missing: {digest}")
        context.say(_describe_set(made, place.location))
    gone = [] if keep is None else place.remove_old(keep=keep)
    more = [] if keep is None else holding_more(place.sets(), made.transitions)
    if context.json:
        context.emit({**_plain(made), "removed": gone, "holding_more": more})
    else:
        if gone:
            context.say(f"removed {plural(len(gone), 'older set')}")
        if more:
            context.say(f"kept, because they hold more than this store: {', '.join(more)}")
    return Exit.FOUND_PROBLEMS if made.missing else Exit.OK


@command(
    "restore",
    "stateward --data stateward-restored restore /mnt/backup/stateward/sets/20260131T030000Z",
    "stateward --data stateward-restored restore s3://bucket/stateward/sets/20260131T030000Z",
    "stateward restore --compare --checkpoint mailed.eml",
)
@click.argument("place", metavar="[SET]", required=False)
@option(
    "--checkpoint FILE",
    "Also compare with this checkpoint, such as a saved email or s3://bucket/name. May be repeated.",
    to="named",
    multiple=True,
)
@flag_option(
    "--compare",
    "Restore nothing, only compare the present store, after a recovery by other means.",
    to="is_compare",
)
@pass_context
def restore(
    context: CliContext, place: str | None, *, named: tuple[str, ...], is_compare: bool
) -> Exit:
    """Restore a backup set into an empty data folder.

    Checks every file against its hash, refuses to overwrite a store, and verifies the result, also against the newest
    checkpoint that covers no more than the set. Then reports what is known elsewhere and missing in the set, and what
    to do about it: newer sets, later documents, records in the mirrored ledger, and exported checkpoints that cover
    more. Exit code 1 if anything is missing.
    """
    if (place is None) != is_compare:
        raise click.UsageError("name a backup set, or give --compare")
    checkpoints = tuple(kept_file(context, each) for each in named)
    if place is None:
        return _compare(context, checkpoints)
    from stateward.app import App
    from stateward.app.known_elsewhere import kept_here, way_on
    from stateward.app.restore import restore as bring_back

    settings = context.settings()
    found = bring_back(
        place,
        settings,
        checkpoints=checkpoints,
        progress=context.progress_of,
    )
    with App(settings) as app:
        verdict = app.admin.verify(
            kept=kept_here(found),
            progress=context.progress_of,
        )
    steps = way_on(found, settings, place=place.rstrip("/").rpartition("/sets/")[0] or None)
    if context.json:
        context.emit({**_plain(found), "is_sound": verdict.is_sound, "next": steps})
    else:
        for finding in verdict.findings:
            write(finding)
        context.say(
            f"restored {plural(found.set.records, 'record')} with {plural(found.documents, 'document')} as of "
            f"{found.set.taken_at}"
        )
        _tell(context, found, steps, settings)
    return Exit.OK if verdict.is_sound and not found.is_behind else Exit.FOUND_PROBLEMS


def _check(context: CliContext, place: "BackupPlace") -> Exit:
    """Sets share what did not change, so a file that a disk has damaged is missing in all of them."""
    from stateward.app.backup_places import SETS
    from stateward.app.restore import check_set

    sets = place.sets()
    if not sets:
        raise InvalidRequest(f"there is no backup set in {place.location}")
    newest = f"{place.location}/sets/{sets[-1].name}"
    bad = check_set(
        newest,
        context.settings(),
        progress=context.progress_of,
    )
    if context.json:
        context.emit({"set": sets[-1].name, "damaged": bad})
        return Exit.FOUND_PROBLEMS if bad else Exit.OK
    for each in bad:
        write(f"damaged: {each}")
    shared = [each for each in bad if not each.startswith(f"{SETS}/")]
    advice = "remove these files, and the next set stores them anew as far as they are still here"
    if bad and not shared:
        advice = "what it shares with others is sound; make another one, and move it away then"
    context.say(f"{newest} is damaged: {advice}" if bad else f"{newest} is sound")
    return Exit.FOUND_PROBLEMS if bad else Exit.OK


def _compare(context: CliContext, checkpoints: tuple[Path, ...]) -> Exit:
    """What is known elsewhere, for who has brought a database back without us."""
    from stateward.app.backup_places import place_at
    from stateward.app.known_elsewhere import compare_elsewhere, way_on

    settings = context.settings()
    place = None if settings.backup.folder is None else place_at(settings.backup.folder, settings)
    found = compare_elsewhere(settings, place=place, checkpoints=checkpoints)
    steps = way_on(found, settings, place=settings.backup.folder)
    if context.json:
        context.emit({**_plain(found), "next": steps})
    else:
        _tell(context, found, steps, settings)
        if not found.is_behind and not found.unknown_documents:
            context.say("nothing is known elsewhere that is missing here")
    return Exit.FOUND_PROBLEMS if found.is_behind else Exit.OK


def _plain(value: "BackupSet | Elsewhere") -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(value)
    return plain


def _describe_set(made: "BackupSet", location: str) -> str:
    size = f"{made.new_bytes / 1e6:,.1f} MB"
    database = f"{made.database_bytes / 1e6:,.1f} MB"
    new = f"{(made.database_new_bytes or 0) / 1e6:,.1f} MB"
    return (
        f"{plural(made.records, 'record')}, {plural(made.transitions, 'transition')} ({database}, {new} new) and "
        f"{plural(made.documents, 'document')} ({made.new_documents:,} new, {size}) are in "
        f"{location}/sets/{made.name}"
    )


def _show_sets(context: CliContext, sets: "list[BackupSet]") -> Exit:
    if context.json:
        context.emit(sets)
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


def _tell(context: CliContext, found: "Elsewhere", steps: list[str], settings: "Settings") -> None:
    from stateward.app.known_elsewhere import place_of

    if found.newer_sets:
        write(f"sets of the same place that hold more: {len(found.newer_sets):,}")
    _list(
        f"{plural(len(found.erased_since), 'record')} came back that were erased since",
        found.erased_since,
    )
    _list(f"{plural(len(found.missing), 'document')} of these records are not here", found.missing)
    _list(
        f"{plural(len(found.unknown_documents), 'document')} without a record here, which came later or were refused",
        [place_of(digest, settings) for digest in found.unknown_documents[:SHOWN_MAX]],
    )
    if found.ledger_ahead:
        write(
            f"the mirrored ledger knows {plural(found.ledger_ahead, 'transition')} beyond this history, of: "
            f"{', '.join(found.ledger_records[:SHOWN_MAX])}"
        )
    if found.checkpoint is not None:
        acts = plural(found.acts_ahead, "act")
        write(
            f"{found.checkpoint} covers {plural(found.checkpoint_ahead, 'transition')} and {acts} of the audit log "
            "beyond this history: what happened then is in a newer set, in the ledger, or lost"
        )
    for each in found.unread:
        write(f"could not be asked: {each}")
    if steps:
        context.say("what to do next:")
        for number, step in enumerate(steps, 1):
            context.say(f"  {number}. {step}")


def _list(heading: str, lines: "Sequence[str]") -> None:
    if lines:
        write(f"{heading}:")
        for line in lines[:SHOWN_MAX]:
            write(f"  {line}")
