"""Whether a file is research data: a ZIP with a data package, a spreadsheet, or a table of any kind."""

import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.experiments.blanks import rows_by_blanks
from stateward.pipelines.experiments.schema import heading_unit
from stateward.pipelines.experiments.units import is_unit
from stateward.pipelines.kit.delimited import first_rows
from stateward.pipelines.kit.files import ZIP, is_binary
from stateward.pipelines.kit.money import CURRENCY_CODES
from stateward.pipelines.kit.sheet_texts import first_texts

# A table may be anything, so that pipelines that know it better are believed first, and so are statements if as sure.
# Only measurements have units, and only orders their headings; an account has a text for each booking, and amounts of
# at most two or three decimals.
# Readings at even steps of time are those of an instrument, unless the headings are all those of an account: banks
# number the bookings of a day by seconds.
PACKAGE, READINGS, MEASUREMENTS, NUMBERS, TABLE, ARCHIVE = 90, 32, 30, 25, 20, 10
NUMBER_ROWS_MIN = 4
SALES_MIN = 3  # headings of a list of orders: dates and amounts, and no account
_SALES = frozenset(
    {"order id", "order number", "sku", "quantity", "qty", "unit price", "product", "product name", "customer",
     "customer id", "revenue", "store", "profit", "sales"}
)  # fmt: skip
MEASURED_MIN = 2  # headings with a word for what is measured: trips have fares and times, and no account has distances
_MEASURED = frozenset(
    {"distance", "duration", "mile", "miles", "km", "seconds", "minutes", "passenger", "passengers", "pickup",
     "dropoff", "temperature", "temp", "humidity", "wind", "precipitation", "rainfall", "pressure", "latitude",
     "longitude", "lat", "lon", "lng", "speed", "height", "weight", "length", "width", "depth", "age", "population",
     "score", "rating", "high", "low", "volume", "mean", "median", "ratio", "index"}
)  # fmt: skip
EVEN_STEPS = 0.8  # of the steps from reading to reading: some are lost
DAY_S = 24 * 60 * 60
WIDE_MIN = 6  # columns of numbers: an account has three, and its words
_CENTS = re.compile(r"[+-]?[0-9]+[.,][0-9]{2}")
_ANY_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+(?:[eE][+-]?[0-9]{1,4})?")
DECIMALS_MIN = 4  # of a number that is no amount of money
LINES_SEEN = 20
# Of the rows that must be as wide as the first: prose has commas, but not as many in each line.
EVEN = 0.8
# A table without any number needs so many rows: two lines of prose may have as many commas.
WORDY_ROWS_MIN = 4
UNITS_MIN = 2
WIDTH_MIN = 3  # of a table below other lines, which have a name and a value
NAMES_MAX = 10_000
# Words of a spreadsheet of money. Its texts are seen without its rows, so that one such heading speaks against it.
_MONEY = re.compile(
    r"\b(?:balance|saldo|solde|kontostand|amounts?|betrag|montant|importe|importo|debit|credit|d[eé]bit|cr[eé]dit|soll|haben|iban|"
    r"withdrawals?|deposits?|prices?|\w*preis|prix|precio|prezzo|payee|customer|invoice|sku|ean|gtin|currency|w[aä]hrung|devise)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}[T ,]\s?)?"
    r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?"
)
_HEADING_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS = re.compile(r"[^\W\d_]{4}|\ufffd{2}")  # or letters of an encoding that is not guessed here
_FINE = re.compile(rf"[+-]?[0-9]*[.,][0-9]{{{DECIMALS_MIN},}}(?:[eE][+-]?[0-9]+)?")
AMOUNTS_MIN = 3
_AMOUNT_AT_END = re.compile(
    r"^[^,;|\t]*[^\W\d_]{2}[^,;|\t]*\s{2,}[-+]?\d[\d. ]*,\d\d\W{0,3}[A-Za-z]{0,3}\W*$"
)
# A package that came without its tables: its reader says what to do.
_DESCRIPTION = re.compile(
    r'\s*\{(?=[\s\S]{0,4000}"resources"\s*:\s*\[)[\s\S]{0,8000}"(?:path|schema)"\s*:'
)
WORKBOOK = "xl/workbook.xml"


