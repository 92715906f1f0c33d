"""Candidates for fields with numbers: dates, amounts, periods, volumes.

Each value of the right kind gets a score from its label, and loses some where a nearer label is of something else,
where it is net, old, paid once or in the small print, or where it is not plausible.
"""

import re
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from stateward.pipelines.contracts import candidates as forms
from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.arithmetic import with_taxes
from stateward.pipelines.contracts.offline.labels import STRONG, WEAK, LabelMention
from stateward.pipelines.contracts.offline.linking import LabelLink, links
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage, ContractReading
from stateward.pipelines.contracts.rules import DateSequenceRule, FieldRule, Vertical
from stateward.pipelines.contracts.switching import CalendarPeriod, shift_date
from stateward.pipelines.kit.money import format_number

SCORE_MIN = 0.2
HEADERS_MAX = 12
OLD_AROUND_CHARS = 40
UNIT_CHARS = 12
FROM_CHARS = 24
NOTICE_CHARS = 40
FROM_TO, TWO_DATES, BY_TERM = 0.86, 0.45, 0.9

RIVAL, EVEN, AMONG = 0.3, 0.72, 0.65
ABOUT_MIN = 0.28
OLD, NET, TERMS, ONCE, FAR = 0.3, 0.6, 0.62, 0.1, 0.5
WORTH = {"kWh": 0.74, "month": 0.5, "": 0.0}
BY_UNIT = "by its unit"
GROSS = 0.86  # of the gross amount in the row of its label, behind the net one
BEFORE_LABEL = "before its label"
DATA_BEHIND = 0.93  # of `25 GB Datenvolumen`
BY_KIND = {"quantity": 0.6}
STATED_CAP = (
    84  # of an amount of a longer period that is the only period of payment in the document
)
DIVISORS = {"month": 1, "quarter": 3, "half": 6, "year": 12}

