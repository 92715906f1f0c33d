"""One value for each field among its candidates, with a confidence.

What lowers it: another value with a similar score, a rival label with its own value, OCR noise where a name cannot be
checked. What raises it: a second place with the same value, and a printed term that fits the first and the last date.
"""

import re
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.arithmetic import TAX_RATES, is_own_amount, parts_of
from stateward.pipelines.contracts.offline.labels import stands_in
from stateward.pipelines.contracts.offline.number_fields import (
    BY_UNIT,
    FieldCandidate,
    months_later,
)
from stateward.pipelines.contracts.offline.page_analysis import ContractReading
from stateward.pipelines.contracts.offline.statements import statement
from stateward.pipelines.contracts.offline.text_fields import NAME_BEHIND
from stateward.pipelines.contracts.rules import (
    DateSequenceRule,
    FieldRule,
    Vertical,
    all_labels,
)
from stateward.pipelines.contracts.words import Phrases, skeleton

CONFIDENCE_MAX = 97
# Caps and losses were calibrated: at 80 or more, at least 95 of 100 values are correct.
CLOSE, NEAR = 0.83, 0.66  # of the best score: a second value that close is as likely, or likely
CLOSE_CAP, NEAR_LOSS = 66, 7
RIVAL_CAP, NOISE_CAP, COMPUTED_CAP, NET_CAP = 74, 74, 70, 72
# An end that start and term give: certain where both have labels of their own and no other end is printed.
RECKONED_CAP, RECKONED_FROM, RECKONED_MIN = 84, 90, 0.85
OWN_LABEL = 0.6
OWN_AMOUNT_CHARS = 60  # between a label and its amount, on one line
RECKONED = "computed from"
SETTLED = "as the printed term says"  # an end that lies as far from the start
ANCHORED_MIN = 0.85  # of the score of a value whose own label stands beside it
WEAK_ANCHORED_MIN = 0.8  # of a day beside `Beginn` or `Ende` alone
ANCHORS = ("left ", "over ", "beneath ", "beside ")
_NOTICE = re.compile(
    r"künd|\bnotice|cancel|terminat|auflös|aufgelöst|lösbar|beend|\bleav", re.IGNORECASE
)
_GOES_ON = re.compile(  # what holds after the first term is no field
    r"\b(?:dann|danach|anschließend|im\s+anschluss|nach\s+(?:dem\s+)?(?:ablauf|ende)|unbefristet\w*|unbestimmte|then|thereafter|"
    r"after\s+(?:that|this|the)|afterwards|once|rolls|rolling)\b",
    re.IGNORECASE,
)
# Between two periods of one sentence; the point of a date or a number ends none.
_LATER_NOTICE = re.compile(
    r"(?:[^.;!?]|(?<=\d)\.)*\b(?:danach|anschließend|im\s+anschluss|thereafter|afterwards|after\s+that)\b"
    r"(?:[^.;!?]|(?<=\d)\.)*\Z",
    re.IGNORECASE,
)
LATER_CHARS = 160
_WHOLE = re.compile(r"\b(?:month|year)s?\b")
NOISE_MIN = 0.006
OTHER_PRICE_MIN, PRICE_SLACK = 0.7, 0.003  # of the chosen price: less is a part of it, or rounded
AGAIN = 0.02
TERM_DAYS = 3
TERM_GAIN = 0.06
SURE_ENOUGH = 0.3
LISTED = 0.2  # a company with the label of another role is no candidate
ONLY_PROVIDER = 0.81
ONLY_ONE = {
    "kWh": 0.1,
    "month": 0.31,
    "quantity": 0.22,
}  # the only amount of its unit needs no label


class FieldChoice(NamedTuple):
    """The chosen candidate, its confidence and the reason."""

    best: FieldCandidate
    confidence: int
    why: str
    cap: int = 100

    def capped(self, cap: int, sentence: str) -> "FieldChoice":
        """It with at most that confidence, and why."""
        said = f"{self.why}; at most {cap}, because {sentence}"
        return FieldChoice(self.best, min(self.confidence, cap), said, min(self.cap, cap))


