"""What a paper is to a search: its text by field, what results can be filtered by, and its citation."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from stateward.core.model import Fields, Json
from stateward.core.ranking import RankedField, Ranking
from stateward.core.text_search import fold
from stateward.definition.search import RankedDocument
from stateward.pipelines.literature.identifiers import SCHEMES, match_key
from stateward.pipelines.literature.paper import Metadata, language_code

# Chosen on the Cranfield queries 1 to 112.
RANKING = Ranking(
    fields=(
        RankedField("title", 3.0, 0.4),
        RankedField("abstract", 1.0, 0.75),
        RankedField("headings", 1.5, 0.4),
        RankedField("body", 0.5, 0.75),
    ),
)
TRIAL_FORMAT = "trial"
TITLE_CHARS_MIN = 20  # shorter ones, such as Editorial, are those of many papers
_FIELD_OF = {"title": "title", "abstract": "abstract", "heading": "headings"}


def paper_document(about: Fields, blocks: Iterable[Fields]) -> RankedDocument:
    """A paper, from what `build_ir` kept of it."""
    metadata = metadata_of(about)
    texts: dict[str, list[str]] = {each.name: [] for each in RANKING.fields}
    texts["headings"] += metadata.keywords
    texts["title"] += [each.text for each in metadata.other_titles]
    for block in blocks:
        if text := block_text(block):
            texts[_FIELD_OF.get(str(block["kind"]), "body")].append(text)
    return RankedDocument(
        title=paper_title(metadata),
        texts={name: "\n".join(parts) for name, parts in texts.items()},
        facts=_facts(metadata),
        names=tuple(_names(metadata)),
    )


def _names(metadata: Metadata) -> Iterator[str]:
    """By which a paper is known: its identifiers, and its title with the year where both tell it from others."""
    for scheme in SCHEMES:
        # Many papers report one trial, and name its number.
        is_own = scheme != "nct" or metadata.format == TRIAL_FORMAT
        if is_own and (value := metadata.ids.get(scheme)):
            yield f"{scheme}:{match_key(scheme, value)}"
    for each in (metadata.title, *(other.text for other in metadata.other_titles)):
        title = " ".join(re.findall(r"\w+", fold(each)))
        if metadata.year is not None and len(title) >= TITLE_CHARS_MIN:
            yield f"title:{metadata.year} {title}"


def block_text(block: Fields) -> str:
    """The text of a block that is searched.

    References are what others wrote: a paper is not about soup because it cites a paper about soup.
    """
    is_own = block["kind"] != "reference" and not block.get("part")
    return str(block.get("text") or "") if is_own else ""


def metadata_of(about: Fields) -> Metadata:
    """The metadata of a paper."""
    return msgspec.convert(about["metadata"], Metadata)


def _facts(metadata: Metadata) -> dict[str, Json]:
    facts: dict[str, Json] = {
        "year": metadata.year,
        "type": metadata.type,
        "language": language_code(metadata.language),
        "journal": metadata.journal.title,
        "format": metadata.format,
        "retraction": metadata.retraction,
    }
    facts |= {scheme: value for scheme, value in metadata.ids.items() if scheme != "publisher"}
    return {name: value for name, value in facts.items() if value not in (None, "")}


def paper_title(metadata: Metadata) -> str:
    """A paper in a line: title, first author and year."""
    authors = metadata.authors
    who = (authors[0].surname or authors[0].name) if authors else ""
    more = " et al." if len(authors) > 1 else ""
    return f"{metadata.title} ({who}{more}{', ' if who else ''}{metadata.year or 'no year'})"
