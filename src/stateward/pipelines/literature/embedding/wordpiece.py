"""The tokenizer of BERT models without case: words and signs apart, each as the longest pieces that are known.

As in "BERT: Pre-training of Deep Bidirectional Transformers" (2018) and the tokenizer that was published with it: text
is cleaned, each Chinese character is a word, accents and case are dropped, and every punctuation sign is a word. A word
is then cut greedily into pieces of the vocabulary, of which all but the first are written with `##`.
"""

import unicodedata
from collections.abc import Iterator, Sequence

UNKNOWN, FIRST, LAST = "[UNK]", "[CLS]", "[SEP]"
WORD_CHARS_MAX = 100
_CACHED_MAX = 20_000  # words; each document brings some of its own, which never come again
_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """Texts as numbers of a vocabulary, whose lines are its pieces."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._numbers[UNKNOWN]
        self._first, self._last = self._numbers[FIRST], self._numbers[LAST]
        self._known: dict[str, list[int]] = {}

    def numbers(self, text: str, *, limit: int) -> list[int]:
        """The numbers of the pieces of a text between those of its beginning and end; at most `limit` in all."""
        found: list[int] = []
        for word in words(text):
            found += self._pieces(word)
            if len(found) >= limit - 2:
                break
        return [self._first, *found[: limit - 2], self._last]

    def _pieces(self, word: str) -> list[int]:
        known = self._known.get(word)
        if known is None:
            known = self._cut(word)
            if len(self._known) < _CACHED_MAX:
                self._known[word] = known
        return known

    def _cut(self, word: str) -> list[int]:
        """The longest pieces from the left; a word with a part that is unknown is unknown as a whole."""
        if len(word) > WORD_CHARS_MAX:
            return [self._unknown]
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._numbers.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return [self._unknown]
            pieces.append(number)
            start = end
        return pieces


def words(text: str) -> Iterator[str]:
    """Words and punctuation signs in small letters, without accents."""
    if text.isascii():
        plain = text.lower()
    else:
        spaced = "".join(f" {each} " if _is_chinese(each) else each for each in text)
        parts = unicodedata.normalize("NFD", spaced.lower())
        plain = "".join(each for each in parts if unicodedata.category(each) != "Mn")
    word = ""
    for sign in plain:
        kind = _kind(sign)
        if kind == "letter":
            word += sign
            continue
        if kind == "nothing":
            continue
        if word:
            yield word
            word = ""
        if kind == "sign":
            yield sign
    if word:
        yield word


def _kind(sign: str) -> str:
    known = _KINDS.get(sign)
    if known is None:
        known = _KINDS[sign] = _kind_of(sign)
    return known


_KINDS: dict[str, str] = {}


def _kind_of(sign: str) -> str:
    category = unicodedata.category(sign)
    if sign in " \t\n\r" or category == "Zs":
        return "space"
    if sign in "\x00\ufffd" or category in ("Cc", "Cf", "Cn", "Co", "Cs"):
        return "nothing"
    is_ascii_sign = "!" <= sign <= "~" and not sign.isalnum()
    return "sign" if is_ascii_sign or category.startswith("P") else "letter"


def _is_chinese(sign: str) -> bool:
    code = ord(sign)
    return any(first <= code <= last for first, last in _CHINESE)
