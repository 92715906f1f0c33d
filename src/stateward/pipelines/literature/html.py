"""A web page of a paper: what its `citation_` and Dublin Core tags say, and the text of its main part.

Publishers' pages carry the metadata that Google Scholar asks for; where they do not, the title is the first heading.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree
from lxml import html as lxml_html

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT, TEXT_TOO_LARGE
from stateward.pipelines.literature.identifiers import normal_ids, orcid_of
from stateward.pipelines.literature.linked_data import linked_tags
from stateward.pipelines.literature.paper import (
    Author,
    Block,
    Journal,
    Kind,
    Licence,
    Metadata,
    Note,
    Paper,
    Place,
    Reference,
    iso_date,
    squeeze,
    year_of,
)
from stateward.pipelines.literature.sections import (
    ABSTRACT,
    REFERENCES,
    entry_label,
    heading_label,
    heading_text,
    ids_in,
    is_keywords,
    plain_heading,
    without_label,
)
from stateward.pipelines.literature.xml_text import prose, table_rows, text_of

FORMAT = "html"
NO_METADATA = "NO_METADATA"
DOUBTFUL_ABSTRACT = "DOUBTFUL_ABSTRACT"
ABSTRACT_CHARS_MAX = 4000  # a longer one has no end that the page tells
DROPPED = (
    "script",
    "style",
    "nav",
    "header",
    "footer",
    "aside",
    "form",
    "noscript",
    "template",
    "svg",
    "button",
    "iframe",
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([A-Za-z0-9._-]+)", re.IGNORECASE)
_REFERENCE_LIST = re.compile(r"\b(references?|bibliograph\w*|citations?|ref-list)\b", re.IGNORECASE)
_MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z:]*(?:\s[^<>]*)?/?>")
# What a paragraph below the heading of the references has if it is one: a number or a year.
_CITED = re.compile(r"^\[?[0-9]{1,4}[.)\]]\s|\b(?:1[5-9]|20)[0-9]{2}[a-z]?\b")
_DEGREES = re.compile(r"(?:,\s*(?:M\.?D|Ph\.?\s?D|M\.?Sc|B\.?Sc|MPH|MBBS|DPhil|RN|FRCP)\.?)+$")
_DATE = re.compile(r"([12][0-9]{3})(?:[-/]([0-9]{1,2}))?(?:[-/]([0-9]{1,2}))?")


def read_html(path: Path, *, chars_max: int) -> Paper:
    """A web page."""
    root = _parse(path, chars_max)
    tags = _MetaTags(root)
    main = _main(root)
    metadata = tags.metadata()
    blocks = list(_Blocks(metadata).of(main))
    notes = []
    metadata.abstract = metadata.abstract or _abstract_in(blocks)
    if len(metadata.abstract) > ABSTRACT_CHARS_MAX:
        what = "nothing on the page tells where the abstract ends; text may have been taken for it"
        notes.append(Note(code=DOUBTFUL_ABSTRACT, message=what))
    if not tags.is_citation:
        notes.append(
            Note(
                code=NO_METADATA,
                message="the page has no citation tags and tells search engines of no paper; "
                "title and text are those of its main part",
            )
        )
    return Paper(metadata=metadata, blocks=blocks, notes=notes)


def _parse(path: Path, chars_max: int) -> etree._Element:
    data = path.read_bytes()
    declared = _CHARSET.search(data[:4096])
    encoding = find_encoding(path).name
    if encoding not in ("utf-8", "utf-8-sig", "utf-16", "utf-32") and declared:
        encoding = declared[1].decode()
    try:
        text = data.decode(encoding, "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    if len(text) > chars_max:
        raise FatalFailure(
            f"the page has {len(text)} characters and the limit is {chars_max}", code=TEXT_TOO_LARGE
        )
    text = re.sub(r"^(\s*)<\?xml[^>]*\?>", r"\1", text).replace("\x00", "")
    if not text.strip():
        raise FatalFailure("the page is empty; submit it again", code=EMPTY_DOCUMENT)
    parser = lxml_html.HTMLParser(
        no_network=True, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        return _with_lines(lxml_html.document_fromstring(text, parser=parser))
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise FatalFailure(
            "the page holds no text; submit it again", code=EMPTY_DOCUMENT
        ) from error


def _with_lines(root: etree._Element) -> etree._Element:
    """The page with a blank where a line ends: words of two paragraphs of a cell are two words."""
    for each in root.iter("br", *_BLOCK_LEVEL):
        each.tail = f"\n{each.tail or ''}"
    return root


class _MetaTags:
    """What the head of a page says."""

    def __init__(self, root: etree._Element) -> None:
        self._root = root
        self._tags: list[tuple[str, str]] = []
        for each in root.iter("meta"):
            name = (each.get("name") or each.get("property") or "").lower()
            name = name.removeprefix("bepress_")  # as Digital Commons says the same
            if name and (content := squeeze(each.get("content"))):
                self._tags.append((name, content))
        if not any(name.startswith("citation_") for name, _ in self._tags):
            self._tags = [*linked_tags(root), *self._tags]
        self.is_citation = any(name.startswith("citation_") for name, _ in self._tags)

    def first(self, *names: str) -> str:
        """The first value of the first of these names that there is."""
        for name in names:
            for own, content in self._tags:
                if own == name:
                    return content
        return ""

    def metadata(self) -> Metadata:
        date = self.first(
            "citation_publication_date",
            "citation_date",
            "citation_year",
            "dc.date",
            "prism.publicationdate",
        )
        online = self.first("citation_online_date")
        dates = {"published": _date(date), "epub": _date(online)}
        dates = {name: each for name, each in dates.items() if each}
        keywords = self.first("citation_keywords", "keywords", "dc.subject")
        return Metadata(
            format=FORMAT,
            title=self._title(),
            ids=self._ids(),
            type=self.first("citation_article_type", "dc.type"),
            language=(
                self.first("citation_language", "dc.language") or self._root.get("lang") or ""
            ).lower(),
            authors=self._authors(),
            journal=Journal(
                title=self.first("citation_journal_title", "prism.publicationname"),
                abbreviation=self.first("citation_journal_abbrev"),
                issns=tuple(content for name, content in self._tags if name == "citation_issn"),
                publisher=self.first("citation_publisher", "dc.publisher"),
            ),
            volume=self.first("citation_volume", "prism.volume"),
            issue=self.first("citation_issue", "prism.number"),
            first_page=self.first("citation_firstpage", "prism.startingpage"),
            last_page=self.first("citation_lastpage"),
            dates=dates,
            year=year_of(dates),
            abstract=_without_markup(self.first("citation_abstract", "dc.description"))
            if self.is_citation
            else "",
            keywords=[word.strip() for word in re.split(r"[;,]", keywords) if word.strip()],
            licence=self._licence(),
            retraction="retracted" if self._title().lower().startswith("retracted") else "",
        )

    def _title(self) -> str:
        title = self.first("citation_title", "dc.title", "og:title")
        if title:
            return _without_markup(title)
        heading = self._root.find(".//h1")
        return text_of(heading) or text_of(self._root.find(".//title"))

    def _ids(self) -> dict[str, str]:
        names = {
            "citation_doi": "doi", "dc.identifier": "doi", "prism.doi": "doi", "citation_pmid": "pmid",
            "citation_pmcid": "pmcid", "citation_arxiv_id": "arxiv",
        }  # fmt: skip
        return normal_ids((names[name], content) for name, content in self._tags if name in names)

    def _authors(self) -> list[Author]:
        """Authors; institution, ORCID and address stand after the name that they belong to."""
        found: list[dict[str, list[str]]] = []
        for name, content in self._tags:
            if name in ("citation_author", "dc.creator") and (
                name == "citation_author" or not self.is_citation
            ):
                found.append({"name": [content]})
            elif name == "citation_authors":  # all of them in one
                found += [{"name": [each.strip()]} for each in content.split(";") if each.strip()]
            elif found and name.startswith("citation_author_"):
                found[-1].setdefault(name.removeprefix("citation_author_"), []).append(content)
        return [_author(each) for each in found]

    def _licence(self) -> Licence:
        for each in self._root.iter("a", "link"):
            if "license" in (each.get("rel") or "").split():
                return Licence(url=each.get("href", ""), text=text_of(each))
        return Licence(text=self.first("dc.rights"))


def _abstract_in(blocks: list[Block]) -> str:
    """The paragraphs below the heading of the abstract, with the headings of its parts before theirs."""
    parts: list[str] = []
    section: tuple[str, ...] = ()
    for block in blocks:
        if block.kind == "abstract":
            label = block.section[-1] if block.section != section else ""
            is_part = bool(label) and plain_heading(label) not in ABSTRACT
            parts += [label, block.text] if is_part else [block.text]
            section = block.section
    return "\n".join(parts)


def _without_markup(text: str) -> str:
    """What a tag says, where publishers put the markup of their page into it."""
    if not _MARKUP.search(text):
        return text
    return text_of(_with_lines(lxml_html.fragment_fromstring(text, create_parent="div")))


def _author(found: dict[str, list[str]]) -> Author:
    name = _DEGREES.sub("", found["name"][0])
    surname, comma, given = (part.strip() for part in name.partition(","))
    if not comma:
        given, _, surname = name.rpartition(" ")
    return Author(
        name=f"{given} {surname}".strip(),
        surname=surname,
        given=given,
        orcid=next(map(orcid_of, found.get("orcid", ())), ""),
        email=next(iter(found.get("email", ())), ""),
        affiliations=tuple(found.get("institution", ())),
    )


def _date(text: str) -> str:
    found = _DATE.search(text)
    return iso_date(*(part or "" for part in found.groups())) if found else ""


def _main(root: etree._Element) -> etree._Element:
    """The part of a page that is the paper: an article, what is marked as main, or all but the frame around it."""
    for tag in DROPPED:
        for each in list(root.iter(tag)):
            if tag == "header" and each.find(".//h1") is not None:
                continue  # the head of an article holds its title
            around = each.getparent()
            if tag == "button" and around.tag in HEADINGS and text_of(around) == text_of(each):
                continue  # a heading by which its section is opened
            each.drop_tree()
    candidates = [*root.iter("article"), *root.xpath(".//main | .//*[@role='main']")]
    body = root.find("body")
    whole = root if body is None else body
    best = max(candidates, key=lambda each: len(each.text_content()), default=whole)
    # Where an article is only one teaser among many, its part of the page is small.
    return best if len(best.text_content()) * 2 >= len(whole.text_content()) else whole


class _Blocks:
    """The blocks of the main part."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._section: tuple[str, ...] = ()
        self._levels: list[int] = []
        self._is_title = False

    def of(self, main: etree._Element) -> Iterator[Block]:
        if self._metadata.title:
            yield Block(kind="title", text=self._metadata.title)
        yield from self._walk(main)

    def _walk(self, element: etree._Element) -> Iterator[Block]:
        words = [element.text or ""] if element.tag in _HOLDS_WORDS else []
        for child in element:
            if child.tag in _PHRASES and _is_inline(child):  # a link or an emphasis within a line
                words += [_text_within(child), child.tail or ""]
                continue
            yield from self._words(words, element)
            yield from self._element(child)
            words = [child.tail or ""]
        yield from self._words(words, element)

    def _words(self, words: list[str], element: etree._Element) -> Iterator[Block]:
        """Words that stand in no paragraph, up to the next one, as one."""
        if text := squeeze("".join(words)):
            yield self._block("paragraph", text, element)

    def _element(self, element: etree._Element) -> Iterator[Block]:
        tag = element.tag
        if tag in HEADINGS:
            yield from self._heading(element, HEADINGS[tag])
        elif tag == "table":
            caption = text_of(element.find("caption"))
            yield self._block("table", caption, element, rows=table_rows(element))
        elif tag == "figure":
            yield self._block("figure", text_of(element.find("figcaption")), element)
            yield from (block for each in element.iter("table") for block in self._element(each))
        elif tag in ("ol", "ul"):
            for item in element.iterchildren("li"):
                yield from self._item(item)
        elif tag in ("p", "pre", "blockquote", "dt", "dd"):
            if text := text_of(element):
                yield self._block("quote" if tag == "blockquote" else "paragraph", text, element)
        elif _is_inline(element):
            if text := text_of(element):
                yield self._block("paragraph", text, element)
        else:
            yield from self._walk(element)

    def _heading(self, element: etree._Element, level: int) -> Iterator[Block]:
        text = text_of(element)
        if not text or text == self._metadata.title:
            return
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        self._section = self._section[: len(self._levels)]
        name = heading_text(text)
        yield Block(
            kind="heading",
            text=name,
            section=self._section,
            level=len(self._levels) + 1,
            label=heading_label(text),
            source_id=element.get("id") or "",
            where=Place(line=element.sourceline),
        )
        self._levels.append(level)
        self._section = (*self._section, name)

    def _item(self, item: etree._Element) -> Iterator[Block]:
        text = prose(item, ("ol", "ul"))
        if text and self._is_reference(item):
            links = " ".join(each.get("href") or "" for each in item.iter("a"))
            reference = Reference(ids={**ids_in(links), **ids_in(text)})
            yield self._block("reference", text, item, reference=reference)
        elif text:
            yield self._block("list_item", text, item)
        for inner in item.iterchildren("ol", "ul"):
            yield from self._element(inner)

    def _is_cited(self) -> bool:
        return bool({plain_heading(each) for each in self._section} & REFERENCES)

    def _is_reference(self, item: etree._Element) -> bool:
        if self._is_cited():
            return True
        around = [item, *item.iterancestors()][:4]
        names = " ".join(f"{each.get('class') or ''} {each.get('id') or ''}" for each in around)
        return bool(_REFERENCE_LIST.search(names.replace("_", "-")))

    def _block(
        self,
        kind: Kind,
        text: str,
        element: etree._Element,
        *,
        rows: list[list[str]] | None = None,
        reference: Reference | None = None,
    ) -> Block:
        is_abstract = bool({plain_heading(each) for each in self._section} & ABSTRACT)
        if kind == "paragraph" and is_abstract and not is_keywords(text):
            kind = "abstract"
        if kind == "paragraph" and self._is_cited() and _CITED.search(text):
            links = " ".join(each.get("href") or "" for each in element.iter("a"))
            reference = Reference(label=entry_label(text), ids={**ids_in(links), **ids_in(text)})
            kind, text = "reference", without_label(text)
        return Block(
            kind=kind,
            text=text,
            section=self._section,
            source_id=element.get("id") or "",
            rows=rows or [],
            reference=reference,
            where=Place(line=element.sourceline),
        )


_BLOCK_LEVEL = frozenset(
    (
        *HEADINGS,
        "table",
        "figure",
        "ol",
        "ul",
        "p",
        "pre",
        "blockquote",
        "div",
        "section",
        "article",
        "main",
        "dl",
        "dt",
        "dd",
        "li",
        "tr",
        "td",
        "th",
        "address",
        "center",
        "details",
        "summary",
        "figcaption",
        "caption",
    )
)


_HOLDS_WORDS = frozenset(("div", "section", "article", "main", "body"))
_PHRASES = frozenset(
    ("a", "abbr", "b", "bdi", "br", "cite", "code", "em", "i", "mark", "q", "s", "small", "span", "strong", "sub",
     "sup", "u", "wbr")
)  # fmt: skip


def _text_within(element: etree._Element) -> str:
    return str(etree.tostring(element, method="text", encoding="unicode", with_tail=False))


def _is_inline(element: etree._Element) -> bool:
    """Whether an element holds words and no blocks; one that is a block itself may."""
    return next(element.iterdescendants(*_BLOCK_LEVEL), None) is None
