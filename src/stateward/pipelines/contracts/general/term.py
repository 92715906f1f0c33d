"""The term of a contract, or of its duty of confidence: `2 years`, `18 months`.

A contract names many durations: of notice, of non-competition, of a standstill. One counts as its term only by its
sentence: the contract itself (or its duties of confidence) must be what ends, expires, continues or survives, and the
sentence must not be about employment, solicitation or notice.
"""

import re
from collections.abc import Iterator
from datetime import date
from itertools import islice

import msgspec

from stateward.pipelines.contracts.general.dates import ORDINALS
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.contracts.general.word_lists import words
from stateward.pipelines.kit.date_finder import FoundDate
from stateward.pipelines.kit.windows import windows

SCORE_MIN = 2.5
# Of a day on which the contract ends: less than a duration that is plainly its term.
SCORE_EXPIRY = 4.5
SCORE_STATED = 3.5  # of a duration that counts where two contradict each other
THEN_CHARS = 240
DURATIONS_MAX = 1500  # that are looked at
MONTH_SHORT_DAYS = 8
NUMBER_MAX = {"year": 99, "month": 600, "week": 520, "day": 3660}
UNITS = {
    "year": "year", "years": "year", "yr": "year", "yrs": "year", "jahr": "year", "jahre": "year", "jahren": "year",
    "month": "month", "months": "month", "monat": "month", "monate": "month", "monaten": "month",
    "week": "week", "weeks": "week", "woche": "week", "wochen": "week",
    "day": "day", "days": "day", "tag": "day", "tage": "day", "tagen": "day",
}  # fmt: skip
_TENS = words("tens")
NUMBERS = {name: number for number, name in enumerate(words("numbers"), start=1)}
NUMBERS |= {name: 10 * number for number, name in enumerate(_TENS, start=2)}
NUMBERS |= {
    f"{ten}-{one}": NUMBERS[ten] + number
    for ten in _TENS
    for number, one in enumerate(words("numbers")[:9], start=1)
}
NUMBERS |= {name: number for number, name in enumerate(words("numbers_de"), start=1)}
NUMBERS |= {"hundred": 100, "a": 1, "an": 1, "einem": 1, "einen": 1, "eines": 1}

_WORD = "|".join(sorted(NUMBERS, key=len, reverse=True)).replace("-", r"[-\s]\s?")
_DURATION = re.compile(
    rf"\b(?:(?P<w>{_WORD})\s*[-]?\s*(?:\(\s*(?P<p>\d{{1,3}})\s*\)\s*)?|"
    r"(?P<n>\d{1,3})\s*(?:\(\s*[a-z -]{3,20}\s*\)\s*)?)"
    r"[-\s]{0,3}(?:full\s+|consecutive\s+|calendar\s+|additional\s+)?\(?(?P<u>years?|yrs?|months?|weeks?|days?|Jahren?|Jahr|"
    r"Monate?n?|Wochen?|Tage?n?)\)?(?P<s>\(s\))?(?=[^\w]|$)",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"[YyJj](?:ear|rs?\b|ahr|EAR|RS?\b|AHR)|[Mm]on[at]|MON[AT]|[Ww](?:eek|oche)|W(?:EEK|OCHE)|"
    r"[DdTt]ag|[Dd]ay|DAY|TAG"
)
_YEARLY = re.compile(r"[Aa]nniversary|ANNIVERSARY")
_ANNIVERSARY = re.compile(
    rf"\b(?P<w>{'|'.join(sorted(ORDINALS, key=len, reverse=True))}|\d{{1,2}}(?:st|nd|rd|th))"
    r"\s*(?:\(\s*\d{1,2}\s?(?:st|nd|rd|th)?\s*\)\s*)?(?:yearly\s+|annual\s+)?anniversary",
    re.IGNORECASE,
)

