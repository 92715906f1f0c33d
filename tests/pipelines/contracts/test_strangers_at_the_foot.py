"""Who signs an agreement and is none of its parties."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import NDA, RULES, extracted

DATED = "This Agreement is made as of March 5, 2024"


@pytest.mark.parametrize(
    "change",
    [
        ("HARROW MILLS INC.     ", "HARROW HOLDINGS INC.  "),
        ("HARROW MILLS INC.     ", "CORVID SYSTEMS LTD.   "),
        ("BEXLEY ROBOTICS LLC\n", "BEXLEY ROBOTICS LLC          CORVID SYSTEMS LTD.\n"),
        ("By: ____________________\n", "By: ____________________\n\nGuaranteed by Corvid Systems Ltd."),
        ("By: ____________________\n", "By: ____________________\n\nCORVID SYSTEMS LTD.\nBy: _________"),
    ],
    ids=["a holding", "another", "a third beside", "a guarantor", "a third below"],
)  # fmt: skip
def test_a_company_that_signs_and_is_no_party_makes_the_parties_unsure(
    change: tuple[str, str],
) -> None:
    text = NDA.format(date=DATED, law="the State of New York")
    head, foot = text.split("2. Governing Law", 1)
    assert change[0] in foot

    found = extracted(f"{head}2. Governing Law{foot.replace(*change)}", "general")

    parties = [each.confidence for each in found.found if each.field == "party"]
    assert min(parties) < ACCEPTED_MIN
    assert not validate_extraction(found, RULES).accepted


@pytest.mark.parametrize(
    "foot",
    ["", "\nHarrow Mills Inc., Dover, Delaware", "\nHARROW MILLS INC., a subsidiary of Mills Holding Inc."],
)  # fmt: skip
def test_parties_that_sign_alone_stay_sure(foot: str) -> None:
    found = extracted(NDA.format(date=DATED, law="the State of New York") + foot, "general")

    parties = [each.confidence for each in found.found if each.field == "party"]
    assert min(parties) >= ACCEPTED_MIN


GERMAN_NDA = """
Geheimhaltungsvereinbarung

zwischen der Harrow Mühlen GmbH, Gartenstraße 5, 20095 Hamburg ("Harrow")
und der Bexley Robotik AG, Ring 7, 80331 München ("Bexley")

§ 1 Inkrafttreten
Diese Vereinbarung tritt am 5. März 2024 in Kraft.

§ 2 Recht
Es gilt deutsches Recht.

Hamburg, den 5. März 2024             München, den 5. März 2024
{signed}
"""


@pytest.mark.parametrize(
    ("signed", "is_sure"),
    [
        ("Harrow Mühlen GmbH                    Bexley Robotik AG", True),
        ("Harrow Mühlen GmbH          Bexley Robotik AG          Corvid Systeme GmbH", False),
        ("Harrow Mühlen GmbH\nBexley Robotik AG\nCorvid Systeme GmbH", False),
    ],
)
def test_all_who_sign_a_german_agreement_are_its_parties(signed: str, *, is_sure: bool) -> None:
    found = extracted(GERMAN_NDA.format(signed=signed), "general")

    parties = [each.confidence for each in found.found if each.field == "party"]
    assert len(parties) == 2
    assert (min(parties) >= ACCEPTED_MIN) == is_sure
