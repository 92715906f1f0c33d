"""Agreements by elimination: an unread word beside a value, or another value that may be meant, waits for a person."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.agreements import found, values

MADE = "This Non-Disclosure Agreement is made as of March 3, 2021"
ACME = 'Acme Widgets, Inc., a Delaware corporation ("Acme")'
BETA = 'Beta Systems LLC, a Texas limited liability company with offices at 1 Main Street, Austin ("Beta")'
LAW = "This Agreement is governed by the laws of the State of Delaware, without regard to its conflict of laws rules."
SIGNED = "ACME WIDGETS, INC.\nBy: ____\n\nBETA SYSTEMS LLC\nBy: ____\n"


def agreement(
    made: str = MADE, first: str = ACME, second: str = BETA, law: str = LAW, more: str = ""
) -> str:
    body = "1. Each party keeps secret what it learns. " * 12
    return f"{made} by and between {first} and {second}.\n\n{body}{more}\n\n9. {law}\n\n{SIGNED}"


def confidences(text: str, field: str) -> list[int]:
    return [one.confidence for one in found(text, field)]


def is_sure(text: str, field: str) -> bool:
    values = confidences(text, field)
    return bool(values) and min(values) >= ACCEPTED_MIN


def why(text: str, field: str) -> str:
    return " ".join(one.why for one in found(text, field))


@pytest.mark.parametrize("field", ["party", "effective_date", "governing_law"])
def test_an_agreement_of_which_every_word_is_known_needs_no_person(field: str) -> None:
    assert is_sure(agreement(), field)


@pytest.mark.parametrize(
    ("made", "word"),
    [
        ("This Agreement is effective, should the bank agree, as of March 3, 2021", "should"),
        ("This Agreement is made on March 3, 2021 subject to approval of the board", "approval"),
        ("This Agreement is made as of March 3, 2021 or whenever the last one signs", "whenever"),
        ("Diese Vereinbarung wird frühestens wirksam am 3. März 2021", "frühestens"),
    ],
)
def test_a_word_beside_the_date_that_is_not_known_is_named(made: str, word: str) -> None:
    text = agreement(made=made)
    assert not is_sure(text, "effective_date")
    assert word in why(text, "effective_date")


def test_a_title_of_any_kind_is_no_unread_word() -> None:
    made = "This Reciprocal Non-Interference and Site Visit Agreement is made as of March 3, 2021"
    assert is_sure(agreement(made=made), "effective_date")


@pytest.mark.parametrize(
    "law",
    [
        "This Agreement is governed by the laws of the State of Delaware while Acme has its seat there.",
        "This Agreement is governed, at the choice of the claimant, by the laws of the State of Delaware.",
        "This Agreement is governed by the laws of the State of Delaware unless Beta sues first.",
        "Diese Vereinbarung unterliegt deutschem Recht, solange beide zustimmen.",
    ],
)
def test_a_word_in_the_clause_on_the_law_that_is_not_known_waits(law: str) -> None:
    text = agreement(law=law)
    assert not is_sure(text, "governing_law")
    assert "not understood" in why(text, "governing_law")


@pytest.mark.parametrize(
    "law",
    [
        "This Agreement shall be governed by and construed in accordance with the laws of the State of Delaware.",
        "This Agreement is governed by the laws of Delaware, except for that body of law concerning conflicts of law.",
        "Diese Vereinbarung unterliegt deutschem Recht unter Ausschluss des UN-Kaufrechts.",
    ],
)
def test_the_usual_clauses_on_the_law_are_understood(law: str) -> None:
    assert is_sure(agreement(law=law), "governing_law")


def test_the_law_of_another_state_must_be_accounted_for() -> None:
    more = " Section 4 is to be read under the laws of the State of Ohio."
    assert "not accounted for: Ohio" in why(agreement(more=more), "governing_law")
    federal = " Exports are subject to the laws of the United States."
    assert is_sure(agreement(more=federal), "governing_law")


@pytest.mark.parametrize(
    "described",
    [
        'Beta Systems LLC, formerly trading as Gamma, a Texas limited liability company ("Beta")',
        'Beta Systems LLC, acting as nominee for its owner ("Beta")',
    ],
)
def test_a_word_in_the_description_of_a_party_that_is_not_known_waits(described: str) -> None:
    text = agreement(second=described)
    assert not is_sure(text, "party")
    assert "not understood" in why(text, "party")


def test_a_company_of_the_first_sentence_that_is_no_party_must_be_accounted_for() -> None:
    beside = 'Beta Systems LLC ("Beta") with Gamma Holdings Inc. at its side'
    assert not is_sure(agreement(second=beside), "party")
    owned = 'Beta Systems LLC, a subsidiary of Gamma Holdings Inc. ("Beta")'
    assert "not accounted" not in why(agreement(second=owned), "party")


def test_another_day_on_which_the_contract_starts_must_be_accounted_for() -> None:
    more = " The obligations under this Agreement shall be in force as of May 1, 2021."
    assert "May 1, 2021" in why(agreement(more=more), "effective_date")
    ended = " The parties end the agreement dated May 1, 2019."
    assert is_sure(agreement(more=ended), "effective_date")


def test_names_that_known_words_delimit_are_sure_without_a_printed_signature() -> None:
    text = agreement().replace(SIGNED, "By: ____\n\nBy: ____\n")
    assert is_sure(text, "party")


GERMAN = """GEHEIMHALTUNGSVEREINBARUNG

