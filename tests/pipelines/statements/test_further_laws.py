"""Laws that exports of further banks taught: each was broken in silence, or flagged for nothing."""

from pathlib import Path

import pytest

from lab.documents.banks.__main__ import draw
from lab.documents.banks.layouts import FURTHER
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud, rows


def test_plain_numbers_above_signed_ones_are_rows_too(tmp_path: Path) -> None:
    text = "117;J;1169;HUF;20260904;20260904;3353;Bér\n117;T;-52;HUF;20260907;20260907;3301;Bolt\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["1169.00", "-52.00"]
    assert loud(read) == []


def test_a_first_row_that_sums_up_the_others_is_none_of_them(tmp_path: Path) -> None:
    text = (
        '28-09-2026,01-01-2026,ANNA,PLN,"100,00","70,00",2,\n'
        '15-01-2026,15-01-2026,Sklep,X,"-20,00","70,00",1,\n14-01-2026,14-01-2026,Bar,X,"-10,00","90,00",2,\n'
    )

    read = read_bytes(tmp_path, text)

    assert rows(read) == [("2026-01-15", "-20.00"), ("2026-01-14", "-10.00")]
    assert loud(read) == []
    assert read.checks[0]["status"] == "reconciled"


def test_a_number_of_six_digits_is_no_date_beside_dates(tmp_path: Path) -> None:
    text = "CAISSE,012345,EOP,2026/08/02,EDF,147.93,,3782.70\nCAISSE,012345,EOP,2026/08/03,ACME,,31.00,3813.70\n"

    read = read_bytes(tmp_path, text)

    assert read.dates == ["2026-08-02", "2026-08-03"]
    assert [row.get("currency") for row in read.canonicals] == [None, None]
    assert [row["description"] for row in read.canonicals] == ["EDF", "ACME"]


def test_a_heading_beside_another_is_no_currency(tmp_path: Path) -> None:
    text = "Datum;Buchungstext;Belastung;Valuta;Whg\n19.05.2026;Bahn;96.67;19.05.2026;\n"

    assert [row.get("currency") for row in read_bytes(tmp_path, text).canonicals] == [None]


STATUSES = (
    "Dato;Tekst;Beløb;Saldo;Status\n04.09.2026;Bar;-3,17;8,99;Udført\n30.09.2026;Leje;-7,00;;{}\n"
)


def test_what_is_not_booked_is_not_counted_and_an_unknown_status_is_flagged(tmp_path: Path) -> None:
    waiting = read_bytes(tmp_path, STATUSES.format("Venter"))
    unknown = read_bytes(tmp_path, STATUSES.format("Xyzzy"))

    assert rows(waiting) == [("2026-09-04", "-3.17")]
    assert loud(waiting) == []
    assert loud(unknown) == ["STATUS_UNKNOWN"]


def test_an_undated_row_with_a_debit_and_a_credit_is_a_total_and_checked(tmp_path: Path) -> None:
    text = "Date,Text,Debit,Credit\n2026-01-02,Bar,5.00,\n2026-01-03,Pay,,9.00\n,,{},9.00\n"

    right, wrong = (read_bytes(tmp_path, text.format(total)) for total in ("5.00", "6.00"))

    assert right.amounts == ["-5.00", "9.00"]
    assert loud(right) == []
    assert loud(wrong) == ["NOT_RECONCILED"]


def test_days_as_numbers_of_a_sheet_are_dates_below_a_heading_of_dates(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "Posting Date,Text,Amount\n46027,Bar,-5.00\n46028,Pay,9.00\n")

    assert read.dates == ["2026-01-05", "2026-01-06"]


def test_hebrew_is_not_read_as_russian(tmp_path: Path) -> None:
    text = "תאריך,תיאור,בחובה,בזכות\n" + "05/02/2026,חברת חשמל לישראל,10.00,\n" * 4

    read = read_bytes(tmp_path, text.encode("cp1255"))

    assert read.canonicals[0]["description"] == "חברת חשמל לישראל"
    assert loud(read) == []


