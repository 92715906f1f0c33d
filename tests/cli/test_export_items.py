"""Items of many records as one file, by query and period: nothing twice, nothing rejected, flags in it."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

from stateward.app import App
from tests.cli.shell import Shell

JANUARY = b"Date,Description,Amount\n2026-01-05,Shop,-1.50\n2026-01-06,=cmd(),2.00\n"
BOTH = JANUARY + b"2026-02-07,Later,-3.25\n"
WRONG = b"Date,Description,Amount,Balance\n2026-03-05,Odd,-1.50,8.50\n2026-03-06,Pay,2.00,99.00\n"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("export")
    with App.embedded(folder) as app:
        for name, text in (("january.csv", JANUARY), ("both.csv", BOTH), ("wrong.csv", WRONG)):
            app.submit(text, name=name)
        rejected = app.submit(WRONG.replace(b"Odd", b"Bad")).record.id
        app.run_until_idle()
        app.flags.decide(rejected, "reject", actor="person:anna", reason="no")
    return Shell(folder)


def test_a_query_and_a_period_are_written_once_with_their_flags(shell: Shell) -> None:
    done = shell("export", "items", "--from", "2026-01-06", "--to", "2026-03-05")

    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert sorted(row["date"] for row in rows) == ["2026-01-06", "2026-02-07", "2026-03-05"]
    flags = {row["description"]: row["flags"] for row in rows}
    assert flags == {"'=cmd()": "", "Later": "", "Odd": "NOT_RECONCILED"}
    assert done.exit_code == 9
    assert "they stand in another record too" in done.stderr
    assert "a person rejected them" in done.stderr
    assert "flagged as wrong or incomplete: NOT_RECONCILED" in done.stderr


def test_a_sheet_holds_numbers_and_days_and_no_formula(shell: Shell, tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    from python_calamine import CalamineWorkbook

    path = tmp_path / "all.xlsx"

    done = shell(
        "export", "items", "--query", "-is:flagged", "--format", "xlsx", "--out", str(path)
    )

    assert done.exit_code == 0, done.stderr
    head, *rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert {row["description"]: row["amount"] for row in found} == {
        "Shop": -1.5,
        "=cmd()": 2.0,
        "Later": -3.25,
    }
    with zipfile.ZipFile(path) as archive:
        assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")
    again = shell("export", "items", "--format", "xlsx", "--out", str(path))
    assert (again.exit_code, "--overwrite" in again.stderr) == (2, True)


def test_columns_have_types(shell: Shell, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "it's.parquet"

    done = shell(
        "export", "items", "--query", "-is:flagged", "--format", "parquet", "--out", str(path)
    )

    assert done.exit_code == 0, done.stderr
    with duckdb.connect() as database:
        found = database.execute(
            "SELECT sum(amount), max(date), any_value(typeof(amount)) FROM read_parquet(?)",
            [str(path)],
        ).fetchone()
    assert (str(found[0]), str(found[1]), found[2]) == (
        "-2.7500000000",
        "2026-02-07",
        "DECIMAL(38,10)",
    )


def test_a_format_of_a_pipeline_names_what_is_flagged(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "all.beancount"

    done = shell("export", "items", "--format", "beancount", "--out", str(path))

    assert done.exit_code == 9
    assert "is flagged as wrong or incomplete: NOT_RECONCILED" in path.read_text("utf-8")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("form", ["csv", "ofx", "qif", "beancount", "ledger", "actual", "firefly"])
def test_every_file_of_items_names_the_flags_of_its_record(shell: Shell, form: str) -> None:
    flagged = shell.ids("is:flagged")[0]

    told = shell("items", flagged, "--format", form).stdout

    assert "NOT_RECONCILED" in told
    assert "NOT_RECONCILED" not in shell("items", flagged).stdout


def test_what_cannot_be_exported_is_refused(shell: Shell) -> None:
    for args in (
        ("--format", "nothing"),
        ("--format", "xlsx"),
        ("--from", "yesterday"),
        ("UL_none", "--query", "x"),
    ):
        assert shell("export", "items", *args).exit_code == 2, args
    assert shell("export", "items", "UL_none").exit_code == 3


def test_rules_are_tried_on_texts(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "version: 1\nmerchants: [{name: Corner, match: 'grocer 00'}]\n"
        "categories: [{name: Food, match: corner}]\n"
    )
    shell = Shell(tmp_path / "data")

    done = shell("rules", "test", "POS PURCHASE GROCER 0042", "--file", str(rules), "--json")
    rules.write_text("version: 1\ncategories: [{name: Food, match: '('}]\n")
    wrong = shell("rules", "test", "x", "--file", str(rules))

    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["merchant"], row["category"]) == ("Corner", "Food")
    assert (wrong.exit_code, "regular expression" in wrong.stderr) == (2, True)


def test_items_that_a_format_has_no_place_for_are_counted_and_not_written(tmp_path: Path) -> None:
    open_dates = b"Date,Description,Amount\n01/02/2026,Shop,-1.50\n2026-02-25,Later,-3.25\n"
    with App.embedded(tmp_path / "data") as app:
        record = app.submit(open_dates, name="open.csv").record.id
        app.run_until_idle()
    here = Shell(tmp_path / "data")

    done = here("export", "items", "--format", "qif")
    shown = here("items", record, "--format", "ofx")

    assert "1 item written" in done.stderr
    assert "1 item left out: the order of day and month in their dates is open" in done.stderr
    assert "1 item left out" in shown.stderr
