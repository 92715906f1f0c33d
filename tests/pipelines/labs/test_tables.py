"""CSV tables of results are read completely and exactly, and what is odd in them is told."""

import json
from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.labs.detection import detect
from tests.pipelines.labs.reading import csv, failure, hl7, one, parsed, results


def test_columns_of_a_table_are_found_by_their_names_in_any_order(tmp_path: Path) -> None:
    text = csv(
        "4,1;Kalium;3,5 - 5,1;mmol/l;09.03.2026 07:40",
        heading="Ergebnis;Untersuchung;Referenzbereich;Einheit;Entnahme",
    )

    found = one(tmp_path, text)

    assert (found["code"], found["value"], found["low"]) == ("2823-3", "4.1", "3.5")
    assert found["collected"] == "2026-03-09T07:40:00"


def test_a_table_with_a_column_for_each_date(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        csv("Sodium;mmol/L;140;;138", heading="Test;Units;2026-01-01;2026-01-02;2026-01-03"),
    )

    assert [(each["value"], each["collected"]) for each in found] == [
        ("140", "2026-01-01"),
        ("138", "2026-01-03"),
    ]


def test_a_comma_in_a_name_that_is_not_quoted_is_repaired_and_flagged(tmp_path: Path) -> None:
    text = "Test,Result,Units,Reference Range,Flag\nCholesterol, total,210,mg/dL,0-200,H\nSodium,140,mmol/L,136-145,\n"

    found = results(tmp_path, text)

    assert [(each["test"], each["value"]) for each in found] == [
        ("Cholesterol, total", "210"),
        ("Sodium", "140"),
    ]
    assert found[0]["problems"] == ["ROW_REPAIRED"]


def test_a_row_that_does_not_fit_is_flagged_and_given(tmp_path: Path) -> None:
    found = results(tmp_path, csv("Sodium;140;mmol/L;136-145;", "x;y;z;a;b;c;d", "Potassium"))

    assert [each.get("problems", []) for each in found][1:][0][0] == "ROW_UNREAD"
    assert found[0]["value"] == "140"


def test_days_and_months_that_cannot_be_told_apart_are_flagged(tmp_path: Path) -> None:
    text = csv("Hemoglobin;14;g/dL;05/06/2026", heading="Test;Result;Units;Collected")

    assert one(tmp_path, text)["problems"] == ["AMBIGUOUS_DATE"]
    assert results(tmp_path, text, date_order="dmy")[0]["collected"] == "2026-06-05"


def test_an_unknown_unit_is_flagged_and_kept_as_printed(tmp_path: Path) -> None:
    found = one(tmp_path, csv("Glucose;131;mg/foo;70-99;H"))

    assert (found["value"], found["unit"]) == ("131", "mg/foo")
    assert "UNKNOWN_UNIT" in found["problems"]


def test_a_unit_that_does_not_fit_its_test_is_flagged(tmp_path: Path) -> None:
    found = one(tmp_path, csv("Potassium;4.1;mm/h;3.5-5.1;"))

    assert "UNIT_MISMATCH" in found["problems"]
    assert found["unit"] == "mm/h"


def test_a_printed_flag_that_contradicts_its_range_is_flagged(tmp_path: Path) -> None:
    rows = results(
        tmp_path,
        csv(
            "Sodium;140;mmol/L;136-145;H",
            "Potassium;6.0;mmol/L;3.5-5.1;",
            "Chloride;90;mmol/L;98-107;L",
        ),
    )

    assert [("FLAG_DISAGREES" in each.get("problems", [])) for each in rows] == [True, True, False]


def test_a_missing_flag_means_nothing_where_none_is_printed(tmp_path: Path) -> None:
    assert "problems" not in one(tmp_path, csv("Potassium;6.0;mmol/L;3.5-5.1;"))


def test_value_and_limit_that_are_printed_alike_stay_alike_in_another_unit(tmp_path: Path) -> None:
    assert one(tmp_path, csv("Creatinine;84;µmol/L;45.00-84.00;"))["flag"] == "N"


