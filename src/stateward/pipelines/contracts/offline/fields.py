"""Candidates for the fields that are figures: dates, amounts, periods, volumes.

Each value of the right kind gets a score from the label that claims it, and loses some where a nearer label claims it
for something else, where it is net, old, paid once or in the small print, or where it is not plausible.
"""

import re
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from stateward.pipelines.contracts import candidates as forms
from stateward.pipelines.contracts.candidates import Spot
from stateward.pipelines.contracts.offline.labels import STRONG, WEAK, Mention
from stateward.pipelines.contracts.offline.linking import Claim, claims
from stateward.pipelines.contracts.offline.reading import Leaf, Reading
from stateward.pipelines.contracts.rules import FieldRule, Order, Vertical
from stateward.pipelines.contracts.switching import Period, shifted
from stateward.pipelines.kit.money import format_number

SCORE_MIN = 0.2
HEADERS_MAX = 12
OLD_AROUND_CHARS = 40
UNIT_CHARS = 12
FROM_CHARS = 12
FROM_TO, TWO_DATES, BY_TERM = 0.86, 0.45, 0.9

RIVAL, EVEN, AMONG = 0.3, 0.72, 0.65
ABOUT_MIN = 0.28
OLD, NET, TERMS, ONCE, FAR = 0.3, 0.6, 0.62, 0.1, 0.5
WORTH = {"kWh": 0.74, "month": 0.5, "": 0.0}
BY_UNIT = "by its unit"
BY_KIND = {"quantity": 0.6}
DIVISORS = {"month": 1, "quarter": 3, "half": 6, "year": 12}

