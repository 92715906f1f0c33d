"""Rules as data: what a file may say, what is refused, and what a file alone can add."""

from importlib.resources import files
from pathlib import Path

import pytest

from stateward.core.errors import DeclarationError, UnknownName
from stateward.pipelines.contracts import rules as rules_module
from stateward.pipelines.contracts.offline import OfflineExtractor, detect
from stateward.pipelines.contracts.rules import (
    ACCEPTED_MIN,
    default_rules,
    expand_label,
    load,
    rules_of,
    shipped_texts,
)
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.reader import text_document

GYM = """
vertical: gym
version: 1
signs: {en: [gym, membership, workout, trainer]}
fields:
  - {name: provider, kind: provider, labels: {en: [studio]}}
  - {name: monthly_fee, kind: money, per: month, range: {min: 5, max: 200}, labels: {en: ["{monthly|club} fee"]}}
  - {name: contract_start, kind: date, labels: {like: [start]}}
  - {name: contract_end, kind: date, labels: {like: [end]}}
orders:
  - {first: contract_start, second: contract_end}
threshold: 85
"""
STUDIOS = """
version: 1
providers:
  - {name: Muscle House, verticals: {gym: {ranges: {monthly_fee: {min: 10, max: 90}}}}}
"""
MEMBERSHIP = """Gym membership
Studio: Muscle House GmbH
Club fee: EUR 29.90
Contract start: 1 March 2026
Contract end: 28 February 2027
Your trainer will show you the workout.
"""


def faults_of(**files: str) -> str:
    with pytest.raises(DeclarationError) as caught:
        rules_of({**shipped_texts(), **{f"{name}.yaml": text for name, text in files.items()}})
    return str(caught.value)


def test_the_verticals_have_the_fields_they_must_have() -> None:
    names = {
        slug: [field.name for field in vertical.required]
        for slug, vertical in default_rules().verticals.items()
    }

    assert sorted(names["energy"]) == sorted(
        [
            "provider",
            "tariff_name",
            "monthly_rate",
            "contract_start",
            "contract_end",
            "kwh_price",
            "cancellation_period",
        ]
    )
    assert sorted(names["telco"]) == sorted(
        [
            "provider",
            "plan_name",
            "monthly_rate",
            "contract_start",
            "contract_end",
            "data_volume",
            "cancellation_period",
        ]
    )
    assert sorted(names["insurance"]) == sorted(
        [
            "provider",
            "policy_type",
            "monthly_premium",
            "contract_start",
            "contract_end",
            "coverage_amount",
            "deductible",
        ]
    )


def test_every_vertical_sells_by_several_providers() -> None:
    for slug in ("energy", "telco", "insurance"):
        assert len([each for each in default_rules().providers if slug in each.verticals]) >= 8


def test_a_fourth_vertical_is_added_by_a_file_alone(tmp_path: Path) -> None:
    (tmp_path / "gym.yaml").write_text(GYM, "utf-8")
    (tmp_path / "studios.yaml").write_text(STUDIOS, "utf-8")
    rules = load(tmp_path)
    document = text_document(MEMBERSHIP)

    slug, is_sure = detect(document, rules)
    extraction = OfflineExtractor().extract(document, rules.vertical(slug), rules)
    verdict = validate_extraction(extraction, rules)

    assert (slug, is_sure) == ("gym", True)
    assert {found.field: found.value for found in extraction.found} == {
        "provider": "Muscle House",
        "monthly_fee": "29.90",
        "contract_start": "2026-03-01",
        "contract_end": "2027-02-28",
    }
    assert (verdict.valid, verdict.accepted, verdict.threshold) == (True, True, 85)


@pytest.mark.parametrize(
    "text",
    [
        GYM.replace("threshold: 85", "threshold: 60"),
        "version: 1\nproviders:\n  - {name: X, verticals: {energy: {threshold: 70}}}\n",
    ],
)
def test_a_threshold_below_that_of_the_machine_is_refused_as_it_would_have_no_effect(
    text: str,
) -> None:
    with pytest.raises(DeclarationError, match="80, which the machine requires"):
        rules_of({**shipped_texts(), "own.yaml": text})


def test_the_lowest_threshold_is_the_one_that_the_machine_declares() -> None:
    declared = (files("stateward.pipelines.contracts") / "machine.yaml").read_text("utf-8")

    assert f"at_least: [final_confidence, {ACCEPTED_MIN}]" in declared


