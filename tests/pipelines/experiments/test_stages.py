"""Tables as people submit them: what fits, what is a fault, and what is refused."""

import json
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from lab.documents.experiments.samples import archive, samples
from stateward.core.model import Fields, Json
from stateward.pipelines.experiments.evaluate import RUNNERS
from stateward.pipelines.experiments.schema import heading_unit
from stateward.pipelines.kit.evaluation import StagesRun, run_stages

PENGUINS = """species,bill_length_mm,Body Mass (g),sex,year
Adelie,39.1,3750,male,2007
Adelie,39.5,3800,female,2007
Adelie,NA,NA,NA,2007
Gentoo,46.1,4500,female,2008
Gentoo,50.0,5700,male,2008
"""


def run(
    data: str | bytes, tmp_path: Path, labels: Fields | None = None, **options: Json
) -> StagesRun:
    path = tmp_path / "document"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    given: Fields = {"filename": "table.csv", **(labels or {})}
    return run_stages(path, RUNNERS, now=lambda: 0, labels=given, options=options)


def columns(found: StagesRun) -> dict[str, Fields]:
    assert found.failure is None, found.failure
    return {str(item["column"]): item for item in found.items("process")}


def points(found: StagesRun) -> list[Fields]:
    assert found.failure is None, found.failure
    return list(found.items("validate"))


def faults(found: StagesRun) -> list[tuple[str, ...]]:
    """(row, column, code) of each."""
    lines = found.files.get("validate/faults.csv", b"\n").decode().splitlines()[1:]
    return [tuple(line.split(",")[at] for at in (1, 3, 4)) for line in lines]


def code(data: str | bytes, tmp_path: Path, labels: Fields | None = None, **options: Json) -> str:
    failure = run(data, tmp_path, labels, **options).failure
    assert failure is not None
    assert not failure.is_retryable
    return failure.code


def package(table: str, schema: Json, **further: Json) -> bytes:
    resource = {"name": "t", "path": "t.csv", "schema": schema, **further}
    return archive({"datapackage.json": json.dumps({"resources": [resource]}), "t.csv": table})


# Inferred schemas


def test_types_units_and_missing_values_are_inferred(tmp_path: Path) -> None:
    found = columns(run(PENGUINS, tmp_path))

    assert {name: item["type"] for name, item in found.items()} == {
        "species": "string", "bill_length_mm": "number", "Body Mass (g)": "integer", "sex": "string",
        "year": "integer",
    }  # fmt: skip
    assert (found["bill_length_mm"]["unit"], found["Body Mass (g)"]["unit"]) == ("mm", "g")
    assert [found[name]["missing"] for name in ("bill_length_mm", "sex", "year")] == [1, 1, 0]
    assert found["bill_length_mm"]["mean"] == "43.675"
    assert found["sex"]["distinct"] == 2


@pytest.mark.parametrize(
    ("heading", "name", "unit"),
    [
        ("mass [kg]", "mass", "kg"), ("Culmen Length (mm)", "Culmen Length", "mm"),
        ("pressure / kPa", "pressure", "kPa"),
        ("Delta 15 N (o/oo)", "Delta 15 N", "o/oo"), ("flipper_length_mm", "flipper_length", "mm"),
        ("speed [m s-1]", "speed", "m s-1"), ("island", "island", ""), ("sample_id", "sample_id", ""),
        ("Comments (see the notes)", "Comments (see the notes)", ""),
        ("dose_mg_per_kg", "dose", "mg/kg"), ("weight/g", "weight", "g"), ("T/K", "T", "K"),
        ("chl_a", "chl_a", ""), ("trial_n", "trial_n", ""), ("current_A", "current", "A"),
        ("counts/s", "counts/s", ""), ("km/h", "km/h", ""), ("Flow l/h", "Flow l/h", ""), ("price/kg", "price/kg", ""),
    ],
)  # fmt: skip
def test_a_unit_in_a_heading_is_found(heading: str, name: str, unit: str) -> None:
    assert heading_unit(heading) == (name, unit)


