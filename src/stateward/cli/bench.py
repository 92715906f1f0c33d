"""`stateward bench`: what a record costs on this machine, with the settings of a fresh installation.

The measuring is done by `stateward.testing.bench`; this is its command. It never touches the data folder.
"""

from collections.abc import Mapping, Sequence

import click

from stateward.cli.commands import command, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit

RECORDS_MAX = 10_000_000
COLUMNS = {
    "store": ("store", ""),
    "isolation": ("isolation", ""),
    "mode": ("mode", ""),
    "records": ("records", ","),
    "records_per_s": ("records/s", ",.0f"),
    "cpu_ms_per_record": ("CPU ms/record", ".3f"),
    "p50_ms": ("p50 ms", ",.1f"),
    "p95_ms": ("p95 ms", ",.1f"),
    "note": ("note", ""),
}


@command(
    "bench",
    "stateward bench --records 2000",
    "stateward bench --json --postgres postgresql:///postgres",
    is_listing=True,
)
@option(
    "--records N",
    "Records of a burst.",
    type=click.IntRange(1, RECORDS_MAX),
    default=5_000,
    show_default=True,
)
@option(
    "--rounds N",
    "How often each row is measured; the median is shown.",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
)
@option(
    "--postgres URL",
    "Measure on this PostgreSQL server as well, in a database created for it; default: the server of store.url.",
)
@pass_context
def bench(context: CliContext, *, records: int, rounds: int, postgres: str | None) -> Exit:
    """Measure what a record costs on this machine.

    Records go through two stages that do nothing, in a burst and one at a time, all of it durable: first with stages
    in child processes (the default), then inline. CPU time of all processes counts, that of a PostgreSQL server on
    this machine too. It works in temporary folders and databases, and never touches the data folder.
    """
    import msgspec

    from stateward.testing.bench.rows import own_rows

    url = context.settings().store.url
    server = postgres or (url if url.startswith(("postgresql:", "postgres:")) else None)
    measured = own_rows(
        records=records,
        rounds=rounds,
        postgres=server,
        tell=lambda text: context.progress(f"measuring {text}"),
    )
    rows = [msgspec.to_builtins(row) for row in measured]
    context.show_rows(rows, [heading for heading, _ in COLUMNS.values()], _cells)
    has_failed = any(row["cpu_ms_per_record"] is None for row in rows)
    return Exit.FOUND_PROBLEMS if has_failed else Exit.OK


def _cells(row: Mapping[str, object]) -> Sequence[str]:
    return [
        "" if row[name] is None else format(row[name], shape)
        for name, (_, shape) in COLUMNS.items()
    ]
