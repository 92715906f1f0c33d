"""Whether a file is a catalogue, by its first bytes and headings. Of a spreadsheet only the first texts are inflated.

A bank's table has dates and amounts, but neither SKUs nor GTINs: only headings that name products make a catalogue.
"""

import csv
import re
from html import unescape

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.catalogs.coins import AMOUNTS
from stateward.pipelines.catalogs.headings import (
    HEADING_ROWS_MAX,
    IDENTITIES,
    names_price,
    role_of,
    roles_in,
    simplify,
)
from stateward.pipelines.catalogs.objects import PRICE_LISTS
from stateward.pipelines.catalogs.readers import PAGE_CHARS_MAX, is_page
from stateward.pipelines.kit.delimited import DELIMITERS
from stateward.pipelines.kit.files import ZIP, is_pdf
from stateward.pipelines.kit.sheet_texts import first_texts

SAMPLE_CHARS = 16 * 1024
OWN_FORMAT, SURE, LIKELY, BY_NAME = 95, 80, 60, 40
PRICE_PAGE = 92  # more than what is said of any page
SURE_ROLES = 4
HEADING_CELLS = 30  # of a spreadsheet: its first texts, in which one row follows the other
# What only banks and laboratories have in a table: a column of such a heading makes it none of ours.
FOREIGN = frozenset(map(simplify, (
    "balance", "saldo", "solde", "iban", "bic", "buchungstag", "buchungsdatum", "valuta", "wertstellung",
    "verwendungszweck", "booking date", "value date", "transaction date", "debit", "credit", "payee", "loinc",
    "date", "datum", "amount", "betrag", "montant", "importe", "specimen", "reference range", "referenzbereich",
    "patient id",
    # Orders and invoices have products and prices too, and a buyer.
    "order id", "order date", "customer", "customer name", "customer id", "kunde", "kundennummer", "cliente",
    "client name", "invoice number", "invoice no", "invoice date", "rechnungsnummer", "rechnungsdatum", "bestelldatum",
    "line total", "shipping address", "ship to", "date de commande", "fecha de pedido", "data ordine",
)))  # fmt: skip
_ORDER_PAGE = re.compile(
    r"order confirmation|thank(?:s| you) for your (?:order|purchase)"
    r"|\b(?:order|invoice) ?(?:#|no\.?|number|id)?[ :#]{1,3}[0-9]{3,}|invoice (?:number|date)"
    r"|bestellbestätigung|(?:bestell|rechnungs)datum|vielen dank für (?:ihre|deine) bestellung"
    r"|merci (?:pour|de) votre commande|gracias por (?:su|tu) (?:pedido|compra)|grazie per (?:il tuo|il suo) ordine",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"catalog|katalog|catalogue|product|produkt|artikel|price.?list|preisliste|pricelist|tarif|listino|sortiment",
    re.IGNORECASE,
)
MONEY_KEYS = AMOUNTS | {"currency"}  # of an object that is a price
_BMECAT = re.compile(rb"<(?:\w+:)?BMECAT\b", re.IGNORECASE)
_GOOGLE = b"http://base.google.com/ns/1.0"
_XML_ITEM = re.compile(
    rb"<(?:\w+:)?(?:product|article|item|offer|indexitem|artikel|produkt|variant|entry)s?[\s>]",
    re.IGNORECASE,
)
_XML_FIELDS = re.compile(rb"<(?:\w+:)?(?:sku|gtin|ean|price|preis)\b", re.IGNORECASE)
_XML_NAMES = re.compile(rb"<(?:\w+:)?([A-Za-z][\w.-]{0,60})[\s>]|(?<=\s)(id)=")
_HTML_ROW = re.compile(r"<tr\b", re.IGNORECASE)  # the end of a row need not be marked
_HTML_CELL = re.compile(r"<t[hd]\b[^>]{0,500}>(.{0,300}?)</t[hd]", re.IGNORECASE | re.DOTALL)
_HTML_TAG = re.compile(r"<[^<>]{0,300}>")
_SCHEMA_ORG = re.compile(r"""["/]Product(?:Group)?["']""")
PAGE_ROWS_MAX = 60
_JSON_KEYS = re.compile(r'"([A-Za-z_ ]{1,40})"\s*:')


