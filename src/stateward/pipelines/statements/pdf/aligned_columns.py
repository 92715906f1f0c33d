"""What columns of figures mean, by arithmetic alone: a running balance follows from the amounts of its rows.

Names of columns may be unknown, torn or misleading. Figures that share an edge are a column whatever it is called, and
of all ways to call two or three columns amounts and balance hardly more than one makes a chain.
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from decimal import Decimal
from itertools import permutations

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import EDGE_NEAR, TableColumn, is_in_text
from stateward.pipelines.statements.pdf.tokens import StatementLine, WordSpan, has_decimals

COLUMNS_MAX = 6  # of figures: more are no table of bookings
FILLED_MIN = 2  # figures that share an edge
STEPS_MIN = 3  # from balance to balance: fewer fit by chance
HOLD_MIN = 0.7  # of all steps: lines between the rows may print other figures
LEFT_OUT_MIN = 0.5  # of the rows of a table that have a figure in a column: fees are rarer
ROLES_MAX = 6  # ways to call the columns that are worth a whole reading
LEFT_MORE = 1.5  # times as many figures that share a left edge as share a right one

Filled = dict[int, Decimal]  # values of a line by column


class FigureColumn(msgspec.Struct, frozen=True):
    """Where the figures of one column begin or end, and how far they reach."""

    x0: float
    x1: float
    is_left: bool  # they share their left edge

    def holds(self, token: WordSpan) -> bool:
        """Whether a figure stands exactly where those of the column do."""
        edge, own = (self.x0, token.x0) if self.is_left else (self.x1, token.x1)
        return abs(edge - own) <= EDGE_NEAR

    def called(self, role: str) -> TableColumn:
        """The column with a role."""
        if self.is_left:
            return TableColumn(role, self.x0, self.x1, "", start=self.x0)
        return TableColumn(role, self.x0, self.x1, "", edge=self.x1)


def figure_columns(lines: Sequence[StatementLine]) -> list[FigureColumn]:
    """The columns of figures of some lines, from left to right."""
    tokens = [token for line in lines for token in figures_of(line)]
    left, right = (
        Counter(round(token.x0 if is_left else token.x1) for token in tokens)
        for is_left in (True, False)
    )
    found: list[FigureColumn] = []
    while tokens and len(found) < COLUMNS_MAX:
        (x0, at_left), (x1, at_right) = _fullest(left), _fullest(right)
        is_left = at_left > LEFT_MORE * at_right
        if max(at_left, at_right) < FILLED_MIN:
            break
        column = FigureColumn(float(x0), float(x1), is_left)
        own = [token for token in tokens if column.holds(token)]
        column = msgspec.structs.replace(
            column,
            x0=min(token.x0 for token in own) if not is_left else float(x0),
            x1=max(token.x1 for token in own) if is_left else float(x1),
        )
        found.append(column)
        for token in own:
            left[round(token.x0)] -= 1
            right[round(token.x1)] -= 1
        kept = set(map(id, own))
        tokens = [token for token in tokens if id(token) not in kept]
    return sorted(found, key=lambda column: column.x1)


def _fullest(edges: Counter[int]) -> tuple[int, int]:
    """The edge that most figures share, give or take a point, and how many do."""
    return max(
        ((at, edges[at - 1] + count + edges[at + 1]) for at, count in list(edges.items()) if count),
        key=lambda each: (each[1], edges[each[0]]),
        default=(0, 0),
    )


def figures_of(line: StatementLine) -> list[WordSpan]:
    """The amounts of a line in cells of their own, without marks that hang over their edges."""
    days = {at for token in line.dates for at in range(token.start, token.end)}
    return [
        _without_mark(token, line)
        for token in line.money
        if has_decimals(token.text)
        and days.isdisjoint(range(token.start, token.end))
        and not is_in_text(token, line.words)
    ]


def _without_mark(token: WordSpan, line: StatementLine) -> WordSpan:
    words = line.words[token.start : token.end]
    figures = [word for word in words if any(map(str.isdigit, word.text))]
    return msgspec.structs.replace(token, x0=figures[0].x0, x1=figures[-1].x1)


def role_choices(
    columns: Sequence[FigureColumn], lines: Sequence[StatementLine]
) -> list[tuple[str, ...]]:
    """What the columns may be called, the likeliest first: by a chain of balances, else amounts of any of them."""
    rows = _read_values(columns, lines)
    chains = [(_steps(rows, roles), roles) for roles in _with_balance(len(columns))]
    held = [
        (holds - breaks, roles)
        for (holds, breaks), roles in chains
        if holds >= STEPS_MIN and holds >= HOLD_MIN * (holds + breaks)
    ]
    held.sort(key=lambda each: each[0], reverse=True)
    ranked = [roles for _, roles in held] or [*_without_balance(len(columns))]
    balances = {roles.index(vocab.BALANCE) for _, roles in held}
    return [roles for roles in ranked if not _leaves_out(rows, roles, balances)][:ROLES_MAX]


def _leaves_out(rows: Sequence[Filled], roles: Sequence[str], balances: Set[int]) -> bool:
    """Whether most rows have a figure of which nothing says what it is: prices of shares, the interest of a loan.

    The bookings may be those, and what makes a chain the number of shares. Balances in another column are known.
    """
    amounts = {at for at, role in enumerate(roles) if role in vocab.AMOUNT_ROLES}
    booked = [row for row in rows if not amounts.isdisjoint(row)]
    return any(
        role == vocab.OTHER
        and at not in balances
        and sum(at in row for row in booked) >= LEFT_OUT_MIN * len(booked)
        for at, role in enumerate(roles)
    )


def _read_values(columns: Sequence[FigureColumn], lines: Sequence[StatementLine]) -> list[Filled]:
    found = [figures_of(line) for line in lines]
    decimal = money.vote_decimal([token.text for tokens in found for token in tokens]).decimal
    rows: list[Filled] = []
    for tokens in found:
        row: Filled = {}
        for token in tokens:
            at = next((at for at, column in enumerate(columns) if column.holds(token)), None)
            value = money.amount(token.text, decimal)
            if at is not None and value is not None:
                row.setdefault(at, value)
        if row:
            rows.append(row)
    return rows


def _with_balance(count: int) -> Iterator[tuple[str, ...]]:
    """Every way to call one column balances, and one or two others amounts."""
    for amount, balance in permutations(range(count), 2):
        yield _roles_at(count, {amount: vocab.AMOUNT, balance: vocab.BALANCE})
    for debit, credit, balance in permutations(range(count), 3):
        yield _roles_at(count, {debit: vocab.DEBIT, credit: vocab.CREDIT, balance: vocab.BALANCE})


def _without_balance(count: int) -> Iterator[tuple[str, ...]]:
    """Every way to call one or two columns amounts: only an opening and a closing balance can tell."""
    for at in reversed(range(count)):
        yield _roles_at(count, {at: vocab.AMOUNT})
    for debit, credit in permutations(range(count), 2):
        yield _roles_at(count, {debit: vocab.DEBIT, credit: vocab.CREDIT})


def _roles_at(count: int, roles: dict[int, str]) -> tuple[str, ...]:
    return tuple(roles.get(at, vocab.OTHER) for at in range(count))


def _steps(rows: Sequence[Filled], roles: Sequence[str]) -> tuple[int, int]:
    """How many steps from balance to balance hold, and how many break, in the better direction."""
    at = {role: number for number, role in enumerate(roles)}
    return max(
        (_steps_in(order, at) for order in (rows, rows[::-1])),
        key=lambda found: found[0] - found[1],
    )


def _steps_in(rows: Sequence[Filled], at: dict[str, int]) -> tuple[int, int]:
    holds = breaks = 0
    last: Decimal | None = None
    moved: list[Decimal] = []
    for row in rows:
        own = [
            -abs(row[at[role]]) if role == vocab.DEBIT else row[at[role]]
            for role in (vocab.DEBIT, vocab.CREDIT, vocab.AMOUNT)
            if role in at and at[role] in row
        ]
        moved += own
        balance = row.get(at[vocab.BALANCE])
        if balance is None:
            continue
        if last is not None and moved:
            step, total = balance - last, sum(moved, Decimal(0))
            does_hold = step == total if vocab.AMOUNT not in at else abs(step) == abs(total)
            holds += does_hold
            breaks += not does_hold
        last, moved = balance, []
    return holds, breaks
