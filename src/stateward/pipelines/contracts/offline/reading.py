"""A document as the rules see it: cells, values, labels and names on every page, and where the small print begins."""

import re
from typing import NamedTuple

from stateward.pipelines.contracts.candidates import Spot, mended, spots
from stateward.pipelines.contracts.offline.grid import Cell, Grid
from stateward.pipelines.contracts.offline.labels import Mention, mentions, spoilt_words
from stateward.pipelines.contracts.offline.linking import Scene, scene
from stateward.pipelines.contracts.providers import Book
from stateward.pipelines.contracts.rules import Vertical
from stateward.pipelines.contracts.words import (
    Hit,
    Phrases,
    Token,
    tokens,
)
from stateward.pipelines.kit.documents import TextDocument, TextPage

PAGES_MAX = 60
CHARS_MAX = 200_000
HEADING_CHARS_MAX = 90
TITLE_ROWS = 3  # of a document: a title may speak of terms and mean all of it

_TERMS = re.compile(
    r"^\s*(?:\W{0,3}|[IVX]+\.\s|\d+\.?\s)?(?:auszug aus (?:den|unseren) |unsere |die |es gelten |"
    r"our )?(?:allgemeine\w*\s+(?:geschäfts|vertrags|versicherungs|liefer|lieferungs|strom|gas|bedingung)\w*|"
    r"agb\b|avb\b|geschäftsbedingungen|vertragsbedingungen|versicherungsbedingungen|ergänzende bedingungen|"
    r"(?:general |standard )?terms (?:and|&) conditions|general (?:terms|conditions)|small print|policy wording|"
    r"kleingedrucktes|"
    r"widerrufsbelehrung|datenschutz(?:hinweise|erklärung)|(?:important )?legal notice)",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    r"\b(?:der|die|das|und|mit|für|von|zum|Vertrag|Sie|Ihr|wird|bei|nicht|Kunde|Monat|Beginn|Ende)\b"
)
_ENGLISH = re.compile(
    r"\b(?:the|and|with|for|from|of|contract|you|your|is|not|customer|month|start|end|policy)\b"
)
_COMMA = re.compile(r"\d,\d{1,2}(?!\d)")
_POINT = re.compile(r"(?<![\d.])\d+\.\d{1,2}(?![\d.])")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(?:19|20)?\d\d(?!\d)")
_MIXED = re.compile(r"\b[^\W\d_]+[01568|][^\W\d_]+\b|(?:\b[^\W\d_]\s){3,}|\b[^\W\d_]{2,}[01|]\b")
_TORN = re.compile(r"(?<=[^\W\d_])  (?=[^\W\d_])")
_WORDS = re.compile(r"[^\W\d_]{2,}")


class Leaf(NamedTuple):
    """One page, read."""

    page: TextPage
    scene: Scene
    names: list[Hit[str]]
    phrases: list[Hit[tuple[str, str]]]
    rivals: list[Hit[str]]
    words: list[Token]
    terms_from: int  # the small print begins here

    @property
    def grid(self) -> Grid:
        """Its cells."""
        return self.scene.grid

    @property
    def spots(self) -> list[Spot]:
        """Its values."""
        return self.scene.spots

    @property
    def mentions(self) -> list[Mention]:
        """Its labels."""
        return self.scene.mentions

    def is_small_print(self, offset: int) -> bool:
        """Whether a character stands in the general terms."""
        return offset >= self.terms_from

    def cell_text(self, offset: int) -> str:
        """What the cell around a character says."""
        cell = self.grid.cell_at(offset)
        return self.grid.words(cell) if cell else ""

    def cell(self, offset: int) -> Cell | None:
        """The cell around a character."""
        return self.grid.cell_at(offset)


class Reading(NamedTuple):
    """All pages, and what holds for the whole."""

    leaves: list[Leaf]
    language: str
    noise: float  # share of words that look as if a scanner had spoilt them


class Finders(NamedTuple):
    """What is looked for besides labels."""

    book: Book
    phrases: Phrases[tuple[str, str]]
    rivals: Phrases[str]


def read(document: TextDocument, vertical: Vertical, finders: Finders) -> Reading:
    """The whole document."""
    whole = document.text[:CHARS_MAX]
    language = "de" if len(_GERMAN.findall(whole)) >= len(_ENGLISH.findall(whole)) else "en"
    decimal = _decimal(whole, language)
    order, is_sure = _order(whole)
    leaves: list[Leaf] = []
    is_in_terms = False
    for page in document.pages[:PAGES_MAX]:
        grid = Grid(page)
        words = tokens(page.text)
        begin = 0 if is_in_terms else _terms_from(grid, rows_min=0 if leaves else TITLE_ROWS)
        is_in_terms = begin < len(page.text)
        leaf = Leaf(
            page=page,
            scene=scene(
                grid,
                mentions(vertical, words),
                spots(page.text, decimal=decimal, order=order, is_order_sure=is_sure),
            ),
            names=finders.book.mentions(page.text, words),
            phrases=finders.phrases.find(words),
            rivals=finders.rivals.find(words),
            words=words,
            terms_from=begin,
        )
        leaves.append(leaf)
    spoilt = sum(spoilt_words(vertical, leaf.page.text, leaf.words) for leaf in leaves)
    return Reading(leaves, language, _noise(whole, leaves, spoilt))


def _terms_from(grid: Grid, *, rows_min: int) -> int:
    """Where a heading says that general terms follow; the end of the page if none does."""
    for row in grid.rows:
        words = grid.text[row[0].start : row[-1].end]
        is_heading = len(words) <= HEADING_CHARS_MAX and not words.rstrip().endswith((".", ","))
        if is_heading and len(row) == 1 and row[0].row >= rows_min and _TERMS.match(words):
            return row[0].start
    return len(grid.text)


def _decimal(text: str, language: str) -> str:
    commas, points = len(_COMMA.findall(text)), len(_POINT.findall(text))
    if commas == points:
        return "," if language == "de" else "."
    return "," if commas > points else "."


def _order(text: str) -> tuple[str, bool]:
    """Day first, unless a date with strokes can only be read month first; and whether any date tells."""
    pairs = [(int(first), int(second)) for first, second in _SLASHED.findall(mended(text))]
    month_first = sum(1 for first, second in pairs if second > 12 >= first)
    day_first = sum(1 for first, second in pairs if first > 12 >= second)
    return ("mdy" if month_first > day_first else "dmy"), bool(month_first) != bool(day_first)


def _noise(text: str, leaves: list[Leaf], spoilt: int) -> float:
    """The share of words that a scanner spoilt: mixed with digits, torn apart, or mended when they were read."""
    words = len(_WORDS.findall(text)) or 1
    spoilt += len(_MIXED.findall(text)) + len(_TORN.findall(text))
    for leaf in leaves:
        spoilt += sum(spot.is_mended and not spot.is_bare for spot in leaf.spots)
    return spoilt / words
