"""German agreements: parties by what is printed at the head and under it, dates, terms and law in several wordings."""

import pytest

from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.extraction import Extraction
from stateward.pipelines.contracts.rules import ACCEPTED_MIN, default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.reader import text_document

PARTIES = ["Rheintal Messtechnik GmbH", "Bergmann Sensorik AG"]
HEAD = (
    "Vertraulichkeitsvereinbarung\nzwischen der\nRheintal Messtechnik GmbH, Industriestraße 14, 50735 Köln\n"
    "und der\nBergmann Sensorik AG, Am Anger 3, 99084 Erfurt\n"
)
DATE = "§ 2 Beginn\nDiese Vereinbarung tritt am 21.03.2024 in Kraft.\n"
LAW = "§ 4 Recht\nEs gilt das Recht der Bundesrepublik Deutschland.\n"
DUTY = (
    "§ 1 Pflichten\nDie empfangende Partei wird die vertraulichen Informationen geheim halten und Dritten nicht ohne "
    "vorherige schriftliche Zustimmung offenlegen, soweit dies im Rahmen des vereinbarten Zwecks erforderlich ist.\n"
)


def signed(*names: str) -> str:
    return "Ort, Datum: ____________\n" + "".join(
        f"_____________________\n{each}\n" for each in names
    )


def read(head: str = HEAD, date: str = DATE, law: str = LAW, foot: str = "") -> Extraction:
    text = head + DUTY + date + law + (foot or signed(*PARTIES))
    rules = default_rules()
    return by_rules(text_document(text), rules.vertical("general"), rules)


def values(found: Extraction, field: str) -> list[str]:
    return [each.value or "" for each in found.found if each.field == field]


@pytest.mark.parametrize(
    "head",
    [
        HEAD,
        "Vertrag\nzwischen\n1. Rheintal Messtechnik GmbH, 50735 Köln\n2. Bergmann Sensorik AG, Erfurt\n",
        "VEREINBARUNG\n"
        "Die Rheintal Messtechnik GmbH, Köln, und die Bergmann Sensorik AG, Erfurt, schließen "
        "folgende Vereinbarung:\n",
        "Rahmenvertrag\nzwischen der Rheintal Messtechnik GmbH, Köln (Auftraggeber) "
        "und der Bergmann Sensorik AG, Erfurt (Auftragnehmer)\n",
        "Mietvertrag\nVermieter: Rheintal Messtechnik GmbH, Köln\nMieter: Bergmann Sensorik AG, Erfurt\n",
        "Mutual NDA\nParties: Rheintal Messtechnik GmbH, 50735 Köln, and Bergmann Sensorik AG, 99084 Erfurt\n",
        "Mietvertrag\nVermieterin\tMieterin\nRheintal Messtechnik GmbH\tBergmann Sensorik AG\n"
        "Hafen 12, 28195 Bremen\tIndustriestraße 9, 86153 Augsburg\nGeschäftsführung: Eva Lohmann\t"
        "Geschäftsführung: Jan Stadler\n",
        "Kooperationsvertrag\nabgeschlossen zwischen der Rheintal Messtechnik GmbH, Köln, im Folgenden kurz „Eins“, "
        "einerseits und der Bergmann Sensorik AG, Erfurt, im Folgenden kurz „Zwei“, andererseits\n",
        "NDA\nBetween Rheintal Messtechnik GmbH, having its registered office at Köln, "
        "and Bergmann Sensorik AG, of Erfurt.\n",
    ],
)
def test_who_is_named_at_the_head_and_signs_is_a_party(head: str) -> None:
    found = read(head)

    assert values(found, "party") == PARTIES
    assert validate_extraction(found, default_rules()).accepted


def test_a_party_needs_no_legal_form_if_it_signs() -> None:
    head = (
        "Dienstvertrag\nZwischen\nNordlicht Pflege gGmbH, Hafenstraße 8, 24103 Kiel, "
        "vertreten durch die Geschäftsführerin Anke Petersen (Auftraggeberin)\n"
        "und\nTechnische Hochschule Oberfranken, Coburg (Auftragnehmer)\n"
    )
    names = ("Nordlicht Pflege gGmbH", "Technische Hochschule Oberfranken")

    assert values(read(head, foot=signed(*names, "Anke Petersen")), "party") == list(names)


