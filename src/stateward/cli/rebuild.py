"""`stateward rebuild`: items made anew from what an earlier stage left, by the rules of today."""

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.exit_codes import Exit, problem
from stateward.cli.output import plural


@click.command(
    "rebuild",
    cls=Command,
    is_listing=True,
    examples=[
        "stateward rebuild UL_01h2k3",
        "stateward rebuild --query 'machine:invoices status:completed'",
    ],
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--query", metavar="QUERY", help="All records that match, as `stateward list` says.")
@click.option(
    "--stage", metavar="NAME", default="normalize", show_default=True, help="The stage to do again."
)
@pass_context
def rebuild(context: CliContext, *, ids: tuple[str, ...], query: str | None, stage: str) -> Exit:
    """Make the rows of finished records anew, by today's rules.

    Nothing is parsed again and no record moves: what the stage before left is read once more, and the result is a
    new edition. The rows that were there stay: stateward items ID --edition 0.
    """
    from stateward.cli.local import LocalApp
    from stateward.core.errors import StatewardError, StoreError
    from stateward.engine.system import person

    if bool(ids) == bool(query):
        raise click.UsageError("name records, or give a --query; one of the two")
    rows: list[dict[str, object]] = []
    worst = Exit.OK
    with context.local_app() as app:
        found = ids or tuple(each.id for each in LocalApp(app).find(query or ""))
        for record_id in found:
            context.progress(f"{len(rows)} of {len(found)} rebuilt")
            try:
                mark = app.editions.rebuild(record_id, stage, actor=person())
            except StoreError:
                raise
            except StatewardError as error:
                worst = Exit.REFUSED
                rows.append(
                    {"id": record_id, "outcome": "refused", "error": problem(error).plain()}
                )
                context.say(f"refused {record_id}: {error}")
                continue
            outcome = "unchanged" if mark is None else "rebuilt"
            count = None if mark is None else mark.count
            rows.append({"id": record_id, "outcome": outcome, "count": count, "error": None})
            if not context.is_for_programs:
                context.say(
                    f"{outcome} {record_id}" + (f": {plural(count, 'row')}" if count else "")
                )
    if context.is_for_programs:
        context.emit_rows(rows)
    return worst
