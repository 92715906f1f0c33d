"""Write reports with their truth into a folder."""

import json
from pathlib import Path

import click

from lab.documents.lab_pdfs import further, mutated, sealed, unseen, varied  # noqa: F401 - they register their layouts
from lab.documents.lab_pdfs.laboratories import LABORATORIES, draw
from lab.documents.lab_pdfs.registry import GROUPS


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--count", default=len(LABORATORIES) * 3, show_default=True, help="How many files.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--group", type=click.Choice([*GROUPS]), default="first", help="Which layouts.")
def main(folder: Path, *, count: int, seed: int, group: str) -> None:
    """Draw lab reports, every layout in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    layouts = GROUPS[group]
    for number in range(seed, seed + count):
        own = layouts[number % len(layouts)]
        content, truth = draw(own, number)
        name = f"{own.country.lower()}-{own.name}-{number}"
        (folder / f"{name}.pdf").write_bytes(content)
        (folder / f"{name}.truth.json").write_text(json.dumps(truth, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
