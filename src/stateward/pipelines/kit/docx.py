"""The text of a DOCX as it reads when every tracked change is accepted.

Insertions stay, deletions go. Headers come first, footers and notes last, each once. A row of a table is a line (or
several, if its cells hold several), its cells separated by tabs, just as it would be printed. Page breaks are those
that the program which wrote the file has left in it.
"""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.archives import (
    INFLATED_BYTES_MAX,
    MIB,
    check_sizes,
    check_unencrypted,
    open_archive,
    read_entry,
)
from stateward.pipelines.kit.contrast import color_of, is_lost
from stateward.pipelines.kit.documents import UnseenText
from stateward.pipelines.kit.docx_numbers import ListNumbers
from stateward.pipelines.kit.docx_styles import (
    HALF_POINTS_MIN,
    DocxStyles,
)
from stateward.pipelines.kit.docx_tables import (
    COLUMNS_MAX,
    attribute,
    count_of,
    fill_of,
    ground_around,
)
from stateward.pipelines.kit.failures import CORRUPT_FILE
from stateward.pipelines.kit.xml import local_name, parse_xml

PART_BYTES_MAX = 48 * MIB
PARTS_MAX = 64  # headers, footers and notes
MAIN = "word/document.xml"
PAGE_BREAK = "\f"
Label: TypeAlias = Callable[[etree._Element], str]

# Names of elements without their namespace: a strict DOCX and a transitional one differ only there.
CONTAINERS = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "AlternateContent",
                        "Choice", "body", "footnote", "endnote"})  # fmt: skip
DROPPED = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "delInstrText", "pPr",
                     "rPr"})  # fmt: skip
# The colours that `highlight` calls by name.
HIGHLIGHTS = {
    "white": "ffffff", "yellow": "ffff00", "cyan": "00ffff", "green": "00ff00", "lightGray": "c0c0c0",
    "magenta": "ff00ff", "red": "ff0000", "blue": "0000ff", "black": "000000", "darkBlue": "000080",
    "darkCyan": "008080", "darkGreen": "008000", "darkMagenta": "800080", "darkRed": "800000",
    "darkYellow": "808000", "darkGray": "808080",
}  # fmt: skip
OFF = frozenset({"0", "false", "off", "none"})
CHARACTERS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}


def read_docx(path: Path, *, is_numbered: bool = False) -> str:
    """The whole text; pages are separated by form feeds.

    `is_numbered` writes the numbers of automatic lists before their paragraphs, as Word prints them.
    """
    with open_archive(path) as archive:
        check_sizes(archive.infolist(), bytes_max=INFLATED_BYTES_MAX)
        check_unencrypted(archive.infolist())
        names = archive.namelist()
        main = _main_part(archive, names)
        folder = main.rpartition("/")[0]
        headers = sorted(name for name in names if name.startswith(f"{folder}/header"))
        footers = sorted(name for name in names if name.startswith(f"{folder}/footer"))
        notes = [f"{folder}/{name}.xml" for name in ("footnotes", "endnotes")]
        styles = _styles(archive, names, folder)
        lines = _distinct_lines(archive, headers[:PARTS_MAX], styles)
        lines += _lines(
            styles.write_into(_tree(archive, main)),
            _labels(archive, names, folder) if is_numbered else None,
        )
        lines += _distinct_lines(archive, footers[:PARTS_MAX], styles)
        lines += _distinct_lines(archive, [name for name in notes if name in names], styles)
    return "\n".join(lines)