def choose(
    vertical: Vertical,
    reading: ContractReading,
    found: list[FieldCandidate],
    terms: list[FieldCandidate],
) -> dict[str, FieldChoice]:
    """The choice for every field with a candidate."""
    by_field: dict[str, list[FieldCandidate]] = {rule.name: [] for rule in vertical.fields}
    for each in found:
        by_field[each.field].append(each)
    for order in vertical.orders:
        _raise_by_term(order, by_field, [each for each in terms if each.field == _name(order)])
    choices: dict[str, FieldChoice] = {}
    for rule in vertical.fields:
        choice = _choice(rule, reading, by_field[rule.name])
        if choice:
            choices[rule.name] = choice
    for order in vertical.orders:
        lasting = [each for each in terms if each.field == _name(order)]
        _compute_end(order, choices, lasting)
        _compare_term(order, choices, lasting)
    return choices


def _name(order: DateSequenceRule) -> str:
    return f"{order.first}>{order.second}"


def _without_stand_ins(rule: FieldRule, found: list[FieldCandidate]) -> list[FieldCandidate]:
    """What counts where a label of the field itself names an amount: a base price stands in only without one."""
    own = [each for each in found if not each.is_weak and each.score >= OWN_LABEL]
    return own if rule.instead and own else found


def _choice(
    rule: FieldRule, reading: ContractReading, found: list[FieldCandidate]
) -> FieldChoice | None:
    groups: dict[str, list[FieldCandidate]] = {}
    for each in _without_stand_ins(rule, found):
        groups.setdefault(_key(rule, each), []).append(each)
    ranked = sorted(
        ((_score(group), at) for at, group in enumerate(groups.values())),
        key=lambda pair: (-pair[0], pair[1]),
    )
    if not ranked or ranked[0][0] < SURE_ENOUGH:
        return None
    group = list(groups.values())[ranked[0][1]]
    # Of the places of a value the one beside its own label: no other word has to be understood there.
    best = max(group, key=lambda each: (is_anchored(each, rule), each.score))
    parts = _parts(rule, best, reading)
    ranked = [
        ranked[0],
        *(
            each
            for each in ranked[1:]
            if not _is_part(rule, best, groups, each[1])
            and not _is_in(parts, list(groups.values())[each[1]], reading)
            and not _is_stand_in(rule, best, list(groups.values())[each[1]])
            and not _is_of_other_notice(rule, best, list(groups.values())[each[1]], reading)
        ),
    ]
    score = ranked[0][0]
    if best.why == BY_UNIT and len(ranked) == 1:
        score += ONLY_ONE.get(rule.per or rule.kind, 0.0)
    if (
        rule.kind == "provider"
        and best.number
        and len([each for each, _ in ranked if each > LISTED]) == 1
    ):
        score = max(score, ONLY_PROVIDER)
    confidence = 100 * score
    caps = [(best.cap, "")]
    why = [best.why]
    second = ranked[1][0] if len(ranked) > 1 else 0.0
    # Names that need no label stand in titles, too: two kinds of insurance contradict each other sooner.
    is_known = rule.words and _is_known_name(rule, list(groups)[ranked[1][1]] if second else "")
    if second >= (NEAR if is_known else CLOSE) * score:
        caps.append((CLOSE_CAP, ""))
        other = max(list(groups.values())[ranked[1][1]], key=lambda each: each.score)
        why.append(f"but {other.value} is nearly as likely")
    elif second >= NEAR * score:
        confidence -= NEAR_LOSS
    if rule.rivals and best.is_weak and second >= SURE_ENOUGH:
        caps.append((RIVAL_CAP, "and another amount of its kind has no label that is known"))
    caps += _caps(rule, reading, best)
    cap = min(cap for cap, _ in caps)
    confidence = min(confidence, cap, CONFIDENCE_MAX)
    why += [reason for _, reason in caps]
    said = "; ".join(part for part in why if part)
    return FieldChoice(best, max(0, round(confidence)), said, cap)


