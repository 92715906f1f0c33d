"""The stage `parse`: a file of any format becomes a paper, with its blocks as items and its metadata about them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.definition.plugin import HEAD_BYTES
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT, TEXT_TOO_LARGE
from stateward.pipelines.literature.detection import format_of
from stateward.pipelines.literature.options import JobOptions
from stateward.pipelines.literature.paper import (
    BLOCKS_MAX,
    CELLS_MAX,
    SEVERAL_PAPERS,
    TEXT_CHARS_MAX,
    Block,
    Note,
    Paper,
)

READER_VERSION = 16  # to be increased by a change after which the same bytes give other blocks
LONG_BLOCK = "LONG_BLOCK"
LARGE_TABLE = "LARGE_TABLE"


def read_paper(path: Path, options: JobOptions) -> Paper:
    """A paper from a file of any format."""
    size = path.stat().st_size
    if size > options.bytes_max:
        raise FatalFailure(
            f"the file has {size} bytes and the limit is {options.bytes_max}; "
            "raise literature.bytes_max if papers are that large",
            code=TEXT_TOO_LARGE,
        )
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    paper = _read(format_of(head), path, options)
    if not paper.blocks and not paper.metadata.title:
        raise FatalFailure(
            "the file holds no text of a paper; submit another one", code=EMPTY_DOCUMENT
        )
    if len(paper.blocks) > BLOCKS_MAX:
        raise FatalFailure(
            f"the paper has {len(paper.blocks)} blocks and the limit is {BLOCKS_MAX}; split the file",
            code=TEXT_TOO_LARGE,
        )
    return bound_blocks(paper)


def _read(format_: str, path: Path, options: JobOptions) -> Paper:
    """Each reader is imported when it is needed: a list of abstracts must not wait for a PDF library."""
    match format_:
        case "jats":
            from stateward.pipelines.literature.jats import read_jats

            return read_jats(path.read_bytes())
        case "pubmed":
            from stateward.pipelines.literature.pubmed import read_pubmed

            return read_pubmed(path.read_bytes())
        case "html":
            from stateward.pipelines.literature.html import read_html

            return read_html(path, chars_max=options.chars_max)
        case "arxiv":
            from stateward.pipelines.literature.arxiv import read_arxiv

            return read_arxiv(path.read_bytes())
        case "trial":
            from stateward.pipelines.literature.trial import read_trial

            return read_trial(path)
        case "pdf":
            from stateward.pipelines.literature.pdf import read_pdf

            return read_pdf(path, pages_max=options.pages_max, chars_max=options.chars_max)
        case "list":
            raise FatalFailure(
                "the file is a list of papers; `stateward literature add FILE` makes a record of each",
                code=SEVERAL_PAPERS,
            )
    from stateward.pipelines.literature.text import read_text

    return read_text(path, pages_max=options.pages_max, chars_max=options.chars_max)


def bound_blocks(paper: Paper) -> Paper:
    """The paper with blocks that can be stored: a text that is too long is continued in further blocks."""
    if not any(len(each.text) > TEXT_CHARS_MAX or each.rows for each in paper.blocks):
        return paper
    notes: list[Note] = []
    blocks = [part for each in paper.blocks for part in _parts(each, notes)]
    return Paper(metadata=paper.metadata, blocks=blocks, notes=[*paper.notes, *notes])


def _parts(block: Block, notes: list[Note]) -> Iterator[Block]:
    cells = sum(map(len, block.rows))
    chars = sum(len(cell) for row in block.rows for cell in row)
    if cells > CELLS_MAX or chars > TEXT_CHARS_MAX:
        notes.append(
            Note(
                code=LARGE_TABLE,
                message=f"a table of {cells} cells is too large and is left out",
                where=block.where,
            )
        )
        block = msgspec.structs.replace(block, rows=[])
    if len(block.text) <= TEXT_CHARS_MAX:
        yield block
        return
    notes.append(
        Note(
            code=LONG_BLOCK,
            message=f"a text of {len(block.text)} characters is continued in further blocks",
            where=block.where,
        )
    )
    for start in range(0, len(block.text), TEXT_CHARS_MAX):
        yield msgspec.structs.replace(block, text=block.text[start : start + TEXT_CHARS_MAX])


def about_paper(paper: Paper) -> Fields:
    """What is said of the blocks as a whole."""
    about: Fields = msgspec.to_builtins({"metadata": paper.metadata, "notes": paper.notes})
    return about
