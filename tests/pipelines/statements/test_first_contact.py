"""Laws that layouts of an eighth set and public files taught: each was broken in silence, or flagged for nothing."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.pdf.vocabulary import heading_role
from tests.pipelines.statements.pdf.judging import sheet
from tests.pipelines.statements.pdf.judging import write as put
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud, rows

Cells = list[tuple[float, str]]
HEADING: Cells = [
    (40.0, "Date"), (110.0, "Details"), (-350.0, "Money out"), (-430.0, "Money in"), (-520.0, "Balance"),
]  # fmt: skip
PERIOD: Cells = [(40.0, "Statement 01 Nov 2023 to 31 Dec 2023")]


def _row(day: str, text: str, out: str, after: str = "") -> Cells:
    return [(40.0, day), (110.0, text), (-350.0, out), (-520.0, after)]


def test_refunds_and_payouts_of_a_seller_stay_money_out(tmp_path: Path) -> None:
    text = (
        "id,Type,Amount,Fee,Net,Currency,Created (UTC),Description\n"
        "t1,refund,-77.64,0.00,-77.64,usd,2026-04-28 09:10,NETFLIX\n"
        "t2,payout,-169.29,0.00,-169.29,usd,2026-04-23 09:11,STRIPE PAYOUT\n"
        "t3,refund,-41.71,0.00,-41.71,usd,2026-04-16 09:12,BOOTS\n"
        "t4,charge,241.71,0.00,241.71,usd,2026-04-15 09:12,ACME\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-77.64", "-169.29", "-41.71", "241.71"]
    assert loud(read) == []


def test_the_account_of_a_payee_does_not_hide_its_name(tmp_path: Path) -> None:
    text = (
        '"Kuupäev","Saaja/maksja konto","Saaja/maksja nimi","Deebet/Kreedit (D/C)","Summa","Selgitus","Valuuta"\n'
        '"2024-02-20","EE382200221020140000","Rimi Eesti","D","-24.41","","EUR"\n'
        '"2024-02-21","EE382200221020140001","Acme UAB","C","639.81","REF 77","EUR"\n'
        '"2024-02-22","EE382200221020140002","Anna Saar","C","12.00","","EUR"\n'
    )

    read = read_bytes(tmp_path, text)

    assert [row["counterparty"] for row in read.canonicals] == [
        "Rimi Eesti",
        "Acme UAB",
        "Anna Saar",
    ]
    assert loud(read) == []  # the marks agree with the signs, so nothing is open


def test_a_fee_beside_two_columns_is_a_debit_of_its_own(tmp_path: Path) -> None:
    text = (
        "Date,Description,Money In,Money Out,Fee,Balance\n"
        "2026-01-17,WATER,,-1365.34,-1.50,633.16\n"
        "2026-01-18,SALARY,8354.67,,,8987.83\n"
        "2026-01-19,CAFE,,-72.67,,8915.16\n"
        "2026-01-20,BOOTS,,-10.00,-1.50,8903.66\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-1365.34", "-1.50", "8354.67", "-72.67", "-10.00", "-1.50"]
    assert loud(read) == []


def test_balances_below_a_table_may_hold_the_delimiter_in_their_figures(tmp_path: Path) -> None:
    text = (
        "Tanggal,Keterangan,Jumlah,,Saldo\n"
        '\'01/01/2026,GOJEK,"30,861.04",DB,"7,425,064.39"\n'
        '\'02/01/2026,GAJI,"4,528,431.15",CR,"11,953,495.54"\n'
        "Saldo Awal : 7,455,925.43\nMutasi Debet : 30,861.04\nMutasi Kredit : 4,528,431.15\n"
        "Saldo Akhir : 11,953,495.54\n"
    )

    read = read_bytes(tmp_path, text)

    assert loud(read) == []
    assert read.checks[0]["opening"] == "7455925.43"


def test_a_name_over_the_currency_names_the_amount_beside_it(tmp_path: Path) -> None:
    text = (
        "Datum,Valutadatum,Omschrijving,Mutatie,,Saldo,\n"
        '08-01-2026,08-01-2026,J SMITH,EUR,"1482,38",EUR,"13507,30"\n'
        '03-01-2026,05-01-2026,THAMES,USD,"-27,33",USD,"24,92"\n'
        '30-12-2025,30-12-2025,CAFE,EUR,"-9,10",EUR,"12024,92"\n'
    )

    read = read_bytes(tmp_path, text)

    assert rows(read) == [
        ("2026-01-08", "1482.38"),
        ("2026-01-03", "-27.33"),
        ("2025-12-30", "-9.10"),
    ]
    assert [row["currency"] for row in read.canonicals] == ["EUR", "USD", "EUR"]
    assert loud(read) == []


def test_a_heading_that_is_repeated_is_no_status(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount,Status\n2026-01-20,WATER,-13.00,Completed\n2026-01-19,CAFE,-2.00,Pending\n"
        "Date,Description,Amount,Status\n2026-01-18,SALARY,8.00,Completed\n"
    )

    assert "STATUS_UNKNOWN" not in loud(read_bytes(tmp_path, text))


def test_a_file_that_ends_inside_a_quote_is_cut_off(tmp_path: Path) -> None:
    text = 'Date, Amount, Balance, Description\n2025/06/13, -5.83, 142.79, "GREGGS"\n2025/06/12, -3.52, 148.62, "TE'

    for end in ("", ", Lon", ' ""Met'):
        assert "BROKEN_QUOTES" in loud(read_bytes(tmp_path, text + end))
    for end in ('"', ', Lon"', ' ""Met"""', ', ""Met"""'):
        assert "BROKEN_QUOTES" not in loud(read_bytes(tmp_path, text + end))


OFX = (
    "OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>USD<BANKTRANLIST>\n"
    "<STMTTRN><DTPOSTED>20130824<TRNAMT>-80.00<NAME>Agrolait</STMTTRN>\n{}"
)
OFX_END = "</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>\n"


def test_what_is_commented_out_of_ofx_is_not_read(tmp_path: Path) -> None:
    hidden = "<!-- <STMTTRN><DTPOSTED>20130825<TRNAMT>-90.00<NAME>China</STMTTRN>\n-->"

    read = read_bytes(tmp_path, OFX.format(hidden) + OFX_END)

    assert read.amounts == ["-80.00"]
    assert loud(read) == []


@pytest.mark.parametrize("opening", ["<!--", "<![CDATA["])
def test_many_openings_that_nothing_closes_are_read_once(tmp_path: Path, opening: str) -> None:
    hidden = f"<!-- -->{opening * 60_000}\n"  # by the square of their number, this takes more than the limit of a test

    read = read_bytes(tmp_path, OFX.format(hidden) + OFX_END)

    assert read.amounts == ["-80.00"]


def test_ofx_without_its_end_is_cut_off(tmp_path: Path) -> None:
    assert loud(read_bytes(tmp_path, OFX.format("") + OFX_END)) == []
    assert "FILE_CUT" in loud(read_bytes(tmp_path, OFX.format("<STM")))


def test_a_day_of_camt_may_carry_its_time_zone(tmp_path: Path) -> None:
    text = (
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt><Ntry>'
        '<Amt Ccy="EUR">5.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts>'
        "<BookgDt><Dt>2017-04-01+02:00</Dt></BookgDt></Ntry></Stmt></BkToCstmrStmt></Document>"
    )

    assert rows(read_bytes(tmp_path, text)) == [("2017-04-01", "-5.00")]


@pytest.mark.parametrize("name", ["TRANSPORT FOR LONDON 31/12 12.50", "TOTAL GAZ SRL 31/12 12.50"])
def test_a_name_below_its_row_is_kept_whatever_it_begins_with(tmp_path: Path, name: str) -> None:
    page = sheet(
        PERIOD,
        [(40.0, "Opening balance"), (-520.0, "100.00")],
        HEADING,
        _row("02 Nov 2023", "Card payment", "10.00", "90.00"),
        [(110.0, name)],
        _row("03 Nov 2023", "Card payment", "10.00", "80.00"),
        [(110.0, "LIDL")],
        [(110.0, "Closing balance"), (-520.0, "80.00")],
    )

    read = read_bytes(tmp_path, page.pdf())

    assert name.split()[0] in read.canonicals[0]["description"]
    assert loud(read) == []


@pytest.mark.parametrize(("carried", "is_torn"), [("80.00", False), ("70.50", True)])
def test_what_a_page_begins_with_is_what_the_page_before_carries(
    tmp_path: Path, carried: str, is_torn: bool
) -> None:
    paper = sheet(
        PERIOD,
        HEADING,
        [(110.0, "Brought forward"), (-520.0, "100.00")],
        _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
        _row("03 Nov 2023", "LIDL", "10.00", "80.00"),
        [(110.0, "Carried forward"), (-520.0, "80.00")],
    )
    paper.page()
    left = f"{float(carried) - 30:.2f}"
    lines = [
        HEADING,
        [(110.0, "Brought forward"), (-520.0, carried)],
        _row("24 Nov 2023", "TESCO", "20.00"),
        _row("25 Nov 2023", "SHELL", "10.00", left),
        [(110.0, "Closing balance"), (-520.0, left)],
    ]
    for at, cells in enumerate(lines):
        put(paper, 100 + at * 14, [cell for cell in cells if cell[1]])

    assert ("PAGE_MISSING" in loud(read_bytes(tmp_path, paper.pdf()))) is is_torn


def test_another_account_may_begin_in_the_middle_of_a_page(tmp_path: Path) -> None:
    page = sheet(
        PERIOD,
        [(40.0, "HKD Savings")],
        HEADING,
        [(110.0, "Brought forward"), (-520.0, "100.00")],
        _row("02 Nov 2023", "IKEA", "10.00"),
        _row("02 Nov 2023", "LIDL", "10.00", "80.00"),
        _row("03 Nov 2023", "BOOTS", "10.00", "70.00"),
        _row("04 Nov 2023", "BOOTS", "10.00", "60.00"),
        [(40.0, "Foreign Currency Savings")],
        HEADING,
        [(110.0, "Brought forward"), (-520.0, "70.50")],
        _row("24 Nov 2023", "TESCO", "20.00", "50.50"),
    )

    assert "PAGE_MISSING" not in loud(read_bytes(tmp_path, page.pdf()))


def test_times_and_other_currencies_below_a_row_belong_to_it(tmp_path: Path) -> None:
    page = sheet(
        PERIOD,
        [(40.0, "Opening balance"), (-520.0, "€100.00")],
        HEADING,
        _row("02 Nov 2023", "Payment to", "€10.00", "€90.00"),
        [(40.0, "14:20:59"), (110.0, "FLORIST")],
        [(110.0, "Rate €1.00 = $1.08"), (-350.0, "$10.80")],
        _row("03 Nov 2023", "Payment to", "€10.00", "€80.00"),
        [(110.0, "LIDL")],
        [(110.0, "Closing balance"), (-520.0, "€80.00")],
    )

    read = read_bytes(tmp_path, page.pdf())

    assert read.amounts == ["-10.00", "-10.00"]
    assert "FLORIST" in read.canonicals[0]["description"]
    assert loud(read) == []


def test_a_row_that_lost_its_date_between_rows_of_two_dates_is_flagged(tmp_path: Path) -> None:
    page = sheet(
        PERIOD,
        [(40.0, "Opening balance"), (-520.0, "100.00")],
        HEADING,
        _row("02 Nov 2023", "Card payment", "10.00", "90.00"),
        [(40.0, "03 Nov 2023"), (110.0, "IKEA")],
        _row("04 Nov 2023", "Card payment", "10.00", "80.00"),
        [(40.0, "05 Nov 2023"), (110.0, "LIDL")],
        [(110.0, "Card payment"), (-350.0, "20.00"), (-520.0, "60.00")],
        [(110.0, "BOOTS")],
        _row("09 Nov 2023", "Card payment", "10.00", "50.00"),
        [(40.0, "09 Nov 2023"), (110.0, "TESCO")],
        [(110.0, "Closing balance"), (-520.0, "50.00")],
        step=11,
    )

    read = read_bytes(tmp_path, page.pdf())

    assert "DATE_MISSING" in loud(read)
    assert read.amounts == ["-10.00", "-10.00", "-20.00", "-10.00"]


def test_a_credit_line_is_no_total_of_credits_and_totals_share_a_line(tmp_path: Path) -> None:
    page = sheet(
        PERIOD,
        [(40.0, "Total Credit Line 6,580.00")],
        [(40.0, "TOTAL PAID IN 5.00 TOTAL PAID OUT 30.00")],
        HEADING,
        _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
        [(40.0, "03 Nov 2023"), (110.0, "REFUND"), (-430.0, "5.00"), (-520.0, "95.00")],
        _row("04 Nov 2023", "LIDL", "20.00", "75.00"),
    )

    assert loud(read_bytes(tmp_path, page.pdf())) == []


def test_a_mark_below_an_amount_marks_it(tmp_path: Path) -> None:
    page = sheet(
        [(40.0, "Card statement"), (300.0, "Date 02/04/25")],
        [(40.0, "Previous balance"), (-300.0, "100.00")],
        [(40.0, "New balance"), (-300.0, "70.00")],
        [(40.0, "Minimum payment due"), (-300.0, "5.00")],
        [(40.0, "Date"), (110.0, "Description"), (-450.0, "Amount")],
        [(40.0, "Mar 3"), (110.0, "PAYMENT RECEIVED"), (-450.0, "50.00")],
        [(-450.0, "CR")],
        [(40.0, "Mar 19"), (110.0, "BOOTS"), (-450.0, "15.00")],
        [(40.0, "Apr 1"), (110.0, "TESCO"), (-450.0, "5.00")],
    )

    read = read_bytes(tmp_path, page.pdf())

    assert rows(read) == [
        ("2025-03-03", "50.00"),
        ("2025-03-19", "-15.00"),
        ("2025-04-01", "-5.00"),
    ]
    assert loud(read) == []


def test_a_value_in_a_currency_is_an_amount_and_later_bills_are_not_booked(tmp_path: Path) -> None:
    head: Cells = [(40.0, "DATA"), (110.0, "ESTABELECIMENTO"), (-450.0, "VALOR EM R$")]
    page = sheet(
        [(40.0, "Cartão 5234.XXXX.XXXX.1234")],
        [(40.0, "Vencimento: 09/05/2026")],
        [(40.0, "Total da fatura anterior"), (-300.0, "100,00")],
        [(40.0, "Total desta fatura"), (-300.0, "70,00")],
        [(40.0, "Pagamentos efetuados")],
        head,
        [(40.0, "02/04"), (110.0, "PAGAMENTO RECEBIDO"), (-450.0, "-50,00")],
        [(40.0, "Lançamentos: compras e saques")],
        head,
        [(40.0, "05/04"), (110.0, "ENEL SP 02/10"), (-450.0, "20,00")],
        [(40.0, "Compras parceladas - próximas faturas")],
        head,
        [(40.0, "05/04"), (110.0, "ENEL SP 03/10"), (-450.0, "20,00")],
    )

    read = read_bytes(tmp_path, page.pdf())

    assert rows(read) == [("2026-04-02", "50.00"), ("2026-04-05", "-20.00")]


def test_greek_letters_mark_debits_and_credits(tmp_path: Path) -> None:
    text = "Ημ/νία;Αιτιολογία;Ποσό;Χ/Π\n04/06/2025;δεη;10,00;Χ\n15/06/2025;μισθός;20,00;Π\n"  # noqa: RUF001 - Greek

    assert read_bytes(tmp_path, text).amounts == ["-10.00", "20.00"]
    assert heading_role("Χ/Π") == "mark"  # noqa: RUF001 - Greek


def test_pages_that_carry_their_balance_are_one_account(tmp_path: Path) -> None:
    paper = sheet(
        PERIOD,
        [(40.0, "New balance"), (-300.0, "57.00")],  # and not 50.00, with which the rows end
        HEADING,
        [(110.0, "Brought forward"), (-520.0, "100.00")],
        _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
        _row("03 Nov 2023", "LIDL", "10.00", "80.00"),
        [(110.0, "Carried forward"), (-520.0, "80.00")],
    )
    paper.page()
    lines = [
        HEADING,
        [(110.0, "Brought forward"), (-520.0, "80.00")],
        _row("24 Nov 2023", "TESCO", "20.00"),
        _row("25 Nov 2023", "SHELL", "10.00", "50.00"),
    ]
    for at, cells in enumerate(lines):
        put(paper, 100 + at * 14, [cell for cell in cells if cell[1]])

    read = read_bytes(tmp_path, paper.pdf())

    assert len(read.checks) == 1
    assert "NOT_RECONCILED" in loud(read)


@pytest.mark.parametrize(("opening", "is_whole"), [("90", True), ("95", False)])
def test_a_day_of_bai2_opens_with_what_the_day_before_closed_with(
    tmp_path: Path, opening: str, is_whole: bool
) -> None:
    closing = int(opening) - 10
    text = (
        "01,122099999,123456789,250402,0200,1,80,1,2/\n"
        "02,123456789,122099999,1,250307,2359,USD,2/\n"
        "03,0975,USD,010,100,,,015,90,,/\n16,455,10,Z,B1,,CAFE/\n49,200,3/\n98,200,1,5/\n"
        "02,123456789,122099999,1,250308,2359,USD,2/\n"
        f"03,0975,USD,010,{opening},,,015,{closing},,/\n16,455,10,Z,B2,,CAFE/\n"
        f"49,{int(opening) + closing + 10},3/\n98,200,1,5/\n99,400,2,12/\n"
    )

    assert ("CONTROL_DIFFERS" not in loud(read_bytes(tmp_path, text))) is is_whole


def test_pages_that_are_numbered_alone_show_a_missing_one(tmp_path: Path) -> None:
    codes = []
    for last in ("Page 2", "Page 4"):
        paper = sheet(
            [*PERIOD, (500.0, "Page 1")],
            HEADING,
            _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
            _row("03 Nov 2023", "LIDL", "10.00", "80.00"),
        )
        paper.page()
        lines = [
            [(500.0, last)],
            HEADING,
            _row("24 Nov 2023", "TESCO", "20.00", "60.00"),
            _row("25 Nov 2023", "SHELL", "10.00", "50.00"),
        ]
        for at, cells in enumerate(lines):
            put(paper, 100 + at * 14, cells)
        codes.append("PAGE_MISSING" in loud(read_bytes(tmp_path, paper.pdf())))

    assert codes == [False, True]


def test_a_shop_called_like_a_total_that_lost_its_amount_is_flagged(tmp_path: Path) -> None:
    text = (
        "dateOp;dateVal;label;supplierFound;amount;accountNum\n"
        "2023-12-27;2023-12-27;CARTE EDF;edf;-70,49;00040\n"
        "2023-12-26;2023-12-26;CARTE TOTAL ACCESS LILLE;total access lille;;00040\n"
        "2023-12-15;2023-12-26;CARTE PAUL;paul;-9,40;00040\n"
    )

    assert "ROW_UNREADABLE" in loud(read_bytes(tmp_path, text))


def test_a_name_with_a_day_below_its_row_is_no_balance_of_that_day(tmp_path: Path) -> None:
    page = sheet(
        PERIOD,
        [(40.0, "Opening balance"), (-520.0, "100.00")],
        HEADING,
        _row("02 Nov 2023", "Card payment", "10.00", "90.00"),
        [(110.0, "BALANCE BIKES LTD INV 2025/11/30 AMT 1,250.00")],
        _row("03 Nov 2023", "Card payment", "10.00", "80.00"),
        [(110.0, "LIDL")],
        [(110.0, "Closing balance"), (-520.0, "80.00")],
    )

    read = read_bytes(tmp_path, page.pdf())

    assert "BIKES" in read.canonicals[0]["description"]
    assert loud(read) == []


@pytest.mark.parametrize("sum_row", [",Total,15.00,100.00", ",Opening balance,50.00,"])
def test_a_total_without_a_sign_does_not_turn_the_debits_above_it(
    tmp_path: Path, sum_row: str
) -> None:
    text = (
        "Date,Description,Debit,Credit\n2024-01-02,TESCO,-12.00,\n2024-01-03,SALARY,,100.00\n"
        f"2024-01-04,BOOTS,-3.00,\n{sum_row}\n"
    )

    assert read_bytes(tmp_path, text).amounts == ["-12.00", "100.00", "-3.00"]


@pytest.mark.parametrize("kind", ["Payout", "Win"])
def test_a_payout_on_a_card_does_not_make_it_the_account_of_a_seller(
    tmp_path: Path, kind: str
) -> None:
    text = (
        "Date,Description,Category,Amount\n2024-01-02,TESCO,Groceries,12.00\n"
        "2024-01-03,PAYMENT RECEIVED - THANK YOU,Payment,-100.00\n2024-01-04,BOOTS PURCHASE,Shopping,3.00\n"
        f"2024-01-05,BETFAIR,{kind},-9.00\n2024-01-06,REFUND AMAZON,Refund,-3.00\n"
    )

    assert read_bytes(tmp_path, text).amounts == ["-12.00", "100.00", "-3.00", "9.00", "3.00"]


def test_a_page_that_names_the_next_one_does_not_hide_a_missing_page(tmp_path: Path) -> None:
    paper = sheet(
        [*PERIOD, (500.0, "Page 1 of 3")],
        HEADING,
        _row("02 Nov 2023", "IKEA", "10.00", "90.00"),
        [(40.0, "continued on page 2")],
    )
    paper.page()
    lines = [
        [(500.0, "Page 2 of 3")],
        HEADING,
        _row("24 Nov 2023", "TESCO", "20.00", "70.00"),
        [(40.0, "continued on page 3")],
    ]
    for at, cells in enumerate(lines):
        put(paper, 100 + at * 14, cells)

    assert "PAGE_MISSING" in loud(read_bytes(tmp_path, paper.pdf()))


def test_a_row_in_another_currency_with_its_own_balance_is_a_row(tmp_path: Path) -> None:
    heading: Cells = [(40.0, "Date"), (110.0, "Details"), (-400.0, "Amount"), (-520.0, "Balance")]
    page = sheet(
        PERIOD,
        heading,
        [(40.0, "02 Nov 2023"), (110.0, "TESCO"), (-400.0, "-£10.00"), (-520.0, "£90.00")],
        [(110.0, "AMAZON US"), (-400.0, "-$25.00"), (-520.0, "$75.00")],
        [(40.0, "03 Nov 2023"), (110.0, "LIDL"), (-400.0, "-£3.00"), (-520.0, "£87.00")],
        [(40.0, "04 Nov 2023"), (110.0, "LIDL"), (-400.0, "-£7.00"), (-520.0, "£80.00")],
    )

    assert read_bytes(tmp_path, page.pdf()).amounts == ["-10.00", "-25.00", "-3.00", "-7.00"]
