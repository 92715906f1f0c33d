"""Printed amounts and numbers as exact decimals: never a float, and None for a text that is not an amount.

A text alone often cannot show whether its comma is a decimal sign. In a table that is voted over a whole column
(`vote_decimal`) and then applied strictly: `amount("1.234", ",")` is 1234 and `amount("12.5", ",")` is None, not 12.5.
In running text each figure has to be read by itself (`guess_number`).
"""

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

DIGITS_MAX = 24  # of a number that is still an amount and not an account or a reference
CACHE_MAX = 1 << 16
ZERO = Decimal(0)
TYPED_MAX = 10**12  # more is a slip of the keyboard

MINUS = "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
BLANKS = " \u00a0\u2007\u2009\u202f"
APOSTROPHES = "'\u2019\u02bc`\u00b4"

# Marks beside an amount: money in (+1) or out (-1). R reverses: RC takes a credit back.
MARKS = {
    "+": 1, "c": 1, "cr": 1, "crd": 1, "credit": 1, "h": 1, "haben": 1, "bij": 1, "crdt": 1, "rd": 1,
    "-": -1, "d": -1, "dr": -1, "dbt": -1, "debit": -1, "s": -1, "soll": -1, "af": -1, "dbit": -1, "rc": -1,
    "ec": 1, "ed": -1, "rcr": -1, "rdr": 1, "crédit": 1, "débit": -1, "credito": 1, "crédito": 1,
    "debito": -1, "débito": -1, "abono": 1, "cargo": -1, "haber": 1, "debe": -1, "gutschrift": 1,
    "lastschrift": -1, "avere": 1, "dare": -1, "ingreso": 1, "gasto": -1, "deposit": 1, "withdrawal": -1,
    "zubuchung": 1, "abbuchung": -1, "in": 1, "out": -1, "income": 1, "expense": -1,
    "od": -1, "db": -1, "χ": -1, "π": 1,
}  # fmt: skip

# Words of a column of marks, in further languages; beside a figure they would be too short to tell.
_IN_WORDS = """
    k, kt, kreedit, kredit, kredīts, πίστωση, приход, кредит, зачисление, пополнение,
    надходження, 收入, 入金, 贷, 貸, 입금, دائن, זכות, ฝาก, có, alacak, gelir, jóváírás, příjem, uznanie,
    wpływ, masuk, entrada, entrata, bijschrijving, insättning, pano, money in, received, paid in,
    incoming, einnahme, einzahlung, eingang, zugang, recette, entrée, encaissement, ingresos, entrate, incasso, inkomst,
    indtægt, inntekt, inkomsten, tulo, przychód, bevétel, încasare, prihod, receita
"""
_OUT_WORDS = """
    db, deb, dt, deebet, debet, debets, χρέωση, расход, дебет, списание, витрата, 支出, 出金, 借,
    출금, 지급, مدين, חובה, ถอน, nợ, borç, gider, terhelés, výdaj, obciążenie, wydatek, keluar,
    saída, egreso, uscita, afschrijving, uttag, otto, money out, sent, paid out, outgoing, ausgabe, auszahlung, ausgang,
    abgang, dépense, décaissement, sortie, gastos, uscite, utgift, udgift, uitgave, uitgaven, meno, rozchód, kiadás,
    plată, rashod, despesa
"""
COLUMN_MARKS = (
    MARKS
    | {word.strip(): 1 for word in _IN_WORDS.split(",")}
    | {word.strip(): -1 for word in _OUT_WORDS.split(",")}
)
# What a column of marks says of rows that moved no money of the account.
NO_MARKS = frozenset({"不计收支", "/", "-", "—", "neutral", "none", "n/a"})

# Signs and local abbreviations of currencies; "" where several currencies share one.
SYMBOLS = {
    "$": "", "€": "EUR", "£": "GBP", "¥": "", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY", "₫": "VND",
    "₪": "ILS", "฿": "THB", "₱": "PHP", "₦": "NGN", "₴": "UAH", "₡": "CRC", "₲": "PYG", "₵": "GHS", "₸": "KZT",
    "us$": "USD", "r$": "BRL", "a$": "AUD", "c$": "CAD", "ca$": "CAD", "hk$": "HKD", "s$": "SGD", "nz$": "NZD",
    "nt$": "TWD", "mx$": "MXN", "kr": "", "zł": "PLN", "kč": "CZK", "ft": "HUF", "lei": "RON", "rs": "INR",
    "rs.": "INR", "fr": "CHF", "fr.": "CHF", "sfr.": "CHF", "sfr": "CHF", "rp": "IDR", "rm": "MYR", "tl": "TRY",
    "kr.": "", "лв": "BGN", "лв.": "BGN", "руб": "RUB", "руб.": "RUB", "rub": "RUB", "dh": "AED", "eur": "EUR",
    "円": "JPY", "元": "CNY", "원": "KRW",
}  # fmt: skip

