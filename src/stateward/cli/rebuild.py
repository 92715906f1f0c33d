"""`stateward rebuild`: items made anew from what an earlier stage left, by the rules of today."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import command, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit, problem
from stateward.cli.output import plural

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.storage.outputs import AttemptResult


@command(
    "rebuild",
    "stateward rebuild UL_01h2k3",
    "stateward rebuild --query 'machine:invoices status:completed'",
    "stateward rebuild UL_01h2k3 --stage normalize",
    is_listing=True,
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@option("--query QUERY", "All records that match this query, as in `stateward list`.")
@option("--stage NAME", "Stage to run again; otherwise what is out of date.")
@pass_context
def rebuild(
    context: CliContext, *, ids: tuple[str, ...], query: str | None, stage: str | None
) -> Exit:
    """Compute the items of finished records again.

    Runs the stages after the reading once more, and reads a document again only if an older reader read it (as `reparse
    --outdated` does). No record changes its status: the result is a new edition, and the earlier items stay (stateward
    items ID --edition 0).
    """
    from stateward.cli.local import LocalApp
    from stateward.core.errors import StatewardError, StoreError

    if bool(ids) == bool(query):
        raise click.UsageError("name records or give --query, not both")
    rows: list[dict[str, object]] = []
    worst = Exit.OK
    with context.local_app() as app:
        found = ids or tuple(each.id for each in LocalApp(app).find(query or ""))
        for record_id in found:
            context.progress(f"{len(rows)} of {len(found)} rebuilt")
            try:
                editions = _rebuild(app, record_id, stage)
            except StoreError:
                raise
            except StatewardError as error:
                worst = Exit.REFUSED
                rows.append(
                    {"id": record_id, "outcome": "refused", "error": problem(error).plain()}
                )
                context.say(f"refused {record_id}: {error}")
                continue
            outcome = "rebuilt" if editions else "unchanged"
            count = editions[-1].count if editions else None
            rows.append({"id": record_id, "outcome": outcome, "count": count, "error": None})
            if not context.is_for_programs:
                context.say(f"{outcome} {record_id}" + _summary(editions))
    if context.is_for_programs:
        context.emit_rows(rows)
    return worst


def _rebuild(app: "App", record_id: str, stage: str | None) -> "Sequence[AttemptResult]":
    """The editions that came of it."""
    from stateward.engine.system import person

    if stage is None:
        return app.editions.rebuild_outdated(record_id, actor=person())
    made = app.editions.rebuild(record_id, stage, actor=person())
    return [] if made is None else [made]


def _summary(editions: "Sequence[AttemptResult]") -> str:
    parts = [f"{each.stage} {plural(each.count or 0, 'row')}" for each in editions]
    return f": {', '.join(parts)}" if parts else ""
