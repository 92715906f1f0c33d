"""Tables whose headings nobody knows: balances prove which column is which, and what they do not prove is said."""

from pathlib import Path

from stateward.pipelines.kit import dates
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud

UNKNOWN = "zorp,blim,quux,frob,narg\n"


def test_balances_prove_the_amounts_among_several_columns(tmp_path: Path) -> None:
    gross = (
        UNKNOWN + "2026-01-13,Shop,-10.00,0.00,-10.00\n"
        "2026-01-14,Sale,100.00,-3.00,97.00\n2026-01-15,Bar,-20.00,0.00,-20.00\n"
    )
    balanced = [
        f"{line},{balance}" for line, balance in zip(
            gross.splitlines(), ("glop", "90.00", "187.00", "167.00"), strict=True
        )
    ]  # fmt: skip

    read = read_bytes(tmp_path, "\n".join(balanced))

    assert read.amounts == ["-10.00", "97.00", "-20.00"]
    assert loud(read) == []


def test_a_column_with_minus_signs_is_debits_wherever_it_stands(tmp_path: Path) -> None:
    text = (
        UNKNOWN + "2026-01-13,Refund,25.00,,125.00\n2026-01-14,Shop,,-10.00,115.00\n"
        "2026-01-15,Bar,,-5.00,110.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["25.00", "-10.00", "-5.00"]
    assert loud(read) == []


def test_whole_numbers_are_amounts_where_balances_follow_from_them(tmp_path: Path) -> None:
    text = (
        UNKNOWN + "2026-01-13,Shop,1200,,98800\n2026-01-14,Pay,,50000,148800\n"
        "2026-01-15,Bar,800,,148000\n"
    )

    assert read_bytes(tmp_path, text).amounts == ["-1200.00", "50000.00", "-800.00"]


def test_a_name_on_every_row_does_not_outweigh_the_words_of_a_row(tmp_path: Path) -> None:
    text = (
        "zorp,blim,quux,frob\n2026-07-03,Metro,108.65,Barclays Debit\n"
        "2026-07-03,SALARY ACME LTD,-3156.79,Barclays Debit\n2026-07-01,Refund Zalando,-29.98,Barclays Debit\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-108.65", "3156.79", "29.98"] or loud(read)


def test_thai_bytes_and_short_thai_years_are_read(tmp_path: Path) -> None:
    text = (
        "วันที่,รายการ,รายละเอียด,ถอนเงิน,ฝากเงิน,ยอดคงเหลือ\n2 ก.พ. 69,TRF,โอนเงิน,108.49,,8825.14\n"
        "4 ก.พ. 69,SAL,เงินเดือน,,1780.10,10605.24\n"
    )

    read = read_bytes(tmp_path, text.encode("cp874"))

    assert (read.dates, read.amounts) == (["2026-02-02", "2026-02-04"], ["-108.49", "1780.10"])
    assert loud(read) == []


def test_months_are_known_in_the_languages_of_banks() -> None:
    for text in (
        "5 января 2026", "2026. január 5.", "5 ianuarie 2026", "5 січня 2026", "5 ינואר 2026",
    ):  # fmt: skip
        assert str(dates.read_date(text, "dmy")) == "2026-01-05"


def test_a_balance_that_stays_the_same_while_money_moves_is_no_running_one(tmp_path: Path) -> None:
    text = (
        "dateOp;dateVal;label;amount;accountbalance\n2024-11-22;2024-11-25;Salaire;2 099,73;9313.11\n"
        "2024-11-19;2024-11-19;Pain;-215,18;9313.11\n2024-11-18;2024-11-19;Loyer;-49,32;9313.11\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["2099.73", "-215.18", "-49.32"]
    assert read.dates[0] == "2024-11-22"
    assert loud(read) == []


def test_rows_of_balances_and_turnover_are_known_by_any_column_of_words(tmp_path: Path) -> None:
    text = (
        "Sąskaitos Nr.,Data,Gavėjas,Paaiškinimai,Suma,Valiuta,D/K\nLT1,2024-10-01,,Likutis pradžiai,100.00,EUR,K\n"
        "LT1,2024-10-05,TESCO,CARD,7.75,EUR,D\nLT1,2024-10-06,ACME,PAY,50.00,EUR,K\nLT1,2024-10-31,,Apyvarta,7.75,EUR,D\n"
        "LT1,2024-10-31,,Apyvarta,50.00,EUR,K\nLT1,2024-10-31,,Likutis pabaigai,142.25,EUR,K\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-7.75", "50.00"]
    assert loud(read) == []


def test_a_line_with_the_period_and_the_balance_above_headings_is_no_row(tmp_path: Path) -> None:
    text = (
        '="0012";01/04/2024;30/04/2024;13;30/04/2024;5201,77 EUR\n\nDate de l\'opération;Libellé;Montant;Devise\n'
        "28/04/2024;LOYER;-298,68;EUR\n25/04/2024;MAIF;-96,46;EUR\n"
    )

    assert loud(read_bytes(tmp_path, text)) == []


def test_printed_signs_that_lead_to_the_closing_balance_need_no_words(tmp_path: Path) -> None:
    rows = "02.04.2024;Salary;100,00\n03.04.2024;Refund;-20,00\n04.04.2024;Purchase;10,00\n"
    text = f"Anfangssaldo;500,00\nEndsaldo;590,00\nBuchungstag;Verwendungszweck;Betrag\n{rows}"

    read = read_bytes(tmp_path, text)

    assert (read.amounts, loud(read)) == (["100.00", "-20.00", "10.00"], [])