OLD_WORDS = re.compile(
    r"\b(?:bisher\w*|alt(?:e[rsn]?)?|vorherig\w*|früher\w*|vormals|vorjahr\w*|previous(?:ly)?|old|former(?:ly)?|"
    r"until now|"
    r"last year\w*|statt|instead of|zuvor|zuletzt|UVP)\b",
    re.IGNORECASE,
)
NEW_WORDS = re.compile(
    r"\b(?:neu\w*|new|ab sofort|now|aktuell\w*|current(?:ly)?|künftig\w*|jetzt)\b", re.IGNORECASE
)
SENTENCE_CHARS = 260
TAB = "\t"
_FIRST_PAYMENT = re.compile(
    r"\berstmals\s+(?:fällig\s+)?(?:am|zum)\s*$|\bfirst\s+(?:payment|direct\s+debit|instal?lment|premium|collected|taken|due)\b[^.;]{0,30}$",
    re.IGNORECASE,
)
# The days in which a customer may withdraw are no notice, and their last day is no date of the contract.
WITHDRAWAL = re.compile(r"widerruf\w*|\bcooling[- ]off\b|\bwithdraw\w*|\brevoke", re.IGNORECASE)
_SENTENCES = re.compile(r"[.;!?]\s+(?=[A-ZÄÖÜ\d])|\n\s*\n|\n(?=\d{1,2}[.)]\s)")
# A sentence that is about a move and nothing else: it begins with the case, and every other word of it is one of these.
_CASE = (
    r"(?:bei|im\s+falle?|wegen|aufgrund|nach|wenn|falls|if|when|on|in\s+case\s+of|in\s+the\s+event\s+of)\s+"
    r"(?:(?:einem|eines|ihrem|ihres|you|are|you['’]re|a)\s+){0,2}"
    r"(?:umzug(?:e?s)?|wohnungswechsels?|wohnortwechsels?|(?:sie\s+)?umziehen|mov(?:e|ing)\s+(?:home|house|out))\b"
    r"|zieh(?:t|en|st)\s+(?:der\s+kunde|die\s+kundin|sie|du)\s+(?:um|aus)\b"
)
_CASE_FIRST = re.compile(
    rf"\W*(?:\d{{1,2}}[.)]?\s*)?(?:umzug|wohnungswechsel|sonderkündigung(?:srecht)?|"
    rf"moving\s+(?:home|house))?\W*(?:{_CASE}),?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CASE_LABEL = re.compile(
    rf"\W*(?:(?:kündigungs)?frist|notice(?:\s+period)?|sonderkündigung\w*)\s+(?:{_CASE})\W*"
    rf"(?:beträgt|is|von|of|mit)?(?:\s+einer\s+frist\s+von)?\W*",
    re.IGNORECASE,
)
_LINE_STARTS = re.compile(r"^[ \t]*(?=[A-ZÄÖÜ\d§])", re.MULTILINE)
_CASE_ONLY_IF = re.compile(
    r",\s*(?:nur\s+)?(?:wenn|sofern|falls|if|provided)\b"
    r"(?!.*\b(?:auch|also|even)\b)[^,;]*"
)
_CASE_WORDS = frozenset(
    "kann können sie du kunde kundin verbraucher der die das den dem ihren ihr vertrag liefervertrag mit einer eine "
    "einem frist kündigungsfrist von schriftlich in textform außerordentlich kündigen gekündigt kündigung werden "
    "beenden beträgt ist zum auf des tages umzugs auszugs innerhalb binnen haben ein sonderkündigungsrecht besteht "
    "möglich you may can must end cancel terminate this the your contract agreement supply service with by giving give "
    "us at least of notice period is a an writing written to need s hat er recht auszugstag umzugstag zu".split()
)
_TIME = (
    r"(?:(?:at\s+)?(?:\d{1,2}[:.]\d\d|\d{1,2}(?=\s*Uhr)|midnight|noon|Mitternacht)\s*(?:Uhr\b|hrs\b|hours\b|[ap]m\b)?"
    r"\s*(?:mittags\s*)?(?:(?:at\s+)?(?:on|am|the\s+end\s+of|des)\s+)?)?"
)
_TO = re.compile(
    rf"(?:,?\s*{_TIME})?\s*(?:(?:and|und)\s+(?:runs?|ends?|läuft|endet)\s+)?"
    r"(?:bis(?:\s+(?:zum|einschl\w*\.?|einschließlich))?|[-–—]|to|until|till|through|und|and)\s*(?:the\s|"
    rf"den\s|dem\s|incl\w*\.?\s)?{_TIME}",
    re.IGNORECASE,
)
_FROM = re.compile(
    rf"\b(?:vom|von|from|zwischen|between|ab|starts|beginnt)\s*(?:dem\s|the\s)?{_TIME}$",
    re.IGNORECASE,
)
_UNTIL = re.compile(r"\b(?:bis|until|till|to|through)\s*(?:zum\s|the\s)?$", re.IGNORECASE)
_NOTICE_LEAD = re.compile(
    r"\b(?:(?:kündigungs)?frist(?:\s+von)?(?:\s+mindestens)?|notice(?:\s+period)?(?:\s+of)?(?:\s+at\s+least)?)\s*\Z",
    re.IGNORECASE,
)
_NOTICE_BEHIND = re.compile(
    r"['’]?[ ]+(?:(?:prior|written|advance)[ ]+){0,2}(?:notice|frist|kündigungsfrist)\b"
    r"|\s+(?:vor|before)\s+(?:(?:dem|der|the)\s+)?(?:jeweilige[nr]\s+)?(?:ende?|ablauf|end|expiry|renewal)\b",
    re.IGNORECASE,
)
_PLACE_NAME = re.compile(  # `The Old Forge` is a house
    r"\b(?:The\s+)?Old\s+(?!(?:Price|Tariff|Rate|Contract|Supplier|Plan|Premium|Policy|Provider|Agreement)\b)[A-Z]\w+"
)
_EDGE = re.compile(r"[\n\t|;(]|[:.,]\s")
_CENT = re.compile(r"\b(?:ct|cents?|pence|p)\b\s*(?:/|je|pro|per|$|\)|\])", re.IGNORECASE)
_CURRENCY = re.compile(r"€|\bEUR\b|\bEuro\b|£|\bGBP\b", re.IGNORECASE)
_ONCE = re.compile(r"einmalig|one-off|one-time|upfront", re.IGNORECASE)
_YEARLY = re.compile(r"jahr|jähr|jaehr|annual|year|p\.\s?a\.", re.IGNORECASE)
CENT = Decimal("0.01")
COUNT_CHARS = 16  # before the label of an amount
# `11 Abschläge im Jahr zu je 84,00 EUR`: the amount is that of one of them.
_INSTALMENTS = re.compile(
    r"\b(?P<count>[2-9]|1[013])\s+(?:\w+\s+)?(?:abschläge|abschlagszahlungen|raten|teilbeträge|instal?lments|payments)\s+"
    r"(?:im|pro|je|a|per|each)\s*(?:jahr|year)",
    re.IGNORECASE,
)
_MONTHLY = re.compile(r"monat|mtl|month", re.IGNORECASE)
_QUARTERLY = re.compile(r"viertelj|quarter", re.IGNORECASE)
_HALF = re.compile(r"halbj|half-year|semi-annual", re.IGNORECASE)
_DATA_BEHIND = re.compile(
    r"[ ]?(?:\w+-)?(?:Datenvolumen|Inklusivvolumen|Highspeed-Volumen|(?:of\s+)?(?:mobile\s+)?data\b(?!\s+roaming)"
    r"|mit\s+bis\s+zu\s+\d+\s?Mbit/s)",
    re.IGNORECASE,
)
STATED = "the only period of payment that is named"
_PAYMENT_PERIODS = {
    "month": re.compile(
        r"\bmonatlich|\bmtl\b|\bmonats(?:beitr|rate|prämie|betr|zahl|preis)|(?:pro|je|im|jeden|/)\s*monat\b|\bmonthly\b"
        r"|(?:per|a|each|every|/)\s*month\b|(?-i:\bRaten?)|teilzahl|teilbetr|abschl[aä]g|instal+ment|\bloading\b",
        re.IGNORECASE,
    ),
    "quarter": re.compile(r"viertelj|quartal|quarter", re.IGNORECASE),
    "half": re.compile(r"halbj|half[- ]?year|semi-?annual|six-monthly", re.IGNORECASE),
    "year": re.compile(
        r"jahres(?:beitr|prämie|betr|brutto|zahl|gesamt)|(?<!viertel)(?<!halb)jährlich\w*\s+(?:zu\s+zahl|beitrag|prämie)"
        r"|\b(?:annual|yearly)\s+(?:\w+\s+)?(?:premium|contribution|payment)|(?:zahl(?:ungs)?weise|frequency)\W{0,4}(?:jährlich|annual|yearly)"
        r"|(?:beitrag|prämie|premium)\W+(?:\w+\W+){0,3}(?:pro\s+jahr|jährlich|per\s+(?:year|annum)|for\s+the\s+year)"
        r"|\bfor\s+the\s+year\b",
        re.IGNORECASE,
    ),
}
_MODE = re.compile(
    r"(?:zahl(?:ungs|)weise|zahlungsrhythmus|zahlungsperiode|zahlungsintervall|payment (?:frequency|method|"
    r"interval|mode)|paid|instalments?|zahlung)\s*[:\t ]\s*"
    r"(?P<how>monatlich|monthly|vierteljährlich|quarterly|halbjährlich|half-yearly|semi-annual\w*|jährlich|"
    r"annually|yearly|annual)",
    re.IGNORECASE,
)


