"""Reports without tables, as in Brazil: the name of a test on a line of its own, and below it `Resultado: 92 mg/dL`."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.model import Observation, Place
from stateward.pipelines.labs.pdf.cells import split_value, without_leaders
from stateward.pipelines.labs.pdf.layout import cells
from stateward.pipelines.labs.values import vote_decimal

LINES_MAX = 8  # of one block, below its name
NAME_WORDS_MAX = 8
_RESULT = re.compile(
    r"(?:resultados?|results?|ergebnis|résultats?|risultato|valor obtido)[\s.]*:\s*(?P<value>.+)",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?:valor(?:es)? de refer[êe]ncia|refer[êe]ncia|reference (?:range|interval|values?)|referenzbereich|"
    r"valeurs? de r[ée]f[ée]rence|valori di riferimento)[\s.]*:\s*(?P<range>.+)",
    re.IGNORECASE,
)  # fmt: skip
_SPECIMEN = re.compile(r"material[\s.]*:\s*(?P<specimen>[^\W\d]+)", re.IGNORECASE)


def block_observations(
    pages: Sequence[Sequence[PdfLine]], *, collected: str, patient: str
) -> list[Observation]:
    """The results of all blocks. Only reports in which no table was found are read so."""
    found = [each for page in pages for each in _page_blocks(page, collected, patient)]
    decimal = vote_decimal(text for each in found for text in (each.value, each.range))
    return [replace(each, decimal=decimal) for each in found]


def _page_blocks(page: Sequence[PdfLine], collected: str, patient: str) -> Iterator[Observation]:
    name: PdfLine | None = None
    for at, line in enumerate(page):
        texts = _cell_texts(line)
        result = next((match for text in texts if (match := _RESULT.fullmatch(text))), None)
        if result is None:
            if len(texts) == 1 and ":" not in texts[0] and len(texts[0].split()) <= NAME_WORDS_MAX:
                name = line
            continue
        if name is None:
            continue
        parts = split_value(result["value"])
        block = [line, *_rest(page[at + 1 : at + 1 + LINES_MAX])]
        yield Observation(
            test=without_leaders(name.text),
            value=parts.value,
            unit=parts.unit,
            flag=parts.flag,
            range=_first(_RANGE, block, "range") or parts.range,
            specimen=_first(_SPECIMEN, block, "specimen"),
            collected=collected,
            patient_key=patient,
            where=_place(name, line),
        )
        name = None


def _rest(lines: Sequence[PdfLine]) -> Iterator[PdfLine]:
    """The further lines of a block: up to the next name or result."""
    for line in lines:
        texts = _cell_texts(line)
        if any(map(_RESULT.fullmatch, texts)) or (len(texts) == 1 and ":" not in texts[0]):
            return
        yield line


def _first(pattern: re.Pattern[str], block: Sequence[PdfLine], group: str) -> str:
    found = (pattern.match(text) for line in block for text in _cell_texts(line))
    return next((match[group].strip() for match in found if match is not None), "")


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


def _place(name: PdfLine, line: PdfLine) -> Place:
    words = [*name.words, *line.words]
    box = (
        round(min(word.x0 for word in words), 1), round(min(word.top for word in words), 1),
        round(max(word.x1 for word in words), 1), round(max(word.bottom for word in words), 1),
    )  # fmt: skip
    return Place(page=line.page, box=box)
