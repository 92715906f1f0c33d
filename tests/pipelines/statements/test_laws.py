"""The laws of reading a table: no sign by chance, no row lost or invented, no letter guessed in silence."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import Read, read_bytes

QUIET = {"NOT_CHECKED"}


def loud(read: Read) -> list[str]:
    return [note for note in read.notes if note not in QUIET]


def rows(read: Read) -> list[tuple[str | None, str]]:
    return [(row["date"], row["amount"]) for row in read.canonicals if not row.get("is_pending")]


TAB = (
    "123\tEUR\t20240102\t1000,00\t950,00\t20240102\t-50,00\tALBERT HEIJN\n"
    "123\tEUR\t20240103\t950,00\t2950,00\t20240103\t2000,00\tSalaris\n"
    "123\tEUR\t20240103\t2950,00\t2925,01\t20240103\t-24,99\tKPN\n"
)


@pytest.mark.parametrize(
    ("count", "amounts"), [(3, ["-50.00", "2000.00", "-24.99"]), (1, ["-50.00"])]
)
def test_an_opening_balance_is_no_running_balance(
    tmp_path: Path, count: int, amounts: list[str]
) -> None:
    read = read_bytes(tmp_path, "".join(TAB.splitlines(keepends=True)[:count]))

    assert read.amounts == amounts
    assert loud(read) == []
    assert read.canonicals[0]["balance"] == "950.00"


def test_a_headed_opening_balance_is_none_either(tmp_path: Path) -> None:
    text = (
        "Date,Description,Opening balance,Amount,Closing balance\n2026-01-02,Shop,100.00,-20.00,80.00\n"
        "2026-01-03,Shop,80.00,-20.00,60.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-20.00", "-20.00"]
    assert loud(read) == []


CARDS = {
    "words of a payment": "Date,Description,Card Member,Amount\n2026-01-20,Delta Air,J S,320.00\n"
    "2026-01-25,ONLINE PAYMENT - THANK YOU,J S,-400.00\n",
    "a foreign word": "date,title,amount\n2026-01-20,Posto Shell,320.00\n2026-01-25,Pagamento recebido,-400.00\n",
    "a column of types": "Transaction Date,Description,Type,Amount (USD),Purchased By\n"
    "2026-01-20,Books,Purchase,320.00,J S\n2026-01-25,ACH DEPOSIT,Payment,-400.00,J S\n",
    "a category": "Trans. Date,Description,Amount,Category\n2026-01-20,KROGER,320.00,Supermarkets\n"
    "2026-01-25,INTERNET TRANSFER,-400.00,Payments and Credits\n",
    "headings beside a minus": "Status,Date,Description,Debit,Credit\nCleared,2026-01-20,COSTCO,320.00,\n"
    'Cleared,2026-01-25,"PAYMENT, THANK YOU",,-400.00\n',
    "titles without signs": "Payments and Credits\nDate,Description,Amount\n2026-01-25,AUTOPAY,400.00\nNew Charges\n"
    "Date,Description,Amount\n2026-01-20,GAS,320.00\n",
    "a debt that grows": "Date,Description,Amount,Balance\n2026-01-20,Shop,320.00,420.00\n"
    "2026-01-25,Payment received,-400.00,20.00\n",
}


@pytest.mark.parametrize("text", CARDS.values(), ids=CARDS)
def test_the_direction_of_a_card_comes_from_evidence(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert sorted(read.amounts) == ["-320.00", "400.00"]
    assert loud(read) == []


UNPROVEN = {
    "a card without a word": "Date,Description,Card Member,Amount\n2026-01-20,Delta,J S,320.00\n",
    "one row without a sign": "Date,Description,Amount\n2026-01-20,Delta,320.00\n",
    "mostly positive": "Date,Description,Amount\n"
    "2026-01-20,Delta,320.00\n2026-01-21,Ikea,20.00\n2026-01-22,Zoo,-1.00\n",
    "a lone word against": "Date,Description,Amount\n2026-01-20,Delta,320.00\n2026-01-22,Refund,-1.00\n",
    "a debt or a deposit": "Date,Description,Card No.,Amount,Balance\n"
    "2026-01-20,Zoo,1,5.00,15.00\n2026-01-21,Zoo,1,5.00,20.00\n",
}


@pytest.mark.parametrize("text", UNPROVEN.values(), ids=UNPROVEN)
def test_a_sign_that_nothing_proves_is_said(tmp_path: Path, text: str) -> None:
    assert loud(read_bytes(tmp_path, text)) == ["SIGN_UNPROVEN"]


@pytest.mark.parametrize(
    "text",
    [
        "Date,Description,Amount,Type\n2026-01-03,a,-10.00,DEBIT\n2026-01-04,b,-20.00,CREDIT\n",
        "Datum,Text,Betrag,Soll/Haben,Saldo\n2026-01-03,a,1.50,S,101.50\n2026-01-04,b,2.00,H,99.50\n",
        "Date,Text,Amount,Type\n2026-03-01,Lidl,-250.00,CREDIT\n2026-03-15,Mueller,500.00,DEBIT\n2026-03-16,Penny,-20.00,CREDIT\n",
    ],
)
def test_marks_that_contradict_signs_or_balances_are_said(tmp_path: Path, text: str) -> None:
    assert "SIGN_CONTRADICTED" in loud(read_bytes(tmp_path, text))


def test_a_word_that_goes_both_ways_flips_nothing(tmp_path: Path) -> None:
    text = (
        "1;Gutschrift Dauerauftrag;15.01.2026;22,00;EUR\n"
        "1;Telekom;16.01.2026;-9,05;EUR\n1;Strom;17.01.2026;-1,05;EUR\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["22.00", "-9.05", "-1.05"]
    assert loud(read) == []


def test_words_of_totals_count_only_as_the_whole_text_of_a_row(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount,Balance\n2026-01-01,Opening balance as of 01/01/2026,,100.00\n"
        "2026-01-02,TOTAL WINE AND MORE,-20.00,80.00\n2026-01-03,TRANSPORT FOR LONDON,-5.00,75.00\n"
        "2026-01-04,Report Publishing,-5.00,70.00\n2026-01-05,TOTAL,-10.00,60.00\n"
        "2026-01-31,Closing balance,60.00,60.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-20.00", "-5.00", "-5.00", "-10.00"]
    assert loud(read) == []


def test_a_lone_amount_below_the_rows_is_no_transaction(tmp_path: Path) -> None:
    rows = "Date,Description,Amount\n2026-01-01,a,-1.00\n2026-01-02,b,-2.00\n"
    summed, other = (read_bytes(tmp_path, f"{rows},,{total}\n") for total in ("-3.00", "-4.00"))

    assert summed.amounts == other.amounts == ["-1.00", "-2.00"]
    assert "ROW_UNREADABLE" in other.notes
    assert read_bytes(tmp_path, f"{rows[:-19]},b,-1.00\n").amounts == ["-1.00", "-1.00"]


def test_a_dated_amount_above_the_table_is_said(tmp_path: Path) -> None:
    text = "2026-01-01,Shop one,-5.00,x,y\nDate,Description,Amount\n2026-01-02,Shop two,-2.00\n2026-01-03,Pay,4.00\n"

    assert "ROW_UNREADABLE" in read_bytes(tmp_path, text).notes


def test_a_date_is_not_borrowed_where_another_stands_on_the_row(tmp_path: Path) -> None:
    text = (
        "Buchungstag;Valuta;Text;Betrag\n05.01.2026;05.01.2026;Laden;-1,00\n;07.01.2026;Strom;-2,00\n"
        "offen;08.01.2026;Kino;-3,00\n"
    )

    read = read_bytes(tmp_path, text)

    assert rows(read) == [("2026-01-05", "-1.00"), ("2026-01-07", "-2.00")]
    assert [bool(row.get("note")) for row in read.canonicals] == [False, True, True]


FEES = (
    "Type,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
    "TOPUP,2026-01-02 09:11:22,2026-01-02 09:11:25,Pay,500.00,0.00,EUR,COMPLETED,620.00\n"
    "ATM,2026-01-05 18:20:00,2026-01-06 02:00:00,Cash,-200.00,4.00,EUR,COMPLETED,416.00\n"
    "CARD,2026-01-07 10:00:00,,Uber,-11.00,0.00,EUR,REVERTED,\n"
)


def test_a_fee_on_top_becomes_a_row_and_what_was_reverted_is_not_booked(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, FEES)

    assert rows(read) == [
        ("2026-01-02", "500.00"),
        ("2026-01-06", "-200.00"),
        ("2026-01-06", "-4.00"),
    ]
    assert read.canonicals[3]["note"].startswith("not booked: REVERTED")
    assert read.canonicals[3]["is_pending"]
    assert loud(read) == []


def test_a_fee_that_is_contained_is_not_taken_twice_and_one_in_doubt_is_said(
    tmp_path: Path,
) -> None:
    head = "Date,Description,Amount,Total fees"
    contained = (
        f"{head},Running Balance\n2026-01-02,a,-10.00,1.00,90.00\n2026-01-03,b,-5.00,0.50,85.00\n"
    )

    assert read_bytes(tmp_path, contained).amounts == ["-10.00", "-5.00"]
    assert "FEE_UNPROVEN" in read_bytes(tmp_path, f"{head}\n2026-01-02,a,-10.00,1.00\n").notes


def test_what_failed_is_known_under_any_heading(tmp_path: Path) -> None:
    text = (
        "Дата операции;Статус;Сумма операции;Описание\n"
        "31.01.2026;OK;-450,00;Кафе\n30.01.2026;FAILED;-999,00;Связь\n"
    )

    read = read_bytes(tmp_path, text.encode("cp1251"))

    assert rows(read) == [("2026-01-31", "-450.00")]


@pytest.mark.parametrize(
    ("head", "row", "description"),
    [
        (
            "Date,Category,Payee,Description 1,Description 2,Amount",
            "2026-01-05,Food,,Interac,LOBLAWS,-1.00",
            "Interac LOBLAWS",
        ),
        ("Date,Type,Note,From,To,Amount", "2026-01-05,Payment,Pizza,Jo,Ann,-1.00", "Pizza"),
        (
            "Date,Vorgang,Buchungstext,Betrag",
            "05.01.2026,Lastschrift,Auftraggeber: Stadtwerke,-1.00",
            "Auftraggeber: Stadtwerke",
        ),
    ],
)
def test_a_type_or_category_never_replaces_what_is_said(
    tmp_path: Path, head: str, row: str, description: str
) -> None:
    assert read_bytes(tmp_path, f"{head}\n{row}\n").canonicals[0]["description"] == description


def test_of_payer_and_payee_the_other_one_is_the_counterparty(tmp_path: Path) -> None:
    text = (
        "Buchungsdatum;Zahlungspflichtige*r;Zahlungsempfänger*in;Verwendungszweck;Betrag\n"
        "31.01.2026;ISSUER;Telekom;Rechnung;-39,95\n30.01.2026;Arbeitgeber;Max Muster;Gehalt;1500,00\n"
        "29.01.2026;Max Muster;Edeka;Einkauf;-5,00\n"
    )

    found = [row["counterparty"] for row in read_bytes(tmp_path, text).canonicals]

    assert found == ["Telekom", "Arbeitgeber", "Edeka"]


ENCODED = {
    "cp932": "取引日,入出金(円),取引後残高(円),入出金内容\n"
    "20260105,-3500,96500,スーパー\n20260125,250000,346500,給与\n",
    "gbk": "交易日期,收入,支出,余额,交易备注\n20260105,,88.50,911.50,支付宝-美团\n20260110,8000.00,,8911.50,工资\n",
    "big5": '交易日期,摘要,支出金額,存入金額,帳戶餘額\n2026/01/05,跨行提款,"3,000",,"17,000"\n'
    '2026/01/10,薪資轉帳,,"45,000","62,000"\n',
    "cp852": "Datum;Popis;Částka;Zůstatek\n05.01.2026;Potraviny Žižkov;-1 250,50;8 749,50\n"
    "10.01.2026;Příchozí výplata;32 000,00;40 749,50\n",
    "cp1250": "Data operacji;Opis operacji;Kwota;Saldo po operacji\n"
    "2026-01-05;ŻABKA ŁÓDŹ;-15,99;84,01\n2026-01-10;Przelew przychodzący;5,00;89,01\n",
    "mac_roman": "Date;Libellé;Débit euros;Crédit euros\n"
    "30/01/2026;CARREFOUR été;52,30;\n28/01/2026;EMPLOYEUR de l'État;;1 850,00\n",
    "utf-16": "Date\tDescription\tAmount\n2026-01-05\tCafé Zoë\t-23.40\n2026-01-06\tSalary\t23.40\n",
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_the_encoding_is_found_by_letters_that_make_sense(tmp_path: Path, encoding: str) -> None:
    text = ENCODED[encoding]

    read = read_bytes(tmp_path, text.encode(encoding))

    assert [row["description"] in text for row in read.canonicals] == [True, True]
    assert loud(read) == []


def test_letters_that_make_sense_in_two_encodings_are_said(tmp_path: Path) -> None:
    text = "Date;Description;Amount\n05.01.2026;Ödeme şubesi ığ;-1,00\n06.01.2026;Salary;2,00\n"

    assert "ENCODING_UNPROVEN" in read_bytes(tmp_path, text.encode("cp1254")).notes


def test_a_lone_letter_of_the_west_is_no_doubt(tmp_path: Path) -> None:
    text = "Dato;Tekst;Beløb;Saldo\n03.01.2026;Netto København;-123,45;876,55\n31.01.2026;Løn;100,00;976,55\n"

    assert loud(read_bytes(tmp_path, text.encode("cp1252"))) == []


def test_unsigned_amounts_under_unknown_headings_are_said(tmp_path: Path) -> None:
    text = "Posted On,Merchant,Billed\n2026-01-15,Bakery Lane,4.50\n2026-01-16,Rail Co,32.00\n"

    assert loud(read_bytes(tmp_path, text)) == ["SIGN_UNPROVEN"]


@pytest.mark.parametrize(("printed", "code"), [("人民币", "CNY"), ("RMB", "CNY"), ("chf", "CHF")])
def test_a_currency_is_known_by_its_code_or_its_name(
    tmp_path: Path, printed: str, code: str
) -> None:
    text = f"Date;Text;Amount;Currency\n2026-01-15;a;-1,00;{printed}\n2026-01-16;b;2,00;{printed}\n"

    assert {row["currency"] for row in read_bytes(tmp_path, text).canonicals} == {code}
