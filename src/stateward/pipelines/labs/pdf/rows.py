"""Lines of one table become rows, one after the other: results, names that wait for their value, sections, remarks.

`line` takes a line apart; `line_kinds` tells what it is by its words, `result_lines` whether it is a result and
`continuations` what it adds to the row above.
"""

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
    cells,
    is_result,
    split_value,
)
from stateward.pipelines.labs.pdf.continuations import (
    add_comment,
    begins_inside,
    continue_cells,
    continues_name,
    hangs,
    is_near,
    is_open_end,
    is_small_print,
)
from stateward.pipelines.labs.pdf.headings import (
    is_dated_label,
    unit_of_heading,
)
from stateward.pipelines.labs.pdf.layout import ELSEWHERE, Layout
from stateward.pipelines.labs.pdf.legends import is_legend
from stateward.pipelines.labs.pdf.line import LineReader
from stateward.pipelines.labs.pdf.line_kinds import (
    SECTION_WORDS_MAX,
    heads_remarks,
    is_label_pair,
    is_no_section,
    is_of_header,
    is_section,
    is_title,
    names_begin_small,
    repeats_headings,
    without_limits,
)
from stateward.pipelines.labs.pdf.loose import loose_row
from stateward.pipelines.labs.pdf.methods import BracketsBelow
from stateward.pipelines.labs.pdf.result_lines import is_aligned, is_believable, is_in_line
from stateward.pipelines.labs.pdf.row import (
    NAME_CHARS_MAX,
    NEAR,
    Row,
    is_administrative,
    name_of,
)
from stateward.pipelines.labs.pdf.wrapped import join_rows
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import (
    ANTIBIOGRAMS,
    SECTIONS,
    SUSCEPTIBILITIES,
    fold,
    is_category,
)

REMARK_NEAR = 2.6  # of the height: a remark is not farther below its row
NEXT_SHARE = (
    0.6  # of the distance to the row above: what is so much nearer to the line below is of that one
)
LARGE = 1.06  # of the height of a row: a title
TOLD = frozenset({"specimen", "method"})  # of a test by the lines below its name

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
        # What stands below a title is of the section, and not of the row above it.
        self._is_below_title = False
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
        if (is_title(row) and not hangs(self._last, row, pitch=self._pitch)) or self._is_large(row):
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
            continue_cells(self._rows[-1], row)

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

    @property
    def _last(self) -> Row | None:
        """The row that a line may go on with: none while a name waits for its value."""
        return self._rows[-1] if self._rows and self._held is None else None

    def _stands_in_line(self, row: Row) -> bool:
        last = self._rows[-1] if self._rows else None
        return is_in_line(row, last, is_certain=self._is_certain)

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
        if not is_believable(row, self._rows, self._layout, is_certain=self._is_certain):
            self._let_go()
            is_apart = len(cells(row.words)) > 1 and self._stands_in_line(row)
            if is_apart and (
                is_aligned(row, self._rows, self._layout) or re.search(r"[0-9]", name_of(row))
            ):
                self._give_unread(row)
            else:
                self._remark(row)
            return
        held = self._held
        is_rest = held is not None and not held.name.isupper() and not is_name(row.name)
        if (
            held is not None
            and is_rest
            and is_near(held, row)
            and begins_inside(row.name, held.name)
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

    def _value_alone(self, row: Row) -> None:
        if self._caption is not None:
            row.name, row.x0 = self._caption.text.strip(), self._caption.x0
            row.words = [*self._caption.words, *row.words]
            row.texts |= {role: self._told[role] for role in TOLD & self._told.keys()}
            self._caption = None
            self._result(row)
            return
        held = self._held
        if held is not None and is_near(held, row):
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
                add_comment(last, text)
            else:
                last.values[0] = (f"{value} {text}", date)
            last.words += row.words
            return
        if (
            last is not None
            and row.base - last.base < NEAR * last.height
            and is_same_result(last, row)
        ):
            add_comment(last, name_of(row))
            last.words += row.words
            last.base = row.base
            return
        has_unit = is_known_unit(row.texts.get("unit", ""))
        is_row = not is_text and (self._is_certain or has_unit) and len(row.texts) > 1
        if is_row or (
            last is not None
            and is_aligned(row, self._rows, self._layout)
            and self._stands_in_line(row)
        ):
            self._give_unread(row)

    def _name_alone(self, row: Row) -> None:
        last = self._last
        if last is not None and (take_range(last, row) or take_flag(last, row)):
            last.base = row.base
            return
        if last is not None and self._is_method_below(last, row):
            add_comment(last, row.name)
            last.words += row.words
            last.base = row.base
            return
        is_of_next = last is not None and 0 < row.gap_below < NEXT_SHARE * (row.base - last.base)
        if last is not None and not is_of_next and continues_name(last, row, pitch=self._pitch):
            last.name = f"{last.name} {row.name}"[:NAME_CHARS_MAX]
            continue_cells(self._rows[-1], row)
            last.base = row.base
            return
        if self._held is not None and is_near(self._held, row) and is_open_end(self._held.name):
            self._held.name = f"{self._held.name} {row.name}"
            self._held.base = row.base
            return
        self._let_go()
        if last is not None and row.x0 > last.x0 - 2 and is_small_print(last, row):
            has_more = bool(row.texts.get("range") or row.texts.get("unit"))
            text = row.name if has_more else name_of(row)
            add_comment(last, text)
            if has_more:  # beside the remark stands more of the range
                continue_cells(self._rows[-1], row)
            last.base = row.base
        elif not is_administrative(row.name):
            self._held = row

    def _is_method_below(self, last: Row, row: Row) -> bool:
        is_near = row.page == last.page and row.base - last.base <= NEAR * last.height
        return is_near and self._brackets.is_method(last, row)

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
            add_comment(last, text)
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
            add_comment(last, name_of(row))
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
        if is_row and self._stands_in_line(held):
            self._give_unread(held)
        elif len(held.name.split()) <= SECTION_WORDS_MAX and not is_no_section(held.name):
            self.section = held.name.rstrip(":")

    def _give_unread(self, row: Row) -> None:
        row.is_unread, row.section = True, self.section
        self._rows.append(row)
