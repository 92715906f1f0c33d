"""The columns of a table by their role, and how cells become a row. `columns` finds the roles."""

from collections.abc import Callable, Sequence

import msgspec

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import ROLES, headings
from stateward.pipelines.statements.model import RowPlace, StatementRow

NONE = -1
COUNT_DIGITS_MAX = 5
MONEY = frozenset({"amount", "debit", "credit", "balance"})
Cells = Sequence[str]


NOTHING = "-"  # what some banks print into an empty cell


class ColumnLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The index of the column of each role; -1 is none. Cells have one empty cell appended, which -1 reads."""

    width: int
    body_at: int
    headings: tuple[str, ...]
    is_headed: bool
    date: int = NONE
    value_date: int = NONE
    description: int = NONE
    amount: int = NONE
    debit: int = NONE
    credit: int = NONE
    mark: int = NONE
    balance: int = NONE
    currency: int = NONE
    reference: int = NONE
    counterparty: int = NONE
    account: int = NONE
    status: int = NONE
    other_date: int = NONE
    fee: int = NONE
    before: int = NONE  # the balance before a row, which is no running balance
    category: int = NONE
    texts: tuple[int, ...] = ()  # further columns of the description, in order
    kinds: tuple[int, ...] = ()  # other columns of words, used where the description is empty
    parties: tuple[int, ...] = ()  # payer and payee, one of which is the holder of the account
    holder: str = ""
    summary: tuple[str, ...] = ()  # balances before and after all rows, told by a row above them
    decisions: tuple[str, ...] = ()

    @property
    def dates(self) -> tuple[int, ...]:
        """The columns that vote on the date order."""
        return tuple(i for i in (self.date, self.value_date) if i >= 0)

    @property
    def amounts(self) -> tuple[int, ...]:
        """The columns that vote on the decimal sign."""
        return tuple(i for i in (self.amount, self.debit, self.credit, self.balance) if i >= 0)

    def maker(self) -> Callable[[int, list[str]], StatementRow]:
        """A function from cells to a row, made once for each table because it runs for every row."""
        date, value, text, amount, debit, credit = (
            self.date, self.value_date, self.description, self.amount, self.debit, self.credit,
        )  # fmt: skip
        mark, balance, currency, reference, party, account = (
            self.mark, self.balance, self.currency, self.reference, self.counterparty, self.account,
        )  # fmt: skip
        category = self.category
        taken = {*(getattr(self, role) for role in ROLES), *self.texts, *self.parties}
        texts, kinds, parties, holder = self.texts, self.kinds, self.parties, self.holder
        others = tuple(
            ("status" if i == self.status else self._own_name(i), i)
            for i in range(len(self.headings))
            if i not in taken
        )

        def make(line: int, cells: list[str]) -> StatementRow:
            said = join_texts(cells, text, texts) if texts else cells[text]
            if said == NOTHING:
                said = ""
            other = other_party(cells, parties, holder) if parties else cells[party]
            return StatementRow(
                place=RowPlace(line=line),
                date=cells[date],
                value_date=cells[value],
                description=said or ("" if other else join_texts(cells, NONE, kinds)),
                amount=cells[amount],
                debit=cells[debit],
                credit=cells[credit],
                mark=cells[mark],
                balance=cells[balance],
                currency=cells[currency],
                reference=cells[reference],
                counterparty=other,
                account=cells[account],
                category=cells[category],
                more={name: cells[i] for name, i in others if cells[i]}
                | ({} if not parties else unused_parties(cells, other)),
            )

        def unused_parties(cells: Cells, other: str) -> dict[str, str]:
            named = ((self.headings[i], cells[i].strip()) for i in parties)
            return {name: text for name, text in named if text and text not in (other, holder)}

        return make

    def _own_name(self, index: int) -> str:
        """The heading of a column, or its number where it has none or one that another column has, too."""
        name = self.headings[index]
        is_first = name not in self.headings[:index]
        return name if name and is_first else f"{name} column {index + 1}".strip()

    def is_heading(self, cells: Cells) -> bool:
        """Whether a row repeats the heading."""
        return self.is_headed and [c.strip() for c in cells[: self.width]] == [
            h.strip() for h in self.headings
        ]

    def is_other_heading(self, cells: Cells) -> bool:
        """Whether a row names columns of days and amounts, and an amount where the heading names something else."""
        if not self.is_headed or any(map(money.is_amount, cells)):
            return False
        roles = [headings.role_of(cell.strip()) for cell in cells[: self.width]]
        known = [headings.role_of(name.strip()) for name in self.headings]
        is_heading = any(role.startswith("date") for role in roles) and not MONEY.isdisjoint(roles)
        return is_heading and any(
            role != own and role in MONEY for role, own in zip(roles, known, strict=False)
        )

    def fit(self, cells: list[str]) -> tuple[list[str], str] | None:
        """A row of another width with a note, if only empty cells at its end are missing or extra; else None."""
        if len(cells) == self.width:
            return cells, ""
        if len(cells) > self.width:
            extra = cells[self.width :]
            if not any(cell.strip() for cell in extra):
                return cells[: self.width], ""
            return self._with_long_text(cells)
        last = max(
            i for i in (self.date, self.amount, self.debit, self.credit, self.mark) if i >= 0
        )
        if len(cells) <= last:
            return None
        note = f"{self.width - len(cells)} cells at the end of the row are missing"
        return [*cells, *[""] * (self.width - len(cells))], note

    def _with_long_text(self, cells: list[str]) -> tuple[list[str], str] | None:
        """A row whose last text holds the delimiter, if all before it is in its place; else None."""
        last = self.width - 1
        days, sums = {self.date, *self.dates}, {i for i in self.amounts if cells[i].strip()}
        if last in days | {*self.amounts, self.mark, self.currency, self.status}:
            return None
        is_placed = all(dates.is_date(cells[i]) for i in days if i >= 0)
        is_placed = is_placed and all(money.is_amount(cells[i]) for i in sums)
        if not is_placed or not sums or any(map(money.is_amount, cells[last:])):
            return None
        note = f"the last {len(cells) - last} cells are one text, which holds the delimiter"
        return [*cells[:last], ", ".join(map(str.strip, cells[last:]))], note

    def is_description_only(self, cells: Cells) -> bool:
        """Whether a row only continues a description."""
        filled = [i for i, cell in enumerate(cells) if cell.strip()]
        return filled == [self.description]

    def looks_like_data(self, cells: Cells) -> bool:
        """Whether a row of the wrong width contains a date or an amount, and not only numbers of lines and counts."""
        texts = [text for cell in cells if (text := cell.strip())]
        if any(map(dates.is_date, texts)):
            return True
        # A row that lost its end has kept its date, or its amount in the column of amounts; what ends a file tells how
        # many rows it has.
        is_placed = any(cells[i].strip().isdigit() for i in self.amounts if i < len(cells))
        is_short = 2 * len(texts) <= self.width and not is_placed
        if is_short and all(len(t) <= COUNT_DIGITS_MAX for t in texts if t.isdigit()):
            texts = [text for text in texts if not text.isdigit()]
        is_numbered = len(texts) <= 2 and texts and texts[0].isdigit() and len(texts[0]) <= 2
        return any(map(money.is_amount, texts[bool(is_numbered) :]))


def join_texts(cells: Cells, first: int, others: Sequence[int]) -> str:
    """The texts of several columns as one, each only once."""
    found = cells[first].strip()
    for index in others:
        text = cells[index].strip()
        if text and text not in found:
            found = f"{found} {text}" if found else text
    return found


def other_party(cells: Cells, parties: Sequence[int], holder: str) -> str:
    """Of payer and payee, the one that does not hold the account."""
    named = [cells[index].strip() for index in parties]
    return next((name for name in named if name not in ("", NOTHING, holder)), "")
