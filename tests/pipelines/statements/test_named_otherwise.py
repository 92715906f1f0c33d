"""Tables whose cells, labels or names are written in other ways than most banks do. Most laws have two layouts."""

from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.experiments.detection import detect as detect_dataset
from stateward.pipelines.statements.detection import detect
from tests.pipelines.statements.reading import read_bytes


@pytest.mark.parametrize(
    "text",
    [
        "Account,Created Date,Gross Debit (GC),Gross Credit (GC),Rate,Net Debit (NC),Net Credit (NC),Markup (NC)\n"
        "A,2024-04-07,,868.92,1,,858.49,1.00\nA,2024-04-13,638.16,,1,638.26,,\nA,2024-04-14,,,,9.00,,\n",
        "Bank of notes;\nBox 21;\n" + "Line;\n" * 20 + "#Data operacji;#Opis operacji;#Kwota;#Saldo po operacji;\n"
        "2024-04-07;A;-1,00;2,00;\n2024-04-08;B;-1,00;1,00;\n",
        "账单明细,,,,\n" + "注,,,,\n" * 15 + "交易时间,交易类型,收/支,金额(元),备注\n"
        "2019-09-26 12:45:27,消费,支出,¥28.16,/\n",
    ],
)  # fmt: skip
def test_a_statement_is_not_taken_for_research_data(tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.csv"
    path.write_text(text)
    content = Content(path=path, name=path.name, head=path.read_bytes())

    other = detect_dataset(content)

    assert detect(content).confidence >= (other.confidence if other else 0)


@pytest.mark.parametrize(
    "text",
    [
        "Date,Reference,Gross Debit (GC),Gross Credit (GC),Net Debit (NC),Net Credit (NC)\n"
        "2024-04-07,A,,868.92,,858.49\n2024-04-13,B,638.16,,638.26,\n2024-04-14,Payout,,,9.00,\n",
        "交易日期,摘要,交易金额(收入),交易金额(支出),记账金额(收入),记账金额(支出)\n"
        "2024-04-07,A,-,-,858.49,\n2024-04-13,B,-,-,,638.26\n2024-04-14,C,-,-,,9.00\n",
    ],
)
def test_of_two_pairs_of_sides_the_fuller_is_read(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert read.amounts == ["858.49", "-638.26", "-9.00"]
    assert not read.flags


def test_of_two_pairs_of_sides_that_differ_and_are_as_full_neither_is_proven(
    tmp_path: Path,
) -> None:
    text = (
        "Date,Payee,Debit (A),Credit (A),Debit (B),Credit (B)\n"
        "2024-04-07,A,,868.92,,858.49\n2024-04-13,B,638.16,,638.26,\n"
    )

    assert "AMOUNT_UNPROVEN" in read_bytes(tmp_path, text).flags


@pytest.mark.parametrize(
    "text",
    [
        "2,62012345678,'CHEQUE ACCOUNT','A NDLOVU'\n"
        "3,'Number','From Date','To Date','Opening Balance','Closing Balance'\n"
        "3,1,'01 December 2023','15 January 2024',100.00,63.00\n"
        "5,'Number','Date','Description1','Amount','Balance'\n"
        "5,1,'30 Dec','Engen, Cape Town',-10.00,90.00\n5,2,'02 Jan','Rent',-27.00,63.00\n6,'END'\n",
        "3,'Staatnommer','Vanaf Datum','Tot Datum'\n3,75,'1 Desember 2023','15 Januarie 2024'\n"
        "5,'Nommer','Datum','Beskrywing1','Bedrag','Saldo'\n5,1,'30 Des','Engen, Kaapstad',-10.00,90.00\n"
        "5,2,'02 Jan','Huur',-27.00,63.00\n6,'END'\n",
    ],
)
def test_the_year_is_that_of_the_period_below_its_labels_and_single_quotes_are_quotes(
    tmp_path: Path, text: str
) -> None:
    read = read_bytes(tmp_path, text)

    assert read.dates == ["2023-12-30", "2024-01-02"]
    assert "Engen, " in read.canonicals[0]["description"]
    assert not read.flags


@pytest.mark.parametrize(
    "text",
    [
        "From: 01/01/2024 to 30/11/2024\n\nDate: 21/08/2024\nDescription: CARD, Water\n"
        "Amount: -199.60 \nBalance: 2073.95\n\n"
        "Date: 02/08/2024\nDescription: Acme\nAmount: 735.94\nBalance: 2273.55\n",
        "Buchungstag: 21.08.2024\nVerwendungszweck: Wasser\nund Strom\nBetrag: -199,60\n\n"
        "Buchungstag: 02.08.2024\nVerwendungszweck: Gehalt\nBetrag: 735,94\n",
    ],
)
def test_blocks_of_labelled_lines_are_rows(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-199.60", "735.94"]
    assert read.dates == ["2024-08-21", "2024-08-02"]
    assert len(str(read.canonicals[0]["description"])) > len("Wasser")


@pytest.mark.parametrize(
    ("heading", "letters"),
    [("CARGO/ABONO", "CAC"), ("Debe / Haber", "DHD"), ("Soll/Haben", "SHSS")],
)
def test_letters_below_two_words_are_their_initials(
    tmp_path: Path, heading: str, letters: str
) -> None:
    rows = "".join(f"{day}/09/2024;P{day};{day}0,50;{c}\n" for day, c in enumerate(letters, 13))

    read = read_bytes(tmp_path, f"Fecha;Concepto;Importe;{heading}\n{rows}")

    assert read.amounts[:3] == ["-130.50", "140.50", "-150.50"]


@pytest.mark.parametrize(
    "text",
    [
        "Fecha;Descripción;Cargos $;Abonos $;Saldo $\n15-02-2024;A;36.317;;264.720\n"
        "13-02-2024;B;;24.642;301.037\n",
        "Fecha;Concepto;Importe;Saldo\n15-02-2024;A;-$36.317;$264.720\n13-02-2024;B;$24.642;$301.037\n",
    ],
)
def test_pesos_have_no_three_decimals(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert [amount.partition(".")[0] for amount in read.amounts] == ["-36317", "24642"]
    assert "AMBIGUOUS_AMOUNTS" not in read.flags


@pytest.mark.parametrize(
    ("amount", "total"), [("-325.91", "-326.91"), ("-326.91", "-326.91"), ("-300.00", "")]
)
def test_number_and_price_tell_whether_an_amount_contains_its_fee(
    tmp_path: Path, amount: str, total: str
) -> None:
    text = (
        "date,type,name,shares,price,amount,fee\n2024-05-06,TRANSFER,Pay,,,573.76,\n"
        f"2024-05-18,BUY,Shares,2.0,162.955,{amount},-1.00\n2024-05-23,CARD,Rent,,,-60.82,\n"
    )

    read = read_bytes(tmp_path, text)

    assert ("FEE_UNPROVEN" in read.flags) == (total == "")
    if total:
        bought = [row["amount"] for row in read.canonicals if row["date"] == "2024-05-18"]
        assert f"{sum(map(float, bought)):.2f}" == total


@pytest.mark.parametrize(
    "text",
    [
        "日付,お引出金額,お預入金額,お取引内容,残高\n2024.04.02,,\"28,380 円\",給与,\"392,980 円\"\n"
        "2024.04.11,\"44,673 円\",,セブン,\"348,307 円\"\n",
        "Data inregistrare;Suma debit;Suma credit;Descrierea tranzactiei\n02.04.2024;;28380;Salariu\n"
        "11.04.2024;44673;;Chirie\n",
    ],
)  # fmt: skip
def test_sides_are_known_by_the_words_of_their_names(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert [amount.partition(".")[0] for amount in read.amounts] == ["28380", "-44673"]
    assert not read.flags


@pytest.mark.parametrize(
    "names",
    [
        "Дата совершения операции;Дата обработки операции;Описание;Сумма",
        "Transaction date;Transaction posting date;Description;Amount",
    ],
)
def test_the_date_on_which_a_transaction_is_booked_is_its_booking(
    tmp_path: Path, names: str
) -> None:
    text = f"{names}\n13.07.2024;14.07.2024;A;-1,00\n15.07.2024;17.07.2024;B;-2,00\n"

    read = read_bytes(tmp_path, text)

    assert read.dates == ["2024-07-14", "2024-07-17"]
    assert not read.flags


def test_names_below_an_unknown_heading_are_the_other_side_where_the_known_one_is_the_holder(
    tmp_path: Path,
) -> None:
    rows = [
        ("03.03.2025", "-54,12", "VIRTANEN MIKA", "PRISMA KALEVA", "-"),
        ("04.03.2025", "-712,00", "VIRTANEN MIKA", "TOAS SR", "-"),
        ("05.03.2025", "-34,90", "VIRTANEN MIKA", "ELISA OYJ", "lasku 4"),
        ("07.03.2025", "250,00", "LAINE SANNA", "VIRTANEN MIKA", "-"),
        ("17.03.2025", "-12,60", "VIRTANEN MIKA", "VR YHTYMA", "-"),
    ]
    text = "Kirjauspäivä;Summa;Maksaja;Saajan nimi;Viesti\n"
    text += "".join(";".join(row) + "\n" for row in rows)

    found = read_bytes(tmp_path, text)

    assert [row["counterparty"] for row in found.canonicals] == [
        "PRISMA KALEVA", "TOAS SR", "ELISA OYJ", "LAINE SANNA", "VR YHTYMA",
    ]  # fmt: skip
    assert found.canonicals[1]["description"] == "TOAS SR"
    assert found.canonicals[2]["description"] == "lasku 4"


@pytest.mark.parametrize("payee", ["", "PayPal Europe"])
def test_words_below_an_unknown_heading_are_not_the_other_side_where_the_holder_never_stands_there(
    tmp_path: Path, payee: str
) -> None:
    places = ("SEATTLE WA", "PORTLAND OR", "SAN JOSE CA", "NEW YORK NY", "SALT LAKE CITY UT")
    rows = [
        f"2026-01-0{day},POS PURCHASE {day},{place},{payee},-1{day}.00\n"
        for day, place in enumerate(places, 1)
    ]

    found = read_bytes(tmp_path, "Date,Description,Where,Payee,Amount\n" + "".join(rows))

    assert [row.get("counterparty", "") for row in found.canonicals] == [payee] * 5
    assert found.canonicals[0]["description"] == "POS PURCHASE 1"
