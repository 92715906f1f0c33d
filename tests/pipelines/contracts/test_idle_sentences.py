"""What a sentence cannot change: questions, addresses, thanks, taxes that are in a price, the words of the law."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, extracted, flags, value, written

WITHDRAWAL = """Widerrufsbelehrung - Widerrufsrecht: Sie haben das Recht, binnen vierzehn Tagen ohne Angabe von Gründen
diesen Vertrag zu widerrufen. Die Widerrufsfrist beträgt vierzehn Tage ab dem Tag des Vertragsschlusses. Um Ihr
Widerrufsrecht auszuüben, müssen Sie uns (Musterwerk GmbH, Am Hang 1, 10115 Berlin, Tel. 030 123) mittels einer
eindeutigen Erklärung (z. B. ein mit der Post versandter Brief oder E-Mail) über Ihren Entschluss, diesen Vertrag zu
widerrufen, informieren. Zur Wahrung der Widerrufsfrist reicht es aus, dass Sie die Mitteilung über die Ausübung des
Widerrufsrechts vor Ablauf der Widerrufsfrist absenden.
Folgen des Widerrufs: Wenn Sie diesen Vertrag widerrufen, haben wir Ihnen alle Zahlungen, die wir von Ihnen erhalten
haben, unverzüglich und spätestens binnen vierzehn Tagen ab dem Tag zurückzuzahlen, an dem die Mitteilung über Ihren
Widerruf dieses Vertrags bei uns eingegangen ist."""
SAFEGUARD = """You have the right to cancel this contract within 14 days without giving any reason. To meet the
cancellation deadline, it is sufficient for you to send your communication concerning your exercise of the right to
cancel before the cancellation period has expired."""


@pytest.mark.parametrize(
    "sentence",
    [
        "Wie kann ich kündigen?",
        "What happens when my contract ends?",
        "Serviceline 0800 664 100.",
        "Mr Fergus Hale, 22 Brae Terrace, Perth PH1 5QN.",
        "Aufsicht GmbH, Otto-Wagner-Platz 5, 1090 Wien.",
        "danke für deine Bestellung!",
        "Alle Preise sind Bruttopreise, also inklusive 19 % Mehrwertsteuer.",
        "Harbour Energy Limited is a company registered in England and Wales.",
        "Nach Ablauf verlängert sich der Vertrag von Jahr zu Jahr, sofern keine der Parteien mit einer Frist von "
        "drei Monaten in Textform kündigt.",
        "Please keep this letter safe.",
        "Dein SEPA-Lastschriftmandat liegt uns vor.",
        "Wir ziehen ihn immer am 1. des Monats ein.",
        "Named driver: none.",
        "You have 6 years' no claim discount.",
        "Ihr Zähler hat die Nummer 7GMT0008812940.",
    ],
)
def test_a_sentence_that_can_change_nothing_passes(sentence: str) -> None:
    assert flags(extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Falsch.",
        "Ihr Vertrag ist nicht aktiv.",
        "Your premium is wrong.",
        "The policy may be void.",
        "Der Kunde widerruft nach § 355 BGB.",
        "Nachtrag: der Preis steigt im Mai.",
        "Kunde: verstorben.",
        "Status: closed.",
        "Danke für die gemeinsame Zeit, wir haben den Vertrag beendet.",
        "Alle Preise inklusive Mehrwertsteuer gelten nicht für Neukunden ab Mai.",
        "Quarry Energy Limited is registered as your customer instead.",
    ],
)
def test_a_word_that_denies_is_enough_in_a_sentence_that_resembles_an_ordinary_one(
    sentence: str,
) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical)) != []


@pytest.mark.parametrize("notice", [WITHDRAWAL, SAFEGUARD])
def test_the_instruction_on_withdrawal_in_the_words_of_the_law_says_nothing(notice: str) -> None:
    found = extracted(f"{written(ENERGY)}\n\n{notice}", "energy")
    assert flags(found) == []
    assert value(found, "cancellation_period").value == "1 month"
    assert value(found, "cancellation_period").confidence >= 80


def test_a_withdrawal_that_arrived_is_no_part_of_the_instruction() -> None:
    told = "Ihr Widerruf ist am 3. Mai bei uns eingegangen."
    assert flags(extracted(f"{written(ENERGY)}\n\n{WITHDRAWAL} {told}", "energy")) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "Cooling off. You can change your mind within 14 days of the start.",
        "Supply number (MPAN): 19 0002 6613 884.",
        "Stadtbank Stuttgart.",
        "Kündigst du nicht, läuft dein Vertrag unbefristet weiter und ist monatlich kündbar.",
    ],
)
def test_headings_in_a_line_numbers_and_names_of_banks_pass(sentence: str) -> None:
    assert flags(extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Sofortbonus 60,00 Euro, Auszahlung innerhalb von 60 Tagen nach Lieferbeginn.",
        "Nach 12 Monaten schreiben wir Ihnen einen Neukundenbonus von 80,00 Euro auf Ihrer Jahresrechnung gut.",
        "Details finden Sie unter www.eon.example/datenschutz.",
        "Dein bisheriger Anbieter hat die Kündigung bestätigt, damit ist alles klar.",
        "Auf den Energieanteil hast du eine eingeschränkte Preisgarantie bis zum Ende der Vertragslaufzeit.",
        "After that your contract continues monthly until cancelled.",
        "English law applies unless agreed otherwise.",
    ],
)
def test_a_bonus_paid_once_links_and_what_comes_after_the_term_pass(sentence: str) -> None:
    found = extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")
    assert flags(found) == []
    assert value(found, "monthly_rate").confidence >= 80


@pytest.mark.parametrize(
    "sentence",
    [
        "Ihr bisheriger Anbieter hat die Kündigung bestätigt, aber der Vertrag startet erst im Herbst.",
        "After that your contract continues at a higher price.",
        "Den Bonus von 10,00 Euro ziehen wir jeden Monat vom Abschlag ab.",
    ],
)
def test_the_same_subjects_wait_if_they_say_something_of_the_contract(sentence: str) -> None:
    found = extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")
    assert flags(found) or value(found, "monthly_rate").confidence < 80


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Widerruf ist zu richten an: E.ON Energie, München. Der Vertrag wurde storniert.",
        "Die Preise enthalten keine Umsatzsteuer.",
        "The prices include no VAT.",
        "Customer left during the cooling-off period.",
        "This contract is between you and us once we accept it.",
        "This policy is between you and another insurer from next month.",
        "Alle Preise enthalten einen Nachlass, der im Juni endet, und alle Steuern.",
        "Welcome to your 30 day trial.",
        "We have set up your previous account.",
        "Zustand: beendet.",
        "Type: trial.",
        "Der Kunde übt sein Widerrufsrecht aus.",
    ],
)
def test_a_form_that_usually_says_nothing_waits_if_one_of_its_words_alters_the_contract(
    sentence: str,
) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical)) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "Vertragsdaten werden nach Ablauf der gesetzlichen Aufbewahrungsfrist von 10 Jahren gelöscht.",
        "Sie haben das Recht auf Auskunft, Berichtigung, Löschung und Beschwerde bei einer Aufsichtsbehörde.",
        "Ich ermächtige die E.ON, Zahlungen von meinem Konto mittels Lastschrift einzuziehen.",
        "Die Schlichtungsstelle der Bundesnetzagentur erreichen Sie ohne Anwalt.",
        "Readings are taken automatically from the smart meter every half hour.",
        "Vorsätzlich herbeigeführte Schäden sind nicht versichert.",
    ],
)
def test_a_sentence_with_two_words_of_a_subject_of_all_contracts_is_about_it(sentence: str) -> None:
    assert flags(extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Die Daten wurden gelöscht.",
        "Die Vertragsdaten wurden nach einer Berichtigung neu erfasst.",
        "Der Zähler samt Ablesung gehört der Nachbarin.",
        "Zähler und Netzbetreiber sind falsch angegeben.",
        "Per Lastschrift ziehen wir mit dem neuen Mandat nur 55,00 EUR ein.",
        "Netz und Zähler stehen ab dem 01.07.2026 einem anderen zu.",
    ],
)
def test_what_happened_an_amount_a_day_and_what_is_of_others_count_all_the_same(
    sentence: str,
) -> None:
    found = extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")
    assert flags(found) or any(each.confidence < ACCEPTED_MIN for each in found.found)


@pytest.mark.parametrize(
    "sentence",
    [
        "VAT is included in our prices.",
        "Insurance premium tax at 12% is already included in your premium.",
        "Value added tax is part of all prices.",
        "Die gesetzliche Mehrwertsteuer ist in den Preisen enthalten.",
        "Die Versicherungsteuer von 19 % ist bereits in Ihrem Beitrag enthalten.",
        "In den genannten Preisen ist die Umsatzsteuer von 19 % enthalten.",
        "Ihre erste Abrechnung bekommen Sie im Frühjahr 2027.",
        "Deine erste Rechnung kommt Anfang Juni.",
        "Your router will arrive a few days before your service starts.",
        "Deine Bestellung ist da!",
        "Your new broadband service is confirmed as follows.",
    ],
)
def test_taxes_within_prices_and_what_is_on_its_way_hold_no_contract_up(sentence: str) -> None:
    found = extracted(written(ENERGY, sentence=f"\n{sentence}"), "energy")

    assert flags(found) == []
    assert value(found, "monthly_rate").confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "sentence",
    [
        "VAT is not included in our prices.",
        "VAT is included in our prices until June.",
        "Die Mehrwertsteuer ist in den Preisen nicht enthalten.",
        "Ihre erste Abrechnung bekommen Sie erst nach der Freigabe.",
        "Your router will arrive once your contract has been approved.",
        "Your new service is confirmed only for the first year.",
        "Deine Bestellung ist nicht da!",
    ],
)
def test_the_same_forms_with_anything_else_in_them_wait(sentence: str) -> None:
    found = extracted(written(ENERGY, sentence=f"\n{sentence}"), "energy")

    assert flags(found) or value(found, "monthly_rate").confidence < ACCEPTED_MIN
