"""How commands are declared: groups, options, help with its examples, and the options that are accepted everywhere.

Every error of a command ends in `Root`, in a sentence and an exit code.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from stateward.cli.context import CliContext, context_of
from stateward.cli.exit_codes import Exit, problem
from stateward.cli.extensions import load_command, plugin_commands

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from stateward.definition.plugin import PluginCommand

PROFILES = ("personal", "business", "enterprise")
FILE_WORDS = frozenset({"FILE", "DIR", "LEDGER", "SET"})
"""In the name of what a command takes, as its help shows it: shells complete it as a file."""
A_FILE = click.Path(path_type=Path)
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


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
        context = context_of(ctx)
        context.is_reading = self.changes_nothing(ctx.params)
        context.warn_renamed()
        return super().invoke(ctx)

    def changes_nothing(self, given: Mapping[str, Any]) -> bool:
        """Whether it only reads, or only shows what it would do, with these parameters."""
        is_showing = self.reads_without is not None and not given[self.reads_without]
        return self.is_reading or is_showing or bool(given.get(self.reads_with))

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