def test_files_are_read_again_when_they_are_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "gym.yaml"
    path.write_text(GYM, "utf-8")
    before = load(tmp_path)
    path.write_text(GYM.replace("threshold: 85", "threshold: 95"), "utf-8")
    after = load(tmp_path)

    assert before.vertical("gym").threshold == 85
    assert after.vertical("gym").threshold == 95
    assert before.version != after.version


def test_a_file_of_ones_own_takes_the_place_of_the_shipped_one() -> None:
    own = shipped_texts()["telco.yaml"].replace("threshold: 80", "threshold: 95")
    rules = rules_of({**shipped_texts(), "own.yaml": own})

    assert rules.vertical("telco").threshold == 95
    assert rules.vertical("energy").threshold == 80


def test_a_provider_overrides_ranges_threshold_penalties_and_what_is_required() -> None:
    own = """
version: 1
providers:
  - name: Vattenfall
    verticals:
      energy: {threshold: 90, penalties: {missing: 40}, ranges: {kwh_price: {max: 0.4}}, optional: [tariff_name]}
"""
    rules = rules_of({**shipped_texts(), "own.yaml": own})
    vertical = rules.for_provider(rules.vertical("energy"), "Vattenfall")

    assert (vertical.threshold, vertical.penalties.missing, vertical.penalties.empty) == (
        90,
        40,
        10,
    )
    price, name = vertical.field("kwh_price"), vertical.field("tariff_name")
    assert price is not None
    assert name is not None
    assert price.range is not None
    assert (price.range.min, price.range.max, name.required) == (None, 0.4, False)
    assert rules.for_provider(rules.vertical("energy"), "E.ON").threshold == 80


def test_a_label_with_groups_stands_for_each_of_its_parts() -> None:
    assert expand_label("{Vertrags|Liefer}{ende|beginn}") == [
        "Vertragsende",
        "Vertragsbeginn",
        "Lieferende",
        "Lieferbeginn",
    ]
    assert expand_label("Abschlag{| mtl.}") == ["Abschlag", "Abschlag mtl."]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("kind: money", "kind: moneys"), "gym.yaml:7: fields[1].kind"),
        (("version: 1", "version: none"), "version must be"),
        (("{min: 5, max: 200}", "{min: 500, max: 200}"), "min must not be above max"),
        (("name: monthly_fee", "name: provider"), "the field provider is defined twice"),
        (("like: [start]", "like: [begin]"), "unknown shared set of labels 'begin'"),
        (("second: contract_end", "second: expiry"), "there is no field 'expiry'"),
        (("{monthly|club} fee", "{monthly|club fee"), "has an unclosed group"),
        ((', labels: {en: ["{monthly|club} fee"]}', ""), "monthly_fee has no labels"),
        (("threshold: 85", "threshold: 850"), "threshold must be"),
        (("threshold: 85", "treshold: 85"), "treshold"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_what_to_do(
    change: tuple[str, str], said: str
) -> None:
    assert said in faults_of(gym=GYM.replace(*change, 1))


def test_every_fault_of_every_file_is_said_at_once() -> None:
    said = faults_of(gym=GYM.replace("money", "coin"), other="vertical: [")

    assert "gym.yaml" in said
    assert "other.yaml" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{name: X, verticals: {gym: null}}", "there is no vertical 'gym'"),
        ("{name: X, aliases: [EON], verticals: {energy: null}}", "'EON' already means E.ON"),
        ("{name: X, verticals: {energy: {ranges: {colour: {min: 1}}}}}", "has no field 'colour'"),
        ("{name: X, verticals: {energy: {penalties: {late: 5}}}}", "there is no penalty 'late'"),
    ],
)
def test_a_wrong_provider_is_refused(text: str, said: str) -> None:
    assert said in faults_of(own=f"version: 1\nproviders:\n  - {text}\n")


def test_a_sentence_must_be_a_pattern_with_a_value() -> None:
    assert "(?P<value>" in faults_of(
        gym=GYM.replace("labels: {en: [studio]}", "labels: {en: [studio]}, sentences: ['at (.*)']")
    )


def test_a_folder_that_is_none_and_a_file_that_is_no_text_are_said(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="it is not a folder"):
        load(tmp_path / "none")
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00x")
    with pytest.raises(DeclarationError, match="it is not UTF-8"):
        load(tmp_path)


def test_an_unknown_vertical_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownName, match="energy"):
        default_rules().vertical("water")


def test_a_range_is_said_in_words() -> None:
    assert str(rules_module.ValueRange(min=1, max=2)) == "1 to 2"
    assert str(rules_module.ValueRange(min=1)) == "1 or more"
    assert str(rules_module.ValueRange(max=2)) == "at most 2"
