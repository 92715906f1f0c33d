"""Dates, amounts of money, periods, volumes and percentages in running text, German and English.

Each function gives every value of its kind in a text, with its offsets and canonical form. Digits that OCR read as
letters are repaired: `O1.O3.2O25` is a date and `3l,9O` an amount, and both are marked as repaired.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

import msgspec

from stateward.pipelines.kit.date_finder import DateFinder
from stateward.pipelines.kit.dates import month_names
from stateward.pipelines.kit.money import format_number, guess_number

YEARS = (1950, 2100)
FIGURE_CHARS_MAX = 24
WALL = "│"  # between cells: no pattern matches across it
PROSE_CHARS_MIN = 45  # a shorter line is a cell or a heading, and ends a value


class ValueCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A value in a text that may be the value of a field. `per` is what an amount is for: month, year, once, kWh."""

    start: int
    end: int
    kind: str
    value: str
    reach: int = 0  # end of the words that belong to it: `pro Monat`
    number: float = 0.0
    unit: str = ""
    per: str = ""
    tax: str = ""  # "net", "gross" or nothing
    is_repaired: bool = False
    is_bare: bool = False  # a number without a currency; only a label can say what it is
    is_ambiguous: bool = False


NUMBERS = {
    name: number
    for number, names in {
        1: "ein eine einen einem einer eines one a",
        2: "zwei zweier two",
        3: "drei dreier three",
        4: "vier four",
        5: "fünf fuenf five",
        6: "sechs six",
        7: "sieben seven",
        8: "acht eight",
        9: "neun nine",
        10: "zehn ten",
        11: "elf eleven",
        12: "zwölf zwoelf twelve",
        14: "vierzehn fourteen",
        15: "fünfzehn fuenfzehn fifteen",
        18: "achtzehn eighteen",
        20: "zwanzig twenty",
        24: "vierundzwanzig twenty-four",
        28: "achtundzwanzig twenty-eight",
        30: "dreißig dreissig thirty",
        36: "sechsunddreißig sechsunddreissig thirty-six",
        48: "achtundvierzig forty-eight",
        60: "sechzig sixty",
        90: "neunzig ninety",
    }.items()
    for name in names.split()
}
UNITS = {"day": 1, "week": 7, "month": 30.4375, "year": 365.25}

_DIGIT_BEFORE = re.compile(r"(?:\d|(?<!\w)[lIO]) $")
_DIGIT_BEHIND = re.compile(r" ?[.,]?\d| [.,]\d")
_WIDE = re.compile(r" {3,}")
_LOOKS = str.maketrans({"O": "0", "o": "0", "l": "1", "I": "1", "|": "1", "S": "5", "B": "8"})
_NUMERIC = re.compile(
    r"(?<![^\W\d_])[\dOolI|SB]+(?:(?:\s?[./:-]\s?|,)[\dOolI|SB]+)*(?![^\W\d_OolISB])"
)
_MONTHS = month_names("de", "en")
_MONTH = "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True))
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR_BEHIND = r"(?P<y>(?:19|20)\s?\d\s?\d|\d\d)(?![\d%]|[.,]\d)"
# OCR may put blanks around the separators.
_DATES = DateFinder(
    (
        re.compile(
            r"(?<![\d.,/-])(?P<y>(?:19|20)\d\d)\s?([-./])\s?(?P<m>\d{1,2})\s?\2\s?(?P<d>\d{1,2})(?!\d)"
        ),
        re.compile(
            rf"(?<![\d.,])(?P<d>\d{{1,2}})\s?(?P<sep>[.-])\s{{0,2}}(?P<m>\d{{1,2}})\s?(?P=sep)\s{{0,2}}{_YEAR_BEHIND}"
        ),
        re.compile(
            rf"(?<![\d.,])(?P<a>\d{{1,2}})\s?/\s{{0,2}}(?P<b>\d{{1,2}})\s?/\s{{0,2}}{_YEAR_BEHIND}"
        ),
        re.compile(
            rf"(?<![\d.,])(?P<d>{_DAY})\s?(?:\.|st|nd|rd|th)?\s{{0,2}}(?:day\s)?(?:of\s)?(?P<m>{_MONTH})\.?,?\s{{0,2}}"
            r"(?P<y>(?:19|20)\d\d|['’]\d\d)(?!\d)",
            re.IGNORECASE,
        ),
        re.compile(
            rf"(?<!\w)(?P<m>{_MONTH})\.?\s{{1,2}}(?P<d>{_DAY})(?:st|nd|rd|th)?\s?,?\s{{0,2}}(?P<y>(?:19|20)\d\d)(?!\d)",
            re.IGNORECASE,
        ),
    ),
    months=_MONTHS,
    years=YEARS,
)

