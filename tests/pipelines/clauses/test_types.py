"""Types of clauses, by heading and by text, in English and German."""

import pytest

from stateward.pipelines.clauses import TYPES
from stateward.pipelines.clauses.types import Typed, clause_type, topics_of, type_titles


@pytest.mark.parametrize(
    ("heading", "type_"),
    [
        ("GOVERNING LAW", "governing_law"),
        ("Haftung", "liability"),
        ("Haftungsbeschränkung", "liability"),
        ("Geheimhaltung", "confidentiality"),
        ("Kündigung", "termination"),
        ("Representations and Warranties", "warranty"),
        ("Term and Termination", "term"),
        ("Höhere Gewalt", "force_majeure"),
        ("No Implied Waivers", "waiver"),
        ("Indemnity / Insurance", "indemnification"),
        ("Salvatorische Klausel", "severability"),
        ("Assignment of Inventions and Moral Rights", "intellectual_property"),
        ("Notice of Termination", "termination"),
    ],
)
def test_a_heading_decides(heading: str, type_: str) -> None:
    assert clause_type(heading, "Some text.").type == type_
    assert clause_type(heading, "Some text.").confidence >= 75


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("This Agreement shall be governed by and construed under New York law.", "governing_law"),
        ("Neither party may assign this Agreement without consent.", "assignment"),
        ("Der Auftragnehmer haftet nur bei Vorsatz.", "liability"),
        ("Sollte eine Bestimmung unwirksam sein, bleiben die übrigen Bestimmungen gültig.", "severability"),
        ("The Supplier shall indemnify and hold harmless the Client.", "indemnification"),
        ("Der Vertrag kann mit einer Frist von drei Monaten gekündigt werden.", "termination"),
        ("This document contains the entire agreement and supersedes all others.", "entire_agreement"),
    ],
)  # fmt: skip
def test_without_a_heading_the_text_decides_with_less_confidence(text: str, type_: str) -> None:
    found = clause_type("", text)

    assert found.type == type_
    assert 55 <= found.confidence <= 85
    assert found.matched


def test_a_clause_below_another_has_its_type_with_less_confidence() -> None:
    above = Typed("fees", 95)

    assert clause_type("", "as printed in the list", above=above) == Typed("fees", 80)


def test_what_is_defined_is_a_definition_whatever_it_speaks_of() -> None:
    above = Typed("definitions", 95)

    assert (
        clause_type("", '"Confidential Information" means all that', above=above).type
        == "definitions"
    )


def test_nothing_known_is_other_and_says_so() -> None:
    assert clause_type("Schedule of colours", "The wall is blue.") == Typed("other", 0)


def test_two_types_that_fit_equally_are_flagged() -> None:
    found = clause_type(
        "", "The parties may terminate this agreement. All notices are sent by mail."
    )

    assert found.flags == ("TYPE_AMBIGUOUS",)
    assert found.confidence < 60


def test_a_general_clause_names_what_else_it_speaks_of() -> None:
    text = "This Agreement is governed by English law and contains the entire agreement."

    assert topics_of(text, besides="general") == ["governing_law", "entire_agreement"]


def test_every_type_has_a_title() -> None:
    assert all(type_titles().values())
    assert "other" in type_titles()


def test_the_types_that_can_be_searched_are_those_that_clauses_have() -> None:
    assert set(TYPES) == set(type_titles())
