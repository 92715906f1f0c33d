"""Rows whose date stands on their last line: below the amount, not beside or above it.

Balances say nothing of days. Where a row prints its date below its amount, the usual reading (a row without a date is
of the day above) gives each row the day of another one, and every sum holds. So the order of the lines decides: amounts
and dates must alternate without one that is left over, and where they fit in neither way the days are doubted.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec.structs import replace

from stateward.pipelines.kit import money
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import TableHeading
from stateward.pipelines.statements.pdf.fields import ParsedLine, has_letters
from stateward.pipelines.statements.pdf.tokens import has_decimals

PAIRS_MIN = 2  # amounts with a date below them: a single one may be followed by a note with a date
DAYS_MIN, STEPS_MIN = (
    2,
    2,
)  # rows with a date and a balance, and balances that follow from one another
PITCH_MAX = 1.9  # of the line height: how far a date is below the line before it in its row
EVEN_MAX = 1.0  # points by which two spaces between lines may differ
FEW_MAX = 0.5  # of the rows: where most have such a line, it prints a second date of the row above
# What a line is, in the pattern of a table; a day is a date alone.
ROW, AMOUNT, DATE, DAY, OTHER, END = "RADL |"
_BELOW = re.compile(r"(?:A[DL])+")
_BELOW_SEVERAL = re.compile(r"(?:A+[DL])+")
_OPEN = re.compile(r"A.*D")

Part = tuple[TableHeading, list[ParsedLine]]


def move_dates_up(parts: Sequence[Part]) -> tuple[list[list[ParsedLine]] | None, bool]:
    """The lines of similar tables with each date moved up to its amount, None if it stands there; and a doubt.

    The doubt: an amount without a date stands above a date without an amount, and other rows are of another kind.
    """
    kinds = [list(_kinds(parsed)) for _, parsed in parts]
    runs = [run for each in kinds for run in re.split(r"[R|]", "".join(each).replace(" ", ""))]
    runs = [run for run in runs if run]
    has_days = any(heading.has_day_lines for heading, _ in parts)
    is_several = not any(ROW in each for each in kinds)
    pattern = _BELOW_SEVERAL if is_several else _BELOW
    pairs = sum(kind in (DATE, DAY) for each in kinds for kind in each)
    if not has_days and _close_days(parts):
        return [_move_to_rows_above(parsed) for _, parsed in parts], False
    if has_days or pairs < PAIRS_MIN or not all(map(pattern.fullmatch, runs)):
        # Where a page begins with a date, dates stand above their amounts; another page goes on with a day.
        is_above = any(run[0] in (DATE, DAY) for run in runs)
        is_open = any(map(_OPEN.fullmatch, runs)) and not is_above
        is_open = is_open or _is_between_rows(parts, kinds)
        return None, is_open and not has_days
    return [
        _move_lines(parsed, each) for (_, parsed), each in zip(parts, kinds, strict=True)
    ], False


def _kinds(parsed: Sequence[ParsedLine]) -> Iterator[str]:
    """What each line is: a row, an amount, a date, something else; END also stands for a date far below."""
    before: list[ParsedLine | None] = [None, *parsed]
    for above, one in zip(before, parsed, strict=False):
        if one.date and one.money:
            yield ROW
        elif one.date:
            is_near = above is not None and _is_near(above, one)
            yield (DATE if one.text else DAY) if is_near else END
        elif one.has_amount:
            yield AMOUNT if has_letters(one.text) and not _is_label(one) else END
        else:
            yield OTHER


def _close_days(parts: Sequence[Part]) -> bool:
    """Whether a date stands in the last row of its day, as its balance does: the rows above it are of that day.

    No row without a date has a balance, each with a date has one, the last row is one of these, and each balance
    follows from the one before by the amounts of all rows between them, so that these are bookings.
    """
    every = (one for _, parsed in parts for one in parsed if one.has_amount)
    rows = [one for one in every if one.date or not _is_label(one)]  # a total is no row
    bare = [one for one in rows if not one.date]
    if not bare or not rows[-1].date or len(rows) - len(bare) < DAYS_MIN:
        return False
    if any(bool(one.date) != (vocab.BALANCE in one.money) for one in rows):
        return False
    return any(_is_chain(rows, decimal) for decimal in ".,")


def _is_chain(rows: Sequence[ParsedLine], decimal: str) -> bool:
    """Whether each balance follows from the one before by the amounts of the rows between, and any have no date."""
    before: Decimal | None = None
    moved, steps, has_bare = Decimal(0), 0, False
    for one in rows:
        value = _movement(one, decimal)
        if value is None:
            return False
        moved += value
        has_bare |= not one.date
        if not one.date:
            continue
        after = money.amount(one.money[vocab.BALANCE], decimal)
        if after is None or (before is not None and before + moved != after):
            return False
        steps += before is not None
        before, moved = after, Decimal(0)
    return has_bare and steps >= STEPS_MIN


def _movement(one: ParsedLine, decimal: str) -> Decimal | None:
    """What a row moves, with the sign of its column."""
    sides = [(role, text) for role, text in one.money.items() if role in vocab.AMOUNT_ROLES]
    if len(sides) != 1:
        return None
    role, text = sides[0]
    value = money.amount(text, decimal)
    return value if value is None or role != vocab.DEBIT else -abs(value)


def _move_to_rows_above(parsed: Sequence[ParsedLine]) -> list[ParsedLine]:
    """The lines of one table, each row with the date of the first one below it that has one."""
    found: list[ParsedLine] = []
    day = ""
    for one in reversed(parsed):
        day = one.date or day
        found.append(replace(one, date=day) if one.has_amount and not one.date else one)
    return found[::-1]


def _is_between_rows(parts: Sequence[Part], kinds: Sequence[Sequence[str]]) -> bool:
    """Whether a few rows have a dated line below them that is as near to the next row, of which it may be the first."""
    below = nearer = 0
    for (_, parsed), each in zip(parts, kinds, strict=True):
        for at in range(1, len(parsed)):
            if each[at] not in (DATE, DAY) or each[at - 1] != ROW:
                continue
            below += 1
            if each[at + 1 : at + 2] != [ROW]:
                continue
            before, line, after = (parsed[i].line for i in (at - 1, at, at + 1))
            is_first = each[at] == DATE and line.text.startswith(parsed[at].date)
            has_sum = any(has_decimals(token.text) for token in line.money)
            is_first = is_first and not has_sum and line.page == after.page
            nearer += is_first and after.base - line.base < line.base - before.base + EVEN_MAX
    return bool(nearer) and below < FEW_MAX * sum(each.count(ROW) for each in kinds)


def _is_near(above: ParsedLine, one: ParsedLine) -> bool:
    is_same_page = above.line.page == one.line.page
    return is_same_page and one.line.base - above.line.base <= PITCH_MAX * one.line.height


def _is_label(one: ParsedLine) -> bool:
    """Whether a line without a date is named like a balance or a total."""
    text = vocab.simplify(one.text)
    labels = (*vocab.BALANCE_LABELS.values(), *vocab.TOTAL_LABELS.values(), vocab.SUMS)
    return any(each.prefix(text) for each in labels)


def _move_lines(parsed: Sequence[ParsedLine], kinds: Sequence[str]) -> list[ParsedLine]:
    """The lines of one table with the dates moved up."""
    found = list(parsed)
    waiting: list[int] = []
    for at, kind in enumerate(kinds):
        if kind == AMOUNT:
            waiting.append(at)
        elif kind in (DATE, DAY):
            for row in waiting:
                found[row] = replace(found[row], date=found[at].date)
            found[at] = replace(found[at], date="")
            waiting = []
    return found