class FieldCandidate(NamedTuple):
    """A value for a field: its place, its score and the reason."""

    field: str
    value: str
    number: float
    page: int
    start: int
    end: int
    score: float
    why: str
    cap: int = 100
    unit: str = ""
    is_weak: bool = False  # by a weak label, or without a label


class LinkedValue(NamedTuple):
    """A value with the labels that it may belong to."""

    page: int
    candidate: ValueCandidate
    links: list[LabelLink]


def link_values(reading: ContractReading) -> list[LinkedValue]:
    """Every value of the document, linked to labels."""
    return [
        LinkedValue(at, candidate, links(candidate, page.labelled))
        for at, page in enumerate(reading.pages)
        for candidate in with_taxes(page)
    ]


def candidates(
    reading: ContractReading, vertical: Vertical, linked: list[LinkedValue]
) -> list[FieldCandidate]:
    """Every candidate for every field of a vertical that is a number."""
    mode = _payment_mode(reading)
    period = only_period(reading)
    found: list[FieldCandidate] = []
    for rule in vertical.fields:
        for each in linked:
            if each.candidate.kind == rule.kind:
                made = _candidate(rule, each, reading, mode, period)
                if made and made.score >= SCORE_MIN:
                    found.append(made)
        if rule.kind != "date":  # an end that is not there is no date: see `open_ended`
            found.extend(said_in_words(rule, reading))
    for order in vertical.orders:
        pairs = _two_dates(order, linked, reading)
        taken = {(each.page, each.start): each.field for each in pairs}
        ends = (order.first, order.second)
        found = [
            each
            for each in found
            if each.field not in ends
            or taken.get((each.page, each.start), each.field) == each.field
        ]
        found.extend(pairs)
    return found


