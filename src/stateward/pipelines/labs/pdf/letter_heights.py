"""Words with the height of their font, on pages whose boxes reach only as far as the letters do.

Some programs embed fonts whose boxes are those of single letters: `Harn` is lower than `g/l` in the same size, and what
asks whether a line is in small print would be misled. The letters tell what share of the font they reach.
"""

from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import baseline_rows
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord

ABOVE, MIDDLE, BELOW = 0.72, 0.53, 0.21  # of the size: capitals and figures, small letters, tails
_TAILS = frozenset("gjpqyçþµ")
_SHORT = frozenset("acegmnopqrsuvwxyzµ")  # without a part above the middle
UNEVEN_MIN = 1.12  # the largest height of a row by its smallest
UNEVEN_SHARE = 0.4  # of the rows
ROWS_MIN = 6
NEAR = 0.18  # of the size: words of a row that differ by less are of one size


def with_font_heights(page: PdfPage) -> PdfPage:
    """The page as it is, or with heights by size where those of its rows are uneven."""
    rows = [row for row in baseline_rows(page.words) if len(row) > 1]
    uneven = sum(_is_uneven(row) for row in rows)
    if len(rows) < ROWS_MIN or uneven < UNEVEN_SHARE * len(rows):
        return page
    return replace(
        page, words=[word for row in baseline_rows(page.words) for word in _with_size(row)]
    )


def _is_uneven(row: Sequence[PdfWord]) -> bool:
    """Whether words of one row differ in height, and by their letters would be of one size."""
    sizes = [size for word in row if (size := _size(word))]
    heights = [height for word in row if (height := word.bottom - word.top) > 0]
    if not sizes or not heights:
        return False
    return max(heights) > UNEVEN_MIN * min(heights) and max(sizes) < UNEVEN_MIN * min(sizes)


def _size(word: PdfWord) -> float:
    """The size of the font by the letters of a word; 0 where they are signs."""
    # The box of a word is that of its first and last letter.
    letters = [letter for letter in (word.text[:1], word.text[-1:]) if letter.isalnum()]
    if not letters:
        return 0.0
    reach = MIDDLE if _SHORT.issuperset(letters) else ABOVE
    return (word.bottom - word.top) / (reach + BELOW * (not _TAILS.isdisjoint(letters)))


def _with_size(row: Sequence[PdfWord]) -> list[PdfWord]:
    sizes = [size for word in row if (size := _size(word))]
    if not sizes:
        return list(row)
    usual = median(sizes)
    found = []
    for word in row:
        size = _size(word) or usual
        size = usual if abs(size - usual) <= NEAR * usual else size
        found.append(replace(word, top=word.base - ABOVE * size, bottom=word.base + BELOW * size))
    return found
