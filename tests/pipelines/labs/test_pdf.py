"""Reports of many countries are read row by row, and nothing that looks like a row is lost."""

from pathlib import Path

import pytest

from lab.documents.lab_pdfs import sealed, unseen, varied  # noqa: F401 - they register their layouts
from lab.documents.lab_pdfs.laboratories import LABORATORIES, Laboratory
from lab.documents.lab_pdfs.laboratories import draw as draw_laboratory
from lab.documents.lab_pdfs.registry import GROUPS
from lab.documents.labs import LAYOUTS, draw_report
from lab.documents.statements.paper import A4, LETTER, Paper
from stateward.pipelines.labs.evaluate import judge_report
from stateward.workers.sdk import Completed
from tests.pipelines.labs.printing import plain_pdf, read, read_plain, table
from tests.pipelines.labs.reading import normalized, parsed, results
from tests.pipelines.two_stages import rows_of


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_row_of_a_report_is_exact(tmp_path: Path, name: str) -> None:
    report = draw_report(name)
    path = tmp_path / "report.pdf"
    path.write_bytes(report.pdf)

    judged = judge_report(path, name, report.truth, now=lambda: 0)

    assert judged.wrong == ()
    assert judged.score.exact == 1


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("metropolis", 16),  # a colon before each value, and ALT, which is also a word for high
        ("viollier", 11),  # flags in words
        ("two-halves", 49),  # a titre, whose range stands where units do
        ("cerba-fr", 17),  # an asterisk behind the dots that lead to the value
        ("sonic-cumulative", 5057),  # one unit for three dates
        ("srl", 5111),  # a page with one row, whose name slipped into another column
        ("thyrocare", 1),  # the range on a line below
        ("helix-no", 20),  # the flag of a titre where units stand
        ("athena-portal", 3),  # flags in a column of states
        ("sabin", 4),  # a count in per cent and per volume in one row, and limits in words
        ("risch", 10),  # plus and minus apart from the value, which were taken for its sign
        ("aarogyam", 1),  # the range below the words that announce it
        ("ice", 2),  # a known test in an unknown unit, without headings and range
        ("urgent-care", 13),  # words as values and as ranges
    ],
)
def test_what_other_layouts_taught_stays_learned(tmp_path: Path, name: str, seed: int) -> None:
    (own,) = (each for group in GROUPS.values() for each in group if each.name == name)
    assert_exact(tmp_path, own, seed=seed)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("own", LABORATORIES, ids=lambda each: each.name)
def test_every_row_of_a_drawn_report_is_exact(tmp_path: Path, own: Laboratory) -> None:
    assert_exact(tmp_path, own, seed=7)


def assert_exact(folder: Path, own: Laboratory, *, seed: int) -> None:
    pdf, truth = draw_laboratory(own, seed)
    path = folder / "report.pdf"
    path.write_bytes(pdf)

    judged = judge_report(path, own.name, truth, now=lambda: 0)

    assert judged.wrong == ()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", GROUPS["varied"], ids=lambda each: each.name)
def test_a_structure_of_its_own_is_read_or_noticed(tmp_path: Path, own: Laboratory) -> None:
    pdf, truth = draw_laboratory(own, 4)
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf)

    judged = judge_report(path, own.name, truth, now=lambda: 0)

    assert judged.score.wrong_in_silence == 0
    # A row a date is flagged as a whole; of a culture, the organism is given beside its antibiotics.
    assert judged.wrong == () or own.name in ("flowsheet", "antibiogram")


def test_words_that_stand_only_beside_values_out_of_range_are_their_flags(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sodium"), (250, "150"), (340, "mmol/L"), (430, "136-145"), (520, "zu viel")),
        ((50, "Potassium"), (250, "4.1"), (340, "mmol/L"), (430, "3.5-5.1")),
        ((50, "Chloride"), (250, "91"), (340, "mmol/L"), (430, "98-107"), (520, "zu wenig")),
    )

    assert [each["printed"].get("flag", "") for each in found] == ["zu viel", "", "zu wenig"]
    assert not any(each.get("problems") for each in found)


def test_a_text_that_is_in_no_field_is_a_remark_and_its_row_is_flagged(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sodium"), (250, "140"), (340, "mmol/L"), (430, "136-145"), (520, "7.2")),
        ((50, "Potassium"), (250, "4.1"), (340, "mmol/L"), (430, "3.5-5.1")),
    )

    assert found[0]["problems"] == ["CELL_UNREAD"]
    assert found[0]["comment"] == "7.2"
    assert not found[1].get("problems")


