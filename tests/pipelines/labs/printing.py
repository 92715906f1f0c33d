"""Small reports, printed for a test, and what is read of them."""

from pathlib import Path

from lab.documents.statements.paper import A4, Paper
from tests.pipelines.labs.reading import results
from tests.pipelines.two_stages import JsonRow as Row

Line = tuple[tuple[float, str], ...]


def read_plain(
    folder: Path, *lines: tuple[tuple[float, str], ...], size: tuple[float, float] = A4
) -> list[Row]:
    """Lines of texts at their places, below a letterhead."""
    return results(folder, plain_pdf(*lines, size=size))


def plain_pdf(*lines: tuple[tuple[float, str], ...], size: tuple[float, float] = A4) -> bytes:
    paper = Paper(size)
    paper.page()
    paper.text(50, 60, "Example Laboratory, a report of results for a test document, Mr. Example")
    for at, line in enumerate(lines):
        for x, text in line:
            paper.text(x, 120 + 14 * at, text)
    return paper.pdf()


def table(
    *rows: tuple[str, ...],
    heading: tuple[str, ...] = ("Test", "Result", "Units", "Reference Range"),
) -> bytes:
    paper = Paper()
    paper.page()
    places = (50, 250, 340, 430)
    for at, row in enumerate((heading, *rows)):
        for x, text in zip(places, row, strict=False):
            if text:
                paper.text(x, 120 + 14 * at, text)
    paper.text(
        50, 60, "Example Laboratory, a report of results for a test document, collected 2026-03-09"
    )
    return paper.pdf()


def read(folder: Path, *rows: tuple[str, ...]) -> list[Row]:
    return results(folder, table(*rows))
