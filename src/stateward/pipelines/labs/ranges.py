"""Printed reference ranges: two-sided, one-sided, ordinal; ranges by sex or age are kept as text.

A text in which anything is left over after the range was read is not a plain range: half a range is worse than none.
"""

import re
from decimal import Decimal
from functools import lru_cache

import msgspec

from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import PrintedValue, read_number, tidy
from stateward.pipelines.labs.words import column_of, fold, is_category, ordinal_of

# A blank may part thousands, but `150-400 109/L` has a unit behind its second number.
_NUMBER = (
    r"[0-9]{1,3}(?:[ '’][0-9]{3})+(?![0-9]|\s?/)(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)*|[.,][0-9]+"
)
_SIGNED = rf"[+\-−]?(?:{_NUMBER})"
_TWO = re.compile(
    rf"(?:von|de|from|entre|zwischen|between)?\s*(?P<low>{_SIGNED})\s*"
    rf"(?:-|–|—|−|~|÷|～|\.\.+|…|bis|to|à|a|et|and|und|y)\s*(?P<high>{_SIGNED})",
    re.IGNORECASE,
)
_BELOW = (
    r"<\s?or\s?=|<\s?/?=?|≤|=<|bis(?: zu)?|up ?to|under|unter|below|less than|m[aá]x(?:im[ao]l?|imum)?\.?|"
    r"inf(?:[ée]rieure?|eriore)?\.? ?[àa]|"
    r"menor (?:de|que)|hasta|at[ée]|inferior a|jusqu'à|fino a|kleiner(?: als)?|tot|do"
)
_ABOVE = (
    r">\s?or\s?=|>\s?/?=?|≥|=>|over|über|above|more than|greater than|ab|m[ií]n(?:im[ao]l?|imum)?\.?|"
    r"sup(?:[ée]rieure?|eriore)?\.? ?[àa]|"
    r"mayor (?:de|que)|superior a|acima de|a partir de|größer(?: als)?|mindestens|desde"
)
_ONE = re.compile(
    rf"(?:(?P<below>{_BELOW})|(?P<above>{_ABOVE}))\s*(?P<number>{_SIGNED})", re.IGNORECASE
)
_BRACKETED = re.compile(r"[(\[]([^()\[\]]*[0-9][^()\[\]]*)[)\]]\s*([^\s()\[\]]\S*)")
_OR_MORE = re.compile(
    rf"(?P<number>{_NUMBER})\s?(?P<unit>\S+)? (?:or|and|oder|und|ou|et|o|y|e) "
    r"(?:(?P<above>more|above|higher|greater|over|mehr|höher|plus|más|più|mais)"
    r"|(?P<below>less|below|lower|under|fewer|weniger|niedriger|moins|menos|meno))",
    re.IGNORECASE,
)
_MARK = re.compile(r"\s+[^\w\s()\[\]%‰°'’\"<>≤≥=~/÷+\-–—−…]+$")
_FROM = re.compile(rf"({_NUMBER})\s?[-–~]")  # `59-`: nothing above is too much
_TITRE = re.compile(
    rf"(?P<sign>{_BELOW})\s*1\s?[:/]\s?(?P<number>[0-9]+)(?:\s+tit(?:er|re|olo|ulo))?",
    re.IGNORECASE,
)
# `bis 5` and `up to 5` include the limit; `< 5`, `unter 5` and `less than 5` do not.
_EXCLUDING = frozenset(
    {"<", ">", "under", "unter", "below", "less than", "over", "über", "above", "more than", "greater than", "acima de"}
)  # fmt: skip
_EXCLUDING_STEMS = ("inf", "sup", "menor", "mayor", "kleiner", "größer")
_CONDITION = re.compile(
    r"\b(?:m|f|w|male|female|men|women|man|woman|männer|frauen|mann|frau|männlich|weiblich|homme|femme|hommes|femmes|"
    r"hombre|hombres|mujer|mujeres|uomo|donna|maschi|femmine|adult|adults|child|children|erwachsene|kinder|years?|jahre|"
    r"age|ans|años|follicular|luteal|folli\w*|lutéal\w*|trimester|ssw|fasting|nüchtern|\d+\s*(?:y|yrs?|j)|day|night|"
    r"low risk|high risk|risiko|risk|risque|riesgo|optimal|desirable|deficien\w*|suffizien\w*|mangel\w*|"
    r"prediabetes|diabetes|normal|non-smoker\w*|smoker\w*)\b\s*[:=)]?",
    re.IGNORECASE,
)
_NONE = frozenset(
    map(
        fold,
        ("not estab", "not established", "see note", "see below", "n a", "na", "none", "siehe text", "s. text",
         "siehe kommentar", "not applicable", "not defined", "see comment", "s. kommentar", "siehe unten"),
    )
)  # fmt: skip


