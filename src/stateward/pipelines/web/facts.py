"""Facts in a text, just as they are printed: who did what, how much of what, who said what.

Only what has a name before a known verb is taken for a statement: a fact that is not there does more harm than one that
is missed. Every part of a fact is a range of the text, so that it can be checked by looking there.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit.date_finder import DateFinder
from stateward.pipelines.kit.dates import MONTHS, YEAR_MAX, YEAR_MIN
from stateward.pipelines.web.vocabulary import Vocabulary, vocabulary

SENTENCE_CHARS_MAX = 2_000
OBJECT_WORDS_MAX = 14
BETWEEN_WORDS_MAX = 3  # adverbs and auxiliaries between a name and its verb
QUOTE_CHARS_MIN, QUOTE_CHARS_MAX = 12, 1_500
STATEMENT, QUANTITY, QUOTATION = "statement", "quantity", "quotation"

Span = tuple[int, int]

_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_WORD = (
    rf"(?:(?:{_CAPITAL}\.){{1,3}}(?=\s?{_CAPITAL})|{_CAPITAL}[\w'\u2019&-]*(?:\.(?=\s{_CAPITAL}))?)"
)
_JOIN = r"(?:of|de|von|van|der|den|du|des|del|di|da|y|la|le|&|the|and)"
_NAME = re.compile(rf"(?<!\w){_WORD}(?:[ ](?:{_JOIN}[ ]){{0,2}}{_WORD}){{0,6}}")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_FIGURE_NEXT = re.compile(r"\s*(?:US)?[$€£¥₹]?\s?\d")
# The word in front of a name, or in front of its article.
_BEFORE = re.compile(
    r"([^\W\d_]+)\s(?:(?:the|its|their|his|her|der|die|das|dem|den|la|le|les|el|los|las)\s)?$",
    re.IGNORECASE,
)
BEFORE_CHARS = 40
REACH_CHARS_MAX = 120
_ADVERB = re.compile(r"\w+(?:ly|mente?)")
_INNER_NAME = re.compile(rf"(?<=[a-zß-ÿ,;] )({_WORD})")
_ENDS = re.compile(r"[.!?…]+[\"'”\u2019»)\]]*(?=\s+(?:[\"'“„«¿¡(]\s?)?[A-ZÀ-ÖØ-Þ0-9])")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Inc|Corp|Ltd|Co|vs|No|Nr|bzw|ca|etc|Mio|Mrd|approx|Gen|Sen|Rep|Gov|Jan|Feb|Aug|Sept?|"
    r"Oct|Nov|Dec|Mme|Sra|Str)|\b[A-Z]|\b(?:z\. ?B|d\. ?h|u\. ?a|U\.S|U\.K|e\.g|i\.e|a\.m|p\.m)|\b\d{1,2})\.$"
)
# Where an object ends: punctuation, or a word that begins another clause.
_CLAUSE_END = re.compile(
    r"[;:!?…—]|,(?=\s)|\.(?=\s|$)|\s[-\u2013]\s|[\"“”„«»]|\s(?:which|who|whose|that|because|while|when|where|after|before|although|but|"
    r"and (?:it|he|she|they|is|was|said|will|has)|dass|weil|während|nachdem|wobei|"
    r"und (?:es|er|sie|will|ist)|"  # codespell:ignore ist,sie
    r"qui|que|parce|alors|"
    r"tandis|mais|quien|porque|mientras|pero|cuando)\b"
)
_APPOSITION = re.compile(r",[^,.;]{1,120},\s*$")
_QUOTES = re.compile(
    r"“([^“”]{1,1500})”|\"([^\"\n]{1,1500})\"|„([^„“”]{1,1500})[“”]|«\s?([^«»]{1,1500}?)\s?»"
)
_MONTHS = "|".join(
    sorted((re.escape(name) for name in MONTHS if len(name) > 2), key=len, reverse=True)
)
_DATES = DateFinder(
    (
        re.compile(r"\b(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)\b"),
        re.compile(
            rf"\b(?P<m>{_MONTHS})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+"  # codespell:ignore nd
            r"(?P<y>\d{4})\b",
            re.IGNORECASE,
        ),
        re.compile(
            rf"\b(?P<d>\d{{1,2}})(?:\.|er|st|nd|rd|th)?\s+"  # codespell:ignore nd
            rf"(?:de\s+|of\s+)?(?P<m>{_MONTHS})\.?,?\s+(?:de\s+)?(?P<y>\d{{4}})\b",
            re.IGNORECASE,
        ),
        re.compile(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b"),
    ),
    months=MONTHS,
    years=(YEAR_MIN, YEAR_MAX),
)


class FactPlace(msgspec.Struct, frozen=True, gc=False):
    """Where a fact stands: characters of the kept text of its page."""

    file: str
    start: int
    end: int


class PrintedFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact as it is printed. `spans` are the ranges of its parts; `where` is the range of the whole."""

    kind: str
    printed: str
    where: FactPlace
    page: int
    language: str = ""
    subject: str = ""
    relation: str = ""
    verb: str = ""
    object: str = ""
    number: str = ""
    scale: str = ""
    unit: str = ""
    quotation: str = ""
    date: str = ""
    spans: dict[str, Span] = {}


