"""NDAs and general contracts: the many ways in which they name parties, dates, laws and terms."""

import pytest

from stateward.pipelines.contracts.general import GeneralExtractor, find_values
from stateward.pipelines.contracts.general.dates import dates_in
from stateward.pipelines.contracts.general.names import canonical_name, key, name_at
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.contracts.general.term import durations_in
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.kit.reader import text_document
from tests.pipelines.contracts.agreements import REST, found, values

PREAMBLES = [
    (
        "This Agreement, made this 3rd day of August, 2004, by and between Acme Widgets, Inc., a Delaware corporation"
        ' ("Acme"), and John Q. Public, an individual residing in Texas ("Recipient").',
        ["Acme Widgets Inc.", "John Q. Public"],
        "2004-08-03",
    ),
    (
        'THIS CONFIDENTIALITY AGREEMENT (this "Agreement"), dated as of July 1, 2011, is entered into by and'
        " among GLOBAL"
        ' PARTNERS, L.P., a Delaware limited partnership (together with its affiliates, "Global"), and XYZ'
        " HOLDINGS, LLC"
        ' (the "Company").',
        ["Global Partners LP", "XYZ Holdings LLC"],
        "2011-07-01",
    ),
    (
        'This Agreement is effective as of March 5, 2009 between 3M Company ("3M") and E. I. du Pont de'
        " Nemours and Company"
        ' ("DuPont").',
        ["3M Company", "E. I. du Pont de Nemours and Company"],
        "2009-03-05",
    ),
    (
        'In consideration of my employment with Progressive Software Corp. (the "Company"), I, Susan Miller,'
        " hereby agree"
        " as follows:",
        ["Progressive Software Corp.", "Susan Miller"],
        None,
    ),
    (
        'BETWEEN:\nABC CORP. (hereinafter called "ABC")\nOF THE FIRST PART\nAND:\nXYZ LTD. (hereinafter'
        ' called "XYZ")\n'
        "OF THE SECOND PART\nDated the 15th of June, 2006",
        ["ABC Corp.", "XYZ Ltd."],
        "2006-06-15",
    ),
    (
        "This Employment Agreement is made effective as of August 24, 2018, by and between Initech LLC, a Texas limited"
        ' liability company (the "Company"), and Daniel R. Okafor (the "Executive").',
        ["Initech LLC", "Daniel R. Okafor"],
        "2018-08-24",
    ),
    (
        'This Software License Agreement (the "Agreement") is dated as of July 22, 2014 and is between Initech LLC,'
        ' a Texas limited liability company ("Licensor"), and Globex Corporation, a Delaware corporation ("Licensee").',
        ["Initech LLC", "Globex Corporation"],
        "2014-07-22",
    ),
    (
        "Dienstleistungsvertrag vom 17. April 2019\nZwischen der Nordlicht Software AG mit Sitz in Ulm"
        " (im Folgenden „Auftraggeberin“) und der Sensorwerk Jena GmbH mit Sitz in Jena (im Folgenden"
        " „Auftragnehmerin“) wird folgender Vertrag geschlossen:",
        ["Nordlicht Software AG", "Sensorwerk Jena GmbH"],
        "2019-04-17",
    ),
    (
        "This Credit Agreement is made as of July 22, 2014 by and between Den Danske Bank A/S, a Danish company"
        ' ("Lender"), and Globex Corporation, a Delaware corporation ("Borrower").',
        ["Den Danske Bank A/S", "Globex Corporation"],
        "2014-07-22",
    ),
    (
        "Lizenzvertrag vom 20. März 2019\nLizenzgeber: Sensorwerk Jena GmbH, Jena\nLizenznehmer: Nordlicht Software AG",
        ["Sensorwerk Jena GmbH", "Nordlicht Software AG"],
        "2019-03-20",
    ),
    (
        "Effective Date: January 2, 2013\nDisclosing Party: Initech LLC\nReceiving Party: Globex Corporation",
        ["Initech LLC", "Globex Corporation"],
        "2013-01-02",
    ),
    (
        'This Agreement is entered into by and between the University of Michigan ("University") and Pfizer'
        ' Inc ("Pfizer")'
        " on August 7, 2012.",
        ["University of Michigan", "Pfizer Inc."],
        "2012-08-07",
    ),
    (
        "This Agreement is made effective May 3, 2010 by and between AT&T Services, Inc., a Delaware"
        " corporation, on behalf"
        ' of itself and its affiliates ("AT&T"), and Smith & Wesson Holding Corporation ("S&W").',
        ["AT&T Services Inc.", "Smith and Wesson Holding Corporation"],
        "2010-05-03",
    ),
    (
        'Entered into effective for all purposes as of August 24, 2004 by Mark A. Sirgo ("Employee") in'
        " favor of BioDelivery"
        ' Sciences International, Inc., a Delaware corporation (the "Company").',
        ["Mark A. Sirgo", "BioDelivery Sciences International Inc."],
        "2004-08-24",
    ),
    (
        "Vertraulichkeitsvereinbarung zwischen der Muster GmbH, Hauptstraße 1, Berlin (nachfolgend"
        ' "Auftraggeber") und der'
        ' Beispiel AG, Köln (nachfolgend "Auftragnehmer") vom 3. März 2021.',
        ["Muster GmbH", "Beispiel AG"],
        "2021-03-03",
    ),
    (
        'This Agreement is executed on May 9, 2002 and made effective as of December 3, 2001 (the "Effective'
        ' Date"), between'
        ' Palm, Inc., a Delaware corporation ("Palm"), having an office in Santa Clara, California and'
        " PalmSource, Inc., a"
        ' Delaware corporation ("PalmSource").',
        ["Palm Inc.", "PalmSource Inc."],
        "2001-12-03",
    ),
    (
        "This Agreement is made as of the ___ day of ________, 2005, by and between ENERGIZER HOLDINGS, INC."
        " (hereinafter"
        ' referred to as "ENERGIZER") and _________________ ("Employee").',
        ["Energizer Holdings Inc."],
        None,
    ),
]


