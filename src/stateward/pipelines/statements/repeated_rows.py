"""Rows that repeat what the file has already: a part of it that is in it twice.

Equal rows of one day are common, and stand side by side. Rows of several days, one after another, that are all there
already are a part that was pasted or printed again: where days follow one another, nothing else looks so.
"""

ROWS_MIN = 3  # that are repeated one after another, over at least two days


class RepeatedBlock:
    """Counts the rows of such parts while the rows of a file pass."""

    def __init__(self) -> None:
        self._rows = 0  # of the part that goes on
        self._day = ""
        self._has_days = False
        self.rows = 0  # of all parts
        self.until = ""

    def add(self, day: str) -> None:
        """Add a row that is in the file already."""
        self._has_days |= bool(self._rows) and day != self._day
        self._rows += 1
        self._day = day

    def end(self) -> None:
        """End a part: a row is there for the first time, or the file ends."""
        if self._rows >= ROWS_MIN and self._has_days:
            self.until = self.until or self._day
            self.rows += self._rows
        self._rows, self._has_days = 0, False
