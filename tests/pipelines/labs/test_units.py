"""Units and analytes: the tables that ship agree with UCUM, with ucumvert and with each other."""

from decimal import Decimal

import pytest

from stateward.pipelines.labs.analytes import ANALYTES, SURE, by_name, is_loinc
from stateward.pipelines.labs.options import LabOptions
from stateward.pipelines.labs.units import (
    _KNOWN,
    FAMILIES,
    _registry,
    candidates,
    convert,
    is_ucum,
    validate_ucum,
)
from stateward.pipelines.labs.words import fold

TIGHT = Decimal("1e-9")


def test_every_factor_of_the_table_is_that_of_ucumvert() -> None:
    registry = _registry()
    for family, units in FAMILIES.items():
        first, *others = units
        for unit in others:
            if "{ratio}" in (first, unit):  # an annotation alone is no unit for ucumvert
                continue
            quotient = registry.from_ucum(unit) / registry.from_ucum(first)
            asked = quotient.to("dimensionless").magnitude
            assert abs(Decimal(repr(float(asked))) / units[unit] - 1) < TIGHT, (family, unit)


def test_every_code_of_the_table_is_valid_ucum() -> None:
    assert [code for code in sorted(_KNOWN) if not validate_ucum(code)] == []


def test_every_analyte_has_a_valid_code_and_a_known_unit() -> None:
    for key, analyte in ANALYTES.items():
        assert all(map(is_loinc, (analyte.loinc, *analyte.also))), key
        assert analyte.unit == "" or analyte.unit in _KNOWN, key


def test_no_code_belongs_to_two_analytes() -> None:
    codes = [code for each in ANALYTES.values() for code in (each.loinc, *each.also)]
    twice = {code for code in codes if codes.count(code) > 1}

    assert twice <= {"26464-8", "30384-2"}


def test_analytes_with_one_name_differ_in_unit_or_specimen() -> None:
    seen: dict[tuple[str, str, str], str] = {}
    for key, analyte in ANALYTES.items():
        for name in set(map(fold, analyte.names)):
            other = seen.setdefault((name, analyte.specimen, analyte.unit), key)
            assert other == key, (name, key, other)


@pytest.mark.parametrize(
    ("code", "is_valid"),
    [("m", True), ("m/", False), ("10*3/ul", True), ("rad2{a}", True), ("dB[10.nV]", True),
     ("mmol/L", True), ("foo/bar", False), ("rad2{錠}", False)],
)  # fmt: skip
def test_ucum_codes_are_validated_by_the_grammar(code: str, is_valid: bool) -> None:
    assert is_ucum(code) is is_valid


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        ("x10E3/uL", "10*3/uL"), ("10^9/l", "10*9/L"), ("\u00d710⁹/L", "10*9/L"), ("Tsd./µl", "10*3/uL"),
        ("K/uL", "10*3/uL"),
        ("µmol/l", "umol/L"), ("mcg/dL", "ug/dL"), ("mval/l", "meq/L"), ("UI/L", "U/L"), ("tera.l-1", "10*12/L"),
        ("mL/min/1.73m2", "mL/min/{1.73_m2}"), ("ml/min/1,73m²", "mL/min/{1.73_m2}"), ("mm/Std", "mm/h"),
        ("ng/mL FEU", "ug/L{FEU}"), ("mmol/mol Hb", "mmol/mol"),
        ("мкмоль/л", "umol/L"), ("10^9/л", "10*9/L"), ("deg C", "Cel"), ("MPN/100mL", "{MPN}/(100.mL)"),
        ("cumm", "/uL"), ("cu.mm", "/uL"), ("wpw", "/[HPF]"),
    ],
)  # fmt: skip
def test_a_printed_unit_is_a_ucum_code(printed: str, code: str) -> None:
    assert candidates(printed)[0] == code


@pytest.mark.parametrize(
    ("name", "printed", "value", "code", "canonical"),
    [
        ("Glukose", "mmol/l", "5.5", "2345-7", "99.0858"),
        ("Creatinine", "µmol/L", "88.4", "2160-0", "0.99996312"),
        ("Leukozyten", "G/l", "6.1", "6690-2", "6.1"),
        ("Hämoglobin", "g/l", "148", "718-7", "14.8"),
        ("Calcium", "mval/l", "5.0", "17861-6", "10.01950"),
        ("HbA1c", "mmol/mol", "42", "4548-4", "5.99416"),
        ("GOT", "µkat/l", "0.5", "1920-8", "30.0"),
        ("TSH", "mU/l", "2.1", "3016-3", "2.1"),
        ("Hämatokrit", "l/l", "0.42", "4544-3", "42.00"),
        ("Neutrophils", "%", "55", "770-8", "55"),
        ("Neutrophils", "10^9/L", "3.1", "751-8", "3.1"),
        ("Albumin/Creatinine Ratio", "mg/mmol", "3", "9318-7", "26.52"),
    ],
)
def test_a_value_in_any_unit_becomes_one_in_the_canonical_unit(
    name: str, printed: str, value: str, code: str, canonical: str
) -> None:
    match = by_name(name, candidates(printed))
    assert match.analyte is not None

    found = [
        convert(Decimal(value), unit, match.analyte.unit, match.analyte)
        for unit in candidates(printed)
    ]

    assert match.code == code
    assert any(
        each is not None and abs(each - Decimal(canonical)) < Decimal("0.001") for each in found
    )


