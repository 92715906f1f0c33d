"""Rows whose cells are centred on the line of their amount: their text stands above that line and below it.

Banks that print web pages centre every cell of a row, so that a text of four lines begins one and a half lines above
the amount. Such lines belong to the row whose middle they share, not to the row above them.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from msgspec.structs import replace

from stateward.pipelines.statements.pdf.columns import TableHeading
from stateward.pipelines.statements.pdf.fields import (
    TEXT_REACH,
    ParsedLine,
    dates_end,
    text_start,
)

EVEN_MAX = 1.5  # points: how much the lines above and below the middle of a row may differ
UNEVEN_MAX = 0.2  # of the rows with several lines: those that a page cuts
WIDER = 1.0  # points: how much wider the space between two rows is than any within them
PITCH_MAX = 1.9  # of the line height: how far the lines of one row are from each other

ABOVE_MIN = 3  # rows whose text stands above them: fewer may have a title above the first

Block = list[ParsedLine]


def join_centred(
    tables: Sequence[tuple[TableHeading, Sequence[ParsedLine]]],
) -> list[list[ParsedLine]] | None:
    """The lines of similar tables with one line for each row, if their rows are centred; None if they are not."""
    cut = [list(_blocks(heading, parsed)) for heading, parsed in tables]
    tall = [block for blocks in cut for block in blocks if len(block) > 1]
    even = sum(map(_is_even, tall))
    if not even or len(tall) - even > UNEVEN_MAX * len(tall):
        return None
    return [[_join_lines(block) for block in blocks] for blocks in cut]


def join_texts_above(
    tables: Sequence[tuple[TableHeading, Sequence[ParsedLine]]],
) -> list[list[ParsedLine]] | None:
    """The lines of similar tables with one line for each row, if the text of each stands above it; None if not.

    So it is where every row has lines of text right above it, the first one too, and none stands below the last one.
    """
    cut: list[list[Block]] = []
    for heading, parsed in tables:
        blocks: list[Block] = []
        for _, run in groupby(_number_runs(heading, parsed), key=lambda each: each[0]):
            found = _ended_by_middles([one for _, one in run])
            if found is None:
                return None
            blocks += found
        cut.append(blocks)
    tall = [block for blocks in cut for block in blocks if len(block) > 1]
    starts = [block[0].x_text for block in tall]
    if len(tall) < ABOVE_MIN or max(starts) - min(starts) > EVEN_MAX:
        return None
    return [[_join_lines(block) for block in blocks] for blocks in cut]


def may_texts_be_below(tables: Sequence[tuple[TableHeading, Sequence[ParsedLine]]]) -> bool:
    """Whether texts that seem to stand above their rows may stand below them: then the first one is a title.

    So it may be where that is the first line of the only table, and no space between rows is wider than within them.
    """
    filled = [parsed for _, parsed in tables if any(map(_is_middle, parsed))]
    if len(filled) != 1 or _is_middle(filled[0][0]) or filled[0][0].money:
        return False
    middles = [at for at, one in enumerate(filled[0]) if _is_middle(one)]
    bases = [one.line.base for one in filled[0]]
    apart = [bases[at + 1] - bases[at] for at in middles[:-1]]
    inside = [bases[at] - bases[at - 1] for at in middles]
    return min(apart, default=0.0) <= max(inside) + EVEN_MAX


def _ended_by_middles(lines: Block) -> list[Block] | None:
    """The lines of a run cut behind each line of a row; None if a row has no text right above it, or one below it."""
    middles = [at for at, one in enumerate(lines) if _is_middle(one)]
    if not middles:
        return [[one] for one in lines]
    if middles[-1] != len(lines) - 1:
        return None
    blocks = [lines[start + 1 : end + 1] for start, end in pairwise([-1, *middles])]
    for before, block in zip([None, *blocks], blocks, strict=False):
        inside = [other.line.base - one.line.base for one, other in pairwise(block)]
        if not inside or not all(map(_is_near, block, block[1:])) or not block[0].text:
            return None
        if before is not None:
            apart = block[0].line.base - before[-1].line.base
            if apart < max(inside) - EVEN_MAX:
                return None  # its first line stands closer to the row above
    return blocks


def _is_middle(one: ParsedLine) -> bool:
    """Whether a line has what stands once in a row, in its middle."""
    return bool(one.date) and one.has_amount


def _is_loose(heading: TableHeading, one: ParsedLine) -> bool:
    """Whether a line has no figures of its own, and its text stands below the name of a column of texts."""
    start = min(text_start(heading) - TEXT_REACH, dates_end(heading))
    return not one.money and (not one.text or one.x_text >= start)


def _blocks(heading: TableHeading, parsed: Sequence[ParsedLine]) -> Iterator[Block]:
    """The lines of each row together; every other line by itself."""
    for _, run in groupby(_number_runs(heading, parsed), key=lambda each: each[0]):
        lines = [one for _, one in run]
        middles = [at for at, one in enumerate(lines) if _is_middle(one)]
        if not middles:
            yield from ([one] for one in lines)
            continue
        cuts = [_widest(lines, one, other) for one, other in pairwise(middles)]
        first = _mirrored_start(lines, middles[0], cuts[0] if cuts else None)
        last = _mirrored_end(lines, middles[-1], cuts[-1] if cuts else first)
        yield from ([one] for one in lines[:first])
        edges = [first, *cuts, last]
        yield from (lines[start:end] for start, end in pairwise(edges))
        yield from ([one] for one in lines[last:])


def _number_runs(
    heading: TableHeading, parsed: Sequence[ParsedLine]
) -> Iterator[tuple[int, ParsedLine]]:
    """Lines with the number of their run: a page, or a line that is no part of a row, ends one."""
    number, last = 0, (0, False)
    for one in parsed:
        this = (one.line.page, _is_middle(one) or _is_loose(heading, one))
        number += this != last or not this[1]
        last = this
        yield number, one


def _widest(lines: Block, one: int, other: int) -> int:
    """Where the row of the second middle begins: behind the widest space, or right at it if none is the widest."""
    spaces = sorted(
        (lines[at].line.base - lines[at - 1].line.base, at) for at in range(one + 1, other + 1)
    )
    is_clear = len(spaces) < 2 or spaces[-1][0] > spaces[-2][0] + WIDER
    return spaces[-1][1] if is_clear else other


def _mirrored_start(lines: Block, middle: int, end: int | None) -> int:
    """Where the first row of a run begins: as far above its middle as it goes on below it, if that is known."""
    start = middle
    base = lines[middle].line.base
    reach = None if end is None else lines[end - 1].line.base - base
    while start and _is_near(lines[start - 1], lines[start]):
        if reach is not None and base - lines[start - 1].line.base > reach + EVEN_MAX:
            break
        start -= 1
    return start


def _mirrored_end(lines: Block, middle: int, start: int) -> int:
    """Where the last row of a run ends: as far below its middle as it begins above it."""
    base = lines[middle].line.base
    reach = base - lines[start].line.base
    end = middle + 1
    while end < len(lines) and lines[end].line.base - base <= reach + EVEN_MAX:
        end += 1
    return end


def _is_near(one: ParsedLine, after: ParsedLine) -> bool:
    return after.line.base - one.line.base <= PITCH_MAX * one.line.height


def _is_even(block: Block) -> bool:
    """Whether a row of several lines begins as far above its middle as it ends below it."""
    bases = [one.line.base for one in block]
    middle = next((one.line.base for one in block if _is_middle(one)), None)
    if middle is None or not bases[0] < middle < bases[-1]:
        return False
    return abs((middle - bases[0]) - (bases[-1] - middle)) < EVEN_MAX


def _join_lines(block: Block) -> ParsedLine:
    """One line of all that a row has, from top to bottom."""
    middle = next((one for one in block if _is_middle(one)), block[0])
    others = [one for one in block if one is not middle]
    if not others:
        return middle
    days = [day for one in others for day in (one.date, one.value_date) if day]
    titles = {title: None for one in block for title in one.more}
    return replace(
        middle,
        value_date=middle.value_date or next(iter(days), ""),
        more={
            title: " ".join(filter(None, (o.more.get(title) for o in block))) for title in titles
        },
        text="\n".join(one.text for one in block if one.text),
        party=" ".join(one.party for one in block if one.party),
        reference=" ".join(one.reference for one in block if one.reference),
        mark=next((one.mark for one in block if one.mark), ""),
        currency=next((one.currency for one in block if one.currency), ""),
        kind=next((one.kind for one in block if one.kind), ""),
        year=next((one.year for one in block if one.year), ""),
        x_text=min(one.x_text for one in block if one.text) if any(o.text for o in block) else 0.0,
        parts=[one.line for one in others],
    )
