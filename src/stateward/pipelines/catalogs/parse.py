"""The stage `parse`: a catalogue becomes observations, each product or variant as it is printed.

What holds for all rows (the roles of the columns, the decimal sign of the prices, the currency of a heading) is decided
here, with its reason, and travels to the next stage in the summary. Nothing is converted and no product is refused.
"""

import re
from collections.abc import Iterator

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.catalogs.currencies import currency_in
from stateward.pipelines.catalogs.model import CatalogReading, Observation, ParseSummary, notes_of
from stateward.pipelines.catalogs.options import CatalogOptions
from stateward.pipelines.catalogs.readers import read_catalog
from stateward.pipelines.catalogs.sheets import SHEET_UNREAD
from stateward.pipelines.catalogs.tables import COLUMNS_UNSURE
from stateward.pipelines.kit.archive_repair import readable_path
from stateward.pipelines.kit.failures import DAMAGED_FILE, damage_is_retried
from stateward.pipelines.kit.money import vote_decimal
from stateward.workers.sdk import Batch, Job, Outcome

PROBLEMS_MAX = 1000
FLAGGED = frozenset({DAMAGED_FILE, COLUMNS_UNSURE, SHEET_UNREAD})  # a person confirms the result
PROBLEMS_LOGGED_MAX = 100
# Distinct printed prices that vote on the decimal sign: enough for any table, and bounded for a hostile one.
PRICES_MAX = 5_000
CURRENCY_ROWS_MAX = 2_000  # that are asked whether they say their currency
# UTF-8 that was read as Windows-1252: a letter of Latin script, or a sign, became two or three.
_SPLIT_LETTER = re.compile(
    "[\u00c2-\u00c5][\u0080-\u00bf\u0152-\u0178\u02c6\u2013-\u2122](?![A-Z])|\u00e2\u20ac"
)
WITH_POINT = frozenset({"bmecat", "google", "shopify", "woocommerce", "schema.org"})


def parse(job: Job) -> Iterator[Batch]:
    """Read the document of a job."""
    options = CatalogOptions.of(job)
    if job.path is None:
        job.bytes()  # raises with the reason
        raise AssertionError
    is_lenient = job.retry_count > 0
    with damage_is_retried(job.retry_count):
        path = readable_path(job, job.path)
        reading = read_catalog(path, options.bounds, is_lenient=is_lenient)
    prices = _PriceSample()
    count = 0
    letters = _LetterCheck(reading)
    for batch in reading.batches:
        count += len(batch)
        prices.add(batch)
        letters.look(batch)
        yield Batch(batch)
    if not count:
        raise FatalFailure(
            "the catalogue has headings but no product; export it again", code="EMPTY_CATALOG"
        )
    about = _summary(reading, prices, count)
    _log(job, reading, about)
    return Outcome(facts=_facts(about), about=msgspec.to_builtins(about))  # type: ignore[return-value]


class _PriceSample:
    """The distinct prices of a file, by which its decimal sign is decided."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._asked = self._told = 0
        self._of_sales: set[str] = set()

    def add(self, rows: list[Observation]) -> None:
        if len(self._texts) < PRICES_MAX:
            self._texts |= dict.fromkeys([row.price or row.sale_price for row in rows])
        if self._asked < CURRENCY_ROWS_MAX:
            self._asked += len(rows)
            self._told += sum(bool(row.currency or currency_in(row.price)) for row in rows)
            self._of_sales.update(currency_in(row.sale_price) for row in rows if row.sale_price)

    @property
    def prints_currency(self) -> bool:
        """Whether most rows say their currency, so that one without lacks it."""
        return self._told * 2 > self._asked

    @property
    def of_sales(self) -> str:
        """The currency that the sale prices name, where the prices beside them name none; "" for none or several."""
        named = self._of_sales - {""}
        return named.pop() if len(named) == 1 and not self._told else ""

    def texts(self) -> Iterator[str]:
        """Each side of a range is a price of its own."""
        for text in list(self._texts)[:PRICES_MAX]:
            yield from (part for part in text.replace("\u2013", " - ").split(" - ") if part.strip())


class _LetterCheck:
    """Looks for letters that another program took for two of another encoding: `GlÃ¼hbirne`."""

    def __init__(self, reading: CatalogReading) -> None:
        self._reading = reading
        self._is_noted = False

    def look(self, rows: list[Observation]) -> None:
        if self._is_noted or not _SPLIT_LETTER.search("\n".join([row.title for row in rows])):
            return
        first = next(row for row in rows if _SPLIT_LETTER.search(row.title))
        self._is_noted = True
        self._reading.note(
            "LETTERS_DAMAGED",
            f"letters were damaged before the file was saved ({first.title[:60]!r}); export it again as UTF-8",
            first.where,
        )


def _summary(reading: CatalogReading, prices: _PriceSample, count: int) -> ParseSummary:
    vote = vote_decimal(prices.texts())
    if not vote.is_sure and reading.format in WITH_POINT:
        vote = vote._replace(decimal=".", is_sure=True, why=f"{reading.format} prints a point")
    if not reading.currency and (named := prices.of_sales):
        reading.currency, reading.currency_why = named, "the sale prices name it"
    return ParseSummary(
        format=reading.format,
        rows=count,
        blank_rows=reading.blank_rows,
        repeated_headings=reading.repeated_headings,
        columns=reading.columns,
        decimal=vote.decimal if vote.is_sure else "",
        decimal_why=vote.why,
        currency=reading.currency,
        currency_why=reading.currency_why,
        prints_currency=prices.prints_currency,
        problems=reading.problems[:PROBLEMS_MAX],
    )


def _facts(about: ParseSummary) -> Fields:
    facts: Fields = {"format": about.format, "rows": about.rows}
    if notes := notes_of(about.problems):
        facts["notes"] = list(notes)
    if flags := [*dict.fromkeys(each.code for each in about.problems if each.code in FLAGGED)]:
        facts["flags"] = list(flags)
    return facts


def _log(job: Job, reading: CatalogReading, about: ParseSummary) -> None:
    """Decisions with their reasons, then what could not be read."""
    for sentence in reading.decisions:
        job.log(sentence)
    job.log(
        f"{about.rows} rows of a catalogue ({about.format})",
        roles={name: role for name, role in about.columns.items() if role},
        without_role=[name for name, role in about.columns.items() if not role],
        decimal=about.decimal or "undecided",
        decimal_why=about.decimal_why,
        currency=about.currency,
        blank_rows=about.blank_rows,
        repeated_headings=about.repeated_headings,
    )
    for problem in about.problems[:PROBLEMS_LOGGED_MAX]:
        row = problem.where.row if problem.where else None
        job.log(problem.message, level="warning", code=problem.code, row=row)
    if len(reading.problems) > PROBLEMS_LOGGED_MAX:
        more = len(reading.problems) - PROBLEMS_LOGGED_MAX
        job.log(f"{more} more problems are not listed", level="warning")
