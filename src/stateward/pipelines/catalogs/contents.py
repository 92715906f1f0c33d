"""What the columns of a table are by what they hold, where their headings do not say it.

A list of prices that names its columns in abbreviations, or not at all, still has a column of numbers that check as
GTINs, one of amounts in cents, one of codes that never come twice and one of names. And two prices of a row stand in
one order throughout a list: net below gross, a dealer's below the recommended one. A row in which they are the other
way round has one of them wrong.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from stateward.pipelines.catalogs.gtin import is_plain_gtin
from stateward.pipelines.kit.dates import is_date

CELLS_SEEN_MAX = 50  # of a column, when it is judged by what it holds
PAIRS_MIN = 3  # of a price and a list price
ORDER_SHARE_MIN = 0.8  # of the pairs of two prices: the others are mistakes
LIST_SHARE_MIN = 0.2  # of the list price, that a dealer pays at least
FILLED_MIN = 3  # cells of a column that is judged by what it holds
CONTENT_SHARE_MIN = 0.8  # of them that hold what the column is for
DECIMALS_SHARE_MIN = 0.3  # of the prices, that have cents
DISTINCT_MIN = 0.9  # of the codes, and
TITLES_DISTINCT_MIN = 0.5  # of the names: variants share theirs
TITLE_LETTERS_MIN = 6.0  # of an average name
DECIMALS = re.compile(r"^\D{0,5}[\d.,' ]*\d[.,]\d{1,4}\D{0,5}$")
_PLAIN_AMOUNT = re.compile(r"\D{0,4}(\d{1,3}(?:[.,' ]?\d{3})*|\d+)(?:[.,](\d{1,2}))?\D{0,4}")
_CENTS = re.compile(r"\d[.,]\d{2}\D{0,4}$")
_DECIMAL = re.compile(r"\d[.,]\d{1,2}\D{0,4}$")
_CODE = re.compile(r"(?=\S*\d)[^\W_][\w./+-]{1,24}")

Rows = Sequence[Sequence[str]]


class PriceOrder(NamedTuple):
    """Two columns of prices of which the first is below the second."""

    lower: int
    upper: int

    def is_broken_in(self, row: Sequence[str]) -> bool:
        """Whether the prices of a row are the other way round."""
        if max(self) >= len(row):
            return False
        lower, upper = amount_in(row[self.lower]), amount_in(row[self.upper])
        return lower is not None and upper is not None and lower > upper > 0


def amount_in(cell: str) -> float | None:
    """An amount in cents or whole, by its last sign; a comparison of two columns needs no more."""
    found = _PLAIN_AMOUNT.fullmatch(cell.strip())
    if found is None:
        return None
    whole, rest = re.sub(r"\D", "", found[1]), found[2] or ""
    return float(f"{whole}.{rest or 0}")


def cells_of(rows: Rows, at: int) -> list[str]:
    """The first cells of a column that hold anything."""
    return [row[at].strip() for row in rows[:CELLS_SEEN_MAX] if at < len(row) and row[at].strip()]


def is_numeric(rows: Rows, at: int) -> bool:
    """Whether most of the first cells of a column are numbers with decimals, as prices are."""
    cells = cells_of(rows, at)
    return sum(map(bool, map(DECIMALS.search, cells))) * 2 > len(cells)


def columns_below(rows: Rows, listed: int, unknown: Iterable[int]) -> list[int]:
    """Columns without a known heading that are below the list price in every row: what dealers pay."""
    found = []
    for at in unknown:
        cells = cells_of(rows, at)
        if not all(map(_CENTS.search, cells)) or any("%" in cell for cell in cells):
            continue  # a height or a share: prices are told in cents
        shares = [one / other for one, other in _pairs(rows, at, listed) if one and other]
        is_below = all(LIST_SHARE_MIN < share < 1 for share in shares)
        if len(shares) >= PAIRS_MIN and is_below and len({*shares}) > 1:
            found.append(at)
    return found


def price_order(rows: Rows, price: int, other: int) -> PriceOrder | None:
    """Which of two columns of prices is the lower one, if nearly all rows say the same."""
    pairs = [(one, two) for one, two in _pairs(rows, price, other) if one != two and one and two]
    below = sum(one < two for one, two in pairs)
    most = max(below, len(pairs) - below)
    if most < PAIRS_MIN or most < ORDER_SHARE_MIN * len(pairs):
        return None
    return PriceOrder(price, other) if below == most else PriceOrder(other, price)


def _pairs(rows: Rows, one: int, other: int) -> list[tuple[float, float]]:
    found = (
        (amount_in(row[one]), amount_in(row[other]))
        for row in rows[:CELLS_SEEN_MAX]
        if max(one, other) < len(row)
    )
    return [(first, second) for first, second in found if first is not None and second is not None]


def roles_by_content(rows: Rows, known: dict[str, int]) -> dict[str, int]:
    """The columns of number, name and price by what they hold, where `known` has none; {} if one of them is missing."""
    places = dict(known)
    width = max(map(len, rows), default=0)

    def free(at: int) -> bool:
        return at not in places.values()

    def first(is_one: Callable[[list[str]], bool]) -> int | None:
        columns = (at for at in range(width) if free(at))
        return next(
            (
                at
                for at in columns
                if len(cells := cells_of(rows, at)) >= FILLED_MIN and is_one(cells)
            ),
            None,
        )

    for role, is_one in (("gtin", _are_gtins), ("sku", _are_codes), ("price", _are_prices)):
        is_known = role in places or (role == "gtin" and "barcode" in places)
        if not is_known and (at := first(is_one)) is not None:
            places[role] = at
    if "title" not in places:
        named = {at: _letters(cells_of(rows, at)) for at in range(width) if free(at)}
        at = max(named, key=lambda each: named[each], default=None)
        if at is not None and named[at] >= TITLE_LETTERS_MIN:
            places["title"] = at
    is_told = {"sku", "gtin", "barcode"} & places.keys() and {"title", "price"} <= places.keys()
    return places if is_told else {}


def _most(cells: Sequence[str], is_one: Callable[[str], object]) -> bool:
    return sum(map(bool, map(is_one, cells))) >= CONTENT_SHARE_MIN * len(cells)


def _are_gtins(cells: list[str]) -> bool:
    return _most(cells, is_plain_gtin)


def _are_codes(cells: list[str]) -> bool:
    is_distinct = len({*cells}) >= DISTINCT_MIN * len(cells)
    # Counted or measured things are numbers as well: a code of digits alone has as many in each row.
    is_number = all(cell.isdigit() for cell in cells) and len({*map(len, cells)}) > 1
    return (
        is_distinct
        and not is_number
        and not any(map(is_date, cells))  # a table of bookings, and not of products
        and _most(cells, _CODE.fullmatch)
        and not _most(cells, DECIMALS.search)
    )


def _are_prices(cells: list[str]) -> bool:
    """Amounts, of which some have cents: a spreadsheet writes 7.40 as 7.4 and 52.00 as 52."""
    has_decimals = sum(map(bool, map(_DECIMAL.search, cells))) >= DECIMALS_SHARE_MIN * len(cells)
    return has_decimals and _most(cells, _is_amount) and not any("%" in cell for cell in cells)


def _is_amount(cell: str) -> bool:
    return amount_in(cell) is not None and re.search(r"[.,]\d{3,}\D*$", cell) is None


def _letters(cells: list[str]) -> float:
    """How many letters the cells of a column have on average; 0 for one that repeats a few words."""
    if len(cells) < FILLED_MIN or len({*cells}) < TITLES_DISTINCT_MIN * len(cells):
        return 0.0
    return sum(sum(map(str.isalpha, cell)) for cell in cells) / len(cells)


def holds_prices(rows: Rows) -> bool:
    """Whether a table that is not understood may list products: a column of amounts, and one of names."""
    columns = [cells_of(rows, at) for at in range(max(map(len, rows), default=0))]
    filled = [cells for cells in columns if len(cells) >= FILLED_MIN]
    # The heading of a column is one of its cells here.
    return any(_are_prices(cells[1:]) for cells in filled) and any(
        _letters(cells[1:]) >= TITLE_LETTERS_MIN for cells in filled
    )
