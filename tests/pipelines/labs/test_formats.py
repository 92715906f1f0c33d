"""HL7, FHIR and C-CDA are read completely and exactly."""

import json
import re
from pathlib import Path

import pytest

from stateward.core.model import Json
from stateward.definition.plugin import Content
from stateward.pipelines.labs.detection import detect
from tests.pipelines.labs.reading import failure, hl7, normalized, one, parsed, results
from tests.pipelines.two_stages import rows_of

OBX = "OBX|1|NM|2345-7^Glucose^LN||{value}|{unit}|{range}|{flag}|||F|||20260309074000+0100"


def obx(value: str = "131", unit: str = "mg/dL", range_: str = "70-99", flag: str = "H") -> str:
    return OBX.format(value=value, unit=unit, range=range_, flag=flag)


def test_an_observation_of_hl7_has_all_that_its_segment_says(tmp_path: Path) -> None:
    found = one(
        tmp_path,
        hl7("PID|1||1^^^L", "OBR|1|||P1^Panel^L", obx(), "NTE|1||Fasting", "SPM|1|||SER^Serum"),
    )

    assert found["code"] == "2345-7"
    assert (found["value"], found["unit"], found["low"], found["high"]) == (
        "131",
        "mg/dL",
        "70",
        "99",
    )
    assert (found["flag"], found["printed_flag"], found["status"]) == ("H", "H", "final")
    assert (found["specimen"], found["collected"]) == ("serum", "2026-03-09T07:40:00+01:00")
    assert (found["section"], found["comment"], found["where"]) == ("Panel", "Fasting", {"line": 4})
    assert "problems" not in found


@pytest.mark.parametrize(
    ("kind", "raw", "value", "comparator"),
    [
        ("SN", "<^0.5", "0.5", "<"),
        ("SN", ">^1000", "1000", ">"),
        ("SN", "^1^:^160", "160", ""),
        ("NM", "4.06", "4.06", ""),
    ],
)
def test_structured_numbers_of_hl7(
    tmp_path: Path, kind: str, raw: str, value: str, comparator: str
) -> None:
    found = one(tmp_path, hl7(f"OBX|1|{kind}|X^Thing^L||{raw}||||||F"))

    assert (found["value"], found.get("comparator", "")) == (value, comparator)


def test_delimiters_escapes_frames_and_line_ends_of_hl7(tmp_path: Path) -> None:
    text = "\x0bMSH#*!?$#LAB##EHR##2026##ORU*R01#1#P#2.3\r\nOBX#1#ST#X*A?S?B?F?C*L##ab?E?c######F\r\n\x1c\r"

    (found,) = rows_of(parsed(tmp_path, text))

    assert (found["test"], found["value"]) == ("A*B#C", "ab?c")


def test_several_messages_and_withdrawn_results(tmp_path: Path) -> None:
    first = hl7("PID|1||1", obx())
    second = hl7("PID|1||2", obx("99", flag=""), "OBX|2|NM|2823-3^K^LN||4||||||D")

    found = results(tmp_path, first + second)

    assert [each["value"] for each in found] == ["131", "99"]
    assert found[0]["patient_key"] != found[1]["patient_key"]


def test_lines_of_one_text_are_one_result(tmp_path: Path) -> None:
    lines = [
        f"OBX|{n}|TX|CULT^Culture^L||{text}||||||F"
        for n, text in enumerate(("No growth", "after 48 h"), 1)
    ]

    assert one(tmp_path, hl7(*lines))["value"] == "No growth\nafter 48 h"


def test_a_field_that_repeats_is_not_one_number(tmp_path: Path) -> None:
    found = one(tmp_path, hl7("OBX|1|NM|8867-4^Rate^LN||60~120||||||F"))

    assert (found["value"], found["problems"]) == ("60\n120", ["VALUE_UNREAD"])