def test_a_flag_that_is_not_known_is_given_as_printed(tmp_path: Path) -> None:
    heading = ("Test", "Result", "Flag", "Reference Range")
    pdf = table(("Sodium", "150", "sehr seltsam", "136-145"), heading=heading)

    (found,) = results(tmp_path, pdf)

    assert found["printed"]["flag"] == "sehr seltsam"
    assert "FLAG_UNREAD" in found["problems"]


def test_a_line_that_became_no_row_is_given_as_one_that_could_not_be_read(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sodium"), (250, "140"), (340, "mmol/L"), (430, "136-145")),
        ((50, "Weiteres: Kreatinin 0,9 mg/dl, GOT 17 U/l und erhöht"),),
    )

    assert found[1]["problems"][0] == "ROW_UNREAD"
    assert found[1]["where"]["page"] == 1


def test_a_marked_row_of_a_report_without_headings_is_read_and_an_odd_one_flagged(
    tmp_path: Path,
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sodium"), (300, "140"), (340, "mmol/L"), (430, "(136-145)")),
        ((50, "Potassium"), (260, "*"), (300, "6.1"), (340, "mmol/L"), (430, "(3.5-5.1)")),
        ((50, "Chloride"), (200, "again"), (300, "101"), (340, "mmol/L"), (430, "(98-107)")),
    )

    assert [(each["test"], each["printed"].get("flag", "")) for each in found[:2]] == [
        ("Sodium", ""),
        ("Potassium", "*"),
    ]
    assert "ROW_UNREAD" in found[2]["problems"]


@pytest.mark.parametrize(
    ("label", "collected"), [("Collected:", "2026-03-09"), ("Fecha de toma:", "2026-09-03")]
)
def test_day_or_month_first_is_undecided_by_letter_paper_alone(
    tmp_path: Path, label: str, collected: str
) -> None:
    found = read_plain(
        tmp_path,
        ((50, f"{label} 03/09/2026"),),
        ((50, "Sodium"), (300, "140"), (340, "mmol/L"), (430, "(136-145)")),
        size=LETTER,
    )

    assert found[0]["collected"] == collected


def test_words_below_a_number_are_no_part_of_it(tmp_path: Path) -> None:
    found = read(
        tmp_path, ("Sodium", "140", "mmol/L", "136-145"), ("", "*** End Of Report ***", "", "")
    )

    assert [each["printed"]["value"] for each in found] == ["140"]


def test_a_sign_apart_from_a_number_is_a_flag_unless_its_range_goes_below_zero(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path, ("Sodium", "- 131", "mmol/L", "136-145"), ("Base excess", "- 3", "mmol/L", "-2 - 3")
    )  # fmt: skip

    assert [each["value"] for each in found] == ["131", "-3"]
    assert [each["printed"].get("flag", "") for each in found] == ["-", ""]


def test_a_result_has_its_place_on_the_page(tmp_path: Path) -> None:
    (found,) = read(tmp_path, ("Sodium", "140", "mmol/L", "136-145"))

    page, box = found["where"]["page"], found["where"]["box"]
    assert (page, round(box[0])) == (1, 50)
    assert 120 < box[1] < box[3] < 145


def test_a_value_that_cannot_be_read_is_flagged_with_what_is_printed(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        ("Sodium", "140", "mmol/L", "136-145"),
        ("Potassium", "4.1.2", "mmol/L", "3.5-5.1"),
    )

    assert found[1]["printed"]["value"] == "4.1.2"
    assert "VALUE_UNREAD" in found[1]["problems"]


def test_a_value_without_a_name_is_flagged_and_not_dropped(tmp_path: Path) -> None:
    found = read(tmp_path, ("Sodium", "140", "mmol/L", "136-145"), ("", "4.1", "mmol/L", "3.5-5.1"))

    assert "ROW_UNREAD" in found[1]["problems"]


@pytest.mark.parametrize(
    "row",
    [
        ("AB0-Bestimmung", "A", "", ""),
        ("Urine culture", "", "", "No growth"),
        ("Potassium", "", "mmol/L", "3.5-5.1"),
        ("Blood group: A positive", "", "", ""),
    ],
)
def test_a_line_of_a_table_that_is_no_known_kind_of_result_is_flagged(
    tmp_path: Path, row: tuple[str, str, str, str]
) -> None:
    found = read(tmp_path, ("Sodium", "140", "mmol/L", "136-145"), ("URINE", "", "", ""), row)

    assert found[1]["test"] == row[0]
    assert "ROW_UNREAD" in found[1]["problems"]


