"""BMEcat 1.2 and 2005: articles or products, their prices, and the tree of groups."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from stateward.pipelines.catalogs.objects import (
    PRICE_FACTOR,
    PRICE_QUANTITY,
    PrintedCells,
    put_cell,
)
from stateward.pipelines.catalogs.tables import no_catalog
from stateward.pipelines.kit.xml import local_name

if TYPE_CHECKING:
    from lxml.etree import _Element

# The kinds of prices, the one that the customer pays first; `nrp` is the recommended retail price.
PRICE_TYPES = ("net_customer", "net_customer_exp", "net_list", "gros_list")
RECOMMENDED = "nrp"
GROUPS_DEPTH_MAX = 20

Row: TypeAlias = tuple[int, int | None, PrintedCells]


def is_bmecat(root: "_Element") -> bool:
    """Whether a document is BMEcat."""
    return local_name(root).upper() == "BMECAT"


class Bmecat:
    """One document: articles (1.2) or products (2005)."""

    def __init__(self, root: "_Element") -> None:
        self._by_name: dict[str, list[_Element]] = {}
        for element in root.iter():
            self._by_name.setdefault(local_name(element).upper(), []).append(element)
        header = next(iter(self._by_name.get("HEADER", [])), None)
        self.currency = "" if header is None else _first(header, "CURRENCY")
        self._groups = {
            _first(each, "GROUP_ID"): (_first(each, "GROUP_NAME"), _first(each, "PARENT_ID"))
            for each in self._by_name.get("CATALOG_STRUCTURE", [])
        }
        self._group_of = {
            _first(each, "ART_ID", "PROD_ID"): _first(each, "CATALOG_GROUP_ID")
            for name in ("ARTICLE_TO_CATALOGGROUP_MAP", "PRODUCT_TO_CATALOGGROUP_MAP")
            for each in self._by_name.get(name, [])
        }

    def rows(self) -> Iterator[Row]:
        """One row an article."""
        articles = self._by_name.get("ARTICLE", []) + self._by_name.get("PRODUCT", [])
        articles = [
            each
            for each in articles
            if _first(each, "SUPPLIER_AID", "SUPPLIER_PID")
            or _find(each, "ARTICLE_DETAILS", "PRODUCT_DETAILS") is not None
        ]
        if not articles:
            raise no_catalog("it is BMEcat without an article")
        return (
            (number, each.sourceline, self._cells(each))
            for number, each in enumerate(articles, start=1)
        )

    def has_prices(self) -> bool:
        """Whether any article has one; manufacturers also publish catalogues without."""
        return any(
            "".join(map(str, each.itertext())).strip()
            for each in self._by_name.get("PRICE_AMOUNT", [])
        )

    def _cells(self, article: "_Element") -> PrintedCells:
        sku = _first(article, "SUPPLIER_AID", "SUPPLIER_PID")
        cells = {
            "sku": sku,
            "gtin": _gtin(article),
            "title": _first(article, "DESCRIPTION_SHORT"),
            "description": _first(article, "DESCRIPTION_LONG"),
            "brand": _first(article, "MANUFACTURER_NAME"),
            "mpn": _first(article, "MANUFACTURER_AID", "MANUFACTURER_PID"),
            "category": self._path(self._group_of.get(sku, ""))
            or _first(article, "REFERENCE_FEATURE_GROUP_NAME"),
            "image": _first(article, "MIME_SOURCE"),
            "order unit": _first(article, "ORDER_UNIT"),
            "feature group": _first(article, "REFERENCE_FEATURE_GROUP_ID"),
        }
        cells |= _prices(article)
        for feature in _all(article, "FEATURE"):
            put_cell(cells, _first(feature, "FNAME") or "feature", _first(feature, "FVALUE"))
        return cells

    def _path(self, group: str) -> str:
        names: list[str] = []
        for _ in range(GROUPS_DEPTH_MAX):
            if group not in self._groups:
                break
            name, group = self._groups[group]
            names.append(name)
        return " > ".join(filter(None, reversed(names[:-1] if len(names) > 1 else names)))


def _prices(article: "_Element") -> PrintedCells:
    """The price for the smallest quantity, of the kind that the customer pays; further kinds are kept by name."""
    found: dict[str, tuple[str, _Element]] = {}
    for price in _all(article, "ARTICLE_PRICE", "PRODUCT_PRICE"):
        kind = (price.get("price_type") or "").strip()
        bound = _first(price, "LOWER_BOUND") or "1"
        if kind not in found or _number(bound) < _number(found[kind][0]):
            found[kind] = bound, price
    kinds = [kind for kind in (*PRICE_TYPES, *found) if kind in found and kind != RECOMMENDED]
    cells: PrintedCells = {}
    if RECOMMENDED in found:
        cells["list price"] = _first(found[RECOMMENDED][1], "PRICE_AMOUNT")
        kinds = kinds or [RECOMMENDED]
    for kind in kinds[1:]:
        cells[f"price {kind}"] = _first(found[kind][1], "PRICE_AMOUNT")
    if kinds and (amount := _first(found[kinds[0]][1], "PRICE_AMOUNT")):
        price = found[kinds[0]][1]
        cells |= {
            "price": amount,
            "currency": _first(price, "PRICE_CURRENCY"),
            "price type": kinds[0],
            "tax": _first(price, "TAX"),
            PRICE_QUANTITY: _first(article, "PRICE_QUANTITY"),
            PRICE_FACTOR: _first(price, "PRICE_FACTOR"),
        }
    return cells


def _number(text: str) -> float:
    """A quantity, only to find the smallest one."""
    try:
        return float(text)
    except ValueError:
        return float("inf")


def _gtin(article: "_Element") -> str:
    for each in _all(article, "INTERNATIONAL_PID"):
        if (each.get("type") or "gtin").casefold() in ("gtin", "ean", "upc"):
            return (each.text or "").strip()
    return _first(article, "EAN", "INTERNATIONAL_AID")


def _all(element: "_Element", *names: str) -> list["_Element"]:
    return [each for each in element.iter() if local_name(each).upper() in names]


def _find(element: "_Element", *names: str) -> "_Element | None":
    return next(iter(_all(element, *names)), None)


def _first(element: "_Element", *names: str) -> str:
    """The text of the first element of one of these names."""
    found = _find(element, *names)
    return "" if found is None else "".join(map(str, found.itertext())).strip()
