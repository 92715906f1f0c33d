"""What makes a value sure (pairs in a row, columns with heads) and what of the same kind does not."""

import pytest

from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import RULES, extracted

PAIRS = """AGL Sales Pty Limited\tEnergy Contract Summary
Plan name\tBush Saver\tUsage charge\t30.67 c/kWh
Start date\t15 August 2026\tSupply charge\t108.90 c/day
End date\t14 August 2027\tMonthly instalment\t$113.00
Notice to end\t20 days
"""
COLUMNS = """Verizon Wireless\tCustomer Agreement
Wireless Service Agreement
Account holder\tService plan\tMonthly plan charge\tData included
Ann Doe\tWelcome Data\t$40.00 per month, taxes and fees included\t10 GB per month
The agreement begins on October 27, 2026 and the 24-month service commitment ends on October 26, 2028.
You may cancel service by giving us 30 days' notice.
Service is provided by Verizon Wireless.
"""
DECLARED = """Lemonade Insurance Company\tDECLARATIONS PAGE
Renters Insurance Policy
Policy number\tNamed insured\tPolicy period
RN 5754427\tAnn Doe\tFrom March 21, 2024 to March 21, 2025, 12:01 a.m. standard time
Coverage\tLimit\tDeductible\tMonthly premium
Personal property\t$20,000\t$250\t$24.50
Company: Lemonade Insurance Company
"""
GAS = """Octopus Energy Limited
Tariff\tFixed 12
Start date\t1 August 2026
End date\t31 July 2027
Gas unit rate\t5.74 pence per kWh, VAT included
Standing charge\t31.40 pence per day, VAT included
What you pay\t£54.00 each month by Direct Debit
Cancellation period\t30 days' notice
"""
MOVING = """Stadtwerke München GmbH
Tarif: M-Strom Plus
Vertragsbeginn: 01.03.2026
Vertragslaufzeit: 12 Monate, also bis 28.02.2027
Kündigungsfrist: 4 Wochen zum Vertragsende
Arbeitspreis\tCent/kWh\t31,20
Der monatliche Abschlag beträgt 89,00 € und wird per SEPA-Lastschrift eingezogen.

§ 5 Zieht der Kunde um, hat er das Recht, mit sechswöchiger Frist zu kündigen, sofern nicht weiter geliefert wird.
"""
SWISS = """Swisscom (Schweiz) AG
Abonnement\tAlpen Mobil
Anbieterin\tSwisscom (Schweiz) AG
Vertragsbeginn\t01.03.2025
Vertragsende\t28.02.2027
Kündigungsfrist\t60 Tage
Datenvolumen Schweiz\t8 GB pro Monat
Anrufe und SMS\tunlimitiert in alle Schweizer Netze
Abogebühr\tCHF 49.90 pro Monat (inkl. MWST)
"""
TEXTS = {
    "pairs": (PAIRS, "energy"),
    "columns": (COLUMNS, "telco"),
    "declared": (DECLARED, "insurance"),
    "gas": (GAS, "energy"),
    "moving": (MOVING, "energy"),
    "swiss": (SWISS, "telco"),
}


def is_accepted(name: str, old: str = "", new: str = "") -> bool:
    text, vertical = TEXTS[name]
    assert old in text
    return validate_extraction(extracted(text.replace(old, new), vertical), RULES).accepted