def test_one_who_only_signs_makes_no_party() -> None:
    head = HEAD.replace(
        "und der\nBergmann Sensorik AG, Am Anger 3, 99084 Erfurt\n", "und einem Partner\n"
    )

    found = read(head)

    assert not validate_extraction(found, default_rules()).accepted


@pytest.mark.parametrize(
    "line", ["November 1, 2018", "Vertraulichkeitsvereinbarung Agreement", "President"]
)
def test_what_is_no_name_is_no_party_though_it_is_printed_at_both_ends(line: str) -> None:
    found = read(f"{line}\n{HEAD}", foot=f"{signed(*PARTIES)}_____________\n{line}\n")

    assert values(found, "party") == PARTIES


def test_a_name_does_not_begin_with_a_date() -> None:
    head = "Deed\nDate: 6 February 2023\nParties\nWattle Pty Ltd (Discloser)\nBanksia Pty Ltd (Recipient)\n"
    names = ("Wattle Pty Ltd", "Banksia Pty Ltd")

    assert values(read(head, foot=signed(*names)), "party") == [
        "Wattle Pty Ltd.",
        "Banksia Pty Ltd.",
    ]


@pytest.mark.parametrize(
    "date",
    [
        "§ 2 Beginn\nDer Vertrag tritt zum 21. März 2024 in Kraft und läuft 12 Monate.\n",
        "§ 2 Mietzeit\nDas Mietverhältnis beginnt am 21.03.2024 und wird auf fünf Jahre fest geschlossen.\n",
        "§ 2 Laufzeit\nDer Vertrag beginnt am 21.03.2024.\n",
        "§ 2 Dauer\nDiese Vereinbarung tritt am 21.03.2024 in Kraft und gilt für die Dauer von 3 Jahren.\n",
        "§ 2 Dauer\nDieser Vertrag tritt mit 21. März 2024 in Kraft und wird auf zwei Jahre abgeschlossen.\n",
        "§ 2 Laufzeit\nDiese Vereinbarung tritt mit Wirkung vom 21.03.2024 in Kraft.\n",
    ],
)
def test_a_contract_that_says_when_it_begins_is_dated(date: str) -> None:
    found = read(date=date)

    assert values(found, "effective_date") == ["2024-03-21"]
    assert validate_extraction(found, default_rules()).accepted


@pytest.mark.parametrize(
    "line",
    [
        "Abweichend hiervon wird der Vertrag erst zum 20. Juni 2024 wirksam.",
        "Die Vereinbarung gilt ab dem 20.06.2024.",
        "Die Laufzeit des Vertrags beginnt jedoch nicht vor dem 20.06.2024.",
        "Der Vertrag tritt am 20.06.2024 in Kraft.",
    ],
)
def test_another_day_on_which_it_is_said_to_begin_waits_for_a_person(line: str) -> None:
    found = read(law=f"{LAW}{line}\n")

    assert not validate_extraction(found, default_rules()).accepted


def test_the_date_of_the_agreement_that_is_supplemented_is_not_its_date() -> None:
    head = (
        "Vereinbarung\nIn Ergänzung des Kooperationsvertrages vom 06.07.2021 "
        + HEAD.partition("\n")[2]
    )

    found = read(head, date="", foot="Köln, den 21.03.2024\n" + signed(*PARTIES))

    assert values(found, "effective_date") == ["2024-03-21"]
    assert not validate_extraction(found, default_rules()).accepted


@pytest.mark.parametrize(
    ("line", "term"),
    [
        (
            "Diese Vereinbarung tritt am 21.03.2024 in Kraft und hat eine Laufzeit von drei Jahren.",
            "3 years",
        ),
        (
            "Der Vertrag beginnt am 21.03.2024 und wird für die Dauer von 24 Monaten geschlossen.",
            "24 months",
        ),
        (
            "Das Mietverhältnis beginnt am 21.03.2024 und wird auf fünf Jahre fest geschlossen.",
            "5 years",
        ),
        ("Die Geheimhaltungspflichten bestehen für fünf Jahre ab Unterzeichnung.", "5 years"),
        ("Laufzeit: zwei Jahre ab Abschluss.", "2 years"),
        ("Erstlaufzeit: 12 Monate", "12 months"),
        ("Der Vertrag kann mit einer Frist von drei Monaten gekündigt werden.", ""),
        ("Er verlängert sich jeweils um ein Jahr.", ""),
        ("Die Probezeit beträgt sechs Monate.", ""),
    ],
)
def test_how_long_it_lasts_is_read_and_a_notice_is_not(line: str, term: str) -> None:
    assert values(read(date=f"§ 2 Dauer\n{line}\n"), "term") == [term] * bool(term)


