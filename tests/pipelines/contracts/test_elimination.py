"""Approval by elimination: an unread word beside a value, or a value that nothing accounts for, waits for a person."""

import pytest

from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.rules import ACCEPTED_MIN, default_rules, rules_of, shipped_texts
from stateward.pipelines.kit.reader import text_document

TELCO = {
    "head": "Vodafone GmbH, Ferdinand-Braun-Platz 1, 40549 Düsseldorf\n\nVertragszusammenfassung",
    "plan_name": "Tarif: GigaZuhause 100",
    "contract_start": "Vertragsbeginn: 01.05.2025",
    "contract_end": "Vertragsende: 30.04.2027",
    "data_volume": "Datenvolumen: unbegrenzt",
    "monthly_rate": "Monatlicher Preis: 39,99 €",
    "cancellation_period": "Kündigungsfrist: 1 Monat",
    "more": "",
}
ENGLISH = {
    "head": "EE Limited, Trident Place, Hatfield\n\nContract summary",
    "plan_name": "Plan: Smart 100",
    "contract_start": "Contract start date: 1 May 2025",
    "contract_end": "Contract end date: 30 April 2027",
    "data_volume": "Data allowance: 50 GB",
    "monthly_rate": "Monthly price: £39.99",
    "cancellation_period": "Notice period: 30 days",
    "more": "",
}


OLD_DE = "Angaben zu Ihrem bisherigen Anbieter"


def found(base: dict[str, str], field: str, **changes: str) -> FoundValue:
    text = "\n".join({**base, **changes}.values())
    extraction = by_rules(text_document(text), default_rules().vertical("telco"), default_rules())
    return next(each for each in extraction.found if each.field == field)


@pytest.mark.parametrize(
    ("base", "line"),
    [
        (TELCO, "Monatlicher Preis: 39,99 €"),
        (TELCO, "Monatlicher Preis inkl. 19 % MwSt.: 39,99 €, fällig zum 15."),
        (TELCO, "Ihr monatlicher Preis beträgt 39,99 € brutto"),
        (ENGLISH, "Monthly price (including 20 % VAT): £39.99"),
        (ENGLISH, "Your monthly price is £39.99, payable on the 1st of each month"),
    ],
)
def test_a_statement_of_which_every_word_is_known_needs_no_person(
    base: dict[str, str], line: str
) -> None:
    assert found(base, "monthly_rate", monthly_rate=line).confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "line"),
    [
        (TELCO, "Monatlicher Preis, solange Sie volljährig sind: 39,99 €"),
        (TELCO, "Monatlicher Preis in jedem geraden Monat: 39,99 €"),
        (TELCO, "Monatlicher Preis: 39,99 € (Studierende)"),
        (TELCO, "Monatlicher Preis: 39,99 €\n(gekoppelt an den Vertrag Ihrer Eltern)"),
        (TELCO, "Monatlicher Preis ab 12000kWh: 39,99 €"),
        (TELCO, "Monatlicher Preis ab 12000Kunden: 39,99 €"),
        (ENGLISH, "Monthly price while you hold a loyalty card: £39.99"),
        (ENGLISH, "Monthly price: £39.99, halved over Christmas"),
    ],
)
def test_a_word_beside_a_value_that_is_not_known_caps_it(base: dict[str, str], line: str) -> None:
    value = found(base, "monthly_rate", monthly_rate=line)

    assert value.confidence < ACCEPTED_MIN
    assert "not understood" in value.why


@pytest.mark.parametrize(
    ("base", "line", "field"),
    [
        (TELCO, "Vom Sommer an sind es 44,99 €.", "monthly_rate"),
        (TELCO, "Treuevorteil, ein Jahr lang: -15,00 €", "monthly_rate"),
        (TELCO, "Umstellung der Leitung: 12.06.2025", "contract_start"),
        (TELCO, "Nachtrag Nr. 2 vom 01.07.2025", "contract_start"),
        (TELCO, "Änderungsvereinbarung Nr. 2 vom 01.07.2025", "contract_start"),
        (TELCO, "Kündigung Nr. 4711 vom 01.07.2025", "contract_start"),
        (ENGLISH, "Every spring it goes up by £1.80.", "monthly_rate"),
        (ENGLISH, "Line moves over: 12 June 2025", "contract_end"),
    ],
)
def test_a_value_that_nothing_accounts_for_caps_those_of_its_kind(
    base: dict[str, str], line: str, field: str
) -> None:
    value = found(base, field, more=line)

    assert value.confidence < ACCEPTED_MIN
    assert "not accounted for" in value.why


