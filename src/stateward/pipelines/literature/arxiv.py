"""The Atom entry that arXiv's API gives of a paper: title, authors, abstract, subjects; no body."""

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import UNSUPPORTED_FORMAT
from stateward.pipelines.literature.identifiers import normal_ids
from stateward.pipelines.literature.paper import Author, Block, Journal, Metadata, Paper
from stateward.pipelines.literature.xml_source import XmlSource
from stateward.pipelines.literature.xml_text import child_text, text_of

FORMAT = "arxiv"
ATOM, ARXIV = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"


def read_arxiv(data: bytes) -> Paper:
    """The one paper of an answer."""
    source = XmlSource(data, block_tags=("title", "summary"))
    entries = source.root.findall(f"{ATOM}entry")
    if len(entries) != 1:
        raise FatalFailure(
            f"the feed holds {len(entries)} papers, and a record is one", code=UNSUPPORTED_FORMAT
        )
    (entry,) = entries
    number = child_text(entry, f"{ATOM}id").rpartition("/abs/")[2]
    published = child_text(entry, f"{ATOM}published")[:10]
    title, abstract = child_text(entry, f"{ATOM}title"), child_text(entry, f"{ATOM}summary")
    metadata = Metadata(
        format=FORMAT,
        title=title,
        ids=normal_ids([("arxiv", number), ("doi", child_text(entry, f"{ARXIV}doi"))]),
        type="preprint",
        authors=[_author(each) for each in entry.findall(f"{ATOM}author")],
        journal=Journal(title=child_text(entry, f"{ARXIV}journal_ref") or "arXiv"),
        dates={"published": published, "updated": child_text(entry, f"{ATOM}updated")[:10]},
        year=int(published[:4]) if published[:4].isdecimal() else None,
        abstract=abstract,
        subjects=[each.get("term", "") for each in entry.findall(f"{ATOM}category")],
    )
    blocks = [
        Block(kind="title", text=title),
        Block(kind="abstract", text=abstract, section=("Abstract",)),
    ]
    return Paper(metadata=metadata, blocks=[each for each in blocks if each.text])


def _author(element: etree._Element) -> Author:
    name = child_text(element, f"{ATOM}name")
    given, _, surname = name.rpartition(" ")
    affiliations = tuple(text_of(each) for each in element.findall(f"{ARXIV}affiliation"))
    return Author(name=name, surname=surname, given=given, affiliations=affiliations)