ORDERS = {
    "mdy": [
        "Exported 09/30/2026\nDate,Text,Amount\n05/02/2026,Bar,-1.00\n",
        "Date,Text,Amount\n05/02/2026,Bar,-1.00\nDownloaded 09/30/2026,,\n",
        "Date,Text,Amount,Seen\n05/02/2026,Bar,-1.00,2026-05-01\n",
    ],
    "dmy": [
        "Date,Text,Amount\n09/01/2026,Bar,-1.00\n10/01/2026,Bar,-2.00\n03/02/2026,Bar,-1.00\n05/02/2026,Bar,-1.00\n06/02/2026,Bar,-1.00\n",
        "Date,Text,Amount (INR)\n05/02/2026,Bar,-1.00\n",
        "วันที่,รายการ,Amount\n05/02/2026,Bar,-1.00\n",
    ],
}


@pytest.mark.parametrize("order", ORDERS)
def test_another_date_or_the_order_of_the_rows_decides_day_or_month(
    tmp_path: Path, order: str
) -> None:
    for text in ORDERS[order]:
        read = read_bytes(tmp_path, text)
        terms = read.about["sections"][0]["terms"]

        assert (terms["date_order"], loud(read)) == (order, []), text


def test_dates_that_only_look_likelier_stay_open(tmp_path: Path) -> None:
    one_month = "".join(f"{day:02}/03/2026,Shop {day},-{day}.00\n" for day in range(1, 11))

    assert loud(read_bytes(tmp_path, "Date,Text,Amount\n" + one_month)) == ["AMBIGUOUS_DATES"]


def test_exports_of_further_banks_are_read_or_flagged(tmp_path: Path) -> None:
    for layout in FURTHER[::9]:
        content, truth = draw(layout, 23, is_mutated=False)
        read = read_bytes(tmp_path, content)
        wanted = sorted((row["date"], row["amount"]) for row in truth["transactions"])  # type: ignore[attr-defined]
        found = sorted((day or "", amount) for day, amount in rows(read))

        assert found == wanted or read.canonicals == [] or loud(read), layout.name


MARKED = "Date,Description,Amount,DR/CR\n" + "".join(
    f"2026-01-{day:02},Shop,10.00,{'CR' if day % 3 else 'DR'}\n" for day in range(1, 29)
)
UNMARKED = {
    "in a column": MARKED + "2026-01-29,Nil,30.00,\n",
    "beyond the rows that decide": MARKED * 20 + "2026-01-29,Nil,30.00,\n",
    "beside the amount": "Date,Description,Amount\n2026-01-02,A,10.00 DR\n2026-01-03,B,20.00 CR\n2026-01-04,C,30.00\n",
    "where the chain begins": "Date,Description,Amount,DR/CR,Balance\n2026-01-02,A,10.00,,90.00\n"
    "2026-01-03,B,20.00,CR,110.00\n2026-01-04,C,5.00,DR,105.00\n",
}


@pytest.mark.parametrize("text", UNMARKED.values(), ids=UNMARKED)
def test_an_amount_without_a_mark_among_marked_ones_is_flagged(tmp_path: Path, text: str) -> None:
    assert "SIGN_UNPROVEN" in loud(read_bytes(tmp_path, text))


def test_a_balance_tells_the_direction_of_an_amount_without_a_mark(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount,DR/CR,Balance\n2026-01-02,A,10.00,DR,90.00\n2026-01-03,B,20.00,,110.00\n"
        "2026-01-04,C,5.00,DR,105.00\n2026-01-05,D,5.00,CR,110.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-10.00", "20.00", "-5.00", "5.00"]
    assert loud(read) == []


