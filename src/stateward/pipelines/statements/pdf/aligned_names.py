"""Names of columns that stand too close together to be told apart, parted where the cells of the rows below begin."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stateward.pipelines.kit.pdf.lines import PdfCell, cells_of
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals

ROWS_MIN = 2  # that show where cells begin
ROWS_ASKED_MAX = 12
LINES_BELOW_MAX = 40
START_NEAR = (
    9.0  # points between the start of a name and that of the cells below it: both may be centred
)
SHARE_MIN = 0.6  # of the rows have a cell that begins there


def aligned_names(names: list[PdfCell], lines: Sequence[StatementLine], at: int) -> list[PdfCell]:
    """The cells of a line that may be a part of a heading, of which the unknown ones are parted by the rows below."""
    unknown = [cell for cell in names if " " in cell.text and not vocab.heading_role(cell.text)]
    if not unknown or not any(map(_is_of_money, names)):
        return names
    starts = _starts(lines[at + 1 : at + 1 + LINES_BELOW_MAX])
    return [
        part
        for cell in names
        for part in (_split_cell(cell, lines[at], starts) if cell in unknown else [cell])
    ]


def _is_of_money(cell: PdfCell) -> bool:
    return vocab.heading_role(cell.text) in vocab.MONEY_ROLES and vocab.is_exact_heading(cell.text)


def _starts(below: Sequence[StatementLine]) -> list[float]:
    """Where most rows begin a cell."""
    rows: list[list[PdfCell]] = []
    for line in below:
        is_row = line.date_at(0) is not None and any(has_decimals(t.text) for t in line.money)
        if is_row and len(rows) < ROWS_ASKED_MAX:
            rows.append(cells_of(line))
    if len(rows) < ROWS_MIN:
        return []
    counts = Counter(round(cell.x0) for cells in rows for cell in cells)
    return [
        float(start)
        for start, count in counts.items()
        if count + counts[start - 1] + counts[start + 1] >= SHARE_MIN * len(rows)
    ]


def _split_cell(cell: PdfCell, line: StatementLine, starts: Sequence[float]) -> Iterator[PdfCell]:
    """A cell cut where words begin above cells of rows; as it is, unless that makes most parts known names."""
    words = [word for word in line.words if cell.x0 - 0.1 <= word.x0 <= cell.x1]
    inside = [start for start in starts if words[0].x1 < start <= words[-1].x0 + START_NEAR]
    nearest = (min(range(len(words)), key=lambda at: abs(words[at].x0 - each)) for each in inside)
    cuts = sorted(
        {
            at
            for at, each in zip(nearest, inside, strict=True)
            if at and abs(words[at].x0 - each) <= START_NEAR
        }
    )
    parts = [
        PdfCell(" ".join(w.text for w in words[a:b]), words[a].x0, words[b - 1].x1)
        for a, b in pairwise([0, *cuts, len(words)])
    ]
    known = sum(bool(vocab.heading_role(part.text)) for part in parts)
    yield from parts if 2 * known > len(parts) else [cell]
