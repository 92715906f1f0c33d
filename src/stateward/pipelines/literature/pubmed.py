"""PubMed's XML, as E-utilities deliver it, as a paper: a citation and its abstract, no body.

A `PubmedArticle` is one of a journal, a `PubmedBookArticle` a book or a chapter of it.
"""

import re
from collections.abc import Iterable, Iterator

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import UNSUPPORTED_FORMAT
from stateward.pipelines.literature.identifiers import DOI, normal_id, normal_ids, orcid_of
from stateward.pipelines.literature.paper import (
    SEVERAL_PAPERS,
    Author,
    Block,
    Journal,
    Licence,
    Metadata,
    OtherAbstract,
    OtherTitle,
    Paper,
    Reference,
    Related,
    Retraction,
    iso_date,
    squeeze,
    year_of,
)
from stateward.pipelines.literature.xml_source import XmlSource
from stateward.pipelines.literature.xml_text import child_text, text_of

FORMAT = "pubmed"
BLOCK_TAGS = ("ArticleTitle", "BookTitle", "AbstractText", "SectionTitle", "Reference")
ID_TYPES = {"pubmed": "pmid", "pmc": "pmcid", "doi": "doi"}
# What PubMed calls relations, as JATS does.
RELATIONS = {
    "RetractionIn": "retraction-forward",
    "RetractionOf": "retracted-article",
    "ExpressionOfConcernIn": "concern-forward",
    "ExpressionOfConcernFor": "object-of-concern",
    "ErratumIn": "correction-forward",
    "ErratumFor": "corrected-article",
}
# What every article is, and who paid for it.
_PLAIN_TYPE = re.compile(r"Journal Article$|Research Support,")
_YEAR = re.compile(r"\b[12][0-9]{3}\b")


def read_pubmed(data: bytes) -> Paper:
    """The one citation of a file."""
    source = XmlSource(data, block_tags=BLOCK_TAGS)
    articles = list(source.root.iter("PubmedArticle", "PubmedBookArticle"))
    if len(articles) != 1:
        raise FatalFailure(
            f"the file holds {len(articles)} citations, and a record is one paper; "
            "`stateward literature add FILE` makes a record for each of them",
            code=SEVERAL_PAPERS if articles else UNSUPPORTED_FORMAT,
        )
    (article,) = articles
    if (document := article.find("BookDocument")) is not None:
        metadata = _book_metadata(article, document)
        return Paper(metadata=metadata, blocks=list(_book_blocks(source, document, metadata)))
    citation = article.find("MedlineCitation")
    if citation is None or citation.find("Article") is None:
        raise FatalFailure("the XML holds no PubMed article", code=UNSUPPORTED_FORMAT)
    metadata = _metadata(article, citation)
    return Paper(metadata=metadata, blocks=list(_blocks(source, article, metadata)))


def _metadata(record: etree._Element, citation: etree._Element) -> Metadata:
    article = citation.find("Article")
    related = [
        _related_papers(each)
        for each in citation.iterfind("CommentsCorrectionsList/CommentsCorrections")
    ]
    types = [text_of(each) for each in article.iterfind("PublicationTypeList/PublicationType")]
    dates = _dates(record, article)
    issue = article.find("Journal/JournalIssue")
    first, last = _pages(child_text(article, "Pagination/MedlinePgn"))
    return Metadata(
        format=FORMAT,
        title=child_text(article, "ArticleTitle"),
        ids=_ids(record, citation, article),
        type=next((each for each in types if not _PLAIN_TYPE.match(each)), "journal article"),
        language=child_text(article, "Language"),
        authors=[
            _author(each)
            for each in article.iterfind("AuthorList/Author")
            if each.get("ValidYN") != "N"  # as it was misspelt once; the name itself follows
        ],
        journal=Journal(
            title=child_text(article, "Journal/Title"),
            abbreviation=child_text(article, "Journal/ISOAbbreviation"),
            issns=tuple(text_of(each) for each in article.iterfind("Journal/ISSN")),
        ),
        volume="" if issue is None else child_text(issue, "Volume"),
        issue="" if issue is None else child_text(issue, "Issue"),
        first_page=first,
        last_page=last,
        dates=dates,
        year=year_of(dates),
        other_titles=[
            OtherTitle(text=text_of(each), language=child_text(article, "Language"))
            for each in article.iterfind("VernacularTitle")
        ],
        abstract="\n".join(_abstract_lines(article.find("Abstract"))),
        other_abstracts=[
            OtherAbstract(
                type=each.get("Type", ""),
                text="\n".join(_abstract_lines(each)),
                language=each.get("Language", ""),
            )
            for each in citation.iterfind("OtherAbstract")
        ],
        keywords=[text_of(each) for each in citation.iterfind("KeywordList/Keyword")],
        subjects=[
            text_of(each)
            for each in citation.iterfind("MeshHeadingList/MeshHeading/DescriptorName")
        ],
        licence=Licence(copyright=child_text(article, "Abstract/CopyrightInformation")),
        retraction=_retraction(types, related),
        related=related,
    )


