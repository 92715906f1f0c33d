"""`stateward ledger bench`: what the ledger takes on this machine, beside its rivals, and which goals that meets.

Measuring is the business of `lab.bench.ledger`; this is its context. It works in a folder of its own.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

from stateward.cli.bench import PEERS
from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.output import write_table, write_text

DOCUMENTS_MAX = 10_000_000


@click.command(
    "bench",
    cls=Command,
    examples=["stateward ledger bench", "stateward ledger bench --documents 100000 --json"],
)
@click.option(
    "--documents",
    "sizes",
    type=click.IntRange(1, DOCUMENTS_MAX),
    multiple=True,
    help="How many documents a measured ledger has; may be given several times. 100,000 and 1,000,000 if not given.",
)
@click.option(
    "--large", is_flag=True, help="Measure 10,000,000 documents as well: minutes, and 4 GB of disk."
)
@click.option(
    "--peers",
    metavar="PYTHON",
    type=click.Path(path_type=Path),
    default=PEERS,
    help="The Python that has LMDB and the other packages; `make ledger-bench` makes .venv-bench.",
)
@pass_context
def bench(context: CliContext, *, sizes: Sequence[int], large: bool, peers: Path) -> None:
    """Measure the ledger, and say which of its goals hold.

    Appending, opening, asking, compacting, replaying and migrating, next to SQLite, LMDB and plain files in one run.
    In a temporary folder; nothing is left behind.
    """
    import msgspec

    # By name: measuring stands above all rooms, this one included.
    measuring = import_module("lab.bench.ledger")
    wanted = (*(sizes or measuring.SIZES), *((measuring.LARGE,) if large else ()))
    run = measuring.Run(
        wanted, peers=peers, tell=lambda text: context.progress(f"measuring {text}")
    )
    result = run.result()
    if context.is_for_programs:
        context.emit(msgspec.to_builtins(result))
        return
    write_text(f"{result.machine}\n")
    for heading, columns, rows in measuring.tables(result):
        write_text("\n")
        write_table([heading, *columns], rows)
    write_text("\n")
    goals = [(each.name, each.aim, each.measured, measuring.verdict(each)) for each in result.goals]
    write_table(("goal", "aim", "measured", ""), goals)
