"""Text documents of OpenDocument (ODT): paragraphs, headings and tables, as a person reads them.

Deleted text of tracked changes, comments and what a style hides are left out.
"""

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
from stateward.pipelines.kit.xml import local_name, parse_xml

PART_BYTES_MAX = 48 * MIB
MIMETYPE = "application/vnd.oasis.opendocument.text"
CONTENT = "content.xml"
BLANKS_MAX = 200
DROPPED = frozenset(
    {"tracked-changes", "annotation", "deletion", "note-citation", "sequence-decls"}
)
HIDDEN = frozenset({"hidden-text", "hidden-paragraph"})


def is_odt(path: Path) -> bool:
    """Whether a zip is a text document of OpenDocument."""
    return named_type(path) == MIMETYPE


def read_odt(path: Path) -> str:
    """The whole text, a line for each paragraph and each row of a table."""
    with open_archive(path) as archive:
        check_sizes(archive.infolist(), bytes_max=INFLATED_BYTES_MAX)
        check_unencrypted(archive.infolist())
        content = read_entry(archive, CONTENT, bytes_max=PART_BYTES_MAX)
    tree = parse_xml(content, name=repr(CONTENT))
    hidden = set(_hidden_styles(tree))
    return "\n".join(_lines(tree, hidden))


def _hidden_styles(tree: etree._Element) -> Iterator[str]:
    """The names of styles that hide their text or strike it through."""
    for style in tree.iter():
        if not isinstance(style.tag, str) or local_name(style) != "style":
            continue
        for properties in style:
            for key, value in properties.items():
                name = key.rpartition("}")[2]
                is_struck = name == "text-line-through-style" and value != "none"
                if is_struck or (name == "display" and value == "none"):
                    yield _attribute(style, "name")


def _lines(element: etree._Element, hidden: set[str]) -> list[str]:
    lines: list[str] = []
    for child in element:
        name = local_name(child) if isinstance(child.tag, str) else ""
        if name in ("p", "h"):
            lines += _text(child, hidden).split("\n")
        elif name == "table-row":
            cells = [_lines(cell, hidden) or [""] for cell in child]
            lines += ["\t".join(level).rstrip() for level in zip_longest(*cells, fillvalue="")]
        elif name not in DROPPED | HIDDEN:
            lines += _lines(child, hidden)
    return lines


def _text(element: etree._Element, hidden: set[str]) -> str:
    """The text of a paragraph, with its tabs, breaks and runs of blanks."""
    if _attribute(element, "style-name") in hidden:
        return ""
    parts = [element.text or ""]
    for child in element:
        name = local_name(child) if isinstance(child.tag, str) else ""
        if name == "tab":
            parts.append("\t")
        elif name == "line-break":
            parts.append("\n")
        elif name == "s":
            count = _attribute(child, "c")
            parts.append(" " * min(int(count) if count.isdigit() else 1, BLANKS_MAX))
        elif name and name not in DROPPED | HIDDEN:
            parts.append(_text(child, hidden))
        parts.append(child.tail or "")
    return "".join(parts)


def _attribute(element: etree._Element, name: str) -> str:
    values = (str(value) for key, value in element.items() if key.rpartition("}")[2] == name)
    return next(values, "")
