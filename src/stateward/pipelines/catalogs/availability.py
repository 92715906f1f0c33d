"""Whether a product can be had, and how many pieces of it, as shops and feeds print it."""

import re

STOCK_DIGITS_MAX = 16
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


def availability_of(printed: str) -> str:
    """The value of the Google feed for what is printed; "" if it is no known one."""
    return AVAILABILITIES.get(SCHEMA_ORG.sub("", printed.strip().casefold()), "")


def stock_of(text: str, flags: list[str]) -> int | None:
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
