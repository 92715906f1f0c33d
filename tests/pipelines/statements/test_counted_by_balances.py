"""Rows whose status and whose balance disagree, and what shows that signs are those of a current account."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.booking import booking_status
from tests.pipelines.statements.reading import read_bytes

HEAD = "Datum,Name,Typ,Status,Währung,Brutto,Entgelt,Netto,Guthaben\n"
HOLD = (
    '01.03.2026,Laden,Zahlung,Abgeschlossen,EUR,"-5,00","0,00","-5,00","95,00"\n'
    '14.03.2026,Bezahldienst,Einbehaltung,{},EUR,"-10,00","0,00","-10,00","85,00"\n'
    '14.03.2026,Bezahldienst,Einbehaltung,Abgeschlossen,EUR,"10,00","0,00","10,00","95,00"\n'
    '15.03.2026,Laden,Zahlung,Abgeschlossen,EUR,"-12,00","0,00","-12,00","83,00"\n'
)


def test_a_row_that_the_balances_count_is_booked_whatever_its_status_says(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, HEAD + HOLD.format("Ausstehend"))

    assert [bool(row.get("is_pending")) for row in read.canonicals] == [False] * 4
    assert [check["status"] for check in read.checks] == ["reconciled"]
    assert read.flags == []


def test_a_row_that_the_balances_do_not_count_stays_pending(tmp_path: Path) -> None:
    rows = (
        '01.03.2026,Laden,Zahlung,Abgeschlossen,EUR,"-5,00","0,00","-5,00","95,00"\n'
        '14.03.2026,Laden,Zahlung,Ausstehend,EUR,"-10,00","0,00","-10,00",""\n'
        '15.03.2026,Laden,Zahlung,Abgeschlossen,EUR,"-12,00","0,00","-12,00","83,00"\n'
    )

    read = read_bytes(tmp_path, HEAD + rows)

    assert [bool(row.get("is_pending")) for row in read.canonicals] == [False, True, False]
    assert read.flags == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("Abgeschlossen", ""),
        ("Ausstehend", "pending"),
        ("Completata", ""),
        ("In sospeso", "pending"),
        ("Zakończono", ""),
    ],
)
def test_states_of_payments_are_known_in_other_languages(status: str, kind: str) -> None:
    assert booking_status(status) == kind


def test_accounts_of_other_sides_are_those_of_a_current_account(tmp_path: Path) -> None:
    head = "Buchungsdatum;Name;Verwendungszweck;IBAN;Betrag (€)\n"
    amounts = ["2.500,00", "-67,89", "1.190,00", "-54,99", "-380,00", "850,00"]
    rows = "".join(
        f"{day:02}.03.2026;Abcd {day};Efgh {day};XX{day}1222233334444555566;{amount}\n"
        for day, amount in enumerate(amounts, start=10)
    )

    assert read_bytes(tmp_path, head + rows).flags == []
    without = rows.replace("222233334444555566", "")
    assert read_bytes(tmp_path, head + without).flags == ["SIGN_UNPROVEN"]


def test_the_only_iban_above_a_table_is_that_of_its_account(tmp_path: Path) -> None:
    text = (
        '"Girokonto";"DE42120300001033738756"\n\n"Buchungsdatum";"Name";"Betrag"\n'
        '"08.03.2026";"Kartenzahlung Bäcker";"-2,00"\n"09.03.2026";"Gehalt";"100,00"\n'
    )

    assert {row["account"] for row in read_bytes(tmp_path, text).canonicals} == {
        "DE42120300001033738756"
    }


def test_columns_without_names_are_told_apart_by_signs_that_words_bear_out(tmp_path: Path) -> None:
    rows = (
        "03.11.2025;Lastschrift Strom;-5,00;;X\n04.11.2025;Kartenzahlung Diesel;-24,00;;X\n"
        "10.11.2025;Gutschrift Rückzahlung;;83,16;X\n13.11.2025;Lastschrift Gas;-7,00;;X\n"
    )

    read = read_bytes(tmp_path, rows)

    assert read.amounts == ["-5.00", "-24.00", "83.16", "-7.00"]
    assert "SIGN_UNPROVEN" not in read.flags
    wordless = (
        rows.replace("Lastschrift", "Ab")
        .replace("Kartenzahlung", "Cd")
        .replace("Gutschrift Rückzahlung", "Ef")
    )
    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, wordless).flags


def test_a_cash_book_tells_income_and_expense_by_words(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Datum;Beschreibung;Art;Betrag\n01.03.2026;Verkauf;Einnahme;119,00\n15.03.2026;Papier;Ausgabe;59,50\n",
    )

    assert read.amounts == ["119.00", "-59.50"]
    assert read.flags == []
