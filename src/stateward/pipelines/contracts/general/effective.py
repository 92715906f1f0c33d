"""The effective date: the one that is called so, else that of the first sentence, the letter or the signatures.

Contracts contain many other dates (of agreements they replace, of laws, of filings), so a date counts only by the words
around it.
"""

import re
from collections.abc import Iterator

import msgspec

from stateward.pipelines.contracts.general.dates import dates_in
from stateward.pipelines.contracts.general.prose import Prose, ProseLine
from stateward.pipelines.contracts.general.unlined_text import greeting_at
from stateward.pipelines.kit.date_finder import FoundDate

HEAD_CHARS = 5000
LETTER_ROWS = 40
LETTER_CHARS = 1500
MADE, LABELLED = 92, 84
OTHERS = 60
LETTER, UNLINED = 72, 70  # confidence of the date of a letter, with lines and without
OTHER_START_MAX = 70
DEFINED_CHARS = 60
NAMED_MIN = 75  # confidence of a date that words make that of this contract
STARTS_CHARS = 160
WHY_CALLED = "called the effective date"
WHY_SIGNED = "the date of the signatures"
SIGNED_FROM = 0.7  # of the text: dates on lines of their own are those of signatures

_LABEL_AFTER = re.compile(
    r"^\s*,?\s*\(\s*(?:the\s+|such\s+date,?\s+the\s+)?\"?\s*(?:Effective|Commencement)\s+Date",
    re.IGNORECASE,
)
_LABEL_BEFORE = re.compile(
    r"\b(?:effective\s+date|date\s+of\s+(?:this\s+)?agreement|agreement\s+date|commencement\s+date|vertragsbeginn)\b"
    r"(?:\s+of\s+this\s+agreement)?\s*(?:\([^)]{0,40}\)\s*)?(?::|is|ist|shall\s+be|means|as)?\s*(?:as\s+of\s+)?(?:the\s+|der\s+)?\W{0,4}$",
    re.IGNORECASE,
)
# Among the definitions, wherever they stand: `"Effective Date" means December 13, 2008`.
_DEFINED_BEFORE = re.compile(
    r"\"(?:the\s+)?effective\s+date\"\s+(?:means|shall\s+mean|is|shall\s+be)\s*:?\s*(?:as\s+of\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
# What may stand before a definition on its line; `In the License, "Effective Date" means` defines that of a license.
_OPENS = re.compile(
    r"(?:^|[.;:)\]\d-]|\bterm|\b(?:herein|hereof|this\s+agreement),?)\s*$", re.IGNORECASE
)
# The heading of an exhibit; not the mark of a filing, `EXHIBIT 10.1`, which may be on every page.
_EXHIBIT = re.compile(
    r"\W*(?i:EXHIBIT|SCHEDULE|ANNEX|APPENDIX|ATTACHMENT|ANLAGE)\s+\W?(?:[A-Z]{1,2}|\d{1,2})(?:-\d{1,2})?\b(?!\.\d)"
    r"(?:\W{1,4}[A-Z].{0,60}[^.,;])?\W{0,4}\Z"
)
_EFFECTIVE = re.compile(
    r"\bwith\s+effect\s+(?:from|as\s+of|on)\s*(?:the|this)?\s*$|\bmit\s+Wirkung\s+(?:vom|ab|zum|ab\s+dem)\s*$|"
    r"\b(?:enters|comes)\s+into\s+(?:force|effect)\s+(?:on|from)\s*(?:the)?\s*$|"
    r"\b(?:effective|wirksam)\b(?:\s+for\s+all\s+purposes)?\s*,?\s*(?:as\s+of|on|from|this|the|ab)?\s*(?:the|this)?\s*$",
    re.IGNORECASE,
)
# In German the words that make a date the effective one stand on both sides of it, or before it.
_ENTERS = re.compile(
    r"\b(?:vertrag|vereinbarung)\b[^.;]{0,60}?\btritt\s+(?:am|zum|ab|mit(?:\s+wirkung\s+(?:vom|zum|ab))?)\s*(?:dem\s+)?$",
    re.IGNORECASE,
)
_IN_FORCE = re.compile(r"^\s*in\s+kraft\b", re.IGNORECASE)
_BEGINS = re.compile(
    r"\b(?:vertrag|vereinbarung|abkommen|vertragsverhältnis|mietverhältnis|pachtverhältnis|mietzeit|laufzeit|vertragslaufzeit|mitgliedschaft)\s+"
    r"(?:beginnt\s+(?:am|zum|ab|mit\s+dem)|gilt\s+(?:ab|vom|mit\s+wirkung\s+(?:ab|vom|zum)))\s*(?:dem\s+)?$",
    re.IGNORECASE,
)
# `In Ergänzung des Kooperationsvertrages vom`: the date of what is not this contract.
_SUPPLEMENTED = re.compile(
    r"\b(?:ergänzung|änderung|nachtrag|ablösung|anlehnung|bezug(?:nahme)?|grundlage|aufhebung)\b[^.;]{0,110}\bvom\s*$",
    re.IGNORECASE,
)
_PLACE_AND = re.compile(r"[A-ZÄÖÜ][\w./ -]{1,40},\s*(?:den|am)\s*")
_MADE = re.compile(
    r"\b(?:made|entered\s+into|dated|executed|concluded|delivered|given|signed|effective|agreement|geschlossen)\b[^.;]{0,60}?"
    r"\b(?:as\s+of|on|this|dated|the|vom|am)\b\s*(?:the\s+|this\s+)?(?:\s*day\s+of\s+)?$|\bdated\s*:?\s*$|\bas\s+of\s*:?\s*(?:the|this)?\s*$|"
    r"\bmade\s+(?:and\s+entered\s+into\s+)?,?\s*$|\bentered\s+into\s*,?\s*$",
    re.IGNORECASE,
)
_MAKES = re.compile(
    r"\b(?:this|mutual|the)\b[^.;]{0,90}\b(?:agreement|contract|amendment)\b.{0,60}\b(?:made|entered|between|executed|concluded)\b|"
    r"vereinbarung|vertrag",
    re.IGNORECASE | re.DOTALL,
)
_ON = re.compile(r"\b(?:on|as\s+of|dated|this|vom|am)\s+(?:this\s+|the\s+)?$", re.IGNORECASE)
_DATE_LABEL = re.compile(r"\b(?:DATE|Date|Dated|Datum)\s*:?\s*$")
# A line that begins with the label of the date, as in a table of particulars.
_THIS_IS_DATED = re.compile(
    r"\bthis\s+(?:[\w-]+\s+){0,6}(?:agreement|lease|licen[cs]e|deed|contract)\s*(?:\([^()]{0,60}\)\s*)?,?\s*"
    r"(?:is|was)\s+(?:hereby\s+)?(?:made|dated|entered\s+into|executed|effective)(?:\s+and\s+(?:entered\s+into|made|effective))?"
    r"(?:\s+effective)?\s*,?\s*(?:as\s+of\s+|on\s+|this\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
_ROW_LABEL = re.compile(
    r"\W*(?:(?:agreement\s+)?date(?:d|\s+of\s+(?:this\s+)?(?:agreement|lease|contract))?|datum|(?:vertrags)?beginn|start\s+date|commencement|effective)\s*:?\s*(?:the\s+|am\s+)?",
    re.IGNORECASE,
)
_THIS = re.compile(
    r"\b(?:this|the\s+within|following)\b[^.;]{0,140}\b(?:agreement|letter|contract|undertaking|deed|covenant|amendment|addendum|memorandum|lease|licen[cs]e)\b|"
    r"\bagreement\b|\bdiese[rs]?\s+(?:\w+\s+)?\w*(?:vertrag|vereinbarung)\b",
    re.IGNORECASE,
)
_OTHER_ONE = re.compile(
    r"\b(?:that\s+certain|certain|merger|employment|existing|prior|previous|original|license|purchase|letter\s+of\s+intent|"
    r"pursuant\s+to|under\s+the|amend(?:ed|s)?|supersed\w*|replac\w*|filed|filing|form\s+\d|act\s+of|expir\w*|terminat\w*|"
    r"born|patent|issued|ending|ended|through|until|since)\b[^.;]{0,70}$",
    re.IGNORECASE,
)
# The last agreement before the date is not "this" one: "parties to a Covenant Not to Compete, dated as of".
_ANOTHER = re.compile(
    r"\b(?:an?|that|his|her|its|their|your|our|certain|such|\w+['’]s|the(?!\s*[\"“”'‘(]))\s+"
    r"(?:(?!\bthis\b)[^.;]){0,160}\bagreement\b(?:(?!\bthis\b)[^.;]){0,90}$|"
    r"(?<!this\s)[\"“][^\"“”]{0,60}agreement[\"”]\s*\)?,?\s*dated(?:\s+as\s+of)?\s*$|"
    r"\b(?:ersetzt|ersetzen|bisherige\w*|frühere\w*)\b[^.;]{0,60}\bvom\s*$",
    re.IGNORECASE,
)
_RESTATED = re.compile(r"\bamended\s+and\s+restated\b", re.IGNORECASE)
_AMENDED = re.compile(
    r"\b(?:amendment|addendum|supplement)\b[^.;]{0,50}\bto\s+(?:the|that|its)\b[^.;]{0,120}$",
    re.IGNORECASE,
)
# A sentence that begins with it: the date is that of a signature, whatever the sentence before speaks of.
_SIGNED = re.compile(
    r"(?:^|[.;:!?\n]\s*)(?:Signed|SIGNED|Unterzeichnet|Unterschrieben)\b[^.;]{0,40}$"
)
_SIGNS = re.compile(r"\b(?:signed|unterzeichnet|unterschrieben)\b[^.;]{0,30}$", re.IGNORECASE)
_WITNESS = re.compile(
    r"\b(?:in\s+witness|executed\s+this|have\s+(?:duly\s+)?(?:executed|signed|caused)|has\s+(?:duly\s+)?(?:executed|signed)|"
    r"accepted|agreed|acknowledged|signed|undersigned)\b[^;]{0,260}$",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"\s*(?:dear\b|ladies\s+and\s+gentlemen|gentlemen|to\s+whom|re\s*:|sehr\s+geehrte)",
    re.IGNORECASE,
)
# `the term of this Agreement shall begin on`, `to be effective`: right before a date.
_STARTS = re.compile(
    r"(?:\b(?:term|agreement|contract|promotion|engagement|appointment)\b[^.;]{0,110}\b"
    r"(?:commenc\w+|begins?|beginning|starts?|starting|effective)|\bto\s+be\s+effective)"
    r"(?:\s+(?:on|as\s+of|from|the|date|this|of))*\s*$",
    re.IGNORECASE,
)
_WHY_LETTER = "the date at the top of a letter"
_TOKEN_ROW = re.compile(r"\W*(?:date|dated|as of)?\W*", re.IGNORECASE)


class EffectiveDate(msgspec.Struct, frozen=True, gc=False):
    """A date that may be the effective one."""

    value: str
    start: int
    end: int
    confidence: int
    why: str
    cap: int = 100


def effective_date(prose: Prose) -> EffectiveDate | None:
    """The day from which the contract is effective."""
    best = _best_day(prose)
    if best is None or best.why == WHY_CALLED:
        return best
    other = _other_start(prose, best)
    if other is None:
        return best
    why = f"{best.why}; elsewhere it is said to start on {other.value}"
    confidence = min(best.confidence, OTHER_START_MAX)
    return msgspec.structs.replace(best, confidence=confidence, why=why, cap=OTHER_START_MAX)


def _other_start(prose: Prose, best: EffectiveDate) -> FoundDate | None:
    """Another day on which the contract, or its term, is said to start, or that is defined as its effective date."""
    for dated in prose.dates:
        before = prose.text[max(0, dated.start - STARTS_CHARS) : dated.start]
        is_start = _STARTS.search(before) or _DEFINED_BEFORE.search(before)
        if dated.value != best.value and is_start and not _ANOTHER.search(before):
            return dated
    return None


def _best_day(prose: Prose) -> EffectiveDate | None:
    head = list(_by_words(prose))
    named = [day for day in head if day.confidence >= NAMED_MIN]
    if named:
        return _with_support(_first_best(named), head)
    letter = _letter_day(prose)
    signed = list(_signature_days(prose))
    witness = [day for day in signed if day.confidence >= NAMED_MIN]
    if letter is not None and (letter.confidence >= UNLINED or not witness):
        return _with_support(letter, [*head, *signed])
    if witness:
        return _with_support(_first_best(witness), signed)
    if signed:
        return max(signed, key=lambda day: day.value)  # the last signature makes it effective
    return _first_best(head) if head else None


def _first_best(days: list[EffectiveDate]) -> EffectiveDate:
    return max(days, key=lambda day: (day.confidence, -day.start))


def _with_support(best: EffectiveDate, others: list[EffectiveDate]) -> EffectiveDate:
    """Raise the confidence of a date that is found twice; lower that of one that another contradicts."""
    same = sum(day.value == best.value and day.start != best.start for day in others)
    rival = any(day.value != best.value and day.confidence >= best.confidence for day in others)
    confidence = min(97, best.confidence + 3 * min(same, 2)) - (12 if rival else 0)
    return EffectiveDate(best.value, best.start, best.end, confidence, best.why)


def _by_words(prose: Prose) -> Iterator[EffectiveDate]:
    """Dates at the start that words around them make the date of this contract."""
    head = list(_by_words_at_start(prose))
    yield from head
    made = min((day.start for day in head if day.confidence >= NAMED_MIN), default=None)
    text = prose.text
    for dated in prose.dates:
        defined = _DEFINED_BEFORE.search(text, max(0, dated.start - DEFINED_CHARS), dated.start)
        if defined is None or (made is not None and _is_exhibit_between(prose, made, dated.start)):
            continue
        row = prose.row_at(defined.start())
        if _OPENS.search(text[row.start : defined.start()]):
            yield _day(dated, 93, "defined as the effective date")
    for dated in [dated for dated in prose.dates if dated.end > HEAD_CHARS]:
        after = text[dated.end : dated.end + 60]
        if _LABEL_AFTER.search(after):
            yield _day(dated, 78, "called the effective date, far from the start")


def _is_exhibit_between(prose: Prose, start: int, end: int) -> bool:
    """Whether an exhibit begins between two places: what is defined in it is not of the agreement that comes first."""
    return any(start < row.start < end and _EXHIBIT.match(row.text) for row in prose.rows)


def _by_words_at_start(prose: Prose) -> Iterator[EffectiveDate]:
    text = prose.text
    written = {dated.value for dated in prose.dates if not dated.is_ambiguous}
    for dated in [dated for dated in prose.dates if dated.end <= HEAD_CHARS]:
        before = _RESTATED.sub("", text[max(0, dated.start - 160) : dated.start])
        after = text[dated.end : dated.end + 60]
        found = _date_in_row(prose, dated) or _date_named(before, after)
        is_signed = found is not None and (found[0] == LABELLED or bool(_SIGNS.search(before)))
        if is_signed and dated.start > 0.5 * len(text):
            continue  # of a signature
        if found is None and _ends_first_sentence(prose, dated):
            found = 80, "the date of the first sentence"
        if found is not None:
            confidence, why = found
            late = 6 * (dated.start > 2500)
            # `06/09/2025 (June 9, 2025)`: what is written out elsewhere tells which one is the month.
            told = 15 * (dated.is_ambiguous and dated.value in written)
            yield _day(dated, confidence - late + told, why)


def _date_in_row(prose: Prose, dated: FoundDate) -> tuple[int, str] | None:
    """A date behind its label at the beginning of a line, whatever the lines above speak of."""
    row = prose.row_at(dated.start)
    before = prose.text[row.start : dated.start]
    return (LABELLED, "behind the label of the date") if _ROW_LABEL.fullmatch(before) else None


def _date_named(before: str, after: str) -> tuple[int, str] | None:
    near = before[-90:]
    if _LABEL_AFTER.search(after):
        return 95, WHY_CALLED
    if _LABEL_BEFORE.search(near):
        return 94, "behind the label of the effective date"
    if _is_begun(before, after):
        return 93, "stated to be effective then"
    if _THIS_IS_DATED.search(near):
        return MADE, "the date of the first sentence"
    if _OTHER_ONE.search(near) or _AMENDED.search(before) or _SUPPLEMENTED.search(before):
        return None
    if _ANOTHER.search(before):
        # The best guess only where no other date is: recitals name the date of an agreement, and it may be this one.
        return (
            (OTHERS, "the date of an agreement that may be another") if _MADE.search(near) else None
        )
    if _EFFECTIVE.search(near):
        return (
            (93, "stated to be effective then")
            if _THIS.search(before) or _AGREED_BEHIND.match(after)
            else (72, "stated to be effective then")
        )
    if _SIGNED.search(near):
        return 74, "the date of a signature"
    if _MADE.search(near) and _THIS.search(before):
        return MADE, "the date of the first sentence"
    if _DATE_LABEL.search(near):
        return LABELLED, "behind the label of the date"
    if _MADE.search(near):
        return 74, "the date of the first sentence"
    return None


def _is_begun(before: str, after: str) -> bool:
    """Whether German words say that the contract begins then."""
    is_entered = _ENTERS.search(before) is not None and _IN_FORCE.match(after) is not None
    return is_entered or _BEGINS.search(before) is not None


# `wird mit Wirkung zum 1. Mai 2025 Folgendes vereinbart` is said of this contract.
_AGREED_BEHIND = re.compile(
    r",?\s+(?:folgendes|nachstehendes|folgender\s+vertrag|folgende\s+vereinbarung|dieser\s+vertrag|diese\s+vereinbarung)\s+"
    r"(?:vereinbart|geschlossen|abgeschlossen|getroffen)\b",
    re.IGNORECASE,
)
_FILED = re.compile(r"\bSource:[^;]{0,120}$|\b(?:\d{1,2}-[KQ]\w{0,3}|[SF]-\d\w{0,3})(?:/A)?,\s*$")


def is_of_something_else(prose: Prose, dated: FoundDate) -> bool:
    """Whether the words before a date make it that of another agreement, of an end, a filing, a signature."""
    before = _RESTATED.sub("", prose.text[max(0, dated.start - STARTS_CHARS) : dated.start])
    near = before[-90:]
    return bool(
        _OTHER_ONE.search(near)
        or _AMENDED.search(before)
        or _ANOTHER.search(before)
        or _SIGNED.search(near)
        or _DATE_LABEL.search(near)
        or _FILED.search(before)
    )


def _ends_first_sentence(prose: Prose, dated: FoundDate) -> bool:
    """Whether a date is at the end of the sentence that makes the contract."""
    first, _ = prose.sentence(dated.start)
    before = prose.text[max(first, dated.start - 700) : dated.start]
    return bool(
        _MAKES.search(before)
        and _ON.search(before)
        and not _OTHER_ONE.search(before[-60:])
        and not _SUPPLEMENTED.search(before)
    )


def _letter_day(prose: Prose) -> EffectiveDate | None:
    """The date at the top of a letter: on a separate line, above the greeting."""
    rows = prose.rows[:LETTER_ROWS]
    greeting = next((at for at, row in enumerate(rows) if _GREETING.match(row.text)), None)
    last = max(LETTER_CHARS, int(0.3 * len(prose.text)))
    for row in rows[: 12 if greeting is None else greeting]:
        if row.start < last and (dated := _alone(row)) is not None:
            return _day(dated, 66 if greeting is None else LETTER, _WHY_LETTER)
    unlined = greeting_at(prose)
    before = [dated for dated in prose.dates if unlined is not None and dated.end < unlined]
    return _day(before[-1], UNLINED, _WHY_LETTER) if before else None


def _alone(row: ProseLine) -> FoundDate | None:
    """The date that is alone on a line, or in a cell of it."""
    for dated in dates_in(row.text):
        left = row.text[: dated.start].rpartition("\t")[2]
        right = row.text[dated.end :].partition("\t")[0]
        if _TOKEN_ROW.fullmatch(left) and not right.strip(" .,"):
            start, end = row.start + dated.start, row.start + dated.end
            return FoundDate(start, end, dated.day, dated.is_ambiguous)
    return None


def _signature_days(prose: Prose) -> Iterator[EffectiveDate]:
    """Dates of the last sentence and of the signatures below it."""
    text = prose.text
    start = max(HEAD_CHARS // 4, int(0.5 * len(text)))
    for dated in [dated for dated in prose.dates if dated.start >= start]:
        before = text[max(0, dated.start - 300) : dated.start]
        near = before[-80:]
        if _WITNESS.search(before) and _MADE.search(near) and not _OTHER_ONE.search(near):
            yield _day(dated, 82, WHY_SIGNED)
        elif _DATE_LABEL.search(near):
            yield _day(dated, 58, "a date beside a signature")
    for row in prose.rows:
        if row.start <= SIGNED_FROM * len(text):
            continue
        if (alone := _alone(row)) is not None:
            yield _day(alone, 52, "a date among the signatures")
        for dated in dates_in(row.text):  # `Köln, den 21.03.2024`
            if _PLACE_AND.fullmatch(row.text, 0, dated.start) and not row.text[dated.end :].strip(
                " ._"
            ):
                start, end = row.start + dated.start, row.start + dated.end
                yield _day(
                    FoundDate(start, end, dated.day, dated.is_ambiguous),
                    62,
                    "the place and day of the signatures",
                )


def _day(dated: FoundDate, confidence: int, why: str) -> EffectiveDate:
    return EffectiveDate(
        dated.value, dated.start, dated.end, confidence - 15 * dated.is_ambiguous, why
    )
