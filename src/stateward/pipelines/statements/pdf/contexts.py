"""The lines right above and below a table: its title, and what it says of account and direction."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from stateward.pipelines.statements.pdf import facts as printed
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.tables import PdfTable
from stateward.pipelines.statements.pdf.titles import direction_of, title_text
from stateward.pipelines.statements.pdf.tokens import StatementLine

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
    """The lines of a context below the closing balance of the section before, which is not part of the next."""
    titles = [title_text(line.text) for line in context]
    opens = [
        at for at, text in enumerate(titles) if vocab.BALANCE_LABELS[vocab.OPENING].prefix(text)
    ]
    above = titles[: opens[0]] if opens else titles
    ends = [at for at, text in enumerate(above) if vocab.BALANCE_LABELS[vocab.CLOSING].prefix(text)]
    return context[ends[-1] + 1 :] if ends else context


def is_pending(table: PdfTable, context: Sequence[StatementLine]) -> bool:
    """Whether the line right above a table is a title of bookings that are still to come."""
    own = on_page(context, table)
    return bool(own) and vocab.PENDING.matches(title_text(own[-1].text))


def on_page(context: Sequence[StatementLine], table: PdfTable) -> Sequence[StatementLine]:
    """The lines of a context on the page of the table; all, if none is: a title does not end a page."""
    own = [line for line in context if line.page == table.heading.page]
    return own or context


def below_account(context: Sequence[StatementLine]) -> Iterator[StatementLine]:
    """The lines right above a table, nearest first, up to the one that names its account."""
    for line in reversed(context):
        yield line
        if printed.account_of([line]):
            return


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
