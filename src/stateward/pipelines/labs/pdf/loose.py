"""Results outside of tables: lines that no heading stands above."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name, named_in_words
from stateward.pipelines.labs.normalize import bare_name
from stateward.pipelines.labs.pdf.antibiogram import ORGANISM, organisms_of, susceptibility_rows
from stateward.pipelines.labs.pdf.below import (
    is_same_result,
    take_flag,
    take_other_unit,
    take_range,
)
from stateward.pipelines.labs.pdf.cells import (
    ARROWS,
    NUMERIC,
    cells,
    has_leaders,
    is_flag,
    is_result,
    split_mark,
    split_value,
    without_leaders,
)
from stateward.pipelines.labs.pdf.columns import is_wording
from stateward.pipelines.labs.pdf.leftovers import unread_cells
from stateward.pipelines.labs.pdf.paired import paired_rows
from stateward.pipelines.labs.pdf.row import NEAR, Row, is_administrative
from stateward.pipelines.labs.pdf.sentences import sentence_rows
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit, is_measure
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import SECTIONS, column_of, fold, ordinal_of, specimen_of

BESIDE_MIN = 3  # results that begin where a line with a name that is not known begins
_COUNTED = re.compile(r"\[?(?:cfu|ufc|kbe|kve|copies|cop|cells)\]?s?\s?/", re.IGNORECASE)
TEXT_WORDS_MAX = 3  # of a result in words that no other thing tells
SECTION_WORDS_MAX = 7
LED_MIN, LED_WORDS_MAX = 2, 12  # results to which dots lead; words to which they lead, too
LED_NEAR = 10.0  # of the height: so far from the next of those results
INDENT_MAX = 25.0  # points: what stands farther in than this is no rest of a name


def loose_rows(body: Sequence[PdfLine]) -> list[Row]:
    """Results of lines that no heading stands above, and texts in line with them."""
    rows = [*_loose_rows(body)]
    _confirm_led(rows)
    rows += _texts_in_line(body, rows)
    rows.sort(key=lambda row: (row.page, row.start or row.base))
    titles = [line for line in body if _is_title(line)]
    for row in rows:
        above = [
            line for line in titles if line.page == row.page and line.base < (row.start or row.base)
        ]
        row.section = row.section or (above[-1].text.strip() if above else "")
    return rows


def _is_title(line: PdfLine) -> bool:
    """Whether a line is a few words alone that name a section or a specimen: `Urine M/C/S`."""
    is_alone = len(cells(line.words)) == 1 and len(line.words) <= SECTION_WORDS_MAX
    is_words = is_alone and ":" not in line.text and not any(map(str.isdigit, line.text))
    return is_words and (fold(line.text) in SECTIONS or bool(specimen_of(line.text)))


def _texts_in_line(body: Sequence[PdfLine], rows: Sequence[Row]) -> list[Row]:
    """Lines of a name and a few words that stand right above or below results, and in line with several of them."""
    sure = [row for row in rows if not row.is_unread and len(row.values) == 1]
    read = {id(word) for row in rows for word in row.words}
    places = Counter((row.page, round(row.x0), round(_value_x0(row))) for row in sure)
    told: list[Row] = []
    for line in body:
        found = cells(line.words)
        if len(found) != 2 or any(id(word) in read for word in line.words):
            continue
        name, text = (" ".join(word.text for word in cell) for cell in found)
        is_near = any(
            row.page == line.page and abs(row.base - line.base) <= NEAR * line.height
            for row in sure
        )
        if _is_led(line, name, text, sure):
            told.append(_led_row(line, name, text))
            continue
        place = (line.page, round(line.x0), round(found[1][0].x0))
        is_told = is_wording(name) and is_wording(text) and len(text.split()) <= TEXT_WORDS_MAX
        if is_near and is_told and places[place] >= BESIDE_MIN and not is_administrative(name):
            row = _bare_row(line)
            row.name, row.values = without_leaders(name), [(text, "")]
            row.is_loose, row.start = True, line.base
            told.append(row)
    return told


def _is_led(line: PdfLine, name: str, text: str, sure: Sequence[Row]) -> bool:
    """Whether dots lead from a name to a text, as they lead to the results around it: any words are one then."""
    if not has_leaders(name) or is_administrative(without_leaders(name)):
        return False
    around = [row for row in sure if row.page == line.page and abs(row.x0 - line.x0) < INDENT_MAX]
    led = [row for row in around if any(has_leaders(word.text) for word in row.words)]
    gap = min((abs(row.base - line.base) for row in led), default=0.0)
    is_near = gap <= LED_NEAR * line.height
    return len(led) >= LED_MIN and is_near and len(text.split()) <= LED_WORDS_MAX


def _confirm_led(rows: Sequence[Row]) -> None:
    """Take a number with a unit of measurement for a result where dots lead to it as to others, whatever its name."""
    led = [row for row in rows if any(has_leaders(word.text) for word in row.words)]
    sure = [row for row in led if not row.is_unread]
    for row in led if len(sure) >= LED_MIN else ():
        is_measured = is_measure(row.texts.get("unit", "")) and len(row.values) == 1
        if row.is_unread and is_measured and not unread_cells(row):
            row.is_unread = read_value(row.values[0][0]).kind not in NUMERIC


def _led_row(line: PdfLine, name: str, text: str) -> Row:
    row = _bare_row(line)
    parts = split_value(text)
    is_number = read_value(parts.value).kind in NUMERIC
    row.name, row.values = without_leaders(name), [(parts.value if is_number else text, "")]
    if is_number:
        row.texts.update(unit=parts.unit, range=parts.range)
        row.flag = parts.flag
    row.is_loose, row.start = True, line.base
    return row


def _value_x0(row: Row) -> float:
    """Where the cell behind the name begins."""
    found = cells(row.words)
    return found[1][0].x0 if len(found) > 1 else 0.0


def _loose_rows(body: Sequence[PdfLine]) -> Iterator[Row]:
    last: Row | None = None
    held: Row | None = None
    organisms = organisms_of(body)
    for line, below in zip_longest(body, body[1:]):
        held, before = _named_number(line), held
        if below is not None and _is_card(line, below):
            continue
        if pair := paired_rows(line):
            yield from pair
        elif susceptible := list(
            susceptibility_rows(line, organisms, is_inside=last is not None and bool(last.meaning))
        ):
            last = susceptible[-1]
            yield from susceptible
        elif row := _told_in_words(line) or _loose(line):
            if last is not None and take_other_unit(last, row):
                continue
            last = row
            yield row
        elif last is not None and (
            take_range(last, _bare_row(line)) or take_flag(last, _bare_row(line))
        ):
            last.base = line.base
        elif last is not None and _ends_name(last, line):
            last.name = f"{last.name} {line.text.strip()}"
            last.is_unread = last.is_unread and not is_name(bare_name(last.name))
            last.words += line.words
            last.base = line.base
        elif last is not None and (other := _second_unit(last, line)):
            last.comment = f"{last.comment} {other}".strip()
            last.words += line.words
            last.base = line.base
        elif before is not None and take_range(before, _bare_row(line)):
            yield before  # a ratio without a unit, whose range stands below
        else:
            for listed in sentence_rows(line):
                listed.is_loose = True
                yield listed


def confirm_by_place(rows: Sequence[Row]) -> None:
    """Take lines for results whose names are not known, where they begin as those of results on the page do.

    Nothing of such a line may be left over, and it must have a unit of measurement or a range.
    """
    starts = Counter(
        (row.page, round(row.x0)) for row in rows if not row.is_unread and len(row.values) == 1
    )
    for row in rows:
        is_bare = row.is_loose and row.is_unread and len(row.values) == 1
        if not is_bare or unread_cells(row) or row.name.endswith(":"):
            continue
        range_ = row.texts.get("range", "")
        is_measured = is_measure(row.texts.get("unit", "")) or read_range(range_).kind == "interval"
        is_number = read_value(row.values[0][0]).kind in NUMERIC
        if is_measured and is_number and starts[row.page, round(row.x0)] >= BESIDE_MIN:
            row.is_unread = False


def _told_in_words(line: PdfLine) -> Row | None:
    """What a culture or a slide shows: a name that is known or a numbered organism, and words."""
    name, *others = (" ".join(word.text for word in cell) for cell in cells(line.words))
    if not others and ORGANISM.match(name) is not None and ": " in name:
        label, _, organism = name.partition(": ")  # `Organism 1: Escherichia coli`
        others = [organism]
    else:
        label = without_leaders(name)
    is_told = named_in_words(label) or ORGANISM.match(name) is not None
    if not others or not is_told or is_administrative(label):
        return None
    row = _bare_row(line)
    row.name, row.values, row.is_loose = label, [(" ".join(others), "")], True
    return row


def _is_card(line: PdfLine, below: PdfLine) -> bool:
    """Whether a line is a name and its flag, and the next one says `Your value: 9.8 mg/dL`: read as a block."""
    *_, last = (" ".join(word.text for word in cell) for cell in cells(line.words))
    label, colon, _ = below.text.partition(":")
    return is_flag(last) and bool(colon) and column_of(label.strip(" .")) == "value"


def _named_number(line: PdfLine) -> Row | None:
    """A known name and a number, which nothing confirms yet."""
    texts = [" ".join(word.text for word in cell) for cell in cells(line.words)]
    sign, texts[0] = _sign_before(texts[0])
    if len(texts) < 2 or not is_name(texts[0]) or read_value(texts[-1]).kind not in NUMERIC:
        return None
    marks = texts[1:-1]
    if not all(map(is_flag, marks)):
        return None
    row = _bare_row(line)
    row.name, row.values, row.is_loose = texts[0], [(texts[-1], "")], True
    row.flag = sign or next(iter(marks), "")
    return row


def _ends_name(last: Row, line: PdfLine) -> bool:
    """Whether a line right below a row closes the brackets that its name opens: `(serum,` and `plasma) [U/L]`."""
    is_near = line.page == last.page and 0 < line.base - last.base <= NEAR * last.height
    is_open = last.name.count("(") == last.name.count(")") + 1
    is_rest = line.text.count(")") == line.text.count("(") + 1 and len(cells(line.words)) == 1
    return is_near and is_open and is_rest and abs(line.x0 - last.x0) < INDENT_MAX


def _second_unit(last: Row, line: PdfLine) -> str:
    """A line right below a row that gives its value in another unit, as it is printed; "" for another line."""
    first, *_ = cells(line.words)
    parts = split_value(" ".join(word.text for word in first))
    row = _bare_row(line)
    row.texts["unit"], row.values = parts.unit, [(parts.value, "")]
    is_near = line.page == last.page and line.base - last.base <= NEAR * last.height
    return line.text if is_near and parts.unit and is_same_result(last, row) else ""


def _bare_row(line: PdfLine) -> Row:
    return Row(line.text, line.page, line.base, line.height, line.x0, list(line.words), {}, [])


def _loose(line: PdfLine) -> Row | None:
    """A line as a result, if it looks like one."""
    found = loose_row(line.words, line.page, line.base, line.height)
    if found is not None:
        found.is_loose = True
    return found


def _sign_before(name: str) -> tuple[str, str]:
    """The sign before a known name, and the name: `* White Cell Count`; an arrow stands before any name."""
    sign, _, rest = name.partition(" ")
    is_told = is_name(rest) or ARROWS.issuperset(sign)
    is_sign = is_flag(sign) and not any(map(str.isalnum, sign)) and is_told
    return (sign, rest) if is_sign else ("", name)


def loose_row(words: Sequence[PdfWord], page: int, base: float, height: float) -> Row | None:
    """A line without headings as a result: a known name, then a number with a known unit or a range."""
    parts = [" ".join(word.text for word in cell) for cell in cells(words)]
    if len(parts) > 2 and re.fullmatch(r"[0-9]{1,3}[.)]?", parts[0]):
        del parts[0]  # the number of the row
    before = ""
    if len(parts) > 2 and is_flag(parts[0]) and not any(map(str.isalnum, parts[0])):
        before = parts.pop(0)  # a sign in the margin
    size, parts = len(parts), _part_labelled(parts)
    is_labelled = size == 1 < len(parts)  # `Colony count: >100,000 CFU/mL`
    if len(parts) < 2:
        return None
    sign, parts[0] = _sign_before(parts[0])
    before = before or sign
    head, mark = split_mark(parts[0])
    name = without_leaders(head)
    at = next(
        (n for n, text in enumerate(parts[1:], start=1) if is_result(split_value(text).value)), 0
    )
    if not at or is_administrative(name):
        return None
    value = split_value(parts[at])
    unit, range_, flag = value.unit, value.range, value.flag
    for text in parts[at + 1 :]:
        if not flag and is_flag(text):  # before units: H is an hour, and L a litre
            flag = text
        elif not unit and is_known_unit(text):
            unit = text
        elif not range_ and read_range(text).kind in ("interval", "titre"):
            range_ = text
    # A limit in words that are not known is given as it is printed, and flagged, rather than lost.
    range_ = range_ or next(filter(_is_worded_limit, parts[at + 1 :]), "")
    range_ = range_ or next(filter(ordinal_of, parts[at + 1 :]), "")
    is_numeric = read_value(value.value).kind in NUMERIC
    # Of a strip: `Nitrite   Negative`, `Urine ketones   Negative   [Negative]`.
    is_word = not is_numeric and (is_name(name) or read_range(range_).kind == "ordinal")
    if not (is_numeric or is_word) or not re.search(r"[^\W\d]{2}", name):
        return None
    is_measured = is_known_unit(unit) and bool(range_)
    is_confirmed = is_known_unit(unit) or bool(range_) or is_word
    if not is_confirmed:
        unit = unit or next(filter(_is_unit_like, parts[at + 1 :]), "")
        if not unit or not is_name(name):
            return None
    row = Row(
        name,
        page,
        base,
        height,
        words[0].x0,
        list(words),
        {"unit": unit, "range": range_},
        [(value.value, "")],
    )
    marks = [text for text in parts[1:at] if is_flag(text)]
    row.flag = flag or mark or before or next(iter(marks), "")
    # With unit and range, or behind a label, it is a result, whatever its name.
    is_told = is_name(name) or is_measured or is_labelled
    row.is_unread = at > 1 + len(marks) or not is_told or not is_confirmed
    return row


def _part_labelled(parts: list[str]) -> list[str]:
    """`Ferritin: 132 ug/L` in one cell as two; with a name that is not known only in a range, or as a count."""
    name, colon, rest = parts[0].partition(": ")
    value = split_value(rest)
    if not colon or read_value(value.value).kind not in NUMERIC:
        return parts
    is_measured = is_known_unit(value.unit) and any(
        read_range(text).kind == "interval" for text in parts[1:]
    )
    is_label = bool(column_of(name.strip(" .")))  # `Your value: 9.8 mg/dL` is of the name above
    # Other concentrations behind a label are limits, goals and earlier results: `Optimal: <100 mg/dL`.
    is_counted = _COUNTED.match(value.unit) is not None and len(parts) == 1 and not is_label
    is_told = is_measured or is_counted or is_name(name)
    return [name, rest, *parts[1:]] if is_told else parts


def _is_worded_limit(text: str) -> bool:
    """Whether a cell is a word and a number: `abaixo de 5,0 mg/L`."""
    return re.fullmatch(r"[^\W\d_]{2,}(?: [^\W\d_]+)? [0-9][0-9.,]*(?: \S+)?", text) is not None


def _is_unit_like(text: str) -> bool:
    """Whether a cell may be a unit that is not known: `mL/min/1.73m*2`."""
    return re.fullmatch(r"[^\W\d]\S*/\S+", text) is not None
