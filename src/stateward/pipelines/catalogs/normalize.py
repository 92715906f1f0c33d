"""The stage `normalize`: observations become valid products; every other row is rejected with its reason.

A product has a SKU (or what its program identifies it by), a title, an exact price, a GTIN whose check digit is right,
and a category of the taxonomy. What is missing but not wrong is flagged on the product. Nothing is guessed: a price
without a currency stays without one. The same observations and rules give the same bytes.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.catalogs import gtin as gtins
from stateward.pipelines.catalogs.categories import UNMAPPED, CategoryMapper
from stateward.pipelines.catalogs.currencies import currency_of
from stateward.pipelines.catalogs.gtin import is_plain_gtin
from stateward.pipelines.catalogs.headings import PROGRAMS
from stateward.pipelines.catalogs.html_text import tidy, to_text
from stateward.pipelines.catalogs.model import (
    ROLES,
    ParseSummary,
    PrintedProduct,
    Problem,
    ProductPlace,
    Rejection,
    notes_of,
)
from stateward.pipelines.catalogs.options import CatalogOptions
from stateward.pipelines.catalogs.prices import (
    RANGE,
    SHARED_SIGN,
    UNKNOWN_CURRENCY,
    Price,
    PriceReader,
    in_currency,
)
from stateward.pipelines.catalogs.sale_dates import sale_period
from stateward.pipelines.catalogs.tables import LONG_ROW
from stateward.pipelines.kit.money import EXPONENTS
from stateward.workers.sdk import Batch, Job, Outcome

# To be increased by a change after which the same observations give other products.
NORMALIZER_VERSION = 5
BATCH_ROWS = 250
BATCH_CHARS = 100_000  # of descriptions: a batch must fit into a chunk of 256 KiB
REJECTED_KEPT_MAX = 5_000
REJECTED_LOGGED_MAX = 2_000
ROWS_IN_FACTS_MAX = 200
# Products whose variants may still come; a catalogue lists them one after another, or nearly so.
PARENTS_MAX = 50_000
STOCK_DIGITS_MAX = 16
PRICES_MAX = 200_000
CATEGORIES_MAX = 100_000
STOCKS_MAX = 10_000
# Rows of WooCommerce that stand for several products and have no price of their own.
GROUPS = ("variable", "grouped", "external")
# What feeds print, by the values of Google's and schema.org's, which may stand behind its address.
SCHEMA_ORG = re.compile(r"^(?:https?://(?:www\.)?schema\.org/|schema:)")
AVAILABILITIES = {
    word: name
    for name, words in {
        "in_stock": (
            "in_stock", "in stock", "instock", "available", "yes", "true", "1", "y", "ja", "lieferbar", "verfügbar",
            "auf lager", "sofort lieferbar", "en stock", "disponible", "disponibile", "limitedavailability",
            "onlineonly", "instoreonly",
        ),
        "out_of_stock": (
            "out_of_stock", "out of stock", "outofstock", "unavailable", "sold out", "soldout", "no", "false", "0", "n",
            "nein", "nicht lieferbar", "ausverkauft", "agotado", "rupture de stock", "épuisé", "esaurito",
            "discontinued", "reserved",
        ),
        "preorder": ("preorder", "pre-order", "pre_order", "presale", "vorbestellbar"),
        "backorder": (
            "backorder", "back-order", "back_order", "on backorder", "onbackorder", "available for order", "on order",
            "madetoorder", "made to order",
        ),
    }.items()
    for word in words
}  # fmt: skip
DEFAULT_TITLE = "Default Title"
DEFAULT_OPTION = DEFAULT_TITLE.casefold()  # what Shopify prints for a product without variants

LACKS = frozenset({"MISSING_SKU", "MISSING_TITLE", "MISSING_PRICE"})
SENTENCES = {
    "NO_PRODUCT": "the row has only {value}: it is a heading of those below it or a remark, and no product",
    "RAGGED_ROW": "the row has more cells than there are headings, so that its values may stand in wrong columns",
    "MISSING_SKU": "the SKU is missing",
    "DUPLICATE_SKU": "the SKU {value} is already that of row {row}",
    "PRICE_CONFLICT": "the SKU {value} is already that of row {row}, with another price; nothing tells which one holds",
    "DUPLICATE_VARIANT": "the variant {value} is already in row {row}",
    "ORPHAN_VARIANT": "no row before it gives the title of {value}",
    "MISSING_TITLE": "the title is missing",
    "MISSING_PRICE": "the price is missing",
    "UNPARSEABLE_PRICE": "{value} is no price",
    "NEGATIVE_PRICE": "the price {value} is negative",
    "UNKNOWN_CURRENCY": "{value} is no currency",
    "MISSING_CURRENCY": "the currency is missing, and other rows print theirs",
    "CURRENCY_CONFLICT": "the price and its currency disagree: {value}",
    "BAD_GTIN": "{value} is no GTIN: it has other characters than digits",
    "PLACEHOLDER_GTIN": "{value} is a placeholder and no GTIN",
    "BAD_GTIN_LENGTH": "{value} is no GTIN: one has 8, 12, 13 or 14 digits",
    "BAD_GTIN_CHECKSUM": "{value} is no GTIN: its last digit does not check the others",
    "GTIN_SCIENTIFIC": "{value} is what a spreadsheet left of a GTIN; format the column as text and export it again",
    "UNKNOWN_CATEGORY": "{value} is no category",
    "UNMAPPED_CATEGORY": "no rule maps the category {value}",
}

FLAGS = {
    "SHORT_ROW": "the row has fewer cells than there are headings",
    "MISSING_SKU": "the SKU is missing; the product is identified by its handle or number",
    "MISSING_CURRENCY": "no currency is printed; give the label currency or the setting catalogs.currency",
    "AMBIGUOUS_CURRENCY": "the sign of the price is that of several currencies; give the label currency",
    "AMBIGUOUS_PRICE": "the price can be read with either decimal sign; give the label decimal",
    "OTHER_DECIMAL_SIGN": "the price has another decimal sign than its file",
    "PRICE_RANGE": "a range is printed; the price is the lowest of it",
    "ZERO_PRICE": "the price is zero",
    "PRICE_ORDER": "the price and another price of the row are the other way round than in the other rows",
    "PRICE_NOT_OF_ONE": "the price is not that of one unit (see its quantity and factor), and is kept as printed",
    "OTHER_PRICE_UNREADABLE": "the sale or list price cannot be read, and is left out",
    "SALE_ABOVE_PRICE": "the sale price is higher than the price",
    "SALE_DATES_UNREADABLE": "the days of the sale cannot be read for sure, and are left out",
    "BARCODE_NO_GTIN": "the barcode is no GTIN, and is left out",
    "GTIN_ZERO_RESTORED": "the GTIN had lost the zero in front, and has it again",
    "DUPLICATE_GTIN": "another product has the same GTIN",
    "UNMAPPED_CATEGORY": "no rule maps the category; add one to the setting catalogs.categories",
    "PARENT_MISSING": "no row before it gives the product that it is a variant of, so that it inherits nothing",
    "AVAILABILITY_UNREADABLE": "the availability is no known one, and is left out",
    "STOCK_UNREADABLE": "the stock is no whole number, and is left out",
}


class Product(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A valid product or variant; amounts are exact decimals as text. `flags` are what a person should look at."""

    id: str
    sku: str
    title: str
    price: str = ""
    currency: str = ""
    gtin: str = ""
    category: str = ""
    brand: str = ""
    handle: str = ""
    options: dict[str, str] = {}
    sale_price: str = ""
    list_price: str = ""
    price_highest: str = ""
    sale_from: str = ""
    sale_to: str = ""
    stock: int | None = None
    availability: str = ""
    mpn: str = ""
    description: str = ""
    image: str = ""
    link: str = ""
    kind: str = ""
    price_printed: str = ""
    gtin_printed: str = ""
    category_printed: str = ""
    flags: tuple[str, ...] = ()
    where: ProductPlace = ProductPlace(0)


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
        first = normalizer.rejected[0].message if normalizer.rejected else "they name images only"
        raise FatalFailure(
            f"none of {about.rows} rows is a valid product; the first: {first}", code="NO_VALID_ROW"
        )
    if batch:
        yield Batch(batch)
    return normalizer.outcome(job, count)  # type: ignore[return-value]


