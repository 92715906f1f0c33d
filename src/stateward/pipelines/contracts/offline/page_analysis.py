"""What the rules find on every page: cells, values, labels and names, and where the small print starts."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from stateward.pipelines.contracts.candidates import ValueCandidate, find_candidates, repair_digits
from stateward.pipelines.contracts.offline.grid import Grid, GridCell
from stateward.pipelines.contracts.offline.labels import LabelMention, damaged_words, mentions
from stateward.pipelines.contracts.offline.linking import LabelledPage, label_page
from stateward.pipelines.contracts.providers import ProviderIndex, without_legal_form
from stateward.pipelines.contracts.rules import Vertical
from stateward.pipelines.contracts.words import (
    PhraseHit,
    Phrases,
    PhraseToken,
    tokens,
)
from stateward.pipelines.kit.documents import TextDocument

PAGES_MAX = 60
CHARS_MAX = 200_000
HEADING_CHARS_MAX = 90
TITLE_ROWS = 3  # of a document: a title may name its terms and mean the whole document

_TERMS = re.compile(
    r"^\s*(?:\W{0,3}|[IVX]+\.\s|\d+\.?\s)?"
    r"(?:(?:auszug )?aus (?:den|unseren|unsern) |unsere |die |es gelten |our |extracts? from (?:the|our) )?"
    r"(?:allgemeine\w*\s+(?:geschäfts|vertrags|versicherungs|liefer|lieferungs|strom|gas|bedingung)\w*|"
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
# `BS1 5TR`, `W1A 1AA`: a British postcode mixes letters and digits, and no OCR did that.
_POSTCODE = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]?[ \u00a0]\d[A-Z]{2}\b")
_SPLIT = re.compile(r"(?<=[^\W\d_]{2})  (?=[^\W\d_])")  # not `B  Tarif`, a heading
_WORDS = re.compile(r"[^\W\d_]{2,}")
_VALUE = re.compile(r"\d|:\s*\S")


# The heading of a block about the contract that this one replaces, with another company or on other terms.
_CONTRACT_WORDS = (
    r"(?i:\w*(?:anbieter|lieferant|versorger|versicherer|vertrag|versicherung|tarif|vertragspartner)\w*|"
    r"supplier|provider|insurer|contract|policy|tariff|plan)\b"
)
_PREVIOUS = re.compile(
    r"\b(?i:bisherig\w*|vorherig\w*|früher\w*|vor(?:versicher|versorg|anbiet)\w*|previous)\b"
    rf"(?:\s+\w+){{0,2}}?\s*{_CONTRACT_WORDS}|\b(?i:vorversicher|vorversorg|voranbieter)\w*"
)
# These words are in the names of companies as well: the Alte Leipziger, Old Mutual.
_OLD = re.compile(
    rf"\b(?i:alte[nrsm]?|former|prior|old)\b(?:\s+[^\W\d_A-ZÄÖÜ]\w*){{0,2}}?\s*{_CONTRACT_WORDS}"
)
PREVIOUS = "!previous"


class AnalyzedPage(NamedTuple):
    """One page with everything that was found on it."""

    number: int
    text: str
    labelled: LabelledPage
    names: list[PhraseHit[str]]
    phrases: list[PhraseHit[tuple[str, str]]]
    rivals: list[PhraseHit[str]]
    words: list[PhraseToken]
    terms_from: int  # offset where the small print starts

    @property
    def grid(self) -> Grid:
        """Its cells."""
        return self.labelled.grid

    @property
    def candidates(self) -> list[ValueCandidate]:
        """Its values."""
        return self.labelled.candidates

    @property
    def mentions(self) -> list[LabelMention]:
        """Its labels."""
        return self.labelled.mentions

    def is_small_print(self, offset: int) -> bool:
        """Whether a character is in the general terms."""
        return offset >= self.terms_from

    def cell_text(self, offset: int) -> str:
        """The text of the cell around a character."""
        cell = self.grid.cell_at(offset)
        return self.grid.words(cell) if cell else ""

    def cell(self, offset: int) -> GridCell | None:
        """The cell around a character."""
        return self.grid.cell_at(offset)

    def is_labelled(self, offset: int, field: str) -> bool:
        """Whether the row of a value has a label of that field itself."""
        cell = self.cell(offset)
        if cell is None:
            return False
        return any(
            each.start <= mention.start < each.end
            for each in self.grid.rows[cell.row]
            for mention in self.mentions
            if any(one.what == field for one in mention.meanings)
        )


class ContractReading(NamedTuple):
    """All pages, and what holds for the whole document."""

    pages: list[AnalyzedPage]
    language: str
    noise: float  # share of words that OCR seems to have damaged


class Finders(NamedTuple):
    """What is searched for besides labels."""

    providers: ProviderIndex
    phrases: Phrases[tuple[str, str]]
    rivals: Phrases[str]


def analyze(document: TextDocument, vertical: Vertical, finders: Finders) -> ContractReading:
    """Find values, labels and names on the first pages of a document."""
    whole = document.text[:CHARS_MAX]
    language = "de" if len(_GERMAN.findall(whole)) >= len(_ENGLISH.findall(whole)) else "en"
    decimal = _decimal(whole, language)
    order, is_sure = _order(whole)
    pages: list[AnalyzedPage] = []
    is_in_terms = False
    for page in document.pages[:PAGES_MAX]:
        grid = Grid(page)
        words = tokens(page.text)
        names = finders.providers.mentions(page.text, words)
        begin = 0 if is_in_terms else _terms_from(grid, rows_min=0 if pages else TITLE_ROWS)
        is_in_terms = begin < len(page.text)
        analyzed = AnalyzedPage(
            number=page.number,
            text=page.text,
            labelled=label_page(
                grid,
                _without_previous(mentions(vertical, words), grid, names),
                find_candidates(page.text, decimal=decimal, order=order, is_order_sure=is_sure),
            ),
            names=names,
            phrases=finders.phrases.find(words),
            rivals=finders.rivals.find(words),
            words=words,
            terms_from=begin,
        )
        pages.append(analyzed)
    damaged = sum(damaged_words(vertical, page.text, page.words) for page in pages)
    return ContractReading(pages, language, _noise(whole, pages, damaged))


def _without_previous(
    found: list[LabelMention], grid: Grid, names: list[PhraseHit[str]]
) -> list[LabelMention]:
    """Labels, of which those in a block about the previous contract label something else."""
    blocks = list(_previous_blocks(grid, names))
    if not blocks:
        return found
    return [
        each._replace(meanings=tuple(one._replace(what=PREVIOUS) for one in each.meanings))
        if any(start <= each.start < end for start, end in blocks)
        else each
        for each in found
    ]


def _previous_blocks(grid: Grid, names: list[PhraseHit[str]]) -> Iterator[tuple[int, int]]:
    """From a heading about the previous contract to the last row of cells, or of labels with values, below it."""
    for at, row in enumerate(grid.rows):
        words = grid.words(row[0])
        is_short = len(row) == 1 and len(words) <= HEADING_CHARS_MAX and not words.endswith(".")
        if not is_short or _VALUE.search(words) or not _is_of_previous(row[0], words, names):
            continue
        last = at
        while last + 1 < len(grid.rows) and (
            len(below := grid.rows[last + 1]) > 1 or ":" in grid.words(below[0])
        ):
            last += 1
        if last > at:
            yield row[0].end, grid.rows[last][-1].end


def _is_of_previous(cell: GridCell, words: str, names: list[PhraseHit[str]]) -> bool:
    """Whether a heading speaks of the previous contract; one with the name of a company may be a letterhead."""
    if _PREVIOUS.search(words):
        return True
    is_named = any(cell.start <= name.start < cell.end for name in names)
    return bool(_OLD.search(words)) and not is_named and without_legal_form(words) == words


def _terms_from(grid: Grid, *, rows_min: int) -> int:
    """The offset of a heading of general terms; the end of the page if there is none."""
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
    """The order of dates with slashes, and whether they show it: day first, unless more are valid only month first."""
    pairs = [(int(first), int(second)) for first, second in _SLASHED.findall(repair_digits(text))]
    month_first = sum(1 for first, second in pairs if second > 12 >= first)
    day_first = sum(1 for first, second in pairs if first > 12 >= second)
    return ("mdy" if month_first > day_first else "dmy"), bool(month_first) != bool(day_first)


def _noise(text: str, pages: list[AnalyzedPage], damaged: int) -> float:
    """The share of words that OCR damaged: mixed with digits, split, or repaired when they were read."""
    words = len(_WORDS.findall(text)) or 1
    damaged += len(_MIXED.findall(_POSTCODE.sub("", text))) + len(_SPLIT.findall(text))
    for page in pages:
        damaged += sum(
            candidate.is_repaired and not candidate.is_bare for candidate in page.candidates
        )
    # One word that is nearly that of a label may be another word.
    return damaged / words if damaged > 1 else 0.0
