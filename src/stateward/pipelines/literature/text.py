"""A plain text as a paper: paragraphs between empty lines, headings by their words, references at the end.

A plain text says of nothing what it is. The title is its first paragraph; authors are not guessed.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from stateward.pipelines.kit.documents import TextDocument
from stateward.pipelines.kit.reader import read_document
from stateward.pipelines.literature.paper import (
    Block,
    Kind,
    Metadata,
    Note,
    Paper,
    Place,
    Reference,
    squeeze,
)
from stateward.pipelines.literature.sections import (
    ABSTRACT,
    NAMED,
    REFERENCES,
    begins_entry,
    entry_label,
    follows,
    heading_label,
    heading_level,
    heading_text,
    ids_in,
    is_bold_heading,
    is_imprint,
    is_notice,
    is_titled,
    is_words,
    plain_heading,
    run_in_abstract,
    without_label,
)

FORMAT = "text"
HEAD_CHARS = 4000  # where a paper names its own identifiers; further on they are those of others
TITLE_CHARS_MAX = 400
IMPRINTS_MAX = 3  # paragraphs of a journal above the title
_SMALL_WORDS = "(?:to|of|the|in|by|and|on|at|for|as|or)"
_LINKING = re.compile(rf"{_SMALL_WORDS}-\w")
_LINKED = re.compile(rf"\w-{_SMALL_WORDS}-$")
PRINTED_MIN = 3  # numbered headings that are larger or bold


class Piece:
    """A paragraph or a line of its own, with its place; `is_large` if it is printed larger than the text around it.

    `is_bold` if it is all bold, in a text that is not, and stands alone. `is_cell` if something stands beside it, or on
    both sides of it, as cells of a table do. `lines` are its lines without raised marks.
    """

    __slots__ = ("is_bold", "is_cell", "is_large", "lines", "size", "text", "where")

    def __init__(
        self,
        text: str,
        where: Place,
        *,
        size: float = 0.0,
        is_large: bool = False,
        is_bold: bool = False,
        is_cell: bool = False,
        lines: Sequence[str] = (),
    ) -> None:
        self.text = text
        self.where = where
        self.size = size
        self.is_large = is_large
        self.is_bold = is_bold
        self.is_cell = is_cell
        self.lines = lines


def read_text(path: Path, *, pages_max: int, chars_max: int) -> Paper:
    """A text file."""
    document = read_document(path, pages_max=pages_max, chars_max=chars_max)
    pieces = [piece for page in document.pages for piece in _pieces(document, page.number)]
    return paper_of(pieces, format_=FORMAT, title=_title_below_imprint(pieces))


def _title_below_imprint(pieces: list[Piece]) -> Piece | None:
    """The first words that are no line of a journal, where a text begins with one; None where it does not."""
    first = pieces[: IMPRINTS_MAX + 1]
    if not first or not is_imprint(first[0].text):
        return None
    below = (each for each in first if not is_imprint(each.text))
    found = next(below, None)
    return None if found is None or _begins_text(found) else found


def _pieces(document: TextDocument, number: int) -> list[Piece]:
    """Paragraphs of a page: an empty line ends one, and so does a line that is a heading or begins a reference."""
    page = document.pages[number - 1]
    paged = number if len(document.pages) > 1 else None
    pieces: list[Piece] = []
    lines: list[tuple[str, int, int]] = []
    is_cited = False

    def close() -> None:
        if lines:
            text = join_lines([line for line, _, _ in lines])
            pieces.append(Piece(text, Place(lines[0][1], lines[-1][2], paged)))
            lines.clear()

    for each in page.lines:
        line = page.text[each.start : each.end]
        if not line.strip():
            close()
            continue
        is_heading = bool(heading_level(line, is_cited=is_cited))
        is_cited = plain_heading(line) in REFERENCES if is_heading else is_cited
        is_entry = is_cited and lines and not entry_label(lines[0][0])
        if (
            is_heading
            or entry_label(line.strip())
            or (is_entry and begins_entry(line.strip(), after=lines[-1][0]))
        ):
            close()
        lines.append((line.strip(), each.start, each.end))
        if is_heading:
            close()
    close()
    return pieces


def join_lines(lines: list[str]) -> str:
    """Lines as running text; a word that was broken at the end of a line is whole again."""
    text = ""
    for each in lines:
        line = squeeze(each)
        is_broken = (
            text.endswith("-") and len(text) > 1 and text[-2].isalpha() and line[:1].islower()
        )
        if is_broken:
            text = (text if _is_compound(text, line) else text[:-1]) + line
        else:
            text = f"{text} {line}" if text else line
    return text


def _is_compound(before: str, behind: str) -> bool:
    """Whether a line ends within a compound of several words, whose hyphens stay: state-of- / the-art."""
    last, first = before.rpartition(" ")[2], behind.partition(" ")[0]
    is_chain = "-" in last[:-1] and "-" in first
    return is_chain or bool(_LINKING.match(first) or _LINKED.search(last))


def paper_of(
    pieces: list[Piece], *, format_: str, abstract: Piece | None = None, title: Piece | None = None
) -> Paper:
    """Pieces in reading order as a paper; `abstract` is the one that no heading calls so.

    The title is the first of them, or the one that is named.
    """
    reading = _Reading(abstract, title, has_printed_numbers=_has_printed_numbers(pieces))
    text_at = _text_at(pieces)
    for place, piece in enumerate(pieces):
        reading.take(piece, is_front=place < text_at)
    head = "\n".join(piece.text for piece in pieces)[:HEAD_CHARS]
    own = head if reading.references_at is None else head[: reading.references_at]
    metadata = Metadata(
        format=format_,
        title=reading.title,
        ids=ids_in(own),
        abstract="\n".join(block.text for block in reading.blocks if block.kind == "abstract"),
    )
    return Paper(metadata=metadata, blocks=reading.blocks, notes=reading.notes)


def _text_at(pieces: list[Piece]) -> int:
    """Where the text begins, if the first page tells: what stands before, however large, are authors and addresses."""
    for place, piece in enumerate(pieces):
        if piece.where.page != 1 and place:
            break
        if place and _begins_text(piece):
            return place
    return 0


def _begins_text(piece: Piece) -> bool:
    return plain_heading(piece.text) in NAMED or run_in_abstract(piece.text) is not None


def _has_printed_numbers(pieces: list[Piece]) -> bool:
    """Whether the numbered headings of the highest level are set off by their print: they all are then."""
    printed = (each for each in pieces if heading_label(each.text).isdecimal())
    return sum(map(is_printed_heading, printed)) >= PRINTED_MIN


def is_printed_heading(piece: Piece) -> bool:
    """Whether a piece is a heading by its print: larger than the text, or bold and alone."""
    is_large = piece.is_large and len(piece.text) <= TITLE_CHARS_MAX and is_words(piece.text)
    return (is_large or (piece.is_bold and is_bold_heading(piece.text))) and is_titled(piece.text)


class _Reading:
    """Goes through the pieces and knows what comes next: title, abstract, sections, references."""

    def __init__(
        self, abstract: Piece | None, title: Piece | None, *, has_printed_numbers: bool
    ) -> None:
        self.title = ""
        self._title = title
        self._has_printed_numbers = has_printed_numbers
        self._abstract = abstract
        self.blocks: list[Block] = []
        self.notes: list[Note] = []
        self.references_at: int | None = None
        self._section: tuple[str, ...] = ()
        self._label = ""  # the last number of a heading
        self._chars = 0

    def take(self, piece: Piece, *, is_front: bool = False) -> None:
        text = piece.text
        is_cited = bool({plain_heading(each) for each in self._section} & REFERENCES)
        is_printed = is_printed_heading(piece) and not (is_cited and entry_label(text))
        is_item = not is_printed and self._is_item(piece)
        worded = 0 if is_item else heading_level(text, is_cited=is_cited)
        level = 0 if is_front else worded or int(is_printed)
        abstract = run_in_abstract(text)
        is_above = self._title is not None and piece is not self._title
        is_named = plain_heading(text) in ABSTRACT or abstract is not None
        if not (self.title or is_above or is_named):
            self.title = text[:TITLE_CHARS_MAX]
            self._add("title", text, piece)
        elif piece is self._abstract:
            block = Block(kind="abstract", text=text, section=("Abstract",), where=piece.where)
            self.blocks.append(block)
        elif abstract is not None and not level:
            self._section = ("Abstract",)
            self.blocks.append(
                Block(kind="abstract", text=abstract, section=self._section, where=piece.where)
            )
        elif level:
            self._heading(piece, level)
        else:
            self._body(piece)
        self._chars += len(text) + 1

    def _is_item(self, piece: Piece) -> bool:
        """Whether a number in usual print is that of an item of a list, or of a row of a table."""
        label = heading_label(piece.text)
        if (
            self._has_printed_numbers
            and label.isdecimal()
            and plain_heading(piece.text) not in NAMED
        ):
            return True
        return piece.is_cell and bool(label) and not follows(label, self._label)

    def _heading(self, piece: Piece, level: int) -> None:
        text = heading_text(piece.text)
        level = min(level, len(self._section) + 1)
        self.blocks.append(
            Block(
                kind="heading",
                text=text,
                section=self._section[: level - 1],
                level=level,
                label=heading_label(piece.text),
                where=piece.where,
            )
        )
        self._section = (*self._section[: level - 1], text)
        self._label = heading_label(piece.text) or self._label
        if plain_heading(text) in REFERENCES and self.references_at is None:
            self.references_at = self._chars

    def _body(self, piece: Piece) -> None:
        names = {plain_heading(each) for each in self._section}
        if names & REFERENCES:
            self._reference(piece)
        elif names & ABSTRACT and is_notice(piece.text):
            self._section = ()  # the abstract is over
            self._add("paragraph", piece.text, piece)
        elif names & ABSTRACT:
            self._add("abstract", piece.text, piece)
        else:
            self._add("paragraph", piece.text, piece)

    def _reference(self, piece: Piece) -> None:
        label, text = entry_label(piece.text), without_label(piece.text)
        reference = Reference(label=label, ids=ids_in(text))
        self.blocks.append(
            Block(
                kind="reference",
                text=text,
                section=self._section,
                label=label,
                reference=reference,
                where=piece.where,
            )
        )

    def _add(self, kind: Kind, text: str, piece: Piece) -> None:
        self.blocks.append(Block(kind=kind, text=text, section=self._section, where=piece.where))