def test_a_range_in_another_unit_than_its_value_is_converted_from_its_own(tmp_path: Path) -> None:
    found = one(tmp_path, csv("Glucose;7.0;mmol/L;70-99 mg/dL;H"))

    assert (found["value"], found["low"], found["high"], found["flag"]) == (
        "126.1",
        "70",
        "99",
        "H",
    )


def test_a_range_by_sex_is_kept_as_text(tmp_path: Path) -> None:
    found = one(tmp_path, csv("Hemoglobin;14;g/dL;M: 13.5-17.5 F: 12-16;"))

    assert found["range_text"] == "M: 13.5-17.5 F: 12-16"
    assert ("low" in found, found["problems"]) == (False, ["RANGE_CONDITIONAL"])


def test_a_unit_in_the_name_of_a_test_is_its_unit(tmp_path: Path) -> None:
    found = one(tmp_path, csv("Hb (g/L);101", heading="Test;Result"))

    assert (found["code"], found["value"], found["unit"]) == ("718-7", "10.1", "g/dL")
    assert found["printed"]["unit"] == "g/L"


def test_a_short_name_above_numbers_is_a_test_in_a_table_of_one_row_a_sample(
    tmp_path: Path,
) -> None:
    heading = "Patient ID;Date;BG;Sodium;Potassium;Creatinine;Comment"
    text = csv("P1;2025-03-01;5.2;140;4.1;0.9;fasting", "P1;2025-03-02;7.9;139;4.0;1.0;", heading=heading)  # fmt: skip

    found = results(tmp_path, text)

    assert [each["value"] for each in found if each["test"] == "BG"] == ["5.2", "7.9"]
    assert {each["test"] for each in found} == {"BG", "Sodium", "Potassium", "Creatinine"}


def test_a_table_without_a_column_of_units_has_them_in_its_values(tmp_path: Path) -> None:
    heading = "Fecha;Prueba;Resultado;Intervalo de referencia;Marca"
    text = csv("16/08/2026;VCM;94,4 fL;80,0 - 100,0;", "16/08/2026;AST;66 U/L;5 - 40;H", heading=heading)  # fmt: skip

    found = results(tmp_path, text)

    assert [(each["value"], each["unit"], each["printed"]["value"]) for each in found] == [
        ("94.4", "fL", "94,4"),
        ("66", "U/L", "66"),
    ]


def test_an_antibiotic_has_the_code_of_its_test_only_where_it_was_tested(tmp_path: Path) -> None:
    tested, level = results(
        tmp_path, csv("Vancomycin;<=0.5;mg/L;;S", "Vancomycin;12.1;mg/L;10-20;")
    )

    assert tested["code"] == "19000-9"
    assert level.get("code") != "19000-9"


@pytest.mark.parametrize(
    ("name", "code"), [("Blutgruppe", "882-1"), ("ABO Group", "883-9"), ("Rh Type", "10331-7")]
)
def test_blood_groups_have_codes(tmp_path: Path, name: str, code: str) -> None:
    assert one(tmp_path, csv(f"{name};positive;;;"))["code"] == code


def test_the_unit_of_a_title_is_that_of_the_tests_it_can_be_of(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        csv(
            "Electrolytes (mmol/L);;;;",
            "Sodium;140;;136-145;",
            "INR;1.1;;0.9-1.2;",
            "Albumin;41;;35-50;",
            "Na/K ratio foo;30;;20-40;",
        ),
    )

    assert [(each["test"], each["value"], each.get("unit", "")) for each in found] == [
        ("Sodium", "140", "mmol/L"),
        ("INR", "1.1", "{INR}"),
        ("Albumin", "41", ""),  # no protein is told in moles
        ("Na/K ratio foo", "30", ""),
    ]
    assert "UNIT_UNSURE" in found[2]["problems"]
    assert "UNIT_UNSURE" not in found[0].get("problems", [])


def test_the_unit_of_a_title_is_unsure_where_rows_below_it_have_others(tmp_path: Path) -> None:
    rows = ("Minerals (mmol/L);;;;", "Sodium;140;;136-145;", "Iron;95;ug/dL;60-170;")

    found = results(tmp_path, csv(*rows))

    assert (found[0]["unit"], found[0]["problems"]) == ("mmol/L", ["UNIT_UNSURE"])


