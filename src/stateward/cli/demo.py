"""`stateward demo`: the sample documents of the installed pipelines on their way through their state machines."""

import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING

from stateward.cli.commands import command, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.extensions import installed_plugins
from stateward.cli.output import count_text, write, write_table
from stateward.cli.records import record_fields, write_history

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from stateward.app import App
    from stateward.core.model import Fields, Record
    from stateward.definition.plugin import Plugin, Sample
    from stateward.engine.coordinator import Submitted
    from stateward.settings import Settings

FOLDER, NAME = "stateward-demo", "stateward"


@command("demo", "stateward demo", "stateward --data /tmp/demo demo --json")
@option("--only NAME", "Only the samples of this pipeline; may be repeated.", multiple=True)
@pass_context
def demo(context: CliContext, *, only: tuple[str, ...]) -> None:
    """Process the sample documents of every pipeline.

    Some are broken, some need a review. Everything is stored in the folder stateward-demo, or in that of --data;
    $STATEWARD_DATA is ignored. Run it again to see duplicates.
    """
    context.data = context.data or FOLDER
    plugins = _choose(only)
    folder = Path(context.data)
    with context.local_app(_settings(context, plugins, folder)) as app:
        shows = [_Show(app, plugin) for plugin in plugins]
        counts = ", ".join(f"{len(show.submitted)} of {show.plugin.name}" for show in shows)
        context.say(f"Sample documents were submitted: {counts}; now they are processed.")
        app.run_until_idle()
        stories = [list(show.continue_story(folder)) for show in shows]
        if context.json:
            documents = [document for show in shows for document in show.documents()]
            searches = [show.hit for show in shows if show.hit is not None]
            context.emit({"data": context.data, "documents": documents, "searches": searches})
            return
        for show, story in zip(shows, stories, strict=True):
            show.tell(context)
            for place, sentence in enumerate(story):
                if place == 0:
                    _head(sentence)
                else:
                    write(f"  {sentence}")
        _tell_summary(shows)
        _tell_next(context, shows)


def _choose(only: Sequence[str]) -> list["Plugin"]:
    from stateward.core.errors import UnknownName

    known = {plugin.name: plugin for plugin in installed_plugins() if plugin.demo.samples}
    for name in only:
        if name not in known:
            raise UnknownName("pipeline with samples", name, known)
    return [known[name] for name in only] if only else list(known.values())


def _settings(context: CliContext, plugins: Sequence["Plugin"], folder: "Path") -> "Settings":
    """Those of the demo: samples must not end in the database that people work with."""
    from msgspec.structs import replace

    from stateward.engine.system import make_private
    from stateward.settings import Settings

    settings = Settings.load(
        context.config, profile=context.profile, environ={"STATEWARD_DATA": str(folder)}
    )
    make_private(folder)  # before anything is in it: then it no longer looks like one of ours
    options = dict(settings.options)
    for plugin in plugins:
        own = {
            key: each.replace("{data}", str(folder)) if isinstance(each, str) else each
            for key, each in plugin.demo.options.items()
        }
        for each in plugin.demo.options.values():
            if isinstance(each, str) and each.startswith("{data}/"):
                (folder / each.removeprefix("{data}/")).mkdir(
                    parents=True, exist_ok=True, mode=0o700
                )
        if own:
            options[plugin.name] = replace(settings.options_of(plugin), **own)
    return replace(settings, options=options)


