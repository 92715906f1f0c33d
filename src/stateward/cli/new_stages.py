"""`stateward advance --to-new-stages`: records that had ended go on where their machine has grown since."""

from typing import TYPE_CHECKING

import click

from stateward.cli.context import CliContext
from stateward.cli.exit_codes import Exit
from stateward.cli.output import plural, write, write_table

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.app.actions import Bulk


def advance_to_new_stages(
    context: CliContext, query: str, *, reason: str | None, is_dry_run: bool, is_agreed: bool
) -> Exit:
    """Take on all that match, after showing how many that is."""
    with context.local_app() as app:
        foreseen = _bulk(context, app, query, reason=reason, is_dry_run=True)
        if is_dry_run:
            return _show(context, foreseen)
        if not is_agreed and not _is_agreed(context, query, foreseen):
            context.say("nothing was done")
            return Exit.INTERRUPTED
        return _show(context, _bulk(context, app, query, reason=reason, is_dry_run=False))


def _bulk(
    context: CliContext, app: "App", query: str, *, reason: str | None, is_dry_run: bool
) -> "Bulk":
    from stateward.engine.system import person

    return app.actions.advance_to_new_stages(
        app.records.query(query),
        actor=person(),
        reason=reason,
        is_dry_run=is_dry_run,
        progress=lambda count: context.progress(f"{plural(count, 'record')} looked at"),
    )


def _is_agreed(context: CliContext, query: str, foreseen: "Bulk") -> bool:
    from stateward.core.errors import InvalidRequest

    if not context.can_ask():
        raise InvalidRequest(
            f"advance would concern {plural(foreseen.applied, 'record')} matching {query}; "
            "look with --dry-run, then say --yes"
        )
    return click.confirm(f"advance {plural(foreseen.applied, 'record')}?", err=True)


def _show(context: CliContext, bulk: "Bulk") -> Exit:
    if context.json:
        context.emit(bulk)
        return Exit.OK
    would = "would go" if bulk.is_dry_run else "go"
    if bulk.by_status:
        write_table(("status", "records"), sorted(bulk.by_status.items()))
    write(f"{plural(bulk.matched, 'record')} matched; {bulk.applied:,} {would} on with a new stage")
    if rest := bulk.matched - bulk.applied:
        write(f"{rest:,} stay: no stage follows their status, or it would have nothing to do")
    return Exit.OK
