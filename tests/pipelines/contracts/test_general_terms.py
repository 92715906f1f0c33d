"""Law, term and effective date of an agreement, by the words around them."""

import pytest

from stateward.pipelines.contracts.general import find_values
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.kit.reader import text_document
from tests.pipelines.contracts.agreements import BETWEEN, found, values


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("This Agreement shall be governed by the internal laws of the State of New York.", "New York"),
        ("This Agreement is governed by Delaware law.", "Delaware"),
        ("Colorado law governs this Agreement.", "Colorado"),
        ("Danish law applies.", "Denmark"),
        ("The laws of the State of Maine shall govern this Agreement.", "Maine"),
        ("Governing law: Swedish law", "Sweden"),
        ("Anwendbar ist schweizerisches Recht.", "Switzerland"),
        ("Es gilt das Recht der Bundesrepublik Deutschland.", "Germany"),
        ("CONSTRUED UNDER THE LAWS OF THE COMMONWEALTH OF PENNSYLVANIA.", "Pennsylvania"),
        ("It is governed by the law of the Province of Ontario and the laws of Canada.", "Ontario"),
        ("Governing Law: State of Texas", "Texas"),
        ("Venue lies with the courts located in Harris County, Texas.", "Texas"),
        ("Es gilt deutsches Recht.", "Germany"),
        ("Governed by the laws (other than the conflict of laws rules) of the State of Colorado.", "Colorado"),
        ("Acme, organized under the laws of Delaware. Governed by the laws of Ohio.", "Ohio"),
        ("They made a Lease dated May 3, 2019, governed by the laws of Iowa. Governed by the laws of Ohio.", "Ohio"),
        ("The prior one dated May 3, 2019 was governed by the laws of Iowa. Construed by Ohio law.", "Ohio"),
    ],
)  # fmt: skip
def test_the_governing_law_is_found(text: str, law: str) -> None:
    assert values(BETWEEN + text, "governing_law") == [law]


@pytest.mark.parametrize(
    "text",
    [
        "Delaware law governs the internal affairs of the Company.",
        "Where Acme sues, the laws of Italy apply; where Beta sues, the laws of Oregon apply.",
    ],
)
def test_a_law_of_one_matter_or_of_one_case_is_not_certain(text: str) -> None:
    found = find_values(Prose(text_document(BETWEEN + text)))

    assert all(each.confidence < 80 for each in found if each.field == "governing_law")


def test_the_law_under_which_a_party_was_founded_does_not_govern() -> None:
    text = BETWEEN + "Acme is a corporation organized under the laws of the State of Nevada."

    assert values(text, "governing_law") == []


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("This Agreement shall remain in effect for three (3) years from the Effective Date.", "3 years"),
        ("The term of this Agreement shall be two years, unless ended upon 30 days written notice.", "2 years"),
        ("This Agreement will terminate upon the second anniversary of the date hereof.", "2 years"),
        ("The obligations hereunder shall survive for a period of five (5) years.", "5 years"),
        ("This Agreement shall expire at the earlier of (i) eighteen months from the date hereof.", "18 months"),
        ("This Agreement shall commence on the Effective Date and continue for one (1) year.", "1 year"),
        ("Dieser Vertrag hat eine Laufzeit von 24 Monaten.", "24 months"),
        ('It covers what is furnished for one year following the Effective Date ("the Term").', "1 year"),
        ("The restrictions on use and disclosure shall survive for a period of two (2) years.", "2 years"),
        ("The term of this Agreement shall commence on the Effective Date and end three years thereafter.", "3 years"),
        ("This Agreement begins on the Effective Date for an initial period of one year.", "1 year"),
        ("This Agreement covers disclosures for a period of two years commencing as of the date hereof.", "2 years"),
        ('The "Expiration Date" is the date 84 months from the Effective Date.', "84 months"),
        ("The covenants set forth herein shall end upon the two-year anniversary of this Agreement.", "2 years"),
        ("The term of employment shall start on the Effective Date and continue one year thereafter.", "1 year"),
    ],
)  # fmt: skip
def test_the_term_is_found(text: str, term: str) -> None:
    assert values(BETWEEN + text, "term") == [term]


