"""The list of layouts, and how one is drawn."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from lab.documents.lab_pdfs.report import Look, Report

Draw = Callable[[Report], None]


@dataclass(frozen=True)
class Laboratory:
    """A layout."""

    name: str
    country: str
    language: str
    draw: Draw
    look: dict[str, object] = field(default_factory=dict)


LABORATORIES: list[Laboratory] = []
FURTHER: list[Laboratory] = []  # drawn after the reader was mended for the others


def laboratory(
    name: str, country: str, language: str, *, is_further: bool = False, **look: object
) -> Callable[[Draw], Draw]:
    def register(draw: Draw) -> Draw:
        (FURTHER if is_further else LABORATORIES).append(
            Laboratory(name, country, language, draw, look)
        )
        return draw

    return register


def draw(own: Laboratory, seed: int) -> tuple[bytes, dict[str, object]]:
    """One report and its truth; the same seed gives the same. Some are set letter by letter, or in another font."""
    random = Random(f"{own.name} {seed}")
    look = Look(**own.look)  # type: ignore[arg-type]
    look.font, look.bold = random.choice(
        ((look.font, look.bold), (look.font, look.bold), ("times", "times"), ("mapped", "mapped"))
    )
    look.is_lettered = random.random() < 0.15
    look.leading = random.uniform(11.5, 15.5)
    report = Report(random, own.language, look)
    own.draw(report)
    return report.paper.pdf(), report.truth(own.name)
