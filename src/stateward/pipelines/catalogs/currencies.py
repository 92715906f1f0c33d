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

# Codes that are words of headings, too.
_WORDS = frozenset(
    {
        "all",
        "top",
        "try",
        "cup",
        "pen",
        "mop",
        "mad",
        "cop",
        "sos",
        "gel",
        "bam",
        "nad",
        "lak",
        "ars",
    }
)
_NAMES = {
    "USD": r"(?:us|united states|american) dollars?|us dollar",
    "CAD": r"canadian dollars?|dollars? canadiens?",
    "AUD": r"australian dollars?",
    "NZD": r"new zealand dollars?",
    "GBP": r"(?:british )?pounds? sterling|sterling|british pounds?",
    "CHF": r"swiss francs?|schweizer franken|francs? suisses?|franchi svizzeri",
    "EUR": r"euros?",
    "SEK": r"swedish kron(?:a|or)|svenska kronor",
    "NOK": r"norwegian kron(?:e|er)|norske kroner",
    "DKK": r"danish kron(?:e|er)|danske kroner",
    "PLN": r"polish zlot(?:y|ych)|złot(?:y|ych)",  # codespell:ignore zlot
    "JPY": r"japanese yen",
}


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
def currency_in_name(text: str) -> str:
    """The currency that a heading names; in the names of databases its code is small: `list_price_aud`."""
    if found := currency_in(text):
        return found
    words = re.split(r"[\W_]+", text)
    return next((word.upper() for word in words[1:] if _is_small_code(word)), "")


def is_currency_word(word: str) -> bool:
    """Whether a word of a heading is nothing but a currency."""
    return bool(currency_in(word)) or _is_small_code(word)


def _is_small_code(word: str) -> bool:
    return word.islower() and word.upper() in CODES and word not in _WORDS


@lru_cache(maxsize=4096)
def currency_in_words(text: str) -> str:
    """The currency that a sentence names: by its code, its sign or its name; "" for none or for several."""
    named = {found for word in text.split() if (found := currency_in(word.strip("().,;:/")))}
    plain = re.sub(r"[\W_]+", " ", text.casefold().replace("u.s.", "us"))
    named |= {code for code, names in _NAMES.items() if re.search(rf"\b(?:{names})\b", plain)}
    return named.pop() if len(named) == 1 else ""


@lru_cache(maxsize=4096)
def currency_of(text: str) -> str | None:
    """The currency that a cell states; "" for an empty one, None for a text that is no currency."""
    code = text.strip()
    if not code or code.upper() in CODES:
        return code.upper()
    return SYMBOLS.get(code.casefold()) or ("EUR" if code.casefold() == "euro" else None)
