"""What the parties of an agreement do for each other holds none up, unless it says something of the agreement."""

import pytest

from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.reader import text_document

ENGLISH = (
    "SERVICES AGREEMENT\nThis Agreement is made on 9 February 2026 between Tidewell "
    'Instruments Limited ("Tidewell") and '
    'Hollow Mere Water plc ("Hollow Mere").\n1. Confidentiality. Each party shall '
    "keep the other's confidential information "
    "confidential and shall not disclose it without prior written consent.\n2. "
    "Services. {said}\n3. Law. This Agreement is "
    "governed by the law of Scotland.\nfor and on behalf of Tidewell Instruments "
    "Limited\nfor and on behalf of Hollow Mere Water plc\n"
)
GERMAN = (
    "Wartungsvertrag\nzwischen\nRheintal Messtechnik GmbH\nIndustriestraße 14, 50735 Köln\nund\nBergmann Sensorik AG\n"
    "Am Anger 3, 99084 Erfurt\n§ 1 Leistung\n{said}\n§ 2 Beginn\nDer Vertrag beginnt "
    "am 21.03.2024.\n§ 3 Recht\nEs gilt deutsches Recht.\n"
    "gez. Rita Kern\tgez. Jan Stadler\nRheintal Messtechnik GmbH\tBergmann Sensorik AG\n"
)


def is_approved(form: str, said: str) -> bool:
    rules = default_rules()
    found = by_rules(text_document(form.format(said=said)), rules.vertical("general"), rules)
    return validate_extraction(found, rules).accepted


@pytest.mark.parametrize(
    "said",
    [
        "Travel costs are refunded at the usual civil service rates.",
        "Otherwise total liability is limited to the Liability cap.",
        "Employees carry their own tools on the premises.",
    ],
)
def test_a_clause_about_the_services_holds_no_agreement_up(said: str) -> None:
    assert is_approved(ENGLISH, said)


@pytest.mark.parametrize(
    "said",
    [
        "Der Auftragnehmer wartet die sechs Kälteanlagen zweimal jährlich und beseitigt Störungen binnen vier Stunden.",
        "Die Pauschale beträgt 1.190,00 EUR monatlich einschließlich 19 % Umsatzsteuer (1.000,00 EUR netto).",
        "Eine ordentliche Kündigung ist ausgeschlossen.",
    ],
)
def test_a_german_clause_about_the_services_holds_no_agreement_up(said: str) -> None:
    assert is_approved(GERMAN, said)


@pytest.mark.parametrize(
    "said",
    [
        "The maintenance has since gone to Norland, and the fees with it.",
        "The software side of this bargain fell asleep with the audit.",
        "Charges and everything else here rest until the board meets.",
        "The fees were void, and so was the paper.",
        "Fees remain open until both sides agree.",
        "Only Norvane provides the services and sends invoices.",
        "Tidewell became Norvane after the merger, invoices go there.",
        "Services stop in spring and no invoices follow.",
        "Staff at Tidewell never agreed to the fees.",
        "The servers moved to Penrose and the support with them.",
        "Costs and charges are shown for illustration purposes.",
        "Halden & Roe stands behind the staff and answers in their stead.",
    ],
)
def test_a_clause_about_the_services_waits_if_it_speaks_of_the_agreement(said: str) -> None:
    assert not is_approved(ENGLISH, said)


@pytest.mark.parametrize(
    "said",
    [
        "Die Wartung macht inzwischen die Kessler Technik GmbH.",
        "Die Pflichten greifen von dem Tag an, an dem die Lizenz erteilt ist.",
        "Gestartet wird nach dem Audit der Anlagen, frühestens zur Messe.",
        "Die Anlagen hat die Gegenseite so nie bestellt.",
        "Rheintal ist insolvent und stellt die Leistungen ein.",
        "Der Auftraggeber tritt von Leistungen und Vergütung zurück.",
        "Die Leistungen ruhen bis auf Weiteres.",
        "Nordwind übernimmt Leistungen, Rechnungen und Haftung von Rheintal.",
        "Die Leistungen laufen erst ab Ostern.",
        "Die Wartung der Anlagen übernimmt jetzt Kessler.",
        "Die Wartung der Anlagen steht unter dem Vorbehalt der Finanzierung.",
    ],
)
def test_a_german_clause_about_the_services_waits_if_it_speaks_of_the_agreement(said: str) -> None:
    assert not is_approved(GERMAN, said)
