"""The catalogue of offers: a CSV or JSON file that people maintain, read into values or refused line by line.

A column is one of those below, or the name of a field of the vertical (`data_volume`, `coverage_amount`) with the value
that the offer has. Prices are decimals; an empty cell is "unknown", never zero.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files

import msgspec

from stateward.core.errors import DeclarationError, Fault
from stateward.pipelines.contracts.switching import day_of
from stateward.pipelines.kit.money import typed_number

FILE = "offers.csv"
SAMPLE_OFFERS = (
    "sample offers: they are invented; name a list of real ones in the setting contracts.offers"
)
CATALOGUE_CHARS_MAX = 2_000_000
OFFERS_MAX = 20_000
CELL_CHARS_MAX = 1000
FAULTS_MAX = 50
REQUIRED = ("vertical", "offer", "provider", "name")
MONEY = ("monthly", "unit_price", "bonus", "consumption_min", "consumption_max")
DAYS = ("valid_from", "valid_until")
OTHERS = ("months_min", "notice", "currency", "note")
COLUMNS = frozenset((*REQUIRED, *MONEY, *DAYS, *OTHERS))


class Offer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the catalogue. `traits` are its values of fields of the vertical, as written."""

    vertical: str
    offer: str
    provider: str
    name: str
    monthly: Decimal | None = None
    unit_price: Decimal | None = None
    bonus: Decimal | None = None
    consumption_min: Decimal | None = None
    consumption_max: Decimal | None = None
    valid_from: date | None = None
    valid_until: date | None = None
    months_min: str = ""
    notice: str = ""
    currency: str = "EUR"
    note: str = ""
    traits: dict[str, str] = {}


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """All offers of a file; `source` names it in answers."""

    source: str
    offers: tuple[Offer, ...]
    is_sample: bool = False

    def of(self, vertical: str) -> tuple[Offer, ...]:
        """Those of a vertical, in the order of the file."""
        return tuple(offer for offer in self.offers if offer.vertical == vertical)


@cache
def sample_catalogue() -> Catalogue:
    """The sample that comes with the package: invented names and prices."""
    text = (files(__package__) / FILE).read_text("utf-8")
    sample = read_catalogue(text, source=f"the sample catalogue ({FILE})")
    return msgspec.structs.replace(sample, is_sample=True)


def named_as_sample(sentence: str) -> str:
    """What a comparison with the sample says, so that its offers are not taken for real ones wherever it is shown."""
    return f"{sentence} ({SAMPLE_OFFERS})"


def catalogue_of(own: Mapping[str, str]) -> Catalogue:
    """The own catalogue, by the name of its file; the sample where there is none."""
    for name, text in own.items():
        return read_catalogue(text, source=name)
    return sample_catalogue()


def read_catalogue(text: str, *, source: str) -> Catalogue:
    """A catalogue from its text; raises `DeclarationError` with every fault, each with its line."""
    if len(text) > CATALOGUE_CHARS_MAX:
        raise _refusal(source, f"a catalogue has at most {CATALOGUE_CHARS_MAX} characters")
    text = text.removeprefix("\ufeff")
    is_json = text.lstrip().startswith(("[", "{"))
    rows = list(_json_rows(text, source) if is_json else _csv_rows(text, source))
    if len(rows) > OFFERS_MAX:
        raise _refusal(source, f"a catalogue has at most {OFFERS_MAX} offers, not {len(rows)}")
    faults: list[Fault] = []
    offers: dict[tuple[str, str], Offer] = {}
    for line, row in rows:
        reader = _OfferRow(source, line, row)
        offer = reader.offer()
        if not reader.faults and (offer.vertical, offer.offer) in offers:
            reader.fault("offer", f"there are two offers {offer.offer!r} of {offer.vertical}")
        offers[offer.vertical, offer.offer] = offer
        faults += reader.faults
    if faults:
        raise DeclarationError(faults[:FAULTS_MAX])
    return Catalogue(source=source, offers=tuple(offers.values()))


def _csv_rows(text: str, source: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    reader = csv.DictReader(io.StringIO(text), delimiter=mark, restkey="", strict=True)
    try:
        for row in reader:
            if extra := row.pop("", None):
                raise _refusal(source, f"more cells than columns: {extra}", line=reader.line_num)
            cells = {str(key).strip(): (value or "").strip() for key, value in row.items()}
            if any(cells.values()):
                yield reader.line_num, cells
    except csv.Error as error:
        raise _refusal(source, f"is no CSV: {error}", line=reader.line_num) from error


def _json_rows(text: str, source: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        rows = msgspec.json.decode(text, type=list[dict[str, str | int | float | None]])
    except msgspec.DecodeError as error:
        said = "must be a JSON list of objects whose values are texts or numbers"
        raise _refusal(source, f"{said}: {error}") from error
    # Numbers as they are written: a float would not be the typed decimal.
    exact = msgspec.json.decode(text, type=list[dict[str, msgspec.Raw]])
    for number, (row, raw) in enumerate(zip(rows, exact, strict=True), start=1):
        cells = {
            key: value.strip() if isinstance(value, str) else bytes(raw[key]).decode()
            for key, value in row.items()
            if value is not None
        }
        yield number, cells


class _OfferRow:
    """Converts one row to an offer; faults are collected."""

    def __init__(self, source: str, line: int, cells: Mapping[str, str]) -> None:
        self._source = source
        self._line = line
        self._cells = cells
        self.faults: list[Fault] = []

    def fault(self, column: str, sentence: str) -> None:
        self.faults.append(
            Fault(source=self._source, line=self._line, path=column, sentence=sentence)
        )

    def offer(self) -> Offer:
        for column in self._cells:
            if len(self._cells[column]) > CELL_CHARS_MAX:
                self.fault(column, f"a cell has at most {CELL_CHARS_MAX} characters")
        texts = {column: self._require(column) for column in REQUIRED}
        texts |= {name: self._cells[name] for name in OTHERS if self._cells.get(name)}
        amounts = {column: self._amount(column) for column in MONEY}
        days = {column: self._day(column) for column in DAYS}
        traits = {
            name: value for name, value in self._cells.items() if name not in COLUMNS and value
        }
        return Offer(**texts, **amounts, **days, traits=traits)  # type: ignore[arg-type]

    def _require(self, column: str) -> str:
        value = self._cells.get(column, "")
        if not value:
            self.fault(column, f"{column} is missing; every offer has one")
        return value

    def _amount(self, column: str) -> Decimal | None:
        text = self._cells.get(column, "")
        if not text:
            return None
        amount = typed_number(text)
        if amount is None or amount < 0:
            self.fault(column, f"{text!r} is not an amount; write it like 12.50, or leave it empty")
        return amount

    def _day(self, column: str) -> date | None:
        text = self._cells.get(column, "")
        day = day_of(text) if text else None
        if text and day is None:
            self.fault(
                column, f"{text!r} is not a date; write it like 2026-12-31, or leave it empty"
            )
        return day


def _refusal(source: str, sentence: str, *, line: int = 0) -> DeclarationError:
    return DeclarationError([Fault(source=source, line=line, path="", sentence=sentence)])


def verticals(offers: Iterable[Offer]) -> dict[str, int]:
    """How many offers each vertical has."""
    counts: dict[str, int] = {}
    for offer in offers:
        counts[offer.vertical] = counts.get(offer.vertical, 0) + 1
    return counts
