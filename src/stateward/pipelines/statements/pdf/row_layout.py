"""How the rows of a table are laid out: on which line the amount is, and whether text is above the date."""

from collections.abc import Iterable, Sequence

import msgspec

from stateward.pipelines.statements.pdf.fields import ParsedLine, is_words

CLOSER = 0.74  # of the distance to the row above: text that close to the row below belongs to it
EVEN_MAX = 1.5  # points: how much the lines above and below a centred date may differ
FEW_ROWS_MAX = 2
LEAD_MAX = 1.9  # of the line height: how far above its date a row may start


class RowLayout(msgspec.Struct, frozen=True):
    """The layout that the rows of similar tables share."""

    is_amount_last: bool  # the amount is on the last line of a row
    lead: float  # points from the first line of a row down to its date; 0: it starts with its date


def row_layout_of(parsed: Sequence[ParsedLine]) -> RowLayout:
    """The layout of the rows of similar tables, from all their lines."""
    return RowLayout(is_amount_last(parsed), leading_gap(parsed))


def is_amount_last(parsed: Iterable[ParsedLine]) -> bool:
    """Whether rows print their amount on their last line: text after a complete row then starts another."""
    starts = loose = 0
    is_waiting = is_loose = False
    for one in parsed:
        if one.date:
            loose += is_loose
            is_waiting, is_loose = not one.has_amount and bool(one.text), False
        elif one.has_amount:
            starts += is_waiting
            is_waiting = is_loose = False
        elif one.text and not is_waiting:
            is_loose = True
    return starts > loose


def leading_gap(parsed: Sequence[ParsedLine]) -> float:
    """The distance from the first line of a row to its date, where rows are centred; 0 where they are not.

    Centred rows have as much text below their date as above it. At the top of a page such text may as well continue
    the row before, so there it counts only if there is no other evidence.
    """
    sure: list[float] = []
    unsure: list[float] = []
    against = 0
    for at in range(len(parsed) - 1):
        one, after = parsed[at], parsed[at + 1]
        below = after.line.base - one.line.base
        if not (is_words(one) and after.date and after.has_amount):
            continue
        if not 0 < below <= LEAD_MAX * one.line.height:
            continue
        last = parsed[at - 1].line if at else None
        is_first = last is None or last.page != one.line.page
        if last is not None and not is_first and below >= CLOSER * (one.line.base - last.base):
            continue  # it is as close to the row above
        rest = parsed[at + 2] if at + 2 < len(parsed) else None
        is_even = (
            rest is not None
            and is_words(rest)
            and abs(rest.line.base - after.line.base - below) < EVEN_MAX
        )
        if is_even:
            (unsure if is_first else sure).append(below)
        elif not is_first:
            against += 1
    if len(sure) > against:
        return max(sure)
    is_short = sum(bool(one.date) for one in parsed) <= FEW_ROWS_MAX
    return max(unsure, default=0.0) if is_short and not against else 0.0
