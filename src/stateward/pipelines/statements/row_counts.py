"""How many bookings a file says that it has: `Number of transactions: 4`, in a line that is none of them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stateward.pipelines.statements.headings import simplify
from stateward.pipelines.statements.model import StatementRow

DIGITS_MAX = 6
_NUMBER = re.compile(r"[0-9]{1,6}", re.ASCII)
_LEADING = re.compile(r"([0-9]{1,6}) (.+)", re.ASCII)
_ROWS = frozenset(
    "transactions bookings postings entries records rows umsatze buchungen buchungsposten transaktionen "
    "operations ecritures mouvements movimientos operaciones transacciones movimenti operazioni "
    "transazioni movimentos lancamentos transacoes transacties mutaties boekingen transaktioner "
    "posteringer bevegelser transaksjoner transakcji operacji tapahtumat tapahtumia transakci transakce "
    "pohybu islem islemler operatiuni tranzactii transaksi tetelek operaciju".split()
)
_COUNTS = frozenset(
    "number no nr num count total anzahl gesamtzahl zahl nombre numero n aantal antal antall liczba ilosc "
    "pocet lkm sayisi jumlah quantidade qtd numar szama darabszam of de des der die d di del delle das do "
    "the listed exported".split()
)


def told_count(cells: Sequence[str]) -> int | None:
    """The number of bookings that a line tells, if it tells nothing else."""
    texts = [text for cell in cells if (text := cell.strip())]
    if not 0 < len(texts) <= 2:
        return None
    label, colon, value = texts[0].partition(":")
    if colon and value.strip():
        texts = [label, value.strip(), *texts[1:]]
    if len(texts) == 1 and (found := _LEADING.fullmatch(simplify(texts[0]))):
        texts = [found[2], found[1]]
    if len(texts) != 2 or not _NUMBER.fullmatch(texts[1]):
        return None
    words = set(simplify(label if colon else texts[0]).split())
    return int(texts[1]) if words & _ROWS and words <= _ROWS | _COUNTS else None


class RowCounts:
    """How many rows were read, in all and between the lines that tell a number of them, which grow meanwhile."""

    def __init__(self, told: Sequence[tuple[int, int]]) -> None:
        self._told = told
        self.all = self._booked = 0
        self._above: list[int] = []  # rows above each of the lines

    def add(self, row: StatementRow) -> None:
        while self._waiting() and self._told[len(self._above)][0] < row.place.line:
            self._above.append(self.all)
        self.all += 1
        self._booked += not row.note.startswith("not booked")

    def contradicted(self) -> Iterator[tuple[int, int]]:
        """The lines, and what they tell, that fit neither all rows nor those of an account or a day beside the line."""
        self._above += [self.all] * self._waiting()
        ends = sorted({0, *self._above, self.all})
        for (line, told), above in zip(self._told, self._above, strict=True):
            at = ends.index(above)
            beside = {end - start for start, end in pairwise(ends[max(at - 1, 0) : at + 2])}
            if told not in {self.all, self._booked, *beside}:
                yield line, told

    def _waiting(self) -> int:
        return len(self._told) - len(self._above)
