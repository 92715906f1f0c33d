"""Results in running text: `GOT 17 U/l, Kreatinin 0,9 mg/dl` in a letter, `WBC 7.6 (H) K/uL (4.0 - 11.0)` elsewhere."""

import re
from collections.abc import Iterator, Sequence

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import NUMERIC, UNIT_WORDS_MAX, Parts, is_flag
from stateward.pipelines.labs.pdf.row import Row
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit, is_measure
from stateward.pipelines.labs.values import read_value

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
                parts = _parts(words[count:])
                return None if parts is None else (name, parts)
    return None


def _parts(words: list[str]) -> Parts | None:
    """Value, flag, unit and range in any order behind the value; None if anything is left."""
    size = 2 if words[0] in ("<", ">", "≤", "≥") and len(words) > 1 else 1
    parts = Parts(" ".join(words[:size]))
    words = words[size:]
    if read_value(parts.value).kind not in NUMERIC:
        return None
    while words:
        if not parts.flag and is_flag(words[0]):
            parts.flag, words = words[0], words[1:]
        elif not parts.unit and (count := _unit_words(words)):
            parts.unit, words = " ".join(words[:count]), words[count:]
        elif not parts.range and read_range(" ".join(words)).kind in ("interval", "titre"):
            parts.range, words = " ".join(words), []
        else:
            return None
    return parts if is_measure(parts.unit) or parts.range else None


def _unit_words(words: Sequence[str]) -> int:
    """How many words at the beginning are a unit."""
    counts = range(min(UNIT_WORDS_MAX, len(words)), 0, -1)
    return next((count for count in counts if is_known_unit(" ".join(words[:count]))), 0)
