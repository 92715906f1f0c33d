"""A page brought into the form in which the library finds all of its text and none of what a browser hides.

The library leaves out what it takes for menus, buttons and pictures, and sentences with them. Only elements are moved,
renamed and taken away here: no word of the page changes.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element
    from lxml.html import HtmlElement

LEAD_CHARS_MIN = 80  # of a paragraph in the header of an article: a byline or a caption is shorter
CELL_CHARS_MIN = 200  # of a cell that holds a text, and no value of a table
_INLINE = ("span", "b", "i", "em", "strong", "q")
_BOXES = ("div", "p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "section", "blockquote", "pre")
_NO_TEXT = frozenset({"script", "style", "svg", "noscript", "template"})
# What stands within a line: a box with nothing else in it is a paragraph by another name.
_IN_LINE = frozenset({
    "a", "abbr", "b", "br", "cite", "code", "em", "font", "i", "img", "ins", "kbd", "mark", "q", "s", "small", "span",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
BOX_CHARS_MIN = 120
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HIDING = re.compile(rf"\shidden[\s=>/]|{_HIDDEN_STYLE.pattern}", re.IGNORECASE)
_ANY_WORD = re.compile(r"[^\W_]")
SENTENCE_ENDS = frozenset(".!?\u2026\u201d\u00bb\"')\u3002")
_LETTERS = re.compile(r"[^\W\d_]")


def as_shown(html: str) -> str:
    """The page without what it hides, and with its tables of cells that hold whole texts as plain boxes.

    Such tables place menu, text and footer; as a table, all of it would be one text.
    """
    from lxml import etree
    from lxml import html as parser

    try:
        root = parser.document_fromstring(html)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, TypeError):
        return html
    changes = _drop_hidden(root) if _HIDING.search(html) else 0
    changes += _unfold_layout_tables(root) + _join_running_text(root) + _drop_anchors(root)
    changes += _free_leads(root)
    return parser.tostring(root, encoding="unicode") if changes else html


def _drop_hidden(root: "HtmlElement") -> int:
    """Take away what is not shown; nothing where that is most of the text, which a script shows later."""
    hidden = [
        each
        for each in root.iter("div", "p", "section", "article", "span", "ul", "table", "aside")
        if "hidden" in each.attrib or _HIDDEN_STYLE.search(str(each.get("style", "")))
    ]
    known = frozenset(hidden)
    outer = [each for each in hidden if known.isdisjoint(each.iterancestors())]
    if 2 * sum(len(paragraph_text(each)) for each in outer) > len(paragraph_text(root)):
        return 0
    for each in outer:
        each.drop_tree()
    return len(outer)


def _drop_anchors(root: "HtmlElement") -> int:
    """Take away the signs by which headings of documentation link to themselves (`#`, `¶`, or nothing but a style).

    The library takes a heading whose only link has no words for a menu, and leaves it out.
    """
    anchors = [
        link
        for heading in root.iter("h1", "h2", "h3", "h4", "h5", "h6")
        for link in heading.iter("a")
        if (link.get("href") or paragraph_text(link)) and not _ANY_WORD.search(paragraph_text(link))
    ]
    for each in anchors:
        each.drop_tree()
    return len(anchors)


def _free_leads(root: "HtmlElement") -> int:
    """Put the lead of an article below its header, which the library leaves out with name, day and buttons."""
    leads = [
        each
        for header in root.iter("header")
        if (parent := header.getparent()) is not None and parent.tag in ("article", "main")
        for each in header.iter("p")
        if len(text := paragraph_text(each)) >= LEAD_CHARS_MIN and text[-1] in SENTENCE_ENDS
        if not each.findall(".//a")
    ]
    for each in reversed(leads):
        header = next(each.iterancestors("header"))
        each.drop_tree()
        each.tail = None
        header.addnext(each)
    return len(leads)


def _unfold_layout_tables(root: "_Element") -> int:
    parts: dict[_Element, list[_Element]] = {}  # of each table, without those of tables in it
    for part in root.iter("tbody", "thead", "tfoot", "tr", "td", "th"):
        if (table := next(part.iterancestors("table"), None)) is not None:
            parts.setdefault(table, []).append(part)
    layouts = [table for table, own in parts.items() if any(map(_holds_text, own))]
    for table in layouts:
        for part in (table, *parts[table]):
            part.tag = "div"
    return len(layouts)


def _join_running_text(root: "HtmlElement") -> int:
    """Give a text back what the library takes away with elements inside of it.

    It drops an empty element (an icon, the target of a link, a formula as picture) with the text behind it, and a day
    or label with its words, and looks for text in no box that has none but its own.
    """
    from lxml import etree

    empty = [
        each
        for each in root.iter(*_INLINE, *_BOXES)
        if each.text is None and each.tail and not any(map(str.strip, _own_texts(each)))
    ]
    for each in empty:
        if each.tag in _INLINE:
            each.drop_tree()
        else:
            each.tail, tail = None, each.tail
            each.addnext(gap := etree.Element("br"))
            gap.tail = tail
    inside = [each for each in root.iter("time", "label") if _runs_on(each)]
    for each in inside:
        each.tag = "span"
    alone = [each for each in root.iter("div") if _is_paragraph_of_its_own(each)]
    # Where boxes hold most of the text, the library looks into all of them, also those of few words.
    if sum(len(paragraph_text(each)) for each in root.iter("p")) < sum(
        map(len, map(paragraph_text, alone))
    ):
        alone = []
    for each in alone:
        each.tag = "p"
    return len(empty) + len(inside) + len(alone)


def _own_texts(element: "_Element") -> Iterator[str]:
    """The texts inside of an element that a browser shows."""
    for each in element.iter():
        if isinstance(each.tag, str) and each.tag not in _NO_TEXT:
            yield each.text or ""
        if each is not element:
            yield each.tail or ""


def _runs_on(element: "_Element") -> bool:
    """Whether an element stands within a sentence: words are before and behind it in the same paragraph."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None or parent.tag not in ("p", "li", "td", "dd", "blockquote"):
        return False
    ahead = (parent.text if before is None else before.tail) or ""
    return _LETTERS.search(ahead) is not None and _LETTERS.search(element.tail or "") is not None


def _is_paragraph_of_its_own(box: "_Element") -> bool:
    """Whether a box holds sentences and nothing but what stands in a line."""
    if any(each.tag not in _IN_LINE for each in box.iterdescendants()):
        return False
    text = paragraph_text(box)
    linked = sum(len(paragraph_text(each)) for each in box.iter("a"))
    return len(text) >= BOX_CHARS_MIN and text[-1] in SENTENCE_ENDS and 4 * linked < len(text)


def _holds_text(part: "_Element") -> bool:
    """Whether a cell holds long paragraphs, or any below a heading; a value of a table may be two short ones."""
    if part.tag not in ("td", "th"):
        return False
    paragraphs = sum(1 for _ in islice(part.iter("p"), 2))
    if paragraphs and next(part.iter("h1"), None) is not None:
        return True
    return paragraphs == 2 and len(paragraph_text(part)) >= CELL_CHARS_MIN


def paragraph_text(element: "_Element") -> str:
    return " ".join("".join(map(str, element.itertext())).split())
