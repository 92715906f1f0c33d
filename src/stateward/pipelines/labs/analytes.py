"""Which analyte a printed name means: by its LOINC code, or by the synonyms of analytes.yaml with a confidence."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

import msgspec

from stateward.pipelines.labs.model import Analyte
from stateward.pipelines.labs.units import convert
from stateward.pipelines.labs.words import fold, load_data

SURE = 80  # below, the code is flagged
EXACT, WITHOUT_BRACKETS, WITHOUT_FILLERS, ANY_ORDER = 97, 92, 90, 88
NO_UNIT_PENALTY, WRONG_UNIT = 5, 55
LOINC = re.compile(r"[0-9]{1,7}-[0-9]")
# Words in brackets that make another test of a name.
_QUALIFIERS = frozenset(
    "free frei freies libre libero ionized ionised ionisiert direct direkt indirect indirekt bound bioavailable "
    "corrected adjusted fetal ratio quotient index antibody antibodies ab ak igg igm iga ige clearance hs "
    "pp post prandial postprandial lunch".split()
)  # fmt: skip
_IN_SERUM = re.compile(r" (?:i|im|in) (?:s|p|ser|serum|plasma|blut|vollblut)$")
_IN_URINE = re.compile(
    r"(?:\b(?:im|in|i|na|nell|nelle|w|en|de|dans|les|della|delle|v|idrarda) )*"
    r"\b(?:urin|urine|urines|urina|orina|harn|moczu|urinaires?|urinario|urinarias?|urinari|moci|vizelet)\b"
)
# Plasma, serum and blood before a name; not of P-Amylase, S-100 or B-Lymphocytes, which are other tests.
_PREFIX = re.compile(
    r"(?:f?[PS]-(?!amyl|100|anca)|(?:S|Se|Sr|Ser|P|B)\. ?|Sg-|B-(?!lym|zell|cell|natri|typ|hcg))(?=\w)",
    re.IGNORECASE,
)
_OF_SERUM = re.compile(r"(?<=[\w)]), [SP]$")  # `T4 (Thyroxine), Free, S`
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_FILLERS = frozenset(
    (
        "% lvl ilosciowo im in serum plasma blood blut blutes ser sang sangre sangue le la el der die das "
        "des du de of the level levels edta venous quant quantitative qn konzentration concentration abs "
        "absolut absolute serique sanguin sanguine plasmatique en suero calc calculated berechnet ia eclia "
        "clia enzymatic enzymatisch hplc ifcc photometrisch clauss standardised standardized nuchtern jeun "
        "ayunas fasting count counts anzahl value wert gesamt total totale totaux totales"
    ).split()
)  # fmt: skip


class Match(msgspec.Struct, frozen=True):
    """An analyte, the code to report, and how sure that is."""

    analyte: Analyte | None
    code: str
    confidence: int


def _load() -> dict[str, Analyte]:
    found = {}
    for key, told in load_data("analytes.yaml").items():
        mass = told.get("mass")
        found[key] = Analyte(
            key=key,
            loinc=told["loinc"],
            unit=told["unit"],
            names=tuple(told["names"]),
            mass=None if mass is None else Decimal(str(mass)),
            valence=told.get("valence", 0),
            also=tuple(told.get("also", ())),
            specimen=told.get("in", "blood"),
            kin=told.get("kin", ""),
            formula=told.get("formula", ""),
            limit=_limit(told.get("limit")),
        )
    return found


def _limit(told: list[float] | None) -> tuple[Decimal, Decimal] | None:
    if told is None:
        return None
    low, high = (Decimal(str(each)) for each in told)
    return low, high


ANALYTES = _load()
_BY_CODE = {
    code: analyte
    for analyte in reversed(ANALYTES.values())
    for code in (*analyte.also, analyte.loinc)
}


def _by_name() -> dict[str, tuple[Analyte, ...]]:
    found: dict[str, list[Analyte]] = {}
    for analyte in ANALYTES.values():
        for name in dict.fromkeys(map(fold, analyte.names)):
            found.setdefault(name, []).append(analyte)
    return {name: tuple(analytes) for name, analytes in found.items()}


_BY_NAME = _by_name()
# A ratio whose words come in another order may be its inverse: apo A1 to apo B.
_BY_TOKENS = {
    frozenset(name.split()): analytes
    for name, analytes in reversed(_BY_NAME.items())
    if all(each.unit != "{ratio}" for each in analytes)
}
_ANTIBIOTICS: dict[str, str] = {
    fold(name): code for code, names in load_data("antibiotics.yaml").items() for name in names
}


def is_loinc(code: str) -> bool:
    """Whether a code has the form of LOINC and the right check digit."""
    if not LOINC.fullmatch(code):
        return False
    digits, _, check = code.partition("-")
    total = 0
    for at, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if at % 2 == 0 else 1)
        total += doubled // 10 + doubled % 10
    return (10 - total % 10) % 10 == int(check)


def by_code(code: str) -> Analyte | None:
    """The analyte of a LOINC code, if the table has it."""
    return _BY_CODE.get(code)


@lru_cache(maxsize=4096)
def by_name(name: str, units: tuple[str, ...] = (), specimen: str = "") -> Match:
    """The analyte that a printed name means. `units` are the UCUM codes that its unit may be."""
    for analytes, confidence in _meanings(name):
        fitting = [each for each in analytes if _fits_specimen(each, specimen)]
        if not fitting:
            continue
        if not units:
            penalty = NO_UNIT_PENALTY if any(each.unit for each in fitting) else 0
            return Match(fitting[0], fitting[0].loinc, confidence - penalty)
        for each in fitting:
            if any(_takes(each, unit) for unit in units):
                return Match(each, each.loinc, confidence)
        # A value without a unit of its own, and of the same specimen: a share of blood cells is no test strip.
        if bare := [x for x in fitting if not x.unit and x.specimen == fitting[0].specimen]:
            return Match(bare[0], bare[0].loinc, SURE)
        if confidence <= WITHOUT_FILLERS:
            continue  # `eGFR (Crea)` in mL/min is no creatinine: of a part of the name, the unit is the judge
        return Match(fitting[0], fitting[0].loinc, WRONG_UNIT)
    return Match(None, "", 0)


def _takes(analyte: Analyte, unit: str) -> bool:
    """Whether a value in this unit can be a value of this analyte."""
    return bool(analyte.unit) and convert(Decimal(1), unit, analyte.unit, analyte) is not None


def is_name(name: str) -> bool:
    """Whether a text is a name of an analyte."""
    return next(_meanings(name), None) is not None


IN_WORDS = frozenset({"culture", "gram_stain"})


def named_in_words(name: str) -> bool:
    """Whether a name is of an examination whose result is told in words."""
    return any(each.key in IN_WORDS for found, _ in _meanings(name) for each in found)


def by_antibiotic(name: str) -> Match:
    """The susceptibility test of the antibiotic that a row of an antibiogram names."""
    return next(
        (
            Match(None, found, EXACT)
            for text, _ in _spellings_of(name)
            if (found := _ANTIBIOTICS.get(text))
        ),
        Match(None, "", 0),
    )


def _meanings(name: str) -> Iterator[tuple[tuple[Analyte, ...], int]]:
    """The analytes that a name may mean, the surest reading first."""
    for text, confidence in dict.fromkeys(_spellings_of(name)):
        if text in _BY_NAME:
            yield _BY_NAME[text], confidence
        tokens = frozenset(text.split())
        if len(tokens) > 1 and confidence <= WITHOUT_FILLERS and tokens in _BY_TOKENS:
            yield _BY_TOKENS[tokens], ANY_ORDER


def _spellings_of(name: str) -> Iterator[tuple[str, int]]:
    """A name with less and less of what may not matter, and how sure a match of each would be."""
    name = _OF_SERUM.sub("", name)
    folded = fold(name)
    if "#" in name:  # NEUT# is the count beside NEUT%, as analyzers print them
        yield fold(name.replace("#", " abs ")), EXACT
    yield folded, EXACT
    if folded.endswith("%"):
        yield folded.rstrip("%").strip(), WITHOUT_BRACKETS
    yield re.sub(r"\b(\w) (?=\w\b)", r"\1", folded), WITHOUT_BRACKETS  # V.G.M. is VGM
    yield (
        fold(re.sub(r"(?<=\w)- (?=[a-zäöüß])", "", name)),
        WITHOUT_BRACKETS,
    )  # Transferrin- sättigung
    if found := _PREFIX.match(name):  # P-Glukos, as in Sweden
        yield fold(name[found.end() :]), WITHOUT_FILLERS
        yield fold(_BRACKETS.sub(" ", name[found.end() :])), WITHOUT_FILLERS
    brackets = [fold(inside) for inside in _BRACKETS.findall(name)]
    if any(not _QUALIFIERS.isdisjoint(each.split()) for each in brackets):
        return  # Testosterone (free) is not testosterone, and CMV (IgG) not IgG
    bare = fold(_BRACKETS.sub(" ", name))
    yield bare, WITHOUT_BRACKETS
    if not _QUALIFIERS.isdisjoint(bare.split()):
        brackets = []  # `T4 (Thyroxine), Free` is no thyroxine
    yield from ((each, WITHOUT_FILLERS) for each in brackets if len(each) > 1)
    if "/" in name:
        return  # a ratio is not one of its parts
    if in_urine := _IN_URINE.sub(" ", folded):  # the specimen is asked for apart
        yield " ".join(in_urine.split()), WITHOUT_FILLERS
    for text in (folded, bare):
        yield text, WITHOUT_FILLERS
        words = _IN_SERUM.sub("", text).split()
        yield " ".join(word for word in words if word not in _FILLERS), WITHOUT_FILLERS


def _fits_specimen(analyte: Analyte, specimen: str) -> bool:
    return analyte.specimen == (specimen or "blood") or (not specimen and _is_only_meaning(analyte))


@lru_cache(maxsize=512)
def _is_only_meaning(analyte: Analyte) -> bool:
    """Whether some name of an analyte means nothing in blood: `nitrite` is of urine without saying so."""
    return all(
        all(other.specimen == analyte.specimen for other in _BY_NAME[fold(name)])
        for name in analyte.names[:1]
    )
