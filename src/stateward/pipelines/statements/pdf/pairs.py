"""Opening and closing balances that may belong together, out of all that a statement prints."""

from collections.abc import Sequence
from decimal import Decimal

from stateward.pipelines.kit import dates
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.model import Terms
from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.rows import DATED, Fact

PAIRS_MAX = 64

Known = tuple[Fact, Decimal] | None


def pairs_of(facts: Sequence[Fact], terms: Terms) -> list[tuple[Known, Known]]:
    """Openings and closings that may belong together: the first with the last, then all others."""
    openings = _known(facts, say.OPENING, terms)
    closings = _known(facts, say.CLOSING, terms)
    first, last = _by_date(facts, terms)
    openings += [first] if first else []
    closings += [last] if last and (last is not first) else []
    # A subtotal closes a statement only if nothing else does.
    closings = closings or _known(facts, say.CARRIED, terms)[-1:]
    lefts: list[Known] = [*openings] or [None]
    rights: list[Known] = [*reversed(closings)] or [None]
    return [(left, right) for left in lefts for right in rights][:PAIRS_MAX]


def _known(facts: Sequence[Fact], kind: str, terms: Terms) -> list[tuple[Fact, Decimal]]:
    values = [(fact, _balance(fact.value, terms)) for fact in facts if fact.kind == kind]
    return [(fact, value) for fact, value in values if value is not None]


def _by_date(facts: Sequence[Fact], terms: Terms) -> tuple[Known, Known]:
    """Of balances with a date, the earliest and the latest."""
    found = [
        (day, (fact, value))
        for fact in facts
        if fact.kind == DATED
        and (day := dates.read_date(fact.date, terms.date_order or "dmy", terms.era))
        and (value := _balance(fact.value, terms)) is not None
    ]
    if not found:
        return None, None
    first, last = min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])
    return (first[1], last[1]) if first[0] != last[0] else (None, last[1])


def _balance(text: str, terms: Terms) -> Decimal | None:
    try:
        return interpret.balance(text, terms)
    except interpret.Unreadable:
        return None


def chosen(pairs: Sequence[tuple[Known, Known]], total: Decimal) -> tuple[Known, Known] | None:
    """The pair between which the rows add up."""
    return next((pair for pair in pairs if adds(*pair, total)), None)


def adds(opening: Known, closing: Known, total: Decimal) -> bool:
    """Whether opening and rows make closing."""
    return opening is not None and closing is not None and opening[1] + total == closing[1]
