"""Pages that print sums, years, days, footnotes and currencies in ways that were not expected. Drawn by hand."""

import zlib
from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from stateward.pipelines.kit.pdf.peek import STREAM_BYTES_MAX, peek
from tests.pipelines.statements.pdf.judging import sheet, write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]


def read_lines(folder: Path, *lines: Line) -> Read:
    return read_bytes(folder, sheet(*lines).pdf())


def pages(*texts: list[Line]) -> bytes:
    paper = Paper(A4)
    for lines in texts:
        paper.page()
        for at, line in enumerate(lines):
            write(paper, 100 + 14 * at, line)
    return paper.pdf()


CHARGES: list[Line] = [
    [(40, "02/15/25"), (100, "WHOLE FOODS SEATTLE WA"), (-557, "$42.17"), (559, "+")],
    [(40, "02/19/25"), (100, "ALASKA AIR SEATTLE WA"), (-557, "$386.40")],
    [(40, "02/19/25"), (100, "HOTEL ANCHORAGE AK"), (-557, "$212.50")],
]


def card(*rows: Line) -> list[Line]:
    return [
        [(40, "Account Summary")],
        [(40, "Payment Due Date"), (-300, "04/08/25")],
        [(40, "Previous Balance"), (-300, "$1,523.18")],
        [(40, "New Balance"), (-300, "$641.07")],
        [(40, "Minimum Payment Due"), (-300, "$40.00")],
        [(40, "02/14/25"), (100, "AUTOPAY PAYMENT - THANK YOU"), (-557, "-$1,523.18")],
        *rows,
    ]


def test_sums_without_a_date_are_left_out_where_all_adds_up_without_them(tmp_path: Path) -> None:
    sums: list[Line] = [
        [(40, "Card Ending 7-31005"), (200, "J PARKER"), (-557, "$42.17")],
        [(40, "Card Ending 7-31013"), (200, "C PARKER"), (-557, "$598.90")],
    ]
    plain: Line = [cell for cell in CHARGES[0] if cell[1] != "+"]

    read = read_lines(tmp_path, *card(*sums, plain, *CHARGES[1:]))

    assert read.amounts == ["1523.18", "-42.17", "-386.40", "-212.50"]
    assert not read.flags


def test_a_plus_behind_some_charges_is_the_mark_of_a_footnote(tmp_path: Path) -> None:
    note: Line = [(40, "+ indicates that it may be paid over time")]

    read = read_lines(tmp_path, *card(*CHARGES, note))

    assert read.amounts == ["1523.18", "-42.17", "-386.40", "-212.50"]
    assert not read.flags


def test_a_closing_balance_behind_its_label_is_no_debt_because_it_stands_near_the_debits(
    tmp_path: Path,
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Opening balance:"), (200, "100.00")],
        [(40, "Date"), (100, "Reference"), (-270, "Debit"), (-340, "Credit"), (380, "Details")],
        [(40, "01/03/2026"), (100, "A1"), (-270, "10.00"), (380, "Water")],
        [(40, "15/03/2026"), (100, "A2"), (-340, "500.00"), (380, "Salary")],
        [(40, "Closing balance:"), (200, "590.00")],
    )

    assert read.amounts == ["-10.00", "500.00"]
    assert not read.flags


@pytest.mark.parametrize(("value_day", "is_other"), [("02/03/26", False), ("04/03/26", True)])
def test_one_day_that_is_written_in_two_ways_is_no_second_day(
    tmp_path: Path, value_day: str, is_other: bool
) -> None:
    heading: Line = [
        (40, "Kalt"),
        (120, "Text"),
        (300, "Warm"),
        (-460, "Amount"),
        (-550, "Balance"),
    ]
    read = read_lines(
        tmp_path,
        [(40, "Opening balance"), (-550, "100.00")],
        heading,
        [(40, "02/03/2026"), (120, "Water"), (300, value_day), (-460, "-10.00"), (-550, "90.00")],
        [(40, "13/03/2026"), (120, "Power"), (300, "13/03/26"), (-460, "-20.00"), (-550, "70.00")],
        [(40, "14/03/2026"), (120, "Rent"), (300, "14/03/26"), (-460, "-30.00"), (-550, "40.00")],
    )

    assert read.amounts == ["-10.00", "-20.00", "-30.00"]
    assert ("DATE_UNPROVEN" in read.flags) is is_other


