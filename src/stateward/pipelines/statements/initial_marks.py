"""Marks that are initials of their heading: below "Cargo/Abono" a C is a charge, although it is a credit elsewhere.

Nothing else is changed: only where all letters of a column are initials of two words that are opposites.
"""

from collections.abc import Callable, Iterator

from stateward.pipelines.kit import money
from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements.table_cells import TableHead

HEADING_CHARS_MAX = 40


def start_with_spelled_marks(
    start: Callable[[], Iterator[Record]], head: TableHead
) -> Callable[[], Iterator[Record]] | None:
    """The same records with words in place of letters; None where the first of them have no such marks."""
    found = _initial_marks(head)
    if found is None:
        return None
    column, words = found

    def records() -> Iterator[Record]:
        for line, cells in start():
            if column < len(cells):
                cells[column] = words.get(cells[column].strip().upper(), cells[column])
            yield line, cells

    return records


def _initial_marks(head: TableHead) -> tuple[int, dict[str, str]] | None:
    """The column of such marks, and the word of each letter; None in nearly every file."""
    for at, cells in head.headings():
        for place, cell in enumerate(cells):
            if "/" not in cell or len(cell) > HEADING_CHARS_MAX:
                continue
            halves = [half.strip() for half in cell.split("/")]
            if len(halves) != 2 or {money.mark_sign(half) for half in halves} != {1, -1}:
                continue
            words = {half[0].upper(): half for half in halves}
            below = [row[place].strip().upper() for row in head.below(at)]
            filled = {text for text in below if text}
            if len(words) == 2 and filled and filled <= words.keys():
                return place, words
    return None
