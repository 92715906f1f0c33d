"""Letters that were written as UTF-8 and read as Latin-1 before the file was made: `MÃ¼ller` is Müller."""

import re
from collections.abc import Callable, Iterable, Iterator

from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements.table_cells import TableHead

_RUN = re.compile(r"[^\x00-\x7f]+")
# What the bytes of such letters begin with, read as Latin-1: others may be two letters that stand side by side.
_LEADS = "ÂÃÄÅâÎÏÐÑ"
_LETTERS = re.compile(r"[\u00a0-\u017f\u0370-\u04ff\u2010-\u2122]+")


def start_with_mended_letters(
    start: Callable[[], Iterator[Record]], head: TableHead
) -> Callable[[], Iterator[Record]] | None:
    """The same records with the letters that were meant; None where the first of them have no such letters."""
    if not any(_mended_run(run) for run in _runs(head)):
        return None

    def records() -> Iterator[Record]:
        for line, cells in start():
            yield line, [cell if cell.isascii() else mended_text(cell) for cell in cells]

    return records


def has_other_letters(head: TableHead) -> bool:
    """Whether letters beyond ASCII stand there, too, that were read rightly: then what was meant is not certain."""
    return any(not _mended_run(run) for run in _runs(head))


def mended_text(text: str) -> str:
    """A text with the letters that were meant."""
    return _RUN.sub(lambda found: _mended_run(found[0]) or found[0], text)


def _runs(head: TableHead) -> Iterator[str]:
    cells: Iterable[str] = (cell for row in head.rows for cell in row if not cell.isascii())
    return (run for cell in cells for run in _RUN.findall(cell))


def _mended_run(run: str) -> str:
    """The letters that a run of letters beyond ASCII was made of; "" if it was not."""
    if len(run) < 2 or run[0] not in _LEADS:
        return ""
    try:
        found = b"".join(map(_byte_of, run)).decode("utf-8")
    except UnicodeError:
        return ""
    return found if _LETTERS.fullmatch(found) else ""


def _byte_of(letter: str) -> bytes:
    """The byte that Windows or Latin-1 shows as a letter."""
    try:
        return letter.encode("cp1252")
    except UnicodeEncodeError:
        return letter.encode("latin-1")
