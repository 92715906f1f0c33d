"""The posts of a thread: texts in elements of one kind, of which a search for one main text gives the first only."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lxml.etree import _Element
    from lxml.html import HtmlElement

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
# Beside what was written a post says who wrote it and when: a class, a `<time>`, a year.
_OF_WRITER = re.compile(
    r"(?:^|[\s_-])(?:user|author|poster|member|profile|nick|writer|autor|auteur|mitglied)",  # codespell:ignore autor
    re.IGNORECASE,
)
_OF_TIME = re.compile(r"(?:^|[\s_-])(?:date|time|posted|datum|fecha)(?:$|[\s_-])", re.IGNORECASE)
_OF_SIGNATURE = re.compile(
    r"(?:^|[\s_-])(?:sig|signature|signatur)(?:$|[\s_\d-])",  # codespell:ignore signatur
    re.IGNORECASE,
)
_OF_COMMENTS = re.compile(r"(?:^|[\s_-])comments?(?:$|[\s_-])", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_REPLY_TO = re.compile(r"^(?:re|aw|antw|rép|resp)\s?:\s*", re.IGNORECASE)
_QUOTED_FROM = re.compile(
    r"^[^.!?]{1,60}?\b(?:said|wrote|writes|schrieb|geschrieben|écrit|escribió|dijo|scritto)\s?:\s*",
    re.IGNORECASE,
)
HEADINGS = ("h1", "h2", "h3")
POSTS_OF_THREAD_MIN = 2  # where the page says that it is a thread
WRITER_SHARE_MIN = 2 / 3  # of the posts, which say who wrote them and when
BODY_SHARE_MIN = 0.4  # of the largest kind of element beside which a writer stands
PARAGRAPH_CHARS_MIN = 80
QUOTE_CHARS_MIN = 12
KEPT_SHARE_MIN = (
    0.25  # of the main text: short posts have more of their writers than of what was written
)
NAME_CHARS_MAX = 40
GROUPS_MAX = 40  # kinds of elements that are looked at, the largest ones


class Thread(NamedTuple):
    """What was written in a thread, without its writers, days, signatures and buttons; and who began it."""

    text: str
    author: str = ""


def thread_of(text: str, html: str) -> Thread | None:
    """The posts of a page whose main text is a thread; `None` for any other page.

    A post is told by its structure: elements of one kind, each beside the name of its writer and a day of its own. No
    paragraph of the main text may be given up for it.
    """
    from lxml import etree
    from lxml import html as parser

    try:
        root = parser.document_fromstring(html)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, TypeError):
        return None
    etree.strip_elements(root, etree.Comment, *_LEFT_OUT, with_tail=False)
    for each in _of_class(root, _OF_SIGNATURE):
        if each.getparent() is not None:
            each.drop_tree()
    posts = _posts(root, POSTS_OF_THREAD_MIN if _THREAD.search(html) else POSTS_MIN)
    if not posts:
        return None
    written: list[str] = []
    for body, _ in posts:
        _drop_repeats(body, _bare("".join(written)))
        written.append("\n".join(_lines(body)))
    found = "\n".join(filter(None, written))[:CHARS_MAX]
    bare, told = _bare(found), [line for line in text.splitlines() if line.strip()]
    signatures = [*filter(None, map(_bare, _signatures(html)))]
    left_out = [line for line in told if _without(_bare(line), signatures) not in bare]
    kept = sum(map(len, told)) - sum(map(len, left_out))
    is_lost = any(len(line) >= PARAGRAPH_CHARS_MIN for line in left_out)
    if is_lost or kept < KEPT_SHARE_MIN * sum(map(len, told)):
        return None
    return Thread(found, _writer_of(*posts[0]))


def _posts(root: "HtmlElement", least: int) -> list[tuple["HtmlElement", "HtmlElement"]]:
    """The bodies of the posts of a thread, each with the element that is the whole post."""
    groups: dict[tuple[str, str], list[HtmlElement]] = {}
    for each in root.iter(*ELEMENTS):
        if name := each.get("class"):
            groups.setdefault((str(each.tag), name), []).append(each)
    kinds = [
        [each for each in found if _is_post(each, name)]
        for (_, name), found in groups.items()
        if len(found) >= least and not _OF_COMMENTS.search(name)
    ]
    sized = [
        (sum(len(_bare(each.text_content())) for each in bodies), bodies)
        for bodies in kinds
        if len(bodies) >= least
    ]
    candidates: list[tuple[int, list[tuple[HtmlElement, HtmlElement]]]] = []
    for size, bodies in sorted(sized, key=lambda each: -each[0])[:GROUPS_MAX]:
        counts = _counts(bodies)
        posts = [(body, _post_of(body, counts)) for body in bodies]
        if _are_signed(posts) and not _are_titled(posts):
            candidates.append((size, posts))
    largest = max((size for size, _ in candidates), default=0)
    # The innermost kind that leaves no paragraph of a post out is what was written.
    return next(
        (
            posts
            for size, posts in sorted(candidates, key=lambda each: each[0])
            if size >= BODY_SHARE_MIN * largest and not any(map(_leaves_a_paragraph, posts))
        ),
        [],
    )


def _counts(bodies: Sequence["HtmlElement"]) -> dict["HtmlElement", int]:
    counts: dict[HtmlElement, int] = {}
    for body in bodies:
        for above in body.iterancestors():
            counts[above] = counts.get(above, 0) + 1
    return counts


def _post_of(body: "HtmlElement", counts: dict["HtmlElement", int]) -> "HtmlElement":
    """The largest element around a body that holds no other body."""
    post = body
    for above in body.iterancestors():
        if counts[above] > 1:
            break
        post = above
    return post


def _are_signed(posts: Sequence[tuple["HtmlElement", "HtmlElement"]]) -> bool:
    """Whether most posts say beside their body who wrote them, and when."""
    signed = sum(bool(_writer_of(*each)) and _has_time(*each) for each in posts)
    return signed >= WRITER_SHARE_MIN * len(posts)


def _are_titled(posts: Sequence[tuple["HtmlElement", "HtmlElement"]]) -> bool:
    """Whether most posts have headings of their own: then they are announced, each with its name and day."""
    titles = [
        _REPLY_TO.sub("", " ".join(heading.text_content().split()))
        for body, post in posts
        for heading in _beside(body, post)
        if heading.tag in HEADINGS and not _OF_WRITER.search(_class_around(heading, post))
    ]
    return 2 * len(set(titles)) > len(posts)


def _beside(body: "HtmlElement", post: "HtmlElement") -> Iterator["HtmlElement"]:
    """The elements of a post that are not part of its body, nor around it."""
    inside = {*body.iter(), *body.iterancestors()}
    return (each for each in post.iter() if isinstance(each.tag, str) and each not in inside)


def _class_around(element: "HtmlElement", post: "HtmlElement") -> str:
    names = [element.get("class", "")]
    for above in element.iterancestors():
        if above is post:
            break
        names.append(above.get("class", ""))
    return " ".join(names)


def _writer_of(body: "HtmlElement", post: "HtmlElement") -> str:
    """The name in the innermost element beside a body that is marked as its writer."""
    marked = [each for each in _beside(body, post) if _OF_WRITER.search(each.get("class", ""))]
    outer = {above for each in marked for above in each.iterancestors()}
    for each in [*(one for one in marked if one not in outer), *marked]:
        named = next(iter(each.iter("a", "b", "strong")), None)
        lines = _lines(each if named is None or not named.text_content().strip() else named)
        name = lines[0].strip(" :,") if lines else ""
        if 0 < len(name) <= NAME_CHARS_MAX and not _YEAR.search(name) and ":" not in name:
            return name
    return ""


def _has_time(body: "HtmlElement", post: "HtmlElement") -> bool:
    return any(
        each.tag == "time"
        or _OF_TIME.search(each.get("class", "")) is not None
        or _YEAR.search(f"{each.text or ''} {each.tail or ''}") is not None
        for each in _beside(body, post)
    )


def _leaves_a_paragraph(found: tuple["HtmlElement", "HtmlElement"]) -> bool:
    """Whether a post has a paragraph that is not in its body; short comments below a post are none of it."""
    body, post = found
    return any(
        len(" ".join((told or "").split())) >= PARAGRAPH_CHARS_MIN
        for each in _beside(body, post)
        if not _OF_COMMENTS.search(_class_around(each, post))
        for told in (each.text, each.tail)
    )


def _of_class(root: "HtmlElement", pattern: re.Pattern[str]) -> list["HtmlElement"]:
    return [
        each
        for each in root.iter(*ELEMENTS, "aside", "p", "span")
        if pattern.search(each.get("class", ""))
    ]


def _signatures(html: str) -> Iterator[str]:
    from lxml import html as parser

    for each in _of_class(parser.document_fromstring(html), _OF_SIGNATURE):
        yield each.text_content()


def _without(line: str, signatures: Sequence[str]) -> str:
    for each in signatures:
        line = line.replace(each, "")
    return line


def _drop_repeats(body: "HtmlElement", before: str) -> None:
    """Take away quotations of earlier posts, which stand in the thread already."""
    for quoted in [each for each in body.iter("blockquote") if each is not body]:
        lines = _lines(quoted)
        if lines:
            lines[0] = _QUOTED_FROM.sub("", lines[0])
        bare = [_bare(line) for line in lines]
        known = sum(len(line) for line in bare if len(line) >= QUOTE_CHARS_MIN and line in before)
        if known and 2 * known >= sum(map(len, bare)) and quoted.getparent() is not None:
            quoted.drop_tree()


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
