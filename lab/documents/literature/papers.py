"""A paper set in two columns, as journals print them; `python -m lab.documents.literature.papers FILE` writes it.

Running heads and page numbers stand on every page, headings are larger or numbered, words are broken at line ends.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.documents.statements.paper import LETTER, Paper, width

COLUMN = 232.0
LEFTS = (60.0, 320.0)
TOP, BOTTOM = 80.0, 720.0
LEADING = 12.0
SIZE = 9.5


class Section(NamedTuple):
    """A heading and its paragraphs."""

    heading: str
    paragraphs: Sequence[str]


TITLE = "Night ferries and the sleep of harbour towns"
ABSTRACT = (
    "Ferries that leave after midnight wake people who live near the pier. We recorded noise and sleep in two "
    "invented towns for one summer. Moving the departure by forty minutes halved the number of awakenings."
)
BODY = (
    "Harbour towns live with the timetable of their ferries. The horn, the ramp and the lorries are heard far inland, "
    "and most of them after midnight. Few of these towns have ever measured what that costs in sleep."
)
SECTIONS = (
    Section("1 Introduction", [BODY, "We asked whether a later departure would help."]),
    Section("2 Methods", [
        "Microphones stood on twelve roofs in each town. Volunteers wore a watch that notes when they wake. " + BODY,
        "Nights with storms were left out before anything was counted.",
    ]),
    Section("2.1 Timetables", ["Departures were moved by forty minutes in July. " + BODY]),
    Section("3 Results", [
        "Awakenings fell from 2.4 to 1.1 a night in the first town, and from 1.9 to 1.0 in the second. " + BODY,
        BODY,
    ]),
    Section("4 Discussion", [BODY + " " + BODY, BODY]),
)  # fmt: skip
REFERENCES = (
    "[1] Pier A, Quay B. Horns at night. J Sample Acoust. 2011;3:44-51. doi:10.5555/horn.2011.44",
    "[2] Lorry C. Ramps of steel. Port Example: Dock Press; 2015.",
    "[3] Watch D, Sleeper E. Awakenings counted. Sample Sleep. 2019;12:1-9. PMID: 99000003",
)


def ferries() -> bytes:
    """The sample."""
    return two_columns(
        TITLE,
        authors="Anna Pier, Ben Quay",
        doi="10.5555/stateward.ferry.3",
        abstract=ABSTRACT,
        sections=SECTIONS,
        references=REFERENCES,
    )


def two_columns(
    title: str,
    *,
    authors: str,
    doi: str,
    abstract: str,
    sections: Iterable[Section],
    references: Iterable[str],
) -> bytes:
    """A paper as a PDF."""
    setter = _Setter(doi)
    setter.head(title, authors)
    setter.heading("Abstract")
    setter.paragraph(abstract)
    for section in sections:
        setter.heading(section.heading)
        for paragraph in section.paragraphs:
            setter.paragraph(paragraph)
    setter.heading("References")
    for reference in references:
        setter.paragraph(reference, indent=0)
    return setter.paper.pdf()


class _Setter:
    """Sets lines into columns and begins pages."""

    def __init__(self, doi: str) -> None:
        self.paper = Paper(LETTER)
        self._doi = doi
        self._column = 0
        self._y = TOP
        self._top = TOP
        self._page()

    def _page(self) -> None:
        self.paper.page()
        self._top = self._y = TOP
        self._column = 0
        self.paper.text(60, 50, "Journal of Invented Harbours 7 (2023)", size=8)
        self.paper.text(300, 760, str(self.paper.pages), size=8)

    def head(self, title: str, authors: str) -> None:
        """Title and authors over both columns."""
        for line in _lines(title, 480, 18):
            self.paper.text(60, self._y, line, size=18)
            self._y += 22
        self.paper.text(60, self._y, authors, size=10)
        self.paper.text(60, self._y + 14, f"https://doi.org/{self._doi}", size=8)
        self._y += 40
        self._top = self._y

    def heading(self, text: str) -> None:
        """A heading, larger than the text."""
        if self._y > BOTTOM - 4 * LEADING:
            self._turn()
        self._y += 10
        self.paper.text(LEFTS[self._column], self._y, text, size=12)
        self._y += 16

    def paragraph(self, text: str, *, indent: float = 12) -> None:
        """A paragraph whose first line is indented."""
        for number, line in enumerate(_lines(text, COLUMN, SIZE, first=COLUMN - indent)):
            if self._y > BOTTOM:
                self._turn()
            self.paper.text(
                LEFTS[self._column] + (0 if number else indent), self._y, line, size=SIZE
            )
            self._y += LEADING

    def _turn(self) -> None:
        """Go on in the next column or on the next page."""
        if self._column == 0:
            self._column, self._y = 1, self._top
        else:
            self._page()


def _lines(text: str, wide: float, size: float, *, first: float | None = None) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in text.split():
        space = first if first is not None and not lines else wide
        if line and width(f"{line} {word}", size) > space:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(ferries())
