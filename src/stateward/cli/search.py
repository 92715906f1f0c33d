"""`stateward search`: what documents say, and the index behind it made anew."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import command, flag_option, limit_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import plural, write, write_lines

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.core.model import Fields
    from stateward.schemas import SearchHit, SnippetSegment

HITS_DEFAULT = 20
MARKS = ("[", "]")

HELP = """Search the text of documents.

All words must occur in one passage; case and accents do not matter. Quote the query, because the shell interprets some
characters.

\b
  rent deposit             both words
  "late payment"           words in this order
  invoi*                   words that begin so
  -draft                   without this word
  machine:invoices         of this machine; also status: source: is: created> age<
  label.client:42          with this label
  type:liability           of this type, where a pipeline gives its passages one

What matches stands in [brackets]; with --json it is marked in `snippet`, and `where` is the place in the document.

For a pipeline that ranks its documents (--pipeline, or machine: in the query) the results are documents, best first:
words are compared by their stems and need not all occur, phrases must. Each shows its best passages and why it was
found. --filter selects by facts of a document, and --format writes the results for other programs."""


@command(
    "search",
    "stateward search rent",
    "stateward search 'invoi* \"late payment\" -deposit machine:invoices'",
    "stateward search rent --limit 5 --json",
    "stateward search 'gross negligence' --type liability",
    "stateward search 'slack tide' --pipeline reports --filter 'year>=2020'",
    "stateward search 'slack tide' --pipeline reports --format bibtex",
    "stateward search --rebuild",
    is_listing=True,
    help=HELP,
    is_reading=True,
)
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@limit_option("Maximum number of results.", default=HITS_DEFAULT)
@option("--pipeline NAME", "Only documents of this pipeline, ranked if it ranks them.", default="")
@option(
    "--type NAME",
    "Only passages of this type, such as clauses on liability; of several, one.",
    to="types",
    multiple=True,
)
@option(
    "--filter TEST",
    "Of ranked documents, such as year>=2020 or journal=eLife.",
    to="filters",
    multiple=True,
)
@flag_option("--hybrid", "Of ranked documents: also by meaning, where they were embedded.")
@option(
    "--format NAME",
    "Of ranked documents: a format that the pipeline offers, such as bibtex.",
    to="format_",
    default="",
)
@flag_option(
    "--rebuild", "Rebuild the index, for example after a pipeline declared other text searchable."
)
@pass_context
def search(
    context: CliContext,
    *,
    words: tuple[str, ...],
    limit: int,
    pipeline: str,
    types: tuple[str, ...],
    filters: tuple[str, ...],
    hybrid: bool,
    format_: str,
    rebuild: bool,
) -> None:
    if rebuild:
        _rebuild(context)
        if not (words or types):
            return
    elif not (words or types):
        raise click.UsageError("give words to search for, or --rebuild")
    from stateward.core.text_search import with_types

    with context.app() as app:
        text = with_types(" ".join(words), types)
        if format_:
            ranked = app.search_as(
                text, format_, pipeline=pipeline, filters=filters, is_hybrid=hybrid, limit=limit
            )
            write_lines([ranked])
            return
        found = app.search(text, pipeline=pipeline, filters=filters, is_hybrid=hybrid)
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
        write(f"{hit.title}  {hit.record_id}  {hit.machine}, {hit.status}{kind}{_where(hit.where)}")
        if not hit.passages:
            write(f"  {_mark(hit.snippet)}")
        for passage in hit.passages:
            write(f"  {passage.id}{_where(passage.where)}: {_mark(passage.snippet)}")
        if hit.why:
            write(f"  why: {', '.join(f'{each.term} {each.share:.3f}' for each in hit.why)}")
        if hit.same_as:
            write(f"  also as {', '.join(hit.same_as)}; canonical is {hit.canonical}")
        if hit.facts:
            write(f"  {', '.join(f'{name} {value}' for name, value in hit.facts.items())}")


def _mark(snippet: "Sequence[SnippetSegment]") -> str:
    return "".join(each.text.join(MARKS) if each.is_match else each.text for each in snippet)


def _where(place_of: "Fields | None") -> str:
    from stateward.definition.display import Where

    place = Where.read(place_of)
    return f", {place.text}" if place is not None and place.text else ""


def _rebuild(context: CliContext) -> None:
    with context.local_app() as app:
        count = _index_all(context, app)
    context.show({"passages": count}, message=f"the index has {plural(count, 'passage')}")


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
