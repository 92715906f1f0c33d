"""A result in the making: the cells of a line, before they are taken apart."""

import re
from collections.abc import Sequence

import msgspec

from stateward.pipelines.kit.pdf.page_numbers import PAGE_OF
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import cells
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import LABELS, LINES, fold

NAME_CHARS_MAX = 120
SMALL_PRINT = 0.88  # of the height of a row: a method or remark below its name
NEAR = 1.8  # of the height: a line that continues the one above is not farther below
# A zero, a plus or brackets before many digits: `020 7946 0102`, `+44 20 7946`, `(555) 010-2233`; or `555.555.0199`.
_PHONE = re.compile(
    r"(?<![\w.,])(?:\+[0-9]{1,3}[ .-]?(?:\(0\))?|0(?=[0-9])|\([0-9]{2,5}\) ?(?=[0-9]{3,4}[- ][0-9]))"
    r"[0-9]+(?:[ /.-][0-9]{2,})*(?![\w.,]?[0-9])|(?<![\w.,])[0-9]{3}\.[0-9]{3}\.[0-9]{4}(?![\w.,]?[0-9])"
)
PROSE_CELLS_MIN = 5
PROSE_WORDS_MIN = 8
PHONE_DIGITS_MIN = 9
_STREET = re.compile(
    r"\b(?:street|road|avenue|boulevard|lane|p\.? ?o\.? box|postfach|rue de|avenida|rua|"
    r"\w+stra(?:ß|ss)e|\w+straat)\b",
    re.IGNORECASE,
)
_PAGE = re.compile(r"[0-9]{1,3} (?:of|von|de|sur|di|van|z|av|af) [0-9]{1,3}", re.IGNORECASE)
_PAGED = re.compile(r"\b[1-9][0-9]? ?\([1-9][0-9]?\)$")  # `1 (2)`, as in the north
_OF_PAGES = re.compile(r"[1-9][0-9]? ?/ ?[1-9][0-9]?")  # beside a telephone number
_DAY = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4})(?:[ ,T]+[0-9]{1,2}[:.][0-9]{2}\S*)?"
)
_CLOCK = re.compile(r"[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?: ?[AaPp][Mm])?")
# Who signs, and by which right: `Dr. A. Example, MD`, `Reg. No: 44719`.
_SIGNER = re.compile(
    r"\b(?:Dra?|Prof|Dott(?:\.ssa)?)\.? (?:med\.? )?[A-ZÄÖÜ]"
    r"|\bM\.?B\.?B\.?S\b|\bM\.?D\.?(?: ?\(|,|$| [A-Z])|\bPh\.? ?D\b|\b[MB]\.? ?Sc\b|\bD\.?N\.?B\b|\bDCP\b"
    r"|\bFRC[A-Z]\w*|\bMRC[A-Z]\w*|\bDipRC\w*"
    r"|\b(?:[Rr]eg(?:n|istration|d)?|REG|[Ll]ic(?:en[cs]e)?|[Mm]embership)\.? ?[Nn][ro]\b"
    r"|\b(?:[Ll]ab(?:oratory)? )?[Tt]echni(?:cian|ologist)\b|\b[Bb]iochemist\b"
    r"|\b[Pp]athologist\b|\b[Mm]icrobiologist\b"
)
_FOOTNOTE = re.compile(r"(?P<name>.*[^\W\d].*?)0[1-9]")


class Row(msgspec.Struct):
    """A result in the making."""

    name: str
    page: int
    base: float
    height: float
    x0: float
    words: list[PdfWord]
    texts: dict[str, str]
    values: list[tuple[str, str]]  # a value and its date, "" where the report has one date
    flag: str = ""
    section: str = ""
    shared_unit: str = ""  # of all rows of the table
    comment: str = ""
    is_unread: bool = False
    start: float = 0.0  # the baseline of its first line
    gap_below: float = 0.0  # to the next line
    has_colon: bool = False
    is_loose: bool = False  # found without headings
    has_unread: bool = False  # a cell of it is in no field, and may be part of the result
    has_unsure_code: bool = False  # of a table whose other tests are none of a person
    has_unsure_limits: bool = False  # by columns whose headings are not known
    meaning: str = ""  # of the value, where only the table tells it
    table: tuple[str, ...] = ()  # the headings of its table; none where it has none
    # A line below says "reference interval:", and the next one may give it.
    awaits_range: bool = False


def name_of(row: Row) -> str:
    """All words of a line."""
    return " ".join(word.text for word in row.words)


def is_administrative(name: str) -> bool:
    """Whether a line is about the patient, the laboratory or the paper, and no result."""
    folded = f"{fold(name)} "
    label = fold(name.partition(":")[0])
    return label in LABELS or any(folded.startswith(f"{word} ") for word in LINES)


def is_of_paper(row: Row) -> bool:
    """Whether a row is a telephone number, a street, a date or the number of a page beside words that name no test."""
    if is_name(row.name) or is_known_unit(row.texts.get("unit", "")):
        return False
    if row.values and not any(map(str.isalpha, row.name)):
        return True
    text = name_of(row)
    if _SIGNER.search(text) and not _is_measured(row):
        return True
    phone = next((f[0] for f in _PHONE.finditer(text) if _digits(f[0]) >= PHONE_DIGITS_MIN), "")
    if not row.values:
        rest = text.replace(phone, "", 1)
        paged = _PAGED.search(text)
        is_page = paged is not None and _digits(text[: paged.start()]) == 0
        return (bool(phone) and _digits(rest) == 0) or is_page
    if _is_prose(row):
        return True
    is_timed = all(_CLOCK.fullmatch(value.strip()) for value, _ in row.values)
    if is_timed and len(row.values) > 1:  # the hours at which samples of several days were taken
        return True
    value = row.values[0][0].strip()
    is_said = any(_STREET.search(each) for each in (row.name, value, row.texts.get("range", "")))
    is_dated = not row.values[0][1] and _DAY.fullmatch(value) is not None
    is_phone = _digits(value) > 2 and value in phone
    counted = PAGE_OF.search(text)  # behind a sentence, too: `No abnormal results. Page 1 of 1`
    is_page = (
        _PAGE.fullmatch(value) is not None or bool(phone and _OF_PAGES.fullmatch(value))
    ) or (counted is not None and value in counted.groups())
    is_label = ":" in value and is_administrative(value)  # `Client services   Specimen: AB123`
    return is_phone or is_said or is_dated or is_page or is_label


def _is_prose(row: Row) -> bool:
    """Whether a line is running text set in block, whose wide blanks part it into cells: words in all of them."""
    parts = cells(row.words)
    told = [" ".join(word.text for word in part) for part in parts]
    words = sum(re.fullmatch(r"[^\W\d_]+[.,;:]?", word.text) is not None for word in row.words)
    has_figures = any(any(map(str.isdigit, text)) for text in told[1:])
    return len(parts) >= PROSE_CELLS_MIN and words >= PROSE_WORDS_MIN and not has_figures


def _is_measured(row: Row) -> bool:
    """Whether a row has a number and its range."""
    has_number = any(read_value(value).kind == "quantity" for value, _ in row.values)
    return has_number and read_range(row.texts.get("range", "")).kind == "interval"


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def strip_footnotes(rows: Sequence[Row]) -> None:
    """Take the number of the laboratory off names that it is glued to (`RBC01`), where that explains one of them."""
    glued = [(row, found) for row in rows if (found := _FOOTNOTE.fullmatch(row.name))]
    if not any(is_name(found["name"]) and not is_name(row.name) for row, found in glued):
        return
    for row, found in glued:
        if not is_name(row.name):
            row.name = found["name"].rstrip()