def test_a_number_with_a_unit_has_no_sure_code_of_a_test_that_is_told_in_words(
    tmp_path: Path,
) -> None:
    heading = "Test;Result;Units;Specimen"
    number = one(tmp_path, csv("Nitrite;5;mg/dL", heading=heading))
    word = one(tmp_path, csv("Nitrite;negative;mg/dL", heading=heading))

    assert "CODE_UNSURE" in number["problems"]
    assert "CODE_UNSURE" not in word.get("problems", [])


WIDE = "patient_id,collection_date,Hemoglobin (g/dL),WBC,Creatinine (mg/dL),CRP (mg/L)"


def test_a_table_with_a_column_a_test_has_a_result_for_each_cell(tmp_path: Path) -> None:
    rows = (
        "Units,,,10^3/uL,,",
        "Reference range,,12-16,4-11,,",
        "S1,2026-02-26,15.5,8.5,1.01,12.0",
        "S2,2026-02-27,14.6,,1.14,<0.5",
    )

    found = results(tmp_path, csv(*rows, heading=WIDE))

    assert len(found) == 7
    assert (found[0]["code_name"], found[0]["value"], found[0]["unit"], found[0]["high"]) == (
        "hemoglobin", "15.5", "g/dL", "16",
    )  # fmt: skip
    assert (found[1]["value"], found[1]["unit"], found[1]["low"]) == ("8.5", "10*3/uL", "4")
    assert (found[6]["comparator"], found[6]["collected"]) == ("<", "2026-02-27")
    assert len({each["patient_key"] for each in found}) == 2


def test_limits_in_two_columns_are_a_range_and_a_column_of_upper_limits_may_hold_one(
    tmp_path: Path,
) -> None:
    heading = "Analyt;Ergebnis;Einheit;Ref_unten;Ref_oben"
    two = one(tmp_path, csv("Kalium;4,0;mmol/l;3,5;5,1", heading=heading))
    heading = "Parameter;Messwert;Einheit;Grenzwert"
    rows = ("Nitrat;10,9;mg/l;50,0", "pH-Wert;7,4;;6,5 - 9,5")
    upper = results(tmp_path, csv(*rows, heading=heading))

    assert (two["low"], two["high"]) == ("3.5", "5.1")
    assert [(each.get("low"), each["high"]) for each in upper] == [(None, "50.0"), ("6.5", "9.5")]


def test_a_comma_in_a_name_is_repaired_where_the_last_column_is_empty(tmp_path: Path) -> None:
    heading = "id,test,result,unit,ref_low,ref_high,flag"

    found = one(tmp_path, csv("B-77,Bilirubin, total,0.7,mg/dL,0.2,1.2,", heading=heading))

    assert (found["test"], found["value"], found["unit"]) == ("Bilirubin, total", "0.7", "mg/dL")
    assert "ROW_REPAIRED" in found["problems"]


def test_a_table_of_sites_has_no_codes_of_tests_of_blood_and_tells_the_site(tmp_path: Path) -> None:
    found = one(tmp_path, csv("Well 7,Sodium,mg/L,131", heading="site,parameter,unit,value"))

    assert (found["value"], found["unit"], found["comment"]) == ("131", "mg/L", "Well 7")
    assert "code" not in found
    assert "UNKNOWN_TEST" in found["problems"]


def test_a_micro_sign_does_not_make_another_code_page_of_a_table(tmp_path: Path) -> None:
    text = csv("Hämoglobin;15,1;g/dl;13-17;", "Ferritin;264;µg/l;30-400;").encode("cp1252")

    found = results(tmp_path, text)

    assert [each["printed"]["unit"] for each in found] == ["g/dl", "µg/l"]
    assert found[0]["test"] == "Hämoglobin"


def test_vital_signs_alone_are_refused_with_what_was_left_out(tmp_path: Path) -> None:
    pulse = {"resourceType": "Observation", "status": "final", "valueQuantity": {"value": 72}}
    pulse["code"] = {"coding": [{"system": "http://loinc.org", "code": "8867-4"}]}

    found = failure(parsed(tmp_path, json.dumps(pulse)))

    assert found.code == "NO_RESULTS"
    assert "1 observations of other categories than laboratory are left out" in found.message


