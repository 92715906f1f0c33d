"""How the rows of a table are laid out: on which line the amount is."""

from collections.abc import Iterable

from stateward.pipelines.statements.pdf.fields import ParsedLine


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
