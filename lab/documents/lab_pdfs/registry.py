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
UNSEEN: list[Laboratory] = []  # by another author, before the reader was looked at
LAST: list[Laboratory] = []  # drawn after the reader was mended for those
FRESH: list[Laboratory] = []  # after those
FINAL: list[Laboratory] = []  # nothing was mended for these
SEALED: list[Laboratory] = []  # by a fourth author, with rows of kinds that those lacked
VARIED: list[Laboratory] = []  # by the author of the reader, to try it
MUTATED: list[Laboratory] = []  # one layout, which composes another with every seed
GROUPS = {
    "first": LABORATORIES, "further": FURTHER, "unseen": UNSEEN, "last": LAST, "fresh": FRESH, "final": FINAL,
    "sealed": SEALED, "varied": VARIED, "mutated": MUTATED,
}  # fmt: skip


def laboratory(
    name: str, country: str, language: str, *, group: str = "first", **look: object
) -> Callable[[Draw], Draw]:
    def register(draw: Draw) -> Draw:
        GROUPS[group].append(Laboratory(name, country, language, draw, look))
        return draw

    return register


def draw(own: Laboratory, seed: int) -> tuple[bytes, dict[str, object]]:
    """One report and its truth; the same seed gives the same. Some are set letter by letter, or in another font."""
    random = Random(f"{own.name} {seed}")
    look = Look(**own.look)  # type: ignore[arg-type]
    own_fonts = (look.font, look.bold)
    chosen = random.choice((own_fonts, own_fonts, ("times", "times"), ("mapped", "mapped")))
    # Columns of a typewriter are made of blanks.
    look.font, look.bold = own_fonts if look.font == "courier" else chosen
    look.is_lettered = random.random() < 0.15
    look.leading = random.uniform(11.5, 15.5)
    report = Report(random, own.language, look)
    own.draw(report)
    return report.paper.pdf(), report.truth(own.name)