def _parts(rule: FieldRule, best: FieldCandidate, reading: ContractReading) -> set[float]:
    """The amounts of which the best one is the sum."""
    if rule.kind != "money":
        return set()
    amounts = amounts_of(reading)
    return {amounts[at] for at in parts_of(printed_number(reading, best), amounts)}


def _is_in(parts: set[float], group: list[FieldCandidate], reading: ContractReading) -> bool:
    """Whether an amount is a part of a sum: one with a label of the field itself is another amount of it."""
    return printed_number(reading, group[0]) in parts and not any(
        is_own_amount(reading.pages[each.page], each.start, each.field) for each in group
    )


def printed_number(reading: ContractReading, chosen: FieldCandidate) -> float:
    """The amount as it is printed, where what was chosen is a month's share of it."""
    for each in reading.pages[chosen.page].candidates:
        if each.start == chosen.start and each.kind == "money":
            return each.number
    return chosen.number


def amounts_of(reading: ContractReading) -> list[float]:
    """All amounts of a document, in their order."""
    return [
        each.number
        for page in reading.pages
        for each in page.candidates
        if each.kind == "money" and each.per != "kWh"
    ]


def _is_part(
    rule: FieldRule, best: FieldCandidate, groups: dict[str, list[FieldCandidate]], at: int
) -> bool:
    """Whether one of two names is part of the other: then they do not contradict each other."""
    if rule.kind != "text":
        return False
    one, other = skeleton(best.value), list(groups)[at]
    return one in other or other in one or _is_narrower(rule, one, other)


def _is_narrower(rule: FieldRule, one: str, other: str) -> bool:
    """Whether one of two names says the same as the other, more closely: a home, and its contents."""
    return any(
        skeleton(wide) in first and any(skeleton(each) in second for each in narrow)
        for wide, narrow in rule.wider.items()
        for first, second in ((one, other), (other, one))
    )


def _is_stand_in(rule: FieldRule, best: FieldCandidate, group: list[FieldCandidate]) -> bool:
    """Whether a value only has labels that count where there is no other, and the best one has another."""
    return not best.is_weak and all(stands_in(rule, each.why) for each in group)


def is_anchored(choice: "FieldChoice | FieldCandidate", rule: FieldRule) -> bool:
    """Whether a value stands beside or under a label of the field itself, or is an end that start and term prove."""
    best = choice.best if isinstance(choice, FieldChoice) else choice
    if rule.kind == "date" and SETTLED in choice.why:
        return True
    is_own = not best.is_weak and best.score >= ANCHORED_MIN
    is_own = is_own or (rule.kind == "date" and best.score >= WEAK_ANCHORED_MIN)
    return is_own and choice.why.startswith(ANCHORS)


def is_other_notice(reading: ContractReading, page: int, start: int, end: int) -> bool:
    """Whether the statement of a period is about no notice, or about that of a contract which goes on after its end."""
    analyzed = reading.pages[page]
    said = " ".join(analyzed.text[first:last] for first, last in statement(analyzed, start, end))
    return not _NOTICE.search(said) or _GOES_ON.search(said) is not None


def is_later_notice(reading: ContractReading, best: FieldCandidate, page: int, start: int) -> bool:
    """Whether a sentence goes on with a period for the time after the first term: `4 Wochen, danach ein Monat`."""
    if page != best.page or not best.end <= start <= best.end + LATER_CHARS:
        return False
    return _LATER_NOTICE.match(reading.pages[page].text, best.end, start) is not None


def _is_of_other_notice(
    rule: FieldRule, best: FieldCandidate, group: list[FieldCandidate], reading: ContractReading
) -> bool:
    """Whether periods with weak labels alone are no rivals of one with a label of its own beside it."""
    if rule.kind != "duration":
        return False
    if all(is_later_notice(reading, best, each.page, each.start) for each in group):
        return True
    return is_anchored(best, rule) and all(
        each.is_weak and is_other_notice(reading, each.page, each.start, each.end) for each in group
    )


