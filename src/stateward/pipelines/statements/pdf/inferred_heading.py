"""The columns of a table without a known heading, inferred from its rows alone.

Rows start with a date and end with amounts whose right edges are aligned. The roles of the amount columns are inferred
from which of them are filled together, and accepted only if the statement adds up (`TableHeading.is_inferred`).
"""

from collections import Counter
from collections.abc import Sequence

from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import (
    EDGE_NEAR,
    TableColumn,
    TableHeading,
    is_in_text,
)
from stateward.pipelines.statements.pdf.tokens import StatementLine, WordSpan, date_at, has_decimals

ROWS_MIN = 2
SHARE_MIN = 0.08  # of the rows: fewer share an edge by chance
COLUMNS_MAX = 4


def infer_heading(lines: Sequence[StatementLine]) -> TableHeading | None:
    """A heading for a file that has none, placed above the first line that looks like a row."""
    rows = [
        (line, token, _figures(line, token)) for line in lines if (token := date_at(line.words, 0))
    ]
    rows = [row for row in rows if row[2]]
    if len(rows) < ROWS_MIN:
        return None
    edges = _edges([figures for _, _, figures in rows])
    if not edges:
        return None
    first = rows[0][0]
    start = Counter(
        round(line.words[token.end].x0) for line, token, _ in rows if token.end < len(line.words)
    )
    text_x0 = float(start.most_common(1)[0][0]) if start else edges[0] - 100
    columns = [
        TableColumn(vocab.DATE, rows[0][1].x0, rows[0][1].x1, ""),
        TableColumn(vocab.TEXT, text_x0, text_x0 + 1, ""),
    ]
    for role, edge in zip(_roles(rows, edges), edges, strict=True):
        columns.append(TableColumn(role, edge - 20, edge, "", edge))
    return TableHeading(first.page, first.number - 1, first.number - 1, columns, is_inferred=True)


def _figures(line: StatementLine, token: WordSpan) -> list[WordSpan]:
    """Amounts with decimals behind the date of a line, outside of its text."""
    return [
        found
        for found in line.money
        if found.start >= token.end
        and has_decimals(found.text)
        and not is_in_text(found, line.words)
    ]


def _edges(rows: Sequence[Sequence[WordSpan]]) -> list[float]:
    """Right edges that many rows share, from left to right."""
    count: Counter[int] = Counter(round(token.x1) for figures in rows for token in figures)
    edges: list[float] = []
    for edge, times in count.most_common():
        near = times + count[edge - 1] + count[edge + 1]
        is_new = all(abs(edge - other) > 2 * EDGE_NEAR for other in edges)
        if is_new and near >= max(1, SHARE_MIN * len(rows)):
            edges.append(float(edge))
    return sorted(edges[:COLUMNS_MAX])


def _roles(
    rows: Sequence[tuple[StatementLine, WordSpan, list[WordSpan]]], edges: Sequence[float]
) -> list[str]:
    """The roles of amount columns, by which of them are filled together."""
    filled = [
        [any(abs(token.x1 - edge) <= EDGE_NEAR for token in figures) for edge in edges]
        for _, _, figures in rows
    ]
    if len(edges) == 1:
        return [vocab.AMOUNT]
    both = sum(row[-1] and row[-2] for row in filled)
    if len(edges) == 2:
        return [vocab.AMOUNT, vocab.BALANCE] if both else [vocab.DEBIT, vocab.CREDIT]
    head = [vocab.OTHER] * (len(edges) - 3)
    return [*head, vocab.DEBIT, vocab.CREDIT, vocab.BALANCE]
