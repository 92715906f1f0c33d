"""`stateward duplicates`: transactions that stand in more than one record."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import command
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import cut, plural, write_table

if TYPE_CHECKING:
    from stateward.cli.apps import AppProtocol

ITEMS_MAX = 10_000_000
SHOWN_MAX = 50


@command(
    "duplicates",
    "stateward duplicates",
    "stateward duplicates 'machine:invoices created>=2026-01-01' --jsonl",
    is_listing=True,
    is_reading=True,
)
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@pass_context
def duplicates(context: CliContext, words: tuple[str, ...]) -> None:
    """Show items that more than one record contains.

    The id of an item says what it is, so overlapping documents share items; `stateward items --unique` prints each
    once. Without a QUERY all records are compared.
    """
    with context.app() as app:
        found = _find_duplicates(context, app, " ".join(words))
        if context.is_for_programs:
            context.emit_rows(found)
            return
        rows: list[list[str]] = []
        count = 0
        for row in found:
            count += 1
            if len(rows) < SHOWN_MAX:
                rows.append([cut(str(row[key] or "")) for key in COLUMNS])
        if rows:
            write_table(COLUMNS, rows)
        context.say(
            f"{plural(count, 'item')} in more than one record" if count else "no item stands twice"
        )


COLUMNS = ("item", "first", "again", "date", "amount", "description")


def _find_duplicates(
    context: CliContext, app: "AppProtocol", query: str
) -> Iterator[dict[str, object]]:
    """Every item that an earlier record holds already; the oldest record is where it belongs."""
    first: dict[object, str] = {}
    records = [record.id for record in app.find(query)][::-1]
    for number, record_id in enumerate(records):
        context.progress(f"{number} of {len(records)} records looked at")
        own: set[object] = set()
        for item in app.stage_items(record_id).rows:
            identity = item.get("id")
            if identity is None or identity in own or len(first) >= ITEMS_MAX:
                continue
            own.add(identity)
            if (place := first.setdefault(identity, record_id)) != record_id:
                yield {
                    "item": identity,
                    "first": place,
                    "again": record_id,
                    **{key: item.get(key) for key in COLUMNS[3:]},
                }
