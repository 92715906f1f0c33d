"""Ranked search in documents: BM25F over up to four fields, and what the best documents have in common.

BM25F (Robertson, Zaragoza) adds the occurrences of a word over the fields, each with its weight and normalised by the
length of its field, before it saturates them: a word in the title counts for several in the body, and twice the same
word is not twice as good. The words that the best documents of a first search share then change the order of its
results (relevance model 3): that favours documents that say the same in other words.

Documents have numbers. A `Segment` holds some of them in ascending order: for every term the numbers of the documents
that have it, with its occurrences by field, and for every document the lengths of its fields. An index is a list of
segments; this module neither stores nor reads any. Scores are from 0 to 1: the share of what a document could have that
was full of every term.
"""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

import msgspec

from stateward.core.stemming import terms_of

FIELDS_MAX = 4
COUNT_MAX = 255  # occurrences in a field: one byte of four
TERMS_RATED = 500
_BITS = 8


class RankedField(msgspec.Struct, frozen=True):
    """A field of documents: what a word in it counts, and how much its length matters (0 to 1)."""

    name: str
    weight: float = 1.0
    length_share: float = 0.75


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the formula: fields, saturation, and how far the best documents change the query."""

    fields: tuple[RankedField, ...]
    saturation: float = 2.5
    feedback_documents: int = 4
    feedback_terms: int = 20
    feedback_share: float = 0.5
    reordered: int = 200
    """How many of the best results of the first search are put in order by the second."""


class TermCounts(msgspec.Struct, frozen=True, gc=False):
    """The documents of a segment that have a term, and its occurrences: a byte for each field, the first lowest."""

    numbers: "array[int]"
    counts: "array[int]"

    def of(self, number: int) -> int:
        """The occurrences in one document; 0 if it has none."""
        at = bisect_left(self.numbers, number)
        is_there = at < len(self.numbers) and self.numbers[at] == number
        return self.counts[at] if is_there else 0


class Lengths(msgspec.Struct, frozen=True, gc=False):
    """The lengths of the fields of documents, `FIELDS_MAX` numbers each, from the number `first` on."""

    first: int
    lengths: "array[int]"

    def __len__(self) -> int:
        return len(self.lengths) // FIELDS_MAX

    @property
    def last(self) -> int:
        """The number of the last document."""
        return self.first + len(self) - 1


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Some documents and their terms."""

    lengths: Lengths
    terms: dict[str, TermCounts]


