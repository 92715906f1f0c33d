"""Units: from how a report prints them to a UCUM code, and from one UCUM code to another.

Common units convert by the table units.yaml, because building the registry of ucumvert takes more than a second; any
other code is asked of ucumvert, once per process. The table is data, and a test compares all of it with ucumvert.
"""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import Any

from stateward.core.errors import MissingExtra
from stateward.extras import missing_extra
from stateward.pipelines.labs.model import Analyte
from stateward.pipelines.labs.words import load_data

CODE_CHARS_MAX = 60
PRECISION = Context(prec=34)
DIGITS_MIN = 4  # of a converted value: a conversion of "5" is not exact to one digit
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")

_CALCULATED = re.compile(
    r"\((?:calc|calculated|berechnet|ber|calculé|calculado|calcolato|obliczony|beräknad|beregnet|berekend)\.?\)$"
)

_DATA = load_data("units.yaml")
FAMILIES: dict[str, dict[str, Decimal]] = {
    family: {code: Decimal(str(factor)) for code, factor in units.items()}
    for family, units in _DATA["families"].items()
}
_FAMILY_OF = {code: family for family, units in FAMILIES.items() for code in units}
_KNOWN = frozenset(_FAMILY_OF) | frozenset(_DATA["others"])


@lru_cache(maxsize=8192)  # a report prints few units, and each cell is asked whether it is one
def compact(printed: str) -> str:
    """A printed unit without what does not matter: blanks, case, the sign for micro, how an exponent is written."""
    text = printed.strip().translate(_SUPERSCRIPTS).replace("µ", "u").replace("μ", "u").casefold()
    text = re.sub(r"[\s\u00a0\u2009\u202f]+", "", text).replace("×", "x").replace("·", ".")
    text = (
        _CALCULATED.sub("", text) or text
    )  # `mg/dL (calc)`: how it was found says nothing of the unit
    text = re.sub(r"^\(([^()]*)\)$|^\[([^\[\]]*)\]$", lambda m: m[1] or m[2] or "", text)
    # x10E3, x10^3, x10**3, 10*3 and 10 3 become 10*3.
    text = re.sub(r"^xe(?=[0-9])", "10e", text)  # x E9/L
    text = re.sub(r"^x?10\(([0-9]{1,2})\)(?=/)", r"10*\1", text)  # x10(9)/L
    text = re.sub(r"^x?10(?:e|\^|\*\*?)?\+?([0-9]{1,2})(?=/|$)", r"10*\1", text)
    text = re.sub(r"/i$", "/l", text)  # as OCR reads U/l
    return text.replace("m²", "m2").replace("^2", "2").replace("^3", "3").rstrip(".")


def split_calculated(text: str) -> tuple[str, str]:
    """A range without a unit, and the word behind it that says that the value was calculated: `<5.0 (calc)`."""
    found = _CALCULATED.search(text)
    is_bare = found is not None and text[: found.start()].rstrip()[-1:].isdigit()
    return (text[: found.start()].rstrip(), found[0]) if found and is_bare else (text, "")


def _spellings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for code in sorted(_KNOWN):
        found.setdefault(compact(code), []).append(code)
    for code, spelled in _DATA["printed"].items():
        for text in spelled:
            codes = found.setdefault(compact(text), [])
            if code not in codes:
                codes.append(code)
    return found


_SPELLINGS = _spellings()


@lru_cache(maxsize=4096)
def candidates(printed: str) -> tuple[str, ...]:
    """The UCUM codes that a printed unit may mean, the likeliest first; none if it is unknown."""
    text = printed.strip()
    if not text or len(text) > CODE_CHARS_MAX:
        return ()
    codes = list(_SPELLINGS.get(compact(text), ()))
    if text in _KNOWN:  # as UCUM has it, case and all
        codes = [text, *(code for code in codes if code != text)]
    if not codes and is_ucum(text):
        codes = [text]
    return tuple(codes)


def is_known_unit(printed: str) -> bool:
    """Whether the table knows a printed unit; nothing is imported for the answer."""
    return bool(printed.strip()) and (printed.strip() in _KNOWN or compact(printed) in _SPELLINGS)


def is_measure(printed: str) -> bool:
    """Whether a text can only be a unit: `g/L`, `%`, `fL`; not a letter, a word or an abbreviation of a name."""
    text = printed.strip()
    return is_known_unit(text) and (
        "/" in text or text in ("%", "fL", "fl", "pg", "s", "sec", "mm")
    )


def same_dimension(one: str, other: str) -> bool:
    """Whether two codes of the table differ by a factor alone, whatever is measured."""
    return one == other or (one in _FAMILY_OF and _FAMILY_OF[one] == _FAMILY_OF.get(other))


