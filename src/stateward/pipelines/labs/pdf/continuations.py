"""What a line without a value adds to the row above it: the rest of its name, more of its cells, a remark."""

import re

from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.line_kinds import is_remark, is_remark_of_range, is_section
from stateward.pipelines.labs.pdf.row import NEAR, SMALL_PRINT, Row
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.words import SECTIONS, fold

TIGHT = 0.86  # of the usual distance of rows
OUTDENT_MAX = 2.0  # points: what begins farther left than a name is no rest of it
INDENT_MAX = 25.0  # points: what stands farther in than this is a remark, not the rest of a name
COMMENT_CHARS_MAX = 2000
_OPEN_END = re.compile(r"(?:[,/(\-–]|\b(?:and|und|et|y|of|de|der|in|im|mit|with))$", re.IGNORECASE)


def is_open_end(text: str) -> bool:
    """Whether a text ends so that more of it must follow: `Reticulocytes and`, `3.5 -`."""
    return _OPEN_END.search(text) is not None


def add_comment(row: Row, text: str) -> None:
    """Put a text behind the remarks of a row."""
    row.comment = f"{row.comment} {text}".strip()[:COMMENT_CHARS_MAX]


def continues_name(last: Row, row: Row, *, pitch: float) -> bool:
    """Whether a line of a name alone belongs to the row above."""
    if (
        row.page != last.page
        or row.base - last.base > NEAR * last.height
        or row.x0 < last.x0 - OUTDENT_MAX
        or (is_section(row.name) and not hangs(last, row, pitch=pitch))
    ):
        return False
    name = row.name
    is_known = not is_name(last.name) and is_name(f"{last.name} {name}")
    is_capital = name.isupper() and name[0].isalpha() and not (is_known or last.name.isupper())
    if (
        row.has_colon
        or is_capital
        or is_remark(name)
        or row.height < SMALL_PRINT * last.height
        or row.x0 > last.x0 + INDENT_MAX
    ):
        return False
    is_inside = begins_inside(name, last.name)
    gap = row.base - last.start
    is_tight = (
        bool(pitch) and gap < TIGHT * pitch and (not row.gap_below or gap < TIGHT * row.gap_below)
    )
    # What stands a little farther in goes on; as far below as the next row, only a name that is not known yet.
    is_indented = (
        row.x0 > last.x0 + 2 and not name.isupper() and (is_tight or not is_name(last.name))
    )
    return is_inside or is_known or is_indented or (is_tight and row.x0 > last.x0 - 2)


def begins_inside(name: str, before: str) -> bool:
    """Whether a text can only be the rest of a name: after an open end, or in small letters or brackets."""
    is_open = is_open_end(before) or before.count("(") > before.count(")")
    return is_open or name[:1].islower() or name[:1] in "(-/["


def hangs(last: Row | None, row: Row, *, pitch: float) -> bool:
    """Whether a line stands a little farther in than the row above and closer to it than rows do: no section."""
    if last is None or last.page != row.page:
        return False
    is_indented = OUTDENT_MAX < row.x0 - last.x0 <= INDENT_MAX
    return is_indented and row.base - last.start < TIGHT * pitch


def is_small_print(last: Row, row: Row) -> bool:
    """Whether a line right below a row is a remark about it: its method, how to interpret it."""
    is_near = row.page == last.page and row.base - last.base <= NEAR * last.height
    is_about_row = (
        row.has_colon
        or is_remark(row.name)
        or row.x0 > last.x0 + INDENT_MAX
        or row.words[0].bottom - row.words[0].top < SMALL_PRINT * last.height
    )
    return is_near and is_about_row and fold(row.name) not in SECTIONS


def is_near(held: Row, row: Row) -> bool:
    """Whether a line stands right below a name that waits for its value."""
    return row.page == held.page and 0 <= row.base - held.base <= NEAR * max(
        held.height, row.height
    )


def continue_cells(last: Row, row: Row) -> None:
    """A line without name and value: more of the range, the unit or the remark of the row above."""
    if row.page != last.page:
        return
    roles = [role for role in ("range", "unit", "comment", "method") if row.texts.get(role)]
    if last.texts.get("unit") and "unit" in roles:
        joined = f"{last.texts['unit']} {row.texts['unit']}"
        if is_known_unit(last.texts["unit"]) and not is_known_unit(joined):
            roles.remove("unit")  # a title in the middle of the page
    if not roles and not row.name:
        return
    for role in roles:
        before = last.texts.get(role, "")
        if role == "range" and is_remark_of_range(before, row.texts[role]):
            add_comment(last, row.texts[role])
            continue
        is_next = role == "range" and before and not is_open_end(before)
        is_next = is_next and not before.endswith(":")
        is_next = is_next and not is_known_unit(row.texts[role])
        last.texts[role] = f"{before}{'; ' if is_next else ' '}{row.texts[role]}".strip(" ;")
    last.words += row.words
    last.base = row.base
