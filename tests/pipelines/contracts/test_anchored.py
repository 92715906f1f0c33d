"""Values with their own label beside them: what else in a document is a rival of one, and what is not."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import ENERGY as LINES
from tests.pipelines.contracts.capped import INSURANCE, RULES, extracted, value, written

ENERGY = {name: line.replace(": ", "\t") for name, line in LINES.items()}


@pytest.mark.parametrize(
    "line",
    [
        "Dresden,: 10.06.2025",
        "Frau\tDatum\nBianca Rothfuchs\t28.01.2025",
        "Bitte richten Sie einen Dauerauftrag ein, beginnend mit dem 1. November 2025.",
        "We'll take the first payment on the 1st, starting 1 May 2025, from the account you gave us.",
    ],
)
def test_a_day_without_a_word_about_the_contract_is_no_rival_of_a_labelled_one(line: str) -> None:
    found = extracted(f"{line}\n\n{written(ENERGY)}\n\n{line}", "energy")
    assert value(found, "contract_start").confidence >= ACCEPTED_MIN
    assert value(found, "contract_end").confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Wir versorgen Sie ab dem 1. Juli 2025.",
        "Der Termin wurde auf den 1. Juli 2025 verschoben.",
        "Lieferbeginn: 01.07.2025",
        "Your supply was moved to 1 July 2025.",
        "Wir buchen den Abschlag ab, sobald die Lieferung am 1. Juli 2025 beginnt.",
    ],
)
def test_a_day_of_which_a_sentence_may_say_that_it_holds_is_a_rival(line: str) -> None:
    found = extracted(f"{written(ENERGY)}\n\n{line}", "energy")
    assert value(found, "contract_start").confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Danach läuft er unbefristet weiter; er kann dann mit einer Frist von sechs Wochen aufgelöst werden.",
        "Zu welchen Preisen, schreiben wir Ihnen spätestens sechs Wochen vorher.",
    ],
)
def test_a_period_after_the_first_term_is_no_rival_of_the_notice(line: str) -> None:
    found = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "cancellation_period")
    assert found.confidence >= ACCEPTED_MIN


def test_another_notice_in_the_small_print_is_a_rival() -> None:
    line = "Die Kündigung bedarf der Textform unter Einhaltung einer Frist von drei Monaten."
    found = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "cancellation_period")
    assert found.confidence < ACCEPTED_MIN


def test_a_year_of_instalments_that_were_rounded_is_no_rival() -> None:
    line = "Das ergibt 1.137,20 EUR."
    found = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "monthly_rate")
    assert found.confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Der Abschlag beträgt danach 120,00 EUR.",
        "From October you pay 120.00 EUR.",
        "Der neue Preis ist 120,00 EUR.",
    ],
)
def test_an_amount_that_may_replace_the_instalment_is_a_rival(line: str) -> None:
    found = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "monthly_rate")
    assert found.confidence < ACCEPTED_MIN


def test_amounts_without_tax_are_told_anywhere() -> None:
    line = "Entgelte in dieser Bestätigung sind ohne Umsatzsteuer angeführt."
    found = value(extracted(f"{written(ENERGY)}\n\n{line}", "energy"), "monthly_rate")
    assert found.confidence < ACCEPTED_MIN


def test_an_address_that_is_old_is_no_previous_contract() -> None:
    text = f"Property supplied\tThe Old Forge, Church Lane\n{written(ENERGY)}"
    assert validate_extraction(extracted(text, "energy"), RULES).accepted


def test_the_number_of_a_policy_is_no_kind_of_insurance() -> None:
    found = extracted(f"Policy\nDLP-3390 1147\n\n{written(INSURANCE)}", "insurance")
    assert value(found, "policy_type").confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "sentence",
    [
        "Wird nicht gekündigt, verlängert sich der Vertrag um jeweils ein Jahr.",
        "Nach Ende der Bindung läuft der Vertrag weiter, ohne dass eine neue Bindung entsteht.",
        "Beide Preise bleiben bis zum Vertragsende fest.",
        "Die ausführliche Fassung steht unter stadtwerk.de/datenschutz.",
        "Bitte vergleichen Sie die Angaben mit Ihrem Antrag.",
    ],
)
def test_a_sentence_of_a_form_that_changes_no_contract_holds_none_up(sentence: str) -> None:
    assert validate_extraction(
        extracted(f"{written(ENERGY)}\n\n{sentence}", "energy"), RULES
    ).accepted


@pytest.mark.parametrize(
    "sentence",
    [
        "Bitte werfen Sie diesen Brief weg, der nächste ist der richtige.",
        "Der Preis bleibt nur im ersten halben Jahr der Laufzeit fest.",
        "Der Vertrag wurde inzwischen aufgelöst, siehe stadtwerk.de/konto.",
        "Kommt der Techniker nicht ins Haus, war alles umsonst und die Zusage ist hinfällig.",
    ],
)
def test_such_a_form_excuses_nothing_that_happened_or_that_points_at_the_paper(
    sentence: str,
) -> None:
    text = f"{written(ENERGY)}\n\n{sentence}"
    assert not validate_extraction(extracted(text, "energy"), RULES).accepted


@pytest.mark.parametrize(
    "sentence",
    [
        "Sollte der Tarif auslaufen, zahlen Sie den Aufschlag der Grundversorgung.",
        "Läuft die Aktion aus, steigt der Abschlag.",
        "Endet der Rabatt, steigt der Abschlag.",
        "Geht klar, der Vertrag ist storniert.",
        "Bitte zahlen Sie im zweiten Jahr den vollen Preis.",
        "Sagen Sie uns bitte, ob Sie den Tarif wirklich wollen.",
        "Let us know whether you still want this plan.",
        "Den aktuellen Preis sehen Sie stündlich unter www.boersenstrom.de.",
        "Once the welcome offer ends, the monthly charge doubles.",
        "Der Grundpreis ist über die Laufzeit fest, der Arbeitspreis folgt der Börse.",
        "Der Preis ist für zwölf Monate der Laufzeit fest.",
    ],
)
def test_no_form_of_a_sentence_excuses_what_its_gaps_say(sentence: str) -> None:
    text = f"{written(ENERGY)}\n\n{sentence}"
    assert not validate_extraction(extracted(text, "energy"), RULES).accepted
