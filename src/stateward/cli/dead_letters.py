"""`stateward dead-letters`: what no process could read, in the store and in the broker."""

from itertools import islice
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import command, limit_option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import cut, moment, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stateward.cli.apps import AppProtocol
    from stateward.schemas import DeadLetter, LetterAction, TransportLetter


@command(
    "dead-letters",
    "stateward dead-letters",
    "stateward dead-letters --jsonl",
    "stateward dead-letters --resend 1763571902211-0",
    "stateward dead-letters --drop 1763571902211-0 1763571902212-0",
    is_listing=True,
    reads_without="ids",
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--resend",
    "action",
    flag_value="resend",
    help="Repeat the work that these messages were about.",
)
@click.option("--drop", "action", flag_value="drop", help="Delete these messages.")
@limit_option(default=50, most=1000)
@pass_context
def dead_letters(
    context: CliContext, *, ids: "Sequence[str]", action: "LetterAction | None", limit: int
) -> Exit:
    """List messages that could not be read; resend or drop them.

    Newest first; these messages changed nothing. Messages with a stream came over the broker of the transport: name
    them by id to drop them, or to repeat what they were about. Their data is not kept, so the work of the record is
    sent again from the store, or a failed record is retried. Messages of the store stay. For webhooks that could not be
    delivered see `stateward webhook dead`.
    """
    if bool(ids) != bool(action):
        raise click.UsageError("name dead letters, and give --resend or --drop")
    with context.app() as app:
        return _list(context, app, limit) if action is None else _act(context, app, action, ids)


def _list(context: CliContext, app: "AppProtocol", limit: int) -> Exit:
    of_transport = app.transport_letters(limit=limit)
    found: list[DeadLetter | TransportLetter] = [
        *islice(app.dead_letters(), limit),
        *of_transport.items,
    ]
    found.sort(key=lambda each: each.at, reverse=True)
    context.show_rows(
        found[:limit],
        ("when", "id", "kind", "stream", "record", "reason", "content"),
        _cells,
        nothing="" if of_transport.note else "no dead letters",
    )
    if of_transport.note:
        context.say(f"without those of the broker: {of_transport.note}")
        return Exit.STORE
    return Exit.OK


def _cells(letter: "DeadLetter | TransportLetter") -> "Sequence[object]":
    from stateward.schemas import DeadLetter

    when = moment(letter.at) if letter.at else ""
    if isinstance(letter, DeadLetter):
        return when, letter.number, letter.kind, "", "", letter.reason, cut(letter.body)
    about, content = letter.record_id or "", cut(letter.source)
    return when, letter.id, letter.kind, letter.stream, about, letter.reason, content


def _act(
    context: CliContext, app: "AppProtocol", action: "LetterAction", ids: "Sequence[str]"
) -> Exit:
    found = app.act_on_letters(action, ids).items
    if context.is_for_programs:
        context.emit_rows(found)
    else:
        for each in found:
            write(f"{each.id}: {each.sentence}")
    return Exit.OK if all(each.is_done for each in found) else Exit.REFUSED
