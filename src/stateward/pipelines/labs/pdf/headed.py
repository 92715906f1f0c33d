"""The tables of a page: a line of headings, the lines below it, and what the line above says of all of them."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.pdf.cells import without_leaders
from stateward.pipelines.labs.pdf.headings import (
    Heading,
    continues_heading,
    headings_of,
    joined_headings,
)
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.words import SECTIONS, fold, specimen_of

TITLE_WORDS_MAX = 7
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


def table_blocks(page: Lines) -> Iterator[Block]:
    """The tables of a page. Lines above the first heading belong to the table of the page before, or to none."""
    block = Block([], [])
    last: PdfLine | None = None
    joined = dict(joined_headings(page))
    for at, line in enumerate(page):
        found = headings_of(line) or joined.get(at, [])
        if found:
            title, unit = _title_above(block.body), _unit_above(block.body)
            if unit:
                block.body.pop()
            if block.body:
                yield block
            block, last = Block(found, [], title, unit), line
        elif last is not None and not block.body and continues_heading(block.headings, last, line):
            last = line
        else:
            block.body.append(line)
    yield block


def _title_above(body: Lines) -> str:
    """The section that a line right above a heading names."""
    if not body:
        return ""
    text = without_leaders(body[-1].text)
    is_short = len(text.split()) <= TITLE_WORDS_MAX and not re.search(r"[0-9:]", text)
    is_known = fold(text) in SECTIONS or bool(specimen_of(text))
    return text if is_short and (is_known or text.isupper()) else ""


def _unit_above(body: Lines) -> str:
    """The unit of all values of a table, where the line right above its headings says it: `Unit: mmol/L`."""
    found = _UNIT_LINE.fullmatch(body[-1].text.strip()) if body else None
    return found[1] if found is not None and is_known_unit(found[1]) else ""