class _Show:
    """The samples of one pipeline: what was submitted, and what became of it."""

    def __init__(self, app: "App", plugin: "Plugin") -> None:
        self.plugin = plugin
        self._app = app
        self.submitted: dict[str, Submitted] = {
            file: app.submit(
                content.read_bytes(),
                machine=sample.machine,
                name=content.name,
                labels=sample.labels,
            )
            for file, content, sample in _files(plugin)
        }

    def record_of(self, file: str) -> "Record":
        """The record of a sample, as it is now."""
        return self._app.record(self.submitted[file].record.id)

    def retry(self, file: str, *, reason: str) -> "Record":
        """Have a failed sample tried again, and wait for it."""
        self._app.actions.act("retry", self.record_of(file).id, actor="person:demo", reason=reason)
        self._app.run_until_idle()
        return self.record_of(file)

    def continue_story(self, folder: "Path") -> Iterator[str]:
        """What the pipeline has to show besides."""
        from stateward.definition.plugin import resolve

        if self.plugin.demo.then is not None:
            yield from resolve(self.plugin.demo.then)(self, folder)

    @property
    def records(self) -> list["Record"]:
        return [self.record_of(file) for file in self.submitted]

    def summary(self) -> tuple[object, ...]:
        """How many of its documents are where."""
        from collections import Counter

        kinds = Counter(self._kind(record) for record in self.records)
        moving = kinds["ready"] + kinds["running"]
        counts = (kinds["terminal"], kinds["suspended"], kinds["failed"], moving)
        found = "" if self.hit is None else self.hit["title"]
        return self.plugin.name, len(self.submitted), *(each or "" for each in counts), found

    @cached_property
    def hit(self) -> "Fields | None":
        """The best result of the search that the pipeline demonstrates."""
        query = self.plugin.demo.search
        if not query:
            return None
        machine = self.plugin.demo.samples[0].machine
        hits = self._app.search.find(query, pipeline=machine, limit=1).hits
        return {
            "query": query,
            "pipeline": machine,
            "record_id": hits[0].record_id if hits else None,
            "title": hits[0].title if hits else "nothing was found",
            "snippet": "".join(each.text for each in hits[0].snippet) if hits else "",
        }

    def documents(self) -> Iterator["Fields"]:
        """The same for programs."""
        for submitted, record in zip(self.submitted.values(), self.records, strict=True):
            yield {
                "file": record.labels.get("filename"),
                "pipeline": self.plugin.name,
                "is_duplicate": submitted.is_duplicate,
                "record": record_fields(self._app.records.view(record)),
            }

    def tell(self, context: CliContext) -> None:
        """For people: where each is, how one of them got there, and why another failed."""
        from stateward.cli.local import LocalApp

        _head(f"{self.plugin.name}: {self.plugin.doc}")
        records = self.records
        rows = [
            self._row(submitted, record)
            for submitted, record in zip(self.submitted.values(), records, strict=True)
        ]
        write_table(("document", "came as", "id", "status", "result", "notes"), rows)
        whole = next((each for each in records if each.error_code is None), None)
        broken = next((each for each in records if each.error_code is not None), None)
        if whole is not None:
            _head(f"What happened to {whole.labels.get('filename')}:")
            write_history(list(LocalApp(self._app).history(whole.id)))
        waiting = [each for each in records if self._kind(each) == "suspended"]
        for record in [*([] if broken is None else [broken]), *waiting]:
            why = self._app.records.explain(record.id)
            _head(f"Why {record.labels.get('filename')} is in {record.status}:")
            write(f"  {why.sentence}")
            write(f"  what to do: {_here(context, why.advice)}")

    def _kind(self, record: "Record") -> str:
        return self._app.registry.of(record).kind[record.status]

    def _row(self, submitted: "Submitted", record: "Record") -> tuple[object, ...]:
        came = "known from an earlier run" if submitted.is_duplicate else "new"
        shown = record_fields(self._app.records.view(record))
        notes = shown.get("notes")
        codes = [str(note).partition(":")[0] for note in notes] if isinstance(notes, list) else []
        result = record.error_code or self._result(record) or _count_text(shown)
        name = record.labels.get("filename")
        return (name, came, record.id, record.status, result, ", ".join(codes))

    def _result(self, record: "Record") -> object:
        """The one sentence in which a stage sums a record up, where its pipeline declares one."""
        view = self._app.plugins.record_view(record.machine)
        if view.result is None:
            return None
        stage, key = view.result
        return self._app.records.about(record.id, stage).get(key)


def _files(plugin: "Plugin") -> Iterator[tuple[str, "Traversable", "Sample"]]:
    """The samples of a plug-in: path below its package, content, and what is declared of it."""
    from importlib.resources import files

    found: set[str] = set()
    for sample in plugin.demo.samples:
        folder, _, pattern = sample.file.rpartition("/")
        contents = sorted((files(plugin.package) / folder).iterdir(), key=lambda each: each.name)
        for content in contents:
            path = f"{folder}/{content.name}"
            if path not in found and content.is_file() and fnmatch(content.name, pattern):
                found.add(path)
                yield path, content, sample


def _tell_summary(shows: Sequence[_Show]) -> None:
    _head("All of them:")
    columns = (
        "pipeline",
        "documents",
        "finished",
        "needs review",
        "failed",
        "in progress",
        "search",
    )
    write_table(columns, [show.summary() for show in shows])
    for show in shows:
        if show.hit is not None:
            write()
            write(f"A search for {show.hit['query']} finds {show.hit['title']}:")
            write(f"  {show.hit['snippet']}")


def _head(text: str) -> None:
    write()
    write(text)
    write()


def _count_text(view: "Fields") -> str:
    ours = {"retry_count"}
    found = [key for key in view if key.endswith("_count") and key not in ours]
    return ", ".join(count_text(key, view[key]) for key in found)


def _here(context: CliContext, command: str) -> str:
    """A command as it must be typed to find this data."""
    return command.replace("stateward ", f"{_program()} --data {quote(context.data or FOLDER)} ")


def _program() -> str:
    """How to call this program: by its name where the shell finds it, else (after `make run`) by its path."""
    own, found = Path(sys.argv[0]), which(NAME)
    if own.name != NAME or (found is not None and own.samefile(found)):
        return NAME
    here = Path.cwd()
    return quote(str(own.relative_to(here) if own.is_relative_to(here) else own))


def _tell_next(context: CliContext, shows: Sequence[_Show]) -> None:
    finished = [each for show in shows for each in show.records if each.error_code is None]
    _head(f"All of it is kept in {context.data}. What to try next:")
    machines = [each.machine for show in shows for each in show.records]
    for each in (
        "stateward list",
        *(f"stateward items {each.id} --format csv" for each in finished[:1]),
        *(f"stateward logs {each.id}" for each in finished[:1]),
        "stateward errors",
        *(
            f"stateward search {quote(show.plugin.demo.search)} --pipeline {show.hit['pipeline']}"
            for show in shows
            if show.hit is not None
        ),
        *(f"stateward machine graph {each}" for each in machines[:1]),
        "stateward verify",
        "stateward submit YOUR.pdf --wait",
        "stateward up",
    ):
        write(f"  {_here(context, each)}")