_OLD = re.compile(
    r"\b(?:bisher\w*|alt(?:e[rsn]?)?|vorherig\w*|früher\w*|vormals|vorjahr\w*|previous(?:ly)?|old|former(?:ly)?|"
    r"until now|"
    r"last year\w*|statt|instead of|zuvor|UVP)\b",
    re.IGNORECASE,
)
_NEW = re.compile(
    r"\b(?:neu\w*|new|ab sofort|now|aktuell\w*|current(?:ly)?|künftig\w*|jetzt)\b", re.IGNORECASE
)
_TO = re.compile(
    r"\s*(?:bis(?:\s+(?:zum|einschl\w*\.?|einschließlich))?|[-–—]|to|until|till|through|und|and)\s*(?:the\s|"
    r"den\s|dem\s|incl\w*\.?\s)?",
    re.IGNORECASE,
)
_FROM = re.compile(r"\b(?:vom|von|from|zwischen|between|ab)\s*(?:dem\s|the\s)?$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:bis|until|till|to|through)\s*(?:zum\s|the\s)?$", re.IGNORECASE)
_EDGE = re.compile(r"[\n\t|;(]|[:.,]\s")
_CENT = re.compile(r"\b(?:ct|cents?|pence|p)\b\s*(?:/|je|pro|per|$|\)|\])", re.IGNORECASE)
_CURRENCY = re.compile(r"€|\bEUR\b|\bEuro\b|£|\bGBP\b", re.IGNORECASE)
_ONCE = re.compile(r"einmalig|one-off|one-time|upfront", re.IGNORECASE)
_YEARLY = re.compile(r"jahr|jähr|jaehr|annual|year|p\.\s?a\.", re.IGNORECASE)
_MONTHLY = re.compile(r"monat|mtl|month", re.IGNORECASE)
_QUARTERLY = re.compile(r"viertelj|quarter", re.IGNORECASE)
_HALF = re.compile(r"halbj|half-year|semi-annual", re.IGNORECASE)
_MODE = re.compile(
    r"(?:zahl(?:ungs|)weise|zahlungsrhythmus|zahlungsperiode|zahlungsintervall|payment (?:frequency|method|"
    r"interval|mode)|paid|instalments?|zahlung)\s*[:\t ]\s*"
    r"(?P<how>monatlich|monthly|vierteljährlich|quarterly|halbjährlich|half-yearly|semi-annual\w*|jährlich|"
    r"annually|yearly|annual)",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """A value for a field: where it stands and why it might be the one."""

    field: str
    value: str
    number: float
    leaf: int
    start: int
    end: int
    score: float
    why: str
    cap: int = 100
    unit: str = ""
    is_weak: bool = False  # by a weak label, or by none


class Claimed(NamedTuple):
    """A value with all the claims to it."""

    leaf: int
    spot: Spot
    claims: list[Claim]


def claimed(reading: Reading) -> list[Claimed]:
    """Every value of the document with the claims to it."""
    return [
        Claimed(at, spot, claims(spot, leaf.scene))
        for at, leaf in enumerate(reading.leaves)
        for spot in leaf.spots
    ]


def candidates(reading: Reading, vertical: Vertical, held: list[Claimed]) -> list[Candidate]:
    """Every candidate for every figure of a vertical."""
    mode = _payment_mode(reading)
    found: list[Candidate] = []
    for rule in vertical.fields:
        for each in held:
            if each.spot.kind == rule.kind:
                made = _candidate(rule, each, reading, mode)
                if made and made.score >= SCORE_MIN:
                    found.append(made)
        found.extend(_said_in_words(rule, reading))
    for order in vertical.orders:
        pairs = _two_dates(order, held, reading)
        taken = {(each.leaf, each.start): each.field for each in pairs}
        ends = (order.first, order.second)
        found = [
            each
            for each in found
            if each.field not in ends
            or taken.get((each.leaf, each.start), each.field) == each.field
        ]
        found.extend(pairs)
    return found


def terms(reading: Reading, order: Order, held: list[Claimed]) -> list[Candidate]:
    """The printed lengths of the time between two dates: `Laufzeit: 24 Monate`."""
    name = f"{order.first}>{order.second}"
    found: list[Candidate] = []
    for each in held:
        best = next((claim for claim in each.claims if claim.meaning.what == name), None)
        if each.spot.kind == "duration" and best and best is each.claims[0]:
            found.append(
                _made(name, each, best.strength, f"the period behind {_said(best, reading, each)}")
            )
    return found


def _candidate(rule: FieldRule, each: Claimed, reading: Reading, mode: str) -> Candidate | None:
    leaf = reading.leaves[each.leaf]
    mine = next((claim for claim in each.claims if claim.meaning.what == rule.name), None)
    others = [claim for claim in each.claims if rule.name not in claim.meaning.what.split(">")]
    strength = mine.strength if mine else 0.0
    why = f"{mine.how} {_said(mine, reading, each)}" if mine else ""
    if mine and mine.how == "before":
        why = f"behind {_said(mine, reading, each)}"
    by_term = _by_term(rule, each, leaf)
    if by_term > strength:
        strength, why = by_term, "an end of the term"
    heads = f"{_column_head(leaf, each.spot)} {_row_head(leaf, each.spot)}"
    by_unit = _by_unit(rule, each.spot, heads)
    if by_unit > strength:
        strength, why = by_unit, BY_UNIT
    if others and others[0].strength > strength:
        strength *= RIVAL
    elif others and others[0].strength > 0.9 * strength and mine:
        strength *= EVEN
    elif any(_is_about(claim, each.spot, leaf) for claim in others):
        strength *= AMONG
    if strength < SCORE_MIN:
        return None
    spot = each.spot
    if rule.kind == "money":
        fitted = _fitted(rule, spot, mine, leaf, mode)
        if fitted is None:
            return None
        spot, factor, note = fitted
        strength *= factor
        why = f"{why}, {note}" if note else why
    strength *= _around(leaf, spot, mine)
    if rule.range and not rule.range.holds(spot.number):
        strength *= FAR
    cap = 70 if "reckoned" in why or spot.is_ambiguous else 100
    made = _made(rule.name, Claimed(each.leaf, spot, []), strength, why, cap=cap, unit=rule.unit)
    return made._replace(is_weak=mine is None or mine.meaning.weight < STRONG)


def _is_about(claim: Claim, spot: Spot, leaf: Leaf) -> bool:
    """Whether the sentence of a value is about something else: `verlängert sich … mit einer Frist von …`."""
    is_other = claim.meaning.what.startswith("!") and claim.how == "before"
    is_near = leaf.cell(claim.mention.start) == leaf.cell(spot.start)
    return is_other and is_near and claim.strength >= ABOUT_MIN


def _made(
    name: str, each: Claimed, score: float, why: str, *, cap: int = 100, unit: str = ""
) -> Candidate:
    spot = each.spot
    if spot.is_mended:
        score -= 0.03
    unit = unit or spot.unit
    return Candidate(
        name, spot.value, spot.number, each.leaf, spot.start, spot.end, score, why, cap, unit
    )


def _said(claim: Claim, reading: Reading, each: Claimed) -> str:
    text = reading.leaves[each.leaf].page.text[claim.mention.start : claim.mention.end]
    return f"'{' '.join(text.split())}'"


def _by_term(rule: FieldRule, each: Claimed, leaf: Leaf) -> float:
    """What a date is worth as an end of the term whose label claims it: `24 Monate ab dem …, also bis zum …`."""
    lead = leaf.page.text[max(0, each.spot.start - FROM_CHARS) : each.spot.start]
    for claim in each.claims:
        first, _, second = claim.meaning.what.partition(">")
        if second and (
            (rule.name == first and _FROM.search(lead))
            or (rule.name == second and _UNTIL.search(lead))
        ):
            return max(claim.strength, BY_TERM) * WEAK
    return 0.0


def _by_unit(rule: FieldRule, spot: Spot, head: str) -> float:
    """What a value is worth as a field without any label: its unit alone may say what it is."""
    if rule.kind == "money":
        per = spot.per or ("" if spot.is_bare else _per_of(head))
        return WORTH.get(rule.per, 0.0) if per and per == rule.per else 0.0
    return BY_KIND.get(rule.kind, 0.0)


def _fitted(
    rule: FieldRule, spot: Spot, mine: Claim | None, leaf: Leaf, mode: str
) -> tuple[Spot, float, str] | None:
    """An amount as the field counts it: by the month, by the kWh; None if it cannot be."""
    around = _context(spot, mine, leaf)
    if spot.is_bare and (mine is None or not _looks_like_money(spot, leaf, around)):
        return None
    if spot.is_bare and rule.per == "kWh" and "." not in spot.value.rstrip("0").rstrip("."):
        return None
    head = _column_head(leaf, spot)
    if head:
        spot = replace(spot, tax=spot.tax or forms.tax_of(head), per=spot.per or _per_of(head))
    factor = NET if spot.tax == "net" else 1.0
    note = "net" if spot.tax == "net" else ""
    if rule.per == "kWh":
        return _per_kwh(rule, spot, around, factor, note)
    if spot.per == "kWh":
        return None
    if rule.per != "month":
        return (spot, factor * (0.8 if spot.per in DIVISORS else 1.0), note)
    if spot.per in ("once", "day", "week"):
        return spot, ONCE, "paid once" if spot.per == "once" else note
    per = spot.per or _per_of(around) or (mode if mine and not _MONTHLY.search(around) else "")
    if per in ("", "month"):
        return spot, factor, note
    value = Decimal(spot.value) / DIVISORS.get(per, 12)
    value = value.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    made = replace(spot, value=format_number(value), number=float(value))
    return made, factor * 0.8, f"reckoned from the amount by the {per}"


def _per_kwh(
    rule: FieldRule, spot: Spot, around: str, factor: float, note: str
) -> tuple[Spot, float, str] | None:
    if spot.per not in ("", "kWh"):
        return None
    if spot.is_bare and (rule.range is None or not rule.range.holds(spot.number)):
        spot = replace(
            spot, value=format_number(Decimal(spot.value) / 100), number=spot.number / 100
        )
        if not _CENT.search(around):
            factor *= 0.85
            note = "taken for cents"
    return spot, factor, note


def _context(spot: Spot, mine: Claim | None, leaf: Leaf) -> str:
    """The words that may say the unit of a bare figure: its label's cell and the head of its column."""
    text = leaf.page.text
    words = text[spot.end : spot.end + UNIT_CHARS].split("\n")[0]
    if mine and leaf.cell(mine.mention.start) == leaf.cell(spot.start):
        begin, end = sorted((mine.mention.start, spot.start))
        words = f"{text[begin:end]} {words}"
    elif mine:
        words = f"{leaf.cell_text(mine.mention.start)} {words}"
    return f"{words} {_column_head(leaf, spot)}"


def _column_head(leaf: Leaf, spot: Spot) -> str:
    """What stands over a value that is in a row of cells: the nearest cell above that holds no value."""
    cell = leaf.cell(spot.start)
    if cell is None or len(leaf.grid.rows[cell.row]) < 2:
        return ""
    last = cell.row
    for head in leaf.grid.above(cell, rows_max=HEADERS_MAX):
        if head.row < last - 1 or len(leaf.grid.rows[head.row]) < 2:
            return ""
        last = head.row
        if not any(head.start <= each.start < head.end for each in leaf.spots):
            return leaf.grid.words(head)
    return ""


def _row_head(leaf: Leaf, spot: Spot) -> str:
    """What stands left of a value: the cell before it, or the words before it in its own, up to a colon."""
    cell = leaf.cell(spot.start)
    if cell is None:
        return ""
    own = leaf.page.text[cell.start : spot.start]
    if ":" in own:
        return own.rpartition(":")[0]
    if own.strip() or not cell.column:
        return ""
    left = leaf.grid.rows[cell.row][cell.column - 1]
    has_value = any(left.start <= each.start < left.end for each in leaf.spots)
    return "" if has_value else leaf.grid.words(left)


def _looks_like_money(spot: Spot, leaf: Leaf, around: str) -> bool:
    """Whether a bare figure has two decimals, or its label or column names a currency."""
    printed = leaf.page.text[spot.start : spot.end]
    if re.search(r"\d[.,]\s?\d{2,4}$", printed):
        return True
    is_number = re.match(r"[.)]\s", leaf.page.text[spot.end : spot.end + 2]) or printed.startswith(
        "0"
    )
    is_alone = leaf.cell_text(spot.start).strip() == printed
    return bool(is_alone or not is_number) and bool(_CURRENCY.search(around)) and spot.number >= 1


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


def _payment_mode(reading: Reading) -> str:
    """How often the contract is paid, where it says so and it is not every month."""
    for leaf in reading.leaves:
        if found := _MODE.search(leaf.page.text):
            per = _per_of(found["how"])
            return "" if per == "month" else per
    return ""


def _around(leaf: Leaf, spot: Spot, mine: Claim | None) -> float:
    """What the words around a value take from it: old prices, small print."""
    factor = TERMS if leaf.is_small_print(spot.start) else 1.0
    text = leaf.page.text
    begin = spot.start
    words = ""
    if mine and mine.mention.start < spot.start:
        is_near = leaf.cell(mine.mention.start) == leaf.cell(spot.start) or mine.how == "before"
        begin = mine.mention.start
        words = (
            text[max(begin, spot.start - 120) : spot.start] if is_near else leaf.cell_text(begin)
        )
    lead = _EDGE.split(text[max(0, begin - OLD_AROUND_CHARS) : begin])[-1]
    tail = re.split(r"[\n\t;:.|,]", text[spot.end : spot.end + 25])[0]
    words = f"{lead} {words} {tail if '(' in tail else ''} {_column_head(leaf, spot)}"
    if _OLD.search(words) and not _NEW.search(words):
        factor *= OLD
    return factor


def _said_in_words(rule: FieldRule, reading: Reading) -> list[Candidate]:
    """Values said without a figure: `monatlich kündbar`, `ohne Selbstbeteiligung`, `Selbstbehalt: keiner`."""
    found: list[Candidate] = []
    for at, leaf in enumerate(reading.leaves):
        for hit in leaf.phrases:
            if hit.what[0] == rule.name:
                score = 0.9 * (TERMS if leaf.is_small_print(hit.start) else 1.0)
                found.append(_worded(rule, hit.what[1], (at, hit.start, hit.end), score))
        for mention in leaf.mentions if rule.zero else ():
            if any(meaning.what == rule.name for meaning in mention.meanings):
                found.extend(_zero(rule, leaf, mention, at))
    return found


def _zero(rule: FieldRule, leaf: Leaf, mention: Mention, at: int) -> list[Candidate]:
    words = "|".join(re.escape(word) for each in rule.zero.values() for word in each)
    pattern = re.compile(
        rf"\s*(?:\([^()\n]{{0,40}}\))?[:.\-–|\s]*(?P<zero>{words})\b", re.IGNORECASE
    )
    hit = pattern.match(leaf.page.text, mention.end)
    if not hit:
        return []
    return [_worded(rule, "0.00", (at, hit.start("zero"), hit.end("zero")), 0.95)]


def _worded(rule: FieldRule, value: str, at: tuple[int, int, int], score: float) -> Candidate:
    number = next((spot.number for spot in forms.durations(value)), 0.0)
    return Candidate(rule.name, value, number, *at, score, "said in words", 100, rule.unit)


def _two_dates(order: Order, held: list[Claimed], reading: Reading) -> list[Candidate]:
    """Two dates with `bis` between them are the first and the second of an order."""
    name = f"{order.first}>{order.second}"
    found: list[Candidate] = []
    for one, other in pairwise(held):
        if one.leaf != other.leaf or (one.spot.kind, other.spot.kind) != ("date", "date"):
            continue
        leaf = reading.leaves[one.leaf]
        gap = leaf.page.text[one.spot.end : other.spot.start]
        if not _TO.fullmatch(gap) or one.spot.value >= other.spot.value:
            continue
        ours = {name, order.first}
        claim = next((each for each in one.claims if each.meaning.what in ours), None)
        rival = next((each for each in one.claims if each.meaning.what not in ours), None)
        lead = leaf.page.text[max(0, one.spot.start - FROM_CHARS) : one.spot.start]
        score = FROM_TO if _FROM.search(lead) else TWO_DATES
        score = max(score, claim.strength) if claim else score
        if rival and rival.strength > score:
            score *= RIVAL
        score *= _around(leaf, one.spot, claim)
        why = f"the two dates behind {_said(claim, reading, one)}" if claim else "two dates"
        cap = 70 if one.spot.is_ambiguous or other.spot.is_ambiguous else 100
        found.append(_made(order.first, one, score, why, cap=cap))
        found.append(_made(order.second, other, score, why, cap=cap))
    return found


def months_later(day: date, months: int) -> date:
    """The last day of a term of so many months that begins on `day`."""
    end = shifted(day, Period(months, "month"))
    return end - timedelta(days=1) if end.day == day.day else end
