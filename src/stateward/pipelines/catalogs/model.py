"""The values that travel between the readers of catalogues and the two stages."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

READER_VERSION = (
    12  # to be increased by a change after which the same bytes give other observations
)
NOTES_MAX = 20
NOTE_CHARS_MAX = 300


class ProductPlace(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a product stands: the row as a spreadsheet numbers it, and the line where that is another number."""

    row: int
    line: int | None = None
    sheet: str | None = None


class PrintedProduct(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A product or variant as it is printed, by the roles of `headings.yaml`; "" where nothing is.

    The order of the fields is that of `ROLES`: rows are made of whole columns, by position.
    """

    where: ProductPlace
    fault: str = ""  # what is wrong with the row as a row: LONG_ROW, SHORT_ROW, PRICE_ORDER, PRICE_NOT_OF_ONE
    handle: str = ""
    sku: str = ""
    number: str = ""
    parent: str = ""
    kind: str = ""
    gtin: str = ""
    barcode: str = ""
    mpn: str = ""
    title: str = ""
    description: str = ""
    brand: str = ""
    category: str = ""
    product_type: str = ""
    price: str = ""
    sale_price: str = ""
    list_price: str = ""
    sale_dates: str = ""
    sale_from: str = ""
    sale_to: str = ""
    currency: str = ""
    stock: str = ""
    availability: str = ""
    link: str = ""
    image: str = ""
    option1_name: str = ""
    option1: str = ""
    option2_name: str = ""
    option2: str = ""
    option3_name: str = ""
    option3: str = ""
    color: str = ""
    size: str = ""
    material: str = ""


class Observation(PrintedProduct, frozen=True, omit_defaults=True, gc=False):
    """The same with the cells that have no role, by their headings; only the empty ones are left out."""

    other: dict[str, str] = {}


ROLES = PrintedProduct.__struct_fields__[2:]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a person should look at."""

    code: str
    message: str
    where: ProductPlace | None = None


class Rejection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row that is no valid product, and why."""

    code: str
    message: str
    where: ProductPlace
    sku: str = ""
    printed: str = ""


class ParseSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds for all rows of a catalogue; `decimal` is "" where nothing in it shows the decimal sign."""

    format: str
    reader: int = READER_VERSION
    rows: int = 0
    blank_rows: int = 0
    repeated_headings: int = 0
    columns: dict[str, str] = {}  # heading to role; "" where it has none
    decimal: str = "."
    decimal_why: str = ""
    currency: str = ""
    currency_why: str = ""
    prints_currency: bool = False  # most rows say theirs
    problems: list[Problem] = []


class CatalogReading:
    """What a reader makes of a file: batches of observations as a stream, and what it notices on the way."""

    def __init__(self, format_: str) -> None:
        self.format = format_
        self.batches: Iterator[list[Observation]] = iter(())
        self.columns: dict[str, str] = {}
        self.currency = ""
        self.currency_why = ""
        self.blank_rows = 0
        self.repeated_headings = 0
        self.decisions: list[str] = []
        self.problems: list[Problem] = []

    def note(self, code: str, message: str, where: ProductPlace | None = None) -> None:
        """Remember something that a person should look at."""
        self.problems.append(Problem(code, message, where))


class Bounds(NamedTuple):
    """How much of a file is read."""

    inflated_bytes_max: int = 256 * 1024 * 1024
    tree_bytes_max: int = 64 * 1024 * 1024


def notes_of(problems: list[Problem]) -> list[str]:
    """Problems as short lines: one for each code, with the first message and how many more there are."""
    by_code: dict[str, list[Problem]] = {}
    for problem in problems:
        by_code.setdefault(problem.code, []).append(problem)
    return [_note(code, found) for code, found in list(by_code.items())[:NOTES_MAX]]


def _note(code: str, found: list[Problem]) -> str:
    place = found[0].where
    shown = f"row {place.row}: " if place else ""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{code}: {shown}{found[0].message}"[: NOTE_CHARS_MAX - len(more)] + more