def test_a_text_that_holds_its_unit_is_a_number_with_a_unit(tmp_path: Path) -> None:
    segment = "OBX|1|ST|X^Colony count^L||>100000 CFU/mL||||||F"

    found = one(tmp_path, hl7("PID|1||1^^^L", "OBR|1|||P1^Panel^L", segment))

    assert (found["kind"], found["comparator"], found["value"], found["unit"]) == (
        "quantity", ">", "100000", "[CFU]/mL",
    )  # fmt: skip


def test_a_part_of_a_name_gives_no_code_where_the_unit_is_of_another_test(tmp_path: Path) -> None:
    found = one(tmp_path, csv("Pt-eGFR foo (Krea);72;mL/min/1.73m2;> 60;"))

    assert found["problems"] == ["UNKNOWN_TEST"]


def test_headings_as_programs_write_them_are_known(tmp_path: Path) -> None:
    names = ("ActivityStartDate", "MonitoringLocationIdentifier", "CharacteristicName", "ResultMeasureValue",
             "ResultMeasure/MeasureUnitCode")  # fmt: skip

    found = results(
        tmp_path, csv("2025-05-16,W-4001,Phosphorus,0.121,mg/L", heading=",".join(names))
    )

    assert [(each["test"], each["value"], each["unit"], each["collected"], each["comment"]) for each in found] == [
        ("Phosphorus", "0.121", "mg/L", "2025-05-16", "W-4001"),
    ]  # fmt: skip
    assert "code" not in found[0]


LOG = "Date,Glucose (g/L),Lactate (mmol/L),Ammonia (mmol/L),Osmolality (mOsm/kg),VCD (10^6/mL)"


def test_a_log_of_no_person_has_no_sure_codes_and_is_not_taken_for_a_report(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"{LOG}\n2024-03-01,5.80,3.30,0.9,290,0.52\n")

    found = results(tmp_path, path.read_text())

    assert all({"CODE_UNSURE", "UNKNOWN_TEST"} & {*each["problems"]} for each in found)
    assert detect(Content.of(path, name="log.csv")) is None


@pytest.mark.parametrize(
    ("row", "is_doubted"),
    [
        ("Glucose;95;mmol/L;70-99;", True),  # converted, it would be 1711 mg/dL and normal
        ("Glucose;5.4;mmol/L;70-99;L", True),
        ("Creatinine;0.9;umol/L;0.7-1.3;", True),
        ("Cholesterol;190;mmol/L;<200;", True),
        ("Calcium;2.4;mg/dL;2.1-2.6;", True),
        ("Glucose;5.4;mmol/L;3.9-5.5;", False),
        ("Glucose;5.4;mmol/L;70-99 mg/dL;", False),
        ("Glucose;95;mg/dL;70-99;", False),
        ("Hemoglobin;150;g/L;130-170;", False),
        ("Bilirubin;9;mg/dL;1.5-12.0;", False),  # of a newborn
        ("Hemoglobin;142;g/dL;13.0-17.0;", True),  # of g/L
        ("Hemoglobin;18.2;g/dL;13.0-17.0;H", False),
        ("Glucose;820;mg/dL;70-99;H", False),  # as people have it
        ("Creatinine;9.1;mg/dL;0.7-1.3;H", False),
    ],
)
def test_a_range_that_is_none_of_its_test_in_the_printed_unit_contradicts_the_unit(
    tmp_path: Path, row: str, is_doubted: bool
) -> None:
    assert ("UNIT_CONTRADICTED" in one(tmp_path, csv(row)).get("problems", [])) is is_doubted


