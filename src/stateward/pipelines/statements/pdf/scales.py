"""What a page says of its amounts as a whole: that they are in thousands or in millions, or stand in two columns."""

from collections.abc import Iterable, Iterator

from stateward.pipelines.statements.model import RowPlace, StatementProblem
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import rival_amounts
from stateward.pipelines.statements.pdf.tables import PdfTable
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals
from stateward.pipelines.statements.scales import IN_THOUSANDS, IN_THOUSANDS_OF_LINE

WORDS_MAX = 10  # more are a sentence about something
RAW_CHARS_MAX = 200


def scale_problem(
    tables: Iterable[PdfTable], head: Iterable[StatementLine]
) -> Iterator[StatementProblem]:
    """The first name of a column of amounts, or line above the tables, that tells a scale: amounts stay as printed."""
    names = (
        (column.text, RowPlace(table.heading.page), IN_THOUSANDS.search(column.text))
        for table in tables
        for column in table.heading.columns
        if column.role in vocab.MONEY_ROLES
    )
    titles = (
        (line.text, RowPlace(line.page, line.number), IN_THOUSANDS_OF_LINE.search(line.text))
        for line in head
        if len(line.words) <= WORDS_MAX and not any(has_decimals(t.text) for t in line.money)
    )
    for text, place, is_scale in (*names, *titles):
        if is_scale:
            message = f"{text!r} says that amounts are thousands or millions; they were taken as they are printed"
            yield StatementProblem(
                code="UNIT_UNPROVEN", message=message, place=place, raw=text[:RAW_CHARS_MAX]
            )
            return


def rival_amounts_problem(tables: Iterable[PdfTable]) -> Iterator[StatementProblem]:
    """Two columns of amounts that differ, where no balance tells which one is that of the account."""
    for table in tables:
        if rivals := rival_amounts(table.heading, table.lines):
            own, other = rivals
            message = f"{own!r} and {other!r} differ, and nothing proves which has the amounts; the first was taken"
            place = RowPlace(table.heading.page)
            yield StatementProblem(code="AMOUNT_UNPROVEN", message=message, place=place)
            return
