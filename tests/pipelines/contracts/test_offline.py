"""The offline extractor on contracts that were written by hand, and on what is hard about them."""

from datetime import date
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest

from stateward.pipelines.contracts.caps import cap_extraction
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.offline import OfflineExtractor, detect
from stateward.pipelines.contracts.offline.number_fields import months_later
from stateward.pipelines.contracts.rules import default_rules, rules_of, shipped_texts
from stateward.pipelines.contracts.validation import ValidationResult, validate_extraction
from stateward.pipelines.contracts.values import same
from stateward.pipelines.kit.documents import TextDocument, TextLine, TextPage
from stateward.pipelines.kit.reader import text_document

RULES = default_rules()
WRITTEN = msgspec.yaml.decode((Path(__file__).parent / "written.yaml").read_bytes())


def extracted(text: str, vertical: str = "energy") -> dict[str, FoundValue]:
    found = OfflineExtractor().extract(text_document(dedent(text)), RULES.vertical(vertical), RULES)
    return {each.field: each for each in found.found}


def judged(text: str, vertical: str) -> tuple[Extraction, ValidationResult]:
    extraction = OfflineExtractor().extract(
        text_document(dedent(text)), RULES.vertical(vertical), RULES
    )
    return extraction, validate_extraction(extraction, RULES)


def wrong(case: dict[str, object], extraction: Extraction) -> list[str]:
    """The fields of a written contract that were not read right."""
    vertical = RULES.vertical(str(case["vertical"]))
    found = {each.field: each.value for each in extraction.found}
    truth = msgspec.convert(case["fields"], dict[str, str])
    return [
        name
        for name, value in truth.items()
        if not ((rule := vertical.field(name)) and same(rule, found.get(name) or "", value, RULES))
    ]


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case["name"][:30])
def test_what_is_sure_in_a_written_contract_is_right(case: dict[str, str]) -> None:
    extraction, verdict = judged(case["text"], case["vertical"])

    faults = wrong(case, extraction)  # type: ignore[arg-type]

    sure = {each.field for each in extraction.found if each.confidence >= 80}
    assert not sure & set(faults)
    assert not (verdict.accepted and faults)
    assert case["hard"] or len(faults) <= 1


def test_nearly_all_fields_of_the_written_contracts_are_right_and_some_need_no_person() -> None:
    fields = mistakes = accepted = 0
    plain = [case for case in WRITTEN if not case["hard"]]
    for case in plain:
        extraction, verdict = judged(case["text"], case["vertical"])
        fields += len(case["fields"])
        mistakes += len(wrong(case, extraction))
        accepted += verdict.accepted

    assert mistakes <= 0.02 * fields
    assert accepted >= 0.2 * len(plain)  # most have words beside a value that no rule knows


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case["name"][:30])
def test_the_vertical_of_a_written_contract_is_seen(case: dict[str, str]) -> None:
    assert detect(text_document(case["text"]), RULES)[0] == case["vertical"]


def test_a_text_that_is_no_contract_has_no_vertical() -> None:
    assert detect(text_document("Lorem ipsum dolor sit amet."), RULES) == ("", False)


def test_every_value_stands_where_its_place_says() -> None:
    text = WRITTEN[0]["text"]
    document = text_document(text)

    values = extracted(text).values()

    assert len(values) == 7
    for found in values:
        assert found.place is not None
        page = document.pages[found.place.page - 1]
        printed = page.text[found.place.start : found.place.end]
        assert " ".join(printed.split()) == found.raw


def test_a_place_has_a_box_where_the_page_has_boxes() -> None:
    text = "Arbeitspreis: 32,45 ct/kWh"
    line = TextLine(
        0,
        len(text),
        (50.0, 100.0, 50.0 + 6 * len(text), 110.0),
        [50.0 + 6 * at for at in range(len(text) + 1)],
    )
    document = TextDocument("pdf", [TextPage(1, 595, 842, text + "\n", [line])])

    (found,) = OfflineExtractor().extract(document, RULES.vertical("energy"), RULES).found

    assert found.place is not None
    assert found.place.box == (50.0 + 6 * 14, 100.0, 50.0 + 6 * 22, 110.0)


