"""JSON: products as objects, alone, in lines or in a list somewhere; Shopify and WooCommerce by their own shapes.

Numbers keep the digits that are printed: no float is made of a price.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from stateward.core.errors import FatalFailure
from stateward.pipelines.catalogs.coins import (
    AMOUNTS,
    all_with_decimals,
    in_usual_coin,
    is_amount,
    with_decimals,
)
from stateward.pipelines.catalogs.headings import (
    BARE_PRICE,
    PRICE_UNSURE,
    PRICES,
    PROGRAMS,
    choose_bare_price,
    is_price_phrase,
    is_product,
    role_of,
    simplify,
)
from stateward.pipelines.catalogs.model import CatalogReading, Observation, ProductPlace
from stateward.pipelines.catalogs.schema_org import (
    FORMAT,
    JsonObject,
    JsonValue,
    products_in,
)
from stateward.pipelines.catalogs.tables import no_catalog
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.kit.failures import CORRUPT_FILE, DAMAGED_FILE, HOSTILE_FILE

PrintedCells: TypeAlias = dict[str, str]

BATCH_ROWS = 100
DEPTH_MAX = 4
GROUPS_DEPTH_MAX = 8  # objects and lists around the products
SAME_NAME_MAX = 100
VALUE_CHARS_MAX = 100_000
OBJECTS_MAX = 1_000_000  # that are saved of a torn file
# Objects inside a product whose own name says nothing: what is in them belongs to the product.
TRANSPARENT = frozenset(
    {
        "offers",
        "pricing",
        "prices",
        "identifiers",
        "details",
        "attributes",
        "node",
        "ItemID",
        "ItemDetail",
    }
)
# What says that a price is not that of one unit, where it is another number than 1.
PRICE_QUANTITY, PRICE_FACTOR = "price quantity", "price factor"
PRICE_NOT_OF_ONE = "PRICE_NOT_OF_ONE"
PRICE_LISTS = frozenset({"pricing", "prices"})
JSON_API = frozenset({"id", "type", "attributes", "relationships", "links", "meta"})
# What an attribute is called in a list of them.
ATTRIBUTE_NAMES = ("attribute_code", "code", "key", "name")
# What a number is, where a list has nothing but such words and the numbers: `{type: GTIN13, value: …}`.
KIND_NAMES = frozenset({"type", "kind", "scheme", "idtype", "codetype"})
KIND_VALUES = frozenset({"value", "id", "code", "number", "identifier"})
LANGUAGE_NAMES = frozenset(
    {"lang", "language", "locale", "languagecode", "language_code", "langcode"}
)
_ONE = re.compile(r"0*1(?:[.,]0*)?")
_LANGUAGE = re.compile(
    r"(?:ar|bg|cs|da|de|el|en|es|et|fi|fr|he|hr|hu|it|ja|ko|lt|lv|nb|nl|no|pl|pt|ro|ru|sk|sl|sv|tr|uk|zh)"
    r"(?:[-_][A-Za-z]{2})?"
)
_loads = partial(json.loads, parse_float=str, parse_int=str, parse_constant=str)


def read_json(path: Path, *, is_lenient: bool = False) -> CatalogReading:
    """The catalogue in a JSON document or in JSON lines."""
    encoding = find_encoding(path)
    text = path.read_bytes().decode(encoding.name, "replace").lstrip("\ufeff")
    damage = ""
    try:
        decoded = _decode(text)
    except FatalFailure as error:
        if not is_lenient or error.code != CORRUPT_FILE:
            raise
        decoded, damage = _whole_objects(text), error.message
    told = products_in(decoded)
    products = told or _products(decoded, 0)
    if damage and not products:
        raise FatalFailure(f"{damage}, and no product in it is whole", code=CORRUPT_FILE)
    if not products:
        raise no_catalog("no list in it holds objects with a SKU beside a title or a price")
    reading = CatalogReading("json")
    reading.decisions.append(f"the text is {encoding.name}: {encoding.why}")
    if damage:
        reading.note(DAMAGED_FILE, f"products may be missing: {damage}")
    reading.format = FORMAT if told else _program(products[0])
    reading.batches = object_batches(products, reading)
    return reading


def object_batches(
    products: Sequence[JsonObject], reading: CatalogReading
) -> Iterator[list[Observation]]:
    """The products, and the variants of each."""
    return ObjectMaker(reading).batches(
        (number, None, cells)
        for number, product in enumerate(products, start=1)
        for cells in _rows(product)
    )


class ObjectMaker:
    """Makes observations of cells by name; the role of each name is looked up once."""

    def __init__(self, reading: CatalogReading) -> None:
        self._reading = reading
        self._doubts: set[str] = set()
        self._roles_named: set[str] = set()  # by any product so far
        self._unknown: dict[str, None] = {}  # names of numbers that have no role

    def batches(
        self, rows: Iterator[tuple[int, int | None, PrintedCells]]
    ) -> Iterator[list[Observation]]:
        """The products in lists that fit into a chunk; rows are (number, line, cells)."""
        while batch := list(islice(rows, BATCH_ROWS)):
            for _, _, cells in batch:  # names first: what one product lacks, another one may have
                self._roles_named.update(role_of(name)[0] for name in cells)
            yield [
                self._observation(ProductPlace(number, line), cells)
                for number, line, cells in batch
            ]
        if not PRICES & self._roles_named and (likely := [*filter(_may_be_price, self._unknown)]):
            self._reading.note(
                PRICE_UNSURE,
                f"no name is known as that of a price, and products have none; {', '.join(likely[:5])} may be it",
            )

    def _observation(self, where: ProductPlace, cells: PrintedCells) -> Observation:
        found: dict[str, tuple[int, str]] = {}
        other: PrintedCells = {}
        bare: PrintedCells = {}
        for name, value in cells.items():
            role, rank = role_of(name)
            self._reading.columns.setdefault(name, "" if role == BARE_PRICE else role)
            if not value:
                continue
            if role == BARE_PRICE:
                bare[name] = value
                continue
            is_rate = role in PRICES and value.endswith("%")  # of the tax, inside of a price
            if not role and value.replace(".", "", 1).isdecimal():
                self._unknown[name] = None
            if not role or is_rate or (role in found and found[role][0] <= rank):
                other[name] = value
                continue
            if role in found:
                other[role] = found[role][1]
            found[role] = rank, value
        roles = {role: value for role, (_, value) in found.items()}
        if bare and not PRICES & roles.keys():
            self._take_bare_price(bare, roles)
        other |= bare
        # Lent for a whole catalogue, never for one product: where others have a title, this one lacks it.
        named = self._roles_named
        if "sku" not in named and "number" in roles and self._reading.format not in PROGRAMS:
            roles["sku"] = roles.pop("number")
        if not {"title", "handle"} & named and "description" in roles:
            roles["title"] = roles.pop("description")
        if not {"price", "sale_price"} & named and "list_price" in named:
            self._lend_list_price(roles)
        return Observation(where, _fault_of_quantity(cells), **roles, other=other)

    def _lend_list_price(self, roles: dict[str, str]) -> None:
        columns = self._reading.columns
        columns |= {name: "price" for name, role in columns.items() if role == "list_price"}
        if "list_price" in roles:
            roles["price"] = roles.pop("list_price")

    def _take_bare_price(self, bare: PrintedCells, roles: dict[str, str]) -> None:
        columns = [(name, [value]) for name, value in bare.items()]
        chosen, doubts = choose_bare_price(columns, has_currency="currency" in roles)
        for doubt in doubts:
            if doubt not in self._doubts:
                self._doubts.add(doubt)
                self._reading.note(PRICE_UNSURE, doubt)
        if chosen is not None:
            name = columns[chosen][0]
            self._reading.columns[name] = "price"
            roles["price"] = bare.pop(name)


def _fault_of_quantity(cells: PrintedCells) -> str:
    """The flag of a price of several units; it is kept as it is printed."""
    told = (cells.get(name, "") for name in (PRICE_QUANTITY, PRICE_FACTOR))
    is_of_one = all(not text or _ONE.fullmatch(text.strip()) for text in told)
    return "" if is_of_one else PRICE_NOT_OF_ONE


def _may_be_price(name: str) -> bool:
    return is_price_phrase(name) or not AMOUNTS.isdisjoint(simplify(name).split())


def put_cell(cells: PrintedCells, key: str, text: str) -> None:
    """Add a cell; the first of a name with a text keeps the name, the others are numbered."""
    if not cells.get(key):
        cells[key] = text
    elif text:
        number = next((at for at in range(2, SAME_NAME_MAX) if f"{key} ({at})" not in cells), 0)
        cells[f"{key} ({number or SAME_NAME_MAX})"] = text


def _decode(text: str) -> JsonValue:
    try:
        try:
            found: JsonValue = _loads(text)
        except ValueError:
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) < 2:
                raise
            found = [_loads(line) for line in lines]
    except RecursionError as error:
        raise FatalFailure(
            "the JSON is nested deeper than any catalogue; it is not read", code=HOSTILE_FILE
        ) from error
    except ValueError as error:
        raise FatalFailure(
            f"the JSON is damaged or incomplete ({error}); export it again", code=CORRUPT_FILE
        ) from error
    return found


def _whole_objects(text: str) -> JsonValue:
    """The objects of the outermost list, or of lines, that can be read; what is between them is left out."""
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    found: list[JsonValue] = []
    at = max(text.find("["), 0)  # the envelope around the list is torn: its products are not
    while (at := text.find("{", at)) >= 0 and len(found) < OBJECTS_MAX:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            if (at := text.find("\n", at)) < 0:  # on to the next line: never quadratic within one
                break
        else:
            found.append(value)
    return found


def _products(value: JsonValue, depth: int) -> list[JsonObject]:
    """The longest list of objects that look like products; of a list of groups, the products of all of them."""
    if depth > GROUPS_DEPTH_MAX:
        return []
    if isinstance(value, list):
        objects = [_unwrap(each) for each in value if isinstance(each, dict)]
        if any(map(_is_product, objects[:20])):
            return objects
        # Each group of a price list has its own products, and all of them are the catalogue.
        return [product for each in objects for product in _products(each, depth + 1)]
    if not isinstance(value, dict):
        return []
    lists = [_products(each, depth + 1) for each in value.values()]
    found = max(lists, key=len, default=[])
    if _is_product(value) and not any(map(_has_identity_of_its_own, found)):
        return [value]
    return found


def _unwrap(value: JsonObject) -> JsonObject:
    """An object without what GraphQL ({"node": {...}}) or JSON:API ({"id": 1, "attributes": {...}}) wraps around it."""
    node, attributes = value.get("node"), value.get("attributes")
    if isinstance(node, dict) and len(value) <= 2:
        return node
    if isinstance(attributes, dict) and value.keys() <= JSON_API:
        return {"id": value.get("id"), **attributes}
    return value


def _is_product(value: JsonObject) -> bool:
    return is_product([*_cells(value)]) or (_variants(value) != [] and "title" in value)


def _has_identity_of_its_own(value: JsonObject) -> bool:
    return "title" in value or "name" in value


def _program(product: JsonObject) -> str:
    if _variants(product):
        return "shopify"
    return "woocommerce" if "regular_price" in product and "type" in product else "json"


def _rows(product: JsonObject) -> Iterator[PrintedCells]:
    """The cells of a product, or of each of its variants."""
    variants = _variants(product)
    if variants:
        yield from _shopify_rows(product, variants)
        return
    cells = _cells(product)
    if "regular_price" in product and "type" in product:
        _adapt_woocommerce(cells)
    yield cells


def _variants(product: JsonObject) -> list[JsonObject]:
    found = product.get("variants")
    if isinstance(found, dict):
        found = found.get("edges") or found.get("nodes")
    return (
        [_unwrap(each) for each in found if isinstance(each, dict)]
        if isinstance(found, list)
        else []
    )


def _shopify_rows(product: JsonObject, variants: list[JsonObject]) -> Iterator[PrintedCells]:
    shared = _cells(
        {
            name: value
            for name, value in product.items()
            if name not in ("variants", "options", "id")
        }
    )
    options = product.get("options")
    for at, option in enumerate(options[:3] if isinstance(options, list) else (), start=1):
        if isinstance(option, dict):
            shared[f"option{at} name"] = _text(option.get("name"))
    for variant in variants:
        cells = _cells({name: value for name, value in variant.items() if name != "title"})
        yield {**shared, **{name: value for name, value in cells.items() if value}}


def _adapt_woocommerce(cells: PrintedCells) -> None:
    """`type` says simple, variable or variation, `price` what holds today: the regular price or that of the sale."""
    cells["product kind"] = cells.pop("type", "")
    if cells.get("regular_price"):
        cells["price"] = cells.pop("regular_price")
    if cells.get("parent_id") == "0":
        del cells["parent_id"]


def _cells(value: Mapping[str, JsonValue], prefix: str = "", depth: int = 0) -> PrintedCells:
    """An object as cells by name; what is nested goes by both names, or by the inner one alone."""
    cells: PrintedCells = {}
    for name, given in in_usual_coin(value).items():
        if named := _named_values(given) or _kinds_of(given):
            for key, text in named.items():
                cells.setdefault(key, text)
            continue
        if texts := _texts_by_language(given):
            for key, text in _cells(texts, "", depth + 1).items():
                cells.setdefault(key, text)
            continue
        is_list = isinstance(given, list) and bool(given) and name in TRANSPARENT
        inner = given[0] if is_list and isinstance(given, list) else given
        if isinstance(inner, dict) and depth < DEPTH_MAX and not _label(inner):
            for key, text in _cells_inside(name, inner, depth).items():
                cells.setdefault(key, text)
        else:
            cells[f"{prefix}{name}"] = _text(inner)[:VALUE_CHARS_MAX]
    return cells


def _named_values(value: JsonValue) -> PrintedCells:
    """A list of names with a value each, as shops keep what their operator added: `{attribute_code: ean, value: …}`."""
    if not isinstance(value, list) or not value:
        return {}
    cells: PrintedCells = {}
    for each in value:
        names = [each.get(key) for key in ATTRIBUTE_NAMES] if isinstance(each, dict) else []
        name = next((name for name in names if isinstance(name, str) and name), "")
        if not isinstance(each, dict) or not name or "value" not in each:
            return {}
        put_cell(cells, name, _text(each["value"])[:VALUE_CHARS_MAX])
    return cells


def _kinds_of(value: JsonValue) -> PrintedCells:
    """A list of numbers, each of which says what it is: `[{type: GTIN13, value: …}, {type: INTERNAL, value: …}]`."""
    cells: PrintedCells = {}
    for each in value if isinstance(value, list) else ():
        if not isinstance(each, dict) or len(each) != 2:
            return {}
        kind = next((told for key, told in each.items() if key.lower() in KIND_NAMES), None)
        told = next((told for key, told in each.items() if key.lower() in KIND_VALUES), None)
        if not isinstance(kind, str) or not kind or isinstance(told, (dict, list)):
            return {}
        put_cell(cells, kind, _text(told)[:VALUE_CHARS_MAX])
    return cells


def _texts_by_language(value: JsonValue) -> JsonObject:
    """Texts below each language, or each with its language, as one object: of each text the first that is told."""
    if isinstance(value, dict) and value and all(map(_LANGUAGE.fullmatch, value)):
        parts = [*value.values()]
    elif isinstance(value, list):
        parts = [
            {key: told for key, told in each.items() if key.lower() not in LANGUAGE_NAMES}
            for each in value
            if isinstance(each, dict) and LANGUAGE_NAMES & {key.lower() for key in each}
        ]
        if len(parts) < len(value):
            return {}
    else:
        return {}
    found: JsonObject = {}
    for part in parts:
        if not isinstance(part, dict):
            return {}
        for key, told in part.items():
            if found.get(key) in (None, ""):
                found[key] = told
    return found


def _cells_inside(name: str, inner: JsonObject, depth: int) -> PrintedCells:
    """What an object inside a product says; prices and texts in several languages by the names that all shops have."""
    if role_of(name)[0] in PRICES:
        return {
            _name_in_price(name, each): _text(told)[:VALUE_CHARS_MAX]
            for each, told in with_decimals(inner).items()
        }
    if (
        name in PRICE_LISTS
    ):  # `pricing: {list: {amount: 12.5, currency: GBP}}`: each of them is a price
        inner = {
            f"{each} price" if is_amount(told) else each: told
            for each, told in all_with_decimals(inner).items()
        }
    cells = _cells(inner, "" if name in TRANSPARENT else f"{name} ", depth + 1)
    texts = [told for told in inner.values() if isinstance(told, str) and told]
    if texts and all(map(_LANGUAGE.fullmatch, inner)):  # the first language stands for the text
        cells[name] = texts[0][:VALUE_CHARS_MAX]
    return cells


def _name_in_price(name: str, inner: str) -> str:
    if inner.lower() in AMOUNTS:
        return name
    return "currency" if role_of(inner)[0] == "currency" else f"{name} {inner}"


def _text(value: JsonValue) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(filter(None, map(_text, value)))
        case dict():
            return _label(value) or json.dumps(value, ensure_ascii=False)


def _label(value: JsonObject) -> str:
    """The text that stands for an object: the name of a category or brand, the address of an image."""
    if len(value) > 12:
        return ""
    for key in ("name", "src", "url"):
        if isinstance(found := value.get(key), str) and found:
            return found
    return ""