_GROUP = "[.,'’ \u00a0\u202f]"
_STRICT = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)(?:[.,]\d{{1,5}})?|\d+(?:[.,]\d{{1,5}})?)(?!\d)"
_FIGURE = rf"(?:{_STRICT}(?!\s?[.,]\s?\d\d(?!\d))|\d+\s?[.,]\s?\d\d(?!\d))"  # OCR may put a blank before decimals
_LARGE = r"Mio\.?|Millionen|Million|millions?|Mill\.|mn|Mrd\.?|Milliarden?|billion|bn|Tsd\.?|Tausend|thousand"
_TIMES = rf"(?:\s?(?:{_LARGE})|k|m)"
_CURRENCY = r"(?:EUR(?:O|o)?|Euro|€|GBP|£|CHF|USD|US\$|\$)"
_CENT = r"(?:ct|Ct|CT|Cents?|cents?|¢|pence|p|c)"
_LETTER_CENTS = ("p", "c")  # they mean cents only before a unit: `28.5 c/kWh`
_LETTER_UNITS = ("kWh", "day")
_WORD_END = r"(?![^\W\d_])"
_MONEY = re.compile(
    rf"(?<![\w.,-])(?:(?P<before>{_CURRENCY})\s{{0,3}}(?P<figure1>{_FIGURE})(?:,?\s?[-–—]{{1,2}}(?!\d))?"
    rf"(?:(?P<times1>{_TIMES}){_WORD_END})?"
    rf"|(?P<figure2>{_FIGURE})(?:,?\s?[-–—]{{1,2}}(?=\s?(?:€|EUR)))?(?:(?P<times2>{_TIMES}){_WORD_END})?"
    rf"\s{{0,3}}(?P<after>{_CURRENCY}|{_CENT}){_WORD_END})"
)
_BARE = re.compile(
    rf"(?<![\w.,/-])(?<!§)(?<!§\s)(?P<figure>{_STRICT})(?:(?P<times>{_TIMES}){_WORD_END})?(?![\w%°/]|[.,]\d|\s?[%x×]|\.\d)"
)
# `01.12.` is a day of every year.
_DAY_OF_YEAR = re.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])")
_TAXED = (
    r"(?:inkl\.?|incl\.?|inclusive|including|zzgl\.?|exkl\.?|excl\.?|brutto|netto|gross|net|of|VAT|MwSt\.?|"
    r"USt\.?|tax|"
    r"Umsatzsteuer|Mehrwertsteuer|Versicherungs?teuer|IPT|gesetzlicher|gesetzl\.|ges\.|der|\d{1,2}\s?%)"
)
_PER_AFTER = re.compile(
    rf"[\s*)¹²³]{{0,4}}(?:\((?:{_TAXED}[\s,]{{0,2}}){{1,6}}\)\s?|(?:{_TAXED}\s){{1,5}})?\(?"
    r"(?:(?:/|pro|je|per|a|an|im|p\.|every|each|in\s+der|in\s+the)\s{0,2}(?:vollen?\s|calendar\s|Kalender|"
    r"verbrauchte[r]?\s)?"
    r"(?P<unit>Monat|mtl|month|mo\b|M\.|Mon\b|Jahr|year|yr|annum|a\.|kWh|Kilowattstunde|kilowatt[- ]hour|Quartal|"
    r"quarter|Vierteljahr|Halbjahr|Woche|week|Tag|day)"
    r"|(?P<word>monatlich|mtl|monthly|pcm|p\.?\s?M|jährlich|jaehrlich|annually|yearly|p\.?\s?a|vierteljährlich|"
    r"quarterly|quartalsweise|halbjährlich|half-yearly|semi-annually|einmalig|one-off|one-time|once|wöchentlich|weekly)"
    r"(?![^\W\d_]))",
    re.IGNORECASE,
)
_PER_BEFORE = re.compile(
    r"(?P<word>monatlich|mtl\.?|monthly|pro Monat|je Monat|per month|jährlich|annually|yearly|pro Jahr|per year|"
    r"per annum|einmalig|one-off|one-time|vierteljährlich|quarterly|halbjährlich)\w{0,2}\s*(?:\w+:?\s){0,4}?"
    r"(?:von|nur|of|at|is|beträgt|betragen|beläuft sich auf|amounts to|in Höhe von|:)?\s{0,2}$",
    re.IGNORECASE,
)
_PERS = {
    "month": "monat mtl month mo m mon monatlich monthly pcm pm pro monat je monat per month",
    "year": "jahr year yr annum a jährlich jaehrlich annually yearly pa",
    "kWh": "kwh kilowattstunde kilowatt-hour",
    "once": "einmalig one-off one-time once",
    "quarter": "quartal quarter vierteljahr vierteljährlich quarterly quartalsweise",
    "half": "halbjahr halbjährlich half-yearly semi-annually",
    "day": "tag day",
    "week": "woche week wöchentlich weekly",
}
_NET = re.compile(
    r"(?<![\w-])(?:netto|net(?!-)|zzgl|exkl|excl|excluding|exclusive|ohne\s+(?:MwSt|USt|Umsatzsteuer|"
    r"Mehrwertsteuer)|plus\s+VAT)\b",
    re.IGNORECASE,
)
_GROSS = re.compile(
    r"\b(?:brutto|gross|inkl|incl|including|inclusive|einschl|einschließlich|inklusive)\b",
    re.IGNORECASE,
)

