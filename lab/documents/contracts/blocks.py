"""A document in blocks, and the three formats that it is written in: PDF, DOCX and text."""

import io
import textwrap
import zipfile
from collections.abc import Iterable
from typing import NamedTuple
from xml.sax.saxutils import escape

from lab.documents.statements.paper import Paper, width

LEFT, RIGHT, TOP, BOTTOM = 56.0, 540.0, 60.0, 790.0
STEP = 14.0
TEXT_WIDTH = 96


class Heading(NamedTuple):
    """A line that stands out."""

    text: str


class Lines(NamedTuple):
    """Lines as they are, such as an address."""

    lines: list[str]


class Prose(NamedTuple):
    """A paragraph, broken where the line is full."""

    text: str


class Pairs(NamedTuple):
    """Labels and values: `colon`, `gap` (a form in two columns), `dots` or `under` (the value beneath)."""

    pairs: list[tuple[str, str]]
    manner: str = "colon"


class Table(NamedTuple):
    """Rows of cells, the first of them the head."""

    rows: list[list[str]]
    has_head: bool = True


class Columns(NamedTuple):
    """Two lists of pairs side by side."""

    left: list[tuple[str, str]]
    right: list[tuple[str, str]]


class Break(NamedTuple):
    """A new page."""


Block = Heading | Lines | Prose | Pairs | Table | Columns | Break


def pdf(blocks: Iterable[Block]) -> bytes:
    """The blocks as a PDF."""
    press = _Press()
    for block in blocks:
        press.set(block)
    return press.paper.pdf()


class _Press:
    """Sets blocks on pages, from top to bottom."""

    def __init__(self) -> None:
        self.paper = Paper()
        self.paper.page()
        self.y = TOP

    def set(self, block: Block) -> None:
        match block:
            case Break():
                self._page()
            case Heading(text):
                self._ensure_space(2 * STEP)
                self.y += STEP * 0.6
                self._line([(LEFT, text)], size=12)
            case Lines(lines):
                for line in lines:
                    self._line([(LEFT, line)])
            case Prose(text):
                for line in self._broken(text, RIGHT - LEFT):
                    self._line([(LEFT, line)])
            case Pairs(pairs, manner):
                self._pairs(pairs, manner)
            case Table(rows, _):
                self._table(rows)
            case Columns(left, right):
                self._columns(left, right)
        self.y += STEP * 0.7

    def _pairs(self, pairs: list[tuple[str, str]], manner: str) -> None:
        for label, value in pairs:
            if manner == "under":
                self._line([(LEFT, label)], size=7)
                self._line([(LEFT, value)])
            elif manner == "gap":
                self._line([(LEFT, label), (LEFT + 210, value)])
            elif manner == "dots":
                dots = "." * max(4, int((230 - width(label, 9)) / width(".", 9)))
                self._line([(LEFT, f"{label} {dots} {value}")])
            else:
                self._line([(LEFT, f"{label}: {value}")])

    def _table(self, rows: list[list[str]]) -> None:
        count = max(len(row) for row in rows)
        widths = [
            max(width(row[at], 9) if at < len(row) else 0 for row in rows) + 24
            for at in range(count)
        ]
        shrink = min(1.0, (RIGHT - LEFT) / sum(widths))
        for row in rows:
            x, cells = LEFT, []
            for at, cell in enumerate(row):
                cells.append((x, cell))
                x += widths[at] * shrink
            self._line(cells)

    def _columns(self, left: list[tuple[str, str]], right: list[tuple[str, str]]) -> None:
        for at in range(max(len(left), len(right))):
            cells = [
                (x, f"{side[at][0]}: {side[at][1]}")
                for x, side in ((LEFT, left), (LEFT + 260, right))
                if at < len(side)
            ]
            self._line(cells, size=8)

    def _line(self, cells: list[tuple[float, str]], *, size: float = 9) -> None:
        self._ensure_space(STEP)
        for x, text in cells:
            self.paper.text(x, self.y, text, size=size)
        self.y += STEP

    def _ensure_space(self, height: float) -> None:
        if self.y + height > BOTTOM:
            self._page()

    def _page(self) -> None:
        self.paper.page()
        self.y = TOP

    def _broken(self, text: str, width_max: float) -> list[str]:
        lines, line = [], ""
        for word in text.split(" "):
            if line and width(f"{line} {word}", 9) > width_max:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip(" ")
        return [*lines, line]


