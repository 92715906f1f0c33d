"""`stateward feed`: how far the change feed has come, and sending a part of it again."""

from typing import TYPE_CHECKING

import click

from stateward.cli.context import CliContext, Group, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import moment, plural, write

if TYPE_CHECKING:
    from stateward.core.model import Micros
    from stateward.notifications.feed import FeedStatus


@click.group(
    "feed",
    cls=Group,
    examples=["stateward feed status", "stateward feed replay --from 1"],
)
def feed() -> None:
    """Look at the change feed, and have it sent again."""


@feed.command("status", examples=["stateward feed status", "stateward feed status --json"])
@pass_context
def status(context: CliContext) -> Exit:
    """Show how far the change feed has come.

    Ends with 1 if a transition has waited for longer than feed.warn_after_seconds.
    """
    from stateward.app.feed import feed_status

    with context.local_app() as app:
        found = feed_status(app)
        now, limit = app.clock(), app.settings.feed.warn_after_seconds
    _show(context, found, now)
    return Exit.FOUND_PROBLEMS if found.late_s(now) > limit else Exit.OK


@feed.command(
    "replay", examples=["stateward feed replay --from 1", "stateward feed replay --from 48213"]
)
@click.option(
    "--from",
    "seq",
    metavar="SEQ",
    type=click.IntRange(min=1),
    required=True,
    help="The seq of the first transition to send again.",
)
@pass_context
def replay(context: CliContext, *, seq: int) -> Exit:
    """Have everything from a transition on sent again.

    Moves the cursor back: the process that sends the feed goes on from there, and consumers see these events a second
    time, with the same ids. What is not sent yet cannot be skipped.
    """
    from stateward.app.feed import replay_feed
    from stateward.engine.system import person

    with context.local_app() as app:
        found = replay_feed(app, seq, actor=person())
        now = app.clock()
    _show(context, found, now)
    return Exit.OK


def _show(context: CliContext, found: "FeedStatus", now: "Micros") -> None:
    if context.json:
        context.emit(
            {
                "sent": found.sent,
                "end": found.end,
                "behind": found.behind,
                "late_seconds": round(found.late_s(now), 3),
            }
        )
        return
    write(f"sent up to {found.sent} of {found.end}; {plural(found.behind, 'transition')} to send")
    if found.oldest_at is not None:
        write(f"the first of them was made at {moment(found.oldest_at)}")
