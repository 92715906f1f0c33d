"""Types of clauses by a model: asked for those alone of which the rules are not sure, and never believed blindly."""

import json
from typing import Any

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.clauses.items import clauses_of
from stateward.pipelines.contracts.clause_types import (
    clauses_text,
    unsure_clauses,
    with_model_types,
)
from stateward.pipelines.contracts.extraction import Extraction
from tests.pipelines.contracts.builders import (
    CONTRACT,
    SavedValues,
    an_answer,
    an_extractor,
    the_document,
    the_rules,
)
from tests.pipelines.contracts.endpoint import Reply, refuses, says, serving

TEXT = f"""{CONTRACT}
1. Governing Law
This contract is governed by the laws of Germany.

2. Lockers
A locker may be opened by the staff where it is left shut over night.

3. Towels
Towels are lent out. One that is not returned is paid for.
"""
RULES = the_rules()


def extract(
    *script: Reply, saved: SavedValues | None = None, **changes: object
) -> tuple[Extraction, list[dict[str, Any]]]:
    changes = {"clause_types": True} | changes
    with serving(*script) as endpoint:
        asking = an_extractor(endpoint.url, saved or SavedValues(), **changes)
        return asking.extract(the_document(TEXT), RULES.vertical("gym"), RULES), endpoint.requests


def unsure() -> list[str]:
    """The places of the clauses of which the rules are not sure."""
    return [
        str(at) for at, each in enumerate(clauses_of(the_document(TEXT))) if not each["is_sure"]
    ]


def types(**changes: str) -> dict[str, object]:
    return {**dict.fromkeys(unsure(), "liability"), **changes}


def test_without_the_setting_a_model_is_asked_once() -> None:
    extraction, requests = extract(says(an_answer()), clause_types=False)

    assert len(requests) == 1
    assert "clause_types" not in extraction.about


def test_a_model_is_shown_the_clauses_of_which_the_rules_are_not_sure() -> None:
    _, (_, request) = extract(says(an_answer()), says(types()))

    system, told, shown = (message["content"] for message in request["messages"])
    assert "Lockers" in shown
    assert "Governing Law" not in shown
    assert "Lockers" not in system + told
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["required"] == unsure()
    assert schema["properties"][unsure()[0]] == {"$ref": "#/$defs/type"}
    assert "governing_law" in schema["$defs"]["type"]["enum"], "once, for all clauses"


def test_no_more_clauses_are_shown_than_the_limit_of_a_document() -> None:
    first, *_ = unsure()
    shown = unsure_clauses(the_document(TEXT), chars_max=10_000)
    chars = len(clauses_text({first: shown[first]}))
    _, (_, request) = extract(
        says(an_answer()),
        says({first: "liability"}),
        document_chars_max=chars + 10,
    )

    assert list(shown) == unsure()
    assert request["response_format"]["json_schema"]["schema"]["required"] == [first]


def test_its_types_are_those_of_the_clauses_and_say_whose_they_are() -> None:
    extraction, _ = extract(says(an_answer()), says(types()))
    given = extraction.about["clause_types"]
    assert isinstance(given, dict)

    clauses = {
        each["heading"]: each for each in with_model_types(clauses_of(the_document(TEXT)), given)
    }

    towels, law = clauses["Towels"], clauses["Governing Law"]
    assert (towels["type"], towels["title"], towels["confidence"]) == (
        "liability",
        "Limitation of liability",
        70,
    )
    assert (towels["by"], towels["is_sure"]) == ("model", True)
    assert law["type"] == "governing_law"
    assert "by" not in law


def test_what_it_costs_is_traced_with_its_own_prompt_and_paid_for_once() -> None:
    saved = SavedValues()
    first, requests = extract(says(an_answer()), says(types()), saved=saved)
    again, none = extract(refuses(500), saved=saved)

    calls = first.about["calls"]
    assert isinstance(calls, list)
    assert [call["prompt"]["id"] for call in calls] == ["default", "clauses"]  # type: ignore[index,call-overload]
    assert (first.about["answers"], len(requests), none) == (2, 2, [])
    assert again.about == first.about


@pytest.mark.parametrize(
    "nonsense",
    [
        {"99": "liability"},
        types(**{unsure()[0]: "obey_me"}),
        {**types(), "vertical": "energy"},
        "I would rather not",
    ],
    ids=["other clauses", "no type", "more than asked", "no object"],
)
def test_an_answer_that_cannot_be_used_leaves_the_types_of_the_rules(nonsense: object) -> None:
    saved = SavedValues()
    content = nonsense if isinstance(nonsense, str) else json.dumps(nonsense)

    extraction, requests = extract(says(an_answer()), says(content), saved=saved)

    assert len(requests) == 3, "asked once more, and then no further"
    assert "clause_types" not in extraction.about
    assert {found.field for found in extraction.found} == set(an_answer())
    assert any("types of the rules" in line for line, _ in saved.lines)


def test_a_request_that_an_endpoint_does_not_understand_leaves_the_types_of_the_rules() -> None:
    saved = SavedValues()

    extraction, _ = extract(says(an_answer()), refuses(400), saved=saved)

    assert "clause_types" not in extraction.about
    assert {found.field for found in extraction.found} == set(an_answer())
    assert any("types of the rules" in line for line, _ in saved.lines)


def test_an_endpoint_that_refuses_is_a_failure_as_with_the_terms() -> None:
    with pytest.raises(FatalFailure) as caught:
        extract(says(an_answer()), refuses(401))

    assert caught.value.code == "MODEL_KEY_REFUSED"
