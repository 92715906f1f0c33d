"""JATS, the XML in which publishers and PMC deliver articles, as a paper.

Front matter is read field by field; the body is walked from block to block, never into the words of a paragraph, which
libxml2 joins itself. Sub-articles (decision letters, translations) are parts of their own: none of their titles and
references count as those of the article.
"""

import re
from collections.abc import Callable, Iterator

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import UNSUPPORTED_FORMAT
from stateward.pipelines.literature.identifiers import normal_id, normal_ids, orcid_of
from stateward.pipelines.literature.paper import (
    Author,
    Block,
    Journal,
    Kind,
    Licence,
    Metadata,
    Note,
    OtherAbstract,
    Paper,
    Reference,
    Related,
    Retraction,
    iso_date,
    squeeze,
    year_of,
)
from stateward.pipelines.literature.xml_source import XmlSource

FORMAT = "jats"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
ALI_LICENCE = "{http://www.niso.org/schemas/ali/1.0/}license_ref"
# Elements that are blocks, or hold a block's place.
BLOCK_TAGS = (
    "p", "title", "article-title", "fig", "table-wrap", "ref", "disp-formula", "disp-quote", "list-item", "fn",
    "abstract", "trans-abstract",
)  # fmt: skip
# What may stand inside a paragraph and is a block of its own.
INNER_BLOCKS = (
    "list",
    "fig",
    "fig-group",
    "table-wrap",
    "table-wrap-group",
    "disp-quote",
    "boxed-text",
    "fn",
)
# What stands in a section without being read: its title is its heading.
UNPRINTED = frozenset(
    {
        "title",
        "label",
        "sec-meta",
        "object-id",
        "attrib",
        "permissions",
        "graphic",
        "processing-meta",
        "front",
        "front-stub",
        "sub-article",
        "response",
    }
)
IDS = {
    "doi": "doi",
    "pmid": "pmid",
    "pmc": "pmcid",
    "pmcid": "pmcid",
    "pmc-id": "pmcid",
    "arxiv": "arxiv",
}
PUBLISHED = {
    "epub": "epub", "ppub": "ppub", "pub": "published", "publication": "published", "collection": "collection",
    "epub-ppub": "published", "electronic": "epub", "print": "ppub",
}  # fmt: skip
# Kinds of xref that point to a note beside the text.
NOTE_MARKS = frozenset({"fn", "table-fn", "author-notes", "corresp", "aff"})
_CITATIONS = ("mixed-citation", "element-citation", "citation", "nlm-citation")
# What publishers call the abstract itself, where they name its type.
ORDINARY_ABSTRACTS = frozenset(
    {"abstract", "standard", "regular", "normal", "main", "author", "summary"}
)
# Parts of a citation, each a word of its own even where a publisher leaves it to a style sheet to part them.
_NAMES = frozenset(("name", "string-name", "collab"))
_PARTS = frozenset(
    ("surname", "given-names", "suffix", "person-group", "etal", "year", "month", "day", "article-title",
     "chapter-title", "data-title", "source", "volume", "issue", "fpage", "lpage", "page-range", "elocation-id",
     "publisher-name", "publisher-loc", "pub-id", "object-id", "issn", "isbn", "ext-link", "uri", "comment", "edition")
) | _NAMES  # fmt: skip
_GLUED = re.compile("</(?:{0})><(?:{0})[ >]".format("|".join(sorted(_PARTS))))


def read_jats(data: bytes) -> Paper:
    """An article in JATS."""
    source = XmlSource(data, block_tags=BLOCK_TAGS, has_namespace=False)
    root = source.root
    article = root if root.tag == "article" else root.find(".//article")
    if article is None:
        raise FatalFailure(
            "the XML holds no JATS article; submit the article itself", code=UNSUPPORTED_FORMAT
        )
    _drop_tex(article)
    front = _Front(article)
    walk = _Walk(source)
    metadata = front.metadata()
    walk.article(article, metadata)
    return Paper(metadata=metadata, blocks=walk.blocks, notes=list(_notes(source, root, article)))


def _notes(source: XmlSource, root: etree._Element, article: etree._Element) -> Iterator[Note]:
    if source.unknown_entities:
        names = ", ".join(sorted(source.unknown_entities))
        yield Note(
            code="UNKNOWN_ENTITY",
            message=f"characters with these names are unknown and stay as written: {names}",
        )
    if root is not article and len(root.findall(".//article")) > 1:
        yield Note(
            code="SEVERAL_PAPERS",
            message="the file holds several articles; only the first one is read",
        )


def _drop_tex(article: etree._Element) -> None:
    """Take away LaTeX where the same formula is also given as MathML: its preamble is no text."""
    for tex in list(article.iter("tex-math")):
        parent = tex.getparent()
        is_double = parent.tag == "alternatives" and len(parent) > 1
        body = _tex_body(tex.text or "")
        if is_double and any("math" in str(each.tag) and each is not tex for each in parent):
            body = ""
        tex.text = body


def _tex_body(text: str) -> str:
    start, end = text.find("\\begin{document}"), text.find("\\end{document}")
    return text[start + len("\\begin{document}") : end] if 0 <= start < end else text


def text_of(element: etree._Element | None) -> str:
    """All text inside an element, with single blanks."""
    if element is None:
        return ""
    if not len(element):
        return " ".join(text.split()) if (text := element.text) else ""
    return squeeze(etree.tostring(element, method="text", encoding="unicode", with_tail=False))


def child_text(element: etree._Element, path: str) -> str:
    """The text of the first element on a path."""
    return text_of(element.find(path))


def prose(element: etree._Element, without: tuple[str, ...]) -> str:
    """The text of an element without that of certain elements inside it, which stand elsewhere."""
    if next(element.iterdescendants(*without), None) is None:
        return text_of(element)
    pieces: list[str] = []
    _collect(element, frozenset(without), pieces)
    return squeeze("".join(pieces))


def _collect(element: etree._Element, without: frozenset[str], pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for child in element:
        if child.tag in without:
            pieces.append(" ")
        else:
            _collect(child, without, pieces)
        pieces.append(child.tail or "")


def title_text(title: etree._Element) -> str:
    """A title without its footnotes and their marks; a reference that is a part of the sentence stays."""
    if next(title.iterdescendants("xref", "fn"), None) is None:
        return text_of(title)
    pieces: list[str] = []
    _collect_title(title, pieces)
    return squeeze("".join(pieces))


def _collect_title(element: etree._Element, pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for child in element:
        if _is_mark(child):
            pieces.append(" ")
        else:
            _collect_title(child, pieces)
        pieces.append(child.tail or "")


def _is_mark(element: etree._Element) -> bool:
    """Whether it points to a note or is set as such marks are: raised, or without a letter or digit."""
    if element.tag == "sup":
        return next(element.iterdescendants("xref"), None) is not None
    if element.tag != "xref":
        return bool(element.tag == "fn")
    is_raised = next(element.iterdescendants("sup"), None) is not None
    is_sign = not any(map(str.isalnum, text_of(element)))
    return is_raised or is_sign or element.get("ref-type") in NOTE_MARKS


class _Front:
    """The front matter of an article."""

    def __init__(self, article: etree._Element) -> None:
        self._article = article
        front = article.find("front")
        front = article.find("front-stub") if front is None else front
        meta = None if front is None else front.find("article-meta")
        empty = etree.Element("article-meta")
        self._meta = (
            front if meta is None and front is not None else empty if meta is None else meta
        )
        journal = None if front is None else front.find("journal-meta")
        self._journal = etree.Element("journal-meta") if journal is None else journal

    def metadata(self) -> Metadata:
        """What the article says of itself."""
        meta, article = self._meta, self._article
        dates = self._dates()
        main, others = self._abstracts()
        related = list(self._related_papers())
        kind = article.get("article-type", "")
        title = meta.find("title-group/article-title")
        return Metadata(
            format=FORMAT,
            title="" if title is None else title_text(title),
            ids=self._ids(),
            type=kind,
            language=(article.get(XML_LANG) or "").lower(),
            authors=self._authors(),
            journal=self._journal_of(),
            volume=child_text(meta, "volume"),
            issue=child_text(meta, "issue"),
            first_page=child_text(meta, "fpage"),
            last_page=child_text(meta, "lpage"),
            article_number=child_text(meta, "elocation-id"),
            dates=dates,
            year=year_of(dates),
            abstract=main,
            other_abstracts=others,
            keywords=[text for each in meta.iterfind("kwd-group/kwd") if (text := text_of(each))],
            subjects=[
                text
                for each in meta.iterfind("article-categories//subject")
                if (text := text_of(each))
            ],
            licence=self._licence(),
            retraction=_retraction(kind, related),
            related=related,
        )

    def _ids(self) -> dict[str, str]:
        pairs = [
            (each.get("pub-id-type", ""), text_of(each))
            for each in self._meta.iterfind("article-id")
        ]
        ids = normal_ids((IDS[name], text) for name, text in pairs if name in IDS)
        publisher = next((text for name, text in pairs if name == "publisher-id"), "")
        return {**ids, "publisher": publisher} if publisher else ids

    def _journal_of(self) -> Journal:
        own = self._journal
        title = child_text(own, "journal-title-group/journal-title") or child_text(
            own, "journal-title"
        )
        ids = {
            each.get("journal-id-type", ""): text_of(each) for each in own.iterfind("journal-id")
        }
        short = child_text(own, "journal-title-group/abbrev-journal-title") or ids.get(
            "iso-abbrev", ""
        )
        return Journal(
            title=title,
            abbreviation=short or ids.get("nlm-ta", "") or ids.get("pubmed", ""),
            issns=tuple(text_of(each) for each in own.iterfind("issn")),
            publisher=child_text(own, "publisher/publisher-name"),
        )

    def _authors(self) -> list[Author]:
        affiliations = {each.get("id", ""): _affiliation(each) for each in self._meta.iter("aff")}
        authors: list[Author] = []
        for group in self._meta.iterfind("contrib-group"):
            # An affiliation without an id is that of everybody in its group.
            common = [_affiliation(each) for each in group.iterfind("aff") if not each.get("id")]
            authors += [
                _author(contrib, affiliations, common)
                for contrib in group.iterfind("contrib")
                if contrib.get("contrib-type", "author") == "author"
            ]
        return authors

    def _dates(self) -> dict[str, str]:
        dates: dict[str, str] = {}
        for each in self._meta.iterfind("pub-date"):
            kinds = (each.get("pub-type"), each.get("date-type"), each.get("publication-format"))
            name = next((PUBLISHED[kind] for kind in kinds if kind in PUBLISHED), "published")
            if date := _date(each):
                dates.setdefault(name, date)
        for each in self._meta.iterfind("history/date"):
            if date := _date(each):
                dates.setdefault(each.get("date-type") or "history", date)
        return dates

    def _abstracts(self) -> tuple[str, list[OtherAbstract]]:
        found = [
            OtherAbstract(
                type=each.get("abstract-type", ""), text=text, language=each.get(XML_LANG) or ""
            )
            for each in self._meta.iterfind("abstract")
            if (text := abstract_text(each))
        ]
        untyped = [each for each in found if not each.type]
        ordinary = [each for each in found if each.type.lower() in ORDINARY_ABSTRACTS]
        main = next(iter(untyped + ordinary), None)
        others = [each for each in found if each is not main]
        for each in self._meta.iterfind("trans-abstract"):
            language = each.get(XML_LANG) or ""
            others.append(
                OtherAbstract(type="translation", text=abstract_text(each), language=language)
            )
        return "" if main is None else main.text, others

    def _licence(self) -> Licence:
        permissions = self._meta.find("permissions")
        if permissions is None:
            return Licence(copyright=child_text(self._meta, "copyright-statement"))
        own = permissions.find("license")
        url = ""
        if own is not None:
            linked = next((each for each in own.iter("ext-link") if each.get(XLINK_HREF)), None)
            url = own.get(XLINK_HREF, "") or child_text(own, ALI_LICENCE)
            url = url or ("" if linked is None else linked.get(XLINK_HREF, ""))
        return Licence(
            url=url.strip(),
            text=text_of(own),
            copyright=child_text(permissions, "copyright-statement"),
        )

    def _related_papers(self) -> Iterator[Related]:
        for each in self._meta.iterfind("related-article"):
            link = each.get(XLINK_HREF, "")
            found = normal_id("doi", link) or link
            yield Related(type=each.get("related-article-type", ""), id=found, text=text_of(each))


def _retraction(kind: str, related: list[Related]) -> Retraction:
    types = {each.type for each in related}
    if kind in ("retraction", "partial-retraction") or "retracted-article" in types:
        return "notice"
    if "retraction-forward" in types or kind == "retracted-article":
        return "retracted"
    # Of the notice itself, and of the paper that it is about.
    is_doubted = kind == "expression-of-concern" or types & {"object-of-concern", "concern-forward"}
    return "concern" if is_doubted else ""


def abstract_text(element: etree._Element) -> str:
    """An abstract: each paragraph and each heading of its own on a line, but not the word Abstract."""
    lines: list[str] = []
    for each in element.iter("p", "title", "list-item"):
        is_name = each.tag == "title" and each.getparent() is element
        is_inner = each.tag == "p" and next(each.iterancestors("list-item", "p"), None) is not None
        if not is_name and not is_inner and (text := text_of(each)):
            lines.append(text)
    return "\n".join(lines) or text_of(element)


def _date(element: etree._Element) -> str:
    found = iso_date(*(child_text(element, name) for name in ("year", "month", "day")))
    return found or (element.get("iso-8601-date") or "")[:10]


def _affiliation(element: etree._Element) -> str:
    """An affiliation without its mark and numbers; parts that the source takes apart are separated by commas."""
    for each in element.iter("institution"):
        following = each.getnext()
        if following is not None and following.tag == "institution" and not squeeze(each.tail):
            each.tail = ", "
    parts = [child for child in element if child.tag not in ("label", "sup", "xref")]
    has_text = (
        any((child.tail or "").strip(" ,;\n\t") for child in element)
        or (element.text or "").strip()
    )
    if has_text or not parts:
        text = prose(element, ("label", "institution-id"))
        is_marked = len(element) and element[0].tag == "sup" and not squeeze(element.text)
        return text.removeprefix(text_of(element[0]) if is_marked else "").lstrip("*†‡§ ,")
    texts = (
        prose(part, ("institution-id",))
        for part in parts
        if part.tag not in ("institution-id", "email", "ext-link")
    )
    return ", ".join(text.strip(" ,;") for text in texts if text.strip(" ,;"))


def _author(contrib: etree._Element, affiliations: dict[str, str], common: list[str]) -> Author:
    children: dict[str, list[etree._Element]] = {}
    for child in contrib:
        children.setdefault(child.tag, []).append(child)
    marks = [(each.get("ref-type"), each) for each in children.get("xref", ())]
    names = children.get("name") or contrib.findall("name-alternatives/name")
    names = names or list(filter(_is_taken_apart, contrib.iterfind("string-name")))
    names = names or list(
        filter(_is_taken_apart, contrib.iterfind("name-alternatives/string-name"))
    )
    name, collab = next(iter(names), None), next(iter(children.get("collab", ())), None)
    own = [
        affiliations.get(rid, "")
        for kind, each in marks
        if kind == "aff"
        for rid in each.get("rid", "").split()  # one mark may name several
    ]
    inside = children.get("aff", ())
    own += [_affiliation(each) for each in inside if not each.get("id")]
    own += [affiliations[each.get("id", "")] for each in inside if each.get("id")]
    ids = (
        each for each in children.get("contrib-id", ()) if each.get("contrib-id-type") == "orcid"
    )
    orcid = next((found for each in ids if (found := orcid_of(text_of(each)))), "")
    parts = [""] * 3
    if name is not None:
        found_parts = {child.tag: text_of(child) for child in reversed(name)}
        parts = [found_parts.get(part, "") for part in ("given-names", "surname", "suffix")]
    whole = " ".join(filter(None, parts))
    if not whole and collab is not None:
        whole = prose(collab, ("contrib-group", "xref", "aff", "fn"))
    if not whole:
        is_unnamed = contrib.find("anonymous") is not None
        strings = (
            *contrib.iterfind("string-name"),
            *contrib.iterfind("name-alternatives/string-name"),
        )
        whole = "Anonymous" if is_unnamed else text_of(next(iter(strings), None))
    corresponds = any(kind == "corresp" for kind, _ in marks)
    return Author(
        name=whole,
        given=parts[0],
        surname=parts[1],
        suffix=parts[2],
        orcid=orcid,
        email=text_of(next(contrib.iter("email"), None)),
        affiliations=tuple(dict.fromkeys(filter(None, own))) or tuple(common),
        is_corresponding=contrib.get("corresp") == "yes" or corresponds,
        is_group=name is None and collab is not None,
    )


def _is_taken_apart(name: etree._Element) -> bool:
    return name.find("surname") is not None and name.find("given-names") is not None


class _Walk:
    """Goes through an article from block to block, and knows the headings above."""

    def __init__(self, source: XmlSource) -> None:
        self._source = source
        self.blocks: list[Block] = []
        # Found once from within: to look into each paragraph would be a search for each.
        self._with_inner = {
            around
            for inner in source.root.iter(*INNER_BLOCKS)
            for around in inner.iterancestors("p", "preformat")
        }
        self._section: tuple[str, ...] = ()
        self._part = ""
        self._handlers: dict[str, Callable[[etree._Element], None]] = {
            "sec": self._section_of, "p": self._paragraph, "list": self._list, "def-list": self._children,
            "def-item": self._list_item, "fig": self._figure, "fig-group": self._children,
            "table-wrap": self._table, "table-wrap-group": self._children, "disp-quote": self._quote,
            "boxed-text": self._section_of, "disp-formula": self._formula, "fn-group": self._section_of,
            "fn": self._footnote, "ref-list": self._section_of, "ref": self._reference, "ack": self._section_of,
            "app": self._section_of, "app-group": self._section_of, "glossary": self._section_of,
            "notes": self._section_of, "statement": self._section_of, "floats-group": self._children,
            "supplementary-material": self._supplement, "disp-formula-group": self._children,
            "verse-group": self._quote, "preformat": self._paragraph, "bio": self._section_of,
            "media": self._supplement, "caption": self._children, "body": self._children, "back": self._children,
        }  # fmt: skip

    def article(self, article: etree._Element, metadata: Metadata) -> None:
        title = article.find("front/article-meta/title-group/article-title")
        if title is not None and metadata.title:
            self._add("title", metadata.title, title)
        for each in article.iterfind("front/article-meta/abstract"):
            self._abstract(each)
        for each in article.iterfind("front/article-meta/trans-abstract"):
            self._abstract(each)
        self._children(article)
        for each in article.iterchildren("sub-article", "response"):
            self._sub_article(each)

    def _sub_article(self, element: etree._Element) -> None:
        self._part = element.get("article-type") or "sub-article"
        stub = element.find("front-stub")
        title = None if stub is None else stub.find("title-group/article-title")
        if title is not None:
            text = title_text(title)
            self._add("heading", text, title, level=1)
            self._section = (text,)
        self._children(element)
        self._section, self._part = (), ""

    def _children(self, element: etree._Element) -> None:
        handlers = self._handlers
        if element.text and (text := squeeze(element.text)):  # words that stand in no block
            self._add("paragraph", text, element)
        for child in element:
            handler = handlers.get(child.tag)
            if handler is not None:
                handler(child)
            elif child.tag not in UNPRINTED:
                self._unknown(child)
            if child.tail and (text := squeeze(child.tail)):
                self._add("paragraph", text, element)

    def _unknown(self, element: etree._Element) -> None:
        """An element that no version of JATS names here: a section if it holds blocks, else a paragraph."""
        if next(element.iterdescendants(*self._handlers), None) is not None:
            self._section_of(element)
        elif text := text_of(element):
            self._add("paragraph", text, element)

    def _abstract(self, element: etree._Element) -> None:
        before = self._section
        title = child_text(element, "title")
        self._section = (title or "Abstract",)
        for each in element.iter("p", "title"):
            if each.tag == "title" and each.getparent() is not element:
                self._section = (self._section[0], text_of(each))
            elif each.tag == "p" and (text := prose(each, INNER_BLOCKS)):
                self._add("abstract", text, each)
        if element.find(".//p") is None and (text := text_of(element)):
            self._add("abstract", text, element)
        self._section = before

    def _section_of(self, element: etree._Element) -> None:
        before = self._section
        title = element.find("title")
        title = element.find("caption/title") if title is None else title
        text = "" if title is None else title_text(title)
        label = child_text(element, "label")
        if text:
            of = "" if element.tag == "sec" else etree.QName(element).localname
            self._add("heading", text, title, level=len(before) + 1, label=label, of=of)
            self._section = (*before, text)
        self._children(element)
        self._section = before

    def _paragraph(self, element: etree._Element) -> None:
        has_inner = element in self._with_inner
        if text := prose(element, INNER_BLOCKS) if has_inner else text_of(element):
            self._add("paragraph", text, element)
        if has_inner:
            self._inner(element)

    def _inner(self, element: etree._Element) -> None:
        for child in element:
            if child.tag in INNER_BLOCKS:
                self._handlers[child.tag](child)
            else:
                self._inner(child)

    def _list(self, element: etree._Element) -> None:
        for item in element.iterfind("list-item"):
            self._list_item(item)

    def _list_item(self, element: etree._Element) -> None:
        if text := prose(element, (*INNER_BLOCKS, "label")):
            self._add("list_item", text, element, label=child_text(element, "label"))
        self._inner(element)

    def _quote(self, element: etree._Element) -> None:
        if text := text_of(element):
            self._add("quote", text, element)

    def _formula(self, element: etree._Element) -> None:
        if text := prose(element, ("label",)):
            self._add("formula", text, element, label=child_text(element, "label"))

    def _figure(self, element: etree._Element) -> None:
        text = "\n".join(_caption(element))
        self._add("figure", text, element, label=child_text(element, "label"))

    def _supplement(self, element: etree._Element) -> None:
        text = "\n".join(_caption(element))
        label = child_text(element, "label")
        if text or label:
            self._add("figure", text, element, label=label)

    def _table(self, element: etree._Element) -> None:
        rows = [
            [text_of(cell) for cell in row.iterchildren("td", "th")] for row in element.iter("tr")
        ]
        feet = [text_of(each) for each in element.iter("table-wrap-foot")]
        text = "\n".join([*_caption(element), *feet])
        self._add("table", text, element, label=child_text(element, "label"), rows=rows)

    def _footnote(self, element: etree._Element) -> None:
        if text := prose(element, ("label",)):
            self._add("footnote", text, element, label=child_text(element, "label"))

    def _reference(self, element: etree._Element) -> None:
        label, citation, count = "", None, 0
        for child in element:
            if child.tag == "label":
                label = label or text_of(child)
            elif child.tag in _CITATIONS:
                citation = child if citation is None else citation
                count += 1
        if citation is None:  # inside of something else, or the reference is the citation itself
            citation = next(element.iter(*_CITATIONS), element)
        reference = _reference_of(citation, label)
        is_several = count > 1  # under one number: the first is taken apart, and all are read
        text = _several_texts(element) if is_several else citation_text(citation, reference)
        self._add("reference", text, element, label=reference.label, reference=reference)

    def _add(
        self,
        kind: Kind,
        text: str,
        element: etree._Element,
        *,
        level: int = 0,
        label: str = "",
        of: str = "",
        rows: list[list[str]] | None = None,
        reference: Reference | None = None,
    ) -> None:
        self.blocks.append(
            Block(
                kind=kind,
                text=text,
                section=self._section,
                level=level,
                label=label,
                part=self._part,
                source_id=element.get("id") or "",
                of=of,
                rows=rows or [],
                reference=reference,
                where=self._source.place(element),
            )
        )


def _caption(element: etree._Element) -> list[str]:
    caption = element.find("caption")
    if caption is None:
        return []
    lines = [text for each in caption.iter("title", "p") if (text := text_of(each))]
    return lines or [text for text in (text_of(caption),) if text]


def _reference_of(citation: etree._Element, label: str) -> Reference:
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


def _several_texts(element: etree._Element) -> str:
    """All that stands under one number, each citation apart from the next."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag in _CITATIONS:
            pieces.append(citation_text(child, _reference_of(child, "")))
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
