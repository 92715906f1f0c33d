"""Commands of this pipeline: only a former spelling of `stateward eval contracts`."""

from pathlib import Path

import click

from stateward.cli.plugin_api import CliContext, Exit, Group, evaluate, pass_context


@click.group("extractors", cls=Group, hidden=True, examples=["stateward eval contracts gold.jsonl"])
def extractors() -> None:
    """Look at what reads the terms of contracts (now `stateward eval contracts`)."""


@extractors.command("eval", examples=["stateward eval contracts gold.jsonl"])
@click.argument("gold", type=click.Path(path_type=Path))
@pass_context
def eval_(context: CliContext, *, gold: Path) -> Exit:
    """Measure the present extractor by the decisions of people (now `stateward eval contracts GOLD`)."""
    context.renamed.append(("extractors eval", "eval contracts"))
    context.warn_renamed()
    return evaluate(context, "contracts", gold)