@pytest.mark.parametrize("name", TEXTS)
def test_an_ordinary_contract_needs_no_person(name: str) -> None:
    assert is_accepted(name)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pairs", "End date", "Only until"),
        ("pairs", "Supply charge\t108.90 c/day", "Until month 6\t$99.00"),
        ("pairs", "$113.00", "$113.00 for six months"),
        ("pairs", "20 days\n", "20 days\tFrom month 7\t$140.00\n"),
        ("pairs", "Monthly instalment", "Quarterly instalment"),
        ("pairs", "30.67 c/kWh", "30.67 c/kWh peak"),
        ("columns", "Ann Doe", "Promotion for 6 months only"),
        ("columns", "10 GB per month", "10 GB per month for the first year"),
        (
            "columns",
            "fees included\t10 GB per month",
            "fees included\t10 GB per month\n\t\tuntil month 6",
        ),
        ("columns", "ends on", "ends no earlier than"),
        ("columns", "taxes and fees included", "taxes and fees not included"),
        ("declared", "$250", "$250 (wind: $1,000)"),
        ("declared", "$24.50\n", "$24.50\nWind and hail\t$20,000\t$1,000\t$4.50\n"),
        ("declared", "Personal property", "Personal property if locked"),
        ("declared", "standard time", "standard time, if paid"),
        ("declared", "Ann Doe", "Ann Doe until June"),
        ("gas", "each month by", "by"),
        ("gas", "£54.00 each month", "£54.00 a month until June"),
        ("gas", "5.74 pence per kWh, VAT included", "5.74 pence per kWh, VAT on top"),
        ("moving", "also bis 28.02.2027", "also bis 28.02.2027, wenn Sie nicht widersprechen"),
        ("moving", "sofern nicht weiter geliefert wird", "sonst mit einer Frist von drei Monaten"),
        ("moving", "Zieht der Kunde um, hat er", "Zieht der Kunde um oder nicht, er hat"),
        ("moving", "wird per SEPA", "wird nur per SEPA"),
        ("moving", "Cent/kWh\t31,20", "Euro/MWh\t31,20"),
        ("swiss", "CHF", "EUR"),
        ("swiss", "unlimitiert in alle", "unlimitiert, Daten auch, in alle"),
        ("swiss", "8 GB pro Monat", "8 GB pro Monat\nDatenvolumen\t20 GB"),
    ],
)
def test_what_changes_it_makes_it_wait(name: str, old: str, new: str) -> None:
    assert not is_accepted(name, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Monatlicher Preis: 24,99 €", "Bonus\nMonatlicher Preis: 24,99 €"),
        ("Tarif: Red M\n", "Vertragsdaten\tBonus\nTarif: Red M\tMonatlicher Preis: 24,99 €\n"),
    ],
)
def test_a_price_under_the_name_of_a_bonus_waits(old: str, new: str) -> None:
    price = "Monatlicher Preis: 24,99 €"
    text = (
        "Vodafone GmbH\n\nIhr Mobilfunkvertrag\n\nTarif: Red M\nDatenvolumen: 20 GB\nVertragsbeginn: 01.03.2026\n"
        f"Vertragsende: 28.02.2028\nKündigungsfrist: 1 Monat\n{price}\n"
    )
    changed = text.replace(price, "") if price in new and price != old else text

    assert validate_extraction(extracted(text, "telco"), RULES).accepted
    assert not validate_extraction(extracted(changed.replace(old, new), "telco"), RULES).accepted


DSL = (
    "Vodafone GmbH\n\nIhr Festnetzvertrag\n\nTarif: DSL 100\nVertragsbeginn: 01.03.2026\n"
    "Vertragsende: 28.02.2028\nKündigungsfrist: 1 Monat\nMonatlicher Preis: 24,99 €\n"
)


def test_a_fixed_line_needs_no_volume() -> None:
    found = extracted(DSL, "telco")

    assert "data_volume" not in {each.field for each in found.found}
    assert validate_extraction(found, RULES).accepted


@pytest.mark.parametrize(
    "volumes",
    [
        "Datenvolumen: 20 GB\nDatenvolumen: 30 GB",
        "Datenvolumen: 20 GB, solange der Vorrat reicht",
        "Datenvolumen:",
        "Bonus-Datenvolumen: 5 GB",
    ],
)
def test_a_volume_that_is_printed_unclearly_waits(volumes: str) -> None:
    text = DSL.replace("Festnetzvertrag", "Mobilfunkvertrag").replace("DSL 100", "Red M")

    assert validate_extraction(extracted(f"{text}Datenvolumen: 20 GB\n", "telco"), RULES).accepted
    assert not validate_extraction(extracted(f"{text}{volumes}\n", "telco"), RULES).accepted