_AGREEMENT = (
    r"(?:this|the|said|our)\s+(?:(?!(?:of|under|in|to|by|with|from|date|which|that)\b)\w+[\s-]+){0,4}?"
    r"(?:agreement|letter|contract|undertaking|nda|covenants?|deed|lease|licen[cs]e)\b"
)
# The contract as what a sentence is about: not the date of it, nor a duty under it.
_THIS = (
    rf"(?:\b(?:terms?|provisions?|duration|life)\s+(?:and\s+\w+\s+)?of\s+{_AGREEMENT}|"
    rf"\b(?:obligations?|undertakings?|agreements|covenants|commitments|restrictions)\s+(?:[^\s.;]+\s+){{0,8}}?(?:under|in|of)\s+{_AGREEMENT}|"
    r"\bobligations?\s+(?:[^\s.;]+\s+){0,10}?here(?:under|in|of)\b|"
    rf"(?<!\bof\s)(?<!\bunder\s)(?<!\bin\s)(?<!\bto\s)(?<!\bby\s)(?<!\bwith\s)(?:\b|(?<=\d)){_AGREEMENT}|"
    r"\bterm\s+(?:hereof|of\s+agreement)|diese[rs]?\s+(?:vertrag|vereinbarung))"
)
_ENDS = (
    r"(?:terminat\w*|expir\w*|laps\w*|ceas\w*|end(?:s|ing|ed)?|continu\w*|remain\w*|surviv\w*|be\s+effective|be\s+binding|"
    r"in\s+(?:full\s+)?(?:force|effect)|full\s+force|force\s+(?:or|and)\s+effect|run\b|extend\w*|be\s+for|has\s+a\s+term|have\s+a\s+term|valid|govern|"
    r"appl(?:y|ies)|bind\w*|lasts?|covers?|endet|läuft|gilt)"
)
_DUTY = (
    r"\b(?:obligations?|dut(?:y|ies)|undertakings?|restrictions?|covenants?|provisions|confidentiality|non-?disclosure|"
    r"confidential\s+information|evaluation\s+material|proprietary\s+information|verpflichtung\w*|vertraulich\w*)\b"
)
_TERM_LABEL = re.compile(
    r"\b(?:term|duration|period)\s+(?:of\s+(?:this|the)\s+(?:\w+\s+){0,3}agreement\s+)?(?:shall\s+be|is|will\s+be|shall\s+"
    r"(?:begin|commence)|commences)\b|\b(?:initial\s+)?term\b[^.;]{0,40}$|(?-i:\bTERM(?:INATION)?\b)[^.;]{0,80}$",
    re.IGNORECASE,
)
_THIS_ENDS = re.compile(rf"{_THIS}[^.;]{{0,120}}?\b{_ENDS}\b[^.;]{{0,230}}$", re.IGNORECASE)
_DUTY_ENDS = re.compile(rf"{_DUTY}[^.;]{{0,160}}?\b{_ENDS}\b[^.;]{{0,230}}$", re.IGNORECASE)
_THEN_THIS = re.compile(
    rf"^[^.;]{{0,70}}?{_THIS}[^.;]{{0,40}}?\b(?:shall|will)\b[^.;]{{0,40}}?\b{_ENDS}", re.IGNORECASE
)
_THEN_DUTY = re.compile(
    r"^[^.;]{0,110}?(?:\b(?:shall|will|agrees?\s+(?:to|that)|must)\b[^.;]{0,160}?\bconfiden|"
    rf"{_DUTY}[^.;]{{0,60}}?\b(?:shall|will)\b[^.;]{{0,40}}?\b{_ENDS})",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\b(?:for|during)\s+(?:an?|the)\s+(?:\w+\s+)?(?:period|term)\s+of\s*$|\b(?:period|term)\s+of\s*$|\bexpires?\s*$|"
    r"\bterminates?\s*$|\b(?:earlier|later|earliest)\s+(?:of|to\s+occur)[^.;]{0,220}$|\buntil\s*$|\bfor\s*$|\bthe\s*$|"
    r"\b(?:date|day)\s+(?:that|which)\s+is\s*$|\bon\s*$|\bupon\s*$",
    re.IGNORECASE,
)
_FROM_DATE = re.compile(
    r"^\W{0,3}(?:period\s+)?(?:from|after|following|of|beginning|commencing|subsequent\s+to|starting|since|ab|nach)\b[^.;]{0,50}?"
    r"\b(?:date|day|hereof|hereto|execution|signing|effective|effectiveness|letter|agreement|signature|above|"
    r"unterzeichnung)\b",
    re.IGNORECASE,
)
_FROM_THIS_DATE = re.compile(
    r"^\W{0,3}(?:period\s+)?(?:from|after|following|beyond|of|beginning|commencing|starting)\s+(?:on\s+|with\s+|as\s+of\s+|and\s+after\s+)?"
    r"(?:the\s+)?(?:date\s+(?:hereof|first|of\s+(?:this|the\s+agreement|its|execution|signature|signing|last\s+signature))|effective\s+date|"
    r"execution|signing|hereof|(?<=of\s)this\s+(?:\w+\s+){0,2}agreement)\b",
    re.IGNORECASE,
)
_FROM_END = re.compile(
    r"^\W{0,3}(?:period\s+)?(?:from|after|following|thereafter|subsequent)\b[^.;]{0,60}?(?:\btermination|\bexpir|employ|\bcease|"
    r"\bcessation|\bcompletion|\bretire|thereafter)|^\W{0,3}thereafter",
    re.IGNORECASE,
)
# A duration that begins with an event of which no one knows the day is hardly the term, whatever it limits.
_FROM_EVENT = re.compile(
    r"^\W{0,3}(?:period\s+)?(?:from|after|following|of)\b[^.;]{0,70}?(?:\btermination|\bexpir|\bearlier\s+of|\blater\s+of|"
    r"\bno\s+longer|\bcease|\bcessation|\bdiscussions?\b|\bcompletion|\bclosing\b|\boccurrence\b)",
    re.IGNORECASE,
)
# It begins on a day that the sentence has named: `shall commence on the Effective Date and end two years thereafter`.
_FROM_NAMED_DAY = re.compile(
    r"\b(?:commenc\w*|begin\w*|start\w*|effective|from|as\s+of)\s+(?:(?:on|upon|at|as\s+of|with|from|and|the)\s+)*"
    r"(?:effective\s+date|date\s+(?:hereof|first|of\s+(?:this|execution|signing|its))|execution|signing)\b",
    re.IGNORECASE,
)
_THEREAFTER = re.compile(r"^\W{0,3}(?:period\s+)?thereafter\b", re.IGNORECASE)
# What holds on although the contract has ended is not how long the contract lasts.
_SURVIVES = re.compile(
    r"\bsurviv\w*\b[^.;]{0,60}\b(?:terminat|expir)|\b(?:notwithstanding|despite|after)\b[^.;,]{0,30}"
    r"\b(?:termination|expiration)\b[^.;]{0,200}\bsurviv",
    re.IGNORECASE,
)
# Periods with a name of their own that are not the term.
_OTHER_PERIOD = re.compile(
    r"[\"“](?:the\s+)?(?:restrict\w*|standstill|covenant|survival|severance|non-?\w+)\s+period[\"”]",
    re.IGNORECASE,
)
# What is disclosed until a day, and not how long the duty lasts; what does not apply; what takes effect only then.
_NO_TERM_BEFORE = re.compile(
    r"\b(?:disclosed|furnished|provided|received)\s+(?:\w+\s+){0,4}prior\s+to\b[^.;]{0,30}$|\bnot\s+apply\b[^.;]{0,60}$|"
    r"\bbecomes?\s+[^.;]{0,60}?\b(?:effective|enforceable|irrevocable)\s+(?:up)?on\s+(?:the\s+)?expiration\s+of\s+(?:the\s+)?$|\b(?:before|during|within|prior\s+to)\s+the\s+expiration\s+of\s+(?:the\s+)?$|\b(?:reduced|shortened|extended|increased|postponed|delayed)\s+by\s+$",
    re.IGNORECASE,
)
_CALLED_TERM = re.compile(
    r"^[^.;]{0,60}?\(\s*(?:the\s+)?[\"“](?:the\s+)?(?:Initial\s+)?Term[\"”]", re.IGNORECASE
)
_TERM_IS = re.compile(
    rf"\b(?:term|duration)\s+(?:of\s+employment\s+)?(?:(?:of|under)\s+{_AGREEMENT}\s+|hereof\s+|of\s+agreement\s+)?(?:(?:shall|will)\s+)?(?:be|is|begin|commence|run|"
    rf"start|last)\w*\b[^.;]{{0,120}}$|[\"“](?:Initial\s+)?Term[\"”]\s+(?:shall\s+)?means?\b[^.;]{{0,160}}$|"
    rf"[\"“](?:expiration|expiry|termination|end)\s+date[\"”]\s+(?:(?:shall\s+)?means?|is)\s+(?:the\s+)?(?:date\s+)?(?:(?:that|which)\s+is\s+)?$|"
    rf"(?:\b|(?<=\d)){_AGREEMENT}\s+(?:shall\s+|will\s+)?(?:commences?|begins?|starts?|takes?\s+effect)\b[^.;]{{0,80}}\bfor\s+(?:an?\s+)?(?:\w+\s+)?"
    rf"(?:(?:period|term)\s+of\s+)?$|(?:{_AGREEMENT}|vertrag|vereinbarung)[^.;]{{0,60}}\b(?:is|has|have|be|hat)\b[^.;]{{0,20}}"
    r"\b(?:term|laufzeit)\s+(?:of|von)\s+$",
    re.IGNORECASE,
)
_HELD = re.compile(
    r"\b(?:held|hold|kept|keep|maintain\w*|treat\w*|preserv\w*)\b[^.;]{0,80}\b(?:confiden\w*|secret)\b[^.;]{0,60}$|"
    r"\b(?:period\s+of\s+(?:confidentiality|non-?disclosure)|(?:confidentiality|non-?disclosure)\s+period)\b[^.;]{0,60}$",
    re.IGNORECASE,
)
_FROM_DISCLOSURE = re.compile(
    r"^\W{0,3}(?:from|after|following|beyond|of)\b[^.;,]{0,60}?\b(?:disclosures?|receipt|received|return|disclosed|furnished)\b",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"solicit|\bhire|\bhiring|employment|standstill|acquir|\bcompet|non-?compet|salary|severance|\bvest|bonus|notice|"
    r"insurance|securities|\bstock|option|\bbenefits?|cure|invoice|payment|\bwarrant|audit|retain(?:ed)?\s+(?:copies|records)|"
    r"\bage\b|restrict(?!ions?\s+(?:on\s+(?:the\s+)?(?:use|disclosure)|(?:and\s+\w+\s+)?(?:(?:set\s+forth|contained)\s+)?(?:herein|(?:in|of|under)\s+this)\b))|statute|imprison|experience|vacation|renew",
    re.IGNORECASE,
)
_OTHER_AFTER = re.compile(
    r"solicit|\bhire|employment|standstill|acquir|compet|salary|severance|\bvest|restrict",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:prior|previous|preceding|past|last|within|more\s+than|less\s+than|at\s+least|every|each|next|first|such|not\s+to\s+"
    r"exceed|up\s+to)\s*(?:the\s+)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
_PRIOR = re.compile(
    r"^\W{0,3}(?:period\s+)?(?:immediately\s+)?(?:prior|before|preceding|old|notice|'s?\s)",
    re.IGNORECASE,
)
_EXPIRES_ON = re.compile(
    rf"(?:{_THIS})[^.;]{{0,160}}?\b(?:terminat\w*|expir\w*|continue\w*|remain\w*|ends?|through|until)\b(?:[^.;]{{0,60}}|[^.;]{{0,60}}\b(?:earlier|earliest)\s+(?:of|to\s+occur)\b[^.;]{{0,200}})$",
    re.IGNORECASE,
)
# The end is the later of two days, or that of something else.
_OTHER_END = re.compile(
    r"\blater\s+(?:of|to\s+occur)\b|\b(?:service|employ\w*|consult\w*|resign\w*)\b[^.;]{0,120}$",
    re.IGNORECASE,
)


_OWN_END = re.compile(
    rf"(?:\b(?:initial\s+)?term\b|(?:\b|(?<=\d)){_AGREEMENT}|\b(?:dieser\s+vertrag|diese\s+vereinbarung)\b)[^.;]{{0,80}}?"
    r"\b(?:expires?|terminates?|continues?|remains?|runs?|ends?|endet|läuft|gilt)\b[^.;]{0,80}$",
    re.IGNORECASE,
)
_NOT_OWN_END = re.compile(
    r"\b(?:obligations?|dut(?:y|ies)|surviv\w*|confiden\w*|disclos\w*|(?<!unless\s)renew\w*|successive|exten\w+|(?:earlier|later)\s+(?:of|to\s+occur)|upon|if|provided|"
    r"except|notice|employ\w*|consult\w*|solicit\w*|compet\w*)\b",
    re.IGNORECASE,
)


# German: the contract or a duty of confidence lasts, the duration behind the verb; or a label with nothing between.
_LASTS = re.compile(
    r"\b(?:vertrag(?:es|sverhältnis)?|vereinbarung|mietverhältnis|mietzeit|pachtverhältnis|mitgliedschaft|lizenz|laufzeit|vertragsdauer|"
    r"vertragslaufzeit|"
    r"\w*(?:geheimhaltung|vertraulichkeit|verschwiegenheit)s?\w*|verpflichtung\w*|pflicht(?:en)?)\b[^.;]{0,140}?"
    r"\b(?:laufzeit(?:\s+von|\s+beträgt)?|läuft(?:\s+für)?|gilt(?:\s+für)?|gelten(?:\s+für)?|für\s+die\s+dauer\s+von|auf\s+die\s+dauer\s+von|auf|für|"
    r"bestehen(?:\s+für)?|besteht(?:\s+für)?|beträgt|endet\s+nach|enden\s+nach|dauert|dauern)\s+"
    r"(?:eine[nrm]?\s+(?:zeitraum|zeit|dauer|laufzeit)\s+von\s+|weitere\s+|mindestens\s+)?$",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"(?:^|[.;§\d]\s*|\s)(?:(?:vertrags|mindest|mindestvertrags|erst|miet)?laufzeit|vertragsdauer|mietdauer|mietzeit|"
    r"dauer)\s*[:.\t ]{1,90}$",
    re.IGNORECASE,
)
_NOT_LASTING = re.compile(
    r"kündig|\bfrist\b|verlänger|jeweils|probezeit|gewährleist|verjähr|wettbewerb|vertragsstrafe|zahlung|nach\s+(?:ende|beendigung|ablauf)\b|"
    r"vergangen|letzten|spätestens|vor\s+ablauf",
    re.IGNORECASE,
)
_DAY_DOT = re.compile(r"(?<=\d)\.")  # of a date, which ends no sentence
SCORE_LASTS = 5.5


class TermCandidate(msgspec.Struct, frozen=True, gc=False):
    """A duration that may be the term, and its score."""

    value: str
    start: int
    end: int
    score: float


def term_of(prose: Prose, effective: str | None) -> tuple[TermCandidate, int] | None:
    """The term, with a confidence."""
    terms = [term for term in _durations(prose) if term.score >= SCORE_MIN]
    terms += _by_expiry(prose, effective)
    if not terms:
        return None
    best = max(terms, key=lambda term: (term.score, -term.start))
    rivals = [term for term in terms if term.value != best.value and term.score > best.score - 2]
    return best, _confidence(best, len(rivals))


def contradicting_terms(prose: Prose) -> list[TermCandidate]:
    """Two different durations after which the contract itself is said to end; none if there is one or none."""
    stated: dict[str, TermCandidate] = {}
    for term in _durations(prose):
        if term.score >= SCORE_STATED and _is_stated(prose, term):
            stated.setdefault(_months_of(term.value), term)
    return list(stated.values())[:2] if len(stated) > 1 else []


def _is_stated(prose: Prose, term: TermCandidate) -> bool:
    """Whether a sentence speaks of the end of the contract, and not of a duty, a renewal or a condition."""
    first, last = prose.sentence(term.start)
    before = prose.text[max(first, term.start - 420) : term.start]
    sentence = before + prose.text[term.end : min(last, term.end + 120)]
    return bool(_OWN_END.search(before)) and not _NOT_OWN_END.search(sentence)


def _months_of(value: str) -> str:
    number, unit = value.split()
    return (
        f"{12 * int(number)} months" if unit.startswith("year") else f"{number} {unit.rstrip('s')}s"
    )


def _confidence(term: TermCandidate, rivals: int) -> int:
    base = 45 + 6 * term.score
    return int(max(30, min(92, base - 14 * min(rivals, 2))))


def durations_in(
    text: str, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, int, str]]:
    """Every duration of a text: its offsets and its canonical form."""
    stop = len(text) if end is None else end
    for first, last in windows(_UNIT, text, before=80, behind=8, start=start, end=stop):
        for match in _DURATION.finditer(text, first, last):
            number = _number(match)
            unit = UNITS[match["u"].lower()]
            if number and number <= NUMBER_MAX[unit]:
                yield match.start(), match.end(), duration_text(number, unit)
    for first, last in windows(_YEARLY, text, before=80, behind=0, start=start, end=stop):
        for match in _ANNIVERSARY.finditer(text, first, last):
            yield match.start(), match.end(), duration_text(_ordinal(match["w"].lower()), "year")


