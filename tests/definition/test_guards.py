"""Guards of a declaration: their four forms, their faults, and when they hold."""

from typing import Any

import pytest

from stateward.core.machine import Guard, all_of, at_least, equals, is_true
from stateward.testing.builders import a_machine
from tests.definition.letter import a_stage, sentences_of


@pytest.mark.parametrize(
    ("when", "guard"),
    [
        ({"at_least": ["score", 80]}, at_least("score", 80)),
        ({"is_true": "valid"}, is_true("valid")),
        ({"equals": ["kind", "invoice"]}, equals("kind", "invoice")),
        ({"equals": ["pages", None]}, equals("pages", None)),
        (
            {"all": [{"at_least": ["score", 80]}, {"all": [{"is_true": "valid"}]}]},
            all_of(at_least("score", 80), all_of(is_true("valid"))),
        ),
    ],
)
def test_a_guard_is_declared_in_one_of_four_forms(when: dict[str, Any], guard: Guard) -> None:
    machine = a_machine(
        stages=a_stage(outcomes={"done": [{"to": "read", "when": when}, {"to": "read"}]})
    )

    assert machine.stage["read"].outcomes["done"][0].when == guard


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"is_true": "a", "equals": ["a", 1]},
        {"at_most": ["score", 80]},
        {"at_least": ["score"]},
        {"at_least": ["score", "80"]},
        {"at_least": ["score", True]},
        {"at_least": [80, "score"]},
        {"at_least": "score"},
        {"is_true": ["valid"]},
        {"equals": ["kind"]},
        {"equals": [1, 1]},
        {"all": []},
        {"all": "valid"},
    ],
)
def test_a_guard_of_any_other_form_is_refused(when: dict[str, Any]) -> None:
    routes = [{"to": "read", "when": when}, {"to": "read"}]

    (sentence,) = sentences_of(stages=a_stage(outcomes={"done": routes}))

    assert sentence == (
        "stages.read.outcomes.done[0].when: a guard is one of at_least: [fact, number], "
        "equals: [fact, value], is_true: fact, all: [...]"
    )


def test_a_fault_deep_in_a_guard_is_shown_where_it_stands() -> None:
    when = {"all": [{"is_true": "valid"}, "score", {"all": [{"least": 1}]}]}

    sentences = sentences_of(
        stages=a_stage(outcomes={"done": [{"to": "read", "when": when}, {"to": "read"}]})
    )

    assert [each.partition(": ")[0] for each in sentences] == [
        "stages.read.outcomes.done[0].when.all[1]",
        "stages.read.outcomes.done[0].when.all[2].all[0]",
    ]


@pytest.mark.parametrize(
    ("guard", "facts", "holds"),
    [
        (at_least("score", 80), {"score": 80}, True),
        (at_least("score", 80), {"score": 79.99}, False),
        (at_least("score", 80), {"score": "80"}, False),
        (at_least("score", 0), {"score": True}, False),
        (at_least("score", 0), {}, False),
        (is_true("valid"), {"valid": True}, True),
        (is_true("valid"), {"valid": 1}, False),
        (is_true("valid"), {}, False),
        (equals("kind", "a"), {"kind": "a"}, True),
        (equals("kind", "a"), {"kind": "b"}, False),
        (equals("pages", 1), {"pages": 1.0}, False),
        (equals("pages", 1), {"pages": True}, False),
        (equals("pages", None), {"pages": None}, True),
        (equals("pages", None), {}, False),
        (all_of(is_true("a"), is_true("b")), {"a": True, "b": True}, True),
        (all_of(is_true("a"), is_true("b")), {"a": True}, False),
    ],
)
def test_a_guard_holds_only_for_a_fact_of_the_right_type(
    guard: Guard, facts: dict[str, Any], holds: bool
) -> None:
    assert guard.holds(facts) is holds
