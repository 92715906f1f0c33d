"""Write statements with their truth into a folder."""

import json
from pathlib import Path

import click

from lab.documents.bank_pdfs import (  # noqa: F401 - each registers its layouts
    further,
    further_europe,
    further_oceans,
    german,
    isles,
    north,
    north_america,
    oceans,
    romance,
    third,
    us_cards,
)
from lab.documents.bank_pdfs.layouts import LAYOUTS, SETS, draw


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--count", default=len(LAYOUTS) * 3, show_default=True, help="How many files.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option(
    "--mutate", "is_mutated", is_flag=True, help="Change each layout into one that no bank used."
)
@click.option(
    "--set", "layout_set", type=click.Choice(list(SETS)), default="first", show_default=True
)
def main(folder: Path, *, count: int, seed: int, is_mutated: bool, layout_set: str) -> None:
    """Draw statements of banks."""
    write(folder, count=count, seed=seed, is_mutated=is_mutated, layout_set=layout_set)


def write(
    folder: Path, *, count: int, seed: int, is_mutated: bool, layout_set: str = "first"
) -> None:
    """Files with their truth beside them, every layout in turn."""
    layouts = SETS[layout_set]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        layout = layouts[number % len(layouts)]
        content, truth = draw(layout, number, is_mutated=is_mutated)
        name = f"{layout.country.lower()}-{layout.name}-{number}"
        (folder / f"{name}.pdf").write_bytes(content)
        (folder / f"{name}.truth.json").write_text(json.dumps(truth, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
