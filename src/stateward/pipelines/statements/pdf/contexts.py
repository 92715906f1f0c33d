"""The lines right above and below a table: its title, and what it says of account and direction."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.statements.headings import whole_fact
from stateward.pipelines.statements.pdf import facts as printed
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.completeness import is_sum_line
from stateward.pipelines.statements.pdf.tables import PdfTable
from stateward.pipelines.statements.pdf.titles import direction_of, title_text
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals
from stateward.pipelines.statements.row_totals import TOTALS

NOTES_MAX = 1  # lines between a title and its table that explain it
TITLE_REACH = 6.0  # points: how far left of its first column a title may begin
# The ends of words: Kreditkarte.
CARD_WORDS = (
    "card",
    "carte",
    "karte",
    "tarjeta",
    "carta",
    "cartao",
    "kaart",
    "kort",
    "karta",
    "kortti",
    "kartya",
    "karti",
)


def below_closing(context: Sequence[StatementLine]) -> Sequence[StatementLine]:
    """The lines of a context below the closing balance and the totals of the section before, no part of the next."""
    titles = [_text_behind_day(line) for line in context]
    opens = [
        at for at, text in enumerate(titles) if vocab.BALANCE_LABELS[vocab.OPENING].prefix(text)
    ]
    above = titles[: opens[0]] if opens else titles
    ends = [
        at
        for at, text in enumerate(above)
        if vocab.BALANCE_LABELS[vocab.CLOSING].prefix(text)
        or (context[at].money and whole_fact(text) in TOTALS)
    ]
    return context[ends[-1] + 1 :] if ends else context


def _text_behind_day(line: StatementLine) -> str:
    """The text of a line as a title, without the day that it may begin with: `31 OCT  Ending balance`."""
    day = line.date_at(0)
    return title_text(" ".join(word.text for word in line.words[day.end if day else 0 :]))


def is_pending(table: PdfTable, context: Sequence[StatementLine]) -> bool:
    """Whether the line right above a table is a title of bookings that are still to come."""
    own = on_page(context, table)
    return bool(own) and vocab.PENDING.matches(title_text(own[-1].text))


def is_dayless(table: PdfTable, tables: Sequence[PdfTable]) -> bool:
    """Whether no line of a table has a day, and all tables that have some have other names of columns."""

    def has_days(other: PdfTable) -> bool:
        return any(one.date for _, parsed in other.parts for one in parsed)

    if has_days(table):
        return False
    names = {column.text for column in table.heading.columns}
    dated = [
        {column.text for column in other.heading.columns} for other in tables if has_days(other)
    ]
    return bool(dated) and all(names.isdisjoint(each) for each in dated)


def on_page(context: Sequence[StatementLine], table: PdfTable) -> Sequence[StatementLine]:
    """The lines of a context on the page of the table; all, if none is: a title does not end a page."""
    own = [line for line in context if line.page == table.heading.page]
    return own or context


def title_of_unbooked(table: PdfTable, context: Sequence[StatementLine]) -> str:
    """The title right above a table that lists something else than bookings; "" without one.

    Further up than a line that explains it, a line must be such a title as a whole, or be of what is still to come:
    "Interest Paid Year-to-Date" in a summary is no title of the tables below it.
    """
    for number, title in enumerate(_titles_above(on_page(context, table))):
        is_title = vocab.NOT_BOOKED.matches(title) or vocab.PENDING.find(title)
        if is_title or (number <= NOTES_MAX and vocab.NOT_BOOKED.find(title)):
            return title
    return ""


def _titles_above(context: Sequence[StatementLine]) -> Iterator[str]:
    """The texts right above a table, nearest first, as far as they may be its titles.

    They end with the line that names its account, with a title that says which way its amounts go, and below any other
    line that has an amount.
    """
    for number, line in enumerate(reversed(context)):
        if is_sum_line(line):
            continue
        has_sum = any(has_decimals(token.text) for token in line.money)
        if has_sum and number:
            return
        title = title_text(line.text)
        yield title
        if has_sum or direction_of(title) or printed.account_of([line]):
            return


def direction_above(context: Sequence[StatementLine]) -> str:
    """DEBIT or CREDIT by the nearest line above a table that says so, alone or with its first cell."""
    for line in reversed(context):
        first = title_text(cells_of(line)[0].text)
        known = (role for role, titles in vocab.TITLES.items() if titles.matches(first))
        if side := direction_of(line.text) or next(known, ""):
            return side
    return ""


def sides_of_parts(table: PdfTable, context: Sequence[StatementLine]) -> list[str]:
    """The direction that the title right above each of several parts gives; "" without one."""
    starts = [part.columns[0].x0 for part, _ in table.parts]
    if len(starts) < 2:
        return [""]
    found: list[str] = []
    for left, right in pairwise([*starts, float("inf")]):
        titles = [
            " ".join(w.text for w in line.words if left - TITLE_REACH <= w.x0 < right - TITLE_REACH)
            for line in reversed(context)
        ]
        found.append(direction_of(*titles))
    return found


def names_card(account: str, lines: Sequence[StatementLine]) -> bool:
    """Whether a line that names an account by its masked number calls it a card: other accounts are masked, too."""
    return any(
        printed.account_of([line]) == account
        and any(word.endswith(CARD_WORDS) for word in vocab.simplify(line.text).split())
        for line in lines
    )


def lists_checks(table: PdfTable) -> bool:
    """Whether a table has numbers of checks, dates and amounts and no texts: such checks were paid."""
    first = vocab.simplify(table.heading.columns[0].text)
    is_check = table.heading.columns[0].role == vocab.CHECK or first.startswith(("check", "cheque"))
    return is_check and not table.heading.has({vocab.TEXT, vocab.PARTY, vocab.BALANCE})


def below_rows(lines: Sequence[StatementLine]) -> list[StatementLine]:
    """The lines below the last one with an amount: the title of the next table."""
    last = max((at for at, line in enumerate(lines) if line.money), default=-1)
    return list(lines[last + 1 :])


def is_summary_beside(table: PdfTable, other: PdfTable) -> bool:
    """Whether a table sums up what another one lists: it has both balances and no other day, and the other has days.

    Where days stand beside its balances, the other one must print both, too: bookings below a day may have none.
    """
    if not other.heading.has(vocab.DATE_ROLES):
        return False
    facts = printed.facts_of(table.lines, 0)
    ends = {fact.value: fact for fact in facts if fact.kind in (vocab.OPENING, vocab.CLOSING)}
    places = {(fact.page, fact.line) for fact in ends.values()}
    rows = [one for _, lines in table.parts for one in lines if one.has_amount and one.line.dates]
    if any((one.line.page, one.line.number) not in places for one in rows):
        return False
    if {fact.kind for fact in ends.values()} != {vocab.OPENING, vocab.CLOSING}:
        return False
    if not rows and not table.heading.has(vocab.DATE_ROLES):
        return True
    told = {fact.value for fact in printed.facts_of(other.lines, 0)}
    return ends.keys() <= told and other.heading.has({vocab.BALANCE})
