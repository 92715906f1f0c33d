"""Agreements that set their parties out on lines, in lists and in tables, and that sign without a line to sign on."""

import pytest

from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.extraction import Extraction
from stateward.pipelines.contracts.offline.vertical_detection import detect
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.reader import text_document

PARTIES = ["Rheintal Messtechnik GmbH", "Bergmann Sensorik AG"]
DUTY = (
    "§ 1 Pflichten\nDie empfangende Partei wird die vertraulichen Informationen geheim halten und Dritten nicht ohne "
    "vorherige schriftliche Zustimmung offenlegen, soweit dies im Rahmen des vereinbarten Zwecks erforderlich ist.\n"
)
DATE = "§ 2 Beginn\nDiese Vereinbarung tritt am 21.03.2024 in Kraft.\n"
LAW = "§ 3 Recht\nEs gilt deutsches Recht.\n"
SIGNED = (
    "Köln, den 18.03.2024\tErfurt, den 19.03.2024\ngez. Rita Kern\tgez. Jan Stadler\n"
    "Rheintal Messtechnik GmbH\tBergmann Sensorik AG\n"
)
BLOCKS = (
    "Geheimhaltungsvereinbarung\nzwischen\nRheintal Messtechnik GmbH\nIndustriestraße 14, 50735 "
    "Köln\n- nachfolgend „Rheintal“ -\n"
    "und\nBergmann Sensorik AG\nAm Anger 3, 99084 Erfurt\n- nachfolgend „Bergmann“ -\n"
)


def read(head: str = BLOCKS, date: str = DATE, law: str = LAW, foot: str = SIGNED) -> Extraction:
    rules = default_rules()
    text = head + DUTY + date + law + foot
    return by_rules(text_document(text), rules.vertical("general"), rules)


def values(found: Extraction, field: str) -> list[str]:
    return [each.value or "" for each in found.found if each.field == field]


@pytest.mark.parametrize(
    "head",
    [
        BLOCKS,
        "Geheimhaltungsvereinbarung\nzwischen der\nRheintal Messtechnik GmbH, Industriestraße 14, 50735 "
        "Köln, vertreten durch\n"
        "die Geschäftsführerin Rita Kern\nund der\nBergmann Sensorik AG, Am Anger 3, 99084 "
        "Erfurt,\nvertreten durch den Vorstand\n"
        "- nachfolgend gemeinsam „die Parteien“ -\n",
        "Vertraulichkeitsvereinbarung\nabgeschlossen zwischen der Rheintal Messtechnik GmbH, FN 284417 "
        "k, Gewerbepark 9,\n"
        "5600 St. Johann, und der Bergmann Sensorik AG, FN 391026 p, Linzer Gasse 40, 5020 Salzburg.\n",
    ],
    ids=["blocks", "with who represents them", "in a sentence with addresses"],
)
def test_german_parties_are_found_by_their_place_though_no_line_is_there_to_sign_on(
    head: str,
) -> None:
    found = read(head)

    assert values(found, "party") == PARTIES
    assert validate_extraction(found, default_rules()).accepted


def test_a_third_party_on_lines_of_its_own_is_found_too() -> None:
    found = read(BLOCKS + "sowie\nFuchs & Söhne OHG\nMarkt 1, 07743 Jena\n")

    assert values(found, "party") == [*PARTIES, "Fuchs and Söhne OHG"]
    assert not validate_extraction(found, default_rules()).accepted  # it does not sign


def test_a_name_that_begins_with_a_small_letter_is_found_on_its_line() -> None:
    head = BLOCKS.replace("Bergmann Sensorik AG", "bitgarten systems GmbH")

    assert values(read(head), "party") == [PARTIES[0], "bitgarten systems GmbH"]


def test_parties_behind_labels_of_a_table_are_found() -> None:
    head = (
        "Vertraulichkeitsvereinbarung\nPartei A\tRheintal Messtechnik GmbH, Industriestraße 14, 50735 Köln\n"
        "Partei B\tBergmann Sensorik AG, Am Anger 3, 99084 Erfurt\nBeginn\t15. März 2026\nAnwendbares "
        "Recht\tdeutsches Recht\n"
    )

    found = read(head, date="", law="")

    assert values(found, "party") == PARTIES
    assert values(found, "effective_date") == ["2026-03-15"]
    assert values(found, "governing_law") == ["Germany"]


