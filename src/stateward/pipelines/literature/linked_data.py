"""What a page tells search engines of a paper (JSON-LD of schema.org), in the names of citation tags.

Only what calls itself a scholarly work counts: every page of news is an article.
"""

import json
import re
from collections.abc import Iterator
from typing import TypeAlias

from lxml import etree

from stateward.pipelines.literature.identifiers import DOI
from stateward.pipelines.literature.paper import squeeze

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Tags: TypeAlias = list[tuple[str, str]]

SCHOLARLY = frozenset({"ScholarlyArticle", "MedicalScholarlyArticle", "Thesis", "Chapter"})
BLOCKS_MAX, BLOCK_CHARS_MAX, DEPTH_MAX = 20, 1_000_000, 8
AUTHORS_MAX = 5_000
_ORCID = re.compile(r"orcid\.org/([0-9X-]{19})")


def linked_tags(root: etree._Element) -> Tags:
    """The tags of the first scholarly work of a page; none if it tells of none."""
    scripts = root.xpath(".//script[contains(@type, 'ld+json')]")
    for each in scripts[:BLOCKS_MAX]:
        try:
            told: Json = json.loads((each.text or "")[:BLOCK_CHARS_MAX])
        except (ValueError, RecursionError):
            continue
        if (work := next(_works(told, 0), None)) is not None:
            return [(name, text) for name, told in _tags(work) if (text := squeeze(told))]
    return []


def _works(told: Json, depth: int) -> Iterator[dict[str, Json]]:
    if depth > DEPTH_MAX:
        return
    if isinstance(told, list):
        for each in told:
            yield from _works(each, depth + 1)
    elif isinstance(told, dict):
        if SCHOLARLY & {*_texts(told.get("@type"))}:
            yield told
        for key in ("mainEntity", "mainEntityOfPage", "@graph"):
            yield from _works(told.get(key), depth + 1)


def _tags(work: dict[str, Json]) -> Iterator[tuple[str, str]]:
    yield "citation_title", _first(work, "headline", "name")
    for author in _all(work.get("author") or work.get("creator"))[:AUTHORS_MAX]:
        yield from _author_tags(author)
    yield "citation_publication_date", _first(work, "datePublished", "dateCreated")
    links = (
        text
        for key in ("sameAs", "identifier", "@id", "url", "doi")
        for text in _texts(work.get(key))
    )
    yield "citation_doi", next((doi[0] for text in links if (doi := DOI.search(text))), "")
    for part in _parts(work.get("isPartOf")):
        kinds = {*_texts(part.get("@type"))}
        if "Periodical" in kinds or "Book" in kinds or not kinds:
            yield "citation_journal_title", _first(part, "name")
        yield "citation_volume", _first(part, "volumeNumber")
        yield "citation_issue", _first(part, "issueNumber")
        for issn in _texts(part.get("issn")):
            yield "citation_issn", issn
    first, last = _first(work, "pageStart"), _first(work, "pageEnd")
    if not first:
        first, _, last = _first(work, "pagination").replace("\u2013", "-").partition("-")
    yield "citation_firstpage", first
    yield "citation_lastpage", last
    yield "citation_publisher", _first(work, "publisher")
    yield "citation_abstract", _first(work, "abstract", "description")
    yield "citation_keywords", "; ".join(_texts(work.get("keywords")))
    yield "citation_language", _first(work, "inLanguage")


def _author_tags(author: Json) -> Iterator[tuple[str, str]]:
    """The name of an author, then what belongs to it; a family name goes before a comma, as in citation tags."""
    if isinstance(author, str):
        yield "citation_author", author
    if not isinstance(author, dict):
        return
    family, given = _first(author, "familyName"), _first(author, "givenName")
    yield "citation_author", f"{family}, {given}" if family and given else _first(author, "name")
    for each in _all(author.get("affiliation")):
        yield "citation_author_institution", _first({"": each}, "")
    links = " ".join(
        text for key in ("@id", "sameAs", "identifier", "url") for text in _texts(author.get(key))
    )
    if orcid := _ORCID.search(links):
        yield "citation_author_orcid", orcid[1]
    yield "citation_author_email", _first(author, "email").removeprefix("mailto:")


def _parts(told: Json) -> Iterator[dict[str, Json]]:
    """What a work is part of, from the nearest on: an issue, its volume, the journal."""
    for _ in range(DEPTH_MAX):
        told = told[0] if isinstance(told, list) and told else told
        if not isinstance(told, dict):
            return
        yield told
        told = told.get("isPartOf")


def _first(told: dict[str, Json], *keys: str) -> str:
    """The first text of the first of these keys that has one; of an object its name."""
    return next((text for key in keys for text in _texts(told.get(key)) if text.strip()), "")


def _texts(told: Json) -> list[str]:
    texts: list[str] = []
    for each in _all(told):
        named = (
            (each.get("name") or each.get("value") or each.get("@id"))
            if isinstance(each, dict)
            else each
        )
        if isinstance(named, (str, int)) and not isinstance(named, bool):
            texts.append(str(named))
    return texts


def _all(told: Json) -> list[Json]:
    return told if isinstance(told, list) else [told]
