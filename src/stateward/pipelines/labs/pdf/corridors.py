"""Where columns begin that stand closer together than cells do elsewhere: by words below each other.

 4,88 mU/l      Between a number that is set flush right and its unit may be as little as two blanks.
12,10 mU/l      What shows that these are two columns is that several lines have a gap wider than a
 0,40 pmol/l    blank there, and that the words behind it all begin at one place.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import baseline_rows
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.pdf.cells import CELL_GAP

BLANKS_MIN = 1.5  # of the usual gap between two words, and not more than one blank may be set wider
BLANK_MIN = 0.24  # of the height: fonts for reading have no narrower one
SAME_PLACE = 0.8  # points
LINES_MIN = 3  # with a word that begins there behind a wider gap
LINES_NEAR = 12  # lines above or below are of the same table
_JOINING = frozenset(
    {"-", "–", "—", "−", "<", ">", "≤", "≥", "(", "[", "x", "×", "à", "a", "to", "bis"}
)

Place = tuple[int, float]  # the number of a row, and where a word of it begins


def with_cell_starts(words: Sequence[PdfWord]) -> list[PdfWord]:
    """The words of a page, those marked with which a column begins although its gap is a narrow one."""
    rows = [sorted(row, key=lambda word: word.x0) for row in baseline_rows(words)]
    blank = _usual_blank(rows)
    if not blank:
        return list(words)
    places = [
        (at, word.x0)
        for at, row in enumerate(rows)
        for last, word in pairwise(row)
        if _gap(last, word) > BLANKS_MIN * blank and not _are_one(last, word)
    ]
    return [word for at, row in enumerate(rows) for word in _starts_in_row(at, row, blank, places)]


def _usual_blank(rows: Sequence[Sequence[PdfWord]]) -> float:
    """The usual gap between two words of a cell, by their height; 0 where there is none."""
    gaps = sorted(
        gap for row in rows for pair in pairwise(row) if 0 < (gap := _gap(*pair)) <= CELL_GAP
    )
    if not gaps:
        return 0.0
    # Half of them may be between columns, and some between a word and the small number of a footnote.
    return max(gaps[len(gaps) // 4], BLANK_MIN)


def _gap(last: PdfWord, word: PdfWord) -> float:
    return (word.x0 - last.x1) / max(last.bottom - last.top, 1.0)


def _are_one(last: PdfWord, word: PdfWord) -> bool:
    """Whether two words are parts of a range or of a comparison, whose numbers may be set flush."""
    return last.text in _JOINING or word.text in _JOINING


def _starts_in_row(
    at: int, row: Sequence[PdfWord], blank: float, places: Sequence[Place]
) -> Iterator[PdfWord]:
    yield row[0]
    for last, word in pairwise(row):
        is_narrow = BLANKS_MIN * blank < _gap(last, word) <= CELL_GAP
        if is_narrow and not _are_one(last, word):
            near = {
                n for n, x in places if abs(n - at) <= LINES_NEAR and abs(x - word.x0) < SAME_PLACE
            }
            if len(near) >= LINES_MIN:
                yield replace(word, begins_cell=True)
                continue
        yield word
