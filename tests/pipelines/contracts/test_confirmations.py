"""What suppliers write into confirmations beside their values: it holds none up, and its counterparts still do."""

import pytest

from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from stateward.pipelines.contracts.statutory import mask_statutory
from stateward.pipelines.kit.reader import text_document
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, extracted, flags, value, written

TELCO = {
    "head": "Telekom Deutschland GmbH, Landgrabenweg 149, 53227 Bonn\n\nAuftragsbestätigung",
    "plan_name": "Tarif: MagentaMobil M",
    "contract_start": "Vertragsbeginn: 21.08.2025",
    "contract_end": "Vertragsende: 20.08.2027",
    "data_volume": "Datenvolumen: 50 GB",
    "monthly_rate": "Monatlicher Grundpreis: 49,95 EUR",
    "cancellation_period": "Kündigungsfrist: 1 Monat",
}


def energy(field: str, **changes: str) -> FoundValue:
    return value(extracted(written(ENERGY, **changes), "energy"), field)


def is_sure(found: FoundValue) -> bool:
    return found.confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "sentence",
    [
        "Auf der nächsten Seite finden Sie eine Übersicht der wichtigsten Bedingungen.",
        "Einzelheiten stehen im Produktinformationsblatt.",
        "Alle Infos zu deinem Tarif findest du im Kundenportal.",
        "Please see your Product Guide for details.",
        "Die Prämie versteht sich inklusive 11 % Versicherungssteuer.",
        "Prämie inklusive eidgenössischer Stempelabgabe.",
        "Einmalig fällt ein Anschlusspreis von 39,99 € an.",
        "There is a one-off connection fee of £25.00 with your first bill.",
        "Dein Anschluss wurde heute aktiviert.",
        "Great news, your switch is on its way!",
        "Die Abschlagszahlungen sind jeweils am Monatsersten fällig.",
        "We're so happy to have you.",
        "Gerne bestätigen wir Ihnen Ihr neues Mobile-Abo.",
    ],
)
def test_a_sentence_that_says_where_to_look_what_is_due_or_who_is_glad_passes(
    sentence: str,
) -> None:
    assert flags(extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Den richtigen Preis finden Sie auf der nächsten Seite.",
        "Die geltenden Bedingungen finden Sie in unserem neuen Schreiben.",
        "Please see your previous letter for the correct details.",
        "Dein Anschluss wurde noch nicht aktiviert.",
        "Dein Anschluss ist vorübergehend aktiv.",
        "Great news, your cancellation is complete!",
        "Hiermit bestätigen wir Ihnen Ihre Kündigung.",
        "Gerne bestätigen wir Ihnen den Widerruf Ihrer Bestellung.",
        "We confirm the withdrawal of your order.",
        "We are so happy to have you back on your old plan.",
    ],
)
def test_what_resembles_such_a_sentence_and_says_something_is_still_for_a_person(
    sentence: str,
) -> None:
    assert flags(extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")) != []


def test_a_value_that_is_printed_again_in_a_sentence_is_as_sure_as_beside_its_label() -> None:
    told = "Ihren Abschlag von 95,00 EUR ziehen wir ab Januar monatlich ein."

    found = value(extracted(f"{told}\n\n{written(ENERGY)}", "energy"), "monthly_rate")

    assert (found.value, is_sure(found)) == ("95.00", True)


@pytest.mark.parametrize(
    ("notice", "expected"),
    [
        (
            "Kündigung: mit einer Frist von 4 Wochen zum 30.04.2027, danach jederzeit mit einer Frist von einem Monat",
            "4 weeks",
        ),
        (
            "Kündigung: mit einer Frist von 1 Monat zum Ende der Laufzeit, anschließend mit einer Frist von 4 Wochen",
            "1 month",
        ),
    ],
)
def test_a_notice_for_the_time_after_the_first_term_is_no_rival(notice: str, expected: str) -> None:
    found = energy("cancellation_period", cancellation_period=notice)

    assert (found.value, is_sure(found)) == (expected, True)


@pytest.mark.parametrize(
    "notice",
    [
        "Kündigungsfrist: 4 Wochen oder ein Monat",
        "Kündigungsfrist: 4 Wochen. Danach sprechen wir noch. Kündigungsfrist: ein Monat",
    ],
)
def test_two_notices_for_one_time_are_rivals(notice: str) -> None:
    assert not is_sure(energy("cancellation_period", cancellation_period=notice))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Den ersten Abschlag buchen wir am 01.06.2025 ab.", True),
        ("Den ersten Abschlag ziehen wir am 01.06.2025 per Lastschrift ein.", True),
        ("Die Belieferung buchen wir auf den 01.06.2025 um.", False),
    ],
)
def test_a_day_on_which_an_amount_is_taken_is_no_start(sentence: str, *, expected: bool) -> None:
    found = value(extracted(f"{written(ENERGY)}\n{sentence}", "energy"), "contract_start")

    assert is_sure(found) is expected


def test_a_volume_right_before_its_label_is_its_own_whatever_stands_further_before() -> None:
    told = "Telefonie und SMS in alle deutschen Netze sowie 50 GB Datenvolumen pro Monat."

    found = value(extracted(written(TELCO, data_volume=told), "telco"), "data_volume")

    assert found.value == "50 GB"


def test_a_row_with_words_of_its_own_under_an_amount_is_no_second_amount_of_it() -> None:
    rows = "Monatlicher Grundpreis\t49,95 EUR\nServicepauschale\t27,00 EUR jährlich"

    found = value(extracted(written(TELCO, monthly_rate=rows), "telco"), "monthly_rate")

    assert (found.value, is_sure(found)) == ("49.95", True)


def test_an_amount_under_an_amount_without_words_still_is() -> None:
    rows = "Monatlicher Grundpreis\t49,95 EUR\n\t59,95 EUR"

    found = value(extracted(written(TELCO, monthly_rate=rows), "telco"), "monthly_rate")

    assert not is_sure(found)


@pytest.mark.parametrize(
    ("name", "is_read"), [("1 Year Fixed", True), ("12 months", False), ("12 Monate", False)]
)
def test_a_period_with_a_name_behind_it_is_part_of_the_name(name: str, *, is_read: bool) -> None:
    found = extracted(written(ENERGY, tariff_name=f"Tarif: {name}"), "energy")

    assert [each.value for each in found.found if each.field == "tariff_name"] == (
        [name] if is_read else []
    )


def test_one_word_that_is_nearly_that_of_a_label_makes_no_text_a_spoilt_one() -> None:
    told = "wir bestätigen Ihnen den Schutz nach dem Tarif ERGO Rechtsschutz Best für die Bereiche Privat und Beruf."

    found = value(extracted(f"{written(INSURANCE)}\n\n{told}", "insurance"), "policy_type")

    assert "noisy" not in found.why


@pytest.mark.parametrize(
    "sentence",
    [
        "Diese Vertragszusammenfassung enthält die Hauptelemente dieses Dienstangebots gemäß den EU-Vorschriften.",
        "Complete information about the service is provided in other documents.",
    ],
)
def test_the_head_of_a_summary_in_the_words_of_the_law_says_nothing(sentence: str) -> None:
    text = f"Vertragszusammenfassung\n{sentence}"

    assert mask_statutory(text_document(text)).text.split() == ["Vertragszusammenfassung"]
