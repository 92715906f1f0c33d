"""Phrases in text: what is passed over quickly holds none."""

import random

from stateward.pipelines.contracts.rules import all_labels, load
from stateward.pipelines.contracts.words import Phrases, PhraseSets, PhraseToken, tokens

TEXTS = 150


class _Thorough(Phrases[str]):
    """Looks at every word and every window, as if nothing could be told from the first letters."""

    def may_hit(self, word: PhraseToken) -> bool:
        return bool(word)

    def may_begin(self, key: str) -> bool:
        return bool(key)


def test_a_phrase_is_found_in_every_form_in_which_a_thorough_search_finds_it() -> None:
    labels = sorted(
        {
            label
            for vertical in load().verticals.values()
            for field in vertical.fields
            for label in all_labels(field.labels)
        }
    )
    pairs = [(label, label) for label in labels]
    quick, thorough = Phrases(pairs), _Thorough(pairs)
    drawn = random.Random(7)

    found = 0
    for _ in range(TEXTS):
        words = tokens(_spoilt(drawn, [drawn.choice(labels) for _ in range(12)]))
        hits = thorough.find(words)
        found += len(hits)
        assert quick.find(words) == hits

    assert found > TEXTS * 6


def test_sets_that_share_one_walk_over_a_text_find_what_each_finds_alone() -> None:
    of_verticals = [
        [label for field in vertical.fields for label in all_labels(field.labels)]
        for vertical in load().verticals.values()
    ]
    sets = [Phrases((label, label) for label in listed) for listed in of_verticals if listed]
    labels = sorted({label for listed in of_verticals for label in listed})
    together, drawn = PhraseSets(sets), random.Random(11)

    found = 0
    for _ in range(TEXTS):
        words = tokens(_spoilt(drawn, [drawn.choice(labels) for _ in range(12)]))
        for each, places in zip(sets, together.places(words), strict=True):
            hits = each.find(words)
            found += len(hits)
            assert each.find_at(words, places) == hits

    assert found > TEXTS * 6


def test_a_text_without_words_has_none() -> None:
    assert tokens(" \n - ") == []


def _spoilt(drawn: random.Random, labels: list[str]) -> str:
    """Labels one after the other, with slips, blanks and hyphens inside, glued together, and articles between."""
    parts: list[str] = []
    for label in labels:
        at = drawn.randrange(len(label))
        spoils = [
            label,
            label[:at] + label[at + 1 :],
            label[:at] + drawn.choice("xlmrne") + label[at + 1 :],
            label[:at] + drawn.choice(" -\n") + label[at:],
            drawn.choice(("Sonder", "Jahres", "ve", "r", "a")) + label.lower(),
            label.replace(" ", drawn.choice((" der ", " of the ", ""))),
            label.upper(),
        ]
        parts.append(drawn.choice(spoils))
    return drawn.choice((" ", ": ", " und ", "\n")).join(parts)
