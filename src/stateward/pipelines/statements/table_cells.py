"""What the cells of one row or of one column show by themselves."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements.heading_parts import is_label_start
from stateward.pipelines.statements.headings import simplify
from stateward.pipelines.statements.layout import ColumnLayout

RAW_CHARS_MAX = 500


def first_text(rows: Sequence[Sequence[str]], index: int) -> str:
    """The first text of a column that has any."""
    return next((cells[index] for cells in rows if index < len(cells) and cells[index].strip()), "")


def is_dated_amount(cells: Sequence[str]) -> bool:
    """Whether a row has a date in one cell and an amount with decimals in another."""
    texts = [cell for cell in cells if cell.strip()]
    return any(map(dates.is_date, texts)) and any(
        money.is_amount(text) and not dates.is_date(text) and ("." in text or "," in text)
        for text in texts
    )


def is_about(layout: ColumnLayout, cells: Sequence[str]) -> bool:
    """Whether a line above headings tells of the whole statement: it has more dates than a row can have."""
    days = sum(map(dates.is_date, cells))
    return layout.is_headed and days > max(2, len(layout.dates) + (layout.other_date >= 0))


def missing_part(layout: ColumnLayout, cells: Sequence[str]) -> str:
    """What a line above a table without headings lacks to be a row: its date or its amount; "" if it is none."""
    if layout.is_headed or len(cells) != layout.width:
        return ""
    printed = {
        i for i, text in enumerate(cells) if money.is_amount(text) and set(text) & {".", ","}
    }
    if any(map(dates.is_date, cells)):
        is_row = dates.is_date(cells[layout.date]) and has_text(layout, [*cells, ""])
        return "amount" if is_row and not printed else ""
    places = printed & set(layout.amounts)
    # A balance alone is that of the account. Beside another amount it is that of a row, even where no other row fills
    # the column of that amount.
    return "date" if places and (len(printed) > 1 or layout.balance not in places) else ""


def do_days_repeat(layout: ColumnLayout, body: Sequence[Record]) -> bool:
    """Whether two rows in sequence print the same date: then a row without one lacks it."""
    days = [cells[layout.date] for _, cells in body if len(cells) == layout.width]
    return any(one == other and dates.is_date(one) for one, other in pairwise(days))


def has_text(layout: ColumnLayout, cells: Sequence[str]) -> bool:
    """Whether a row says what it is for: a lone amount below the rows is a total."""
    return any(cells[i].strip() for i in (layout.description, layout.counterparty, *layout.texts))


def only_text(body: Sequence[Record], index: int) -> str:
    """The one text of a column that leaves some cells blank: those mean the same account or currency."""
    if index < 0:
        return ""
    found = {cells[index].strip() for _, cells in body if index < len(cells)}
    return (found - {""}).pop() if len(found) == 2 and "" in found else ""


def is_sum(text: str) -> bool:
    """Whether a text is an amount other than nothing."""
    return money.is_amount(text) and any(c in "123456789" for c in text)


def has_amount(layout: ColumnLayout, cells: Sequence[str]) -> bool:
    return any(cells[i].strip() for i in (layout.amount, layout.debit, layout.credit))


def column_texts(lines: Iterable[Record], indexes: Sequence[int]) -> Iterator[str]:
    return (
        cells[index]
        for _, cells in lines
        for index in indexes
        if index < len(cells) and cells[index]
    )


def is_part_of_another(text: str, others: Iterable[str]) -> bool:
    """Whether a text ends inside a word, or a number, that another text has whole."""
    own = text.strip()
    if not own:
        return False
    if money.is_amount(own):
        decimals = {len(other) - other.rfind(".") for other in others if other and other != own}
        return decimals == {3} and len(own) - own.rfind(".") != 3 and "." in "".join(others)
    longer = (other for other in others if len(other) > len(own) and other.startswith(own))
    return own[-1].isalnum() and any(other[len(own)].isalnum() for other in longer)


def raw_text(cells: Sequence[str]) -> str:
    return " | ".join(cells)[:RAW_CHARS_MAX]


def is_label(cells: Sequence[str]) -> bool:
    """Whether a row has no date and begins with a label: by its colon, or by a first word of balances or sums."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if not filled or any(map(dates.is_date, filled)) or money.is_amount(filled[0]):
        return False
    return filled[0].endswith((":", "：")) or is_label_start(simplify(filled[0]))
