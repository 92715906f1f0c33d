"""Papers of a service, found: an index of what is completed, results with passages, filters, and why each was found."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.pipelines.literature.ir import IrAbout
from stateward.pipelines.literature.paper import Metadata
from stateward.pipelines.literature.ranking import Hit, PaperIndex, passages
from stateward.pipelines.literature.stemming import WORD, stem, terms_of

PASSAGES_MAX = 3
PASSAGE_CHARS = 240
TERMS_SHOWN = 6
CANDIDATES_MAX = 2000
_FIELD_OF = {"title": "title", "abstract": "abstract", "heading": "headings"}
# References are what others wrote: a paper is not about soup because it cites a paper about soup.
_UNSEARCHED = frozenset({"reference"})
_FILTER = re.compile(r"(year|type|language|journal|format|retraction)\s*(>=|<=|!=|=|>|<)\s*(.+)")


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a block that matches; `marks` are the places of the words in `text`."""

    block: str
    text: str
    marks: tuple[tuple[int, int], ...]


class FoundPaper(msgspec.Struct, frozen=True, kw_only=True):
    """A result."""

    id: str
    score: float
    metadata: Metadata
    passages: tuple[Passage, ...]
    why: tuple[tuple[str, float], ...]


class IndexedPaper(msgspec.Struct, frozen=True, kw_only=True):
    """A paper as the index keeps it: what is shown, and its text by block."""

    metadata: Metadata
    blocks: tuple[tuple[str, str], ...]


class PaperFinder:
    """Searches papers that were added to it."""

    def __init__(self) -> None:
        self._index = PaperIndex()
        self._papers: dict[str, IndexedPaper] = {}

    def __len__(self) -> int:
        return len(self._papers)

    def add(self, record_id: str, about: Fields, blocks: Iterable[Fields]) -> None:
        """Add a paper, from what `build_ir` kept of it."""
        metadata = msgspec.convert(about, IrAbout).metadata
        fields: dict[str, list[str]] = {
            "title": [],
            "abstract": [],
            "headings": [*metadata.keywords],
            "body": [],
        }
        searched: list[tuple[str, str]] = []
        for block in blocks:
            kind, text = str(block["kind"]), str(block.get("text") or "")
            if kind not in _UNSEARCHED and not block.get("part") and text:
                fields[_FIELD_OF.get(kind, "body")].append(text)
                searched.append((str(block["id"]), text))
        self._index.add(record_id, {name: "\n".join(texts) for name, texts in fields.items()})
        self._papers[record_id] = IndexedPaper(metadata=metadata, blocks=tuple(searched))

    def search(
        self, query: str, *, filters: Sequence[str] = (), limit: int = 10
    ) -> list[FoundPaper]:
        """The best papers for a query, the best first."""
        if not terms_of(query):
            raise InvalidRequest(
                f"{query!r} holds no word to search for; name what the papers are about"
            )
        is_wanted = [condition(each) for each in filters]
        hits = self._index.search(query, limit=CANDIDATES_MAX if filters else limit)
        found = (
            hit for hit in hits if all(test(self._papers[hit.key].metadata) for test in is_wanted)
        )
        return [self._found(hit, query) for hit, _ in zip(found, range(limit), strict=False)]

    def _found(self, hit: Hit, query: str) -> FoundPaper:
        paper = self._papers[hit.key]
        asked = terms_of(query)
        best = passages(paper.blocks, asked, limit=PASSAGES_MAX)
        return FoundPaper(
            id=hit.key,
            score=hit.score,
            metadata=paper.metadata,
            passages=tuple(_passage(block, text, set(asked)) for block, text in best),
            why=hit.terms[:TERMS_SHOWN],
        )


def _passage(block: str, text: str, asked: set[str]) -> Passage:
    """The part of a block around its first match."""
    places = [found.span() for found in WORD.finditer(text) if stem(found[0].lower()) in asked]
    start = max(0, (places[0][0] if places else 0) - PASSAGE_CHARS // 4)
    start = 0 if start == 0 else text.find(" ", start) + 1
    part = text[start : start + PASSAGE_CHARS]
    if start + PASSAGE_CHARS < len(text):
        part = part.rpartition(" ")[0] or part
    marks = [
        (first - start, last - start)
        for first, last in places
        if first >= start and last - start <= len(part)
    ]
    return Passage(block=block, text=part, marks=tuple(marks))


def marked(passage: Passage, *, before: str, after: str) -> str:
    """The text of a passage with its words between two signs."""
    pieces: list[str] = []
    at = 0
    for first, last in passage.marks:
        pieces += [passage.text[at:first], before, passage.text[first:last], after]
        at = last
    return "".join([*pieces, passage.text[at:]])


def condition(text: str) -> Callable[[Metadata], bool]:
    """A filter such as `year>=2020` or `journal=eLife` as a test; papers that do not say it do not pass."""
    found = _FILTER.fullmatch(text.strip())
    if found is None:
        raise InvalidRequest(
            f"{text!r} is no filter; write year, type, language, journal, format or retraction with =, != or (year) "
            ">=, <=, >, <, such as year>=2020"
        )
    name, sign, value = found[1], found[2], found[3].strip()
    if name == "year":
        return _year_test(sign, value)
    if sign not in ("=", "!="):
        raise InvalidRequest(f"{name} is compared with = or !=, not with {sign}")
    return lambda paper: (_value(paper, name) == value.lower()) == (sign == "=")


def _value(paper: Metadata, name: str) -> str:
    return (paper.journal.title if name == "journal" else str(getattr(paper, name))).lower()


def _year_test(sign: str, value: str) -> Callable[[Metadata], bool]:
    if not value.isdecimal() or len(value) > 4:
        raise InvalidRequest(f"{value!r} is no year; write it as 2020")
    year = int(value)
    tests: Mapping[str, Callable[[int], bool]] = {
        "=": lambda own: own == year, "!=": lambda own: own != year, ">=": lambda own: own >= year,
        "<=": lambda own: own <= year, ">": lambda own: own > year, "<": lambda own: own < year,
    }  # fmt: skip
    return lambda paper: paper.year is not None and tests[sign](paper.year)


def titles(papers: Iterable[FoundPaper]) -> Iterator[str]:
    """Results in a line each."""
    for paper in papers:
        authors = paper.metadata.authors
        who = (authors[0].surname or authors[0].name) if authors else ""
        more = " et al." if len(authors) > 1 else ""
        yield f"{paper.metadata.title} ({who}{more}{', ' if who else ''}{paper.metadata.year or 'no year'})"
