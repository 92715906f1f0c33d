"""What the cells of one row or of one column show by themselves."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements.booking import is_of_unbooked
from stateward.pipelines.statements.heading_parts import is_label_start
from stateward.pipelines.statements.headings import simplify
from stateward.pipelines.statements.layout import ColumnLayout

RAW_CHARS_MAX = 500
HEADING_WITHIN = 100  # rows: banks print up to a page of notes above the table


class TableHead(NamedTuple):
    """The first rows of a table, and the places of those that may be its headings: a booking is none of them.

    Found once for all who look for a heading, because to ask a text what it may head takes long.
    """

    rows: Sequence[Sequence[str]]
    places: Sequence[int]

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]]) -> "TableHead":
        first = enumerate(rows[:HEADING_WITHIN])
        return cls(rows, [at for at, cells in first if not is_booking(cells)])

    def headings(self) -> Iterator[tuple[int, Sequence[str]]]:
        """The rows that may be headings, each with its place."""
        return ((at, self.rows[at]) for at in self.places)

    def below(self, at: int) -> list[Sequence[str]]:
        """The rows below one, of the same width."""
        width = len(self.rows[at])
        return [row for row in self.rows[at + 1 :] if len(row) == width]


def is_title(cells: Sequence[str]) -> bool:
    """Whether a row has a text without figures in its first cell, and nothing else."""
    text = cells[0].strip() if cells else ""
    return bool(text) and not any(map(str.isdigit, text)) and not any(c.strip() for c in cells[1:])


def unbooked_title(cells: Sequence[str]) -> str:
    """The title that a row gives to rows that are not booked, or ""."""
    return cells[0].strip() if is_title(cells) and is_of_unbooked(cells[0]) else ""


def is_other_number(one: str, other: str) -> bool:
    """Whether two texts have figures that tell different accounts."""
    numbers = [re.sub(r"\W", "", text) for text in (one, other)]
    return bool(numbers[0]) and not (numbers[1] and numbers[0].endswith(numbers[1][-4:]))


def first_text(rows: Sequence[Sequence[str]], index: int) -> str:
    """The first text of a column that has any."""
    return next((cells[index] for cells in rows if index < len(cells) and cells[index].strip()), "")


def is_booking(cells: Sequence[str]) -> bool:
    """Whether a row has a date, and an amount that is no date."""
    return any(map(dates.is_date, cells)) and any(
        money.is_amount(cell) and not dates.is_date(cell) for cell in cells
    )


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


def is_cut_text(text: str, others: Collection[str]) -> bool:
    """Whether the last text of a file that does not end with a line may be a part of what should stand there.

    `others` are the texts of the same column. A whole text is one of them, or ends with a word that one of them ends
    with; a whole amount has no fewer decimals than all of them.
    """
    own = text.strip()
    filled = [other for other in others if other]
    if not own or own in filled:
        # An empty cell is a cut one where no other is empty.
        return not own and len(filled) == len(others) > 1
    if money.is_amount(own):
        decimals = {_count_decimals(other) for other in filled}
        return len(decimals) == 1 and _count_decimals(own) < decimals.pop()
    if len(filled) < 2 or not any(map(str.isalpha, own)) or _is_code(own, filled):
        return False
    return own.split()[-1] not in {other.split()[-1] for other in filled}


def _count_decimals(text: str) -> int:
    """The figures behind the last sign of an amount; 0 without one."""
    last = max(text.rfind("."), text.rfind(","))
    return len(text) - last - 1 if last >= 0 else 0


def _is_code(text: str, others: Iterable[str]) -> bool:
    """Whether a text is one word, and as long as all others: a currency, a country, a kind."""
    return len(text.split()) == 1 and {len(other) for other in others} == {len(text)}


def raw_text(cells: Sequence[str]) -> str:
    return " | ".join(cells)[:RAW_CHARS_MAX]


def is_label(cells: Sequence[str]) -> bool:
    """Whether a row has no date and begins with a label: by its colon, or by a first word of balances or sums."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if not filled or any(map(dates.is_date, filled)) or money.is_amount(filled[0]):
        return False
    return filled[0].endswith((":", "：")) or is_label_start(simplify(filled[0]))


def is_shifted(lines: Iterable[Record], index: int) -> bool:
    """Whether a column of texts holds amounts with decimals alone, as where all rows lack a cell of the heading."""
    texts = [text.strip() for text in column_texts(lines, (index,)) if text.strip()]
    return len(texts) > 1 and all(_DECIMALS.fullmatch(text) for text in texts)


_DECIMALS = re.compile(r"[+-]?[0-9][0-9.,' ]*[.,][0-9]{2}")
