"""What every command shares: the options that are accepted everywhere, the help with its examples, and `CliContext`.

A `CliContext` remembers how Stateward was called, opens an App for the command that needs one, and knows
which words go where: data to stdout, everything said to people to stderr.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from stateward.cli.exit_codes import Exit, Problem, problem
from stateward.cli.extensions import load_command, plugin_commands
from stateward.cli.output import json_text, safe, write, write_json, write_json_lines, write_table

if TYPE_CHECKING:  # the engines take ten times as long to import as the command line
    from click.shell_completion import CompletionItem

    from stateward.app import App
    from stateward.cli.apps import AppProtocol
    from stateward.client import Client
    from stateward.definition.plugin import PluginCommand
    from stateward.settings import Settings

PROFILES = ("personal", "business", "enterprise")
FILE_WORDS = frozenset({"FILE", "DIR", "LEDGER", "SET"})
"""In the name of what a command takes, as its help shows it: shells complete it as a file."""
PROGRESS_EVERY_S = 0.1
MISSPELT = 0.85  # how alike two names of variables are that differ in a letter or two
A_FILE = click.Path(path_type=Path)
T = TypeVar("T")
C = TypeVar("C", bound="Client")
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class CliContext:
    """How this command was called, and how it speaks."""

    def __init__(self) -> None:
        self.config: Path | None = None
        self.profile: str | None = None
        self.data: str | None = None
        self.server: str | None = None
        self.json = False
        self.jsonl = False
        self.renamed: list[tuple[str, str]] = []
        self.stand_in = (
            "",
            "",
        )  # an empty data folder that is looked at, and the one that is meant
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

        current = click.get_current_context(silent=True)
        if only_reads is None:
            only_reads = current is not None and _is_reading(current)
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
        if not is_new or not _is_reading(click.get_current_context()):
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


def _remember(context: click.Context, option: click.Parameter, value: object) -> None:
    if value == "":
        raise click.BadParameter("it cannot be empty", context, option)
    if value and option.name is not None:
        setattr(context_of(context), option.name, value)
    if context_of(context).json and context_of(context).jsonl:
        raise click.UsageError(
            "--json and --jsonl are two shapes of the same answer: take one", context
        )


def option(
    shown: str,
    text: str,
    *,
    to: str | None = None,
    **how: Any,  # noqa: ANN401 - click's own words
) -> Decorator:
    """An option as its help shows it: `option("--stage NAME", "Only of this stage.")`; `to` names its argument."""
    name, _, metavar = shown.partition(" ")
    names = (name,) if to is None else (name, to)
    return click.option(*names, metavar=metavar or None, help=text, **how)


def flag_option(
    name: str,
    text: str,
    *,
    to: str | None = None,
    **how: Any,  # noqa: ANN401 - click's own words
) -> Decorator:
    """An option that is given or not."""
    return option(name, text, to=to, is_flag=True, **how)


def limit_option(
    text: str = "Maximum number.", *, default: int | None = None, most: int | None = None
) -> Decorator:
    """The option --limit of a command that lists something."""
    return option(
        "--limit N",
        text,
        type=click.IntRange(1, most),
        default=default,
        show_default=default is not None,
    )


def options(*decorators: Decorator) -> Decorator:
    """Options that several commands share, as one decorator; the help lists them in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(decorators):
            function = each(function)
        return function

    return decorate


def context_of(context: click.Context) -> CliContext:
    """The context of this call."""
    return context.ensure_object(CliContext)


@cache
def everywhere(*, is_hidden: bool, is_listing: bool) -> tuple[click.Parameter, ...]:
    """The options that every command takes, so that it does not matter where they are written."""

    def option(*names: str, **how: Any) -> click.Option:  # noqa: ANN401 - click's own words
        return click.Option(names, expose_value=False, callback=_remember, is_eager=True, **how)

    shared = (
        option(
            "--config",
            metavar="FILE",
            type=A_FILE,
            help="Settings file to use; also $STATEWARD_CONFIG.",
            hidden=is_hidden,
        ),
        option(
            "--profile",
            type=click.Choice(PROFILES),
            help="Profile that the settings start from; also $STATEWARD_PROFILE.",
            hidden=is_hidden,
        ),
        option(
            "--data",
            metavar="DIR",
            help="Data folder; also $STATEWARD_DATA.",
            hidden=is_hidden,
        ),
        option(
            "--server",
            metavar="URL",
            help="Run the command on the service at URL, with the key in $STATEWARD_KEY; also $STATEWARD_SERVER.",
            hidden=is_hidden,
        ),
        option("--json", is_flag=True, help="Print one JSON document; messages go to stderr."),
    )
    if not is_listing:
        return shared
    return (*shared, option("--jsonl", is_flag=True, help="Print one JSON document per line."))


