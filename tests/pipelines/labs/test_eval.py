"""`stateward eval labs` compares what is read with what is true, and counts what is silently wrong."""

import json
from pathlib import Path

from stateward.pipelines.labs.evaluate import evaluate_reports
from stateward.pipelines.labs.report import _ucum
from tests.pipelines.labs.reading import csv, hl7

TRUTH = {"test": "Glucose", "loinc": "2345-7", "value_printed": "<5.0", "unit_printed": "mmol/L", "ref": "3.9-5.6",
         "flag": "", "canonical_unit": "mg/dL", "canonical_value": 90.08, "censored": "<"}  # fmt: skip
UCUM = """<ucumTests><validation><case id="1" unit="m" valid="true"/><case id="2" unit="m/" valid="false"/>
<case id="3" unit="mmol/L" valid="true"/></validation><conversion><case id="4" srcUnit="m"/></conversion></ucumTests>"""


def test_exact_wrong_and_unknown_reports_are_counted(tmp_path: Path) -> None:
    text = csv("Glucose;<5.0;mmol/L;3.9-5.6;")
    for name, told in {
        "right": TRUTH,
        "wrong": {**TRUTH, "value_printed": "<6.0"},
        "absent": {**TRUTH, "test": "Sodium"},
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
        (tmp_path / f"{name}.truth.json").write_text(json.dumps({"results": [told]}))
    (tmp_path / "other.hl7").write_text(hl7("OBX|1|NM|2345-7^Glucose^LN||131"))
    (tmp_path / "broken.csv").write_text("nothing")

    found = evaluate_reports(tmp_path, now=lambda: 0)

    assert {each.file: (each.score.exact, each.wrong) for each in found.judged} == {
        "right.csv": (1, ()),
        "wrong.csv": (0, ("Glucose: value",)),
        "absent.csv": (0, ("Sodium: not found", "Glucose: not in the report")),
    }
    assert found.total().wrong_in_silence == 2
    assert dict(found.no_truth) == {"broken.csv": -1, "other.hl7": 1}


def test_what_a_truth_says_with_null_is_not_told(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("unit_printed", "ref", "flag", "canonical_value", "canonical_unit"))
    (tmp_path / "right.csv").write_text(csv("Glucose;<5.0;mmol/L;3.9-5.6;L"))
    told = {**TRUTH, **nothing}
    (tmp_path / "right.truth.json").write_text(json.dumps({"results": [told]}))

    found = evaluate_reports(tmp_path, now=lambda: 0)

    assert [(each.score.exact, each.wrong) for each in found.judged] == [(1, ())]


def test_brackets_around_a_range_may_be_told_or_not(tmp_path: Path) -> None:
    for name, ref, read in (("a", "3.9-5.6", "(3.9-5.6)"), ("b", "[3.9-5.6]", "3.9-5.6")):
        (tmp_path / f"{name}.csv").write_text(csv(f"Glucose;<5.0;mmol/L;{read};"))
        (tmp_path / f"{name}.truth.json").write_text(
            json.dumps({"results": [{**TRUTH, "ref": ref}]})
        )

    found = evaluate_reports(tmp_path, now=lambda: 0)

    assert [each.wrong for each in found.judged] == [(), ()]


def test_a_flag_may_be_told_as_printed_or_as_what_it_means(tmp_path: Path) -> None:
    truths = {"*": "H", "↑": "H", "H": "H", "Hoch": "Hoch", "": "H", "↓": "H"}
    for at, (read, told) in enumerate(truths.items()):
        (tmp_path / f"{at}.csv").write_text(csv(f"Glucose;7.0;mmol/L;3.9-5.6;{read}"))
        truth = {"test": "Glucose", "flag": told}
        (tmp_path / f"{at}.truth.json").write_text(json.dumps({"results": [truth]}))

    found = evaluate_reports(tmp_path, now=lambda: 0)

    assert [bool(each.wrong) for each in found.judged] == [False] * 4 + [True] * 2


def test_functional_tests_of_ucum_are_run(tmp_path: Path) -> None:
    path = tmp_path / "UcumFunctionalTests.xml"
    path.write_text(UCUM)

    assert _ucum(path) == (3, 3)
