"""What a line of a table is by its own words: a title, a section, a remark, a heading of remarks, no result."""

import re
from collections.abc import Sequence

from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import (
    cells,
)
from stateward.pipelines.labs.pdf.layout import Layout
from stateward.pipelines.labs.pdf.methods import is_bracketed
from stateward.pipelines.labs.pdf.row import (
    Row,
    is_administrative,
    name_of,
)
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import (
    ADDRESSES,
    PANELS,
    PENDING_WORDS,
    REMARK_HEADINGS,
    SECTIONS,
    column_of,
    fold,
    names_technique,
    says_method,
    specimen_of,
)

SECTION_WORDS_MAX = 7
ABOUT_SAMPLE = frozenset(
    {"specimen", "method", "collected", "lab"}
)  # labels beside the title of a section
SMALL_NAMES_MIN = 3
SENTENCE_WORDS_MIN = 3
# Five or six digits at an end (`75013 Paris`, `DELHI 110085`, `New Delhi - 110 085`), and as Poland, Portugal, the
# Netherlands and the United Kingdom write theirs.
_POSTCODE = re.compile(
    r"^(?:[A-Z]{1,2}-)?[0-9]{5,6}[ ,]|[ ,-](?:[0-9]{5,6}|[0-9]{3} [0-9]{2,3}|[0-9]{5}-[0-9]{4})[.,)]?$"
    r"|^[0-9]{2}-[0-9]{3} |^[0-9]{4}-[0-9]{3} |^[0-9]{4} [A-Z]{2} |\b[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}$"
)
_STREET_WORDS = re.compile(
    rf"\b(?:{'|'.join(ADDRESSES)})\b|\w{{3}}(?:stra(?:ß|ss)e|straat|laan|weg|platz)\b|\w{{3}}str\.",
    re.IGNORECASE,
)
EXPLAINING = frozenset(
    {
        "interpretation",
        "interpretations",
        "criteria",
        "guidelines",
        "interprétation",
        "interpretación",
    }
)


def names_begin_small(rows: Sequence[Row]) -> bool:
    """Whether names of this laboratory begin with small letters (`p-Kalium`), which then tell no rest of a name."""
    return sum(bool(row.values) and row.name[:1].islower() for row in rows) >= SMALL_NAMES_MIN


def repeats_headings(row: Row) -> bool:
    """Whether the unit and the range of a row are their headings: numbers of samples, above the first result."""
    return all(column_of(row.texts.get(role, "")) == role for role in ("unit", "range"))


def heads_remarks(row: Row) -> bool:
    """Whether a line by itself names what follows as remarks: `Note:`, `Interpretation of vitamin D levels`."""
    text = name_of(row)
    words = fold(text).split()
    is_alone = len(cells(row.words)) == 1 and not re.search(r"[.:=<>]\s*\S", text)
    is_about = len(words) <= SECTION_WORDS_MAX and not EXPLAINING.isdisjoint(words)
    return bool(words) and is_alone and (" ".join(words) in REMARK_HEADINGS or is_about)


def without_limits(name: str) -> str:
    """A text without comparisons: `Very high <50` of a table of what values mean."""
    return re.sub(r"[<>≤≥=]{1,2}\s?[0-9.,]+%?", "", name)


def is_of_header(row: Row) -> bool:
    """Whether a row names the patient or the paper, and its cells hold more labels: `Patient: N Doe   Specimen:`."""
    others = (*(text for text, _ in row.values), *row.texts.values())
    return is_administrative(row.name) and any(each.rstrip().endswith(":") for each in others)


def span_in(layout: Layout, words: Sequence[PdfWord], at: int) -> tuple[float, float] | None:
    """Where the words of a line in one column begin and end; None if it has none there."""
    mine = [word for word in words if layout.column_at(word) == at]
    return (mine[0].x0, mine[-1].x1) if mine else None


def is_label_pair(row: Row) -> bool:
    """Whether what stands for the value is a label of its own, as above a table of what values mean."""
    text = row.values[0][0].strip()
    is_words = text.endswith(":") and read_value(text.rstrip(": ")).kind in ("text", "unread")
    return is_words and fold(text) not in PENDING_WORDS


def is_remark(name: str) -> bool:
    """Whether a text explains values: it has a colon inside, a comparison or a range."""
    is_sentence = name.endswith(".") and len(name.split()) > SENTENCE_WORDS_MIN
    return is_sentence or re.search(r":.|[<>≤≥]|[0-9]\s*[-–]\s*[0-9]", name) is not None


def is_remark_of_range(range_: str, text: str) -> bool:
    """Whether words below a range that is whole only explain it, or tell it again: `Fasting reference interval`."""
    label, colon, _ = text.partition(":")
    is_told_again = bool(colon) and column_of(label.strip(" .")) == "range"
    is_words = re.search(r"[0-9]", text) is None
    return read_range(range_).kind == "interval" and (is_words or is_told_again)


def is_title(row: Row) -> bool:
    """Whether a line names a section, alone or with its specimen: `Leberwerte   (Serum)`, `Blut   Material: EDTA`."""
    head, *others = (" ".join(word.text for word in cell) for cell in cells(row.words))
    is_about = bool(others) and all(map(_is_about_sample, others))
    return (_names_section(head) and not others) or (
        is_about and (_names_section(head) or not is_name(head))
    )


def _is_about_sample(text: str) -> bool:
    """Whether a text names a specimen in brackets, or behind a label that says so: `(Serum)`, `Material: Serum`."""
    label, colon, rest = text.partition(":")
    is_labelled = bool(colon and rest.strip()) and column_of(label.strip(" .")) in ABOUT_SAMPLE
    return is_labelled or (text.startswith("(") and bool(specimen_of(text)))


def is_section(name: str) -> bool:
    """Whether a text is the name of a section, or ends as a label does."""
    return _names_section(name) or name.endswith(":")


def is_no_section(text: str) -> bool:
    """Whether a few words alone are a method or an address, and no title: `(VCS Technology)`, `DELHI 110085`."""
    return not _has_section_words(text) and (_is_method(text) or _is_address(text))


def _has_section_words(text: str) -> bool:
    words = f" {fold(text)} "
    is_known = any(f" {each} " in words for each in SECTIONS) or bool(specimen_of(text))
    return is_known or is_name(text.strip("()[] ")) or not PANELS.isdisjoint(words.split())


def _is_method(text: str) -> bool:
    return names_technique(text) or (says_method(text) and is_bracketed(text.strip()))


def _is_address(text: str) -> bool:
    has_place = re.search(r"[^\W\d]{2}", text) is not None
    is_road = re.search(r"[0-9,]", text) is not None and _STREET_WORDS.search(text) is not None
    return has_place and (is_road or _POSTCODE.search(text) is not None)


def _names_section(text: str) -> bool:
    """Whether a text is the name of a section, or several: `Endokrinologie / Vitamine`."""
    parts = [
        fold(part) for part in re.split(r"\s(?:[/&·|–-]|and|und|et|y|e|en|i|og|och)\s|,\s", text)
    ]
    return parts[0] in SECTIONS and (len(parts) == 1 or not is_name(text))