class _Parent(msgspec.Struct, frozen=True, gc=False):
    """What the variants of a product inherit."""

    title: str
    description: str
    brand: str
    category: str
    image: str
    option_names: tuple[str, str, str]


NO_PARENT = _Parent("", "", "", "", "", ("", "", ""))
NO_OPTIONS: dict[str, str] = {}
NO_SALE = ("", "", "")


class _Rejected(Exception):
    """A row is no valid product."""

    def __init__(self, code: str, value: str = "", row: int = 0) -> None:
        super().__init__(code)
        self.code = code
        self.value = value
        self.row = row


def _lone_cell(row: PrintedProduct) -> str:
    """The only text of a row; "" if it has several."""
    told = [text for role in ROLES if (text := getattr(row, role).strip())]
    return told[0] if len(told) == 1 else ""


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
        self._parents: dict[str, _Parent] = {}
        self._combinations: dict[tuple[str, ...], int] = {}
        self._first_places: dict[tuple[str, ...], ProductPlace] = {}
        self._known_stocks: dict[str, int] = {}
        self._unmapped: dict[str, int] = {}
        self.image_rows = 0
        self.rejected: list[Rejection] = []
        self.rejected_rows: dict[str, list[int]] = {}

    def convert(self, row: PrintedProduct) -> Product | None:
        """A row as a product; None if it was rejected, or only adds an image to one."""
        try:
            return self._product(row)
        except _Rejected as error:
            lone = _lone_cell(row) if error.code in LACKS else ""
            self._reject(row, _Rejected("NO_PRODUCT", lone) if lone else error)
            return None

    def _product(self, row: PrintedProduct) -> Product | None:
        """The checks in the order in which their codes are documented; the first that fails is the reason.

        This runs for every row. What most rows have not is asked for here and handled elsewhere.
        """
        if row.fault == LONG_ROW:
            raise _Rejected("RAGGED_ROW")
        flags = [row.fault] if row.fault else []
        sku, handle = _sku(row.sku), row.handle.strip()
        group = row.parent.strip() or handle
        parent = self._parents.get(group, NO_PARENT) if group else NO_PARENT
        if (
            handle
            and not (row.title or sku or row.price or row.option1)
            and parent is not NO_PARENT
        ):
            self.image_rows += 1
            return None
        first = row.option1
        options = (
            _options_of(row, parent)
            if (first and first != DEFAULT_TITLE) or row.color or row.size or row.material
            else NO_OPTIONS
        )
        if sku and sku in self._ids:
            is_same = self._printed_prices.get(sku, row.price) == row.price
            code = "DUPLICATE_SKU" if is_same else "PRICE_CONFLICT"
            raise _Rejected(code, sku, self._ids[sku])
        identity = sku or self._other_identity(row, handle, options, flags)
        title = _line(row.title) if row.title else parent.title
        if not title:
            raise _Rejected("ORPHAN_VARIANT", handle) if handle else _Rejected("MISSING_TITLE")
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
            word = SCHEMA_ORG.sub("", row.availability.strip().casefold())
            availability = AVAILABILITIES.get(word, "")
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
            self._remember(row, handle, _Parent(title, description, brand, printed, image, names))
        told = tuple(flags) if flags else ()
        if told:
            self._count(told, row.where)
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

    def _remember(self, row: PrintedProduct, handle: str, parent: _Parent) -> None:
        """Keep what the variants of a product inherit, if the row is the first of its handle, SKU or number."""
        if handle:
            self._parents.setdefault(handle, parent)
        if row.kind and not row.parent:
            for key in (row.sku.strip(), f"id:{row.number.strip()}"):
                if key and key != "id:":
                    self._parents.setdefault(key, parent)
        while len(self._parents) > PARENTS_MAX:
            del self._parents[next(iter(self._parents))]

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
            raise _Rejected("MISSING_SKU")
        flags.append("MISSING_SKU")
        identity = "/".join((handle, *options.values())) if handle else f"id:{number}"
        if identity in self._ids:
            raise _Rejected("DUPLICATE_VARIANT", identity, self._ids[identity])
        return identity

    def _price(self, row: PrintedProduct) -> Price:
        """The price with its currency: beside it, in its own cell, in the heading, or in the settings."""
        if self._keeps_plain_prices and not row.currency and self._prices.is_plain(row.price):
            flags = () if self._currency else ("MISSING_CURRENCY",)
            return self._keep_price(row, Price(row.price, "", self._currency, "", flags))
        stated = currency_of(row.currency)
        if stated is None:
            raise _Rejected(UNKNOWN_CURRENCY, row.currency)
        if not row.price.strip():
            if self._has_price and not row.kind.casefold().startswith(GROUPS):
                raise _Rejected("MISSING_PRICE")
            return Price(currency=stated)
        price = self._prices.read(row.price)
        if price.fault:
            raise _Rejected(price.fault, row.price)
        if price.currency and stated and price.currency != stated:
            raise _Rejected("CURRENCY_CONFLICT", f"{row.price} and {stated}")
        currency = price.currency or stated or self._currency
        told = [flag for flag in price.flags if flag != SHARED_SIGN or not currency]
        if not currency and SHARED_SIGN not in told:
            if self._about.prints_currency:
                raise _Rejected("MISSING_CURRENCY")
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
            raise _Rejected(found.fault, code.strip())
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
            raise _Rejected(mapped.fault, printed)
        self._unmapped[printed] = self._unmapped.get(printed, 0) + 1
        flags.append(UNMAPPED)
        return ""

    def _count(self, flags: tuple[str, ...], where: ProductPlace) -> None:
        # By combination: most products of a catalogue have the same flags.
        if flags not in self._combinations:
            self._combinations[flags] = 0
            self._first_places[flags] = where
        self._combinations[flags] += 1

    @property
    def _flag_counts(self) -> dict[str, tuple[int, ProductPlace]]:
        """How many products have each flag, and where the first of them stands."""
        found: dict[str, tuple[int, ProductPlace]] = {}
        for flags, number in self._combinations.items():
            where = self._first_places[flags]
            for flag in flags:
                count, first = found.get(flag, (0, where))
                found[flag] = count + number, min(first, where, key=lambda each: each.row)
        return found

    def _stock(self, text: str, flags: list[str]) -> int | None:
        stock = _stock(text, flags)
        if stock is not None and len(self._known_stocks) < STOCKS_MAX:
            self._known_stocks[text] = stock
        return stock

    # The result

    def _reject(self, row: PrintedProduct, error: _Rejected) -> None:
        handle = row.handle.strip()
        if handle and row.title and handle not in self._parents:
            # The first variant may have no price; the product still has the title that the others inherit.
            about = row.description and self._description(row), row.brand.strip()
            category = row.category.strip() or row.product_type.strip()
            names = (row.option1_name, row.option2_name, row.option3_name)
            self._remember(
                row, handle, _Parent(_line(row.title), *about, category, row.image, names)
            )
        self.rejected_rows.setdefault(error.code, []).append(row.where.row)
        if len(self.rejected) < REJECTED_KEPT_MAX:
            value = f"{error.value.strip()[:100]!r}"
            message = SENTENCES[error.code].format(value=value, row=error.row)
            printed = row.price if error.code.endswith("_PRICE") else error.value
            self.rejected.append(
                Rejection(
                    code=error.code,
                    message=message,
                    where=row.where,
                    sku=row.sku.strip()[:200],
                    printed=printed[:200],
                )
            )

    def outcome(self, job: Job, count: int) -> Outcome:
        """Counts, notes and log of the whole catalogue."""
        rejected = sum(map(len, self.rejected_rows.values()))
        notes = notes_of([*self._about.problems, *self._problems()])
        counts = {code: len(rows) for code, rows in sorted(self.rejected_rows.items())}
        ranges = {code: row_ranges(rows) for code, rows in sorted(self.rejected_rows.items())}
        self._log(job, count, rejected, ranges)
        facts: Fields = {
            "products": count,
            "rejected": rejected,
            "rules": self._categories.version,
            "notes": list(notes),
        }
        if rejected:
            facts["reasons"] = dict(counts)
            facts["rejected_rows"] = {
                code: row_ranges(rows[:ROWS_IN_FACTS_MAX])
                for code, rows in sorted(self.rejected_rows.items())
            }
        about = {
            "normalizer": NORMALIZER_VERSION,
            "rules": self._categories.version,
            "products": count,
            "rejected_count": rejected,
            "reasons": counts,
            "rejected_rows": ranges,
            "rejected": msgspec.to_builtins(self.rejected),
            "image_rows": self.image_rows,
            "flags": {flag: number for flag, (number, _) in sorted(self._flag_counts.items())},
            "unmapped_categories": dict(sorted(self._unmapped.items())[:200]),
            "notes": notes,
        }
        return Outcome(facts=facts, about=about)

    def _problems(self) -> Iterator[Problem]:
        for each in self.rejected:
            yield Problem(each.code, each.message, each.where)
        for flag, (count, where) in sorted(self._flag_counts.items()):
            more = f" (and so of {count - 1} more products)" if count > 1 else ""
            yield Problem(flag, f"{FLAGS[flag]}{more}", where)

    def _log(self, job: Job, count: int, rejected: int, ranges: dict[str, str]) -> None:
        """One line for each rejected row; beyond the limit, the rows of each reason in one line."""
        for each in self.rejected[:REJECTED_LOGGED_MAX]:
            job.log(
                each.message,
                level="warning",
                code=each.code,
                row=each.where.row,
                sku=each.sku,
                line=each.where.line,
            )
        if rejected > REJECTED_LOGGED_MAX:
            for code, rows in ranges.items():
                job.log(f"all rows rejected with {code}", level="warning", code=code, rows=rows)
        job.log(
            f"{count} products by rules {self._categories.version}",
            rejected=rejected,
            image_rows=self.image_rows,
            flags={flag: number for flag, (number, _) in sorted(self._flag_counts.items())},
        )