def _book_metadata(record: etree._Element, document: etree._Element) -> Metadata:
    """Of a chapter, which has its own title and authors in the book; else of the book."""
    chapter, book = child_text(document, "ArticleTitle"), child_text(document, "Book/BookTitle")
    types = [text_of(each) for each in document.iterfind("PublicationType")]
    own = [each for each in document.iterfind("AuthorList") if each.get("Type") != "editors"]
    of_book = [each for each in document.iterfind("Book/AuthorList") if _wrote(each, own, chapter)]
    dates = _book_dates(document)
    first, last = _pages(child_text(document, "Pagination/MedlinePgn"))
    pairs = [("pmid", child_text(document, "PMID"))]
    pairs += _id_pairs(document.iterfind("ArticleIdList/ArticleId"))
    pairs += _id_pairs(record.iterfind("PubmedBookData/ArticleIdList/ArticleId"))
    return Metadata(
        format=FORMAT,
        title=chapter or book,
        ids=normal_ids(pairs),
        type=next(iter(types), "book chapter" if chapter else "book"),
        language=child_text(document, "Language"),
        authors=[
            _author(each)
            for listed in (*own, *of_book)
            for each in listed.iterfind("Author")
            if each.get("ValidYN") != "N"
        ],
        journal=Journal(
            title=book if chapter else child_text(document, "Book/CollectionTitle"),
            publisher=child_text(document, "Book/Publisher/PublisherName"),
        ),
        volume=child_text(document, "Book/Volume"),
        first_page=first,
        last_page=last,
        dates=dates,
        year=year_of(dates),
        abstract="\n".join(_abstract_lines(document.find("Abstract"))),
        keywords=[text_of(each) for each in document.iterfind("KeywordList/Keyword")],
        licence=Licence(copyright=child_text(document, "Abstract/CopyrightInformation")),
    )


def _wrote(authors: etree._Element, own: list[etree._Element], chapter: str) -> bool:
    """Whether the authors of a book are those of what is cited: of the book itself, or of a chapter that names none."""
    return authors.get("Type") != "editors" and not (own and chapter)


def _book_dates(document: etree._Element) -> dict[str, str]:
    """When the chapter came into the book, which may have begun long before; that of the book where nothing says so."""
    named = {"epub": "ContributionDate", "revised": "DateRevised"}
    found = {name: document.find(tag) for name, tag in named.items()}
    dates = {name: _date(each) for name, each in found.items() if each is not None}
    book = document.find("Book/PubDate")
    if not dates.get("epub") and book is not None:
        dates["ppub"] = _date(book)
    return {name: date for name, date in dates.items() if date}


def _ids(
    record: etree._Element, citation: etree._Element, article: etree._Element
) -> dict[str, str]:
    pairs = [("pmid", child_text(citation, "PMID"))]
    pairs += _id_pairs(record.iterfind("PubmedData/ArticleIdList/ArticleId"))
    pairs += [
        ("doi", text_of(each))
        for each in article.iterfind("ELocationID")
        if each.get("EIdType") == "doi" and each.get("ValidYN", "Y") == "Y"
    ]
    for bank in article.iterfind("DataBankList/DataBank"):
        if child_text(bank, "DataBankName") == "ClinicalTrials.gov":
            pairs += [("nct", text_of(each)) for each in bank.iter("AccessionNumber")]
    return normal_ids(pairs)


def _id_pairs(elements: Iterable[etree._Element]) -> list[tuple[str, str]]:
    return [(ID_TYPES.get(each.get("IdType", ""), ""), text_of(each)) for each in elements]