def test_a_word_among_numbers_is_a_fault_with_row_and_column(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n / 4}\n" for n in range(1, 31))
    data = "n,value [V]\n" + rows.replace("7,1.75", "7,broken")

    found = run(data, tmp_path)

    assert faults(found) == [("7", "value [V]", "BAD_VALUE")]
    assert len(points(found)) == 29
    assert found.notes[0].startswith("FAULTY_ROWS: 1 of 30 rows of table")
    assert [point["where"] for point in points(found)][6] == {"row": 8, "line": 9}


def test_a_column_of_words_and_numbers_is_text(tmp_path: Path) -> None:
    found = run("code\n" + "\n".join(["A1", "17", "18", "B2"] * 5), tmp_path)

    assert columns(found)["code"]["type"] == "string"
    assert faults(found) == []


def test_a_decimal_comma_is_read_by_its_column(tmp_path: Path) -> None:
    found = run("a;b\n1,5;2\n2,25;3\n3;4\n", tmp_path)

    assert [point["values"]["a"] for point in points(found)] == ["1.5", "2.25", "3"]  # type: ignore[index, call-overload]


def test_ragged_rows_are_left_out_and_named(tmp_path: Path) -> None:
    found = run("a,b\n1,2\n3\n4,5,6\n7,8\n", tmp_path)

    assert faults(found) == [("2", "", "ROW_LENGTH"), ("3", "", "ROW_LENGTH")]
    assert len(points(found)) == 2


def test_numbers_without_a_heading_get_one_and_a_note(tmp_path: Path) -> None:
    found = run("10000001\n10000003\n10000002\n", tmp_path)

    assert columns(found)["column_1"]["standard_deviation"] == "1"
    assert [note.partition(":")[0] for note in found.notes] == ["NO_HEADER"]


def test_other_encodings_are_read_and_said(tmp_path: Path) -> None:
    text = "Größe;Gewicht [kg]\nkörnig;1\nmäßig;2\nübel;3\n"

    utf16 = run(text.encode("utf-16"), tmp_path)
    western = run(text.encode("cp1252"), tmp_path)

    assert set(columns(utf16)) == set(columns(western)) == {"Größe", "Gewicht [kg]"}
    assert [note.partition(":")[0] for note in western.notes] == ["ENCODING_GUESSED"]


def test_what_an_instrument_writes_above_its_table_is_left_out_and_noted(tmp_path: Path) -> None:
    data = (
        "Spectrometer;AB-7;\nOperator;Ann;\n\nwavelength;intensity;flag\nnm;counts;-\n"
        + "".join(f"{400 + n};{n},5;0\n" for n in range(12))
    )

    found = run(data, tmp_path)

    items = columns(found)
    assert [note.partition(":")[0] for note in found.notes] == ["PREAMBLE_SKIPPED", "UNITS_ROW"]
    assert {name: (item["type"], item["unit"]) for name, item in items.items()} == {
        "wavelength": ("integer", "nm"), "intensity": ("number", "counts"), "flag": ("integer", ""),
    }  # fmt: skip
    assert items["wavelength"]["mean"] == "405.5"


def test_a_heading_with_a_gap_is_no_preamble_and_refused(tmp_path: Path) -> None:
    assert code("id,,age\n1101,John,30\n1102,Julie,26\n", tmp_path) == "BAD_HEADER"


def test_a_heading_that_comes_again_is_numbered_and_noted(tmp_path: Path) -> None:
    found = run("decade,age,male,female,male\n1900,113,1,2,0.25\n1910,103,3,4,0.75\n", tmp_path)

    assert {name: item["mean"] for name, item in columns(found).items() if "male" in name} == {
        "male": "2", "female": "3", "male (2)": "0.5",
    }  # fmt: skip
    assert [note.partition(":")[0] for note in found.notes] == ["HEADING_NUMBERED"]


