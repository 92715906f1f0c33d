"""References of JATS: the parts of each citation, and its text as it is printed."""

import re
from collections.abc import Iterator

from lxml import etree

from stateward.pipelines.literature.identifiers import normal_ids
from stateward.pipelines.literature.jats_front import IDS, XLINK_HREF
from stateward.pipelines.literature.paper import Reference, squeeze
from stateward.pipelines.literature.xml_text import prose, text_of

CITATIONS = ("mixed-citation", "element-citation", "citation", "nlm-citation")
_BOTH_WAYS = {"mixed-citation", "element-citation"}
# Parts of a citation, each a word of its own even where a publisher leaves it to a style sheet to part them.
_NAMES = frozenset(("name", "string-name", "collab"))
_PARTS = frozenset(
    ("surname", "given-names", "suffix", "person-group", "etal", "year", "month", "day", "article-title",
     "chapter-title", "data-title", "source", "volume", "issue", "fpage", "lpage", "page-range", "elocation-id",
     "publisher-name", "publisher-loc", "pub-id", "object-id", "issn", "isbn", "ext-link", "uri", "comment", "edition")
) | _NAMES  # fmt: skip
# Or a comment between them: then it is looked at more closely.
_GLUED = re.compile(r"</(?:{0})\s*>(?:<(?:{0})[\s>]|<!--)".format("|".join(sorted(_PARTS))))


def parts_and_print(citations: list[etree._Element]) -> tuple[etree._Element, etree._Element]:
    """Of the citations of one reference that which is taken apart, and that which is printed.

    SciELO and others give each reference in both ways; any other two are two works, or one in two languages.
    """
    first = citations[0]
    if len(citations) != 2 or {each.tag for each in citations} != _BOTH_WAYS:
        return first, first
    is_printed = first.tag == "mixed-citation"
    return (citations[1], first) if is_printed else (first, citations[1])


def without_number(text: str, label: str) -> str:
    """A printed reference without the number that the source gives beside it, too."""
    number = label.strip("[]. ")
    start = re.match(rf"\[?{re.escape(number)}(?:\]|\.|\s)\s*", text) if number else None
    return text[start.end() :] if start else text


def reference_of(citation: etree._Element, label: str) -> Reference:
    """The parts of a citation in one pass: there are dozens of citations, each with dozens of elements."""
    ids: list[tuple[str, str]] = []
    authors: list[str] = []
    found: dict[str, str] = {}
    others: set[etree._Element] = set()
    # Without a list of names: to compare each element with sixteen takes longer than to make an object of it. Most are
    # names; their text is taken here, because a call costs as much as the text.
    for each in citation.iter():
        tag = each.tag
        if tag == "name" or (others and each in others):
            continue
        if tag == "surname":
            text = each.text
            authors.append(text if text and text.isalpha() and not len(each) else text_of(each))
        elif tag == "given-names":
            text = each.text
            given = text if text and text.isalpha() and not len(each) else text_of(each)
            authors[-1:] = [f"{authors[-1]} {given}" if authors else given]
        elif tag in _FIELDS:
            if tag not in found:
                found[tag] = text_of(each)
        elif tag == "pub-id":
            ids.append((IDS.get(each.get("pub-id-type", ""), ""), text_of(each)))
        elif tag in ("collab", "string-name"):
            if tag == "collab" or each.find("surname") is None:
                authors.append(text_of(each))
        elif tag == "person-group":
            others.update(_of_others(each, authors))
        elif tag == "ext-link" and "doi.org/10." in (link := each.get(XLINK_HREF, "")):
            ids.append(("doi", link))
    return Reference(
        label=label or found.get("label", ""),
        ids=normal_ids(ids) if ids else {},
        title=found.get("article-title")
        or found.get("chapter-title")
        or found.get("data-title")
        or "",
        authors=tuple(authors),
        source=found.get("source", ""),
        year=found.get("year", ""),
        volume=found.get("volume", ""),
        first_page=found.get("fpage") or found.get("elocation-id") or "",
        last_page=found.get("lpage", ""),
    )


def _of_others(group: etree._Element, authors: list[str]) -> Iterator[etree._Element]:
    """The names of those who edited or translated what others wrote; without authors, they stand for it."""
    if authors and group.get("person-group-type", "author") != "author":
        yield from group.iterdescendants()


_FIELDS = frozenset(
    ("article-title", "chapter-title", "data-title", "source", "year", "volume", "fpage", "lpage", "elocation-id",
     "label")
)  # fmt: skip


def several_texts(element: etree._Element, written: str) -> str:
    """All that stands under one number, each citation apart from the next; `written` is how the file has it."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag in CITATIONS:
            pieces.append(citation_text(child, reference_of(child, ""), written))
        elif child.tag != "label":
            pieces.append(prose(child, ("label",)))
        pieces.append(child.tail or "")
    return squeeze(" ".join(pieces))


def citation_text(citation: etree._Element, reference: Reference, written: str) -> str:
    """A reference as it is printed; where the source gives only its parts, these in the usual order.

    `written` is the text of the file that holds it, where parts without a blank are found sooner than in the tree.
    """
    if citation.tag == "mixed-citation" or not reference.source:
        if _GLUED.search(written):
            _part_words(citation)
        return prose(citation, ("label",)) if reference.label else text_of(citation)
    pages = "-".join(filter(None, (reference.first_page, reference.last_page)))
    where = " ".join(filter(None, (reference.source, reference.volume)))
    parts = (
        ", ".join(reference.authors),
        f"({reference.year})" if reference.year else "",
        reference.title,
        f"{where}:{pages}" if pages else where,
    )
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _part_words(citation: etree._Element) -> None:
    """Put a blank between parts of a citation that nothing separates, and a comma between its authors."""
    for each in (
        citation.iter()
    ):  # to have libxml2 compare each element with all of the names takes three times as long
        following = None if each.tail or each.tag not in _PARTS else each.getnext()
        if following is not None and following.tag in _PARTS:
            each.tail = ", " if each.tag in _NAMES and following.tag in _NAMES else " "