class FileText(click.types.StringParamType):
    """A text that a shell completes as a file: it may also be `-`, a URL, or a file that does not exist yet."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """What there is, is for the shell to say."""
        from click.shell_completion import CompletionItem  # no command needs it

        return [CompletionItem(incomplete, type="file")]


def _complete_files(params: Sequence[click.Parameter]) -> None:
    """Shells complete a text as a file where its name in the help says that it is one; alone they complete nothing."""
    for each in params:
        shown = each.metavar or (each.name or "").upper()
        if each.type is click.STRING and FILE_WORDS.intersection(re.findall("[A-Z]+", shown)):
            each.type = FileText()


class Command(click.Command):
    """A command with examples in its help. `is_listing`: its answer is a list, so it has --jsonl.

    `is_reading`: it changes nothing, so it makes no data folder where there is none. Nor does one that only shows what
    it would do: with --dry-run, with the flag `reads_with`, without the flag `reads_without`.
    """

    def __init__(
        self,
        name: str | None,
        *,
        examples: Sequence[str] = (),
        is_listing: bool = False,
        is_reading: bool = False,
        reads_with: str = "dry_run",
        reads_without: str | None = None,
        **how: Any,  # noqa: ANN401 - click's own words
    ) -> None:
        super().__init__(name, **how)
        self.examples = tuple(examples)
        self.is_reading = is_reading
        self.reads_with, self.reads_without = reads_with, reads_without
        self.params += everywhere(is_hidden=True, is_listing=is_listing)
        _complete_files(self.params)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what the command returns
        """Run it, warnings first: only now is it known whether --json was given."""
        context_of(ctx).warn_renamed()
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they can be typed."""
        _write_examples(self.examples, formatter)


def command(
    name: str,
    *examples: str,
    cls: type[Command] = Command,
    **how: Any,  # noqa: ANN401 - click's own words
) -> Callable[[Callable[..., Any]], Command]:
    """A command with the examples of its help; `how` is what it says to `Command` and to click."""
    return click.command(name, cls=cls, examples=examples, **how)


def is_unwritable(settings: "Settings") -> bool:
    """Whether the database is a file of this machine where nothing can be written."""
    path = settings.store_path
    if settings.server.url is not None or path is None or not path.exists():
        return False
    return not os.access(path, os.W_OK) or not os.access(path.absolute().parent, os.W_OK)


def _is_reading(ctx: click.Context) -> bool:
    command, given = ctx.command, ctx.params
    if not isinstance(command, Command):
        return False
    is_showing = command.reads_without is not None and not given[command.reads_without]
    return command.is_reading or is_showing or bool(given.get(command.reads_with))


def _write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    with formatter.section("Examples"):
        for example in examples:  # never wrapped: a command is copied as a whole
            formatter.write(f"{' ' * formatter.current_indent}{example}\n")