class PrintedRange(msgspec.Struct, frozen=True, kw_only=True):
    """A range. `kind` is interval, ordinal, titre, conditional (by sex or age), none, or unread.

    A limit that is excluded (`< 5`) has `is_low_open` or `is_high_open`.
    """

    kind: str
    low: Decimal | None = None
    high: Decimal | None = None
    is_low_open: bool = False
    is_high_open: bool = False
    text: str = ""
    unit: str = ""  # what stands behind the numbers
    is_ambiguous: bool = False


@lru_cache(maxsize=4096)
def read_range(text: str, decimal: str = "") -> PrintedRange:
    """A printed range; `decimal` is the decimal sign of the report."""
    text = tidy(text)
    bare = _unwrap(text)
    if not bare or fold(bare) in _NONE or not any(map(str.isalnum, bare)):
        return PrintedRange(kind="none", text=text)
    if found := _TITRE.fullmatch(bare):
        return PrintedRange(
            kind="titre", high=Decimal(found["number"]), text=text,
            is_high_open=_is_excluding(found["sign"]),
        )  # fmt: skip
    if (found := _TWO.match(bare)) is not None:
        read = _two_sided(found, bare, text, decimal)
    elif (found := _ONE.match(bare)) is not None:
        read = _one_sided(found, bare, text, decimal)
    else:
        read = None
    if read is not None:
        return read
    if found := _OR_MORE.fullmatch(bare):
        return _limit_and_words(found, text, decimal)
    if found := _FROM.fullmatch(bare):
        low, is_ambiguous = read_number(found[1], decimal)
        return PrintedRange(kind="interval", low=low, text=text, is_ambiguous=is_ambiguous)
    if ordinal := ordinal_of(bare):
        return PrintedRange(kind="ordinal", text=ordinal)
    if re.search(r"[0-9]", bare) is None:
        return PrintedRange(kind="ordinal", text=bare)
    is_explained = any(is_category(part) for part in re.findall(r"([^\W\d_][^:;0-9<>]*):", bare))
    is_conditional = is_explained or _CONDITION.search(bare) or len(re.findall(_TWO, bare)) > 1
    if is_conditional:
        return PrintedRange(kind="conditional", text=text)
    # `en çok 24 U/L`: which limit it is, is not known, but its unit is.
    head, _, last = bare.rpartition(" ")
    is_unit = head[-1:].isdigit() and is_known_unit(last)
    return PrintedRange(kind="unread", text=text, unit=last if is_unit else "")


def _unwrap(text: str) -> str:
    # `0 - 20 *`, `43 - 74 ¬`: the mark of the value
    text = _MARK.sub("", text.strip()).rstrip(".,;* ")
    is_wrapped = text[:1] in ("(", "[")
    while len(text) > 1 and (text[0], text[-1]) in (("(", ")"), ("[", "]")):
        text = text[1:-1].strip()
    found = _BRACKETED.fullmatch(text)
    # `(4.30 - 5.75) 10*12/L`: the unit stands behind the brackets; `[150-400] 304` is a range and another value.
    if found and (not found[2][0].isdigit() or is_known_unit(found[2])):
        text = f"{found[1].strip()} {found[2]}"
    text = re.sub(r"^(?:above|below|over|under)\s+(?=[<>≤≥])", "", text, flags=re.IGNORECASE)
    text = re.sub(
        r"^(?:ref\.?|range|norm\.?|n|normal|réf\.?|vr)\s*[:=]\s*", "", text, flags=re.IGNORECASE
    )
    label, colon, rest = text.partition(":")
    # `(Reference: < 200)`: behind a label without brackets stands a field of its own.
    is_label = is_wrapped and bool(colon and rest) and column_of(label.strip(" .")) == "range"
    return rest.strip() if is_label else text


def _two_sided(found: re.Match[str], bare: str, text: str, decimal: str) -> PrintedRange | None:
    rest = _rest(bare, found)
    if not _is_unit_like(rest):
        return None
    decimal = decimal or _decimal_beside(found["low"], found["high"])
    low, is_low_ambiguous = read_number(found["low"], decimal)
    high, is_high_ambiguous = read_number(found["high"], decimal)
    if low > high and is_high_ambiguous:  # 980 to 5.060: the point separates thousands
        high, is_high_ambiguous = read_number(found["high"], "," if "." in found["high"] else ".")
    if low > high:
        return None
    return PrintedRange(
        kind="interval", low=low, high=high, text=text, unit=rest,
        is_ambiguous=is_low_ambiguous or is_high_ambiguous,
    )  # fmt: skip