def _author(element: etree._Element) -> Author:
    surname, given = child_text(element, "LastName"), child_text(element, "ForeName")
    given = given or child_text(element, "Initials")
    suffix, group = child_text(element, "Suffix"), child_text(element, "CollectiveName")
    orcids = (
        each for each in element.iterfind("Identifier") if each.get("Source", "").lower() == "orcid"
    )
    return Author(
        name=group or " ".join(filter(None, (given, surname, suffix))),
        surname=surname,
        given=given,
        suffix=suffix,
        orcid=next((orcid_of(text_of(each)) for each in orcids), ""),
        affiliations=tuple(
            text_of(each) for each in element.iterfind("AffiliationInfo/Affiliation")
        ),
        is_group=bool(group),
    )


def _dates(record: etree._Element, article: etree._Element) -> dict[str, str]:
    dates: dict[str, str] = {}
    issue = article.find("Journal/JournalIssue/PubDate")
    if issue is not None:
        dates["ppub"] = _date(issue) or iso_date(
            *_YEAR.findall(child_text(issue, "MedlineDate"))[:1] or [""]
        )
    for each in article.iterfind("ArticleDate"):
        dates["epub"] = _date(each)
    for each in record.iterfind("PubmedData/History/PubMedPubDate"):
        if each.get("PubStatus") in ("received", "accepted", "revised"):
            dates[each.get("PubStatus", "")] = _date(each)
    return {name: date for name, date in dates.items() if date}


def _date(element: etree._Element) -> str:
    return iso_date(*(child_text(element, name) for name in ("Year", "Month", "Day")))


def _pages(text: str) -> tuple[str, str]:
    """The first and the last page in full: PubMed writes 1865-76, or S12-9; quiz S30 for S12 to S19."""
    first, _, last = re.split(r"[;,]", text, maxsplit=1)[0].partition("-")
    first, last = first.strip(), last.strip()
    is_short = first[-1:].isdecimal() and last.isdecimal() and len(last) < len(first)
    return first, first[: len(first) - len(last)] + last if is_short else last


def _abstract_lines(abstract: etree._Element | None) -> Iterator[str]:
    for each in abstract.iterfind("AbstractText") if abstract is not None else ():
        if label := squeeze(each.get("Label")):
            yield label
        if text := text_of(each):
            yield text


def _related_papers(element: etree._Element) -> Related:
    kind = element.get("RefType", "")
    source, pmid = child_text(element, "RefSource"), child_text(element, "PMID")
    doi = DOI.search(source)
    found = normal_id("pmid", pmid) or (normal_id("doi", doi[0]) if doi else "")
    return Related(type=RELATIONS.get(kind, kind), id=found, text=source)


def _retraction(types: list[str], related: list[Related]) -> Retraction:
    relations = {each.type for each in related}
    if "Retraction of Publication" in types or "retracted-article" in relations:
        return "notice"
    if "Retracted Publication" in types or "retraction-forward" in relations:
        return "retracted"
    is_doubted = "Expression of Concern" in types or "concern-forward" in relations
    return "concern" if is_doubted else ""


def _blocks(source: XmlSource, record: etree._Element, metadata: Metadata) -> Iterator[Block]:
    article = record.find("MedlineCitation/Article")
    title = article.find("ArticleTitle")
    if metadata.title:
        yield Block(kind="title", text=metadata.title, where=source.place(title))
    yield from _abstract_blocks(source, article)
    yield from _reference_blocks(source, record.iterfind("PubmedData/ReferenceList//Reference"))


def _book_blocks(
    source: XmlSource, document: etree._Element, metadata: Metadata
) -> Iterator[Block]:
    title = document.find("ArticleTitle")
    title = document.find("Book/BookTitle") if title is None else title
    if metadata.title:
        yield Block(kind="title", text=metadata.title, where=source.place(title))
    yield from _abstract_blocks(source, document)
    # Its sections are named, and their texts are not in the file.
    for each in document.iterfind("Sections//Section/SectionTitle"):
        if text := text_of(each):
            yield Block(kind="heading", text=text, level=1, where=source.place(each))
    yield from _reference_blocks(source, document.iterfind("ReferenceList//Reference"))


def _abstract_blocks(source: XmlSource, article: etree._Element) -> Iterator[Block]:
    for each in article.iterfind("Abstract/AbstractText"):
        label = squeeze(each.get("Label"))
        section = ("Abstract", label) if label else ("Abstract",)
        if text := text_of(each):
            yield Block(kind="abstract", text=text, section=section, where=source.place(each))


def _reference_blocks(source: XmlSource, references: Iterable[etree._Element]) -> Iterator[Block]:
    for each in references:
        text = child_text(each, "Citation")
        reference = Reference(ids=normal_ids(_id_pairs(each.iter("ArticleId"))))
        yield Block(kind="reference", text=text, reference=reference, where=source.place(each))
