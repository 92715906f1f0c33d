"""Caps of agreements: dates of something else, laws of countries with states, names that are cut."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import NDA, RULES, extracted, flags, value


@pytest.mark.parametrize(
    "date",
    [
        "This Agreement supersedes the Non-Disclosure Agreement dated March 4, 2021",
        "This letter refers to a Confidentiality Agreement, dated as of March 4, 2021,",
        "This Agreement amends that certain Supply Agreement entered into on March 4, 2021",
        "This Agreement is for an employee whose employment begins on March 4, 2021",
        "Sponsorship Agreement for the boxing event on March 4, 2021",
        "Amendment n° 01\nto the Global Maintenance Agreement\ndated March 4, 2021\n",
        "This Agreement is for an employee who will resign from her position as of March 4, 2021",
        "This Agreement is made this ___ day of ________, 2021 for the fair held on March 4, 2021",
    ],
)
def test_the_date_of_something_else_is_below_the_line(date: str) -> None:
    found = extracted(NDA.format(date=date, law="the State of Delaware"), "general")

    dates = [each for each in found.found if each.field == "effective_date"]
    assert all(each.confidence < ACCEPTED_MIN for each in dates)


def test_a_date_that_is_called_the_effective_one_is_sure_beside_another_agreement() -> None:
    made = 'This Agreement amends the Supply Agreement, as of March 4, 2021 (the "Effective Date")'

    found = extracted(NDA.format(date=made, law="the State of Delaware"), "general")

    assert value(found, "effective_date").confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    ("law", "is_sure"),
    [
        ("the United States of America", False),
        ("Canada", False),
        ("the State of Delaware", True),
        ("England and Wales", True),
        ("California and Hong Kong", False),
        ("the State of Texas and the United States of America", True),
        (
            "the State of Texas.\n9. Law. The terms shall be governed by the laws (without conflicts) and decisions of "
            "the courts of the State of Illinois",
            False,
        ),
    ],
)
def test_the_law_of_a_country_with_states_is_below_the_line(law: str, *, is_sure: bool) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    found = extracted(NDA.format(date=made, law=law), "general")

    assert (value(found, "governing_law").confidence >= ACCEPTED_MIN) == is_sure


@pytest.mark.parametrize(
    "start",
    [
        "The term of this Agreement shall begin on June 1, 2021.",
        '"Effective Date" means the day on which the last approval is granted.',
        "The effective date of this Agreement will be the day of the closing.",
        "This Agreement shall become effective upon approval by the court.",
        "This Agreement shall become binding only when the bank has consented to it.",
        "This Agreement shall not take effect unless and until the board approves it.",
        "The effectiveness of this Agreement is conditional upon the approval of the regulator.",
        "Die Wirksamkeit dieser Vereinbarung steht unter einer aufschiebenden Bedingung.",
        "Dieser Vertrag tritt mit der Zustimmung des Aufsichtsrats in Kraft.",
    ],
)
def test_a_date_is_below_the_line_where_the_contract_starts_on_another_day(start: str) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware")

    plain = extracted(text, "general")
    found = extracted(text.replace("1. Term.", f"1. Term. {start}"), "general")

    assert value(plain, "effective_date").confidence >= ACCEPTED_MIN
    assert value(found, "effective_date").confidence < ACCEPTED_MIN
    assert value(found, "effective_date").cap < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("printed", "instead"),
    [
        ("and YOU ON DEMAND HOLDINGS, INC., a", "and Bexley Robotics LLC, a"),
        ("and Blackstone / Bexley Robotics LLC, a", "and Bexley Robotics LLC, a"),
        ("and Bexley Bank, N. A, a", "and Bexley Robotics LLC, a"),
        ("and Ximage corporation, a", "and Bexley Robotics LLC, a"),
        ("and Bexley Robotics Limited of Boston House, a", "and Bexley Robotics LLC, a"),
        ("and Harrow Mills Inc. Group Holdings, a", "and Bexley Robotics LLC, a"),
        ("and Bexley Tax Partners 1, LLC, a", "and Bexley Robotics LLC, a"),
        ("and BEXLEY PRODUCTS (AFRICA) (PTY) LIMITED, a", "and Bexley Robotics LLC, a"),
        ("and a firm represented by Andrea Bexley, a", "and Bexley Robotics LLC, a"),
        ("and a prospective employee of Bexley Robotics LLC, a", "and Bexley Robotics LLC, a"),
        ("and a shareholder of Bexley Robotics LLC, a", "and Bexley Robotics LLC, a"),
        ("and Bexley Robotics LLC, a division of Ximage Inc., a", "and Bexley Robotics LLC, a"),
    ],
)
def test_a_name_that_is_cut_is_below_the_line(printed: str, instead: str) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware").replace(instead, printed)

    assert not validate_extraction(extracted(text, "general"), RULES).accepted


def test_a_party_that_signs_with_a_longer_name_is_below_the_line() -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware")
    shorter = text.replace("Harrow Mills Inc.", "Harrow Consulting").partition("HARROW MILLS")[0]
    signed = "HARROW CONSULTING, INC.\nBy: ____\n\nBEXLEY ROBOTICS LLC\nBy: ____\n"

    party = next(
        each for each in extracted(shorter + signed, "general").found if each.field == "party"
    )

    assert (party.value, party.confidence < ACCEPTED_MIN) == ("Harrow Consulting", True)
    assert "it signs as Harrow Consulting Inc." in party.why


@pytest.mark.parametrize(
    "more",
    [
        "Jane Corwin signs as guarantor of Bexley.",
        "Corwin Data GmbH joins this Agreement.",
        "Der Vereinbarung tritt die Corwin Daten GmbH bei.",
        "Frau Corwin unterzeichnet als Bürge.",
        "Bexley Robotics LLC enters into this Agreement solely as agent for Corwin Data Ltd.",
        "Harrow signs this Agreement as nominee for Corwin Data Ltd and is not bound itself.",
        "Bexley handelt im Namen und für Rechnung der Corwin Daten GmbH.",
    ],
)
def test_one_who_joins_the_contract_puts_the_parties_below_the_line(more: str) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware")

    found = extracted(text.replace("1. Term.", f"{more}\n\n1. Term."), "general")

    parties = [each for each in found.found if each.field == "party"]
    assert len(parties) == 2
    assert all(each.confidence < ACCEPTED_MIN for each in parties)


@pytest.mark.parametrize(
    "passed_on",
    [
        "Assignment and Assumption\nWith effect from today Bexley is released from the Agreement.",
        "Deed of Novation\nDated September 24, 2021.",
        "Corwin Data Inc. assumes all of its rights and obligations as Supplier.",
        "Vertragsübernahme\nDie Corwin Daten GmbH ist nun Partei.",
        "Bexley scheidet aus diesem Vertrag aus.",
        "Corwin Data Inc. has taken over this contract.",
    ],
)
def test_a_contract_that_was_passed_on_puts_the_parties_below_the_line(passed_on: str) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware")

    found = extracted(
        text.replace("HARROW MILLS INC.  ", f"{passed_on}\n\nHARROW MILLS INC.  "), "general"
    )

    parties = [each.confidence for each in found.found if each.field == "party"]
    assert parties
    assert max(parties) < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("heading", "code"),
    [
        ("Heads of Terms (Non-Binding)", "NOT_A_CONTRACT"),
        ("LETTER OF INTENT", "NOT_A_CONTRACT"),
        ("TERMINATED BY MUTUAL CONSENT WITH EFFECT FROM THE 9TH DAY OF APRIL, 2022 - FILE COPY 2", "NOT_A_CONTRACT"),
        ("This document is, save for confidentiality, not intended to be legally binding.", "NOT_A_CONTRACT"),
        ("This Agreement shall expire 18 months after the date of this Agreement.", "CONTRADICTION"),
        ("1. Unless renewed in writing, this Lease shall expire 18 months after the Effective Date.", "CONTRADICTION"),
    ],
)  # fmt: skip
def test_an_agreement_that_is_none_or_contradicts_itself_goes_to_a_person(
    heading: str, code: str
) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware")

    assert flags(extracted(text, "general")) == []
    assert flags(extracted(f"{heading}\n{text}", "general")) == [code]


def test_one_party_alone_is_below_the_line() -> None:
    text = (
        "NON-DISCLOSURE AGREEMENT\n\nThis Agreement is made on March 4, 2021 by Harrow Mills Inc.\n"
    )

    found = extracted(text + "and the undersigned.\n\nHARROW MILLS INC.\nBy: ______\n", "general")

    parties = [each for each in found.found if each.field == "party"]
    assert all(each.confidence < ACCEPTED_MIN for each in parties)


@pytest.mark.parametrize(
    "change",
    [
        'First Amendment\nIn the clause on choice of law, "Delaware" is deleted and "Ohio" is put in its place.',
        "The governing law set out in Section 2 is hereby changed to that of Ohio.",
        'The word "Delaware" is replaced with "Ohio" in the clause on governing law.',
        "Die Rechtswahl in Ziffer 2 wird gestrichen.",
    ],
)
def test_a_law_that_a_later_part_changes_is_below_the_line(change: str) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware")

    plain = value(extracted(text, "general"), "governing_law")
    changed = value(extracted(f"{text}\n{change}\n", "general"), "governing_law")

    assert plain.confidence >= ACCEPTED_MIN
    assert changed.confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "name",
    [
        "bexley.com, Inc. (formerly known as Bexley Robotics LLC)",
        "bexley.com, Inc., f/k/a Bexley Robotics LLC",
    ],
)
def test_a_former_name_is_below_the_line(name: str) -> None:
    made = "This Agreement is entered into as of March 4, 2021"
    text = NDA.format(date=made, law="the State of Delaware")

    found = extracted(text.replace("Bexley Robotics LLC, a Texas limited", f"{name}, a"), "general")

    former = [each for each in found.found if (each.value or "").startswith("Bexley")]
    assert all(each.confidence < ACCEPTED_MIN for each in former)
    assert not validate_extraction(found, RULES).accepted


def test_a_deed_that_is_effective_from_an_event_has_no_sure_date() -> None:
    found = extracted(
        NDA.format(
            date="Dated: 1 March 2025\nEffective Date: the date of completion\n", law="Delaware"
        ),
        "general",
    )
    assert value(found, "effective_date").cap == 70
