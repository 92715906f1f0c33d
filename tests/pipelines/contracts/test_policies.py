"""Policies as insurers print them: taxes in rows of their own, tables with a column for each amount, wrapped cells."""

import pytest

from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.extraction import Extraction
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.reader import text_document

POLICY = (
    "Allianz Versicherungs-AG\nVersicherungsschein Hausratversicherung\nVersicherungsnummer\tAS-9184 227 310\n"
    "Versicherungsbeginn\t01.02.2026\nVersicherungsablauf\t01.02.2027\n"
    "Versicherungsort\tAhornstraße 44, 91052 Erlangen\n{sums}{premium}"
)
SUMS = "Versicherungssumme\t65.000 EUR\nSelbstbeteiligung je Schadenfall\t150 EUR\n"
PREMIUM = "Monatsbeitrag\t14,28 EUR\n"


def read(sums: str = SUMS, premium: str = PREMIUM) -> Extraction:
    rules = default_rules()
    text = POLICY.format(sums=sums, premium=premium)
    return by_rules(text_document(text), rules.vertical("insurance"), rules)


def is_approved(found: Extraction) -> bool:
    return validate_extraction(found, default_rules()).accepted


def value(found: Extraction, field: str) -> str | None:
    return next((each.value for each in found.found if each.field == field), None)


@pytest.mark.parametrize(
    ("premium", "month"),
    [
        (PREMIUM, "14.28"),
        ("Jahresbeitrag inkl. 19 %\t142,80 EUR\nZahlungsweise\tjährlich\n", "11.90"),
        ("Beitrag\t19,90 EUR vierteljährlich, inkl. 19 %\n", "6.63"),
        (
            "Jahresbeitrag ohne Versicherungsteuer\t74,45 EUR\nVersicherungsteuer 19 %\t14,15 EUR\n"
            "Jährlich zu zahlender Beitrag\t88,60 EUR\n",
            "7.38",
        ),
    ],
    ids=["a month", "a year with its tax", "a quarter with its tax", "net, tax and gross in rows"],
)
def test_a_premium_is_taken_for_a_month_and_its_tax_is_no_doubt(premium: str, month: str) -> None:
    found = read(premium=premium)

    assert value(found, "monthly_premium") == month
    assert is_approved(found)


@pytest.mark.parametrize(
    "premium",
    [
        "Jahresbeitrag ohne Versicherungsteuer\t74,45 EUR\nVersicherungsteuer 19 %\t14,15 EUR\n"
        "Jährlich zu zahlender Beitrag\t91,60 EUR\n",
        "Jahresbeitrag\t142,80 EUR\nZahlbar in vier Raten\n",
    ],
    ids=["parts that are not the sum", "instalments"],
)
def test_a_premium_waits_if_another_one_is_printed(premium: str) -> None:
    assert not is_approved(read(premium=premium))


def test_each_amount_of_a_table_belongs_to_the_head_of_its_column() -> None:
    table = (
        "Versicherungssumme\tSelbstbeteiligung\tMonatsbeitrag\n"
        "65.000 EUR\t250 EUR je Schadenfall\t14,28 EUR\n"
    )

    found = read(sums="", premium=table)

    assert value(found, "coverage_amount") == "65000.00"
    assert value(found, "deductible") == "250.00"
    assert is_approved(found)


def test_two_amounts_in_one_cell_of_a_table_wait() -> None:
    table = (
        "Versicherungssumme\tSelbstbeteiligung\tMonatsbeitrag\n"
        "65.000 EUR\t250 EUR, bei Sturm 500 EUR\t14,28 EUR\n"
    )

    assert not is_approved(read(sums="", premium=table))


def test_the_second_line_of_a_cell_heads_no_amount_below_it() -> None:
    sums = (
        "Versicherungssumme\t50.000.000 EUR pauschal für Personen-, Sach- und\n"
        "\tVermögensschäden\nSelbstbeteiligung\t150 EUR je Schadenfall\n"
    )

    found = read(sums=sums)

    assert value(found, "deductible") == "150.00"
    assert is_approved(found)


def test_parts_of_a_premium_are_accounted_for_by_their_sum() -> None:
    parts = (
        "Baustein\tMonatsbeitrag\nGrunddeckung\t9,15 EUR\nElementargefahren\t2,41 EUR\nGlas\t2,72 EUR\n"
        "Gesamt\t14,28 EUR\n"
    )

    found = read(premium=PREMIUM + parts)

    assert value(found, "monthly_premium") == "14.28"
    assert is_approved(found)


def test_the_number_of_a_paragraph_is_no_deductible_and_privat_haftpflicht_is_a_whole_name() -> (
    None
):
    text = POLICY.format(sums=SUMS, premium=PREMIUM).replace(
        "Versicherungsschein Hausratversicherung", "Versicherungsvertrag Privat-Haftpflicht"
    )
    clauses = "§ 5 Selbstbeteiligung\nJe Schadenfall tragen Sie 150 EUR selbst.\n§ 6 Ausschlüsse\n"
    rules = default_rules()
    found = by_rules(text_document(text + clauses), rules.vertical("insurance"), rules)

    sure = {each.field: each.confidence for each in found.found}
    assert value(found, "policy_type") == "Privat-Haftpflicht"
    assert value(found, "deductible") == "150.00"
    assert min(sure["policy_type"], sure["deductible"]) >= rules.vertical("insurance").threshold
