"""Printed amounts, read exactly: `Decimal` only, no float, and `None` for whatever is not an amount.

A text alone often cannot say whether its comma is a decimal sign, so that is voted over a whole column
(`vote_decimal`) and then held to: `amount("1.234", ",")` is 1234 and `amount("12.5", ",")` is None, not 12.5.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

DIGITS_MAX = 24
CACHE_MAX = 1 << 16
ZERO = Decimal(0)

MINUS = "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
BLANKS = " \u00a0\u2007\u2009\u202f"
APOSTROPHES = "'\u2019\u02bc`\u00b4"

# Marks beside an amount: money in (+1) or out (-1). R before it reverses: RC takes a credit back.
MARKS = {
    "+": 1, "c": 1, "cr": 1, "crd": 1, "credit": 1, "h": 1, "haben": 1, "bij": 1, "crdt": 1, "rd": 1,
    "-": -1, "d": -1, "dr": -1, "dbt": -1, "debit": -1, "s": -1, "soll": -1, "af": -1, "dbit": -1, "rc": -1,
    "ec": 1, "ed": -1, "rcr": -1, "rdr": 1, "crédit": 1, "débit": -1, "credito": 1, "crédito": 1,
    "debito": -1, "débito": -1, "abono": 1, "cargo": -1, "haber": 1, "debe": -1, "gutschrift": 1,
    "lastschrift": -1, "avere": 1, "dare": -1, "ingreso": 1, "gasto": -1, "deposit": 1, "withdrawal": -1,
    "zubuchung": 1, "abbuchung": -1, "in": 1, "out": -1, "income": 1, "expense": -1,
}  # fmt: skip

SYMBOLS = {
    "$": "", "€": "EUR", "£": "GBP", "¥": "", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY", "₫": "VND",
    "₪": "ILS", "฿": "THB", "₱": "PHP", "₦": "NGN", "₴": "UAH", "₡": "CRC", "₲": "PYG", "₵": "GHS", "₸": "KZT",
    "us$": "USD", "r$": "BRL", "a$": "AUD", "c$": "CAD", "ca$": "CAD", "hk$": "HKD", "s$": "SGD", "nz$": "NZD",
    "nt$": "TWD", "mx$": "MXN", "kr": "", "zł": "PLN", "kč": "CZK", "ft": "HUF", "lei": "RON", "rs": "INR",
    "rs.": "INR", "fr": "CHF", "fr.": "CHF", "sfr.": "CHF", "sfr": "CHF", "rp": "IDR", "rm": "MYR", "tl": "TRY",
    "kr.": "", "лв": "BGN", "лв.": "BGN", "руб": "RUB", "руб.": "RUB", "rub": "RUB", "dh": "AED", "eur": "EUR",
}  # fmt: skip

# Minor units that are not two (ISO 4217).
EXPONENTS = {
    **dict.fromkeys(
        "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0
    ),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}

_PLAIN = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,6})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3}){1,5}(?:\.[0-9]{1,6})?", re.ASCII)
_PLAIN_COMMA = re.compile(
    r"[+-]?(?:[0-9]{1,18}|[0-9]{1,3}(?:\.[0-9]{3}){1,5})(?:,[0-9]{1,6})?", re.ASCII
)
_FIGURE = re.compile(
    rf"(?P<figure>[0-9](?:[0-9.,{APOSTROPHES}{BLANKS}]*[0-9])?[.,]?|[.,][0-9]+)", re.ASCII
)
_DOT = re.compile(
    rf"(?:[0-9]+|[0-9]{{1,3}}(?:(?P<s>[,{APOSTROPHES}{BLANKS}])[0-9]{{3}})(?:(?P=s)[0-9]{{3}})*"
    r"|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3})?(?:\.[0-9]*)?",
    re.ASCII,
)
_COMMA = re.compile(
    rf"(?:[0-9]+|[0-9]{{1,3}}(?:(?P<s>[.{APOSTROPHES}{BLANKS}])[0-9]{{3}})(?:(?P=s)[0-9]{{3}})*)?(?:,[0-9]*)?",
    re.ASCII,
)
_GROUPING = dict.fromkeys(map(ord, APOSTROPHES + BLANKS))
_KEEP = {".": {**_GROUPING, ord(","): None}, ",": {**_GROUPING, ord("."): None, ord(","): "."}}
_SIGNED_EDGE = re.compile(rf"[{MINUS}+]")
_CODE = re.compile(r"[A-Z]{3}", re.ASCII)
_ANY_BLANK = re.compile(rf"[{BLANKS}\t]+")


class Money(NamedTuple):
    """An amount as printed: its value with the printed sign, the mark beside it, the currency glued to it."""

    value: Decimal
    mark: str = ""
    currency: str = ""


def amount(text: str, decimal: str = ".") -> Decimal | None:
    """The signed value of a printed amount, marks (CR, DR) applied; None if it is not one."""
    quick = plain(text, decimal)
    if quick is not None:
        return quick
    money = read(text, decimal)
    if money is None:
        return None
    sign = MARKS.get(money.mark.casefold().rstrip("."), 0) if money.mark else 0
    return money.value if not sign else abs(money.value) * sign


@lru_cache(maxsize=CACHE_MAX)
def read(text: str, decimal: str = ".") -> Money | None:
    """An amount in its parts. `(12.00)`, `12.00-` and `−12.00` are negative; a mark is not applied."""
    quick = plain(text, decimal)
    if quick is not None:
        return Money(quick)
    parts = _parts(text)
    if parts is None:
        return None
    value = _value(parts.figure, decimal)
    if value is None:
        return None
    return Money(-value if parts.is_negative else value, parts.mark, parts.currency)


def plain(text: str, decimal: str) -> Decimal | None:
    """A number with nothing around it, grouped in thousands or not: the usual case, and the quick one."""
    if decimal == ".":
        if _PLAIN.fullmatch(text):
            return Decimal(text)
        return Decimal(text.replace(",", "")) if _GROUPED.fullmatch(text) else None
    if _PLAIN_COMMA.fullmatch(text):
        return Decimal(text.replace(".", "").replace(",", "."))
    return None


def is_amount(text: str) -> bool:
    """Whether a text is an amount by either decimal sign."""
    return read(text, ".") is not None or read(text, ",") is not None


class Vote(NamedTuple):
    """What a column says of its decimal sign; `is_sure` is False where nothing in it could tell."""

    decimal: str
    is_sure: bool
    why: str
    against: int = 0


def vote_decimal(texts: Iterable[str], *, usual: str = ".") -> Vote:
    """The decimal sign of a column, by the texts that can be read in one way only."""
    count = {".": 0, ",": 0}
    sample = {".": "", ",": ""}
    unsure = ""
    for text in texts:
        sign = _decimal_of(text)
        if sign == "?":
            unsure = unsure or text
        elif sign:
            count[sign] += 1
            sample[sign] = sample[sign] or text
    if not count["."] and not count[","]:
        if unsure:
            return Vote(usual, is_sure=False, why=f"{unsure!r} can be read with either sign")
        return Vote(usual, is_sure=True, why="no amount has a decimal sign")
    won = "." if count["."] >= count[","] else ","
    lost = "," if won == "." else "."
    if count["."] == count[","]:
        why = f"{sample['.']!r} and {sample[',']!r} contradict each other"
        return Vote(usual, is_sure=False, why=why, against=count[lost])
    word = {".": "point", ",": "comma"}[won]
    why = f"the decimal sign is a {word}: {count[won]} amounts such as {sample[won]!r} show it"
    return Vote(won, is_sure=True, why=why, against=count[lost])


def mark_sign(mark: str) -> int:
    """1 for money in, -1 for money out, 0 for a mark that nobody knows (or none)."""
    return MARKS.get(mark.strip().casefold().rstrip("."), 0)


def exact(value: Decimal, currency: str) -> str:
    """An amount as text with the decimals of its currency; more only where they are not zero."""
    text = str(value)
    if (
        text[-3:-2] == "." and currency not in EXPONENTS and value
    ):  # the usual case, and the quick one
        return text
    exponent = EXPONENTS.get(currency, 2)
    quantum = Decimal(1).scaleb(-exponent)
    rounded = value.quantize(quantum)
    shown = rounded if rounded == value else value.normalize()
    return f"{shown or abs(shown):f}"


class _Parts(NamedTuple):
    figure: str
    is_negative: bool
    mark: str
    currency: str


@lru_cache(maxsize=CACHE_MAX)
def _parts(text: str) -> _Parts | None:
    """The figure of a text and what stands around it; None where something there does not belong."""
    text = text.strip()
    found = _FIGURE.search(text)
    if found is None:
        return None
    before, after = text[: found.start()], text[found.end() :]
    figure = found["figure"]
    negatives = 0
    if "(" in before and ")" in after:
        before, after = before.replace("(", "", 1), after.replace(")", "", 1)
        negatives += 1
    negatives += sum(c in MINUS for c in before + after)
    if negatives > 1:
        return None
    mark = currency = ""
    for edge in (before, after):
        for token in _ANY_BLANK.split(_SIGNED_EDGE.sub(" ", edge)):
            if not token:
                continue
            kind, shown = _token(token)
            if kind == "mark" and not mark:
                mark = token
            elif kind == "currency" and not currency:
                currency = shown
            elif kind != "currency":
                return None
    return _Parts(figure, bool(negatives), mark, currency)


def _token(token: str) -> tuple[str, str]:
    low = token.casefold()
    if low.rstrip(".") in MARKS:
        return "mark", token
    if low in SYMBOLS:
        return "currency", SYMBOLS[low]
    if _CODE.fullmatch(token):
        return "currency", token
    if len(token) > 3 and (low[:-1] in SYMBOLS or _CODE.fullmatch(token[:3])) and token[3:] == "$":
        return "currency", token[:3]
    return "", ""


def _value(figure: str, decimal: str) -> Decimal | None:
    shape = _DOT if decimal == "." else _COMMA
    if len(figure) > 2 * DIGITS_MAX or shape.fullmatch(figure) is None:
        return None
    digits = figure.translate(_KEEP[decimal])
    if len(digits) > DIGITS_MAX or digits == ".":
        return None
    return Decimal(digits)


@lru_cache(maxsize=CACHE_MAX)
def _decimal_of(text: str) -> str:
    """Which decimal sign a text shows: ".", ",", "?" (either could be), or "" (none in it)."""
    parts = _parts(text)
    if parts is None:
        return ""
    figure = parts.figure
    dot, comma = _value(figure, "."), _value(figure, ",")
    if "." not in figure and "," not in figure:
        return ""
    if dot is not None and comma is not None:
        return "?"
    if dot is None and comma is None:
        return ""
    return "." if dot is not None else ","
