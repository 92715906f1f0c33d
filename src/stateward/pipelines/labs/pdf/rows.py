"""Lines of one table become rows: names over several lines, section headings, remarks."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from types import MappingProxyType

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.below import (
    is_same_result,
    take_class,
    take_flag,
    take_other_unit,
    take_range,
)
from stateward.pipelines.labs.pdf.cells import (
    NUMERIC,
    cells,
    is_result,
    split_value,
)
from stateward.pipelines.labs.pdf.headings import (
    is_dated_label,
    unit_of_heading,
)
from stateward.pipelines.labs.pdf.layout import ELSEWHERE, Layout
from stateward.pipelines.labs.pdf.legends import is_legend
from stateward.pipelines.labs.pdf.line import VALUE_ROLES, LineReader
from stateward.pipelines.labs.pdf.line_kinds import (
    SECTION_WORDS_MAX,
    heads_remarks,
    is_label_pair,
    is_no_section,
    is_of_header,
    is_remark,
    is_remark_of_range,
    is_section,
    is_title,
    names_begin_small,
    repeats_headings,
    span_in,
    without_limits,
)
from stateward.pipelines.labs.pdf.loose import loose_row
from stateward.pipelines.labs.pdf.methods import BracketsBelow
from stateward.pipelines.labs.pdf.row import (
    NAME_CHARS_MAX,
    NEAR,
    Row,
    is_administrative,
    name_of,
)
from stateward.pipelines.labs.pdf.wrapped import join_rows
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import (
    ANTIBIOGRAMS,
    PENDING_WORDS,
    SECTIONS,
    SUSCEPTIBILITIES,
    fold,
    is_category,
)

REMARK_NEAR = 2.6
_FEW = re.compile(r"[0-9]{1,2}\s?[-–]\s?[0-9]{1,2}", re.ASCII)
FAR = 8.0  # of the height: beyond such a gap a name and a number alone are no result, but the foot of the page
NEXT_SHARE = (
    0.6  # of the distance to the row above: what is so much nearer to the line below is of that one
)
TIGHT = 0.86  # of the usual distance of rows
ALIGNED = 4.0  # points
OUTDENT_MAX = 2.0  # points: what begins farther left than a name is no rest of it
INDENT_MAX = 25.0  # points: what stands farther in than this is a remark, not the rest of a name
SMALL_PRINT = 0.88  # of the height of a row: a method or remark below its name
LARGE = 1.06  # of the height of a row: a title
COMMENT_CHARS_MAX = 2000
TOLD = frozenset({"specimen", "method"})  # of a test by the lines below its name
_OPEN_END = re.compile(r"(?:[,/(\-–]|\b(?:and|und|et|y|of|de|der|in|im|mit|with))$", re.IGNORECASE)

Lines = Sequence[PdfLine]


class TableReader:
    """One table, line by line."""

    def __init__(
        self,
        layout: Layout,
        section: str,
        *,
        is_certain: bool,
        is_beside: bool,
        unit: str = "",
        caption: PdfLine | None = None,
        told: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.section = section
        self._told = told  # of the test in the caption: its specimen, its method
        self._caption = caption  # the name of the first value
        self._is_beside = is_beside  # another table
        self._unit = unit
        self._layout = layout
        self._line = LineReader(layout)
        self._is_antibiogram = layout.is_antibiogram
        self._is_certain = is_certain  # its headings stand above it, and not on an earlier page
        self._rows: list[Row] = []
        # A name whose value may follow on the next line, or a section.
        self._held: Row | None = None
        self._pitch = 0.0
        self._has_small_names = False
        self._is_below_title = (
            False  # what stands there is of the section, and not of the row above it
        )
        self._brackets = BracketsBelow(())
        self.is_remark = False  # below a heading of remarks

    def read(self, body: Lines) -> list[Row]:
        """The rows of a body."""
        seen = [
            (line, words)
            for line in body
            if (words := self._layout.words(line))
            and not is_dated_label(line)
            and not is_legend(line.text)
        ]
        seen = join_rows(self._layout, seen)
        self._pitch = self._row_distance(seen)
        self._line.learn([words for _, words in seen])
        alone = [self._line.row(line, words, "") for line, words in seen]
        self._brackets = BracketsBelow(alone)
        self._has_small_names = names_begin_small(alone)
        for at, (line, words) in enumerate(seen):
            if unit := unit_of_heading(line.text):
                self._let_go()
                self._line = LineReader(self._layout.with_unit(unit), self._line.numbers)
                continue
            row = self._line.row(line, words, self.section)
            below = seen[at + 1][0] if at + 1 < len(seen) else None
            row.gap_below = (
                0.0 if below is None or below.page != line.page else below.base - line.base
            )
            self._take(row)
        self._let_go()
        return self._rows

    def _row_distance(self, seen: list[tuple[PdfLine, list[PdfWord]]]) -> float:
        bases = [line.base for line, words in seen if len(cells(words)) > 1]
        gaps = [second - first for first, second in pairwise(bases) if second > first]
        return median(gaps) if gaps else 0.0

    # What a line is

    def _take(self, row: Row) -> None:
        if self._rows and self._held is None and self._tells_more(self._rows[-1], row):
            return
        is_meaning = is_category(without_limits(row.name)) and not is_name(row.name)
        if is_meaning or self._is_of_remarks(row):
            self._remark_below(row)
            return
        is_elsewhere = row.texts.get(ELSEWHERE) and not row.values  # in another column of values
        if is_elsewhere or repeats_headings(row):
            return
        if is_of_header(row):
            self._let_go()
            return
        self._is_antibiogram = self._is_antibiogram or fold(row.name) in ANTIBIOGRAMS
        if (is_title(row) and not self._hangs(row)) or self._is_large(row):
            self._let_go()
            self.section, self._is_antibiogram = name_of(row), False
            self._is_below_title = True
            return
        if self._is_antibiogram and row.values:
            row.meaning = SUSCEPTIBILITIES.get(row.values[0][0], "")
        if row.comment:
            self._remark(row)
        elif row.values and row.name:
            self._result(row)
        elif row.values:
            self._value_alone(row)
        elif row.name:
            self._name_alone(row)
        elif self._rows and row.base - self._rows[-1].base < NEAR * 2 * row.height:
            self._continue_cells(row)

    def _is_of_remarks(self, row: Row) -> bool:
        """Whether a line stands below a heading of remarks, or is one: what is no known test there is no result."""
        if heads_remarks(row):
            self.is_remark = True
            return True
        values = [read_value(split_value(text).value) for text, _ in row.values]
        is_told = is_name(row.name) or is_known_unit(row.texts.get("unit", ""))
        # `Fasting glucose >= 126 mg/dL` of a list of criteria is compared with nothing.
        is_result = any(
            each.kind in ("quantity", "titre", "ordinal")
            and (not each.comparator or row.texts.get("range"))
            for each in values
        )
        if is_title(row) or (is_told and is_result):
            self.is_remark = False
        return self.is_remark

    @staticmethod
    def _tells_more(last: Row, row: Row) -> bool:
        """Whether a line is about the row above: its flag, its value in another unit, a class of its range."""
        if take_flag(last, row):
            last.base = row.base
            return True
        return take_other_unit(last, row) or take_class(last, row)

    def _hangs(self, row: Row) -> bool:
        """Whether a line stands a little farther in than the row above and closer to it than rows do: no section."""
        last = self._rows[-1] if self._rows and self._held is None else None
        if last is None or last.page != row.page:
            return False
        is_indented = OUTDENT_MAX < row.x0 - last.x0 <= INDENT_MAX
        return is_indented and row.base - last.start < TIGHT * self._pitch

    def _is_large(self, row: Row) -> bool:
        """Whether a line is a few words in larger print than the rows: the title of a section, wherever it stands."""
        last = self._rows[-1] if self._rows else None
        is_words = re.search(r"[0-9:]", name_of(row)) is None and not is_name(name_of(row))
        return (
            last is not None
            and is_words
            and len(cells(row.words)) == 1
            and len(row.words) <= SECTION_WORDS_MAX
            and row.height > LARGE * last.height
            and not is_no_section(name_of(row))
        )

    def _result(self, row: Row) -> None:
        if is_label_pair(row):
            self._let_go()
            self._remark(row)
            return
        if not self._is_believable(row):
            self._let_go()
            is_apart = len(cells(row.words)) > 1 and self._is_in_line(row)
            if is_apart and (self._is_aligned(row) or re.search(r"[0-9]", name_of(row))):
                self._give_unread(row)
            else:
                self._remark(row)
            return
        held = self._held
        is_rest = held is not None and not held.name.isupper() and not is_name(row.name)
        if (
            held is not None
            and is_rest
            and self._is_near(held, row)
            and self._begins_inside(row.name, held.name)
            and not (self._has_small_names and row.name[:1].islower())
        ):
            row.name = f"{held.name} {row.name}"
            row.words = [*held.words, *row.words]
            self._held = None
        self._let_go()
        if self._caption is not None:  # above rows that have names it is the title of a section
            if not is_no_section(self._caption.text):
                self.section = self._caption.text.strip()
            self._caption = None
        row.section = self.section
        row.shared_unit = self._unit
        self._is_below_title = False
        self._rows.append(row)

    def _is_believable(self, row: Row) -> bool:
        """Whether a name and a value are a result: a number or a known word, or words that other cells confirm."""
        text = row.values[0][0]
        parts = split_value(text)
        range_kind = read_range(row.texts.get("range", "")).kind
        kind = "ordinal" if row.meaning else read_value(parts.value).kind
        unit = row.texts.get("unit", "")
        is_of_heading = any(unit == each.text for each in self._layout.columns)
        has_more = (
            (is_known_unit(unit) and not is_of_heading)
            or bool(parts.unit)
            or range_kind in ("interval", "titre", "conditional")
            or (range_kind == "ordinal" and kind != "unread")
        )
        if is_administrative(row.name) and not (has_more or is_name(row.name)):
            return False
        if kind == "unread":
            return has_more or is_name(row.name)
        if not has_more and self._rows and self._is_small_note(self._rows[-1], row):
            return False
        if kind == "interval" and not has_more and not is_name(row.name):
            # Years, or the pages of what is cited; below a heading, few are what was counted.
            return self._is_certain and _FEW.fullmatch(text) is not None and self._is_aligned(row)
        if kind in NUMERIC or kind == "ordinal":
            is_far = bool(self._rows) and row.base - self._rows[-1].base > FAR * row.height
            return (self._is_certain and not is_far) or has_more or is_name(row.name)
        if fold(text) in PENDING_WORDS or has_more or is_name(row.name):
            return True
        return (
            self._is_certain
            and self._is_aligned(row)
            and len(text.split()) <= 8
            and len(row.name.split()) <= 6
        )

    def _is_in_line(self, row: Row) -> bool:
        """Whether a line that is no known kind of result stands in the table as one: to be flagged, not to be lost."""
        last = self._rows[-1] if self._rows else None
        return (
            (self._is_certain or last is not None)
            and not is_administrative(row.name)
            and not is_administrative(name_of(row))
            and not row.has_colon
            and (last is None or row.base - last.base <= FAR * row.height)
            and (last is None or row.height >= SMALL_PRINT * last.height)
        )

    @staticmethod
    def _is_small_note(last: Row, row: Row) -> bool:
        """Whether a line in small print has a colon inside: `Method: photometry, Cobas 8000`."""
        return ": " in row.name and row.height < SMALL_PRINT * last.height

    def _is_aligned(self, row: Row) -> bool:
        """Whether the value begins or ends where other values do."""
        at = next(
            (n for n, each in enumerate(self._layout.columns) if each.role in VALUE_ROLES), None
        )
        if at is None:
            return False
        mine = span_in(self._layout, row.words, at)
        others = [span_in(self._layout, each.words, at) for each in self._rows]
        return mine is not None and (
            not self._rows
            or any(
                other is not None
                and (abs(other[0] - mine[0]) < ALIGNED or abs(other[1] - mine[1]) < ALIGNED)
                for other in others
            )
        )

    def _value_alone(self, row: Row) -> None:
        if self._caption is not None:
            row.name, row.x0 = self._caption.text.strip(), self._caption.x0
            row.words = [*self._caption.words, *row.words]
            row.texts |= {role: self._told[role] for role in TOLD & self._told.keys()}
            self._caption = None
            self._result(row)
            return
        held = self._held
        if held is not None and self._is_near(held, row):
            row.name, row.x0 = held.name, held.x0
            row.words = [*held.words, *row.words]
            self._held = None
            self._result(row)
            return
        last = self._rows[-1] if self._rows else None
        text = row.values[0][0]
        is_text = read_value(split_value(text).value).kind in ("text", "unread", "none")
        is_below = last is not None and row.base - last.base < NEAR * last.height * 1.5
        if last is not None and last.values and is_below and is_text:
            value, date = last.values[0]
            is_number = is_result(split_value(value).value) or not re.search(r"[^\W\d]", value)
            if is_number:  # a number does not go on as words, nor does a damaged one
                last.comment = f"{last.comment} {text}".strip()[:COMMENT_CHARS_MAX]
            else:
                last.values[0] = (f"{value} {text}", date)
            last.words += row.words
            return
        if (
            last is not None
            and row.base - last.base < NEAR * last.height
            and is_same_result(last, row)
        ):
            last.comment = f"{last.comment} {name_of(row)}".strip()[:COMMENT_CHARS_MAX]
            last.words += row.words
            last.base = row.base
            return
        has_unit = is_known_unit(row.texts.get("unit", ""))
        is_row = not is_text and (self._is_certain or has_unit) and len(row.texts) > 1
        if is_row or (last is not None and self._is_aligned(row) and self._is_in_line(row)):
            self._give_unread(row)

    def _name_alone(self, row: Row) -> None:
        last = self._rows[-1] if self._rows and self._held is None else None
        if last is not None and (take_range(last, row) or take_flag(last, row)):
            last.base = row.base
            return
        if last is not None and self._is_method_below(last, row):
            last.comment = f"{last.comment} {row.name}".strip()[:COMMENT_CHARS_MAX]
            last.words += row.words
            last.base = row.base
            return
        is_of_next = last is not None and 0 < row.gap_below < NEXT_SHARE * (row.base - last.base)
        if last is not None and not is_of_next and self._continues_name(last, row):
            last.name = f"{last.name} {row.name}"[:NAME_CHARS_MAX]
            self._continue_cells(row)
            last.base = row.base
            return
        if (
            self._held is not None
            and self._is_near(self._held, row)
            and _OPEN_END.search(self._held.name)
        ):
            self._held.name = f"{self._held.name} {row.name}"
            self._held.base = row.base
            return
        self._let_go()
        if last is not None and row.x0 > last.x0 - 2 and self._is_small_print(last, row):
            has_more = bool(row.texts.get("range") or row.texts.get("unit"))
            text = row.name if has_more else name_of(row)
            last.comment = f"{last.comment} {text}".strip()[:COMMENT_CHARS_MAX]
            if has_more:  # beside the remark stands more of the range
                self._continue_cells(row)
            last.base = row.base
        elif not is_administrative(row.name):
            self._held = row

    def _is_method_below(self, last: Row, row: Row) -> bool:
        is_near = row.page == last.page and row.base - last.base <= NEAR * last.height
        return is_near and self._brackets.is_method(last, row)

    @staticmethod
    def _is_small_print(last: Row, row: Row) -> bool:
        """Whether a line right below a row is a remark about it: its method, how to interpret it."""
        is_near = row.page == last.page and row.base - last.base <= NEAR * last.height
        is_about_row = (
            row.has_colon
            or is_remark(row.name)
            or row.x0 > last.x0 + INDENT_MAX
            or row.words[0].bottom - row.words[0].top < SMALL_PRINT * last.height
        )
        return is_near and is_about_row and fold(row.name) not in SECTIONS

    def _continues_name(self, last: Row, row: Row) -> bool:
        """Whether a line of a name alone belongs to the row above."""
        if (
            row.page != last.page
            or row.base - last.base > NEAR * last.height
            or row.x0 < last.x0 - OUTDENT_MAX
            or (is_section(row.name) and not self._hangs(row))
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
        is_inside = self._begins_inside(name, last.name)
        gap = row.base - last.start
        is_tight = (
            bool(self._pitch)
            and gap < TIGHT * self._pitch
            and (not row.gap_below or gap < TIGHT * row.gap_below)
        )
        # What stands a little farther in goes on; as far below as the next row, only a name that is not known yet.
        is_indented = (
            row.x0 > last.x0 + 2 and not name.isupper() and (is_tight or not is_name(last.name))
        )
        return is_inside or is_known or is_indented or (is_tight and row.x0 > last.x0 - 2)

    @staticmethod
    def _begins_inside(name: str, before: str) -> bool:
        """Whether a text can only be the rest of a name: after an open end, or in small letters or brackets."""
        is_open = _OPEN_END.search(before) is not None or before.count("(") > before.count(")")
        return is_open or name[:1].islower() or name[:1] in "(-/["

    @staticmethod
    def _is_near(held: Row, row: Row) -> bool:
        return row.page == held.page and 0 <= row.base - held.base <= NEAR * max(
            held.height, row.height
        )

    def _continue_cells(self, row: Row) -> None:
        """A line without name and value: more of the range, the unit or the remark of the row above."""
        last = self._rows[-1]
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
                last.comment = f"{last.comment} {row.texts[role]}".strip()[:COMMENT_CHARS_MAX]
                continue
            is_next = role == "range" and before and not _OPEN_END.search(before)
            is_next = is_next and not before.endswith(":")
            is_next = is_next and not is_known_unit(row.texts[role])
            last.texts[role] = f"{before}{'; ' if is_next else ' '}{row.texts[role]}".strip(" ;")
        last.words += row.words
        last.base = row.base

    def _remark(self, row: Row) -> None:
        self._let_go()
        text = row.comment or " ".join(word.text for word in row.words)
        last = self._rows[-1] if self._rows else None
        if (
            last is not None
            and not self._is_below_title
            and last.page == row.page
            and row.base - last.base < REMARK_NEAR * last.height
        ):
            last.comment = f"{last.comment} {text}".strip()[:COMMENT_CHARS_MAX]
            last.base = row.base
        found = loose_row(row.words, row.page, row.base, row.height)
        if found is not None and found.is_unread:
            found.section = self.section
            self._rows.append(found)

    def _remark_below(self, row: Row) -> None:
        """A line that says what values mean (`Deficient   < 20 ng/mL`) belongs to the row above it."""
        self._let_go()
        if self._rows:
            last = self._rows[-1]
            last.comment = f"{last.comment} {name_of(row)}".strip()[:COMMENT_CHARS_MAX]
            last.words += row.words
            last.base = row.base

    def _let_go(self) -> None:
        """A name alone that no value followed names a section; with other cells it is a row without a value."""
        held, self._held = self._held, None
        if held is None:
            return
        has_more = any(held.texts.get(role) for role in ("unit", "range"))
        label, colon, _ = held.name.partition("(")[0].partition(": ")
        is_labelled = bool(colon) and not is_section(label)  # `Blood group: A positive`
        is_beside = self._is_beside and is_name(held.name)
        is_row = has_more or is_labelled or (is_beside and fold(held.name) not in SECTIONS)
        if is_row and self._is_in_line(held):
            self._give_unread(held)
        elif len(held.name.split()) <= SECTION_WORDS_MAX and not is_no_section(held.name):
            self.section = held.name.rstrip(":")

    def _give_unread(self, row: Row) -> None:
        row.is_unread, row.section = True, self.section
        self._rows.append(row)