@pytest.mark.parametrize(
    "row",
    [("Authorised by", "Dr P. Miller", "", ""), ("Validé par : Dr X. Exemple", "", "", "")],
)
def test_who_released_a_report_is_no_row_of_its_table(
    tmp_path: Path, row: tuple[str, str, str, str]
) -> None:
    found = read(tmp_path, ("Sodium", "140", "mmol/L", "136-145"), row)

    assert [each["test"] for each in found] == ["Sodium"]


def test_words_of_a_value_that_reach_over_the_next_columns_are_the_value(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        ("Sodium", "140", "mmol/L", "136-145"),
        ("ANA pattern", "speckled, with nuclear dots", "", ""),
    )

    assert found[1]["printed"] == {"value": "speckled, with nuclear dots"}


def test_two_headings_without_a_gap_are_two_columns(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Test"), (200, "Result"), (260, "Unit"), (330, "Biological Ref. IntervalMethod")),
        ((50, "AST"), (200, "20"), (260, "U/L"), (330, "<35"), (445, "CLIA")),
        ((50, "GGT"), (200, "40"), (260, "U/L"), (330, "<55"), (445, "ISE")),
    )

    assert [each["printed"]["range"] for each in found] == ["<35", "<55"]


def test_two_columns_of_unknown_headings_with_rising_numbers_are_limits_and_unsure(
    tmp_path: Path,
) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Test"), (200, "Result"), (260, "Unit"), (350, "Qwert"), (450, "Zuiop")),
        ((50, "Sodium"), (200, "140"), (260, "mmol/L"), (350, "136"), (450, "145")),
        ((50, "Potassium"), (200, "4.1"), (260, "mmol/L"), (350, "3.5"), (450, "5.1")),
        ((50, "Chloride"), (200, "101"), (260, "mmol/L"), (350, "98"), (450, "107")),
    )

    assert [(each["low"], each["high"]) for each in found] == [
        ("136", "145"),
        ("3.5", "5.1"),
        ("98", "107"),
    ]
    assert all(each["problems"] == ["RANGE_UNSURE"] for each in found)


def test_a_letter_is_serum_except_among_antibiotics(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Natrium"), (150, "S"), (200, "140"), (260, "mmol/l"), (350, "135 - 145")),
        ((50, "Antibiogramm"), (200, "Ergebnis"), (260, "Einheit")),
        ((50, "Ampicillin"), (200, "S")),
        ((50, "Meropenem"), (200, "R")),
        ((50, "Analyse"), (200, "Ergebnis"), (260, "Einheit")),
        ((50, "Kalium"), (200, "4,1"), (260, "mmol/l")),
        ((50, "Calcium"), (200, "S"), (260, "mmol/l")),
    )

    told = {each["test"]: each.get("value") for each in found}
    assert told["Natrium"] == "140"
    assert (told["Ampicillin"], told["Meropenem"]) == ("susceptible", "resistant")
    assert found[1]["printed"]["value"] == "S"
    assert told["Calcium"] != "susceptible"
    assert "VALUE_UNREAD" in found[-1]["problems"]


def test_a_test_may_begin_with_a_word_for_its_specimen(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        ("Sodium", "140", "mmol/L", "135 - 145"),
        ("Material", "Serum", "", ""),
        ("Sample: EDTA", "", "", ""),
        ("Sample haemolysis index", "45", "", ""),
        ("PRC (proteina C)", "Zzz", "", ""),
    )

    assert [each["test"] for each in found] == [
        "Sodium",
        "Sample haemolysis index",
        "PRC (proteina C)",
    ]


def test_a_word_as_a_value_keeps_its_plus_beside_a_flag(tmp_path: Path) -> None:
    found = read(
        tmp_path, ("Nitrite", "1+ A", "", "Negative"), ("Urine ketones", "2+ *", "", "Negative")
    )

    assert [each["printed"]["value"] for each in found] == ["1+", "2+"]
    assert [each["printed"]["flag"] for each in found] == ["A", "*"]


def test_a_damaged_number_before_its_unit_is_flagged(tmp_path: Path) -> None:
    found = read(
        tmp_path, ("Sodium", "140", "mmol/L", "136-145"), ("Ferritin", "71# ng/mL", "", "")
    )

    assert "VALUE_UNREAD" in found[1]["problems"]


def test_a_damaged_number_of_a_report_without_headings_is_flagged(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Sodium"), (300, "140 mmol/L"), (430, "[136 - 145]")),
        ((50, "Albumin"), (300, "3# g/L"), (430, "[35 - 52]")),
    )

    assert "ROW_UNREAD" in found[1]["problems"]