@pytest.mark.parametrize(
    ("base", "line", "field"),
    [
        (TELCO, "Einmaliger Bereitstellungspreis: 69,99 €", "monthly_rate"),
        (TELCO, "Gesamtkosten pro Jahr: 479,88 €", "monthly_rate"),
        (TELCO, "Voraussichtliche Kosten pro Jahr: 474,20 €", "monthly_rate"),
        (TELCO, "Düsseldorf, den 12.03.2025", "contract_start"),
        (TELCO, "Unterschrieben am: 12.03.2025, M. Kaya", "contract_start"),
        (TELCO, "Bestellnummer 1367047899 vom 20.04.2025", "contract_start"),
        (ENGLISH, "Order no. 1367047899 dated 20 April 2025", "contract_start"),
        (
            TELCO,
            f"{OLD_DE}\nVertragsbeginn: 02.05.2023\nKündigungsfrist: 2 Wochen",
            "contract_start",
        ),
        (TELCO, f"{OLD_DE}\nVertragsende: 30.04.2025\nKündigungsfrist: 2 Wochen", "contract_end"),
        (
            TELCO,
            f"{OLD_DE}\nVertragsende: 30.04.2025\nKündigungsfrist: 2 Wochen",
            "cancellation_period",
        ),
        (ENGLISH, "Your previous contract\nNotice period: 14 days", "cancellation_period"),
        (ENGLISH, "Signed: P. Raman, 11 December 2024", "contract_start"),
        (ENGLISH, "At your previous provider you last paid £45.00 a month.", "monthly_rate"),
    ],
)
def test_a_value_with_a_known_role_caps_nothing(
    base: dict[str, str], line: str, field: str
) -> None:
    assert found(base, field, more=line).confidence >= ACCEPTED_MIN


def test_a_vertical_may_have_plain_words_of_its_own() -> None:
    texts = shipped_texts()
    texts["telco.yaml"] += "\nplain: {de: [Studierende]}\n"
    rules = rules_of(texts)
    text = "\n".join({**TELCO, "monthly_rate": "Monatlicher Preis (Studierende): 39,99 €"}.values())

    values = by_rules(text_document(text), rules.vertical("telco"), rules).found

    assert next(each for each in values if each.field == "monthly_rate").confidence >= ACCEPTED_MIN


def test_a_pair_of_label_and_value_in_another_column_says_nothing_of_a_price() -> None:
    beside = "Ort: 80339 München                 Monatlicher Preis: 39,99 €"
    assert found(TELCO, "monthly_rate", monthly_rate=beside).confidence >= ACCEPTED_MIN
    remark = "nur für Studierende                Monatlicher Preis: 39,99 €"
    assert found(TELCO, "monthly_rate", monthly_rate=remark).confidence < ACCEPTED_MIN


def test_a_date_alone_on_a_line_without_a_label_is_that_of_the_letter() -> None:
    text = TELCO["head"] + "\n\n19.04.2025\n"
    assert found(TELCO, "contract_start", head=text).confidence >= ACCEPTED_MIN
    other = TELCO["head"] + "\n\nNeu ab 19.04.2025\n"
    assert found(TELCO, "contract_start", head=other).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("printed", "is_sure"),
    [
        ("Vodafone GmbH", True),
        ("Vodafone Deutschland GmbH", True),
        ("Vodafone Kabel Hinterland GmbH", False),
    ],
)
def test_a_known_name_within_a_longer_one_may_be_another_company(
    printed: str, *, is_sure: bool
) -> None:
    provider = found(TELCO, "provider", head=f"Anbieter: {printed}\n\nVertragszusammenfassung")
    assert (provider.confidence >= ACCEPTED_MIN) is is_sure
    assert ("its name goes on" in provider.why) is not is_sure
    assert (provider.value, provider.raw) == ("Vodafone", printed), "the brand, and the company"


@pytest.mark.parametrize(
    "beside",
    [
        "Riehler Straße 190\tKündigungsfrist\t1 Monat",
        "Ricarda-Huch-Str. 5a\tKündigungsfrist\t1 Monat",
        "Riehler Straße 190, 50735 Köln\tKündigungsfrist\t1 Monat",
        "Mühlenkamp 3, 22303 Hamburg\tKündigungsfrist\t1 Monat",
        "Am Mühlbach 64\tKündigungsfrist\t1 Monat\n44135 Dortmund",
        "Hellweg 64\n44135 Dortmund\tKündigungsfrist\t1 Monat",
    ],
)
def test_an_address_in_the_next_column_says_nothing_of_a_period(beside: str) -> None:
    assert (
        found(TELCO, "cancellation_period", cancellation_period=beside).confidence >= ACCEPTED_MIN
    )


