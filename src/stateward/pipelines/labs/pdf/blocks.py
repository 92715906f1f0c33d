"""Reports without tables: the name of a test, and below it what is known of it, each part after its label.

`Resultado: 92 mg/dL` as in Brazil, `Result: 5.4   Flag: High   Reference Range: …`, and cards of patient portals whose
value stands alone below `Normal range: 3.5 - 5.1 mmol/L`.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import (
    cells,
    is_flag,
    is_result,
    split_value,
    without_leaders,
)
from stateward.pipelines.labs.pdf.row import Row, is_administrative
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.words import column_of

LINES_MAX = 8  # of one block, below its name
NAME_WORDS_MAX = 8
BARE = ""  # the role of a cell without a label


class _Block(msgspec.Struct):
    """A test in the making: its name, and what stood below it by role."""

    name: str
    words: list[PdfWord]
    page: int
    base: float
    height: float
    parts: dict[str, str] = {}
    lines: int = 0

    def take(self, role: str, text: str, line: PdfLine) -> None:
        if text and role not in self.parts:
            self.parts[role] = text
            if line.words[0] not in self.words:
                self.words += line.words


def block_rows(pages: Sequence[Sequence[PdfLine]], rows: Sequence[Row]) -> Iterator[Row]:
    """The results of all blocks, in lines that are part of no other row."""
    read = {id(word) for row in rows if not row.is_unread for word in row.words}
    for page in pages:
        for block in _page_blocks(page, read):
            if "value" in block.parts and _is_believable(block):
                yield _row(block)


def without_blocks(body: Sequence[PdfLine]) -> list[PdfLine]:
    """The lines of a table up to the first block below it: a name, and lines that begin with `Result: 5.4`."""
    for at, line in enumerate(body):
        role, text = _split_label(without_leaders(_cell_texts(line)[0]))
        if role != "value" or not text:
            continue
        start = at
        while start > 0 and at - start < LINES_MAX and _is_block_line(body[start - 1]):
            start -= 1
        return list(body[:start])
    return list(body)


def _is_block_line(line: PdfLine) -> bool:
    texts = _cell_texts(line)
    return len(texts) == 1 or ":" in texts[0]


def _page_blocks(page: Sequence[PdfLine], read: Collection[int]) -> Iterator[_Block]:
    """The blocks of a page; a line that is part of another row ends one: what stands below is of that row."""
    block: _Block | None = None
    for line in page:
        if any(id(word) in read for word in line.words):
            if block is not None:
                yield block
            block = None
            continue
        told = [_split_label(text) for text in _cell_texts(line)]
        name = _name(told, has_value=block is not None and "value" in block.parts)
        if block is not None and (name or block.lines >= LINES_MAX):
            yield block
            block = None
        if name:
            block = _Block(name, list(line.words), line.page, line.base, line.height)
            for role, text in told[1:]:
                block.take(role or "flag", text, line)
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
    is_flagged = len(told) == 2 and told[1][0] == BARE and is_flag(told[1][1])
    is_alone = (len(told) == 1 or is_flagged) and role == BARE and ":" not in text
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


def _is_believable(block: _Block) -> bool:
    """Whether a name and a value are a result: `Befund: Endbefund` below a letterhead is none."""
    value = split_value(block.parts["value"])
    return bool(value.unit or block.parts.get("range")) or is_name(block.name)


def _row(block: _Block) -> Row:
    texts = {role: text for role, text in block.parts.items() if role not in ("value", "test")}
    texts["labels"] = " ".join(word.text for word in block.words)  # they are no part of the result
    return Row(
        block.name,
        block.page,
        block.base,
        block.height,
        block.words[0].x0,
        block.words,
        texts,
        [(block.parts["value"], "")],
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
        if len(texts) == 1 and column_of(texts[0]) == "value":  # a label without a colon
            texts[0] += ":"
        is_value = bool(texts) and (":" not in text or texts[-1].endswith(":"))
        if is_value and ":" in texts[-1]:
            texts[-1] = f"{texts[-1]} {text}"
        else:
            texts.append(text)
    return texts
