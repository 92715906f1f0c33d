"""`stateward webhook`: endpoints, their deliveries and dead letters, and a receiver to test with.

A secret is shown by `add`, `show` and `rotate` and nowhere else.
"""

from itertools import islice
from typing import TYPE_CHECKING, Literal

import click

from stateward.cli.commands import Group, flag_option, limit_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import moment, plural, write

if TYPE_CHECKING:
    from stateward import schemas
    from stateward.cli.apps import DeliveryState

STATES = ("pending", "delivered", "dead")


@click.group(
    "webhook",
    cls=Group,
    examples=[
        "stateward webhook add https://example.com/hook --event invoices.completed",
        "stateward webhook dead",
    ],
)
def webhook() -> None:
    """Notify other programs when records change."""


@webhook.command(
    "add",
    "stateward webhook add https://example.com/hook --event invoices.completed --event invoices.failed",
    "stateward webhook add https://example.com/hook --event 'invoices.*' --content cloudevents",
)
@click.argument("url", metavar="URL")
@option(
    "--event EVENT",
    "A status as machine.status; machine.* or * for all. May be repeated.",
    to="events",
    multiple=True,
    required=True,
)
@option(
    "--content",
    "The envelope of a message.",
    type=click.Choice(("standard", "cloudevents")),
    default="standard",
    show_default=True,
)
@pass_context
def add(
    context: CliContext,
    *,
    url: str,
    events: tuple[str, ...],
    content: Literal["standard", "cloudevents"],
) -> None:
    """Add an endpoint that receives events from now on.

    Creates a secret and shows it: the receiver checks signatures with it (Standard Webhooks).
    """
    with context.app() as app:
        _show(context, app.add_webhook(url, events, content=content))


@webhook.command(
    "list",
    "stateward webhook list",
    "stateward webhook list --jsonl",
    is_listing=True,
    is_reading=True,
)
@pass_context
def list_(context: CliContext) -> None:
    """List webhooks with their events and states."""
    with context.app() as app:
        found = app.webhooks()
    context.show_rows(
        found,
        ("id", "state", "events", "url"),
        lambda each: (
            each.id,
            "enabled" if each.is_enabled else "disabled",
            ", ".join(each.events),
            each.url,
        ),
    )


@webhook.command("show", "stateward webhook show WH_01h2k3", is_reading=True)
@click.argument("webhook_id", metavar="ID")
@pass_context
def show(context: CliContext, *, webhook_id: str) -> None:
    """Show an endpoint with its secret.

    With --server the secret is not shown: only `add` and `rotate` return it.
    """
    with context.app() as app:
        _show(context, app.webhook(app.whole_webhook(webhook_id)))


@webhook.command("rotate", "stateward webhook rotate WH_01h2k3")
@click.argument("webhook_id", metavar="ID")
@pass_context
def rotate(context: CliContext, *, webhook_id: str) -> None:
    """Create a new secret for an endpoint.

    Messages are signed with both secrets for a day (notifications.rotation_seconds), so that the receiver has time to
    change.
    """
    with context.app() as app:
        _show(context, app.rotate_webhook(app.whole_webhook(webhook_id)))


@webhook.command("enable", "stateward webhook enable WH_01h2k3")
@click.argument("webhook_id", metavar="ID")
@pass_context
def enable(context: CliContext, *, webhook_id: str) -> None:
    """Resume deliveries to a disabled endpoint."""
    with context.app() as app:
        _show(context, app.enable_webhook(app.whole_webhook(webhook_id)))


@webhook.command(
    "disable", "stateward webhook disable WH_01h2k3 --reason 'the receiver is being moved'"
)
@click.argument("webhook_id", metavar="ID")
@option("--reason TEXT", "Why; shown with the endpoint.", default="")
@pass_context
def disable(context: CliContext, *, webhook_id: str, reason: str) -> None:
    """Stop deliveries to an endpoint.

    Messages that wait for it become dead letters; enable it and replay them to deliver them after all.
    """
    with context.app() as app:
        _show(context, app.disable_webhook(app.whole_webhook(webhook_id), reason=reason or None))


@webhook.command("remove", "stateward webhook remove WH_01h2k3")
@click.argument("webhook_id", metavar="ID")
@pass_context
def remove(context: CliContext, *, webhook_id: str) -> None:
    """Delete an endpoint and its delivery log."""
    with context.app() as app:
        webhook_id = app.whole_webhook(webhook_id)
        app.remove_webhook(webhook_id)
    context.show({"removed": webhook_id}, message=f"{webhook_id} is removed")


@webhook.command("ping", "stateward webhook ping WH_01h2k3")
@click.argument("webhook_id", metavar="ID")
@pass_context
def ping(context: CliContext, *, webhook_id: str) -> Exit:
    """Send a test to an endpoint and show its answer."""
    with context.app() as app:
        delivery = app.test_webhook(app.whole_webhook(webhook_id))
    _show_delivery(context, delivery)
    return Exit.OK if delivery.state == "delivered" else Exit.FOUND_PROBLEMS