_COUNT = "|".join(sorted((re.escape(name) for name in NUMBERS), key=len, reverse=True))
_LONG_UNITS = "Wochen Woche Monaten Monate Monats Monat Tagen weeks week months month".split()
_BROKEN = "|".join(
    r"\s?".join("[o0]" if letter == "o" else letter for letter in word) for word in _LONG_UNITS
)
_DURATION = re.compile(
    rf"(?<![\w.,])(?P<n>\d{{1,3}}|{_COUNT})(?:\s?\(\s?(?P<again>\d{{1,3}}|{_COUNT})\s?\))?['’]?\s{{0,2}}-?\s{{0,2}}"
    r"(?:volle[nr]?\s+|full\s+|clear\s+|calendar\s+|Kalender-?|Vertrags|contract\s+|consecutive\s+|"
    r"weitere\w?\s+|further\s+)?"
    r"(?P<unit>Tag(?:e[ns]?|s)?|Jahr(?:e[ns]?|s)?|days?|years?|"
    rf"{_BROKEN}|"
    r""
    r"monatige[nrsm]?|tägige[nrsm]?|wöchige[nrsm]?|jährige[nrsm]?)(?![^\W\d_])",
    re.IGNORECASE,
)
_DAY_OF = re.compile(r"(?<!\d)\d{1,2}\.[ ]{1,2}\Z")  # `zum 1. eines Monats`: a day, no period
_QUANTITY = re.compile(
    rf"(?<![\w.,])(?P<figure>{_STRICT})\s{{0,2}}(?P<unit>GB|MB|TB|GByte|MByte|TByte|Gigabytes?|Megabytes?|"
    rf"Terabytes?|GiB)(?!\w|/s)",
    re.IGNORECASE,
)
_UNLIMITED = re.compile(
    r"(?<!\w)(?:unlimited|unbegrenzt\w{0,2}|unlimitiert\w{0,2}|unbeschränkt\w{0,2}|limitless|uncapped|"
    r"ohne\s+(?:Limit|Begrenzung)|"
    r"(?:Daten|Internet|Surf|Data|Voll|True|Echte?)[- ]?Flat(?:rate)?|Flatrate|no\s+(?:data\s+)?(?:limit|cap))(?!\w)"
    r"(?!\s+(?:minutes|texts|calls|talk|SMS|Minuten|Telefonie|haft|gültig|lange|duration|period|liability))"
    r"(?<!auf unbegrenzte)",
    re.IGNORECASE,
)
_PERCENT = re.compile(rf"(?<![\w.,])(?P<figure>{_STRICT})\s?(?:%|Prozent|percent|per cent)")