def test_a_date_is_a_value_too(tmp_path: Path) -> None:
    found = one(tmp_path, hl7("OBX|1|DT|X^Date of onset^L||20260309||||||F"))

    assert (found["kind"], found["value"]) == ("text", "2026-03-09")


def test_a_pending_result_has_no_value_and_says_so(tmp_path: Path) -> None:
    found = one(tmp_path, hl7("OBX|1|NM|2345-7^Glucose^LN||||||||I"))

    assert (found["kind"], found["status"], found["problems"]) == ("none", "pending", ["PENDING"])


def test_a_code_with_a_wrong_check_digit_is_not_used(tmp_path: Path) -> None:
    found = one(tmp_path, hl7("OBX|1|NM|2345-1^Glucose^LN||131|mg/dL|||||F"))

    assert (found["code"], found["code_source"]) == ("2345-7", "synonym")
    assert "BAD_CODE" in found["problems"]


def quantity(value: str, unit: str = "mmol/L", **more: str) -> str:
    told = "".join(f', "{key}": "{text}"' for key, text in more.items())
    return f'{{"value": {value}, "unit": "{unit}", "system": "http://unitsofmeasure.org", "code": "{unit}"{told}}}'


def observation(value: str, **more: Json) -> str:
    parts = {"resourceType": "Observation", "id": "o1", "status": "final", **more}
    parts.setdefault(
        "code",
        {"coding": [{"system": "http://loinc.org", "code": "2823-3", "display": "Potassium"}]},
    )
    return json.dumps(parts)[:-1] + f", {value}}}"


def test_a_number_of_fhir_keeps_its_zeros(tmp_path: Path) -> None:
    text = observation(
        f'"valueQuantity": {quantity("4.10")}',
        effectiveDateTime="2026-03-09",
        referenceRange=[{"low": {"value": 3.5}, "high": {"value": 5.1}}],
        interpretation=[{"coding": [{"code": "N"}]}],
    )

    found = one(tmp_path, text)

    assert (found["value"], found["low"], found["high"], found["flag"]) == (
        "4.10",
        "3.5",
        "5.1",
        "N",
    )
    assert text[found["where"]["start"]] == "{"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f'"valueQuantity": {quantity("0.5", comparator="<")}', ("quantity", "<", "0.5")),
        (
            '"valueRatio": {"numerator": {"value": 1}, "denominator": {"value": 160}}',
            ("titre", "", "160"),
        ),
        ('"valueCodeableConcept": {"text": "Negative"}', ("ordinal", "", "negative")),
        ('"valueString": "No growth"', ("text", "", "No growth")),
        ('"valueBoolean": true', ("ordinal", "", "positive")),
        ('"valueInteger": 7', ("quantity", "", "7")),
    ],
)
def test_the_values_of_fhir(tmp_path: Path, value: str, expected: tuple[str, str, str]) -> None:
    found = one(tmp_path, observation(value))

    assert (found["kind"], found.get("comparator", ""), found["value"]) == expected


def test_a_value_of_fhir_that_is_not_read_is_flagged(tmp_path: Path) -> None:
    found = one(tmp_path, observation('"valueSampledData": {"data": "1 2"}'))

    assert "UNSUPPORTED_VALUE" in found["problems"]


def test_a_bundle_gives_its_laboratory_results_with_specimen_and_panel(tmp_path: Path) -> None:
    entries = [
        {"resourceType": "Patient", "id": "p", "identifier": [{"value": "123"}]},
        {"resourceType": "Specimen", "id": "s", "type": {"text": "Serum"}},
        {
            "resourceType": "DiagnosticReport", "id": "r", "code": {"text": "Electrolytes"},
            "result": [{"reference": "Observation/o1"}], "specimen": [{"reference": "Specimen/s"}],
        },
        json.loads(observation(f'"valueQuantity": {quantity("4.1")}', subject={"reference": "Patient/p"})),
        json.loads(observation('"valueInteger": 80', id="v", category=[{"coding": [{"code": "vital-signs"}]}])),
        {"resourceType": "Observation", "id": "a", "status": "final", "hasMember": [{"reference": "Observation/o1"}]},
    ]  # fmt: skip
    bundle = {"resourceType": "Bundle", "entry": [{"resource": each} for each in entries]}

    result = parsed(tmp_path, json.dumps(bundle))
    (found,) = rows_of(normalized(result))

    assert (found["section"], found["specimen"]) == ("Electrolytes", "Serum")
    assert len(found["patient_key"]) == 32


