"""A report is of one patient: results of others in it are flagged, and a batch of reports is not."""

import json
from pathlib import Path

import pytest

from stateward.core.model import Json
from stateward.workers.sdk import Completed
from tests.pipelines.labs.reading import KEY, csv, hl7, normalized, parsed

GLUCOSE = "OBX|1|NM|2345-7^Glucose^LN||{}|mg/dL|70-99|{}|||F"
ANN = "PID|1||1001^^^H^MR||SMITH^ANN||19600101|F"
TOM = "PID|2||2002^^^H^MR||BAKER^TOM||19811212|M"
HEADING = "Report No;Patient;DOB;Test;Result;Units;Reference Range;Flag"
FLAGGED = ["SEVERAL_PATIENTS"]


def said(folder: Path, data: str | bytes, *, patient_key: str = KEY) -> tuple[list[Json], str]:
    """The flags of both stages, which must be the same, and the notes of the last."""
    first = parsed(folder, data, patient_key=patient_key)
    last = normalized(first)
    assert isinstance(first, Completed)
    assert isinstance(last, Completed)
    flags = last.facts.get("flags", [])
    assert flags == first.facts.get("flags", [])
    assert isinstance(flags, list)
    return flags, str(last.facts.get("notes", ""))


def message(*patients: str) -> str:
    return hl7(*(line for each in patients for line in (each, "OBR|1", GLUCOSE.format("95", "N"))))


@pytest.mark.parametrize(
    ("data", "flags"),
    [
        (message(ANN, TOM), FLAGGED),
        (message(ANN, ANN.replace("19600101", "19610101")), FLAGGED),
        (message(ANN, ANN), []),
        (message(ANN, ANN.replace("1001^^^H^MR", "77^^^X~1001^^^H^MR").replace("SMITH", "JONES")), []),
        (message(ANN) + message(TOM), []),  # a batch: each report is of one
    ],
)  # fmt: skip
def test_one_message_of_several_persons_is_flagged(
    tmp_path: Path, data: str, flags: list[Json]
) -> None:
    assert said(tmp_path, data)[0] == flags


def bundle(report: str, *subjects: str, kind: str = "collection", reports: int = 1) -> str:
    """A bundle of two patients and observations of the subjects, `reports` of which are of the first report."""
    patients = [
        {"resourceType": "Patient", "id": each, "name": [{"family": each * 4}]} for each in "ab"
    ]
    observed = [
        {
            "resourceType": "Observation",
            "id": str(at),
            "code": {"text": "Sodium"},
            "subject": {"reference": f"Patient/{each}"},
            "valueQuantity": {"value": 140, "unit": "mmol/L"},
        }
        for at, each in enumerate(subjects)
    ]
    told = {
        "resourceType": "DiagnosticReport",
        "id": "d",
        "subject": {"reference": f"https://example.org/fhir/Patient/{report}"},
        "result": [{"reference": f"Observation/{at}"} for at in range(reports)],
    }
    entries = [{"resource": each} for each in (*patients, told, *observed)]
    return json.dumps({"resourceType": "Bundle", "type": kind, "entry": entries})


@pytest.mark.parametrize(
    ("data", "flags"),
    [
        (bundle("a", "a", "b", reports=2), FLAGGED),
        (bundle("b", "a"), FLAGGED),
        (bundle("a", "a", "b"), FLAGGED),  # the second is of no report
        (bundle("a", "a", "b", kind="searchset"), []),
        (bundle("a", "a", "a", reports=2), []),
    ],
)
def test_an_observation_of_another_subject_than_its_report_is_flagged(
    tmp_path: Path, data: str, flags: list[Json]
) -> None:
    assert said(tmp_path, data)[0] == flags


def rows(*patients: str) -> str:
    return csv(*(f"{each};Sodium;140;mmol/L;135-145;" for each in patients), heading=HEADING)


@pytest.mark.parametrize(
    ("data", "flags"),
    [
        (rows("26-100;Hall, Amy;1990-02-02", "26-100;Hill, Ann;1955-07-09"), FLAGGED),
        (rows("26-100;Hall, Amy;1990-02-02", "26-100;Hall, Amy;1955-07-09"), FLAGGED),
        (rows("26-100;Hall, Amy;1990-02-02", "26-100;Amy M Hall;1990-02-02", "26-100;;"), []),
        (rows("26-100;Hall, Amy;1990-02-02", "26-101;Hill, Ann;1955-07-09"), []),
        (rows(";Hall, Amy;1990-02-02", ";Hill, Ann;1955-07-09"), []),
    ],
)
def test_rows_of_one_report_number_are_of_one_person(
    tmp_path: Path, data: str, flags: list[Json]
) -> None:
    assert said(tmp_path, data)[0] == flags


@pytest.mark.parametrize(
    "data",
    [
        rows("26-100;Hall, Amy;1990-02-02", "26-101;Hill, Ann;1955-07-09"),
        message(ANN) + message(TOM),
        bundle("a", "a", "b", kind="searchset"),
    ],
)
def test_a_batch_is_flagged_where_no_key_tells_its_patients_apart(
    tmp_path: Path, data: str
) -> None:
    flags, notes = said(tmp_path, data, patient_key="")

    assert (flags, "PATIENTS_UNTOLD" in notes) == (["PATIENTS_UNTOLD"], True)
    assert not any(name in notes.casefold() for name in ("hall", "hill", "smith", "baker"))
    assert "PATIENTS_UNTOLD" not in said(tmp_path, data)[1]


def test_what_the_first_stage_says_outlives_notes_of_the_second(tmp_path: Path) -> None:
    unread = message(ANN, TOM).replace("2345-7^Glucose^LN", "X1^Zyxwv^L")

    flags, notes = said(tmp_path, unread)

    assert flags == FLAGGED
    assert "SEVERAL_PATIENTS: " in notes
    assert "UNKNOWN_TEST: " in notes


@pytest.mark.parametrize(
    ("row", "flags"),
    [
        ("Potassium;6.2;mmol/L;3.5-5.1;L", ["FLAG_DISAGREES"]),
        ("Potassium;2.9;mmol/L;3.5-5.1;HH", ["FLAG_DISAGREES"]),
        ("Potassium;6.2;mmol/L;3.5-5.1;H", []),
        ("Potassium;6.2;mmol/L;3.5-5.1;", []),  # a missing one is a note
        ("Potassium;5.1;mmol/L;3.5-5.1;H", []),
    ],
)
def test_the_printed_flag_of_the_other_side_flags_the_record(
    tmp_path: Path, row: str, flags: list[Json]
) -> None:
    done = normalized(parsed(tmp_path, csv(row, "Sodium;150;mmol/L;135-145;H")))

    assert isinstance(done, Completed)
    assert done.facts.get("flags", []) == flags
