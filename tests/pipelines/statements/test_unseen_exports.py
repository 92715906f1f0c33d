"""Exports whose headings, blocks and last lines differ from those of most banks: what a column holds decides."""

from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.statements.booking import booking_status
from stateward.pipelines.statements.detection import LIKELY, detect
from tests.pipelines.statements.reading import read_bytes

DAYS = (
    "年,月,日,摘要,出金額,入金額,残高\n"
    "2026,2,3,カード,12000,,142210\n"
    "2026,2,6,デンリヨク,8421,,133789\n"
    ",,,合計,20421,,\n"
)


def test_a_day_in_three_columns_is_one_day(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, DAYS)

    assert read.dates == ["2026-02-03", "2026-02-06"]
    assert read.amounts == ["-12000.00", "-8421.00"]
    assert read.flags == []


def test_short_years_below_a_japanese_heading_are_those_of_the_emperor(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, DAYS.replace("2026,", "8,")).dates == ["2026-02-03", "2026-02-06"]


@pytest.mark.parametrize("year", ["12", "25", "30"])
def test_short_years_that_may_be_of_an_earlier_emperor_are_doubted(
    tmp_path: Path, year: str
) -> None:
    assert "DATE_UNPROVEN" in read_bytes(tmp_path, DAYS.replace("2026,", f"{year},")).flags


def test_an_amount_that_a_seller_may_have_charged_is_not_turned_in_silence(tmp_path: Path) -> None:
    text = "Date,Customer,Description,Amount charged\n" + "".join(
        f"2026-03-0{day},Customer {day},Membership,30.00\n" for day in range(1, 6)
    )

    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, text).flags