class Part(NamedTuple):
    """A part of a fact in the text."""

    name: str
    start: int
    end: int


class FactFinder:
    """Finds the facts of one text."""

    def __init__(self, text: str, *, language: str, file: str, page: int = 1) -> None:
        self._text = text
        self._language = language
        self._file = file
        self._page = page
        self._words: Vocabulary = vocabulary(language)
        self._inner_names = frozenset(_INNER_NAME.findall(text))

    def facts(self) -> Iterator[PrintedFact]:
        """All facts in the order of the text; none twice."""
        for start, end in sentences(self._text):
            seen: set[tuple[str, int, int]] = set()
            for fact in self._sentence(start, end):
                mark = fact.kind, fact.where.start, fact.where.end
                if mark not in seen:
                    seen.add(mark)
                    yield fact

    def _sentence(self, start: int, end: int) -> Iterator[PrintedFact]:
        dates = [
            Part("date", each.start, each.end)
            for each in _DATES.find(self._text, order="dmy", start=start, end=end)
        ]
        quotations = [*self._quotations(start, end)]
        quoted = [
            (part.start, part.end)
            for parts in quotations
            for part in parts
            if part.name == "quotation"
        ]
        for parts in quotations:
            yield self._fact(QUOTATION, parts, relation="said")
        numbers = [each for each in self._quantities(start, end) if not _is_inside(each[0], dates)]
        used: list[tuple[int, int]] = []
        for parts, relation in self._statements(start, end, quoted):
            inside = next((found for found in numbers if _is_within(found[0], parts)), [])
            days = [part for part in dates if parts[0].start <= part.start and part.end <= end][:1]
            used += [(part.start, part.end) for part in inside]
            yield self._fact(STATEMENT, [*parts, *inside, *days], relation=relation)
        subject = self._first_name(start, end)
        for found in numbers:
            if any(first <= found[0].start < last for first, last in [*used, *quoted]):
                continue
            before = [subject] if subject is not None and self._reaches(subject, found[0]) else []
            yield self._fact(QUANTITY, [*before, *found, *dates[:1]], relation="mentions")

    def _reaches(self, subject: Part, number: Part) -> bool:
        """Whether a number may be of the first name of its sentence: not far behind it, nor in another cell."""
        if not 0 <= number.start - subject.end <= REACH_CHARS_MAX:
            return False
        return "|" not in self._text[subject.end : number.start]

    def _statements(
        self, start: int, end: int, quoted: list[tuple[int, int]]
    ) -> Iterator[tuple[list[Part], str]]:
        """A name, a verb behind it, and what follows up to the end of the clause."""
        done = start
        for match in self._words.verbs.finditer(self._text, start, end):
            if match.start() < done or any(first <= match.start() < last for first, last in quoted):
                continue
            relation = self._words.relation_of[match[0]]
            subject = self._name_before(start, match.start(), is_strict=True)
            object_ = self._object(match.end(), end)
            if subject is None or object_ is None:
                continue
            if relation == "said" and (quoted or not self._is_said(object_)):
                continue
            verb = Part("verb", match.start(), match.end())
            yield [subject, verb, object_], relation
            done = object_.end

    def _is_said(self, part: Part) -> bool:
        """Whether what follows a verb of saying is what was said, and not where or when."""
        words = self._text[part.start : part.end].lower().split()
        return len(words) > 2 and words[0] not in self._words.not_said

    def _name_before(self, start: int, end: int, *, is_strict: bool = False) -> Part | None:
        """The name that a verb belongs to: right before it, or before an apposition between commas.

        A strict one is itself the subject: not a place or an owner of what is (`officials in Delhi`, `Korea's beauty`).
        """
        stop = end
        apposition = _APPOSITION.search(self._text, start, end)
        if apposition is not None:
            stop = apposition.start()
        last = None
        for match in _NAME.finditer(self._text, start, stop):
            last = match
        if last is None:
            return None
        between = self._text[last.end() : stop].lstrip(".").split()  # "Acme Corp. also said"
        if len(between) > BETWEEN_WORDS_MAX or any(not word.isalpha() for word in between):
            return None
        if (
            between and self._language == "de"
        ):  # every noun has a capital letter: it must stand at the verb
            return None
        if between and _POSSESSIVE.search(last[0]):  # "Morrison's lawyer said"
            return None
        found = self._trimmed_name(last.start(), last.end())
        if found is None or not is_strict:
            return found
        is_plain = all(word in self._words.between or _ADVERB.fullmatch(word) for word in between)
        return found if is_plain and not self._is_circumstance(found.start) else None

    def _is_circumstance(self, start: int) -> bool:
        """Whether a name that begins here stands behind a preposition, and so is where, from whom or of what."""
        before = _BEFORE.search(self._text, max(0, start - BEFORE_CHARS), start)
        return before is not None and before[1].lower() in self._words.prepositions

    def _is_owner(self, match: re.Match[str]) -> bool:
        """Whether a name only owns what is counted: `Peru's exports of 3 t`, but not `Yahoo's $4.8 billion`."""
        is_possessive = _POSSESSIVE.search(match[0]) is not None
        return is_possessive and _FIGURE_NEXT.match(self._text, match.end()) is None

    def _first_name(self, start: int, end: int) -> Part | None:
        """The first name of a sentence that may be its subject.

        A single word that begins it is one only if it is one elsewhere.
        """
        for match in _NAME.finditer(self._text, start, end):
            found = self._trimmed_name(match.start(), match.end())
            if found is None or self._is_owner(match) or self._is_circumstance(found.start):
                continue
            name = self._text[found.start : found.end]
            if found.start > start or " " in name or name in self._inner_names:
                return found
        return None

    def _trimmed_name(self, start: int, end: int) -> Part | None:
        """A name without the words in front that only begin a sentence; None if nothing is left."""
        while True:  # each round takes one word off
            word = re.match(r"[\w'\u2019-]+", self._text[start:end])
            if word is None:
                return None
            if word[0].lower() not in self._words.not_names:
                break
            start += word.end()
            while start < end and not self._text[start].isalnum():
                start += 1
        name = self._text[start:end].rstrip(".\u2019'")
        for ending in ("'s", "\u2019s"):
            name = name.removesuffix(ending)
        return Part("subject", start, start + len(name)) if len(name) > 1 else None

    def _object(self, start: int, end: int) -> Part | None:
        while start < end and self._text[start].isspace():
            start += 1
        stop = _CLAUSE_END.search(self._text, start, end)
        text = self._text[start : stop.start() if stop else end]
        words = [*re.finditer(r"\S+", text)][:OBJECT_WORDS_MAX]
        if not words:
            return None
        found = text[: words[-1].end()].rstrip(" .,;:\"'”\u2019»)")
        return (
            Part("object", start, start + len(found)) if any(c.isalnum() for c in found) else None
        )

    def _quantities(self, start: int, end: int) -> Iterator[list[Part]]:
        for match in self._words.quantity.finditer(self._text, start, end):
            names = (
                ("number", "first"),
                ("number", "number"),
                ("scale", "scale1"),
                ("scale", "scale"),
            )
            units = (("unit", "sign"), ("unit", "unit"))
            found = [
                Part(name, *match.span(group)) for name, group in (*names, *units) if match[group]
            ]
            yield sorted(found, key=lambda part: part.start)

    def _quotations(self, start: int, end: int) -> Iterator[list[Part]]:
        """Quoted words with the name that says them, before or behind, in the same sentence."""
        for match in _QUOTES.finditer(self._text, start, end):
            first, last = next(
                match.span(group) for group in range(1, 5) if match[group] is not None
            )
            if last - first < QUOTE_CHARS_MIN:
                continue
            quotation = Part("quotation", first, last)
            speaker = self._speaker(start, end, match.start(), match.end())
            if speaker:
                yield [quotation, *speaker]

    def _speaker(self, start: int, end: int, first: int, last: int) -> list[Part]:
        """The name and verb beside a quotation: `Ann Lee said: “…”`, `“…”, said Ann Lee`, `“…,” Ann Lee said`."""
        said = [
            match
            for match in self._words.verbs.finditer(self._text, start, end)
            if self._words.relation_of[match[0]] == "said" and not first <= match.start() < last
        ]
        for match in said:
            verb = Part("verb", match.start(), match.end())
            if match.end() <= first:
                name = self._name_before(start, match.start())
            else:
                behind = _NAME.match(self._text, match.end() + 1, end)
                name = (
                    self._trimmed_name(behind.start(), behind.end())
                    if behind is not None
                    else self._name_before(last, match.start())
                )
            if name is not None:
                return [name, verb]
        return []

    def _fact(self, kind: str, parts: list[Part], *, relation: str) -> PrintedFact:
        start, end = min(part.start for part in parts), max(part.end for part in parts)
        texts = {part.name: self._text[part.start : part.end] for part in parts}
        return PrintedFact(
            kind=kind,
            printed=self._text[start:end],
            where=FactPlace(self._file, start, end),
            page=self._page,
            language=self._language,
            relation=relation,
            spans={part.name: (part.start, part.end) for part in parts},
            **texts,
        )