@pytest.mark.parametrize(
    ("text", "is_report", "has_doubt"),
    [
        ("Batch,Test,Result,Unit\nB17,Glucose,4.2,g/L\nB17,Lactate,0.9,g/L\n", False, True),
        ("Sample ID,Tank,Test,Result,Unit,Range\n1,T1,Glucose,4.2,g/L,3-5\n", False, True),
        ("Date,Sodium (mmol/L),Potassium (mmol/L),Glucose (mg/dL)\n2024-01-01,140,4.5,300\n", True, True),
        ("Date,HDL (mg/dL),LDL (mg/dL),Glucose (mg/dL)\n2024-01-01,50,110,95\n", True, False),
        ("Test,Result,Unit\nGlucose,95,mg/dL\nHemoglobin,14,g/dL\n", True, False),
        ("Patient ID,Batch,Test,Result,Unit\n17,A1,Glucose,95,mg/dL\n", True, False),
        # Laboratories number their runs, reagents and bills: results of people are not lost for that.
        ("Accession Number,Batch ID,Test,Result,Unit,Range,Flag\nA1,B7,Potassium,5.9,mmol/L,3.5-5.1,H\n", True, False),
        ("Sample ID,Batch,LOINC,Test,Result,Unit\nA1,B7,2345-7,Glucose,95,mg/dL\n", True, False),
        ("Analyse;Ergebnis;Einheit;Reagenz Charge\nKalium;4,1;mmol/L;L1\nHämoglobin;13,5;g/dL;L1\n", True, True),
        ("Order ID,Test,Result,Units,Charge code\nA1,Cholesterol,190,mg/dL,80061\n", True, True),
        ("Sample ID,Charge date,Glucose (mg/dL),HDL (mg/dL),LDL (mg/dL)\nA1,,95,50,110\n", True, True),
    ],
)  # fmt: skip
def test_tests_that_a_production_measures_too_have_sure_codes_only_where_a_person_is_told_of(
    tmp_path: Path, text: str, is_report: bool, has_doubt: bool
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)

    assert (detect(Content.of(path)) is not None) is is_report
    doubts = ["CODE_UNSURE" in each.get("problems", []) for each in results(tmp_path, text)]
    assert doubts == [has_doubt] * len(doubts)


@pytest.mark.parametrize("name", ["Microalbumin", "Microalbuminurie"])
def test_a_test_of_urine_tells_the_specimen_of_its_own_row_only(tmp_path: Path, name: str) -> None:
    others = ("Creatinine;0.9;mg/dL;0.6-1.2;", "Glucose;95;mg/dL;70-99;")

    headed = results(tmp_path, csv(f"{name};;;;", *others))
    valued = results(tmp_path, csv(f"{name};12;mg/L;0-20;", *others))

    assert [each["code"] for each in headed if each["test"] != name] == ["2160-0", "2345-7"]
    assert [each["code"] for each in valued] == ["14957-5", "2160-0", "2345-7"]


def test_measles_are_no_rubella(tmp_path: Path) -> None:
    found = results(tmp_path, csv("Rubeola IgG;25;[IU]/mL;<16;", "Rubella IgG;3;[IU]/mL;<1;"))

    assert [each.get("code", "") for each in found] == ["", "8014-3"]


def test_a_flag_in_the_cell_of_its_value_is_the_flag(tmp_path: Path) -> None:
    heading = (
        "Patient:;Hall, Amy;DOB:;08/17/1958;;\nTest;Units;Reference range;03/02/2026;06/08/2026"
    )
    text = csv(
        "INR;;0.9-1.1;2.4 H;1.0",
        "NT-proBNP;pg/mL;<125;1,890 (H);<20",
        "Urine protein;;negative;2+;1 x daily",
        heading=heading,
    )

    found = results(tmp_path, text)

    told = [(each.get("value"), each.get("printed_flag", "")) for each in found]
    assert told[:5] == [("2.4", "H"), ("1.0", ""), ("1890", "H"), ("20", ""), ("2+", "")]
    assert {each["collected"] for each in found} == {"2026-03-02", "2026-06-08"}


def test_what_is_told_above_a_table_holds_for_its_rows(tmp_path: Path) -> None:
    heading = "Collected;2026-10-05 09:20;;\nSpecimen;Urine;;\nPrinted;2026-10-07;;\nTest;Result;Units;Range"

    found = one(tmp_path, csv("Glucose;12;mg/dL;0-15", heading=heading))

    assert (found["collected"], found["code"]) == ("2026-10-05T09:20:00", "5792-7")