def test_components_are_results_of_their_own(tmp_path: Path) -> None:
    component = {"code": {"text": "Sodium"}, "valueQuantity": {"value": 140, "unit": "mmol/L"}}
    parts = {
        "resourceType": "Observation",
        "status": "final",
        "code": {"text": "Panel"},
        "component": [component],
    }

    assert one(tmp_path, json.dumps(parts))["code"] == "2951-2"


CDA = """<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<recordTarget><patientRole><id extension="77"/></patientRole></recordTarget>
<component><structuredBody><component><section>
<templateId root="2.16.840.1.113883.10.20.22.2.3.1"/><code code="30954-2" codeSystem="2.16.840.1.113883.6.1"/>
<entry><organizer><code displayName="Electrolytes"/><component>{observation}</component></organizer></entry>
</section></component><component><section><code code="8716-3"/><entry><observation moodCode="EVN">
<code code="8480-6" codeSystem="2.16.840.1.113883.6.1"/><value xsi:type="PQ" value="120" unit="mm[Hg]"/>
</observation></entry>
</section></component></structuredBody></component></ClinicalDocument>"""
OBSERVATION = """<observation classCode="OBS" moodCode="EVN">
<code code="2823-3" codeSystem="2.16.840.1.113883.6.1" displayName="Potassium"/><statusCode code="completed"/>
<effectiveTime value="20260309074000+0100"/>{value}<interpretationCode code="L"/>
<referenceRange><observationRange><value xsi:type="IVL_PQ"><low value="3.5" unit="mmol/L"/>
<high value="5.1" unit="mmol/L"/></value></observationRange></referenceRange></observation>"""


def test_the_results_section_of_a_clinical_document(tmp_path: Path) -> None:
    value = '<value xsi:type="PQ" value="2.9" unit="mmol/L"/>'

    found = one(tmp_path, CDA.format(observation=OBSERVATION.format(value=value)))

    assert (found["code"], found["value"], found["unit"]) == ("2823-3", "2.9", "mmol/L")
    assert (found["low"], found["high"], found["flag"], found["printed_flag"]) == (
        "3.5",
        "5.1",
        "L",
        "L",
    )
    assert (found["section"], found["status"], found["where"]) == (
        "Electrolytes",
        "final",
        {"line": 5},
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            '<value xsi:type="IVL_PQ"><high value="0.5" inclusive="false" unit="mmol/L"/></value>',
            ("<", "0.5"),
        ),
        ('<value xsi:type="ST">negative</value>', ("", "negative")),
        (
            '<value xsi:type="RTO"><numerator value="1"/><denominator value="160"/></value>',
            ("", "160"),
        ),
    ],
)
def test_the_values_of_a_clinical_document(
    tmp_path: Path, value: str, expected: tuple[str, str]
) -> None:
    found = one(tmp_path, CDA.format(observation=OBSERVATION.format(value=value)))

    assert (found.get("comparator", ""), found["value"]) == expected


SECTION = """<section><!-- results --><templateId root="2.16.840.1.113883.10.20.22.2.3.1"/>
<entry><organizer><component>{observation}</component></organizer></entry></section>"""


def test_a_results_section_by_itself_is_read_and_found_without_a_source_type(
    tmp_path: Path,
) -> None:
    value = '<value xsi:type="PQ" value="2.9" unit="mmol/L"/>'
    section = SECTION.format(observation=OBSERVATION.format(value=value))

    found = one(tmp_path, section)

    assert (found["code"], found["value"], found["flag"]) == ("2823-3", "2.9", "L")
    detected = detect(Content(path=tmp_path / "report", head=section.encode(), name="results.xml"))
    assert detected is not None
    assert detected.source_type == "lab_report"


