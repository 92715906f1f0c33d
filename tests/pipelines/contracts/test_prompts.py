"""Prompts are files: chosen by vertical and provider, versioned, and refused if they could not work."""

import pytest

from stateward.core.errors import DeclarationError
from stateward.pipelines.contracts.prompts import default_prompts, prompts_of, shipped_texts

MINE = "version: 7\nvertical: energy\nsystem: Read.\ninstructions: 'Give $fields of $vertical'\n"


def test_the_most_particular_prompt_is_chosen() -> None:
    prompts = default_prompts()

    chosen = [
        prompts.choose("telco", "Deutsche Telekom").id,
        prompts.choose("telco", "O2").id,
        prompts.choose("telco", None).id,
        prompts.choose("gym", "Deutsche Telekom").id,
    ]

    assert chosen == ["telco.deutsche-telekom", "telco", "telco", "default"]


def test_every_shipped_prompt_names_its_version_and_its_fields() -> None:
    assert {"default.yaml", "energy.yaml", "telco.yaml", "insurance.yaml"} <= set(shipped_texts())
    for vertical in ("energy", "telco", "insurance", "other"):
        chosen = default_prompts().choose(vertical, None)
        told = chosen.instructions({"fields": "- a: b", "vertical": vertical, "provider": ""})
        assert "- a: b" in told
        assert chosen.prompt.version >= 1


def test_ones_own_prompt_takes_the_place_of_the_shipped_one() -> None:
    chosen = prompts_of({"/mine/power.yaml": MINE}).choose("energy", "E.ON")

    assert chosen.about["id"] == "power"
    assert chosen.about["version"] == 7
    assert (
        chosen.instructions({"fields": "x", "vertical": "energy", "provider": ""})
        == "Give x of energy"
    )


def test_an_edit_without_a_new_version_shows_in_the_hash() -> None:
    edited = MINE.replace("Read.", "Read well.")

    first, second = (
        prompts_of({"p.yaml": text}).choose("energy", None).about for text in (MINE, edited)
    )

    assert first["version"] == second["version"]
    assert first["sha256"] != second["sha256"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (MINE.replace("$fields", "the fields"),
         "p.yaml:4: instructions: $fields is missing: the model would not know what to give"),
        (MINE.replace("$vertical", "$document"),
         "p.yaml:4: instructions: there is no $document; there are $fields, $vertical and $provider"),
        (MINE.replace("Read.", "5 $ a word"), "p.yaml:3: system: it contains a single $; write $$ for the sign itself"),
        (MINE.replace("vertical: energy\n", "provider: E.ON\n"),
         "p.yaml:2: provider: a provider needs its vertical beside it"),
        (MINE.replace("version: 7\n", ""),
         "p.yaml:1: version: version is missing; it must be a whole number of at least 1"),
        (MINE + "schema: {}\n", "p.yaml:5: schema: schema is not a known key; known are version, system, instructions, "
         "vertical, provider, product_type, labels"),
        (MINE.replace("vertical: energy\n", "product_type: gas\n"),
         "p.yaml:2: product_type: a product type needs its vertical beside it"),
    ],
)  # fmt: skip
def test_a_prompt_that_cannot_work_is_refused_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        prompts_of({"p.yaml": text})

    assert str(refused.value) == fault


def test_a_label_tries_a_version_that_no_one_else_gets() -> None:
    trial = MINE.replace("version: 7", "version: 9\nlabels: [trial]")
    prompts = prompts_of({"a.yaml": MINE, "b.yaml": trial})

    assert prompts.choose("energy", None).about["version"] == 7
    chosen = prompts.choose("energy", "E.ON", label="trial")
    assert (chosen.about["version"], chosen.about["label"]) == (9, "trial")
    assert prompts.choose("telco", None, label="trial").id == "telco"


def test_of_several_versions_the_highest_counts() -> None:
    newer = MINE.replace("version: 7", "version: 8")

    for files in ({"a.yaml": MINE, "b.yaml": newer}, {"a.yaml": newer, "b.yaml": MINE}):
        assert prompts_of(files).choose("energy", None).about["version"] == 8


def test_a_product_may_have_a_prompt_of_its_own() -> None:
    gas = MINE.replace("vertical: energy", "vertical: energy\nproduct_type: gas")
    both = gas.replace("product_type", "provider: E.ON\nproduct_type")
    prompts = prompts_of({"gas.yaml": gas, "eon-gas.yaml": both})

    assert prompts.choose("energy", "EnBW", product_type="gas").id == "gas"
    assert prompts.choose("energy", "E.ON", product_type="gas").id == "eon-gas"
    assert prompts.choose("energy", "E.ON", product_type="power").id == "energy"


def test_two_prompts_for_one_thing_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"b\.yaml:2: vertical: a\.yaml is for the same"):
        prompts_of({"a.yaml": MINE, "b.yaml": MINE})