def test_words_below_a_damaged_number_are_no_part_of_it(tmp_path: Path) -> None:
    found = read(tmp_path, ("Sodium", "14.#", "mmol/L", "136-145"), ("", "Zzz and Yyy", "", ""))

    assert [each["printed"]["value"] for each in found] == ["14.#"]
    assert "VALUE_UNREAD" in found[0]["problems"]


def test_a_card_has_its_flag_beside_the_name_and_its_value_below(tmp_path: Path) -> None:
    found = read_plain(
        tmp_path,
        ((50, "Your Test Results"),),
        ((50, "Calcium"), (500, "High")),
        ((50, "Your value: 11.8 mg/dL"),),
        ((50, "Standard range: 8.6-10.3 mg/dL"),),
    )

    assert [(each["test"], each["value"], each["printed"]["flag"]) for each in found] == [
        ("Calcium", "11.8", "High")
    ]


def test_a_title_in_larger_print_is_no_part_of_the_row_above(tmp_path: Path) -> None:
    paper = Paper(A4)
    paper.page()
    for x, text in zip(
        (50, 150, 300, 400), ("Test", "Normal range", "Result", "Units"), strict=True
    ):
        paper.text(x, 120, text, size=9)
    for x, text in zip((50, 150, 300, 400), ("Sodium", "136-145", "140", "mmol/L"), strict=True):
        paper.text(x, 134, text, size=9)
    paper.text(160, 148, "Zzz / Yyy", size=11)
    for x, text in zip((50, 150, 300, 400), ("Potassium", "3.5-5.1", "4.1", "mmol/L"), strict=True):
        paper.text(x, 162, text, size=9)

    found = results(tmp_path, paper.pdf())

    assert [each["test"] for each in found] == ["Sodium", "Potassium"]
    assert not any(each.get("problems") for each in found)


@pytest.mark.parametrize(
    ("label", "collected", "note"),
    [
        ("Data/godz. pobrania", "2026-09-25", ""),
        ("Qwertz", "", "NO_DATE"),
        ("Date of birth", "", "NO_DATE"),
    ],
)
def test_a_report_without_a_date_of_collection_says_so(
    tmp_path: Path, label: str, collected: str, note: str
) -> None:
    pdf = plain_pdf(
        ((50, f"{label}: 25.09.2026"),),
        ((50, "Sodium"), (300, "140"), (340, "mmol/L"), (430, "(136-145)")),
    )

    result = parsed(tmp_path, pdf)

    assert isinstance(result, Completed)
    assert rows_of(normalized(result))[0].get("collected", "") == collected
    assert str(result.facts.get("notes", "")).strip("['").partition(":")[0] == note


@pytest.mark.parametrize(
    ("left", "right", "collected"),
    [
        ("Entnahmestelle Praxis Dr. Beispiel", "Geburtsdatum: 12.03.1961", ""),
        ("Collection centre Main Street", "DOB: 13/03/1961", ""),
        ("Collected by Nurse Joy", "Date reported: 13/03/2024", ""),
        ("Collected", "DOB: 13/03/1961", ""),
        ("Ur.: 12.03.1961", "Data/godz. pobrania: 13.03.2024 07:30", "2024-03-13T07:30:00"),
        ("Data/godz. pobrania:", "13.03.2024", "2024-03-13"),
    ],
)
def test_the_date_of_another_cell_is_not_that_of_collection(
    tmp_path: Path, left: str, right: str, collected: str
) -> None:
    (found,) = read_plain(
        tmp_path,
        ((50, left), (300, right)),
        ((50, "Sodium"), (300, "140"), (340, "mmol/L"), (430, "(136-145)")),
    )

    assert found.get("collected", "") == collected


def test_a_table_goes_on_over_pages_without_headings(tmp_path: Path) -> None:
    paper = Paper()
    for rows in (
        (("Sodium", "140", "mmol/L", "136-145"),),
        (("Potassium", "4.1", "mmol/L", "3.5-5.1"),),
    ):
        paper.page()
        lines = rows if paper.pages > 1 else (("Test", "Result", "Units", "Reference Range"), *rows)
        for at, row in enumerate(lines):
            for x, text in zip((50, 250, 340, 430), row, strict=True):
                paper.text(x, 120 + 14 * at, text)

    assert [each["test"] for each in results(tmp_path, paper.pdf())] == ["Sodium", "Potassium"]
