"""What a document says of its own state: that it is not agreed yet, or not in force any more.

The rules are families of words (`rules/states.yaml`), looked for where a document speaks of itself: in short lines that
stand by themselves, and in sentences. A letter to a customer is read whole. The clauses of an agreement speak of every
state (`terminated`, `pending`, `void`), so of an agreement only what stands above its first paragraph and below its
last one is read, and notes in brackets.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stateward.core.model import Json
from stateward.pipelines.contracts.rules import (
    ContractRules,
    StateRule,
    Vertical,
    Words,
    all_labels,
    expand_label,
)
from stateward.pipelines.kit.documents import TextDocument

MARK_WORDS_MAX = 9
STAMP_WORDS_MAX = 2
PROSE_WORDS = 9  # a line with so many words goes on in the next
PARAGRAPH_WORDS = 30  # of the first and the last paragraph of an agreement
SAID_CHARS_MAX = 600
REST_WORDS_MAX = 3  # of a line that begins with a small letter: the end of a sentence above
ODD_SHARE = 1 / 3  # of the words of an assertion
ODD_NAMED_MAX = 3
KNOWN_LANGUAGE_SHARE = 0.5
QUOTE_CHARS_MAX = 100
GENERAL = "general"

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ(\"“§\[])|(?<=;)\s+")
_BLANK = re.compile(r"_{4,}|\.{8,}|…{3,}")
_LABEL = re.compile(r"\t| {3,}|\.{3,}|:\s+\S")
_NOTE = re.compile(r"\[([^\[\]]{4,300})\]")
_WORD = re.compile(r"[^\W\d_]+")
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

    def holds(self, said: Said) -> bool:
        text = " ".join(said.text.split())[:SAID_CHARS_MAX]
        text = self.label.sub("", text) if self.label else text
        match self.rule.where:
            case "mark" if not _is_mark(text) or _ROW.search(said.text.strip()):
                return False
            case "blank" if not _BLANK.search(text):
                return False
        if not self.words.search(text) or (self.things and not self.things.search(text)):
            return False
        return self.unless is None or not self.unless.search(text)


def state_flags(document: TextDocument, vertical: Vertical, rules: ContractRules) -> Iterator[Json]:
    """What the document says of its own state that a person must see; the first of each code."""
    is_agreement = vertical.extractor == GENERAL
    open_rules = [each for each in _patterns(rules) if each.rule.in_agreements or not is_agreement]
    told: set[str] = set()
    for said in statements(document, is_agreement=is_agreement):
        for each in open_rules:
            if each.rule.code not in told and each.holds(said):
                told.add(each.rule.code)
                quote = " ".join(said.text.split())[:QUOTE_CHARS_MAX]
                yield {"code": each.rule.code, "sentence": f"{each.rule.sentence}: {quote!r}"}


def odd_flags(document: TextDocument, vertical: Vertical, rules: ContractRules) -> Iterator[Json]:
    """An assertion in a letter to a customer that is made of words unknown in such letters; the first one."""
    if vertical.extractor == GENERAL or not rules.letter_words:
        return
    known = rules.letter_words | _names(rules)
    said = [each.text.strip() for each in statements(document, is_agreement=False)]
    seen = [word for text in said for word in small_words(text)]
    if sum(word in known for word in seen) < len(seen) * KNOWN_LANGUAGE_SHARE:
        return  # a language that the words are not of
    labels = {each.casefold() for field in vertical.fields for each in all_labels(field.labels)}
    is_open = family(list(rules.open_words))
    for text in said:
        is_rest = text[:1].islower() and _words(text) <= REST_WORDS_MAX
        is_value = _ROW.search(text) or text.partition(":")[0].casefold() in labels
        if is_rest or is_value or is_open.search(text):
            continue
        words = [word for word in small_words(text) if word not in rules.function_words]
        odd = [word for word in words if word not in known]
        if odd and len(odd) >= len(words) * ODD_SHARE:
            said_words = ", ".join(repr(word) for word in odd[:ODD_NAMED_MAX])
            quote = " ".join(text.split())[:QUOTE_CHARS_MAX]
            sentence = f"a sentence was not understood ({said_words}): {quote!r}"
            yield {"code": "NOT_UNDERSTOOD", "sentence": sentence}
            return


def small_words(text: str) -> list[str]:
    return [each.replace("’", "'").strip("'-") for each in _SMALL.findall(text)]


def _names(rules: ContractRules) -> set[str]:
    """The words of the names of providers: some are written small."""
    listed = (each for one in rules.providers for each in (one.name, *one.aliases))
    return {word for name in listed for word in name.casefold().split()}


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
                family(_all(rule.words)),
                family(_all(rule.things)) if rule.things else None,
                family(rule.unless) if rule.unless else None,
                _label(rule.labels) if rule.labels else None,
            )
            for rule in rules.states
        )
    return _BY_VERSION[rules.version]


def _all(words: Words) -> list[str]:
    return [each for listed in words.values() for each in listed]


def family(words: Sequence[str]) -> re.Pattern[str]:
    """One pattern for many words and phrases, without regard to case."""
    forms = [_form(form) for each in words for form in expand_label(each)]
    return re.compile(rf"(?<![\w@/.-])(?:{'|'.join(forms)})(?![\w])", re.IGNORECASE)


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