def test_names_that_go_on_in_the_next_line_of_their_column_have_signed() -> None:
    head = (
        "MUTUAL NON-DISCLOSURE AGREEMENT\nThis Agreement is made on 9 February 2026 between:\n"
        "(1) QUILLBACK ANALYTICS LIMITED, a company incorporated in England and Wales (company number 11840277)\n"
        "whose registered office is at 40 Temple Back, Bristol BS1 6FL; and\n"
        "(2) BRAMBLE FOODS PLC, a company incorporated in England and Wales (company number 03911846)\n"
        "whose registered office is at Foundry House, Sheffield S3 8GG.\n"
    )
    law = "6. Law\nThis Agreement is governed by the law of England and Wales.\n"
    foot = (
        "Signed by Harriet Voss\tSigned by Tom Ashdown\nfor and on behalf of QUILLBACK ANALYTICS\tfor "
        "and on behalf of BRAMBLE FOODS\n"
        "LIMITED\tPLC\n"
    )

    found = read(head, date="", law=law, foot=foot)

    assert values(found, "party") == ["Quillback Analytics Ltd.", "Bramble Foods PLC"]
    assert all(each.confidence >= 80 for each in found.found if each.field == "party")


def test_a_stranger_that_signs_in_a_column_keeps_the_parties_unsure() -> None:
    foot = "für die Rheintal Messtechnik GmbH\tfor and on behalf of Fremdhaus Handels GmbH\n"

    found = read(foot=foot)

    assert not validate_extraction(found, default_rules()).accepted


@pytest.mark.parametrize(
    "said",
    [
        "Diese Vereinbarung tritt am 21. März 2024 in Kraft und hat eine Laufzeit von drei Jahren bis "
        "zum 20. März 2027.",
        "Vertragsbeginn ist der 21. März 2024.",
        "Die Vereinbarung gilt ab 21. März 2024 für die Dauer von 24 Monaten.",
        "Das Abkommen gilt ab dem 21. März 2024.",
    ],
)
def test_german_sentences_tell_the_first_day(said: str) -> None:
    found = read(date=f"§ 2 Beginn\n{said}\n")

    assert values(found, "effective_date") == ["2024-03-21"]
    assert validate_extraction(found, default_rules()).accepted


@pytest.mark.parametrize(
    "said",
    [
        "Deutsches Recht findet Anwendung.",
        "Maßgeblich ist deutsches Recht.",
        "Es gilt deutsches Recht mit Ausnahme der Verweisungsnormen.",
    ],
)
def test_german_sentences_name_the_law(said: str) -> None:
    assert values(read(law=f"§ 3 Recht\n{said}\n"), "governing_law") == ["Germany"]


def test_a_doctor_in_the_name_of_a_firm_is_a_part_of_it() -> None:
    head = BLOCKS.replace("Bergmann Sensorik AG", "Dr. Bergmann Sensorik AG")

    assert values(read(head), "party") == [PARTIES[0], "Dr. Bergmann Sensorik AG"]


@pytest.mark.parametrize(
    "made",
    [
        "is entered into as of 06/09/2025 (June 9, 2025)",
        "commences on 9 June 2025 and continues for two years and is made",
    ],
)
def test_english_words_tell_the_first_day(made: str) -> None:
    head = (
        f'This Agreement {made} by and between Acme Works, Inc. ("Acme") and Beta LLC ("Beta").\n'
    )
    law = "This Agreement is governed by the laws of the State of Ohio.\n"

    day = next(
        each
        for each in read(head, date="", law=law, foot="Acme Works, Inc.\nBeta LLC\n").found
        if each.field == "effective_date"
    )

    assert (day.value, day.confidence >= 80) == ("2025-06-09", True)


def test_a_date_that_only_another_order_of_day_and_month_makes_the_same_stays_unsure() -> None:
    head = (
        "This Agreement is entered into as of 06/09/2025 by and between "
        'Acme Works, Inc. ("Acme") and Beta LLC ("Beta").\n'
    )

    found = read(head, date="", law="", foot="Acme Works, Inc.\nBeta LLC\n")

    assert all(each.confidence < 80 for each in found.found if each.field == "effective_date")


@pytest.mark.parametrize(
    "head",
    [
        "Wartungsvertrag\nAuftragnehmer\tAuftraggeber\nLiftbau Rhein GmbH\tWohnbau Weinheim eG\n",
        "Wartungsvertrag\nAuftraggeber ist die Nordhoff Bau GmbH. Auftragnehmer ist die Rechner Nord GmbH.\n",
        "Kooperationsvertrag\nWeser Markt GmbH\tLumen Licht GmbH\nDie Parteien schließen diesen Vertrag. "
        "Jede Partei trägt ihre Kosten. Jede Partei haftet selbst.\n",
    ],
)
def test_a_contract_for_services_that_names_an_insurance_is_no_policy(head: str) -> None:
    text = f"{head}Versicherung\nEine Betriebshaftpflichtversicherung mit einer Deckungssumme von 3 Mio. EUR besteht.\n"

    assert detect(text_document(text), default_rules())[0] == "general"