def test_numbered_rows_without_a_heading_are_rows_in_the_year_of_the_closing_balance(
    tmp_path: Path,
) -> None:
    read = read_lines(
        tmp_path,
        [(300, "Rekeninguittreksel nr. 4 van 30-04-2025"), (-550, "Munt: EUR")],
        [(40, "Vorig saldo op 31-03-2025"), (-540, "+ 944,18")],
        [(40, "0001"), (97, "01-04"), (142, "Bestendige opdracht"), (-540, "- 850,00")],
        [(142, "Immo Scheldezicht BV")],
        [(40, "0002"), (97, "04-04"), (142, "Overschrijving"), (-540, "+ 61,50")],
        [(142, "De Smet Lotte")],
        [(40, "0003"), (97, "22-04"), (142, "Beheerskosten"), (-540, "- 3,00")],
        [(40, "Nieuw saldo op 30-04-2025"), (-540, "+ 152,68")],
    )

    assert read.amounts == ["-850.00", "61.50", "-3.00"]
    assert [str(day) for day in read.dates] == ["2025-04-01", "2025-04-04", "2025-04-22"]
    assert not read.flags


def test_a_title_of_coming_bills_on_the_first_page_says_nothing_of_a_table_on_the_second(
    tmp_path: Path,
) -> None:
    first: list[Line] = [
        [(40, "Período vigente: 03/03/2025 a 03/04/2025")],
        [(40, "Fatura anterior"), (-545, "R$ 100,00")],
        [(40, "Total a pagar"), (-545, "R$ 111,40")],
        [(40, "Pagamento mínimo R$ 16,00")],
        [(40, "PRÓXIMAS FATURAS")],
        [(40, "Saldo em aberto"), (-545, "R$ 925,71")],
    ]
    second: list[Line] = [
        [(40, "TRANSAÇÕES"), (170, "DE 03 MAR A 03 ABR")],
        [(40, "03 MAR"), (110, "Mercado"), (-545, "R$ 87,90")],
        [(40, "05 MAR"), (110, "Uber *Trip"), (-545, "R$ 23,50")],
        [(40, "10 MAR"), (110, "Pagamento em 10 MAR"), (-545, "-R$ 100,00")],
    ]

    read = read_bytes(tmp_path, pages(first, second))

    assert read.amounts == ["-87.90", "-23.50", "100.00"]
    assert not read.flags


def test_a_year_above_the_rows_is_theirs_up_to_the_next_one(tmp_path: Path) -> None:
    read = read_lines(
        tmp_path,
        [(300, "Statement date: 14 February 2025")],
        [(40, "Date"), (113, "Description"), (-397, "Out"), (-468, "In"), (-544, "Balance")],
        [(40, "2024")],
        [(113, "Balance from statement 11 dated 14/11/2024"), (-544, "112.40")],
        [(40, "09 Dec"), (113, "Bank credit"), (-468, "300.00"), (-544, "412.40")],
        [(40, "31 Dec"), (113, "Gross interest"), (-468, "14.87"), (-544, "427.27")],
        [(40, "2025")],
        [(40, "06 Jan"), (113, "Cash withdrawal"), (-397, "75.00"), (-544, "352.27")],
    )

    assert [str(day) for day in read.dates] == ["2024-12-09", "2024-12-31", "2025-01-06"]
    assert not read.flags


def test_greek_letters_behind_amounts_mark_debits_and_credits(tmp_path: Path) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Από 01/02/2025 έως 28/02/2025"), (300, "ΝΟΜΙΣΜΑ: EUR")],
        [(40, "Α/Α"), (70, "ΗΜ/ΝΙΑ"), (140, "ΑΙΤΙΟΛΟΓΙΑ"), (450, "ΠΟΣΟ ΣΥΝΑΛΛΑΓΗΣ"), (-570, "ΥΠΟΛΟΙΠΟ")],  # noqa: RUF001 - Greek
        [(40, "1"), (70, "03/02/2025"), (140, "ΠΛΗΡΩΜΗ ΔΕΗ"), (-500, "87,41 Χ"), (-570, "846,47 Π")],  # noqa: RUF001 - Greek
        [(40, "2"), (70, "07/02/2025"), (140, "IRIS"), (-500, "120,00 Π"), (-570, "966,47 Π")],
        [(40, "3"), (70, "14/02/2025"), (140, "ΑΤΜ"), (-500, "2,50 Χ"), (-570, "963,97 Π")],  # noqa: RUF001 - Greek
    )  # fmt: skip

    assert read.amounts == ["-87.41", "120.00", "-2.50"]


