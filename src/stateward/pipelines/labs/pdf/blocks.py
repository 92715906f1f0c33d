"""Reports without tables: the name of a test, and below it what is known of it, each part after its label.

`Resultado: 92 mg/dL` as in Brazil, `Result: 5.4   Flag: High   Reference Range: …`, and cards of patient portals whose
value stands alone below `Normal range: 3.5 - 5.1 mmol/L`.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.model import Observation, Place
from stateward.pipelines.labs.pdf.cells import (
    cells,
    is_flag,
    is_result,
    split_value,
    without_leaders,
)
from stateward.pipelines.labs.pdf.row import is_administrative
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import vote_decimal
from stateward.pipelines.labs.words import column_of

LINES_MAX = 8  # of one block, below its name
NAME_WORDS_MAX = 8
BARE = ""  # the role of a cell without a label


class _Block(msgspec.Struct):
    """A test in the making: its name, and what stood below it by role."""

    name: str
    first: PdfLine
    parts: dict[str, str] = {}
    last: PdfLine | None = None
    lines: int = 0

    def take(self, role: str, text: str, line: PdfLine) -> None:
        if text and role not in self.parts:
            self.parts[role] = text
            self.last = line


def block_observations(
    pages: Sequence[Sequence[PdfLine]], *, collected: str, patient: str
) -> list[Observation]:
    """The results of all blocks. Only reports in which no table was found are read so."""
    found = [
        _observation(block, block.last, collected, patient)
        for page in pages
        for block in _page_blocks(page)
        if block.last is not None and "value" in block.parts
    ]
    decimal = vote_decimal(text for each in found for text in (each.value, each.range))
    return [replace(each, decimal=decimal) for each in found]


def _page_blocks(page: Sequence[PdfLine]) -> Iterator[_Block]:
    block: _Block | None = None
    for line in page:
        told = [_split_label(text) for text in _cell_texts(line)]
        name = _name(told, has_value=block is not None and "value" in block.parts)
        if block is not None and (name or block.lines >= LINES_MAX):
            yield block
            block = None
        if name:
            block = _Block(name, line)
        elif block is not None:
            _take(block, told, line)
    if block is not None:
        yield block


def _name(told: Sequence[tuple[str, str]], *, has_value: bool) -> str:
    """The name of a test that a line is: after a label, or a few words alone; "" for other lines."""
    labelled = next((text for role, text in told if role == "test" and text), "")
    if labelled:
        return without_leaders(labelled)
    role, text = told[0]
    is_alone = len(told) == 1 and role == BARE and ":" not in text
    is_short = len(text.split()) <= NAME_WORDS_MAX
    is_words = not is_result(split_value(text).value) or has_value
    return without_leaders(text) if is_alone and is_short and is_words else ""


def _take(block: _Block, told: Sequence[tuple[str, str]], line: PdfLine) -> None:
    block.lines += 1
    for role, text in told:
        if role != BARE:
            block.take(role, text, line)
    bare = [text for role, text in told if role == BARE]
    # A value alone is that of the name above only if something else says that this is a test.
    if not bare or "value" in block.parts or not is_result(split_value(bare[0]).value):
        return
    if "range" in block.parts or split_value(bare[0]).unit:
        block.take("value", bare[0], line)
        for text in bare[1:]:
            role = "flag" if is_flag(text) else "unit" if is_known_unit(text) else "comment"
            block.take(role, text, line)


def _observation(block: _Block, last: PdfLine, collected: str, patient: str) -> Observation:
    parts, told = split_value(block.parts["value"]), block.parts
    return Observation(
        test=block.name,
        value=parts.value,
        unit=parts.unit or told.get("unit", ""),
        flag=parts.flag or told.get("flag", ""),
        range=told.get("range", "") or parts.range,
        specimen=told.get("specimen", ""),
        comment=told.get("comment", ""),
        collected=collected,
        patient_key=patient,
        where=_place(block.first, last),
    )


def _split_label(text: str) -> tuple[str, str]:
    """What the label before a text says that it is, and the text; as it is where there is no label that is known."""
    label, colon, rest = text.partition(":")
    role = column_of(label.strip(" .")) if colon else ""
    is_known = role not in ("", "patient", "collected", "resulted") and not is_administrative(rest)
    return (role, rest.strip()) if is_known else (BARE, text)


def _cell_texts(line: PdfLine) -> list[str]:
    """The cells of a line; what stands apart behind a label (`Resultado:   92   mg/dL`) is part of it."""
    texts: list[str] = []
    for cell in cells(line.words):
        text = " ".join(word.text for word in cell)
        is_value = bool(texts) and (":" not in text or texts[-1].endswith(":"))
        if is_value and ":" in texts[-1]:
            texts[-1] = f"{texts[-1]} {text}"
        else:
            texts.append(text)
    return texts


def _place(first: PdfLine, last: PdfLine) -> Place:
    words = [*first.words, *last.words]
    box = (
        round(min(word.x0 for word in words), 1), round(min(word.top for word in words), 1),
        round(max(word.x1 for word in words), 1), round(max(word.bottom for word in words), 1),
    )  # fmt: skip
    return Place(page=first.page, box=box)
