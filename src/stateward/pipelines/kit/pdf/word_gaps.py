"""Where words end on a page that prints no blanks.

Browsers that print to a file leave blanks out, and so does TeX: what parts two words is only that the next glyph stands
further off. pdfium guesses a blank from the ink of both glyphs, and guesses wrong where each glyph is placed on a whole
pixel: `Mont hly Price`, `IhrVertragbeginnt`. There the place of a glyph is off by an amount that depends on the glyph
before it alone. Less that amount, the gaps between the glyphs of one font and size fall into two groups, those within
words and those between them, with nothing in between: that is looked for here. Where it is not clear, what pdfium
guessed stays. A page that prints its blanks is never touched.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from math import inf
from statistics import median
from typing import NamedTuple

BLANKS_ASKED_MAX = 24  # of a page, until it is taken for one that prints none
TOKENS_ASKED_MAX, GLYPHS_ASKED_MAX = 60, 6  # of a page, until its glyphs are taken to be exact
EXACT_MIN = 0.8  # of the gaps inside of words that are none: the others are kerned
PAIRS_MIN = 40  # of glyphs of one font and size: fewer show no two groups
LEVEL_MAX = 0.1  # points
# All of these are parts of the height of a glyph.
OVERLAP_MAX = 0.25  # glyphs that overlap more are drawn as one, such as `fi`
CELL_MIN = 0.45  # further off is another cell
EXACT_MAX = (
    0.01  # how far glyphs of one word may stand apart that stand where their font wants them
)
STEP = 0.02  # gaps that differ by less are the same
INSIDE_MAX = 0.1  # how far gaps inside of words may spread
WIDTH_MIN = 0.04  # how far both groups lie apart at least
OFF_SHARE_MIN = 0.2  # of the pairs with a letter that are off by an amount: the others end words
BLANK_MIN = 0.6  # of a usual blank: what is wider is one
PARTED_MIN = 3  # pairs that are parted, apart from cells
PARTED_MAX = 0.45  # of all pairs

_TOKEN = re.compile(r"[^\s\x00\uffff]+")
_BLANK = re.compile(r"(?<=\S) (?=\S)")

Box = tuple[float, float, float, float]  # left, bottom, right, top
Font = tuple[int, float]  # its address, and the height of its glyphs


class Token(NamedTuple):
    """Glyphs without a blank; `goes_on` if the last one is the start of the same word."""

    text: str
    start: int
    goes_on: bool = False


class _Pair(NamedTuple):
    """Two glyphs beside each other: the place of the second one, the letter of the first, and the gap between them."""

    place: int
    letter: str
    gap: float  # of the height
    is_start: bool  # whether pdfium puts a blank between them


def tokens(
    letters: str,
    *,
    box: Callable[[int], Box],
    font: Callable[[int], int],
    is_printed: Callable[[int], bool],
) -> Iterator[Token]:
    """The words of a page as runs of glyphs, in the order of the file."""
    found = [Token(each[0], each.start()) for each in _TOKEN.finditer(letters)]
    if _prints_blanks(letters, is_printed) or _is_exact(found, box):
        yield from found
        return
    moved = {
        pair.place: pair.is_start
        for pairs in _pairs(found, box, font).values()
        for pair in _wrongly_parted(pairs)
    }
    for token in found:
        end = token.start + len(token.text)
        cuts = [at for at in range(token.start + 1, end) if at in moved]
        for first, last in pairwise([token.start, *cuts, end]):
            yield Token(letters[first:last], first, goes_on=moved.get(first, False))


def _prints_blanks(letters: str, is_printed: Callable[[int], bool]) -> bool:
    blanks = islice(_BLANK.finditer(letters), BLANKS_ASKED_MAX)
    return any(is_printed(each.start()) for each in blanks)


def _is_exact(found: Sequence[Token], box: Callable[[int], Box]) -> bool:
    """Whether glyphs stand where their font wants them, as most programs print: then pdfium guesses right."""
    gaps = [
        (box(at)[0] - box(at - 1)[2]) / max(LEVEL_MAX, box(at)[3] - box(at)[1])
        for token in found[:TOKENS_ASKED_MAX]
        for at in range(token.start + 1, token.start + min(len(token.text), GLYPHS_ASKED_MAX))
    ]
    return sum(abs(gap) <= EXACT_MAX for gap in gaps) >= EXACT_MIN * len(gaps)


def _pairs(
    found: Iterable[Token], box: Callable[[int], Box], font: Callable[[int], int]
) -> dict[Font, list[_Pair]]:
    """All glyphs that stand level beside another one of their font and size."""
    pairs: defaultdict[Font, list[_Pair]] = defaultdict(list)
    last, last_letter, last_font, last_index = (0.0, 0.0, 0.0, 0.0), "", 0, -2
    is_one = False  # whether the last two glyphs are drawn as one
    for token in found:
        its_font = font(token.start)
        for index, letter in enumerate(token.text, start=token.start):
            left, bottom, _, top = here = box(index)
            height = top - bottom
            is_level = abs(last[1] - bottom) + abs(last[3] - top) < LEVEL_MAX
            is_beside = index - last_index <= 2 and its_font == last_font
            was_one, is_one = is_one, False
            if is_level and is_beside and height > 0:
                gap = (left - last[2]) / height
                is_one = gap < -OVERLAP_MAX
                if not (is_one or was_one):
                    pair = _Pair(index, last_letter, gap, index == token.start)
                    pairs[its_font, round(height, 1)].append(pair)
            last, last_letter, last_font, last_index = here, letter, its_font, index
    return pairs


def _wrongly_parted(pairs: Sequence[_Pair]) -> Iterator[_Pair]:
    """The pairs of one font and size that pdfium parts and that are one word, and the other way round."""
    near = [pair for pair in pairs if pair.gap <= CELL_MIN]
    if len(near) < PAIRS_MIN:
        return
    off = _offsets(near)
    limit = _limit([pair.gap - off[pair.letter] for pair in near]) if off else None
    if limit is None:
        return
    for pair in near:
        if pair.is_start != (pair.gap - off[pair.letter] > limit):
            yield pair


def _offsets(pairs: Sequence[_Pair]) -> dict[str, float]:
    """How far what follows a letter in its word is off, by letter; for signs, which end words, as for most letters.

    A letter with which words only end is followed by blanks alone: what is as wide as one is no offset. None at all if
    nothing shows how wide a blank is.
    """
    gaps: defaultdict[str, list[float]] = defaultdict(list)
    for pair in pairs:
        gaps[pair.letter].append(pair.gap)
    for listed in gaps.values():
        listed.sort()
    blanks = [
        blank for each, listed in gaps.items() if each.isalnum() and (blank := _blank(listed))
    ]
    if not blanks:
        return {}
    usual, blank = median(pair.gap for pair in pairs), median(blanks)
    off = {each: _least_common(listed) for each, listed in gaps.items() if each.isalnum()}
    return {
        each: off[each] if off.get(each, inf) - usual < BLANK_MIN * blank else usual
        for each in gaps
    }


def _blank(gaps: Sequence[float]) -> float:
    """How much wider the gaps behind a letter are that ends a word, by the widest step between them; 0 without one."""
    steps = [two - one for one, two in pairwise(gaps)]
    widest = max(steps, default=0.0)
    if widest < WIDTH_MIN:
        return 0.0
    above = steps.index(widest) + 1
    return median(gaps[above:]) - median(gaps[:above])


def _least_common(gaps: Sequence[float]) -> float:
    """The smallest gap that many of them have; of few gaps the smallest."""
    steps = Counter(round(gap / STEP) for gap in gaps)
    often = [step for step, count in steps.items() if count >= OFF_SHARE_MIN * len(gaps)]
    return min(often or steps) * STEP


def _limit(gaps: Iterable[float]) -> float | None:
    """The middle of the widest stretch without any gap that lies above gaps inside of words; None if none is clear."""
    ordered = sorted(gaps)
    stretches = [each for each in pairwise(ordered) if 0 <= each[0] <= INSIDE_MAX]
    first, last = max(stretches, key=lambda each: each[1] - each[0], default=(0.0, 0.0))
    limit = (first + last) / 2
    parted = sum(gap > limit for gap in ordered)
    is_clear = last - first >= WIDTH_MIN and PARTED_MIN <= parted <= PARTED_MAX * len(ordered)
    return limit if is_clear else None