@pytest.mark.parametrize(("told", "is_doubted"), [("CHF", True), ("EUR", False)])
def test_columns_in_another_currency_than_the_account_are_flagged(
    tmp_path: Path, told: str, is_doubted: bool
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Privatkonto 4417.733"), (300, f"Kontowährung: {told}")],
        [(40, "Datum"), (120, "Text"), (-400, "Belastung EUR"), (-470, "Gutschrift EUR"), (-550, "Saldo EUR")],
        [(40, "01.01.2025"), (120, "Saldovortrag"), (-550, "12'044.17")],
        [(40, "15.01.2025"), (120, "Vergütung"), (-470, "4'200.00"), (-550, "16'244.17")],
        [(40, "31.01.2025"), (120, "Krankenkasse"), (-400, "388.40"), (-550, "15'855.77")],
    )  # fmt: skip

    assert ("CURRENCY_CONTRADICTED" in read.flags) is is_doubted


def test_text_behind_much_drawing_is_seen_before_a_document_is_read(tmp_path: Path) -> None:
    drawing = b"1 0 0 1 0 0 cm\n" * (STREAM_BYTES_MAX // 10)
    stream = zlib.compress(drawing + b"BT (Statement of account 42.00) Tj ET\n")
    path = tmp_path / "a.pdf"
    path.write_bytes(
        b"%%PDF-1.7\n1 0 obj\n<</Filter /FlateDecode/Length %d>>\nstream\n" % len(stream)
        + stream
        + b"\nendstream\nendobj\n%%EOF"
    )

    shown = peek(path)

    assert shown.texts == ["Statement of account 42.00"]
    assert shown.is_whole


FLOW_HEADING: Line = [(40, "DATA"), (75, "ESTABELECIMENTO"), (-280, "VALOR EM R$")]


def beside(left: Line, right: Line) -> Line:
    """Two lines side by side: the right column is as wide as the left one."""
    return [*left, *((x - 270 if x < 0 else x + 270, text) for x, text in right)]


def bought(day: str, shop: str, amount: str) -> Line:
    return [(40, day), (75, shop), (-280, amount)]


def test_rows_that_flow_through_two_columns_are_read_down_one_and_then_the_other(
    tmp_path: Path,
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Total da fatura anterior"), (-260, "100,00"), (330, "Emissão: 09/01/2026")],
        [(40, "Total desta fatura"), (-260, "189,00"), (330, "Vencimento: 17/01/2026")],
        [(40, "Pagamento mínimo"), (-260, "20,00")],
        [(40, "Lançamentos: compras e saques")],
        beside(FLOW_HEADING, bought("03/01", "LIVRARIA", "6,00")),
        beside(bought("12/12", "PADARIA", "40,00"), [(75, "LIVROS .SAO PAULO")]),
        beside([(75, "ALIMENTOS .SAO PAULO")], bought("04/01", "FARMACIA 02/05", "8,00")),
        beside(bought("20/12", "POSTO", "50,00"), bought("05/01", "MERCADO", "9,00")),
        beside(bought("28/12", "UBER", "76,00"), bought("06/01", "PAGAMENTO", "- 100,00")),
    )

    texts = [row["description"] for row in read.canonicals]
    assert read.amounts == ["-40.00", "-50.00", "-76.00", "-6.00", "-8.00", "-9.00", "100.00"]
    assert texts[0] == "PADARIA ALIMENTOS .SAO PAULO"
    assert texts[3] == "LIVRARIA LIVROS .SAO PAULO"
    assert read.dates[0] == "2025-12-12"
    assert read.dates[-1] == "2026-01-06"
    assert read.canonicals[3]["place"]["box"][0] > 300
    assert not read.flags


@pytest.mark.parametrize("title", ["Pending transactions", "Completed transactions"])
def test_rows_below_a_title_of_pending_ones_do_not_count_though_they_have_balances(
    tmp_path: Path, title: str
) -> None:
    heading: Line = [
        (40, "Date"),
        (110, "Description"),
        (-400, "Out"),
        (-480, "In"),
        (-555, "Balance"),
    ]
    read = read_lines(
        tmp_path,
        [(40, title)],
        heading,
        [(40, "31 Oct 2025"), (110, "SHELL"), (-400, "52.00"), (-555, "38.00")],
        [(40, "Completed transactions")],
        heading,
        [(40, "30 Oct 2025"), (110, "TESCO"), (-400, "10.00"), (-555, "90.00")],
        [(40, "29 Oct 2025"), (110, "SALARY"), (-480, "80.00"), (-555, "100.00")],
    )

    pending = ["-52.00"] if title.startswith("Completed") else []
    assert read.amounts == [*pending, "-10.00", "80.00"]
    assert not read.flags


def test_a_card_that_claims_the_sum_of_its_rows_owed_nothing_before(tmp_path: Path) -> None:
    lines: list[Line] = [
        [(40, "Kreditkartenabrechnung"), (300, "Kartenlimit 5.000,00 EUR")],
        [(40, "Rechnungsdatum 31.03.2026")],
        [(40, "Mindestbetrag"), (-300, "20,00")],
        [(40, "Datum"), (110, "Beschreibung"), (-540, "Betrag")],
        [(40, "02.03.2026"), (110, "Bäckerei"), (-540, "12,00")],
        [(40, "14.03.2026"), (110, "Bahn"), (-540, "70,00")],
    ]

    right = read_lines(tmp_path, *lines, [(110, "Rechnungsbetrag"), (-540, "82,00")])
    wrong = read_lines(tmp_path, *lines, [(110, "Rechnungsbetrag"), (-540, "93,00")])

    assert right.amounts == ["-12.00", "-70.00"]
    assert not right.flags
    assert wrong.flags


@pytest.mark.parametrize(("points", "is_row"), [("1,364", False), ("13.64", True)])
def test_a_number_without_cents_beside_a_date_is_no_row_where_all_rows_have_cents(
    tmp_path: Path, points: str, is_row: bool
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Previous Balance"), (-300, "847.32")],
        [(40, "New Balance"), (-300, "125.90")],
        [(40, "07/24/2025"), (120, "-Points redeemed this period"), (-300, points)],
        [(40, "Post Date"), (110, "Merchant Name"), (-555, "$ Amount")],
        [(40, "06/02/2025"), (110, "DOORDASH"), (-555, "-82.40")],
        [(40, "06/05/2025"), (110, "ONLINE PAYMENT THANK YOU"), (-555, "847.32")],
        [(40, "06/10/2025"), (110, "WALGREENS"), (-555, "-43.50")],
    )

    assert read.amounts == ["-82.40", "847.32", "-43.50"]
    assert ("ROW_UNREAD" in read.flags) is is_row


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Saldo Ihrer letzten Abrechnung", "Neuer Saldo"),
        ("Balance of your last bill", "Your new balance on 28.02.2025"),
        ("Solde de votre précédent relevé", "Nouveau solde"),
        ("Saldo del extracto anterior", "Nuevo saldo"),
    ],
)
def test_a_balance_is_known_by_the_words_of_its_name(
    tmp_path: Path, before: str, after: str
) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Kartenabrechnung 20.02.2025")],
        [(40, "Datum"), (150, "Beschreibung"), (-555, "Betrag")],
        [(150, before), (-555, "430,20 -")],
        [(40, "23.01.2025"), (150, "Lastschrift, vielen Dank"), (-555, "430,20 +")],
        [(40, "24.01.2025"), (150, "Shell"), (-555, "50,31 -")],
        [(40, "27.01.2025"), (150, "Rewe"), (-555, "9,00 -")],
        [(150, after), (-555, "59,31 -")],
    )

    assert read.amounts == ["430.20", "-50.31", "-9.00"]
    assert "ROWS_UNPROVEN" not in read.flags
    assert "ROW_UNREAD" not in read.flags


