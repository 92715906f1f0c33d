"""A paper as every reader gives it: its metadata, its blocks in reading order, and its references.

The same values whatever the format was, so that nothing after the readers knows formats. Text has single blanks and no
line ends; what a source does not say is "" or empty, never guessed.
"""

import re
from calendar import monthrange
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal[
    "title", "abstract", "heading", "paragraph", "list_item", "quote", "formula", "table", "figure",
    "footnote", "reference",
]  # fmt: skip
Retraction: TypeAlias = Literal["", "retracted", "notice", "concern"]

# An item may have 1 MiB: a block of this many characters fits in any script, with what else is said of it.
TEXT_CHARS_MAX = 200_000
CELLS_MAX = 20_000
BLOCKS_MAX = 200_000
SEVERAL_PAPERS = "SEVERAL_PAPERS"


class Place(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Where a block stands: characters of the decoded file, a line, or a page with a box in points."""

    start: int | None = None
    end: int | None = None
    page: int | None = None
    box: tuple[float, float, float, float] | None = None
    line: int | None = None


class Author(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A person, or a group (`group`) that signs as an author."""

    name: str
    surname: str = ""
    given: str = ""
    suffix: str = ""
    orcid: str = ""
    email: str = ""
    affiliations: tuple[str, ...] = ()
    is_corresponding: bool = False
    is_group: bool = False


class Journal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where it appeared."""

    title: str = ""
    abbreviation: str = ""
    issns: tuple[str, ...] = ()
    publisher: str = ""


class Licence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may be done with it."""

    url: str = ""
    text: str = ""
    copyright: str = ""


class OtherAbstract(msgspec.Struct, frozen=True, kw_only=True):
    """A further abstract: a summary for everybody, a digest, a translation."""

    type: str
    text: str
    language: str = ""


class OtherTitle(msgspec.Struct, frozen=True, kw_only=True):
    """The title in another language; "" where the source does not name the language."""

    text: str
    language: str = ""


class Related(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Another paper that this one corrects, retracts, comments on, or is corrected by."""

    type: str
    id: str = ""
    text: str = ""


class Metadata(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a paper says of itself. Dates are as exact as the source: 2018, 2018-07 or 2018-07-19."""

    format: str
    title: str = ""
    ids: dict[str, str] = {}
    type: str = ""
    language: str = ""
    authors: list[Author] = []
    journal: Journal = Journal()
    volume: str = ""
    issue: str = ""
    first_page: str = ""
    last_page: str = ""
    article_number: str = ""
    dates: dict[str, str] = {}
    year: int | None = None
    other_titles: list[OtherTitle] = []
    abstract: str = ""
    other_abstracts: list[OtherAbstract] = []
    keywords: list[str] = []
    subjects: list[str] = []
    licence: Licence = Licence()
    retraction: Retraction = ""
    related: list[Related] = []


class Reference(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a paper cites, as far as the source takes it apart; `ids` are normalised."""

    label: str = ""
    ids: dict[str, str] = {}
    title: str = ""
    authors: tuple[str, ...] = ()
    source: str = ""
    year: str = ""
    volume: str = ""
    first_page: str = ""
    last_page: str = ""


class Block(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One piece of a paper in reading order.

    `section` are the headings above it. `part` names what is printed with a paper without being it (a decision letter,
    a translation). `source_id` is the id that the source gave it. `rows` are the cells of a table. `of` says what a
    heading is that of, if it is no section: the acknowledgements, the list of references, a box.
    """

    kind: Kind
    text: str
    section: tuple[str, ...] = ()
    level: int = 0
    label: str = ""
    part: str = ""
    source_id: str = ""
    of: str = ""
    rows: list[list[str]] = []
    reference: Reference | None = None
    where: Place = Place()


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something a person should know of how the paper was read."""

    code: str
    message: str
    where: Place = Place()


class Paper(msgspec.Struct, kw_only=True):
    """What a reader gives."""

    metadata: Metadata
    blocks: list[Block]
    notes: list[Note] = []


def squeeze(text: str | None) -> str:
    """Text with single blanks."""
    if not text:
        return ""
    # Of all that counts as a blank only the space is printable; to look costs a tenth of taking words apart.
    text = text.strip()
    return text if text.isprintable() and "  " not in text else " ".join(text.split())


def iso_date(year: str, month: str = "", day: str = "") -> str:
    """A date as exact as it is given: year, year and month, or a whole one; "" without a year."""
    year = squeeze(year)
    if not re.fullmatch(r"[12][0-9]{3}", year):
        return ""
    number = month_number(month)
    if not number:
        return year
    days = monthrange(int(year), number)[1]
    is_day = day.strip().isdecimal() and 1 <= int(day) <= days
    return f"{year}-{number:02d}-{int(day):02d}" if is_day else f"{year}-{number:02d}"


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def month_number(text: str) -> int:
    """A month given as a number or by its English name; 0 if it is none."""
    text = text.strip().lower()
    if text.isdecimal():
        return int(text) if 1 <= int(text) <= 12 else 0
    return _MONTHS.index(text[:3]) + 1 if text[:3] in _MONTHS else 0


# As PubMed and exports name languages: by three letters, some of them in two ways, or by their English names.
_LANGUAGES = {
    name: code
    for code, names in {
        "ar": "ara arabic", "bg": "bul bulgarian", "ca": "cat catalan", "cs": "cze ces czech", "da": "dan danish",
        "de": "ger deu german", "el": "gre ell greek", "en": "eng english", "es": "spa spanish", "et": "est estonian",
        "fa": "per fas persian", "fi": "fin finnish", "fr": "fre fra french", "he": "heb hebrew", "hr": "hrv croatian",
        "hu": "hun hungarian", "is": "ice isl icelandic", "it": "ita italian", "ja": "jpn japanese", "ko": "kor korean",
        "lt": "lit lithuanian", "lv": "lav latvian", "nl": "dut nld dutch", "no": "nor nob norwegian",
        "pl": "pol polish", "pt": "por portuguese", "ro": "rum ron romanian", "ru": "rus russian",
        "sk": "slo slk slovak", "sl": "slv slovenian", "sr": "srp serbian", "sv": "swe swedish", "tr": "tur turkish",
        "uk": "ukr ukrainian", "zh": "chi zho chinese",
    }.items()
    for name in names.split()
}  # fmt: skip


def language_code(text: str) -> str:
    """A language by the two letters that most sources use, without its country; others as they are named."""
    word = text.strip().lower().replace("_", "-")
    return _LANGUAGES.get(word, word.partition("-")[0])


def year_of(dates: dict[str, str]) -> int | None:
    """The year of publication: that of the earliest date on which it was published in any form."""
    published = [
        dates[name] for name in ("epub", "ppub", "published", "collection") if name in dates
    ]
    return min((int(date[:4]) for date in published), default=None)
