"""A product as it is kept, and what the variants of one inherit from it."""

import msgspec

from stateward.pipelines.catalogs.html_text import to_text
from stateward.pipelines.catalogs.model import PrintedProduct, ProductPlace

DEFAULT_TITLE = "Default Title"
DEFAULT_OPTION = DEFAULT_TITLE.casefold()  # what Shopify prints for a product without variants


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


class Parent(msgspec.Struct, frozen=True, gc=False):
    """What the variants of a product inherit."""

    title: str
    description: str
    brand: str
    category: str
    image: str
    option_names: tuple[str, str, str]


NO_PARENT = Parent("", "", "", "", "", ("", "", ""))
NO_OPTIONS: dict[str, str] = {}
NO_SALE = ("", "", "")


def options_of(row: PrintedProduct, parent: Parent) -> dict[str, str]:
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


def sku_of(printed: str) -> str:
    """A SKU without the apostrophe by which a spreadsheet keeps a number as text: `'00801`."""
    sku = printed.strip()
    return sku[1:] if sku[:1] == "'" and "'" not in sku[1:] else sku


def one_line(title: str) -> str:
    """A title on one line and without markup."""
    if "<" in title or "&" in title:
        title = to_text(title)
    return " ".join(title.split())