def test_a_row_in_which_most_headings_come_again_is_refused(tmp_path: Path) -> None:
    assert code("q,response,response,response\n1,2,3,4\n2,3,4,5\n", tmp_path) == "BAD_HEADER"


def test_a_spreadsheet_that_is_no_xlsx_is_refused_as_one(tmp_path: Path) -> None:
    assert code(archive({"xl/workbook.bin": "x"}), tmp_path) == "UNSUPPORTED_FORMAT"


def test_comments_are_left_out_and_the_last_may_be_the_heading(tmp_path: Path) -> None:
    data = "# made by a script\n# t,x\n0,1.5\n1,2.5\n# restarted\n2,3.5\n"

    found = run(data, tmp_path)

    assert {name: item["count"] for name, item in columns(found).items()} == {"t": 3, "x": 3}
    assert [note.partition(":")[0] for note in found.notes] == ["PREAMBLE_SKIPPED"]


def test_an_index_without_a_heading_gets_one(tmp_path: Path) -> None:
    found = run(
        '"","mpg","cyl"\n"Mazda RX4",21,6\n"Datsun 710",22.8,4\n"Fiat 128",32.4,4\n', tmp_path
    )

    assert list(columns(found)) == ["index", "mpg", "cyl"]
    assert found.notes == []


def test_a_comma_at_the_end_of_every_line_is_no_column(tmp_path: Path) -> None:
    found = run("a,b,\n1,2,\n3,4,\n5,6\n", tmp_path)

    assert list(columns(found)) == ["a", "b"]
    assert len(points(found)) == 3


def test_words_above_numbers_are_no_units_if_numbers_stand_there_too(tmp_path: Path) -> None:
    found = run("name,v\na,1\nb,2\nc,3\nd,4\ne,5\n", tmp_path)

    assert len(points(found)) == 5
    assert found.notes == []


# Submitted schemas


def test_every_constraint_is_checked(tmp_path: Path) -> None:
    schema: Json = {
        "fields": [
            {"name": "id", "type": "integer", "constraints": {"required": True, "unique": True}},
            {"name": "kind", "constraints": {"enum": ["a", "b"]}},
            {"name": "mass", "type": "number", "constraints": {"minimum": 0, "maximum": "9.5"}},
            {"name": "code", "constraints": {"pattern": "[A-Z]{2}", "maxLength": 2}},
            {"name": "day", "type": "date", "constraints": {"minimum": "2026-01-01"}},
        ],
        "missingValues": ["", "-99"],
    }
    table = """id,kind,mass,code,day
1,a,1.5,AB,2026-02-01
1,a,1.5,AB,2026-02-01
,a,1,AB,2026-02-01
4,c,1,AB,2026-02-01
5,b,-1,AB,2026-02-01
6,b,9.51,AB,2026-02-01
7,b,9.5,abc,2026-02-01
8,b,-99,AB,2025-12-31
9,b,-99,,
10,b,NA,AB,2026-02-30
"""

    found = run(package(table, schema), tmp_path)

    assert faults(found) == [
        ("2", "id", "DUPLICATE"), ("3", "id", "REQUIRED_VALUE"), ("4", "kind", "CONSTRAINT"),
        ("5", "mass", "CONSTRAINT"), ("6", "mass", "CONSTRAINT"), ("7", "code", "CONSTRAINT"),
        ("8", "day", "CONSTRAINT"), ("10", "mass", "BAD_VALUE"), ("10", "day", "BAD_VALUE"),
    ]  # fmt: skip
    assert [point["where"]["row"] for point in points(found)] == [1, 9]  # type: ignore[index, call-overload]