# Forms that were read wrongly once.
MENDED = [
    (
        "CONSULTING AGREEMENT made as of 30th November 2007 BETWEEN\n(1) WPT ENTERPRISES, INC. of 5700"
        " Wilshire Blvd, Los"
        ' Angeles (the "Company"); and\n(2) LYLE BERMAN of 130 Cheshire Lane (the "Consultant").',
        ["WPT Enterprises Inc.", "Lyle Berman"],
        "2007-11-30",
    ),
    (
        "This Amended and Restated Agreement is made as of February 1, 2008 and restates the Agreement dated"
        " January 3,"
        ' 2006, by and between BMC Software, Inc. ("BMC") and msystems Ltd., an Israeli company ("msystems").',
        ["BMC Software Inc.", "msystems Ltd."],
        "2008-02-01",
    ),
    (
        "1. Parties. The parties to this Separation Agreement are Carol Meyrowitz"
        ' ("Executive") and The TJX Companies, Inc. ("TJX").',
        ["Carol Meyrowitz", "The TJX Companies Inc."],
        None,
    ),
    (
        'WHEREAS, Trane Inc. (hereinafter "Trane") and Ingersoll-Rand Company Limited (hereinafter "IR")'
        " wish to discuss a"
        " combination;",
        ["Trane Inc.", "Ingersoll-Rand Company Ltd."],
        None,
    ),
    (
        'First Amendment to the Development Agreement ("Development Agreement") entered into on April 15,'
        " 2010, by and between"
        ' Cargill, Incorporated ("Cargill") and BioAmber S.A.S. ("BioAmber"). This First Amendment will be'
        " effective as of"
        " July 5, 2011.",
        ["Cargill Inc.", "BioAmber S.A.S."],
        "2011-07-05",
    ),
]


@pytest.mark.parametrize(("text", "parties", "day"), [*PREAMBLES, *MENDED])
def test_parties_and_date_are_found_in_the_first_sentence(
    text: str, parties: list[str], day: str | None
) -> None:
    assert [key(name) for name in values(text + REST, "party")] == [key(name) for name in parties]
    assert values(text + REST, "effective_date") == ([day] if day else [])


LETTER = """STRICTLY CONFIDENTIAL

Foo Industries, Inc.
100 Main Street
Chicago, Illinois 60601

April 4, 2008

Bar Capital Partners, LLC
200 Park Avenue
New York, NY 10166
Attention: Mr. Thomas Jones

Ladies and Gentlemen:

In connection with your consideration of a possible transaction with Foo Industries, Inc. (the "Company"), the Company
is prepared to make available to you certain information. The Company was advised by Third Bank Securities LLC.

This letter agreement shall be governed by the laws of the State of Illinois.

Very truly yours,

FOO INDUSTRIES, INC.

By: /s/ Jack Black
Name: Jack Black
Title: Chief Executive Officer

Accepted and agreed as of the date first written above:

BAR CAPITAL PARTNERS, LLC

By: /s/ Thomas Jones
Name: Thomas Jones
"""


