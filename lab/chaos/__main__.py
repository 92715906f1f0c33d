"""The command of the chaos rounds: plan, run, tell, and write the page."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from lab.chaos.faults import FAULTS, POSTGRES
from lab.chaos.report import line, page, table
from lab.chaos.rounds import (
    STORES,
    Outcome,
    plan,
    run_round,
)
from lab.postgres import Cluster, cluster

ROUNDS = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; 0 if every round was well."""
    asked = _parser().parse_args(arguments)
    only = [name for name in asked.only.split(",") if name]
    if unknown := sorted(set(only) - FAULTS.keys()):
        print(f"chaos: no such kind: {', '.join(unknown)}; there are: {', '.join(FAULTS)}")
        return 2
    planned = plan(asked.rounds, only=only, stores=asked.store.split(","))
    for kind, fault in FAULTS.items():
        if reason := fault.lacks():
            print(f"chaos: {kind} is left out: {reason}")
    outcomes = _run(planned, seed=asked.seed, keep=asked.keep)
    print(table(outcomes))
    if asked.page is not None:
        page(asked.page, outcomes, command=asked.command)
    is_well = bool(outcomes) and all(outcome.is_well for outcome in outcomes)
    return 0 if is_well else 1


def _run(planned: Sequence[tuple[str, str]], *, seed: int, keep: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with ExitStack() as stack:
        server: Cluster | None = None
        if any(store == POSTGRES for _, store in planned):
            server = stack.enter_context(cluster(is_durable=True))
        for number, (kind, store) in enumerate(planned, 1):
            outcome = run_round(kind, store, seed=seed + number, cluster=server, keep=keep)
            outcomes.append(outcome)
            print(f"{number:4d}/{len(planned)} {line(outcome)}", flush=True)
    return outcomes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help=f"some of: {', '.join(FAULTS)}")
    parser.add_argument("--store", default=",".join(STORES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the folder of every round")
    parser.add_argument("--page", type=Path, help="write the results into this page")
    parser.add_argument("--command", default="make chaos", help="what the page says was run")
    return parser


if __name__ == "__main__":
    sys.exit(main())