@webhook.command(
    "log",
    "stateward webhook log",
    "stateward webhook log WH_01h2k3 --state pending",
    is_listing=True,
    is_reading=True,
)
@click.argument("webhook_id", metavar="[ID]", required=False)
@option("--record ID", "Only deliveries about this record.", to="record_id")
@option("--state", "Only deliveries in this state.", type=click.Choice(STATES))
@option("--message ID", "One message, with all its attempts.", to="message_id")
@limit_option(default=50, most=1000)
@pass_context
def log(
    context: CliContext,
    *,
    webhook_id: str | None,
    record_id: str | None,
    state: "DeliveryState | None",
    message_id: str | None,
    limit: int,
) -> None:
    """Show what was delivered, newest first."""
    with context.app() as app:
        webhook_id = webhook_id and app.whole_webhook(webhook_id)
        if message_id is None:
            found = app.deliveries(
                webhook_id=webhook_id,
                record_id=record_id and app.whole(record_id),
                state=state,
                limit=limit,
            )
            _list_deliveries(context, list(islice(found, limit)))
            return
        if webhook_id is None:
            raise click.UsageError("name the endpoint too: stateward webhook log ID --message ID")
        delivery = app.delivery(webhook_id, message_id)
    if context.jsonl:
        context.emit_rows([delivery])
    else:
        _show_delivery(context, delivery)


@webhook.command("dead", "stateward webhook dead", is_listing=True, is_reading=True)
@click.argument("webhook_id", metavar="[ID]", required=False)
@limit_option(default=50, most=1000)
@pass_context
def dead(context: CliContext, *, webhook_id: str | None, limit: int) -> None:
    """List messages that could not be delivered."""
    with context.app() as app:
        named = webhook_id and app.whole_webhook(webhook_id)
        found = list(islice(app.deliveries(webhook_id=named, state="dead", limit=limit), limit))
    _list_deliveries(context, found)


@webhook.command(
    "replay",
    "stateward webhook replay --dead",
    "stateward webhook replay WH_01h2k3 --message msg_UL_01h2k3_4",
    "stateward webhook replay WH_01h2k3 --since 2026-01-31T00:00:00Z",
)
@click.argument("webhook_id", metavar="[ID]", required=False)
@option("--message ID", "Only this message.", to="message_id")
@flag_option("--dead", "Only what could not be delivered.", to="is_dead")
@option("--since TIME", "Only messages since this time, such as 2026-01-31T00:00:00Z.")
@pass_context
def replay(
    context: CliContext,
    *,
    webhook_id: str | None,
    message_id: str | None,
    is_dead: bool,
    since: str | None,
) -> None:
    """Deliver messages again, under the same ids.

    They are signed with the current secrets. A running notifier sends them; see `stateward webhook log`.
    """
    if since is not None:
        from stateward.core.model import from_iso

        try:
            from_iso(since)
        except ValueError as error:
            raise click.BadParameter(f"{error}", param_hint="--since") from None
    with context.app() as app:
        named = webhook_id and app.whole_webhook(webhook_id)
        count = app.replay_deliveries(
            webhook_id=named,
            message_id=message_id,
            state="dead" if is_dead else None,
            since=since,
        ).replayed
    context.show({"replayed": count}, f"{plural(count, 'message')} will be delivered again")


@webhook.command("listen", "stateward webhook listen --port 9000 --count 1")
@option("--host", "Address to listen on.", default="127.0.0.1", show_default=True)
@option(
    "--port N",
    "Port to listen on; 0 takes a free one.",
    type=click.IntRange(0, 65_535),
    default=9000,
    show_default=True,
)
@option("--secret", "Check signatures with this whsec_ secret.", envvar="WEBHOOK_SECRET")
@option("--count N", "End after this many messages.", type=click.IntRange(1))
@option(
    "--answer STATUS",
    "The HTTP status that each message is answered with.",
    type=click.IntRange(200, 599),
    default=204,
    show_default=True,
)
@pass_context
def listen(
    context: CliContext, *, host: str, port: int, secret: str | None, count: int | None, answer: int
) -> None:
    """Receive messages and print them, to try things out.

    Says of each message whether its signature is valid. --answer 500 shows what retries look like.
    """
    from stateward.cli.webhook_listen import receive

    receive(context, host=host, port=port, secret=secret, count=count, answer=answer)


# What is shown


def _show(context: CliContext, each: "schemas.WebhookDocument") -> None:
    import msgspec

    if context.is_for_programs:
        context.emit(each)
        return
    for key, value in msgspec.to_builtins(each).items():
        if value is not None:
            shown = ", ".join(each.events) if key == "events" else value
            write(f"{key:12} {shown}")


def _list_deliveries(context: CliContext, found: "list[schemas.DeliveryDocument]") -> None:
    context.show_rows(
        found,
        ("at", "state", "tries", "answer", "event", "message", "webhook", "why"),
        lambda each: (
            moment(each.created_at),
            each.state,
            each.attempts,
            each.status or "",
            each.type,
            each.message_id,
            each.webhook_id,
            each.error or "",
        ),
    )


def _show_delivery(context: CliContext, delivery: "schemas.DeliveryDocument") -> None:
    import msgspec

    if context.is_for_programs:
        context.emit(delivery)
        return
    write(f"{delivery.message_id} to {delivery.webhook_id}: {delivery.state}")
    write(f"  {msgspec.json.encode(delivery.body or {}).decode()}")
    for each in delivery.log or ():
        answer = each.error or f"answered {each.status}"
        write(f"  {moment(each.at)}  attempt {each.attempt}  {each.duration_ms} ms  {answer}")
        if each.response_body:
            write(f"    {each.response_body}")