def test_a_quantity_whose_unit_is_not_in_ucum_is_read_as_it_was_sent(tmp_path: Path) -> None:
    value = (
        '<value xsi:type="PQ" nullFlavor="OTH"><translation value="152" nullFlavor="OTH">'
        "<originalText>THOUS/MCL</originalText></translation></value>"
    )
    platelets = OBSERVATION.replace("2823-3", "26515-7").replace("Potassium", "Platelets")
    platelets = re.sub("<referenceRange>.*</referenceRange>", "", platelets, flags=re.DOTALL)

    found = one(tmp_path, CDA.format(observation=platelets.format(value=value)))

    assert (found["value"], found["unit"]) == ("152", "10*3/uL")


@pytest.mark.parametrize("kind", ["VXU^V04", "ORM^O01", "ADT^A01", "MDM^T02"])
def test_messages_that_carry_no_laboratory_results_are_refused(tmp_path: Path, kind: str) -> None:
    message = hl7(
        "PID|1||7",
        "OBX|1|NM|8302-2^Height^LN||180|cm|||||F",
        header=rf"MSH|^~\&|WARD||EHR||20260309||{kind}|1|P|2.5.1",
    )

    failed = failure(parsed(tmp_path, message))

    assert failed.code == "NO_RESULTS"
    assert kind[:3] in failed.message


def test_a_message_without_results_is_no_statement(tmp_path: Path) -> None:
    order = hl7(
        "ORC|NW|1",
        "OBR|1|1||24317-0^Hemogram^LN",
        header=r"MSH|^~\&|A||B||20260309||ORM^O01|1|P|2.3",
    )

    detected = detect(Content(path=tmp_path / "order.hl7", head=order.encode(), name="order.hl7"))

    assert detected is not None
    assert detected.source_type == "lab_report"


@pytest.mark.parametrize(("unit", "is_doubted"), [("mg/dL", True), ("mmol/l", False), ("", False)])
def test_a_unit_that_fhir_tells_twice_and_differently_is_flagged(
    tmp_path: Path, unit: str, *, is_doubted: bool
) -> None:
    told = f'{{"value": 5.4, "unit": "{unit}", "system": "http://unitsofmeasure.org", "code": "mmol/L"}}'

    found = one(tmp_path, observation(f'"valueQuantity": {told}'))

    assert ("UNIT_UNSURE" in found.get("problems", [])) is is_doubted


@pytest.mark.parametrize("unit", ["x10^9/L", r"x10\S\9/L", "10^9/L^^L"])
def test_a_power_of_ten_in_a_unit_of_hl7_needs_no_escape(tmp_path: Path, unit: str) -> None:
    found = one(tmp_path, hl7("OBR|1", f"OBX|1|NM|777-3^Platelets^LN||233|{unit}|150-400|N|||F"))

    assert (found["value"], found["unit"], found.get("problems")) == ("233", "10*3/uL", None)


def test_an_analyser_that_numbers_its_tests_names_them_in_the_next_field(tmp_path: Path) -> None:
    found = one(tmp_path, hl7("OBR|1", "OBX|1|NM|2|GLU|5.6|mmol/L|3.9-6.1||||F"))

    assert (found["test"], found["code"]) == ("GLU", "2345-7")


def test_an_entry_that_was_cut_out_of_a_bundle_is_read(tmp_path: Path) -> None:
    whole = observation('"valueQuantity": {"value": 5.4, "unit": "mmol/L"}')

    found = one(tmp_path, f'{{"fullUrl": "urn:uuid:1", "resource": {whole}}}')

    assert found["value"] == one(tmp_path, whole)["value"]


FINAL = "OBX|1|NM|2345-7^Glucose^LN||59|mg/dL|70-99|L|||{}"