def _is_known_name(rule: FieldRule, key: str) -> bool:
    """Whether a name is one of those that need no label."""
    return any(skeleton(word) in key for word in all_labels(rule.words))


def _key(rule: FieldRule, each: FieldCandidate) -> str:
    if rule.kind in ("text", "provider"):
        return skeleton(each.value)
    return f"{each.number:.4f}" if rule.kind in ("money", "quantity", "duration") else each.value


def _score(group: list[FieldCandidate]) -> float:
    """The best score of a group, and a little for every other place with the same value."""
    scores = sorted((each.score for each in group), reverse=True)
    places = {(each.page, each.start) for each in group}
    return min(1.0, scores[0] + AGAIN * min(3, len(places) - 1))


def _caps(rule: FieldRule, reading: ContractReading, best: FieldCandidate) -> list[tuple[int, str]]:
    caps: list[tuple[int, str]] = []
    is_run = best.why.startswith(
        NAME_BEHIND
    )  # where a name ends is uncertain: a split word ends it early
    if rule.kind == "text" and reading.noise > (0 if is_run else NOISE_MIN):
        caps.append((NOISE_CAP, "the text is noisy, and a name cannot be checked"))
    elif best.is_weak and reading.noise > NOISE_MIN:
        caps.append((NOISE_CAP, "the text is noisy, and the label is a weak one"))
    if "net" in best.why.split(", "):
        caps.append((NET_CAP, "only the net amount was found"))
    if rule.rivals and _has_rival(rule, reading, best):
        caps.append((RIVAL_CAP, "another amount stands beside it that some call the same"))
    if rule.instead and best.is_weak and _prints_own(rule, reading, best):
        said = "and an amount with a label of its own is printed, which is said to be another's"
        caps.append((RIVAL_CAP, said))
    if rule.told and _is_told_otherwise(rule, reading, best):
        caps.append((RIVAL_CAP, "a sentence of the small print tells another one"))
    return caps


def _prints_own(rule: FieldRule, reading: ContractReading, best: FieldCandidate) -> bool:
    """Whether a label of the field itself has an amount, be it within one of something else: `Bisheriger Abschlag`.

    Then what stands in for it where it is not printed is not what the document calls so.
    """
    own = _own_labels(tuple(all_labels(rule.labels)))
    return any(
        hit.end <= each.start <= hit.end + OWN_AMOUNT_CHARS
        and "\n" not in page.text[hit.end : each.start]
        and (at, each.start) != (best.page, best.start)
        for at, page in enumerate(reading.pages)
        for hit in own.find(page.words)
        if hit.slip != "compound" and not page.is_small_print(hit.start)
        for each in page.candidates
        if each.kind == "money" and not each.is_bare
    )


@lru_cache(maxsize=16)
def _own_labels(labels: tuple[str, ...]) -> Phrases[str]:
    return Phrases((label, label) for label in labels)


def _is_told_otherwise(rule: FieldRule, reading: ContractReading, best: FieldCandidate) -> bool:
    """Whether a sentence of the small print, from where no value is taken, tells one that this cannot be."""
    pattern = _compile(tuple(rule.told))
    return any(
        each.kind == rule.kind and told.start() <= each.start < told.end() and _differs(each, best)
        for page in reading.pages
        for told in pattern.finditer(page.text, page.terms_from)
        for each in page.candidates
    )


def _differs(other: ValueCandidate, best: FieldCandidate) -> bool:
    """Whether two values of one kind exclude each other. Parts of a price are much smaller, and it may lack its tax."""
    if other.kind != "money":
        return other.value != best.value
    ratio = other.number / best.number if best.number else 1.0
    taxed = (ratio, *(ratio * (1 + rate) for rate in TAX_RATES))
    is_price = OTHER_PRICE_MIN < ratio < 1 / OTHER_PRICE_MIN
    return is_price and all(abs(each - 1) > PRICE_SLACK for each in taxed)


@lru_cache(maxsize=64)
def _compile(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in patterns), re.IGNORECASE)