def detect(content: Content) -> Detected | None:
    """A catalogue, or None."""
    head = content.head
    if is_pdf(head):
        return None
    if head.startswith(ZIP):
        return _spreadsheet(content)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return _page(content) if is_page(_text(head[:PAGE_CHARS_MAX])) else _xml(head)
    text = _text(head)
    if start.startswith((b"{", b"[")):
        return _json(text)
    return _table(text)


def _spreadsheet(content: Content) -> Detected | None:
    """By its headings, which are among its first texts; else by its name."""
    texts = first_texts(content.path)
    for start in range(len(texts)):
        row = texts[start : start + HEADING_CELLS]
        if simplify(row[0]) in FOREIGN:
            return None
        if len(roles_in(row)) >= SURE_ROLES and _names_products(row):
            return _detection("xlsx", LIKELY)
    is_sheet = bool(texts) or content.name.lower().endswith((".xlsx", ".ods"))
    return _detection("xlsx", BY_NAME) if is_sheet and NAMES.search(content.name) else None


def _xml(head: bytes) -> Detected | None:
    if _BMECAT.search(head):
        return _detection("bmecat", OWN_FORMAT)
    if _GOOGLE in head:
        return _detection("google", OWN_FORMAT)
    if not _XML_ITEM.search(head):
        return None
    is_told = len({*map(bytes.lower, _XML_FIELDS.findall(head))}) > 1
    names = [(tag or attribute).decode() for tag, attribute in {*_XML_NAMES.findall(head)}]
    return _detection("xml", LIKELY) if is_told or _names_products(names) else None


def _page(content: Content) -> Detected | None:
    """By the headings of its tables, or the products that it tells; a saved page is otherwise one to read."""
    text = _text(content.head)
    if _ORDER_PAGE.search(unescape(_HTML_TAG.sub(" ", text))):
        return None
    _, *parts = _HTML_ROW.split(text, maxsplit=PAGE_ROWS_MAX + 1)
    rows = (_HTML_CELL.findall(row) for row in parts[:PAGE_ROWS_MAX])
    best = max(
        ([unescape(_HTML_TAG.sub(" ", cell)).strip() for cell in row] for row in rows),
        key=lambda row: len(roles_in(row)),
        default=[],
    )
    if _names_products(best) and len(roles_in(best)) >= SURE_ROLES:
        return _detection("html", PRICE_PAGE)
    tells = _names_products(best) or _SCHEMA_ORG.search(text)
    return _detection("html", BY_NAME) if tells else None


def _json(text: str) -> Detected | None:
    keys = {*_JSON_KEYS.findall(text[:SAMPLE_CHARS])}
    if {"variants", "handle"} <= keys or {"regular_price", "sku"} <= keys:
        return _detection("json", OWN_FORMAT)
    if keys & PRICE_LISTS:
        keys.add("price")
    if len(roles_in([*keys])) >= SURE_ROLES:
        keys -= MONEY_KEYS
    return _detection("json", LIKELY) if _names_products([*keys]) else None


def _table(text: str) -> Detected | None:
    """By the best row of headings under any delimiter."""
    lines = text[:SAMPLE_CHARS].splitlines()[:HEADING_ROWS_MAX]
    best: list[str] = []
    for delimiter in DELIMITERS:
        try:
            rows = [*csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            continue
        best = max([best, *rows], key=lambda row: len(roles_in(row)))
    if not _names_products(best):
        return None
    return _detection("csv", SURE if len(roles_in(best)) >= SURE_ROLES else LIKELY)


def _names_products(names: list[str]) -> bool:
    """Whether headings name what identifies a product and its price, and nothing of another domain.

    A word that is also one of a catalogue is of no other domain: `Valuta` is a currency in Dutch.
    """
    roles = roles_in(names)
    is_foreign = any(simplify(name) in FOREIGN and not role_of(name)[0] for name in names)
    return bool(roles & IDENTITIES) and names_price(names) and not is_foreign


def _text(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "ignore")
    return head.decode("utf-8-sig", "replace")


def _detection(format_: str, confidence: int) -> Detected:
    return Detected(source_type="catalog", format=format_, confidence=confidence)
