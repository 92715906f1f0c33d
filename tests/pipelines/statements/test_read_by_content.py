# ruff: noqa: RUF001 - letters of other scripts
"""Tables and pages that are read by what their columns hold: wrong in silence, refused or flagged before."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.experiments.detection import detect as research
from stateward.pipelines.kit import money
from stateward.pipelines.statements.detection import LIKELY, UNLIKELY, detect
from tests.pipelines.statements.pdf.judging import sheet
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud

JOURNAL = (
    "Umsatz;Soll/Haben-Kennzeichen;Konto;Gegenkonto;Belegdatum;Buchungstext\n"
    "1190,00;S;1200;10000;04.01.2024;Müller GmbH Zahlung\n"
    "59,50;H;1200;4930;08.01.2024;Büromarkt\n"
    "800,00;H;1200;4210;15.01.2024;Miete Januar\n"
)


def test_debits_and_credits_of_books_are_not_those_of_a_bank(tmp_path: Path) -> None:
    assert loud(read_bytes(tmp_path, JOURNAL)) == ["SIGN_UNPROVEN"]
    of_bank = JOURNAL.replace(";10000;", ";DE02120300000000202051;")
    assert loud(read_bytes(tmp_path, of_bank)) == []


def test_numbers_of_accounts_and_banks_are_no_chart_of_accounts(tmp_path: Path) -> None:
    text = (
        "Buchungstag;Verwendungszweck;Gegenkonto;BLZ;Betrag;S/H\n"
        "03.03.2025;Miete;1234567;37050198;850,00;S\n"
        "04.03.2025;Gehalt;7654321;37050198;2500,00;H\n"
        "05.03.2025;Strom;2345678;10050000;45,20;S\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-850.00", "2500.00", "-45.20"]
    assert loud(read) == []


def test_balances_and_words_show_that_debits_are_money_in(tmp_path: Path) -> None:
    text = (
        "Date,Description,Debit,Credit,Balance\n"
        "2026-02-01,RENT MAIN STREET,,1213.68,1583.31\n"
        "2026-02-05,PURCHASE CHEMIST,,23.85,1559.46\n"
        "2026-02-10,SALARY ACME,2279.85,,3839.31\n"
        "2026-02-12,TAX REFUND,395.92,,4235.23\n"
        "2026-02-14,PURCHASE GROCER,,35.23,4200.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-1213.68", "-23.85", "2279.85", "395.92", "-35.23"]
    assert loud(read) == []


@pytest.mark.parametrize(
    "row",
    [
        ";;CARD 31/12 TOTAL ENERGIES;total energies;-80,65",
        "2024-01-05;2024-01-05;TOTAL ENERGIES 44",
    ],
)
def test_a_shop_that_is_called_like_a_total_does_not_disappear(tmp_path: Path, row: str) -> None:
    text = (
        "Date;Value date;Description;Merchant;Amount\n"
        "2024-01-03;2024-01-03;CARD CITY;city;-45,56\n"
        f"{row}\n"
        "2024-01-02;2024-01-02;CARD RAIL;rail;-12,00\n"
    )

    assert loud(read_bytes(tmp_path, text))


def test_a_line_that_counts_the_rows_is_no_row_that_lost_its_end(tmp_path: Path) -> None:
    text = (
        "5,Number,Date,Description,Amount,Balance\n"
        "5,1,2026-09-01,PAYMENT FROM NAIDOO,466.27,22551.89\n"
        "5,2,2026-09-03,POS PURCHASE ESKOM,-889.53,21662.36\n"
        "6,END,2\n"
    )

    assert loud(read_bytes(tmp_path, text)) == []


def test_a_row_that_lost_its_date_and_its_end_is_told(tmp_path: Path) -> None:
    text = (
        "Date,Details,Out,In,Memo,More\n"
        "2025/03/01,Salary,,250000,,\n"
        "2025/03/02,Rent,90000,,,\n"
        ",Fee,500\n"
        "2025/03/03,Power,8000,,,\n"
    )

    assert "ROW_RAGGED" in loud(read_bytes(tmp_path, text))


def test_a_balance_that_is_printed_once_is_compared(tmp_path: Path) -> None:
    text = (
        "Opening balance;;;1.000,00\n"
        "Datum;Text;Betrag;Saldo\n"
        "03.03.2025;Miete;-850,00;\n"
        "03.03.2025;Gehalt;2.500,00;\n"
        "03.03.2025;Strom;-80,00;2.570,00\n"
    )

    assert loud(read_bytes(tmp_path, text)) == []
    assert "NOT_RECONCILED" in loud(read_bytes(tmp_path, text.replace("2.570", "2.770")))


def test_texts_with_line_ends_of_their_own_stay_in_their_cells(tmp_path: Path) -> None:
    text = (
        "Date;Libellé;Débit euros;Crédit euros;\r\n"
        "01/07/2025;PAIEMENT PAR CARTE\nTRANSPORTS LYON\n;178,77;;\r\n"
        "30/06/2025;VIREMENT EN VOTRE FAVEUR\nSALAIRE DUPONT\n;;1 500,00;\r\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-178.77", "1500.00"]
    assert "TRANSPORTS LYON" in read.canonicals[0]["description"]
    assert [row["place"]["line"] for row in read.canonicals] == [2, 5]
    assert loud(read) == []


def test_notes_with_other_line_ends_stay_above_the_headings(tmp_path: Path) -> None:
    text = (
        "Consulta de movimientos\nCuenta;52585877593;UYU\nDesde;01/01/2026;Hasta;28/01/2026\n"
        "Fecha;Descripción;Débito;Crédito\r\n"
        "13/01/2026;RENFE;50,54;\r\n"
        "14/01/2026;NOMINA;;100,00\r\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-50.54", "100.00"]
    assert loud(read) == []


def test_columns_may_have_decimal_signs_of_their_own(tmp_path: Path) -> None:
    text = (
        "dateOp;label;amount;accountbalance\n"
        "2024-03-16;CARTE FREE;-115,00;5004.47\n"
        "2024-03-11;CARTE EDF;-109,83;5119.47\n"
        "2024-03-10;VIR SALAIRE;2 274,63;5229.30\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-115.00", "-109.83", "2274.63"]
    assert [row["balance"] for row in read.canonicals] == ["5004.47", "5119.47", "5229.30"]
    assert loud(read) == []


PASSBOOK = [("8-03-05", "スイカ", "3,945", "82,154"), ("8-03-08", "電力", "2,073", "80,081"),
            ("8-03-11", "家賃", "60,081", "20,000")]  # fmt: skip


def _passbook(*, title: str, rows: Sequence[tuple[str, ...]] = PASSBOOK) -> bytes:
    return sheet(
        [(40.0, title)],
        [(40.0, "年月日"), (110.0, "お取引内容"), (-350.0, "お支払金額"), (-520.0, "差引残高")],
        *[[(40.0, a), (110.0, b), (-350.0, c), (-520.0, f"*{d}")] for a, b, c, d in rows],
    ).pdf()


def test_years_of_an_emperor_stand_first_and_asterisks_guard_a_balance(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, _passbook(title="普通預金 令和8年"))

    assert read.dates == ["2026-03-05", "2026-03-08", "2026-03-11"]
    assert [money.amount(text) for text in read.amounts] == [-3945, -2073, -60081]
    assert loud(read) == []


def test_western_years_on_a_page_that_names_the_era_stay_western(tmp_path: Path) -> None:
    rows = [(f"2{day}", *others) for day, *others in PASSBOOK]

    read = read_bytes(tmp_path, _passbook(title="普通預金 令和8年", rows=rows))

    assert read.dates == ["2028-03-05", "2028-03-08", "2028-03-11"]


def test_amounts_below_a_thousand_show_that_a_sign_separates_thousands(tmp_path: Path) -> None:
    rows = [("01/07", "METRO", "8.565", "91.435"), ("05/07", "ENEL", "651", "90.784")]
    lines = [
        [(40.0, "CARTOLA DESDE 01/07/2026 HASTA 28/07/2026")],
        [(40.0, "FECHA"), (110.0, "DETALLE"), (-350.0, "CARGOS"), (-430.0, "ABONOS"), (-520.0, "SALDO")],
        [(110.0, "SALDO INICIAL"), (-520.0, "100.000")],
        *[[(40.0, a), (110.0, b), (-350.0, c), (-520.0, d)] for a, b, c, d in rows],
    ]  # fmt: skip

    read = read_bytes(tmp_path, sheet(*lines).pdf())

    assert [money.amount(text) for text in read.amounts] == [-8565, -651]
    assert loud(read) == []


def _confidence(path: Path, data: bytes) -> int:
    path.write_bytes(data)
    return detect(Content.of(path, name=path.name)).confidence


def test_pages_of_dated_whole_amounts_are_a_statement(tmp_path: Path) -> None:
    dated = [[(40.0, f"0{day}/07/2026"), (110.0, "some words that say what all this was"), (-350.0, f"{day}.565"),
              (-520.0, f"2.{day}62.659")] for day in range(1, 9)]  # fmt: skip
    undated = [[(40.0, "Lima"), *row[1:]] for row in dated]

    assert _confidence(tmp_path / "a.pdf", sheet(*dated).pdf()) > UNLIKELY
    assert _confidence(tmp_path / "b.pdf", sheet(*undated).pdf()) == UNLIKELY


@pytest.mark.parametrize(
    ("texts", "is_row"),
    [
        (("13/03/2026", "Tesco Stores", "-12.30"), True),
        (("13 Mar 2026", "Salary ACME", "2,412.30 CR"), True),
        (("13.03.2026  Miete  -812,30",), True),
        (("Letter of 13.03.2026", "about our meeting", "at 12.30"), False),
        (("Invoice", "13/03/2026 consulting, with VAT 20", "12.30"), False),
    ],
)
def test_a_page_of_one_row_without_a_heading_may_be_a_statement(
    tmp_path: Path, texts: tuple[str, ...], is_row: bool
) -> None:
    row = [(40.0 + 150 * at, text) for at, text in enumerate(texts)]

    assert (_confidence(tmp_path / "a.pdf", sheet(row).pdf()) > UNLIKELY) is is_row


def test_units_in_headings_do_not_hide_what_a_column_is(tmp_path: Path) -> None:
    text = "booking_date;purpose;amount_in_cents;currency\n20260905;Bahn;-11452;EUR\n"

    assert _confidence(tmp_path / "a.csv", text.encode()) > UNLIKELY


def test_a_column_that_runs_on_by_the_amounts_has_the_balances(tmp_path: Path) -> None:
    text = (
        "Dátum zaúčtovania;Suma;Mena;Xyzvw na abcde;Popis transakcie\n"
        "23.02.2026;-15729,07;EUR;38662,48;Nájem\n"
        "22.02.2026;-637,28;EUR;54391,55;Dráhy\n"
        "21.02.2026;1000,00;EUR;55028,83;Mzda\n"
    )

    read = read_bytes(tmp_path, text)

    assert [row["balance"] for row in read.canonicals] == ["38662.48", "54391.55", "55028.83"]
    assert loud(read) == []
    wrong = read_bytes(tmp_path, text.replace("54391,55", "54391,56"))
    assert not any("balance" in row for row in wrong.canonicals)


def test_values_below_their_labels_at_the_end_are_totals(tmp_path: Path) -> None:
    text = (
        "Fecha,Referencia,Descripción,Débito,Crédito,Saldo\n"
        "13/01/2026,1,RENFE,50.54,0.00,149.46\n"
        "14/01/2026,2,NOMINA,0.00,100.00,249.46\n"
        "\nCantidad Débitos,Total Débitos,Cantidad Créditos,Total Créditos\n1,50.54,1,100.00\n"
    )

    assert loud(read_bytes(tmp_path, text)) == []
    assert "NOT_RECONCILED" in loud(read_bytes(tmp_path, text.replace("1,50.54", "1,51.54")))


COLUMNS = [
    (40.0, "Date"), (110.0, "Details"), (-350.0, "Money out"), (-430.0, "Money in"), (-520.0, "Balance"),
]  # fmt: skip
BOOKED = [("Jun 01", "RENT", "20.00", "", "80.00"), ("Jun 02", "SHOP", "5.50", "", "74.50"),
          ("Jun 08", "SALARY", "", "40.00", "114.50"), ("Jun 09", "REFUND", "", "1.25", "115.75")]  # fmt: skip


def _page(title: str, *below: tuple[str, str, str]) -> bytes:
    return sheet(
        [(40.0, title)],
        COLUMNS,
        *[[(40.0, a), (110.0, b), (-350.0, c), (-430.0, d), (-520.0, e)] for a, b, c, d, e in BOOKED],
        *[[(110.0, a), (-350.0, b), (-430.0, c)] for a, b, c in below],
    ).pdf()  # fmt: skip


@pytest.mark.parametrize(
    "title",
    ["Statement Period: June 01 - 28, 2026", "Your statement 1 to 28 June 2026", "1 - 28 de junio de 2026"],
)  # fmt: skip
def test_a_period_within_a_month_names_it_once(tmp_path: Path, title: str) -> None:
    read = read_bytes(tmp_path, _page(title))

    assert read.dates == ["2026-06-01", "2026-06-02", "2026-06-08", "2026-06-09"]
    assert loud(read) == []


@pytest.mark.parametrize("label", ["Page Total", "Grand Total", "Sheet aggregate"])
def test_a_line_with_the_sums_of_both_columns_is_no_row(tmp_path: Path, label: str) -> None:
    period = "Statement from 1 June 2026 to 28 June 2026"

    assert loud(read_bytes(tmp_path, _page(period, (label, "25.50", "41.25")))) == []
    assert loud(read_bytes(tmp_path, _page(period, (label, "26.50", "41.25"))))


def test_headings_that_are_known_show_the_encoding(tmp_path: Path) -> None:
    text = (
        "ΗΜΕΡΟΜΗΝΙΑ;ΠΕΡΙΓΡΑΦΗ;ΧΡΕΩΣΗ;ΠΙΣΤΩΣΗ;ΥΠΟΛΟΙΠΟ\n"
        "14/01/2026;ΔΕΗ ΛΟΓΑΡΙΑΣΜΟΣ;162.10;;3320.30\n"
        "15/01/2026;ΕΝΟΙΚΙΟ ΠΑΠΠΑΣ;587.34;;2732.96\n"
        "16/01/2026;ΜΙΣΘΟΔΟΣΙΑ;;1000.00;3732.96\n"
    )

    read = read_bytes(tmp_path, text.encode("cp1253"))

    assert read.canonicals[0]["description"] == "ΔΕΗ ΛΟΓΑΡΙΑΣΜΟΣ"
    assert loud(read) == []


def test_the_dates_of_a_sentence_are_no_period(tmp_path: Path) -> None:
    prose = (
        "A monthly service fee has been charged based on your average Total Relationship Balance of $11,559.24 "
        "from 1 Sep 2024 to 30 Nov 2024."
    )
    rows = [
        [(40.0, a), (110.0, b), (-350.0, c), (-430.0, d), (-520.0, e)] for a, b, c, d, e in BOOKED
    ]

    read = read_bytes(
        tmp_path, sheet([(40.0, "30/06/2026")], [(40.0, prose)], COLUMNS, *rows).pdf()
    )

    assert read.dates == ["2026-06-01", "2026-06-02", "2026-06-08", "2026-06-09"]
    assert loud(read) == []


def test_rows_outside_of_the_period_that_gave_them_their_year_are_flagged(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, _page("Period 1 July 2026 to 31 July 2026"))

    assert "DATE_UNPROVEN" in loud(read)


def test_an_amount_with_its_currency_and_text_is_no_research_data(tmp_path: Path) -> None:
    text = "datetime,shares,price,amount,fee,currency,fx_rate,description\n2024-03-02,2,136.21,-272.42,1,EUR,1.1,ACME\n"

    assert _confidence(tmp_path / "a.csv", text.encode()) == LIKELY
    assert _confidence(tmp_path / "b.csv", text.replace("currency", "weight").encode()) < LIKELY


@pytest.mark.parametrize(
    ("text", "is_account"),
    [
        ("Date,Description,Amount,Exchange rate\n" + "2025-03-01,Hotel,-120.50,1.08537\n" * 5, True),
        ("Date,Type,Amount,Balance\n" + "2025-03-01,ATM,20.00,980.00\n" * 5, True),
        ("Date,Site,Reading,Share\n" + "2025-03-01,Meadow,120.50,1.08537\n" * 5, False),
        ("Order ID,Order Date,SKU,Description,Quantity,Amount\n" + "7,2025-03-01,A-1,Mug,2,19.98\n" * 5, False),
    ],
)  # fmt: skip
def test_rates_beside_named_amounts_are_no_research_data(
    tmp_path: Path, text: str, *, is_account: bool
) -> None:
    own = _confidence(tmp_path / "a.csv", text.encode())
    other = research(Content.of(tmp_path / "a.csv"))

    assert other is not None
    assert (own >= other.confidence) is is_account
