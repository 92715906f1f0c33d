"""Clauses as items: the parts of a document with their places, and the type of each.

Shared by the two stages of `clauses` and by the `contract` machine, whose contracts have the same clauses.
"""

from collections.abc import Iterable, Iterator

from stateward.core.model import Fields, Json
from stateward.pipelines.clauses.segments import segments_of
from stateward.pipelines.clauses.split import ANNEX, CLAUSE, Contract, Part, split_clauses
from stateward.pipelines.clauses.types import SURE, Typed, clause_type, topics_of, type_titles
from stateward.pipelines.kit.documents import TextDocument, locate

TYPED_KINDS = (CLAUSE, ANNEX)


def clauses_of(document: TextDocument) -> list[Fields]:
    """The clauses of a document, each with its type; none if it has neither numbers nor headings."""
    contract = split_clauses(segments_of(document))
    return list(typed_clauses(part_items(contract, document)))


def part_items(contract: Contract, document: TextDocument) -> Iterator[Fields]:
    """Every part of a contract as an item, in order."""
    whole, offsets = document.text, _page_offsets(document)
    for index, part in enumerate(contract.parts):
        yield _item(index, part, document, whole, offsets)


def typed_clauses(parts: Iterable[Fields]) -> Iterator[Fields]:
    """Every clause with its type; a clause below another may have its type from there."""
    titles = type_titles()
    typed: dict[int, Typed] = {}
    for item in parts:
        if item["kind"] not in TYPED_KINDS:
            continue
        parent = item.get("parent")
        above = typed.get(parent) if isinstance(parent, int) else None
        found = clause_type(str(item["heading"]), str(item["text"]), above=above)
        typed[int(str(item["part"]))] = found
        yield _clause(item, found, titles[found.type])


def _clause(item: Fields, found: Typed, title: str) -> Fields:
    return {
        "path": item["path"],
        "number": item["number"],
        "heading": item["heading"],
        "type": found.type,
        "title": title,
        "confidence": found.confidence,
        "is_sure": found.confidence >= SURE,
        "topics": list(topics_of(str(item["text"]), besides=found.type)),
        "matched": list(found.matched),
        "flags": list(found.flags),
        "level": item["level"],
        "page": item["page"],
        "text": item["text"],
        "where": item["where"],
    }


def _item(index: int, part: Part, document: TextDocument, whole: str, offsets: list[int]) -> Fields:
    spans: list[Json] = [[start, end] for start, end in part.spans]
    return {
        "part": index,
        "kind": part.kind,
        "number": part.number,
        "heading": part.heading,
        "level": part.level,
        "path": " ".join([*part.around, part.number]).strip(),
        "parent": part.parent,
        "page": part.page,
        "spans": spans,
        "text": part.text(whole),
        "where": _where(part, document, whole, offsets),
    }


def _where(part: Part, document: TextDocument, whole: str, offsets: list[int]) -> Fields:
    """The first span on its page, without the blanks around it, and the box around it."""
    start, end = part.spans[0]
    text = whole[start:end]
    start += len(text) - len(text.lstrip())
    page = document.pages[part.page - 1]
    first = min(start - offsets[part.page - 1], len(page.text))
    last = max(first, min(end - offsets[part.page - 1], len(page.text)))
    last = first + len(page.text[first:last].rstrip())
    place = locate(document, part.page, first, last)
    where: Fields = {"page": part.page, "start": first, "end": last}
    if place.box is not None:
        where["box"] = list(place.box)
    return where


def _page_offsets(document: TextDocument) -> list[int]:
    offsets = [0]
    for page in document.pages:
        offsets.append(offsets[-1] + len(page.text) + 1)
    return offsets
