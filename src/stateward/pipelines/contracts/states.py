"""What a document says of its own state: that it is not agreed yet, or not in force any more.

The rules are families of words (`rules/states.yaml`), looked for where a document speaks of itself: in short lines that
stand by themselves, and in sentences. A letter to a customer is read whole. The clauses of an agreement speak of every
state (`terminated`, `pending`, `void`), so of an agreement only what stands above its first paragraph and below its
last one is read, and notes in brackets.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from stateward.core.model import Json
from stateward.pipelines.contracts.rules import (
    ContractRules,
    StateRule,
    Vertical,
    Words,
    expand_label,
)
from stateward.pipelines.kit.documents import TextDocument

MARK_WORDS_MAX = 9
STAMP_WORDS_MAX = 2
PROSE_WORDS = 9  # a line with so many words goes on in the next
PARAGRAPH_WORDS = 30  # of the first and the last paragraph of an agreement
SAID_CHARS_MAX = 600
QUOTE_CHARS_MAX = 100
FAMILIES_MAX = 256  # that are compiled at the same time; the shipped rules have some fifty
GENERAL = "general"

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ(\"“§\[])|(?<=;)\s+")
_BLANK = re.compile(r"_{4,}|\.{8,}|…{3,}")
_LABEL = re.compile(r"\t| {3,}|\.{3,}|:\s+\S")
_NOTE = re.compile(r"\[([^\[\]]{4,300})\]")
_WORD = re.compile(r"[^\W\d_]+")
# A German sentence that begins with its verb, up to a comma and another verb, is a condition: `Wird nicht gekündigt,
# verlängert sich …`; `Geht klar, der Vertrag wurde storniert.` is none.
_CONDITION = re.compile(
    r"\W*(?:wird|werden|kündigt|kündigen|endet|enden|läuft|unterbleibt|erfolgt|geht|kommt|zahlt|zahlen|ziehen|möchten|wollen|sollten?)\s[^.!?,;]{2,90},"
    r"\s(?:so\s|dann\s)?(?-i:[a-zäöüß]{2,}(?:t|en))\b",
    re.IGNORECASE,
)
_ROW = re.compile(r"\t| {3,}|\.{3,}")
_SMALL = re.compile(r"(?<![\w@./&'’-])[a-zäöüß][a-zäöüß'’-]+(?![\w@/]|\.\w)")


class Said(NamedTuple):
    """A line by itself, or a sentence."""

    text: str
    is_line: bool


class _Compiled(NamedTuple):
    rule: StateRule
    words: re.Pattern[str]
    things: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    label: re.Pattern[str] | None

    def holds(self, said: Said, text: str) -> bool:
        """Whether this is said; `text` is the same on one line."""
        text = self.label.sub("", text) if self.label else text
        match self.rule.where:
            case "mark" if not _is_mark(text) or _ROW.search(said.text.strip()):
                return False
            case "blank" if not _BLANK.search(text):
                return False
            case "statement" if _CONDITION.match(text):
                return False
        lowered = in_lower_case(text)
        if not self.words.search(lowered) or (self.things and not self.things.search(lowered)):
            return False
        return self.unless is None or not self.unless.search(lowered)


def state_flags(document: TextDocument, vertical: Vertical, rules: ContractRules) -> Iterator[Json]:
    """What the document says of its own state that a person must see; the first of each code."""
    is_agreement = vertical.extractor == GENERAL
    open_rules = [each for each in _patterns(rules) if each.rule.in_agreements or not is_agreement]
    told: set[str] = set()
    for said in statements(document, is_agreement=is_agreement):
        text = " ".join(said.text.split())[:SAID_CHARS_MAX]
        for each in open_rules:
            if each.rule.code not in told and each.holds(said, text):
                told.add(each.rule.code)
                quote = " ".join(said.text.split())[:QUOTE_CHARS_MAX]
                yield {"code": each.rule.code, "sentence": f"{each.rule.sentence}: {quote!r}"}


def small_words(text: str) -> list[str]:
    return [each.replace("’", "'").strip("'-") for each in _SMALL.findall(text)]


def statements(document: TextDocument, *, is_agreement: bool) -> Iterator[Said]:
    """The lines and sentences in which a document may speak of itself."""
    said = [each for page in document.pages for each in lines_and_sentences(page.text)]
    if not is_agreement:
        yield from said
        return
    long = [at for at, each in enumerate(said) if _words(each.text) >= PARAGRAPH_WORDS]
    first, last = (long[0], long[-1]) if long else (len(said), len(said))
    yield from said[:first]
    yield from said[last + 1 :]
    for page in document.pages:
        yield from (
            Said(note[1].replace(":", " –"), is_line=True) for note in _NOTE.finditer(page.text)
        )


def lines_and_sentences(text: str) -> Iterator[Said]:
    """Lines by themselves as they are; lines of prose joined, and cut into sentences."""
    prose: list[str] = []
    for line in [*text.split("\n"), ""]:
        is_end = bool(prose) and prose[-1].endswith((".", ":", "!", "?"))
        if prose and (not line.strip() or is_end or _LABEL.search(line.strip())):
            yield from (Said(each, is_line=False) for each in _SENTENCE_END.split(" ".join(prose)))
            prose = []
        if prose or (_words(line) >= PROSE_WORDS and not _LABEL.search(line.strip())):
            prose.append(line.strip())
        elif line.strip():
            yield from (Said(each, is_line=True) for each in _SENTENCE_END.split(line.strip()))


def _is_mark(text: str) -> bool:
    short = text.strip()
    is_rest = short[:1].islower() and _words(short) > STAMP_WORDS_MAX  # of a sentence above
    if is_rest or short.endswith(",") or _LABEL.search(short):
        return False
    return _words(short) <= MARK_WORDS_MAX


def _words(text: str) -> int:
    return len(_WORD.findall(text))


_BY_VERSION: dict[str, tuple[_Compiled, ...]] = {}
VERSIONS_MAX = 8


def _patterns(rules: ContractRules) -> tuple[_Compiled, ...]:
    """The families as patterns, compiled once for each version of the rules."""
    if rules.version not in _BY_VERSION:
        if len(_BY_VERSION) >= VERSIONS_MAX:
            _BY_VERSION.clear()
        _BY_VERSION[rules.version] = tuple(
            _Compiled(
                rule,
                small_family(_all(rule.words)),
                small_family(_all(rule.things)) if rule.things else None,
                small_family(rule.unless) if rule.unless else None,
                _label(rule.labels) if rule.labels else None,
            )
            for rule in rules.states
        )
    return _BY_VERSION[rules.version]


def _all(words: Words) -> list[str]:
    return [each for listed in words.values() for each in listed]


def family(words: Sequence[str]) -> re.Pattern[str]:
    """One pattern for many words and phrases, without regard to case."""
    return _family(tuple(words), re.IGNORECASE)


def small_family(words: Sequence[str]) -> re.Pattern[str]:
    """The same for texts in lower case, in which it is found several times as fast."""
    return _family(tuple(each.lower() for each in words), re.NOFLAG)


def in_lower_case(text: str) -> str:
    """A text in lower case; what is no other letter without regard to case becomes that letter."""
    lowered = text.lower()
    return lowered if lowered.isascii() else lowered.translate(_LETTERS)


_LETTERS = str.maketrans("ıſ", "is", "\u0307")  # of which the last is what remains of İ


@lru_cache(maxsize=FAMILIES_MAX)
def _family(words: tuple[str, ...], flags: re.RegexFlag) -> re.Pattern[str]:
    forms = [_form(form) for each in words for form in expand_label(each)]
    return re.compile(rf"(?<![\w@/.-])(?:{'|'.join(forms)})(?![\w])", flags)


def _label(words: Sequence[str]) -> re.Pattern[str]:
    """One of the words at the start of a line, up to its colon."""
    return re.compile(
        rf"^\W*(?:{'|'.join(map(re.escape, words))})\b[^:]{{0,20}}:\s*", re.IGNORECASE
    )


def _form(words: str) -> str:
    """A phrase as a pattern: `*` is any letters, `#` a digit, ` … ` up to six words, a blank any space."""
    made = re.escape(" ".join(words.split()))
    made = made.replace(r"\ …\ ", r"\W{1,3}(?:\w{1,40}\W{1,3}){0,6}?").replace(r"\ ", r"\s+")
    return made.replace(r"\#", r"\d").replace(r"\*", r"[\w-]{0,40}")