# Names of currencies as columns of exports print them.
NAMES = {
    "人民币": "CNY", "人民幣": "CNY", "rmb": "CNY", "日本円": "JPY", "円": "JPY", "港币": "HKD", "港幣": "HKD",
    "美元": "USD", "欧元": "EUR", "新台幣": "TWD", "euro": "EUR", "euros": "EUR", "us dollar": "USD",
    "pound sterling": "GBP", "schweizer franken": "CHF", "złoty": "PLN", "рубль": "RUB", "rur": "RUB",
}  # fmt: skip

# Codes that are taken for a currency wherever they stand beside an amount.
CURRENCY_CODES = frozenset(
    "AED ARS AUD BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JOD JPY KES KRW KWD"
    " KZT MAD MXN MYR NGN NOK NZD OMR PEN PHP PKR PLN QAR RMB RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD UYU"
    " VND ZAR".split()
)
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
# No sign parts thousands so.
_TWO_DECIMALS = re.compile(r"[+-]?[0-9]{1,15}([.,])[0-9]{1,2}", re.ASCII)
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


class PrintedAmount(NamedTuple):
    """An amount in its parts: the value with its printed sign, the mark beside it, the currency attached to it."""

    value: Decimal
    mark: str = ""
    currency: str = ""


def amount(text: str, decimal: str = ".") -> Decimal | None:
    """The signed value of a printed amount, marks (CR, DR) applied; None if it is not one."""
    quick = plain_number(text, decimal)
    if quick is not None:
        return quick
    printed = read_amount(text, decimal)
    if printed is None:
        return None
    sign = mark_sign(printed.mark) if printed.mark else 0
    return abs(printed.value) * sign if sign else printed.value


@lru_cache(maxsize=CACHE_MAX)
def read_amount(text: str, decimal: str = ".") -> PrintedAmount | None:
    """The parts of an amount. `(12.00)`, `12.00-` and `−12.00` are negative; a mark is not applied."""
    quick = plain_number(text, decimal)
    if quick is not None:
        return PrintedAmount(quick)
    parts = _split_amount(text)
    if parts is None:
        return None
    value = _strict_number(parts.figure, decimal)
    if value is None:
        return None
    return PrintedAmount(-value if parts.is_negative else value, parts.mark, parts.currency)


@lru_cache(maxsize=CACHE_MAX)
def plain_number(text: str, decimal: str) -> Decimal | None:
    """A number with nothing around it, grouped in thousands or not: the usual case, read quickly."""
    if decimal == ".":
        if _PLAIN.fullmatch(text):
            return Decimal(text)
        return Decimal(text.replace(",", "")) if _GROUPED.fullmatch(text) else None
    if _PLAIN_COMMA.fullmatch(text):
        return Decimal(text.replace(".", "").replace(",", "."))
    return None


@lru_cache(maxsize=CACHE_MAX)  # each cell is asked several times
def is_amount(text: str) -> bool:
    """Whether a text is an amount by either decimal sign."""
    return (
        plain_number(text, ".") is not None  # both quickly, before what may stand around a number
        or plain_number(text, ",") is not None
        or read_amount(text, ".") is not None
        or read_amount(text, ",") is not None
    )


class DecimalVote(NamedTuple):
    """The decimal sign of a column; `is_sure` is False where nothing in it shows it."""

    decimal: str
    is_sure: bool
    why: str
    against: int = 0


def vote_decimal(texts: Iterable[str], *, usual: str = ".") -> DecimalVote:
    """The decimal sign of a column, by the texts that are valid with one sign only."""
    count = {".": 0, ",": 0}
    sample = {".": "", ",": ""}
    unsure = ""
    for text in texts:
        sign = _decimal_sign(text)
        if sign == "?":
            unsure = unsure or text
        elif sign:
            count[sign] += 1
            sample[sign] = sample[sign] or text
    if not count["."] and not count[","]:
        if unsure:
            return DecimalVote(
                usual, is_sure=False, why=f"{unsure!r} can be read with either decimal sign"
            )
        return DecimalVote(usual, is_sure=True, why="no amount has a decimal sign")
    won = "." if count["."] >= count[","] else ","
    lost = "," if won == "." else "."
    if count["."] == count[","]:
        why = f"{sample['.']!r} and {sample[',']!r} contradict each other"
        return DecimalVote(usual, is_sure=False, why=why, against=count[lost])
    word = {".": "point", ",": "comma"}[won]
    why = f"the decimal sign is a {word}: {count[won]} amounts such as {sample[won]!r} show it"
    return DecimalVote(won, is_sure=True, why=why, against=count[lost])


def mark_sign(mark: str) -> int:
    """1 for money in, -1 for money out, 0 for no mark or an unknown one."""
    return COLUMN_MARKS.get(mark.strip().casefold().rstrip("."), 0)


@lru_cache(maxsize=256)
def currency_code(text: str) -> str:
    """The code of a currency that is printed as a code, a sign or a name; what is unknown stays as it is printed."""
    low = text.strip().lower()
    return SYMBOLS.get(low) or NAMES.get(low) or low.upper()


def format_amount(value: Decimal, currency: str) -> str:
    """An amount as text with the decimals of its currency; more only where they are not zero."""
    text = str(value)
    if text[-3:-2] == "." and currency not in EXPONENTS and value:  # the usual case, quickly
        return text
    return format_number(value, places=EXPONENTS.get(currency, 2))