def test_types_have_their_formats(tmp_path: Path) -> None:
    schema: Json = {
        "fields": [
            {"name": "n", "type": "number", "decimalChar": ",", "groupChar": "."},
            {"name": "d", "type": "date", "format": "%d.%m.%Y"},
            {"name": "b", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
            {"name": "t", "type": "time"},
            {"name": "y", "type": "year"},
            {"name": "m", "type": "yearmonth"},
            {"name": "p", "type": "number", "bareNumber": False},
        ]
    }
    table = "n;d;b;t;y;m;p\n1.234,5;31.12.2025;ja;08:30:00;2025;2025-12;95%\n"

    found = run(package(table, schema, dialect={"delimiter": ";"}), tmp_path)

    ((point),) = points(found)
    assert point["values"] == {
        "n": "1234.5", "d": "2025-12-31", "b": "true", "t": "08:30:00", "y": "2025", "m": "2025-12",
        "p": "95",
    }  # fmt: skip


def test_what_a_schema_asks_for_and_is_not_checked_is_noted(tmp_path: Path) -> None:
    schema: Json = {
        "fields": [{"name": "a", "type": "geopoint"}],
        "foreignKeys": [{"fields": "a", "reference": {"resource": "b", "fields": "a"}}],
    }

    found = run(package("a\n1\n2\n", schema), tmp_path)

    assert found.notes == ["SCHEMA_NOT_CHECKED: t: foreign keys; the type 'geopoint' of 'a'"]


def test_a_schema_may_stand_beside_a_table_in_an_archive(tmp_path: Path) -> None:
    schema = {"fields": [{"name": "a", "type": "integer"}, {"name": "b", "type": "integer"}]}
    data = archive({"x/t.csv": "b,a\n1,2\nx,3\n", "x/t.schema.json": json.dumps(schema)})

    found = run(data, tmp_path)

    assert faults(found) == [("2", "b", "BAD_VALUE")]
    assert len(points(found)) == 1


def test_several_tables_are_one_dataset(tmp_path: Path) -> None:
    found = run(archive({"a.csv": "x,y\n1,2\n2,3\n", "b.csv": "x,z\n5,6\n6,7\n"}), tmp_path)

    assert [(point["table"]) for point in points(found)] == ["a", "a", "b", "b"]
    assert {"process/data-1.csv", "process/data-2.csv"} <= set(found.files)


# What is made of them


def test_a_clean_copy_with_schema_statistics_and_provenance_is_made(tmp_path: Path) -> None:
    found = run("a [m];b\n1,50;x\n2,25;NA\n3;y\n", tmp_path)

    described = json.loads(found.files["process/datapackage.json"])["resources"][0]
    provenance = json.loads(found.files["process/provenance.json"])
    assert found.files["process/data.csv"] == b"a [m],b\n1.50,x\n2.25,\n3,y\n"
    assert described["schema"]["fields"] == [
        {"name": "a [m]", "type": "number", "unit": "m"}, {"name": "b", "type": "string"},
    ]  # fmt: skip
    assert provenance["tables"] == [{"name": "table", "rows": 3, "valid": 3, "schema": "inferred"}]
    assert provenance["document"].startswith("sha256:")
    assert b"<svg" in found.files["process/histogram-a-m.svg"]


def test_a_regression_is_made_where_a_label_asks_for_it(tmp_path: Path) -> None:
    data = "y,x,name\n" + "".join(f"{3 + 2 * x},{x},n\n" for x in range(8))

    found = run(data, tmp_path, {"response": "y"})

    regression = json.loads(found.files["process/statistics.json"])["regression"]
    assert (regression["coefficients"], regression["r_squared"]) == (["3", "2"], "1")
    assert code(data, tmp_path, {"response": "name"}) == "UNKNOWN_COLUMN"


def test_the_same_bytes_give_the_same_files(tmp_path: Path) -> None:
    for data in samples().values():
        assert run(data, tmp_path).files == run(data, tmp_path).files


# Hostile and broken files


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "EMPTY_DOCUMENT"),
        (b"%PDF-1.7 something", "UNSUPPORTED_FORMAT"),
        (b"\x89PNG\r\n\x1a\n", "UNSUPPORTED_FORMAT"),
        (b'{"a": [1, 2],\n"b": [3, 4]}', "UNSUPPORTED_FORMAT"),
        (b"<table><tr><td>1,2</td></tr>\n</table>", "UNSUPPORTED_FORMAT"),
        (bytes(range(256)) * 8, "UNSUPPORTED_FORMAT"),
        (b"PK\x03\x04 not really", "CORRUPT_FILE"),
        (b"a,a\n1,2\n", "BAD_HEADER"),
        (b"a,,c\n1,2,3\n4,5,6\n", "BAD_HEADER"),
        (b"a,b\n", "NO_TABLE"),
    ],
)
def test_what_is_no_table_is_refused_with_a_code(
    data: bytes, expected: str, tmp_path: Path
) -> None:
    assert code(data, tmp_path) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"readme.txt": "no table"}, "NO_TABLE"),
        ({"datapackage.json": "{"}, "BAD_PACKAGE"),
        ({"datapackage.json": '{"resources": []}'}, "BAD_PACKAGE"),
        ({"datapackage.json": '{"resources": [{"path": "../../etc/passwd"}]}'}, "BAD_PACKAGE"),
        ({"datapackage.json": '{"resources": [{"data": [[1]]}]}'}, "BAD_PACKAGE"),
        ({"t.csv": "a\n1\n", "schema.json": '{"fields": [{"type": "number"}]}'}, "BAD_SCHEMA"),
        ({"t.csv": "a\n1\n", "schema.json": '{"fields": [{"name": "b"}]}'}, "BAD_HEADER"),
    ],
)
def test_an_archive_that_is_wrong_is_refused_with_a_code(
    files: dict[str, str | bytes], expected: str, tmp_path: Path
) -> None:
    assert code(archive(files), tmp_path) == expected


