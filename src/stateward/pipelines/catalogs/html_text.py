"""HTML in a cell as text: no tag, script or style survives, and no markup makes it fail.

Most descriptions hold a few simple tags, the same ones in every row: those are looked up in a table. Whatever is not
that simple is given to the HTML parser of libxml2, which reads anything.
"""

import re
from html import unescape

CHARS_MAX = 200_000
TAGS_MAX = 10_000
_BLOCKS = frozenset({  # by name, without brackets
    "p", "div", "li", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "tr", "table",
    "section", "article", "header", "footer", "blockquote", "dl", "dt", "dd", "br", "hr",
})  # fmt: skip
_INLINE = frozenset({  # by name, without brackets
    "a", "b", "i", "u", "s", "em", "strong", "span", "small", "sup", "sub", "font", "img",
    "td", "th", "tbody", "thead", "code", "mark", "label", "tt", "big", "abbr", "center",
})  # fmt: skip
_DROPPED = ("script", "style", "head", "noscript", "template", "iframe", "object")
_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]*)(?=[\s/]|$)")
_BRACKETED = re.compile(r"<([a-zA-Z][a-zA-Z0-9]{0,30})>")
_NEWER_TAGS = frozenset(
    {"svg", "path", "math", "picture", "search", "slot", "data", "wbr", "nobr", "marquee", "blink"}
)
_BLANKS = re.compile(r"  +|[\t\r\f\v\u00a0\u200b]+ *")
# What a tag becomes, by all that stands between its brackets; None if it takes a parser.
_marks: dict[str, str | None] = {}


def to_text(markup: str) -> str:
    """The text of a description."""
    if "<" in markup:
        text = _simple_text(markup)
        if text is None:
            return tidy(_parsed_text(markup[:CHARS_MAX]))
    else:
        text = markup
    return tidy(unescape(text) if "&" in text else text)


def tidy(text: str) -> str:
    """A text with single blanks and no empty lines."""
    if "  " in text or not text.isascii() or "\t" in text or "\r" in text:
        text = _BLANKS.sub(" ", text)
    return "\n".join([bare for line in text.split("\n") if (bare := line.strip())])


def _simple_text(markup: str) -> str | None:
    """The text between known tags, entities as they are; None if there is anything else."""
    first, *parts = markup.split("<")
    found = [first]
    for part in parts:
        tag, end, text = part.partition(">")
        mark = _marks.get(tag)
        if mark is None or not end:
            mark = _mark(tag) if end else None
            if mark is None:
                return None
        found.append(mark)
        found.append(text)
    return "".join(found)


def _mark(tag: str) -> str | None:
    name = _NAME.match(tag)
    # A quote that is open at the bracket: the bracket belongs to the value of an attribute.
    if name is None or tag.count('"') % 2 or tag.count("'") % 2:
        return None
    low = name[1].lower()
    mark = "\n" if low in _BLOCKS else "" if low in _INLINE else None
    if len(_marks) < TAGS_MAX:
        _marks[tag] = mark
    return mark


def _parsed_text(markup: str) -> str:
    from lxml import etree, html

    markup = _BRACKETED.sub(lambda found: _tag_or_text(found, markup), markup)
    try:
        root = html.fragment_fromstring(markup.replace("\x00", ""), create_parent="div")
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return unescape(re.sub(r"<[^<>]*>", " ", markup))
    etree.strip_elements(
        root, etree.Comment, etree.ProcessingInstruction, *_DROPPED, with_tail=False
    )
    parts: list[str] = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if element.tag in _BLOCKS:
            parts.append("\n")
        parts.append((element.text if event == "start" else element.tail) or "")
    return "".join(parts)


def _tag_or_text(found: re.Match[str], markup: str) -> str:
    """A tag as it is, or as the text that it is: `Type 2 <TNS>` is a name, of which no page knows an element."""
    from lxml.html import defs

    name = found[1].lower()
    is_tag = name in defs.tags or name in _NEWER_TAGS or f"</{name}" in markup.lower()
    return found[0] if is_tag else f"&lt;{found[1]}&gt;"
