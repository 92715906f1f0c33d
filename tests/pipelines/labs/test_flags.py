"""A report that contradicts itself, or a part of which is not here, is flagged for a person; other doubts are notes."""

from pathlib import Path

import pytest

from stateward.core.model import Json
from stateward.workers.sdk import Completed
from tests.pipelines.labs.printing import Line, read_plain
from tests.pipelines.labs.reading import csv, hl7, normalized, parsed

SODIUM = "OBX|1|NM|2951-2^Sodium^LN||140|mmol/L|136-145|N|||F"
POTASSIUM = "OBX|2|NM|2823-3^Potassium^LN||{}|mmol/L|3.5-5.1|{}|||F"


def flags(folder: Path, data: str | bytes) -> list[Json]:
    last = normalized(parsed(folder, data))
    assert isinstance(last, Completed)
    found = last.facts.get("flags", [])
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("Potassium;4.2;mmol/L;3.5-5.1;H", ["FLAG_DISAGREES"]),
        ("Potassium;6.2;mmol/L;3.5-5.1;N", []),  # it may mean "not judged", and is noted
        ("Potassium;6.2;mmol/L;3.5-5.1;L", ["FLAG_DISAGREES"]),
        ("Potassium;6.2;mmol/L;3.5-5.1;H", []),
        ("Potassium;6.2;mmol/L;3.5-5.1;HH", []),
        ("Potassium;6.2;mmol/L;3.5-5.1;", []),  # a missing flag is only noted
        ("Potassium;6.2;mmol/L;;L", []),  # nothing denies it
        ("Potassium;5.1;mmol/L;3.5-5.1;H", []),  # at a limit both are in use
    ],
)
def test_a_printed_flag_that_value_and_range_deny_is_flagged(
    tmp_path: Path, row: str, found: list[Json]
) -> None:
    assert flags(tmp_path, csv("Sodium;150;mmol/L;136-145;H", row)) == found


@pytest.mark.parametrize(("value", "flag"), [("4.2", "H"), ("2.9", "H")])
def test_a_printed_flag_is_checked_in_messages_too(tmp_path: Path, value: str, flag: str) -> None:
    assert flags(tmp_path, hl7("OBR|1", SODIUM, POTASSIUM.format(value, flag))) == [
        "FLAG_DISAGREES"
    ]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("Hemoglobin;142;g/dL;13.0-17.0;", ["UNIT_CONTRADICTED"]),
        ("Glucose;95;mmol/L;70-99;", ["UNIT_CONTRADICTED"]),
        ("Hemoglobin;14.2;g/dL;13.0-17.0;", []),
        ("CRP;230;mg/L;0-5;", []),  # far out of its range, as people have it
    ],
)
def test_a_unit_that_contradicts_its_range_is_flagged(
    tmp_path: Path, row: str, found: list[Json]
) -> None:
    assert flags(tmp_path, csv("Sodium;140;mmol/L;136-145;", row)) == found


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("Glucose;;mg/dL;70-99;", ["NO_VALUE"]),
        ("Glucose;pending;mg/dL;70-99;", []),
        ("Basophils;-;10^3/uL;0-0.2;", []),  # not measured
        ("Chemistry;;;;", []),  # a title
    ],
)
def test_a_test_without_the_value_that_its_unit_and_range_are_of_is_flagged(
    tmp_path: Path, row: str, found: list[Json]
) -> None:
    assert flags(tmp_path, csv("Sodium;140;mmol/L;136-145;", row)) == found


@pytest.mark.parametrize(
    "kept", ["OBX|2|NM|2823-3^Pota", "OBX|2|NM|2823-3^Potassium^LN||4.", "OBX|2"]
)
def test_a_message_that_ends_inside_a_result_is_flagged(tmp_path: Path, kept: str) -> None:
    whole = hl7("OBR|1", SODIUM, SODIUM.replace("OBX|1", "OBX|9")).rstrip("\r\n")

    assert flags(tmp_path, f"{whole}\r{kept}") == ["FILE_CUT"]


@pytest.mark.parametrize("kept", ["OBX|1|NM|718-7^Hemoglobin^LN||14", f"{SODIUM}\rOB"])
def test_a_message_that_ends_inside_its_only_result_is_flagged(tmp_path: Path, kept: str) -> None:
    assert flags(tmp_path, hl7("OBR|1") + kept) == ["FILE_CUT"]


def test_a_message_whose_last_line_is_whole_needs_no_line_end(tmp_path: Path) -> None:
    whole = hl7("OBR|1", SODIUM, POTASSIUM.format("4.2", "N"))

    assert flags(tmp_path, whole.rstrip("\r\n")) == []


