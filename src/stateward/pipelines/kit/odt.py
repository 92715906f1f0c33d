"""Text documents of OpenDocument (ODT): headers, paragraphs, tables, footers and notes, as a person reads them.

What a person does not see (hidden, white, tiny, comments) and what is struck through or deleted is no text; it is
told apart, so that a pipeline can say that it is there. A row of a table is a line, or several if its
cells hold several, with tabs between the cells.
"""

import zipfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from lxml import etree

from stateward.pipelines.kit.archives import (
    INFLATED_BYTES_MAX,
    MIB,
    check_sizes,
    check_unencrypted,
    named_type,
    open_archive,
    read_entry,
)
from stateward.pipelines.kit.documents import UnseenText
from stateward.pipelines.kit.odt_styles import Appearance, OdtStyles, attribute
from stateward.pipelines.kit.xml import local_name, parse_xml

PART_BYTES_MAX = 48 * MIB
MIMETYPE = "application/vnd.oasis.opendocument.text"
CONTENT, STYLES, META = "content.xml", "styles.xml", "meta.xml"
BLANKS_MAX = 200
COLUMNS_MAX = 200
PARAGRAPHS = frozenset({"p", "h"})
HEADERS = frozenset({"header", "header-left", "header-first"})
FOOTERS = frozenset({"footer", "footer-left", "footer-first"})
DESCRIPTIONS = frozenset({"title", "desc"})
DROPPED = frozenset({"tracked-changes", "note-citation", "sequence-decls", "forms"})


def is_odt(path: Path) -> bool:
    """Whether a zip is a text document of OpenDocument."""
    return named_type(path) == MIMETYPE


def read_odt(path: Path) -> tuple[str, UnseenText]:
    """The whole text, and what the file holds beside it."""
    with open_archive(path) as archive:
        check_sizes(archive.infolist(), bytes_max=INFLATED_BYTES_MAX)
        check_unencrypted(archive.infolist())
        names = archive.namelist()
        content = _tree(archive, CONTENT)
        styles = _tree(archive, STYLES) if STYLES in names else None
        meta = _tree(archive, META) if META in names else None
    trees = [each for each in (styles, content) if each is not None]
    story = _Story(OdtStyles(trees))
    lines = _distinct(story, styles, HEADERS)
    lines += story.lines(content, Appearance())
    lines += _distinct(story, styles, FOOTERS)
    lines += story.notes
    if meta is not None:
        story.aside.append(_all_text(meta))
    unseen = (story.hidden, story.struck, story.aside)
    return "\n".join(lines), UnseenText(*("\n".join(filter(None, each)) for each in unseen))


def _tree(archive: zipfile.ZipFile, name: str) -> etree._Element:
    return parse_xml(read_entry(archive, name, bytes_max=PART_BYTES_MAX), name=repr(name))


def _distinct(story: "_Story", styles: etree._Element | None, wanted: frozenset[str]) -> list[str]:
    """The lines of headers or footers, none of them twice: first, left and right pages repeat them."""
    lines: dict[str, None] = {}
    for element in styles.iter() if styles is not None else ():
        if local_name(element) in wanted and attribute(element, "display") != "false":
            lines |= dict.fromkeys(story.lines(element, Appearance()))
    return [line for line in lines if line.strip()]


