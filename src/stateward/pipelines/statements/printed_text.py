"""Statements that are printed as text, their columns aligned by blanks: each character is as wide as any other.

So a text is a page on which every word has a place, and is read as a PDF is. Only what has headings that are known, or
is proven by its balances, is taken for a statement: lines of prose have dates and amounts, too.
"""

import re
from collections.abc import Iterator, Sequence

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord
from stateward.pipelines.statements.model import StatementReading
from stateward.pipelines.statements.period_order import PrintedPeriod
from stateward.pipelines.statements.source import Source

# Points. Two blanks part cells, and one does not: it is narrower than `lines.CELL_GAP` of the height.
CHAR_WIDTH, LINE_HEIGHT, LETTER_HEIGHT = 6.0, 12.0, 10.0
CELL_GAP = "  "
TEXT_BYTES_MAX = 20_000_000
FORMAT = "text"

# Lines and boxes that are drawn with characters hold no words.
_RULES = re.compile(r"[|│║]|[-=_*+~#─━═┌┐└┘├┤┬┴┼]{3,}")
_WORD = re.compile(r"\S+")
# A day and an amount; among pages of prose hardly a line has two such figures.
_TWO_FIGURES = re.compile(r"[0-9][^0-9\n][^\n]*[0-9][.,]?[0-9]{2}")
ROWS_SHARE_MIN = 0.01  # of the lines


def read_printed(source: Source) -> StatementReading | None:
    """The statement of a text in aligned columns; None if it is none."""
    from stateward.pipelines.statements.pdf import reading_of_text

    if source.path.stat().st_size > TEXT_BYTES_MAX:
        return None
    whole = source.text()
    if len(_TWO_FIGURES.findall(whole)) <= ROWS_SHARE_MIN * whole.count("\n"):
        return None
    pages = [_page(number, text) for number, text in enumerate(whole.split("\f")) if text.strip()]
    try:
        reading = reading_of_text(pages, source.hints)
    except FatalFailure:
        return None
    if reading is None or not any(section.rows for section in reading.sections):
        return None
    reading.format = FORMAT
    reading.decisions[:0] = [*source.decisions, "the columns of the text are aligned by blanks"]
    return reading


def period_around(above: Sequence[Sequence[str]], below: Sequence[Sequence[str]]) -> PrintedPeriod:
    """The period that rows above or below a table tell, which are read as the lines of a page are.

    Offers, rates and cards are valid for a time, too: a line must call its days those of a statement, or name no other.
    """
    from stateward.pipelines.statements.pdf.facts import period_of, tells_period
    from stateward.pipelines.statements.pdf.tokens import StatementLine

    lines: list[StatementLine] = []
    for number, cells in enumerate([*above, *below], start=1):
        text = CELL_GAP.join(cell.strip() for cell in cells if cell.strip())
        is_told = tells_period(text, is_above=number <= len(above))
        if is_told and (words := list(_words(number, text))):
            lines.append(StatementLine(1, number, words[0].base, LETTER_HEIGHT, words, text))
    return period_of(lines)


def _page(number: int, text: str) -> PdfPage:
    lines = text.replace("\ufeff", "").expandtabs().splitlines()
    words = [word for at, line in enumerate(lines) for word in _words(at, line)]
    width = CHAR_WIDTH * max(map(len, lines))
    height = LINE_HEIGHT * (len(lines) + 1)
    return PdfPage(number + 1, width, height, words, chars=len(text), readable=len(text))


def _words(number: int, line: str) -> Iterator[PdfWord]:
    base = LINE_HEIGHT * (number + 1)
    for found in _WORD.finditer(_RULES.sub(lambda rule: " " * len(rule[0]), line)):
        x0, x1 = found.start() * CHAR_WIDTH, found.end() * CHAR_WIDTH
        yield PdfWord(found[0], x0, base - LETTER_HEIGHT, x1, base, base, number)