def test_a_table_of_old_and_new_prices_gives_the_new_ones() -> None:
    found = extracted(
        """
                          bisher         neu
        Arbeitspreis      38,10 ct/kWh   33,05 ct/kWh
        Abschlag          105,00 €       92,00 €
        """
    )

    assert (found["kwh_price"].value, found["monthly_rate"].value) == ("0.3305", "92.00")


def test_a_table_of_net_and_gross_prices_gives_the_gross_ones() -> None:
    found = extracted(
        """
        Preise                    netto      brutto
        Arbeitspreis (ct/kWh)     26,10      31,06
        """
    )

    assert found["kwh_price"].value == "0.3106"


def test_values_may_stand_under_their_labels() -> None:
    found = extracted(
        "Vertragsbeginn\tVertragsende\tKündigungsfrist\n01.03.2025\t28.02.2027\t4 Wochen\n"
    )

    values = {name: each.value for name, each in found.items()}
    assert values == {
        "contract_start": "2025-03-01",
        "contract_end": "2027-02-28",
        "cancellation_period": "4 weeks",
    }


def test_the_previous_supplier_the_network_and_the_broker_are_not_the_provider() -> None:
    found = extracted(
        """
        Bisheriger Lieferant: E.ON Energie Deutschland GmbH
        Netzbetreiber: EWE Netz GmbH
        Vermittler: Yello Strom GmbH
        Lieferant: Vattenfall Europe Sales GmbH
        """
    )

    assert (found["provider"].value, found["provider"].confidence >= 80) == ("Vattenfall", True)


@pytest.mark.parametrize(
    ("line", "vertical"),
    [
        ("Anlage A1 gilt", "telco"),
        ("Versichertes Mobiliar und Hausrat", "insurance"),
        ("Verbund: Erdgas und Strom", "energy"),
    ],
)
def test_a_noun_or_the_number_of_an_annex_is_no_provider(line: str, vertical: str) -> None:
    found = extracted(f"Vertrag\n\n{line}\nBeginn: 01.03.2024\nMonatsbeitrag: 12,50 EUR", vertical)

    assert "provider" not in found or found["provider"].value is None


@pytest.mark.parametrize(
    ("head", "provider"),
    [
        ("A1 Telekom Austria AG", "A1 Telekom Austria"),
        ("Nordisk Telekom AG", "Nordisk Telekom AG"),
        ("Telekom Deutschland GmbH", "Deutsche Telekom"),
        ("Ihre Telekom", "Deutsche Telekom"),
        ("Anbieter Telekom", "Deutsche Telekom"),
    ],
)
def test_general_words_behind_a_name_are_not_the_brand_that_they_are_alone(
    head: str, provider: str
) -> None:
    found = extracted(
        f"{head}\n\nServicevertrag\nTarif: Mobil M\nGrundpreis: 9,99 EUR im Monat", "telco"
    )

    assert found["provider"].value == provider


def test_a_name_that_ends_like_a_label_is_no_label() -> None:
    text = """
        Homeowners Insurance - Declarations Page
        Castleton Casualty Insurance Company
        Item\tDeclaration
        Policy type\tHomeowners Insurance
        Deductible\t$250
        """
    plan = """
        Contract Summary
        Provider: EE Limited
        Plan\tEssentials Plan
        Data allowance\t20 GB
        Monthly charge\t£12.99
        """

    assert extracted(text, "insurance")["provider"].value == "Castleton Casualty Insurance Company"
    assert extracted(plan, "telco")["plan_name"].value == "Essentials Plan"
    assert "nearly as likely" not in extracted(plan, "telco")["plan_name"].why


def test_a_label_inside_a_name_does_not_cut_it() -> None:
    text = """
        Welcome to British Gas
        Your contract with British Gas Trading Limited on the Fixed Tariff v34 tariff starts on 01 Sep 2026.
        """

    found = extracted(text)

    assert "tariff_name" not in found or found["tariff_name"].value != "v34"


@pytest.mark.parametrize("postcode", ["BS1 5TR", "W1A 1AA", "LS1 4DY", "EC1A 1BB"])
def test_a_british_postcode_is_no_noise(postcode: str) -> None:
    text = f"""
        Vodafone Limited
        Mr David Hargreaves, Queen Square 34, {postcode}

        Plan name: Essentials 20
        """

    found = OfflineExtractor().extract(text_document(dedent(text)), RULES.vertical("telco"), RULES)

    assert found.about["noise"] == 0


