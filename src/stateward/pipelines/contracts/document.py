"""The text of a contract, page by page, with the place of every character.

Offsets count characters of `Page.text`, in which lines end with a newline and a wide gap within a line (between two
cells of a table) is a tab. Boxes are in points from the top left of the page as a person sees it. A DOCX or a text
has no boxes: there a place is a page and offsets alone.

Nothing here knows what a contract says.
"""

from bisect import bisect_right

import msgspec

Box = tuple[float, float, float, float]  # left, top, right, bottom


class Line(msgspec.Struct, frozen=True):
    """One line: where it stands in the text of its page, and on the page.

    `xs` holds the left edge of every character and, last, the right edge of the line; it is empty where there are
    no boxes. Edges of words are exact, edges within a word are spread evenly.
    """

    start: int
    end: int
    box: Box | None = None
    xs: list[float] = []


class Page(msgspec.Struct, frozen=True):
    """One page: its text, and its lines in the order in which they are read."""

    number: int  # from 1
    width: float
    height: float
    text: str
    lines: list[Line] = []

    def line_at(self, offset: int) -> int:
        """The index of the line in which a character stands."""
        return max(0, bisect_right(self.lines, offset, key=lambda line: line.start) - 1)


class Document(msgspec.Struct, frozen=True):
    """A whole contract; `format` is "pdf", "docx" or "text"."""

    format: str
    pages: list[Page]

    @property
    def text(self) -> str:
        """Everything, pages parted by a newline."""
        return "\n".join(page.text for page in self.pages)


class Place(msgspec.Struct, frozen=True):
    """Where a value stands; the box is None where there are no boxes."""

    page: int
    start: int
    end: int
    box: Box | None = None


def place(document: Document, page: int, start: int, end: int) -> Place:
    """The place of the characters from `start` to `end` of a page, with the box around all of them."""
    found = document.pages[page - 1]
    lines = found.lines[found.line_at(start) : found.line_at(max(start, end - 1)) + 1]
    boxes = [_part(line, start, end) for line in lines]
    return Place(page, start, end, _around([box for box in boxes if box is not None]))


def _part(line: Line, start: int, end: int) -> Box | None:
    """The box of that part of a line which lies between two offsets."""
    first, last = max(start, line.start) - line.start, min(end, line.end) - line.start
    if line.box is None or not line.xs or first >= last:
        return None
    last = min(last, len(line.xs) - 1)
    return line.xs[first], line.box[1], line.xs[last], line.box[3]


def _around(boxes: list[Box]) -> Box | None:
    if not boxes:
        return None
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )
