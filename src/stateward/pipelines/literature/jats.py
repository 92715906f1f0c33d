"""JATS, the XML in which publishers and PMC deliver articles, as a paper.

Front matter is read field by field; the body is walked from block to block, never into the words of a paragraph, which
libxml2 joins itself. Sub-articles (decision letters, translations) are parts of their own: none of their titles and
references count as those of the article.
"""

from collections.abc import Callable, Iterator

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import UNSUPPORTED_FORMAT
from stateward.pipelines.literature.jats_front import Front
from stateward.pipelines.literature.jats_references import (
    CITATIONS,
    citation_text,
    parts_and_print,
    reference_of,
    several_texts,
    without_number,
)
from stateward.pipelines.literature.paper import (
    Block,
    Kind,
    Metadata,
    Note,
    Paper,
    Reference,
    squeeze,
)
from stateward.pipelines.literature.xml_source import XmlSource
from stateward.pipelines.literature.xml_text import (
    child_text,
    part_children,
    prose,
    table_rows,
    text_of,
    title_text,
)

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
# Whose children are lines: paragraphs of an item, a term and what it means. Cells are looked at where they are read.
HOLDS_LINES = (
    "list-item", "fn", "disp-quote", "def", "def-item", "verse-group", "table-wrap-foot", "caption",
)  # fmt: skip
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
    _part_lines(article)
    front = Front(article)
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
    if article.find("body") is None:
        yield Note(
            code="NO_BODY",
            message="the article has no body: some publishers give readers of XML the abstract alone",
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


def _part_lines(article: etree._Element) -> None:
    """Put a blank where one line ends and another begins: publishers write no blank between two elements there."""
    for each in article.iter("break", "disp-formula", *HOLDS_LINES):
        if each.tag == "break":
            each.tail = f" {each.tail or ''}"
        elif each.tag == "disp-formula":
            _part_formula(each)
        elif len(each) > 1:
            part_children(each)


def _part_formula(formula: etree._Element) -> None:
    """Put a blank around a formula that stands on a line of its own within a paragraph."""
    around, before = formula.getparent(), formula.getprevious()
    if around.tag != "p":
        return
    formula.tail = f" {formula.tail or ''}"
    if before is None:
        around.text = f"{around.text or ''} "
    else:
        before.tail = f"{before.tail or ''} "


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
            "def-item": self._list_item, "fig": self._figure, "fig-group": self._figures,
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

    def _figures(self, element: etree._Element) -> None:
        """Several figures under one number: what is said of them all, then each."""
        caption = element.find("caption")
        if caption is not None:
            self._figure(element)
        for child in element:
            if child is not caption and child.tag in self._handlers:
                self._handlers[child.tag](child)

    def _supplement(self, element: etree._Element) -> None:
        text = "\n".join(_caption(element))
        label = child_text(element, "label")
        if text or label:
            self._add("figure", text, element, label=label)

    def _table(self, element: etree._Element) -> None:
        feet = [text_of(each) for each in element.iter("table-wrap-foot")]
        text = "\n".join([*_caption(element), *feet])
        self._add(
            "table", text, element, label=child_text(element, "label"), rows=table_rows(element)
        )

    def _footnote(self, element: etree._Element) -> None:
        if text := prose(element, ("label",)):
            self._add("footnote", text, element, label=child_text(element, "label"))

    def _reference(self, element: etree._Element) -> None:
        label, citations = "", []
        for child in element:
            if child.tag == "label":
                label = label or text_of(child)
            elif child.tag in CITATIONS:
                citations.append(child)
        # Inside of something else, or the reference is the citation itself.
        found = citations or list(element.iter(*CITATIONS)) or [element]
        parts, printed = (found[0], found[0]) if len(found) == 1 else parts_and_print(found)
        reference = reference_of(parts, label)
        written = self._source.written(element)
        # Several under one number: the first is taken apart, and all are read.
        is_several = len(citations) > 1 and parts is printed
        text = (
            several_texts(element, written)
            if is_several
            else citation_text(printed, reference, written)
        )
        if parts is not printed:  # what is printed often holds the number too
            text = without_number(text, label)
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
