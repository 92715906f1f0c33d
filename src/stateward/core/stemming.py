"""Words as they are compared: folded, without frequent ones, and reduced to their English stems.

The stemmer is that of "An algorithm for suffix stripping" (1980): it takes endings off in five steps. A step applies to
what is left of a word by its measure: how often a run of vowels is followed by one of consonants.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
# As many words as nearly all of a text is made of, in some 4 MB. A larger cache fills with the numbers and names that
# each document brings, which never come again: with 200,000 the memory of a process grew over 90,000 papers.
STEMS_CACHED_MAX = 20_000
# Words that stand in nearly every abstract and tell none from another.
FREQUENT = frozenset({
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "did", "do",
    "does", "doing", "down", "during", "each", "few", "for", "from", "further", "had", "has", "have", "having",
    "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just",
    "may", "me", "might", "more", "most", "must", "my", "no", "nor", "not", "now", "of", "off", "on", "once",
    "only", "or", "other", "our", "out", "over", "own", "same", "she", "should", "so", "some", "such", "than",
    "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "thus",
    "to", "too", "under", "until", "up", "upon", "us", "very", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "why", "will", "with", "within", "without", "would", "you", "your",
})  # fmt: skip

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def terms_of(text: str) -> list[str]:
    """The stems of the words of a text, in their order."""
    return [stem(word) for word in words_of(text) if word not in FREQUENT]


def term_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """The stems that `terms_of` gives, each with where its word begins and ends.

    The stem of a frequent word may be that of another one (are, AR): a frequent word is no term here either.
    """
    for found in WORD.finditer(text):
        word = _remove_accents(found[0]).lower()
        if word not in FREQUENT:
            yield stem(word), found.start(), found.end()


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without accents."""
    if text.isascii():  # no letter of which the small one is another kind of sign
        return WORD.findall(text.lower())
    return [word.lower() for word in WORD.findall(_remove_accents(text))]


def _remove_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@lru_cache(maxsize=STEMS_CACHED_MAX)
def stem(word: str) -> str:
    """The stem of a word in small letters; words of other alphabets and with digits stay as they are."""
    word = word.replace("\u2019", "'").removesuffix("'s").removesuffix("'")
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    word = _step_1(word)
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    return _step_5(_step_4(word))


def _step_1(word: str) -> str:
    """Plurals, -ed, -ing, and y after a vowel."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        for ending in ("ed", "ing"):
            if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
                word = _repair_stem(word[: -len(ending)])
                break
    return f"{word[:-1]}i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _repair_stem(base: str) -> str:
    """What is left after -ed or -ing, as a word: hop, not hopp; file, not fil."""
    if base.endswith(("at", "bl", "iz")):
        return f"{base}e"
    if (
        len(base) > 1
        and base[-1] == base[-2]
        and _is_consonant(base, len(base) - 1)
        and base[-1] not in "lsz"
    ):
        return base[:-1]
    return f"{base}e" if _measure(base) == 1 and _ends_short(base) else base


def _replace(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, new in endings:
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base + new if _measure(base) > 0 else word
    return word


def _step_4(word: str) -> str:
    for ending in sorted(_STEP_4, key=len, reverse=True):
        if word.endswith(ending):
            base = word[: -len(ending)]
            is_whole = ending == "ion" and not base.endswith(("s", "t"))
            return base if _measure(base) > 1 and not is_whole else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _ends_short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _is_consonant(word: str, at: int) -> bool:
    if word[at] in "aeiou":
        return False
    return word[at] != "y" or at == 0 or not _is_consonant(word, at - 1)


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    kinds = [_is_consonant(word, at) for at in range(len(word))]
    return sum(not before and after for before, after in pairwise(kinds))


def _has_vowel(word: str) -> bool:
    return not all(_is_consonant(word, at) for at in range(len(word)))


def _ends_short(word: str) -> bool:
    """Consonant, vowel, consonant other than w, x, y: the e of hope is needed."""
    if len(word) < 3:
        return False
    last = len(word) - 1
    shape = (
        _is_consonant(word, last - 2),
        _is_consonant(word, last - 1),
        _is_consonant(word, last),
    )
    return shape == (True, False, True) and word[-1] not in "wxy"
