"""The posts of a thread: texts in elements of one kind, of which a search for one main text gives the first only."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

# Cards of other articles are elements of one kind, too: only what calls itself a thread has posts.
_THREAD = re.compile(
    r"<body\b[^<>]{0,300}(?:forum|thread|topic|phpbb|discourse|vbulletin)|DiscussionForumPosting|\"QAPage\""
    r"|powered by (?:phpbb|vbulletin|xenforo|mybb|smf|discourse|flarum|invision|burning board|woltlab)"
    r"|<meta\b[^<>]{0,100}generator[^<>]{0,100}(?:phpbb|vbulletin|xenforo|mybb|discourse|flarum)",
    re.IGNORECASE,
)
POSTS_MIN = 3
LOST_SHARE_MIN = 0.5  # of the other posts
POST_CHARS_MIN = 15
CHARS_MAX = 1_000_000
ELEMENTS = ("div", "article", "section", "li", "td", "blockquote")
_BREAKS = frozenset({"br", "p", "div", "li", "blockquote", "h2", "h3", "h4", "pre", "tr"})
_LEFT_OUT = frozenset({"script", "style", "form", "button", "nav", "noscript", "template"})


def with_all_posts(text: str, html: str) -> str:
    """The text of all elements of the kind that holds its beginning, where most of the others are not in it."""
    from lxml import etree
    from lxml import html as parser

    first = next((line for line in text.splitlines() if len(line) >= POST_CHARS_MIN), "")
    if not first or not _THREAD.search(html):
        return text
    try:
        root = parser.document_fromstring(html)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, TypeError):
        return text
    for kind in _kinds_around(root, first):
        posts = ["\n".join(_lines(each)) for each in kind]
        others = [
            post
            for post in posts
            if _bare(first) not in _bare(post) and len(post) >= POST_CHARS_MIN
        ]
        lost = [post for post in others if _bare(post.splitlines()[0]) not in _bare(text)]
        if len(others) >= POSTS_MIN - 1 and len(lost) >= LOST_SHARE_MIN * len(others):
            return "\n".join(posts)[:CHARS_MAX]
    return text


def _kinds_around(root: "_Element", first: str) -> list[Sequence["_Element"]]:
    """The elements of the same name and class as each that holds a line, the innermost first."""
    bare = _bare(first)
    holding = [
        each for each in root.iter(*ELEMENTS) if bare in _bare("".join(map(str, each.itertext())))
    ]
    kinds: list[Sequence[_Element]] = []
    for each in reversed(holding):
        name = each.get("class")
        if name is None:
            continue
        same = [
            other
            for other in root.iter(each.tag)
            if other.get("class") == name
            and not any(a.get("class") == name for a in other.iterancestors())
        ]
        if len(same) >= POSTS_MIN:
            kinds.append(same)
    return kinds


def _lines(element: "_Element") -> list[str]:
    """The text of an element, a line for each of its blocks."""
    parts: list[str] = []
    for event, each in _walk(element):
        if each.tag in _BREAKS:
            parts.append("\n")
        told = each.text if event == "start" else each.tail if each is not element else ""
        parts.append(told or "")
    lines = (" ".join(line.split()) for line in "".join(map(str, parts)).split("\n"))
    return [line for line in lines if line]


def _walk(element: "_Element") -> list[tuple[str, "_Element"]]:
    from lxml import etree

    found = []
    skipped = 0
    for event, each in etree.iterwalk(element, events=("start", "end")):
        is_left_out = each.tag in _LEFT_OUT
        if event == "start":
            skipped += is_left_out
        if not skipped or (event == "end" and is_left_out and skipped == 1):
            found.append((event, each))
        if event == "end":
            skipped -= is_left_out
    return found


def _bare(text: str) -> str:
    return "".join(text.split())
