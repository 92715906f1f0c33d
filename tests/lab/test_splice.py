"""Sentences that a person must see, put into ordinary contracts."""

import random

from lab.documents.contracts.splice import PLACES, approved, splice, spliced, voices
from stateward.pipelines.contracts.rules import default_rules
from tests.pipelines.contracts.capped import ENERGY, written

TEXT = (
    "One\nA line of a paragraph that is long enough to be taken for one, and that ends here.\nLast"
)


def test_a_sentence_stands_at_each_place_and_nothing_else_changes() -> None:
    for place in PLACES:
        made = splice(TEXT, "Here it is.", place, random.Random(1))
        assert made.count("Here it is.") == 1
        assert made.replace("Here it is.", "").split() == TEXT.split()


def test_the_voices_are_many_and_say_nothing_twice() -> None:
    said = [sentence for voice in voices() for sentence in voice.sentences]
    assert len(voices()) >= 30
    assert len(said) == len(set(said)) >= 300


def test_of_ordinary_contracts_those_that_are_approved_are_taken() -> None:
    rules = default_rules()
    texts = [("plain", "energy", written(ENERGY)), ("other", "energy", "Nothing of the kind.")]
    bases = list(approved(texts, rules))
    assert [base.name for base in bases] == ["plain"]
    first = next(spliced(bases, rules, times=1, seed=1))
    assert first.sentence in voices()[0].sentences
