"""From what a report prints to what it means: code, canonical unit, range in the same unit, recomputed flag.

Nothing is guessed in silence. What is uncertain keeps its printed form and gets one of the codes of `model`.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from stateward.pipelines.labs.analytes import (
    SURE,
    WRONG_UNIT,
    Match,
    by_antibiotic,
    by_code,
    by_name,
)
from stateward.pipelines.labs.flags import SIDES
from stateward.pipelines.labs.model import (
    AMBIGUOUS_NUMBER,
    CODE_UNSURE,
    FLAG_DISAGREES,
    NO_VALUE,
    NOT_FINAL,
    PENDING,
    RANGE_CONDITIONAL,
    RANGE_UNREAD,
    ROW_UNREAD,
    SPECIMEN_DOUBTED,
    UNIT_CONTRADICTED,
    UNIT_MISMATCH,
    UNIT_MISSING,
    UNIT_UNSURE,
    UNKNOWN_TEST,
    UNKNOWN_UNIT,
    UNSUPPORTED_VALUE,
    VALUE_UNREAD,
    Analyte,
    LabResult,
    Observation,
)
from stateward.pipelines.labs.ranges import PrintedRange, flag_of, read_range
from stateward.pipelines.labs.units import (
    candidates,
    convert,
    is_known_unit,
    is_measure,
    round_converted,
    same_dimension,
)
from stateward.pipelines.labs.values import PrintedValue, plain, read_value
from stateward.pipelines.labs.words import (
    PENDING_WORDS,
    SUSCEPTIBILITIES,
    doubts_specimen,
    flag_of_words,
    fold,
    specimen_of,
    specimen_of_test,
)

NOT_YET = frozenset({"pending", "cancelled", "not asked", "order only", "registered"})
UNVERIFIED = frozenset({"preliminary", "partial", "unverified"})
UNITLESS = frozenset({"", "{titer}", "{ratio}", "{INR}", "[pH]", "{index}"})
TITRE = "{titer}"
_VALUE_AND_UNIT = re.compile(r"([<>≤≥]?=?\s?[0-9][0-9.,']*)\s?([^\W\d].*|%)")
SMALL_MOLECULE = 1000  # g/mol: what is larger is usually told by its mass
_RATIOS = frozenset({"ratio", "index", "quotient", "quote", "rapport", "indice", "indeks", "kvot"})
# What a body keeps within a few times its range. Glucose and creatinine may truly be ten times theirs.
STEADY = frozenset(
    "hemoglobin hematocrit rbc mcv mch mchc albumin protein_total sodium potassium chloride calcium".split()
)


def normalize(observations: Iterable[Observation]) -> Iterator[LabResult]:
    """Every observation as a result. Whether a missing flag means `normal` depends on the whole report."""
    told = list(observations)
    # By date: a cumulative report flags the newest results, and prints the others as they are. By table: one that has
    # no flags beside others that have them says nothing of its values.
    flagged = {(each.collected, each.table) for each in told if _side_of(each) in ("H", "L", "A")}
    mixed = _mixed_titles(told)
    return (
        normalize_one(
            each,
            has_flags=(each.collected, each.table) in flagged,
            is_mixed=_title_of(each) in mixed,
        )
        for each in told
    )


def _title_of(seen: Observation) -> str:
    """What tells the unit of several rows: a line above the table, or the title of the section."""
    return seen.shared_unit or seen.section


def _mixed_titles(told: Iterable[Observation]) -> frozenset[str]:
    """The titles with a unit below which rows print other ones: theirs is not that of every row."""
    return frozenset(
        title
        for each in told
        if each.unit
        and (title := _title_of(each))
        and (shared := candidates(each.shared_unit or unit_in_name(title)))
        and not set(shared) & set(candidates(each.unit))
    )


class _Quantity(msgspec.Struct, frozen=True):
    """A value and its range in one unit."""

    value: PrintedValue
    within: PrintedRange
    unit: str
    problems: tuple[str, ...] = ()


def normalize_one(
    seen: Observation, *, has_flags: bool = True, is_mixed: bool = False
) -> LabResult:
    """One observation as a result. `is_mixed`: the unit of its title is not that of all rows below it."""
    seen = _with_unit_apart(seen)
    told_value = PrintedValue(kind="ordinal", text=seen.meaning)
    value = told_value if seen.meaning else read_value(seen.value, seen.decimal)
    within = read_range(seen.range, seen.decimal)
    is_number = value.kind in ("quantity", "interval")
    printed_unit = seen.unit or (_unit_told_elsewhere(seen, within) if is_number else "")
    problems = [*seen.problems, *_value_problems(seen, value, within)]
    if is_number and not printed_unit:
        printed_unit, is_sure = _unit_of_title(seen, is_mixed=is_mixed)
        problems += () if is_sure else (UNIT_UNSURE,)
    units = candidates(printed_unit)
    match = _match(seen, units, value)
    if value.kind == "text" and _hides_number(value.text, within, match):
        problems.append(VALUE_UNREAD)
    problems = [each for each in problems if match.code or each != CODE_UNSURE]
    problems += _code_problems(match, seen)
    told = _in_canonical_unit(value, within, printed_unit, units, match)
    problems += told.problems
    is_doubted = _is_of_other_unit(told, match.analyte) or _is_tenfold(value, within, match.analyte)
    if printed_unit and is_doubted:
        problems.append(UNIT_CONTRADICTED)
    # By what is printed, where value and range have one unit: rounding after a conversion must not move a limit.
    has_own_unit = bool(within.unit) and within.unit != seen.unit and bool(seen.unit)
    by_print = flag_of(value, within)
    flag = flag_of(told.value, told.within) if has_own_unit else by_print
    if by_print == "N" and flag not in ("", "N"):
        # `Hemoglobin 8.9 g/dL, 8.5 - 11.0 mmol/L`: as expected if the range has the right unit, low if the value has.
        problems.append(UNIT_CONTRADICTED)
    flag = "" if PENDING in problems else flag
    if _disagrees(flag, _side_of(seen), has_flags=has_flags):
        problems.append(FLAG_DISAGREES)
    is_unread = ROW_UNREAD in problems
    return LabResult(
        test=seen.test,
        code=match.code,
        code_name=match.analyte.title if match.analyte is not None else "",
        code_source="" if not match.code else "report" if seen.code == match.code else "synonym",
        code_confidence=match.confidence,
        kind="none" if PENDING in problems or is_unread else "text" if value.kind == "unread" else value.kind,
        value="" if is_unread else _value_text(told.value),
        comparator=told.value.comparator,
        unit=told.unit,
        low=_limit(told.within.low),
        high=_limit(told.within.high),
        range_text=seen.range if told.within.kind not in ("interval", "none") else "",
        flag=flag,
        printed_flag=seen.side or _printed_flag(seen.flag),
        printed={
            name: text
            for name, text in (
                ("value", seen.value), ("unit", printed_unit), ("flag", seen.flag),
                ("range", _without_unit(seen.range, within, printed_unit)),
            )
            if text
        },
        specimen=seen.specimen,
        collected=seen.collected,
        resulted=seen.resulted,
        status=seen.status,
        section=seen.section,
        comment=seen.comment,
        patient_key=seen.patient_key,
        problems=tuple(dict.fromkeys(problems)),
        where=seen.where,
    )  # fmt: skip


def _with_unit_apart(seen: Observation) -> Observation:
    """An observation whose value holds its unit (`>100,000 CFU/mL` as a text of HL7 or FHIR) with both apart."""
    found = None if seen.unit or seen.meaning else _VALUE_AND_UNIT.fullmatch(seen.value.strip())
    if found is None or not is_measure(found[2]):
        return seen
    return replace(seen, value=found[1].rstrip(), unit=found[2])


def _hides_number(text: str, within: PrintedRange, match: Match) -> bool:
    """Whether a value told as text begins with a number although its test is measured: `2.4 (critical)`."""
    is_measured = within.kind == "interval" or (
        match.analyte is not None and bool(match.analyte.unit)
    )
    return (
        is_measured and re.match(r"[<>≤≥]?\s?[0-9]+(?:[.,][0-9]+)?(?![\w.,:/-])", text) is not None
    )


def bare_name(name: str) -> str:
    """A name without the unit behind it."""
    unit = unit_in_name(name)
    return name.rstrip(" )]").removesuffix(unit).rstrip(" ,([-–") if unit else name


def _unit_told_elsewhere(seen: Observation, within: PrintedRange) -> str:
    """The unit of a number that has none beside it: in the name, or behind the range."""
    behind = within.unit if is_known_unit(within.unit) and within.unit[:1] != "(" else ""
    return unit_in_name(seen.test) or behind


def _unit_of_title(seen: Observation, *, is_mixed: bool) -> tuple[str, bool]:
    """The unit that a title tells for all rows below it, where it can be that of this one, and whether that is sure.

    A share or a pH has no unit, whatever stands above it, and a protein is hardly ever told in moles.
    """
    unit = seen.shared_unit or unit_in_name(seen.section)
    if not unit:
        return "", True
    units = candidates(unit)
    match = by_name(bare_name(seen.test), units, _specimen_of(seen))
    if match.analyte is None:
        return ("", True) if _is_ratio(seen.test) else (unit, not is_mixed)
    if match.confidence <= WRONG_UNIT or not match.analyte.unit:
        return "", True
    is_large = match.analyte.mass is not None and match.analyte.mass > SMALL_MOLECULE
    if is_large and not any(same_dimension(each, match.analyte.unit) for each in units):
        return "", False
    return unit, not is_mixed


def _is_ratio(name: str) -> bool:
    return not _RATIOS.isdisjoint(fold(name).split()) or "/" in name


def unit_in_name(name: str) -> str:
    """The unit that a name ends with: `Hb (g/L)`, `aPTT [sek]`, `Glucose, mmol/L`; "" if there is none."""
    if found := re.search(r"[(\[]([^()\[\]]{1,20})[)\]]\s*$", name):
        inside = found[1].strip()
        is_unit = is_measure(inside) or (
            len(inside) > 1 and inside[0].islower() and is_known_unit(inside)
        )
        return inside if is_unit else ""
    if found := re.search(r"(?:, | [-–] |\s)([^\s,()\[\]]+(?: [^\s,()\[\]]+)?)$", name):
        last = found[1].strip()
        return last if "/" in last and is_measure(last) else ""
    return ""


def _without_unit(range_: str, within: PrintedRange, unit: str) -> str:
    """A printed range without the unit of the value behind it, which is told as the unit."""
    is_same = bool(within.unit) and (
        within.unit == unit or candidates(within.unit) == candidates(unit)
    )
    bare = range_ if range_.endswith(within.unit) else range_.rstrip(" )].,;")
    if not is_same or within.kind not in ("interval", "unread") or not bare.endswith(within.unit):
        return range_
    bare = bare.removesuffix(within.unit).rstrip()
    closing = {"(": ")", "[": "]"}.get(range_[:1], "")
    return bare if closing and bare.endswith(closing) else bare + closing


def _match(seen: Observation, units: tuple[str, ...], value: PrintedValue) -> Match:
    """The code that the report has, else that of the name; the analyte of the name also where a code is unknown."""
    known = by_code(seen.code) if seen.code else None
    if known is not None:
        return Match(known, seen.code, 100)
    if value.kind == "titre":
        units = units or (TITRE,)
    if not seen.code and (seen.meaning or _printed_flag(seen.flag) in SUSCEPTIBILITIES):
        tested = by_antibiotic(seen.test)
        if tested.code:
            return tested
    found = by_name(bare_name(seen.test), units, _specimen_of(seen))
    if not seen.code:
        is_strip = found.analyte is not None and not found.analyte.unit
        if is_strip and units and value.kind in ("quantity", "interval"):
            # A number with a unit is no value of a test that is told as negative or 2+.
            return replace(found, confidence=min(found.confidence, WRONG_UNIT))
        return found
    is_fitting = found.analyte is not None and found.confidence >= SURE
    return Match(found.analyte if is_fitting else None, seen.code, 100)


def _specimen_of(seen: Observation) -> str:
    return specimen_of(seen.specimen) or specimen_of(seen.section) or specimen_of_test(seen.test)


def _value_problems(seen: Observation, value: PrintedValue, within: PrintedRange) -> Iterator[str]:
    is_word = fold(seen.value) in PENDING_WORDS
    if (seen.status in NOT_YET and value.kind == "none") or is_word:
        yield PENDING
    elif (
        value.kind == "none"
        and UNSUPPORTED_VALUE not in seen.problems
        and ROW_UNREAD not in seen.problems
    ):
        yield NO_VALUE
    elif value.kind == "unread":
        yield VALUE_UNREAD
    is_measured = value.kind in ("quantity", "interval", "titre", "ordinal") and not is_word
    if value.kind != "none" and (
        seen.status in UNVERIFIED or (is_measured and seen.status in NOT_YET)
    ):
        yield NOT_FINAL
    if doubts_specimen(seen.comment):
        yield SPECIMEN_DOUBTED
    if value.is_ambiguous or within.is_ambiguous:
        yield AMBIGUOUS_NUMBER
    if within.kind == "unread":
        yield RANGE_UNREAD
    elif within.kind == "conditional":
        yield RANGE_CONDITIONAL


def _code_problems(match: Match, seen: Observation) -> Iterator[str]:
    if not match.code:
        yield UNKNOWN_TEST
    elif match.confidence < SURE:
        yield CODE_UNSURE


def _in_canonical_unit(
    value: PrintedValue, within: PrintedRange, printed: str, units: tuple[str, ...], match: Match
) -> _Quantity:
    """Value and range in the canonical unit of the analyte, or as they are if that is impossible."""
    if value.kind == "titre":
        return _Quantity(value, within, TITRE)
    if value.kind not in ("quantity", "interval"):
        unit = units[0] if units else printed
        problems = (UNKNOWN_UNIT,) if printed and not units else ()
        return _Quantity(value, within, unit if value.kind != "none" else "", problems)
    analyte = match.analyte
    if not printed:
        return _Quantity(value, within, _unit_of_none(analyte), _missing(analyte))
    if not units:
        return _Quantity(value, within, printed, (UNKNOWN_UNIT,))
    if analyte is None or not analyte.unit:
        return _Quantity(value, within, units[0])
    for unit in units:
        factored = _convert(value, within, unit, analyte)
        if factored is not None:
            return _with_own_range_unit(factored, within, unit, analyte)
    return _Quantity(value, within, units[0], (UNIT_MISMATCH,))


def _unit_of_none(analyte: Analyte | None) -> str:
    return analyte.unit if analyte is not None and analyte.unit in UNITLESS else ""


def _missing(analyte: Analyte | None) -> tuple[str, ...]:
    return () if analyte is None or analyte.unit in UNITLESS else (UNIT_MISSING,)


def _convert(
    value: PrintedValue, within: PrintedRange, unit: str, analyte: Analyte
) -> _Quantity | None:
    if convert(Decimal(1), unit, analyte.unit, analyte) is None:
        return None

    def scaled(number: Decimal | None) -> Decimal | None:
        if number is None or unit == analyte.unit:
            return number
        found = convert(number, unit, analyte.unit, analyte)
        if found == number:
            return number
        return None if found is None else round_converted(found, number)

    moved = replace(value, number=scaled(value.number), high=scaled(value.high))
    limits = replace(within, low=scaled(within.low), high=scaled(within.high))
    return _Quantity(moved, limits if within.kind == "interval" else within, analyte.unit)


def _with_own_range_unit(
    told: _Quantity, within: PrintedRange, unit: str, analyte: Analyte
) -> _Quantity:
    """The range converted from its own unit, where it prints one that differs from the value's."""
    own = candidates(within.unit) if within.unit and within.kind == "interval" else ()
    if not within.unit or within.kind != "interval" or unit in own:
        return told
    for each in own:
        other = _convert(told.value, within, each, analyte)
        if other is not None:
            return replace(told, within=other.within)
    # Words behind the numbers that are no unit: the range is kept as text, because half of it is not understood.
    unread = replace(within, kind="unread", low=None, high=None)
    return replace(told, within=unread, problems=(*told.problems, RANGE_UNREAD))