def test_the_parties_of_a_letter_are_who_writes_and_who_accepts() -> None:
    assert values(LETTER, "party") == ["Foo Industries Inc.", "Bar Capital Partners LLC"]
    assert values(LETTER, "effective_date") == ["2008-04-04"]
    assert values(LETTER, "governing_law") == ["Illinois"]


def test_a_person_who_accepts_a_letter_is_a_party_and_the_officer_who_signs_is_not() -> None:
    text = (
        LETTER[: LETTER.index("BAR CAPITAL PARTNERS, LLC\n\nBy")]
        + "/s/ Karen L. White\nKaren L. White\n"
    )
    text = text.replace("Bar Capital Partners, LLC\n", "Ms. Karen L. White\n")

    assert values(text, "party") == ["Foo Industries Inc.", "Karen L. White"]


def test_a_letter_that_lost_its_lines_has_the_same_parties_and_date() -> None:
    text = "EX-99.D2 3 exhibit.txt CONFIDENTIALITY AGREEMENT " + " ".join(LETTER.split())

    assert sorted(values(text, "party")) == ["Bar Capital Partners LLC", "Foo Industries Inc."]
    assert values(text, "effective_date") == ["2008-04-04"]


def test_a_person_who_signs_is_the_other_party_if_only_one_is_named() -> None:
    text = (
        "AGREEMENT\nIn consideration of my employment with ePlanning, Inc., a California corporation (the"
        ' "Company"), I agree to the following:\n'
        + "All that I learn I keep. " * 20
        + "\nePlanning, Inc.\tEMPLOYEE\nBy: /s/ Jay Jones\t/s/ David Scull\nTitle: President\tDavid Scull\n"
    )

    assert values(text, "party") == ["ePlanning Inc.", "David Scull"]


def test_signatures_name_the_parties_where_nothing_else_does() -> None:
    text = (
        "CONFIDENTIALITY AGREEMENT\n"
        + "Each side keeps what it learns. " * 20
        + "\nIN WITNESS WHEREOF, the parties have executed this Agreement as of the 5th day of March, 2007.\n"
        "ALPHA SYSTEMS, INC.\tBETA NETWORKS LTD.\nBy: /s/ A. One\tBy: /s/ B. Two\nName: A. One\tName: B. Two\n"
    )

    assert values(text, "party") == ["Alpha Systems Inc.", "Beta Networks Ltd."]
    assert values(text, "effective_date") == ["2007-03-05"]


def test_a_company_over_two_lines_signs_as_one() -> None:
    text = LETTER.replace("FOO INDUSTRIES, INC.", "FIRST FOO\nINDUSTRIES, INC.").replace(
        "Foo Industries, Inc.", "First Foo Industries, Inc."
    )

    assert values(text, "party") == ["First Foo Industries Inc.", "Bar Capital Partners LLC"]


def test_a_full_stop_in_an_address_does_not_end_the_parties() -> None:
    text = (
        "BETWEEN:\tORGANIC PREPARATIONS INC.\nLini Highway, Port Vila. Vanuatu\n('the Manufacturer') of one part\n"
        "AND:\tAGAPE INTERNATIONAL HOLDING LIMITED\nKowloon, Hong Kong\n('the Customer') of the other part.\nRECITALS"
    )

    assert values(text + REST, "party") == [
        "Organic Preparations Inc.",
        "Agape International Holding Ltd.",
    ]


def test_of_three_parties_none_is_sure() -> None:
    text = 'Made as of May 1, 2010 among Alpha Inc. ("Alpha"), Beta LLC ("Beta") and Gamma Ltd. ("Gamma").'

    assert {one.confidence >= 80 for one in found(text + REST, "party")} == {False}


def test_every_value_has_the_place_where_it_is_printed() -> None:
    document = text_document(f"Title\f{PREAMBLES[0][0]}{REST}")

    values = list(find_values(Prose(document)))

    assert {one.field for one in values} == {"party", "effective_date", "governing_law"}
    for one in values:
        assert one.place is not None
        page = document.pages[one.place.page - 1]
        assert page.number == 2
        assert page.text[one.place.start : one.place.end] == one.raw