def terms(
    reading: ContractReading, order: DateSequenceRule, linked: list[LinkedValue]
) -> list[FieldCandidate]:
    """The printed lengths of the time between two dates: `Laufzeit: 24 Monate`."""
    name = f"{order.first}>{order.second}"
    found: list[FieldCandidate] = []
    for each in linked:
        best = next((link for link in each.links if link.meaning.what == name), None)
        if each.candidate.kind != "duration" or _is_notice(each, reading):
            continue
        if best and best is each.links[0]:
            found.append(
                _field_candidate(
                    name,
                    each,
                    best.strength,
                    f"the period behind {_label_text(best, reading, each)}",
                )
            )
    return found


def _is_notice(each: LinkedValue, reading: ContractReading) -> bool:
    """Whether a period is that of a notice, though its sentence names the term: `Frist von 3 Monaten zum Ablauf`."""
    text, candidate = reading.pages[each.page].text, each.candidate
    lead = text[max(0, candidate.start - NOTICE_CHARS) : candidate.start]
    return bool(_NOTICE_LEAD.search(lead) or _NOTICE_BEHIND.match(text, candidate.end))


def _candidate(
    rule: FieldRule, each: LinkedValue, reading: ContractReading, mode: str, period: str = ""
) -> FieldCandidate | None:
    page = reading.pages[each.page]
    mine = next((link for link in each.links if link.meaning.what == rule.name), None)
    others = [link for link in each.links if rule.name not in link.meaning.what.split(">")]
    if (
        mine
        and mine.how in ("left", "before")
        and _is_price_of_unit(rule, each.candidate, mine, page)
    ):
        # The label of a field above speaks of its own row; that of something else may head the column.
        others = [link for link in others if link.how != "over" or link.mention.is_decoy]
    strength, why = _own_strength(rule, each, reading, mine)
    if why == BEFORE_LABEL:
        others = []
    if others and others[0].strength > strength:
        strength *= RIVAL
    elif others and others[0].strength > 0.9 * strength and mine:
        strength *= EVEN
    elif any(_is_about(link, each.candidate, page) for link in others):
        strength *= AMONG
    if strength < SCORE_MIN:
        return None
    candidate = each.candidate
    if rule.kind == "money":
        fitted = _fit_unit(rule, candidate, mine, page, mode, period)
        if fitted is None:
            return None
        candidate, factor, note = fitted
        strength *= factor
        why = f"{why}, {note}" if note else why
    strength *= _around(page, candidate, mine)
    if candidate.tax == "gross" and mine and mine.how == "left" and strength > EVEN:
        strength = max(strength, GROSS)
    if rule.range and not rule.range.holds(candidate.number):
        strength *= FAR
    cap = 70 if "computed" in why or candidate.is_ambiguous else 100
    cap = STATED_CAP if STATED in why and not candidate.is_ambiguous else cap
    made = _field_candidate(
        rule.name, LinkedValue(each.page, candidate, []), strength, why, cap=cap, unit=rule.unit
    )
    return made._replace(is_weak=mine is None or mine.meaning.weight < STRONG)


def _own_strength(
    rule: FieldRule, each: LinkedValue, reading: ContractReading, mine: LabelLink | None
) -> tuple[float, str]:
    """How strongly a value belongs to a field by its label, its unit or its place in a term, and the reason."""
    page = reading.pages[each.page]
    if rule.kind == "quantity" and _DATA_BEHIND.match(page.text, each.candidate.end):
        return DATA_BEHIND, BEFORE_LABEL
    strength = mine.strength if mine else 0.0
    why = f"{mine.how} {_label_text(mine, reading, each)}" if mine else ""
    if mine and mine.how == "before":
        why = f"behind {_label_text(mine, reading, each)}"
    by_term = _by_term(rule, each, page)
    if by_term > strength:
        strength, why = by_term, "an end of the term"
    heads = f"{_column_head(page, each.candidate)} {_row_head(page, each.candidate)}"
    by_unit = _by_unit(rule, each.candidate, heads)
    if by_unit > strength:
        strength, why = by_unit, BY_UNIT
    return strength, why