def format_number(value: Decimal, *, places: int = 2) -> str:
    """A number as text: at least so many decimals, no zeros beyond them, no exponent, no negative zero."""
    rounded = value.quantize(Decimal(1).scaleb(-places))
    shown = rounded if rounded == value else value.normalize()
    return f"{shown or abs(shown):f}"


def guess_number(text: str, decimal: str, *, is_fine: bool) -> Decimal | None:
    """The value of a figure by its own shape. `is_fine`: three digits behind the sign are decimals, not thousands."""
    figure = re.sub(r"['’\s\u00a0\u202f]", "", text)
    last = max(figure.rfind("."), figure.rfind(","))
    if last >= 0:
        sign, tail = figure[last], figure[last + 1 :]
        is_once = figure.count(sign) == 1
        if not is_once and len(tail) != 3:
            return None  # 3.000.00 has lost a digit
        has_both = "." in figure and "," in figure
        is_decimal = is_once and (
            len(tail) != 3 or has_both or figure.startswith("0") or (is_fine and sign == decimal)
        )
        digits = figure.replace(".", "").replace(",", "")
        figure = digits[: len(digits) - len(tail)] + "." + tail if is_decimal else digits
    try:
        return Decimal(figure)
    except InvalidOperation:
        return None


def typed_number(text: str) -> Decimal | None:
    """A number as a person types it into a form or a CSV: a point or one comma before its decimals, no grouping."""
    text = text.strip().replace("\u00a0", "")
    if "," in text and "." not in text and text.count(",") == 1:
        text = text.replace(",", ".")
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < TYPED_MAX else None


def western_digits(text: str) -> str:
    """A text with the digits of Arabic, Persian, Indian, Thai and wide script as those of ASCII."""
    return text.translate(_WESTERN)


_WESTERN = {
    zero + digit: str(digit)
    for zero in (0x0660, 0x06F0, 0x0966, 0x0E50, 0xFF10)
    for digit in range(10)
} | {0x066B: ".", 0x066C: ",", 0xFF0E: ".", 0xFF0C: ",", 0x200E: None, 0x200F: None}


class _AmountParts(NamedTuple):
    figure: str
    is_negative: bool
    mark: str
    currency: str


_BRACKETED_MARK = re.compile(r"\s*\(([A-Za-z]{1,2}\.?)\)")


@lru_cache(maxsize=CACHE_MAX)
def _split_amount(text: str) -> _AmountParts | None:
    """The figure of a text and what stands around it; None where something there does not belong to an amount."""
    text = text.strip() if text.isascii() else western_digits(text.strip())
    found = _FIGURE.search(text)
    if found is None:
        return None
    # Asterisks keep a printed amount from being added to.
    before, after = text[: found.start()].lstrip("*"), text[found.end() :].rstrip("*")
    figure = found["figure"]
    if before[:1] == "'" and ("." in figure or "," in figure):
        before = before[1:]  # what a sheet puts before a cell that is to stay a text
    if found := _BRACKETED_MARK.fullmatch(after):
        after = found[1]  # `512.96(Dr)`
    is_bracketed = "(" in before and ")" in after
    if is_bracketed:
        before, after = before.replace("(", "", 1), after.replace(")", "", 1)
    minuses = sum(c in MINUS for c in before + after)
    if minuses > 1:
        return None
    is_negative = is_bracketed or minuses > 0  # `(€ -51,70)` says it twice
    mark = currency = ""
    for edge in (before, after):
        for token in _ANY_BLANK.split(_SIGNED_EDGE.sub(" ", edge)):
            if not token:
                continue
            kind, shown = _edge_kind(token)
            if kind == "mark" and not mark:
                mark = token
            elif kind == "currency" and not currency:
                currency = shown
            elif kind != "currency":
                return None
    return _AmountParts(figure, is_negative, mark, currency)


def _edge_kind(token: str) -> tuple[str, str]:
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


def _strict_number(figure: str, decimal: str) -> Decimal | None:
    shape = _DOT if decimal == "." else _COMMA
    if len(figure) > 2 * DIGITS_MAX or shape.fullmatch(figure) is None:
        return None
    digits = figure.translate(_KEEP[decimal])
    if len(digits) > DIGITS_MAX or digits == ".":
        return None
    return Decimal(digits)


@lru_cache(maxsize=CACHE_MAX)
def _decimal_sign(text: str) -> str:
    """The decimal sign that a text shows: ".", ",", "?" (either is possible) or "" (none)."""
    if plain := _TWO_DECIMALS.fullmatch(text):  # the usual case, quickly
        return plain[1]
    parts = _split_amount(text)
    if parts is None:
        return ""
    figure = parts.figure
    dot, comma = _strict_number(figure, "."), _strict_number(figure, ",")
    if "." not in figure and "," not in figure:
        return ""
    if dot is not None and comma is not None:
        return "?"
    if dot is None and comma is None:
        return ""
    return "." if dot is not None else ","