def convert(
    number: Decimal, source: str, target: str, analyte: Analyte | None = None
) -> Decimal | None:
    """A number in another unit; None if there is no way from one to the other for this analyte."""
    if source == target:
        return number
    if analyte is not None and analyte.formula == "hba1c" and {source, target} == {"mmol/mol", "%"}:
        return _hba1c(number, target)
    factor = factor_of(source, target, analyte)
    return None if factor is None else PRECISION.multiply(number, factor)


def _hba1c(number: Decimal, target: str) -> Decimal:
    """The master equation between IFCC (mmol/mol) and NGSP (%)."""
    slope, offset = Decimal("0.09148"), Decimal("2.152")
    return slope * number + offset if target == "%" else (number - offset) / slope


@lru_cache(maxsize=4096)
def factor_of(source: str, target: str, analyte: Analyte | None = None) -> Decimal | None:
    """What a value in one unit is multiplied by to be in the other."""
    from_family, to_family = _FAMILY_OF.get(source), _FAMILY_OF.get(target)
    if from_family is None or to_family is None:
        return (
            _asked_factor(source, target) if source not in _KNOWN or target not in _KNOWN else None
        )
    bridge = Decimal(1) if from_family == to_family else _bridge(from_family, to_family, analyte)
    if bridge is None:
        return None
    product = PRECISION.multiply(FAMILIES[from_family][source], bridge)
    return PRECISION.divide(product, FAMILIES[to_family][target])


def _bridge(source: str, target: str, analyte: Analyte | None) -> Decimal | None:
    """The factor between the first units of two families, which depends on what is measured."""
    if analyte is None:
        return None
    mass, valence = analyte.mass, analyte.valence
    bridges: dict[tuple[str, str], Decimal | None] = {
        # g/L = mmol/L x g/mol / 1000
        ("substance concentration", "mass concentration"): None if mass is None else mass / 1000,
        ("equivalents", "substance concentration"): None if not valence else 1 / Decimal(valence),
        ("catalytic concentration", "arbitrary concentration"): Decimal(1) if analyte.kin else None,
        ("arbitrary concentration", "unspecified concentration"): Decimal("0.001") if analyte.kin else None,
        ("catalytic concentration", "unspecified concentration"): Decimal("0.001") if analyte.kin else None,
        # mg of albumin per mmol of creatinine: 113.118 mg of creatinine are one mmol
        ("mass per substance of creatinine", "mass per creatinine"): 1000 / Decimal("113.118"),
        ("mass concentration", "fibrin equivalents"): None,
        ("substance", "mass"): None if mass is None else mass / 1000,
    }  # fmt: skip
    if (source, target) in bridges:
        return bridges[source, target]
    if (target, source) in bridges:
        back = bridges[target, source]
        return None if back is None else PRECISION.divide(Decimal(1), back)
    if (source, target) == ("equivalents", "mass concentration") and mass is not None and valence:
        return mass / 1000 / valence
    return None


def round_converted(number: Decimal, printed: Decimal) -> Decimal:
    """A converted number with one digit more than was printed, and at least four: no precision that is not there."""
    digits = max(DIGITS_MIN, len(printed.as_tuple().digits) + 1)
    return Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(number)


# Beyond the table


@lru_cache(maxsize=1)
def _registry() -> Any:  # noqa: ANN401 - pint has no useful type for it
    try:
        from ucumvert import PintUcumRegistry
    except ImportError as error:
        raise missing_extra(error) or error from error
    return PintUcumRegistry()


@lru_cache(maxsize=1024)
def is_ucum(code: str) -> bool:
    """Whether a text is a valid UCUM code, by ucumvert's grammar; False where ucumvert is not installed."""
    if not code.isascii() or len(code) > CODE_CHARS_MAX or re.search(r"\s", code):
        return False
    try:
        return validate_ucum(code)
    except MissingExtra:
        return False


@lru_cache(maxsize=1)
def _parser() -> Any:  # noqa: ANN401 - lark's
    try:
        from ucumvert import get_ucum_parser
    except ImportError as error:
        raise missing_extra(error) or error from error
    return get_ucum_parser()


def validate_ucum(code: str) -> bool:
    """Whether ucumvert's grammar takes a code; no registry is built for it."""
    from lark.exceptions import LarkError

    try:
        _parser().parse(code)
    except (LarkError, ValueError):
        return False
    return True


@lru_cache(maxsize=1024)
def _asked_factor(source: str, target: str) -> Decimal | None:
    """The factor by ucumvert and pint, for codes that the table does not have."""
    try:
        registry = _registry()
        # A quotient, because a unit such as mg/(24.h) has a magnitude of its own that `to` would drop.
        quotient = registry.from_ucum(source) / registry.from_ucum(target)
        factor = quotient.to("dimensionless").magnitude
    except MissingExtra:
        return None
    except Exception:  # noqa: BLE001 - pint and lark raise many kinds, and all mean that there is no way
        return None
    return Decimal(repr(float(factor)))