DEED = """CONFIDENTIALITY AGREEMENT

THIS AGREEMENT is dated 16 October 2026

PARTIES
(1) SALTER WIND SERVICES LIMITED incorporated and registered in England and Wales with company number 47132596 whose \
registered office is at 14 Quayside, Bristol BS1 4ND (Disclosing Party); and
(2) CALDER FOODS PLC incorporated and registered in England and Wales with company number 47171672 whose registered \
office is at Unit 7, Kingsway Park, Leeds LS12 6AB (Recipient).

1. TERM. The obligations in this agreement shall continue for a period of three years from the date of this agreement.
2. GOVERNING LAW. This agreement shall be governed by and construed in accordance with the law of England and Wales, \
whose courts shall have exclusive jurisdiction.

Signed by Helen Ash
for and on behalf of
SALTER WIND SERVICES LIMITED

Signed by Gareth Pugh
for and on behalf of
CALDER FOODS PLC
"""
EFFECT = """Vertraulichkeitsvereinbarung

Zwischen der Firma Weserwind Logistik GmbH, Marienplatz 5, 88212 Ravensburg (Informationsgeberin), und der Firma \
Haller Verpackungswerke AG, Am Alten Hafen 12, 28195 Bremen (Informationsempfängerin), wird mit Wirkung zum 13. \
November 2024 Folgendes vereinbart:

1. Die Informationsempfängerin hält alles geheim.
2. Auf diese Vereinbarung findet ausschließlich deutsches Recht Anwendung.

Weserwind Logistik GmbH                    Haller Verpackungswerke AG
_______________________                    _______________________
"""
SERVICE = EFFECT.replace(
    "wird mit Wirkung zum 13. November 2024 Folgendes vereinbart", "wird dieser Vertrag geschlossen"
).replace(
    "1. Die",
    "1. Der Vertrag beginnt am 1. März 2025 und endet nach 6 Monaten, ohne dass es einer Kündigung bedarf.\n2. Die",
)
AGREEMENTS = {"deed": DEED, "effect": EFFECT, "service": SERVICE}


@pytest.mark.parametrize("name", AGREEMENTS)
def test_an_ordinary_agreement_needs_no_person(name: str) -> None:
    assert validate_extraction(extracted(AGREEMENTS[name], "general"), RULES).accepted


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (
            "deed",
            "behalf of\nCALDER FOODS PLC",
            "behalf of\nBRAM LIMITED as agent of CALDER FOODS PLC",
        ),
        (
            "deed",
            "LIMITED incorporated",
            "LIMITED, acting for its parent BRAM LIMITED, incorporated",
        ),
        (
            "deed",
            "(Recipient).",
            "(Recipient); and\n(3) BRAM LIMITED of 3 High Street, Leeds (Agent).",
        ),
        (
            "deed",
            "Wales, whose",
            "Wales, save for clause 1 which is subject to the law of Scotland, whose",
        ),
        ("deed", "shall have exclusive", "shall apply French law and have exclusive"),
        (
            "deed",
            "the law of England and Wales, whose",
            "the law of Northern Ireland, and Irish law, whose",
        ),
        ("effect", "1. Die", "Die Vereinbarung tritt am 1. Januar 2025 in Kraft.\n1. Die"),
        ("effect", "Folgendes vereinbart", "Folgendes zum Vertrag vom 3. Mai 2023 vereinbart"),
        ("effect", "findet ausschließlich", "findet nicht ausschließlich"),
        ("effect", "deutsches Recht", "deutsches Recht, hilfsweise österreichisches Recht"),
        (
            "service",
            ", ohne dass es einer Kündigung bedarf",
            ", gilt aber bereits seit dem 1. Januar 2025",
        ),
        (
            "service",
            ", ohne dass es einer Kündigung bedarf",
            "; er wird erst wirksam, wenn der Rat zustimmt",
        ),
        ("service", "beginnt am", "beginnt frühestens am"),
    ],
)
def test_what_changes_an_agreement_makes_it_wait(name: str, old: str, new: str) -> None:
    assert old in AGREEMENTS[name]
    text = AGREEMENTS[name].replace(old, new)

    assert not validate_extraction(extracted(text, "general"), RULES).accepted
