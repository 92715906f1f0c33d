"""How a test was done, printed in brackets below its name: `(Hexokinase)` below `GLUCOSE, FASTING`.

Brackets may also hold the rest of a name, which the column was too narrow for: `(ALT / SGPT)`. A method says so by its
words where it would have fitted behind the name, or stands where nearly every row of the table has brackets.
"""

from collections.abc import Sequence

from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.words import names_technique, says_method

ROWS_MIN = 3  # with brackets below their names, before those are a habit of the laboratory
SHARE_MIN = 0.5  # of the rows of a table
BLANK = 0.3  # of the height


class BracketsBelow:
    """The brackets below the names of one table."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """`rows` are all lines of the table, each by itself."""
        named = [row for row in rows if row.name and row.values]
        bracketed = [row for row in rows if _is_alone(row)]
        self._edge = max((_end_of_name(row) for row in named), default=0.0)
        self._is_habit = len(bracketed) >= max(ROWS_MIN, SHARE_MIN * len(named))
        self._is_only = len(named) == 1  # nothing shows how wide its column is

    def is_method(self, above: Row, row: Row) -> bool:
        """Whether a line below a row tells its method."""
        if not _is_alone(row):
            return False
        first = row.words[0]
        blank = BLANK * (first.bottom - first.top)
        is_fitting = _end_of_name(above) + blank + first.x1 - first.x0 <= self._edge
        is_told = names_technique(row.name)  # however wide the column is
        return (
            self._is_habit or is_told or ((is_fitting or self._is_only) and says_method(row.name))
        )


def is_bracketed(text: str) -> bool:
    """Whether brackets stand around the whole of a text, which may hold others."""
    return (text[:1], text[-1:]) in (("(", ")"), ("[", "]"))


def _is_alone(row: Row) -> bool:
    """Whether a line is nothing but brackets, and no name stands in them."""
    return (
        not row.values
        and is_bracketed(row.name)
        and len(row.name.split()) == len(row.words)
        and not is_name(row.name[1:-1])
    )


def _end_of_name(row: Row) -> float:
    size = len(row.name.split())
    return max((word.x1 for word in row.words[:size]), default=0.0)
