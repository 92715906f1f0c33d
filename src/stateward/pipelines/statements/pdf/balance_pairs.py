"""Opening and closing balances that may belong together, among all that a statement prints."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import zip_longest

from stateward.pipelines.kit import dates
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.model import ReadingTerms
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.rows import DATED, DraftRow, PrintedFact
from stateward.pipelines.statements.pdf.titles import TITLE_WORDS_MAX
from stateward.pipelines.statements.pdf.tokens import StatementLine
from stateward.pipelines.statements.reconcile import RowAmounts, reconcile

FIGURES_MIN = 3  # fewer are found anywhere
PAIRS_MAX = 64  # a statement prints a handful; more would be a table that is not one

KnownBalance = tuple[PrintedFact, Decimal] | None
BalancePair = tuple[KnownBalance, KnownBalance]


def balance_pairs(facts: Sequence[PrintedFact], terms: ReadingTerms) -> list[BalancePair]:
    """Openings and closings that may belong together: the first with the last, then all others."""
    openings = _balances(facts, vocab.OPENING, terms)
    closings = _balances(facts, vocab.CLOSING, terms)
    first, last = _by_date(facts, DATED, terms)
    closings += [last] if last and (last is not first) else []
    # "Balance in your favour" of the first day has the name of that of the last.
    first = first or (None if openings else _by_date(facts, vocab.CLOSING, terms)[0])
    openings += [first] if first else []
    # A subtotal is the closing balance only if no other is printed.
    closings = closings or _balances(facts, vocab.CARRIED, terms)[-1:]
    lefts: list[KnownBalance] = [*openings] or [None]
    if not openings and last:  # the only one with a date may also be that of the first day
        lefts.append(last)
    rights: list[KnownBalance] = [*reversed(closings)] or [None]
    # One balance is not both: then a statement would add up of which no row was read.
    pairs = [(left, right) for left in lefts for right in rights if not _is_one(left, right)]
    pairs += [(last, None)] if not openings and last else []
    return pairs[:PAIRS_MAX]


def without_handovers(facts: Sequence[PrintedFact], rows: Sequence[DraftRow]) -> list[PrintedFact]:
    """The balances without those that a page hands to the next one, on which further rows stand.

    `Balance carried forward` below the rows of a page is the end of a statement only if no page goes on with it.
    """
    last = max(((entry.page, entry.line) for entry in rows), default=(0, 0))
    return [
        fact
        for fact, after in zip_longest(facts, facts[1:])
        if after is None
        or fact.kind != vocab.CLOSING
        or after.kind != vocab.OPENING
        or not (0 < fact.page < after.page and (after.page, after.line) < last)
        or not vocab.is_carrying(fact.kind, fact.label)
        or _figures(fact.value) != _figures(after.value)
    ]


def is_of_other_account(
    closing: PrintedFact | None,
    rows: Sequence[DraftRow],
    lines: Iterable[StatementLine],
    printed: Iterable[StatementLine],
) -> bool:
    """Whether a balance below the rows, of which only the day is told, may be of an account without rows.

    So it is if the balance of the last row is printed once more among `lines`, as the summary of several accounts does,
    and a title stands below that row on its page: otherwise rows may be missing between both.
    """
    if closing is None or closing.kind != DATED or not rows:
        return False
    last = rows[-1]
    reached = _figures(last.money.get(vocab.BALANCE, ""))
    between = [
        line
        for line in printed
        if line.page == closing.page == last.last_page
        and last.line < line.number < closing.line
        and (line.page, line.number) not in last.lines
    ]
    has_title = any(len(line.words) <= TITLE_WORDS_MAX for line in between)
    return (
        has_title
        and not any(line.money or line.dates for line in between)
        and len(reached) >= FIGURES_MIN
        and reached != _figures(closing.value)
        and any(_figures(token.text) == reached for line in lines for token in line.money)
    )


def _figures(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _is_one(left: KnownBalance, right: KnownBalance) -> bool:
    """Whether both are the same printed balance."""
    return left is not None and right is not None and left[0] is right[0]


def _balances(
    facts: Sequence[PrintedFact], kind: str, terms: ReadingTerms
) -> list[tuple[PrintedFact, Decimal]]:
    values = [(fact, _balance(fact.value, terms)) for fact in facts if fact.kind == kind]
    return [(fact, value) for fact, value in values if value is not None]


def _by_date(facts: Sequence[PrintedFact], kind: str, terms: ReadingTerms) -> BalancePair:
    """Among balances of a kind that have a date, the earliest and the latest."""
    found = [
        (day, (fact, value))
        for fact in facts
        if fact.kind == kind
        and (day := dates.read_date(fact.date, terms.date_order or "dmy", terms.era))
        and (value := _balance(fact.value, terms)) is not None
    ]
    if not found:
        return None, None
    first, last = min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])
    return (first[1], last[1]) if first[0] != last[0] else (None, last[1])


def _balance(text: str, terms: ReadingTerms) -> Decimal | None:
    try:
        return interpret.balance(text, terms)
    except interpret.UnreadableText:
        return None


def matching_pair(pairs: Sequence[BalancePair], total: Decimal) -> BalancePair | None:
    """The pair between which the rows add up."""
    return next((pair for pair in pairs if adds_up(*pair, total)), None)


def leading_end(pairs: Sequence[BalancePair], lines: Sequence[RowAmounts]) -> BalancePair | None:
    """Where one balance may be of either end, the end at which the running balances lead to it."""
    ends = [pair for pair in pairs if (pair[0] is None) != (pair[1] is None)]
    if len(ends) < 2:
        return None
    for opening, closing in ends:
        left, right = (each and each[1] for each in (opening, closing))
        if reconcile(lines, opening=left, closing=right).is_reconciled:
            return opening, closing
    return None


def adds_up(opening: KnownBalance, closing: KnownBalance, total: Decimal) -> bool:
    """Whether opening balance and rows give the closing balance."""
    return opening is not None and closing is not None and opening[1] + total == closing[1]
