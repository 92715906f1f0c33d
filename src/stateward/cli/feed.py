"""`stateward feed`: how far the change feed has come, and sending a part of it again."""

from typing import TYPE_CHECKING

import click

from stateward.cli.commands import Group, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import moment, plural, write

if TYPE_CHECKING:
    from stateward.schemas import FeedDocument


@click.group(
    "feed",
    cls=Group,
    examples=["stateward feed status", "stateward feed replay --from 1"],
)
def feed() -> None:
    """Show the progress of the change feed, or send it again."""


@feed.command("status", "stateward feed status", "stateward feed status --json", is_reading=True)
@pass_context
def status(context: CliContext) -> Exit:
    """Show how far the change feed has come.

    Exit code 1 if a transition has waited longer than feed.warn_after_seconds.
    """
    with context.app() as app:
        found = app.feed()
    _show(context, found)
    return Exit.FOUND_PROBLEMS if found.is_late else Exit.OK


@feed.command("replay", "stateward feed replay --from 1", "stateward feed replay --from 48213")
@option(
    "--from SEQ",
    "Sequence number of the first transition to send again.",
    to="seq",
    type=click.IntRange(min=1),
    required=True,
)
@pass_context
def replay(context: CliContext, *, seq: int) -> Exit:
    """Send the feed again from a transition on.

    Moves the cursor back: the feed continues from there, and consumers see these events again with the same ids.
    Transitions that were not sent yet cannot be skipped.
    """
    with context.app() as app:
        _show(context, app.replay_feed(seq))
    return Exit.OK


def _show(context: CliContext, found: "FeedDocument") -> None:
    if context.json:
        context.emit(found)
        return
    write(f"sent up to {found.sent} of {found.end}; {plural(found.behind, 'transition')} to send")
    if found.oldest_at is not None:
        write(f"the first of them was made at {moment(found.oldest_at)}")