def repair_digits(text: str) -> str:
    """The text with letters that OCR read instead of digits replaced; of the same length."""
    return _NUMERIC.sub(_repair, text)


def _repair(found: re.Match[str]) -> str:
    text = found[0]
    digits = sum(letter.isdigit() for letter in text)
    letters = sum(letter.isalpha() or letter == "|" for letter in text)
    if not digits or not letters or (digits < letters and "." not in text and "," not in text):
        return text
    return text.translate(_LOOKS)


DENIED_CHARS = 24
_NOT = re.compile(r"\b(?:nicht|not)(?:\s+(?:mehr|any\s+longer|am|zum|on))?\s+$", re.IGNORECASE)
_BUT = re.compile(r"[^.;\n]{0,30}?,?\s*\b(?:sondern|but)\b[^.;\n]{0,30}?\d", re.IGNORECASE)


def find_candidates(
    text: str, *, decimal: str = ",", order: str = "dmy", is_order_sure: bool = False
) -> list[ValueCandidate]:
    """Every value in a text, in its order; a number that is part of a date is no amount."""
    text = separate_cells(text)
    repaired = repair_digits(text)
    found: list[ValueCandidate] = []
    # The places of values, with all of which each new one is compared at once.
    taken = bytearray(len(text))
    for each in (
        *dates(repaired, order=order, is_order_sure=is_order_sure),
        *money(repaired, decimal=decimal),
        *durations(repaired),
        *quantities(repaired, decimal=decimal),
        *percents(repaired, decimal=decimal),
        *bare_numbers(repaired, decimal=decimal),
    ):
        if not any(taken[each.start : each.end]):
            found.append(_with_doubts(each, text, repaired))
            taken[each.start : each.end] = b"\1" * (each.end - each.start)
    stated = (each for each in found if not _is_denied(text, each))
    return sorted(stated, key=lambda candidate: candidate.start)


def _is_denied(text: str, candidate: ValueCandidate) -> bool:
    """`nicht 36,99 EUR, sondern 21,99 EUR`: what is denied is no value, and its label means the other one."""
    return (
        _NOT.search(text, max(0, candidate.start - DENIED_CHARS), candidate.start) is not None
        and _BUT.match(text, candidate.end) is not None
    )


def _with_doubts(candidate: ValueCandidate, text: str, repaired: str) -> ValueCandidate:
    """A value, marked if repaired or ambiguous: `3 2,45 ct` may be 2,45 ct behind a 3, or 32,45 ct with a blank."""
    is_repaired = repaired[candidate.start : candidate.end] != text[candidate.start : candidate.end]
    is_split = not candidate.is_bare and (
        _DIGIT_BEFORE.search(repaired, max(0, candidate.start - 3), candidate.start)
        or _DIGIT_BEHIND.match(repaired, candidate.end)
    )
    if not is_repaired and not is_split:
        return candidate
    is_ambiguous = candidate.is_ambiguous or bool(is_split)
    return msgspec.structs.replace(candidate, is_repaired=is_repaired, is_ambiguous=is_ambiguous)