def detect(content: Content) -> Detected | None:
    """A data package, a ZIP with tables, or a table; None for everything else."""
    if content.head.startswith(ZIP):
        return _archive(content)
    # What spreadsheets save as "Unicode text" begins with such a mark.
    codec = "utf-16" if content.head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = content.head.decode(codec, "replace")
    lines = _without_comments(text.splitlines()[:LINES_SEEN])
    if _DESCRIPTION.match(text):
        return Detected(source_type="dataset", format="description", confidence=PACKAGE)
    is_other = text.lstrip("\ufeff \r\n\t").startswith(("{", "[", "<", "%PDF", "MSH|"))
    rows = first_rows(lines)
    if is_other or is_binary(text) or _has_only_amounts(lines[1:]):
        return None
    if not (headings := _headings(rows)):
        # A printed account has words in each line, and is no table of numbers alone.
        if _are_numbers(rows_by_blanks(lines)[1:]):
            return _table(NUMBERS)
        return _below_other_lines(rows)
    names = {each.strip(' "').casefold().replace("_", " ") for each in headings}
    # The account of a seller lists sales, too, and ends each row with what is left.
    sales = names & _SALES if not any("balance" in name for name in names) else frozenset[str]()
    is_measured = sum(map(_names_measure, headings)) >= MEASURED_MIN
    confidence = NUMBERS if is_measured or _are_numbers(rows[1:]) else TABLE
    if _are_readings(rows[1:]):
        return _table(READINGS)
    is_told = _units(headings) >= UNITS_MIN or _is_units_row(rows[1]) or len(sales) >= SALES_MIN
    return _table(MEASUREMENTS if is_told else confidence)


def _without_comments(lines: Sequence[str]) -> list[str]:
    """The lines that are no comments: those after a number sign, and the first ones after a percent sign.

    A heading may begin with a percent sign, too; it has as many cells as the rows below it.
    """
    kept = [line for line in lines if line.strip() and line.lstrip()[0] != "#"]
    above = next((at for at, line in enumerate(kept) if not line.lstrip().startswith("%")), 0)
    rows = first_rows(kept[above - 1 :]) if above else []
    return kept[above:] if rows and len(rows[0]) != len(rows[1]) else kept


def _has_only_amounts(lines: Sequence[str]) -> bool:
    """Whether commas of a text are those of amounts at the ends of its lines: `02/06  Rent   -87,12` is one cell."""
    parted = [line for line in lines if "," in line]
    amounts = sum(map(bool, map(_AMOUNT_AT_END.search, parted)))
    return amounts >= AMOUNTS_MIN and amounts >= EVEN * len(parted)


def _is_units_row(cells: Sequence[str]) -> bool:
    """Whether the row below the headings holds units and nothing else: `mm;kg/m³;°C`, in any encoding."""
    bare = (cell.replace("\ufffd", " ").strip(' "[]()-') for cell in cells)
    filled = [cell for cell in bare if cell]
    return len(filled) >= UNITS_MIN and all(map(is_unit, filled))


def _table(confidence: int) -> Detected:
    return Detected(source_type="dataset", format="table", confidence=confidence)


def _below_other_lines(rows: Sequence[Sequence[str]]) -> Detected | None:
    """A table below lines about the instrument; only one that is clearly measured: banks write such lines, too."""
    width = max((len(row) for row in rows), default=0)
    first = next((at for at, row in enumerate(rows) if len(row) == width), 0)
    if width < WIDTH_MIN or not (headings := _headings(rows[first:])):
        return None
    if _units(headings) >= UNITS_MIN:
        return _table(MEASUREMENTS)
    return _table(NUMBERS) if _are_numbers(rows[first + 1 :]) else None


def _names_measure(heading: str) -> bool:
    return not _MEASURED.isdisjoint(_HEADING_WORD.findall(_CAMEL.sub(" ", heading).casefold()))


