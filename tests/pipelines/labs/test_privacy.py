"""What a report says of its patient is in no log, no fact, no note and no failure, whatever is wrong with the file."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.documents.statements.paper import Paper
from stateward.workers.sdk import Completed, Job, Result
from tests.pipelines.labs.reading import KEY, hl7, normalized, parsed
from tests.pipelines.labs.test_formats import CDA, OBSERVATION
from tests.pipelines.two_stages import run

CANARY = "ZQXCANARY"
HL7 = hl7(
    f"PID|1||{CANARY}^^^X||{CANARY}^{CANARY}||19700101", "OBX|1|NM|X^Thing^L||1.2.3|wat/foo|a-b|Q|||F",
    "OBX|2|NM|2345-1^Glucose^LN||131|mg/dL|99-70|H|||F",
)  # fmt: skip
FHIR = json.dumps({
    "resourceType": "Bundle",
    "entry": [
        {"resource": {"resourceType": "Patient", "id": "p", "name": [{"family": CANARY}],
                      "identifier": [{"value": CANARY}]}},
        {"resource": {"resourceType": "Observation", "status": "final", "code": {"text": CANARY}, "valueString": CANARY,
                      "subject": {"reference": "Patient/p"}}},
    ],
})  # fmt: skip
CCDA = CDA.format(
    observation=OBSERVATION.format(value=f'<value xsi:type="ST">{CANARY}</value>')
).replace('"77"', f'"{CANARY}"')
CSV = f"Patient;Test;Result;Units\n{CANARY};Glucose;1.2.3;wat\n{CANARY};a;b;c;d;e\n"


def pdf() -> bytes:
    paper = Paper()
    paper.page()
    paper.text(50, 60, f"Patient: {CANARY}, {CANARY}   MRN: {CANARY}   Collected: 2026-03-09")
    for at, row in enumerate(
        (("Test", "Result", "Units"), ("Glucose", "5.4.3", "mg/dL"), (CANARY, "1.2.3", "mmol/L"))
    ):
        for x, text in zip((50, 250, 340), row, strict=True):
            paper.text(x, 120 + 14 * at, text)
    return paper.pdf()


REPORTS = {
    "hl7": HL7.encode(),
    "fhir": FHIR.encode(),
    "ccda": CCDA.encode(),
    "csv": CSV.encode(),
    "pdf": pdf(),
}


def told(result: Result) -> str:
    """Everything of an attempt that people and machines see besides its items."""
    if isinstance(result, Completed):
        about = [chunk.data for chunk in result.chunks if chunk.data.startswith("{")]
        return f"{result.facts} {result.log} {about}"
    return f"{result.code} {result.message} {result.log}"


def damaged(data: bytes) -> Iterator[bytes]:
    """A report with parts of it cut off, doubled, or made into something else."""
    for share in (0.2, 0.5, 0.8, 0.95):
        yield data[: int(len(data) * share)]
    at = max(1, data.find(CANARY.encode()))
    yield data[:at] + b"<&\x00\"'{" + data[at:]
    yield data[:at] + b'"' + data[at:]
    yield data.replace(b"|", b"||").replace(b":", b"::").replace(b"<", b"<<")
    yield data + data
    yield data[::-1]


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_that_is_read_tells_nothing_of_its_patient(tmp_path: Path, name: str) -> None:
    result = parsed(tmp_path, REPORTS[name])

    assert isinstance(result, Completed)
    assert CANARY not in told(result)
    assert CANARY not in told(normalized(result))


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_that_is_damaged_tells_nothing_of_its_patient(tmp_path: Path, name: str) -> None:
    for data in damaged(REPORTS[name]):
        result = parsed(tmp_path, data)

        assert CANARY not in told(result)
        if isinstance(result, Completed):
            assert CANARY not in told(normalized(result))


@pytest.mark.parametrize("name", REPORTS)
def test_the_machine_of_its_own_tells_nothing_either(tmp_path: Path, name: str) -> None:
    path = tmp_path / "report"
    path.write_bytes(REPORTS[name])
    validated = run(
        "labs.validate",
        Job(record_id="T_1", stage="validate", path=path, options={"patient_key": KEY}),
    )
    assert isinstance(validated, Completed)
    items = {"validate": [chunk.data for chunk in validated.chunks]}

    analyzed = run("labs.analyze", Job(record_id="T_1", stage="analyze", items=items))

    assert CANARY not in told(validated)
    assert isinstance(analyzed, Completed)
    assert CANARY not in told(analyzed)


def test_without_a_key_no_result_carries_a_hash_of_its_patient(tmp_path: Path) -> None:
    result = parsed(tmp_path, HL7, patient_key="")

    assert isinstance(result, Completed)
    assert "patient_key" not in result.chunks[0].data


def test_a_hash_depends_on_the_key(tmp_path: Path) -> None:
    first, second = (parsed(tmp_path, HL7, patient_key=key) for key in ("a" * 32, "b" * 32))

    assert isinstance(first, Completed)
    assert isinstance(second, Completed)
    assert first.chunks[0].data != second.chunks[0].data