def separate_cells(text: str) -> str:
    """A text with walls between cells and at the ends of short lines, so that no value extends over them."""
    lines = text.split("\n")
    made = [lines[0]]
    for before, line in pairwise(lines):
        is_prose = len(before.rpartition("\t")[2]) >= PROSE_CHARS_MIN
        made += ["\n" if is_prose else WALL, line]
    return _WIDE.sub(lambda gap: WALL * len(gap[0]), "".join(made).replace("\t", WALL))


def dates(
    text: str, *, order: str = "dmy", is_order_sure: bool = False
) -> Iterator[ValueCandidate]:
    """Dates with a day, a month and a year."""
    for found in _DATES.find(text, order=order):
        yield ValueCandidate(
            start=found.start, end=found.end, kind="date", value=found.value,
            number=found.day.year + found.day.timetuple().tm_yday / 366,
            is_ambiguous=found.is_ambiguous and not is_order_sure,
        )  # fmt: skip


def money(text: str, *, decimal: str = ",") -> Iterator[ValueCandidate]:
    """Amounts with a currency; cents become the whole unit."""
    for found in _MONEY.finditer(text):
        figure = found["figure1"] or found["figure2"]
        mark = found["before"] or found["after"]
        per, end = _per(text, found.start(), found.end())
        is_cent = re.fullmatch(_CENT, mark) is not None
        value = guess_number(figure, decimal, is_fine=is_cent or per == "kWh")
        if value is None or (mark in _LETTER_CENTS and per not in _LETTER_UNITS):
            continue
        value *= _times(found["times1"] or found["times2"])
        if is_cent:
            value /= 100
        yield _amount(text, (found.start(), found.end(), end), value, (_currency(mark), per))


def _amount(
    text: str, at: tuple[int, int, int], value: Decimal, what: tuple[str, str]
) -> ValueCandidate:
    start, end, reach = at
    behind = re.split(r"[\n│;]|\d", text[end : end + 30])[0]
    return ValueCandidate(
        start=start, end=end, kind="money", value=format_number(value), reach=reach, number=float(value),
        unit=what[0], per=what[1],
        tax=_tax(re.split(r"[\n│;.]", text[max(0, start - 14) : start])[-1], text[end:reach] + behind),
    )  # fmt: skip


def bare_numbers(text: str, *, decimal: str = ",") -> Iterator[ValueCandidate]:
    """Numbers without a unit: amounts, if a label says so."""
    for found in _BARE.finditer(text):
        value = guess_number(found["figure"], decimal, is_fine=False)
        if value is None or len(found["figure"]) > FIGURE_CHARS_MAX:
            continue
        if text[found.end() : found.end() + 1] == "." and _DAY_OF_YEAR.fullmatch(found["figure"]):
            continue
        per, _ = _per(text, found.start(), found.end())
        value *= _times(found["times"])
        yield ValueCandidate(
            start=found.start(), end=found.end(), kind="money", value=format_number(value), number=float(value),
            per=per, is_bare=True,
        )  # fmt: skip


def durations(text: str) -> Iterator[ValueCandidate]:
    """Periods: `4 weeks`, `3 months`; the number counts months."""
    for found in _DURATION.finditer(text):
        count = _count(found["n"])
        if found["again"] and found["again"].isdigit():
            count = int(found["again"])
        unit = _unit(found["unit"])
        if not count or (found["n"].lower() == "a" and unit == "day"):
            continue
        lead = text[max(0, found.start() - 5) : found.start()]
        if not found["n"].isdigit() and _DAY_OF.search(lead):
            continue
        yield ValueCandidate(
            start=found.start(), end=found.end(), kind="duration", value=duration(count, unit),
            number=count * UNITS[unit] / UNITS["month"], unit=unit,
        )  # fmt: skip


