"""Ranked search in papers: BM25F over title, abstract, headings and body, and what the best papers have in common.

BM25F (Robertson, Zaragoza) adds the occurrences of a word over the fields, each with its weight and normalised by the
length of its field, before it saturates them: a word in the title counts for several in the body, and twice the same
word is not twice as good. The words that the best papers of a first search share are then searched for as well
(relevance model 3): that finds papers that say the same in other words.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

import msgspec

from stateward.pipelines.literature.stemming import terms_of

FIELDS = ("title", "abstract", "headings", "body")


class RankingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the formula, chosen on the Cranfield queries 1 to 112."""

    weights: tuple[float, ...] = (3.0, 1.0, 1.5, 0.5)
    length_shares: tuple[float, ...] = (0.4, 0.75, 0.4, 0.75)
    saturation: float = 2.5
    feedback_papers: int = 4
    feedback_terms: int = 20
    feedback_share: float = 0.5


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A paper that was found. `terms` is what each word of the query adds to its score, the most first."""

    key: str
    score: float
    terms: tuple[tuple[str, float], ...]


class PaperIndex:
    """Papers by the stems of their words; built in memory, read only once it is."""

    def __init__(self, options: RankingOptions | None = None) -> None:
        self._options = options or RankingOptions()
        self._keys: list[str] = []
        self._terms: list[dict[str, tuple[int, ...]]] = []
        self._lengths: list[tuple[int, ...]] = []
        self._postings: dict[str, list[int]] = {}
        self._totals = [0] * len(FIELDS)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: str, fields: Mapping[str, str]) -> None:
        """Add a paper: its text by field."""
        counts = [Counter(terms_of(fields.get(name, ""))) for name in FIELDS]
        number = len(self._keys)
        terms = {term: tuple(count[term] for count in counts) for count in counts for term in count}
        self._keys.append(key)
        self._terms.append(terms)
        lengths = tuple(count.total() for count in counts)
        self._lengths.append(lengths)
        for place, length in enumerate(lengths):
            self._totals[place] += length
        for term in terms:
            self._postings.setdefault(term, []).append(number)

    def search(self, query: str, *, limit: int) -> list[Hit]:
        """The best papers for a query, the best first; equal ones in the order in which they were added."""
        weights: dict[str, float] = dict(Counter(terms_of(query)))
        first = self._scores(weights)
        wider = self._with_feedback(weights, first)
        # Terms of other papers only change the order: a result has at least one word of the query itself.
        scores = {number: score for number, score in self._scores(wider).items() if number in first}
        best = nlargest(limit, scores.items(), key=lambda pair: (pair[1], -pair[0]))
        return [
            Hit(key=self._keys[number], score=round(score, 6), terms=self._why(number, wider))
            for number, score in best
        ]

    def _scores(self, weights: Mapping[str, float]) -> dict[int, float]:
        scores: dict[int, float] = {}
        for term, weight in weights.items():
            numbers = self._postings.get(term, ())
            rarity = self._rarity(len(numbers))
            for number in numbers:
                scores[number] = scores.get(number, 0.0) + weight * rarity * self._saturated(
                    number, term
                )
        return scores

    def _rarity(self, papers: int) -> float:
        return math.log(1 + (len(self._keys) - papers + 0.5) / (papers + 0.5))

    def _saturated(self, number: int, term: str) -> float:
        """How much of a term a paper has, from 0 to 1."""
        options, total = self._options, 0.0
        papers = len(self._keys)
        lengths = self._lengths[number]
        for place, count in enumerate(self._terms[number][term]):
            if count:
                usual = self._totals[place] / papers
                share = options.length_shares[place]
                total += (
                    options.weights[place] * count / (1 - share + share * lengths[place] / usual)
                )
        return total / (options.saturation + total)

    def _with_feedback(
        self, weights: dict[str, float], scores: Mapping[int, float]
    ) -> dict[str, float]:
        """The query with the terms that its best papers have in common."""
        options = self._options
        best = nlargest(
            options.feedback_papers, scores.items(), key=lambda pair: (pair[1], -pair[0])
        )
        whole = sum(score for _, score in best)
        if not whole or not options.feedback_share:
            return weights
        common: Counter[str] = Counter()
        for number, score in best:
            length = sum(self._lengths[number]) or 1
            for term, counts in self._terms[number].items():
                common[term] += (
                    score / whole * sum(counts) / length * self._rarity(len(self._postings[term]))
                )  # type: ignore[assignment]
        top = sorted(common.items(), key=lambda pair: (-pair[1], pair[0]))[: options.feedback_terms]
        share, size = options.feedback_share, sum(value for _, value in top) or 1.0
        asked = sum(weights.values())
        wider = {term: (1 - share) * weight / asked for term, weight in weights.items()}
        for term, value in top:
            wider[term] = wider.get(term, 0.0) + share * value / size
        return wider

    def _why(self, number: int, weights: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
        parts = [
            (
                term,
                round(
                    weight
                    * self._rarity(len(self._postings[term]))
                    * self._saturated(number, term),
                    4,
                ),
            )
            for term, weight in weights.items()
            if term in self._terms[number]
        ]
        return tuple(sorted(parts, key=lambda pair: (-pair[1], pair[0])))


def passages(
    blocks: Iterable[tuple[str, str]], terms: Sequence[str], *, limit: int
) -> list[tuple[str, str]]:
    """The blocks (id, text) that hold most of the terms, the best first."""
    wanted = set(terms)
    scored = []
    for place, (block_id, text) in enumerate(blocks):
        found = wanted.intersection(terms_of(text))
        if found:
            scored.append((-len(found), place, block_id, text))
    return [(block_id, text) for _, _, block_id, text in sorted(scored)[:limit]]


def ndcg(ranked: Sequence[str], relevance: Mapping[str, float], *, depth: int) -> float:
    """How good an order is, from 0 to 1: the gain of the first results, discounted by their rank, of the best gain."""
    gain = sum(
        relevance.get(key, 0.0) / math.log2(rank + 2) for rank, key in enumerate(ranked[:depth])
    )
    ideal = sorted(relevance.values(), reverse=True)[:depth]
    best = sum(value / math.log2(rank + 2) for rank, value in enumerate(ideal))
    return gain / best if best else 0.0
