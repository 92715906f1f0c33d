"""Write exports with their truth into a folder."""

import json
from pathlib import Path
from random import Random

import click

from lab.documents.banks import (  # noqa: F401 - each registers its layouts
    elsewhere,
    europe,
    fourth,
    further_east,
    further_europe,
    further_north,
    further_oceans,
    further_structured,
    third_asia,
    third_europe,
    third_world,
)
from lab.documents.banks.account import month
from lab.documents.banks.layouts import LAYOUTS, SETS, Layout
from lab.documents.banks.table import mutate


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--count", default=len(LAYOUTS) * 5, show_default=True, help="How many files.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option(
    "--mutate", "is_mutated", is_flag=True, help="Change each layout into one that no bank used."
)
@click.option(
    "--set", "layout_set", type=click.Choice(list(SETS)), default="first", show_default=True
)
def main(folder: Path, *, count: int, seed: int, is_mutated: bool, layout_set: str) -> None:
    """Draw bank exports."""
    write(folder, count=count, seed=seed, is_mutated=is_mutated, layout_set=layout_set)


def write(
    folder: Path, *, count: int, seed: int, is_mutated: bool, layout_set: str = "first"
) -> None:
    """Files with their truth beside them, every layout in turn."""
    layouts = [each for each in SETS[layout_set] if not (is_mutated and each.is_structured)]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        layout = layouts[number % len(layouts)]
        content, truth = draw(layout, number, is_mutated=is_mutated)
        name = f"{layout.country.lower()}-{layout.name}-{number}"
        (folder / f"{name}{truth['suffix']}").write_bytes(content)
        (folder / f"{name}.truth.json").write_text(json.dumps(truth, ensure_ascii=False), "utf-8")


def draw(layout: Layout, seed: int, *, is_mutated: bool) -> tuple[bytes, dict[str, object]]:
    """One file and its truth; the same seed gives the same."""
    random = Random(f"{layout.name} {seed}")
    opening, entries = month(random, layout.language, places=layout.places, scale=layout.scale)
    export = layout.write(opening, entries, random)
    if is_mutated:
        mutate(export, random)
    rows: list[dict[str, str]] = []
    for each in entries:
        row = {"date": str(each.day), "amount": str(each.amount)}
        rows.append({**row, "balance": str(each.balance)} if layout.balances else row)
    # In the order of the day, as a person compares two lists.
    return export.bytes(), {
        "currency": layout.currency,
        "transactions": rows,
        "changes": export.changes,
        "suffix": export.suffix,
    }


if __name__ == "__main__":
    main()