def test_a_day_behind_its_label_in_one_cell_above_a_table_holds_for_its_rows(
    tmp_path: Path,
) -> None:
    heading = "Patient: X\nCollected: 03/14/2026 07:55 AM\n\nTest;Result;Units;Range"

    found = one(tmp_path, csv("Sodium;140;mmol/L;136-145", heading=heading))

    assert found["collected"] == "2026-03-14T07:55:00"


@pytest.mark.parametrize("heading", ["Data prelievo", "Data da coleta", "Provtagningsdatum"])
def test_the_day_of_collection_is_known_by_its_heading(tmp_path: Path, heading: str) -> None:
    found = one(
        tmp_path, csv("Emoglobina;13,1;g/dL;22/03/2026", heading=f"Test;Result;Units;{heading}")
    )

    assert found["collected"] == "2026-03-22"


def test_two_days_above_a_table_are_not_that_of_its_rows(tmp_path: Path) -> None:
    heading = "Collected;2026-10-05;Collected;2026-10-06\nTest;Result;Units;Range"

    assert "collected" not in one(tmp_path, csv("Sodium;140;mmol/L;136-145", heading=heading))


def test_a_specimen_in_the_name_of_a_test_wins_over_the_one_above_the_table(tmp_path: Path) -> None:
    heading = "Specimen;Serum;;\nTest;Result;Units;Range"

    found = results(
        tmp_path, csv("Glucose;5.1;mmol/L;3.9-5.6", "Urine protein;12;mg/L;0-20", heading=heading)
    )

    assert [each["code"] for each in found] == ["2345-7", "20454-5"]


def test_h_and_l_behind_a_value_are_flags_in_a_table_without_a_column_of_units(
    tmp_path: Path,
) -> None:
    text = csv("Glucose;5.9 H;3.9-5.6", "Troponin;<5 L;5-14", heading="Test;Result;Reference Range")

    found = results(tmp_path, text)

    told = [(each["value"], each.get("printed_flag"), each.get("unit", "")) for each in found]
    assert told == [("5.9", "H", ""), ("5", "L", "")]


def test_a_column_of_names_of_tests_is_found_whatever_its_heading_says(tmp_path: Path) -> None:
    heading = "Auftrag;Geburtsdatum;Gruppe;Verfahren;Ergebnis;Einheit;Normbereich"
    rows = (
        "1;14.05.1971;Blut;Hämoglobin;15,9;g/dl;13,5 - 17,2",
        "1;14.05.1971;Chemie;Kalium;4,1;mmol/l;3,5 - 5,1",
    )
    path = tmp_path / "export.csv"
    path.write_text("\n".join((heading, *rows)), encoding="utf-8")

    assert [row["test"] for row in results(tmp_path, path.read_bytes())] == ["Hämoglobin", "Kalium"]
    assert detect(Content.of(path)) is not None


def test_results_of_what_is_no_test_are_no_lab_report(tmp_path: Path) -> None:
    path = tmp_path / "pressing.csv"
    path.write_text(
        "Maschine;Ergebnis;Einheit;Normbereich\nPresse 1;15,9;kN;13 - 17\nPresse 2;14;kN;13 - 17\n"
    )

    assert detect(Content.of(path)) is None


def test_large_platelets_are_of_blood_though_their_letters_are_those_of_another_specimen(
    tmp_path: Path,
) -> None:
    assert one(tmp_path, csv("P-LCR;28.1;%;13-43;"))["code"] == "48386-7"


@pytest.mark.parametrize("heading", ["Markering", "Afvigelse", "Avvikelse", "Poikkeama", "Příznak"])
def test_a_column_of_flags_is_known_in_the_languages_of_the_north_and_east(
    tmp_path: Path, heading: str
) -> None:
    text = csv(
        "Natrium;131;mmol/L;137 - 145;L", heading=f"Test;Result;Unit;Reference Range;{heading}"
    )

    assert one(tmp_path, text)["printed_flag"] == "L"
