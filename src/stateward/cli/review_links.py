"""`stateward review link`, `links` and `revoke-link`: a person without a key decides one review."""

import click

from stateward.cli.apps import one_of
from stateward.cli.commands import command, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import moment

HOURS_MAX = 168


@command(
    "link",
    "stateward review link IN_01h2k3 --for anna@example.org",
    "stateward review link IN_01h2k3 --for anna@example.org --hours 4",
)
@click.argument("record_id", metavar="ID")
@option(
    "--for NAME",
    "A name or an e-mail address; kept in the history as who decided.",
    to="person",
    required=True,
)
@option(
    "--hours N",
    "How long it can be used; otherwise reviews.link_hours.",
    type=click.FloatRange(min=0, min_open=True, max=HOURS_MAX),
)
@pass_context
def link(context: CliContext, *, record_id: str, person: str, hours: float | None) -> None:
    """Create a link that lets a named person decide a review.

    The first person who opens it sees this review and nothing else, and may approve, correct or reject it without a
    key. The link ends with the decision.
    """
    with context.app() as app:
        made = app.create_review_link(record_id, person, hours=hours)
    message = f"it is shown once, and can be used until {moment(made.expires_at)}: {made.id}"
    context.show(made, str(made.url), message=message)


@command("links", "stateward review links IN_01h2k3", is_listing=True, is_reading=True)
@click.argument("record_id", metavar="ID")
@pass_context
def links(context: CliContext, *, record_id: str) -> None:
    """List the links to a review, and what became of each."""
    from stateward.core.model import plain_actor

    with context.app() as app:
        found = app.review_links(record_id)
    context.show_rows(
        found,
        ("id", "for", "state", "until", "made by"),
        lambda each: (
            each.id,
            each.person,
            each.state,
            moment(each.expires_at),
            plain_actor(each.created_by),
        ),
        nothing="there is no link to this review",
    )


@command("revoke-link", "stateward review revoke-link IN_01h2k3 link-4k2m0f8q1s3t5v7x")
@click.argument("record_id", metavar="ID")
@click.argument("link_id", metavar="LINK")
@pass_context
def revoke_link(context: CliContext, *, record_id: str, link_id: str) -> None:
    """Revoke a link to a review, from the next request on.

    A decision that was made with it stays.
    """
    with context.app() as app:
        link_id = one_of(link_id, (each.id for each in app.review_links(record_id)))
        was_open = app.revoke_review_link(record_id, link_id).was_open
    context.show_revoked(link_id, was_open=was_open)