@pytest.mark.parametrize(
    "line", ["B  Anschluss und Tarif", "Die Schlichtungsstelle der E-Control hilft."]
)
def test_a_heading_with_a_letter_and_a_word_beside_a_known_one_are_no_noise(line: str) -> None:
    text = f"Stromliefervertrag\nTarif: Natur\n{line}\n"

    found = OfflineExtractor().extract(text_document(text), RULES.vertical("energy"), RULES)

    assert found.about["noise"] == 0


def test_the_cell_above_a_price_speaks_of_its_own_row() -> None:
    text = "Octopus Energy Ltd\nTariff type\tFixed rate\nPayment by\tMonthly Direct Debit\nUnit rate\t24.26p per kWh\n"

    assert extracted(text)["kwh_price"].confidence >= 80


@pytest.mark.parametrize(
    "rows",
    [
        "Preisbestandteil\tSchwachlast (NT)\nArbeitspreis\t21,40 ct/kWh\n",
        "Prices\tNight rate\nUnit rate\t22.10p per kWh\n",
    ],
)
def test_a_head_of_something_else_above_a_price_keeps_it_back(rows: str) -> None:
    assert extracted(f"LichtBlick SE\nStromliefervertrag\n{rows}")["kwh_price"].confidence < 80


def test_the_name_of_a_provider_alone_says_nothing_of_the_vertical() -> None:
    text = "Beratungsvertrag\nBeraterin\tSäntis AG, Seestrasse 88, 8008 Zürich\n1. Das Honorar beträgt CHF 185.00.\n"

    assert detect(text_document(text), RULES) == ("general", False)


def test_two_providers_that_are_equally_likely_are_not_sure() -> None:
    found = extracted("Lieferant: Yello Strom GmbH\nStromanbieter: LichtBlick SE\n")

    assert found["provider"].confidence < 80
    assert "nearly as likely" in found["provider"].why


def test_two_values_for_one_label_sink_the_score() -> None:
    found = extracted("Vertragsende: 31.12.2025\nEnde der Laufzeit: 30.06.2026\n")

    assert found["contract_end"].confidence < 80


def test_an_end_that_is_not_printed_is_reckoned_and_sure_where_it_is_the_last_day_of_the_term() -> (
    None
):
    text = "Vertragsbeginn: 15.02.2025\nMindestlaufzeit: 24 Monate\n"
    supply, policy = extracted(text)["contract_end"], extracted(text, "insurance")["contract_end"]

    assert (supply.value, supply.confidence) == ("2027-02-14", 84)
    assert (policy.value, policy.confidence) == ("2027-02-14", 70), "a policy may end at noon"


def test_an_amount_by_the_year_is_reckoned_and_never_as_sure_as_a_printed_one() -> None:
    alone = extracted("Jahresbeitrag: 612,00 EUR\n", "insurance")["monthly_premium"]
    beside = extracted("Jahresbeitrag: 612,00 EUR\nZahlweise: monatlich\n", "insurance")[
        "monthly_premium"
    ]

    assert (alone.value, alone.confidence) == ("51.00", 84)
    assert beside.confidence <= 70


def test_a_base_price_is_the_monthly_rate_only_where_no_instalment_is() -> None:
    both = extracted("Grundpreis: 11,90 €/Monat\nMonatlicher Abschlag: 85,00 €\n")
    changing = extracted("Grundpreis: 11,90 €/Monat, neu 14,90 €\nSie zahlen 85,00 € monatlich\n")
    alone = extracted("Grundpreis: 11,90 €/Monat\n")

    assert (both["monthly_rate"].value, both["monthly_rate"].confidence >= 80) == ("85.00", True)
    assert changing["monthly_rate"].confidence < 80
    assert alone["monthly_rate"].value == "11.90"


def test_a_date_that_can_be_read_two_ways_is_not_sure() -> None:
    assert extracted("Contract start: 02/01/2025\n")["contract_start"].confidence <= 70
    sure = extracted("Contract start: 02/01/2025\nContract end: 31/12/2026\n")
    assert sure["contract_start"].confidence >= 80


def test_the_small_print_does_not_outweigh_the_contract() -> None:
    found = extracted(
        """
        Stromvertrag
        der Energie Nord
        vom heutigen Tag

        Kündigungsfrist: 6 Wochen

        Allgemeine Geschäftsbedingungen
        Preisänderungen kündigen wir einen Monat vorher an. Die Kündigungsfrist beträgt sonst 3 Monate.
        """
    )

    assert (found["cancellation_period"].value, found["cancellation_period"].confidence >= 80) == (
        "6 weeks",
        True,
    )