def test_a_pattern_that_would_take_for_ever_is_refused(tmp_path: Path) -> None:
    for pattern in ("(a+)+$", "(a*)*b", "(", "x" * 1000):
        schema: Json = {"fields": [{"name": "a", "constraints": {"pattern": pattern}}]}
        assert code(package("a\n" + "a" * 40 + "\n", schema), tmp_path) == "BAD_SCHEMA"


def test_a_number_of_a_thousand_digits_is_a_fault(tmp_path: Path) -> None:
    schema: Json = {"fields": [{"name": "a", "type": "number"}]}

    found = run(package("a\n1e4000\n1\nNaN\nINF\n2\n", schema), tmp_path)

    assert [row for row, _, _ in faults(found)] == ["1", "3", "4"]


def test_an_archive_that_inflates_too_far_is_refused(tmp_path: Path) -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("t.csv", b"a\n" + b"1\n" * 8_000_000)

    assert code(out.getvalue(), tmp_path) == "HOSTILE_FILE"


def test_limits_name_their_setting(tmp_path: Path) -> None:
    failure = run("a\n1\n2\n3\n", tmp_path, rows_max=2).failure

    assert failure is not None
    assert failure.code == "TOO_MANY_ROWS"
    assert "experiments.rows_max" in failure.message
    assert code("a,b,c\n1,2,3\n", tmp_path, columns_max=2) == "BAD_HEADER"


def test_a_quote_that_is_never_closed_swallows_nothing_in_silence(tmp_path: Path) -> None:
    data = 'a,b,c\n1,"x,2\n' + "".join(f"{n},y,{n}\n" for n in range(2, 40))

    found = run(data, tmp_path)

    assert found.notes
    assert len(points(found)) + len({row for row, _, _ in faults(found) if row != "0"}) >= 38