def duration_text(number: int, unit: str) -> str:
    """`2 years`, `1 month`."""
    return f"{number} {unit}" + ("s" if number != 1 else "")


def _number(match: re.Match[str]) -> int:
    if match["p"] or match["n"]:
        return int(match["p"] or match["n"])
    return NUMBERS["-".join(match["w"].lower().replace("-", " ").split())]


def _ordinal(word: str) -> int:
    return int(re.sub(r"\D", "", word)) if word[0].isdigit() else ORDINALS.index(word) + 1


def _durations(prose: Prose) -> Iterator[TermCandidate]:
    for start, end, value in islice(durations_in(prose.text), DURATIONS_MAX):
        unit = value.split()[1].rstrip("s")
        score = _score(prose, start, end)
        if unit in ("day", "week"):
            score -= 3  # nearly always a period of notice
        yield TermCandidate(value, start, end, score)


def _score(prose: Prose, start: int, end: int) -> float:
    """The score of a duration by the sentence around it."""
    first, last = prose.sentence(start)
    first, last = max(first, start - 420), min(last, end + 300)
    before, after = prose.text[first:start], prose.text[end:last]
    if _lasts(before, after):
        return SCORE_LASTS
    if _BACK.search(before) or _PRIOR.search(after) or _NO_TERM_BEFORE.search(before):
        return 0.0
    if _OTHER_PERIOD.search(before) or _OTHER_PERIOD.search(after[:80]):
        return 0.0
    is_this = bool(_THIS_ENDS.search(before) or _TERM_IS.search(before))
    is_duty = bool(_DUTY_ENDS.search(before) or _HELD.search(before))
    score = 4.0 * is_this + (2.5 if is_duty and not is_this else 0.0)
    if not is_this and not is_duty:
        is_then = bool(_THEN_DUTY.search(after)) and not _OTHER.search(after[:THEN_CHARS])
        score = 3.5 * bool(_THEN_THIS.search(after)) or 2.0 * is_then
    score += 4.0 * bool(_CALLED_TERM.search(after))
    if not score:
        return 0.0
    score += 1.5 * bool(_TERM_LABEL.search(before)) + 0.5 * bool(_LEAD.search(before))
    survives = bool(_SURVIVES.search(before))
    score -= 2.0 * survives
    if _FROM_THIS_DATE.search(after) or (
        _THEREAFTER.search(after) and _FROM_NAMED_DAY.search(before)
    ):
        score += 1.5
    elif _FROM_DISCLOSURE.search(after):
        return 0.0 if survives or "surviv" in before.lower() else SCORE_MIN
    elif _FROM_END.search(after) or _FROM_EVENT.search(after):
        return 0.0  # it begins on a day that no one knows yet: no term that the contract states
    elif _FROM_DATE.search(after):
        score += 1.5
    return (
        score
        - 2.5 * bool(_OTHER.search(before[-160:]))
        - 2.5 * bool(_OTHER_AFTER.search(after[:60]))
    )


