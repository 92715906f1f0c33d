"""One line of a table as a row: which words are the name, the values, the unit, the range and the flag.

Columns decide, and what cells hold where they reach over the border of a column. What a line is among others (a result,
a title, the rest of a name) is for `rows` to say.
"""

import re
from collections.abc import Mapping, Sequence

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import (
    NUMERIC,
    cells,
    is_bracketed_range,
    is_flag,
    is_result,
    split_mark,
    split_value,
    without_leaders,
)
from stateward.pipelines.labs.pdf.headings import UNKNOWN
from stateward.pipelines.labs.pdf.in_order import place_in_order
from stateward.pipelines.labs.pdf.layout import FLUSH, FLUSH_MIN, Layout
from stateward.pipelines.labs.pdf.row import NAME_CHARS_MAX, Row
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import column_of, ordinal_of

SMALL_SHARE = 0.85  # of the height of a name
SUPERSCRIPT = 0.8  # of the height of a line: a smaller number behind a name is a footnote
# Flags that no name ends with; B and C do not count, because vitamins do.
FLAGS_APART = frozenset({"H", "L", "HH", "LL"})  # and signs, such as + or (*)
SIDES = ("below", "above")  # columns of values that are what the heading says
SIDE = "side"  # what the heading says
VALUE_ROLES = ("value", "in_range", "out_of_range", *SIDES)
_FOOTNOTE = re.compile(r"(?<=\w) [0-9a-z*]{1,2}\)$")  # `NT-proBNP 1)`, which a line below explains
_COUNTER = re.compile(r"^[0-9]{1,3}[.)]\s+")  # the number of a row before its name


