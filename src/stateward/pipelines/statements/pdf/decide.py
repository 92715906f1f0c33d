"""How the strings of one section are to be read: decided over all its rows, and tested by arithmetic.

Each way to read the signs is a `Way`. The first that makes the statement add up is taken; if none does, the most
likely one is, and what was tried is told, so that normalization can flag the section with its difference.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

import msgspec

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.model import Row, Terms
from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.facts import Period
from stateward.pipelines.statements.pdf.pairs import (
    Known,
    adds,
    chosen,
    pairs_of,
)
from stateward.pipelines.statements.pdf.rows import Entry, Fact
from stateward.pipelines.statements.pdf.ways import Story, Way, ways_of
from stateward.pipelines.statements.reconcile import Line, reconcile

DOUBTS_MAX = 6
VOTERS_MAX = 2000  # rows that are enough to see the decimal sign
SEQUENCE_MIN = 4  # days that must follow each other before that says how they are written
DAYS_LATE = 10  # a booking may lie so far outside the period that its statement tells


class Tried(msgspec.Struct):
    """A way, and how it went."""

    way: Way
    rows: list[Row]
    terms: Terms
    opening: Fact | None
    closing: Fact | None
    score: int
    is_sound: bool
    said: str
    entries: list[Entry] = []  # what the rows were made of
    doubt: str = ""  # what adds up and may be wrong all the same


def decide(story: Story) -> Tried:
    """The way that makes a section add up, else the likeliest one."""
    tried: list[Tried] = []
    for told in _without_doubt(story):
        terms = _terms(told)
        for way in ways_of(told, terms):
            set_terms = msgspec.structs.replace(terms, sign=way.sign, balances=way.balances)
            tried.append(_try(told, way, set_terms))
            if tried[-1].is_sound:
                break
        if tried[-1].is_sound:
            break
    best = max(tried, key=lambda one: (one.is_sound, one.score))
    why = dict(best.terms.why)
    why["sign"] = best.way.why
    if len(tried) > 1:
        others = "; ".join(f"{one.way.why}: {one.said}" for one in tried if one is not best)
        why["tried"] = f"tried before or beside it: {others}"
    best.terms = msgspec.structs.replace(best.terms, why=why)
    return best


def _without_doubt(story: Story) -> Iterator[Story]:
    """The section without its doubtful rows, then with all, then with some of them."""
    doubtful = [at for at, entry in enumerate(story.entries) if entry.doubt]
    yield _left(story, frozenset(doubtful))
    if not doubtful:
        return
    yield story
    if 1 < len(doubtful) <= DOUBTS_MAX:
        for bits in range(1, (1 << len(doubtful)) - 1):
            yield _left(
                story, frozenset(at for bit, at in enumerate(doubtful) if not bits >> bit & 1)
            )


def _left(story: Story, dropped: frozenset[int]) -> Story:
    entries = [entry for at, entry in enumerate(story.entries) if at not in dropped]
    return msgspec.structs.replace(story, entries=entries)


def _terms(story: Story) -> Terms:
    step = len(story.entries) // VOTERS_MAX + 1
    texts = [text for entry in story.entries[::step] for text in entry.money.values()]
    texts += [fact.value for fact in story.facts + story.shared]
    decimal = money.vote_decimal(texts)
    printed = [entry.date for entry in story.entries]
    printed = [text + "." if interpret.DAY_MONTH.fullmatch(text) else text for text in printed]
    around = [story.period.start, story.period.end, *(fact.date for fact in story.facts)]
    order = dates.vote_order([*printed, *filter(None, around)])
    chosen, why = order.order, order.why
    era = order.era or (dates.BUDDHIST if story.is_thai and _has_short_years(printed) else 0)
    if not chosen or not _fits(printed, chosen, story.period, era):
        chosen, era, why = _order_by_period(printed, story.period, order, era)
    return Terms(
        date_order=chosen,
        decimal=decimal.decimal,
        era=era,
        why={"decimal": decimal.why, "date_order": why},
    )


def _has_short_years(printed: Iterable[str]) -> bool:
    found = [
        parts for text in printed if (parts := dates.split_date(text)) and len(parts.numbers) == 3
    ]
    return bool(found) and all(parts.year_digits == 2 for parts in found)


def _order_by_period(
    printed: Sequence[str], period: Period, vote: dates.OrderVote, era: int
) -> tuple[str, int, str]:
    """The one order (and era) in which all dates lie in the period; the vote if there is none."""
    for tried in (era, dates.BUDDHIST) if not era else (era,):
        fits = [order for order in dates.ORDERS if _fits(printed, order, period, tried)]
        if len(fits) == 1:
            said = {"dmy": "day first", "mdy": "month first", "ymd": "year first"}[fits[0]]
            why = f"{said}: only so do the dates follow each other inside the period"
            return fits[0], tried, why
    return vote.order, era, vote.why


def _fits(printed: Sequence[str], order: str, period: Period, era: int) -> bool:
    """Whether every date, read in this order, lies in the period; in sequence, where no period is known."""
    ends = [dates.read_date(text, order, era) for text in (period.start, period.end) if text]
    texts = list(printed)
    days = [dates.read_date(text, order, era, 2024) for text in texts]
    if None in days or None in ends:
        return False
    end = ends[-1] if ends else None
    start = ends[0] if len(ends) == 2 else end and end - interpret.YEAR
    if start is None or end is None:
        found = [day for day in days if day is not None]
        is_telling = len(set(found)) >= SEQUENCE_MIN
        return is_telling and found in (sorted(found), sorted(found, reverse=True))
    full = [
        day if dates.has_year(text) else dates.nearest_date(text, order, start=start, end=end)
        for text, day in zip(texts, days, strict=True)
    ]
    return start <= end and all(
        day is not None and dates.is_near(day, start, end, days=DAYS_LATE) for day in full
    )


def _try(story: Story, way: Way, terms: Terms) -> Tried:
    rows = way.make(story.entries)
    lines, unread = _values(rows, terms)
    own = pairs_of(story.facts, terms)
    shared = pairs_of(story.facts + story.shared, terms)
    total = sum((line.amount for line in lines), Decimal(0))
    opening, closing = chosen(own, total) or chosen(shared, total) or own[0]
    is_summed = adds(opening, closing, total)
    verdict = reconcile(
        lines,
        opening=opening[1] if opening else None,
        closing=closing[1] if closing else None,
        totals=_printed_totals(story.facts, terms),
    )
    chain = next((check for check in verdict.checks if check.name == "chain"), None)
    doubt = _doubt(way, story, lines, opening, chain is not None and chain.holds)
    score = 2 * is_summed - 2 * (not is_summed and bool(opening and closing)) - unread
    score += 0 if chain is None else (2 if chain.holds else -2)
    return Tried(
        way,
        rows,
        terms,
        opening[0] if opening else None,
        closing[0] if closing else None,
        score,
        verdict.is_reconciled and not unread and not doubt,
        str(verdict),
        story.entries,
        doubt,
    )


def totals_of(facts: Sequence[Fact]) -> dict[str, str]:
    """Printed totals and counts, where each is printed once or always the same."""
    totals: dict[str, set[str]] = {}
    for fact in facts:
        if fact.kind in say.TOTAL_BOOKS:
            totals.setdefault(fact.kind, set()).add(fact.value)
    return {kind: values.pop() for kind, values in totals.items() if len(values) == 1}


def _printed_totals(facts: Sequence[Fact], terms: Terms) -> dict[str, Decimal]:
    read = {name: money.amount(text, terms.decimal) for name, text in totals_of(facts).items()}
    return {name: value for name, value in read.items() if value is not None}


def _doubt(way: Way, story: Story, lines: Sequence[Line], opening: Known, is_chained: bool) -> str:
    """A chain without an opening says nothing of its first amount, unless that has a sign of its own."""
    is_plain = way.sign in ("printed", "flipped") and all(line.amount > 0 for line in lines)
    if is_chained and is_plain and opening is None and not any(e.mark for e in story.entries):
        return "no amount has a sign and no opening balance is printed: the first may be in or out"
    return ""


def _values(rows: Sequence[Row], terms: Terms) -> tuple[list[Line], int]:
    """Rows as values; how many could not be read."""
    lines: list[Line] = []
    unread = 0
    for row in rows:
        try:
            lines.append(Line(interpret.signed(row, terms), interpret.balance(row.balance, terms)))
        except interpret.Unreadable:
            unread += 1
    return lines, unread
