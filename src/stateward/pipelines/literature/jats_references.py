"""References of JATS: the parts of each citation, and its text as it is printed."""

import re

from lxml import etree

from stateward.pipelines.literature.identifiers import normal_ids
from stateward.pipelines.literature.jats_front import IDS, XLINK_HREF
from stateward.pipelines.literature.paper import Reference, squeeze
from stateward.pipelines.literature.xml_text import prose, text_of

CITATIONS = ("mixed-citation", "element-citation", "citation", "nlm-citation")
# Parts of a citation, each a word of its own even where a publisher leaves it to a style sheet to part them.
_NAMES = frozenset(("name", "string-name", "collab"))
_PARTS = frozenset(
    ("surname", "given-names", "suffix", "person-group", "etal", "year", "month", "day", "article-title",
     "chapter-title", "data-title", "source", "volume", "issue", "fpage", "lpage", "page-range", "elocation-id",
     "publisher-name", "publisher-loc", "pub-id", "object-id", "issn", "isbn", "ext-link", "uri", "comment", "edition")
) | _NAMES  # fmt: skip
_GLUED = re.compile("</(?:{0})><(?:{0})[ >]".format("|".join(sorted(_PARTS))))


def reference_of(citation: etree._Element, label: str) -> Reference:
    """The parts of a citation in one pass: there are dozens of citations, each with dozens of elements."""
    ids: list[tuple[str, str]] = []
    authors: list[str] = []
    found: dict[str, str] = {}
    # Without a list of names: to compare each element with sixteen takes longer than to make an object of it. Most are
    # names; their text is taken here, because a call costs as much as the text.
    for each in citation.iter():
        tag = each.tag
        if tag == "name":
            continue
        if tag == "surname":
            text = each.text
            authors.append(text_of(each) if text is None or len(each) else " ".join(text.split()))
        elif tag == "given-names":
            text = each.text
            given = text_of(each) if text is None or len(each) else " ".join(text.split())
            authors[-1:] = [f"{authors[-1]} {given}" if authors else given]
        elif tag in _FIELDS:
            if tag not in found:
                found[tag] = text_of(each)
        elif tag == "pub-id":
            ids.append((IDS.get(each.get("pub-id-type", ""), ""), text_of(each)))
        elif tag == "collab":
            authors.append(text_of(each))
        elif tag == "string-name":
            if each.find("surname") is None:
                authors.append(text_of(each))
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


_FIELDS = frozenset(
    ("article-title", "chapter-title", "data-title", "source", "year", "volume", "fpage", "lpage", "elocation-id",
     "label")
)  # fmt: skip


def several_texts(element: etree._Element) -> str:
    """All that stands under one number, each citation apart from the next."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag in CITATIONS:
            pieces.append(citation_text(child, reference_of(child, "")))
        elif child.tag != "label":
            pieces.append(prose(child, ("label",)))
        pieces.append(child.tail or "")
    return squeeze(" ".join(pieces))


def citation_text(citation: etree._Element, reference: Reference) -> str:
    """A reference as it is printed; where the source gives only its parts, these in the usual order."""
    if citation.tag == "mixed-citation" or not reference.source:
        _part_words(citation)
        return prose(citation, ("label",))
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
    if not _GLUED.search(etree.tostring(citation, encoding="unicode", with_tail=False)):
        return
    for each in citation.iter(*_PARTS):
        following = None if each.tail else each.getnext()
        if following is not None and following.tag in _PARTS:
            each.tail = ", " if each.tag in _NAMES and following.tag in _NAMES else " "