class LineReader:
    """Lines of one table as rows, each by itself."""

    def __init__(self, layout: Layout, numbers: Sequence[tuple[int, float, float]] = ()) -> None:
        self._layout = layout
        self.numbers = [*numbers]  # the column and the ends of each number

    def row(self, line: PdfLine, words: list[PdfWord], section: str) -> Row:
        """The words of a line as a row, by columns."""
        found_cells = cells(words)
        placed = place_in_order(self._layout, found_cells)
        sentence, mark_apart = False, ""
        for cell in () if placed else found_cells:
            parts: dict[int, list[PdfWord]] = {}
            for word, guide in zip(cell, self._guides(cell), strict=True):
                parts.setdefault(self._layout.column_at(guide), []).append(word)
            if self._name_at in parts and (at := self._touching_value(cell)):
                parts = {self._name_at: cell[:at], self._values_at[0]: cell[at:]}
            elif len(found_cells) == 1 and self._runs_across(cell, parts):
                sentence = True
            elif len(parts) > 1 and self._is_overflow(parts):
                at = min(parts)
                parts = {at: cell}
                is_name_cell = self._layout.columns[at].role == "test"
                sentence = sentence or (is_name_cell and self._is_sentence(cell, at))
            if (sign := self._flag_before_value(cell, parts)) and not mark_apart:
                mark_apart = sign
                continue
            if placed and not mark_apart and self._is_flag_beside_name(cell, parts):
                mark_apart = cell[0].text
                continue
            for at, found in parts.items():
                placed.setdefault(at, []).extend(found)
        texts, values = self._texts(placed)
        mark_apart = mark_apart or texts.pop(SIDE, "")
        named = placed.get(self._name_at, [])
        mark = _leading_mark(named)
        named = named[1:] if mark else named
        if not mark and (mark := split_mark(" ".join(word.text for word in named))[1]):
            named = named[:-1]
        name = _name(named, line) or _name_elsewhere(texts)
        row = Row(
            name,
            line.page,
            line.base,
            line.height,
            # Of the name: a number or a code of the test may stand before it.
            placed[self._name_at][0].x0 if self._name_at in placed else words[0].x0,
            list(words),
            texts,
            values,
            section=section,
            table=self._layout.headings,
        )
        row.flag, row.start = mark or mark_apart, line.base
        row.has_colon = bool(named) and named[-1].text.endswith(":")
        if (
            sentence
            and not values
            and not any(is_result(texts.get(role, "")) for role in VALUE_ROLES)
        ):
            row.comment = " ".join(word.text for word in words)
        self._fill_value(row)
        row.has_unsure_limits = self._layout.has_unsure_limits
        # Beside columns of days, a value in a column without one would be of none of them.
        is_elsewhere = any(date for _, date in row.values) and bool(texts.get("value"))
        row.has_unread = is_elsewhere or self._has_two_numbers(words)
        return row

    @property
    def _values_at(self) -> list[int]:
        """The columns of values behind the names."""
        return [
            at
            for at, each in enumerate(self._layout.columns)
            if at > self._name_at and each.role in (*VALUE_ROLES, "date")
        ]

    def learn(self, lines: Sequence[Sequence[PdfWord]]) -> None:
        """Where the numbers of the table stand: by those, a number is told that a long name touches."""
        self.numbers = [
            (self._layout.column_at(word), word.x0, word.x1)
            for words in lines
            for word in words
            if read_value(word.text).kind in NUMERIC
        ]

    def _has_two_numbers(self, words: Sequence[PdfWord]) -> bool:
        """Whether two numbers with a gap between them stand in one column of values: `143   138` is not 143138."""
        heads = [cell[0] for cell in cells(words) if read_value(cell[0].text).kind in NUMERIC]
        columns = [self._layout.column_at(word) for word in heads]
        return any(columns.count(at) > 1 for at in self._values_at)

    def _touching_value(self, cell: Sequence[PdfWord]) -> int:
        """Where a number begins that a long name touches, if it stands where those of the first values do; else 0."""
        numeric = [at for at, word in enumerate(cell) if read_value(word.text).kind in NUMERIC]
        if not numeric or not numeric[-1] or not self._values_at:
            return 0
        at, word = numeric[-1], cell[numeric[-1]]
        if not all(is_flag(each.text) for each in cell[at + 1 :]):
            return 0
        places = [each for each in self.numbers if each[0] == self._values_at[0]]
        lefts = sum(abs(x0 - word.x0) < FLUSH for _, x0, _ in places)
        rights = sum(abs(x1 - word.x1) < FLUSH for _, _, x1 in places)
        return at if max(lefts, rights) >= FLUSH_MIN else 0

    def _texts(
        self, placed: dict[int, list[PdfWord]]
    ) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """The texts of a line by role, and its values by date; a heading may tell the unit or the flag of a value."""
        texts: dict[str, str] = {}
        values: list[tuple[str, str]] = []
        for at, found in sorted(placed.items()):
            column = self._layout.columns[at]
            text = " ".join(word.text for word in found)
            if column.role == "date":
                values.append((text, column.text))
                continue
            texts[column.role] = f"{texts.get(column.role, '')} {text}".strip()
            if column.role == "value" and column.text:
                texts.setdefault("unit", column.text)
            elif column.role in SIDES:
                texts[SIDE] = column.text
        told = f"{texts.get('value', '')} {texts.get('unit', '')}"
        if texts.get("unit") and texts.get("value") and ordinal_of(told):
            texts["value"] = told  # words of a value that reach into the next column
            del texts["unit"]
        _mend_range(texts)
        _find_range(texts)
        other = texts.get(UNKNOWN, "")
        is_mark = is_flag(other) and (
            len(other) == 1 or not is_name(other)
        )  # ALT and CL are codes too
        if is_mark and not texts.get("flag"):
            texts["flag"] = texts.pop(UNKNOWN)
        return texts, values

    @staticmethod
    def _guides(cell: list[PdfWord]) -> list[PdfWord]:
        """The words whose places decide the columns.

        A sign right before a number goes with the number, and a range in brackets or a unit is in one column.
        """
        text = " ".join(word.text for word in cell)
        if is_bracketed_range(text) or (len(cell) > 1 and is_known_unit(text)):
            return [cell[0]] * len(cell)
        is_marked = len(cell) > 1 and is_flag(cell[0].text) and is_result(cell[1].text)
        return [cell[1], *cell[1:]] if is_marked and not cell[0].text.isalnum() else cell

    def _flag_before_value(self, cell: list[PdfWord], parts: dict[int, list[PdfWord]]) -> str:
        """A sign in a cell of its own that slipped into a column which holds none: a flag before its value."""
        text = cell[0].text
        is_sign = len(cell) == 1 and is_flag(text) and not any(map(str.isalnum, text))
        roles = {self._layout.columns[at].role for at in parts}
        return (
            text if is_sign and roles <= {"specimen", "method", "local_code", "code", "lab"} else ""
        )

    def _is_flag_beside_name(self, cell: list[PdfWord], parts: dict[int, list[PdfWord]]) -> bool:
        """Whether a cell in the column of names, apart from the name, is the flag of the value that follows."""
        text = cell[0].text
        is_mark = text in FLAGS_APART or (is_flag(text) and not any(map(str.isalnum, text)))
        return len(cell) == 1 and set(parts) == {self._name_at} and is_mark

    @property
    def _name_at(self) -> int:
        return next(at for at, each in enumerate(self._layout.columns) if each.role == "test")

    def _is_overflow(self, parts: dict[int, list[PdfWord]]) -> bool:
        """Whether a cell runs on from the names or the values into the next column without being anything there."""
        first, *others = sorted(parts)
        if self._layout.columns[first].role not in ("test", *VALUE_ROLES):
            return False
        text = " ".join(word.text for word in parts[others[0]])
        if self._layout.columns[first].role != "test":
            head = " ".join(word.text for word in parts[first])
            is_apart = is_result(split_value(head).value) or read_range(text).kind == "interval"
        else:
            is_apart = is_result(split_value(text).value) or bool(split_value(text).unit)
        return not (is_apart or is_known_unit(text) or is_flag(text))

    def _runs_across(self, cell: Sequence[PdfWord], parts: Mapping[int, Sequence[PdfWord]]) -> bool:
        """Whether words alone in their line reach over a border behind the names: a title or a remark, and no cells."""
        text = " ".join(word.text for word in cell)
        label, colon, _ = text.partition(":")
        is_labelled = bool(colon) and column_of(label.strip(" .")) == "range"
        is_words = not any(map(str.isdigit, text)) and not is_known_unit(text)
        return len(parts) > 1 and self._name_at not in parts and (is_words or is_labelled)

    def _is_sentence(self, cell: list[PdfWord], at: int) -> bool:
        value_from = min(
            (
                each.left
                for each in self._layout.columns
                if each.role in (*VALUE_ROLES, "date") and each.left > self._layout.columns[at].left
            ),
            default=1e6,
        )
        return cell[-1].x1 > value_from + 12

    def _fill_value(self, row: Row) -> None:
        """The value column, or the one beside it that a value slipped into."""
        texts = row.texts
        if row.values:
            return
        for role in VALUE_ROLES:
            if text := texts.get(role, ""):
                row.values = [(text, "")]
                if role == "out_of_range":
                    row.flag = "A"
                return
        for role in ("flag", "unit", "previous"):
            text = texts.get(role, "")
            words = text.split()
            if role != "previous" and words and read_value(words[0]).kind in NUMERIC:
                row.values = [(words[0], "")]
                texts[role] = " ".join(words[1:])
                return


