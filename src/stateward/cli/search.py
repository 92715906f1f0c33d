"""`stateward search`: what documents say, and the index behind it made anew."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.output import plural, write

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.schemas import SearchHit

HITS_DEFAULT = 20
MARKS = ("[", "]")

HELP = """Search what documents say.

All words must occur in one passage, in any case and with or without accents. Quote the query, so that the shell
leaves it alone.

\b
  rent deposit             both words
  "late payment"           words in this order
  invoi*                   words that begin so
  -draft                   without this word
  machine:invoices           of this machine; also status: source: is: created> age<
  label.client:42          with this label

What matches stands in [brackets]; with --json it is marked in `snippet`, and `where` is the place in the document."""


@click.command(
    "search",
    cls=Command,
    is_listing=True,
    help=HELP,
    examples=[
        "stateward search rent",
        "stateward search 'invoi* \"late payment\" -deposit machine:invoices'",
        "stateward search rent --limit 5 --json",
        "stateward search --rebuild",
    ],
)
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=HITS_DEFAULT,
    show_default=True,
    help="The most results to show.",
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Make the index anew, such as after a pipeline declared other text searchable.",
)
@pass_context
def search(context: CliContext, *, words: tuple[str, ...], limit: int, rebuild: bool) -> None:
    if rebuild:
        _rebuild(context)
        if not words:
            return
    elif not words:
        raise click.UsageError("name what to look for, or give --rebuild")
    with context.app() as app:
        found = app.search(" ".join(words))
        if context.is_for_programs:
            context.emit_rows(islice(found, limit))
            return
        hits = list(islice(found, limit))
        _write(hits)
        if not hits:
            context.say("nothing matches")
        elif next(found, None) is not None:
            context.say(f"{plural(limit, 'result')} shown; there are more: --limit")


def _write(hits: Sequence["SearchHit"]) -> None:
    for place, hit in enumerate(hits):
        if place:
            write()
        kind = f", {hit.kind}" if hit.kind else ""
        write(f"{hit.title}  {hit.record_id}  {hit.machine}, {hit.status}{kind}{_where(hit)}")
        text = "".join(
            each.text.join(MARKS) if each.is_match else each.text for each in hit.snippet
        )
        write(f"  {text}")


def _where(hit: "SearchHit") -> str:
    from stateward.definition.display import Where

    place = Where.read(hit.where)
    return f", {place.text}" if place is not None and place.text else ""


def _rebuild(context: CliContext) -> None:
    with context.local_app() as app:
        count = _index_all(context, app)
    if context.is_for_programs:
        context.emit({"passages": count})
    else:
        context.say(f"the index has {plural(count, 'passage')}")


def _index_all(context: CliContext, app: "App") -> int:
    from stateward.storage.full_text import FullTextIndex

    index = FullTextIndex(app.database)
    cleared = 0
    for count in app.indexer.clear():
        cleared += count
        context.progress(f"{cleared} old passages removed")
    while not app.indexer.is_done():
        app.indexer.step(is_busy=False)
        context.progress(f"{index.cursor().seq} of {index.last_transition()} transitions indexed")
    return index.count()
