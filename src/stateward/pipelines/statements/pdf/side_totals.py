"""Lines with the totals of both columns: where one of them is what the rows add up to, so must be the other."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from stateward.pipelines.kit import money
from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.model import RowPlace, StatementProblem
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.choose import TriedReading
from stateward.pipelines.statements.pdf.rows import SideTotals
from stateward.pipelines.statements.pdf.titles import direction_of
from stateward.pipelines.statements.pdf.tokens import StatementLine

SUMMANDS_MIN = 2  # rows of a side: a total of one row may be anything of its size
Place = tuple[int, int]


def contradicted_totals(
    tried: TriedReading, printed: Iterable[SideTotals]
) -> Iterator[StatementProblem]:
    """The first total that the rows above, or some of them, do not add up to, beside one that they do."""
    moved = _amounts(tried)
    ends = _ends(tried)
    above: Place = (0, 0)
    for one in printed:
        place = (one.page, one.line)
        values = [money.amount(text, tried.terms.decimal) for text in (one.debit, one.credit)]
        if None in values:
            continue
        wanted = [abs(value) for value in values if value is not None]
        spans = [
            [value for where, value in moved if start <= where < place]
            for start in ((0, 0), (one.page, 0), above)
        ]
        above = place
        if _fits([value for _, value in moved], wanted, ends) == [True, True]:
            return  # the total of all rows: what stands below it is one of something else, such as of the year
        if any(_fits(span, wanted, ends) == [True, True] for span in spans):
            continue
        for span in spans:
            fits = _fits(span, wanted, ends)
            side = fits.index(True) if True in fits else -1
            if side < 0 or len([v for v in span if (v > 0) == bool(side)]) < SUMMANDS_MIN:
                continue
            other = 1 - side
            found = abs(_sides(span)[other])
            message = (
                f"the printed total of {('debits', 'credits')[other]} is {wanted[other]:f}, and the rows above add"
                f" up to {found:f}, although they add up to the total beside it"
            )
            yield StatementProblem(
                code="NOT_RECONCILED", message=message, place=RowPlace(*place), raw=one.debit
            )
            return


def are_sides_named(tried: TriedReading, lines: Iterable[StatementLine]) -> bool:
    """Whether sums that the pages call those of one side each are those of both sides of the rows, as they are read."""
    values = [value for _, value in _amounts(tried)]
    sums = dict(zip((vocab.DEBIT, vocab.CREDIT), map(abs, _sides(values)), strict=True))
    open_sides = {role for role, value in sums.items() if value}
    for line in lines:
        for label, cell in pairwise(cells_of(line)):
            role = direction_of(label.text) or vocab.heading_role(label.text)
            value = money.amount(cell.text, tried.terms.decimal) if role in open_sides else None
            if value and abs(value) == sums[role]:
                open_sides.discard(role)
    return len(values) > SUMMANDS_MIN and not open_sides


def _amounts(tried: TriedReading) -> list[tuple[Place, Decimal]]:
    found = []
    for entry, row in zip(tried.drafts, tried.rows, strict=True):
        try:
            found.append(((entry.page, entry.line), interpret.signed_amount(row, tried.terms)))
        except interpret.UnreadableText:
            return []
    return found


def _ends(tried: TriedReading) -> list[Decimal]:
    """The sizes of both balances, which some banks add to a side."""
    texts = (end.value for end in (tried.opening, tried.closing) if end is not None)
    read = (money.amount(text, tried.terms.decimal) for text in texts)
    return [abs(value) for value in read if value]


def _sides(span: Sequence[Decimal]) -> list[Decimal]:
    return [sum((v for v in span if (v > 0) == is_in), Decimal(0)) for is_in in (False, True)]


def _fits(
    span: Sequence[Decimal], wanted: Sequence[Decimal], ends: Sequence[Decimal]
) -> list[bool]:
    """Whether each side of some rows is what is printed; with a balance added to it or not."""
    return [
        any(abs(side) + end == value for end in (Decimal(0), *ends))
        for side, value in zip(_sides(span), wanted, strict=True)
    ]