{made} zwischen der Harrow Mühlen GmbH, Lindenallee 4, 10115 Berlin (nachfolgend "Harrow"), und der Bexley Robotik
GmbH & Co. KG, Hafenstraße 2, 20457 Hamburg (nachfolgend "Bexley").

1. Anwendbares Recht. {law}

Harrow Mühlen GmbH                    Bexley Robotik GmbH & Co. KG
"""
GERMAN_MADE = "Diese Vereinbarung wird geschlossen am 4. März 2021"
GERMAN_LAW = "Diese Vereinbarung unterliegt dem Recht der Bundesrepublik Deutschland."


@pytest.mark.parametrize(
    ("made", "law", "field"),
    [
        (f"{GERMAN_MADE} zum Arbeitsbeginn", GERMAN_LAW, "effective_date"),
        ("Diese Vereinbarung wird zur Messe am 4. März 2021 geschlossen", GERMAN_LAW, "effective_date"),
        ("This Agreement is signed on March 4, 2021 and effective on the Closing Date", GERMAN_LAW, "effective_date"),
        (GERMAN_MADE, "Es gilt österreichisches oder deutsches Recht.", "governing_law"),
        (GERMAN_MADE, "Diese Vereinbarung unterliegt dem Recht der Schweiz nach Wahl des Klägers.", "governing_law"),
    ],
)  # fmt: skip
def test_a_noun_of_a_german_statement_is_a_word_too(made: str, law: str, field: str) -> None:
    plain, changed = (
        GERMAN.format(made=GERMAN_MADE, law=GERMAN_LAW),
        GERMAN.format(made=made, law=law),
    )

    assert [one.confidence >= ACCEPTED_MIN for one in found(plain, field)] == [True]
    assert all(one.confidence < ACCEPTED_MIN for one in found(changed, field))


def test_a_partnership_whose_partner_is_a_company_is_one_name() -> None:
    text = GERMAN.format(made=GERMAN_MADE, law=GERMAN_LAW)

    assert values(text, "party") == ["Harrow Mühlen GmbH", "Bexley Robotik GmbH & Co. KG"]
    assert all(one.confidence >= ACCEPTED_MIN for one in found(text, "party"))


def test_a_table_of_particulars_names_parties_and_date() -> None:
    text = (
        "Master Services Agreement\nDate\tthe 9th day of May, 2020\n"
        "Customer\tGranite State Software LLC, a New York limited liability company\n"
        "Supplier\tQuantum Orchard Group, L.P., a Delaware limited partnership\n\n"
        f"{'1. Each party keeps secret what it learns. ' * 9}\n{LAW}\n\n"
        "Granite State Software LLC - signed the 10th day of May, 2020\n"
        "Quantum Orchard Group, L.P. - signed the 10th day of May, 2020\n"
    )

    assert values(text, "effective_date") == ["2020-05-09"]
    assert values(text, "party") == ["Granite State Software LLC", "Quantum Orchard Group LP"]
    assert is_sure(text, "party")
    assert is_sure(text, "effective_date")


def test_a_third_party_of_a_numbered_list_must_be_accounted_for() -> None:
    listed = (
        "THIS LICENSE AGREEMENT is dated the 4th day of September, 2023\nPARTIES\n"
        '(1) Acme Widgets, Inc., a Delaware corporation ("Buyer");\n'
        '(2) Beta Systems LLC, a Texas limited liability company ("Seller"); and\n'
        '(3) Harcourt Vale Limited, a company incorporated in England ("Carrier").\n'
    )
    text = f"{listed}\n{'1. Each party keeps secret what it learns. ' * 9}\n{LAW}\n\n{SIGNED}"

    named = found(text, "party")

    assert len(named) == 3 or all(one.confidence < ACCEPTED_MIN for one in named)


def test_the_date_beside_a_signature_is_not_sure_where_the_contract_begins_with_another() -> None:
    long = "It is a sentence of no importance. " * 200
    text = agreement(made="This Agreement (version of March 3, 2021) is", more=long).replace(
        SIGNED,
        f"IN WITNESS WHEREOF the parties have executed this Agreement on March 5, 2021.\n{SIGNED}",
    )

    assert not is_sure(text, "effective_date")


THIRD = 'Gamma Foods Corporation, an Ohio corporation ("Gamma")'
THREE = f"{SIGNED}\nGAMMA FOODS CORPORATION\nBy: ____\n"


def test_three_parties_that_all_sign_and_no_other_are_sure() -> None:
    text = agreement(first=f"{ACME}, {BETA}", second=THIRD).replace(SIGNED, THREE)

    named = ["Acme Widgets Inc.", "Beta Systems LLC", "Gamma Foods Corporation"]
    assert values(text, "party") == named
    assert is_sure(text, "party")


@pytest.mark.parametrize(
    "signed",
    [SIGNED, f"{THREE}\nDELTA HOLDINGS LLC\nBy: ____\n", THREE.replace("FOODS", "FOOD SERVICES")],
    ids=["one does not sign", "another signs", "one signs with another name"],
)
def test_three_parties_wait_where_others_sign(signed: str) -> None:
    text = agreement(first=f"{ACME}, {BETA}", second=THIRD).replace(SIGNED, signed)

    assert not is_sure(text, "party")


LONG = "It is a sentence of no importance. " * 200
MADE = "2021-03-01"
ON_THE_DATE = "This Agreement is made on the Effective Date"


def test_a_date_among_the_definitions_is_that_of_the_contract() -> None:
    text = agreement(made=ON_THE_DATE, more=f'{LONG}\n"Effective Date" means December 13, 2008.')

    assert values(text, "effective_date") == ["2008-12-13"]
    assert is_sure(text, "effective_date")


@pytest.mark.parametrize(
    "defined",
    [
        '"Closing Date" means December 13, 2008.',
        '"Effective Date" means the later of December 13, 2008 and the day of the last signature.',
        '"Effective Date" means December 13, 2008, unless the Board objects.',
    ],
)
def test_a_definition_that_leaves_the_date_open_waits(defined: str) -> None:
    text = agreement(made=ON_THE_DATE, more=f"{LONG}\n{defined}")

    assert not is_sure(text, "effective_date")


@pytest.mark.parametrize(
    ("more", "day"),
    [
        ('EXHIBIT A\nTerms of the Prior License\n"Effective Date" means December 13, 2008.', MADE),
        ('In the License, "Effective Date" means December 13, 2008.', MADE),
        ('Definitions\n"Effective Date" means April 1, 2021.', "2021-04-01"),
        ('Exhibit A shall apply.\n"Effective Date" means April 1, 2021.', "2021-04-01"),
        ('EXHIBIT 10.1\n1.4 "Effective Date" means April 1, 2021.', "2021-04-01"),
    ],
    ids=["exhibit", "another agreement", "definitions", "a sentence", "mark of a filing"],
)
def test_what_is_defined_for_another_agreement_is_not_the_date_of_this_one(
    more: str, day: str
) -> None:
    text = agreement(made="This Agreement is made as of March 1, 2021", more=f"{LONG}\n{more}")

    assert values(text, "effective_date") == [day]
    assert not is_sure(text, "effective_date"), "a person sees that there are two"


def test_a_cover_page_names_party_a_and_party_b() -> None:
    cover = (
        "MUTUAL NDA\nParty A\tTallgrass Apparel LLC, 459 Commerce Way, Seattle, Washington 98101\n"
        "Party B\tNorthgate Materials Ltd., 545 Second Avenue, Chicago, Illinois 60606\n"
        "Effective Date\tJuly 12, 2008\nTerm\tfive (5) years\nGoverning Law\tCalifornia\n"
        "Purpose\tEvaluation of a potential business relationship\n\n"
    )
    text = f"{cover}{'1. Each party keeps secret what it learns. ' * 20}"

    assert values(text, "party") == ["Tallgrass Apparel LLC", "Northgate Materials Ltd."]
    assert values(text, "governing_law") == ["California"]
    assert is_sure(text, "party")
    assert is_sure(text, "governing_law")


def test_the_kind_of_a_foreign_company_and_a_longer_clause_on_the_law_are_understood() -> None:
    second = 'Beta Systems LLC, a société par actions simplifiée ("Beta")'
    law = (
        "This Agreement, as well as its performance, is governed by the laws of the State of Ohio."
    )

    assert is_sure(agreement(second=second), "party")
    assert is_sure(agreement(law=law), "governing_law")


def test_a_contract_of_one_day_that_takes_effect_on_another_waits() -> None:
    text = agreement().replace(
        "by and between", "with effect from April 1, 2021 of this Agreement, by and between"
    )
    assert not is_sure(text, "effective_date")
    head = 'zwischen der Nordlicht Maschinenbau GmbH ("Nordlicht") und der Südwind Software AG ("Südwind")'
    made = "schließen am 2. April 2025 diesen Vertrag, der mit Wirkung zum 1. Mai 2025 gilt:"
    assert not is_sure(f"Geheimhaltungsvereinbarung\n\n{head}\n\n{made}\n\n", "effective_date")


DEED = """DEED OF CONFIDENTIALITY

{dated}

PARTIES
(1) ACME WIDGETS LIMITED, a company incorporated in England and Wales (company number 01234567) (the Discloser); and
(2) BETA SYSTEMS LIMITED, a company incorporated in England and Wales (company number 07654321) (the Recipient).

1. Confidentiality. The Recipient shall keep the information confidential.

2. Governing law. This deed is governed by the law of England and Wales.

EXECUTED as a DEED by ACME WIDGETS LIMITED acting by a director
{signed} acting by a director
"""


def test_a_deed_that_another_company_signs_waits() -> None:
    signed = "EXECUTED as a DEED by BETA SYSTEMS LIMITED"
    assert is_sure(DEED.format(dated="DATED 1 March 2025", signed=signed), "party")
    for other in (
        "EXECUTED as a DEED by GAMMA HOLDINGS LIMITED",
        "Signed for and on behalf of Gamma Holdings Limited",
    ):
        assert not is_sure(DEED.format(dated="DATED 1 March 2025", signed=other), "party")