def test_a_result_that_its_file_corrects_later_is_left_out(tmp_path: Path) -> None:
    corrected = FINAL.format("C").replace("59", "95").replace("|L|", "|N|")
    order = "OBR|1||F7|P1^Panel^L|||20260301080000"

    in_one_order = results(tmp_path, hl7(order, FINAL.format("F"), corrected))
    first = hl7("PID|1||1", order, FINAL.format("F"))
    in_two = results(tmp_path, first + hl7("PID|1||1", order, corrected))
    of_another = results(tmp_path, first + hl7("PID|1||2", order, corrected))

    assert [(row["value"], row["status"]) for row in in_one_order] == [("95", "corrected")]
    assert [row["value"] for row in in_two] == ["95"]
    assert [row["value"] for row in of_another] == ["59", "95"]


def test_a_result_that_its_file_withdraws_later_is_left_out(tmp_path: Path) -> None:
    order = "OBR|1||F7|P1^Panel^L|||20260301080000"
    kept = "OBX|2|NM|2951-2^Sodium^LN||140|mmol/L|136-145||||F"

    rows = results(tmp_path, hl7(order, FINAL.format("F"), kept, FINAL.format("D")))

    assert [row["test"] for row in rows] == ["Sodium"]


def test_two_corrections_in_one_order_do_not_correct_each_other(tmp_path: Path) -> None:
    rows = [f"OBX|{at}|ST|600-7^Organism^LN||{name}||||||C" for at, name in enumerate("AB", 1)]

    found = results(tmp_path, hl7("OBR|1||F7|P1^Panel^L|||20260301080000", *rows))

    assert [row["value"] for row in found] == ["A", "B"]


def test_a_specimen_above_its_orders_is_that_of_their_results(tmp_path: Path) -> None:
    order = "OBR|1|||P1^Panel^L|||20260301080000"
    text = hl7("SPM|1|||SER^Serum", order, obx(), "SPM|2|||UR^Urine", order, obx())

    rows = results(tmp_path, text.replace("ORU^R01", "OUL^R22"))

    assert [row["specimen"] for row in rows] == ["serum", "urine"]


def test_fhir_with_a_resource_a_line_is_read(tmp_path: Path) -> None:
    lines = [observation(f'"valueQuantity": {{"value": {value}}}') for value in (95, 96)]
    text = "\n".join(lines) + "\n"

    rows = results(tmp_path, text)

    assert [row["value"] for row in rows] == ["95", "96"]
    assert [text[row["where"]["start"]] for row in rows] == ["{", "{"]
    assert rows[1]["where"]["start"] == text.index("\n") + 1
    assert failure(parsed(tmp_path, text[:-20])).code == "CORRUPT_FILE"


def test_a_yes_of_fhir_is_printed_as_it_is_told(tmp_path: Path) -> None:
    found = one(tmp_path, observation('"valueBoolean": true'))

    assert (found["value"], found["printed"]["value"]) == ("positive", "true")


def test_a_number_with_a_huge_exponent_is_flagged_and_not_written_out(tmp_path: Path) -> None:
    found = one(tmp_path, observation('"valueQuantity": {"value": 1e999999999, "unit": "mg/dL"}'))

    assert found["value"] == "1E+999999999"
    assert "VALUE_UNREAD" in found["problems"]


@pytest.mark.parametrize("status", ["active", "aborted"])
def test_a_value_of_a_test_that_is_pending_or_cancelled_is_noted(
    tmp_path: Path, status: str
) -> None:
    told = OBSERVATION.format(value='<value xsi:type="PQ" value="4.1" unit="mmol/L"/>')
    whole = CDA.format(observation=told.replace('<interpretationCode code="L"/>', ""))

    found = one(tmp_path, whole.replace('"completed"', f'"{status}"'))

    assert (found["value"], found["problems"]) == ("4.1", ["NOT_FINAL"])
