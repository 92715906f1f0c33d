"""A row of a table as observations: one for each date, its cells taken apart."""

from collections.abc import Iterator

from stateward.pipelines.labs.model import (
    AMBIGUOUS_DATE,
    CELL_UNREAD,
    CODE_UNSURE,
    FLAG_UNREAD,
    RANGE_UNSURE,
    ROW_UNREAD,
    Observation,
    Place,
)
from stateward.pipelines.labs.pdf.cells import (
    LETTERS,
    SIGN_APART,
    WORD_FLAGS,
    Parts,
    drawn_limits,
    is_flag,
    is_graph,
    is_result,
    split_unit_and_range,
    split_value,
)
from stateward.pipelines.labs.pdf.headings import DATE, UNKNOWN
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import flag_of, read_range
from stateward.pipelines.labs.table import iso_date, limits
from stateward.pipelines.labs.units import is_known_unit, split_calculated
from stateward.pipelines.labs.values import read_value

NOT_MEASURED = frozenset("-–—./")  # on one of several dates
FLAG_WORDS_MAX = 3  # of a flag that is not known; what is longer is a remark


def row_observations(row: Row, order: str, collected: str) -> Iterator[Observation]:
    """The observations of a row, one for each date."""
    unit, range_, side = split_unit_and_range(row.texts.get("unit", ""), row.texts.get("range", ""))
    range_, how = split_calculated(range_)
    own = limits(row.texts.get("low", ""), row.texts.get("high", ""))
    is_unsure = row.has_unsure_limits and bool(own) and not range_
    range_ = range_ or own
    drawn = drawn_limits(row.texts.get("graph", "") or row.texts.get(UNKNOWN, ""))
    range_ = range_ or limits(*drawn)
    marks = row.texts.get("flag", "")
    has_own_unit = any(split_value(text).unit for text, _ in row.values)
    # A titre has no unit, and words have none that is a letter of flags (A is ampere, too).
    is_letter = (unit in LETTERS and _is_titre(row)) or (
        unit in WORD_FLAGS and _has_only_words(row)
    )
    is_sign = is_flag(unit) and not any(map(str.isalnum, unit)) and not is_known_unit(unit)
    if not marks and (is_letter or is_sign or (has_own_unit and is_flag(unit))):
        unit, marks = "", unit
    comment = "\n".join(
        filter(
            None,
            (
                row.texts.get("sample", ""),
                row.comment,
                row.texts.get("comment", ""),
                how,
                _previous(row.texts.get("previous", "")),
            ),
        )
    )
    cells_of = [(parts, date) for text, date in row.values for parts in _each_result(text, range_)]
    has_pair = len(cells_of) > len(row.values)
    # The unit of all columns of dates may stand right behind the last value.
    unit = unit or next((parts.unit for parts, _ in cells_of if parts.unit), "")
    if row.is_unread and not row.values:
        yield _unread_line(row, collected)
    for parts, date in cells_of:
        if not parts.value or is_graph(parts.value) or (date and parts.value in NOT_MEASURED):
            continue
        problems: tuple[str, ...] = (ROW_UNREAD,) if row.is_unread else ()
        day = DATE.search(date)  # behind the name of a sample, if it has one
        sample = date if day is None else date[: day.start()].strip()
        when, is_sure = (
            iso_date(date[day.start() :], order) if day is not None else (collected, True)
        )
        if row.has_unread:
            problems = (*problems, CELL_UNREAD)
        if is_unsure:
            problems = (*problems, RANGE_UNSURE)
        if not is_sure:
            problems = (*problems, AMBIGUOUS_DATE)
        if row.has_unsure_code:
            problems = (*problems, CODE_UNSURE)
        noted, status = (row.texts.get(role, "") for role in ("comment", "status"))
        flag = parts.flag or (marks if is_flag(marks) else "") or side or row.flag
        flag = (
            parts.flag
            if has_pair and not parts.range
            else flag or next((each for each in (noted, status) if is_flag(each)), "")
        )
        range_, flag = _without_star(range_, flag, parts.value)
        more = "" if is_flag(marks) or is_graph(marks) else marks
        if more and not flag and len(more.split()) <= FLAG_WORDS_MAX:
            flag, more = more, ""
            problems = (*problems, FLAG_UNREAD)
        yield Observation(
            test=row.name,
            value=parts.value,
            unit=parts.unit or unit,
            range=parts.range if has_pair else range_ or parts.range,
            flag=flag,
            specimen=row.texts.get("specimen", ""),
            code=row.texts.get("code", ""),
            local_code=row.texts.get("local_code", ""),
            collected=when,
            section=row.section,
            shared_unit=row.shared_unit,
            comment="\n".join(filter(None, (sample, comment, more))),
            meaning=row.meaning,
            problems=problems,
            where=_place(row),
        )


def _without_star(range_: str, flag: str, value: str) -> tuple[str, str]:
    """A range without the star behind it, which is the flag of a value outside of it, else a note on the range."""
    bare = range_.removesuffix("*").rstrip()
    if bare == range_ or read_range(bare).kind != "interval":
        return range_, flag
    is_outside = flag_of(read_value(value), read_range(bare)) in ("H", "L")
    return bare, flag or ("*" if is_outside else "")


def _unread_line(row: Row, collected: str) -> Observation:
    """A line that looks like a result, as it is printed."""
    return Observation(
        test=row.name,
        section=row.section,
        collected=collected,
        problems=(ROW_UNREAD,),
        where=_place(row),
    )


def _each_result(text: str, range_: str) -> list[Parts]:
    """A value cell, or two: `7,7 % soit - 0,55 Giga/L` is a share and a count, which the flag and the range are of."""
    share, word, count = text.partition(" soit ")
    first, second = split_value(share), split_value(count)
    is_pair = bool(word) and first.unit == "%" and second.unit not in ("", "%")
    if not is_pair or not all(is_result(each.value) for each in (first, second)):
        return [_split(text, range_)]
    second.range = second.range or range_
    return [first, second]


def _split(text: str, range_: str) -> Parts:
    """A value cell; where the range goes below zero, a sign apart is that of the number and no flag."""
    low = read_range(range_).low
    is_signed = low is not None and low < 0 and SIGN_APART.match(text.strip()) is not None
    return split_value(text.replace(" ", "", 1) if is_signed else text)


def _is_titre(row: Row) -> bool:
    return any(read_value(text).kind == "titre" for text, _ in row.values)


def _has_only_words(row: Row) -> bool:
    return all(read_value(text).kind in ("text", "ordinal") for text, _ in row.values)


def _previous(text: str) -> str:
    return f"previous: {text}" if text.strip(" -") else ""


def _place(row: Row) -> Place:
    words = row.words
    box = (
        round(min(word.x0 for word in words), 1), round(min(word.top for word in words), 1),
        round(max(word.x1 for word in words), 1), round(max(word.bottom for word in words), 1),
    )  # fmt: skip
    return Place(page=row.page, box=box)
