"""Read drawn exports as `submit` would, and count by layout what a person would have got.

Stricter than `stateward eval`: a wrong statement whose only note says that nothing proves it counts as silent, because
every export without balances carries that note.
"""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from lab.documents.banks.__main__ import write
from lab.documents.banks.layouts import LAYOUTS

QUIET = {"NOT_CHECKED"}
KINDS = ("exact", "false alarm", "flagged rightly", "silent")


@click.command()
@click.option(
    "--count", default=len(LAYOUTS) * 10, show_default=True, help="How many files of each kind."
)
@click.option("--seed", default=1, show_default=True, help="The first seed.")
def main(*, count: int, seed: int) -> None:
    """Measure the reading of exports, as banks write them and mutated."""
    is_silent = False
    for is_mutated in (False, True):
        with TemporaryDirectory() as place:
            write(Path(place), count=count, seed=seed, is_mutated=is_mutated)
            found = evaluated(Path(place))
        by_layout: dict[str, Counter[str]] = defaultdict(Counter)
        for each in found:
            by_layout[each["file"].rpartition("-")[0]][kind_of(each)] += 1
        show("mutated" if is_mutated else "as banks write them", by_layout)
        is_silent |= any(own["silent"] for own in by_layout.values())
    sys.exit(1 if is_silent else 0)


def evaluated(folder: Path) -> list[dict[str, Any]]:
    """Every statement with its score and notes, by the command that users have."""
    command = [sys.executable, "-m", "stateward", "eval", "statements", str(folder), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: list[dict[str, Any]] = json.loads(done.stdout)["statements"]
    return found


def kind_of(statement: dict[str, Any]) -> str:
    """What a person got."""
    codes = {note.partition(":")[0] for note in statement["notes"]} - QUIET
    says_so = bool(codes or statement["code"])
    if statement["score"]["exact"]:
        return "false alarm" if says_so else "exact"
    return "flagged rightly" if says_so else "silent"


def show(title: str, by_layout: dict[str, Counter[str]]) -> None:
    """A line for each layout that is not all exact, and one for all."""
    total: Counter[str] = sum(by_layout.values(), Counter())
    print(f"\n{title}: {total.total()} exports of {len(by_layout)} layouts")
    print(f"{'layout':<28}{''.join(f'{kind:>16}' for kind in KINDS)}")
    rows = [(name, own) for name, own in sorted(by_layout.items()) if own["exact"] < own.total()]
    for name, own in [*rows, ("all", total)]:
        print(f"{name:<28}{''.join(f'{own[kind]:>16}' for kind in KINDS)}")


if __name__ == "__main__":
    main()
