"""Words of a page as lines in reading order, whether a text layer or an image gave them.

A line is what stands on one baseline, so that a label and its amount are together however far apart they are printed;
where two columns of prose stand side by side, the left one is read first.
"""

from collections.abc import Callable, Sequence

import msgspec

from stateward.core.model import Fields
from stateward.pipelines.kit.documents import Box
from stateward.pipelines.kit.ocr import OcrPage
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.kit.pdf.text import reading_rows

SURE = 100


class PageWord(PdfWord, gc=False):
    """A word with its confidence, from 0 to 100, and its box on the page as it was submitted."""

    confidence: int = SURE
    given: Box | None = None


class ReadPage(msgspec.Struct):
    """One page as it was read; sizes and words in points, from the top left corner of the page turned upright."""

    number: int
    width: float
    height: float
    source: str  # "text" or "ocr"
    words: list[PageWord]
    turn: int = 0

    def rows(self) -> list[list[PdfWord]]:
        """Its lines in reading order."""
        return reading_rows(self.words, self.width)

    @property
    def confidence(self) -> int | None:
        """How sure its words are in the middle; None without words."""
        if not self.words:
            return None
        return sorted(word.confidence for word in self.words)[len(self.words) // 2]


def scanned_page(number: int, page: OcrPage, points: float, *, is_given: bool) -> ReadPage:
    """A page that was read from its image; `points` is how many points a pixel is.

    `is_given` says that places are those on the page as it was submitted, not on the page turned upright.
    """
    words = [
        PageWord(
            text=word.text,
            x0=word.box[0] * points,
            top=word.box[1] * points,
            x1=word.box[2] * points,
            bottom=word.box[3] * points,
            base=line.base * points,
            run=run,
            confidence=word.confidence,
            given=_scale(page.given_box(word.box), points) if page.turn and is_given else None,
        )
        for run, line in enumerate(page.lines)
        for word in line.words
    ]
    return ReadPage(number, page.width * points, page.height * points, "ocr", words, page.turn)


def text_page(number: int, width: float, height: float, words: Sequence[PdfWord]) -> ReadPage:
    """A page whose text layer was used."""
    own = [PageWord(*(getattr(word, name) for name in PdfWord.__struct_fields__)) for word in words]
    return ReadPage(number, width, height, "text", own)


def line_items(page: ReadPage, where_of: Callable[[Box], Fields], *, first: int) -> list[Fields]:
    """The lines of a page as items; `where_of` says where a box is."""
    return [
        _line_item(page, number, row, where_of)
        for number, row in enumerate(page.rows(), start=first)
    ]


def _line_item(
    page: ReadPage, number: int, row: Sequence[PdfWord], where_of: Callable[[Box], Fields]
) -> Fields:
    words: list[Fields] = [
        {"text": word.text, "box": list(word_box(word)), "confidence": _confidence(word)}
        for word in row
    ]
    lefts, tops, rights, bottoms = zip(*map(word_box, row), strict=True)
    box = (min(lefts), min(tops), max(rights), max(bottoms))
    return {
        "page": page.number,
        "line": number,
        "text": " ".join(word.text for word in row),
        "confidence": min(map(_confidence, row)),
        "source": page.source,
        "words": words,  # type: ignore[dict-item]
        "where": where_of(box),
    }


def word_box(word: PdfWord) -> Box:
    """The box of a word on the page as it was submitted."""
    given = getattr(word, "given", None) or (word.x0, word.top, word.x1, word.bottom)
    return tuple(round(side, 1) for side in given)  # type: ignore[return-value]


def _confidence(word: PdfWord) -> int:
    return getattr(word, "confidence", SURE)


def _scale(box: Box, points: float) -> Box:
    return box[0] * points, box[1] * points, box[2] * points, box[3] * points
