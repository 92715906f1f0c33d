"""`stateward eval`: how well pipelines read documents whose truth is known.

Measuring is the business of the pipelines: each that declares an evaluation is a command here. Nothing is stored.
"""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, Command, Group
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.extensions import installed_plugins
from stateward.cli.output import write, write_table

if TYPE_CHECKING:
    from stateward.definition.plugin import EvaluationReport, Plugin


class EvaluationGroup(Group):
    """A command for every pipeline that declares an evaluation."""

    @property
    def examples(self) -> tuple[str, ...]:
        """One for each of them."""
        names = [plugin.name for plugin in installed_plugins() if plugin.evaluation is not None]
        return tuple(f"stateward eval {name} samples/" for name in names)

    @examples.setter
    def examples(self, given: tuple[str, ...]) -> None:
        """Those that are given count for nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of those pipelines."""
        return [plugin.name for plugin in installed_plugins() if plugin.evaluation is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one of them."""
        for plugin in installed_plugins():
            if plugin.name == cmd_name and plugin.evaluation is not None:
                return _command(plugin)
        return super().get_command(ctx, cmd_name)


@click.group("eval", cls=EvaluationGroup)
def eval_() -> None:
    """Measure accuracy on documents whose content is known."""


def _command(plugin: "Plugin") -> Command:
    evaluation = plugin.evaluation
    assert evaluation is not None  # noqa: S101 - the caller has looked

    @pass_context
    def run(context: CliContext, /, *, path: Path, **parameters: str | None) -> Exit:
        given = {name: value for name, value in parameters.items() if value is not None}
        return evaluate(context, plugin.name, path, given)

    options = [
        click.Option([f"--{name.replace('_', '-')}", name], metavar="VALUE", help=text)
        for name, text in evaluation.parameters.items()
    ]
    example = f"stateward eval {plugin.name} samples/"
    return Command(
        plugin.name,
        callback=run,
        help=inspect.cleandoc(evaluation.doc),
        params=[click.Argument(["path"], type=A_FILE), *options],
        examples=[example, f"{example} --json"],
    )


def evaluate(
    context: CliContext, name: str, path: Path, parameters: dict[str, str] | None = None
) -> Exit:
    """Evaluate a pipeline and print the report."""
    (plugin,) = [each for each in installed_plugins() if each.name == name]
    report = _report(context, plugin, path, parameters or {})
    if context.is_for_programs:
        context.emit(report.document)
    else:
        _show(report)
    if not report.is_well:
        return Exit.FOUND_PROBLEMS
    return Exit.FLAGGED if report.flagged else Exit.OK


def _report(
    context: CliContext, plugin: "Plugin", path: Path, parameters: dict[str, str]
) -> "EvaluationReport":
    import time
    from contextlib import ExitStack
    from functools import cache

    from stateward.app import App
    from stateward.definition.plugin import EvaluationRequest, resolve
    from stateward.engine.system import steady_clock

    with ExitStack() as stack:

        @cache
        def app() -> App:
            """The data folder is opened only when something in it is needed."""
            return stack.enter_context(context.local_app())

        assert plugin.evaluation is not None  # noqa: S101 - it has a command
        return resolve(plugin.evaluation.run)(
            EvaluationRequest(
                path=path,
                parameters=parameters,
                clock=steady_clock,
                cpu_s=time.process_time,
                progress=lambda name: context.progress(f"reading {name}"),
                configured=lambda: app().plugins.configured(plugin.name),
                artifact_path=lambda sha256: app().artifacts.path(sha256),  # noqa: PLW0108 - not yet
            )
        )


def _show(report: "EvaluationReport") -> None:
    for table in report.tables:
        if table.title:
            write()
            write(table.title)
        write_table(table.columns, table.rows)
    if len(report.tables) > 1:
        write()
    for sentence in report.sentences:
        write(sentence)