def _decimal_beside(*numbers: str) -> str:
    """The decimal sign that one of two limits leaves: beside 11,000 a comma separates thousands in 4,500 too."""
    rounds = [each for each in numbers if re.fullmatch(r"[1-9][0-9]{1,2}[.,]000", each)]
    return "" if not rounds else "." if "," in rounds[0] else ","


def _one_sided(found: re.Match[str], bare: str, text: str, decimal: str) -> PrintedRange | None:
    rest = _rest(bare, found)
    if not _is_unit_like(rest) or rest.startswith(":"):  # < 1:80 H is no limit of 1
        return None
    number, is_ambiguous = read_number(found["number"], decimal)
    is_below = found["below"] is not None
    is_open = _is_excluding(found["below"] or found["above"])
    return PrintedRange(
        kind="interval",
        low=None if is_below else number,
        high=number if is_below else None,
        is_low_open=not is_below and is_open,
        is_high_open=is_below and is_open,
        text=text,
        unit=rest,
        is_ambiguous=is_ambiguous,
    )


def _limit_and_words(found: re.Match[str], text: str, decimal: str) -> PrintedRange:
    """`10 or more`: the limit itself is within."""
    number, is_ambiguous = read_number(found["number"], decimal)
    is_above = found["above"] is not None
    return PrintedRange(
        kind="interval",
        low=number if is_above else None,
        high=None if is_above else number,
        text=text,
        unit=found["unit"] or "",
        is_ambiguous=is_ambiguous,
    )


def _is_excluding(sign: str) -> bool:
    bare = sign.strip().lower()
    return bare in _EXCLUDING or bare.startswith(_EXCLUDING_STEMS)


def _rest(bare: str, found: re.Match[str]) -> str:
    """What follows the numbers."""
    return bare[found.end() :].strip()


def _is_unit_like(rest: str) -> bool:
    """Whether what follows a range may be its unit: nothing, or one short word without another range in it."""
    if not rest or is_known_unit(rest):  # `M/uL` is no range of men
        return True
    return (
        len(rest) <= 24
        and not _CONDITION.search(rest)
        and not _TWO.search(rest)
        and re.search(r"[<>≤≥;]", rest) is None
        and len(rest.split()) <= 3
    )


def flag_of(value: PrintedValue, within: PrintedRange) -> str:
    """L, N or H (A for ordinals) by value and range; "" where they do not decide it."""
    if within.kind == "ordinal" and value.kind in ("ordinal", "text"):
        return _ordinal_flag(value, within)
    if within.kind == "titre" and value.kind == "titre" and value.number is not None:
        return _interval_flag(value, within)
    if within.kind == "interval" and value.kind in ("quantity", "interval"):
        return _interval_flag(value, within)
    return ""


_NEGATIVES = frozenset({"negative", "not detected", "non-reactive", "normal"})
_POSITIVES = frozenset(
    {"positive", "detected", "reactive", "1+", "2+", "3+", "4+", "abnormal", "trace"}
)


def _ordinal_flag(value: PrintedValue, within: PrintedRange) -> str:
    wanted, found = within.text, value.text
    if fold(wanted) == fold(found) or {wanted, found} <= _NEGATIVES:
        return "N"
    if wanted in _NEGATIVES and found in _POSITIVES:
        return "A"
    return ""


def _interval_flag(value: PrintedValue, within: PrintedRange) -> str:
    """A censored value is an interval: it decides only if all of that is on one side."""
    number = value.number
    if number is None:
        return ""
    low, high = number, value.high if value.high is not None else number
    has_low, has_high = not value.comparator.startswith("<"), not value.comparator.startswith(">")
    is_strict = value.comparator in ("<", ">")
    if within.high is not None and has_low:
        beyond = low > within.high or (
            low == within.high and (within.is_high_open or (is_strict and not has_high))
        )
        if beyond:
            return "H"
    if within.low is not None and has_high:
        beyond = high < within.low or (
            high == within.low and (within.is_low_open or (is_strict and not has_low))
        )
        if beyond:
            return "L"
    # Below a limit of detection everything down to zero is possible, so a range that begins at zero still holds.
    is_above_low = (
        within.low is None or (has_low and low >= within.low) or (not has_low and within.low <= 0)
    )
    is_below_high = within.high is None or (has_high and high <= within.high)
    return "N" if is_above_low and is_below_high else ""