def test_a_number_of_nines_far_outside_of_the_others_is_noted_and_two_dashes_are_missing(
    tmp_path: Path,
) -> None:
    found = run("t,u,n\n0,20.1,9\n1,-9999,999\n2,20.3,998\n3,--,997\n", tmp_path)

    assert columns(found)["u"]["missing"] == 1
    (note,) = found.notes
    assert note.startswith("SENTINEL_VALUE: table, u: -9999 in 1 rows")
    assert note.endswith("name it in experiments.missing_values")


def test_the_note_on_a_number_of_nines_names_the_schema_where_the_file_has_one(
    tmp_path: Path,
) -> None:
    schema: Json = {"fields": [{"name": "t", "type": "integer"}, {"name": "u", "type": "number"}]}

    found = run(package("t,u\n0,20.1\n1,-9999\n2,20.3\n", schema), tmp_path)

    (note,) = found.notes
    assert note.endswith("name it in missingValues of the schema")


@pytest.mark.parametrize("sentinel", ["-999", "-9999"])
def test_the_only_negative_number_of_nines_is_noted(tmp_path: Path, sentinel: str) -> None:
    found = run(f"t,level\n0,212\n1,{sentinel}\n2,219\n".encode(), tmp_path)

    (note,) = found.notes
    assert note.startswith(f"SENTINEL_VALUE: table, level: {sentinel} in 1 rows")


@pytest.mark.parametrize("word", ["lost", "<0.5"])
def test_numbers_that_are_texts_because_of_a_few_cells_are_noted(tmp_path: Path, word: str) -> None:
    found = run(f"id,alt\na,31\nb,28\nc,{word}\n".encode(), tmp_path)

    (note,) = found.notes
    assert note.startswith(
        f"NUMBERS_AS_TEXT: table, alt: 2 of 3 values are numbers, others are not ('{word}')"
    )


def test_numbers_that_are_texts_because_of_two_decimal_signs_are_noted(tmp_path: Path) -> None:
    found = run(b"id;alt\na;1,5\nb;2,5\nc;3.5\nd;4\n", tmp_path)

    (note,) = found.notes
    assert note.startswith("NUMBERS_AS_TEXT: table, alt: 3.5 has a point and 1,5 a comma")


def test_names_and_values_above_a_table_may_be_more_lines_than_the_table_has(
    tmp_path: Path,
) -> None:
    above = "".join(f"Setting {at},{at}\n" for at in range(7))

    found = run(f"{above}\n,1,2,3\nA,0.05,0.11,0.45\nB,0.06,0.12,0.46\n", tmp_path)

    assert columns(found)["3"]["mean"] == "0.455"
    assert [note.partition(":")[0] for note in found.notes] == ["PREAMBLE_SKIPPED"]


@pytest.mark.parametrize(
    "odd", ["3,2.7,2.8,x", "Total,2,5.1,mV,mean,2.55", "a,b,c,d,e,f\ng,h,i,j,k,l"]
)
@pytest.mark.parametrize("rows", [2, 4])
def test_torn_rows_of_a_small_table_of_two_columns_do_not_hide_the_others(
    tmp_path: Path, odd: str, rows: int
) -> None:
    good = "".join(f"{at},2.{at}\n" for at in range(rows))

    found = run(f"time,mV\n{good}{odd}\n", tmp_path)

    assert len(points(found)) == rows
    assert {fault[2] for fault in faults(found)} == {"ROW_LENGTH"}


def test_notes_on_rows_stay_where_statistics_have_notes_of_their_own(tmp_path: Path) -> None:
    rows = "\n".join(f"P{at},{at + 20},3.{at}" for at in range(9))

    found = run(f"plant,age,mass\n{rows}\nP9,421,n.d.\nP10,25,3.2,lost label\n", tmp_path)

    codes = [note.partition(":")[0] for note in found.notes]
    assert codes == ["FAULTY_ROWS", "OUTLIER"]
    assert columns(found)["mass"]["missing"] == 1
