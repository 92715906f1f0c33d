"""The text of a document, page by page, with the place of every character.

Offsets count characters of `TextPage.text`, in which lines end with a newline and a wide gap within a line (between
two cells of a table) is a tab. Boxes are in points from the top left corner of the visible page. A DOCX or a plain text
has no boxes: there a place is a page and offsets alone.
"""

from bisect import bisect_right
from typing import NamedTuple

import msgspec

Box = tuple[float, float, float, float]  # left, top, right, bottom


class TextLine(msgspec.Struct, frozen=True):
    """One line: its offsets in the text of its page, and its box on the page.

    `xs` holds the left edge of every character and, last, the right edge of the line; it is empty where there are
    no boxes.
    """

    start: int
    end: int
    box: Box | None = None
    xs: list[float] = []


class TextPage(msgspec.Struct, frozen=True):
    """One page: its text, and its lines in reading order."""

    number: int  # from 1
    width: float
    height: float
    text: str
    lines: list[TextLine] = []
    is_picture: bool = False  # it shows an image and hardly any text
    is_scan: bool = False  # its text was read by OCR: letters may be mistaken for others
    turned: str = ""  # watermarks, stamps: what a person sees across the page, part of no line; each on one of its own
    unseen: str = ""  # what the file holds and a person does not see: white, tiny, hidden, remarks; never a source
    aside: str = ""  # texts behind pictures, properties of the file: no one reads them, and they are never a source
    struck: str = ""  # words with a line through them, or deleted in a tracked change

    def line_at(self, offset: int) -> int:
        """The index of the line that holds a character."""
        return max(0, bisect_right(self.lines, offset, key=lambda line: line.start) - 1)


class TextDocument(msgspec.Struct, frozen=True):
    """A whole document; `format` is "pdf", "image", "docx", "odt", "rtf", "eml" or "text"."""

    format: str
    pages: list[TextPage]
    damage: str = ""  # what may be missing, where a damaged file was read as far as that goes

    @property
    def text(self) -> str:
        """The text of all pages, joined by newlines."""
        return "\n".join(page.text for page in self.pages)


class UnseenText(NamedTuple):
    """What a file holds beside its text; the first page of its document keeps it."""

    hidden: str  # white or tiny text, hidden runs, comments
    struck: str  # through, or deleted in a tracked change
    aside: str  # texts behind pictures, properties of the document


class TextPlace(msgspec.Struct, frozen=True):
    """Where a value stands; the box is None where there are no boxes."""

    page: int
    start: int
    end: int
    box: Box | None = None


def split_lines(text: str) -> list[TextLine]:
    """The lines of a text without boxes."""
    lines: list[TextLine] = []
    at = 0
    for line in text.split("\n"):
        lines.append(TextLine(at, at + len(line)))
        at += len(line) + 1
    return lines


def locate(document: TextDocument, page: int, start: int, end: int) -> TextPlace:
    """The place of the characters from `start` to `end` of a page, with the box around all of them."""
    found = document.pages[page - 1]
    lines = found.lines[found.line_at(start) : found.line_at(max(start, end - 1)) + 1]
    boxes = [box for line in lines if (box := _part_box(line, start, end)) is not None]
    if not boxes:
        return TextPlace(page, start, end)
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return TextPlace(page, start, end, (min(lefts), min(tops), max(rights), max(bottoms)))


def _part_box(line: TextLine, start: int, end: int) -> Box | None:
    """The box of that part of a line which lies between two offsets."""
    first, last = max(start, line.start) - line.start, min(end, line.end) - line.start
    if line.box is None or not line.xs or first >= last:
        return None
    last = min(last, len(line.xs) - 1)
    return line.xs[first], line.box[1], line.xs[last], line.box[3]
