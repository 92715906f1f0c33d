"""`stateward dead-letters`: what no process could read."""

from itertools import islice

from stateward.cli.context import CliContext, command, limit_option, pass_context
from stateward.cli.output import cut, moment


@command(
    "dead-letters",
    "stateward dead-letters",
    "stateward dead-letters --jsonl",
    is_listing=True,
    is_reading=True,
)
@limit_option(default=50, most=1000)
@pass_context
def dead_letters(context: CliContext, *, limit: int) -> None:
    """List events and messages that could not be read.

    The newest first; they changed nothing. What could not be delivered to others is in `stateward webhook dead`.
    """
    with context.app() as app:
        found = list(islice(app.dead_letters(), limit))
    context.show_rows(
        found,
        ("when", "kind", "reason", "content"),
        lambda each: (moment(each.at), each.kind, each.reason, cut(each.body)),
        nothing="no dead letters",
    )