# Upper limits that a program prints for none: `HDL 40 - 999`.
NO_LIMITS = frozenset(map(Decimal, (999, 9999, 99999, 999999)))


def _is_of_other_unit(told: _Quantity, analyte: Analyte | None) -> bool:
    """Whether a reference range is none of this test in the unit of its row: `Glucose 95 mmol/L, 70 - 99`.

    Either the unit is wrong, and the value was converted by it, or the range has another one, and the flag is wrong.
    """
    is_open = told.within.high is None or (told.within.low and told.within.high in NO_LIMITS)
    printed = told.within.low if is_open else told.within.high
    if analyte is None or analyte.limit is None or told.unit != analyte.unit or not printed:
        return False
    low, high = analyte.limit
    return not low <= printed <= high


def _is_tenfold(value: PrintedValue, within: PrintedRange, analyte: Analyte | None) -> bool:
    """Whether no body has such a value, and its tenth is as expected: `Hemoglobin 142 g/dL, 13.0 - 17.0` is in g/L."""
    low, high, number = within.low, within.high, value.number
    is_steady = analyte is not None and analyte.key in STEADY
    if not is_steady or value.kind != "quantity" or low is None or high is None or number is None:
        return False
    return number > high and low <= number / 10 <= high


def _value_text(value: PrintedValue) -> str:
    if value.kind in ("quantity", "titre") and value.number is not None:
        return plain(value.number)
    if value.kind == "interval" and value.number is not None and value.high is not None:
        return f"{plain(value.number)}-{plain(value.high)}"
    return value.text if value.kind != "none" else ""


def _limit(number: Decimal | None) -> str:
    return "" if number is None else plain(number)


def _printed_flag(text: str) -> str:
    """The printed flag in the letters of HL7; "" if there is none, "?" if it is not known."""
    found = [flag_of_words(part) or "?" for part in text.split("~") if part.strip()]
    return next((each for each in found if each != "?"), "?" if found else "")


def _side_of(seen: Observation) -> str:
    flag = seen.side or _printed_flag(seen.flag)
    return SIDES.get(flag, flag)


def _disagrees(flag: str, said: str, *, has_flags: bool) -> bool:
    """Whether the printed flag contradicts value and range. A missing one means `normal` if others are printed."""
    if not flag or said == "?":
        return False
    if not said:
        return has_flags and flag != "N"
    if said == "A":
        return flag == "N"
    return said != flag and not (flag == "A" and said in ("H", "L"))
