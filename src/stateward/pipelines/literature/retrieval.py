"""How good the ranking is on a test collection in TREC form: documents, queries, and which are relevant to which.

A collection is a folder with the files of Cranfield: `cran.all.1400.xml`, `cran.qry.xml` and `cranqrel.trec.txt`.
Queries are numbered by their order, as the relevance file does.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.ranking import ndcg, rank, segment, source_of
from stateward.pipelines.kit.ground_truth import read_text
from stateward.pipelines.literature.finding import RANKING

DOCUMENTS, QUERIES, RELEVANCE = "cran.all.1400.xml", "cran.qry.xml", "cranqrel.trec.txt"
DEPTH = 10
# The other half is for judging what was tuned on this one.
TUNED_ON = "1-112"
_DOCUMENT = re.compile(r"<doc>(.*?)</doc>", re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


class RetrievalScore(msgspec.Struct, frozen=True, kw_only=True):
    """The mean nDCG of some queries."""

    documents: int
    queries: int
    ndcg_at_10: float


def collection_in(folder: Path) -> Path | None:
    """The folder of a collection, here or one level below."""
    return next(
        (path.parent for path in sorted((*folder.glob(DOCUMENTS), *folder.glob(f"*/{DOCUMENTS}")))),
        None,
    )


def judge(folder: Path, *, queries: str = TUNED_ON) -> RetrievalScore:
    """Search for every query of a range, such as 1-112."""
    found = re.fullmatch(r"([0-9]{1,6})-([0-9]{1,6})", queries)
    if found is None or int(found[1]) < 1:
        raise InvalidRequest(f"{queries!r} is no range of queries; write it as {TUNED_ON}")
    documents = documents_of(folder)
    source = source_of(segment((fields for _, fields in documents), RANKING, first=0))
    asked, relevant = queries_of(folder), relevance_of(folder)
    wanted = range(int(found[1]), min(int(found[2]), len(asked)) + 1)
    scores = [
        ndcg(
            [documents[hit.number][0] for hit in rank(source, RANKING, asked[number - 1])],
            relevant.get(number, {}),
            depth=DEPTH,
        )
        for number in wanted
    ]
    mean = sum(scores) / len(scores) if scores else 0.0
    return RetrievalScore(documents=len(documents), queries=len(scores), ndcg_at_10=round(mean, 4))


def queries_of(folder: Path) -> list[str]:
    """The queries of a collection; the first one has the number 1."""
    return [html.unescape(text) for text in _TITLE.findall(read_text(folder / QUERIES))]


def documents_of(folder: Path) -> list[tuple[str, dict[str, str]]]:
    """The documents of a collection: the number of each, its title and its abstract."""
    return list(_documents(read_text(folder / DOCUMENTS)))


def _documents(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for document in _DOCUMENT.findall(text):
        number, title, body = (_part(document, name) for name in ("docno", "title", "text"))
        # The text of this collection repeats the title; as a field of its own it counts once.
        yield number, {"title": title, "abstract": body.removeprefix(title)}


def _part(document: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", document, re.DOTALL)
    return html.unescape(found[1]).strip() if found else ""


def relevance_of(folder: Path) -> dict[int, dict[str, float]]:
    """By query, the relevant documents; any degree of relevance counts as one."""
    found: dict[int, dict[str, float]] = {}
    for line in read_text(folder / RELEVANCE).splitlines():
        parts = line.split()
        if len(parts) == 4 and parts[0].isdecimal() and float(parts[3]) > 0:
            found.setdefault(int(parts[0]), {})[parts[2]] = 1.0
    return found
