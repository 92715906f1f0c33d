"""Lines of a table become results: names over several lines, section headings, remarks, several dates."""

import re
from collections.abc import Iterable, Sequence
from copy import copy
from itertools import pairwise
from statistics import median

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.model import Observation
from stateward.pipelines.labs.pdf.below import (
    is_same_result,
    settle_second_units,
    take_class,
    take_flag,
    take_other_unit,
    take_range,
)
from stateward.pipelines.labs.pdf.blocks import block_rows, without_blocks
from stateward.pipelines.labs.pdf.cells import (
    NUMERIC,
    cells,
    is_result,
    split_value,
)
from stateward.pipelines.labs.pdf.columns import content_headings, lines_of_table
from stateward.pipelines.labs.pdf.evidence import is_clearly_better, score
from stateward.pipelines.labs.pdf.flowsheet import flowsheet_rows
from stateward.pipelines.labs.pdf.halves import has_two_headings, parts_of
from stateward.pipelines.labs.pdf.headed import Block, table_blocks
from stateward.pipelines.labs.pdf.headings import (
    CollectedAt,
    Heading,
    is_dated_label,
    unit_of_heading,
)
from stateward.pipelines.labs.pdf.layout import ELSEWHERE, Layout, layouts_of
from stateward.pipelines.labs.pdf.leftovers import lost_rows, mark_unread_cells, unvalued_rows
from stateward.pipelines.labs.pdf.legends import is_legend, legend_of
from stateward.pipelines.labs.pdf.line import VALUE_ROLES, LineReader
from stateward.pipelines.labs.pdf.loose import confirm_by_place, loose_row, loose_rows
from stateward.pipelines.labs.pdf.methods import BracketsBelow
from stateward.pipelines.labs.pdf.own_flags import drop_dashes, learn_flags
from stateward.pipelines.labs.pdf.paired import paired_tables
from stateward.pipelines.labs.pdf.results import row_observations
from stateward.pipelines.labs.pdf.row import (
    NAME_CHARS_MAX,
    NEAR,
    Row,
    is_administrative,
    is_of_paper,
    name_of,
    strip_footnotes,
)
from stateward.pipelines.labs.pdf.sentences import statement_rows
from stateward.pipelines.labs.pdf.stacks import stacked_rows
from stateward.pipelines.labs.pdf.wrapped import join_rows
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value, vote_decimal
from stateward.pipelines.labs.words import (
    ANTIBIOGRAMS,
    PENDING_WORDS,
    REMARK_HEADINGS,
    SECTIONS,
    SUSCEPTIBILITIES,
    column_of,
    fold,
    is_category,
    specimen_of,
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
SECTION_WORDS_MAX = 7
SMALL_NAMES_MIN = 3
SENTENCE_WORDS_MIN = 3
EXPLAINING = frozenset(
    {
        "interpretation",
        "interpretations",
        "criteria",
        "guidelines",
        "interprétation",
        "interpretación",
    }
)
_OPEN_END = re.compile(r"(?:[,/(\-–]|\b(?:and|und|et|y|of|de|der|in|im|mit|with))$", re.IGNORECASE)

Lines = Sequence[PdfLine]


def observations_of(
    pages: Sequence[Lines],
    *,
    date_order: str,
    collected: str,
    later: Sequence[CollectedAt],
    patient: str,
) -> list[Observation]:
    """The results of all pages in reading order. `later` are dates of collection, each for the rows below it."""
    rows: list[Row] = []
    reader = _PageReader()
    whole, pages = pages, []
    for page in whole:
        found, reader, parts = _best_reading(page, reader)
        if reader.has_headings:
            rows = [row for row in rows if not row.is_loose or not row.is_unread]
        rows += found
        pages += parts
    rows = _without_summaries(rows)
    if all(row.is_unread for row in rows if row.is_loose):
        rows = [row for row in rows if not row.is_loose]  # a letterhead, and no report
    confirm_by_place(rows)
    strip_footnotes(rows)
    rows += list(block_rows(pages, rows))
    paper = [row for row in rows if is_of_paper(row)]
    rows = [row for row in rows if not is_of_paper(row)]
    settle_second_units(rows)
    drop_dashes(rows)
    learn_flags(rows)
    mark_unread_cells(rows, pages)
    if any(not row.is_unread for row in rows):
        told = _told(rows)
        lost = [row for row in lost_rows(pages, [*rows, *paper]) if not is_of_paper(row)]
        rows += [row for row in lost if not row.values or _key(row) not in told]
        rows += list(unvalued_rows(whole, [*rows, *paper]))
        rows.sort(key=lambda row: row.page)
    decimal = vote_decimal(
        text
        for row in rows
        for text in (*(value for value, _ in row.values), row.texts.get("range", ""))
    )
    legend = legend_of(line.text for page in pages for line in page)
    first = min(((row.page, row.start) for row in rows), default=(0, 0.0))
    return [
        replace(
            each,
            decimal=decimal,
            patient_key=patient,
            side=legend.get(each.flag.casefold(), ""),
        )
        for row in rows
        for each in row_observations(row, date_order, _date_of_sample(row, first, collected, later))
    ]


def _without_summaries(rows: Sequence[Row]) -> list[Row]:
    """The rows without lines outside of tables that repeat a row of one: `Abnormal results: Calcium 10.8 mg/dL`."""
    told = _told(row for row in rows if not row.is_loose)
    return [row for row in rows if not row.is_loose or _key(row) not in told]


def _told(rows: Iterable[Row]) -> set[tuple[object, ...]]:
    return {_key(row) for row in rows if not row.is_unread}


def _key(row: Row) -> tuple[object, ...]:
    """What a row says: its name and its values."""
    return (fold(row.name), *row.values)


def _best_reading(
    page: Lines, reader: "_PageReader"
) -> tuple[list[Row], "_PageReader", list[Lines]]:
    """The rows of a page, read as a whole or, where that explains clearly more, as two tables side by side."""
    halves = parts_of(page)
    before = copy(reader)
    rows = reader.read_lines(page)
    if len(halves) > 1:
        apart = [row for part in halves for row in before.read_lines(part, is_half=True)]
        is_told = has_two_headings(page) and _unread(apart) <= _unread(rows)
        if is_told or is_clearly_better(apart, rows):
            return apart, before, [*halves]
    return rows, reader, [page]


def _unread(rows: Sequence[Row]) -> int:
    """How many rows of a reading could not be read, or have a text in none of their fields."""
    return sum(row.is_unread or row.has_unread for row in rows)


class _PageReader:
    """Tables one after the other: headings and sections hold until others are printed, also over pages."""

    def __init__(self) -> None:
        self._headings: list[Heading] = []
        self._by_content: list[
            Heading
        ] = []  # of the latest table whose columns were told by what they hold
        self._section = ""
        self._is_half = False

    @property
    def has_headings(self) -> bool:
        """Whether headings were found that are known."""
        return bool(self._headings)

    def read_lines(self, lines: Lines, *, is_half: bool = False) -> list[Row]:
        """The rows of a page, or of a part of it that stands beside another."""
        self._is_half = is_half
        rows, others = flowsheet_rows(lines)
        pairs, others = paired_tables(others)
        rows += pairs
        for read in (statement_rows, stacked_rows):
            told, others = read(others)
            rows += told
        for block in table_blocks(others):
            if block.headings:
                rows = [row for row in rows if not row.is_loose or not row.is_unread]
            rows += self._read(block)
        return rows

    def _read(self, block: Block) -> list[Row]:
        """The rows of a block: by its headings, or by what its columns hold where that explains clearly more."""
        self._headings = block.headings or self._headings
        self._section = block.title or self._section
        if self._headings:
            best, section = self._tables(block, self._headings, is_certain=bool(block.headings))
        else:
            best, section = list(loose_rows(block.body)), self._section
        own = content_headings(block.body)
        for headings in (own, self._by_content):
            if not headings:
                continue
            bare = replace(block, body=lines_of_table(block.body))
            rows, after = self._tables(bare, headings, is_certain=headings is own)
            # Lines by themselves are read less surely than below each other.
            is_table = not self._headings and headings is own and score(rows) >= score(best)
            if is_table or is_clearly_better(rows, best):
                best, section, self._by_content = rows, after, headings
        self._section = section
        return best

    def _tables(
        self, block: Block, headings: list[Heading], *, is_certain: bool
    ) -> tuple[list[Row], str]:
        rows: list[Row] = []
        section = self._section
        body = without_blocks(block.body)
        for layout in layouts_of(headings, block.body):
            table = _Table(
                layout,
                layout.title or section,
                is_certain=is_certain,
                is_beside=self._is_half or layout.is_one_of_several,
                unit=block.unit,
                caption=block.caption,
            )
            rows += table.read(body)
            section = table.section
        return rows, section


def _date_of_sample(
    row: Row, first: tuple[int, float], collected: str, later: Sequence[CollectedAt]
) -> str:
    """The date of the sample that a row belongs to: one that is printed between the first row and this one, if any."""
    between = [
        each.date for each in later if first < (each.page, each.base) < (row.page, row.start)
    ]
    return between[-1] if between else collected


class _Table:
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
    ) -> None:
        self.section = section
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
        self._brackets = BracketsBelow(())
        self._is_remark = False  # below a heading of remarks

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
        self._has_small_names = _names_begin_small(alone)
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
        is_meaning = is_category(_without_limits(row.name)) and not is_name(row.name)
        if is_meaning or self._is_of_remarks(row):
            self._remark_below(row)
            return
        is_elsewhere = row.texts.get(ELSEWHERE) and not row.values  # in another column of values
        if is_elsewhere or _repeats_headings(row):
            return
        if _is_of_header(row):
            self._let_go()
            return
        self._is_antibiogram = self._is_antibiogram or fold(row.name) in ANTIBIOGRAMS
        if (_is_title(row) and not self._hangs(row)) or self._is_large(row):
            self._let_go()
            self.section, self._is_antibiogram = name_of(row), False
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
        if _heads_remarks(row):
            self._is_remark = True
            return True
        values = [read_value(split_value(text).value) for text, _ in row.values]
        is_told = is_name(row.name) or is_known_unit(row.texts.get("unit", ""))
        # `Fasting glucose >= 126 mg/dL` of a list of criteria is compared with nothing.
        is_result = any(
            each.kind in ("quantity", "titre", "ordinal")
            and (not each.comparator or row.texts.get("range"))
            for each in values
        )
        if _is_title(row) or (is_told and is_result):
            self._is_remark = False
        return self._is_remark

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
        )

    def _result(self, row: Row) -> None:
        if _is_label_pair(row):
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
            self.section, self._caption = self._caption.text.strip(), None
        row.section = self.section
        row.shared_unit = self._unit
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
        mine = _span(self._layout, row.words, at)
        others = [_span(self._layout, each.words, at) for each in self._rows]
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
        is_remark = (
            row.has_colon
            or _is_remark(row.name)
            or row.x0 > last.x0 + INDENT_MAX
            or row.words[0].bottom - row.words[0].top < SMALL_PRINT * last.height
        )
        return is_near and is_remark and fold(row.name) not in SECTIONS

    def _continues_name(self, last: Row, row: Row) -> bool:
        """Whether a line of a name alone belongs to the row above."""
        if (
            row.page != last.page
            or row.base - last.base > NEAR * last.height
            or row.x0 < last.x0 - OUTDENT_MAX
            or (_is_section(row.name) and not self._hangs(row))
        ):
            return False
        name = row.name
        is_known = not is_name(last.name) and is_name(f"{last.name} {name}")
        is_capital = name.isupper() and name[0].isalpha() and not (is_known or last.name.isupper())
        if (
            row.has_colon
            or is_capital
            or _is_remark(name)
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
            if role == "range" and _is_remark_of_range(before, row.texts[role]):
                last.comment = f"{last.comment} {row.texts[role]}".strip()[:COMMENT_CHARS_MAX]
                continue
            is_next = role == "range" and before and not _OPEN_END.search(before)
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
        is_labelled = bool(colon) and not _is_section(label)  # `Blood group: A positive`
        is_beside = self._is_beside and is_name(held.name)
        is_row = has_more or is_labelled or (is_beside and fold(held.name) not in SECTIONS)
        if is_row and self._is_in_line(held):
            self._give_unread(held)
        elif len(held.name.split()) <= SECTION_WORDS_MAX:
            self.section = held.name.rstrip(":")

    def _give_unread(self, row: Row) -> None:
        row.is_unread, row.section = True, self.section
        self._rows.append(row)


def _names_begin_small(rows: Sequence[Row]) -> bool:
    """Whether names of this laboratory begin with small letters (`p-Kalium`), which then tell no rest of a name."""
    return sum(bool(row.values) and row.name[:1].islower() for row in rows) >= SMALL_NAMES_MIN


def _repeats_headings(row: Row) -> bool:
    """Whether the unit and the range of a row are their headings: numbers of samples, above the first result."""
    return all(column_of(row.texts.get(role, "")) == role for role in ("unit", "range"))


def _heads_remarks(row: Row) -> bool:
    """Whether a line by itself names what follows as remarks: `Note:`, `Interpretation of vitamin D levels`."""
    text = name_of(row)
    words = fold(text).split()
    is_alone = len(cells(row.words)) == 1 and not re.search(r"[.:=<>]\s*\S", text)
    is_about = len(words) <= SECTION_WORDS_MAX and not EXPLAINING.isdisjoint(words)
    return bool(words) and is_alone and (" ".join(words) in REMARK_HEADINGS or is_about)


def _without_limits(name: str) -> str:
    """A text without comparisons: `Very high <50` of a table of what values mean."""
    return re.sub(r"[<>≤≥=]{1,2}\s?[0-9.,]+%?", "", name)


def _is_of_header(row: Row) -> bool:
    """Whether a row names the patient or the paper, and its cells hold more labels: `Patient: N Doe   Specimen:`."""
    others = (*(text for text, _ in row.values), *row.texts.values())
    return is_administrative(row.name) and any(each.rstrip().endswith(":") for each in others)


def _span(layout: Layout, words: Sequence[PdfWord], at: int) -> tuple[float, float] | None:
    mine = [word for word in words if layout.column_at(word) == at]
    return (mine[0].x0, mine[-1].x1) if mine else None


def _is_label_pair(row: Row) -> bool:
    """Whether what stands for the value is a label of its own, as above a table of what values mean."""
    text = row.values[0][0].strip()
    is_words = text.endswith(":") and read_value(text.rstrip(": ")).kind in ("text", "unread")
    return is_words and fold(text) not in PENDING_WORDS


def _is_remark(name: str) -> bool:
    """Whether a text explains values: it has a colon inside, a comparison or a range."""
    is_sentence = name.endswith(".") and len(name.split()) > SENTENCE_WORDS_MIN
    return is_sentence or re.search(r":.|[<>≤≥]|[0-9]\s*[-–]\s*[0-9]", name) is not None


def _is_remark_of_range(range_: str, text: str) -> bool:
    """Whether words below a range that is whole only explain it: `Fasting reference interval`."""
    return read_range(range_).kind == "interval" and re.search(r"[0-9]", text) is None


def _is_title(row: Row) -> bool:
    """Whether a line is the name of a section, alone or with its specimen in brackets: `Leberwerte   (Serum)`."""
    head, *others = (" ".join(word.text for word in cell) for cell in cells(row.words))
    is_specimen = len(others) == 1 and others[0].startswith("(") and bool(specimen_of(others[0]))
    return (_names_section(head) and not others) or (is_specimen and not is_name(head))


def _is_section(name: str) -> bool:
    return _names_section(name) or name.endswith(":")


def _names_section(text: str) -> bool:
    """Whether a text is the name of a section, or several: `Endokrinologie / Vitamine`."""
    parts = [
        fold(part) for part in re.split(r"\s(?:[/&·|–-]|and|und|et|y|e|en|i|og|och)\s|,\s", text)
    ]
    return parts[0] in SECTIONS and (len(parts) == 1 or not is_name(text))
