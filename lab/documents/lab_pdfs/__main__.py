"""Write reports with their truth into a folder."""

import json
from pathlib import Path

import click

from lab.documents.lab_pdfs.further import FURTHER
from lab.documents.lab_pdfs.laboratories import LABORATORIES, draw


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--count", default=len(LABORATORIES) * 3, show_default=True, help="How many files.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--further", "is_further", is_flag=True, help="The second set of layouts.")
def main(folder: Path, *, count: int, seed: int, is_further: bool) -> None:
    """Draw lab reports, every layout in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    layouts = FURTHER if is_further else LABORATORIES
    for number in range(seed, seed + count):
        own = layouts[number % len(layouts)]
        content, truth = draw(own, number)
        name = f"{own.country.lower()}-{own.name}-{number}"
        (folder / f"{name}.pdf").write_bytes(content)
        (folder / f"{name}.truth.json").write_text(json.dumps(truth, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
