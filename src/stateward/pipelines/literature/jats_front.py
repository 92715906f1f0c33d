"""The front matter of JATS, field by field."""

from collections.abc import Iterator

from lxml import etree

from stateward.pipelines.literature.identifiers import normal_id, normal_ids, orcid_of
from stateward.pipelines.literature.paper import (
    Author,
    Journal,
    Licence,
    Metadata,
    OtherAbstract,
    OtherTitle,
    Related,
    Retraction,
    iso_date,
    squeeze,
    year_of,
)
from stateward.pipelines.literature.xml_text import (
    child_text,
    joined_title,
    prose,
    text_of,
    title_text,
)

FORMAT = "jats"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
ALI_LICENCE = "{http://www.niso.org/schemas/ali/1.0/}license_ref"
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
    "epub-ppub": "published",
}  # fmt: skip

# Of the forms in which a paper was published at once, where one is named beside the date.
FORMATS = {"electronic": "epub", "online": "epub", "print": "ppub"}
# Dates among those of publication on which nothing was published: when an author sent in a manuscript, and what
# came after.
UNPUBLISHED = frozenset(
    {
        "nihms-submitted",
        "pmc-release",
        "received",
        "rev-recd",
        "accepted",
        "corrected",
        "ecorrected",
        "retracted",
    }
)

# What publishers call the abstract itself, where they name its type.
ORDINARY_ABSTRACTS = frozenset(
    {"abstract", "standard", "regular", "normal", "main", "author", "summary"}
)


class Front:
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
        return Metadata(
            format=FORMAT,
            title=_whole_title(meta.find("title-group"), "article-title", "subtitle"),
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
            other_titles=[
                OtherTitle(text=text, language=each.get(XML_LANG) or "")
                for each in meta.iterfind("title-group/*")
                if (text := _other_title(each))
            ],
            abstract=main,
            other_abstracts=others,
            keywords=[text for each in meta.iterfind("kwd-group//kwd") if (text := text_of(each))],
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
        for each in self._meta.iter(
            "aff-alternatives"
        ):  # one place in several languages: the first
            affiliations[each.get("id", "")] = next(map(_affiliation, each.iterfind("aff")), "")
        authors: list[Author] = []
        for group in self._meta.iterfind("contrib-group"):
            # An affiliation without an id is that of everybody in its group.
            common = [_affiliation(each) for each in group.iterfind("aff") if not each.get("id")]
            authors += [
                _author(contrib, affiliations, common)
                for contrib in group.iterfind("contrib")
                if contrib.get("contrib-type", "author").lower() == "author"
            ]
        return authors

    def _dates(self) -> dict[str, str]:
        dates: dict[str, str] = {}
        for each in self._meta.iterfind("pub-date"):
            if date := _date(each):
                dates.setdefault(_date_name(each), date)
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
            text="" if own is None else prose(own, (ALI_LICENCE,)),
            copyright=child_text(permissions, "copyright-statement"),
        )

    def _related_papers(self) -> Iterator[Related]:
        for each in self._meta.iterfind("related-article"):
            link = each.get(XLINK_HREF, "")
            found = normal_id("doi", link) or link
            yield Related(type=each.get("related-article-type", ""), id=found, text=text_of(each))


def _whole_title(group: etree._Element | None, name: str, below: str) -> str:
    """The title of a group, with what stands below it."""
    found = [None if group is None else group.find(each) for each in (name, below)]
    return joined_title(*("" if each is None else title_text(each) for each in found))


def _other_title(element: etree._Element) -> str:
    """A title in another language; older versions of JATS put it beside the title, without a group."""
    if element.tag == "trans-title":
        return title_text(element)
    is_group = element.tag == "trans-title-group"
    return _whole_title(element, "trans-title", "trans-subtitle") if is_group else ""


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


def _date_name(element: etree._Element) -> str:
    """Which date it is; that of publication by the form in which it was published, where that is said."""
    kind = element.get("pub-type") or element.get("date-type") or ""
    if kind in UNPUBLISHED:
        return kind
    name = PUBLISHED.get(kind, "published")
    form = element.get("publication-format", "")
    return FORMATS.get(form, name) if name == "published" else name


def _date(element: etree._Element) -> str:
    found = iso_date(*(child_text(element, name) for name in ("year", "month", "day")))
    return found or (element.get("iso-8601-date") or "")[:10]


def _affiliation(element: etree._Element) -> str:
    """An affiliation without its mark and numbers; parts that the source takes apart are separated by commas.

    Where the source gives it as it is printed and taken apart (SciELO), it is what is printed.
    """
    for each in element.iterfind("institution"):
        if each.get("content-type") == "original":
            return text_of(each)
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
    is_eastern = name is not None and name.get("name-style") == "eastern"
    whole = " ".join(filter(None, (parts[1], parts[0], parts[2]) if is_eastern else parts))
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
