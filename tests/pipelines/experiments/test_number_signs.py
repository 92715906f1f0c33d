"""Numbers as people write them: grouped, with a percent sign, with the minus of typesetters, with an uncertainty."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from lab.documents.experiments.samples import archive
from stateward.core.model import Json
from stateward.definition.plugin import Content
from stateward.pipelines.experiments.detection import detect
from stateward.pipelines.statements.detection import detect as statement
from tests.pipelines.experiments.test_stages import code, columns, faults, package, run
from tests.pipelines.labs.test_sheets import Row, book


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ('id,n\na,"1,234"\nb,"2,345"\nc,"10,000.5"\n', "4526.5"),
        ('id,n\na,"1,234,567"\nb,"2,345"\nc,7\n', "412306.333333333"),
        ('id,n,x\na,"1,234",0.5\nb,"2,345",1.5\nc,"10,001",2.5\n', "4526.66666666667"),
        ("id;n\na;1.234,5\nb;2.345,5\nc;10.000,5\n", "4526.83333333333"),
        ("id;n;x\na;1.234;0,5\nb;2.345;1,5\nc;10.001;2,5\n", "4526.66666666667"),
        ("id;n\na;1 234,5\nb;345,5\nc;10\u00a0000,5\n", "3860.16666666667"),
        ("id,n\na,1'234.5\nb,345.5\nc,10'000.5\n", "3860.16666666667"),
        ("id;n\na;1,234\nb;2,345\nc;7,001\n", "3.52666666666667"),
        ("id,n\na,1.234\nb,2.345\nc,7.001\n", "3.52666666666667"),
        ("id,n\na,\u22121.5\nb,\u22122.5\nc,\u20133.5\n", "-2.5"),
        ("id,n\na,50%\nb,60 %\nc,70.5%\n", "60.1666666666667"),
        ("id;n\na;50 %\nb;60 %\nc;70,5 %\n", "60.1666666666667"),
        ("id,n (g)\na,1.5 g\nb,2.5\nc,3.5g\n", "2.5"),
    ],
)
def test_numbers_are_read_as_they_are_written(tmp_path: Path, text: str, mean: str) -> None:
    found = run(text, tmp_path)

    (item,) = [each for name, each in columns(found).items() if name.startswith("n")]
    assert item["mean"] == mean
    assert not found.notes


def test_a_share_has_its_unit_from_its_cells(tmp_path: Path) -> None:
    found = columns(run("id,n\na,50%\nb,60%\nc,NA\n", tmp_path))

    assert (found["n"]["unit"], found["n"]["count"]) == ("%", 2)


def test_shares_without_a_percent_sign_beside_others_are_no_numbers(tmp_path: Path) -> None:
    found = run("id,n\na,50%\nb,60%\nc,0.7\n", tmp_path)

    assert columns(found)["n"]["type"] == "string"


def test_groups_that_only_the_delimiter_tells_of_are_said(tmp_path: Path) -> None:
    found = run('id,n\na,"1,234"\nb,"2,345"\nc,950\n', tmp_path)

    assert columns(found)["n"]["mean"] == "1509.66666666667"
    (note,) = found.notes
    assert note.startswith("AMBIGUOUS_NUMBERS: table, n: 1,234 is read as 1234")


def test_numbers_that_nothing_decides_stay_text_and_are_said(tmp_path: Path) -> None:
    found = run("id\tn\na\t1,234\nb\t2,345\nc\t7,001\n", tmp_path)

    assert columns(found)["n"]["type"] == "string"
    (note,) = found.notes
    assert note.startswith("AMBIGUOUS_NUMBERS: table, n: 1,234 may be 1234 or 1.234")


def test_points_that_stand_only_where_thousands_are_reached_are_said(tmp_path: Path) -> None:
    found = run("id;n\na;1.234\nb;950\nc;12.500\n", tmp_path)

    assert columns(found)["n"]["mean"] == "321.244666666667"
    (note,) = found.notes
    assert "1.234 is read as a decimal number" in note


def test_a_cell_that_is_not_grouped_in_threes_is_a_fault(tmp_path: Path) -> None:
    rows = "".join(f'{at},"{at},000,500"\n' for at in range(1, 20))

    found = run(f'id,n\n{rows}20,"1,5"\n21,"1.5,000"\n', tmp_path)

    assert faults(found) == [("20", "n", "BAD_VALUE"), ("21", "n", "BAD_VALUE")]


def test_bounds_hold_for_numbers_with_a_decimal_comma(tmp_path: Path) -> None:
    field: dict[str, Json] = {"name": "v", "type": "number", "decimalChar": ",", "groupChar": "."}
    schema: Json = {"fields": [{**field, "constraints": {"minimum": 2.5}}]}
    data = package('v\n"1.000,5"\n"2,5"\n"1,5"\n', schema)

    found = run(data, tmp_path)

    assert [point["values"] for point in found.items("validate")] == [{"v": "1000.5"}, {"v": "2.5"}]
    assert faults(found) == [("3", "v", "CONSTRAINT")]


@pytest.mark.parametrize("cell", ["1.5±0.1", "1.5 +/- 0.1 g", "1.5 (0.1)", "<1.5"])
def test_numbers_with_an_uncertainty_are_noted(tmp_path: Path, cell: str) -> None:
    found = run(f"id,n\na,{cell}\nb,{cell}\nc,{cell}\n", tmp_path)

    (note,) = found.notes
    assert note.startswith("NUMBERS_AS_TEXT: table, n: the cells hold more than a number")


@pytest.mark.parametrize("number", ["1e-500", "1e999999999"])
def test_a_number_that_is_too_long_to_be_written_out_is_noted(tmp_path: Path, number: str) -> None:
    found = run(f"id,n\na,{number}\nb,2.5\nc,3.5\n", tmp_path)

    (note,) = found.notes
    assert note.startswith(
        f"NUMBERS_AS_TEXT: table, n: {number} is a number of more than 400 digits"
    )


@pytest.mark.parametrize("cell", ["12B", "2026-01", "3/4", "10.0.0.1", "A1"])
def test_codes_are_no_numbers(tmp_path: Path, cell: str) -> None:
    assert not run(f"id,n\na,{cell}\nb,{cell}\nc,{cell}\n", tmp_path).notes


# Tables


@pytest.mark.parametrize(
    "text",
    [
        "time  temp (K)  press\n0.0   20.1  101.2\n1.0   20.3  101.3\n",
        "# made by a logger\n  time temp press\n 0.0 20.1 101.2\n 1.0 20.3 101.3\n\n",
        "time temp press\n0,0 20,1 101,2\n1,0 20,3 101,3\n",
        '"time" "temp" "press"\n"1" 0.0 20.1 101.2\n"2" 1.0 20.3 101.3\n',
    ],
)
def test_cells_that_blanks_part_are_a_table(tmp_path: Path, text: str) -> None:
    found = run(text, tmp_path)

    (item,) = [each for name, each in columns(found).items() if name.startswith("temp")]
    assert (item["mean"], item["count"]) == ("20.2", 2)
    assert "PARTED_BY_BLANKS" in str(found.notes)


def test_prose_is_not_parted_by_its_blanks(tmp_path: Path) -> None:
    text = "remark\nwe saw 3 birds\nthey were 4 gulls\nnone of 5 others\n"

    assert [*columns(run(text, tmp_path))] == ["remark"]


def test_headings_without_one_for_the_names_of_rows_are_completed(tmp_path: Path) -> None:
    found = columns(run('"a","b"\n"r1",1.5,2\n"r2",2.5,4\n', tmp_path))

    assert {name: item.get("mean") for name, item in found.items()} == {
        "index": None, "a": "2", "b": "3",
    }  # fmt: skip


def test_headings_alone_are_no_table(tmp_path: Path) -> None:
    assert code("id,mass [g]\n", tmp_path) == "NO_TABLE"


def test_files_that_a_system_adds_to_an_archive_are_no_tables(tmp_path: Path) -> None:
    data = archive(
        {"a.csv": "id,x\n1,2\n2,4\n", "__MACOSX/._a.csv": "\x00\x05\x16\x07", ".b.csv": "x"}
    )

    assert columns(run(data, tmp_path))["x"]["mean"] == "3"


@pytest.mark.parametrize("word", ["Total", "Mean", "Summe:", "SD"])
def test_a_row_that_sums_up_others_is_noted(tmp_path: Path, word: str) -> None:
    (note,) = run(f"id,mass [g]\nA,1\nB,2\nC,3\n{word},6\n", tmp_path).notes

    assert note.startswith(f"SUMMARY_ROWS: table, id: {word} seems to sum up other rows")


def test_a_column_of_statistics_is_no_row_that_sums_up_others(tmp_path: Path) -> None:
    assert not run("statistic,mass [g]\nMean,1\nSD,2\nMedian,3\n", tmp_path).notes


def test_a_row_of_a_sheet_whose_last_cells_are_empty_is_one(tmp_path: Path) -> None:
    rows: list[Row] = [("id", "mass [g]"), (1, 2), (2, None), (3, 4), (4, None), ("a remark", None)]

    found = run(book(rows), tmp_path)

    item = columns(found)["mass [g]"]
    assert (item["count"], item["missing"], item["mean"]) == (2, 2, "3")
    assert [fault[2] for fault in faults(found)] == ["ROW_LENGTH"]


def test_hidden_rows_of_a_sheet_are_noted(tmp_path: Path) -> None:
    rows: list[Row] = [("id", "mass [g]"), (1, 2), (2, 3), (3, 4)]
    whole = BytesIO(book(rows))
    changed = BytesIO()
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, part.replace(b'<row r="3"', b'<row r="3" hidden="1"'))

    found = run(changed.getvalue(), tmp_path)

    assert "HIDDEN_ROWS: 1 rows of the sheet" in str(found.notes)
    assert columns(found)["mass [g]"]["count"] == 3


def test_a_line_without_end_is_not_parted_by_blanks(tmp_path: Path) -> None:
    assert code(f'id,a\n1,"{"x " * 700_000}"\n2,3\n', tmp_path) == "ITEM_TOO_LARGE"


def test_numbers_that_blanks_part_are_research_data_and_a_printed_account_is_none(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.txt"
    path.write_text("time temp press\n" + "".join(f" {at}.0 20.{at} 101.2\n" for at in range(6)))
    account = tmp_path / "account.txt"
    account.write_text(
        "".join(f"0{at}.03.2026  Rent house {at}   -87,1{at}\n" for at in range(1, 7))
    )

    found = detect(Content.of(path, name=path.name))

    assert found is not None
    assert found.confidence > statement(Content.of(path, name=path.name)).confidence
    assert detect(Content.of(account, name=account.name)) is None
