"""The tables of a page: a line of headings, the lines below it, and what the line above says of all of them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.pdf.cells import cells, without_leaders
from stateward.pipelines.labs.pdf.headings import (
    UNKNOWN,
    Heading,
    continues_heading,
    count_roles,
    headings_of,
    joined_headings,
    stacked_headings,
)
from stateward.pipelines.labs.pdf.line_kinds import is_no_section
from stateward.pipelines.labs.pdf.samples import sample_headings
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.words import SECTIONS, column_of, fold, specimen_of

TITLE_WORDS_MAX = 7
LABELS_MAX = 4  # lines between the name of a test and the headings of its results
BESIDE_MARGIN = 4.0  # points
CAPTIONS_MIN = 2  # tables of one page with the same headings, each below the name of its test
BESIDE_MAX = (
    1.2  # of the height: half a line, as cells of a table are centred beside one of two lines
)
HEADING_GAP_MAX = 2.2  # of the height: a heading over two lines
LIMITED = frozenset({"range", UNKNOWN})  # columns that may be parted into two limits
_UNIT_LINE = re.compile(
    r"(?:.*\b)?(?:units?|einheit(?:en)?|unit[ée]s?|unidad(?:es)?|unità|eenheid|(?:results?|values?|werte|ergebnisse)\b.*\bin)"
    r"\s*[:=]?\s+(\S+(?: \S+)?)",
    re.IGNORECASE,
)

Lines = Sequence[PdfLine]


class Block(msgspec.Struct):
    """A line of headings and the lines below it; `unit` is that of all values, where a line above says so."""

    headings: list[Heading]
    body: list[PdfLine]
    title: str = ""
    unit: str = ""
    caption: PdfLine | None = (
        None  # above headings that name no test: the test of which all below it is
    )
    told: dict[str, str] = {}  # what labels between the caption and the headings say of it, by role


def table_blocks(page: Lines) -> Iterator[Block]:
    """The tables of a page. Lines above the first heading belong to the table of the page before, or to none."""
    block = Block([], [])
    last: PdfLine | None = None
    joined = {**dict(joined_headings(page)), **dict(sample_headings(page))}
    taken = -1
    counts = Counter(line.text for line in page)
    for at, line in enumerate(page):
        if at == taken:
            continue
        found, end = _headings_at(page, at, joined)
        if found:
            is_captioned = all(each.role != "test" for each in found) and (
                counts[line.text] >= CAPTIONS_MIN
                or _begins_with_values(found, page[at + 1 : at + 2])
            )
            beside, taken = _headings_beside(page, at, found) if end == at else ([], end)
            found = sorted([*found, *beside], key=lambda each: each.x0)
            title, unit = _title_above(block.body), _unit_above(block.body)
            if unit:
                block.body.pop()
            caption, told = _take_caption(block.body) if is_captioned else (None, {})
            if block.body:
                yield block
            block, last = Block(found, [], title, unit, caption, told), page[end]
        elif last is not None and not block.body and (limits := _limits_below(block, last, line)):
            block.headings, last = limits, line
        elif last is not None and not block.body and continues_heading(block.headings, last, line):
            last = line
        else:
            block.body.append(line)
    yield block


def _begins_with_values(found: Sequence[Heading], below: Lines) -> bool:
    """Whether nothing stands left of the first column, which is one of values: there is no place for names."""
    first = min(found, key=lambda each: each.x0)
    return first.role == "value" and any(line.x0 > first.x0 - BESIDE_MARGIN for line in below)


def _take_caption(body: list[PdfLine]) -> tuple[PdfLine | None, dict[str, str]]:
    """The name of a test above its headings, and what lines between say of it: `Material: serum`; off the body."""
    told: dict[str, str] = {}
    for at in range(len(body) - 1, max(len(body) - 2 - LABELS_MAX, -1), -1):
        label, colon, text = body[at].text.partition(":")
        if not (colon and text.strip()):
            caption = body[at]
            del body[at:]
            return caption, told
        told.setdefault(column_of(label.strip(" .")), text.strip())
    return (body.pop() if body else None), {}


def _headings_at(
    page: Lines, at: int, joined: Mapping[int, Sequence[Heading]]
) -> tuple[Sequence[Heading], int]:
    """The headings of a line, and the line that they end with: the next one, where both together name more columns."""
    found = headings_of(page[at]) or joined.get(at, [])
    is_worded = bool(found) or not any(map(str.isdigit, page[at].text))  # most lines are results
    if is_worded and at + 1 < len(page) and joined.keys().isdisjoint((at, at + 1)):
        stacked = stacked_headings(page[at], page[at + 1])
        count = count_roles(stacked)
        if count > count_roles(found) and count > count_roles(headings_of(page[at + 1])):
            return stacked, at + 1
    return found, at


def _limits_below(block: Block, last: PdfLine, line: PdfLine) -> list[Heading]:
    """The headings with those of limits in place of what stands above them: `Mini  Maxi` below `Limits of quality`."""
    if line.base - last.base > HEADING_GAP_MAX * last.height:
        return []
    found = [
        Heading(column_of(text), part[0].x0, part[-1].x1, text)
        for part in cells(line.words)
        if (text := " ".join(word.text for word in part))
    ]
    pairs = [each.role for each in found]
    if len(found) < 2 or pairs != ["low", "high"] * (len(found) // 2):
        return []
    left, right = found[0].x0, found[-1].x1
    kept = [each for each in block.headings if each.x1 < left or each.x0 > right]
    replaced = {each.role for each in block.headings} - {each.role for each in kept}
    return sorted([*kept, *found], key=lambda each: each.x0) if replaced <= LIMITED else []


def _headings_beside(page: Lines, at: int, found: Sequence[Heading]) -> tuple[list[Heading], int]:
    """Columns whose headings are set in two lines, half above and half below the line of the others.

    `Vorwert` and its day stand so beside `Untersuchung`. With them comes the index of the line below, if it is used.
    """
    line, taken = page[at], -1
    beside: list[Heading] = []
    if any(each.role == "date" for each in found):
        return [], -1
    for near in (at - 1, at + 1):
        if not 0 <= near < len(page):
            continue
        distance = abs(page[near].base - line.base)
        parts = cells(page[near].words)
        is_beside = all(
            part[-1].x1 < each.x0 or part[0].x0 > each.x1 for part in parts for each in found
        )
        if distance > BESIDE_MAX * line.height or not is_beside:
            continue
        if near > at:
            taken = near
        for part in parts:
            text = " ".join(word.text for word in part)
            beside.append(Heading(column_of(text) or UNKNOWN, part[0].x0, part[-1].x1, text))
    return _without_lower(beside), taken


def _without_lower(headings: Sequence[Heading]) -> list[Heading]:
    """The headings without those that stand below another one; what the first says is what holds."""
    kept: list[Heading] = []
    for each in headings:
        if not any(each.x0 < other.x1 and each.x1 > other.x0 for other in kept):
            kept.append(each)
    return [each for each in kept if each.role in (UNKNOWN, "previous", "comment", "method")]


def _title_above(body: Lines) -> str:
    """The section that a line right above a heading names."""
    if not body:
        return ""
    text = without_leaders(body[-1].text)
    is_short = len(text.split()) <= TITLE_WORDS_MAX and not re.search(r"[0-9:]", text)
    is_known = fold(text) in SECTIONS or bool(specimen_of(text))
    is_title = is_known or (text.isupper() and not is_no_section(text))
    return text if is_short and is_title else ""


def _unit_above(body: Lines) -> str:
    """The unit of all values of a table, where the line right above its headings says it: `Unit: mmol/L`."""
    found = _UNIT_LINE.fullmatch(body[-1].text.strip()) if body else None
    return found[1] if found is not None and is_known_unit(found[1]) else ""
