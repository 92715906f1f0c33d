"""`python -m lab.documents.contracts DIR --count N --seed S`: a folder of contracts with truth.json."""

from pathlib import Path

import click

from lab.documents.contracts.drawn import COUNT_MAX, MAKERS, write_folder


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--count", type=click.IntRange(1, COUNT_MAX), default=100, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--maker", type=click.Choice(sorted(MAKERS)), default="usual", show_default=True)
def main(folder: Path, count: int, seed: int, maker: str) -> None:
    """Write synthetic contracts and their truth into FOLDER."""
    path = write_folder(folder, count=count, seed=seed, maker=maker)
    click.echo(f"{count} contracts and {path}")


if __name__ == "__main__":
    main()