def plain(blocks: Iterable[Block]) -> bytes:
    """The blocks as text."""
    out: list[str] = []
    for block in blocks:
        match block:
            case Break():
                out.append("\f")
            case Heading(text):
                out += [text, "=" * len(text), ""]
            case Lines(lines):
                out += [*lines, ""]
            case Prose(text):
                out += [*textwrap.wrap(text, TEXT_WIDTH), ""]
            case Pairs(pairs, manner):
                out += [*_plain_pairs(pairs, manner), ""]
            case Table(rows, _):
                out += [*_plain_table(rows), ""]
            case Columns(left, right):
                out += [*(f"{label}: {value}" for label, value in (*left, *right)), ""]
    return "\n".join(out).encode()


def _plain_pairs(pairs: list[tuple[str, str]], manner: str) -> list[str]:
    wide = max(len(label) for label, _ in pairs) + 4
    if manner == "under":
        return [line for label, value in pairs for line in (label, value)]
    if manner == "gap":
        return [f"{label:<{wide}}{value}" for label, value in pairs]
    if manner == "dots":
        return [f"{label} {'.' * (wide - len(label) + 4)} {value}" for label, value in pairs]
    return [f"{label}: {value}" for label, value in pairs]


def _plain_table(rows: list[list[str]]) -> list[str]:
    count = max(len(row) for row in rows)
    widths = [max(len(row[at]) if at < len(row) else 0 for row in rows) for at in range(count)]
    return [" | ".join(f"{cell:<{widths[at]}}" for at, cell in enumerate(row)) for row in rows]


def docx(blocks: Iterable[Block]) -> bytes:
    """The blocks as a DOCX, tables as tables."""
    body: list[str] = []
    for block in blocks:
        match block:
            case Break():
                body.append('<w:p><w:r><w:br w:type="page"/></w:r></w:p>')
            case Heading(text) | Prose(text):
                body.append(_paragraph(text))
            case Lines(lines):
                body += [_paragraph(line) for line in lines]
            case Pairs(pairs, manner):
                if manner == "gap":
                    body.append(_docx_table([[label, value] for label, value in pairs]))
                else:
                    body += [_paragraph(line) for line in _plain_pairs(pairs, manner)]
            case Table(rows, _):
                body.append(_docx_table(rows))
            case Columns(left, right):
                rows = []
                for at in range(max(len(left), len(right))):
                    one = left[at] if at < len(left) else ("", "")
                    two = right[at] if at < len(right) else ("", "")
                    rows.append([*one, *two])
                body.append(_docx_table(rows))
    return _zipped("".join(body))


def _paragraph(text: str) -> str:
    return f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def _docx_table(rows: list[list[str]]) -> str:
    made = "".join(
        "<w:tr>" + "".join(f"<w:tc>{_paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in rows
    )
    return f"<w:tbl>{made}</w:tbl>{_paragraph('')}"


def _zipped(body: str) -> bytes:
    space = "http://schemas.openxmlformats.org"
    parts = {
        "[Content_Types].xml": f'<?xml version="1.0"?><Types xmlns="{space}/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<?xml version="1.0"?><Relationships xmlns="{space}/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{space}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="{space}/wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>',
    }  # fmt: skip
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(zipfile.ZipInfo(name, (2025, 1, 1, 0, 0, 0)), text)
    return out.getvalue()