def row_ranges(rows: list[int]) -> str:
    """Row numbers in few characters: `3, 7-9`."""
    parts: list[list[int]] = []
    for row in sorted(set(rows)):
        if parts and row == parts[-1][1] + 1:
            parts[-1][1] = row
        else:
            parts.append([row, row])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def _sku(printed: str) -> str:
    """A SKU without the apostrophe by which a spreadsheet keeps a number as text: `'00801`."""
    sku = printed.strip()
    return sku[1:] if sku[:1] == "'" and "'" not in sku[1:] else sku


def _options_of(row: PrintedProduct, parent: _Parent) -> dict[str, str]:
    """What tells a variant from the others of its product, by the names that the first of them gives."""
    found: dict[str, str] = {}
    if row.option1.casefold() != DEFAULT_OPTION:
        # One by one: a loop over the three takes twice as long, and this runs for every variant.
        first, second, third = parent.option_names
        if value := row.option1:
            found[row.option1_name or first or "option 1"] = value
        if value := row.option2:
            found[row.option2_name or second or "option 2"] = value
        if value := row.option3:
            found[row.option3_name or third or "option 3"] = value
    if value := row.color:
        found.setdefault("color", value)
    if value := row.size:
        found.setdefault("size", value)
    if value := row.material:
        found.setdefault("material", value)
    return found


def _line(title: str) -> str:
    """A title on one line and without markup."""
    if "<" in title or "&" in title:
        title = to_text(title)
    return " ".join(title.split())


def _stock(text: str, flags: list[str]) -> int | None:
    """A whole number of pieces; anything else is flagged, and kept with the observation."""
    if text.isascii() and text.isdigit() and len(text) < STOCK_DIGITS_MAX:
        return int(text)
    number = text.strip()
    whole, point, rest = number.partition(".")
    digits = whole if point and not rest.strip("0") else number
    if (
        digits.removeprefix("-").isascii()
        and digits.removeprefix("-").isdigit()
        and len(digits) < STOCK_DIGITS_MAX
    ):
        return int(digits)
    if number:
        flags.append("STOCK_UNREADABLE")
    return None
