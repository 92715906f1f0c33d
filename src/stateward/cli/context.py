"""How a command was called and how it speaks: `CliContext`, which each command is given.

It opens an App for the command that needs one, and knows which words go where: data to stdout, everything said to
people to stderr.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from stateward.cli.exit_codes import Exit, Problem
from stateward.cli.output import json_text, safe, write, write_json, write_json_lines, write_table

if TYPE_CHECKING:  # the engines take ten times as long to import as the command line
    from stateward.app import App
    from stateward.cli.apps import AppProtocol
    from stateward.client import Client
    from stateward.settings import Settings

PROGRESS_EVERY_S = 0.1
MISSPELT = 0.85  # how alike two names of variables are that differ in a letter or two
T = TypeVar("T")
C = TypeVar("C", bound="Client")


class CliContext:
    """How this command was called, and how it speaks."""

    def __init__(self) -> None:
        self.config: Path | None = None
        self.profile: str | None = None
        self.data: str | None = None
        self.server: str | None = None
        self.json = False
        self.jsonl = False
        self.is_reading = False
        """Whether the command changes nothing, as it was called."""
        self.renamed: list[tuple[str, str]] = []
        self.stand_in = ("", "")
        """An empty data folder that is looked at, and the one that is meant."""
        self._has_failed = False
        self._has_warned = False
        self._progress_at = 0.0
        self._progress_chars = 0

    @property
    def is_for_programs(self) -> bool:
        """Whether a program reads the output."""
        return self.json or self.jsonl

    def settings(self) -> "Settings":
        """The settings that hold, or every fault in them."""
        from stateward.app import load_settings

        self._warn_unread()
        return load_settings(self.config, profile=self.profile, data=self.data, server=self.server)

    def _warn_unread(self) -> None:
        """Name the variables that look like settings and are none, once: a misspelt address means another database."""
        from stateward.settings import environment_variables, unread_variables

        if self._has_warned:
            return
        self._has_warned = True
        for name in unread_variables():
            from difflib import get_close_matches  # rarely needed

            near = get_close_matches(name, environment_variables(), n=1, cutoff=MISSPELT)
            cure = (
                f"did you mean {near[0]}?"
                if near
                else "write it into the settings file; the variables that are read are in its reference"
            )
            self._warn("unread_variable", f"the variable {name} is not read; {cure}")

    @contextmanager
    def app(self, *, only_reads: bool | None = None) -> Iterator["AppProtocol"]:
        """A Stateward for this command: in this process, or with --server over HTTP."""
        settings = self.settings()
        if settings.server.url is None:
            from stateward.cli.local import LocalApp

            with self.local_app(settings, only_reads=only_reads) as app:
                yield LocalApp(app)
        else:
            from stateward.cli.remote import RemoteApp

            with RemoteApp(settings.server.url, key=settings.server.key) as remote:
                yield remote

    @contextmanager
    def client(self, kind: type[C]) -> Iterator[C]:
        """The client of a plug-in to the server that --server names.

        What the server refuses is raised as the error that a local app would have raised.
        """
        from stateward.cli.remote import translate_errors

        server = self.settings().server
        with kind(server.url or "", key=server.key) as client, translate_errors():
            yield client

    @contextmanager
    def local_app(
        self,
        settings: "Settings | None" = None,
        *,
        is_runner: bool = False,
        is_read_only: bool = False,
        only_reads: bool | None = None,
    ) -> Iterator["App"]:
        """An App on the database itself, for commands that cannot work over HTTP; it logs warnings only, to stderr.

        A caller that passes settings has decided where they apply; otherwise a server in them is refused.
        `only_reads`: nothing has to be written, as by default for commands that read; where nothing can be, on a full
        disk or in a folder of someone else, the store is only read then.
        """
        from stateward import telemetry

        if settings is None:
            settings = self.settings()
            if settings.server.url is not None:
                from stateward.core.errors import InvalidRequest

                command = click.get_current_context().command_path
                raise InvalidRequest(
                    f"{command} works on the database itself, not over HTTP: run it on the machine of the service, "
                    "without --server and STATEWARD_SERVER"
                )
        telemetry.set_up(level="warning", stream=sys.stderr)
        with (
            self._settings_for_reading(settings) as used,
            self._open_app(used, only_reads, is_runner=is_runner, is_read_only=is_read_only) as app,
        ):
            yield app

    def _open_app(
        self, settings: "Settings", only_reads: bool | None, *, is_runner: bool, is_read_only: bool
    ) -> "App":
        from stateward.app import App
        from stateward.core.errors import StoreFull

        if only_reads is None:
            only_reads = self.is_reading
        is_read_only = is_read_only or (only_reads and is_unwritable(settings))
        try:
            return App(settings, is_runner=is_runner, is_read_only=is_read_only)
        except StoreFull as error:
            if is_read_only or not only_reads:
                raise
            self.say(f"{error}; it is only read")
        return App(settings, is_read_only=True)

    def whole_id(self, app: "App | Client", given: str) -> str:
        """The id of a record that a person means, who may have typed its beginning."""
        from stateward.app import App
        from stateward.cli.apps import whole_record_id

        if isinstance(app, App):
            from stateward.cli.local import LocalApp

            return LocalApp(app).whole(given)
        return whole_record_id(given, lambda query: (each.id for each in app.records(query)))

    @contextmanager
    def _settings_for_reading(self, settings: "Settings") -> Iterator["Settings"]:
        """The settings; for a command that only reads and finds no data folder, with an empty one that goes again.

        It then says so, answers as it would of an installation without records, and leaves nothing behind: a mistyped
        --data is no new installation.
        """
        store = settings.store_path
        is_new = store is not None and not store.exists() and not settings.data_path.exists()
        if not is_new or not self.is_reading:
            yield settings
            return
        import tempfile

        from msgspec.structs import replace

        with tempfile.TemporaryDirectory(prefix="stateward-") as folder:
            self.stand_in = folder, settings.data
            yield replace(settings, data=folder)
            if not self._has_failed:  # an error is one sentence
                self._warn(
                    "no-data", f"there is no data folder {settings.data}: nothing is in it yet"
                )

    # Data, to stdout

    def emit(self, value: object) -> None:
        """One document for programs."""
        write_json(value)

    def emit_rows(self, rows: Iterable[object]) -> None:
        """A list for programs: one document, or with --jsonl one a line."""
        if self.jsonl:
            write_json_lines(rows)
        else:
            write_json(list(rows))

    def show(self, document: object, line: str = "", *, message: str = "") -> None:
        """What a command did: a document for programs; for people a line of data, or a sentence beside it."""
        if self.is_for_programs:
            self.emit(document)
            return
        if line:
            write(line)
        if message:
            self.say(message)

    def show_revoked(self, name: str, *, was_open: bool) -> None:
        """What became of a key or a link that was to be revoked."""
        outcome = "is revoked" if was_open else "was revoked before"
        self.show({"id": name, "was_open": was_open}, f"{name} {outcome}")

    def show_rows(
        self,
        rows: Sequence[T],
        columns: Sequence[str],
        cells: Callable[[T], Sequence[object]],
        *,
        nothing: str = "",
    ) -> None:
        """A list: its documents for programs, a table for people, or a sentence where there is `nothing`."""
        if self.is_for_programs:
            self.emit_rows(rows)
        elif nothing and not rows:
            self.say(nothing)
        else:
            write_table(columns, map(cells, rows))

    # Words, to stderr

    def say(self, text: str) -> None:
        """A line for people; programs asked for data only."""
        if not self.is_for_programs:
            self._end_progress()
            print(safe(text), file=sys.stderr)

    def progress(self, text: str) -> None:
        """How far it is, on one line that writes itself anew; only where a person sees it."""
        now = time.monotonic()
        if self.is_for_programs or not sys.stderr.isatty() or now < self._progress_at:
            return
        self._progress_at = now + PROGRESS_EVERY_S
        line = safe(text)
        print(f"\r{line.ljust(self._progress_chars)}", end="", file=sys.stderr, flush=True)
        self._progress_chars = len(line)

    def progress_of(self, what: str, count: int) -> None:
        """The same for work that is counted: how far what has come."""
        self.progress(f"{what}: {count:,}")

    def _end_progress(self) -> None:
        if self._progress_chars:
            print(f"\r{' ' * self._progress_chars}\r", end="", file=sys.stderr)
            self._progress_chars = 0

    def can_ask(self) -> bool:
        """Whether a person is there to answer a question."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def warn_renamed(self) -> None:
        """Name the current spelling of every command that was called by its old name.

        Programs get the warning too, as a JSON line on stderr: scripts are what has to be changed.
        """
        for old, new in self.renamed:
            message = f"`{old}` is deprecated, write `{new}`; the next version drops the old name"
            self._warn("deprecated", message)
        self.renamed.clear()

    def _warn(self, code: str, message: str) -> None:
        if self.is_for_programs:
            warning = {"warning": {"code": code, "message": message}}
            print(json_text(warning, is_pretty=False), file=sys.stderr)
        else:
            self.say(f"warning: {message}")

    def fail(self, found: Problem) -> Exit:
        """Say an error in one sentence, or as one JSON object; the code to end with."""
        self._has_failed = True
        if self.is_for_programs:
            print(json_text({"error": found.plain()}, is_pretty=False), file=sys.stderr)
        else:
            self._end_progress()
            for line in found.lines:
                print(f"stateward: {safe(line)}", file=sys.stderr)
        return found.exit


def is_unwritable(settings: "Settings") -> bool:
    """Whether the database is a file of this machine where nothing can be written."""
    path = settings.store_path
    if settings.server.url is not None or path is None or not path.exists():
        return False
    return not os.access(path, os.W_OK) or not os.access(path.absolute().parent, os.W_OK)


def context_of(context: click.Context) -> CliContext:
    """The context of this call."""
    return context.ensure_object(CliContext)


pass_context = click.make_pass_decorator(CliContext)
