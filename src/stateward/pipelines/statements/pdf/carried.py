"""Whether the rows below a balance that is carried to them lead to the next balance that is printed."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from stateward.pipelines.kit import dates
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.model import RowPlace, StatementProblem
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.choose import TriedReading
from stateward.pipelines.statements.pdf.rows import DATED, PrintedFact
from stateward.pipelines.statements.pdf.sign_readings import SectionDraft
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals

DAY_PARTS = (2, 3)
Place = tuple[int, int]
_BALANCES = (vocab.OPENING, vocab.CLOSING, vocab.CARRIED, DATED)


def carried_problem(
    draft: SectionDraft, tried: TriedReading, lines: Iterable[StatementLine]
) -> Iterator[StatementProblem]:
    """The first balance to which the rows do not lead from one that is carried to them; `lines` are those of tables.

    Where both ends are printed, the sum of all rows tells it.
    """
    if tried.opening is not None and tried.closing is not None:
        return
    moved = _amounts_by_place(tried)
    if moved is None:
        return
    start: Decimal | None = None
    at: Place = (0, 0)
    for fact in _balances(draft, lines):
        place, value = (fact.page, fact.line), _value(fact.value, tried)
        between = [amount for where, amount in moved.items() if at < where < place]
        total = sum(between, Decimal(0))
        if value is None or (start is not None and not between):
            continue
        is_sum = abs(value) in _sums_above(moved, place)
        # Some banks print the newest row first.
        is_led = start is None or value in (start + total, start - total)
        if start is not None and not is_led and not is_sum:
            message = f"the rows lead from {start:f}, which is carried to them, to {start + total:f}, not to {value:f}"
            yield StatementProblem(
                code="NOT_RECONCILED", message=message, place=RowPlace(*place), raw=fact.value
            )
            return
        start = value if vocab.is_carrying(fact.kind, fact.label) and not is_sum else None
        at = place


def _amounts_by_place(tried: TriedReading) -> dict[Place, Decimal] | None:
    """The amounts of rows by their places; None where one cannot be read, or rows stand side by side."""
    moved: dict[Place, Decimal] = {}
    for entry, row in zip(tried.drafts, tried.rows, strict=True):
        try:
            moved[entry.page, entry.line] = interpret.signed_amount(row, tried.terms)
        except interpret.UnreadableText:
            return None
    return moved if len(moved) == len(tried.rows) else None


def _sums_above(moved: Mapping[Place, Decimal], place: Place) -> set[Decimal]:
    """The sums of what came, of what went and of both above a place, and on its page: they are carried, too."""
    found: set[Decimal] = set()
    for first in (0, place[0]):
        above = [value for where, value in moved.items() if (first, 0) < where < place]
        sides = ([v for v in above if v < 0], [v for v in above if v > 0], above)
        found |= {abs(sum(side, Decimal(0))) for side in sides if side}
    return found


def _balances(draft: SectionDraft, lines: Iterable[StatementLine]) -> list[PrintedFact]:
    """The balances that have a place among the lines, in their order; those of a day without a year are in tables."""
    found = {
        (fact.page, fact.line): fact
        for fact in draft.facts
        if fact.kind in _BALANCES and fact.line > 0
    }
    rows = {at for entry in draft.rows for at in entry.lines}
    for line in lines:
        place = (line.page, line.number)
        if place not in rows and place not in found and (value := _of_day(line)):
            found[place] = PrintedFact(DATED, value, "", *place, "", 0)
    return [found[place] for place in sorted(found)]


def _of_day(line: StatementLine) -> str:
    """The amount of a line such as `Balance on 31 March  190.00`."""
    sums = [token for token in line.money if has_decimals(token.text)]
    if not sums or sums[-1].end != len(line.words):
        return ""
    text = vocab.simplify(" ".join(word.text for word in line.words[: sums[-1].start]))
    phrase = vocab.DATED_BALANCES.prefix(text)
    day = text.removeprefix(phrase).split()
    is_day = len(day) in DAY_PARTS and all(
        word.isdigit() or dates.fold(word) in dates.MONTHS for word in day
    )
    return sums[-1].text if phrase and is_day else ""


def _value(text: str, tried: TriedReading) -> Decimal | None:
    try:
        return interpret.balance(text, tried.terms)
    except interpret.UnreadableText:
        return None
