"""The stage `normalize`: observations become valid products; every other row is rejected with its reason.

A product has a SKU (or what its program identifies it by), a title, an exact price, a GTIN whose check digit is right,
and a category of the taxonomy. What is missing but not wrong is flagged on the product. Nothing is guessed: a price
without a currency stays without one. The same observations and rules give the same bytes.
"""

from collections.abc import Iterator
from decimal import Decimal

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.catalogs import gtin as gtins
from stateward.pipelines.catalogs.availability import availability_of, stock_of
from stateward.pipelines.catalogs.categories import UNMAPPED, CategoryMapper
from stateward.pipelines.catalogs.currencies import currency_of
from stateward.pipelines.catalogs.findings import LACKS, Findings, Rejected, lone_cell
from stateward.pipelines.catalogs.gtin import is_plain_gtin
from stateward.pipelines.catalogs.headings import PROGRAMS
from stateward.pipelines.catalogs.html_text import tidy, to_text
from stateward.pipelines.catalogs.model import ParseSummary, PrintedProduct
from stateward.pipelines.catalogs.options import CatalogOptions
from stateward.pipelines.catalogs.prices import (
    RANGE,
    SHARED_SIGN,
    UNKNOWN_CURRENCY,
    Price,
    PriceReader,
    in_currency,
)
from stateward.pipelines.catalogs.products import (
    DEFAULT_TITLE,
    NO_OPTIONS,
    NO_PARENT,
    NO_SALE,
    Parent,
    Product,
    one_line,
    options_of,
    sku_of,
)
from stateward.pipelines.catalogs.sale_dates import sale_period
from stateward.pipelines.catalogs.tables import LONG_ROW
from stateward.pipelines.kit.money import EXPONENTS
from stateward.workers.sdk import Batch, Job

BATCH_ROWS = 250
BATCH_CHARS = 100_000  # of descriptions: a batch must fit into a chunk of 256 KiB
# Products whose variants may still come; a catalogue lists them one after another, or nearly so.
PARENTS_MAX = 50_000
PRICES_MAX = 200_000
CATEGORIES_MAX = 100_000
STOCKS_MAX = 10_000
# Rows of WooCommerce that stand for several products and have no price of their own.
GROUPS = ("variable", "grouped", "external")


def normalize(job: Job) -> Iterator[Batch]:
    """Convert the observations of a job."""
    about = msgspec.convert(job.about("parse"), ParseSummary)
    normalizer = Normalizer(about, CatalogOptions.of(job))
    batch: list[Product] = []
    count = chars = 0
    for row in job.items(PrintedProduct, "parse"):
        product = normalizer.convert(row)
        if product is None:
            continue
        batch.append(product)
        chars += len(product.description)
        if len(batch) == BATCH_ROWS or chars > BATCH_CHARS:
            count += len(batch)
            yield Batch(batch)
            batch, chars = [], 0
    count += len(batch)
    if not count:
        first = (
            normalizer.findings.rejected[0].message
            if normalizer.findings.rejected
            else "they name images only"
        )
        raise FatalFailure(
            f"none of {about.rows} rows is a valid product; the first: {first}", code="NO_VALID_ROW"
        )
    if batch:
        yield Batch(batch)
    return normalizer.findings.outcome(job, count)  # type: ignore[return-value]