class Group(click.Group):
    """A group of commands; it takes the same options as they do.

    `renamed` maps commands of the last version to what is written now: `{"snapshot": "compact --no-pack"}`, or in full
    where it is a command of the root: `{"verify": "stateward verify"}`. They work, with a warning, but appear in no
    help and on no reference page.
    """

    command_class = Command

    def __init__(
        self,
        name: str | None = None,
        *,
        examples: Sequence[str] = (),
        renamed: Mapping[str, str] | None = None,
        **how: Any,  # noqa: ANN401 - click's own words
    ) -> None:
        super().__init__(name, no_args_is_help=False, **how)
        self.examples = tuple(examples)
        self.renamed = dict(renamed or {})
        self.params += everywhere(is_hidden=not self.is_root, is_listing=False)
        _complete_files(self.params)

    def command(  # type: ignore[override] # click's takes no examples, and any name
        self,
        name: str,
        *examples: str,
        **how: Any,  # noqa: ANN401 - click's own words
    ) -> Callable[[Callable[..., Any]], click.Command]:
        """A command of this group, with the examples of its help."""
        given = {"examples": examples} if examples else {}
        return super().command(name, **given, **how)

    is_root = False

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they can be typed."""
        _write_examples(self.examples, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Nothing at all is a question: the help is the answer."""
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help(), file=sys.stderr)
            ctx.exit(Exit.USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant, also by its old name."""
        new = self.renamed.get(args[0])
        if new is not None:
            path, root = ctx.command_path, ctx.find_root()
            own = new.removeprefix(f"{root.info_name} ")
            full = new if own != new else f"{path} {new}"
            context_of(ctx).renamed.append((f"{path} {args[0]}", full))
            args = [*own.split(), *args[1:]]
            if own != new and isinstance(root.command, click.Group):
                return root.command.resolve_command(root, args)
        return super().resolve_command(ctx, args)


class Root(Group):
    """The whole command line: every error ends here, in a sentence and an exit code."""

    is_root = True

    def __init__(
        self,
        name: str,
        *,
        sections: Sequence[tuple[str, Mapping[str, tuple[str, str]]]],
        aliases: Mapping[str, str],
        **how: Any,  # noqa: ANN401 - click's own words
    ) -> None:
        super().__init__(name, **how)
        self._aliases = aliases  # other words for the same command, which no help lists
        self.sections = sections
        self._modules = {name: where for _, own in sections for name, (where, _) in own.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the sections, not of the alphabet; those of plug-ins last."""
        return [*self._modules, *(each.name for each in _visible_plugin_commands())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command of ours, or of a plug-in, whose code is imported now."""
        cmd_name = self._aliases.get(cmd_name, cmd_name)
        if cmd_name in self._modules:
            module, _, name = self._modules[cmd_name].partition(":")
            found: click.Command = getattr(import_module(f"stateward.cli.{module}"), name)
            return found
        own = plugin_commands().get(cmd_name)
        return None if own is None else load_command(own)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; click itself suggests only what is imported, and here nothing is yet."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if isinstance(error, click.NoSuchOption):
                raise
            similar = get_close_matches(args[0], self.list_commands(ctx))
            near = f"; did you mean {' or '.join(similar)}?" if similar else ""
            raise click.UsageError(f"there is no command {args[0]!r}{near}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under the heading that they belong to."""
        further = _visible_plugin_commands()
        width = formatter.width - max(map(len, self.list_commands(ctx))) - 6
        for heading, own in self.sections:
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name, click.Command(None, help=doc).get_short_help_str(width))
                        for name, (_, doc) in own.items()
                    ]
                )
        if further:
            with formatter.section("Pipelines"):
                formatter.write_dl([(each.name, each.doc) for each in further])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:  # noqa: ANN401
        """Run a command and end the process."""
        written = list(sys.argv[1:] if args is None else args)
        context = CliContext()
        extra.update(standalone_mode=False, obj=context)
        _forgive_encodings()
        try:
            code = super().main(written, *rest, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            code = _pipe_is_broken()
        except Exception as error:  # noqa: BLE001 - the last line of defence: never a traceback
            context.json |= (
                "--json" in written
            )  # a command that cannot be read was not read that far
            code = context.fail(problem(error))
            _discard_output()
        sys.exit(int(code or Exit.OK))

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what the command returns
        """Run the command; a reader that left is no error of ours, and click would make it one."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            return _pipe_is_broken()
        return code

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples and the exit codes."""
        super().format_epilog(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(int(code)), code.meaning) for code in Exit])


def _visible_plugin_commands() -> "list[PluginCommand]":
    return [each for each in plugin_commands().values() if not each.is_hidden]


def hold_streams() -> None:
    """A standard stream that was closed stays silent: the next file opened must not take its place."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free is this one
            setattr(sys, name, os.fdopen(descriptor, "r" if name == "stdin" else "w"))


def _forgive_encodings() -> None:
    """A terminal that cannot show a character shows its number instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _pipe_is_broken() -> Exit:
    _discard_output()
    return Exit.BROKEN_PIPE


def _discard_output() -> None:
    """If stdout cannot be written, what is left goes nowhere: Python would complain once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


pass_context = click.make_pass_decorator(CliContext)
