"""What tables of weather services, surveys and field trials taught: where they belong, and what rows say of columns."""

from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.experiments.detection import detect as is_data
from stateward.pipelines.experiments.schema import heading_unit, infer
from stateward.pipelines.experiments.settings import ExperimentSettings
from stateward.pipelines.experiments.source import read_dataset
from stateward.pipelines.statements.detection import detect as is_statement

STATIONS = "ID;DAY;FX;FM;RSK;TMK;TXK;TNK;eor\n" + "".join(
    f"3032;2024112{day};14.{day};1.4;7.8;-1.{day};0.4;-2.4;eor\n" for day in range(10)
)
LOGGER = "Run,Day,P1,P2,P3,T1,T2,Mark\n" + "".join(
    f"7,2026-03-1{day},99{day}.41,10.{day},3.{day},-4.2,6.{day},valid\n" for day in range(10)
)
ACCOUNT = "Datum;Text;Betrag;Saldo\n" + "".join(
    f"1{day}.03.2026;Einkauf {day};-1{day},00;{900 - day},00\n" for day in range(9)
)
BARE_ACCOUNT = "".join(
    f"2026010{day},471{day},100200300,-1{day}.50,98{day}.50,540{day},0,EUR\n" for day in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (STATIONS, True),
        (LOGGER, True),
        (ACCOUNT, False),
        (BARE_ACCOUNT, False),
        (BARE_ACCOUNT.replace(",EUR", ",S"), False),
    ],
)
def test_a_table_of_many_signed_numbers_without_words_is_no_account(
    tmp_path: Path, text: str, is_told: bool
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    content = Content.of(path, name=path.name)

    found = is_data(content)

    assert found is not None
    assert (found.confidence > is_statement(content).confidence) is is_told


def dataset(folder: Path, text: str) -> tuple[dict[str, str], int, str]:
    """The units of the columns, how many rows there are, and the notes."""
    path = folder / "data.csv"
    path.write_text(text)
    (table,) = read_dataset(
        path, name=path.name, scratch=folder, settings=ExperimentSettings()
    ).tables
    return table.units, len(table.rows), " ".join(table.notes)


def test_questions_below_the_headings_of_a_survey_are_no_answers(tmp_path: Path) -> None:
    text = (
        "Start,Q1,Q2,Q3_far\n"
        'Start Date,What is your age (years)?,How do you travel?,"How far is it (km, one way)?"\n'
        '"{""ImportId"":""start""}","{""ImportId"":""Q1""}","{""ImportId"":""Q2""}","{""ImportId"":""Q3""}"\n'
        + "".join(f"2026-03-0{day} 09:00:00,3{day},Car,{day}.5\n" for day in range(1, 8))
    )

    units, rows, notes = dataset(tmp_path, text)

    assert (units, rows) == ({"Q1": "years", "Q3_far": "km"}, 7)
    assert "LABELS_ROW: 2 rows" in notes


def test_labels_of_a_second_language_are_no_data_and_a_row_with_one_wrong_cell_is(
    tmp_path: Path,
) -> None:
    rows = "".join(f"{day},4{day}\n" for day in range(1, 8))

    assert dataset(tmp_path, f"time,temp\nZeit,Temperatur\n{rows}")[1] == 7
    assert dataset(tmp_path, f"time,temp\n1,broken\n{rows}")[1] == 8


def test_a_formula_below_a_heading_is_a_method_and_no_unit(tmp_path: Path) -> None:
    rows = "".join(f"R{day},5.{day},1{day}\n" for day in range(1, 8))

    assert dataset(tmp_path, f"plot,pH,SOC\n,(CaCl2),(g/kg)\n{rows}")[0] == {
        "pH": "",
        "SOC": "g/kg",
    }


@pytest.mark.parametrize(
    ("heading", "unit"),
    [("Duration (in seconds)", "seconds"), ("Length (unit: mm)", "mm"), ("Note (see below)", "")],
)
def test_a_heading_may_say_in_what_it_counts(heading: str, unit: str) -> None:
    assert heading_unit(heading)[1] == unit


def test_eight_digits_that_are_all_days_are_days() -> None:
    def type_of(*cells: str) -> str:
        return infer(("MESS_DATUM",), (cells,), ("",)).fields[0].type

    assert type_of("20241130", "20241201", "20241202") == "date"
    assert type_of("20241130", "20241131", "20241132") == "integer"
