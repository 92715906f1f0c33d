"""`stateward ledger bench`, for one version: the measurement needs packages and peers that are not shipped."""

import click

from stateward.cli.context import Command


@click.command("bench", cls=Command, hidden=True, examples=[])
def bench() -> None:
    """Say where the benchmark of the ledger is now."""
    raise click.ClickException(
        "the benchmark of the ledger is no longer shipped; run `make ledger-bench` in a source checkout"
    )