def test_a_shop_that_is_called_like_a_balance_stays_a_row(tmp_path: Path) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Date"), (150, "Text"), (-470, "Amount"), (-555, "Balance")],
        [(40, "23.01.2025"), (150, "New Balance Shoes"), (-470, "-50.00"), (-555, "150.00")],
        [(40, "24.01.2025"), (150, "Old Saldo Bar"), (-470, "-20.00"), (-555, "130.00")],
        [(40, "25.01.2025"), (150, "Rent"), (-470, "-30.00"), (-555, "100.00")],
    )

    assert read.amounts == ["-50.00", "-20.00", "-30.00"]


def test_a_period_whose_days_are_joined_by_a_dash_alone_tells_the_year(tmp_path: Path) -> None:
    read = read_lines(
        tmp_path,
        [(40, "Periode 01.07.2025-30.09.2025")],
        [(40, "Dato"), (100, "Tekst"), (300, "Rentedato"), (-450, "Beløb"), (-555, "Saldo")],
        [(100, "Saldo fra sidste udskrift 30.06.2025"), (-555, "18.240,33")],
        [(40, "01.07"), (100, "Husleje"), (300, "01.07"), (-450, "7.450,00-"), (-555, "10.790,33")],
        [(40, "11.08"), (100, "Løn"), (300, "11.08"), (-450, "241,50"), (-555, "11.031,83")],
        [(40, "30.09"), (100, "Renter"), (300, "30.09"), (-450, "0,42-"), (-555, "11.031,41")],
        [(100, "Saldo pr. 30.09.2025"), (-555, "11.031,41")],
    )

    assert read.dates == ["2025-07-01", "2025-08-11", "2025-09-30"]
    assert not read.flags
