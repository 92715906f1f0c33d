"""Text as a scanner gives it back: letters for digits, words that are broken, blanks that are too many."""

import random
import re

LOOKS = {"0": "O", "1": "l", "5": "S", "o": "0", "l": "1", "i": "l", "m": "rn"}
_NUMBER = re.compile(r"\d[\d.,]*\d")


def noisy(rng: random.Random, text: str, *, share: float) -> str:
    """The text with a share of its words spoilt. A figure loses one digit to a letter, and never its meaning."""
    return re.sub(r"\S+|\s+", lambda found: _spoilt(rng, found[0], share), text)


def _spoilt(rng: random.Random, word: str, share: float) -> str:
    if rng.random() >= share:
        return word
    if word.isspace():
        return word + " " if "\n" not in word else word
    if _NUMBER.search(word):
        places = [at for at, letter in enumerate(word) if letter in "01"]
        if not places:
            return word
        at = rng.choice(places)
        return word[:at] + LOOKS[word[at]] + word[at + 1 :]
    if len(word) < 6 or not word.isalpha():
        return word
    at = rng.randint(2, len(word) - 2)
    if rng.random() < 0.5:
        return word[:at] + " " + word[at:]
    letters = [at for at, letter in enumerate(word) if letter in "oli" and at > 0]
    if not letters:
        return word
    at = rng.choice(letters)
    return word[:at] + LOOKS[word[at]] + word[at + 1 :]
