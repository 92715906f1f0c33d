"""Results in running text: `GOT 17 U/l, Kreatinin 0,9 mg/dl` in a letter, `WBC 7.6 (H) K/uL (4.0 - 11.0)` elsewhere."""

import re
from collections.abc import Iterator, Sequence

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import Parts, parts_in_any_order
from stateward.pipelines.labs.pdf.row import Row

NAME_WORDS_MAX = 6

Told = tuple[str, Parts]  # a name, and what follows it


def has_sentence(text: str) -> bool:
    """Whether a text lists results, maybe among other words."""
    return any(map(_result, _pieces(text)))


def sentence_rows(line: PdfLine) -> Iterator[Row]:
    """The results of a line that lists some and says nothing else; none of any other line."""
    found = [_result(piece) for piece in _pieces(line.text)]
    if not found or not all(found):
        return
    for each in found:
        if each is None:
            continue
        name, parts = each
        row = Row(
            name,
            line.page,
            line.base,
            line.height,
            line.x0,
            list(line.words),
            {"unit": parts.unit, "range": parts.range},
            [(parts.value, "")],
        )
        row.flag = parts.flag
        yield row


def _pieces(text: str) -> Sequence[str]:
    text = text.strip(" .;,")
    if _result(text):  # `Bilirubin, Total 0.5 mg/dL` is one
        return [text]
    return [piece for each in re.split(r"[;,](?=\s|$)", text) if (piece := each.strip(" .;,"))]


def _result(piece: str) -> Told | None:
    """A known name and what follows it, if that is a value with its unit or range and nothing else."""
    _, _, after = piece.rpartition(": ")
    for text in dict.fromkeys((piece, after)):
        words = text.split()
        for count in range(min(NAME_WORDS_MAX, len(words) - 1), 0, -1):
            name = " ".join(words[:count]).rstrip(":=")
            if re.match(r"[<>≤≥]?[0-9]", words[count]) and is_name(name):
                parts = parts_in_any_order(words[count:])
                return None if parts is None else (name, parts)
    return None
