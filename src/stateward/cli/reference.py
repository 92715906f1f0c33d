"""The reference pages, made from the commands and the settings themselves, so that they cannot drift.

    python -m stateward.cli.reference docs/reference

writes `cli.md`, `metrics.md`, `settings.md` and the JSON Schema of transport messages there; a test compares what is
there with what would be written.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from stateward.cli.exit_codes import Exit

NOTICE = "<!-- Made by `python -m stateward.cli.reference docs/reference`; do not edit. -->"


def pages() -> dict[str, str]:
    """Every generated page, by its file name."""
    return {
        "cli.md": cli_page(),
        "metrics.md": metrics_page(),
        "settings.md": settings_page(),
        "transport-messages.schema.json": transport_schema(),
    }


def transport_schema() -> str:
    """The form of the messages between coordinators and workers, as JSON Schema."""
    import json

    from stateward.transport.messages import json_schema

    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def cli_page() -> str:
    """The whole command line as a page."""
    context = root()
    head = f"# The command line\n\n{NOTICE}\n\n{_help(context.command)}"
    parts = [head, _options(context), _exit_codes(), *(_section(each) for each in walk(context))]
    return "\n\n".join(part for part in parts if part) + "\n"


def root() -> click.Context:
    """`stateward` itself, as it is when it is called."""
    from stateward.cli import cli

    return click.Context(cli, info_name="stateward", **cli.context_settings)


def walk(context: click.Context) -> Iterator[click.Context]:
    """Every command below this one, each after its group."""
    command = context.command
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None and not found.hidden:
            below = click.Context(found, info_name=name, parent=context)
            yield below
            yield from walk(below)


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    examples = "\n".join(getattr(command, "examples", ()))
    parts = [
        f"## {context.command_path}",
        f"```text\n{context.command_path} {usage}\n```",
        _help(command),
        "" if isinstance(command, click.Group) else _options(context),
        f"```sh\n{examples}\n```",
    ]
    return "\n\n".join(part for part in parts if part)


def _help(command: click.Command) -> str:
    """The help as Markdown: what click is told to leave alone is a block of text."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        f"```text\n{part.removeprefix(chr(8)).strip(chr(10))}\n```"
        if part.startswith("\b")
        else part
        for part in paragraphs
    )


def _options(context: click.Context) -> str:
    records = [
        found
        for parameter in context.command.get_params(context)
        if isinstance(parameter, click.Option) and (found := parameter.get_help_record(context))
    ]
    lines = [f"| `{_cell(names)}` | {_cell(text)} |" for names, text in records]
    return "\n".join(["| option | meaning |", "|---|---|", *lines])


def _exit_codes() -> str:
    lines = [f"| {int(code)} | {code.meaning} |" for code in Exit]
    return "\n".join(["## Exit codes", "", "| code | meaning |", "|---|---|", *lines])


def settings_page() -> str:
    """Every key of a settings file as a page."""
    from stateward.settings import describe_settings, environment_variables

    variables = ", ".join(f"`{each}`" for each in environment_variables())
    intro = (
        "A settings file is YAML. What it leaves out is taken from the profile, and what the profile leaves out "
        f"has the default listed here. Environment variables ({variables}, and "
        "`STATEWARD_CONFIG` for the file itself) override the file, and command-line options override the "
        "environment. Unknown keys and impossible values are refused with file and line. A variable of another name "
        "that begins with `STATEWARD_` is named in a warning."
    )
    rows = [
        f"| `{_cell(each.path)}` | {_cell(each.type)} | {_code(each.default)} | {_cell(each.description)} |"
        for each in describe_settings()
    ]
    table = "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])
    return f"# Settings\n\n{NOTICE}\n\n{intro}\n\n{table}\n"


def metrics_page() -> str:
    """Every metric as a page."""
    from stateward.storage.counters import BUCKETS_S
    from stateward.telemetry.metrics import METRICS

    intro = (
        "What `GET /metrics` serves; how to use it is in [Monitor with Prometheus](../how-to/monitor.md). "
        "`{machine}` is the name of a machine: `upload_processing_duration_seconds`. The settings of a machine say "
        "whether it is included, and which of the labels `source_type`, `status` and `retry_count` it has. The "
        f"buckets of histograms are {', '.join(f'{each:g}' for each in BUCKETS_S)} s. Beyond 50 values of "
        "`source_type` and 200 of `error_code` for one machine, further ones are counted as `other`."
    )
    rows = [
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {_cell(each.help)} |"
        for each in METRICS
    ]
    table = "\n".join(["| metric | kind | labels | meaning |", "|---|---|---|---|", *rows])
    return f"# Metrics\n\n{NOTICE}\n\n{intro}\n\n{table}\n"


def _code(text: str) -> str:
    return text if re.fullmatch(r"required|not set", text) else f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(folder: Path) -> None:
    """Write the pages into a folder; a name that begins with - is a mistyped option."""
    if str(folder).startswith("-"):
        raise SystemExit(f"usage: python -m stateward.cli.reference FOLDER, not {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
