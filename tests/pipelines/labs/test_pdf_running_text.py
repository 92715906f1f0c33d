"""Earlier results in running text, texts to which dots lead, seconds, and counts as powers of ten."""

from decimal import Decimal
from pathlib import Path

import pytest

from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import is_earlier
from tests.pipelines.labs.printing import read, read_plain

TABLE = (
    ("Hämoglobin", "9.8", "g/dL", "11.0 - 14.0"),
    ("Thrombozyten", "512", "/nl", "150 - 450"),
    ("Kalium", "4.1", "mmol/l", "3.5 - 5.1"),
)


@pytest.mark.parametrize(
    "label",
    [
        "Vorbefunde vom 02.03.2026",
        "Previous results (2 March 2026)",
        "Resultados anteriores em 02/03/2026",
        "Résultats antérieurs du 02/03/2026",
        "Prior results",
    ],
)
def test_earlier_results_in_a_sentence_below_a_table_are_no_results(
    tmp_path: Path, label: str
) -> None:
    found = read(tmp_path, *TABLE, ("",), (f"{label}: Hb 11.2 g/dL; Kalium 5.9 mmol/l",))

    assert [(each["test"], each["value"]) for each in found] == [
        (name, value) for name, value, _, _ in TABLE
    ]


def test_a_list_of_earlier_results_may_go_on_in_the_next_line(tmp_path: Path) -> None:
    lines = (("Previous results: Hb 11.2 g/dL;",), ("Kalium 5.9 mmol/l, Natrium 131 mmol/l",))

    found = read(tmp_path, *TABLE, ("",), *lines)

    assert [each["test"] for each in found] == [name for name, _, _, _ in TABLE]


def test_results_in_a_sentence_that_says_nothing_of_earlier_ones_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, *TABLE, ("",), ("Nachtrag: Natrium 131 mmol/l; Kreatinin 0.9 mg/dl",))

    assert [each["test"] for each in found][-2:] == ["Natrium", "Kreatinin"]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("Previous results on 2 March", True),
        ("Valores anteriores", True),
        ("Earlier results (12/2025)", True),
        ("Results", False),
        ("Hb 11.2", False),
        ("", False),
    ],
)
def test_a_label_says_whether_results_are_earlier_ones(label: str, *, expected: bool) -> None:
    assert is_earlier(label) is expected


DOTS = " ............................"


def test_words_to_which_dots_lead_as_to_the_results_around_them_are_results(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, f"Turbidity{DOTS}"), (300, "Slightly cloudy")),
        ((50, f"Leukocytes{DOTS}"), (300, "680 /uL"), (440, "(< 25)")),
        ((50, f"Erythrocytes{DOTS}"), (300, "12 /uL"), (440, "(< 20)")),
        ((50, f"Casts seen{DOTS}"), (300, "Hyaline, two in all fields of view")),
        ((50, f"Yield of the plate{DOTS}"), (300, "> 10^5 CFU/mL")),
    )

    told = {each["test"]: each["printed"]["value"] for each in found}
    assert told == {
        "Turbidity": "Slightly cloudy",
        "Leukocytes": "680",
        "Erythrocytes": "12",
        "Casts seen": "Hyaline, two in all fields of view",
        "Yield of the plate": "> 10^5",
    }
    assert not [each for each in found if "VALUE_UNREAD" in each.get("problems", "")]


def test_dots_that_lead_to_a_word_far_from_any_result_are_no_result(tmp_path: Path) -> None:
    rows = [
        ((50.0, f"{name}{DOTS}"), (300.0, "12 /uL"), (440.0, "(< 20)"))
        for name in ("Leukocytes", "Erythrocytes")
    ]
    gap = [((50.0, " "),)] * 20

    found = read_plain(tmp_path, *rows, *gap, ((50, f"Signature{DOTS}"), (300, "Ann Example")))

    assert [each["test"] for each in found] == ["Leukocytes", "Erythrocytes"]


@pytest.mark.parametrize("flag", ["", "H"])
def test_a_small_s_behind_a_number_is_the_unit_of_time(tmp_path: Path, flag: str) -> None:
    line = ((50, "Prothrombin time"), (230, f"31.4 s {flag}".strip()), (340, "(9.5 - 12.5)"))

    (found,) = read_plain(tmp_path, line)

    assert (found["value"], found["unit"]) == ("31.4", "s")
    assert found["printed"].get("flag", "") == flag


@pytest.mark.parametrize(
    ("text", "comparator", "number"),
    [
        ("> 10^6", ">", "1000000"),
        ("10*4", "", "10000"),
        ("< 10³", "<", "1000"),
        (">= 1,5 x 10⁵", ">=", "150000"),
        ("2 · 10^3", "", "2000"),
    ],
)
def test_counts_are_written_as_powers_of_ten(text: str, comparator: str, number: str) -> None:
    found = read_value(text)

    assert (found.kind, found.comparator, found.number) == (
        "quantity",
        comparator,
        Decimal(number),
    )


@pytest.mark.parametrize("text", ["10", "10 5", "10-5", "105", "10 x 5"])
def test_a_ten_without_a_sign_for_its_power_is_none(text: str) -> None:
    found = read_value(text)

    assert found.number is None or found.number <= 105
