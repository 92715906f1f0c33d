"""Days in a column of dates that are printed in pieces or as one word, written as dates.

The pieces are two numbers, four digits, or several lines.

Pieces count only in a column of dates and only where every one of them gives a day; elsewhere they are numbers.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from stateward.pipelines.kit import dates
from stateward.pipelines.kit.pdf.lines import CELL_GAP
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import TableColumn, TableHeading
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals, is_date

TWO_DIGITS = re.compile(r"[0-9]{2}", re.ASCII)
FOUR_DIGITS = re.compile(r"[0-9]{4}", re.ASCII)
TWO_DAYS = re.compile(r"([0-9]+[.-][0-9.-]+)/([0-9]+[.-][0-9.-]+)", re.ASCII)
DAY = re.compile(r"[0-9]{1,2}\.?", re.ASCII)
JOINED_MIN = 2  # rows with two numbers in the place of a date
SAME_PLACE = 4.0  # points between the edges of a piece and of its column
STACKED_HEIGHTS_MAX = 6.0  # of the line height: from the day to the year below it


def join_pieces(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Write the days below a heading that are printed in pieces as dates."""
    _part_days(heading, lines)
    _join_days(heading, lines)
    _spell_out_days(heading, lines)
    _join_stacked_days(heading, lines)


def _part_days(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Write two days that are printed as one word in a column of dates as two: `28.02./27.02.`."""
    places = _date_columns(heading)
    for line in lines:
        for at, word in enumerate(line.words):
            found = TWO_DAYS.fullmatch(word.text)
            if found is None or not any(_is_below(word, column) for column in places):
                continue
            if all(map(is_date, found.groups())):
                edge = word.x0 + (word.x1 - word.x0) * len(found[1]) / len(word.text)
                gap = 2 * CELL_GAP * (word.bottom - word.top)  # each is a cell of its own
                line.words[at : at + 1] = [
                    replace(word, text=found[1], x1=max(edge - gap, word.x0)),
                    replace(word, text=found[2], x0=edge),
                ]
                line.forget_words()
                break


def _join_days(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Write days that are printed as two numbers in a column of dates as dates: `02 01` is `02/01`."""
    places = _date_columns(heading)
    found = [
        (line, at)
        for line in lines
        for at in range(len(line.words) - 1)
        if len(line.words[at].text) == 2
        and TWO_DIGITS.fullmatch(line.words[at].text)
        and TWO_DIGITS.fullmatch(line.words[at + 1].text)
        and any(abs(line.words[at].x0 - column.x0) < SAME_PLACE for column in places)
    ]
    texts = [f"{line.words[at].text}/{line.words[at + 1].text}" for line, at in found]
    if len(texts) < JOINED_MIN or not all(map(is_date, texts)):
        return
    # From the right: each moves the words behind it.
    for (line, at), text in reversed(list(zip(found, texts, strict=True))):
        line.words[at : at + 2] = [replace(line.words[at], text=text, x1=line.words[at + 1].x1)]
        line.forget_words()


def _spell_out_days(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Write days that are printed as four digits in a column of dates as dates: `0609` is `06/09`."""
    places = _date_columns(heading)
    found = [
        (line, at)
        for line in lines
        for at, word in enumerate(line.words)
        if len(word.text) == 4
        and FOUR_DIGITS.fullmatch(word.text)
        and any(_is_below(word, column) for column in places)
    ]
    texts = [line.words[at].text for line, at in found]
    is_day = bool(texts) and all(is_date(f"{text[:2]}/{text[2:]}") for text in texts)
    if not is_day or all(text[:2] in ("19", "20") for text in texts):
        return  # they are years, or numbers
    for line, at in found:
        word = line.words[at]
        line.words[at] = replace(word, text=f"{word.text[:2]}/{word.text[2:]}")
        line.forget_words()


def _join_stacked_days(heading: TableHeading, lines: Sequence[StatementLine]) -> None:
    """Write days whose parts stand below one another into the line of their amount: `16` over `Feb.` over `2026`.

    Every day number alone in the column must have its month and its year below it.
    """
    for column in _date_columns(heading):
        pieces = [
            (at, word)
            for at, line in enumerate(lines)
            for word in line.words
            if abs(word.x0 - column.x0) < SAME_PLACE
        ]
        heads = [n for n, (_, word) in enumerate(pieces) if DAY.fullmatch(word.text)]
        stacks = [pieces[n : n + 3] for n in heads]
        if len(heads) < JOINED_MIN or not all(_is_stack(lines, stack) for stack in stacks):
            continue
        for stack in stacks:
            _put_together(lines, stack)


def _is_stack(lines: Sequence[StatementLine], stack: Sequence[tuple[int, PdfWord]]) -> bool:
    """Whether three pieces are a day, its month and its year, each below the other."""
    if len(stack) < 3:
        return False
    (first, _), (_, month), (last, year) = stack
    top, end = lines[first], lines[last]
    is_near = top.page == end.page and 0 < end.base - top.base <= STACKED_HEIGHTS_MAX * top.height
    is_year = FOUR_DIGITS.fullmatch(year.text) is not None
    is_month = dates.fold(month.text.strip(".")) in dates.MONTHS
    return is_near and is_year and is_month and is_date(_text(stack))


def _put_together(lines: Sequence[StatementLine], stack: Sequence[tuple[int, PdfWord]]) -> None:
    first, last = stack[0][0], stack[-1][0]
    sums = [
        at
        for at in range(first, last + 1)
        if any(has_decimals(token.text) for token in lines[at].money)
    ]
    kept = sums[0] if sums else first
    head = replace(stack[0][1], text=_text(stack), x1=max(word.x1 for _, word in stack))
    for at, word in stack:
        lines[at].words[:] = [each for each in lines[at].words if each is not word]
    lines[kept].words.insert(0, head)
    for at in range(first, last + 1):
        lines[at].words.sort(key=lambda word: word.x0)
        lines[at].forget_words()


def _text(stack: Sequence[tuple[int, PdfWord]]) -> str:
    return " ".join(word.text for _, word in stack)


def _date_columns(heading: TableHeading) -> list[TableColumn]:
    return [column for column in heading.columns if column.role in vocab.DATE_ROLES]


def _is_below(word: PdfWord, column: TableColumn) -> bool:
    return abs(word.x0 - column.x0) < SAME_PLACE or abs(word.x1 - column.x1) < SAME_PLACE