def _has_rival(rule: FieldRule, reading: ContractReading, best: FieldCandidate) -> bool:
    """Whether a rival label is in the contract, and does not itself label the chosen value."""
    for at, page in enumerate(reading.pages):
        for hit in page.rivals:
            if hit.what != rule.name or page.is_small_print(hit.start):
                continue
            label = page.text[hit.start : hit.end]
            if label in best.why:
                return False
            near = [
                each
                for each in page.candidates
                if each.kind == "money" and 0 <= each.start - hit.end < 60
            ]
            if near and not (at == best.page and near[0].start == best.start):
                return True
    return False


def _raise_by_term(
    order: DateSequenceRule, by_field: dict[str, list[FieldCandidate]], terms: list[FieldCandidate]
) -> None:
    """Raise the scores of two dates that a printed term connects."""
    months = {round(each.number) for each in terms if each.score > 0.6}
    starts, ends = by_field[order.first], by_field[order.second]
    fits: set[tuple[str, str]] = set()
    for first in {each.value for each in starts if each.score >= SURE_ENOUGH}:
        for second in {each.value for each in ends if each.score >= SURE_ENOUGH}:
            for count in months:
                computed = months_later(date.fromisoformat(first), count)
                if abs((date.fromisoformat(second) - computed).days) <= TERM_DAYS:
                    fits.add((first, second))
    if len(fits) == 1:
        ((first, second),) = fits
        by_field[order.first] = [_raise_confidence(each, first) for each in starts]
        by_field[order.second] = [_raise_confidence(each, second) for each in ends]


def _raise_confidence(each: FieldCandidate, value: str) -> FieldCandidate:
    return each._replace(score=min(1.0, each.score + TERM_GAIN)) if each.value == value else each


def _compute_end(
    order: DateSequenceRule, choices: dict[str, FieldChoice], terms: list[FieldCandidate]
) -> None:
    """Compute an end that is not printed from the start and the term; a person decides, unless both are certain."""
    start, end = choices.get(order.first), choices.get(order.second)
    if start is None or not terms or (end and end.confidence >= 50):
        return
    term = max(terms, key=lambda each: each.score)
    if term.score < 0.6:
        return
    day = months_later(date.fromisoformat(start.best.value), round(term.number))
    best = term._replace(field=order.second, value=day.isoformat(), unit="")
    is_certain = order.is_reckoned and end is None and start.confidence >= RECKONED_FROM
    is_certain = is_certain and term.score >= RECKONED_MIN and _is_only_term(term, terms)
    cap = RECKONED_CAP if is_certain else COMPUTED_CAP
    sure = min(start.confidence, cap, round(100 * term.score))
    why = f"{RECKONED} {order.first} and a term of {term.value}"
    choices[order.second] = FieldChoice(best, sure, why, cap)


def _is_only_term(term: FieldCandidate, terms: list[FieldCandidate]) -> bool:
    """Whether it counts months or years, and no other term is printed: weeks do not end on the day before."""
    others = {round(each.number) for each in terms if each.score >= SURE_ENOUGH}
    return _WHOLE.search(term.value) is not None and others == {round(term.number)}


def _compare_term(
    order: DateSequenceRule, choices: dict[str, FieldChoice], terms: list[FieldCandidate]
) -> None:
    """Doubt a printed end that is not as far from the start as a printed term says; settle one that is."""
    start, end = choices.get(order.first), choices.get(order.second)
    own = [each for each in terms if each.score >= OWN_LABEL]
    if start is None or end is None or not own or end.why.startswith(RECKONED):
        return
    for term in own:
        last = months_later(date.fromisoformat(start.best.value), round(term.number))
        if abs((date.fromisoformat(end.best.value) - last).days) > TERM_DAYS:
            said = f"the dates do not lie {term.value} apart, as the contract says"
            choices[order.second] = end.capped(COMPUTED_CAP, said)
            return
    choices[order.second] = end._replace(why=f"{end.why}, {SETTLED}")