def _lasts(before: str, after: str) -> bool:
    """Whether German words make a duration the term."""
    before = _DAY_DOT.sub(" ", before)
    if not (_LASTS.search(before) or _LASTING.search(before[-120:])):
        return False
    return not _NOT_LASTING.search(before[-160:]) and not _NOT_LASTING.search(after[:20])


def _by_expiry(prose: Prose, effective: str | None) -> list[TermCandidate]:
    """The term from the effective date to a stated end date."""
    if effective is None:
        return []
    start = date.fromisoformat(effective)
    for dated in prose.dates:
        first, _ = prose.sentence(dated.start)
        before = prose.text[max(first, dated.start - 260) : dated.start]
        if not _EXPIRES_ON.search(before) or _OTHER_END.search(before):
            continue
        if (months := _months(start, dated)) > 0:
            value = (
                duration_text(months // 12, "year")
                if months % 12 == 0
                else duration_text(months, "month")
            )
            return [TermCandidate(value, dated.start, dated.end, SCORE_EXPIRY)]
    return []


def _months(start: date, dated: FoundDate) -> int:
    end = dated.day
    months = 12 * (end.year - start.year) + end.month - start.month
    # The last day belongs to the term, and a few days short of a month are one.
    return (
        months
        - (end.day + MONTH_SHORT_DAYS < start.day)
        + (end.day - start.day >= 30 - MONTH_SHORT_DAYS)
    )
