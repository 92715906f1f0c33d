"""Tables in which something was lost, turned or added up wrongly without a word. Most laws have two layouts."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes


@pytest.mark.parametrize(
    "text",
    [
        "id,Type,Amount,Fee,Net,Currency,Created (UTC),Description\n"
        "1,charge,100.00,3.00,97.00,usd,2024-09-08 08:32,Payroll\n"
        "2,refund,-40.00,0.00,-40.00,usd,2024-09-14 09:57,Con Edison\n"
        "3,refund,-10.00,0.00,-10.00,usd,2024-09-20 09:57,Chewy\n",
        "Date,Type,Customer,Gross,Fees,Net\n"
        "2024-09-08,charge,Anna,100.00,3.00,97.00\n"
        "2024-09-14,refund,Ben,-40.00,0.00,-40.00\n"
        "2024-09-20,refund,Cara,-10.00,0.00,-10.00\n",
    ],
)
def test_refunds_of_a_seller_stay_money_out_where_no_payout_is_among_the_rows(
    tmp_path: Path, text: str
) -> None:
    read = read_bytes(tmp_path, text)

    assert read.amounts == ["97.00", "-40.00", "-10.00"]


def test_charges_and_refunds_alone_may_be_a_seller_s_or_a_buyer_s(tmp_path: Path) -> None:
    text = (
        "Date,Type,Who,Amount\n2024-09-08,charge,Anna,100.00\n"
        "2024-09-14,refund,Ben,-40.00\n2024-09-20,refund,Cara,-10.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts[0] == "100.00"
    assert "SIGN_UNPROVEN" in read.flags


@pytest.mark.parametrize(
    "text",
    [
        "Data operacji,Kwota,Saldo po transakcji,Opis transakcji,,,\n"
        "2024-06-18,+10.00,+110.00,Tytuł: 1,Sklep: Żabka,Miasto: Łódź,\n"
        "2024-06-17,-20.00,+100.00,Tytuł: 2,Sklep: Orlen,Miasto: Łódź,\n",
        "Date;Description;;Amount\n18/06/2024;Ref 1;Sklep: Żabka;10.00\n"
        "17/06/2024;Ref 2;Sklep: Orlen;-20.00\n",
    ],
)
def test_columns_without_a_name_continue_the_description_before_them(
    tmp_path: Path, text: str
) -> None:
    read = read_bytes(tmp_path, text)

    assert ["Żabka" in row["description"] for row in read.canonicals] == [True, False]
    assert "Orlen" in read.canonicals[1]["description"]


def test_of_two_columns_with_one_name_both_are_kept(tmp_path: Path) -> None:
    text = "Date,Description,Amount,Code,Code,\n2024-06-18,Rent,-10.00,abc,def,ghi\n2024-06-19,Pay,20.00,jkl,mno,pqr\n"

    details = read_bytes(tmp_path, text).canonicals[0]["details"]

    assert {"abc", "def", "ghi"} <= {*details.values()}


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("Date;Libellé;Débit;Crédit\n03/08/2024;A;;89,08\n14/08/2024;B;9,00;\nTotal;;9,00;89,08\n", False),
        ("Date;Libellé;Débit;Crédit\n03/08/2024;A;;89,08\n14/08/2024;B;9,00;\nTotal;;109,00;89,08\n", True),
        ("Date,Details,Money out,Money in\n2024-08-03,A,,5.00\n2024-08-04,B,9.00,\n,Total,9.00,5.00\n", False),
        ("Date,Details,Money out,Money in\n2024-08-03,A,,5.00\n2024-08-04,B,9.00,\n,Total,9.00,6.00\n", True),
    ],
)  # fmt: skip
def test_totals_of_both_sides_below_the_rows_are_compared(
    tmp_path: Path, text: str, is_wrong: bool
) -> None:
    read = read_bytes(tmp_path, text)

    assert len(read.amounts) == 2
    assert ("NOT_RECONCILED" in read.flags) == is_wrong


@pytest.mark.parametrize(
    "text",
    [
        "Date,Payee,Amount\n2024-08-07,Tesco,-€778.43\n2024-08-14,Pret,-£62.04\n2024-08-15,Rent,€1.00\n",
        "Date;Payee;Paid out;Paid in\n07/08/2024;Tesco;EUR 778.43;\n14/08/2024;Pret;GBP 62.04;\n"
        "15/08/2024;Pay;;EUR 1.00\n",
    ],
)
def test_each_row_has_the_currency_that_is_printed_beside_its_amount(
    tmp_path: Path, text: str
) -> None:
    read = read_bytes(tmp_path, text)

    assert [row["currency"] for row in read.canonicals] == ["EUR", "GBP", "EUR"]


@pytest.mark.parametrize(
    "text",
    [
        "Transaction date,Booking date,Kind,Payee,Amount\n2024-01-02,2024-01-02,Card,A,-1.00\n"
        "2024-01-03,2024-01-03,Card,B,-2.00\n2024-01-04,,PENDING ITEM,C,-3.00\n",
        "Tranzakció dátuma;Könyvelés dátuma;Megnevezés;Partner neve;Összeg\n"
        "2024-01-02;2024-01-02;Vásárlás;A;-1.00\n"
        "2024-01-03;2024-01-03;Vásárlás;B;-2.00\n2024-01-04;;FÜGGŐ TÉTEL;C;-3.00\n",
    ],
)
def test_a_row_without_a_booking_date_that_is_called_pending_is_not_booked(
    tmp_path: Path, text: str
) -> None:
    read = read_bytes(tmp_path, text)

    assert [bool(row.get("is_pending")) for row in read.canonicals] == [False, False, True]
    assert not read.flags


def test_a_row_without_a_booking_date_and_without_a_word_for_it_is_doubted(tmp_path: Path) -> None:
    text = (
        "Transaction date,Booking date,Kind,Payee,Amount\n2024-01-02,2024-01-02,Card,A,-1.00\n"
        "2024-01-03,2024-01-03,Card,B,-2.00\n2024-01-04,,Card,C,-3.00\n"
    )

    assert read_bytes(tmp_path, text).flags == ["DATE_UNPROVEN"]


@pytest.mark.parametrize(
    "text",
    [
        "Date,Description,Withdrawal,Deposit,Balance\n07/31/2022,Interest Paid,,1.00,2.00\n"
        "02/03/2022,Withdrawal,2.00,,3.00\n",
        "Date;Description;Debit;Credit;Balance\n31/07/2022;Interest Paid;;1,00;2,00\n"
        "03/02/2022;ATM withdrawal;2,00;;3,00\n",
    ],
)
def test_two_balances_that_only_a_debt_explains_prove_no_debt(tmp_path: Path, text: str) -> None:
    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, text).flags


@pytest.mark.parametrize(
    ("end", "is_cut"),
    [
        ("Waterstones", False),
        ("Watersto", True),
        ("Water\n", False),
        ("Waterstones Ltd", True),
        ("Mr Greggs", False),
        ("", True),
        ("\n", False),
    ],
)
def test_a_file_that_ends_with_another_word_than_all_rows_and_not_with_a_line_may_be_cut(
    tmp_path: Path, end: str, is_cut: bool
) -> None:
    text = f"Date,Amount,Payee\n2024-01-02,-1.00,Waterstones\n2024-01-13,-2.00,Greggs\n2024-01-14,-2.00,{end}"

    assert ("FILE_CUT" in read_bytes(tmp_path, text).flags) == is_cut


@pytest.mark.parametrize(
    ("end", "is_cut"), [("-3.5", True), ("-3.50", False), ("-3.505", False), ("-3.5\n", False)]
)
@pytest.mark.parametrize(("sign", "mark"), [(",", "."), (";", ",")])
def test_a_file_that_ends_inside_an_amount_may_be_cut(
    tmp_path: Path, end: str, is_cut: bool, sign: str, mark: str
) -> None:
    rows = ["Date|Payee|Amount", "2024-01-02|A|-1.00", "2024-01-13|B|-2.00", f"2024-01-14|C|{end}"]
    text = "\n".join(rows).replace(".", mark).replace("|", sign)

    assert ("FILE_CUT" in read_bytes(tmp_path, text).flags) == is_cut


def test_a_currency_or_a_kind_that_no_other_row_has_ends_a_file_as_a_line_does(
    tmp_path: Path,
) -> None:
    text = "Date,Payee,Amount,Currency\n2024-01-02,A,-1.00,EUR\n2024-01-13,B,-2.00,CHF\n2024-01-14,C,-3.50,USD"

    assert "FILE_CUT" not in read_bytes(tmp_path, text).flags


@pytest.mark.parametrize(
    "text",
    [
        "20121115,From,Acc,IC,Af,\"136,13\",Incasso,SEPA Incasso,Opm1\n"
        "20121112,Names,NL28,GT,Bij,\"375,00\",Opm2\n"
        "20091117,Names,NL28,GT,Af,\"257,50\",Opm3\n",
        "Date;Amount;Details\n15/11/2012;-136.13;Incasso; SEPA\n12/11/2012;375.00;Opm2\n"
        "17/11/2009;-257.50;Opm3\n",
    ],
)  # fmt: skip
def test_a_last_text_that_holds_the_delimiter_is_one_text(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-136.13", "375.00", "-257.50"]
    assert not read.flags
    assert "SEPA" in str(read.canonicals[0])