@pytest.mark.parametrize(
    "cell",
    [
        "bei Umzug",
        "15000 Kilometer",
        "Studierende",
        "nach 24 Monaten",
        "Studierende 27",
        "Junge Leute 27",
        "Aktion 2025",
        "Befristet 12",
        "Im Monat 3",
        "Spring 25",
        "Stellplatz 12",
        "25000 Bonuspunkte",
        "10000 Freiminuten",
    ],
)
def test_a_condition_in_the_next_column_does(cell: str) -> None:
    beside = f"{cell}\tKündigungsfrist\t1 Monat"
    assert found(TELCO, "cancellation_period", cancellation_period=beside).confidence < ACCEPTED_MIN
    beside = f"{cell}\tMonatlicher Preis\t39,99 €"
    assert found(TELCO, "monthly_rate", monthly_rate=beside).confidence < ACCEPTED_MIN


def test_two_headings_side_by_side_each_stand_over_their_own_block() -> None:
    head = "Ihr Mobilfunkvertrag\nAnbieter\tIhre Daten\nVodafone GmbH\tAndreas Wagenknecht"
    provider = found(TELCO, "provider", head=head)
    assert (provider.value, provider.confidence >= ACCEPTED_MIN) == ("Vodafone", True)


def test_two_companies_side_by_side_wait() -> None:
    head = "Ihr Mobilfunkvertrag\nAnbieter\tTelefónica Germany GmbH & Co. OHG\nVodafone GmbH\tAndreas Wagenknecht"
    assert found(TELCO, "provider", head=head).confidence < ACCEPTED_MIN


def test_a_line_with_its_label_is_not_part_of_the_sentence_above_it() -> None:
    above = "Ihr Vertrag über einen Anschluss an unser Netz beginnt mit dem Tag der Schaltung."
    lines = f"{above}\nMonatlicher Preis: 39,99 €\nEinmaliger Anschlusspreis: 69,99 €"
    assert found(TELCO, "monthly_rate", monthly_rate=lines).confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "-".join("A" * 150) + " x\tKündigungsfrist\t1 Monat",
        "-".join("A" * 38) + " x\tKündigungsfrist\t1 Monat",
        "Am A " * 15 + "\tKündigungsfrist\t1 Monat",
        "A" * 5_000 + " 01.05.2025",
        "no1" * 2_000 + " 01.05.2025",
        "Bestellnummer 1" + " " * 5_000 + "01.05.2025",
    ],
    ids=["hyphens", "few hyphens", "streets", "one word", "numbers", "blanks"],
)
def test_a_hostile_line_is_done_with_soon(line: str) -> None:
    assert found(TELCO, "contract_start", more=line).value == "2025-05-01"


POLICY = """
Versicherungsschein-Nr.: 12.345.678
Versicherungsbeginn: 01.05.2025
Versicherungsende: 30.04.2026
Deckungssumme: 10.000.000 €
"""


@pytest.mark.parametrize(
    ("heading", "is_of_previous"),
    [
        ("ALTE LEIPZIGER Versicherung AG", False),
        ("ALTE LEIPZIGER Versicherung", False),
        ("Alte Oldenburger Krankenversicherung", False),
        ("Old Mutual Wealth Plan", False),
        ("Prior Insurance Policy Company Limited", False),
        ("Ihre alte Versicherung", True),
        ("Angaben zum alten Vertrag", True),
        ("Bisheriger Versicherer", True),
    ],
)
def test_a_letterhead_that_says_old_is_no_heading_of_the_previous_contract(
    heading: str, *, is_of_previous: bool
) -> None:
    document = text_document(heading + POLICY)
    extraction = by_rules(document, default_rules().vertical("insurance"), default_rules())
    fields = {each.field for each in extraction.found}
    expected = {"contract_start", "contract_end", "coverage_amount"}
    assert fields & expected == (set() if is_of_previous else expected)


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (TELCO, {"contract_end": "Mindestvertragslaufzeit: 24 Monate"}),
        (TELCO, {"contract_end": "Vertragslaufzeit: 24 Monate"}),
        (ENGLISH, {"contract_end": "Minimum term: 24 months"}),
    ],
)
def test_an_end_that_start_and_term_give_is_certain(
    base: dict[str, str], changes: dict[str, str]
) -> None:
    end = found(base, "contract_end", **changes)

    assert (end.value, end.confidence >= ACCEPTED_MIN) == ("2027-04-30", True)


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (TELCO, {"contract_end": "Laufzeit: mindestens 24 Monate"}),
        (
            TELCO,
            {"contract_end": "Mindestlaufzeit: 24 Monate", "contract_start": "Start: Mai 2025"},
        ),
        (ENGLISH, {"contract_end": "Minimum term: 24 months, or 12 months for students"}),
    ],
)
def test_an_end_of_an_uncertain_term_waits(base: dict[str, str], changes: dict[str, str]) -> None:
    text = "\n".join({**base, **changes}.values())
    extraction = by_rules(text_document(text), default_rules().vertical("telco"), default_rules())

    ends = [each for each in extraction.found if each.field == "contract_end"]

    assert all(each.confidence < ACCEPTED_MIN for each in ends)


