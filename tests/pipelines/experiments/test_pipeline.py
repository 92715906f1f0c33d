"""The pipeline as a whole: its states, a dataset from submission to a published bundle, and its evaluation."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.documents.experiments.samples import growth_package, samples
from stateward.app import App
from stateward.cli import cli
from stateward.definition.discovery import machine_file
from stateward.definition.plugin import Content
from stateward.pipelines.experiments.detection import (
    MEASUREMENTS,
    NUMBERS,
    READINGS,
    TABLE,
    detect,
)
from stateward.server.http_server import Server
from tests import web
from tests.server.api_client import settings_at

SAMPLES = Path(__file__).parents[3] / "src/stateward/pipelines/experiments/samples"


def command(data: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--data", str(data), *args])


def test_the_states_and_exposed_fields_are_those_that_were_asked_for() -> None:
    machine = machine_file("stateward.pipelines.experiments", "machine.yaml")

    assert [state.name for state in machine.states] == [
        "submitted", "validating", "validated", "processing", "analyzed", "published", "error",
    ]  # fmt: skip
    assert list(machine.expose) == ["validation_log_ref", "data_points_count"]


def test_data_are_published_by_a_person_and_only_then_have_a_bundle(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with App.embedded(data) as app:
        record = app.submit(growth_package(), machine="experiments", name="bean-growth.zip").record
        app.run_until_idle()
        view = app.records.view(app.record(record.id))
    early = command(data, "bundle", record.id, "--out", str(tmp_path / "early.zip"))
    settings = settings_at(data)
    with Server(settings, open_app=lambda: App(settings)) as server:
        address = f"{server.url}/experiments/{record.id}/bundle"
        refused = web.get(address)
        approved = command(data, "review", "approve", record.id)
        got = web.get(address)
        again = web.get(address, headers={"If-None-Match": got.headers["ETag"]})
    bundles = [tmp_path / "one.zip", tmp_path / "two.zip"]
    done = [command(data, "bundle", record.id, "--out", str(path)) for path in bundles]

    assert (view.status, view.exposed["data_points_count"]) == ("analyzed", 45)
    assert view.exposed["validation_log_ref"]
    assert (early.exit_code, (tmp_path / "early.zip").exists()) != (0, True)
    assert "a person has published it" in early.stderr
    assert approved.exit_code == 0, approved.stderr
    assert [each.exit_code for each in done] == [0, 0], done[0].stderr
    assert bundles[0].read_bytes() == bundles[1].read_bytes()
    check_bundle(bundles[0], record.id)
    assert (refused.status_code, refused.json()["allowed"]) == (409, ["published"])
    assert (got.status_code, got.content) == (200, bundles[0].read_bytes())
    assert got.headers["Content-Type"] == "application/zip"
    assert again.status_code == 304


def check_bundle(path: Path, record_id: str) -> None:
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert {
        "data.csv", "datapackage.json", "statistics.json", "provenance.json", "publication.json",
        "CITATION.cff", "SHA256SUMS", "histogram-height.svg", "plot.svg",
    } <= set(files)  # fmt: skip
    sums = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {
        name: hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name != "SHA256SUMS"
    }
    publication = json.loads(files["publication.json"])
    assert publication["record_id"] == record_id
    assert publication["published_by"].startswith("person:")
    assert b'title: "Growth of bean plants on three plots"' in files["CITATION.cff"]
    assert json.loads(files["provenance.json"])["document"] == (
        f"sha256:{hashlib.sha256(growth_package()).hexdigest()}"
    )


def test_a_rejected_dataset_rests_in_error_and_has_no_bundle(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with App.embedded(data) as app:
        record = app.submit(samples()["pendulum.csv"], machine="experiments", name="p.csv").record
        app.run_until_idle()
    command(data, "review", "reject", record.id, "--reason", "two rows are missing")

    shown = json.loads(command(data, "status", record.id, "--json").stdout)

    assert (shown["status"], shown["error_code"]) == ("error", "REVIEW_REJECTED")
    assert str(shown["notes"][0]).startswith("FAULTY_ROWS")
    assert command(data, "bundle", record.id, "--out", str(tmp_path / "b.zip")).exit_code != 0


def test_the_samples_that_ship_are_those_of_the_script() -> None:
    assert {path.name: path.read_bytes() for path in SAMPLES.iterdir()} == samples()


@pytest.mark.parametrize(
    ("data", "confidence"),
    [
        (growth_package(), 90), (b"a,b\n1,2\n", 20), (b"{}", None),
        (b"Dear Sir, dear Madam,\nwe write, once more, to you,\nand wait.\n", None),
        (b"not a picture, at all\nhello, world\n", None), (b"site,found\na,yes\nb,no\nc,no\n", 20),
        (b"species,bill_length_mm,Body Mass (g)\nAdelie,39.1,3750\n", 30),
        (b"Datum;Betrag (EUR);Saldo (EUR);Zins (%)\n01.01.2026;1,00;2,00;0\n", 20),
        (b"Auftragskonto;Buchungstag;Kundenreferenz (End-to-End);Betrag;BIC (SWIFT-Code)\n1;01.01.26;;2,00;\n", 20),
        (b"ID,Datetime,Amount (total),Amount (fee)\n1,2026-01-01T13:00:00,+ $7.00,\n", 20),
        ("t (s)\tp (kPa)\tT (°C)\n0\t101.3\t21\n".encode("utf-16"), 30),
        ("t (s),v [m s^-1],k (W·m⁻²·K⁻¹)\n0,1,2\n".encode(), 30),
        (b"Date,Extent\n1980-01-01,14.2\n1980-01-03,14.3\n1980-01-05,14.4\n1980-01-07,14.1\n", 25),
        (b"Name,Day,Share\n" + b"Example Street,2026-01-01,0.73651\n" * 4, 25),
        (b"Name,Day,Share\n" + b"Example Street,2026-01-01,-12.50\n" * 4, 20),
        (b"pickup,fare,tripDistance,payment\n2026-01-01 13:00,7.00,1.60,cash\n", 25),
        (b"Date,Store,Product,Unit Price,Revenue\n2026-01-01,North,Apples,1.20,12.00\n", 30),
        (b"Date,Store,Customer,Sales,Net,Balance\n2026-01-01,North,Ann,9.00,8.50,98.50\n", 20),
        (b"Order ID,Order Date,SKU,Quantity,Total\n1001,2026-01-02,MUG-1,2,19.98\n", 30),
        (b"<html>,</html>\n,", None), (b"%PDF-1.4\n,", None), (b"PK\x03\x04", None),
    ],
)  # fmt: skip
def test_a_package_is_known_and_a_table_is_only_suspected(
    data: bytes, confidence: int | None, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(data)

    found = detect(Content.of(tmp_path / "file"))

    assert (None if found is None else found.confidence) == confidence


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("species,island,year\nAdelie,Biscoe,2007\n", "experiments"),
        ("Date,Payee,Amount\n2026-01-02,Shop,-3.50\n", "upload"),
        ("pickup,fare,distance,total\n2026-01-02 13:00,7.00,1.60,12.95\n", "experiments"),
        ("Date,Payee,Amount,Distance,Duration\n2026-01-02,Taxi,-3.50,1.60,7.00\n", "upload"),
    ],
)
def test_a_table_goes_to_research_data_unless_it_may_be_a_statement(
    text: str, machine: str, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text(text)
    with App.embedded(tmp_path / "data") as app:
        first = app.plugins.candidates(tmp_path / "table.csv", name="table.csv")[0]

    assert (first.machine, first.is_likely) == (machine, True)


def test_a_package_without_its_tables_says_what_to_submit(tmp_path: Path) -> None:
    resources = [{"name": "lakes", "path": "lakes.csv", "schema": {"fields": []}}]
    path = tmp_path / "datapackage.json"
    path.write_text(json.dumps({"name": "lakes-2026", "resources": resources}, indent=2))

    with App.embedded(tmp_path / "data") as app:
        first = app.plugins.candidates(path)[0]
        record = app.submit(path, machine=first.machine).record
        app.run_until_idle()
        record = app.record(record.id)

    assert (first.machine, record.status, record.error_code) == (
        "experiments",
        "error",
        "BAD_PACKAGE",
    )
    assert "in one ZIP" in str(record.error_message)


def test_the_evaluation_compares_rows_faults_missing_values_and_statistics(tmp_path: Path) -> None:
    rows = "".join(f"1000000{n % 3}.5,{'NA' if n == 3 else n}\n" for n in range(1, 21))
    for name in ("right", "wrong"):
        (tmp_path / f"{name}.csv").write_text("x,y\n" + rows + "oops,1\n")
    truth = {
        "rows": 20, "faults": [[21, "x"]], "missing": {"y": 1},
        "statistics": {"x": {"mean": 10000001.55, "standard_deviation": "0.8255779474"}},
    }  # fmt: skip
    (tmp_path / "right.truth.json").write_text(json.dumps(truth))
    (tmp_path / "wrong.truth.json").write_text(json.dumps({**truth, "rows": 21, "faults": []}))

    done = CliRunner().invoke(cli, ["eval", "experiments", str(tmp_path), "--json"])

    report = {each["file"]: each["faults"] for each in json.loads(done.stdout)["datasets"]}
    assert report["right.csv"] == []
    assert report["wrong.csv"] == ["20 data points, not 21", "row 21, x: no fault"]
    assert done.exit_code == 0, "what is wrong was flagged"


def test_comments_above_a_table_do_not_hide_its_units(tmp_path: Path) -> None:
    path = tmp_path / "level.csv"
    path.write_text(
        "# level of a river\n# missing: -999\nZeit;Pegel [cm];Abfluss [m³/s]\n"
        "01.02.2026 00:00;212;418,5\n01.02.2026 06:00;214;421,0\n"
    )

    found = detect(Content.of(path))

    assert found is not None
    assert found.confidence == MEASUREMENTS


@pytest.mark.parametrize(
    ("table", "confidence"),
    [
        (
            "Datum;Temperatur (°C);Regen (mm)\n01.01.2026;4,2;0,0\n02.01.2026;3,9;1,2\n",
            MEASUREMENTS,
        ),
        (
            ";1;2;3\nA;0.05;0.11;0.45\nB;0.05;0.11;0.46\nC;0.05;0.11;0.45\nD;0.05;0.12;0.45\n",
            NUMBERS,
        ),
        ("Datum;Text;Betrag\n01.01.2026;Miete;-800,00\n02.01.2026;Lohn;2100,00\n", None),
    ],
)
def test_lines_about_an_instrument_do_not_hide_what_it_measured(
    tmp_path: Path, table: str, confidence: int | None
) -> None:
    path = tmp_path / "export.csv"
    path.write_text(f"Name:;Nord\nModel:;DL-200\n\n{table}")

    found = detect(Content.of(path))

    assert (found.confidence if found else None) == confidence


def test_words_in_an_encoding_that_is_not_guessed_are_words(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    rows = "".join(f"2026/7/{day},振込給与,275356,599209\n" for day in range(1, 6))
    path.write_bytes(f"日付,摘要,預かり金額,差引残高\n{rows}".encode("cp932"))

    found = detect(Content.of(path))

    assert found is not None
    assert found.confidence == TABLE


@pytest.mark.parametrize(
    ("minutes", "is_reading"),
    [((0, 5, 10, 15, 20), True), ((50, 55, 60, 65), True), ((0, 7, 9, 31, 32), False), ((3, 3, 3, 3), False)],
)  # fmt: skip
def test_readings_at_even_steps_of_time_are_measured_whatever_their_headings_say(
    tmp_path: Path, minutes: tuple[int, ...], *, is_reading: bool
) -> None:
    path = tmp_path / "log.csv"
    lines = [f"2026-02-03 {9 + at // 60:02}:{at % 60:02},pump,{at}.25" for at in minutes]
    path.write_text("\n".join(["Date,Description,Amount", *lines]), encoding="utf-8")

    found = detect(Content.of(path))

    assert found is not None
    assert (found.confidence == READINGS) is is_reading
