"""Columns of debits and credits that no name tells apart, with the balances printed in them, too.

Where both balances stand in one of two such columns, each of them is a debt if that column is debits. So with the two
columns called the other way round the statement adds up as well, with every sign turned: no sum can tell.
"""

from collections.abc import Iterable, Sequence

from stateward.pipelines.statements.direction import count_votes, evidence_of
from stateward.pipelines.statements.interpret import UnreadableText, signed_amount
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.choose import TriedReading
from stateward.pipelines.statements.pdf.columns import TableColumn
from stateward.pipelines.statements.pdf.rows import SIGNED, PrintedFact
from stateward.pipelines.statements.pdf.tables import PdfTable
from stateward.pipelines.statements.pdf.tokens import StatementLine

SIDES = frozenset({vocab.DEBIT, vocab.CREDIT})


def mirrored_doubt(
    tried: TriedReading, tables: Iterable[PdfTable], lines: Iterable[StatementLine]
) -> str:
    """Why debits may be credits although the section adds up, or ""."""
    has_sides = any(SIDES & entry.money.keys() for entry in tried.drafts)
    if not tried.is_sound or not has_sides or any(row.balance for row in tried.rows):
        return ""
    columns = [
        column
        for table in tables
        if table.heading.is_inferred
        for column in table.heading.columns
        if column.role in SIDES
    ]
    ends = [end for end in (tried.opening, tried.closing) if end and _is_more_than_zero(end)]
    at = {(line.page, line.number): line for line in lines}
    is_mirrored = all(
        line is not None and _is_in_side(end, line, columns)
        for end in ends
        for line in [at.get((end.page, end.line))]
    )
    if not columns or not is_mirrored or _do_words_agree(tried):
        return ""
    return (
        "no name tells debits from credits, and the balances stand in the same columns: with all signs turned the"
        " statement adds up as well"
    )


def _is_more_than_zero(fact: PrintedFact) -> bool:
    return any(digit in fact.value for digit in "123456789")


def _is_in_side(fact: PrintedFact, line: StatementLine, columns: Sequence[TableColumn]) -> bool:
    """Whether a balance stands in a column of one side, with no sign of its own and no word for a debt."""
    value = _figures(fact.value)
    return not vocab.OWING.find(vocab.simplify(line.text)) and any(
        _figures(token.text) == value
        and not SIGNED.search(token.text)
        and any(token.x0 < column.x1 and column.x0 < token.x1 for column in columns)
        for token in line.money
    )


def _figures(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _do_words_agree(tried: TriedReading) -> bool:
    """Whether the texts of rows say on which side they are, and none says the opposite."""
    try:
        signed = [signed_amount(row, tried.terms) for row in tried.rows]
    except UnreadableText:
        return False
    votes = count_votes(
        [
            (evidence_of([row.description]), amount > 0)
            for row, amount in zip(tried.rows, signed, strict=True)
        ]
    )
    return votes.strong_agree > 0 and not votes.strong_against