_BITS = re.compile(r"[MGT]b\Z")  # not `MB`: a speed, as in `500 Mb Broadband`


def quantities(text: str, *, decimal: str = ",") -> Iterator[ValueCandidate]:
    """Volumes of data: `20 GB`, `unlimited`; the number counts GB."""
    for found in _QUANTITY.finditer(text):
        value = guess_number(found["figure"], decimal, is_fine=False)
        if value is None or _BITS.match(found["unit"]):
            continue
        unit = {"m": "MB", "g": "GB", "t": "TB"}[found["unit"][0].lower()]
        size = float(value) * {"MB": 0.001, "GB": 1, "TB": 1000}[unit]
        yield ValueCandidate(
            start=found.start(), end=found.end(), kind="quantity", value=f"{format_number(value, places=0)} {unit}",
            number=size, unit=unit, per=_per(text, found.start(), found.end())[0],
        )  # fmt: skip
    for found in _UNLIMITED.finditer(text):
        yield ValueCandidate(
            start=found.start(), end=found.end(), kind="quantity", value="unlimited", number=1e9
        )


def percents(text: str, *, decimal: str = ",") -> Iterator[ValueCandidate]:
    """Percentages."""
    for found in _PERCENT.finditer(text):
        value = guess_number(found["figure"], decimal, is_fine=True)
        if value is not None:
            yield ValueCandidate(
                start=found.start(), end=found.end(), kind="percent", value=format_number(value, places=0),
                number=float(value), unit="%",
            )  # fmt: skip


def duration(count: int, unit: str) -> str:
    """A period in canonical form."""
    return f"{count} {unit}" + ("" if count == 1 else "s")


def _per(text: str, start: int, end: int) -> tuple[str, int]:
    """The unit of an amount (per month, …) by the words behind or before it, and the end of those words."""
    if behind := _PER_AFTER.match(text, end):
        return _named_per(behind["unit"] or behind["word"]), behind.end()
    before = _PER_BEFORE.search(text, max(0, start - 50), start)
    return (
        (
            _named_per(
                before["word"].lower().removeprefix("pro ").removeprefix("je ").removeprefix("per ")
            ),
            end,
        )
        if before
        else ("", end)
    )


def _named_per(word: str) -> str:
    bare_word = word.lower().replace(".", "").replace(" ", "").strip()
    return next((per for per, names in _PERS.items() if bare_word in names.split()), "")


def _tax(before: str, behind: str) -> str:
    if _NET.search(behind[:30]) or _NET.search(before):
        return "net"
    return "gross" if _GROSS.search(behind[:30]) or _GROSS.search(before) else ""


def tax_of(words: str) -> str:
    """Whether words beside an amount call it "net" or "gross"; "" if neither."""
    return _tax("", words)


def _times(word: str | None) -> Decimal:
    if not word:
        return Decimal(1)
    low = word.strip().lower()
    if low.startswith(("mrd", "milliard", "billion", "bn")):
        return Decimal(10) ** 9
    return Decimal(1000) if low.startswith(("t", "k")) else Decimal(10) ** 6


def _currency(mark: str) -> str:
    if mark in ("£", "GBP", "pence", "p"):
        return "GBP"
    return {"CHF": "CHF", "USD": "USD", "$": "USD", "US$": "USD"}.get(mark, "EUR")


def _count(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS.get(text.lower(), 0)


def _unit(text: str) -> str:
    low = text.lower().replace("0", "o")
    if low.startswith(("tag", "täg", "day")):
        return "day"
    if low.startswith(("wo", "wö", "we")):
        return "week"
    return "month" if low.startswith("mo") else "year"