def _are_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows are dates and numbers and no words at all, or a column has numbers that are no money."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len(rows) < NUMBER_ROWS_MIN:
        return False
    columns = [
        [cell.strip() for cell in column if cell.strip()] for column in zip(*rows, strict=False)
    ]
    numeric = [column for column in columns if all(map(_ANY_NUMBER.fullmatch, column))]
    is_wide = len(numeric) >= WIDE_MIN and not any(map(_is_of_money, columns))
    # Of a wide table, a word that ends each row says nothing of it.
    told = [column for column in columns if not is_wide or len({*column}) > 1]
    has_words = any(map(_WORDS.search, chain.from_iterable(told)))
    is_signed = any(cell.startswith(("-", "+", "(")) for cell in chain.from_iterable(columns))
    fine = [
        column
        for column in columns
        if sum(map(bool, map(_FINE.fullmatch, column))) > len(column) / 2
    ]
    return bool(fine) or not (has_words or (is_signed and not is_wide))


def _is_of_money(column: Sequence[str]) -> bool:
    """Whether a column is a currency, or has signed numbers of two decimals each, as bookings without headings do."""
    if CURRENCY_CODES.issuperset(column):
        return True
    return all(map(_CENTS.fullmatch, column)) and any(cell[0] in "+-" for cell in column)


def _are_readings(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has dates with a time of day, one after the other at steps of the same length."""
    for column in zip(*rows, strict=False):
        times = [_TIME.fullmatch(cell.strip(' "')) for cell in column]
        if len(times) < NUMBER_ROWS_MIN or not all(times):
            continue
        seconds = [_seconds(*found.groups(default="0")) for found in times if found]
        steps = Counter((later - sooner) % DAY_S for sooner, later in pairwise(seconds))
        step, count = steps.most_common(1)[0]
        if step and count >= EVEN_STEPS * (len(times) - 1):
            return True
    return False


def _seconds(hours: str, minutes: str, seconds: str) -> int:
    return 3600 * int(hours) + 60 * int(minutes) + int(seconds)


def _headings(rows: Sequence[Sequence[str]]) -> Sequence[str]:
    """The first row of a table; none if the rows are none."""
    even = sum(len(row) == len(rows[0]) for row in rows[1:])
    is_table = len(rows) > 1 and len(rows[0]) > 1 and even >= EVEN * (len(rows) - 1)
    has_numbers = any(map(str.isdigit, chain.from_iterable(chain.from_iterable(rows[1:]))))
    return rows[0] if is_table and (has_numbers or len(rows) >= WORDY_ROWS_MIN) else []


def _units(headings: Sequence[str]) -> int:
    """How many headings name a unit of measurement; a currency is none."""
    # A sign that another encoding writes (°, µ, ²) leaves a unit one.
    bare = (each.replace("\ufffd", "").strip(' "') for each in headings)
    return sum(is_unit(heading_unit(each)[1]) for each in bare)


def _is_composed_unit(text: str) -> bool:
    """Whether a cell is a unit of which no word or name is made: `g/kg`, `µS/cm`, `°C`, and not `m` or `A`."""
    bare = text.strip(" []()")
    return any(sign in bare for sign in "/·²³°%‰^") and is_unit(bare)


def _archive(content: Content) -> Detected | None:
    try:
        with zipfile.ZipFile(content.path) as archive:
            paths = archive.namelist()[:NAMES_MAX]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    if WORKBOOK in paths:
        return _spreadsheet(content)
    names = [each.rpartition("/")[2] for each in paths]
    if "datapackage.json" in names:
        return Detected(source_type="dataset", format="package", confidence=PACKAGE)
    has_table = any(name.lower().endswith((".csv", ".tsv")) for name in names)
    return (
        Detected(source_type="dataset", format="archive", confidence=ARCHIVE) if has_table else None
    )


def _spreadsheet(content: Content) -> Detected:
    """A spreadsheet: research data for sure only by units and what is measured, and never beside words of money."""
    texts = first_texts(content.path)
    is_told = (
        _units(texts) >= UNITS_MIN
        or sum(map(_names_measure, texts)) >= MEASURED_MIN
        or sum(map(_is_composed_unit, texts)) >= UNITS_MIN
    )
    is_money = any(_MONEY.search(each) and not _units([each]) for each in texts)
    confidence = MEASUREMENTS if is_told and not is_money else ARCHIVE
    return Detected(source_type="dataset", format="spreadsheet", confidence=confidence)