@pytest.mark.parametrize(
    "text",
    [
        "Either party may terminate this Agreement upon sixty (60) days prior written notice.",
        "For twelve months following termination of employment he shall not solicit any customer.",
        "Neither party shall hire any employee of the other for one (1) year from the date hereof.",
        "The Executive has been employed by the Company for more than ten (10) years.",
        "You agree that for 18 months from the date of this letter you will not acquire any securities.",
        "This letter shall end on the later to occur of December 31, 2009 or the day on which he leaves.",
        "This Agreement shall apply to what is disclosed prior to the date that is 12 months from the date hereof.",
        "This Agreement becomes effective and irrevocable upon the expiration of the 14 day period after signing.",
        'The "Restricted Period" means the time until the day five years from the date hereof.',
        "The covenant shall not apply to a person after two months have elapsed from the date on which he left.",
        "The obligations under Section 4 shall survive such termination for a period of three (3) years.",
        "The duration of the covenant will be reduced by one month at a time.",
        "For the period from the Effective Date of this Agreement through September 15, 2008, he will not hire.",
    ],
)
def test_other_durations_are_no_term(text: str) -> None:
    assert values(BETWEEN + text, "term") == []


@pytest.mark.parametrize(
    ("start", "ending", "term"),
    [
        ("May 16, 2002", "shall expire December 31, 2002.", "7 months"),
        ("July 8, 2002", "shall expire December 31, 2002.", "6 months"),
        ("January 1, 2002", "shall expire December 31, 2003.", "2 years"),
        ("January 31, 2002", "shall expire January 30, 2003.", "1 year"),
        ("May 16, 2002", "shall terminate on the earlier of (i) a merger and (ii) May 15, 2003.", "1 year"),
    ],
)  # fmt: skip
def test_a_day_on_which_a_contract_ends_gives_its_term_in_months(
    start: str, ending: str, term: str
) -> None:
    text = f'This Agreement is effective as of {start} between Acme Inc. ("Acme") and Beta LLC ("Beta").'

    found_term = values(f"{text} 4. Term. This Agreement {ending}", "term")

    assert found_term == [term]


def test_how_long_the_contract_lasts_is_its_term_and_not_what_survives_it() -> None:
    own = "This Agreement shall terminate one year after the date of this Agreement."
    duty = "The obligations under this Agreement survive such termination for three years from the date hereof."

    assert values(f"{BETWEEN}{own} {duty}", "term") == ["1 year"]


def test_a_duty_that_ends_some_time_after_a_disclosure_is_a_term_where_no_other_is_stated() -> None:
    duty = "The duty to protect Confidential Information expires five years from the date of disclosure."
    own = "This Agreement shall continue for two years."

    alone = found(BETWEEN + duty, "term")[0]

    assert (alone.value, alone.confidence) == ("5 years", 60)
    assert values(f"{BETWEEN}{duty} {own}", "term") == ["2 years"]


def test_the_date_of_another_agreement_is_not_the_effective_date() -> None:
    text = BETWEEN + "It replaces the Employment Agreement dated as of June 1, 1999."

    assert values(text, "effective_date") == []


@pytest.mark.parametrize(
    ("start", "day"),
    [
        ("THIS AGREEMENT is made with effect from 1 July 2024 between", "2024-07-01"),
        ("This Agreement is entered into with effect as of July 1, 2024 between", "2024-07-01"),
        ("Dieser Vertrag wird mit Wirkung ab 01.07.2024 geschlossen zwischen", "2024-07-01"),
    ],
)
def test_a_signature_on_another_day_is_not_the_effective_date(start: str, day: str) -> None:
    text = f'{start} Acme Inc. ("Acme") and Beta LLC ("Beta"). This Agreement is governed by the laws of Ohio. '

    assert values(
        f"{text}Signed on 14 June 2024 for and on behalf of Acme Inc.", "effective_date"
    ) == [day]


LONG = BETWEEN + "Each side keeps what it learns of the other. " * 130


@pytest.mark.parametrize(
    ("ending", "day"),
    [
        (
            "\nIN WITNESS WHEREOF, they have executed this Agreement this 5th day of May, 2005.",
            "2005-05-05",
        ),
        ("\nBy: A. One\nDate: June 3, 2004\nBy: B. Two\nDate: June 9, 2004\n", "2004-06-09"),
        ("\nBy: A. One\nTitle: President\nMay 17, 2012\n", "2012-05-17"),
        (' It holds from April 1, 2009 (the "Effective Date") on.', "2009-04-01"),
    ],
)
def test_without_a_date_in_the_head_the_end_of_a_contract_tells_it(ending: str, day: str) -> None:
    assert values(LONG + ending, "effective_date") == [day]


def test_a_date_that_could_be_read_in_two_ways_is_less_sure() -> None:
    sure = found(BETWEEN + "Effective Date: 12/15/2003.", "effective_date")[0]
    unsure = found(BETWEEN + "Effective Date: 12/11/2003.", "effective_date")[0]

    assert sure.value == "2003-12-15"
    assert unsure.confidence < 80 < sure.confidence
