"""Codes and signs of currencies. A sign that several currencies share names none of them."""

import re
from functools import lru_cache

from stateward.pipelines.kit.money import SYMBOLS

# ISO 4217, without funds and metals.
_ISO_4217 = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG
HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA
MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL
"""
CODES = frozenset(_ISO_4217.split())
_TOKEN = re.compile(r"[A-Za-z]{2,3}\$|[A-Z]{3}(?![A-Za-z])|[€£₹₺₫₪฿₱₦₴₽₩]|[Ee]uro?\b|zł|Kč")


@lru_cache(maxsize=4096)
def currency_in(text: str) -> str:
    """The currency that a text names by its code or by a sign of its own; "" if it names none."""
    for token in _TOKEN.findall(text):
        if token in CODES:
            return str(token)
        if found := SYMBOLS.get(token.casefold(), "EUR" if token.casefold() == "euro" else ""):
            return found
    return ""


@lru_cache(maxsize=4096)
def currency_of(text: str) -> str | None:
    """The currency that a cell states; "" for an empty one, None for a text that is no currency."""
    code = text.strip()
    if not code or code.upper() in CODES:
        return code.upper()
    return SYMBOLS.get(code.casefold()) or ("EUR" if code.casefold() == "euro" else None)
