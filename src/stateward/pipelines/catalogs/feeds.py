"""XML: Google feeds as RSS and Atom, BMEcat (see there), and any list of elements that look like products."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stateward.pipelines.catalogs import yml
from stateward.pipelines.catalogs.bmecat import (
    Bmecat,
    Row,
    is_bmecat,
)
from stateward.pipelines.catalogs.feed_text import GOOGLE, readable_xml
from stateward.pipelines.catalogs.headings import is_heading, is_product, roles_in
from stateward.pipelines.catalogs.model import CatalogReading
from stateward.pipelines.catalogs.objects import (
    TRANSPARENT,
    ObjectMaker,
    PrintedCells,
    put_cell,
)
from stateward.pipelines.catalogs.tables import no_catalog
from stateward.pipelines.kit.failures import DAMAGED_FILE
from stateward.pipelines.kit.xml import local_name, parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

FEED_DEPTH_MAX = 6
VALUE_CHARS_MAX = 100_000
NAMES = frozenset({"sku", "number", "handle", "gtin"})
NO_OPTION = "Default Title"  # what Shopify calls the only variant of a product


def read_xml(path: Path, *, is_lenient: bool = False) -> CatalogReading:
    """The catalogue in an XML document."""
    damage: list[str] = []
    on_damaged = damage.append if is_lenient else None
    root = parse_xml(readable_xml(path.read_bytes()), on_damaged=on_damaged)
    if is_bmecat(root):
        reading = CatalogReading("bmecat")
        catalog = Bmecat(root)
        reading.currency = catalog.currency
        reading.currency_why = "the header of the catalogue names it" if catalog.currency else ""
        rows = catalog.rows()
        if not catalog.has_prices():
            reading.note("NO_PRICES", "no article has a price; they are accepted without one")
    else:
        elements = _products(root)
        is_google = any(GOOGLE in str(value) for value in root.nsmap.values())
        reading = CatalogReading("google" if is_google else "xml")
        rows = _rows(elements)
        if local_name(root) == yml.ROOT:
            offers = yml.Offers(root)
            rows = (
                (number, element.sourceline, offers.completed(element, _cells(element)))
                for number, element in enumerate(elements, start=1)
            )
    for each in damage:
        reading.note(DAMAGED_FILE, f"products may be missing, the last one is left out: {each}")
        rows = _without_last(rows)  # its text may have been cut off, and a price with it
    reading.batches = ObjectMaker(reading).batches(rows)
    return reading


def _without_last(rows: Iterator[Row]) -> Iterator[Row]:
    held = next(rows, None)
    for row in rows:
        if held is not None:
            yield held
        held = row


def _products(root: "_Element") -> list["_Element"]:
    """The elements of one name that are the most and look like products."""
    groups: dict[tuple[str, str], list[_Element]] = {}
    for element in root.iter():
        if len(element) and isinstance(element.tag, str) and element.getparent() is not None:
            groups.setdefault((str(element.getparent().tag), element.tag), []).append(element)
    likely = [
        found for found in groups.values() if any(is_product([*_cells(each)]) for each in found[:5])
    ]
    if not likely:
        raise no_catalog("no repeated element in it has a SKU beside a title or a price")
    # Of two as long, the one that names its products, or else the inner one.
    return max(reversed(likely), key=lambda found: (len(found), _is_named(found[0])))


def _is_named(element: "_Element") -> bool:
    return not NAMES.isdisjoint(roles_in([*_cells(element)]))


def _rows(elements: Iterable["_Element"]) -> Iterator[Row]:
    """The cells of each element, and those of the product around it that it is a variant of."""
    around: _Element | None = None
    shared: PrintedCells = {}  # looked at once: a feed stands around all of its products
    for number, element in enumerate(elements, start=1):
        product = element.getparent()
        if product is not around:
            is_inside = product is not None and product.getparent() is not None
            around, shared = product, _cells(product, but=str(element.tag)) if is_inside else {}
            shared = shared if is_heading([*shared]) else {}
        yield number, element.sourceline, _variant_cells(_cells(element), shared)


def _variant_cells(cells: PrintedCells, shared: PrintedCells) -> PrintedCells:
    if not shared:
        return cells
    if title := shared.get("title"):
        name = cells.pop("title", "")
        if name and name not in (title, NO_OPTION):
            cells["option1 value"] = name
    return {**shared, **{name: text for name, text in cells.items() if text}}


def _cells(element: "_Element", prefix: str = "", depth: int = 0, but: str = "") -> PrintedCells:
    """The leaves of an element by name; the first of several with a text wins, the others are numbered.

    Elements inside that are named as `but` are left out.
    """
    cells: PrintedCells = {}
    for name, value in element.attrib.items():
        cells[f"{prefix}{str(name).rpartition('}')[2]}"] = str(value)
    for child in element:
        name = local_name(child)
        if not name or child.tag == but:
            continue
        if len(child) and depth < FEED_DEPTH_MAX:
            parent = "" if name in TRANSPARENT else f"{name} "
            inner = _cells(child, parent, depth + 1)
        else:
            inner = {
                f"{prefix}{name}": "".join(map(str, child.itertext()))[:VALUE_CHARS_MAX].strip()
            }
            inner |= {
                f"{prefix}{name} {str(key).rpartition('}')[2]}": str(value)
                for key, value in child.attrib.items()
            }
            if not inner[f"{prefix}{name}"] and "href" in child.attrib:  # Atom links
                inner[f"{prefix}{name}"] = str(child.attrib["href"])
        for key, text in inner.items():
            put_cell(cells, key, text)
    return cells
