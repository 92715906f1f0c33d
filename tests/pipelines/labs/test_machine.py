"""A report through a real service with default settings: as an upload, and on the machine `labs` to its approval."""

from importlib.resources import files
from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.errors import InvalidCorrection
from stateward.definition.plugin import Content
from stateward.engine.answers import DecisionRequest
from stateward.pipelines.labs import PLUGIN
from stateward.pipelines.labs.detection import detect
from stateward.settings import Settings
from tests.pipelines.labs.printing import plain_pdf
from tests.pipelines.labs.reading import csv, hl7

SAMPLES = files("stateward.pipelines.labs") / "samples"
ORU = (SAMPLES / "oru-r01.hl7").read_bytes()
STATEMENT = (
    b"Date,Description,Amount,Balance\n2026-01-05,Shop,-1.50,8.50\n2026-01-06,Pay,2.00,10.50\n"
)
STATES = ["uploaded", "validating", "validated", "analyzing", "analyzed", "approved", "error"]
FIELDS = {"validation_log_ref", "test_results_count", "approval_timestamp"}


def decide(app: App, id_: str, action: str, **parts: object) -> None:
    app.reviews.decide(DecisionRequest(record_id=id_, action=action, actor="person:grace", **parts))  # type: ignore[arg-type]


def test_an_upload_of_a_lab_report_is_recognised_and_normalized(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        report = app.submit(ORU, name="report.hl7").record
        table = app.submit(csv("Sodium;140;mmol/L;136-145;").encode(), name="table.csv").record
        statement = app.submit(STATEMENT, name="january.csv").record
        app.run_until_idle()
        view = app.records.view(app.record(report.id))
        rows = list(app.items(report.id))

        assert app.record(report.id).labels["source_type"] == "lab_report"
        assert (
            view.status,
            view.exposed["observations_count"],
            view.exposed["canonicals_count"],
        ) == ("normalized", 5, 5)
        assert rows[3]["comparator"] == "<"
        assert app.record(table.id).labels["source_type"] == "lab_report"
        assert app.record(statement.id).status == "normalized"
        assert app.record(statement.id).labels.get("source_type") != "lab_report"


def test_the_machine_has_the_states_and_fields_that_were_asked_for(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        machine = app.registry.newest["labs"]

    assert [state.name for state in machine.states] == STATES
    assert set(machine.expose) == FIELDS


@pytest.mark.parametrize("stage", ["analyze", "approval"])
def test_test_and_value_stand_before_what_the_analysis_says_of_them(stage: str) -> None:
    (view,) = (each for each in PLUGIN.items if (each.machine, each.stage) == ("labs", stage))

    names = [column.name for column in view.columns]

    assert names[:4] == ["test", "comparator", "value", "unit"]
    assert names.index("flag") < names.index("finding") < names.index("code")
    assert len(set(names)) == len(names)


def test_a_report_is_validated_analyzed_and_approved_by_a_person(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(SAMPLES / "laborbefund.pdf", machine="labs").record  # type: ignore[arg-type]
        app.run_until_idle()
        waiting = app.records.view(app.record(record.id))
        found = {str(each["field"]): each for each in app.items(record.id)}

        assert waiting.status == "analyzed"
        assert set(waiting.exposed) == FIELDS - {"approval_timestamp"}
        assert waiting.exposed["test_results_count"] == 11
        assert found["Hämoglobin"]["critical"] == "low"
        assert found["Kalium"].get("finding", "") == ""
        assert found["Kreatinin"]["finding"] == "out of range"
        assert isinstance(waiting.notes, list)

        decide(app, record.id, "approve")
        approved = app.records.view(app.record(record.id))

        assert approved.status == "approved"
        assert set(approved.exposed) == FIELDS
        assert str(approved.exposed["approval_timestamp"]).startswith("20")


def test_results_of_several_days_are_compared(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(SAMPLES / "cumulative.csv", machine="labs").record  # type: ignore[arg-type]
        app.run_until_idle()
        found = {str(each["field"]): each for each in app.items(record.id)}

    assert found["Potassium 2026-03-09"]["critical"] == "high"
    assert found["Creatinine 2026-03-09"]["change_percent"] == "76"
    assert found["Creatinine 2026-03-09"]["previous_at"] == "2026-02-09"
    assert "previous" not in found["Creatinine 2026-01-12"]


def test_a_correction_is_checked_and_approves(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(csv("Sodium;14O;mmol/L;136-145;").encode(), machine="labs").record
        app.run_until_idle()
        for value in ("1.2.3", ""):
            with pytest.raises(InvalidCorrection):
                decide(app, record.id, "correct", corrected={"Sodium": value})
        with pytest.raises(InvalidCorrection):
            decide(app, record.id, "correct", corrected={"Unobtainium": "1"})

        decide(app, record.id, "correct", corrected={"Sodium": "140"})

        assert app.record(record.id).status == "approved"
        (row,) = app.items(record.id)
        assert (row["value"], row["was"], row["is_corrected"]) == ("140", "14O", True)


def test_a_rejected_report_fails_and_a_retry_asks_again(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(
            hl7("OBX|1|NM|2345-7^Glucose^LN||131|mg/dL|70-99|H|||F").encode(), machine="labs"
        ).record
        app.run_until_idle()

        decide(app, record.id, "reject", notes="wrong patient")
        app.run_until_idle()
        rejected = app.record(record.id)
        assert (rejected.status, rejected.error_code, rejected.error_message) == (
            "error",
            "REVIEW_REJECTED",
            "wrong patient",
        )

        app.actions.act("retry", record.id, actor="person:grace", reason="checked")
        app.run_until_idle()
        assert app.record(record.id).status == "analyzed"


@pytest.mark.parametrize(
    ("data", "name", "confidence"),
    [
        (ORU, "x.hl7", 95),
        (b'{"resourceType": "Bundle"}', "x.json", 95),
        (b'<ClinicalDocument xmlns="urn:hl7-org:v3">', "x.xml", 95),
        (csv("Sodium;140;mmol/L;136-145;").encode(), "x.csv", 60),
        (b"Test;Units;Reference Range;2026-01-12\nPotassium;mmol/L;3.5-5.1;4.2\n", "x.csv", 60),
        (STATEMENT, "x.csv", 0),
        (b"Date,Description,Reference,Value,Balance\n01/02/2024,TESCO,R123,-12.50,100.00\n", "x.csv", 0),
        (b"Date,Description,Reference,Value\n01/02/2024,TESCO,R123,-12.50\n", "x.csv", 0),
        (b"Item,Reference,Unit,Quantity,Total\nPaper,R-1,box,3,12.00\n", "x.csv", 0),
        (b"Ref;Description;Unit;Price\nA1;Bolt M8;pcs;0.15\n", "x.csv", 0),
        ((SAMPLES / "laborbefund.pdf").read_bytes(), "scan-0815.pdf", 60),
        (b"%PDF-1.7\nstream\n(Glucose rose by 2 mg/dl. Creatinine and cholesterol did not.) Tj\nendstream", "x.pdf", 0),
        (b"%PDF-1.7 ...", "Laborbefund_Muster.pdf", 30),
        (b"%PDF-1.7 ...", "statement-2026-01.pdf", 0),
        (b"%PDF-1.7 ...", "labor-union-dues.pdf", 0),
        (b'{"a": 1}', "x.json", 0),
        (b"<Document>camt</Document>", "x.xml", 0),
        (b"", "x", 0),
    ],
)  # fmt: skip
def test_only_lab_reports_are_taken_for_lab_reports(
    tmp_path: Path, data: bytes, name: str, confidence: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)

    found = detect(Content.of(path, name=name))

    assert (0 if found is None else found.confidence) == confidence


def test_a_result_is_compared_with_earlier_reports_of_the_same_patient(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a secret of this laboratory")
    (tmp_path / "stateward.yaml").write_text("data: data\nlabs: {patient_key_file: key}")
    with App(Settings.load(tmp_path / "stateward.yaml", environ={})) as app:
        ids = []
        # The newest arrives before an older one; the last is of another patient.
        for patient, day, value in (
            ("MRN-Q7", "20260309", "1.0"),
            ("MRN-Q7", "20260412", "2.0"),
            ("MRN-Q7", "20260401", "1.1"),
            ("MRN-Q8", "20260501", "9.0"),
        ):
            report = hl7(
                f"PID|1||{patient}||Muster^Erika",
                f"OBR|1|||1^Chem|||{day}",
                f"OBX|1|NM|2160-0^Creatinine^LN||{value}|mg/dL|0.7-1.3||||F|||{day}",
            )
            ids.append(app.submit(report.encode(), machine="labs").record.id)
            app.run_until_idle()
        rows = [next(iter(app.items(id_))) for id_ in ids]

        assert [row.get("change_percent", "") for row in rows] == ["", "100", "10", ""]
        assert [row.get("previous_record", "") for row in rows] == ["", ids[0], ids[0], ""]
        assert "changed by +100 % since 2026-03-09" in rows[1]["why"]  # type: ignore[operator]
        told = str([app.records.history(id_) for id_ in ids]) + "".join(
            str(each.log) for id_ in ids for each in app.outputs.attempts(id_)
        )
        assert "MRN-Q7" not in told
        assert "compared with 2 earlier results of 2 reports" in told


@pytest.mark.parametrize(
    "lines",
    [
        [
            ("Ketones", "negative"), ("Blood", "1+"), ("Bilirubin", "negative"), ("Nitrite", "negative"),
            ("Glucose", "2+"),
        ],
        [("Oxacillin", "S"), ("Gentamicin", "R"), ("Ciprofloxacin", "S"), ("Rifampicin", "S"), ("Vancomycin", "S")],
    ],
)  # fmt: skip
def test_a_pdf_of_results_in_words_or_letters_is_recognised(
    tmp_path: Path, lines: list[tuple[str, ...]]
) -> None:
    placed = [tuple(zip((50, 250, 350), line, strict=False)) for line in lines]
    path = tmp_path / "document.pdf"
    path.write_bytes(plain_pdf(*placed))

    found = detect(Content.of(path, name="document.pdf"))

    assert found is not None
    assert found.source_type == "lab_report"


def test_a_table_of_patients_with_a_column_a_test_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    heading = "patient_id,date,Hemoglobin (g/dL),WBC (10^3/uL),CRP (mg/L)\n"
    path.write_text(heading + "S1,2026-02-26,15.5,8.5,12.0\n")

    assert detect(Content.of(path, name="table.csv")) is not None
    path.write_text("patient_id,date,Speed (m/s),Mass (kg),Size (m)\nS1,2026-02-26,15.5,8.5,12.0\n")
    assert detect(Content.of(path, name="table.csv")) is None
