"""`stateward flag`: deciding about results that a stage flagged as wrong or incomplete.

The queue is a list like any other: `stateward list is:flagged`.
"""

from typing import TYPE_CHECKING

import click

from stateward.cli.commands import Group, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.records import record_fields

if TYPE_CHECKING:
    from stateward.engine.flags import FlagAction


@click.group(
    "flag",
    cls=Group,
    examples=[
        "stateward list is:flagged",
        "stateward flag confirm UL_01h2k3",
        "stateward flag reject UL_01h2k3 --reason 'page 3 is missing'",
    ],
)
def flag() -> None:
    """Confirm or reject flagged results."""


@flag.command("confirm", "stateward flag confirm UL_01h2k3 --reason 'checked by hand'")
@click.argument("record_id", metavar="ID")
@option("--reason TEXT", "Why; kept in the audit log.")
@pass_context
def confirm(context: CliContext, *, record_id: str, reason: str | None) -> None:
    """Confirm a flagged result: it is right as it is."""
    _decide(context, record_id, "confirm", reason)


@flag.command("reject", "stateward flag reject UL_01h2k3 --reason 'page 3 is missing'")
@click.argument("record_id", metavar="ID")
@option("--reason TEXT", "Why; kept in the audit log.", required=True)
@pass_context
def reject(context: CliContext, *, record_id: str, reason: str | None) -> None:
    """Reject a flagged result: it must not be used."""
    _decide(context, record_id, "reject", reason)


def _decide(context: CliContext, record_id: str, action: "FlagAction", reason: str | None) -> None:
    with context.app() as app:
        record = app.decide_flags(record_id, action, reason=reason)
    message = f"{record.id}: {action}; it was flagged as {', '.join(record.flags)}"
    context.show(record_fields(record), message=message)