def page_dates(text: str) -> list[str]:
    """The days that a text prints with a month in words, or with the day first."""
    return [each.value for each in _DATES.find(text, order="dmy")]


def leading_name(text: str) -> str:
    """The name that a text begins with, behind an article; "" if it begins with none."""
    found = _NAME.match(re.sub(r"^(?:the|la|le|el|die|der|das|los|les)\s+", "", text))
    return found[0].rstrip(".") if found else ""


def sentences(text: str) -> Iterator[Span]:
    """The sentences of a text as ranges; a line is never part of two, a dot behind an abbreviation ends none."""
    at = 0
    for line in text.split("\n"):
        start = at
        for match in _ENDS.finditer(text, at, at + len(line)):
            if match[0].startswith(".") and _ABBREVIATED.search(
                text, max(start, match.start() - 12), match.start() + 1
            ):
                continue
            yield from _pieces(start, match.end())
            start = match.end()
            while start < at + len(line) and text[start].isspace():
                start += 1
        yield from _pieces(start, at + len(line))
        at += len(line) + 1


def _pieces(start: int, end: int) -> Iterator[Span]:
    """A range in pieces that patterns can be searched in within a bounded time."""
    for at in range(start, end, SENTENCE_CHARS_MAX):
        yield at, min(end, at + SENTENCE_CHARS_MAX)


def _is_inside(part: Part, others: list[Part]) -> bool:
    return any(other.start <= part.start and part.end <= other.end for other in others)


def _is_within(part: Part, parts: list[Part]) -> bool:
    object_ = parts[-1]
    return object_.start <= part.start and part.end <= object_.end