def unseen_docx(path: Path) -> UnseenText:
    """What a DOCX holds that a person does not read as its text."""
    hidden: list[str] = []
    struck: list[str] = []
    aside: list[str] = []
    with open_archive(path) as archive:
        names = archive.namelist()
        folder = _main_part(archive, names).rpartition("/")[0]
        parts = [name for name in names if name.startswith(f"{folder}/") and _is_story(name)]
        styles = _styles(archive, names, folder)
        for name in parts[:PARTS_MAX]:
            for element in styles.write_into(_tree(archive, name)).iter():
                if local_name(element) == "docPr":
                    aside += [attribute(element, "descr"), attribute(element, "title")]
                elif local_name(element) in ("del", "moveFrom"):
                    struck.append(_all_text(element))
                elif local_name(element) == "r":
                    why = _unseen_reason(element)
                    found = {"struck": struck, "hidden": hidden}.get(why)
                    if found is not None:
                        found.append(_all_text(element))
        comments = f"{folder}/comments.xml"
        if comments in names:
            hidden += [_all_text(each) for each in _tree(archive, comments)]
        # In this order: the same bytes give the same text, whatever the process hashes names to.
        for name in ("docProps/core.xml", "docProps/app.xml", "docProps/custom.xml"):
            if name in names:
                aside += [_all_text(each) for each in _tree(archive, name)]
    return UnseenText(*("\n".join(filter(None, each)) for each in (hidden, struck, aside)))


def _is_story(name: str) -> bool:
    """Whether a part of a DOCX holds text that is printed."""
    stories = ("document", "header", "footer", "footnotes", "endnotes")
    return name.endswith(".xml") and name.rpartition("/")[2].startswith(stories)


def _all_text(element: etree._Element) -> str:
    texts = (each.text or "" for each in element.iter() if isinstance(each.tag, str))
    return " ".join("".join(texts).split())


def is_docx(path: Path) -> bool:
    """Whether a zip contains a text document."""
    with open_archive(path) as archive:
        return any(name.startswith("word/") for name in archive.namelist())


def _main_part(archive: zipfile.ZipFile, names: Sequence[str]) -> str:
    if MAIN in names:
        return MAIN
    if "_rels/.rels" in names:
        for link in _tree(archive, "_rels/.rels"):
            if str(link.get("Type", "")).endswith("/officeDocument"):
                target = str(link.get("Target", "")).lstrip("/")
                if target in names:
                    return target
    raise FatalFailure(
        "the document is damaged (its main part is missing); save it again with the program that wrote it",
        code=CORRUPT_FILE,
    )


def _distinct_lines(
    archive: zipfile.ZipFile, names: Sequence[str], styles: DocxStyles
) -> list[str]:
    """The lines of several parts, none of them twice: first, odd and even pages repeat their headers."""
    lines: dict[str, None] = {}
    for name in names:
        tree = styles.write_into(_tree(archive, name))
        lines |= dict.fromkeys(line for line in _lines(tree) if line.strip())
    return list(lines)


def _tree(archive: zipfile.ZipFile, name: str) -> etree._Element:
    return parse_xml(read_entry(archive, name, bytes_max=PART_BYTES_MAX), name=repr(name))


def _styles(archive: zipfile.ZipFile, names: Sequence[str], folder: str) -> DocxStyles:
    part = f"{folder}/styles.xml"
    return DocxStyles(_tree(archive, part) if part in names else None)


def _labels(archive: zipfile.ZipFile, names: Sequence[str], folder: str) -> Label:
    numbering, styles = (
        _tree(archive, part) if (part := f"{folder}/{name}.xml") in names else None
        for name in ("numbering", "styles")
    )
    return ListNumbers(numbering, styles).label


def _lines(container: etree._Element, label: Label | None = None) -> list[str]:
    """The lines of all paragraphs and tables below an element; `label` is what stands before a paragraph."""
    lines: list[str] = []
    for child in container:
        name = local_name(child)
        if name == "p":
            lines += _paragraph(child, label)
        elif name == "tbl":
            lines += _table(child, label)
        elif name in CONTAINERS:
            lines += _lines(child, label)
    return lines


def _table(table: etree._Element, label: Label | None) -> list[str]:
    lines: list[str] = []
    for row in _children(table, "tr"):
        cells = list(_row(row, label))
        lines += [
            "\t".join(part.replace("\n", " ") for part in level).rstrip()
            for level in zip_longest(*cells, fillvalue="")
        ]
    return lines


