"""What amounts say of each other: one is another without its tax, or one of the parts of which another is the sum.

Arithmetic needs no label: of `28,13 ct` and `33,47 ct` in one row the second is the first with 19 % of tax, whatever
stands over them. Such an amount is accounted for, and no rival of the one that it leads to.
"""

import re
from collections.abc import Sequence
from itertools import combinations

from msgspec.structs import replace

from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage

TAX_RATES = (0.19, 0.2, 0.05, 0.07, 0.081, 0.12)  # Germany, Austria and Britain, Switzerland
PARTS_MAX = 12
SUM_SLACK = 0.011
_TAX = re.compile(
    r"netto|brutto|steuer|\b(?:USt|MwSt|VAT|IPT|net|gross|(?:before|excluding|incl\w*)\s+tax)\b|premium\s+tax",
    re.IGNORECASE,
)


def is_net_of(net: float, gross: float) -> bool:
    """Whether an amount with one of the usual taxes is another one, as exactly as both are printed."""
    slack = max(0.0006 * gross, 0.00011)
    return gross > net > 0 and any(abs(net * (1 + rate) - gross) <= slack for rate in TAX_RATES)


def with_taxes(page: AnalyzedPage) -> list[ValueCandidate]:
    """The values of a page, in which two amounts of one row that differ by a tax are net and gross."""
    found = list(page.candidates)
    if not _TAX.search(page.text):
        return found
    rows: dict[int, list[int]] = {}
    for at, each in enumerate(found):
        cell = page.cell(each.start)
        if each.kind == "money" and cell is not None:
            rows.setdefault(cell.row, []).append(at)
    for places in rows.values():
        for one, other in combinations(places, 2):
            low, high = sorted((one, other), key=lambda at: found[at].number)
            if is_net_of(found[low].number, found[high].number):
                found[low] = replace(found[low], tax="net")
                found[high] = replace(found[high], tax="gross")
    return found


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
