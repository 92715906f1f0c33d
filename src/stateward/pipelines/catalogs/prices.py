"""Printed prices of one catalogue as exact amounts, by the decimal sign that was decided for all of them.

`1.234,50 €`, `EUR 1'234.50`, `12,-`, `ab 9,90 €`, `10.00 - 20.00 USD`. A price that could mean two amounts is flagged;
one that is none is a fault. Every text is read once: catalogues repeat their prices.
"""

import re
from decimal import Decimal
from typing import NamedTuple

from stateward.pipelines.catalogs.currencies import CODES
from stateward.pipelines.kit.money import EXPONENTS, PrintedAmount, format_amount, read_amount

CACHE_MAX = 200_000
UNPARSEABLE, NEGATIVE, UNKNOWN_CURRENCY = "UNPARSEABLE_PRICE", "NEGATIVE_PRICE", "UNKNOWN_CURRENCY"
AMBIGUOUS, RANGE, SHARED_SIGN = "AMBIGUOUS_PRICE", "PRICE_RANGE", "AMBIGUOUS_CURRENCY"
OTHER_SIGN = "OTHER_DECIMAL_SIGN"
TEXT_CHARS_MAX = 80
# "12,-" and "12.--" are whole amounts, not negative ones.
_WHOLE = re.compile(r"[.,]\s?[-\u2013\u2014]{1,2}(?=\D*$)")
_FROM = re.compile(
    r"(?:ab|von|from|starting at|desde|da|a partire da|[àa] partir de|vanaf|od)\s+(?=\D{0,4}\d)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"(?<=[\d€$£])\s*(?:[-\u2013\u2014]|\.\.\.?|…|\b(?:to|bis|à|a|hasta|tot)\b)\s*(?=[^\d-]{0,5}\d)|(?<=[A-Z])\s+[-\u2013\u2014]\s+"
)
# What a shop prints beside a price that is no part of it: taxes and units.
_AROUND = re.compile(
    r"\(?\b(?:inkl|incl|exkl|excl|zzgl|plus|inc|ex)\.?\s*(?:(?:\d+\s?%\s*)?(?:mwst|ust|vat|tax|gst|tva|iva|btw))\b\.?\)?"
    r"|\b(?:ttc|ht|netto|brutto|net|gross|iva inclu[ií]do|iva incl)\b\.?"
    r"|(?:/|\b(?:pro|per|je|par|por)\b)\s*(?:st(?:ü|ue)?c?k?|piece|pcs?|unit|unidad|pi[eè]ce|ea|each)\b\.?",
    re.IGNORECASE,
)
_SHARED_SIGNS = re.compile(r"[$¥]|\bkr\b\.?", re.IGNORECASE)


class Price(NamedTuple):
    """An amount with what is printed beside it; `fault` is the code of what makes it no price."""

    amount: str = ""
    highest: str = ""  # of a range
    currency: str = ""
    fault: str = ""
    flags: tuple[str, ...] = ()


class PriceReader:
    """Reads the prices of one file. `decimal` "" means that nothing in the file shows the sign."""

    def __init__(self, decimal: str) -> None:
        self._decimal = decimal
        self._is_point = decimal == "."
        self._known: dict[str, Price] = {}

    def read(self, text: str) -> Price:
        """A printed price that is not empty."""
        found = self._known.get(text)
        if found is None:
            found = Price(text) if self.is_plain(text) else self._read(text.strip())
            if len(self._known) < CACHE_MAX:
                self._known[text] = found
        return found

    def is_plain(self, text: str) -> bool:
        """`12.50` where the point is decided: nearly every price of nearly every feed, and its amount as it is."""
        if not self._is_point or text[-3:-2] != "." or text[0] == "0":
            return False
        digits = text[:-3] + text[-2:]
        return digits.isascii() and digits.isdigit()

    def _read(self, text: str) -> Price:
        if len(text) > TEXT_CHARS_MAX:
            return Price(fault=UNPARSEABLE)
        bare = _AROUND.sub("", _WHOLE.sub("", text)).strip()
        from_ = _FROM.match(bare)
        parts = _BETWEEN.split(bare[from_.end() :] if from_ else bare)
        if len(parts) > 2 or not all(parts):
            return Price(fault=UNPARSEABLE)
        prices = [self._single(part) for part in parts]
        if fault := next((each.fault for each in prices if each.fault), ""):
            return Price(fault=fault)
        return self._join(prices, is_from=from_ is not None)

    def _join(self, prices: list[Price], *, is_from: bool) -> Price:
        currencies = {each.currency for each in prices if each.currency}
        low, high = prices[0], prices[-1]
        if len(currencies) > 1 or Decimal(low.amount) > Decimal(high.amount):
            return Price(fault=UNPARSEABLE)
        flags = dict.fromkeys(flag for each in prices for flag in each.flags)
        if is_from or len(prices) > 1:
            flags[RANGE] = None
        currency = next(iter(currencies), "")
        return Price(low.amount, high.amount if len(prices) > 1 else "", currency, "", tuple(flags))

    def _single(self, text: str) -> Price:
        point, comma = read_amount(text, "."), read_amount(text, ",")
        printed = point if self._decimal != "," and point is not None else comma or point
        if printed is None or printed.mark not in ("", "+"):
            return Price(fault=UNPARSEABLE)
        if printed.currency and printed.currency not in CODES:
            return Price(fault=UNKNOWN_CURRENCY)
        usual = {".": point, ",": comma}.get(self._decimal, printed)
        flags = [] if usual is not None else [OTHER_SIGN]
        if not self._decimal and point is not None and comma is not None:
            printed, is_open = _likelier(point, comma)
            flags += [AMBIGUOUS] if is_open else []
        if not printed.currency and _SHARED_SIGNS.search(text):
            flags.append(SHARED_SIGN)
        if printed.value < 0:
            return Price(fault=NEGATIVE)
        return Price(
            format_amount(printed.value, printed.currency), "", printed.currency, "", tuple(flags)
        )


def _likelier(one: PrintedAmount, two: PrintedAmount) -> tuple[PrintedAmount, bool]:
    """The likelier of two readings of the same text, and whether the other one is possible.

    No thousand is written with a zero in front, and a price with three decimals is much rarer than one in thousands.
    """
    low, high = sorted((one, two), key=lambda each: each.value)
    if abs(low.value) < 1:
        return low, False
    return high, low.value != high.value


def in_currency(amount: str, currency: str) -> str:
    """An amount with the decimals of its currency: 1500 yen and not 1500.00."""
    return format_amount(Decimal(amount), currency) if currency in EXPONENTS and amount else amount