def _row(row: etree._Element, label: Label | None) -> Iterator[list[str]]:
    """The lines of each column of a row. A cell over several columns is the first of them, and the others are empty."""
    columns = 0
    for _ in range(count_of(row, "trPr", "gridBefore", least=0)):
        columns += 1
        yield [""]
    for cell in _children(row, "tc"):
        lines = _lines(cell, label)
        yield [line for line in lines if line.strip()] or [""]
        span = count_of(cell, "tcPr", "gridSpan", least=1)
        columns += span
        for _ in range(span - 1 if columns <= COLUMNS_MAX else 0):
            yield [""]


def _children(element: etree._Element, wanted: str) -> Iterator[etree._Element]:
    """Children of a name, also those wrapped in a tracked change or a content control."""
    for child in element:
        name = local_name(child)
        if name == wanted:
            if not _is_deleted(child):
                yield child
        elif name in CONTAINERS:
            yield from _children(child, wanted)


def _is_deleted(row: etree._Element) -> bool:
    """Whether a tracked change deletes a whole row."""
    return any(
        local_name(mark) == "del" for part in row if local_name(part) == "trPr" for mark in part
    )


def _paragraph(paragraph: etree._Element, label: Label | None) -> list[str]:
    """The lines of a paragraph, then those of the text boxes that are anchored in it."""
    number = "" if label is None else label(paragraph)
    parts: list[str] = []
    boxes: list[str] = []
    walk = etree.iterwalk(paragraph, events=("start",))
    for _, element in walk:
        name = local_name(element)
        if name in DROPPED or (name == "r" and _is_unseen(element)):
            walk.skip_subtree()
        elif name == "txbxContent":
            boxes += _lines(element)  # a list in a text box is not counted with those around it
            walk.skip_subtree()
        elif name == "t":
            parts.append(element.text or "")
        elif name == "br":
            parts.append(PAGE_BREAK if attribute(element, "type") == "page" else "\n")
        elif name == "lastRenderedPageBreak":
            parts.append(PAGE_BREAK)
        elif name in CHARACTERS:
            parts.append(CHARACTERS[name])
    text = "".join(parts)
    return [f"{number} {text}" if number and text.strip() else text, *boxes]


def _is_unseen(run: etree._Element) -> bool:
    """Whether a person does not see a run of text, or sees it struck through: hidden, too light, or too small."""
    return bool(_unseen_reason(run))


def _unseen_reason(run: etree._Element) -> str:
    """Why a run is no text that counts: `struck`, `hidden`, or `webHidden` (page numbers of contents)."""
    for properties in run:
        if local_name(properties) != "rPr":
            continue
        for each in properties:
            name, value = local_name(each), attribute(each, "val").lower()
            if name in ("strike", "dstrike") and value not in OFF:
                return "struck"
            if name in ("vanish", "webHidden") and value not in OFF:
                return "hidden" if name == "vanish" else name
            if name == "color" and _is_lost(value, properties):
                return "hidden"
            if name == "sz" and value.isdigit() and int(value) < HALF_POINTS_MIN:
                return "hidden"
    return ""


def _is_lost(digits: str, properties: etree._Element) -> bool:
    """Whether letters of a colour cannot be read on what lies behind a run; automatic ones always can."""
    color = color_of(digits)
    if color is None:
        return False
    ground = color_of(_ground(properties))
    return ground is not None and is_lost(color, ground)


def _ground(properties: etree._Element) -> str:
    """What lies behind a run: a highlight, a shading of its own or of its paragraph, a cell around it, or paper."""
    shading = ""
    for each in properties:
        name = local_name(each)
        if name == "highlight" and attribute(each, "val") != "none":
            return HIGHLIGHTS.get(attribute(each, "val"), "")
        if name == "shd":
            shading = fill_of(each)
    return shading or ground_around(properties)