class RankedHit(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was found. `terms` is what each term adds to its score, the most first."""

    number: int
    score: float
    terms: tuple[tuple[str, float], ...]


class TermSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where a search gets the parts of an index from.

    `counts` gives the occurrences of terms, segment by segment; `frequencies` only how many documents have each;
    `terms_of` the terms of one document with their occurrences.
    """

    lengths: Sequence[Lengths]
    counts: Callable[[Sequence[str]], Mapping[str, Sequence[TermCounts]]]
    frequencies: Callable[[Sequence[str]], Mapping[str, int]]
    terms_of: Callable[[int], Mapping[str, int]]


# Making segments


def packed_terms(fields: Mapping[str, str], ranking: Ranking) -> tuple[dict[str, int], list[int]]:
    """The terms of a document with their occurrences, and the lengths of its fields."""
    found: dict[str, int] = {}
    lengths = [0] * FIELDS_MAX
    for place, field in enumerate(ranking.fields):
        counts = Counter(terms_of(fields.get(field.name, "")))
        lengths[place] = counts.total()
        for term, count in counts.items():
            found[term] = found.get(term, 0) | min(count, COUNT_MAX) << _BITS * place
    return found, lengths


def unpack_counts(counts: int) -> Iterator[tuple[int, int]]:
    """(place of the field, occurrences) for each field that has any."""
    place = 0
    while counts:
        if count := counts & COUNT_MAX:
            yield place, count
        counts >>= _BITS
        place += 1


def segment(documents: Iterable[Mapping[str, str]], ranking: Ranking, *, first: int) -> Segment:
    """A segment of documents, each as its text by field, numbered from `first` on."""
    lengths = array("I")
    terms: dict[str, TermCounts] = {}
    for number, fields in enumerate(documents, first):
        found, own = packed_terms(fields, ranking)
        lengths.extend(own)
        for term, counts in found.items():
            of_term = terms.get(term)
            if of_term is None:
                of_term = terms[term] = TermCounts(array("I"), array("I"))
            of_term.numbers.append(number)
            of_term.counts.append(counts)
    return Segment(lengths=Lengths(first, lengths), terms=terms)


def source_of(made: Segment) -> TermSource:
    """A segment in memory as all that a search needs."""
    by_document: dict[int, dict[str, int]] = {}
    for term, of_term in made.terms.items():
        for number, counts in zip(of_term.numbers, of_term.counts, strict=True):
            by_document.setdefault(number, {})[term] = counts
    return TermSource(
        lengths=[made.lengths],
        counts=lambda terms: {each: [made.terms[each]] for each in terms if each in made.terms},
        frequencies=lambda terms: {
            each: len(made.terms[each].numbers) for each in terms if each in made.terms
        },
        terms_of=lambda number: by_document.get(number, {}),
    )


# Searching


class RankedQuery:
    """One search over an index."""

    def __init__(self, source: TermSource, ranking: Ranking) -> None:
        self._source = source
        self._ranking = ranking
        self._size = sum(map(len, source.lengths))
        usual = [
            sum(sum(each.lengths[place::FIELDS_MAX]) for each in source.lengths) / (self._size or 1)
            for place in range(len(ranking.fields))
        ]
        # Of a field: (weight, constant, slope); a count is divided by constant + slope * length.
        self._fields = [
            (field.weight, 1 - field.length_share, field.length_share / (mean or 1.0))
            for field, mean in zip(ranking.fields, usual, strict=True)
        ]

    def first(self, terms: Sequence[str]) -> dict[int, float]:
        """Every document that has a term of the query, with its score."""
        weights: dict[str, float] = dict(Counter(terms))
        scores: dict[int, float] = {}
        found = self._source.counts(list(weights))
        for term, parts in found.items():
            factor = weights[term] * self._rarity(sum(len(part.numbers) for part in parts))
            for part in parts:
                self._add_scores(scores, part, factor)
        return scores

    def reordered(self, terms: Sequence[str], candidates: Mapping[int, float]) -> list[RankedHit]:
        """The best of the first search in their final order, the best first; equal ones by number."""
        wider = self._with_feedback(dict(Counter(terms)), candidates)
        found = self._source.counts(list(wider))
        factors = {
            term: wider[term] * self._rarity(sum(len(part.numbers) for part in parts))
            for term, parts in found.items()
        }
        whole = sum(factors.values()) or 1.0
        hits = []
        for number in candidates:
            parts = [
                (term, factors[term] / whole * self._saturation(number, counts))
                for term, of_term in found.items()
                if (counts := sum(part.of(number) for part in of_term))
            ]
            parts.sort(key=lambda pair: (-pair[1], pair[0]))
            hits.append(
                RankedHit(
                    number=number,
                    score=round(sum(share for _, share in parts), 6),
                    terms=tuple((term, round(share, 4)) for term, share in parts),
                )
            )
        return sorted(hits, key=lambda hit: (-hit.score, hit.number))

    def _rarity(self, documents: int) -> float:
        return math.log(1 + (max(self._size - documents, 0) + 0.5) / (documents + 0.5))

    def _add_scores(self, scores: dict[int, float], part: TermCounts, factor: float) -> None:
        saturation = self._ranking.saturation
        place = _Places(self._source.lengths)
        fields = self._fields
        for number, counts in zip(part.numbers, part.counts, strict=True):
            lengths, at = place.of(number)
            total, left = 0.0, counts
            # As `unpack_counts` does, but this is done for every document that has the term.
            for field in fields:
                if count := left & COUNT_MAX:
                    weight, constant, slope = field
                    total += weight * count / (constant + slope * lengths[at])
                left >>= _BITS
                at += 1
            scores[number] = scores.get(number, 0.0) + factor * total / (saturation + total)

    def _saturation(self, number: int, counts: int) -> float:
        """How much of a term a document has, from 0 to 1."""
        lengths, at = _Places(self._source.lengths).of(number)
        total = 0.0
        for place, count in unpack_counts(counts):
            weight, constant, slope = self._fields[place]
            total += weight * count / (constant + slope * lengths[at + place])
        return total / (self._ranking.saturation + total)

    def _with_feedback(
        self, weights: dict[str, float], candidates: Mapping[int, float]
    ) -> dict[str, float]:
        """The query with the terms that its best documents have in common."""
        ranking = self._ranking
        best = best_of(candidates, ranking.feedback_documents)
        whole = sum(score for _, score in best)
        if not whole or not ranking.feedback_share:
            return weights
        top = self._common(best, whole)
        share, size = ranking.feedback_share, sum(value for _, value in top) or 1.0
        total = sum(weights.values())
        wider = {term: (1 - share) * weight / total for term, weight in weights.items()}
        for term, value in top:
            wider[term] = wider.get(term, 0.0) + share * value / size
        return wider

    def _common(self, best: Sequence[tuple[int, float]], whole: float) -> list[tuple[str, float]]:
        """The terms that the best documents share, the most telling ones first."""
        places = _Places(self._source.lengths)
        common: dict[str, float] = {}
        for number, score in best:
            lengths, at = places.of(number)
            length = sum(lengths[at : at + FIELDS_MAX]) or 1
            for term, counts in self._source.terms_of(number).items():
                occurs = sum(count for _, count in unpack_counts(counts))
                common[term] = common.get(term, 0.0) + score / whole * occurs / length
        # Long documents have thousands of terms; those that they hardly use would be asked for in vain.
        likely = nlargest(TERMS_RATED, common, key=lambda term: (common[term], term))
        frequencies = self._source.frequencies(likely)
        rated = {term: common[term] * self._rarity(frequencies.get(term, 0)) for term in likely}
        return sorted(rated.items(), key=lambda pair: (-pair[1], pair[0]))[
            : self._ranking.feedback_terms
        ]


class _Places:
    """Where the lengths of a document are. Documents are mostly asked for in order: the last place is tried first."""

    def __init__(self, known: Sequence[Lengths]) -> None:
        self._known = known
        self._first, self._last = 0, -1
        self._lengths: array[int] = array("I")

    def of(self, number: int) -> "tuple[array[int], int]":
        if not self._first <= number <= self._last:
            found = next(each for each in self._known if each.first <= number <= each.last)
            self._first, self._last, self._lengths = found.first, found.last, found.lengths
        return self._lengths, (number - self._first) * FIELDS_MAX


def best_of(scores: Mapping[int, float], limit: int) -> list[tuple[int, float]]:
    """The best documents with their scores, the best first; equal ones by number."""
    return nlargest(limit, scores.items(), key=lambda pair: (pair[1], -pair[0]))


def rank(source: TermSource, ranking: Ranking, query: str) -> list[RankedHit]:
    """The best documents for a query, the best first."""
    ranked_query = RankedQuery(source, ranking)
    terms = terms_of(query)
    return ranked_query.reordered(
        terms, dict(best_of(ranked_query.first(terms), ranking.reordered))
    )


def ndcg(ranked: Sequence[str], relevance: Mapping[str, float], *, depth: int) -> float:
    """How good an order is, from 0 to 1: the gain of the first results, discounted by their rank, of the best gain."""
    gain = sum(
        relevance.get(key, 0.0) / math.log2(rank + 2) for rank, key in enumerate(ranked[:depth])
    )
    ideal = sorted(relevance.values(), reverse=True)[:depth]
    best = sum(value / math.log2(rank + 2) for rank, value in enumerate(ideal))
    return gain / best if best else 0.0