def _is_about(link: LabelLink, candidate: ValueCandidate, page: AnalyzedPage) -> bool:
    """Whether the sentence of a value is about something else: `verlängert sich … mit einer Frist von …`."""
    is_other = link.meaning.what.startswith("!") and link.how == "before"
    is_near = page.cell(link.mention.start) == page.cell(candidate.start)
    return is_other and is_near and link.strength >= ABOUT_MIN


def _field_candidate(
    name: str, each: LinkedValue, score: float, why: str, *, cap: int = 100, unit: str = ""
) -> FieldCandidate:
    candidate = each.candidate
    if candidate.is_repaired:
        score -= 0.03
    unit = unit or candidate.unit
    return FieldCandidate(
        name,
        candidate.value,
        candidate.number,
        each.page,
        candidate.start,
        candidate.end,
        score,
        why,
        cap,
        unit,
    )


def _label_text(link: LabelLink, reading: ContractReading, each: LinkedValue) -> str:
    text = reading.pages[each.page].text[link.mention.start : link.mention.end]
    return f"'{' '.join(text.split())}'"


def _by_term(rule: FieldRule, each: LinkedValue, page: AnalyzedPage) -> float:
    """The score of a date as start or end of a labelled term: `24 Monate ab dem …, also bis zum …`."""
    lead = page.text[max(0, each.candidate.start - FROM_CHARS) : each.candidate.start]
    for link in each.links:
        first, _, second = link.meaning.what.partition(">")
        if second and (
            (rule.name == first and _FROM.search(lead))
            or (rule.name == second and _UNTIL.search(lead))
        ):
            return max(link.strength, BY_TERM) * WEAK
    return 0.0


def _by_unit(rule: FieldRule, candidate: ValueCandidate, head: str) -> float:
    """The score of a value without a label: its unit alone may identify it."""
    if rule.kind == "money":
        per = candidate.per or ("" if candidate.is_bare else _per_of(head))
        return WORTH.get(rule.per, 0.0) if per and per == rule.per else 0.0
    return BY_KIND.get(rule.kind, 0.0)


def _fit_unit(
    rule: FieldRule,
    candidate: ValueCandidate,
    mine: LabelLink | None,
    page: AnalyzedPage,
    mode: str,
    period: str = "",
) -> tuple[ValueCandidate, float, str] | None:
    """An amount in the unit of the field (per month, per kWh), a factor and a note; None if it cannot be converted."""
    around = _context(candidate, mine, page)
    if candidate.is_bare and (mine is None or not _looks_like_money(candidate, page, around)):
        return None
    if (
        candidate.is_bare
        and rule.per == "kWh"
        and "." not in candidate.value.rstrip("0").rstrip(".")
    ):
        return None
    head = _column_head(page, candidate)
    if head:
        candidate = replace(
            candidate, tax=candidate.tax or forms.tax_of(head), per=candidate.per or _per_of(head)
        )
    factor = NET if candidate.tax == "net" else 1.0
    note = "net" if candidate.tax == "net" else ""
    if rule.per == "kWh":
        return _per_kwh(rule, candidate, around, factor, note)
    if candidate.per == "kWh":
        return None
    if rule.per != "month":
        return (candidate, factor * (0.8 if candidate.per in DIVISORS else 1.0), note)
    if candidate.per in ("once", "day", "week"):
        return candidate, ONCE, "paid once" if candidate.per == "once" else note
    per = candidate.per or _per_of(around) or (mode if mine and not _MONTHLY.search(around) else "")
    if counted := _instalments(candidate, mine, page):
        return _by_instalments(candidate, counted, factor)
    if per in ("", "month"):
        return candidate, factor, note
    months = DIVISORS.get(per, 12)
    value = (Decimal(candidate.value) / months).quantize(CENT, rounding=ROUND_HALF_UP)
    made = replace(candidate, value=format_number(value), number=float(value))
    shown = f"{candidate.value} / {months} = {made.value}"
    if per == period and per == (candidate.per or _per_of(around)):
        return made, factor, f"computed from the amount by the {per}, {STATED}: {shown}"
    return made, factor * 0.8, f"computed from the amount by the {per}: {shown}"


