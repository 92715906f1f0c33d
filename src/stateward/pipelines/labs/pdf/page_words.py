"""Words that are no part of a result: the block that later pages repeat above their table, and marks of accreditation.

They are taken away before any row is read, and so are bars that part columns. A heading of columns stays, and so does
whatever stands below it.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.corridors import with_cell_starts
from stateward.pipelines.kit.pdf.lines import baseline_rows
from stateward.pipelines.kit.pdf.pages import PdfPage, PdfWord
from stateward.pipelines.labs.pdf.letter_heights import with_font_heights
from stateward.pipelines.labs.pdf.piped import without_bars
from stateward.pipelines.labs.words import column_of, fold

MARKED_MIN = 2  # lines that begin with the sign, or hold it, besides the one that explains it
REPEATED_LINES_MAX = 60
HEADINGS_MIN = 2
LINE_GAP_MAX = 1.6  # of the height
_PAGE_NUMBER = re.compile(
    r"(?i)\b(?:page|seite|p[aá]gina|sida|side|strona|blatt|pag\.?)\W{0,2}[0-9]+"
)
_SIGN = re.compile(r"[^\w\s.,:;()\[\]<>=/%\-+]{1,3}")
_EXPONENT = re.compile(r"[-−]?[0-9]{1,2}")
_TEN = re.compile(r"(?<![0-9.,])10$")
RAISED_SHARE = 0.8  # of the height of the ten
RAISED_MIN = 0.12  # of that height, above its foot
TOUCHING = 0.15  # of that height
_SENTENCE_END = re.compile(r"[^\W\d_]{3}[.;]$")  # of a word: `ca.` and `15189.` end none
# What a laboratory says of a sign that has nothing to do with a result: who accredits the method, or carries it out.
_ABOUT_METHOD = re.compile(
    r"akkredit|accredit|acredit|ackredit|cofrac|dakks|ukas\b|sanas\b|\bnata\b|inab\b|accredia|\benac\b"
    r"|\b(?:iso|en)[ /]*(?:iec )?(?:15189|17025)"
    r"|unterauftrag|fremdlabor|fremdleistung|sous trait|subcontract|referred (?:test|to)|outsourced"
    r"|uitbested|esternalizz"
)
# A sign that is said to be this of a value, too, is a flag.
_ABOUT_VALUE = re.compile(
    r"out of|outside|abnormal|hors|ausserhalb|auserhalb|außerhalb|fuori|fuera|buiten|poza|patholog|valeur|wert\b|range"
)


def _with_exponents(words: Sequence[PdfWord]) -> list[PdfWord]:
    """The words with raised figures as exponents: a small 9 right behind a 10 and before `/L` is `10^9/L`."""
    small = [word for word in words if _EXPONENT.fullmatch(word.text)]
    taken: dict[int, PdfWord] = {}
    gone: set[int] = set()
    for word in small:
        height = word.bottom - word.top
        base = next((each for each in words if _is_raised(word, each)), None)
        if base is None or height >= RAISED_SHARE * (base.bottom - base.top):
            continue
        near = TOUCHING * (base.bottom - base.top)
        behind = next(
            (
                each
                for each in words
                if abs(each.base - base.base) < 1
                and abs(each.x0 - word.x1) <= near
                and each is not base
            ),
            None,
        )
        gone |= {id(word)} | ({id(behind)} if behind is not None else set())
        rest = behind.text if behind is not None else ""
        end = behind.x1 if behind is not None else word.x1
        taken[id(base)] = replace(base, text=f"{base.text}^{word.text}{rest}", x1=end)
    return [taken.get(id(word), word) for word in words if id(word) not in gone]


def _is_raised(word: PdfWord, base: PdfWord) -> bool:
    """Whether a small word begins where a ten ends, and its foot is above that of the ten."""
    height = base.bottom - base.top
    is_above = RAISED_MIN * height <= base.base - word.base <= height
    return (
        _TEN.search(base.text) is not None
        and is_above
        and abs(word.x0 - base.x1) <= TOUCHING * height
    )


def table_words(pages: Sequence[PdfPage]) -> list[PdfPage]:
    """The pages without what is no part of any result."""
    pages = [with_font_heights(page) for page in pages]
    pages = [replace(page, words=_with_exponents(page.words)) for page in pages]
    marks = method_marks(pages)
    first = _texts(pages[0].words) if pages else []
    return [
        replace(
            page,
            words=with_cell_starts(
                without_bars(_without_repeats(page.words, first if number else [], marks))
            ),
        )
        for number, page in enumerate(pages)
    ]


def method_marks(pages: Sequence[PdfPage]) -> frozenset[str]:
    """Signs which a sentence of the report explains as marks of accreditation or of another laboratory."""
    rows = [row for page in pages for row in baseline_rows(page.words)]
    signs = {word.text for row in rows for word in row if _SIGN.fullmatch(word.text)}
    return frozenset(
        sign for sign in signs if _is_explained(sign, [[word.text for word in row] for row in rows])
    )


def _is_explained(sign: str, rows: Sequence[Sequence[str]]) -> bool:
    holding = [
        _part_about(sign, texts)
        for texts in rows
        if sign in texts or any(text.strip("()\"'.:,") == sign for text in texts)
    ]
    told = [fold(" ".join(texts)) for texts in holding]
    explained = [text for text in told if _ABOUT_METHOD.search(text)]
    return (
        bool(explained)
        and not any(
            _ABOUT_VALUE.search(text)
            for text in told
            if len(text.split()) > MARKED_MIN and text not in explained
        )
        and len(holding) - len(explained) >= MARKED_MIN
    )


def _part_about(sign: str, texts: Sequence[str]) -> Sequence[str]:
    """The sentence of a line that holds a sign, up to the next sign: `* out of range. Laboratory accredited ...`.

    `* out of range   # accredited` explains each sign by itself, too.
    """
    if sign not in texts:
        return texts
    at = texts.index(sign)
    before = [n + 1 for n, text in enumerate(texts[:at]) if _SENTENCE_END.search(text)]
    after = [
        n if _SIGN.fullmatch(texts[n]) else n + 1
        for n in range(at + 1, len(texts))
        if _SIGN.fullmatch(texts[n]) or _SENTENCE_END.search(texts[n])
    ]
    start = before[-1] if before else 0
    has_others = any(_SIGN.fullmatch(text) for n, text in enumerate(texts) if n != at)
    return texts[at if has_others else start : after[0] if after else len(texts)]


def _without_repeats(
    words: Sequence[PdfWord], first: Sequence[str], marks: frozenset[str]
) -> list[PdfWord]:
    rows = baseline_rows(words)
    same = 0
    for row, text in zip(rows[:REPEATED_LINES_MAX], first, strict=False):
        if _plain(" ".join(word.text for word in row)) != text:
            break
        same += 1
    headings = [at for at, row in enumerate(rows[:same]) if _names_columns(row)]
    if headings:
        same = headings[-1]
        # A heading may take two lines.
        is_close = same and rows[same][0].base - rows[same - 1][0].base < LINE_GAP_MAX * _height(
            rows[same]
        )
        same -= bool(is_close)
    return [
        word
        for row in rows[same:]
        for word in row
        if word.text not in marks or _ABOUT_METHOD.search(fold(" ".join(each.text for each in row)))
    ]


def _height(row: Sequence[PdfWord]) -> float:
    return row[0].bottom - row[0].top


def _texts(words: Sequence[PdfWord]) -> list[str]:
    return [_plain(" ".join(word.text for word in row)) for row in baseline_rows(words)]


def _plain(text: str) -> str:
    return _PAGE_NUMBER.sub("", text)


def _names_columns(row: Sequence[PdfWord]) -> bool:
    told = [word.text for word in sorted(row, key=lambda word: word.x0)]
    joined = [*told, *(f"{one} {two}" for one, two in pairwise(told))]
    roles = {role for text in joined if (role := column_of(text))}
    return "test" in roles and len(roles) >= HEADINGS_MIN