def _mend_range(texts: dict[str, str]) -> None:
    """Put a range together that a border between two columns cut in two: `5,5 mmol/l 2,5` and `- 7,8`."""
    range_ = texts.get("range", "")
    if range_[:1] not in ("-", "–", "—") or not range_[1:].strip(" -–—"):
        return
    for role in ("value", "unit", "flag", UNKNOWN):
        rest, _, low = texts.get(role, "").rpartition(" ")
        if low[:1].isdigit() and read_range(f"{low} {range_}").kind == "interval":
            texts["range"] = f"{low} {range_}"
            texts[role] = rest
            if not rest:
                del texts[role]
            return


def _find_range(texts: dict[str, str]) -> None:
    """Take a range out of a cell that holds none: a border misplaced it, `Serum [4.0-10.0]` below `Specimen`."""
    for role in ("specimen", "method", "lab", "local_code", "status"):
        words = texts.get(role, "").split()
        for at in range(len(words) if not texts.get("range") else 0):
            told = read_range(" ".join(words[at:]))
            is_two_sided = told.low is not None and told.high is not None
            is_compared = words[at].lstrip("([")[:1] in ("<", ">", "≤", "≥")
            if told.kind == "interval" and (is_two_sided or is_compared):
                texts[role], texts["range"] = " ".join(words[:at]), " ".join(words[at:])
                break


def _leading_mark(words: Sequence[PdfWord]) -> str:
    """A flag that stands before the name: a sign, or letters in a cell of their own."""
    if len(words) < 2:
        return ""
    first = words[0]
    is_apart = len(cells(words[:2])) > 1
    is_sign = not any(map(str.isalnum, first.text))
    is_test = is_name(first.text) and not any(map(str.isalnum, words[1].text))  # ALT is both
    return first.text if is_flag(first.text) and (is_sign or is_apart) and not is_test else ""


def _name_elsewhere(texts: dict[str, str]) -> str:
    """A known test in a column that holds something else: on a page with few rows a border may be misplaced."""
    for role in ("status", "specimen", "method", "local_code", "lab"):
        if (text := without_leaders(texts.get(role, ""))) and is_name(text):
            del texts[role]
            return text
    return ""


def _small_brackets(words: Sequence[PdfWord]) -> int:
    """How many words stand before brackets in small print at the end of a name: a method, which stays a remark."""
    if not words or not words[-1].text.endswith((")", "]")):
        return len(words)
    height = words[0].bottom - words[0].top
    at = len(words)
    while at > 1 and words[at - 1].bottom - words[at - 1].top < SMALL_SHARE * height:
        at -= 1
    return at if at < len(words) and words[at].text[:1] in "([" else len(words)


def _name(words: Sequence[PdfWord], line: PdfLine) -> str:
    """A name without footnote numbers in small print behind it, and without the dots that lead to its value."""
    kept = list(words)
    while (
        len(kept) > 1
        and kept[-1].bottom - kept[-1].top < SUPERSCRIPT * line.height
        and len(kept[-1].text) <= 3
    ):
        kept.pop()
    kept = kept[: _small_brackets(kept)]
    name = without_leaders(" ".join(word.text for word in kept))[:NAME_CHARS_MAX]
    name = _FOOTNOTE.sub("", name) if name.count("(") < name.count(")") else name
    bare = _COUNTER.sub("", name)
    return bare if is_name(bare) else name
