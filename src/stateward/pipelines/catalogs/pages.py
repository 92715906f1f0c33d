"""HTML: products that a page tells search engines (JSON-LD, microdata), or its tables with headings of products."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from stateward.core.errors import FatalFailure
from stateward.pipelines.catalogs.model import CatalogReading, Observation
from stateward.pipelines.catalogs.objects import object_batches
from stateward.pipelines.catalogs.schema_org import FORMAT, JsonObject, JsonValue, products_in
from stateward.pipelines.catalogs.sheets import row_batches
from stateward.pipelines.catalogs.tables import no_catalog, table_observations
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.kit.html_tables import parse_html, tables_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

DEPTH_MAX = 12
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
HEAD_BYTES = 4096
_SPACES = re.compile(r"\s+")


def read_page(path: Path) -> CatalogReading:
    """The catalogue in a page: whichever of both ways tells more products."""
    data = path.read_bytes()
    said = _CHARSET.search(data[:HEAD_BYTES])
    encoding = find_encoding(path, hint=said[1].decode("ascii") if said else "")
    root = parse_html(data.decode(encoding.name, "replace").lstrip("\ufeff"))
    reading = CatalogReading("html")
    told = products_in(_linked_data(root)) or products_in([*_microdata(root)])
    tables, rows = _tables(root, reading)
    if not told and not tables:
        raise no_catalog(
            "the page tells no products (JSON-LD or microdata of schema.org), and no table in it names a SKU beside a "
            "title or a price"
        )
    if len(told) >= rows:
        reading = CatalogReading(FORMAT)
        reading.decisions.append(f"the page tells {len(told)} products in the words of schema.org")
        reading.batches = object_batches(told, reading)
    else:
        reading.batches = chain.from_iterable(tables)
    reading.decisions.append(f"the text is {encoding.name}: {encoding.why}")
    return reading


def _tables(
    root: "HtmlElement", reading: CatalogReading
) -> tuple[list[Iterator[list[Observation]]], int]:
    """The products of each table that has headings of products, and the number of rows of those tables."""
    parts: list[Iterator[list[Observation]]] = []
    count = 0
    for number, rows in enumerate(tables_of(root), start=1):
        name = f"table {number}"
        try:
            parts.append(table_observations(row_batches(name if parts else None, rows), reading))
        except FatalFailure:
            continue
        count += len(rows) - 1
        reading.decisions.append(f"the {name} of the page holds products")
    return parts, count


def _linked_data(root: "HtmlElement") -> list[JsonValue]:
    found: list[JsonValue] = []
    for script in root.iter("script"):
        if "ld+json" in str(script.get("type", "")).lower() and script.text:
            try:
                decoder = json.JSONDecoder(
                    strict=False, parse_float=str, parse_int=str, parse_constant=str
                )
                found.append(decoder.decode(script.text.strip().removesuffix(";")))
            except (ValueError, RecursionError):
                continue  # it is for machines, and one that is broken says nothing; the page may tell more
    return found


def _microdata(root: "HtmlElement") -> Iterator[JsonObject]:
    for element in root.iter():
        if "itemscope" in element.attrib and "itemprop" not in element.attrib:
            yield _thing(element, 0)


def _thing(element: "HtmlElement", depth: int) -> JsonObject:
    found: JsonObject = {"@type": str(element.get("itemtype", ""))}
    for prop in _properties(element):
        is_thing = "itemscope" in prop.attrib
        if is_thing and depth >= DEPTH_MAX:
            continue
        value: JsonValue = _thing(prop, depth + 1) if is_thing else _value(prop)
        for name in str(prop.get("itemprop", "")).split():
            known = found.get(name)
            if known is None:
                found[name] = value
            else:
                found[name] = [*known, value] if isinstance(known, list) else [known, value]
    return found


def _properties(element: "HtmlElement") -> Iterator["HtmlElement"]:
    """The properties of a thing itself, in order: not those of the things in it."""
    ahead = [iter(element)]
    while ahead:
        child = next(ahead[-1], None)
        if child is None:
            ahead.pop()
            continue
        if "itemprop" in child.attrib:
            yield child
        if "itemscope" not in child.attrib:
            ahead.append(iter(child))


def _value(element: "HtmlElement") -> str:
    for name in ("content", "href", "src", "datetime", "value"):
        if element.get(name) and (
            name == "content" or element.tag not in ("span", "div", "p", "li")
        ):
            return str(element.get(name)).strip()
    return _SPACES.sub(" ", "".join(map(str, element.itertext()))).strip()