def test_the_notice_after_a_renewal_is_not_the_notice() -> None:
    found = extracted(
        """
        Die Kündigung ist mit einer Frist von 6 Wochen zum Ende der Laufzeit möglich.
        Sonst verlängert er sich auf unbestimmte Zeit und ist mit einer Frist von einem Monat kündbar.
        """
    )

    assert found["cancellation_period"].value == "6 weeks"


def test_noise_lowers_the_confidence_of_a_name_that_cannot_be_checked() -> None:
    noisy = "Ihr Tar1f: Natur24 Str0m\nVertrags beginn: O1.O5.2O24\nArbe1tspreis: 33,1O ct/kWh\n"
    found = extracted(noisy)

    assert found["tariff_name"].confidence < 80
    assert (found["contract_start"].value, found["kwh_price"].value) == ("2024-05-01", "0.331")


def test_a_label_with_nothing_behind_it_is_an_empty_field() -> None:
    found = extracted("Vertragsende:\nVertragsbeginn: 01.03.2025\nArbeitspreis: 32,45 ct/kWh\n")

    assert found["contract_end"].value is None
    assert "nothing behind" in found["contract_end"].why


def test_no_deductible_is_a_deductible_of_nothing() -> None:
    for text in ("Selbstbeteiligung: keine", "ohne Selbstbeteiligung", "Excess (each loss): Nil"):
        assert extracted(text, "insurance")["deductible"].value == "0.00", text


def test_a_sentence_of_the_rules_finds_what_no_label_can() -> None:
    text = shipped_texts()["telco.yaml"].replace(
        "    sentences:\n",
        "    sentences:\n      - 'telefonieren jetzt mit (?P<value>[A-Z]\\w+ [A-Z])'\n",
    )
    rules = rules_of({**shipped_texts(), "telco.yaml": text})
    document = text_document("Sie telefonieren jetzt mit Blau M und sind zufrieden.")

    found = OfflineExtractor().extract(document, rules.vertical("telco"), rules).found

    assert [(each.field, each.value) for each in found] == [("plan_name", "Blau M")]


def test_the_same_document_gives_the_same_extraction() -> None:
    text = WRITTEN[3]["text"]

    first, second = (judged(text, "energy")[0] for _ in range(2))

    assert msgspec.json.encode(first) == msgspec.json.encode(second)


def test_an_extraction_says_what_made_it() -> None:
    extraction, _ = judged(WRITTEN[0]["text"], "energy")

    assert extraction.extractor == "rules/1"
    assert extraction.about["rules"] == RULES.version
    assert (extraction.about["language"], extraction.about["vertical_seen"]) == ("de", "energy")


@pytest.mark.parametrize("text", ["", "\n\n", "|||\t\t", "12.12.2024", ":" * 5000, "((((" * 500])
def test_an_odd_text_gives_nothing_and_does_not_stop(text: str) -> None:
    document = TextDocument("text", [TextPage(1, 0, 0, text, [])])

    found = OfflineExtractor().extract(document, RULES.vertical("energy"), RULES).found

    assert list(found) == []


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        ("2025-03-01", 24, "2027-02-28"),
        ("2025-01-31", 1, "2025-02-28"),
        ("2024-12-15", 12, "2025-12-14"),
        ("2023-03-01", 12, "2024-02-29"),
    ],
)
def test_a_term_ends_the_day_before_it_would_begin_again(start: str, months: int, end: str) -> None:
    assert months_later(date.fromisoformat(start), months) == date.fromisoformat(end)


def test_a_premium_of_a_quarter_is_divided_once() -> None:
    document = text_document(
        "Versicherungsschein\nIhre Hausratversicherung\nZahlungsweise\tvierteljährlich\n"
        "Beitrag je Vierteljahr inkl. Versicherungsteuer\t46,32 EUR\nVersicherungsbeginn\t01.06.2026\n"
    )
    vertical = RULES.vertical("insurance")

    extraction = OfflineExtractor().extract(document, vertical, RULES)
    found = cap_extraction(extraction, document, vertical, RULES).found

    assert [each.value for each in found if each.field == "monthly_premium"] == ["15.44"]
