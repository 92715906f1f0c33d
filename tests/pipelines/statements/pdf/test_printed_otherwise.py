"""Statements that print years, texts, totals and what is due in other places than most. Drawn by hand, line by line."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.judging import sheet
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]
HEADING: Line = [(40, "Date"), (100, "Description"), (-400, "Debit"), (-480, "Credit"), (-560, "Balance")]  # fmt: skip


def read_lines(folder: Path, *lines: Line) -> Read:
    return read_bytes(folder, sheet(*lines).pdf())


def booked(day: str, text: str, debit: str, credit: str, balance: str) -> Line:
    cells = [(40, day), (100, text), (-400, debit), (-480, credit), (-560, balance)]
    return [(x, text) for x, text in cells if text]


@pytest.mark.parametrize(
    ("above", "days"),
    [
        ([(40, "Statement 12 (Page 1 of 1) Account 06 2000 12345678 Statement Period 30 Nov 2024 - 29 Jan 2025")],
         ("30 Dec", "02 Jan")),
        ([(40, "NO. REKENING : 1234567890 PERIODE : DESEMBER 2024 MATA UANG : IDR")], ("30/12", "31/12")),
        ([(40, "Date du relevé : Jour 17 Mois 1 Année 2025")], ("30 12", "02 01")),
        ([(40, "Kontoutdrag"), (200, "Period 20241201-20241231")], ("12-30", "12-31")),
        ([(40, "EXTRATO MENSAL - CONTA CORRENTE"), (300, "DEZEMBRO/2024")], ("30/12", "31/12")),
        ([(40, "Extracto de diciembre de 2024")], ("30/12", "31/12")),
    ],
)  # fmt: skip
def test_the_year_is_that_of_the_period_however_it_is_printed(
    tmp_path: Path, above: Line, days: tuple[str, str]
) -> None:
    read = read_lines(
        tmp_path,
        above,
        HEADING,
        booked("", "Opening balance", "", "", "100.00"),
        booked(days[0], "Boulangerie Paul", "10.00", "", "90.00"),
        booked(days[1], "Acme Payroll", "", "20.00", "110.00"),
        booked(days[1], "Water", "5.00", "", "105.00"),
    )

    assert str(read.dates[0]).startswith("2024-12")
    assert read.amounts == ["-10.00", "20.00", "-5.00"]


def test_days_that_are_two_numbers_in_two_columns_take_no_word_of_the_text(tmp_path: Path) -> None:
    heading: Line = [
        (40, "Date de transaction"),
        (130, "Date d'inscription"),
        (210, "Description"),
        (-540, "Montant"),
    ]
    rows: list[Line] = [
        [(40, "20"), (58, "11"), (130, "21"), (148, "11"), (210, f"{name} MONTREAL QC"), (-540, amount)]
        for name, amount in (("EDF CLIENTS", "112,09"), ("PAUL", "361,89"), ("LOYER", "48,78"))
    ]  # fmt: skip

    read = read_lines(
        tmp_path,
        [(40, "VISA Date du relevé : Jour 17 Mois 12 Année 2024")],
        [(40, "Solde précédent"), (-300, "0,00")],
        [(40, "Nouveau solde"), (-300, "522,76")],
        heading,
        *rows,
    )

    texts = [row["description"] for row in read.canonicals]
    assert [text.split()[0] for text in texts] == ["EDF", "PAUL", "LOYER"]
    assert {str(day) for day in read.dates} <= {"2024-11-20", "2024-11-21"}


@pytest.mark.parametrize("kind", ["transaktion", ""])
def test_a_year_below_the_date_of_its_row_is_its_year(tmp_path: Path, kind: str) -> None:
    heading: Line = [(40, "Datum"), (90, "Typ"), (165, "Beschreibung"), (-400, "Belastung")]
    heading += [(-470, "Gutschrift"), (-550, "Saldo")]
    lines: list[Line] = []
    for day, text, out, come, after in (
        ("30 Dez.", "Miete", "10,00", "", "90,00"),
        ("31 Dez.", "Gehalt", "", "20,00", "110,00"),
    ):
        cells = [(40, day), (90, "Karten-"), (165, text), (-400, out), (-470, come), (-550, after)]
        lines.append([(x, each) for x, each in cells if each])
        lines.append([(40, "2023"), *([(90.0, kind)] if kind else [])])

    read = read_lines(tmp_path, heading, *lines)

    assert read.dates == ["2023-12-30", "2023-12-31"]


@pytest.mark.parametrize("second", ["Typ", "Kind of booking"])
def test_rows_of_as_many_lines_as_their_heading_keep_all_of_them(
    tmp_path: Path, second: str
) -> None:
    heading: Line = [(40, "Datum"), (110, "Protiúčet"), (320, "Poznámka"), (-545, "Částka")]
    lines: list[Line] = [
        heading,
        [(40, second), (110, "Název protiúčtu")],
        [(40, "Kód"), (110, "Zpráva")],
    ]
    for day, amount, name in (("2.5.2024", "242,49", "Mzda"), ("7.5.2024", "-48,32", "Nájem")):
        lines += [
            [(40, day), (110, "19-2000145399/0800"), (320, "Nákup"), (-545, amount)],
            [(40, "Platba kartou"), (110, f"{name} Firma")],
            [(40, "25676749151332"), (110, "Děkujeme")],
        ]

    read = read_lines(tmp_path, *lines)

    said = [str(row) for row in read.canonicals]
    assert ["Mzda" in said[0], "Nájem" in said[1]] == [True, True]
    assert all("Děkujeme" in text for text in said)


@pytest.mark.parametrize(
    ("out", "is_wrong"), [("30,00", False), ("105,00", True), ("130,00", False)]
)
def test_totals_of_both_columns_are_compared_where_they_hold_no_balance(
    tmp_path: Path, out: str, is_wrong: bool
) -> None:
    heading: Line = [(40, "Data"), (100, "Descrizione"), (-460, "Addebiti"), (-545, "Accrediti")]

    read = read_lines(
        tmp_path,
        heading,
        [(40, "31.03.2024"), (100, "Saldo iniziale"), (-545, "100,00")],
        [(40, "02.04.2024"), (100, "Farmacia"), (-460, "10,00")],
        [(40, "13.04.2024"), (100, "Affitto"), (-460, "20,00")],
        [(40, "14.04.2024"), (100, "Stipendio"), (-545, "7,00")],
        [(100, "Totali"), (-460, out), (-545, "7,00")],
        [(40, "30.04.2024"), (100, "Saldo finale"), (-545, "77,00")],
    )

    assert read.amounts == ["-10.00", "-20.00", "7.00"]
    assert ("NOT_RECONCILED" in read.flags) == is_wrong


def test_a_row_without_a_text_among_others_that_have_one_is_said(tmp_path: Path) -> None:
    rows = [
        booked(f"{day}/12/2024", f"Shop {day}", "1.00", "", f"{100 - day}.00")
        for day in range(13, 20)
    ]

    read = read_lines(tmp_path, HEADING, *rows, booked("20/12/2024", "", "1.00", "", "80.00"))

    assert "TEXT_MISSING" in read.flags


@pytest.mark.parametrize(
    "below",
    [
        [(100, "MINIMUM PAYMENT"), (-400, "22.00")],
        [(100, "VAT Summary Total VAT"), (-400, "0.00")],
        [(40, "$100.00"), (140, "$15.00"), (240, "$20.00"), (-480, "$105.00")],
    ],
)
def test_what_is_due_or_summed_up_below_the_rows_is_no_row(tmp_path: Path, below: Line) -> None:
    read = read_lines(
        tmp_path,
        HEADING,
        booked("", "Opening balance", "", "", "100.00"),
        booked("30/12/2024", "Paul", "10.00", "", "90.00"),
        booked("31/12/2024", "Acme", "", "20.00", "110.00"),
        booked("31/12/2024", "Water", "5.00", "", "105.00"),
        booked("", "Closing balance", "", "", "105.00"),
        below,
    )

    assert read.amounts == ["-10.00", "20.00", "-5.00"]
    assert not read.flags


@pytest.mark.parametrize(("total", "is_proven"), [("30,00", True), ("31,00", False)])
def test_totals_below_every_title_prove_the_rows_without_headings(
    tmp_path: Path, total: str, is_proven: bool
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "RELEVÉ D'OPÉRATIONS du 01/06/2024 au 30/06/2024 Compte 00012345678")],
        [(40, "VIREMENTS REÇUS")],
        [(40, "07.06.2024"), (130, "VIREMENT SALAIRE"), (-500, "100,00")],
        [(40, "08.06.2024"), (130, "VIREMENT PRIME"), (-500, "50,00")],
        [(130, "Sous-total virements reçus"), (-500, "150,00")],
        [(40, "PAIEMENTS PAR CARTE")],
        [(40, "13.06.2024"), (130, "Péage ASF"), (-500, "10,00")],
        [(40, "16.06.2024"), (130, "SNCF"), (-500, "20,00")],
        [(130, "Sous-total paiements par carte"), (-500, total)],
    )

    assert read.amounts == ["100.00", "50.00", "-10.00", "-20.00"]
    assert ("ROWS_UNPROVEN" in read.flags) != is_proven


def test_a_mark_of_debits_beside_some_amounts_is_theirs(tmp_path: Path) -> None:
    heading: Line = [(40, "Tanggal"), (95, "Keterangan"), (-430, "Mutasi"), (-550, "Saldo")]

    read = read_lines(
        tmp_path,
        [(40, "PERIODE : MEI 2024")],
        heading,
        [(40, "01/05"), (95, "SALDO AWAL"), (-550, "100.00")],
        [(40, "02/05"), (95, "TRSF E-BANKING"), (-430, "10.00"), (436, "DB"), (-550, "90.00")],
        [(40, "04/05"), (95, "KR OTOMATIS"), (-430, "30.00"), (-550, "120.00")],
        [(40, "05/05"), (95, "TRSF E-BANKING"), (-430, "20.00"), (436, "DB"), (-550, "100.00")],
    )

    assert read.amounts == ["-10.00", "30.00", "-20.00"]
    assert read.dates[0] == "2024-05-02"


@pytest.mark.parametrize(
    "names",
    [
        [[(40, "Transaction date"), (109, "Value")], [(109, "Date")]],
        [[(40, "Booking"), (76, "Value date")], [(40, "date")]],
    ],
)
def test_names_that_touch_are_two_where_one_of_them_goes_on_below(
    tmp_path: Path, names: list[Line]
) -> None:
    read = read_lines(
        tmp_path,
        names[0],
        [*names[1], (170, "Description"), (-400, "Debits"), (-480, "Deposit"), (-560, "Balance")],
        [(170, "Balance b/f"), (-560, "100.00")],
        [(40, "01/09/2026"), (103, "02/09/2026"), (170, "Shell"), (-400, "10.00"), (-560, "90.00")],
        [(40, "03/09/2026"), (103, "04/09/2026"), (170, "Pay"), (-480, "5.00"), (-560, "95.00")],
        [(40, "13/09/2026"), (103, "14/09/2026"), (170, "Rent"), (-400, "5.00"), (-560, "90.00")],
    )

    assert read.dates == ["2026-09-01", "2026-09-03", "2026-09-13"]
    assert read.flags == []


@pytest.mark.parametrize(("name", "is_open"), [("Value date", False), ("Entry Value date", True)])
def test_dates_without_a_name_behind_value_dates_are_doubted_if_the_name_may_be_of_both(
    tmp_path: Path, name: str, is_open: bool
) -> None:
    read = read_lines(
        tmp_path,
        [(40, name), (170, "Description"), (-480, "Amount"), (-560, "Balance")],
        [(170, "Opening balance"), (-560, "100.00")],
        [(40, "01/09/2026"), (103, "02/09/2026"), (170, "Shell"), (-480, "-1.00"), (-560, "99.00")],
        [(40, "03/09/2026"), (103, "04/09/2026"), (170, "Pay"), (-480, "5.00"), (-560, "104.00")],
        [(40, "13/09/2026"), (103, "14/09/2026"), (170, "Rent"), (-480, "-5.00"), (-560, "99.00")],
    )

    assert ("DATE_UNPROVEN" in read.flags) == is_open


@pytest.mark.parametrize(("closing", "is_proven"), [("105.00", True), ("106.00", False)])
def test_the_only_balance_with_a_date_opens_a_statement_if_its_rows_lead_to_the_new_one(
    tmp_path: Path, closing: str, is_proven: bool
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Solde au : 01/12/2024"), (-480, "100.00")],
        HEADING[:-1],
        booked("13/12/2024", "Paul", "10.00", "", ""),
        booked("14/12/2024", "Acme", "", "20.00", ""),
        booked("15/12/2024", "Eau", "5.00", "", ""),
        [(40, "Nouveau solde : 31/12/2024"), (-480, closing)],
    )

    assert read.amounts == ["-10.00", "20.00", "-5.00"]
    assert (read.flags == []) == is_proven


def test_a_name_of_a_side_above_texts_is_a_title(tmp_path: Path) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Date"), (110, "Purchases"), (360, "Merchant category"), (-560, "Amount")],
        [(40, "13/09/2026"), (110, "TRANSPORT FOR LONDON"), (360, "Travel"), (-560, "10.00")],
        [(110, "TFL.GOV.UK/CP")],
        [(40, "14/09/2026"), (110, "TESCO STORES 3344"), (360, "Food"), (-560, "20.00")],
    )

    assert "TFL.GOV.UK/CP" in read.canonicals[0]["description"]


REPORT = """\
RIVERSIDE BANK                          STATEMENT OF ACCOUNT
A/C NO. 123-4-52372-7   CCY USD   PERIOD 01/08/2026 - 28/08/2026
============================================================================================
DATE       PARTICULARS                         CHQ NO     WITHDRAWAL        DEPOSIT        BALANCE
--------------------------------------------------------------------------------------------
01/08/2026 BALANCE BROUGHT FORWARD                                                        1,810.43
03/08/2026 TRADER JOES, 552 SEATTLE                            43.14                      1,767.29
13/08/2026 ZELLE FROM K MILLER                                                69.73       1,837.02
"""


def test_a_text_whose_columns_are_aligned_by_blanks_is_read(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, REPORT)

    assert read.about["format"] == "text"
    assert read.dates == ["2026-08-03", "2026-08-13"]
    assert read.amounts == ["-43.14", "69.73"]
    assert read.canonicals[0]["description"] == "TRADER JOES, 552 SEATTLE"
    assert read.flags == []


def test_a_text_of_aligned_columns_that_does_not_add_up_is_flagged(tmp_path: Path) -> None:
    assert "NOT_RECONCILED" in read_bytes(tmp_path, REPORT.replace("43.14", "43.15")).flags


def test_prose_with_days_and_amounts_is_no_statement(tmp_path: Path) -> None:
    prose = "On 03/08/2026 we paid 43.14 for bread.\nOn 13/08/2026 we got 69.73 for jam.\n"

    assert read_bytes(tmp_path, prose).normalized is None


def test_a_line_with_both_sides_and_no_date_is_the_totals(tmp_path: Path) -> None:
    read = read_lines(
        tmp_path,
        HEADING,
        booked("13/12/2024", "Paul", "10.00", "", "90.00"),
        booked("14/12/2024", "Acme", "", "20.00", "110.00"),
        booked("14/12/2024", "Water", "5.00", "", "105.00"),
        [(100, "ΣΥΝΟΛΑ"), (-400, "15.00"), (-480, "20.00")],
    )

    assert read.amounts == ["-10.00", "20.00", "-5.00"]
    assert read.flags == []


def test_numbers_of_bookings_are_no_days(tmp_path: Path) -> None:
    heading: Line = [(40, "Arkistointitunnus"), (170, "Saaja/Maksaja"), (-540, "Määrä")]

    read = read_lines(
        tmp_path,
        [(40, "Kausi 01.06.2026 - 28.06.2026")],
        heading,
        [(40, "ALKUSALDO"), (-540, "100,00+")],
        [(40, "KIRJAUSPÄIVÄ 07.06.")],
        [(40, "060725103953"), (170, "VR Yhtymä"), (-540, "56,41-")],
        [(40, "KIRJAUSPÄIVÄ 25.06.")],
        [(40, "062524976257"), (170, "Prisma"), (-540, "6,50-")],
        [(40, "LOPPUSALDO"), (-540, "37,09+")],
    )

    assert read.dates == ["2026-06-07", "2026-06-25"]
    assert read.flags == []


def test_names_of_both_sides_without_a_gap_are_two(tmp_path: Path) -> None:
    read = read_lines(
        tmp_path,
        [(40, "FECHA"), (95, "DETALLE"), (-360, "CHEQUES O CARGOS"), (360.5, "DEPOSITOS O ABONOS"), (-550, "SALDO")],
        [(95, "SALDO INICIAL"), (-550, "100,00")],
        [(40, "13/07/2026"), (95, "METRO"), (-360, "8,00"), (-550, "92,00")],
        [(40, "14/07/2026"), (95, "SUELDO"), (-455, "9,00"), (-550, "101,00")],
    )  # fmt: skip

    assert read.amounts == ["-8.00", "9.00"]


def test_points_beside_the_amounts_of_a_card_are_no_balances_and_a_plus_marks_what_came_in(
    tmp_path: Path,
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "KREDİ KARTI Hesap Kesim Tarihi: 28.05.2026 Son Ödeme Tarihi: 08.06.2026")],
        [(40, "Önceki Dönem Borcu"), (300, "Dönem Borcu")],
        [(40, "100,00 TL"), (300, "150,00 TL")],
        [(40, "İşlem Tarihi"), (120, "Açiklama"), (-430, "Kazanilan Puan"), (-540, "Tutar (TL)")],
        [(40, "13/05/2026"), (120, "SHELL"), (-430, "0,30"), (-540, "60,00")],
        [(40, "14/05/2026"), (120, "ÖDEME"), (-540, "90,00+")],
        [(40, "15/05/2026"), (120, "NETFLIX"), (-430, "0,35"), (-540, "70,00")],
        [(40, "16/05/2026"), (120, "TRENDYOL"), (-430, "0,05"), (-540, "10,00")],
    )

    assert read.amounts[:3] == ["-60.00", "90.00", "-70.00"]
    assert read.flags == []


def test_tables_side_by_side_have_the_sides_of_their_own_titles(tmp_path: Path) -> None:
    heading: Line = [(40, "Date"), (80, "Description"), (-280, "Amount")]
    read = read_lines(
        tmp_path,
        [(40, "Statement period 03/01/2026 - 03/28/2026")],
        [(40, "Beginning balance 100.00"), (300, "Ending balance 90.00")],
        [(40, "DEPOSITS AND CREDITS"), (320, "WITHDRAWALS AND DEBITS")],
        [*heading, (320, "Date"), (360, "Description"), (-560, "Amount")],
        [(40, "Mar 02"), (80, "PAYROLL"), (-280, "20.00"), (320, "Mar 01"), (360, "COMCAST"), (-560, "25.00")],
        [(40, "Total"), (-280, "20.00"), (320, "Mar 03"), (360, "SHELL"), (-560, "5.00")],
        [(320, "Total"), (-560, "30.00")],
    )  # fmt: skip

    assert sorted(read.amounts) == ["-25.00", "-5.00", "20.00"]
    assert read.flags == []


@pytest.mark.parametrize(
    ("currency", "sign", "amount", "is_flagged"),
    [
        ("HUF", ".", "-5146.00", False),
        ("HUF", ",", "-5146.00", False),
        ("KWD", ".", "-5.146", False),
        ("", ".", "-5146.00", True),
    ],
)
def test_three_digits_behind_a_point_are_decimals_of_few_currencies(
    tmp_path: Path, currency: str, sign: str, amount: str, *, is_flagged: bool
) -> None:
    texts = [
        booked("", "Opening balance", "", "", "341.296"),
        booked("05/06/2026", "Spar Budapest", "5.146", "", "336.150"),
        booked("16/06/2026", "Munkaber Kft", "", "416.208", "752.358"),
        booked("27/06/2026", "Lakber", "175.896", "", "576.462"),
        booked("", "Closing balance", "", "", "576.462"),
    ]
    lines: list[Line] = [
        [(x, text.replace(".", sign) if x < 0 else text) for x, text in line] for line in texts
    ]
    above = f"Account statement 01/06/2026 - 30/06/2026 {f'Currency: {currency}' * bool(currency)}"

    read = read_lines(tmp_path, [(40, above)], HEADING, *lines)

    assert read.amounts[0] == amount
    assert ("AMBIGUOUS_AMOUNTS" in read.notes) == is_flagged