class _Story:
    """Reads elements into lines, and collects what is no text of theirs."""

    def __init__(self, styles: OdtStyles) -> None:
        self._styles = styles
        self.hidden: list[str] = []
        self.struck: list[str] = []
        self.aside: list[str] = []
        self.notes: list[str] = []

    def lines(self, element: etree._Element, look: Appearance) -> list[str]:
        """The lines of all paragraphs and tables below an element."""
        lines: list[str] = []
        for child in element:
            name = local_name(child)
            if name in PARAGRAPHS:
                lines += self._paragraph(child, look)
            elif name == "table-row":
                lines += self._row(child, look)
            elif name == "tracked-changes":
                self.struck += [_all_text(each) for each in _deletions(child)]
            elif name and not self._is_left_out(child):
                lines += self.lines(child, self._styles.appearance(child, look))
        return lines

    def _row(self, row: etree._Element, look: Appearance) -> list[str]:
        if attribute(row, "visibility") in ("collapse", "filter"):
            self.hidden.append(_all_text(row))
            return []
        look = self._styles.appearance(row, look)
        cells: list[list[str]] = []
        for cell in row:
            if local_name(cell) not in ("table-cell", "covered-table-cell"):
                continue
            lines = self.lines(cell, self._styles.appearance(cell, look))
            repeated = attribute(cell, "number-columns-repeated")
            count = int(repeated) if repeated.isdecimal() else 1
            cells += [[line for line in lines if line.strip()] or [""]] * min(count, COLUMNS_MAX)
        return [
            "\t".join(part.replace("\n", " ") for part in level[:COLUMNS_MAX]).rstrip()
            for level in zip_longest(*cells, fillvalue="")
        ]

    def _paragraph(self, paragraph: etree._Element, look: Appearance) -> list[str]:
        """The lines of a paragraph, then those of the text boxes that are anchored in it."""
        if any(
            local_name(each) == "hidden-paragraph" and attribute(each, "is-hidden") != "false"
            for each in paragraph
        ):
            self.hidden.append(_all_text(paragraph))
            return []
        boxes: list[str] = []
        text = "".join(self._parts(paragraph, look, boxes))
        return [*text.split("\n"), *boxes]

    def _parts(
        self, element: etree._Element, around: Appearance, boxes: list[str]
    ) -> Iterator[str]:
        """The text of a paragraph or of a part of it, with its tabs, breaks and runs of blanks."""
        look = self._styles.appearance(element, around)
        yield self._visible_text(element.text, look)
        for child in element:
            name = local_name(child)
            if name == "tab":
                yield "\t"
            elif name == "line-break":
                yield "\n"
            elif name == "s":
                count = attribute(child, "c")
                yield " " * min(int(count) if count.isdecimal() else 1, BLANKS_MAX)
            elif name == "note":
                self.notes += self.lines(child, Appearance())
            elif name in ("frame", "custom-shape", "text-box"):
                boxes += self.lines(child, self._styles.appearance(child, look))
                self.aside += [_all_text(each) for each in child if _is_description(each)]
            elif name and not self._is_left_out(child):
                yield from self._parts(child, look, boxes)
            yield self._visible_text(child.tail, look)

    def _visible_text(self, text: str | None, look: Appearance) -> str:
        """A run of text, if a person sees it; else it is put where it belongs."""
        if not text:
            return ""
        why = look.unseen_reason
        if why:
            (self.struck if why == "struck" else self.hidden).append(" ".join(text.split()))
            return ""
        return text

    def _is_left_out(self, element: etree._Element) -> bool:
        """Whether an element is no text; what is hidden of it is kept apart."""
        name = local_name(element)
        if name == "annotation":
            notes = [_all_text(each) for each in element.iter() if local_name(each) in PARAGRAPHS]
            self.hidden += notes
            return True
        if name == "hidden-text" and attribute(element, "is-hidden") != "false":
            self.hidden += [attribute(element, "string-value"), _all_text(element)]
            return True
        if attribute(element, "display") == "none":  # a section, or the field that sets a variable
            self.hidden.append(_all_text(element))
            return True
        return name in DROPPED or _is_description(element)


def _deletions(changes: etree._Element) -> Iterator[etree._Element]:
    for element in changes.iter():
        if local_name(element) == "deletion":
            yield from (each for each in element if local_name(each) != "change-info")


def _is_description(element: etree._Element) -> bool:
    """Whether an element says what a picture shows, to those who do not see it."""
    return local_name(element) in DESCRIPTIONS and "svg" in str(element.tag)


def _all_text(element: etree._Element) -> str:
    return " ".join("".join(str(each) for each in element.itertext()).split())
