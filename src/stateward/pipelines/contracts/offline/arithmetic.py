"""What amounts say of each other: one is another without its tax, or one of the parts of which another is the sum.

Of `28,13 ct` and `33,47 ct` in a row that says netto or brutto, itself or in its heads, the second is the first with
19 % of tax. Such an amount is accounted for, and no rival of the one that it leads to. Two prices that happen to differ
as a tax does are two prices: those of two years, of two packets.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

from msgspec.structs import replace

from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage

TAX_RATES = (0.19, 0.2, 0.05, 0.07, 0.081, 0.12)  # Germany, Austria and Britain, Switzerland
USUAL_RATES = frozenset(
    {0.19, 0.2}
)  # prices rise by less every year: a lower rate has to be printed
HEAD_ROWS = 6  # from an amount up to the head of its column
PARTS_MAX = 12
SUM_SLACK = 0.011
_TAX = re.compile(
    r"netto|brutto|steuer|\b(?:USt|MwSt|VAT|IPT|net|gross|(?:before|excluding|incl\w*)\s+tax)\b|premium\s+tax",
    re.IGNORECASE,
)
_NET_ROW = re.compile(
    r"\bnetto\b|\bnet\b|\bohne\s+\w*(?:steuer|USt|MwSt)|\b(?:before|excl\w*\.?|without)\s+(?:\w+\s+){0,2}(?:tax|VAT|IPT)\b",
    re.IGNORECASE,
)
_RATE = re.compile(r"(\d{1,2}(?:[.,]\d)?)\s?%")


def is_net_of(net: float, gross: float, rates: Iterable[float] = TAX_RATES) -> bool:
    """Whether an amount with one of these taxes is another one, as exactly as both are printed."""
    slack = max(0.0006 * gross, 0.00011)
    return gross > net > 0 and any(abs(net * (1 + rate) - gross) <= slack for rate in rates)


def with_taxes(page: AnalyzedPage) -> list[ValueCandidate]:
    """The values of a page; two amounts of a row that differ by a tax that is named there are net and gross."""
    found = list(page.candidates)
    if not _TAX.search(page.text) and not _RATE.search(page.text):
        return found
    rows: dict[int, list[int]] = {}
    for at, each in enumerate(found):
        cell = page.cell(each.start)
        if each.kind == "money" and cell is not None:
            rows.setdefault(cell.row, []).append(at)
    for row, places in rows.items():
        for one, other in combinations(places, 2):
            low, high = sorted((one, other), key=lambda at: found[at].number)
            rates = _rates(page, row, (found[low], found[high]))
            if is_net_of(found[low].number, found[high].number, rates):
                found[low] = replace(found[low], tax="net")
                found[high] = replace(found[high], tax="gross")
    return found


def _rates(page: AnalyzedPage, row: int, amounts: Iterable[ValueCandidate]) -> set[float]:
    """The taxes by which two amounts of a row may differ: those that it, or the heads of their columns, name."""
    said = " ".join(page.grid.words(cell) for cell in page.grid.rows[row])
    said += "".join(f" {head}" for each in amounts for head in _heads(page, each))
    printed = {round(float(each.replace(",", ".")) / 100, 4) for each in _RATE.findall(said)}
    named = USUAL_RATES if _TAX.search(said) else frozenset()
    return {rate for rate in TAX_RATES if rate in printed or rate in named}


def _heads(page: AnalyzedPage, amount: ValueCandidate) -> list[str]:
    """What stands over an amount in the rows of its table, apart from other values."""
    cell = page.cell(amount.start)
    if cell is None:
        return []
    above = page.grid.above(cell, rows_max=HEAD_ROWS)
    values = [each.start for each in page.candidates if each.kind == "money"]
    return [
        page.grid.words(each)
        for each in above
        if not page.grid.is_single(each.row)
        and not any(each.start <= start < each.end for start in values)
    ]


def is_own_amount(page: AnalyzedPage, offset: int, field: str) -> bool:
    """Whether the row of an amount has a label of that field, and does not say that its tax is still to come."""
    cell = page.cell(offset)
    if cell is None or not page.is_labelled(offset, field):
        return False
    return not any(_NET_ROW.search(page.grid.words(each)) for each in page.grid.rows[cell.row])


def parts_of(total: float, amounts: Sequence[float]) -> set[int]:
    """Which amounts, several that follow each other, have that sum: the rows of a table above its last one."""
    small = [
        at for at, each in enumerate(amounts) if each < total
    ]  # no part is more than all of it
    for begin, first in enumerate(small):
        reached = amounts[first]
        for end in range(begin + 1, min(begin + PARTS_MAX, len(small))):
            reached += amounts[small[end]]
            if abs(reached - total) < SUM_SLACK:
                return set(small[begin : end + 1])
            if reached > total + SUM_SLACK:
                break
    return set()