def _is_price_of_unit(
    rule: FieldRule, candidate: ValueCandidate, mine: LabelLink, page: AnalyzedPage
) -> bool:
    """Whether an amount, or its label, says that it is the price of a kilowatt hour."""
    label = page.text[mine.mention.start : mine.mention.end]
    return rule.per == "kWh" and (candidate.per == "kWh" or "kwh" in label.casefold())


def _instalments(
    candidate: ValueCandidate, mine: LabelLink | None, page: AnalyzedPage
) -> int | None:
    """In how many instalments a year is paid, if the words before an amount say so."""
    if mine is None or mine.mention.start > candidate.start:
        return None
    start = max(0, mine.mention.start - COUNT_CHARS)
    counted = _INSTALMENTS.search(page.text, start, candidate.start)
    return int(counted["count"]) if counted else None


def _by_instalments(
    candidate: ValueCandidate, count: int, factor: float
) -> tuple[ValueCandidate, float, str]:
    """What a month costs where a year is paid in so many instalments."""
    value = (Decimal(candidate.value) * count / 12).quantize(CENT, rounding=ROUND_HALF_UP)
    made = replace(candidate, value=format_number(value), number=float(value))
    shown = f"{count} x {candidate.value} / 12 = {made.value}"
    return made, factor * 0.8, f"computed from the instalments of a year: {shown}"


def _per_kwh(
    rule: FieldRule, candidate: ValueCandidate, around: str, factor: float, note: str
) -> tuple[ValueCandidate, float, str] | None:
    if candidate.per not in ("", "kWh"):
        return None
    if candidate.is_bare and (rule.range is None or not rule.range.holds(candidate.number)):
        candidate = replace(
            candidate,
            value=format_number(Decimal(candidate.value) / 100),
            number=candidate.number / 100,
        )
        if not _CENT.search(around):
            factor *= 0.85
            note = "taken for cents"
    return candidate, factor, note


def _context(candidate: ValueCandidate, mine: LabelLink | None, page: AnalyzedPage) -> str:
    """The words that may name the unit of a plain number: the cell of its label and the header of its column."""
    text = page.text
    words = text[candidate.end : candidate.end + UNIT_CHARS].split("\n")[0]
    if mine and page.cell(mine.mention.start) == page.cell(candidate.start):
        begin, end = sorted((mine.mention.start, candidate.start))
        words = f"{text[begin:end]} {words}"
    elif mine:
        words = (
            f"{page.cell_text(mine.mention.start)} {_cells_between(page, mine, candidate)} {words}"
        )
    return f"{words} {_column_head(page, candidate)}"


def _cells_between(page: AnalyzedPage, mine: LabelLink, candidate: ValueCandidate) -> str:
    """The cells between a label and a value of its row: the unit may have a column of its own."""
    label, cell = page.cell(mine.mention.start), page.cell(candidate.start)
    if label is None or cell is None or label.row != cell.row:
        return ""
    between = page.grid.rows[cell.row][label.column + 1 : cell.column]
    return " ".join(page.grid.words(each) for each in between)


def _column_head(page: AnalyzedPage, candidate: ValueCandidate) -> str:
    """The header of the column of a value: the nearest cell above it without a value."""
    cell = page.cell(candidate.start)
    if cell is None or len(page.grid.rows[cell.row]) < 2:
        return ""
    last = cell.row
    for head in page.grid.above(cell, rows_max=HEADERS_MAX):
        if head.row < last - 1 or len(page.grid.rows[head.row]) < 2:
            return ""
        last = head.row
        if not any(head.start <= each.start < head.end for each in page.candidates):
            return page.grid.words(head)
    return ""


