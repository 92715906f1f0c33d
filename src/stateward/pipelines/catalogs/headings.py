"""The role of a column by its heading. The words, in many languages, are data in `headings.yaml`."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from stateward.pipelines.catalogs.contents import (
    CELLS_SEEN_MAX,
    PriceOrder,
    cells_of,
    columns_below,
    is_numeric,
    price_order,
    roles_by_content,
)
from stateward.pipelines.catalogs.currencies import (
    currency_in_name,
    currency_in_words,
    is_currency_word,
)
from stateward.pipelines.kit.dates import fold

HEADING_CHARS_MAX = 80
HEADING_ROWS_MAX = 40  # titles and addresses stand above the headings of a price list
ROLES_MIN = 2
HEADINGS_MIN = 3  # of a row of headings that are not understood
# Without one of these no row can be told from another.
IDENTITIES = frozenset({"sku", "gtin", "barcode", "handle", "number", "mpn"})
PRODUCT_ROLES = frozenset({"price", "title", "category", "brand", "sale_price", "list_price"})
PRICES = frozenset({"price", "sale_price", "list_price"})
BUYERS = frozenset(
    {"dealer", "trade", "wholesale", "distributor", "reseller", "jobber", "contractor", "retail"}
)
AMOUNTS_NET = frozenset({"net", "gross", "cost", "each", "netto", "brutto"})
BARE_PRICE = "bare_price"  # the role of a column named Net or Gross: a price, or a weight
PRICE_UNSURE = "PRICE_UNSURE"
# Who sells by a list of both asks for the net price; the other one is the same with the tax in it.
GROSS = frozenset({"brutto", "bruttopreis", "gross", "ttc", "incl", "inkl", "including"})
GROSS_RANK = 10_000  # behind every other heading of a price
QUALIFIED_RANK = 1_000  # behind every heading that is known as a whole
PHRASE_RANK = 20_000  # behind all of them: a heading of which only the word for a price is known
EMPTY_RANK = 100_000  # behind every column that holds anything
PHRASE_WORDS_MAX = 5
YES_OR_NO = frozenset(
    ["yes", "no", "y", "n", "x", "true", "false", "ja", "nein", "oui", "non", "si", "sí"]
)
# Columns by which a program names itself. In WooCommerce, Type is simple, variable or variation.
SHOPIFY = frozenset({"handle", "variant price"})
WOOCOMMERCE = frozenset({"regular price", "type"})
VARIANTS = frozenset({"variable", "variation"})
KINDS = VARIANTS | {"simple", "grouped", "external", "virtual", "downloadable"}
# Those identify products by a handle or a number; elsewhere the number of a product is its SKU.
PROGRAMS = frozenset({"shopify", "woocommerce"})
# A price in the smallest coin: it would be read a hundred times too high.
COINS = frozenset(
    ["cent", "cents", "centimes", "centavos", "centimos", "centesimi", "pence", "pennies", "groszy"]
)
GTINS = frozenset({"gtin", "upc", "ean", "isbn", "jan", "8", "12", "13", "14"})
GTIN_NAMES_MIN, CONNECTOR_CHARS_MAX = 2, 5
MODELS = frozenset({"model", "modell", "modele", "modelo", "modello"})  # codespell:ignore modell
_SIGNS = re.compile(r"[\W_]+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_PRICE_BELOW = "no heading is known as that of a price; {} is taken for it, which is below the list price in each row"
_BY_ONE_WORD = "no heading is known as that of a price; {} is taken for it, by one word of it"
_OTHER_PRICE = "{} may be the price as well; {} was taken"
_DIGITS = re.compile(r"[\d.,\s%€$£-]*\d[\d.,\s%€$£-]*")
_IN_COINS = "{} is in the smallest coin, and is not taken for the price; export prices with their decimal sign"
_NO_PRICE = "no heading is known as that of a price, and products have none; {} may be it"
# Codes of currencies are words, too (ALL, TOP), and an address may have one.
_PRICE_WORD = re.compile(
    r"pri[cs]|pre[iç]|prix|prez|prij|preci|\bcen[ay]|w[aä]hrung|currenc|devise|moneda|valuta|montant|amounts?\b"
    r"|betr[aä]ge",
    re.IGNORECASE,
)
_NUMBER_SIGN = re.compile(r"#|№|(?<![^\W_])n[º°](?![^\W_])", re.IGNORECASE)
# A text in one of several languages, and for one of several channels: `name_en`, `description-de_DE-print`.
_IN_LANGUAGE = re.compile(
    r"(\w+?)[-_ .](?:(?:en|de|fr|es|it|nl|pl|cs|sv|da|fi|nb|no|pt|hu|ro|ru|uk)|[a-z]{2}[-_][A-Z]{2})(?:-[a-z]+)?"
)
TEXTS = frozenset({"title", "description", "category"})
_IN_BRACKETS = re.compile(r"[(\[].*?[)\]]")


class ColumnPlan(NamedTuple):
    """What the columns of a table are: the heading and the place of each role, and of the cells without one."""

    headings: tuple[str, ...]
    places: dict[str, int]
    others: tuple[tuple[int, str], ...]
    format: str
    currency: str
    doubts: tuple[str, ...] = ()  # sentences about columns that may be prices
    orders: tuple[PriceOrder, ...] = ()  # of the price and other prices, that nearly all rows keep

    @property
    def width(self) -> int:
        return len(self.headings)

    def columns(self) -> dict[str, str]:
        """Each heading with its role."""
        roles = {place: role for role, place in self.places.items()}
        return {name: roles.get(at, "") for at, name in enumerate(self.headings) if name}


@cache
def _words() -> dict[str, tuple[str, int]]:
    data = msgspec.yaml.decode((files(__package__) / "headings.yaml").read_text("utf-8"))
    table: dict[str, tuple[str, int]] = {}
    for role, lines in data["columns"].items():
        words = (simplify(word) for line in lines for word in line.split(","))
        for rank, word in enumerate(words):
            table.setdefault(word, (role, rank))
    return table


@lru_cache(maxsize=8192)
def simplify(text: str) -> str:
    """A heading without case, accents and signs: `Prix_TTC` is `prix ttc`, `priceCurrency` two words."""
    return _SIGNS.sub(" ", fold(_INNER_CAPITAL.sub(" ", text))).strip()


@lru_cache(maxsize=8192)
def role_of(heading: str) -> tuple[str, int]:
    """The role of a column and its rank among the words for it; ("", 0) if it has none."""
    if not heading or len(heading) > HEADING_CHARS_MAX:
        return "", 0
    table = _words()
    numbered = _NUMBER_SIGN.sub(" no ", heading)  # `Item #`: no title
    for text in (numbered, heading, _IN_BRACKETS.sub(" ", heading), _without_currency(heading)):
        if (found := table.get(simplify(text))) is not None:
            if found[0] in PRICES and is_in_coins(heading):
                return "", 0
            # `¿Existencias?`, `In stock?`: yes or no, and not how many.
            return ("", 0) if found[0] == "stock" and heading.rstrip().endswith("?") else found
    if (said := _IN_LANGUAGE.fullmatch(heading)) is not None:
        role, rank = role_of(said[1])
        if role in TEXTS:
            return role, QUALIFIED_RANK + rank
    words = simplify(_without_currency(heading)).split()
    return _qualified_role(words, table) if not _are_gtins(words) else ("gtin", QUALIFIED_RANK)


def _are_gtins(words: list[str]) -> bool:
    """Whether a heading names several kinds of one number, and a small word between them: `GTIN, UPC, EAN o ISBN`."""
    others = [word for word in words if word not in GTINS]
    is_joined = not others or (len(others) == 1 and len(others[0]) <= CONNECTOR_CHARS_MAX)
    is_named = any(word in GTINS and not word.isdigit() for word in words)
    return is_joined and is_named and len(words) - len(others) >= GTIN_NAMES_MIN


def _qualified_role(words: list[str], table: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """The role of a heading that says more than its role: `Prijs excl. btw` is a price, `Nombre del artículo` a title.

    Words are left out only for the role that they belong to, so that a code for taxes is never a SKU; and a column
    whose heading is known as a whole has the role before one that is only understood in parts.
    """
    for role, beside in _qualifiers().items():
        left = [word for word in words if word not in beside]
        if left and len(left) < len(words):
            found, rank = table.get(" ".join(left), ("", 0))
            if found == role or (role == "price" and found == BARE_PRICE):
                is_told = found == BARE_PRICE and _sides_of_trade(words) > 1
                return "price" if is_told else found, QUALIFIED_RANK + rank
    return ("price", QUALIFIED_RANK) if _sides_of_trade(words) > 1 else ("", 0)


def _sides_of_trade(words: Sequence[str]) -> int:
    """How many words say for whom, or of which kind, a price is, where no other word stands beside them.

    `Net` may be a weight and `Dealer` a name, but `Dealer Net` is a price.
    """
    if not all(word in BUYERS or word in AMOUNTS_NET for word in words):
        return 0
    return len(words) if any(word in BUYERS for word in words) else 0


@cache
def _qualifiers() -> dict[str, frozenset[str]]:
    data = msgspec.yaml.decode((files(__package__) / "headings.yaml").read_text("utf-8"))
    return {
        role: frozenset(word for line in lines for word in line.split())
        for role, lines in data["qualifiers"].items()
    }


def _without_currency(heading: str) -> str:
    words = [word for word in _SIGNS.split(heading.replace("€", " EUR ")) if word]
    return " ".join(word for word in words if not is_currency_word(word))


@lru_cache(maxsize=8192)
def is_in_coins(heading: str) -> bool:
    """Whether a heading speaks of the smallest coin: `Price (cents)`."""
    return not COINS.isdisjoint(simplify(heading).split())


def is_price_phrase(heading: str) -> bool:
    """Whether a heading is a word for a price with others that are not known: `PREZZO BT €`, `Price A`."""
    if is_in_coins(heading):
        return False
    words = simplify(_without_currency(heading)).split()
    beside = _phrases()
    is_named = not beside["price"].isdisjoint(words)
    return is_named and len(words) <= PHRASE_WORDS_MAX and beside["no_price"].isdisjoint(words)


def _is_yes_or_no(cell: str) -> bool:
    return cell.casefold() in YES_OR_NO


def _is_word_or_sign(cell: str) -> bool:
    return is_currency_word(cell) or _is_yes_or_no(cell)


# Cells that a column has not, if its heading means what it seems to: `Symbol` of a currency, `Clearance: yes`.
DENIED = {"sku": _is_word_or_sign, "sale_price": _is_yes_or_no, "list_price": _is_yes_or_no}


def is_of_terms(sheet: str) -> bool:
    """Whether the name of a sheet says that its amounts are none of products: `Shipping costs`."""
    return not _phrases()["terms"].isdisjoint(simplify(sheet).split())


@cache
def _phrases() -> dict[str, frozenset[str]]:
    data = msgspec.yaml.decode((files(__package__) / "headings.yaml").read_text("utf-8"))
    return {
        role: frozenset(simplify(word) for line in lines for word in line.split())
        for role, lines in data["phrases"].items()
    }


def roles_in(cells: Sequence[str]) -> set[str]:
    """The roles that a row of headings names."""
    return {role for cell in cells if (role := role_of(cell.strip())[0])}


def names_price(cells: Sequence[str]) -> bool:
    """Whether headings name a price: by its word, or by a word such as Trade beside a currency."""
    roles = [(role_of(cell.strip())[0], cell) for cell in cells]
    return any(
        role in PRICES or (role == BARE_PRICE and currency_in_name(cell)) for role, cell in roles
    )


def is_heading(cells: Sequence[str]) -> bool:
    """Whether a row could be the headings of a catalogue."""
    roles = roles_in(cells)
    return len(roles) >= ROLES_MIN and bool(roles & IDENTITIES) and bool(roles & PRODUCT_ROLES)


def is_product(names: Sequence[str]) -> bool:
    """Whether the names of an object's values could be those of a product.

    Anything has a number and a title: an entry of a blog is a product no more than a customer is.
    """
    roles = roles_in(names)
    is_told = bool(roles & (IDENTITIES - {"number"})) or bool(roles & (PRICES | {"brand"}))
    return is_told and is_heading(names)


def currency_above(rows: Sequence[Sequence[str]]) -> str:
    """The currency that lines above the headings name beside a word for prices; "" for none, or for several."""
    lines = (" ".join(cells) for cells in rows)
    named = {currency_in_words(line) for line in lines if _PRICE_WORD.search(line)} - {""}
    return named.pop() if len(named) == 1 else ""


def heading_row(rows: Sequence[Sequence[str]]) -> int | None:
    """The place of the row that names the most roles; None if none looks like headings."""
    first = rows[:HEADING_ROWS_MAX]
    at = max(range(len(first)), key=lambda each: len(roles_in(first[each])), default=None)
    return at if at is not None and is_heading(first[at]) else None


def names_columns_again(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the row below headings names the columns once more: a product has words only where it has no figures."""
    return any(is_heading(cells) and not any(map(_DIGITS.fullmatch, cells)) for cells in rows[:1])


