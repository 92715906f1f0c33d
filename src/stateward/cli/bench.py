"""`stateward bench`: what a record costs on this machine, beside the least that it could cost and beside peers.

Measuring is the business of `lab.bench`; this is its context. It never touches the data folder.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import write_table

PEERS = Path(".venv-bench") / "bin" / "python"
SYSTEMS = ("ours", "floor", "DBOS", "Huey", "PgQueuer")
STORES = ("sqlite", "postgres")
OWN = ("ours", "floor")
RECORDS_MAX = 10_000_000
COLUMNS = {
    "system": ("system", ""),
    "store": ("store", ""),
    "mode": ("mode", ""),
    "records": ("records", ","),
    "records_per_s": ("records/s", ",.0f"),
    "cpu_ms_per_record": ("CPU ms/record", ".3f"),
    "p50_ms": ("p50 ms", ",.1f"),
    "p95_ms": ("p95 ms", ",.1f"),
    "note": ("note", ""),
}


@click.command(
    "bench",
    cls=Command,
    is_listing=True,
    examples=[
        "stateward bench --only ours --store sqlite",
        "stateward bench --json --records 20000",
    ],
)
@click.option(
    "--records",
    type=click.IntRange(1, RECORDS_MAX),
    default=20_000,
    show_default=True,
    help="Records of a burst; peers get fewer.",
)
@click.option(
    "--only",
    type=click.Choice(SYSTEMS, case_sensitive=False),
    multiple=True,
    help="Measure this system only; may be given several times.",
)
@click.option("--store", type=click.Choice(STORES), help="Measure on this store only.")
@click.option(
    "--rounds",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How often ours and the floor are measured, in turns; the median is shown.",
)
@click.option(
    "--peers",
    metavar="PYTHON",
    type=click.Path(path_type=Path),
    default=PEERS,
    help="The Python that has the peers; `make bench` makes .venv-bench.",
)
@pass_context
def bench(
    context: CliContext,
    *,
    records: int,
    only: Sequence[str],
    store: str | None,
    rounds: int,
    peers: Path,
) -> Exit:
    """Measure what a record costs on this machine.

    Records go through two stages that do nothing, in a burst and one at a time, all of it durable, next to the same
    writes in hand-written SQL (floor) and to other systems. It works in folders and databases of its own, which it
    removes, and never touches the data folder.
    """
    import msgspec

    # By name: measuring stands above all rooms, this one included, and starts servers that only tests have.
    runs = import_module("lab.bench.runs")
    plan = runs.Plan(
        records=records,
        systems=tuple(only) or SYSTEMS,
        stores=(store,) if store else STORES,
        rounds=rounds,
        peers_python=peers,
    )
    measured = runs.rows(plan, tell=lambda text: context.progress(f"measuring {text}"))
    found = [msgspec.to_builtins(row) for row in measured]
    if context.is_for_programs:
        context.emit_rows(found)
    else:
        _show(found)
    is_lacking = any(row["system"] in OWN and row["cpu_ms_per_record"] is None for row in found)
    return Exit.FOUND_PROBLEMS if is_lacking else Exit.OK


def _show(rows: Sequence[Mapping[str, object]]) -> None:
    write_table(
        [heading for heading, _ in COLUMNS.values()],
        [[_cell(row[name], shape) for name, (_, shape) in COLUMNS.items()] for row in rows],
    )


def _cell(value: object, shape: str) -> str:
    return "" if value is None else format(value, shape)
