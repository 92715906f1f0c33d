"""Columns of a table that has no heading, or one in words that nobody knows: found from its rows alone.

Rows begin with a date and end with figures whose right edges stand in line. What the columns of figures are is
guessed from which of them are filled, and only believed if it adds up (`Heading.is_guessed`).
"""

from collections import Counter
from collections.abc import Sequence

from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.columns import (
    EDGE_NEAR,
    Column,
    Heading,
    is_in_text,
)
from stateward.pipelines.statements.pdf.tokens import StatementLine, Token, date_at, has_decimals

ROWS_MIN = 2
SHARE_MIN = 0.08  # of the rows: an edge that fewer have is chance
COLUMNS_MAX = 4


def guess_heading(lines: Sequence[StatementLine]) -> Heading | None:
    """A heading for all lines of a file that has none; it stands above the first line that looks like a row."""
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
        Column(say.DATE, rows[0][1].x0, rows[0][1].x1, ""),
        Column(say.TEXT, text_x0, text_x0 + 1, ""),
    ]
    for role, edge in zip(_roles(rows, edges), edges, strict=True):
        columns.append(Column(role, edge - 20, edge, "", edge))
    return Heading(first.page, first.number - 1, first.number - 1, columns, is_guessed=True)


def _figures(line: StatementLine, token: Token) -> list[Token]:
    """Amounts with decimals behind the date of a line, and not within its text."""
    return [
        found
        for found in line.money
        if found.start >= token.end
        and has_decimals(found.text)
        and not is_in_text(found, line.words)
    ]


def _edges(rows: Sequence[Sequence[Token]]) -> list[float]:
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
    rows: Sequence[tuple[StatementLine, Token, list[Token]]], edges: Sequence[float]
) -> list[str]:
    """What columns of figures are, by which of them are filled together."""
    filled = [
        [any(abs(token.x1 - edge) <= EDGE_NEAR for token in figures) for edge in edges]
        for _, _, figures in rows
    ]
    if len(edges) == 1:
        return [say.AMOUNT]
    both = sum(row[-1] and row[-2] for row in filled)
    if len(edges) == 2:
        return [say.AMOUNT, say.BALANCE] if both else [say.DEBIT, say.CREDIT]
    head = [say.OTHER] * (len(edges) - 3)
    return [*head, say.DEBIT, say.CREDIT, say.BALANCE]
