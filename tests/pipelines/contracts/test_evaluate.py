"""`stateward eval contracts`: what counts as right, in which forms truth may be written, and what"
" the command says."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stateward.cli import cli
from stateward.core.errors import InvalidRequest
from stateward.pipelines.contracts.evaluate import (
    Evaluation,
    evaluate,
    is_same,
)
from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.ground_truth import truth_of, truths_in
from stateward.pipelines.contracts.rules import FieldRule, default_rules
from stateward.pipelines.kit.evaluation import FieldScore

NDA = (
    "This Agreement is made as of August 3, 2004 by and between Acme Widgets, Inc., a Delaware"
    ' corporation ("Acme"), and'
    ' John Q. Public, an individual ("Recipient"). 1. Secrets. The parties shall keep secrets. This'
    " Agreement shall remain"
    " in effect for a period of two (2) years from the date hereof. This Agreement shall be governed by"
    " the laws of the State"
    " of New York. ACME WIDGETS, INC. By: /s/ Jane Roe. John Q. Public"
)
TRUTH = {
    "party": ["Acme Widgets Inc.", "John Q. Public"],
    "effective_date": ["2004-08-03"],
    "jurisdiction": ["New_York"],
    "term": ["2_years"],
}


def a_folder(folder: Path, truth: object = None, text: str = NDA) -> Path:
    (folder / "nda.txt").write_text(text)
    (folder / "truth.json").write_text(json.dumps({"nda.txt": TRUTH if truth is None else truth}))
    return folder


def ticking() -> Callable[[], float]:
    """A clock of CPU time that goes on by a tenth of a second whenever it is asked."""
    ticks: Iterator[int] = count()
    return lambda: next(ticks) / 10


def evaluated(folder: Path) -> Evaluation:
    return evaluate(folder, rules=default_rules(), cpu_s=ticking())


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["eval", "contracts", *args])


def field(vertical: str, name: str) -> FieldRule:
    found = default_rules().vertical(vertical).field(name)
    assert found is not None
    return found


def test_a_contract_that_is_wholly_right_counts_as_such(tmp_path: Path) -> None:
    result = evaluated(a_folder(tmp_path))

    total = result.total()
    assert (total.true, total.found, total.right) == (5, 5, 5)
    assert (total.precision, total.recall, total.f1) == (1.0, 1.0, 1.0)
    assert [one.is_right for one in result.judged] == [True]
    assert result.judged[0].cpu_ms == pytest.approx(100)
    assert result.judged[0].pages == 1.0


def test_what_is_found_but_not_true_costs_precision_and_what_is_missed_costs_recall(
    tmp_path: Path,
) -> None:
    wrong = {"party": ["Acme Widgets Inc.", "Somebody Else"], "jurisdiction": ["New York"]}

    result = evaluated(a_folder(tmp_path, wrong))

    party = result.fields["general"]["party"]
    assert (party.true, party.found, party.right) == (2, 2, 1)
    assert result.fields["general"]["term"].precision == 0
    assert {miss.field for miss in result.judged[0].misses} == {"party", "effective_date", "term"}
    assert not result.judged[0].is_right


def test_a_contract_that_cannot_be_read_is_wrong_and_not_accepted(tmp_path: Path) -> None:
    result = evaluated(a_folder(tmp_path, text=" "))

    assert result.judged[0].code == "EMPTY_DOCUMENT"
    assert not result.accepted
    assert result.total().recall == 0


def test_values_are_counted_by_their_confidence() -> None:
    sure = FoundValue(field="term", value="2 years", raw="", confidence=95, source="x")
    unsure = FoundValue(field="term", value="3 years", raw="", confidence=62, source="x")
    score = FieldScore()

    score.count(1, [sure], [sure])
    score.count(1, [unsure], [])

    assert (score.bands[90].found, score.bands[90].right) == (1, 1)
    assert (score.bands[60].found, score.bands[60].right) == (1, 0)
    assert (score.sure.found, score.sure.right) == (1, 1)


@pytest.mark.parametrize(
    ("vertical", "name", "true", "value"),
    [
        ("general", "party", "ACME WIDGETS, INCORPORATED", "Acme Widgets Inc."),
        ("general", "party", "Dr. George D. Green", "George D. Green"),
        ("general", "governing_law", "State of New York", "New York"),
        ("general", "governing_law", "People's Republic of China", "China"),
        ("general", "effective_date", "03.08.2004", "2004-08-03"),
        ("general", "term", "3 Monate", "3 months"),
        ("general", "term", "1 year", "12 months"),
        ("energy", "monthly_rate", "89,90 EUR", "89.90"),
        ("energy", "monthly_rate", "89.9", "89.90"),
        ("energy", "contract_start", "1. März 2025", "2025-03-01"),
        ("energy", "cancellation_period", "3 months", "3 Monate"),
    ],
)
def test_the_same_value_may_be_spelled_in_many_ways(
    vertical: str, name: str, true: str, value: str
) -> None:
    assert is_same(field(vertical, name), true, value, default_rules())


@pytest.mark.parametrize(
    ("vertical", "name", "true", "value"),
    [
        ("general", "party", "Acme Widgets Inc.", "Acme Inc."),
        ("general", "governing_law", "New York", "New Jersey"),
        ("general", "effective_date", "2004-08-03", "2004-03-08"),
        ("general", "term", "2 years", "2 months"),
        ("energy", "monthly_rate", "89.90", "98.90"),
    ],
)
def test_another_value_is_not_the_same(vertical: str, name: str, true: str, value: str) -> None:
    assert not is_same(field(vertical, name), true, value, default_rules())


def test_truth_may_name_a_vertical_and_nest_its_fields() -> None:
    truth = truth_of(
        {"verticalSlug": "energy", "fields": {"monthlyRate": {"value": 89.9, "unit": "EUR"}}}
    )

    assert truth.vertical == "energy"
    assert truth.fields == {"monthly_rate": ["89.9 EUR"]}


def test_an_empty_value_is_no_truth() -> None:
    assert (
        truth_of({"vertical": "energy", "fields": {"provider": None, "tariff_name": ""}}).fields
        == {}
    )


@pytest.mark.parametrize(
    ("parties", "names"),
    [
        ('Vax, Inc. ("Vax"); Sutro Inc. ("Sutro"); Vax and Sutro (each a "Party")', ["Vax, Inc.", "Sutro Inc."]),
        ('Antares, Inc. ("Antares"); AMAG Inc. ("AMAG"); individually as "Party"', ["Antares, Inc.", "AMAG Inc."]),
        ('Fonterra (USA) Inc., ("Supplier"); (each "Party", collectively "Parties")', ["Fonterra (USA) Inc."]),
        ('Matthey Company, Inc. d/b/a ALFA AESAR; Nanophase Corp.', ["Matthey Company, Inc.", "Nanophase Corp."]),
        ('(DGT Corp. ("DGT"); Dolphin Limited ("Dolphin")', ["DGT Corp.", "Dolphin Limited"]),
        ('Shop.com, Inc. ("Buyer"); Supplier; an individual ("Agent"); [ * * * ] ("X")', ["Shop.com, Inc."]),
        ('Pretzel Time, Inc. ("Pretzel Time"; "FRANCHISOR"); PRETZEL TIME, INC. ("PT")', ["Pretzel Time, Inc."]),
    ],
)  # fmt: skip
def test_truth_of_cuad_names_parties_without_what_they_are_called_together(
    parties: str, names: list[str]
) -> None:
    assert truth_of({"Parties-Answer": parties}).fields.get("party") == names


@pytest.mark.parametrize(
    ("law", "laws"),
    [
        ("Ontario, Canada", ["Ontario"]),
        ("England, United Kingdom; Wales, United Kingdom", ["England"]),
        ("England and Wales", ["England and Wales"]),
        ("Texas; Singapore", ["Texas", "Singapore"]),
        ("People's Republic of China", ["China"]),
    ],
)
def test_truth_of_cuad_names_each_law_once(law: str, laws: list[str]) -> None:
    assert truth_of({"Parties-Answer": "", "Governing Law-Answer": law}).fields == {
        "governing_law": laws
    }


@pytest.mark.parametrize(
    ("wrong", "is_printed"),
    [
        ({"party": ["Harrow Mils Inc.", "Bexley Robotics LLC"]}, False),
        ({"effective_date": ["2021-03-05"]}, False),
        ({"effective_date": ["2021-12-24"]}, True),
        ({"governing_law": ["Texas"]}, True),
    ],
)
def test_a_truth_that_the_document_does_not_print_is_counted_apart(
    tmp_path: Path, wrong: dict[str, list[str]], *, is_printed: bool
) -> None:
    folder = a_folder(tmp_path, {**TRUTH, **wrong})
    contract = next(folder.glob("*.txt"))
    contract.write_text(contract.read_text() + "\nThe office is closed on December 24, 2021.\n")

    judged = evaluate(folder, rules=default_rules(), cpu_s=lambda: 0.0).judged[0]

    assert not judged.is_required_right
    assert judged.is_truth_printed is is_printed


def test_truth_of_cuad_speaks_of_three_fields_alone() -> None:
    truth = truth_of(
        {
            "Parties-Answer": 'Dr. George D. Green ("Business Affiliate"); UNION DENTAL CORP. ("UDC")',
            "Agreement Date-Answer": "1/28/05",
            "Effective Date-Answer": "[]/[]/2019",
            "Governing Law-Answer": "New York",
        }
    )

    assert truth.fields == {
        "party": ["Dr. George D. Green", "UNION DENTAL CORP."],
        "effective_date": ["2005-01-28"],
        "governing_law": ["New York"],
    }
    assert "term" not in truth.scope


def test_truth_stands_in_lines_or_beside_each_file_too(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.b.pdf", "d.txt"):
        (tmp_path / name).write_text(NDA)
    (tmp_path / "truth.jsonl").write_text(json.dumps({"file": "a.txt", "fields": TRUTH}) + "\n\n")
    (tmp_path / "b.truth.json").write_text(json.dumps({"vertical": "general", "fields": TRUTH}))
    (tmp_path / "c.b.json").write_text(json.dumps(TRUTH))

    truths = truths_in(tmp_path)

    assert sorted(truths) == ["a.txt", "b.txt", "c.b.pdf"]
    assert all(truth.vertical == "general" for truth in truths.values())


def test_a_file_of_truth_that_is_no_json_is_refused_by_name(tmp_path: Path) -> None:
    a_folder(tmp_path)
    (tmp_path / "truth.json").write_text("{")

    with pytest.raises(InvalidRequest, match=r"truth\.json is no JSON"):
        evaluated(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("truth.json", "[]", "must map names to values"),
        ("truth.jsonl", '{"file": "nda.txt"}\n{', "line 2 is no JSON"),
        ("truth.json", "\udcff", "is not UTF-8"),
    ],
)
def test_truth_that_cannot_be_used_is_refused_with_a_sentence(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    a_folder(tmp_path)
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(InvalidRequest, match=said):
        evaluated(tmp_path)


def test_truth_may_name_a_contract_without_its_ending(tmp_path: Path) -> None:
    a_folder(tmp_path)
    (tmp_path / "truth.json").write_text(json.dumps({"nda": TRUTH, "missing": TRUTH}))

    assert list(truths_in(tmp_path)) == ["nda.txt"]


def test_contracts_without_truth_and_fields_without_rules_are_named(tmp_path: Path) -> None:
    a_folder(tmp_path, {**TRUTH, "colour": "blue"})
    (tmp_path / "other.txt").write_text(NDA)

    result = evaluated(tmp_path)

    assert result.no_truth == ["other.txt"]
    assert result.unknown_fields == ["general.colour"]


def test_the_command_shows_each_field_and_how_well_confidence_tells(tmp_path: Path) -> None:
    result = run(str(a_folder(tmp_path)))

    assert result.exit_code == 0
    assert "general.governing_law" in result.output
    assert "right of those found, by confidence" in result.output
    assert "1 of 1 contracts are wholly right" in result.output


def test_the_command_gives_programs_the_same_as_json(tmp_path: Path) -> None:
    document = json.loads(run(str(a_folder(tmp_path)), "--json").stdout)

    assert document["total"]["f1"] == 1.0
    assert sum(band["right"] for band in document["total"]["calibration"]) == 5
    assert document["contracts"][0]["file"] == "nda.txt"


def test_an_accepted_contract_that_is_wrong_ends_with_one(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {**TRUTH, "effective_date": ["2004-08-09"]})

    result = run(str(folder))

    assert result.exit_code == 1
    assert "nda.txt: accepted and wrong; effective_date is 2004-08-03" in result.output
    assert "1 of 1 contracts would be approved without a person; 0 of them" in result.output


def test_an_optional_field_that_is_wrong_does_not_make_an_approval_wrong(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {**TRUTH, "term": ["9 years"]})

    result = run(str(folder), "--json")

    document = json.loads(result.output)
    assert result.exit_code == 0
    assert document["approvals"]["all"] == {
        "contracts": 1,
        "approved": 1,
        "right": 1,
        "truth_not_printed": 0,
    }
    assert next(iter(document)) == "approvals", "the number that matters comes first"


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    assert "is no folder" in run(str(tmp_path / "nowhere")).output
