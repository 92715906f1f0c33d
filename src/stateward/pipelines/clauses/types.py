"""The type of a clause, by its heading and by the phrases of its text; both are data (`types.yaml`).

A heading that names a type decides. Without one, phrases of the text do; a clause that is numbered below another and
says nothing of its own has the type of that one, with less confidence. What fits two types almost equally is flagged.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

OTHER = "other"
HEADING, HEADING_PART, HEADING_HELD, STRONG, PHRASE, INHERITED = 95, 88, 75, 24, 6, 15
WORD_MIN = 6  # letters of a heading that is held in another one: "law" and "term" are in many
TEXT_BASE, TEXT_MAX = 40, 85
SURE = 60  # below it, a type is a guess
CLOSE = 8  # confidences that differ less do not decide between two types
TEXT_CHARS_MAX = 6000  # of a clause: what it is about is said at its beginning
AMBIGUOUS = "TYPE_AMBIGUOUS"
_ACCENTS = re.compile("[\u0300-\u036f]")


class Phrases(NamedTuple):
    """Phrases as one expression, and a word of each: a text without any of the words need not be searched."""

    pattern: re.Pattern[str]
    words: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """Whether a text has one of them."""
        return self._may_be_in(text) and self.pattern.search(text) is not None

    def all_in(self, text: str) -> tuple[str, ...]:
        """Those that a text has, each once."""
        if not self._may_be_in(text):
            return ()
        return tuple(dict.fromkeys(" ".join(found.split()) for found in self.pattern.findall(text)))

    def _may_be_in(self, text: str) -> bool:
        for word in self.words:  # noqa: SIM110 - asked thousands of times a contract; `any` takes twice as long
            if word in text:
                return True
        return False


class ClauseType(msgspec.Struct, frozen=True):
    """What is known of a type."""

    name: str
    title: str
    headings: frozenset[str]
    strong: Phrases
    phrases: Phrases


class Typed(msgspec.Struct, frozen=True):
    """The type of a clause, how sure it is, the words that say so, and what speaks against it."""

    type: str
    confidence: int
    matched: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def topics_of(text: str, *, besides: str) -> list[str]:
    """Other types that a clause speaks of in words of their own, such as the law in a clause of general provisions."""
    bare = _fold(text[:TEXT_CHARS_MAX])
    return [each.name for each in _types() if each.name != besides and each.strong.is_in(bare)]


def clause_type(heading: str, text: str, *, above: Typed | None = None) -> Typed:
    """The type of a clause; `above` is that of the clause that it stands below."""
    by_heading = _by_heading(heading)
    if by_heading is not None:
        return by_heading
    if above is not None and above.type == "definitions":  # what is defined is no clause about it
        return Typed(above.type, max(30, above.confidence - INHERITED), above.matched)
    found = _by_text(text)
    if found is not None and (above is None or found.confidence >= above.confidence - INHERITED):
        return found
    if above is not None and above.type not in (OTHER, "general"):
        return Typed(above.type, max(30, above.confidence - INHERITED), above.matched)
    return found or Typed(OTHER, 0)


def type_titles() -> dict[str, str]:
    """The names of all types, each with its title."""
    return {each.name: each.title for each in _types()} | {OTHER: "Other"}


def _by_heading(heading: str) -> Typed | None:
    bare = bare_text(heading)
    if not bare:
        return None
    table = _headings()
    if bare in table:
        return Typed(table[bare], HEADING, (heading,))
    parts = [part for part in re.split(r"\s(?:and|or|und|sowie)\s|[;,/&]", _fold(heading)) if part]
    for part in parts:
        known = table.get(bare_text(part))
        if known is not None:
            return Typed(known, HEADING_PART, (part.strip(),))
    words = bare.split()
    runs = (
        " ".join(words[start : start + size])
        for size in range(min(len(words), 4), 0, -1)
        for start in range(len(words) - size + 1)
    )
    held = next((run for run in runs if len(run) >= WORD_MIN and run in table), None)
    return None if held is None else Typed(table[held], HEADING_HELD, (held,))


def _by_text(text: str) -> Typed | None:
    """The type that most phrases speak for."""
    bare = _fold(text[:TEXT_CHARS_MAX])
    scores: list[tuple[int, str, tuple[str, ...]]] = []
    for each in _types():
        strong = each.strong.all_in(bare)
        weak = each.phrases.all_in(bare)
        points = STRONG * len(strong) + PHRASE * len(weak)
        if points > PHRASE:  # a single common word says nothing
            scores.append((points, each.name, (*strong, *weak)))
    if not scores:
        return None
    scores.sort(key=lambda one: -one[0])
    points, name, matched = scores[0]
    second = scores[1][0] if len(scores) > 1 else 0
    confidence = min(TEXT_MAX, TEXT_BASE + points) if points >= STRONG else min(50, 30 + points)
    flags = (AMBIGUOUS,) if points - second < CLOSE and points >= STRONG else ()
    return Typed(name, min(confidence, 55) if flags else confidence, matched[:4], flags)


def bare_text(text: str) -> str:
    """Words without case, accents and punctuation: the form in which headings are compared."""
    return " ".join(re.findall(r"[a-z0-9]+", _fold(text)))


@lru_cache(maxsize=8)  # a clause is looked at for its type and for its topics
def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold().replace("ß", "ss"))
    return plain if plain.isascii() else _ACCENTS.sub("", plain)


@lru_cache(maxsize=1)
def _types() -> tuple[ClauseType, ...]:
    data = msgspec.yaml.decode(
        (files("stateward.pipelines.clauses") / "types.yaml").read_text("utf-8")
    )
    return tuple(_read_type(name, value) for name, value in data["types"].items())


def _read_type(name: str, value: Mapping[str, Sequence[str]]) -> ClauseType:
    return ClauseType(
        name,
        str(value["title"]),
        frozenset(map(bare_text, value["headings"])),
        _pattern(value["strong"]),
        _pattern(value["phrases"]),
    )


@lru_cache(maxsize=1)
def _headings() -> dict[str, str]:
    return {heading: each.name for each in _types() for heading in sorted(each.headings)}


def _pattern(phrases: Iterable[str]) -> Phrases:
    """Phrases as one expression; blanks match any blanks, a star the rest of a word, one alone up to three words."""
    found = [_expression(phrase) for phrase in phrases]
    pattern = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(found)})(?![a-z0-9])")
    words = (max(_fold(phrase).replace("*", " ").split(), key=len) for phrase in phrases)
    return Phrases(pattern, tuple(dict.fromkeys(words)))


def _expression(phrase: str) -> str:
    return r"\s+".join(
        r"(?:\w+\s+){0,2}\w+" if word == "*" else re.escape(word).replace(r"\*", r"\w*")
        for word in _fold(phrase).split()
    )