@pytest.mark.parametrize(
    "law",
    [
        "§ 4 Es gilt deutsches Recht.\n",
        "§ 4 Recht\nDieser Vertrag unterliegt deutschem Recht unter Ausschluss des UN-Kaufrechts.\n",
        "§ 4 Anwendbares Recht\nAuf diesen Vertrag findet deutsches Recht Anwendung.\n",
        "Für diesen Vertrag gilt das Recht der Bundesrepublik Deutschland.\n",
        "6. Dieser Vertrag untersteht deutschem Recht. Gerichtsstand ist Köln.\n",
        "Auf diesen Vertrag ist deutsches Recht unter Ausschluss seiner Verweisungsnormen anzuwenden.\n",
    ],
)
def test_a_heading_belongs_to_no_sentence_on_the_law(law: str) -> None:
    found = read(law=law)

    assert values(found, "governing_law") == ["Germany"]
    assert all(
        each.confidence >= ACCEPTED_MIN for each in found.found if each.field == "governing_law"
    )


@pytest.mark.parametrize(
    "head",
    [
        "Mietvertrag\nVermieter: Petra Sommer, Bonn\nVerwalter: Rheintal Messtechnik GmbH, Köln\n"
        "Mieter: Bergmann Sensorik AG, Erfurt\n",
        "Vertrag\nzwischen\nStadt Kiel\nim Auftrag: Rheintal Messtechnik GmbH, Köln\nund der\n"
        "Bergmann Sensorik AG, Erfurt\n",
        "Vertrag\nVermittelt von: Rheintal Messtechnik GmbH, Köln\nzwischen Anna Beispiel\nund der\n"
        "Bergmann Sensorik AG, Erfurt\n",
        HEAD.replace("und der\nBergmann", "und der\nRechtsnachfolgerin der\nBergmann"),
        HEAD.replace("und der\nBergmann", "und der\nStadt Kiel, Kiel\nund der\nBergmann"),
        "Agreement\nBetween Rheintal Messtechnik GmbH, Köln,\nand City of Erfurt, through its agent\n"
        "Bergmann Sensorik AG, Erfurt.\n",
        "Agreement\nBetween Rheintal Messtechnik GmbH, Köln,\nand Erfurt Trading, by\n"
        "Bergmann Sensorik AG, its manager.\n",
        "Agreement\nBetween Rheintal Messtechnik GmbH, Köln,\nand Petra Sommer.\nManaging agent:\n"
        "Bergmann Sensorik AG\n",
        "Agreement\nBetween Rheintal Messtechnik GmbH, Köln,\nand Bergmann Sensorik AG, Erfurt,\n"
        "and the University of Kiel, Kiel.\n",
    ],
)
def test_one_who_acts_for_a_party_or_a_party_that_does_not_sign_waits(head: str) -> None:
    assert not validate_extraction(read(head), default_rules()).accepted


@pytest.mark.parametrize(
    ("date", "law"),
    [
        ("§ 2 Die Mietzeit beginnt am 21.03.2024. Sie wurde auf den 01.05.2024 verschoben.\n", LAW),
        (f"{DATE}Der Beginn wird auf den 1. Mai 2024 verlegt.\n", LAW),
        ("This Agreement is effective as of March 21, 2024. It was postponed to May 1, 2024.\n", LAW),
        (DATE, f"{LAW}Im Übrigen gilt französisches Recht.\n"),
        (DATE, f"{LAW}For deliveries, Dutch law applies.\n"),
    ],
)  # fmt: skip
def test_a_day_that_was_moved_and_a_second_law_wait(date: str, law: str) -> None:
    assert not validate_extraction(read(date=date, law=law), default_rules()).accepted
