"""The language of full-text search: words of a text, a query over them, what matches, and how it is shown.

    rent "late payment" invoi* -deposit machine:invoices label.client:42

All words must occur in one passage; `"…"` is a phrase, `*` stands for any end of a word, `-` excludes. A word of
several parts (`1,234.56`, `O'Brien`) is a phrase of its parts. Terms with a known key are a query over records
(`core.query`). Whatever else is written is text: no query is a syntax error.

Words are folded here, once, for every database: case and accents do not matter, and each Chinese or Japanese character
is a word. So an engine only stores and compares plain words, and both find the same. Pure: knows no database.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2b

import msgspec

from stateward.core.errors import InvalidRequest

TEXT_CHARS_MAX = 1000
PHRASES_MAX = 32
PHRASE_WORDS_MAX = 64
WORD_CHARS_MAX = 64  # of a word that is stored; longer ones are cut, here and in queries
PREFIX_CHARS_MIN = 2  # one letter is the beginning of a tenth of all words
PASSAGE_CHARS = 4000  # about two pages; also what is read to rank one result
OVERLAP_CHARS = 200  # so that a phrase across the cut is found in one of the two
SNIPPET_CHARS = 240
LEAD_CHARS = 60  # what is shown before the first match

FILTERS = ("machine", "pipeline", "status", "source", "source_type", "is", "created", "age", "id")
LABEL = ("label.", "meta.")
TYPE = "type"  # of a passage, such as of a clause
# What `core.query` calls them.
_SPELLED = {"pipeline": "machine", "source_type": "source"}

_IDEOGRAPHS = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = "\u0300-\u036f"
_ASCII_WORD = re.compile(r"[0-9A-Za-z]+")
_VALUE = r'(?:"(?:[^"\\]|\\.)*"|[^\s",]+)'
_SPACES = re.compile(r"\s+")


# Compiled when the first text or query needs them: that takes milliseconds, and every process imports this module.
@cache
def _word_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}])[^\W_])(?:(?![{_IDEOGRAPHS}])[^\W_]|[{_MARKS}])*"
    )


@cache
def _part_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<sign>-?)(?:(?P<key>[A-Za-z][\w.-]*)(?P<op>>=|<=|[:=<>])(?P<values>{_VALUE}(?:,{_VALUE})*)(?=\s|$)"
        r'|"(?P<quoted>[^"]*)"?(?P<star>\*?)|(?P<word>[^\s"]+))',
        re.DOTALL,
    )


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """Words that follow each other; of the last one only the beginning, with `is_prefix`."""

    words: tuple[str, ...]
    is_prefix: bool = False


class TextQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for: phrases that all occur, phrases that do not, and a query over records.

    `types` are groups of types of passages; a passage that is found has one of each group.
    """

    wanted: tuple[Phrase, ...]
    unwanted: tuple[Phrase, ...] = ()
    records: str = ""
    types: tuple[tuple[str, ...], ...] = ()
    unwanted_types: tuple[str, ...] = ()


