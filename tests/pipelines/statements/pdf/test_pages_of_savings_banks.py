"""Pages in the manner of savings banks and brokers: names in pieces, days in pieces, and amounts of two kinds."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read


def _balance(name: str, value: str) -> Line:
    return [(130, name), (-560, value)]


def test_a_day_whose_parts_stand_below_one_another_is_that_of_the_amount_beside_them(
    tmp_path: Path,
) -> None:
    def row(day: str, text: str, value: str, balance: str) -> list[Line]:
        return [
            [(60, day)],
            [(190, text)],
            [(60, "Feb."), (100, "Lastschrift"), (-480, value), (-560, balance)],
            [(190, "(DE00000000000000000000)")],
            [(60, "2026")],
        ]

    found = read(
        tmp_path,
        [
            [(60, "Kontoauszug 01.02.2026 - 28.02.2026")],
            [(60, "Alter Kontostand"), (-560, "3.110,01 €")],
            [
                (60, "DATUM"),
                (100, "TYP"),
                (190, "BESCHREIBUNG"),
                (-400, "ZAHLUNGSEINGANG"),
                (-490, "ZAHLUNGSAUSGANG"),
                (-560, "SALDO"),
            ],
            *row("16", "Transfer to Stadt", "100,01 €", "3.010,00 €"),
            *row("17", "Transfer to Catering", "10,00 €", "3.000,00 €"),
            [(60, "Neuer Kontostand"), (-560, "3.000,00 €")],
        ],
    )

    assert found.dates == ["2026-02-16", "2026-02-17"]
    assert found.amounts == ["-100.01", "-10.00"]
    assert [row["description"] for row in found.canonicals] == [
        "Transfer to Stadt (DE00000000000000000000)",
        "Transfer to Catering (DE00000000000000000000)",
    ]
    assert found.flags == []


def test_two_days_with_a_slash_between_them_have_a_name_with_a_slash(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "IBAN DE90330200000080015497"), (400, "alter Saldo zum 01.08.2025")],
            [(400, "in EUR"), (-550, "99,00")],
            [(60, "Nr."), (85, "Valuta / Buchungstag"), (210, "Buchungstext"), (-550, "EUR")],
            [(60, "01"), (85, "21.08.2025 / 22.08.2025"), (210, "Habenzinsen"), (-550, "2,26")],
            [(60, "02"), (85, "25.08.2025 / 24.08.2025"), (210, "Steuer"), (-550, "-0,86")],
            [(210, "aus EUR 3,52")],
            [(400, "neuer Saldo zum 31.08.2025")],
            [(400, "in EUR"), (-550, "100,40")],
        ],
    )

    assert found.dates == ["2025-08-22", "2025-08-24"]
    assert [row["value_date"] for row in found.canonicals] == ["2025-08-21", "2025-08-25"]
    assert found.amounts == ["2.26", "-0.86"]
    assert [row["description"] for row in found.canonicals] == [
        "Habenzinsen",
        "Steuer aus EUR 3,52",
    ]
    assert found.flags == []


def test_a_name_that_a_narrow_column_breaks_anywhere_is_known(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Kontoauszug - NO1293573415517")],
            [(60, "Währung: Euro (EUR)")],
            [
                (60, "Buchungsda"),
                (130, "Valutadatu"),
                (200, "Beschreibung"),
                (-470, "Zahlungseinga"),
                (-550, "Zahlungsausga"),
            ],
            [(60, "tum"), (130, "m"), (-470, "ng"), (-550, "ng")],
            [(60, "31.12.2025"), (130, "01.01.2026"), (200, "Interest"), (-470, "34,77")],
            [(60, "11.12.2025"), (130, "11.12.2025"), (200, "Shop"), (-550, "24,50")],
        ],
    )

    assert found.dates == ["2025-12-31", "2025-12-11"]
    assert found.amounts == ["34.77", "-24.50"]
    assert found.flags == []


def test_marks_beside_amounts_need_no_name(tmp_path: Path) -> None:
    heading: Line = [(40, "Datum"), (95, "Datum"), (150, "Omschrijving"), (-530, "Bedrag")]
    found = read(
        tmp_path,
        [
            [(60, "Vorig openstaand saldo"), (300, "Nieuw openstaand saldo")],
            [(60, "€ 50,00"), (120, "Af"), (300, "€ 20,99"), (360, "Af")],
            [(300, "ICS identificatienummer bij incasso:")],
            [(300, "NL99ZZZ999999999999")],
            [(60, "17 maart 2025")],
            heading,
            [(40, "transactie"), (95, "boeking"), (-530, "in euro's")],
            [(40, "01 mrt"), (95, "02 mrt"), (150, "IDEAL"), (-530, "50,00"), (540, "Bij")],
            [(40, "Uw Card met als laatste vier cijfers 0467")],
            [(40, "03 mrt"), (95, "04 mrt"), (150, "SNCF"), (-530, "15,00"), (540, "Af")],
            [(40, "05 mrt"), (95, "06 mrt"), (150, "NS"), (-530, "5,99"), (540, "Af")],
        ],
    )

    assert found.amounts == ["50.00", "-15.00", "-5.99"]
    assert not any("account" in row for row in found.canonicals)
    assert found.flags == []


def test_of_two_columns_of_amounts_that_which_every_row_fills_counts(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Ihre Abrechnung vom 04.11.2025 bis 03.12.2025"), (480, "Seite 1")],
            [
                (60, "Datum"),
                (110, "Datum"),
                (160, "Angabe des Unternehmens /"),
                (350, "Währung"),
                (-430, "Betrag"),
                (-480, "Kurs"),
                (-550, "Betrag in"),
            ],
            [(60, "Beleg"), (110, "Buchung"), (160, "Verwendungszweck"), (-550, "EUR")],
            [(110, "04.11.25"), (160, "Saldo letzte Abrechnung"), (-550, "100,00+")],
            [(60, "08.11.25"), (110, "10.11.25"), (160, "Otto"), (-550, "30,00 -")],
            [
                (60, "12.11.25"),
                (110, "13.11.25"),
                (160, "Shop"),
                (350, "USD"),
                (-430, "31,49"),
                (-480, "1,10279"),
                (-550, "28,55 -"),
            ],
            [(160, "Neuer Saldo"), (-550, "41,45+")],
        ],
    )

    assert found.dates == ["2025-11-10", "2025-11-13"]
    assert found.amounts == ["-30.00", "-28.55"]
    assert {row["currency"] for row in found.canonicals} == {"EUR"}
    assert found.flags == []


def test_days_below_a_name_that_may_mean_amounts_are_days_also_within_one_cell(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Auszug Euro-Konto 123 41234 00"), (330, "31.10.25"), (400, "NR. 10/1")],
            [(60, "Alter Saldo"), (300, "EUR"), (-425, "100,00+")],
            [(60, "Buchung"), (100, "Wert")],
            [(60, "01.10. 01.10. DA-GUTSCHR"), (-425, "200,00+")],
            [(127, "2024, 111,960000, EUR, 0,222847, A0")],
            [(60, "04.10. 07.10. WERTPAPIERE"), (-425, "25,00-")],
            [(60, "-" * 76)],
            [(60, "Neuer Saldo"), (300, "EUR"), (-425, "275,00+")],
        ],
    )

    assert found.dates == ["2025-10-01", "2025-10-04"]
    assert found.amounts == ["200.00", "-25.00"]
    assert [row["description"] for row in found.canonicals] == [
        "DA-GUTSCHR 2024, 111,960000, EUR, 0,222847, A0",
        "WERTPAPIERE",
    ]
    assert found.flags == []


def test_a_table_that_leads_from_one_balance_to_another_without_a_day_is_a_summary(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Kontoauszug Nr. 5/2025")],
            [(60, "01.05.2025 bis 31.05.2025")],
            [(60, "Beschreibung"), (380, "Verbuchungsdatum"), (-540, "Betrag")],
            [(60, "Miete"), (380, "04.05.2025"), (-540, "-500,00€")],
            [(60, "Gehalt"), (380, "12.05.2025"), (-540, "+900,00€")],
            [(60, "Kino"), (380, "14.05.2025"), (-540, "-20,00€")],
        ],
        [
            [(60, "Übersicht Nr. 5/2025")],
            [(60, "Beschreibung"), (-540, "Betrag")],
            [(60, "Dein alter Kontostand"), (-540, "+100,00€")],
            [(60, "Ausgehende Transaktionen"), (-540, "-520,00€")],
            [(60, "Einkommende Transaktionen"), (-540, "+900,00€")],
            [(60, "Dein neuer Kontostand"), (-540, "+480,00€")],
        ],
    )

    assert found.amounts == ["-500.00", "900.00", "-20.00"]
    assert found.flags == []


@pytest.mark.parametrize(
    ("iban", "is_told"),
    [("FR76 1090 7000 0156 0197 5658 510", True), ("HU42 1177 3016 1111 1018 0000 0000", False)],
)
def test_the_country_of_the_account_tells_that_the_day_comes_first(
    tmp_path: Path, iban: str, *, is_told: bool
) -> None:
    found = read(
        tmp_path,
        [
            [(60, f"IBAN : {iban}")],
            [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")],
            [(60, "02/03/2025"), (130, "Shop"), (-480, "-5.00"), (-560, "95.00")],
            [(60, "04/03/2025"), (130, "Shop"), (-480, "-7.00"), (-560, "88.00")],
        ],
    )

    assert ("AMBIGUOUS_DATES" not in found.flags) is is_told
    if is_told:
        assert found.dates == ["2025-03-02", "2025-03-04"]


def test_the_day_of_a_balance_does_not_end_a_period_before_it_began(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Votre relevé de compte n°11 au 28/11/2025")],
            [(60, "IBAN : FR76 1090 7000 0156 0197 5658 510")],
            [(60, "Date"), (130, "Libellé"), (-560, "Montant")],
            [(130, "SOLDE CREDITEUR AU 31/10/2025"), (-560, "3 090,90 €")],
            [(60, "02/11"), (130, "CB BORDEAUX"), (-560, "- 350,00 €")],
            [(60, "03/11"), (130, "CHEQUE"), (-560, "- 54,40 €")],
            [(130, "SOLDE CREDITEUR AU 28/11/2025"), (-560, "2 686,50 €")],
        ],
    )

    assert found.dates == ["2025-11-02", "2025-11-03"]
    assert found.flags == []


def test_a_period_with_a_limit_of_nothing_behind_it_is_no_row(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Kontoauszug 10/2025"), (350, "Kontostand"), (-540, "3.460,23 €")],
            [(60, "01.10.2025 - 31.10.2025"), (350, "Dispokredit"), (-540, "500,00 €")],
            [(60, "Buchung"), (110, "Valuta"), (160, "Transaktionsinformation"), (-540, "Betrag")],
            [(60, "31.10."), (110, "31.10."), (160, "Lastschrift"), (-540, "- 3.753,00 €")],
            [(60, "30.10."), (110, "30.10."), (160, "Gutschrift"), (-540, "+ 53,00 €")],
        ],
    )

    assert found.amounts == ["-3753.00", "53.00"]
    assert found.flags == []


def test_amounts_with_the_sign_of_a_currency_need_no_decimals(tmp_path: Path) -> None:
    names: Line = [
        (60, "Datum"),
        (130, "Zahlungsart"),
        (-380, "Eingänge"),
        (-460, "Ausgänge"),
        (-540, "Guthaben"),
    ]
    rows: list[Line] = [
        [(60, "15.01.2025"), (130, "Überweisen"), (-380, "93,23 €"), (-540, "93,23 €")],
        [(60, "16.01.2025"), (130, "Überweisen"), (-380, "402 €"), (-540, "495,23 €")],
        [(60, "17.01.2025"), (130, "Zinsen"), (-380, "0,07 €"), (-540, "495,3 €")],
        [(60, "18.01.2025"), (130, "Auszahlung"), (-460, "194,11 €"), (-540, "301,19 €")],
        [(60, "19.01.2025"), (130, "Zinsen"), (-380, "0,02 €"), (-540, "301,21 €")],
        [(60, "20.01.2025"), (130, "Zinsen"), (-380, "0,02 €"), (-540, "301,23 €")],
    ]
    found = read(tmp_path, [[(60, "Datum 01.01.2025 - 31.01.2025")], names, *rows])

    assert found.amounts == ["93.23", "402.00", "0.07", "-194.11", "0.02", "0.02"]
    assert found.flags == []


@pytest.mark.parametrize("printed", ["(€ -51,70)", "51,70- €", "51,70 -€", "€ (51,70)"])
def test_a_minus_may_stand_anywhere_beside_the_currency(tmp_path: Path, printed: str) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Zeitraum 01.01.2025 - 31.01.2025")],
            [(60, "Datum"), (130, "Art"), (-460, "Betrag"), (-540, "Saldo")],
            [(60, "15.01.2025"), (130, "Einzahlung"), (-460, "€ 300,00"), (-540, "€ 364,11")],
            [(60, "17.01.2025"), (130, "Auszahlung"), (-460, printed), (-540, "€ 312,41")],
        ],
    )

    assert found.amounts == ["300.00", "-51.70"]
    assert found.flags == []


def test_a_value_date_may_stand_below_that_of_the_booking_as_its_name_does(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Kontoauszug 01.12.2024 - 31.12.2024")],
            [(60, "Alter Kontostand per 30.11.2024"), (-540, "95,23 EUR")],
            [(60, "Order-/"), (130, "Buchungshinweise"), (380, "Buchungsdatum"), (-540, "Umsatz")],
            [(60, "Ref.nr."), (380, "Valuta"), (-540, "EUR")],
            [(60, "9668834"), (130, "Einzahlung"), (380, "09.12.2024"), (-540, "75,00")],
            [(130, "MI89 3759 6914"), (380, "10.12.2024")],
            [(60, "9668835"), (130, "Gebühr"), (380, "12.12.2024"), (-540, "-5,00")],
            [(130, "MI89 3759 6914"), (380, "13.12.2024")],
            [(60, "Neuer Kontostand per 31.12.2024"), (-540, "165,23 EUR")],
        ],
    )

    assert found.dates == ["2024-12-09", "2024-12-12"]
    assert found.amounts == ["75.00", "-5.00"]
    assert found.flags == []


def test_the_day_on_which_a_card_is_to_be_paid_tells_the_year_of_its_rows(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Data de vencimento: 04/06/2025")],
            [(60, "Período vigente: 01 MAI a 28 MAI")],
            [(60, "Fatura anterior"), (-540, "R$ 812,55")],
            [(60, "Total a pagar"), (-540, "R$ 35,50")],
            [(60, "TRANSAÇÕES DE 01 MAI A 28 MAI"), (-540, "VALORES EM R$")],
            [(60, "02 MAI"), (110, "•••• 1234"), (170, "Padaria"), (-540, "R$ 12,25")],
            [(60, "09 MAI"), (110, "•••• 1234"), (170, "Mercado"), (-540, "R$ 23,25")],
            [(60, "12 MAI"), (170, "Pagamento em 12 MAI"), (-540, "-R$ 812,55")],
        ],
    )

    assert found.dates == ["2025-05-02", "2025-05-09", "2025-05-12"]
    assert not any(flag.startswith("DATE_UNPROVEN") for flag in found.flags)


def test_figures_left_of_the_amounts_of_two_rows_are_no_balances(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement 05/01/2025 - 05/31/2025")],
            [(60, "Opening balance"), (-540, "$100.00")],
            [(60, "Date"), (130, "Description"), (-440, "Cash Back"), (-540, "Amount")],
            [(60, "05/13/2025"), (130, "Payroll"), (-440, "$0.20"), (-540, "$10.00")],
            [(60, "05/19/2025"), (130, "Shop"), (-440, "$0.10"), (-540, "-$5.00")],
            [(60, "Closing balance"), (-540, "$105.00")],
        ],
    )

    assert found.amounts == ["10.00", "-5.00"]
    assert found.flags == []