@pytest.mark.parametrize(
    ("base", "field", "changes"),
    [
        (TELCO, "monthly_rate", {"more": "Neukundenbonus: 145,00 € (wird mit der ersten Jahresrechnung verrechnet)"}),
        (TELCO, "monthly_rate", {"more": "Rückständige Beträge mahnen wir mit 1,20 € je Schreiben."}),
        (TELCO, "monthly_rate", {"monthly_rate": "Monatlicher Preis: 39,99 €, jeweils zum 1. abgebucht"}),
        (TELCO, "contract_end", {"contract_end": "Er hat eine Mindestlaufzeit von 24 Monaten bis zum 30.04.2027."}),
        (ENGLISH, "contract_end", {"contract_end": "Your 24 month contract ends on 30 April 2027."}),
        (ENGLISH, "monthly_rate", {"monthly_rate": "Monthly price: £39.99 (inc VAT)"}),
    ],
)  # fmt: skip
def test_what_is_of_something_else_by_its_label_or_says_the_same_keeps_no_value_back(
    base: dict[str, str], field: str, changes: dict[str, str]
) -> None:
    assert found(base, field, **changes).confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "term"),
    [
        (TELCO, "Mindestlaufzeit 12 Monate"),
        (TELCO, "Die Vertragslaufzeit beträgt 36 Monate."),
        (ENGLISH, "Minimum term: 12 months"),
        (ENGLISH, "Contract length: 36 months"),
    ],
)
def test_dates_that_are_not_as_far_apart_as_the_term_says_wait(
    base: dict[str, str], term: str
) -> None:
    assert found(base, "contract_end", more=term).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "term"),
    [
        (TELCO, "Laufzeit: 104 Wochen"),
        (TELCO, "Laufzeit: bis zu 24 Monate"),
        (TELCO, "Laufzeit: 24 Monate zum Monatsende"),
        (TELCO, "Laufzeit: 24 Monate ab Zustellung"),
        (TELCO, "Laufzeit: 24 Monate + 1 Monat"),
        (TELCO, "Laufzeit: [ ] 24 Monate"),
        (TELCO, "Laufzeit: 2 Kalenderjahre"),
        (ENGLISH, "Term: 104 weeks"),
        (ENGLISH, "Term: 24 months from delivery"),
        (ENGLISH, "Term: [ ] 24 months"),
        (ENGLISH, "Term: 24 months from 1 June 2025"),
    ],
)
def test_an_end_waits_if_its_term_is_not_plainly_so_many_months(
    base: dict[str, str], term: str
) -> None:
    assert found(base, "contract_end", contract_end=term).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "line"),
    [
        (TELCO, "Mindestlaufzeit: 12 Monate"),
        (TELCO, "Die Laufzeit beginnt mit Freischaltung des Anschlusses."),
        (TELCO, "Der Vertragsbeginn verschiebt sich um zwei Wochen."),
        (TELCO, "Der Vertrag endet jedoch spätestens zum Jahresende."),
        (TELCO, "Die Restlaufzeit von 6 Monaten wird angerechnet."),
        (TELCO, "Der Vertrag ist monatlich kündbar."),
        (TELCO, "Der Vertrag läuft unbefristet."),
        (ENGLISH, "Minimum term: 12 months"),
        (ENGLISH, "The term starts after the free month."),
        (ENGLISH, "The contract ends at the end of the quarter."),
        (ENGLISH, "The remaining 6 months of your old contract are added."),
        (ENGLISH, "If activation is delayed the start date moves."),
        (ENGLISH, "There is no fixed term."),
    ],
)
def test_an_end_that_is_reckoned_waits_if_a_sentence_says_otherwise(
    base: dict[str, str], line: str
) -> None:
    term = "Vertragslaufzeit: 24 Monate" if base is TELCO else "Minimum term: 24 months"

    assert found(base, "contract_end", contract_end=term, more=line).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "line"),
    [
        (TELCO, "Danach verlängert er sich auf unbestimmte Zeit und ist monatlich kündbar."),
        (ENGLISH, "After the minimum term it is a rolling contract."),
    ],
)
def test_what_comes_after_the_term_leaves_its_end(base: dict[str, str], line: str) -> None:
    term = "Vertragslaufzeit: 24 Monate" if base is TELCO else "Minimum term: 24 months"

    assert found(base, "contract_end", contract_end=term, more=line).confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "line"),
    [
        (TELCO, "Treuebonus 5,00 € pro Monat"),
        (TELCO, "Bonus: 5,00 € (wird monatlich verrechnet)"),
        (TELCO, "Anschlussgebühr: 4,99 € je Abrechnung"),
        (TELCO, "Neukundenbonus: 60,00 €, verteilt auf 12 Monate"),
        (TELCO, "Neukundenbonus: Preis nach Bonus 29,99 €"),
        (TELCO, "Ab Juni zahlen Sie nicht 39,99 €, sondern mehr."),
        (ENGLISH, "Loyalty bonus £5.00 per month"),
        (ENGLISH, "Loyalty bonus: £5.00 on every bill"),
        (ENGLISH, "Admin fee: £2.50 on top of the monthly price"),
        (ENGLISH, "From June the price is not £39.99 but more."),
        (ENGLISH, "The price is not £29.99, but it may rise."),
    ],
)
def test_what_changes_every_payment_keeps_the_price_back(base: dict[str, str], line: str) -> None:
    assert found(base, "monthly_rate", more=line).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "field", "line"),
    [
        (
            TELCO,
            "cancellation_period",
            "Bei einem Umzug kann der Kunde den Vertrag mit einer Frist von sechs Wochen außerordentlich kündigen.",
        ),
        (TELCO, "monthly_rate", "Bei Verzug mit mindestens 100 Euro kann der Anbieter den Anschluss sperren."),
        (ENGLISH, "data_volume", "Minutes and texts: Unlimited"),
    ],
)  # fmt: skip
def test_what_holds_for_another_case_keeps_no_value_back(
    base: dict[str, str], field: str, line: str
) -> None:
    assert found(base, field, more=line).confidence >= ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Bei Umzug und in allen übrigen Fällen beträgt die Kündigungsfrist 6 Wochen.",
        "Die Kündigungsfrist beträgt drei Monate zum Laufzeitende, bei einem Umzug entfällt sie.",
        "Sie können den Vertrag mit einer Frist von 3 Monaten kündigen; ein Umzug ändert daran nichts.",
        "Die ordentliche Kündigung ist mit einer Frist von 3 Monaten möglich, die außerordentliche jederzeit.",
        "Bei Umzug können Sie mit einer Frist von sechs Wochen kündigen, in allen anderen Fällen ebenso.",
    ],
)
def test_a_notice_that_holds_beside_a_move_too_keeps_the_period_back(line: str) -> None:
    assert found(TELCO, "cancellation_period", more=line).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "The notice period is 60 days, also when moving house.",
        "Unless you are moving home, you must give us 60 days notice.",
        "If you move home or change your mind, you must give us 60 days notice.",
    ],
)
def test_a_notice_that_is_not_only_for_a_move_keeps_the_period_back(line: str) -> None:
    assert found(ENGLISH, "cancellation_period", more=line).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    ("base", "line"),
    [
        (ENGLISH, "You pay £99.00, in arrears, by direct debit."),
        (ENGLISH, "£99.00 is collected in arrears."),
        (TELCO, "Zu zahlen sind 57,00 Euro; bei Zahlungsverzug sofort."),
    ],
)
def test_what_is_paid_in_arrears_keeps_the_price_back(base: dict[str, str], line: str) -> None:
    assert found(base, "monthly_rate", more=line).confidence < ACCEPTED_MIN


@pytest.mark.parametrize(
    "line",
    [
        "Minutes and texts and internet unlimited.",
        "Calls and texts and the web: unlimited",
        "Minuten und SMS und Internet unlimitiert.",
    ],
)
def test_calls_without_limit_together_with_surfing_keep_the_volume_back(line: str) -> None:
    assert found(ENGLISH, "data_volume", more=line).confidence < ACCEPTED_MIN
