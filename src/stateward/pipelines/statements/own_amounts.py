"""Which of several columns of amounts is that of the account.

The one with all fees and taxes; the one whose sum stands below the rows; the one whose currency is the same on every
row where that of the other changes, because an account has one currency and its owner travels.
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations

from stateward.pipelines.kit import money
from stateward.pipelines.statements.layout import Cells

ZERO = Decimal(0)
ROWS_MIN = 2


def amount_by_currency(amounts: Sequence[int], rows: Sequence[Cells]) -> int:
    """The only column of amounts beside a currency that never changes, where another's does; -1 if there is none."""
    beside = {i: _currencies(i, rows) for i in amounts}
    steady = [i for i, found in beside.items() if len(found) == 1]
    return steady[0] if len(steady) == 1 and any(len(f) > 1 for f in beside.values()) else -1


def _currencies(index: int, rows: Sequence[Cells]) -> set[str]:
    """The currencies of the column to the right of an amount, else to its left."""
    for place in (index + 1, index - 1):
        if not 0 <= place < min(map(len, rows), default=0):
            continue
        found = {text for cells in rows if (text := cells[place].strip())}
        if found and all(map(_is_currency, found)):
            return {money.currency_code(text) for text in found}
    return set()


def _is_currency(text: str) -> bool:
    return money.currency_code(text) in money.CURRENCY_CODES or text.lower() in money.SYMBOLS


def amount_by_sums(amounts: Sequence[int], rows: Sequence[Cells], sums: Sequence[Cells]) -> int:
    """The only column whose sum stands in a row without a date; -1 if there is none."""
    if len(rows) < ROWS_MIN:
        return -1
    decimal = money.vote_decimal(cells[i] for cells in rows for i in amounts).decimal
    found = [i for i in amounts if _is_summed(i, rows, sums, decimal)]
    return found[0] if len(found) == 1 else -1


def _is_summed(index: int, rows: Sequence[Cells], sums: Sequence[Cells], decimal: str) -> bool:
    values = [money.amount(cells[index], decimal) for cells in rows if cells[index].strip()]
    total = sum((value for value in values if value is not None), ZERO)
    printed = {money.amount(cells[index], decimal) for cells in sums if cells[index].strip()}
    return bool(total) and None not in values and total in printed


def is_sum_of(rows: Sequence[Cells], *, total: int, part: int) -> bool:
    """Whether one column is another with fees, taxes or roundings: then it is what was moved in the end."""
    texts = [cells[i] for cells in rows for i in (total, part)]
    decimal = money.vote_decimal(texts).decimal
    gaps: list[Decimal] = []
    for cells in rows:
        whole, most = (money.amount(cells[i], decimal) for i in (total, part))
        if whole is None or most is None:
            return False
        gaps.append(whole - most)
    if not any(gaps) or any(gap > 0 for gap in gaps):  # a fee takes money away
        return False
    others = [
        [money.amount(cells[i], decimal) or ZERO for cells in rows]
        for i in range(len(rows[0]))
        if i not in (total, part) and _are_amounts([cells[i] for cells in rows])
    ]
    return any(
        _adds_up(gaps, chosen) for count in (1, 2, 3) for chosen in combinations(others, count)
    )


def _adds_up(gaps: Sequence[Decimal], columns: Sequence[Sequence[Decimal]]) -> bool:
    sums = [sum(values, ZERO) for values in zip(*columns, strict=True)]
    return all(gap == each for gap, each in zip(gaps, sums, strict=True)) or all(
        gap == -each for gap, each in zip(gaps, sums, strict=True)
    )


def _are_amounts(column: Sequence[str]) -> bool:
    """Whether a column has amounts with decimals in some rows, and nothing else in any."""
    filled = [text for text in column if text.strip()]
    return any("." in t or "," in t for t in filled) and all(map(money.is_amount, filled))
