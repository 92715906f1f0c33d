"""`stateward audit`: who signed in, used keys, read documents, decided, changed settings or exported."""

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from stateward.cli.commands import Group, limit_option, option, options
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import cut, moment, plural, write_file

if TYPE_CHECKING:
    from stateward.schemas import AuditItem

ROWS = 50
ROWS_MAX = 10_000
DETAIL_CHARS = 60


@click.group(
    "audit",
    cls=Group,
    examples=[
        "stateward audit list --verb sign_in_failed",
        "stateward audit list --record UL_01h2k3",
        "stateward audit export audit.jsonl --since 2026-11-01T00:00:00Z",
    ],
)
def audit() -> None:
    """List and export the audit log: who did and read what."""


# What chooses entries.
filters = options(
    option("--actor NAME", "By this person or key."),
    option("--verb NAME", "Of this kind, such as sign_in."),
    option("--record ID", "About this record.", to="record_id"),
    option("--since TIME", "From this time on, as in RFC 3339."),
    option("--until TIME", "Before this time."),
)


@audit.command(
    "list",
    "stateward audit list",
    "stateward audit list --verb document_read --jsonl",
    is_listing=True,
    is_reading=True,
)
@filters
@limit_option(default=ROWS, most=ROWS_MAX)
@pass_context
def list_(
    context: CliContext,
    /,
    *,
    record_id: str | None,
    limit: int,
    **wanted: Any,  # noqa: ANN401 - the rest of the filters
) -> None:
    """List entries of the audit log, newest first."""
    with context.app() as app:
        record_id = record_id and app.whole(record_id)
        found = list(islice(app.audit(record_id=record_id, **wanted), limit))
    columns = ("at", "actor", "what", "record", "detail")
    context.show_rows(found, columns, _cells, nothing="no entry matches")


@audit.command("export", "stateward audit export audit.jsonl", is_reading=True)
@click.argument("file")
@filters
@pass_context
def export(
    context: CliContext,
    /,
    *,
    file: str,
    record_id: str | None,
    **wanted: Any,  # noqa: ANN401 - the rest of the filters
) -> None:
    """Export entries to FILE as JSON lines, oldest first.

    `-` is standard output. Without filters the whole log is exported, and the hash of each line can be computed from it
    and the line before.
    """
    from msgspec.json import encode

    with context.app() as app:
        record_id = record_id and app.whole(record_id)
        found = app.audit(record_id=record_id, after=0, **wanted)
        entries = write_file(file, (encode(each) + b"\n" for each in found))
    context.show({"file": file, "entries": entries}, message=f"{plural(entries, 'line')} written")


def _cells(each: "AuditItem") -> tuple[str, ...]:
    from stateward.core.model import plain_actor

    detail = ", ".join(f"{name} {value}" for name, value in each.detail.items())
    is_erased = each.reason_hash is not None and each.salt is None
    text = f"{detail} ({each.reason or 'erased'})" if each.reason or is_erased else detail
    return (
        moment(each.at),
        plain_actor(each.actor),
        each.verb,
        each.record_id or "",
        cut(text, chars_max=DETAIL_CHARS),
    )