def test_a_message_of_short_results_is_not_cut(tmp_path: Path) -> None:
    """Some senders leave trailing fields out; the last result is then as short as the others."""
    short = "OBX|{}|NM|2951-2^Sodium^LN||140|mmol/L"

    assert flags(tmp_path, hl7("OBR|1", short.format(1), short.format(2)).rstrip("\r\n")) == []


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("Hemoglobin;8.9;g/dL;8.5 - 11.0 mmol/L;", ["UNIT_CONTRADICTED"]),
        ("Hemoglobin;14.3;g/dL;8.5 - 11.0 mmol/L;", []),  # 8.9 mmol/L
        ("Hemoglobin;5.0;mmol/L;8.5 - 11.0 mmol/L;L", []),
    ],
)
def test_a_value_that_fits_its_range_only_without_its_unit_is_flagged(
    tmp_path: Path, row: str, found: list[Json]
) -> None:
    assert flags(tmp_path, csv(row)) == found


@pytest.mark.parametrize(
    ("remark", "found"),
    [
        ("Probe deutlich hämolytisch. Kaliumwert nicht verwertbar, bitte Kontrolle.", ["SPECIMEN_DOUBTED"]),
        ("Specimen moderately hemolyzed.", ["SPECIMEN_DOUBTED"]),
        ("Échantillon coagulé", ["SPECIMEN_DOUBTED"]),
        ("Not hemolyzed, serum clear.", []),
        ("Fasting sample.", []),
        ("Hemolyzed: No", []),
        ("No evidence of specimen being hemolyzed", []),
        ("Interference: hemolyzed, lipemic and icteric specimens. Fasting.", []),
    ],
)  # fmt: skip
def test_a_value_that_its_laboratory_doubts_is_flagged(
    tmp_path: Path, remark: str, found: list[Json]
) -> None:
    doubted = hl7("OBR|1", SODIUM, POTASSIUM.format("7.9", "HH"), f"NTE|1|L|{remark}")

    assert flags(tmp_path, doubted) == found


def test_a_value_that_is_not_final_is_noted_and_one_that_was_cancelled_is_not_doubted(
    tmp_path: Path,
) -> None:
    cancelled = "OBX|3|NM|2532-0^LDH^LN|||U/L|135-225||||X"
    preliminary = POTASSIUM.format("4.2", "N")[:-1] + "P"
    last = normalized(
        parsed(tmp_path, hl7("OBR|1", SODIUM, preliminary, cancelled, "NTE|1|L|Sample hemolysed"))
    )

    assert isinstance(last, Completed)
    assert [str(each).partition(":")[0] for each in last.facts["notes"]] == [  # type: ignore[union-attr]
        "SPECIMEN_DOUBTED", "NOT_FINAL",
    ]  # fmt: skip
    assert "flags" not in last.facts or last.facts["flags"] == []


def _two_tables(*, last_flag: str) -> tuple[Line, ...]:
    """A table with a column of flags, and one below it whose headings name none."""
    return (
        ((50, "Test"), (200, "Result"), (270, "Flag"), (330, "Units"), (420, "Reference Range")),
        ((50, "Sodium"), (200, "150"), (270, "H"), (330, "mmol/L"), (420, "136 - 145")),
        ((50, "Potassium"), (200, "6.2"), (270, last_flag), (330, "mmol/L"), (420, "3.5 - 5.1")),
        ((50, "Chloride"), (200, "101"), (330, "mmol/L"), (420, "98 - 107")),
        ((50, ""),),
        ((50, "Analyte"), (250, "Value"), (330, "Unit"), (420, "Expected Range")),
        ((50, "Ferritin"), (250, "640"), (330, "ng/mL"), (420, "30 - 400")),
        ((50, "Albumin"), (250, "4.4"), (330, "g/dL"), (420, "3.5 - 5.2")),
    )


def test_a_table_that_prints_no_flags_contradicts_nothing_beside_one_that_does(
    tmp_path: Path,
) -> None:
    found = {str(each["test"]): each for each in read_plain(tmp_path, *_two_tables(last_flag="H"))}

    assert found["Ferritin"]["flag"] == "H"
    assert [name for name, each in found.items() if each.get("problems")] == []


def test_a_flag_that_is_missing_in_a_table_with_flags_is_noted(tmp_path: Path) -> None:
    found = read_plain(tmp_path, *_two_tables(last_flag=""))

    noted = [str(each["test"]) for each in found if "FLAG_DISAGREES" in each.get("problems", [])]
    assert noted == ["Potassium"]