def test_an_export_with_days_in_three_columns_is_taken_for_a_statement(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(DAYS, "utf-8")

    found = detect(Content(path=path, head=DAYS.encode(), name=path.name))

    assert found.confidence == LIKELY


def test_numbers_that_are_no_days_are_left_alone(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "Year,Month,Day,Date,Text,Amount\n9,40,77,2026-01-02,Shop,-5.00\n")

    assert read.dates == ["2026-01-02"]


@pytest.mark.parametrize("text", ["Total Wine", "Summe Reisen", "Closing Time Bar"])
def test_a_row_without_a_date_that_begins_like_a_total_is_not_dropped_in_silence(
    tmp_path: Path, text: str
) -> None:
    rows = f"2026-01-02,Shop,-5.00\n2026-01-03,Kiosk,-3.00\n,{text},-7.00\n2026-01-05,Bus,-2.00\n"

    read = read_bytes(tmp_path, f"Date,Description,Amount\n{rows}")

    assert read.flags


def test_a_subtotal_beside_balances_that_follow_without_it_is_no_alarm(tmp_path: Path) -> None:
    rows = "2026-01-02,Shop,-5.00,95.00\n2026-01-03,Pay,100.00,195.00\n,Summe Reisen neu,95.00,\n"

    read = read_bytes(tmp_path, f"Date,Description,Amount,Balance\n{rows}2026-01-05,Bus,-3.00,192.00\n")  # fmt: skip

    assert read.flags == []


def test_a_column_called_valuta_that_holds_currencies_is_the_currency(tmp_path: Path) -> None:
    rows = "2021-04-24;-42,94;Kortköp;2919,20;SEK\n2021-04-25;-19,20;Kortköp;2900,00;SEK\n"

    read = read_bytes(tmp_path, f"Bokföringsdag;Belopp;Rubrik;Saldo;Valuta\n{rows}")

    assert {row["currency"] for row in read.canonicals} == {"SEK"}


def test_a_sign_in_the_heading_of_amounts_is_their_currency(tmp_path: Path) -> None:
    rows = '"30.04.26";"Miete";"-123,12"\n"29.04.26";"Strom";"-23,10"\n'

    read = read_bytes(tmp_path, f'"Buchungsdatum";"Verwendungszweck";"Betrag (€)"\n{rows}')

    assert {row["currency"] for row in read.canonicals} == {"EUR"}


def test_each_block_of_an_account_has_its_own_balances(tmp_path: Path) -> None:
    rows = "".join(
        f"{day:02d}-05-2026;Inleg;K {account};Bij;10,00;{1000 * account + 10 * day},00\n"
        for account in (1, 2, 3)
        for day in (1, 2, 3)
    )

    read = read_bytes(tmp_path, f"Datum;Omschrijving;Rekening;Af Bij;Bedrag;Saldo na mutatie\n{rows}")  # fmt: skip

    assert read.flags == []
    assert len({row["account"] for row in read.canonicals}) == 3


def test_every_text_is_kept_where_all_rows_lack_the_last_cell_of_the_heading(
    tmp_path: Path,
) -> None:
    rows = "30/06/2023;Pix recebido;Joe Smith;28,00\n29/06/2023;Compra;Padaria;-8,89\n"

    read = read_bytes(tmp_path, f"Data Lançamento;Histórico;Descrição;Valor;Saldo\n{rows}")

    assert [row["description"] for row in read.canonicals] == ["Pix recebido Joe Smith", "Compra Padaria"]  # fmt: skip


@pytest.mark.parametrize("name", ["利用金額", "סכום חיוב", "이용금액"])
def test_amounts_that_a_card_was_charged_with_went_out(tmp_path: Path, name: str) -> None:
    read = read_bytes(tmp_path, f"Date,Merchant,{name}\n2026-09-07,Lawson,1051\n2026-09-08,X,20\n")

    assert read.amounts == ["-1051.00", "-20.00"]
    assert "SIGN_UNPROVEN" not in read.flags


def test_a_file_that_ends_with_a_label_is_not_cut_off(tmp_path: Path) -> None:
    rows = "03/01/18;2,90;;IMPOSTA DI BOLLO\n13/01/18;250,00;;RICARICA CARTA\n31/01/18;;100,00;|SALDO FINALE"

    read = read_bytes(tmp_path, f"Data;Addebiti;Accrediti;Descrizione\n{rows}")

    assert "FILE_CUT" not in read.flags
    assert read.amounts == ["-2.90", "-250.00"]


def test_a_short_status_without_blanks_says_what_failed() -> None:
    assert booking_status("승인취소") == "failed"
    assert booking_status("未取消") == ""


def test_a_column_of_marks_that_contradicts_signs_and_words_is_flagged(tmp_path: Path) -> None:
    rows = "2025-05-05,Card payment,-245.66,credit\n2025-05-06,Client deposit,1420.33,debit\n"

    read = read_bytes(tmp_path, f"transaction_date,description,amount,debit_credit\n{rows}")

    assert read.flags == ["SIGN_CONTRADICTED"]


def test_the_code_of_a_bank_is_not_the_name_of_who_was_paid(tmp_path: Path) -> None:
    rows = "".join(
        f"{day}.04.2019;-5,99;Moin GmbH;ABCDE66XXX;Teil {day};Danke\n" for day in (17, 18)
    )
    names = (
        "Buchungstag;Soll/Haben;Empfänger/Auftraggeber Name;Empfänger/Auftraggeber BIC;Vwz.0;Vwz.1"
    )

    read = read_bytes(tmp_path, f"{names}\n{rows}")

    assert {row["counterparty"] for row in read.canonicals} == {"Moin GmbH"}
    assert read.canonicals[0]["description"] == "Teil 17 Danke"


@pytest.mark.parametrize(
    ("above", "currency"), [("Status;ALL", None), ("NOK", "NOK"), ("Currency;ALL", "ALL")]
)
def test_a_word_above_the_table_is_no_currency_without_a_label(
    tmp_path: Path, above: str, currency: str | None
) -> None:
    rows = "2026-01-02;Shop;-5,00\n2026-01-03;Salary;100,00\n"

    read = read_bytes(tmp_path, f"{above}\nDate;Description;Amount\n{rows}")

    assert {row.get("currency") for row in read.canonicals} == {currency}


@pytest.mark.parametrize("encoding", ["utf-16", "hex"])
def test_an_encoding_that_the_file_cannot_be_in_is_refused_with_a_sentence(
    tmp_path: Path, encoding: str
) -> None:
    read = read_bytes(
        tmp_path, "Date,Text,Amount\n2026-01-02,Shop,-5.00\n", labels={"encoding": encoding}
    )

    assert read.error.code == "BAD_HINT"


def test_amounts_below_the_name_of_texts_are_doubted(tmp_path: Path) -> None:
    text = (
        "Date,Type,Description,Amount,Balance\n2026-03-05,Coffee,-3.50,96.50\n"
        "2026-03-06,Salary,2000.00,2096.50\n2026-03-07,Rent,-800.00,1296.50\n"
    )

    assert "AMOUNT_UNPROVEN" in read_bytes(tmp_path, text).flags