def test_a_column_that_marks_credits_alone_leaves_debits_to_the_others(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount,Cr\n2026-01-02,Card purchase,10.00,\n2026-01-03,Refund,20.00,CR\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-10.00", "20.00"]
    assert loud(read) == []


def test_a_debit_that_is_not_booked_yet_shows_how_debits_are_printed(tmp_path: Path) -> None:
    """The only money out of the file is pending, and has a minus in the column of money out."""
    text = (
        "Data;Entrate;Uscite;Descrizione;Stato\n31/12/2024;;-9,99;VISA DEBIT;Autorizzato\n"
        "31/12/2024;150,62;;Bonifico SEPA;Contabilizzato\n"
    )

    assert read_bytes(tmp_path, text).amounts == ["-9.99", "150.62"]


def test_the_amount_in_the_currency_of_the_account_is_taken(tmp_path: Path) -> None:
    text = (
        "Дата операции;Дата обработки;Сумма операции;Валюта операции;Сумма пересчитанная в валюту счета;"
        "Валюта счета;Основание\n"
        "2019-07-06;2019-07-08;-4,50;EUR;-336,15;RUR;payee\n"
    )

    read = read_bytes(tmp_path, text)

    assert [(row["amount"], row["currency"]) for row in read.canonicals] == [("-336.15", "RUB")]
    assert loud(read) == []


def test_two_rows_of_columns_without_names_do_not_turn_a_sign_in_silence(tmp_path: Path) -> None:
    """Lots of shares: price and cost of two rows add up as amount and balance, by chance."""
    text = (
        "Open Date,Quantity,Price,Cost/Share,Market Value,Holding Period\n"
        "08/31/2020 13:42:07,12,$10.00,$10.00,$120.00,Short Term\n"
        "08/30/2020 13:42:07,8,$10.00,$20.00,$80.00,Short Term\n"
    )

    assert "SIGN_UNPROVEN" in loud(read_bytes(tmp_path, text))


def test_a_short_row_with_nothing_but_a_text_goes_on_with_the_row_above(tmp_path: Path) -> None:
    text = (
        "Transaction date,Value date,Description,Withdrawals (SGD),Deposits (SGD)\n"
        "18/04/2018,18/04/2018,DEBIT PURCHASE,6.66,\n,,15/04/18  66-6666 UBER EATS\n"
        "19/04/2018,19/04/2018,SALARY,,66.66\n\n,,Printed on 20/04/2018\n"
    )

    texts = [row["description"] for row in read_bytes(tmp_path, text).canonicals]

    assert texts == ["DEBIT PURCHASE 15/04/18 66-6666 UBER EATS", "SALARY"]


def test_a_date_of_another_kind_left_of_value_dates_is_that_of_the_booking(tmp_path: Path) -> None:
    text = "Trade Date,Value Date,Description,Amount,Balance\n2025-03-03,2025-03-05,Shop A,-5.00,95.00\n"
    text += "2025-03-04,2025-03-06,Shop B,-7.00,88.00\n2025-03-10,2025-03-12,Pay,20.00,108.00\n"

    found = read_bytes(tmp_path, text)

    assert found.dates == ["2025-03-03", "2025-03-04", "2025-03-10"]
    assert found.canonicals[0]["value_date"] == "2025-03-05"


@pytest.mark.parametrize(
    ("shops", "expected", "flags"),
    [
        (("MÃ¼ller BÃ¤ckerei", "CafÃ© ZÃ¼rich"), ["Müller Bäckerei", "Café Zürich"], []),
        (
            ("MÃ¼ller Bäckerei", "CafÃ© ZÃ¼rich"),
            ["Müller Bäckerei", "Café Zürich"],
            ["ENCODING_UNPROVEN"],
        ),
        (("Müller «CAFÉ»", "NÃO Zürich"), ["Müller «CAFÉ»", "NÃO Zürich"], []),
    ],
)
def test_letters_that_were_encoded_twice_are_mended(
    tmp_path: Path, shops: tuple[str, str], expected: list[str], flags: list[str]
) -> None:
    text = "Datum;Text;Betrag;Saldo\n03.03.2025;{};-5,00;95,00\n14.03.2025;{};-7,00;88,00\n"

    found = read_bytes(tmp_path, text.format(*shops))

    assert [row["description"] for row in found.canonicals] == expected
    assert found.flags == flags


@pytest.mark.parametrize(
    "text",
    [
        "Account;DE1\nNumber of transactions;{}\n%s",
        "Anzahl der Buchungen: {}\n%s",
        "%sTotal transactions: {}\n",
        "%s{} Umsätze\n",
    ],
)
def test_a_count_of_bookings_that_a_file_tells_is_compared(tmp_path: Path, text: str) -> None:
    rows = "Date;Text;Amount\n03.03.2025;A;-5,00\n14.03.2025;B;-7,00\n15.03.2025;C;20,00\n"

    right, wrong = (read_bytes(tmp_path, (text % rows).format(count)) for count in (3, 4))

    assert right.flags == []
    assert wrong.flags == ["NOT_RECONCILED"]
    assert right.amounts == wrong.amounts == ["-5.00", "-7.00", "20.00"]


def test_a_row_without_a_currency_among_several_is_told(tmp_path: Path) -> None:
    text = "Date,Description,Amount,Currency\n2025-03-03,A,-5.00,EUR\n2025-03-04,B,-7.00,{}\n2025-03-05,C,-9.00,\n"

    one, several = (read_bytes(tmp_path, text.format(code)) for code in ("EUR", "USD"))

    assert one.flags == []
    assert several.flags == ["CURRENCY_UNKNOWN"]


def test_the_sign_of_a_total_says_nothing_of_the_signs_of_rows(tmp_path: Path) -> None:
    text = (
        "카드 이용내역\n\n이용일,이용시간,이용카드,이용하신곳,이용금액,할부개월,승인번호,상태\n"
        '2025년 03월 20일,12:30,본인,스타벅스,"-12,000",일시불,1,승인취소\n'
        '2025년 03월 17일,12:30,본인,쿠팡,"-45,000",일시불,2,승인취소\n'
        '2025년 03월 03일,12:30,본인,전력공사,"7,000",일시불,4,정상\n합계,,,,"-50,000",,,\n'
    )

    found = read_bytes(tmp_path, text)

    assert found.amounts == ["12000.00", "45000.00", "-7000.00"]


def test_counts_of_each_account_or_day_are_compared_with_the_rows_beside_them(
    tmp_path: Path,
) -> None:
    head = "Date;Text;Amount\n"
    text = "03.03.2025;A;-5,00\n03.03.2025;B;-7,00\nTransactions;2;\n15.03.2025;C;20,00\nTransactions;{};\n"

    right, wrong = (read_bytes(tmp_path, head + text.format(count)) for count in (1, 9))

    assert right.flags == []
    assert wrong.flags == ["NOT_RECONCILED"]


@pytest.mark.parametrize("name", ["Due Date", "Statement Date", "Card expiry date"])
def test_a_date_of_another_thing_left_of_value_dates_is_not_that_of_the_booking(
    tmp_path: Path, name: str
) -> None:
    text = f"{name},Value Date,Text,Amount\n2025-03-20,2025-03-05,Shop A,-5.00\n2025-03-28,2025-03-16,Pay,20.00\n"

    assert read_bytes(tmp_path, text).dates == ["2025-03-05", "2025-03-16"]


@pytest.mark.parametrize(
    "text", ["PADARIA AMANHÃ\u00a0LTDA", "PULLAA JA LEIPÄ\u00a0OY", "Bar „LA VILLÄ“ Berlin"]
)
def test_a_capital_before_a_sign_is_not_mended(tmp_path: Path, text: str) -> None:
    table = "Datum;Text;Betrag;Saldo\n03.03.2025;{};-5,00;95,00\n14.03.2025;Lohn;-7,00;88,00\n"

    found = read_bytes(tmp_path, table.format(text))

    assert found.canonicals[0]["description"] == text.replace("\u00a0", " ")
    assert not found.flags
