"""`stateward clock`: whether the clock of this machine is trusted, and its confirmation by a person."""

import click

from stateward.cli.commands import Group, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit


@click.group(
    "clock",
    cls=Group,
    examples=["stateward clock show", "stateward clock confirm --reason 'it was off for a week'"],
)
def clock() -> None:
    """Show or confirm the clock of this machine.

    A clock that is far ahead would time out every open review. While the clock is not trusted, no deadline fires.
    """


@clock.command("show", "stateward clock show", is_reading=True)
@pass_context
def show(context: CliContext) -> Exit:
    """Show whether the clock is trusted; exit code 1 if not."""
    from stateward.core.model import to_iso

    with context.local_app() as app:
        now, fault = to_iso(app.clock()), app.clock_guard.fault()
    context.show(
        {"now": now, "is_believed": fault is None, "fault": fault},
        message=f"{now}: {fault or 'the clock is trusted'}",
    )
    return Exit.OK if fault is None else Exit.FOUND_PROBLEMS


@clock.command("confirm", "stateward clock confirm --reason 'it was off for a week'")
@option("--reason TEXT", "Why; kept in the audit log.", required=True)
@pass_context
def confirm(context: CliContext, *, reason: str) -> None:
    """Confirm that the clock of this machine is right.

    Deadlines fire again. A service that runs on this data folder continues within a second.
    """
    with context.local_app() as app:
        fault = app.admin.confirm_clock(app.clock_guard, reason=reason)
    context.show({"fault": fault}, message=f"confirmed; before: {fault or 'no fault was found'}")
