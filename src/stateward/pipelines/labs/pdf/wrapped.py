"""Rows whose cells take several lines, and are set in the middle or at the foot of each other.

    Thyroid Stimulating                     |                    Male: 13.0 - 17.0
                          2.44   uIU/mL     |  Hemoglobin  14.1
    Hormone                                 |                    Female: 12.0 - 15.0

Lines of one row stand closer together than rows do, so the widest distance that leaves one value in each group of
lines parts the rows. Where rows have no more distance than lines, the middle of a name tells which value it is of.
That a name goes on in the next line is believed only where its next word would not have fitted behind the last one:
this parts it from the title of a section.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import cells, is_result, split_value
from stateward.pipelines.labs.pdf.layout import Layout
from stateward.pipelines.labs.pdf.line import VALUE_ROLES
from stateward.pipelines.labs.pdf.methods import is_bracketed
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.words import SECTIONS, fold, says_method

Seen = tuple[PdfLine, list[PdfWord]]

STEP_MIN = 1.15  # between the distance of lines and that of rows
WITHIN_MAX = 1.4  # of the height: lines of one cell are not farther apart
MIDDLE_OFF = 1.0  # points
BLANK = 0.2  # of the height
SAME_PLACE = 2.0  # points
SPILL = 1.0  # points: a name reaches so much beyond its column
SMALL_PRINT = 0.88  # of the height of a row
BRACKETS_MIN = 3  # methods in brackets, before every line of brackets is one
FEET_MIN = 2  # names with their value beside the last line
MIDDLES_MIN = 2  # names over several lines, where rows stand no farther apart than lines
LINES_MAX = 12  # of one row


class _Line(msgspec.Struct):
    """One line by columns."""

    line: PdfLine
    columns: dict[int, list[PdfWord]]
    has_value: bool
    has_name: bool
    is_measured: bool  # a number with its unit or range

    @property
    def base(self) -> float:
        return self.line.base


Group = list[_Line]


def join_rows(layout: Layout, seen: Sequence[Seen]) -> list[Seen]:
    """The lines of a table, those of one row as one, where its value does not stand in the first."""
    lines = [_by_columns(layout, line, words) for line, words in seen]
    if all(each.has_value and each.has_name for each in lines):
        return list(seen)
    name_at = _name_at(layout)
    end = _end_of_rows(lines)
    lines, below = lines[:end], lines[end:]
    edge = max((words[-1].x1 for each in lines if (words := each.columns.get(name_at))), default=0)
    brackets = [each for each in lines if _is_bare_bracket(each)]
    is_habit = len(brackets) >= max(BRACKETS_MIN, sum(each.has_value for each in lines) / 2)

    def fits(first: _Line, second: _Line) -> bool:
        is_method = is_habit and _is_bare_bracket(second)
        return is_method or _fits(first.columns[name_at], second.columns[name_at], edge)

    def is_wrapped(group: Group) -> bool:
        return _is_wrapped(group, fits, edge) and _is_one_name(group, name_at)

    readings = [
        joined
        for groups in (_by_distance(lines), _by_middle(lines, is_wrapped))
        if groups
        and (joined := [*_join([*groups, *([each] for each in below)], is_wrapped, name_at)])
    ]
    # The one that leaves fewest lines without a value.
    return min(readings, key=len, default=list(seen))


def _end_of_rows(lines: Group) -> int:
    """Where the rows of a table end, with the lines that may belong to the last one: below may stand who signed."""
    end = max((at for at, each in enumerate(lines) if each.is_measured), default=-1) + 1
    while 0 < end < len(lines) and not lines[end].has_value:
        last = lines[end - 1].line
        if lines[end].base - last.base > WITHIN_MAX * last.height:
            break
        end += 1
    return end


def _join(
    groups: Sequence[Group], is_wrapped: Callable[[Group], bool], name_at: int
) -> Iterator[Seen]:
    wrapped = [group for group in groups if is_wrapped(group)]
    titled = [group for group in wrapped if _is_titled(group, name_at)]
    at_foot = sum(group[-1].has_value and group[-1].has_name for group in wrapped)
    # Where values stand at the foot of several names that could not have a title, they do so of all.
    if at_foot - len(titled) >= FEET_MIN:
        titled = [group for group in titled if _is_capital(group, name_at)]
    kept = {id(group) for group in wrapped} - {id(group) for group in titled}
    for group in groups:
        if id(group) in kept:
            yield _join_lines(group)
        else:
            yield from ((each.line, _words(each)) for each in group)


def _by_columns(layout: Layout, line: PdfLine, words: Sequence[PdfWord]) -> _Line:
    columns: dict[int, list[PdfWord]] = {}
    name_at = _name_at(layout)
    for cell in cells(words):
        places = [layout.column_at(word) for word in cell]
        others = [word.text for word, at in zip(cell, places, strict=True) if at != name_at]
        # A name that is wider than its heading reaches over the border, and has no number there.
        is_name_cell = places[0] == name_at and not any(map(_is_number, others))
        for word, at in zip(cell, places, strict=True):
            columns.setdefault(name_at if is_name_cell else at, []).append(word)
    roles = {layout.columns[at].role for at in columns}
    values = [
        " ".join(word.text for word in found)
        for at, found in columns.items()
        if layout.columns[at].role in (*VALUE_ROLES, "date")
    ]
    has_number = any(is_result(split_value(text).value) for text in values)
    is_measured = has_number and any(
        (role == "unit" and is_known_unit(text))
        or (role == "range" and any(map(str.isdigit, text)))
        for at, found in columns.items()
        for role, text in ((layout.columns[at].role, " ".join(word.text for word in found)),)
    )
    return _Line(line, columns, bool(values), "test" in roles, is_measured)


def _is_bare_bracket(each: _Line) -> bool:
    """Whether a line is a method in brackets and nothing else."""
    return not each.has_value and is_bracketed(each.line.text) and says_method(each.line.text)


def _is_number(text: str) -> bool:
    return is_result(split_value(text).value)


def _name_at(layout: Layout) -> int:
    return next(at for at, each in enumerate(layout.columns) if each.role == "test")


def _fits(first: Sequence[PdfWord], second: Sequence[PdfWord], edge: float) -> bool:
    """Whether the first word of a line would have fitted behind the line above, in a column of names up to an edge."""
    last, word = first[-1], second[0]
    return last.x1 + BLANK * (last.bottom - last.top) + word.x1 - word.x0 <= edge - SPILL


def _by_distance(lines: Group) -> list[Group]:
    """Groups of lines with one value each at most, parted by the widest distance that does so; maybe none."""
    distances = sorted(
        {
            round(second.base - first.base, 1)
            for first, second in pairwise(lines)
            if second.line.page == first.line.page
        }
    )
    for below, above in reversed([*pairwise(distances)]):
        if below <= 0 or above < STEP_MIN * below or below > WITHIN_MAX * lines[0].line.height:
            continue
        groups = [*_part_lines(lines, (below + above) / 2)]
        if all(_is_row(group) for group in groups):
            return groups
    return []


def _is_row(group: Group) -> bool:
    """Whether lines may be one row, or are rows of one line each."""
    values = sum(each.has_value for each in group)
    return values <= 1 or all(each.has_value and each.has_name for each in group)


def _part_lines(lines: Group, distance: float) -> Iterator[Group]:
    group: list[_Line] = []
    for each in lines:
        is_far = group and (
            each.base - group[-1].base > distance or each.line.page != group[-1].line.page
        )
        if is_far:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _by_middle(lines: Group, is_wrapped: Callable[[Group], bool]) -> list[Group]:
    """Groups of lines around each value, in whose middle it stands; none if no two rows have several lines."""
    start, groups, wrapped = 0, list[Group](), 0
    for number, line in enumerate(lines):
        if not line.has_value:
            continue
        # Titles of sections stand between rows.
        found = next(
            (
                (begin, end)
                for begin in range(start, number + 1)
                for end in _ends(lines, begin, number)
                if _is_middle(lines[begin : end + 1], line)
                and (begin == end or is_wrapped(lines[begin : end + 1]))
            ),
            (number, number),
        )
        groups += [[each] for each in lines[start : found[0]]]
        group = lines[found[0] : found[1] + 1]
        wrapped += sum(each.has_name for each in group) > 1
        groups.append(group)
        start = found[1] + 1
    groups += [[each] for each in lines[start:]]
    return groups if wrapped >= MIDDLES_MIN else []


def _ends(lines: Group, begin: int, number: int) -> Iterator[int]:
    """Where a row that begins at a line and has its value in another one may end: before the next value."""
    for at in range(number, min(begin + LINES_MAX, len(lines))):
        if at > number and lines[at].has_value:
            return
        yield at


def _is_middle(group: Group, value: _Line) -> bool:
    """Whether all cells are centred around a value: a range of two lines below another range is not."""
    spans = [
        [each.base for each in group if at in each.columns]
        for at in {at for each in group for at in each.columns}
    ]
    return all(abs((span[0] + span[-1]) / 2 - value.base) < MIDDLE_OFF for span in spans)


def _is_wrapped(group: Group, fits: Callable[[_Line, _Line], bool], edge: float) -> bool:
    """Whether lines are one row."""
    if not 1 < len(group) <= LINES_MAX or sum(each.has_value for each in group) != 1:
        return False
    named = [each for each in group if each.has_name]
    height = max(each.line.height for each in group)
    is_close = all(
        second.base - first.base <= WITHIN_MAX * height for first, second in pairwise(group)
    )
    is_small = any(each.line.height < SMALL_PRINT * height for each in named)  # footnotes, methods
    if not named or not is_close or is_small or any(fits(*pair) for pair in pairwise(named)):
        return False
    # Below its first line a row goes on with words of its name only, and no remark that is wider than those.
    is_top = group[0].has_value
    rest = [each for each in group[1:] if not each.has_value]
    return not is_top or all(
        each.has_name
        and len(each.columns) == 1
        and each.line.x1 <= edge + SPILL
        and ":" not in each.line.text
        and not (is_bracketed(each.line.text) and says_method(each.line.text))
        for each in rest
    )


def _is_one_name(group: Group, name_at: int) -> bool:
    """Whether the lines of a name begin at one place behind the first, and none of them is the title of a section."""
    names = [(each, words) for each in group if (words := each.columns.get(name_at))]
    starts = [words[0].x0 for _, words in names]
    centers = [(words[0].x0 + words[-1].x1) / 2 for _, words in names]
    is_flush = max(starts[1:], default=0) - min(starts[1:], default=0) < SAME_PLACE
    is_centred = max(centers) - min(centers) < SAME_PLACE
    titles = (
        fold(" ".join(word.text for word in words)) in SECTIONS
        for each, words in names
        if len(group) > 2 and not each.has_value
    )
    return (is_flush or is_centred) and not any(titles)


def _is_titled(group: Group, name_at: int) -> bool:
    """Whether the lines above a row with its own name are the title of a section, which may be as wide as names are."""
    title, own = _above_and_own(group, name_at)
    if not title or not own:
        return False
    is_whole = is_name(own) and not is_name(f"{title} {own}") and not _is_inside(own, title)
    return is_whole or _is_capital(group, name_at)


def _is_capital(group: Group, name_at: int) -> bool:
    """Whether the lines above a row are known as a title, or in capitals which the row is not."""
    title, own = _above_and_own(group, name_at)
    return (title.isupper() and not own.isupper()) or fold(title) in SECTIONS


def _above_and_own(group: Group, name_at: int) -> tuple[str, str]:
    """The name before the last line, and in it, where that has the value."""
    if not group[-1].has_value:
        return "", ""
    above, own = (
        " ".join(word.text for each in lines for word in each.columns.get(name_at, ()))
        for lines in (group[:-1], group[-1:])
    )
    return above, own


def _is_inside(own: str, title: str) -> bool:
    """Whether the last line of a name can only be the rest of one."""
    return own[:1].islower() or own[:1] in "(-/" or title.count("(") > title.count(")")


def _join_lines(group: Group) -> Seen:
    """Lines of one row as the line of its value: column by column, each from the top."""
    line = next(each.line for each in group if each.has_value)
    words = [
        word
        for at in sorted({at for each in group for at in each.columns})
        for word in _whole_unit([word for each in group for word in each.columns.get(at, ())])
    ]
    text = " ".join(word.text for word in words)
    return replace(line, words=words, text=text), words


def _whole_unit(words: list[PdfWord]) -> list[PdfWord]:
    """The words of a column, of which a unit that is broken in two lines is one: `mL/min/1.` and `73m2`."""
    text = "".join(word.text for word in words)
    is_broken = len(words) > 1 and "/" in text and is_known_unit(text)
    return [replace(words[0], text=text)] if is_broken else words


def _words(each: _Line) -> list[PdfWord]:
    return (
        each.line.words
        if not each.columns
        else sorted(
            (word for words in each.columns.values() for word in words), key=lambda word: word.x0
        )
    )
