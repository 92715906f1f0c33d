"""Products in the words of schema.org, as pages and feeds tell them to search engines (JSON-LD, microdata).

A product may be sold in several offers, and a group may have variants: each that has an identity of its own is a
product. Here objects only become plainer objects; nothing is read or converted.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import TypeAlias

from stateward.pipelines.kit.money import amount

JsonValue: TypeAlias = "str | bool | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"

FORMAT = "schema.org"
DEPTH_MAX = 12
PRODUCTS_MAX = 100_000
KINDS = frozenset({"Product", "ProductGroup", "ProductModel", "IndividualProduct", "SomeProducts"})
# What belongs to a product without describing it: its offers and variants are read by themselves, others are no part.
APART = frozenset({
    "@context", "@type", "@id", "offers", "hasVariant", "variesBy", "isVariantOf", "review", "reviews",
    "aggregateRating", "isRelatedTo", "isSimilarTo", "isAccessoryOrSparePartFor", "isConsumableFor",
})  # fmt: skip
IDENTITIES = ("sku", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "mpn", "productID")
# What an offer says of the product rather than of the sale.
OF_OFFERS = (*IDENTITIES, "price", "priceCurrency", "availability", "url", "image")


def products_in(value: JsonValue) -> list[JsonObject]:
    """The products anywhere in a document; none if it does not speak of products in these words."""
    found: list[JsonObject] = []
    for product in _products(value, 0):
        found += _rows(product, {})
        if len(found) > PRODUCTS_MAX:
            break
    return found


def _products(value: JsonValue, depth: int) -> Iterator[JsonObject]:
    if depth > DEPTH_MAX:
        return
    if isinstance(value, list):
        for each in value:
            yield from _products(each, depth + 1)
    elif isinstance(value, dict):
        if _kinds(value) & KINDS:
            yield value
        else:
            for each in value.values():
                yield from _products(each, depth + 1)


def _kinds(value: JsonObject) -> set[str]:
    told = value.get("@type")
    names = told if isinstance(told, list) else [told]
    return {each.rpartition("/")[2].rpartition(":")[2] for each in names if isinstance(each, str)}


def _rows(product: JsonObject, inherited: JsonObject) -> Iterator[JsonObject]:
    own = {name: value for name, value in product.items() if name not in APART and value}
    plain = {**inherited, **own}
    variants = [each for each in _list(product.get("hasVariant")) if isinstance(each, dict)]
    if variants:
        group = plain.pop("productGroupID", None)
        for name in IDENTITIES:  # those of the group are none of the variant's
            plain.pop(name, None)
        shared = plain if group is None else {**plain, "item_group_id": group}
        for variant in variants:
            yield from _rows(variant, shared)
        return
    offers = [*_offers(product.get("offers"))]
    if not offers:
        yield plain
    elif any(set(IDENTITIES) & offer.keys() for offer in offers):
        yield from ({**plain, **offer} for offer in offers)
    else:
        yield from ({**plain, **offer} for offer in _range_of_offers(offers))


def _offers(value: JsonValue) -> Iterator[JsonObject]:
    """Single offers; one that sums up others and does not list them has the range of their prices."""
    for each in _list(value):
        if not isinstance(each, dict):
            continue
        if inner := [*_offers(each.get("offers"))]:
            currency = each.get("priceCurrency")
            yield from (
                {"priceCurrency": currency, **offer} if currency else offer for offer in inner
            )
            continue
        thing = each.get("itemOffered")
        offer = {
            name: thing[name] for name in IDENTITIES if isinstance(thing, dict) and thing.get(name)
        }
        offer |= {name: each[name] for name in OF_OFFERS if each.get(name)}
        if "price" not in offer:
            offer |= _told_elsewhere(each)
        yield offer


def _told_elsewhere(offer: JsonObject) -> JsonObject:
    """The price of an offer that names none: the range of several, or the first way in which it is specified."""
    low, high = offer.get("lowPrice"), offer.get("highPrice")
    if isinstance(low, str) and low:
        is_range = isinstance(high, str) and high and high != low
        return {"price": f"{low} - {high}" if is_range else low}
    for each in _list(offer.get("priceSpecification")):
        if isinstance(each, dict) and each.get("price"):
            return {name: each[name] for name in ("price", "priceCurrency") if each.get(name)}
    return {}


def _range_of_offers(offers: list[JsonObject]) -> Iterator[JsonObject]:
    """Offers of one and the same thing: for each currency one, with the range of their prices."""
    by_currency: dict[str, list[JsonObject]] = {}
    for offer in offers:
        by_currency.setdefault(str(offer.get("priceCurrency")), []).append(offer)
    for same in by_currency.values():
        prices: dict[Decimal, str] = {}
        for offer in same:
            printed = offer.get("price")
            value = amount(printed) if isinstance(printed, str) else None
            if value is not None:
                prices.setdefault(value, str(printed))
        if len(prices) > 1:
            yield {**same[0], "price": f"{prices[min(prices)]} - {prices[max(prices)]}"}
        else:
            yield same[0]


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]
