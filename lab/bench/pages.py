"""`python -m lab.bench`: what `make bench` and `make bench-growth` do, each for one page.

python -m lab.bench table docs/explanation/benchmarks.md --peers .venv-bench/bin/python
python -m lab.bench growth docs/explanation/scale.md --sizes 10000,100000
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lab.bench.growth import (
    SIZES,
    Growth,
    Line,
    lines,
)
from lab.bench.report import (
    benchmark,
    check_places,
    machine,
    write_between,
)
from lab.bench.runs import (
    RECORDS,
    STORES,
    Plan,
    rows,
)
from lab.bench.scale import carries, growth
from lab.postgres import MissingPostgres, find_programs
from stateward.testing.bench.rows import Row, empty_folder

TABLE, GROWTH, CARRIES = "bench", "growth", "carries"
ROUNDS = 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and put the tables into a page."""
    given = _parser().parse_args(arguments)
    given.act(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.bench")
    acts = parser.add_subparsers(required=True)
    table = acts.add_parser("table", help="beside the floor and the peers")
    table.add_argument("--records", type=int, default=RECORDS)
    table.add_argument("--peers", type=Path, help="the Python that has the peers")
    table.set_defaults(act=_table)
    grown = acts.add_parser("growth", help="with history, coordinators and depth")
    grown.add_argument(
        "--sizes", type=_numbers, default=SIZES, help="finished records, such as 10000,100000"
    )
    grown.set_defaults(act=_growth)
    for each in (table, grown):
        each.add_argument("page", type=Path)
        each.add_argument("--rounds", type=int, default=ROUNDS)
        each.add_argument("--store", choices=STORES, action="append", help="this store only")
        each.add_argument("--json", type=Path, help="keep the numbers in this file as well")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each.replace("_", "")) for each in text.split(","))


def _table(given: argparse.Namespace) -> None:
    stores = tuple(given.store or STORES)
    check_places(given.page, TABLE)
    plan = Plan(records=given.records, stores=stores, rounds=given.rounds, peers_python=given.peers)
    found: list[Row] = []
    for row in rows(plan, tell=_say):
        found.append(row)
        _keep(given.json, found)
        _say(
            f"  {row.cpu_ms_per_record} ms of CPU a record, {row.records_per_s} records/s {row.note}"
        )
    command = f"make bench RECORDS={given.records} ROUNDS={given.rounds}"
    write_between(given.page, TABLE, benchmark(found, facts=facts(command, stores)))


def _growth(given: argparse.Namespace) -> None:
    check_places(given.page, GROWTH, CARRIES)
    stores = tuple(given.store or STORES)
    plan = Growth(stores=stores, sizes=tuple(sorted(given.sizes)), rounds=given.rounds)
    found: list[Line] = []
    for line in lines(plan, tell=_say):
        found.append(line)
        _keep(given.json, found)
        _say(f"  {line.cpu_ms_per_record} ms of CPU a record, {line.records_per_s} records/s")
    command = f"make bench-growth SIZES={','.join(map(str, plan.sizes))} ROUNDS={plan.rounds}"
    write_between(given.page, GROWTH, growth(found, facts=facts(command, stores)))
    write_between(given.page, CARRIES, carries(found))


def facts(command: str, stores: Sequence[str]) -> list[str]:
    """Where and when this command was measured."""
    return machine(command=command, postgres=_postgres_version() if "postgres" in stores else "")


def _postgres_version() -> str:
    """The version of the programs that servers are started from; none are needed to ask."""
    try:
        with empty_folder() as folder:
            postgres = find_programs(folder, None) / "postgres"
            done = subprocess.run(
                [postgres, "--version"], capture_output=True, text=True, check=True
            )
    except MissingPostgres:
        return ""
    return done.stdout.split()[-1]


def _keep(path: Path | None, found: Sequence[Row | Line]) -> None:
    """After every row: a run takes long, and what was measured need not be lost with it."""
    if path is not None:
        path.write_bytes(msgspec.json.encode(found))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
