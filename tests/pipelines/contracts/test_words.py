"""Phrases in text: what is passed over quickly holds none."""

import random

from stateward.pipelines.contracts.rules import all_labels, load
from stateward.pipelines.contracts.words import Phrases, PhraseToken, tokens

TEXTS = 150


class _Thorough(Phrases[str]):
    """Looks at every word and every window, as if nothing could be told from the first letters."""

    def _may_hit(self, word: PhraseToken) -> bool:
        return bool(word)

    def _may_begin(self, key: str) -> bool:
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