def test_a_name_over_two_lines_is_one_name() -> None:
    text = 'This Agreement is between OPEN STOCK COMPANY VIMPEL-\nCOMMUNICATIONS INC.\n("VIP") and Beta LLC ("Beta").'

    assert values(text + REST, "party")[0] == "Open Stock Company Vimpel-Communications Inc."


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Sony Corporation of America, a New York corporation", "Sony Corporation of America"),
        ("Bank of the Ozarks, Inc. and others", "Bank of the Ozarks Inc."),
        ("MERRILL LYNCH, PIERCE, FENNER & SMITH INCORPORATED.", "Merrill Lynch Pierce Fenner and Smith Inc."),
        ("Carlyle Investment Management L.L.C. has asked", "Carlyle Investment Management LLC"),
        ("Palm, Inc. and PalmSource, Inc.", "Palm Inc."),
        ("Mr. Robert L. Smith, Jr., the employee", "Robert L. Smith Jr."),
        ("Saco River Telegraph and Telephone Company, a Maine", "Saco River Telegraph and Telephone Company"),
        ("Novo Nordisk A/S, a Danish company", "Novo Nordisk A/S"),
        ("Great Lakes Gas Limited Partnership (Transporter)", "Great Lakes Gas Limited Partnership"),
        ("Acme Limited Liability Company, a", "Acme Limited Liability Company"),
        ("Fonterra (USA) Inc., a California", "Fonterra (USA) Inc."),
        ("Columbia Laboratories,\n(Bermuda) Ltd., a", "Columbia Laboratories (Bermuda) Ltd."),
        ("PC Quote, Inc., a Delaware", "PC Quote Inc."),
        ("QIWI plc, a company", "QIWI PLC"),
        ("2205925 Ontario Limited, a", "2205925 Ontario Ltd."),
    ],
)  # fmt: skip
def test_a_name_ends_where_its_description_begins(text: str, name: str) -> None:
    read = name_at(text, 0)

    assert read is not None
    assert read.value == name


@pytest.mark.parametrize(
    "text",
    [
        "the Company", "This Agreement is", "2015 Carlyle", "WHEREAS", "Employee",
        "Delaware Limited Liability Company", "Nevada Corporation",
    ],
)  # fmt: skip
def test_words_of_contracts_are_no_names(text: str) -> None:
    assert name_at(text, 0) is None


def test_a_shouted_name_is_calmed() -> None:
    assert canonical_name("COLT'S MANUFACTURING COMPANY LLC") == "Colt's Manufacturing Company LLC"
    assert key("ACME WIDGETS, INCORPORATED") == key("Acme Widgets Inc.")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("August 3, 2004", "2004-08-03"),
        ("this twenty-first day of May, 2000", "2000-05-21"),
        ("the 22ND day of May 2001", "2001-05-22"),
        ("3. März 2021", "2021-03-03"),
        ("12/15/2003", "2003-12-15"),
        ("15.12.2003", "2003-12-15"),
        ("5th day of May in the year 2005", "2005-05-05"),
    ],
)
def test_dates_are_read_as_contracts_write_them(text: str, day: str) -> None:
    assert [dated.value for dated in dates_in(text)] == [day]


def test_a_day_that_does_not_exist_is_no_date() -> None:
    assert list(dates_in("February 30, 2004, 13/13/2004")) == []


@pytest.mark.parametrize(
    ("text", "plainly"),
    [
        ("thirty-six (36) months", "36 months"),
        ("18-month", "18 months"),
        ("einem Jahr", "1 year"),
        ("2 (two) years", "2 years"),
    ],
)
def test_durations_are_read_as_contracts_write_them(text: str, plainly: str) -> None:
    assert [value for _, _, value in durations_in(text)] == [plainly]


def test_the_extractor_gives_the_fields_of_its_vertical_and_says_what_made_them() -> None:
    rules = default_rules()
    vertical = rules.vertical("general")

    extraction = GeneralExtractor().extract(text_document(LETTER), vertical, rules)

    assert extraction.vertical == "general"
    assert extraction.provider is None
    assert [one.field for one in extraction.found] == [
        "party",
        "party",
        "effective_date",
        "governing_law",
    ]
    assert extraction.about["rules"] == rules.version


@pytest.mark.parametrize(
    "text",
    [
        "A" * 50_000,
        "Acme and " * 5_000,
        "two (2) years " * 2_000,
        "between (" * 5_000,
        "Aa, Bb & " * 5_000,
    ],
    ids=["one word", "many ands", "many years", "many brackets", "many firms"],
)
def test_a_hostile_text_is_done_with_soon(text: str) -> None:
    assert len(find_values(Prose(text_document(text)))) < 10


def test_a_text_without_anything_gives_nothing() -> None:
    assert (
        find_values(
            Prose(text_document("Nothing to see in this text, which is no contract at all."))
        )
        == []
    )


def test_a_bracket_within_a_name_gives_no_short_name() -> None:
    text = (
        'This Agreement is made as of 31 October 2019 ("Effective Date") by and between Premier Foods LLC '
        '("Buyer"), and Fonterra (USA) Inc., a California corporation ("Supplier").'
    )

    assert values(text + REST, "party") == ["Premier Foods LLC", "Fonterra (USA) Inc."]