class RankedWords(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for, for a search that ranks: words as they were written, beginnings of words, and phrases."""

    text: str
    prefixes: tuple[str, ...] = ()
    quoted: tuple[Phrase, ...] = ()


class Segment(msgspec.Struct, frozen=True):
    """A piece of a snippet."""

    text: str
    is_match: bool = False


# Words


def words(text: str) -> list[str]:
    """The words of a text, folded, in order."""
    if text.isascii():
        return [word[:WORD_CHARS_MAX] for word in _ASCII_WORD.findall(text.lower())]
    return [fold(word) for word in _word_pattern().findall(text)]


def spans(text: str) -> Iterator[tuple[str, int, int]]:
    """The same words, each with where it begins and ends."""
    for found in (_ASCII_WORD if text.isascii() else _word_pattern()).finditer(text):
        yield fold(found[0]), found.start(), found.end()


@lru_cache(maxsize=20_000)  # see `stemming.STEMS_CACHED_MAX`
def fold(word: str) -> str:
    """A word without case and accents, of letters and digits alone."""
    if word.isascii():
        return word[:WORD_CHARS_MAX].lower()
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
    plain = "".join(char for char in folded if char.isalnum())
    return (plain or word)[:WORD_CHARS_MAX]


def tag(key: str, value: str) -> str:
    """A property of a record as a word among those of its text, which no text contains."""
    return "0tag" + blake2b(f"{key}={value}".encode(), digest_size=10).hexdigest()


# Queries


def parse_text_query(text: str) -> TextQuery:
    """Parse what a person typed; `InvalidRequest` only for what is too long or names no word to look for."""
    if len(text) > TEXT_CHARS_MAX:
        raise InvalidRequest(
            f"a search may have at most {TEXT_CHARS_MAX} characters; this has {len(text)}"
        )
    wanted: list[Phrase] = []
    unwanted: list[Phrase] = []
    filters: list[str] = []
    types: list[tuple[str, ...]] = []
    unwanted_types: list[str] = []
    for part in _part_pattern().finditer(text):
        if part["key"] is not None and part["key"].lower() == TYPE:
            named = tuple(each.strip('"').casefold() for each in part["values"].split(","))
            unwanted_types += named if part["sign"] else ()
            types += [] if part["sign"] else [named]
            continue
        if part["key"] is not None and _is_filter(part["key"]):
            filters.append(_filter(part))
            continue
        phrase = _phrase(part)
        if phrase is not None:
            (unwanted if part["sign"] else wanted).append(phrase)
    if len(wanted) + len(unwanted) > PHRASES_MAX:
        raise InvalidRequest(f"a search may have at most {PHRASES_MAX} words and phrases")
    if not wanted and not types:
        raise InvalidRequest(
            "name at least one word to look for; records alone are found by `stateward list`"
        )
    return TextQuery(
        wanted=tuple(dict.fromkeys(wanted)),
        unwanted=tuple(dict.fromkeys(unwanted)),
        records=" ".join(filters),
        types=tuple(types),
        unwanted_types=tuple(dict.fromkeys(unwanted_types)),
    )


def with_types(text: str, types: Sequence[str]) -> str:
    """A query that is limited to passages of one of these types."""
    quoted = (f'"{each.replace(chr(34), "")}"' for each in types)
    return f"{text} {TYPE}:{','.join(quoted)}".strip() if types else text


def ranked_words(text: str) -> RankedWords:
    """The same query for a search that ranks, in which only phrases in quotes must occur."""
    plain: list[str] = []
    prefixes: list[str] = []
    quoted: list[Phrase] = []
    for part in _part_pattern().finditer(text):
        if part["sign"] or (part["key"] is not None and _is_filter(part["key"])):
            continue
        phrase = _phrase(part)
        if phrase is None:
            continue
        if phrase.is_prefix:
            prefixes.append(phrase.words[-1])
        written = part[0] if part["quoted"] is None else part["quoted"]
        plain.append(" ".join(phrase.words[:-1]) if phrase.is_prefix else written)
        if part["quoted"] is not None:
            quoted.append(phrase)
    return RankedWords(text=" ".join(plain), prefixes=tuple(prefixes), quoted=tuple(quoted))


def _is_filter(key: str) -> bool:
    return key.lower() in FILTERS or key.lower().startswith(LABEL)


def _filter(part: re.Match[str]) -> str:
    key = part["key"].lower()
    if key.startswith(LABEL):
        key = "meta." + part["key"].partition(".")[2]
    return f"{part['sign']}{_SPELLED.get(key, key)}{part['op']}{part['values']}"


def _phrase(part: re.Match[str]) -> Phrase | None:
    """The words of a part; None where it has none, such as a lone sign."""
    quoted = part["quoted"]
    written = part[0][len(part["sign"]) :] if quoted is None else quoted
    found = tuple(words(written))
    if not found:
        return None
    if len(found) > PHRASE_WORDS_MAX:
        raise InvalidRequest(f"a phrase may have at most {PHRASE_WORDS_MAX} words")
    is_prefix = bool(part["star"]) or (quoted is None and written.endswith("*"))
    last = found[-1]
    if is_prefix and last.isascii() and len(last) < PREFIX_CHARS_MIN:
        raise InvalidRequest(f"put at least {PREFIX_CHARS_MIN} characters before the *: {last}…*")
    return Phrase(words=found, is_prefix=is_prefix)


# Passages


def passages(text: str) -> Iterator[tuple[int, str]]:
    """A text in pieces of bounded size, each with where it begins; they overlap a little."""
    start = 0
    while len(text) - start > PASSAGE_CHARS:
        end = _cut(text, start + PASSAGE_CHARS - OVERLAP_CHARS, start + PASSAGE_CHARS)
        yield start, text[start:end]
        start = _after_space(text, end - OVERLAP_CHARS, end)
    yield start, text[start:]


def _cut(text: str, low: int, high: int) -> int:
    """A place between two words, as late as possible; `high` where there is none."""
    space = max(text.rfind(" ", low, high), text.rfind("\n", low, high))
    return high if space < 0 else space + 1


# What matches


def matches(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    """Where phrases occur: begin and end of each, in order; overlapping ones are joined."""
    tokens = list(spans(text))
    found = [
        (tokens[at][1], tokens[at + len(phrase.words) - 1][2])
        for phrase in phrases
        for at in _occurrences([token for token, _, _ in tokens], phrase)
    ]
    joined: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _occurrences(tokens: Sequence[str], phrase: Phrase) -> Iterator[int]:
    *body, last = phrase.words
    width = len(phrase.words)
    for at in range(len(tokens) - width + 1):
        end = tokens[at + width - 1]
        is_end = end.startswith(last) if phrase.is_prefix else end == last
        if is_end and all(tokens[at + n] == word for n, word in enumerate(body)):
            yield at


def score(text: str, phrases: Sequence[Phrase]) -> float:
    """How much a text is about phrases, from 0 to 1: how often each occurs, against its length.

    It needs no statistics of other texts, so that it costs the same however many there are, and both databases agree.
    """
    tokens = words(text)
    if not tokens or not phrases:
        return 0.0
    counts = [sum(1 for _ in _occurrences(tokens, phrase)) for phrase in phrases]
    frequent = sum(count / (count + 1) for count in counts) / len(counts)
    dense = min(1.0, 10 * sum(counts) / len(tokens))
    return round(0.6 * frequent + 0.4 * dense, 4)


def snippet(text: str, found: Sequence[tuple[int, int]]) -> tuple[Segment, ...]:
    """The piece of a text around the most matches, cut between words, with the matches marked."""
    start, end = _window(text, found)
    segments: list[Segment] = [Segment("…")] if start > 0 else []
    at = start
    for first, last in found:
        if last <= start or first >= end:
            continue
        segments += _pieces(text[at : max(first, at)], is_match=False)
        segments += _pieces(text[max(first, at) : min(last, end)], is_match=True)
        at = min(last, end)
    segments += _pieces(text[at:end], is_match=False)
    return (*segments, Segment("…")) if end < len(text) else tuple(segments)


def _window(text: str, found: Sequence[tuple[int, int]]) -> tuple[int, int]:
    if len(text) <= SNIPPET_CHARS:
        return 0, len(text)
    starts = [max(0, first - LEAD_CHARS) for first, _ in found] or [0]
    best = max(
        starts,
        key=lambda low: (sum(low <= a and b <= low + SNIPPET_CHARS for a, b in found), -low),
    )
    start = best if best == 0 else _after_space(text, best, best + LEAD_CHARS)
    end = min(len(text), start + SNIPPET_CHARS)
    return start, end if end == len(text) else _cut(text, end - LEAD_CHARS, end)


def _after_space(text: str, low: int, high: int) -> int:
    space = _SPACES.search(text, low, high)
    return low if space is None else space.end()


def _pieces(text: str, *, is_match: bool) -> list[Segment]:
    return [Segment(_SPACES.sub(" ", text), is_match)] if text else []