def heading_row_by_content(rows: Sequence[Sequence[str]]) -> tuple[int, dict[str, int]] | None:
    """The place of a row of words below which columns hold products, and what its words do not say of them."""
    for at, cells in enumerate(rows[:HEADING_ROWS_MAX]):
        told = [cell for cell in cells if cell.strip()]
        if len(told) < HEADINGS_MIN or any(map(_DIGITS.fullmatch, told)):
            continue
        known = {role: place for role, (_, place) in _best_places(cells, rows[at + 1 :]).items()}
        _lend(known, "")
        if places := roles_by_content(rows[at + 1 :], known):
            return at, {role: place for role, place in places.items() if role not in known}
    return None


def number_by_content(rows: Sequence[Sequence[str]], at: int) -> dict[str, int]:
    """The column of codes below headings that name no number of a product: without one no row would be a product."""
    below = rows[at + 1 :]
    known = {role: place for role, (_, place) in _best_places(rows[at], below).items()}
    _lend(known, "")
    if known.keys() & {"sku", "handle", "number"}:
        return {}
    found = roles_by_content(below, known)
    return {"sku": found["sku"]} if "sku" in found else {}


def _best_places(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Each role that headings name, with the rank of its heading and its place."""
    simple = {simplify(name) for name in names}
    best: dict[str, tuple[int, int]] = {}
    for at, name in enumerate(names):
        role, rank = role_of(name)
        if f"{simplify(name)} type" in simple and _are_typed_gtins(name, names, rows):
            role, rank = "gtin", 0
        if (simplify(name) == "type" and simple >= WOOCOMMERCE) or _holds_kinds(rows, at):
            role, rank = "kind", 0
        if role == "price" and not GROSS.isdisjoint(simplify(name).split()):
            rank += GROSS_RANK
        if not role and is_price_phrase(name) and cells_of(rows, at) and is_numeric(rows, at):
            role, rank = "price", PHRASE_RANK
        if role in DENIED and all(map(DENIED[role], cells := cells_of(rows, at))) and cells:
            continue
        if role and rows and not cells_of(rows, at):
            rank += EMPTY_RANK
        if role and (role not in best or rank < best[role][0]):
            best[role] = rank, at
    return best


def _are_typed_gtins(name: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column beside it, as `Product ID Type` is to `Product ID`, says of each cell that it is a GTIN."""
    types = [simplify(each) for each in names].index(f"{simplify(name)} type")
    told = cells_of(rows, types)
    return bool(told) and all(GTINS.issuperset(simplify(cell).split()) for cell in told)


def plan_of(
    headings: Sequence[str],
    format_: str,
    rows: Sequence[Sequence[str]] = (),
    *,
    by_content: Mapping[str, int] = MappingProxyType({}),
) -> ColumnPlan:
    """The roles of all columns, decided once for a file, by its headings and its first rows."""
    names = tuple(" ".join(cell.split()) for cell in headings)
    simple = {simplify(name) for name in names}
    best = _best_places(names, rows)
    places = {role: at for role, (_, at) in best.items()} | dict(by_content)
    places.pop(BARE_PRICE, None)
    doubts = _doubts_of_phrase(names, rows, best)
    bare = [at for at, name in enumerate(names) if role_of(name)[0] == BARE_PRICE]
    if bare and not {"price", "sale_price"} & places.keys():
        seen = [[row[at] for row in rows[:CELLS_SEEN_MAX] if at < len(row)] for at in bare]
        columns = [(names[at], cells) for at, cells in zip(bare, seen, strict=True)]
        chosen, unsure = choose_bare_price(columns, has_currency="currency" in places)
        if chosen is not None:
            places["price"] = bare[chosen]
        # Without a currency, what a list asks for (RRP) is a price, and Net beside it may be a weight.
        doubts = unsure if chosen is not None or "list_price" not in places else ()
    is_woocommerce = "kind" in places and _holds_kinds(rows, places["kind"])
    format_ = _program(simple) or ("woocommerce" if is_woocommerce else format_)
    if not {"price", "sale_price"} & places.keys() and "list_price" in places:
        unknown = [at for at in range(len(names)) if at not in places.values()]
        below = columns_below(rows, places["list_price"], unknown)
        if len(below) == 1:
            places["price"] = below[0]
            doubts = (_PRICE_BELOW.format(names[below[0]] or below[0] + 1),)
    _lend(places, format_, names, rows)
    taken = set(places.values())
    if not bare and not PRICES & places.keys():
        numeric = [
            name for at, name in enumerate(names) if at not in taken and is_numeric(rows, at)
        ]
        doubts = (_NO_PRICE.format(", ".join(numeric)),) if numeric else ()
    if "price" not in best and (coins := [*filter(is_in_coins, names)]):
        doubts = (_IN_COINS.format(", ".join(coins)),)
    others = tuple(
        (at, name if names.index(name) == at else f"{name} ({at + 1})")
        for at, name in enumerate(names)
        if at not in taken and name
    )
    currency = next(
        (
            found
            for role in PRICES & places.keys()
            if (found := currency_in_name(names[places[role]]))
        ),
        "",
    )
    return ColumnPlan(
        names,
        places,
        others,
        format_,
        currency,
        doubts,
        _price_orders(names, rows, places, format_),
    )


def _doubts_of_phrase(
    names: Sequence[str], rows: Sequence[Sequence[str]], best: Mapping[str, tuple[int, int]]
) -> tuple[str, ...]:
    """That a column is the price by one word of its heading alone; and the others that could be."""
    rank, chosen = best.get("price", (0, 0))
    if rank % EMPTY_RANK != PHRASE_RANK:
        return ()
    others = [
        name
        for at, name in enumerate(names)
        if at != chosen and is_price_phrase(name) and cells_of(rows, at) and is_numeric(rows, at)
    ]
    doubts = tuple(_OTHER_PRICE.format(name, names[chosen]) for name in others)
    return doubts or (_BY_ONE_WORD.format(names[chosen]),)


def _price_orders(
    names: Sequence[str], rows: Sequence[Sequence[str]], places: Mapping[str, int], format_: str
) -> tuple[PriceOrder, ...]:
    """How the price stands to the other prices of a row: a sale price is compared where it is read."""
    price = places.get("price")
    if price is None or format_ in PROGRAMS:
        return ()
    kinds = PRICES - {"sale_price"} | {BARE_PRICE}
    others = [
        at
        for at, name in enumerate(names)
        if at != price and (role_of(name)[0] in kinds or is_price_phrase(name))
    ]
    found = (price_order(rows, price, at) for at in others)
    return tuple(order for order in found if order is not None)


def _holds_kinds(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Whether a column says which rows are variants: shops write that in English, whatever the headings are."""
    cells = {row[at].strip().casefold() for row in rows[:CELLS_SEEN_MAX] if at < len(row)} - {""}
    return not cells.isdisjoint(VARIANTS) and all(
        word.strip() in KINDS for cell in cells for word in cell.split(",")
    )


def choose_bare_price(
    columns: Sequence[tuple[str, Sequence[str]]], *, has_currency: bool
) -> tuple[int | None, tuple[str, ...]]:
    """Which of the columns named Net or Gross is the price: the first with a currency; and what is in doubt.

    Each is its heading and its cells; `has_currency` says that another column names the currency.
    """
    told = [at for at, each in enumerate(columns) if has_currency or _tells_currency(*each)]
    if not told:
        titles = ", ".join(name for name, _ in columns)
        return None, (f"{titles}: prices or weights? No currency tells, and no price was taken",)
    first, *others = told
    taken = columns[first][0]
    return first, tuple(_OTHER_PRICE.format(columns[at][0], taken) for at in others)


def _tells_currency(name: str, cells: Sequence[str]) -> bool:
    return any(
        currency_in_name(cell) or any(unicodedata.category(sign) == "Sc" for sign in cell)
        for cell in (name, *cells)
    )


def _lend(
    places: dict[str, int],
    format_: str,
    names: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
) -> None:
    """A table may name its products by another column: `id` of a Google feed, the description of a price list."""
    if "sku" not in places and "number" in places and format_ not in PROGRAMS:
        places["sku"] = places.pop("number")
    if "title" not in places and "description" in places:
        model = _fuller_model(places["description"], names, rows)
        places["title"] = places.pop("description") if model is None else model
    # What a thing cost before is its price, where only its sale price stands beside it.
    if "price" not in places and "list_price" in places:
        places["price"] = places.pop("list_price")


def _fuller_model(
    description: int, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> int | None:
    """The column of models, where it is filled and that of descriptions is not: it holds the names of the products."""
    for at, name in enumerate(names):
        filled = cells_of(rows, at)
        if simplify(name) in MODELS and 2 * len(cells_of(rows, description)) < len(filled):
            return at if any(" " in cell for cell in filled) else None
    return None


def _program(simple: set[str]) -> str:
    if simple >= SHOPIFY:
        return "shopify"
    return "woocommerce" if simple >= WOOCOMMERCE else ""
