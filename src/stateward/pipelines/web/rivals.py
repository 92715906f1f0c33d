"""Who else a page names as its author, and what else as its title: what is in doubt is told, and nothing is changed.

A page tells both several times: to search engines (JSON-LD, `meta`), to its readers (an element that is marked as a
byline, a heading). Where what was taken agrees with none of what is told, one of the two is wrong.
"""

import json
import re
from collections.abc import Iterator
from html import unescape

AUTHOR_DOUBTED, TITLE_DOUBTED = "AUTHOR_DOUBTED", "TITLE_DOUBTED"
NAME_WORDS = range(2, 5)
NAMES_MAX = 3
BLOCKS_MAX, BLOCK_CHARS_MAX, DEPTH_MAX = 10, 200_000, 6
_LINKED_DATA = re.compile(r"<script\b[^<>]{0,200}application/ld\+json[^<>]{0,200}>", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script", re.IGNORECASE)
_META_AUTHOR = re.compile(
    r"<meta\b(?=[^<>]{0,500}\b(?:name|property)\s*=\s*[\"']?(?:author|article:author|dc\.creator|parsely-author|sailthru\.author)\b)"
    r"[^<>]{0,500}\bcontent\s*=\s*\"([^\"<>]{2,80})\"",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"<(a|span|p|div|address|strong|b|em|cite)\b[^<>]{0,300}?(?:rel|itemprop|class)\s*=\s*[\"']?(?:[\w -]{0,60}[ _-])?"
    r"(?:author|byline|autore?|auteur)(?:[ _-]?name)?\b[^<>]{0,300}>(.{1,300}?)</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)
_META_TITLE = re.compile(
    r"<meta\b(?=[^<>]{0,500}\b(?:property|name)\s*=\s*[\"']?(?:og|twitter):title\b)[^<>]{0,500}\bcontent\s*=\s*\"([^\"<>]{2,400})\"",
    re.IGNORECASE,
)
_HEADING = re.compile(r"<h1\b[^<>]{0,500}>(.{1,600}?)</h1\s*>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<[^<>]{0,500}>")
_BEFORE_NAME = re.compile(
    r"^(?:(?:written|posted|words|text[eo]?|story|report) )?"
    r"(?:by|von|par|por|di|da|av|af|przez)\s*:?\s+",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_][\w.'\u2019-]*(?:\s[^\W\d_][\w.'\u2019-]*){1,3}")
_WORD = re.compile(r"\w{3,}")


def doubts_of(html: str, *, title: str, author: str) -> list[tuple[str, str]]:
    """The notes on a page: code and sentence."""
    found: list[tuple[str, str]] = []
    names = [*dict.fromkeys(_authors(html))]
    rivals = [name for name in names if _words(name).isdisjoint(_words(author))]
    if names and len(rivals) == len(names):
        told = ", ".join(names[:NAMES_MAX])
        taken = f"{author} was taken for the author" if author else "no author was taken"
        found.append((AUTHOR_DOUBTED, f"{taken}, and the page names {told}"))
    titles = [*dict.fromkeys(_titles(html))]
    if titles and all(_words(title).isdisjoint(_words(each)) for each in titles):
        found.append(
            (TITLE_DOUBTED, f"{title!r} was taken for the title, and the page names {titles[0]!r}")
        )
    return found


def _authors(html: str) -> Iterator[str]:
    """Names of two to four words that the page gives as its author, to programs or to readers."""
    told = [
        *_linked_texts(html, "author"),
        *_META_AUTHOR.findall(html),
        *(text for _, text in _MARKED.findall(html)),
    ]
    for text in told:
        name = _BEFORE_NAME.sub("", _plain(text)).strip(" ,.;|")
        if len(name.split()) in NAME_WORDS and _NAME.fullmatch(name):
            yield name


def _titles(html: str) -> Iterator[str]:
    for text in (
        *_linked_texts(html, "headline"),
        *_META_TITLE.findall(html),
        *_HEADING.findall(html),
    ):
        if _words(plain := _plain(text)):
            yield plain


def _linked_texts(html: str, key: str) -> Iterator[str]:
    """The texts of a key of the data for search engines; of an object its name."""
    for block in _linked_blocks(html):
        try:
            data = json.loads(block[:BLOCK_CHARS_MAX])
        except (ValueError, RecursionError):
            continue
        yield from _texts_of(data, key, 0)


def _linked_blocks(html: str) -> Iterator[str]:
    """The first blocks of data for search engines; nothing is looked for behind one that never ends."""
    at = 0
    for _ in range(BLOCKS_MAX):
        start = _LINKED_DATA.search(html, at)
        end = _SCRIPT_END.search(html, start.end()) if start else None
        if start is None or end is None:
            return
        yield html[start.end() : end.start()]
        at = end.end()


def _texts_of(data: object, key: str, depth: int) -> Iterator[str]:
    if depth > DEPTH_MAX:
        return
    if isinstance(data, list):
        for each in data:
            yield from _texts_of(each, key, depth + 1)
    elif isinstance(data, dict):
        told = data.get(key)
        for each in told if isinstance(told, list) else [told]:
            name = each.get("name") if isinstance(each, dict) else each
            if isinstance(name, str):
                yield name
        yield from _texts_of(data.get("@graph"), key, depth + 1)


def _plain(markup: str) -> str:
    return " ".join(unescape(_MARKUP.sub(" ", markup)).split())


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
