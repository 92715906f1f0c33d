"""Files that are empty, foreign, forged or far too large: a code and a sentence, and never a crash."""

import json
from pathlib import Path

import pytest

from stateward.core.model import Json
from stateward.definition.plugin import Content
from stateward.pipelines.labs.detection import detect
from stateward.workers.sdk import Failed
from tests.pipelines.labs.reading import csv, failure, hl7, normalized, parsed
from tests.pipelines.two_stages import rows_of

DEEP = '{"resourceType":"Bundle","entry":' + "[" * 100_000
LAUGHS = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>
<ClinicalDocument>&c;</ClinicalDocument>"""


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_DOCUMENT"),
        (b"\x00" * 100, "EMPTY_DOCUMENT"),
        (b"PK\x03\x04" + bytes(50), "CORRUPT_FILE"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "NO_TEXT"),
        (b"\x7fELF" + bytes(50), "UNKNOWN_FORMAT"),
        (DEEP.encode(), "CORRUPT_FILE"),
        (b'{"resourceType": "Bundle", "entry": [', "CORRUPT_FILE"),
        (b'{"resourceType": "Observation", "valueInteger": NaN}', "CORRUPT_FILE"),
        (b'{"resourceType": "Patient"}', "NO_RESULTS"),
        (b'"just a text"', "NO_TABLE"),
        (LAUGHS.encode(), "HOSTILE_FILE"),
        (b"<ClinicalDocument><a></ClinicalDocument>", "CORRUPT_FILE"),
        (b"<html><body>hello</body></html>", "UNKNOWN_FORMAT"),
        (b"<ClinicalDocument/>", "NO_RESULTS"),
        (b"MSH|^~\\&|A||B||2026||ORU^R01|1|P|2.5\rPID|1\r", "NO_RESULTS"),
        (b"Date,Description,Amount\n2026-01-01,Shop,-1.50\n", "NO_TABLE"),
        (b"hello", "NO_TABLE"),
    ],
)
def test_what_is_no_report_is_refused_with_its_code(tmp_path: Path, data: bytes, code: str) -> None:
    first, last = (failure(parsed(tmp_path, data, retry_count=tried)) for tried in (0, 1))

    assert (first.code, first.is_retryable) == (code, code == "CORRUPT_FILE")
    assert not last.is_retryable


def test_many_comments_before_an_element_are_read_once(tmp_path: Path) -> None:
    comments = "<!-- c -->\n" * 60  # if each could end where any other ends, there are 2^60 ways
    path = tmp_path / "section.xml"
    path.write_text(f"<section>{comments}<x/></section>")

    assert detect(Content.of(path, name=path.name)) is None
    data = f"<?xml version='1.0'?>{comments}<ClinicalDocument/>".encode()
    assert failure(parsed(tmp_path, data)).code


def test_limits_of_the_settings_hold(tmp_path: Path) -> None:
    many = csv(*["Sodium;140;mmol/L;136-145;"] * 20)

    assert failure(parsed(tmp_path, many, bytes_max=100)).code == "TOO_LARGE"
    assert failure(parsed(tmp_path, many, results_max=5)).code == "TOO_LARGE"
    assert (
        failure(parsed(tmp_path, hl7(*["OBX|1|NM|X^Y^L||1"] * 9), results_max=5)).code
        == "TOO_LARGE"
    )


def test_types_that_no_standard_allows_do_no_harm(tmp_path: Path) -> None:
    """Every value of an observation is replaced by every other type; nothing but a code or rows comes of it."""
    good = {
        "resourceType": "Observation", "id": "o", "status": "final", "code": {"coding": [{"code": "x"}], "text": "A"},
        "valueQuantity": {"value": 1, "unit": "mmol/L"}, "referenceRange": [{"low": {"value": 1}}],
        "interpretation": [], "subject": {"reference": "x"}, "effectivePeriod": {"start": "2026"}, "component": [],
        "category": [], "note": [], "specimen": {}, "hasMember": [],
    }  # fmt: skip
    others: tuple[Json, ...] = (None, 1, 1.5, "x", True, [], {}, [[]], [{}], [None], {"a": {}})
    for key in good:
        for wrong in others:
            result = parsed(tmp_path, json.dumps({**good, key: wrong}))
            if isinstance(result, Failed):
                assert result.code in ("NO_RESULTS", "CORRUPT_FILE"), (key, wrong, result.message)
                assert "Error" not in result.message, (key, wrong, result.message)
            else:
                rows_of(normalized(result))


def test_segments_that_end_anywhere_do_no_harm(tmp_path: Path) -> None:
    text = hl7(
        "PID|1||1", "OBR|1|||X^Y", "OBX|1|SN|2345-7^G^LN||<^1|mg/dL|1-2|H|||F", "SPM|1|||SER"
    )
    for end in range(0, len(text), 3):
        result = parsed(tmp_path, text[:end])
        if isinstance(result, Failed):
            assert result.code in ("NO_RESULTS", "EMPTY_DOCUMENT", "NO_TABLE"), (
                end,
                result.message,
            )


def test_encodings_of_tables(tmp_path: Path) -> None:
    text = csv("Hämoglobin;14,1;g/dl;12,0 - 15,6;")
    for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
        (row,) = rows_of(parsed(tmp_path, text.encode(encoding)))
        assert row["test"] == "Hämoglobin", encoding


def fhir_bundle() -> str:
    observations = [
        {
            "resourceType": "Observation", "status": "final", "code": {"coding": [{"code": "x"}], "text": name},
            "note": [{"text": "a } in a [ text"}], "valueQuantity": {"value": value, "unit": "mmol/L"},
        }
        for name, value in (("Glucose", 5), ("Sodium", 140), ("Potassium", 4))
    ]  # fmt: skip
    entries = [{"resource": each} for each in observations]
    return json.dumps(
        {"resourceType": "Bundle", "meta": {"tag": [{"code": "y"}]}, "entry": entries}
    )


def ccda_document() -> str:
    result = (
        '<component><observation moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.2"/>'
        '<code displayName="{}"/><value xsi:type="PQ" value="{}" unit="mmol/L"/></observation></component>'
    )
    told = "".join(
        result.format(*each) for each in (("Glucose", 5), ("Sodium", 140), ("Potassium", 4))
    )
    return (
        '<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><entry>'
        f"<organizer>{told}</organizer></entry></ClinicalDocument>"
    )


@pytest.mark.parametrize("text", [fhir_bundle(), ccda_document()])
def test_a_report_that_is_cut_off_anywhere_gives_whole_results_on_a_later_attempt_and_is_flagged(
    tmp_path: Path, text: str
) -> None:
    whole = [(each["test"], each["value"]) for each in rows_of(parsed(tmp_path, text))]
    read = set[int]()
    for end in range(len(text) // 3, len(text) - 1, 7):
        first = failure(parsed(tmp_path, text[:end]))
        later = parsed(tmp_path, text[:end], retry_count=1)

        assert (first.code, first.is_retryable) == ("CORRUPT_FILE", True)
        if isinstance(later, Failed):
            continue
        found = [(each["test"], each["value"]) for each in rows_of(later)]
        assert found == whole[: len(found)]
        assert later.facts["flags"] == ["DAMAGED"]
        read.add(len(found))
    assert read >= {1, 2}
