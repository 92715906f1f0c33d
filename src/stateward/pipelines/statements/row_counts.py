"""How many bookings a file says that it has: `Number of transactions: 4`, in a line that is none of them."""

import re
from collections.abc import Sequence

from stateward.pipelines.statements.headings import simplify

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