def test_the_specimen_decides_what_a_name_means() -> None:
    assert by_name("Glucose").code == "2345-7"
    assert by_name("Glucose", (), "urine").code == "5792-7"
    assert by_name("Nitrit").code == "5802-4"
    assert by_name("Hemoglobin A1c", (), "stool").code == ""


def test_a_d_dimer_without_its_kind_of_unit_is_not_converted() -> None:
    match = by_name("D-Dimere", candidates("mg/l"))

    assert match.confidence < 80


@pytest.mark.parametrize(
    "name",
    [
        "Protein S",
        "Calcium i.U.",
        "Cholesterol total/HDL",
        "Testosterone (bioavailable)",
        "HOMA (beta)",
        "Apo A1 Apo B ratio",
        "HDL LDL Ratio",
        "1,25-OH Vitamin D",
        "CMV (IgG)",
        "Creatinine clearance",
    ],
)
def test_a_name_that_only_resembles_a_known_one_has_no_code(name: str) -> None:
    assert by_name(name).code == ""


@pytest.mark.parametrize(
    ("name", "unit", "code"),
    [
        ("Fasting Blood Sugar", "mg/dL", "2345-7"), ("Glicose em jejum", "mg/dL", "2345-7"),
        ("Glukoza na czczo", "mg/dL", "2345-7"), ("Glicemia a digiuno", "mg/dL", "2345-7"),
        ("Glucose PP", "mg/dL", "1521-4"), ("Glucose (Post Prandial)", "mg/dL", "1521-4"),
        ("AMH", "ng/mL", "38476-8"),
        ("Anti-Müller-Hormon", "pmol/l", "38476-8"), ("Hormona antimülleriana", "ng/mL", "38476-8"),
        ("Anti-TPO Antibodies", "IU/mL", "8099-4"), ("Anticorpi anti TPO", "UI/mL", "8099-4"),
        ("Anti Thyroglobulin Antibody", "IU/mL", "8098-6"), ("Thyroglobulin", "ng/mL", "3013-0"),
        ("HOMA-IR", "", "47214-2"), ("Estimated Average Glucose (eAG)", "mg/dL", "27353-2"),
        ("PDW", "fL", "32207-3"), ("PDW", "%", "51631-0"), ("P-LCR", "%", "48386-7"), ("P-LCC", "10^9/L", "96354-6"),
        ("MPV", "fL", "32623-1"), ("Volume piastrinico medio", "fL", "32623-1"),
        ("PCT", "%", "51637-7"), ("PCT", "ng/mL", "33959-8"),
        ("IG%", "%", "71695-1"), ("IG#", "10^3/uL", "53115-2"),
        ("NEUT#", "10^3/uL", "751-8"), ("NEUT%", "%", "770-8"),
        ("Monocyty", "tys/µl", "742-7"), ("Eozynofile", "%", "713-8"), ("Bazofile", "tys/µl", "704-7"),
        ("RDW-SD", "fL", "21000-5"), ("RDW-CV", "%", "788-0"), ("eGFR (CKD-EPI 2021)", "mL/min/1.73m2", "98979-8"),
        ("NT-proBNP", "pg/mL", "33762-6"), ("hs-CRP", "mg/L", "30522-7"),
        ("CRP (hs)", "mg/L", "30522-7"), ("CRP", "mg/L", "1988-5"),
        ("Lp(a)", "nmol/L", "43583-4"), ("Lp(a)", "mg/dL", "10835-7"),
        ("ApoB", "mg/dL", "1884-6"), ("Apo A1", "mg/dL", "1869-7"),
        ("25-OH Vitamin D (Total)", "ng/mL", "1989-3"),
        ("Free PSA", "ng/mL", "10886-0"), ("Free PSA", "%", "12841-3"),
        ("CA 15-3", "U/mL", "6875-9"),
        ("Testosterone (free)", "pg/mL", "2991-8"), ("Testosterone", "ng/dL", "2986-8"),
        ("Calprotectina fecale", "µg/g", "38445-3"), ("Fosfor nieorganiczny", "mg/dL", "2777-1"),
        ("Trombocieten", "10^9/L", "777-3"), ("Tempo de protrombina", "s", "5902-2"),
        ("Apo B/Apo A1 Ratio", "", "1874-7"), ("VHS 1ª hora", "mm", "4537-7"), ("Anticorpi antinucleo", "", "29953-7"),
    ],
)  # fmt: skip
def test_a_name_as_reports_print_it_has_the_code_that_fits_its_unit(
    name: str, unit: str, code: str
) -> None:
    found = by_name(name, candidates(unit))

    assert found.code == code
    assert found.confidence >= SURE


def test_the_critical_values_that_ship_are_of_known_analytes() -> None:
    limits = LabOptions().critical()

    assert limits["potassium"].high == Decimal("6.2")
