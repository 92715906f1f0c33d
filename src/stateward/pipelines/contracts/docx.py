"""The text of a DOCX: what a reader sees if every tracked change is accepted.

Insertions stay, deletions go. Headers come first, footers and notes last, each once. A row of a table is a line (or
several, if its cells hold several), its cells parted by tabs, just as it would stand on paper. Breaks of pages are
those that the program which wrote the file has left in it.

A DOCX is a zip of XML, and both can be made to explode: nothing is unpacked before its size is known, no part is
read beyond its limit, and a part that declares entities is refused, since no honest writer does that.
"""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path

from lxml import etree

from stateward.core.errors import FatalFailure

MIB = 1024 * 1024
ENTRIES_MAX = 10_000
INFLATED_MAX = 256 * MIB
PART_MAX = 48 * MIB
RATIO_MAX = 200
RATIO_FROM_BYTES = 10 * MIB
PARTS_MAX = 64  # headers, footers and notes
MAIN = "word/document.xml"
PAGE_BREAK = "\f"

# Names of elements without their namespace: a strict DOCX and a usual one differ only there.
CONTAINERS = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "AlternateContent",
                        "Choice", "body", "footnote", "endnote"})  # fmt: skip
DROPPED = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "delInstrText", "pPr",
                     "rPr"})  # fmt: skip
SIGNS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}

_PARSER = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


def read_docx(path: Path) -> str:
    """The whole text; pages are parted by form feeds."""
    try:
        with zipfile.ZipFile(path) as archive:
            _require_harmless(archive.infolist())
            return _text(archive)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        EOFError,
        OSError,
        ValueError,
    ) as error:
        raise _corrupt(str(error)) from error


def is_docx(path: Path) -> bool:
    """Whether a zip says that it holds a text document."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise _corrupt(str(error)) from error
    return MAIN in names or any(name.startswith("word/") for name in names)


def _require_harmless(entries: Sequence[zipfile.ZipInfo]) -> None:
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if len(entries) > ENTRIES_MAX:
        raise _hostile(f"it holds {len(entries)} files, more than {ENTRIES_MAX}")
    if total > INFLATED_MAX:
        raise _hostile(f"it would inflate to {total} bytes, more than {INFLATED_MAX}")
    if total > RATIO_FROM_BYTES and total > packed * RATIO_MAX:
        raise _hostile(f"it would inflate {total // max(packed, 1)} times, as only a bomb does")
    if any(entry.flag_bits & 1 for entry in entries):
        raise FatalFailure(
            "the document is locked with a password; save it without one", code="ENCRYPTED"
        )


def _text(archive: zipfile.ZipFile) -> str:
    names = archive.namelist()
    main = _main_part(archive, names)
    folder = main.rpartition("/")[0]
    heads = [name for name in names if name.startswith(f"{folder}/header")]
    feet = [name for name in names if name.startswith(f"{folder}/footer")]
    notes = [f"{folder}/{name}.xml" for name in ("footnotes", "endnotes")]
    lines = _once(archive, sorted(heads)[:PARTS_MAX])
    lines += _lines(_tree(archive, main))
    lines += _once(archive, sorted(feet)[:PARTS_MAX])
    lines += _once(archive, [name for name in notes if name in names])
    return "\n".join(lines)


def _main_part(archive: zipfile.ZipFile, names: Sequence[str]) -> str:
    if MAIN in names:
        return MAIN
    if "_rels/.rels" in names:
        for link in _tree(archive, "_rels/.rels"):
            if str(link.get("Type", "")).endswith("/officeDocument"):
                target = str(link.get("Target", "")).lstrip("/")
                if target in names:
                    return target
    raise _corrupt("its main part is missing")


def _once(archive: zipfile.ZipFile, names: Sequence[str]) -> list[str]:
    """The lines of several parts, none of them twice: first, odd and even pages repeat their headers."""
    lines: dict[str, None] = {}
    for name in names:
        lines |= dict.fromkeys(line for line in _lines(_tree(archive, name)) if line.strip())
    return list(lines)


def _tree(archive: zipfile.ZipFile, name: str) -> etree._Element:
    with closing(archive.open(name)) as part:
        data = part.read(PART_MAX + 1)
    if len(data) > PART_MAX:
        raise _hostile(f"{name!r} in it inflates beyond {PART_MAX} bytes")
    try:
        root = etree.fromstring(data, etree.XMLParser(**_PARSER))
    except etree.XMLSyntaxError as error:
        if b"<!ENTITY" in data:
            raise _hostile(f"{name!r} in it declares entities") from error
        raise _corrupt(f"{name!r} in it is broken: {error}") from error
    if root.getroottree().docinfo.doctype:
        raise _hostile(f"{name!r} in it declares a document type of its own")
    return root


def _lines(container: etree._Element) -> list[str]:
    """The lines of all paragraphs and tables below an element."""
    lines: list[str] = []
    for child in container:
        name = _name(child)
        if name == "p":
            lines += _paragraph(child)
        elif name == "tbl":
            lines += _table(child)
        elif name in CONTAINERS:
            lines += _lines(child)
    return lines


def _table(table: etree._Element) -> list[str]:
    lines: list[str] = []
    for row in _inside(table, "tr"):
        cells = [_lines(cell) or [""] for cell in _inside(row, "tc")]
        cells = [[line for line in cell if line.strip()] or [""] for cell in cells]
        lines += [
            "\t".join(part.replace("\n", " ") for part in level).rstrip()
            for level in zip_longest(*cells, fillvalue="")
        ]
    return lines


def _inside(element: etree._Element, wanted: str) -> Iterator[etree._Element]:
    """Children of a name, also those that a tracked change or a control is wrapped around."""
    for child in element:
        name = _name(child)
        if name == wanted:
            if not _is_deleted(child):
                yield child
        elif name in CONTAINERS:
            yield from _inside(child, wanted)


def _is_deleted(row: etree._Element) -> bool:
    """Whether a whole row was struck out by a tracked change."""
    return any(_name(mark) == "del" for part in row if _name(part) == "trPr" for mark in part)


def _paragraph(paragraph: etree._Element) -> list[str]:
    """The lines of a paragraph, then those of the boxes that are anchored in it."""
    parts: list[str] = []
    boxes: list[str] = []
    walk = etree.iterwalk(paragraph, events=("start",))
    for _, element in walk:
        name = _name(element)
        if name in DROPPED:
            walk.skip_subtree()
        elif name == "txbxContent":
            boxes += _lines(element)
            walk.skip_subtree()
        elif name == "t":
            parts.append(element.text or "")
        elif name == "br":
            parts.append(PAGE_BREAK if _attribute(element, "type") == "page" else "\n")
        elif name == "lastRenderedPageBreak":
            parts.append(PAGE_BREAK)
        elif name in SIGNS:
            parts.append(SIGNS[name])
    return ["".join(parts), *boxes]


def _name(element: etree._Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _attribute(element: etree._Element, name: str) -> str:
    values = (str(value) for key, value in element.items() if key.rpartition("}")[2] == name)
    return next(values, "")


def _hostile(why: str) -> FatalFailure:
    return FatalFailure(f"the document is not opened: {why}", code="HOSTILE_FILE")


def _corrupt(why: str) -> FatalFailure:
    return FatalFailure(
        f"the document is damaged ({why}); save it again with the program that wrote it",
        code="CORRUPT_FILE",
    )