class Normalizer:
    """Converts the rows of one catalogue, and remembers what must not come twice."""

    def __init__(self, about: ParseSummary, options: CatalogOptions) -> None:
        self._about = about
        self._options = options
        self._prices = PriceReader(options.decimal or about.decimal)
        self._categories = CategoryMapper(options.categories)
        self._rejects_unmapped = options.unmapped_categories == "reject"
        self._currency = currency_of(about.currency) or currency_of(options.currency) or ""
        # Without a currency of their own, prices such as 12.50 become what they are.
        self._keeps_plain_prices = (
            EXPONENTS.get(self._currency) == 2 if self._currency else not about.prints_currency
        )
        roles = set(about.columns.values())
        self._has_price = "price" in roles
        self._needs_sku = about.format not in PROGRAMS  # there the SKU is a choice of the merchant
        self._has_written_breaks = about.format == "woocommerce"
        self._known_prices: dict[tuple[str, str], Price] = {}  # as printed: price and currency
        # Sale and list prices as printed, with the currency of the price.
        self._known_others: dict[tuple[str, str], str] = {}
        self._known_categories: dict[str, str] = {}
        self._ids: dict[str, int] = {}
        self._printed_prices: dict[str, str] = {}
        self._gtins: dict[str, str] = {}
        self._parents: dict[str, Parent] = {}
        self._known_stocks: dict[str, int] = {}
        self.findings = Findings(about, self._categories.version)

    def convert(self, row: PrintedProduct) -> Product | None:
        """A row as a product; None if it was rejected, or only adds an image to one."""
        try:
            return self._product(row)
        except Rejected as error:
            lone = lone_cell(row) if error.code in LACKS else ""
            self._keep_of_rejected(row)
            self.findings.reject(row, Rejected("NO_PRODUCT", lone) if lone else error)
            return None

    def _product(self, row: PrintedProduct) -> Product | None:
        """The checks in the order in which their codes are documented; the first that fails is the reason.

        This runs for every row. What most rows have not is asked for here and handled elsewhere.
        """
        if row.fault == LONG_ROW:
            raise Rejected("RAGGED_ROW")
        flags = [row.fault] if row.fault else []
        sku, handle = sku_of(row.sku), row.handle.strip()
        group = row.parent.strip() or handle
        parent = self._parents.get(group, NO_PARENT) if group else NO_PARENT
        if (
            handle
            and not (row.title or sku or row.price or row.option1)
            and parent is not NO_PARENT
        ):
            self.findings.image_rows += 1
            return None
        first = row.option1
        options = (
            options_of(row, parent)
            if (first and first != DEFAULT_TITLE) or row.color or row.size or row.material
            else NO_OPTIONS
        )
        if sku and sku in self._ids:
            is_same = self._printed_prices.get(sku, row.price) == row.price
            code = "DUPLICATE_SKU" if is_same else "PRICE_CONFLICT"
            raise Rejected(code, sku, self._ids[sku])
        identity = sku or self._other_identity(row, handle, options, flags)
        title = one_line(row.title) if row.title else parent.title
        if not title:
            raise Rejected("ORPHAN_VARIANT", handle) if handle else Rejected("MISSING_TITLE")
        price = self._known_prices.get((row.price, row.currency)) or self._price(row)
        flags += price.flags
        code = row.gtin or row.barcode
        digits = code and (code if is_plain_gtin(code) else self._gtin(row, code, flags))
        printed = row.category.strip() or row.product_type.strip() or parent.category
        category = self._known_categories.get(printed) or self._category(printed, flags)
        description = self._description(row) if row.description else parent.description
        sale, sale_from, sale_to = (
            self._sale(row, price, flags) if row.sale_price or row.sale_dates else NO_SALE
        )
        listed = self._other_price(row.list_price, price, flags) if row.list_price else ""
        stock = self._known_stocks.get(row.stock)
        if stock is None and row.stock:
            stock = self._stock(row.stock, flags)
        if row.availability:
            availability = availability_of(row.availability)
            if not availability:
                flags.append("AVAILABILITY_UNREADABLE")
        else:
            availability = ""
        if row.parent and parent is NO_PARENT and row.kind:
            flags.append("PARENT_MISSING")
        # Nothing can be wrong from here on: now the row counts.
        self._ids[identity] = row.where.row
        self._printed_prices[identity] = row.price
        if digits and self._gtins.setdefault(digits.lstrip("0"), identity) != identity:
            flags.append("DUPLICATE_GTIN")
        brand = row.brand.strip() or parent.brand
        image = row.image or parent.image
        if row.kind or (handle and handle not in self._parents):
            names = (row.option1_name, row.option2_name, row.option3_name)
            self._remember(row, handle, Parent(title, description, brand, printed, image, names))
        told = tuple(flags) if flags else ()
        if told:
            self.findings.count(told, row.where)
        # By position, in the order of the fields: keyword arguments take three times as long.
        return Product(
            identity,
            sku,
            title,
            price.amount,
            price.currency,
            digits,
            category,
            brand,
            handle,
            options,
            sale,
            listed,
            price.highest,
            sale_from,
            sale_to,
            stock,
            availability,
            row.mpn.strip(),
            description,
            image,
            row.link,
            row.kind,
            "" if row.price == price.amount else row.price,
            "" if code == digits else code,
            "" if printed == category else printed,
            told,
            row.where,
        )

    # The parts of a product

    def _remember(self, row: PrintedProduct, handle: str, parent: Parent) -> None:
        """Keep what the variants of a product inherit, if the row is the first of its handle, SKU or number."""
        if handle:
            self._parents.setdefault(handle, parent)
        if row.kind and not row.parent:
            for key in (row.sku.strip(), f"id:{row.number.strip()}"):
                if key and key != "id:":
                    self._parents.setdefault(key, parent)
        while len(self._parents) > PARENTS_MAX:
            del self._parents[next(iter(self._parents))]

    def _keep_of_rejected(self, row: PrintedProduct) -> None:
        """Keep what the variants of a rejected row inherit."""
        handle = row.handle.strip()
        if handle and row.title and handle not in self._parents:
            # The first variant may have no price; the product still has the title that the others inherit.
            about = row.description and self._description(row), row.brand.strip()
            category = row.category.strip() or row.product_type.strip()
            names = (row.option1_name, row.option2_name, row.option3_name)
            self._remember(
                row, handle, Parent(one_line(row.title), *about, category, row.image, names)
            )

    def _description(self, row: PrintedProduct) -> str:
        """The text of a description; WooCommerce writes line breaks as two signs."""
        text = row.description
        if self._has_written_breaks and "\\n" in text:
            text = text.replace("\\r", "").replace("\\n", "\n")
        if "<" in text or "&" in text:
            return to_text(text)
        return tidy(text) if "\n" in text or "  " in text else text.strip()

    def _other_identity(
        self, row: PrintedProduct, handle: str, options: dict[str, str], flags: list[str]
    ) -> str:
        """What tells a product without a SKU from all others; it must not be in the catalogue already."""
        number = row.number.strip()
        if self._needs_sku or not (handle or number):
            raise Rejected("MISSING_SKU")
        flags.append("MISSING_SKU")
        identity = "/".join((handle, *options.values())) if handle else f"id:{number}"
        if identity in self._ids:
            raise Rejected("DUPLICATE_VARIANT", identity, self._ids[identity])
        return identity

    def _price(self, row: PrintedProduct) -> Price:
        """The price with its currency: beside it, in its own cell, in the heading, or in the settings."""
        if self._keeps_plain_prices and not row.currency and self._prices.is_plain(row.price):
            flags = () if self._currency else ("MISSING_CURRENCY",)
            return self._keep_price(row, Price(row.price, "", self._currency, "", flags))
        stated = currency_of(row.currency)
        if stated is None:
            raise Rejected(UNKNOWN_CURRENCY, row.currency)
        if not row.price.strip():
            if self._has_price and not row.kind.casefold().startswith(GROUPS):
                raise Rejected("MISSING_PRICE")
            return Price(currency=stated)
        price = self._prices.read(row.price)
        if price.fault:
            raise Rejected(price.fault, row.price)
        if price.currency and stated and price.currency != stated:
            raise Rejected("CURRENCY_CONFLICT", f"{row.price} and {stated}")
        currency = price.currency or stated or self._currency
        told = [flag for flag in price.flags if flag != SHARED_SIGN or not currency]
        if not currency and SHARED_SIGN not in told:
            if self._about.prints_currency:
                raise Rejected("MISSING_CURRENCY")
            told.append("MISSING_CURRENCY")
        if not Decimal(price.amount):
            told.append("ZERO_PRICE")
        amount, highest = in_currency(price.amount, currency), in_currency(price.highest, currency)
        return self._keep_price(row, Price(amount, highest, currency, "", tuple(told)))

    def _keep_price(self, row: PrintedProduct, price: Price) -> Price:
        if len(self._known_prices) < PRICES_MAX:
            self._known_prices[row.price, row.currency] = price
        return price

    def _sale(self, row: PrintedProduct, price: Price, flags: list[str]) -> tuple[str, str, str]:
        """The sale price, and from when to when it holds."""
        amount = self._other_price(row.sale_price, price, flags)
        if amount and price.amount and Decimal(amount) > Decimal(price.amount):
            flags.append("SALE_ABOVE_PRICE")
        return amount, *sale_period(row, flags)

    def _other_price(self, text: str, price: Price, flags: list[str]) -> str:
        """A sale or list price: the product is valid without it, so that a wrong one is only flagged."""
        known = self._known_others.get((text, price.currency))
        if known is not None:
            return known
        if not text.strip():
            return ""
        other = self._prices.read(text)
        if other.fault or (other.currency and price.currency and other.currency != price.currency):
            flags.append("OTHER_PRICE_UNREADABLE")
            return ""
        if other.highest and RANGE not in flags:
            flags.append(RANGE)
        amount = in_currency(other.amount, price.currency)
        if not other.highest and len(self._known_others) < PRICES_MAX:
            self._known_others[text, price.currency] = amount
        return amount

    def _gtin(self, row: PrintedProduct, code: str, flags: list[str]) -> str:
        if not code.strip():
            return ""
        found = gtins.read_gtin(code)
        if found.fault:
            # A barcode may be the merchant's own; digits of the right length claim to be a GTIN.
            if not row.gtin and found.fault in (gtins.NO_DIGITS, gtins.BAD_LENGTH):
                flags.append("BARCODE_NO_GTIN")
                return ""
            raise Rejected(found.fault, code.strip())
        if found.is_restored:
            flags.append("GTIN_ZERO_RESTORED")
        return found.digits

    def _category(self, printed: str, flags: list[str]) -> str:
        if not printed:
            return ""
        mapped = self._categories.map(printed)
        if not mapped.fault:
            if len(self._known_categories) < CATEGORIES_MAX:
                self._known_categories[printed] = mapped.category
            return mapped.category
        if mapped.fault != UNMAPPED or self._rejects_unmapped:
            raise Rejected(mapped.fault, printed)
        unmapped = self.findings.unmapped
        unmapped[printed] = unmapped.get(printed, 0) + 1
        flags.append(UNMAPPED)
        return ""

    def _stock(self, text: str, flags: list[str]) -> int | None:
        stock = stock_of(text, flags)
        if stock is not None and len(self._known_stocks) < STOCKS_MAX:
            self._known_stocks[text] = stock
        return stock
