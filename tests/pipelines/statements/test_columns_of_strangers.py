"""Columns as banks print them that nobody here had seen: fees, balances before, apostrophes, and other names."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

FEES_APART = (
    "Nr,Posting Date,Transaction Date,Description,Money In,Money Out,Fee,Balance\n"
    "1,2025-03-01,2025-02-28,Checkers,,{minus}412.30,,8898.14\n"
    "2,2025-03-01,2025-03-01,Monthly Admin Fee,,,{minus}7.50,8890.64\n"
    "3,2025-03-10,2025-03-10,Payment Received,900.00,,,9790.64\n"
    "4,2025-03-22,2025-03-22,Withdrawal Fee,,,{minus}10.00,9780.64\n"
)


@pytest.mark.parametrize("minus", ["-", ""])
def test_a_fee_without_another_amount_is_what_was_booked(tmp_path: Path, minus: str) -> None:
    read = read_bytes(tmp_path, FEES_APART.format(minus=minus))

    assert read.amounts == ["-412.30", "-7.50", "900.00", "-10.00"]
    assert read.flags == []


def test_a_fee_beside_an_amount_that_cannot_be_read_ends_in_a_note(tmp_path: Path) -> None:
    text = (
        "Date,Description,Money In,Money Out,Fee\n2025-03-13,Shop,,5.00,\n2025-03-14,Shop,,6.00,\n"
        "2025-03-15,Both,4.00,6.00,1.00\n2025-03-16,Salary,9.00,,\n"
    )

    assert "ROW_REJECTED" in read_bytes(tmp_path, text).flags


@pytest.mark.parametrize("is_newest_first", [False, True])
def test_a_balance_before_each_row_is_no_running_balance(
    tmp_path: Path, is_newest_first: bool
) -> None:
    rows = [
        "17-06-2022,NL11,130.44,EUR,223.77,Loon juni",
        "18-06-2022,NL11,354.21,EUR,-200.00,Betaling kaart",
        "25-06-2022,NL11,154.21,EUR,-2.20,Kosten rekening",
        "27-06-2022,NL11,152.01,EUR,503.15,Dividend",
    ]
    read = read_bytes(tmp_path, "\n".join(rows[::-1] if is_newest_first else rows) + "\n")

    assert sorted(read.amounts) == ["-2.20", "-200.00", "223.77", "503.15"]
    assert {row.get("balance") for row in read.canonicals} == {None}
    assert "NOT_RECONCILED" not in read.flags


def test_an_apostrophe_before_a_date_is_no_part_of_it(tmp_path: Path) -> None:
    text = (
        "Date,Description,Branch,Amount,,Balance\n'13/07/2023,TRSF,'0011,9500000,DB,30795691.99\n"
        "'14/07/2023,KR OTOMATIS,'0011,4454100,CR,35249791.99\n'15/07/2023,O'Neill,'0000,1000000,DB,34249791.99\n"
    )
    read = read_bytes(tmp_path, text)

    assert read.dates == ["2023-07-13", "2023-07-14", "2023-07-15"]
    assert read.canonicals[2]["description"] == "O'Neill"
    assert read.flags == []


@pytest.mark.parametrize("status", ["W trakcie realizacji", "In Bearbeitung", "En cours"])
def test_what_is_under_way_is_not_booked(tmp_path: Path, status: str) -> None:
    read = read_bytes(tmp_path, f"Date,Text,Amount,Status\n2024-02-08,Shop,-500.00,{status}\n")

    assert read.canonicals[0]["is_pending"] is True


@pytest.mark.parametrize(
    ("heading", "row", "said"),
    [
        ("Type,Details,Particulars,Code", "Eft-Pos,Seasons Markets,4835********,5083", "Seasons"),
        ("Label,Partner Name", "Your best supplier,John Doe", "Your best supplier"),
        ("ご利用先など,支払区分", "ツルハ,１回", "ツルハ"),
    ],
)
def test_the_column_that_names_the_purchase_is_the_description(
    tmp_path: Path, heading: str, row: str, said: str
) -> None:
    text = f"Date,{heading},Amount\n2025-10-23,{row},-5.35\n2025-10-24,{row},-6.35\n"

    assert read_bytes(tmp_path, text).canonicals[0]["description"].startswith(said)


def test_the_two_sides_of_a_japanese_account_are_known_beside_their_unit(tmp_path: Path) -> None:
    text = (
        '"日付","内容","出金金額(円)","入金金額(円)","残高(円)","メモ"\n'
        '"2019/01/20","利息",,"1","20,001","-"\n"2019/01/10","振込","10,000",,"20,000","-"\n'
        '"2019/01/10","振込","2,000",,"30,000","-"\n'
    )
    read = read_bytes(tmp_path, text)

    assert read.amounts == ["1.00", "-10000.00", "-2000.00"]
    assert read.flags == []


def test_balances_at_the_ends_of_a_period_are_balances(tmp_path: Path) -> None:
    text = (
        "Balance at end of period,,,,1069.32\nDate,Number,Text,Debit,Credit\n13/04/20,1,Rent,-50.00,\n"
        "13/04/20,2,Shop,-180.68,\n14/04/20,4,Pay,,1300.00\nBalance at start of period,,,,0.00\n"
    )

    assert read_bytes(tmp_path, text).flags == []


def test_a_currency_beside_an_amount_may_contradict_the_heading_above_it(tmp_path: Path) -> None:
    text = (
        "Tarih;Text;Tutar (USD);Bakiye (USD)\n13.03.2025;Maaş;1850,00;2791,70\n"
        "14.03.2025;Market;-64,35;2727,35\nDönem sonu bakiyesi;;;2.727,35 TL\n"
    )

    assert "CURRENCY_CONTRADICTED" in read_bytes(tmp_path, text).flags


def test_a_reference_of_several_words_tells_what_the_row_is(tmp_path: Path) -> None:
    text = (
        "Transaction Date,Reference,Debit Amount,Credit Amount,Transaction Ref1,Transaction Ref2\n"
        "28 Mar 2025,SAL, ,6150.00,SALARY PAYMENT,Kestrel Marine Pte Ltd\n"
        "27 Mar 2025,POS,48.20, ,NETS QR PAYMENT,TO: KOPITIAM @ TAMPINES\n"
    )
    said = [row["description"] for row in read_bytes(tmp_path, text).canonicals]

    assert said == ["Kestrel Marine Pte Ltd", "TO: KOPITIAM @ TAMPINES"]
