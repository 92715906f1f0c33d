"""The instruction on withdrawal is blanked, and nothing of this contract with it."""

import pytest

from stateward.pipelines.contracts.statutory import mask_statutory
from stateward.pipelines.kit.reader import text_document

REPAID = """Wenn Sie diesen Vertrag widerrufen, haben wir Ihnen alle Zahlungen, die wir von Ihnen erhalten haben,
einschließlich der Lieferkosten (mit Ausnahme der zusätzlichen
Kosten, die sich daraus ergeben, dass Sie eine andere Art der Lieferung
als die von uns angebotene, günstigste Standardlieferung gewählt haben), unverzüglich und spätestens binnen
vierzehn Tagen ab dem Tag zurückzuzahlen, an dem die Mitteilung über Ihren Widerruf dieses Vertrags bei uns
eingegangen ist."""
DECLARED = (
    "Um Ihr Widerrufsrecht auszuüben, müssen Sie uns ({}) mittels einer eindeutigen Erklärung (z. B. ein mit der Post "
    "versandter Brief oder eine E-Mail) über Ihren Entschluss, diesen Vertrag zu widerrufen, informieren."
)
EXERCISED = (
    "To exercise the right to cancel, you must inform us {} of your decision by a clear statement."
)
REPAID_BY = (
    "Für diese Rückzahlung verwenden wir dasselbe Zahlungsmittel, das Sie bei der ursprünglichen Transaktion "
    "eingesetzt haben"
)
UNLESS = ", es sei denn, mit Ihnen wurde ausdrücklich etwas anderes vereinbart"
PERFORMED = (
    "Haben Sie verlangt, dass die Lieferung von Strom während der Widerrufsfrist beginnen soll, so haben Sie uns einen "
    "angemessenen Betrag zu zahlen, der dem Anteil der bis zu dem Zeitpunkt, zu dem Sie uns von der Ausübung des "
    "Widerrufsrechts{} unterrichten, bereits erbrachten Dienstleistungen{} entspricht."
)
REIMBURSED = (
    "You have the right to cancel this contract within 14 days without giving any reason. We will make the "
    "reimbursement using the same means of payment as you used for the initial transaction{}."
)
ADDRESSED = "Der Widerruf ist zu richten an: {}"


def masked(text: str) -> str:
    return mask_statutory(text_document(text)).pages[0].text


@pytest.mark.parametrize(
    "text",
    [
        REPAID,
        f"Folgen des Widerrufs. {REPAID}",
        "Widerrufsrecht. Sie haben das Recht, binnen 14 Tagen ohne Angabe von Gründen diesen Vertrag zu widerrufen.",
        DECLARED.format(
            "Musterwerk GmbH, Am Hang 1, 10115 Berlin, Tel. 030 123, post@musterwerk.example"
        ),
        DECLARED.format("Musterwerk GmbH, Am Hang 1,\n10115 Berlin"),
        EXERCISED.format("(Quarry Energy Limited, 4 Mill Lane, Leeds LS1 4AB)"),
        ADDRESSED.format("Musterwerk GmbH, Am Hang 1, 10115 Berlin."),
        f"{REPAID} {REPAID_BY}.",
        f"{REPAID} {REPAID_BY}{UNLESS}.",
        f"{REPAID} {REPAID_BY}{UNLESS}; in keinem Fall werden Ihnen wegen dieser Rückzahlung Entgelte berechnet.",
        f"{REPAID} Waren müssen Sie spätestens binnen vierzehn Tagen an uns zurücksenden; wir tragen die Kosten der "
        "Rücksendung.",
        PERFORMED.format("", ""),
        PERFORMED.format(
            " hinsichtlich dieses Vertrags",
            " im Vergleich zum Gesamtumfang der im Vertrag vorgesehenen Dienstleistungen",
        ),
        REIMBURSED.format(""),
        REIMBURSED.format(
            ", unless you have expressly agreed otherwise; in any event, you will not incur any fees as a result of "
            "the reimbursement"
        ),
        "Die Widerrufsfrist beträgt vierzehn Tage ab dem Tag des\nVertragsabschlusses.",
        "The cancellation period will expire after 14 days from the day you concluded the contract.",
    ],
)
def test_the_words_of_the_law_and_an_address_are_blanked(text: str) -> None:
    assert masked(text).strip() == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            ADDRESSED.format("E.ON, München. Der Vertrag wurde storniert."),
            "Vertrag wurde storniert",
        ),
        (ADDRESSED.format("E.ON, München, Vertrag storniert."), "storniert"),
        (f"{REPAID} {REPAID_BY}, der Vertrag ist beendet.", "beendet"),
        (f"{REPAID} {REPAID_BY}{UNLESS}, nämlich ein Abschlag von 120,00 EUR.", "120,00 EUR"),
        (ADDRESSED.format("die E.ON. Ab Mai beträgt der Abschlag 120,00 EUR."), "120,00 EUR"),
        (DECLARED.format("E.ON; der Vertrag wurde storniert"), "storniert"),
        (DECLARED.format("E.ON, der Abschlag beträgt 120,00 EUR"), "120,00 EUR"),
        (DECLARED.format("E.ON\nVertrag mit anderem Preis\nMünchen"), "anderem Preis"),
        (EXERCISED.format("(contract cancelled)"), "cancelled"),
        (EXERCISED.format("\nMonthly payment from June: £130.00\n"), "£130.00"),
        (
            "Die Widerrufsfrist beträgt vierzehn Tage ab dem Tag\nVERTRAG STORNIERT\ndes Vertragsabschlusses.",
            "STORNIERT",
        ),
        (
            "Die Widerrufsfrist beträgt vierzehn Tage ab dem Tag\nNeue Laufzeit bis Mai 2028\ndes Vertragsabschlusses.",
            "Mai 2028",
        ),
        (
            "The cancellation period will expire after 14 days from the day\nStatus: ended\nof the contract.",
            "Status: ended",
        ),
    ],
)
def test_what_is_said_of_this_contract_stays(text: str, told: str) -> None:
    assert told in masked(text)
