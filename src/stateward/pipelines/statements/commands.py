"""Commands of this pipeline: `stateward rules test`."""

import sys
from pathlib import Path

import click

from stateward.cli.plugin_api import CliContext, Exit, Group, pass_context, write_table

TEXTS_MAX = 10_000


@click.group("rules", cls=Group, examples=["stateward rules test 'POS PURCHASE GROCER 0042'"])
def rules() -> None:
    """Try rules for descriptions, merchants and categories."""


@rules.command(
    "test",
    is_listing=True,
    examples=[
        "stateward rules test 'POS PURCHASE GROCER 0042'",
        "stateward rules test --file rules.yaml 'GROCER 0042'",
    ],
)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--file",
    "path",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Rules to try; otherwise those of the settings.",
)
@pass_context
def test(context: CliContext, *, texts: tuple[str, ...], path: Path | None) -> Exit:
    """Show what the rules make of descriptions.

    Without texts, of each line of standard input. Nothing is stored; `stateward rebuild` applies rules that changed.
    """
    import yaml

    from stateward.core.errors import FatalFailure
    from stateward.pipelines.statements.rules import rules_of

    given = list(texts) or [line.rstrip("\n") for line in sys.stdin][:TEXTS_MAX]
    try:
        if path is None:
            with context.local_app() as app:
                own = app.plugins.configured("statements").job_options("upload.normalize")["rules"]
        else:
            own = yaml.safe_load(path.read_text("utf-8"))
        if not isinstance(own, dict):
            raise click.UsageError(f"{path} must be a mapping with a version")
        found = rules_of(own)
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}") from error
    except FatalFailure as error:
        raise click.UsageError(error.message) from error
    rows: list[dict[str, object]] = []
    for text in given:
        description = found.description(text)
        merchant = found.merchant(description)
        category = found.category(merchant, description)
        rows.append(
            {"text": text, "description": description, "merchant": merchant, "category": category}
        )
    if context.is_for_programs:
        context.emit_rows(rows)
    else:
        columns = ("description", "merchant", "category")
        write_table(columns, [tuple(row[name] for name in columns) for row in rows])
    return Exit.OK