def _row_head(page: AnalyzedPage, candidate: ValueCandidate) -> str:
    """The header of the row of a value: the cell before it, or the words before it in its cell, up to a colon."""
    cell = page.cell(candidate.start)
    if cell is None:
        return ""
    own = page.text[cell.start : candidate.start]
    if ":" in own:
        return own.rpartition(":")[0]
    if own.strip() or not cell.column:
        return ""
    left = page.grid.rows[cell.row][cell.column - 1]
    has_value = any(left.start <= each.start < left.end for each in page.candidates)
    return "" if has_value else page.grid.words(left)


def _looks_like_money(candidate: ValueCandidate, page: AnalyzedPage, around: str) -> bool:
    """Whether a plain number has two decimals, or its label or column names a currency."""
    printed = page.text[candidate.start : candidate.end]
    if re.search(r"\d[.,]\s?\d{2,4}$", printed):
        return True
    is_number = re.match(
        r"[.)]\s", page.text[candidate.end : candidate.end + 2]
    ) or printed.startswith("0")
    is_alone = page.cell_text(candidate.start).strip() == printed
    return (
        bool(is_alone or not is_number) and bool(_CURRENCY.search(around)) and candidate.number >= 1
    )


def _per_of(words: str) -> str:
    if _ONCE.search(words):
        return "once"
    if _QUARTERLY.search(words):
        return "quarter"
    if _HALF.search(words):
        return "half"
    if _MONTHLY.search(words):
        return "month"
    return "year" if _YEARLY.search(words) else ""


def only_period(reading: ContractReading) -> str:
    """The only period of payment that the words of a document name, if it is longer than a month; else ""."""
    named = {
        period
        for page in reading.pages
        for period, pattern in _PAYMENT_PERIODS.items()
        if pattern.search(page.text)
    }
    return named.pop() if len(named) == 1 and "month" not in named else ""


def _payment_mode(reading: ContractReading) -> str:
    """How often the contract is paid, if it says so and it is not monthly; else ""."""
    for page in reading.pages:
        if found := _MODE.search(page.text):
            per = _per_of(found["how"])
            return "" if per == "month" else per
    return ""


def _around(page: AnalyzedPage, candidate: ValueCandidate, mine: LabelLink | None) -> float:
    """The factor for the words around a value: old prices and small print count less."""
    factor = TERMS if page.is_small_print(candidate.start) else 1.0
    text = page.text
    begin = candidate.start
    words = ""
    if mine and mine.mention.start < candidate.start:
        is_near = (
            page.cell(mine.mention.start) == page.cell(candidate.start) or mine.how == "before"
        )
        begin = mine.mention.start
        words = (
            text[max(begin, candidate.start - 120) : candidate.start]
            if is_near
            else page.cell_text(begin)
        )
    lead = _EDGE.split(text[max(0, begin - OLD_AROUND_CHARS) : begin])[-1]
    tail = re.split(r"[\n\t;:.|,]", text[candidate.end : candidate.end + 25])[0]
    words = f"{lead} {words} {tail if '(' in tail else ''} {_column_head(page, candidate)}"
    words = _PLACE_NAME.sub(" ", words)
    if OLD_WORDS.search(words) and not NEW_WORDS.search(words):
        factor *= OLD
    if candidate.kind == "duration" and is_special_case(text, candidate.start, candidate.end):
        factor *= TERMS
    is_other = _is_of_withdrawal(text, candidate) or is_first_payment(
        text[max(0, candidate.start - OLD_AROUND_CHARS) : candidate.start]
    )
    if candidate.kind == "date" and is_other:
        factor *= OLD
    return factor


def is_first_payment(before: str) -> bool:
    """Whether the words before a date say that something is paid on it for the first time."""
    return _FIRST_PAYMENT.search(before) is not None


