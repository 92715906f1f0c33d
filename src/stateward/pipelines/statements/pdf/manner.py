"""How the rows of a table are set: where their amount stands, and whether text stands above their date."""

from collections.abc import Iterable, Sequence

import msgspec

from stateward.pipelines.statements.pdf.fields import Parsed, is_words

CLOSER = 0.74  # text belongs to the row below if it is so much closer to it
EVEN_MAX = 1.5  # points: how uneven centred rows may be
FEW_ROWS_MAX = 2
LEAD_MAX = 1.9  # of the height of a line: how far above its date a row may begin


class Manner(msgspec.Struct, frozen=True):
    """How the rows of tables that are alike are set."""

    is_amount_last: bool  # the amount stands on the last line of a row
    lead: float  # how far the first line of a row stands above its date; 0: not at all


def manner_of(parsed: Sequence[Parsed]) -> Manner:
    """The manner of all lines of tables that are alike."""
    return Manner(is_amount_last(parsed), leading_gap(parsed))


def is_amount_last(parsed: Iterable[Parsed]) -> bool:
    """Whether rows print their amount on their last line: text after a whole row then begins another."""
    starts = loose = 0
    is_waiting = is_loose = False
    for one in parsed:
        if one.date:
            loose += is_loose
            is_waiting, is_loose = not one.has_move and bool(one.text), False
        elif one.has_move:
            starts += is_waiting
            is_waiting = is_loose = False
        elif one.text and not is_waiting:
            is_loose = True
    return starts > loose


def leading_gap(parsed: Sequence[Parsed]) -> float:
    """How far below the first line of a row its date stands, where rows are centred; 0 where they are not.

    Centred rows have as much text below their date as above it. At the top of a page such text may as well go on
    the row before, so it counts only where nothing else does.
    """
    sure: list[float] = []
    unsure: list[float] = []
    against = 0
    for at in range(len(parsed) - 1):
        one, after = parsed[at], parsed[at + 1]
        below = after.line.base - one.line.base
        if not (is_words(one) and after.date and after.has_move):
            continue
        if not 0 < below <= LEAD_MAX * one.line.height:
            continue
        last = parsed[at - 1].line if at else None
        is_first = last is None or last.page != one.line.page
        if last is not None and not is_first and below >= CLOSER * (one.line.base - last.base):
            continue  # it stands as close to the row above
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
