"""The posts of a thread: texts in elements of one kind, of which a search for one main text gives the first only."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

# Cards of other articles are elements of one kind, too: only what calls itself a thread has posts.
_THREAD = re.compile(
    r"<body\b[^<>]{0,300}(?:forum|thread|viewtopic|\btopic\b(?!-)|phpbb|discourse|vbulletin)|DiscussionForumPosting|\"QAPage\""
    r"|powered by (?:phpbb|vbulletin|xenforo|mybb|smf|discourse|flarum|invision|burning board|woltlab)"
    r"|<meta\b[^<>]{0,100}generator[^<>]{0,100}(?:phpbb|vbulletin|xenforo|mybb|discourse|flarum)",
    re.IGNORECASE,
)
POSTS_MIN = 3
LOST_SHARE_MIN = 0.5  # of the other posts
POST_CHARS_MIN = 15
CHARS_MAX = 1_000_000
KINDS_MAX = 6  # that are looked at; a thread stands in no more elements than these
ELEMENTS = ("div", "article", "section", "li", "td", "blockquote")
_BREAKS = frozenset({"br", "p", "div", "li", "blockquote", "h2", "h3", "h4", "pre", "tr"})
_BESIDE = frozenset({"aside", "nav", "footer", "header"})
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
    bare, bare_first = _bare(text), _bare(first)
    told = [_bare(line) for line in text.splitlines() if len(line) >= POST_CHARS_MIN]
    for kind in _kinds_around(root, bare_first):
        posts = ["\n".join(_lines(each)) for each in kind]
        others = [
            post for post in posts if bare_first not in _bare(post) and len(post) >= POST_CHARS_MIN
        ]
        lost = [post for post in others if _bare(post.splitlines()[0]) not in bare]
        if len(others) < POSTS_MIN - 1 or len(lost) < LOST_SHARE_MIN * len(others):
            continue
        found = "\n".join(posts)[:CHARS_MAX]
        bare_found = _bare(found)
        if all(line in bare_found for line in told):  # what was found before is not given up
            return found
    return text


def _kinds_around(root: "_Element", bare: str) -> list[Sequence["_Element"]]:
    """The elements of the same name and class as each that holds a line, the innermost first."""
    kinds: dict[tuple[str, str], list[_Element]] = {}
    holding: list[tuple[str, str]] = []
    for each in root.iter(*ELEMENTS):
        if (name := each.get("class")) is None:
            continue
        kind = (str(each.tag), name)
        kinds.setdefault(kind, []).append(each)
        if bare in _bare("".join(map(str, each.itertext()))):
            holding.append(kind)
    innermost = [*dict.fromkeys(reversed(holding))][:KINDS_MAX]
    found = [[each for each in kinds[kind] if _is_post(each, kind[1])] for kind in innermost]
    return [same for same in found if len(same) >= POSTS_MIN]


def _is_post(element: "_Element", name: str) -> bool:
    """Whether an element is in none of its own kind, and in nothing that is beside a thread."""
    return not any(
        above.get("class") == name or above.tag in _BESIDE for above in element.iterancestors()
    )


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