def _is_of_withdrawal(text: str, candidate: ValueCandidate) -> bool:
    """Whether the sentence of a date says until when a customer may withdraw."""
    first = max(0, candidate.start - SENTENCE_CHARS // 2)
    before = _SENTENCES.split(text[first : candidate.start])[-1]
    behind = _SENTENCES.split(text[candidate.end : candidate.end + SENTENCE_CHARS // 2])[0]
    sentence = f"{before.rpartition(TAB)[2]} {behind.partition(TAB)[0]}"
    return WITHDRAWAL.search(sentence) is not None


def is_special_case(text: str, start: int, end: int) -> bool:
    """Whether the sentence of a period, or its line behind a label, is about a move and no other case."""
    line = text.rfind("\n", 0, start) + 1
    first = max(0, start - SENTENCE_CHARS)
    last = min(len(text), end + SENTENCE_CHARS)
    if re.search(r"[:\t]", text[line:start]):
        first, last = line, text.find("\n", end) if "\n" in text[end:last] else last
    before = _SENTENCES.split(text[first:start])[-1]
    behind = _SENTENCES.split(text[end:last])[0]
    clause, comma, tail = behind.partition(",")
    if comma and not _CASE_ONLY_IF.fullmatch(f",{tail.rstrip()}"):
        return False
    for begun in _LINE_STARTS.finditer(before):
        led = before[begun.start() :]
        if _CASE_LABEL.fullmatch(led):
            rest = clause
        elif found := _CASE_FIRST.fullmatch(led):
            rest = f"{found['rest']} {clause}"
        else:
            continue
        return all(word in _CASE_WORDS for word in re.findall(r"\w+", rest.lower()))
    return False


def said_in_words(rule: FieldRule, reading: ContractReading) -> list[FieldCandidate]:
    """Values stated without a number: `monatlich kündbar`, `ohne Selbstbeteiligung`, `Selbstbehalt: keiner`."""
    found: list[FieldCandidate] = []
    for at, page in enumerate(reading.pages):
        for hit in page.phrases:
            if hit.what[0] == rule.name:
                score = 0.9 * (TERMS if page.is_small_print(hit.start) else 1.0)
                found.append(_word_candidate(rule, hit.what[1], (at, hit.start, hit.end), score))
        for mention in page.mentions if rule.zero else ():
            if any(meaning.what == rule.name for meaning in mention.meanings):
                found.extend(_zero(rule, page, mention, at))
    return found


def _zero(
    rule: FieldRule, page: AnalyzedPage, mention: LabelMention, at: int
) -> list[FieldCandidate]:
    words = "|".join(re.escape(word) for each in rule.zero.values() for word in each)
    pattern = re.compile(
        rf"\s*(?:\([^()\n]{{0,40}}\))?[:.\-–|\s]*(?P<zero>{words})\b", re.IGNORECASE
    )
    hit = pattern.match(page.text, mention.end)
    if not hit:
        return []
    return [_word_candidate(rule, "0.00", (at, hit.start("zero"), hit.end("zero")), 0.95)]


def _word_candidate(
    rule: FieldRule, value: str, at: tuple[int, int, int], score: float
) -> FieldCandidate:
    number = next((candidate.number for candidate in forms.durations(value)), 0.0)
    return FieldCandidate(rule.name, value, number, *at, score, "said in words", 100, rule.unit)


def _two_dates(
    order: DateSequenceRule, linked: list[LinkedValue], reading: ContractReading
) -> list[FieldCandidate]:
    """Two dates with `bis` between them are the first and the second date of a sequence."""
    name = f"{order.first}>{order.second}"
    found: list[FieldCandidate] = []
    for one, other in pairwise(each for each in linked if each.candidate.kind == "date"):
        if one.page != other.page:
            continue
        page = reading.pages[one.page]
        gap = page.text[one.candidate.end : other.candidate.start]
        if not _TO.fullmatch(gap) or one.candidate.value >= other.candidate.value:
            continue
        ours = {name, order.first}
        link = next((each for each in one.links if each.meaning.what in ours), None)
        rival = next((each for each in one.links if each.meaning.what not in ours), None)
        lead = page.text[max(0, one.candidate.start - FROM_CHARS) : one.candidate.start]
        score = FROM_TO if _FROM.search(lead) else TWO_DATES
        score = max(score, link.strength) if link else score
        if rival and rival.strength > score:
            score *= RIVAL
        score *= _around(page, one.candidate, link)
        why = f"the two dates behind {_label_text(link, reading, one)}" if link else "two dates"
        cap = 70 if one.candidate.is_ambiguous or other.candidate.is_ambiguous else 100
        found.append(_field_candidate(order.first, one, score, why, cap=cap))
        found.append(_field_candidate(order.second, other, score, why, cap=cap))
    return found


def months_later(day: date, months: int) -> date:
    """The last day of a term of so many months that begins on `day`."""
    end = shift_date(day, CalendarPeriod(months, "month"))
    return end - timedelta(days=1) if end.day == day.day else end
