"""Where columns begin that stand closer together than cells do elsewhere: by words below each other.

 4,88 mU/l      Between a number that is set flush right and its unit may be as little as two blanks.
12,10 mU/l      What shows that these are two columns is that several lines have a gap wider than a
 0,40 pmol/l    blank there, and that the words behind it all begin at one place, or those before it end at one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import CELL_GAP, baseline_rows
from stateward.pipelines.kit.pdf.pages import PdfWord

BLANKS_MIN = 1.5  # of the usual gap between two words, and not more than one blank may be set wider
BLANK_MIN = 0.24  # of the height: fonts for reading have no narrower one
SAME_PLACE = 0.8  # points
LINES_MIN = 3  # with a word that begins there behind a wider gap
LINES_NEAR = 12  # lines above or below are of the same table
_JOINING = frozenset(
    {"-", "–", "—", "−", "<", ">", "≤", "≥", "(", "[", "x", "×", "à", "a", "to", "bis"}
)

Place = tuple[int, float]  # the number of a row, and where a word of it begins or ends
Gap = tuple[float, int, PdfWord, PdfWord]  # how wide it is, in which row, and the words beside it


class _Edges:
    """Where the words of rows begin, or end, beside a gap that is wider than a blank."""

    def __init__(self) -> None:
        self._places: defaultdict[int, list[Place]] = defaultdict(list)

    def add(self, at: int, x: float) -> None:
        self._places[int(x)].append((at, x))

    def is_shared(self, at: int, x: float) -> bool:
        """Whether words of enough rows near one have this edge."""
        near = {
            n
            for point in (int(x) - 1, int(x), int(x) + 1)
            for n, other in self._places.get(point, ())
            if abs(n - at) <= LINES_NEAR and abs(other - x) < SAME_PLACE
        }
        return len(near) >= LINES_MIN


def with_cell_starts(words: Sequence[PdfWord]) -> list[PdfWord]:
    """The words of a page, those marked with which a column begins although its gap is a narrow one."""
    rows = [sorted(row, key=lambda word: word.x0) for row in baseline_rows(words)]
    starts = {id(word) for word in cell_starts(rows)}
    return [
        replace(word, begins_cell=True) if id(word) in starts else word
        for row in rows
        for word in row
    ]


def cell_starts(rows: Sequence[Sequence[PdfWord]], *, has_ends: bool = False) -> Iterator[PdfWord]:
    """The words with which a column begins although its gap is a narrow one.

    With `has_ends` also those behind words that end at one place, as figures do that are set flush right.
    """
    small, wider = _gaps_of(rows)
    if not small:
        return
    small.sort()
    # Half of them may be between columns, and some between a word and the small number of a footnote.
    least = BLANKS_MIN * max(small[len(small) // 4], BLANK_MIN)
    wider = [each for each in wider if each[0] > least and not _are_one(each[2], each[3])]
    narrow = [each for each in wider if each[0] <= CELL_GAP]
    if not narrow:
        return
    starts, ends = _Edges(), _Edges()
    for _, at, last, word in wider:
        starts.add(at, word.x0)
        if has_ends:
            ends.add(at, last.x1)
    for _, at, last, word in narrow:
        if starts.is_shared(at, word.x0) or ends.is_shared(at, last.x1):
            yield word


def _gaps_of(rows: Sequence[Sequence[PdfWord]]) -> tuple[list[float], list[Gap]]:
    """The gaps between words of a cell, by the height of the first, and those of all words that may be wider."""
    small: list[float] = []
    wider: list[Gap] = []
    for at, row in enumerate(rows):
        for last, word in pairwise(row):
            gap = (word.x0 - last.x1) / max(last.bottom - last.top, 1.0)
            if 0 < gap <= CELL_GAP:
                small.append(gap)
            if gap > BLANKS_MIN * BLANK_MIN:
                wider.append((gap, at, last, word))
    return small, wider


def _are_one(last: PdfWord, word: PdfWord) -> bool:
    """Whether two words are parts of a range or of a comparison, whose numbers may be set flush."""
    return last.text in _JOINING or word.text in _JOINING
